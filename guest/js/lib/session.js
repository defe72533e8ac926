// session.js - cells of a session: their values and errors as text, their pending promises, callbacks, the user's variables.
'use strict';

const { process, loop, options } = host;
const { ERRORS } = native;
const text = (value) => new Uint8Array(native.encode(1, value));

// ---- the life of a session ----

host.prepareSession = () => {
  host.session = true;
  host.argv = [];
  host.execArgv = [];
  const { prepareMainThreadExecution, markBootstrapComplete } = host.require('internal/process/pre_execution');
  prepareMainThreadExecution(false, true);
  markBootstrapComplete();
  for (const id of ['internal/vm/module', 'internal/source_map/source_map', 'module']) host.require(id); // what each program loads when it begins
  host.exit = (code) => {
    cellInfo[0] = 1;
    native.leaveSession(code);
  };
  bindRequire();
  nameMissingModules();
  bindInput();
  bindOutputs();
  for (const [name, value] of Object.entries({ invoke, listCallbacks })) host.define(globalThis, name, value);
  host.define(globalThis, 'CallbackError', CallbackError);
  host.define(globalThis, '_', undefined);
  baseline = new Set(Reflect.ownKeys(globalThis));
};

// Nothing is left of what ran, or was found where another sandbox may have something else.
host.endBoot = () => {
  process.chdir('.');
  host.beginCell();
  host.endBuilding();
  baseline = new Set(Reflect.ownKeys(globalThis));
};

host.greet = () => {
  loop.restart();
  host.beginMilestones();
  process.pid = native.getpid();
  process.ppid = native.getppid();
  process.env.TZ !== undefined && native.setTimeZone?.();
};

// A program begins in this process instead: see start.js.
host.endSession = () => {
  if (!host.session) return;
  host.session = false;
  host.exit = undefined;
  for (const name of ['invoke', 'listCallbacks', 'CallbackError', '_', 'require', 'module', 'exports']) delete globalThis[name];
  Object.defineProperty(process, 'stdin', ownInput);
  Object.defineProperties(process, ownOutputs);
  Object.defineProperty(console, '_ignoreErrors', ownIgnore);
  host.undoBuilding();
  prepareAgain();
};

// The loaders of modules are there already, and lib/ would not have them made twice.
function prepareAgain() {
  const execution = host.require('internal/process/pre_execution');
  const prepare = execution.prepareMainThreadExecution;
  const prepareOnce = (expandArgv1, preload) => {
    const main = prepare(expandArgv1, false);
    if (preload && options['--require'].length > 0) host.require('internal/modules/cjs/loader').Module._preloadModules(options['--require']);
    return main;
  };
  execution.prepareMainThreadExecution = (expandArgv1) => prepareOnce(expandArgv1, true);
  execution.prepareTestRunnerMainExecution = (loadUserModules = true) => prepareOnce(false, loadUserModules);
}

// ---- require and import ----

function bindRequire() {
  const { Module } = host.require('internal/modules/cjs/loader');
  const { makeRequireFunction } = host.require('internal/modules/helpers');
  const module = new Module('<cell>');
  Object.defineProperty(module, 'paths', { __proto__: null, configurable: true, enumerable: true, get: () => Module._nodeModulePaths(process.cwd()) });
  Object.defineProperty(module, 'filename', { __proto__: null, configurable: true, enumerable: true, get: () => `${process.cwd()}/<cell>` });
  const require = makeRequireFunction(module);
  host.define(globalThis, 'require', require);
  host.define(globalThis, 'module', module);
  host.define(globalThis, 'exports', module.exports);
}

// A package that is not there: which of them a sandbox has is for its owner to say.
const isPackage = (name) => !/^(?:\.{0,2}\/|\.{1,2}$|[a-z][a-z+.-]*:)/i.test(name);
const missing = (name) => `Module '${name}' not available in sandbox`;

function nameMissingModules() {
  const { Module } = host.require('internal/modules/cjs/loader');
  const { E, setOwnProperty } = { ...host.require('internal/errors'), ...host.require('internal/util') };
  const resolve = Module._resolveFilename;
  Module._resolveFilename = function _resolveFilename(request, ...rest) {
    try {
      return Reflect.apply(resolve, this, [request, ...rest]);
    } catch (error) {
      if (host.session && error?.code === 'MODULE_NOT_FOUND' && isPackage(String(request))) error.message = missing(request);
      throw error;
    }
  };
  E('ERR_MODULE_NOT_FOUND', function text(path, base, exactUrl) {
    if (exactUrl) setOwnProperty(this, 'url', `${exactUrl}`);
    if (host.session && !exactUrl && isPackage(String(path))) return missing(path);
    return `Cannot find ${exactUrl ? 'module' : 'package'} '${path}' imported from ${base}`;
  }, Error);
}

