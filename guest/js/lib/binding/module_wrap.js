'use strict';
const { perIsolateSymbols, privateSymbols } = host;
const UNINSTANTIATED = 0, INSTANTIATED = 2, EVALUATING = 3, EVALUATED = 4, ERRORED = 5;
const STATUS = [UNINSTANTIATED, INSTANTIATED, EVALUATING, EVALUATED, ERRORED]; // by the engine's own numbers
const EVALUATION_PHASE = 2;

const byUrl = new Map();
let initializeMeta;

class ModuleWrap {
  #module;
  #linked = false;
  #targets = [];
  constructor(url, context, source, ...more) {
    this.url = url;
    if (typeof source === 'string') {
      const option = more.find((x) => typeof x === 'symbol') ?? Symbol(url);
      this.#module = native.compileModule(source, url);
      this[privateSymbols.host_defined_option_symbol] = option;
      this.sourceMapURL = /\n\/\/[#@] sourceMappingURL=(\S+)\s*$/.exec(source)?.[1];
      this.meta = option;
    } else {
      const [evaluate] = more;
      this.#module = native.syntheticModule(url, source.map(String), () => evaluate.call(this));
      this.synthetic = true;
      this.#linked = true;
    }
    byUrl.set(url, this);
  }

  getModuleRequests() {
    return native.moduleRequests(this.#module).map(([specifier, attributes]) =>
      Object.freeze({ __proto__: null, specifier, attributes: Object.freeze(Object.assign({ __proto__: null }, attributes)), phase: EVALUATION_PHASE }));
  }

  link(modules) {
    modules.forEach((target, index) => native.linkModule(this.#module, index, target.#module));
    this.#targets = modules;
    this.#linked = true;
  }

  instantiate() {
    native.instantiateModule(this.#module);
    this.#initializeMeta();
  }

  #initializeMeta() {
    if (this.meta === undefined) return;
    const option = this.meta;
    this.meta = undefined;
    initializeMeta?.(option, native.moduleMeta(this.#module), this);
  }

  #start() {
    if (!this.synthetic) this.instantiate();
    for (const module of this.#graph()) module.#initializeMeta();
    return native.evaluateModule(this.#module);
  }

  // The modules that run with this one.
  #graph() {
    const seen = new Set([this]);
    for (const module of seen) module.#targets.forEach((target) => seen.add(target));
    return seen;
  }

  evaluate() { return this.#start(); }

  instantiateSync() {
    this.instantiate();
    return native.moduleAwaits(this.#module);
  }

  evaluateSync(filename, parent) {
    if (native.moduleAwaits(this.#module)) throw host.nodeError('ERR_REQUIRE_ASYNC_MODULE', filename, parent);
    return this.#finish(this.#start());
  }

  #finish(promise) {
    const [state, result] = native.promiseDetails(promise);
    if (state === 2) {
      promise.then(undefined, host.noop);
      throw result;
    }
    return this.getNamespace();
  }

  getNamespaceSync() { return this.getNamespace(); }
  getNamespace() { return native.moduleNamespace(this.#module); }
  getStatus() { return STATUS[native.moduleStatus(this.#module)]; }
  getError() { return native.moduleError(this.#module); }
  isGraphAsync() { return native.moduleAwaits(this.#module); }
  get hasAsyncGraph() { return native.moduleAwaits(this.#module); }
  hasTopLevelAwait() { return native.moduleAwaits(this.#module); }
  setExport(name, value) { native.setModuleExport(this.#module, name, value); }
  getModuleSourceObject() { throw host.nodeError('ERR_SOURCE_PHASE_NOT_DEFINED', this.url); }
  setModuleSourceObject() {}
  createCachedData() { return host.require('buffer').Buffer.alloc(0); }
  get async() { return false; }
}

// A module whose exports are those of another, and which says that it is one.
function createRequiredModuleFacade(wrap) {
  const facade = new ModuleWrap('node:internal/require_module_default_facade', undefined,
                                "export * from 'original'; export { default } from 'original'; export const __esModule = true;");
  facade.meta = undefined;
  facade.link(facade.getModuleRequests().map(() => wrap));
  facade.instantiate();
  facade.evaluate();
  return facade.getNamespace();
}

return {
  ModuleWrap,
  kUninstantiated: UNINSTANTIATED, kInstantiating: 1, kInstantiated: INSTANTIATED, kEvaluating: EVALUATING, kEvaluated: EVALUATED,
  kErrored: ERRORED, kSourcePhase: 1, kEvaluationPhase: EVALUATION_PHASE,
  setImportModuleDynamicallyCallback(f) {
    native.setImportCallback((referrer, specifier, attributes) => {
      const wrap = byUrl.get(referrer);
      const option = wrap ? wrap[privateSymbols.host_defined_option_symbol]
        : host.importers.get(referrer) ?? perIsolateSymbols.vm_dynamic_import_default_internal;
      return f(option, specifier, EVALUATION_PHASE, Object.assign({ __proto__: null }, attributes), host.referrerOf(referrer));
    });
  },
  setInitializeImportMetaObjectCallback(f) { initializeMeta = f; },
  createRequiredModuleFacade,
  throwIfPromiseRejected(promise) {
    const [state, result] = native.promiseDetails(promise);
    if (state === 2) throw result;
  },
};
