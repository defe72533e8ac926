'use strict';
const { info, aliases, types, envSettings } = host.tables.options;
// What lib/ reads while an image is made, it does not read again.
const watched = new Proxy(host.options, {
  get(options, name) {
    if (!host.isRunning) host.optionsOfImage.add(name);
    return options[name];
  },
});

return {
  getCLIOptionsValues: () => (host.isImage ? watched : host.options),
  getCLIOptionsInfo: () => ({
    options: new Map(info.map(([name, type, envVarSettings, defaultIsTrue]) => [name, { helpText: '', type, envVarSettings, defaultIsTrue }])),
    aliases: new Map(aliases),
  }),
  getOptionsAsFlags: () => host.execArgv ?? [],
  getEmbedderOptions: () => ({ shouldNotRegisterESMLoader: false, noGlobalSearchPaths: false, noBrowserGlobals: false, hasEmbedderPreload: false }),
  getEnvOptionsInputType: () => new Map(),
  getNamespaceOptionsInputType: () => new Map(),
  types,
  envSettings,
};
