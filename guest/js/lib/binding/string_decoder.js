'use strict';
// A decoder's state is seven bytes: up to four of a character that is not whole, how many are missing, how many are there, the encoding.
const MISSING = 4, BUFFERED = 5, ENCODING = 6;
const UTF8 = 1, BASE64 = 2, UCS2 = 3, BASE64URL = 7;

// How long a character of UTF-8 is by its first byte, and whether the bytes that are there can begin one.
const lengthOf = (byte) => (byte >= 0xf0 && byte <= 0xf7 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1);
function canBegin([first, second]) {
  if (second === undefined) return true;
  if (first === 0xe0) return second >= 0xa0;
  if (first === 0xed) return second <= 0x9f;
  if (first === 0xf0) return second >= 0x90;
  return first !== 0xf4 || second <= 0x8f;
}

// [bytes at the end that wait for more, how many are missing]. Half a unit of UTF-16 waits alone, unless its surrogate waited before.
function tail(encoding, bytes, waited) {
  const { length } = bytes;
  if (encoding === BASE64 || encoding === BASE64URL) return length % 3 ? [length % 3, 3 - length % 3] : [0, 0];
  if (encoding === UCS2) {
    const odd = length % 2;
    if (odd && !waited) return [1, 1];
    const last = bytes[length - odd - 1];
    if (length - odd >= 2 && last >= 0xd8 && last <= 0xdb) return [odd + 2, 2 - odd];
    return [odd, odd];
  }
  for (let back = 1; back <= Math.min(3, length); back++) {
    const byte = bytes[length - back];
    if ((byte & 0xc0) === 0x80) continue;
    const whole = lengthOf(byte);
    return whole > back && canBegin(bytes.subarray(length - back)) ? [back, whole - back] : [0, 0];
  }
  return [0, 0];
}

function decode(state, view) {
  if (typeof view === 'string') return view;
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const encoding = state[ENCODING];
  if (encoding !== UTF8 && encoding !== UCS2 && encoding !== BASE64 && encoding !== BASE64URL) return native.decode(encoding, bytes);
  let all = bytes;
  if (state[BUFFERED] > 0) {
    all = new Uint8Array(state[BUFFERED] + bytes.length);
    all.set(state.subarray(0, state[BUFFERED]));
    all.set(bytes, state[BUFFERED]);
  }
  const [keep, missing] = tail(encoding, all, all !== bytes);
  state.set(all.subarray(all.length - keep), 0);
  state[BUFFERED] = keep;
  state[MISSING] = missing;
  return native.decode(encoding, all, 0, all.length - keep);
}

function flush(state) {
  const have = state[ENCODING] === UCS2 ? state[BUFFERED] & ~1 : state[BUFFERED];
  const text = native.decode(state[ENCODING], state, 0, have);
  state[MISSING] = state[BUFFERED] = 0;
  return text;
}

return { encodings: ['ascii', 'utf8', 'base64', 'utf16le', 'latin1', 'hex', 'buffer', 'base64url'], decode, flush,
  kIncompleteCharactersStart: 0, kIncompleteCharactersEnd: 4, kMissingBytes: MISSING, kBufferedBytes: BUFFERED, kEncodingField: ENCODING,
  kNumFields: 7, kSize: 7 };
