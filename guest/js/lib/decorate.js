// decorate.js - what classes with decorators become calls of (typescript/class.c). A class is made by `make`, which is given a helper:
//
//   m(decorators, kind, is static, decorators of parameters, name)   in the place of a name; gives it back
//   i(index, object, value)                                          the value of a field, through its decorators
//   init(object), p(decorators of parameters)                        when an object is made; of the constructor
//   apply(class, name)                                               once all members are there
//
// Decorators are those of the standard. Those of experimentalDecorators are meant where tsconfig.json says so, where a parameter is
// decorated, and for a member by a function of three parameters, which no decorator of the standard has.
'use strict';

const METADATA = Symbol.metadata ?? Symbol.for('Symbol.metadata');
const KINDS = { method: 'value', getter: 'get', setter: 'set' };

const accessOf = (kind, name) => {
  const access = { has: (object) => name in object };
  if (kind !== 'setter') access.get = (object) => object[name];
  if (kind === 'setter' || kind === 'field' || kind === 'accessor') access.set = (object, value) => { object[name] = value; };
  return access;
};

function check(result, what) {
  if (result !== undefined && typeof result !== 'function') throw new TypeError(`a decorator of a ${what} must answer with a function or nothing`);
  return result;
}

class Helper {
  members = [];
  parameters = [];
  extras = []; // to be run for each object
  classExtras = [];

  constructor(legacy, decorators) {
    this.legacy = legacy;
    this.decorators = decorators;
  }

  m(decorators, kind, isStatic, parameters, name) {
    const key = typeof name === 'symbol' ? name : String(name);
    this.members.push({ decorators, kind, isStatic, parameters, name: key, values: [], extras: [] });
    return key;
  }

  p(parameters) { this.parameters = parameters; }

  i(index, object, value) {
    const { values, extras } = this.members[index];
    for (const change of values) value = change.call(object, value);
    for (const extra of extras) extra.call(object);
    return value;
  }

  init(object) {
    for (const extra of this.extras) extra.call(object);
  }

  apply(made, name) {
    this.made = made;
    const own = Object.getOwnPropertyDescriptor(made, 'name');
    if (name !== undefined && (own === undefined || own.configurable && !own.writable && typeof own.value === 'string'))
      Object.defineProperty(made, 'name', { __proto__: null, value: name, configurable: true });
    if (this.legacy) return made;
    this.metadata = Object.create(Object.getPrototypeOf(made)?.[METADATA] ?? null);
    const isField = ({ kind }) => kind === 'field';
    const order = [(m) => m.isStatic && !isField(m), (m) => !m.isStatic && !isField(m), (m) => m.isStatic && isField(m), (m) => !m.isStatic && isField(m)];
    for (const belongs of order) for (const member of this.members.filter(belongs)) this.decorate(member);
    for (const { isStatic, kind, extras } of this.members) if (isStatic && kind !== 'field' && kind !== 'accessor') for (const extra of extras.splice(0)) extra.call(made);
    Object.defineProperty(made, METADATA, { __proto__: null, value: this.metadata, writable: true, configurable: true });
    return this.replaced = this.decorateClass(name);
  }

  context(kind, name, extras, more) {
    const addInitializer = (f) => {
      if (typeof f !== 'function') throw new TypeError('addInitializer expects a function');
      extras.push(f);
    };
    return { kind, name, metadata: this.metadata, addInitializer, ...more };
  }

  decorateClass(name) {
    let made = this.made;
    for (const decorator of this.decorators.toReversed())
      made = check(decorator(made, this.context('class', name, this.classExtras)), 'class') ?? made;
    return made;
  }

  decorate(member) {
    const { kind, isStatic, name, decorators } = member;
    const extras = kind === 'field' || kind === 'accessor' || isStatic ? member.extras : this.extras;
    const more = { static: isStatic, private: false, access: accessOf(kind, name) };
    for (const decorator of decorators.toReversed()) {
      if (typeof decorator !== 'function') throw new TypeError(`a decorator of '${String(name)}' is no function`);
      if (decorator.length === 3) this.decorateAsLegacy(member, decorator);
      else if (kind === 'field') this.decorateField(member, check(decorator(undefined, this.context(kind, name, extras, more)), kind));
      else this.decorateMethod(member, decorator, this.context(kind, name, extras, more));
    }
  }

  // The last decorator's change comes first.
  decorateField(member, change) {
    if (change !== undefined) member.values.unshift(change);
  }

  decorateMethod(member, decorator, context) {
    const target = member.isStatic ? this.made : this.made.prototype;
    const own = Object.getOwnPropertyDescriptor(target, member.name);
    if (member.kind === 'accessor') return this.decorateAccessor(member, decorator, context, target, own);
    const slot = KINDS[member.kind];
    const result = check(decorator(own[slot], context), member.kind);
    if (result !== undefined) Object.defineProperty(target, member.name, { __proto__: null, ...own, [slot]: result });
  }

  decorateAccessor(member, decorator, context, target, own) {
    const result = decorator({ get: own.get, set: own.set }, context);
    if (result === undefined) return;
    Object.defineProperty(target, member.name, { __proto__: null, ...own, get: result.get ?? own.get, set: result.set ?? own.set });
    this.decorateField(member, check(result.init, 'accessor'));
  }

  decorateAsLegacy({ kind, isStatic, name }, decorator) {
    const target = isStatic ? this.made : this.made.prototype;
    const own = kind === 'field' ? undefined : Object.getOwnPropertyDescriptor(target, name);
    const result = decorator(target, name, own);
    if (kind !== 'field' && (result ?? own) !== undefined) Object.defineProperty(target, name, result ?? own);
  }

  decorateLegacy(member) {
    const target = member.isStatic ? this.made : this.made.prototype;
    for (const [index, decorators] of member.parameters) for (const decorator of decorators.toReversed()) decorator(target, member.name, index);
    for (const decorator of member.decorators.toReversed()) this.decorateAsLegacy(member, decorator);
  }

  finishLegacy() {
    for (const member of this.members.filter(({ isStatic }) => !isStatic)) this.decorateLegacy(member);
    for (const member of this.members.filter(({ isStatic }) => isStatic)) this.decorateLegacy(member);
    let { made } = this;
    for (const [index, decorators] of this.parameters) for (const decorator of decorators.toReversed()) decorator(made, undefined, index);
    for (const decorator of this.decorators.toReversed()) made = decorator(made) ?? made;
    return made;
  }

  finish() {
    if (this.legacy) return this.finishLegacy();
    for (const extra of this.classExtras) extra.call(this.replaced);
    return this.replaced;
  }
}

function decorate(legacy, decorators, make) {
  const helper = new Helper(legacy, decorators);
  make(helper);
  return helper.finish();
}

host.define(globalThis, Symbol.for('cay.decorate'), decorate);
