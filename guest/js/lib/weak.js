// weak.js - the target of a WeakRef lives on until the job ends in which it was made or looked at, as the language wants it. The engine counts
// references, and would drop it at once.
'use strict';

const Engine = WeakRef;
const { deref } = Engine.prototype;
const kept = new Set();

function keep(target) {
  if (typeof target === 'object' || typeof target === 'function') kept.add(target);
  return target;
}

const replacement = {
  WeakRef: function WeakRef(target) {
    if (new.target === undefined) throw new TypeError("Constructor WeakRef requires 'new'");
    const made = Reflect.construct(Engine, [target], new.target);
    keep(target);
    return made;
  },
  deref() { return keep(Reflect.apply(deref, this, [])); },
};

const put = (object, name, value, more = {}) =>
  Object.defineProperty(object, name, { __proto__: null, value, writable: true, configurable: true, enumerable: false, ...more });
put(replacement.WeakRef, 'prototype', Engine.prototype, { writable: false, configurable: false });
put(Engine.prototype, 'constructor', replacement.WeakRef);
put(Engine.prototype, 'deref', replacement.deref);
put(globalThis, 'WeakRef', replacement.WeakRef);

host.releaseKept = () => { if (kept.size > 0) kept.clear(); };
