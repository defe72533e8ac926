// process.js - the object `process` before lib/ adds to it, and the environment as an object.
'use strict';

const { privateSymbols, tables } = host;

const origin = Object.create(Object.prototype, {
  constructor: { __proto__: null, value: function process() {}, writable: true, configurable: true, enumerable: false },
});
const process = Object.create(Object.create(origin, {
  constructor: { __proto__: null, value: origin.constructor, writable: true, configurable: true, enumerable: false },
}));
Object.defineProperty(origin.constructor, 'prototype', { __proto__: null, value: Object.getPrototypeOf(process) });

process.version = tables.version;
process.versions = { node: tables.version.slice(1), quickjs: '0.16.2', uv: '1.51.0', openssl: '3.5.7', modules: '137', amaro: '1.1.10-cay', v8: '13.6.0-node.0' };
process.arch = 'wasm32';
process.platform = 'linux';
process.release = tables.release;
process[privateSymbols.exit_info_private_symbol] = new Int32Array(3);

// ---- the environment ----

const inherited = (name) => (Object.hasOwn(Object.prototype, name) ? Object.prototype[name] : undefined);
const text = (value) => {
  if (typeof value === 'symbol') throw new TypeError('Cannot convert a Symbol value to a string');
  return String(value);
};
let isWarned = false;
function warnOf(value) {
  if (isWarned || !host.options['--pending-deprecation'] || ['string', 'number', 'boolean'].includes(typeof value)) return;
  isWarned = true;
  process.emitWarning('Assigning any value other than a string, number, or boolean to a process.env property is deprecated. Please make sure to ' +
    'convert the value to a string before setting process.env with it.', 'DeprecationWarning', 'DEP0104');
}

function set(target, name, value) {
  warnOf(value);
  native.setenv(text(name), text(value));
  return true;
}

const invalid = (message) => Object.assign(new TypeError(message), { code: 'ERR_INVALID_OBJECT_DEFINE_PROPERTY' });

process.env = new Proxy({}, {
  get: (target, name) => (typeof name === 'symbol' ? undefined : native.getenv(name) ?? inherited(name)),
  set,
  has: (target, name) => typeof name === 'string' && native.getenv(name) !== undefined,
  deleteProperty(target, name) {
    if (typeof name === 'string') native.unsetenv(name);
    return true;
  },
  ownKeys: () => [...new Set(native.environmentNames())],
  getOwnPropertyDescriptor(target, name) {
    const value = typeof name === 'string' ? native.getenv(name) : undefined;
    return value === undefined ? undefined : { value, writable: true, enumerable: true, configurable: true };
  },
  defineProperty(target, name, descriptor) {
    if ('get' in descriptor || 'set' in descriptor)
      throw invalid("'process.env' does not accept an accessor(getter/setter) descriptor");
    if (!descriptor.configurable || !descriptor.writable || !descriptor.enumerable)
      throw invalid("'process.env' only accepts a configurable, writable, and enumerable data descriptor");
    return set(target, name, descriptor.value);
  },
});

host.process = process;