// What relative specifiers of import() are relative to. Cells and -e have no file.
host.referrerOf = (referrer) => {
  if (referrer === undefined || referrer === null) return undefined;
  if (/^(\/|file:|node:|data:|https?:)/.test(referrer)) return referrer;
  return host.require('internal/url').pathToFileURL(`${process.cwd()}/`).href;
};

// import and export statements of a cell: import() does the same, and nothing is exported from one.
host.rewriteCell = (error, code) => {
  if (!/\b(?:import|export)\b/.test(code)) throw error;
  const { Parser } = host.require('internal/deps/acorn/acorn/dist/acorn');
  let tree;
  try {
    tree = Parser.parse(code, { ecmaVersion: 'latest', sourceType: 'module', allowAwaitOutsideFunction: true });
  } catch {
    throw error;
  }
  let result = '', at = 0;
  for (const node of tree.body) {
    const replacement = importOf(node, code);
    if (replacement === undefined) continue;
    const lines = '\n'.repeat(code.slice(node.start, node.end).split('\n').length - 1);
    result += code.slice(at, node.start) + (replacement.whole ? replacement.whole + lines : '');
    at = replacement.whole ? node.end : replacement.start;
  }
  if (at === 0) throw error;
  return result + code.slice(at);
};

const nameOf = (node) => node.name ?? JSON.stringify(node.value);

function importOf(node, code) {
  if (node.type === 'ImportDeclaration') {
    const from = `await import(${node.source.raw})`;
    const named = [], others = [];
    for (const s of node.specifiers) {
      if (s.type === 'ImportNamespaceSpecifier') others.push(s.local.name);
      else named.push(`${s.type === 'ImportDefaultSpecifier' ? 'default' : nameOf(s.imported)}: ${s.local.name}`);
    }
    const parts = [...others.map((name) => `const ${name} = ${from};`), ...(named.length > 0 ? [`const { ${named.join(', ')} } = ${from};`] : [])];
    return { whole: parts.length > 0 ? parts.join(' ') : `${from};` };
  }
  if (node.type === 'ExportDefaultDeclaration') return { start: node.declaration.start };
  if (node.type === 'ExportNamedDeclaration') return node.declaration ? { start: node.declaration.start } : { whole: ';' };
  if (node.type === 'ExportAllDeclaration') return { whole: ';' };
  return undefined;
}

// Before a cell of TypeScript imports something.
host.prepareTypeScript = () => {
  host.internalBinding('typescript');
  host.resolveTypeScript();
};

// ---- running ----

let pendingError; // {error} of something that a cell has left behind

host.Uncaught = class Uncaught {
  constructor(error) {
    pendingError ??= { error };
    cellInfo[0] = 1;
  }
};

function throwPending() {
  if (!pendingError) return;
  const { error } = pendingError;
  pendingError = undefined;
  throw error;
}

// What C looks at before it calls beginCell: whether an earlier cell has left something to be put right.
const cellInfo = new Uint8Array(1);
host.cellInfo = cellInfo.buffer;
host.tickInfo = loop.tickInfo.buffer;

host.beginCell = () => {
  cellInfo[0] = 0;
  pendingError = undefined;
  if (process._exiting) { // process.exit() has ended an earlier cell
    process._exiting = false;
    process.exitCode = undefined;
  }
  if (!inputUsed) return;
  inputUsed = false;
  resetInput();
};

host.endCell = () => {
  settle();
  throwPending();
};

function settle() {
  try {
    loop.leave();
  } catch (error) {
    if (!(error instanceof host.Uncaught)) host.fatalQuietly(error);
  }
}

host.fatalQuietly = (error) => {
  try {
    host.fatal(error);
  } catch (thrown) {
    if (!(thrown instanceof host.Uncaught)) throw thrown;
  }
};

const PENDING = 0, REJECTED = 2;

host.settleCell = (promise) => {
  quiet.add(promise);
  for (;;) {
    settle();
    throwPending();
    const [state, result] = native.promiseDetails(promise);
    if (state === REJECTED) throw result;
    if (state !== PENDING) return result;
    if (!loop.isAlive()) throw new Error('the cell awaits something that nothing is going to settle');
    try {
      loop.round(() => pendingError !== undefined || native.promiseDetails(promise)[0] !== PENDING);
    } catch (error) {
      if (!(error instanceof host.Uncaught)) throw error;
    }
  }
};

// As a program ends: when nothing is left to be done.
host.drainCell = () => {
  settle();
  throwPending();
  while (loop.isAlive()) {
    try {
      loop.round(() => pendingError !== undefined);
    } catch (error) {
      if (!(error instanceof host.Uncaught)) throw error;
    }
    settle();
    throwPending();
  }
};

