// options.js - the options of the command line: their values, and the parser of `node ARGS`.
'use strict';

const { values, absent, info, aliases, types } = host.tables.options;
const kinds = new Map(info.map(([name, type]) => [name, type]));
const aliasOf = new Map(aliases);

const current = { __proto__: null };
host.optionsOfImage = new Set();
host.options = current;

// Values that differ from Node's defaults.
const here = { '--experimental-sqlite': false, '--experimental-websocket': false, '--node-snapshot': false,
  '--async-context-frame': true, '--eval': undefined, '--print': false };

host.resetOptions = () => {
  for (const name of Object.keys(current)) delete current[name];
  for (const [name, value] of values) current[name] = Array.isArray(value) ? [...value] : value ?? undefined;
  for (const name of absent) current[name] = undefined;
  Object.assign(current, here);
};
host.resetOptions();

function fail(message) {
  host.writeError(`node: ${message}`);
  native.exit(9);
}

// Options of V8 that say nothing to this engine; words in them are parted by either sign.
const OF_ENGINE = new Set(['--stack-size', '--max-old-space-size', '--max-semi-space-size', '--min-semi-space-size', '--max-heap-size', '--initial-heap-size',
  '--semi-space-growth-factor', '--stack-trace-limit', '--expose-externalize-string', '--optimize-for-size', '--lite-mode', '--gc-interval', '--use-strict',
  '--single-threaded', '--predictable', '--jitless', '--no-opt', '--max-lazy', '--huge-max-old-generation-size', '--random-seed']);
const spelt = (name) => (kinds.has(name) ? name : name.replaceAll('_', '-').replace(/^-+/, '--'));

const isOption = (name) => kinds.has(name) || OF_ENGINE.has(spelt(name)) || name === '--expose-gc' || name === '--expose_gc' || (name.startsWith('--no-') && kinds.has(`--${name.slice(5)}`));

// Options under two names, and those that another one turns round.
const SAME = { '--experimental-require-module': '--require-module', '--require-module': '--experimental-require-module' };

function set(name) {
  for (const each of [name, SAME[name]].filter(Boolean)) {
    current[each] = true;
    if (`--no-${each.slice(2)}` in current) current[`--no-${each.slice(2)}`] = false;
  }
}

const CHOICES = { '--unhandled-rejections': ['warn-with-error-codes', 'throw', 'strict', 'warn', 'none'] };

function check() {
  for (const [name, choices] of Object.entries(CHOICES))
    if (current[name] && !choices.includes(current[name])) fail(`invalid value for ${name}`);
  if (current['--tls-min-v1.3'] && current['--tls-max-v1.2']) fail('either --tls-min-v1.3 or --tls-max-v1.2 can be used, not both');
}

function assign(given0, given, rest) {
  const name = spelt(given0);
  if (name.startsWith('--no-') && !kinds.has(name)) {
    const positive = `--${name.slice(5)}`;
    for (const each of [positive, SAME[positive]].filter(Boolean)) current[each] = false;
    current[name] = true;
    return;
  }
  const type = kinds.get(name) ?? types.kV8Option;
  if (type === types.kBoolean || type === types.kNoOp || type === types.kV8Option) {
    set(name);
    return;
  }
  const value = given ?? (rest.length > 0 && (rest[0][0] !== '-' || rest[0] === '-') ? rest.shift() : undefined);
  if (value === undefined || given === '') fail(`${name} requires an argument`);
  if (type === types.kStringList) current[name].push(value);
  else current[name] = type === types.kInteger || type === types.kUInteger ? Number(value) : value;
}

// Takes the options off: {script or undefined, the rest}.
host.parseArguments = (args) => {
  const rest = [...args];
  const taken = [];
  while (rest.length > 0 && rest[0].startsWith('-') && rest[0] !== '-') {
    const before = rest.length;
    const word = rest.shift();
    if (word === '--') break;
    if (word === '-h' || word === '--help') current['--help'] = true;
    else if (word === '-v' || word === '--version') current['--version'] = true;
    else if (word === '-p' || word === '--print' || word === '-pe') {
      current['--print'] = true;
      if (rest.length > 0) current['--eval'] = rest.shift();
    } else {
      const [, name, given] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [undefined, word];
      for (const part of aliasOf.get(name) ?? [name]) {
        if (!isOption(part)) fail(`bad option: ${word}`);
        assign(part, given, rest);
      }
    }
    taken.push(word, ...args.slice(args.length - before + 1, args.length - rest.length));
  }
  if (current['--expose-gc'] || current['--expose_gc']) host.define(globalThis, 'gc', () => native.collect());
  check();
  return { taken, rest };
};
