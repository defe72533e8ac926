// bindings.js - internalBinding(): each of binding/ is made when it is first asked for. What a binding has elsewhere and not here is
// there, too, and refuses by name when it is used.
'use strict';

const { shapes } = host.tables;

function refusal(binding, name) {
  return Object.assign(new Error(`${name} is not supported in a sandbox (${binding})`), { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' });
}

function missing(binding, name, { is, value }) {
  if (is === 'value') return value;
  if (is === 'class') return { [name]: class { constructor() { throw refusal(binding, name); } } }[name];
  return { [name]() { throw refusal(binding, name); } }[name];
}

function complete(name, made) {
  for (const [key, member] of Object.entries(shapes[name] ?? {}))
    if (!Object.hasOwn(made, key)) made[key] = missing(name, key, member);
  return made;
}

const packed = new Set(native.packedNames());
const made = { __proto__: null };

host.internalBinding = (name) => {
  if (made[name]) return made[name];
  const part = `binding/${name}`;
  if (!packed.has(`cay/${part}`) && !shapes[name]) throw new Error(`No such binding: ${name}`);
  return made[name] = complete(name, packed.has(`cay/${part}`) ? host.part(part) : {});
};
host.linkedBinding = (name) => { throw new Error(`No such binding: ${name}`); };
host.names = native.packedNames().filter((name) => !name.startsWith('cay/'));
host.noop = () => {};
