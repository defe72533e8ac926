'use strict';
const UTF8 = 1, LATIN1 = 4;
const encodeIntoResults = new Uint32Array(2);
function bytesOf(input) {
  const { CLASS } = native, kind = native.classOf(input);
  if (!ArrayBuffer.isView(input) && kind !== CLASS.ARRAY_BUFFER && kind !== CLASS.SHARED_ARRAY_BUFFER)
    throw host.nodeError('ERR_INVALID_ARG_TYPE', 'list', ['SharedArrayBuffer', 'ArrayBuffer', 'ArrayBufferView'], input);
  return viewOf(input);
}
const viewOf = (input) => (ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input));

function decodeUTF8(input, ignoreBOM, fatal) {
  let bytes = bytesOf(input);
  if (fatal && !native.isUtf8(bytes)) throw host.nodeError('ERR_ENCODING_INVALID_ENCODED_DATA', 'utf-8', undefined);
  if (!ignoreBOM && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) bytes = bytes.subarray(3);
  return native.decode(UTF8, bytes);
}

return {
  encodeIntoResults,
  encodeInto(text, into) { native.writeText(UTF8, into, text, 0, undefined, encodeIntoResults); },
  encodeUtf8String: (text) => new Uint8Array(native.encode(UTF8, text)),
  decodeUTF8,
  decodeLatin1: (input) => native.decode(LATIN1, bytesOf(input)),
  toASCII: (text) => host.require('punycode').toASCII(text),
  toUnicode: (text) => host.require('punycode').toUnicode(text),
};
