// errors.js - stacks as V8 writes them, and errors of system calls as libuv names them.
'use strict';

const { CLASS } = native;
const errorToString = Error.prototype.toString;
const define = (object, name, value) =>
  Object.defineProperty(object, name, { __proto__: null, value, writable: true, configurable: true, enumerable: false });

// ---- call sites ----

const site = native.callSitePrototype();
// Ours, and what V8 does not list either: call() and apply() of functions.
const isOurs = (file) => typeof file === 'string' && file.startsWith('node:cay/');
const PASSING = new Set(['call', 'apply', 'keepStack', 'runScript', 'compileFunction', 'runMicrotasks', 'evaluateModule']);
const isShown = host.isShown = (s) => (s.isNative() ? !PASSING.has(s.getFunctionName()) : !isOurs(s.getFileName()));

define(site, 'toString', function toString() {
  const file = this.getFileName();
  let name = this.getFunctionName();
  if (name === '<eval>') name = null;
  const line = this.getLineNumber();
  const place = this.isNative() ? 'native' : `${file ?? '<anonymous>'}${line === null ? '' : `:${line}:${this.getColumnNumber()}`}`;
  if (!name) return place;
  return `${this.isConstructor() ? 'new ' : ''}${name} (${place})`;
});
const answers = {
  getThis: undefined, getTypeName: null, getMethodName: null, getEvalOrigin: undefined, isToplevel: true, isEval: false, isAsync: false,
  isPromiseAll: false, getPromiseIndex: null, getScriptHash: '', getPosition: 0, getEnclosingLineNumber: 0, getEnclosingColumnNumber: 0,
};
for (const [name, value] of Object.entries(answers)) define(site, name, { [name]() { return value; } }[name]);
define(site, 'getScriptNameOrSourceURL', function getScriptNameOrSourceURL() { return this.getFileName(); });

// ---- stacks ----

// The engine asks when an error is made; it keeps the list of call sites, and the text is made when it is first asked for.
const limit = () => (typeof Error.stackTraceLimit === 'number' ? Error.stackTraceLimit : 0);
let prepare; // Node's, once it is there

function head(error) {
  try {
    return errorToString.call(error);
  } catch {
    return '<error>';
  }
}

function format(error, all) {
  const sites = all.filter(isShown);
  if (prepare) {
    try {
      return prepare(globalThis, error, sites);
    } catch {
      // A hook of the user's has thrown: as if there were none.
    }
  }
  const title = head(error);
  return sites.length === 0 ? title : `${title}\n    at ${sites.join('\n    at ')}`;
}

const isSite = (value) => native.classOf(value) === CLASS.CALL_SITE;
const isRaw = (value) => Array.isArray(value) && (value.length === 0 || isSite(value[0]));

function readStack() {
  const kept = native.rawStack(this);
  if (!isRaw(kept)) return kept ?? undefined;
  native.setRawStack(this, head(this)); // a hook may ask for it meanwhile
  const text = format(this, kept);
  native.setRawStack(this, text);
  return text;
}

Error.prepareStackTrace = native.stackHook(
  function stack() { return readStack.call(this); },
  function stack(value) { define(this, 'stack', value); },
);
define(Error, 'prepareStackTrace', undefined);
delete Error.prototype.stack;

const capture = Error.captureStackTrace;
define(Error, 'captureStackTrace', function captureStackTrace(object, above) {
  if (limit() === 0) {
    define(object, 'stack', head(object));
    return;
  }
  capture(object, ...(typeof above === 'function' ? [above] : [captureStackTrace]));
  const sites = Object.getOwnPropertyDescriptor(object, 'stack')?.value;
  if (!isRaw(sites)) return;
  let text;
  Object.defineProperty(object, 'stack', {
    __proto__: null,
    configurable: true,
    enumerable: false,
    get: () => (text === undefined ? text = format(object, sites) : text),
    set: (value) => define(object, 'stack', value),
  });
});

host.setPrepareStackTrace = (f) => { prepare = f; };
host.define = define;

// The call sites above the caller's caller, at most `count`.
host.callSites = (count) => {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = count + 2;
  const sites = native.rawStack(new Error());
  Error.stackTraceLimit = before;
  return isRaw(sites) ? sites.slice(0, count) : [];
};

// ---- errors of system calls ----

const texts = new Map(host.tables.uv.map(([name, text]) => [name, text]));
const { shapes } = host.tables;
const known = new Map(); // from libuv's numbers, which are this system's, negative
for (const [name, number] of Object.entries(native.ERRORS)) if (texts.has(name)) known.set(-number, [name, texts.get(name)]);
for (const [key, m] of Object.entries(shapes.uv)) {
  const name = key.slice(3);
  if (key.startsWith('UV_') && texts.has(name) && !(name in native.ERRORS)) known.set(m.value, [name, texts.get(name)]);
}
host.errorMap = known;

host.systemError = (number, syscall, path, dest) => {
  const [code, text] = known.get(number) ?? [`Unknown system error ${number}`, native.errorText(-number)];
  let message = `${code}: ${text}, ${syscall}`;
  if (path !== undefined) message += ` '${path}'`;
  if (dest !== undefined) message += ` -> '${dest}'`;
  const error = new Error(message);
  error.errno = number;
  error.code = code;
  error.syscall = syscall;
  if (path !== undefined) error.path = `${path}`;
  if (dest !== undefined) error.dest = `${dest}`;
  return error;
};

// An error of Node's own kind, by its code.
host.nodeError = (code, ...details) => new (host.require('internal/errors').codes[code])(...details);

// A mistake in code that the engine has not seen.
host.throwSyntaxError = (file, message, line, column) => {
  const error = new SyntaxError(message);
  define(error, 'stack', `SyntaxError: ${message}\n    at ${file}:${line}:${column}`);
  throw error;
};
