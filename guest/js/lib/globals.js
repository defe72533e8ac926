// globals.js - what V8 has and the engine has not: refused by name, or as far as is reasonable.
'use strict';

const { define } = host;

if (!globalThis.WebAssembly) {
  const refuse = (name) => ({ [name]: class { constructor() { throw new Error(`WebAssembly.${name} is not supported in a sandbox`); } } })[name];
  const names = ['Module', 'Instance', 'Memory', 'Table', 'Global'];
  const WebAssembly = Object.fromEntries(names.map((name) => [name, refuse(name)]));
  for (const name of ['compile', 'instantiate', 'validate'])
    WebAssembly[name] = { async [name]() { throw new Error(`WebAssembly.${name} is not supported in a sandbox`); } }[name];
  define(globalThis, 'WebAssembly', WebAssembly);
}