// A cell's own promise is looked at here, and no rejection of it is unhandled.
const quiet = new WeakSet();
host.isQuiet = (promise) => host.session && quiet.has(promise);

// ---- standard input: the host may put another there before each cell ----

let input;         // what process.stdin is in this cell
let inputUsed = false;
let ownInput;      // the property as a program has it

function openInput() {
  inputUsed = true;
  cellInfo[0] = 1;
  return input ??= new (host.require('fs').ReadStream)(null, { fd: 0, autoClose: false });
}

function resetInput() {
  input?.destroy();
  input = undefined;
}

function bindInput() {
  ownInput = Object.getOwnPropertyDescriptor(process, 'stdin');
  Object.defineProperty(process, 'stdin', { __proto__: null, get: openInput, configurable: true, enumerable: true });
}

// Input that came with the request.
host.giveInput = (bytes) => {
  resetInput();
  inputUsed = true;
  cellInfo[0] = 1;
  input = host.require('stream').Readable.from([host.toBuffer(bytes)], { objectMode: false });
};

// ---- standard output and error: a cell that ends them ends them for no other ----

let ownOutputs; // the properties as a program has them

function endOutput(chunk, encoding, callback) {
  const done = [chunk, encoding, callback].find((given) => typeof given === 'function');
  if (chunk !== undefined && chunk !== null && chunk !== done) this.write(chunk, encoding === done ? undefined : encoding);
  if (done) process.nextTick(done);
  return this;
}

function bindOutputs() {
  ownOutputs = {};
  for (const name of ['stdout', 'stderr']) {
    const own = ownOutputs[name] = Object.getOwnPropertyDescriptor(process, name);
    let bound;
    const get = () => {
      const stream = own.get.call(process);
      if (stream !== bound) host.define(bound = stream, 'end', endOutput);
      return stream;
    };
    Object.defineProperty(process, name, { __proto__: null, get, set: own.set, configurable: true, enumerable: own.enumerable });
  }
  bindConsole();
}

// The console guards each line against errors of its stream, which costs more than the line. These streams have none, unless a cell has closed their
// descriptor or has put a function of its own into them.
let ownIgnore;

function bindConsole() {
  ownIgnore = Object.getOwnPropertyDescriptor(console, '_ignoreErrors');
  const hasOwn = Object.hasOwn;
  Object.defineProperty(console, '_ignoreErrors', {
    __proto__: null, configurable: true, enumerable: false,
    get: () => host.outputClosed === true || hasOwn(process.stdout, 'write') || hasOwn(process.stderr, 'write'),
    set: (value) => { Object.defineProperty(console, '_ignoreErrors', { __proto__: null, value, writable: true, enumerable: false, configurable: true }); },
  });
}

// ---- values and errors ----

const inspector = () => host.require('internal/util/inspect').inspect;

host.describeValue = (value, wantJson) => {
  const repr = inspector()(value);
  let json;
  if (wantJson) {
    try {
      json = JSON.stringify(value);
    } catch {
      // Circular, or something that has no JSON: there is none.
    }
  }
  return { repr, json: typeof json === 'string' ? json : undefined };
};

