'use strict';
const config = {
  target_defaults: { cflags: [], default_configuration: 'Release', defines: [], include_dirs: [], libraries: [] },
  variables: { napi_build_version: '10', node_builtin_shareable_builtins: [], v8_enable_i18n_support: 0, node_use_amaro: true,
    node_shared: false, node_use_quic: false, node_module_version: 137 },
};
function compileFunction(id) {
  const run = native.packed(id);
  return id === 'internal/deps/undici/undici' ? (...args) => run(...args, host.undiciEngine) : run;
}

return {
  builtinIds: host.names,
  compileFunction,
  setInternalLoaders(internalBinding, require) {
    host.realmBinding = internalBinding;
    host.require = require;
  },
  natives: Object.fromEntries(host.names.map((name) => [name, ''])),
  builtinCategories: { cannotBeRequired: [], canBeRequired: host.names },
  hasCachedBuiltins: () => true,
  config: JSON.stringify(config),
};
