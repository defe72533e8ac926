'use strict';

// ---- tsconfig.json ----

const configs = new Map(); // of folders: the settings that hold there

// Comments and commas that JSON does not allow go.
const plain = (text) => text
  .replace(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[^]*?\*\//g, (all, string) => string ?? '')
  .replace(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, (all, string) => string ?? '');

function readConfig(folder) {
  const bytes = host.require('fs').readFileSync(`${folder}/tsconfig.json`, 'utf8');
  const { compilerOptions = {} } = JSON.parse(plain(bytes));
  return { folder, legacy: compilerOptions.experimentalDecorators === true, paths: compilerOptions.paths, base: compilerOptions.baseUrl };
}

function configOf(folder) {
  if (configs.has(folder)) return configs.get(folder);
  let config;
  try {
    config = readConfig(folder);
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw new Error(`${folder}/tsconfig.json cannot be read: ${error.message}`);
    const above = host.require('path').dirname(folder);
    config = above === folder ? {} : configOf(above);
  }
  configs.set(folder, config);
  return config;
}

const settingsOf = (path) => (path.startsWith('/') ? configOf(host.require('path').dirname(path)) : {});

// ---- names of modules ----

const ENDS = { '.js': '.ts', '.mjs': '.mts', '.cjs': '.cts' };
const NOT_FOUND = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND', 'ERR_UNSUPPORTED_DIR_IMPORT']);
const isTypeScript = (url) => /\.[mc]?ts$/.test(url);

// What else a name may mean in TypeScript: the source of a .js, a file or folder without its end.
function alternatives(name) {
  const end = Object.keys(ENDS).find((e) => name.endsWith(e));
  return end ? [name.slice(0, -end.length) + ENDS[end]] : [`${name}.ts`, `${name}/index.ts`];
}

// `paths` of tsconfig.json: a name, or one with a '*'.
function mapped(name, { folder, paths, base }) {
  const found = [];
  for (const [pattern, targets] of Object.entries(paths ?? {})) {
    const [before, after] = pattern.split('*');
    const fits = after === undefined ? name === pattern : name.length >= before.length + after.length && name.startsWith(before) && name.endsWith(after);
    const star = after === undefined ? '' : name.slice(before.length, name.length - after.length);
    if (fits) found.push(...targets.map((target) => host.require('path').resolve(folder, base ?? '.', target.replace('*', () => star))));
  }
  return found;
}

function candidates(specifier, parent) {
  if (/^(\.\.?)?\//.test(specifier)) return alternatives(specifier);
  const { pathToFileURL } = host.require('internal/url');
  return mapped(specifier, settingsOf(parent)).flatMap((path) => [path, ...alternatives(path)]).map((path) => pathToFileURL(path).href);
}

function resolve(specifier, context, next) {
  try {
    return next(specifier, context);
  } catch (error) {
    const parent = context.parentURL === undefined ? `${process.cwd()}/.ts` : String(context.parentURL).replace(/^file:\/\//, '');
    if (!NOT_FOUND.has(error?.code) || !(isTypeScript(parent) || parent.endsWith('/'))) throw error;
    for (const name of candidates(specifier, parent)) {
      try {
        return next(name, context);
      } catch (problem) {
        if (!NOT_FOUND.has(problem?.code)) throw problem;
      }
    }
    throw error;
  }
}

const { process } = host;
let resolves = false;
// From the first TypeScript on: JavaScript alone is not to pay for it.
host.resolveTypeScript = () => {
  if (resolves) return;
  resolves = true;
  host.require('internal/modules/customization_hooks').registerHooks({ resolve });
};

// ---- sources ----

// Whether the engine takes it as it is: JavaScript in a file of TypeScript.
function isJavaScript(source) {
  try {
    native.compileModule(source, 'cay:probe');
    return true;
  } catch {
    return false;
  }
}

function transform(source, filename) {
  host.resolveTypeScript();
  const made = native.transformTypeScript(source, settingsOf(filename).legacy === true);
  if (typeof made === 'string') return made;
  if (isJavaScript(source)) return source;
  const [message, startLine, column] = made;
  const line = source.split('\n')[startLine - 1] ?? '';
  throw { code: 'InvalidSyntax', message, filename, startLine, snippet: `${line}\n${' '.repeat(column - 1)}^\n` };
}

return { transform };
