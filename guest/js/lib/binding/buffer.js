'use strict';
const ASCII = 0, UTF8 = 1, BASE64 = 2, UCS2 = 3, LATIN1 = 4, HEX = 5, BASE64URL = 7;
const NUMBERS = { __proto__: null, ascii: ASCII, latin1: LATIN1, binary: LATIN1, utf8: UTF8, 'utf-8': UTF8, ucs2: UCS2, 'ucs-2': UCS2,
  utf16le: UCS2, 'utf-16le': UCS2, hex: HEX, base64: BASE64, base64url: BASE64URL };
host.encodingNumber = (name) => (typeof name === 'number' ? name : NUMBERS[String(name ?? 'utf8').toLowerCase()] ?? UTF8);

let prototype;
host.toBuffer = (arrayBuffer) => Object.setPrototypeOf(new Uint8Array(arrayBuffer), prototype);

const coded = (make, code, message) => Object.assign(new make(message), { code });
const outOfRange = (message) => coded(RangeError, 'ERR_OUT_OF_RANGE', message);

function bytesOf(view) {
  return ArrayBuffer.isView(view) ? new Uint8Array(view.buffer, view.byteOffset, view.byteLength) : new Uint8Array(view);
}

function bound(value, otherwise) {
  if (value === undefined) return otherwise;
  const number = Math.trunc(value) || 0;
  if (number < 0) throw outOfRange('Index out of range');
  return number;
}

const slice = (encoding) => (buffer, start, end) => {
  if (!ArrayBuffer.isView(buffer)) throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'argument must be a buffer');
  const length = buffer.byteLength;
  const from = bound(start, 0);
  const to = Math.max(from, Math.min(bound(end, length), length));
  if (to - from > 2 ** 29 - 24) throw coded(Error, 'ERR_STRING_TOO_LONG', `Cannot create a string longer than 0x${(2 ** 29 - 24).toString(16)} characters`);
  return native.decode(encoding, buffer, from, to);
};

const write = (encoding) => (buffer, text, offset, length) => {
  if (typeof text !== 'string') throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'argument must be a string');
  const from = bound(offset, 0);
  if (from > buffer.byteLength) throw coded(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', '"offset" is outside of buffer bounds');
  return native.writeText(encoding, buffer, text, from, length === undefined ? undefined : bound(length, 0));
};

function fill(buffer, value, start, end, encoding) {
  if (start < 0 || end < 0) throw outOfRange('Index out of range');
  if (end > buffer.byteLength) return -2;
  if (start >= end) return undefined;
  let pattern;
  if (typeof value === 'string') pattern = native.encode(host.encodingNumber(encoding), value);
  else if (ArrayBuffer.isView(value)) pattern = value;
  else pattern = Uint8Array.of(Number(value) & 255);
  return native.fillBytes(buffer, pattern, start, end) ? undefined : -1;
}

function compareOffset(a, b, targetStart, sourceStart, targetLength, sourceLength) {
  if (sourceStart > a.byteLength) throw outOfRange('The value of "sourceStart" is out of range.');
  if (targetStart > b.byteLength) throw outOfRange('The value of "targetStart" is out of range.');
  return native.compareBytes(bytesOf(a).subarray(sourceStart, sourceStart + sourceLength),
                             bytesOf(b).subarray(targetStart, targetStart + targetLength));
}

const swap = (width) => (buffer) => {
  native.swapBytes(buffer, width);
  return buffer;
};

function validate(check) {
  return (input) => {
    if ((input.buffer ?? input).detached) throw coded(Error, 'ERR_INVALID_STATE', 'Invalid state: Cannot validate on a detached buffer');
    return check(input);
  };
}

function atob(input) {
  let text = input.replace(/[\t\n\f\r ]/g, '');
  if (text.length % 4 === 0) text = text.replace(/==?$/, '');
  if (/[^A-Za-z0-9+/]/.test(text)) return -1;
  if (text.length % 4 === 1) return -3;
  return native.decode(LATIN1, native.encode(BASE64, text));
}

const step = (encoding) => (encoding === UCS2 ? 2 : 1);

return {
  setBufferPrototype(p) { prototype = p; },
  setDetachKey: host.noop,
  getZeroFillToggle: host.noop,
  kMaxLength: 2 ** 31 - 1,
  kStringMaxLength: 2 ** 29 - 24,
  createUnsafeArrayBuffer: (length) => new ArrayBuffer(length),
  createFromString: (text, encoding) => host.toBuffer(native.encode(encoding, text)),
  byteLengthUtf8: native.utf8Length,
  copy: native.copyBytes,
  copyArrayBuffer: (to, toOffset, from, fromOffset, count) => native.copyBytes(from, to, toOffset, fromOffset, count),
  compare: native.compareBytes,
  compareOffset,
  fill,
  indexOfString: (buffer, text, from, encoding, forward) => native.findBytes(buffer, native.encode(encoding, text), from, forward, step(encoding)),
  indexOfBuffer: (buffer, value, from, encoding, forward) => native.findBytes(buffer, value, from, forward, step(encoding)),
  indexOfNumber: (buffer, number, from, forward) => (buffer.byteLength === 0 ? -1 : native.findBytes(buffer, Uint8Array.of(number), from, forward, 1)),
  swap16: swap(2), swap32: swap(4), swap64: swap(8),
  isUtf8: validate(native.isUtf8), isAscii: validate(native.isAscii),
  btoa: (text) => (/[^\0-\xff]/.test(text) ? -1 : native.decode(BASE64, native.encode(LATIN1, text))),
  atob,
  asciiSlice: slice(ASCII), utf8Slice: slice(UTF8), base64Slice: slice(BASE64), ucs2Slice: slice(UCS2), latin1Slice: slice(LATIN1),
  hexSlice: slice(HEX), base64urlSlice: slice(BASE64URL),
  asciiWriteStatic: write(ASCII), latin1WriteStatic: write(LATIN1), utf8WriteStatic: write(UTF8),
  utf8Write: write(UTF8), base64Write: write(BASE64), base64urlWrite: write(BASE64URL), hexWrite: write(HEX), ucs2Write: write(UCS2),
};
