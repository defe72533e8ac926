'use strict';
const { info, aliases, types, envSettings } = host.tables.options;
return {
  getCLIOptionsValues: () => host.options,
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
