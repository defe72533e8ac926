'use strict';
const { CLASS, classOf } = native;
const is = (...names) => {
  const numbers = new Set(names.map((name) => CLASS[name]));
  return (value) => numbers.has(classOf(value));
};
return {
  isExternal: () => false,
  isDate: is('DATE'),
  isArgumentsObject: is('ARGUMENTS', 'MAPPED_ARGUMENTS'),
  isBigIntObject: is('BIG_INT'),
  isBooleanObject: is('BOOLEAN'),
  isNumberObject: is('NUMBER'),
  isStringObject: is('STRING'),
  isSymbolObject: is('SYMBOL'),
  isBoxedPrimitive: is('BIG_INT', 'BOOLEAN', 'NUMBER', 'STRING', 'SYMBOL'),
  isNativeError: is('ERROR'),
  isRegExp: is('REGEXP'),
  isAsyncFunction: is('ASYNC_FUNCTION', 'ASYNC_GENERATOR_FUNCTION'),
  isGeneratorFunction: is('GENERATOR_FUNCTION', 'ASYNC_GENERATOR_FUNCTION'),
  isGeneratorObject: is('GENERATOR', 'ASYNC_GENERATOR'),
  isPromise: is('PROMISE'),
  isMap: is('MAP'),
  isSet: is('SET'),
  isMapIterator: is('MAP_ITERATOR'),
  isSetIterator: is('SET_ITERATOR'),
  isWeakMap: is('WEAKMAP'),
  isWeakSet: is('WEAKSET'),
  isArrayBuffer: is('ARRAY_BUFFER'),
  isDataView: is('DATAVIEW'),
  isSharedArrayBuffer: is('SHARED_ARRAY_BUFFER'),
  isProxy: is('PROXY'),
  isModuleNamespaceObject: is('MODULE_NS'),
  isAnyArrayBuffer: is('ARRAY_BUFFER', 'SHARED_ARRAY_BUFFER'),
  isEventTarget: () => false,
};
