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
  const { byteOffset, byteLength, length, [Symbol.toStringTag]: kind } = value; // before its buffer changes hands
  const isView = native.classOf(value) === CLASS.DATAVIEW;
  const buffer = copy(value.buffer);
  return put(isView ? new DataView(buffer, byteOffset, byteLength) : new globalThis[kind](buffer, byteOffset, length));
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
  return revive(given, copy, put);
}

// What an object of lib/ has given of itself, made anew.
function revive(given, copy, put) {
  const symbols = host.perIsolateSymbols;
  const [module, name] = given.deserializeInfo.split(':');
  const result = put(new (host.require(module)[name])());
  result[symbols.messaging_deserialize_symbol](copy(given.data));
  return result;
}

function cloneObject(value, copy, put, transfer) {
  const kind = native.classOf(value);
  if (host.handles.has(value)) return put(value);
  if (transfer.has(value)) return put(transfer.get(value)(copy, put));
  if (host.isPort?.(value)) fail('Object that needs transfer was found in message but not listed in transferList');
  if (kind === CLASS.ARRAY_BUFFER) return put(value.slice(0));
  if (Object.hasOwn(value, uncloneable) && mode(value) === 0) refuse(nameOf(value));
  if (value instanceof host.AsyncWrap) fail('Cannot clone object of unsupported type.');
  if (mode(value) & CLONEABLE) return cloneByItself(value, copy, put) ?? cloneProperties(value, copy, put);
  if (value === host.process.env) return cloneProperties(value, copy, put);
  if (kind === CLASS.DATE) return put(new Date(Number(value)));
  if (kind === CLASS.REGEXP) return put(new RegExp(value.source, value.flags));
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
  const isFake = value instanceof host.DOMException; // one that no constructor has made
  return (isFake ? undefined : cloneByItself(value, copy, put)) ?? cloneProperties(value, copy, put);
}

// ---- objects that change hands ----

const { transfer_mode_private_symbol: uncloneable, untransferable_object_private_symbol: untransferable } = host.privateSymbols;
const TRANSFERABLE = 1, CLONEABLE = 2;
const mode = (value) => (Object.hasOwn(value, uncloneable) ? value[uncloneable] : 0);
const fail = (text) => { throw new host.DOMException(text, 'DataCloneError'); };

// {object: function that makes the new one}; all are looked at before anything changes hands.
function takeOver(list, source, moved) {
  const result = new Map();
  for (const item of list) {
    const isBuffer = native.classOf(item) === CLASS.ARRAY_BUFFER;
    if (result.has(item)) fail(`Transfer list contains duplicate ${isBuffer ? 'ArrayBuffer' : 'MessagePort'}`);
    if (typeof item !== 'object' || item === null) throw new TypeError('Found invalid object in transferList');
    if (item[untransferable]) fail('An object in the transfer list cannot be transferred');
    if (item === source) fail('Transfer list contains source port');
    if (isBuffer) {
      if (item.detached) fail('An ArrayBuffer is detached and could not be cloned.');
      result.set(item, () => item.transfer());
    } else if (host.isPort?.(item)) {
      if (!host.isOpenPort(item)) fail('MessagePort in transfer list is already detached');
      result.set(item, () => {
        const port = host.movePort(item);
        moved.push(port);
        return port;
      });
    } else if (host.isFileHandle?.(item)) {
      result.set(item, () => host.moveFileHandle(item));
    } else if (mode(item) & TRANSFERABLE) {
      const symbols = host.perIsolateSymbols;
      for (const [inner, make] of takeOver(item[symbols.messaging_transfer_list_symbol]?.() ?? [], source, moved)) result.set(inner, make);
      result.set(item, (copy, put) => revive(item[symbols.messaging_transfer_symbol](), copy, put));
    } else {
      fail('Value could not be cloned.');
    }
  }
  return result;
}

// `moved`: where ports that change hands are put, too
host.clone = (input, transferred = [], source = undefined, moved = []) => {
  const seen = new Map();
  const transfer = takeOver(transferred, source, moved);
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
  const result = copy(input);
  for (const [item, make] of transfer) if (!seen.has(item)) make(copy, (made) => made); // they change hands all the same
  return result;
};
