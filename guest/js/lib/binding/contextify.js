'use strict';
const { perIsolateSymbols, privateSymbols, noop } = host;
const { vm_dynamic_import_default_internal: DEFAULT } = perIsolateSymbols;
const CJS = 'exports,require,module,__filename,__dirname';

const optionOf = (args) => args.find((x) => typeof x === 'symbol');

// What a script or function asks import() with: by its file name, since that is all that the engine knows.
host.importers = new Map();
function remember(file, symbol) {
  if (symbol !== undefined && symbol !== DEFAULT) host.importers.set(String(file), symbol);
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
    native.checkScript(code, this.#file, line);
    this.sourceMapURL = mapOf(code);
  }
  runInContext(context) {
    if (context !== null && context !== undefined && context !== globalThis) throw new Error('vm contexts are not supported in a sandbox: use runInThisContext');
    return native.runScript(this.#code, this.#file, this.#line);
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
  return { function: native.compileFunction(code, String(file), (params ?? []).join(','), line ?? 0), sourceMapURL: mapOf(code) };
}

function compileFunctionForCJSLoader(code, file, isSea, detect) {
  try {
    return { cachedDataRejected: false, sourceMapURL: mapOf(code), canParseAsESM: false, function: native.compileFunction(code, file, CJS, 0) };
  } catch (error) {
    if (!detect || !containsModuleSyntax(code, file)) throw error;
    return { cachedDataRejected: false, sourceMapURL: undefined, canParseAsESM: true, function: undefined };
  }
}

return {
  ContextifyScript,
  compileFunction,
  compileFunctionForCJSLoader,
  containsModuleSyntax,
  shouldRetryAsESM: (code, file) => containsModuleSyntax(code, file),
  makeContext() { throw new Error('vm contexts are not supported in a sandbox: use runInThisContext'); },
  startSigintWatchdog: noop,
  stopSigintWatchdog: () => false,
  watchdogHasPendingSigint: () => false,
  measureMemory: noop,
  constants: { measureMemory: { mode: { SUMMARY: 0, DETAILED: 1 }, execution: { DEFAULT: 0, EAGER: 1 } } },
};
