// symbols.js - keys that Node's C++ shares with lib/: private ones, which no reflection lists, and ordinary ones.
'use strict';

const onDemand = (make) => new Proxy({ __proto__: null }, {
  get: (made, name) => (typeof name === 'symbol' ? undefined : made[name] ??= make(name)),
});

host.privateSymbols = onDemand((name) => native.privateSymbol(name));
host.perIsolateSymbols = onDemand((name) => Symbol(name));
