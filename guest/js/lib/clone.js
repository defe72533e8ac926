// clone.js - structuredClone: copies of values, with cycles, and buffers that change hands.
'use strict';

const { CLASS } = native;
const ERRORS = { __proto__: null, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
const WRAPPERS = new Set([CLASS.NUMBER, CLASS.STRING, CLASS.BOOLEAN, CLASS.BIG_INT]);
const REFUSED = new Set([CLASS.PROMISE, CLASS.WEAKMAP, CLASS.WEAKSET, CLASS.GENERATOR, CLASS.PROXY, CLASS.SYMBOL, CLASS.MODULE_NS]);

function refuse(what) {
  throw new host.DOMException(`${what} could not be cloned.`, 'DataCloneError');
}

const nameOf = (value) => {
  if (typeof value === 'symbol' || typeof value === 'function') return String(value);
  return `#<${value.constructor?.name ?? 'Object'}>`;
};

function cloneError(value, copy, put) {
  const result = put(new (ERRORS[value.name] ?? Error)(String(value.message)));
  if (typeof value.stack === 'string') host.define(result, 'stack', value.stack);
  if (Object.hasOwn(value, 'cause')) host.define(result, 'cause', copy(value.cause));
  return result;
}

function cloneView(value, copy, put) {
  const buffer = copy(value.buffer);
  if (native.classOf(value) === CLASS.DATAVIEW) return put(new DataView(buffer, value.byteOffset, value.byteLength));
  return put(new globalThis[value[Symbol.toStringTag]](buffer, value.byteOffset, value.length));
}

function cloneProperties(value, copy, put) {
  const result = put(Array.isArray(value) ? new Array(value.length) : {});
  for (const key of Object.keys(value)) result[key] = copy(value[key]);
  return result;
}

// Objects of lib/ that say how they are cloned (Blob, FileHandle, KeyObject …).
// Objects of bindings that do not change: a copy is the same.
host.handles = new WeakSet();

function cloneByItself(value, copy, put) {
  const symbols = host.perIsolateSymbols;
  const given = value[symbols.messaging_clone_symbol]?.();
  if (given === undefined || given === null) return undefined;
  const [module, name] = given.deserializeInfo.split(':');
  const result = put(new (host.require(module)[name])());
  result[symbols.messaging_deserialize_symbol](copy(given.data));
  return result;
}

function cloneObject(value, copy, put, transfer) {
  const kind = native.classOf(value);
  if (host.handles.has(value)) return put(value);
  if (transfer.has(value)) return put(value.transfer ? value.transfer() : value);
  if (kind === CLASS.DATE) return put(new Date(Number(value)));
  if (kind === CLASS.REGEXP) return put(new RegExp(value.source, value.flags));
  if (kind === CLASS.ARRAY_BUFFER) return put(value.slice(0));
  if (kind === CLASS.SHARED_ARRAY_BUFFER) return put(value);
  if (kind === CLASS.ERROR) return cloneError(value, copy, put);
  if (WRAPPERS.has(kind)) return put(Object(value.valueOf()));
  if (REFUSED.has(kind)) refuse(nameOf(value));
  if (ArrayBuffer.isView(value)) return cloneView(value, copy, put);
  if (kind === CLASS.MAP) {
    const result = put(new Map());
    for (const [key, item] of [...value]) result.set(copy(key), copy(item));
    return result;
  }
  if (kind === CLASS.SET) {
    const result = put(new Set());
    for (const item of [...value]) result.add(copy(item));
    return result;
  }
  return cloneByItself(value, copy, put) ?? cloneProperties(value, copy, put);
}

host.clone = (input, transferred = []) => {
  const seen = new Map();
  const transfer = new Set(transferred);
  for (const item of transfer)
    if (native.classOf(item) !== CLASS.ARRAY_BUFFER && !(item instanceof host.MessagePort)) refuse('Value');
  const copy = (value) => {
    if (typeof value === 'function' || typeof value === 'symbol') refuse(nameOf(value));
    if (typeof value !== 'object' || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    const put = (result) => {
      seen.set(value, result);
      return result;
    };
    return cloneObject(value, copy, put, transfer);
  };
  return copy(input);
};
