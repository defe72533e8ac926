'use strict';
const { CLASS } = native;
const isPromise = (value) => native.classOf(value) === CLASS.PROMISE;
const PIPE = 0o010000, CHARACTERS = 0o020000, FILE = 0o100000, SOCKET = 0o140000, KIND = 0o170000;

function constructorName(object) {
  for (let at = object; at !== null && at !== undefined; at = Object.getPrototypeOf(at)) {
    const found = Object.getOwnPropertyDescriptor(at, 'constructor');
    if (typeof found?.value === 'function' && found.value.name) return found.value.name;
  }
  return 'Object';
}

// As uv_guess_handle numbers them: TCP, TTY, UDP, FILE, PIPE, UNKNOWN.
function guessHandleType(fd) {
  if (native.isatty(fd)) return 1;
  const mode = native.modeOfDescriptor(fd);
  if (mode < 0) return 5;
  const kind = mode & KIND;
  if (kind === FILE || kind === CHARACTERS) return 3;
  return kind === PIPE ? 4 : kind === SOCKET ? Math.max(0, native.socketKind(fd)) : 5;
}

function defineLazyProperties(target, id, keys, enumerable = true) {
  for (const key of keys) {
    const put = (value) => Object.defineProperty(target, key, { __proto__: null, value, writable: true, configurable: true, enumerable });
    const accessors = {
      get [key]() {
        const value = host.require(id)[key];
        put(value);
        return value;
      },
      set [key](value) { put(value); },
    };
    const { get, set } = Object.getOwnPropertyDescriptor(accessors, key);
    Object.defineProperty(target, key, { __proto__: null, get, set, configurable: true, enumerable });
  }
}

// .env files: NAME=value, quotes, comments, `export`.
function parseEnv(content) {
  const result = {};
  const line = /^\s*(?:export\s+)?([\w.-]+)\s*=[^\S\n]*("(?:\\.|[^"\\])*"|'[^']*'|`[^`]*`|[^#\n]*)/gm;
  for (const [, name, given] of content.replace(/\r\n?/g, '\n').matchAll(line)) {
    const value = given.trim();
    const quote = value[0];
    const quoted = value.length > 1 && '"\'`'.includes(quote) && value.endsWith(quote);
    const inner = quoted ? value.slice(1, -1) : value;
    result[name] = quote === '"' && quoted ? inner.replaceAll('\\n', '\n') : inner;
  }
  return result;
}

const OURS = 8; // frames at most that are of these files
const place = (site) => ({
  functionName: site.getFunctionName() ?? '', scriptId: '0', scriptName: site.getFileName() ?? '',
  lineNumber: site.getLineNumber() ?? 0, columnNumber: site.getColumnNumber() ?? 0, column: site.getColumnNumber() ?? 0,
});

return {
  privateSymbols: host.privateSymbols,
  shouldAbortOnUncaughtToggle: new Uint32Array(1),
  isInsideNodeModules(frames = 10, otherwise = false) {
    const files = host.callSites(frames + OURS).filter(host.isShown).slice(0, frames).map((site) => site.getFileName());
    const file = files.find((name) => typeof name === 'string' && name !== '' && !name.startsWith('node:'));
    return file === undefined ? otherwise : /[\\/]node_modules[\\/]/.test(file);
  },
  getPromiseDetails(promise) {
    if (!isPromise(promise)) return undefined;
    const [state, result] = native.promiseDetails(promise);
    return state === 0 ? [0, undefined] : [state, result];
  },
  getProxyDetails(value, both = true) {
    if (value === host.process.env) return undefined; // no proxy elsewhere
    const details = native.proxyDetails(value);
    return details && !both ? details[0] : details;
  },
  getCallerLocation() {
    const site = host.callSites(4)[3];
    return site && [site.getLineNumber() ?? 0, site.getColumnNumber() ?? 0, site.getFileName() ?? ''];
  },
  previewEntries(object, both) {
    const found = native.entries(object);
    return found && !both ? found[0] : found;
  },
  getOwnNonIndexProperties: native.ownNonIndexProperties,
  getConstructorName: constructorName,
  getExternalValue: () => 0n,
  getCallSites: (count) => host.callSites(count + OURS).filter(host.isShown).slice(1, count + 1).map(place),
  sleep: native.sleep,
  guessHandleType,
  defineLazyProperties,
  isConstructor: native.isConstructor,
  toUSVString: (value) => String(value).toWellFormed(),
  getSystemErrorMessage: (number) => host.errorMap.get(number)?.[1],
  arrayBufferViewHasBuffer: () => true,
  constructSharedArrayBuffer: (length) => new SharedArrayBuffer(length),
  parseEnv,
  WeakReference: class {
    constructor(object) { this.object = object; }
    get() { return this.object; }
    incRef() {}
    decRef() {}
  },
};
