'use strict';
const { perIsolateSymbols, privateSymbols, noop } = host;
const { vm_dynamic_import_default_internal: DEFAULT } = perIsolateSymbols;
const CONTEXT = privateSymbols.contextify_context_private_symbol;
const CJS = 'exports,require,module,__filename,__dirname';

const optionOf = (args) => args.find((x) => typeof x === 'symbol');

// What a script or function asks import() with: by its file name, since that is all that the engine knows.
host.importers = new Map();
function remember(file, symbol) {
  if (symbol !== undefined && symbol !== DEFAULT) host.importers.set(String(file), symbol);
}

// ---- SIGINT ends a script ----

const { SIGINT } = native.SIGNALS;
let watching = 0;

function startSigintWatchdog() {
  if (watching++ === 0) native.interruptOn();
  return true;
}

function stopSigintWatchdog() {
  if (--watching > 0) return false;
  const came = native.interruptOff();
  if (!host.loop.isWatching(SIGINT)) native.forgetSignal(SIGINT);
  return came;
}

const watchdogHasPendingSigint = () => watching > 0 && native.isInterrupted();

// An error's stack begins with the line of code that it comes from, if that is one of this text.
const { arrow_message_private_symbol: ARROW, decorated_private_symbol: DECORATED } = privateSymbols;
function decorate(error, code, file, firstLine) {
  try {
    if (native.classOf(error) !== native.CLASS.ERROR || Object.hasOwn(error, DECORATED) || typeof error.stack !== 'string') return;
    const frame = error.stack.split('\n').find((line) => /^ {4}at /.test(line));
    const [, name, line, column] = /^ {4}at (?:.* \()?(.*):(\d+):(\d+)\)?$/.exec(frame ?? '') ?? [];
    const text = name === file ? code.split('\n')[line - 1 - firstLine] : undefined;
    if (text === undefined) return;
    error[ARROW] = `${file}:${line}\n${text}\n${' '.repeat(Math.max(0, column - 1))}^\n`;
    error.stack = `${error[ARROW]}\n${error.stack}`;
    error[DECORATED] = true;
  } catch {
    // An error with a mind of its own stays as it is.
  }
}

function decorating(code, file, firstLine, f) {
  try {
    return f();
  } catch (error) {
    decorate(error, code, file, firstLine);
    throw error;
  }
}

class ContextifyScript {
  #code;
  #file;
  #line;
  constructor(code, file, line = 0, column = 0, ...more) {
    const option = optionOf(more) ?? Symbol(String(file));
    this.#code = code;
    this.#file = String(file);
    this.#line = line;
    this[privateSymbols.host_defined_option_symbol] = option;
    remember(file, option);
    decorating(code, this.#file, line, () => native.checkScript(code, this.#file, line));
    this.sourceMapURL = mapOf(code);
  }
  runInContext(object, timeout = -1, displayErrors = true, breakOnSigint = false) {
    const run = () => (displayErrors ? decorating(this.#code, this.#file, this.#line, () => this.#run(object, timeout)) : this.#run(object, timeout));
    if (!breakOnSigint || watching > 0) return run();
    startSigintWatchdog();
    try {
      return run();
    } finally {
      stopSigintWatchdog();
    }
  }

  #run(object, timeout) {
    const context = object === null || object === undefined ? undefined : object[CONTEXT];
    const late = () => {
      throw timeout > 0 && !watchdogHasPendingSigint()
        ? Object.assign(new Error(`Script execution timed out after ${timeout}ms`), { code: 'ERR_SCRIPT_EXECUTION_TIMEOUT' })
        : Object.assign(new Error('Script execution was interrupted by `SIGINT`'), { code: 'ERR_SCRIPT_EXECUTION_INTERRUPTED' });
    };
    return native.runScript(this.#code, this.#file, this.#line, context, timeout > 0 ? timeout : undefined, late);
  }
  createCachedData() { return host.require('buffer').Buffer.alloc(0); }
}

const mapOf = (code) => /\n\/\/[#@] sourceMappingURL=(\S+)\s*$/.exec(code)?.[1];

// import and export statements, import.meta and await at the top level make a module: nothing but one compiles with them.
const MODULE_WORDS = /\b(?:import|export|await)\b/;
function containsModuleSyntax(code, file, name, noVariables) {
  if (!MODULE_WORDS.test(code)) return false;
  try {
    native.checkScript(`(function (${noVariables ? '' : CJS}) {${code}\n})`, String(file ?? ''), 0);
    return false;
  } catch {
    // No script; is it a module?
  }
  try {
    native.compileModule(code, `cay:probe:${file}`);
    return true;
  } catch {
    return false;
  }
}

function compileFunction(code, file, line, column, cached, produce, context, extensions, params, option) {
  remember(file, typeof option === 'symbol' ? option : undefined);
  if (extensions?.length > 0) throw new Error('contextExtensions are not supported in a sandbox');
  const made = decorating(code, String(file), line ?? 0, () => native.compileFunction(code, String(file), (params ?? []).join(','), line ?? 0, context?.[CONTEXT]));
  return { function: made, sourceMapURL: mapOf(code) };
}

function compileFunctionForCJSLoader(code, file, isSea, detect) {
  try {
    return { cachedDataRejected: false, sourceMapURL: mapOf(code), canParseAsESM: false, function: native.compileFunction(code, file, CJS, 0) };
  } catch (error) {
    if (!detect || !containsModuleSyntax(code, file)) {
      decorate(error, code, file, 0);
      throw error;
    }
    return { cachedDataRejected: false, sourceMapURL: undefined, canParseAsESM: true, function: undefined };
  }
}

// Without an object to stand for it, the context's own global object does.
function makeContext(object) {
  const isPlain = typeof object === 'symbol';
  const context = native.newContext(isPlain ? undefined : object);
  const result = isPlain ? native.globalOf(context) : object;
  Object.defineProperty(result, CONTEXT, { __proto__: null, value: context, configurable: true, enumerable: false, writable: true });
  return result;
}

return {
  ContextifyScript,
  compileFunction,
  compileFunctionForCJSLoader,
  containsModuleSyntax,
  shouldRetryAsESM: (code, file) => containsModuleSyntax(code, file),
  makeContext,
  startSigintWatchdog,
  stopSigintWatchdog,
  watchdogHasPendingSigint,
  measureMemory: noop,
  constants: { measureMemory: { mode: { SUMMARY: 0, DETAILED: 1 }, execution: { DEFAULT: 0, EAGER: 1 } } },
};
