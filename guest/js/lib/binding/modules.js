'use strict';
// package.json: read, and looked for upwards.
const { noop } = host;
const json = (value) => (value === undefined ? undefined : JSON.stringify(value));

function readText(path) {
  const fd = native.open(path, 0, 0);
  if (fd < 0) return undefined;
  const bytes = native.readAll(fd);
  native.close(fd);
  return typeof bytes === 'number' ? undefined : native.decode(1, bytes);
}

function readPackageJSON(path, isESM, base, specifier) {
  const text = readText(path);
  if (text === undefined) return undefined;
  let parsed;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    const from = base === undefined ? undefined : `"${specifier}" from ${host.require('internal/url').fileURLToPath(base)}`;
    throw host.nodeError('ERR_INVALID_PACKAGE_CONFIG', path, from, error.message);
  }
  if (parsed === null || typeof parsed !== 'object') return [undefined, undefined, 'none', undefined, undefined, path];
  const { name, main, type, imports, exports } = parsed;
  return [typeof name === 'string' ? name : undefined, typeof main === 'string' ? main : undefined,
    type === 'module' || type === 'commonjs' ? type : 'none', json(imports), json(exports), path];
}

function nearest(path) {
  for (let at = path.lastIndexOf('/'); at >= 0; at = path.lastIndexOf('/', at - 1)) {
    const folder = path.slice(0, at);
    if (!folder.endsWith('/node_modules')) {
      const found = readPackageJSON(`${folder}/package.json`);
      if (found) return found;
    }
    if (at === 0) break;
  }
  return undefined;
}

const pathOf = (url) => (url.startsWith('file:') ? host.require('internal/url').fileURLToPath(url) : url);

return {
  readPackageJSON,
  getNearestParentPackageJSON: nearest,
  getNearestParentPackageJSONType: (path) => nearest(path)?.[2] ?? 'none',
  getPackageScopeConfig: (url) => nearest(pathOf(url)) ?? '/package.json',
  getPackageType(url) {
    const type = nearest(pathOf(url))?.[2];
    return type === 'none' ? undefined : type;
  },
  setLazyPathHelpers(meta, url) {
    const { fileURLToPath } = host.require('internal/url');
    const { dirname } = host.require('path');
    meta.filename = fileURLToPath(url);
    meta.dirname = dirname(meta.filename);
  },
  enableCompileCache: () => [0],
  getCompileCacheDir: noop, flushCompileCache: noop, getCompileCacheEntry: noop, saveCompileCacheEntry: noop,
  cachedCodeTypes: { kStrippedTypeScript: 0, kTransformedTypeScript: 1, kTransformedTypeScriptWithSourceMaps: 2 },
  compileCacheStatus: ['FAILED', 'ENABLED', 'ALREADY_ENABLED', 'DISABLED'],
};
