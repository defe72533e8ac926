// url/record.js - URLs as records, parsed by the states of the WHATWG URL standard, section 4.4, and written again.
'use strict';

const { parse: parseHost, encode, SETS } = host.part('url/host');
const PORTS = { __proto__: null, http: 80, https: 443, ws: 80, wss: 443, ftp: 21, file: null };

const isSpecial = (url) => url.scheme in PORTS;
const isOpaque = (url) => typeof url.path === 'string';
const isLetterAt = (text, at) => /[a-zA-Z]/.test(text[at] ?? '');
const isDrive = (text) => /^[a-zA-Z][:|]$/.test(text);
const isNormalDrive = (text) => /^[a-zA-Z]:$/.test(text);
const startsWithDrive = (text) => /^[a-zA-Z][:|]([/\\?#]|$)/.test(text);
const isSingleDot = (text) => /^(\.|%2e)$/i.test(text);
const isDoubleDot = (text) => /^(\.|%2e){2}$/i.test(text);

function shorten(url) {
  if (url.scheme === 'file' && url.path.length === 1 && isNormalDrive(url.path[0])) return;
  url.path.pop();
}

const blank = () => ({ scheme: '', username: '', password: '', host: null, port: null, path: [], query: null, fragment: null });
const copy = (url) => ({ ...url, path: isOpaque(url) ? url.path : [...url.path] });

// ---- the parts ----

function parseAuthority(url, text) {
  const at = text.lastIndexOf('@');
  if (at >= 0) {
    const userinfo = text.slice(0, at);
    const colon = userinfo.indexOf(':');
    url.username = encode(colon < 0 ? userinfo : userinfo.slice(0, colon), SETS.userinfo);
    if (colon >= 0) url.password = encode(userinfo.slice(colon + 1), SETS.userinfo);
  }
  const rest = text.slice(at + 1);
  if (at >= 0 && rest === '') return false;
  return parseHostPort(url, rest);
}

const splitPort = (text) => /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(text);

function parseHostPort(url, text) {
  const [, name, port] = splitPort(text) ?? [];
  if (name === undefined || (name === '' && (isSpecial(url) || port !== undefined))) return false;
  const parsed = name === '' ? '' : parseHost(name, !isSpecial(url));
  if (parsed === undefined) return false;
  url.host = parsed;
  return port === undefined || port === '' || parsePort(url, port);
}

function parsePort(url, text) {
  if (!/^[0-9]+$/.test(text)) return false;
  const number = Number(text);
  if (number > 65535) return false;
  url.port = number === PORTS[url.scheme] ? null : number;
  return true;
}

function parseFileHost(url, text) {
  if (text === '') {
    url.host = '';
    return true;
  }
  const parsed = parseHost(text, false);
  if (parsed === undefined) return false;
  url.host = parsed === 'localhost' ? '' : parsed;
  return true;
}

// The segments of a path are added to those that are there.
function parsePath(url, text) {
  const special = isSpecial(url);
  const segments = text.split(special ? /[/\\]/ : '/');
  segments.forEach((raw, i) => {
    const last = i === segments.length - 1;
    let segment = encode(raw, SETS.path);
    if (isDoubleDot(segment)) {
      shorten(url);
      if (last) url.path.push('');
    } else if (isSingleDot(segment)) {
      if (last) url.path.push('');
    } else {
      if (url.scheme === 'file' && url.path.length === 0 && isDrive(segment)) segment = `${segment[0]}:`;
      url.path.push(segment);
    }
  });
}

const parseQuery = (url, text) => { url.query = encode(text, isSpecial(url) ? SETS.specialQuery : SETS.query); };
const parseFragment = (url, text) => { url.fragment = encode(text, SETS.fragment); };

// ---- the whole ----

const endOf = (text, pattern) => {
  const at = text.search(pattern);
  return at < 0 ? text.length : at;
};

// Takes the query and the fragment off.
function takeTail(url, text) {
  const hash = text.indexOf('#');
  const before = hash < 0 ? text : text.slice(0, hash);
  const mark = before.indexOf('?');
  if (mark >= 0) parseQuery(url, before.slice(mark + 1));
  if (hash >= 0) parseFragment(url, text.slice(hash + 1));
  return mark < 0 ? before : before.slice(0, mark);
}

function withAuthority(url, text) {
  const end = endOf(text, isSpecial(url) ? /[/\\]/ : /\//);
  if (!parseAuthority(url, text.slice(0, end))) return undefined;
  const path = text.slice(end);
  if (path !== '') parsePath(url, path.slice(1));
  else if (isSpecial(url)) url.path = [''];
  return url;
}

const isSlash = (url, char) => char === '/' || (char === '\\' && isSpecial(url));

function relative(url, base, input) {
  Object.assign(url, copy(base), { fragment: null });
  const text = input;
  if (isSlash(url, text[0])) {
    if (isSlash(url, text[1])) {
      Object.assign(url, { username: '', password: '', host: null, port: null, path: [], query: null });
      const rest = takeTail(url, isSpecial(url) ? text.replace(/^[/\\]+/, '') : text.slice(2));
      return withAuthority(url, rest);
    }
    url.path = [];
    url.query = null;
    parsePath(url, takeTail(url, text).slice(1));
    return url;
  }
  const oldQuery = url.query;
  url.query = null;
  const path = takeTail(url, text);
  if (path !== '') {
    shorten(url);
    parsePath(url, path);
  } else if (url.query === null) {
    url.query = oldQuery;
  }
  return url;
}

function file(url, base, input) {
  url.scheme = 'file';
  url.host = '';
  const from = base?.scheme === 'file' ? base : undefined;
  if (!isSlash(url, input[0])) {
    if (!from) {
      parsePath(url, takeTail(url, input));
      return url;
    }
    const text = input;
    if (startsWithDrive(text)) {
      url.host = from.host;
      parsePath(url, takeTail(url, text));
      return url;
    }
    return relative(url, from, text);
  }
  if (isSlash(url, input[1])) {
    const rest = takeTail(url, input.slice(2));
    const end = endOf(rest, /[/\\]/);
    const name = rest.slice(0, end);
    if (isDrive(name)) parsePath(url, rest);
    else if (!parseFileHost(url, name)) return undefined;
    else parsePath(url, rest.slice(end + 1));
    return url;
  }
  if (from) {
    url.host = from.host;
    if (!startsWithDrive(input.slice(1)) && isNormalDrive(from.path[0] ?? '')) url.path = [from.path[0]];
  }
  parsePath(url, takeTail(url, input).slice(1));
  return url;
}

function opaque(url, text) {
  const path = takeTail(url, text);
  url.path = encode(url.query !== null || url.fragment !== null ? path : path, SETS.control);
  return url;
}

function afterScheme(url, base, rest) {
  if (url.scheme === 'file') return file(url, base, rest);
  if (isSpecial(url)) {
    if (base?.scheme === url.scheme && !/^[/\\]{2}/.test(rest)) return relative(url, base, rest);
    return withAuthority(url, takeTail(url, rest.replace(/^[/\\]*/, '')));
  }
  if (rest.startsWith('//')) return withAuthority(url, takeTail(url, rest.slice(2)));
  if (rest.startsWith('/')) {
    parsePath(url, takeTail(url, rest).slice(1));
    return url;
  }
  return opaque(url, rest);
}

// undefined: it is no URL.
function parse(input, base) {
  const text = input.replace(/^[\0-\x20]+|[\0-\x20]+$/g, '').replace(/[\t\n\r]/g, '').toWellFormed();
  const url = blank();
  const [whole, scheme] = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(text) ?? [];
  if (scheme !== undefined) {
    url.scheme = scheme.toLowerCase();
    return afterScheme(url, base, text.slice(whole.length));
  }
  if (!base) return undefined;
  if (isOpaque(base)) {
    if (text[0] !== '#') return undefined;
    Object.assign(url, copy(base));
    parseFragment(url, text.slice(1));
    return url;
  }
  return base.scheme === 'file' ? file(url, base, text) : relative(url, base, text);
}

// ---- writing ----

const pathOf = (url) => (isOpaque(url) ? url.path : url.path.map((part) => `/${part}`).join(''));

return { parse, isSpecial, isOpaque, pathOf, PORTS, blank, copy, splitPort, isLetterAt, parsePort, parsePath, parseQuery, parseFragment, parseFileHost, encode, SETS };
