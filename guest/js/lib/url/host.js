// url/host.js - the host part of a URL (WHATWG URL standard, section 3): domains, IPv4, IPv6, opaque hosts.
'use strict';

const FORBIDDEN_HOST = /[\0\t\n\r #/:<>?@[\\\]^|]/;
const FORBIDDEN_DOMAIN = /[\0-\x20#%/:<>?@[\\\]^|\x7f]/;

// ---- percent encoding ----

const encoded = new Map();
function percent(byte) {
  if (!encoded.has(byte)) encoded.set(byte, `%${byte.toString(16).toUpperCase().padStart(2, '0')}`);
  return encoded.get(byte);
}
// Percent-encodes characters of `set`, and all beyond ASCII, as UTF-8.
function encode(text, set) {
  let out = '';
  for (const char of text) {
    if (char <= '~' && char >= ' ' && !set.test(char)) out += char;
    else for (const byte of new Uint8Array(native.encode(1, char))) out += percent(byte);
  }
  return out;
}
function decodeBytes(text) {
  const bytes = new Uint8Array(native.encode(1, text));
  const out = [];
  const digit = (byte) => (byte === undefined ? NaN : parseInt(String.fromCharCode(byte), 16));
  for (let i = 0; i < bytes.length; i++) {
    const value = bytes[i] === 0x25 ? digit(bytes[i + 1]) * 16 + digit(bytes[i + 2]) : NaN;
    if (Number.isNaN(value)) {
      out.push(bytes[i]);
    } else {
      out.push(value);
      i += 2;
    }
  }
  return Uint8Array.from(out);
}

const NOTHING = /[^\0-\u{10ffff}]/u;
const SETS = {
  control: NOTHING,
  fragment: /[ "<>`]/,
  query: /[ "#<>]/,
  specialQuery: /[ "#<>']/,
  path: /[ "#<>?^`{}]/,
  userinfo: /[ "#/:;<=>?@[\\\]^`{|}]/,
};

// ---- IPv4 ----

function ipv4Number(text) {
  if (text === '') return undefined;
  if (/^0x[0-9a-f]*$/i.test(text)) return text.length === 2 ? 0 : parseInt(text, 16);
  if (/^0[0-7]*$/.test(text)) return parseInt(text, 8);
  return /^[0-9]+$/.test(text) && text[0] !== '0' ? parseInt(text, 10) : undefined;
}

function endsInNumber(domain) {
  const parts = domain.split('.');
  if (parts.at(-1) === '') {
    if (parts.length === 1) return false;
    parts.pop();
  }
  const last = parts.at(-1);
  return /^[0-9]+$/.test(last) || /^0x[0-9a-f]*$/i.test(last);
}

function parseIPv4(domain) {
  const parts = domain.split('.');
  if (parts.at(-1) === '' && parts.length > 1) parts.pop();
  if (parts.length > 4) return undefined;
  const numbers = parts.map(ipv4Number);
  if (numbers.some((n) => n === undefined)) return undefined;
  const last = numbers.pop();
  if (numbers.some((n) => n > 255) || last >= 256 ** (4 - numbers.length)) return undefined;
  let address = last;
  numbers.forEach((n, i) => { address += n * 256 ** (3 - i); });
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}

// ---- IPv6 ----

function ipv4Tail(text) {
  const parts = text.split('.');
  if (parts.length !== 4 || parts.some((part) => !/^(0|[1-9][0-9]{0,2})$/.test(part) || Number(part) > 255)) return undefined;
  const [a, b, c, d] = parts.map(Number);
  return [a * 256 + b, c * 256 + d];
}

function pieces(text) {
  if (text === '') return [];
  const list = text.split(':');
  const result = [];
  for (const [i, part] of list.entries()) {
    if (i === list.length - 1 && part.includes('.')) {
      const tail = ipv4Tail(part);
      if (!tail) return undefined;
      result.push(...tail);
    } else if (/^[0-9a-f]{1,4}$/i.test(part)) {
      result.push(parseInt(part, 16));
    } else {
      return undefined;
    }
  }
  return result;
}

function parseIPv6(text) {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map(pieces);
  if (!head || (halves.length === 2 && !tail) || (halves.length === 2 && halves[0].includes('.'))) return undefined;
  if (halves.length === 1) return head.length === 8 ? head : undefined;
  const missing = 8 - head.length - tail.length;
  return missing < 1 ? undefined : [...head, ...new Array(missing).fill(0), ...tail];
}

// The longest run of zeros, of two at least, is left out.
function serializeIPv6(address) {
  let best = -1, length = 1;
  for (let i = 0; i < 8; i++) {
    let end = i;
    while (end < 8 && address[end] === 0) end++;
    if (end - i > length) [best, length] = [i, end - i];
    if (end > i) i = end;
  }
  const hex = (list) => list.map((n) => n.toString(16)).join(':');
  return best < 0 ? `[${hex(address)}]` : `[${hex(address.slice(0, best))}::${hex(address.slice(best + length))}]`;
}

// ---- domains ----

// Names beyond ASCII: mapped as Unicode's own case folding and normalization do it, then Punycode.
function toASCII(domain) {
  if (/^[\0-\x7f]*$/.test(domain)) {
    const lower = domain.toLowerCase();
    return /(^|\.)xn--/.test(lower) ? checked(lower) : lower;
  }
  const mapped = domain.replace(/[\u00ad\u200b\u2060\ufeff]/g, '').normalize('NFKC').toLowerCase().normalize('NFKC').replace(/[\u3002\uff0e\uff61]/g, '.');
  try {
    return checked(host.require('punycode').toASCII(mapped));
  } catch {
    return undefined;
  }
}

function checked(domain) {
  try {
    const unicode = host.require('punycode').toUnicode(domain);
    return /(^|\.)xn--(\.|$)/.test(domain) || unicode === domain && /(^|\.)xn--/.test(domain) ? undefined : domain;
  } catch {
    return undefined;
  }
}

// The host as it stands in the URL; undefined: it is none.
function parse(input, isOpaque) {
  if (input[0] === '[') {
    if (input.at(-1) !== ']') return undefined;
    const address = parseIPv6(input.slice(1, -1));
    return address && serializeIPv6(address);
  }
  if (isOpaque) return FORBIDDEN_HOST.test(input) ? undefined : encode(input, SETS.control);
  const text = input.includes('%') ? native.decode(1, decodeBytes(input)) : input;
  const domain = toASCII(text);
  if (!domain || FORBIDDEN_DOMAIN.test(domain)) return undefined;
  return endsInNumber(domain) ? parseIPv4(domain) : domain;
}

return { parse, encode, SETS };
