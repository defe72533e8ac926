// node-lib.js FOLDER: writes Node's own lib/, as the node that runs this carries it, without what cannot work in a sandbox, and beside it
// cay/tables.js: tables that are C++ in Node and do not depend on the machine: numbers, texts, options, names of members.
const { internalBinding } = require('internal/test/binding');
const fs = require('fs');
const path = require('path');

const out = process.argv[2];
const absent = /^internal\/(v8_prof|deps\/(v8|amaro)\/|debugger\/|quic\/|http2\/|inspector\/)|^(http2|inspector|quic|sqlite|wasi|trace_events)$|^inspector\//;

function write(name, text) {
  const file = path.join(out, `${name}.js`);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
}

for (const [name, text] of Object.entries(internalBinding('builtins').natives)) {
  if (!absent.test(name)) write(name, text);
}

// All that lib/ asks for, but for native addons and a debugger.
const sources = Object.values(internalBinding('builtins').natives).join('\n');
const bindings = new Set([...sources.matchAll(/internalBinding\('(\w+)'\)/g)].map(([, name]) => name));
for (const name of ['builtins', 'constants', 'inspector', 'config', 'options', 'permission', 'profiler', 'sea', 'wasi', 'sqlite', 'quic']) bindings.delete(name);

// {binding: {member: number, text or truth; 'function' or 'class' for those}}; symbols are made anew in each process.
const isPlain = (v) => ['number', 'boolean', 'string'].includes(typeof v);
function member(value) {
  if (typeof value === 'function') return /^class|^[A-Z]/.test(value.name) && value.prototype ? { is: 'class' } : { is: 'function' };
  if (isPlain(value)) return { is: 'value', value };
  if (value !== null && typeof value === 'object' && Object.values(value).every(isPlain) && !ArrayBuffer.isView(value)) return { is: 'value', value };
  return undefined;
}
const shapes = {};
for (const name of bindings) {
  let binding;
  try {
    binding = internalBinding(name);
  } catch {
    continue; // only in some builds
  }
  shapes[name] = Object.fromEntries(Object.getOwnPropertyNames(binding).map((key) => [key, member(binding[key])]).filter(([, m]) => m));
}

const { zlib, os, internal, crypto } = internalBinding('constants');
const options = internalBinding('options');
const info = options.getCLIOptionsInfo();
const values = options.getCLIOptionsValues();
const started = ['--expose-internals', '--warnings', '--no-warnings', '--no-expose-internals'];
const plain = Object.entries(values).filter(([name]) => !started.includes(name));
const tables = {
  version: process.version,
  release: process.release,
  zlib,
  priority: os.priority,
  internal,
  crypto,
  uv: [...internalBinding('uv').getErrorMap().values()],
  shapes,
  options: {
    values: [...plain, ['--warnings', true], ['--expose-internals', false]],
    absent: plain.filter(([, value]) => value === undefined).map(([name]) => name),
    info: [...info.options].map(([name, { type, envVarSettings, defaultIsTrue }]) => [name, type, envVarSettings, defaultIsTrue]),
    aliases: [...info.aliases],
    types: options.types,
    envSettings: options.envSettings,
  },
};
write('cay/tables', `return ${JSON.stringify(tables)};\n`);
