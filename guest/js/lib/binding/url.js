'use strict';
const record = host.part('url/record');
const { parse: parseHost } = host.part('url/host');
const ABSENT = 0xffffffff;
const TYPES = ['http', ' ', 'https', 'ws', 'ftp', 'wss', 'file'];
const urlComponents = new Uint32Array(9);

// The URL as text, and where its parts are.
function write(url) {
  let href = `${url.scheme}:`;
  const protocolEnd = href.length;
  let usernameEnd = protocolEnd, hostStart = protocolEnd, hostEnd = protocolEnd;
  if (url.host !== null) {
    href += '//';
    usernameEnd = hostStart = href.length;
    if (url.username || url.password) {
      href += url.username;
      usernameEnd = href.length;
      if (url.password) href += `:${url.password}`;
      hostStart = href.length;
      href += '@';
    }
    href += url.host;
    hostEnd = href.length;
    if (url.port !== null) href += `:${url.port}`;
  } else if (!record.isOpaque(url) && url.path.length > 1 && url.path[0] === '') {
    href += '/.';
  }
  const pathStart = href.length;
  href += record.pathOf(url);
  const searchStart = url.query === null ? ABSENT : href.length;
  if (url.query !== null) href += `?${url.query}`;
  const hashStart = url.fragment === null ? ABSENT : href.length;
  if (url.fragment !== null) href += `#${url.fragment}`;
  const type = TYPES.indexOf(url.scheme);
  urlComponents.set([protocolEnd, usernameEnd, hostStart, hostEnd, url.port ?? ABSENT, pathStart, searchStart, hashStart, type < 0 ? 1 : type]);
  return href;
}

function parseWith(input, base) {
  if (base === undefined) return record.parse(`${input}`);
  const from = record.parse(`${base}`);
  return from && record.parse(`${input}`, from);
}

function parse(input, base, raise) {
  const url = parseWith(input, base);
  if (url) return write(url);
  if (raise) throw base === undefined ? host.nodeError('ERR_INVALID_URL', `${input}`) : host.nodeError('ERR_INVALID_URL', `${input}`, `${base}`);
  return undefined;
}

// ---- setters ----

const cannotHaveUser = (url) => url.host === null || url.host === '' || url.scheme === 'file';
const clean = (text) => text.replace(/[\t\n\r]/g, '');

const setters = [
  function protocol(url, value) {
    const [, scheme] = /^([a-zA-Z][a-zA-Z0-9+.-]*)(?::|$)/.exec(clean(value)) ?? [];
    if (scheme === undefined) return;
    const next = { ...url, scheme: scheme.toLowerCase() };
    if (record.isSpecial(url) !== record.isSpecial(next)) return;
    if (next.scheme === 'file' && (url.username || url.password || url.port !== null)) return;
    if (url.scheme === 'file' && url.host === '') return;
    url.scheme = next.scheme;
    if (url.port === record.PORTS[url.scheme]) url.port = null;
  },
  (url, value) => setHost(url, value, true),
  (url, value) => setHost(url, value, false),
  function port(url, value) {
    if (cannotHaveUser(url)) return;
    if (value === '') url.port = null;
    const [digits] = /^[0-9]+/.exec(clean(value)) ?? [];
    if (digits !== undefined) record.parsePort(url, digits);
  },
  function username(url, value) { if (!cannotHaveUser(url)) url.username = record.encode(value, record.SETS.userinfo); },
  function password(url, value) { if (!cannotHaveUser(url)) url.password = record.encode(value, record.SETS.userinfo); },
  function pathname(url, value) {
    if (record.isOpaque(url)) return;
    const text = clean(value);
    url.path = [];
    const slash = text[0] === '/' || (text[0] === '\\' && record.isSpecial(url));
    if (text !== '' || record.isSpecial(url)) record.parsePath(url, (slash ? text.slice(1) : text).replace(/[?#]/g, (c) => (c === '?' ? '%3F' : '%23')));
  },
  function search(url, value) {
    if (value === '') url.query = null;
    else record.parseQuery(url, clean(value[0] === '?' ? value.slice(1) : value).replaceAll('#', '%23'));
  },
  function hash(url, value) {
    if (value === '') url.fragment = null;
    else record.parseFragment(url, clean(value[0] === '#' ? value.slice(1) : value));
  },
];

function setHost(url, value, withPort) {
  if (record.isOpaque(url)) return;
  const text = clean(value);
  const end = text.search(record.isSpecial(url) ? /[/\\?#]/ : /[/?#]/);
  const [, name, port] = record.splitPort(end < 0 ? text : text.slice(0, end)) ?? [];
  if (name === undefined || (!withPort && port !== undefined && !name.startsWith('['))) return;
  if (url.scheme === 'file') {
    record.parseFileHost(url, name);
    return;
  }
  if (name === '' && (record.isSpecial(url) || url.username || url.password || url.port !== null)) return;
  const parsed = name === '' ? '' : parseHost(name, !record.isSpecial(url));
  if (parsed === undefined) return;
  url.host = parsed;
  if (withPort && port) record.parsePort(url, /^[0-9]*/.exec(port)[0]);
}

function update(href, action, value) {
  if (action === 9) return parse(value, undefined, false) ?? false;
  const url = record.parse(href);
  if (!url) return false;
  setters[action](url, value);
  return write(url);
}

// ---- the rest ----

const percentOf = (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
const toUnicode = (name) => host.require('punycode').toUnicode(name);

function format(href, hash, unicode, search, auth) {
  const url = record.parse(href);
  if (!hash) url.fragment = null;
  if (unicode && url.host) url.host = toUnicode(url.host);
  if (!search) url.query = null;
  if (!auth) url.username = url.password = '';
  return write(url);
}

function getOrigin(href) {
  const url = record.parse(href);
  if (url.scheme === 'blob') {
    const inner = record.parse(record.pathOf(url));
    return inner && /^https?$/.test(inner.scheme) ? getOrigin(write(inner)) : 'null';
  }
  if (!record.isSpecial(url) || url.scheme === 'file') return 'null';
  return `${url.scheme}://${url.host}${url.port === null ? '' : `:${url.port}`}`;
}

return {
  urlComponents, parse, update, format, getOrigin,
  canParse: (input, base) => parseWith(input, base) !== undefined,
  domainToASCII: (domain) => parseHost(domain, false) ?? '',
  domainToUnicode: (domain) => toUnicode(parseHost(domain, false) ?? ''),
  pathToFileURL(path, windows = false, hostname = undefined) {
    const url = record.blank();
    url.scheme = 'file';
    url.host = hostname === undefined ? '' : parseHost(clean(hostname).split(/[/?#\\]/)[0], false);
    if (url.host === undefined) throw host.nodeError('ERR_INVALID_URL', `file://${hostname}${path}`);
    record.parsePath(url, path.replace(windows ? /^[\\/]/ : /^\//, '').replaceAll('%', '%25').replaceAll('\\', windows ? '/' : '%5C').replace(/[?#\n\r\t[\]^|~]/g, percentOf));
    return write(url);
  },
};
