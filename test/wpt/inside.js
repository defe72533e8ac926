// inside.js - one file of the web platform tests in this process: prints a JSON array of [name, passed, message].
//
//   node inside.js FOLDER FILE      FOLDER has resources/testharness.js; FILE is a path in it
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [folder, file] = process.argv.slice(2);
const source = fs.readFileSync(path.join(folder, file), 'utf8');
const find = (name) => path.join(folder, name.startsWith('/') ? name : path.join(path.dirname(file), name));
const load = (name) => vm.runInThisContext(fs.readFileSync(name, 'utf8'), { filename: name });
const meta = [...source.matchAll(/^\/\/ META: (\w+)=(.*)$/gm)];

globalThis.self = globalThis;
globalThis.location = { href: `http://web-platform.test:8000/${file}`, origin: 'http://web-platform.test:8000', search: '', pathname: `/${file}` };
globalThis.GLOBAL = { isWindow: () => false, isWorker: () => false, isShadowRealm: () => false };
globalThis.fetch = async (name) => {
  const bytes = fs.readFileSync(find(String(name)));
  return { ok: true, text: async () => bytes.toString(), json: async () => JSON.parse(bytes), arrayBuffer: async () => new Uint8Array(bytes).buffer };
};

load(path.join(folder, 'resources/testharness.js'));
const results = [];
const end = (message) => {
  if (message) results.push(['the file as a whole', false, message]);
  fs.writeSync(1, `\n\x1e${JSON.stringify(results)}\n`);
  process.exit(0);
};
add_result_callback((t) => results.push([t.name, t.status === 0, t.message ?? '']));
add_completion_callback((_, status) => end(status.status === 0 ? '' : `${status.message}`));
process.on('unhandledRejection', () => {});
process.on('exit', () => { if (process.exitCode !== 0) end('it did not end'); });
setTimeout(() => end('takes too long'), 25_000).unref();
try {
  for (const [, key, value] of meta) if (key === 'script') load(find(value));
  load(path.join(folder, file));
  done();
} catch (error) {
  end(String(error?.stack ?? error));
}
