// boot.js - what Node's C++ does for Node's lib/, in the order in which it does it. `host` is what the files here share, `native` the
// functions in C.
'use strict';

host.part = (name) => native.packed(`cay/${name}`)(host, native);
host.tables = host.part('tables');
for (const name of ['weak', 'symbols', 'errors', 'process', 'async', 'loop', 'options', 'clone', 'undici', 'bindings']) host.part(name);

const { process, privateSymbols, perIsolateSymbols, internalBinding } = host;
const primordials = {};
const perContext = {};
host.primordials = primordials;

Object.defineProperty(globalThis, 'console', { __proto__: null, value: {}, writable: true, configurable: true, enumerable: false });
Object.setPrototypeOf(globalThis, Object.create(Object.prototype));

for (const name of ['primordials', 'domexception', 'messageport'])
  native.packed(`internal/per_context/${name}`)(perContext, primordials, privateSymbols, perIsolateSymbols);
host.DOMException = perContext.DOMException;
host.emitMessage = perContext.emitMessage;

native.packed('internal/bootstrap/realm')(process, host.linkedBinding, internalBinding, primordials);
host.run = (name) => native.packed(name)(process, host.require, host.realmBinding, primordials);
host.part('unreachable'); // before `net` takes its errors
for (const name of ['node', 'web/exposed-wildcard', 'web/exposed-window-or-worker', 'switches/is_main_thread',
  'switches/does_own_process_state']) host.run(`internal/bootstrap/${name}`);

host.part('globals');
host.part('intl');
host.part('decorate');
host.part('session');
host.part('start');
return host;
