'use strict';
const { errorMap } = host;
const numbers = Object.fromEntries([...errorMap].map(([number, [name]]) => [`UV_${name}`, number]));
return {
  ...numbers,
  errname: (number) => errorMap.get(number)?.[0] ?? `Unknown system error ${number}`,
  getErrorMap: () => errorMap,
  getErrorMessage: (number) => errorMap.get(number)?.[1] ?? `Unknown system error ${number}`,
};