const isError = (value) => native.classOf(value) === native.CLASS.ERROR || value instanceof Error;
const ownFrame = /^\s+at (?:.*\()?node:/;

host.describeError = (error, cell) => {
  if (!isError(error)) {
    const shown = typeof error === 'string' ? error : inspector()(error);
    return { type: 'Uncaught', text: shown, stack: `Uncaught ${inspector()(error)}`, line: 0 };
  }
  const lines = String(error.stack ?? error).split('\n').filter((line) => !ownFrame.test(line));
  const head = lines.findIndex((line) => /^\s+at /.test(line));
  const frame = lines.slice(head < 0 ? lines.length : head).find((line) => line.includes(`${cell}:`));
  const line = frame ? Number(frame.slice(frame.indexOf(`${cell}:`) + cell.length + 1).split(':')[0]) : 0;
  let stack = lines.join('\n');
  if (error.cause !== undefined) stack += ` {\n  [cause]: ${inspector()(error.cause).replaceAll('\n', '\n  ')}\n}`;
  return { type: String(error.name ?? 'Error'), text: String(error.message ?? ''), stack, line: line || 0 };
};

// ---- callbacks ----

class CallbackError extends Error {
  get name() { return 'CallbackError'; }
}

function finish(status, answer, decode) {
  if (status !== 0) throw new CallbackError(answer);
  return decode ? JSON.parse(answer) : answer;
}

function readAnswer(fd) {
  const bytes = native.readAll(fd);
  native.close(fd);
  if (typeof bytes === 'number' || bytes.byteLength === 0) throw new CallbackError('the host has gone away');
  return [new Uint8Array(bytes)[0], native.decode(1, bytes, 1)];
}

function ask(name, json, decode) {
  const asked = native.ask(name, json);
  if (asked === -ERRORS.ENOENT) throw new CallbackError(`there is no callback named '${name}'`);
  if (typeof asked === 'number') throw host.systemError(asked, 'ask');
  const [status, answer, fd] = asked;
  if (fd === undefined) return finish(status, answer, decode);
  return new Promise((resolve, reject) => {
    const item = loop.watch(fd, 1, () => {
      loop.forget(fd, item);
      try {
        const [refused, given] = readAnswer(fd);
        resolve(finish(refused, given, decode));
      } catch (error) {
        reject(error);
      }
    });
  });
}

// JSON for JSON, or with anything else both are converted.
async function invoke(name, args = {}) {
  if (typeof name !== 'string') throw new TypeError('invoke(name, arguments) expects a name');
  if (typeof args === 'string') return ask(name, args, false);
  return ask(name, JSON.stringify(args), true);
}

function listCallbacks() { return JSON.parse(native.callbacks()); }

const isPlain = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

// One object is the arguments by name; else they are in the order of the schema.
function callbackOf({ name, parameters }) {
  const names = Object.keys(parameters?.properties ?? {});
  const short = name.slice(name.lastIndexOf('.') + 1);
  const f = {
    async [short](...args) {
      if (args.length === 1 && isPlain(args[0])) return invoke(name, args[0]);
      if (args.length > names.length) throw new TypeError(`${name}() takes at most ${names.length} positional arguments, and was given ${args.length}`);
      return invoke(name, Object.fromEntries(args.map((value, i) => [names[i], value])));
    },
  };
  return f[short];
}

let bound = new Set();

host.bindCallbacks = () => {
  for (const name of bound) delete globalThis[name];
  bound = new Set();
  for (const callback of listCallbacks()) {
    const parts = callback.name.split('.');
    const [first] = parts;
    if (!bound.has(first) && (first in globalThis)) continue; // it would hide something: invoke() finds it
    let holder = globalThis;
    bound.add(first);
    for (const part of parts.slice(0, -1)) {
      if (!Object.hasOwn(holder, part)) host.define(holder, part, {});
      holder = holder[part];
    }
    host.define(holder, parts.at(-1), callbackOf(callback));
    if (!baseline.has(first)) baseline.add(first);
  }
};

// ---- the user's variables ----

let baseline = new Set();

function userNames() {
  const own = Reflect.ownKeys(globalThis).filter((name) => typeof name === 'string' && !baseline.has(name));
  return [...native.lexicalNames(), ...own];
}

const valueOf = (name) => (native.lexicalNames().includes(name) ? native.lexicalValue(name) : globalThis[name]);

host.describeNames = () => JSON.stringify(userNames().map((name) => {
  const value = valueOf(name);
  const type = value === null ? 'null' : typeof value === 'object' ? value.constructor?.name ?? 'Object' : typeof value;
  return { name, type };
}));

function checkStorable(name, value, seen = new Set()) {
  if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError(`'${name}' cannot be stored: it is or holds a ${typeof value}`);
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  const prototype = Object.getPrototypeOf(value);
  const known = [Object.prototype, Array.prototype, Date.prototype, Map.prototype, Set.prototype, RegExp.prototype, null];
  if (!known.includes(prototype) && !ArrayBuffer.isView(value) && !(value instanceof ArrayBuffer))
    throw new TypeError(`'${name}' cannot be stored: it holds an object of ${prototype.constructor?.name ?? 'another class'}`);
  if (value instanceof Map) for (const [key, item] of value) { checkStorable(name, key, seen); checkStorable(name, item, seen); }
  else if (value instanceof Set) for (const item of value) checkStorable(name, item, seen);
  else if (!ArrayBuffer.isView(value)) for (const item of Object.values(value)) checkStorable(name, item, seen);
}

host.collectState = () => {
  const all = {};
  for (const name of userNames()) {
    const value = valueOf(name);
    checkStorable(name, value);
    all[name] = value;
  }
  return all;
};

host.restoreState = (all) => {
  if (all === null || typeof all !== 'object') throw new TypeError('these bytes hold no variables');
  for (const [name, value] of Object.entries(all)) globalThis[name] = value;
};

host.clearState = () => {
  host.define(globalThis, '_', undefined);
  for (const name of userNames()) native.forgetGlobal(name);
  pendingError = undefined;
};
