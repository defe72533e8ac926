// intl.js - Intl, which the engine has not: English, with the forms of en-US and en-GB. It is made when it is first asked for.
'use strict';

const LOCALES = new Set(['en', 'en-US', 'en-GB']);
const DEFAULT = 'en-US';
let made;

function canonical(tag) {
  if (typeof tag !== 'string' && (typeof tag !== 'object' || tag === null)) throw new TypeError('Incorrect locale information provided');
  const text = String(tag);
  if (!/^[a-z]{2,8}(?:[-_][a-z0-9]{1,8})*$/i.test(text)) throw new RangeError(`Incorrect locale information provided`);
  let inExtension = false;
  return text.split(/[-_]/).map((part, i) => {
    if (part.length === 1 && i > 0) inExtension = true;
    if (i === 0 || inExtension) return part.toLowerCase();
    if (part.length === 2) return part.toUpperCase();
    return part.length === 4 && !/\d/.test(part) ? part[0].toUpperCase() + part.slice(1).toLowerCase() : part.toLowerCase();
  }).join('-');
}

const canonicalList = (locales) => {
  if (locales === undefined) return [];
  return [...new Set((typeof locales === 'string' || !Array.isArray(locales) ? [locales] : locales).map(canonical))];
};

// The first locale that is here, or the default.
function resolve(locales) {
  for (const tag of canonicalList(locales)) {
    const bare = tag.replace(/-[a-z]-.*$/, '');
    if (LOCALES.has(bare)) return bare;
    if (/^en-(?:AU|IE|IN|NZ|ZA)$/.test(bare)) return 'en-GB';
    if (bare.startsWith('en-')) return 'en';
  }
  return DEFAULT;
}

const oneOf = (options, name, allowed, otherwise) => {
  const value = options?.[name];
  if (value === undefined) return otherwise;
  if (!allowed.includes(String(value))) throw new RangeError(`Value ${value} out of range for Intl options property ${name}`);
  return String(value);
};

const supportedLocalesOf = (locales) => canonicalList(locales).filter((tag) => tag === 'en' || tag.startsWith('en-'));

function finish(type, name) {
  host.define(type, 'supportedLocalesOf', function supportedLocalesOf_(locales) { return supportedLocalesOf(locales); });
  Object.defineProperty(type.prototype, Symbol.toStringTag, { __proto__: null, value: `Intl.${name}`, configurable: true });
}

// `new` may be left out for these, as the language has it.
const callable = (type) => new Proxy(type, { apply: (target, self, args) => new target(...args) });

function make() {
  const shared = host.intl = { canonical, canonicalList, resolve, oneOf };
  const types = { ...host.part('intl/number'), ...host.part('intl/date'), ...host.part('intl/text') };
  const Intl = {};
  for (const [name, type] of Object.entries(types)) {
    finish(type, name);
    const given = ['NumberFormat', 'DateTimeFormat', 'Collator'].includes(name) ? callable(type) : type;
    if (given !== type) host.define(type.prototype, 'constructor', given);
    host.define(Intl, name, given);
  }
  host.define(Intl, 'DisplayNames', class DisplayNames { constructor() { throw new Error('Intl.DisplayNames is not supported in a sandbox'); } });
  host.define(Intl, 'getCanonicalLocales', function getCanonicalLocales(locales) { return canonicalList(locales); });
  host.define(Intl, 'supportedValuesOf', function supportedValuesOf(key) { return shared.values[key] ?? []; });
  Object.defineProperty(Intl, Symbol.toStringTag, { __proto__: null, value: 'Intl', configurable: true });
  return Intl;
}
const intl = () => made ??= make();

Object.defineProperty(globalThis, 'Intl', {
  __proto__: null,
  configurable: true,
  enumerable: false,
  get: () => intl(),
  set(value) { host.define(globalThis, 'Intl', value); },
});

// ---- methods of the language that ask it ----

const methods = {
  Number: { toLocaleString(locales, options) { return new (intl().NumberFormat)(locales, options).format(this.valueOf()); } },
  BigInt: { toLocaleString(locales, options) { return new (intl().NumberFormat)(locales, options).format(this.valueOf()); } },
  Date: {
    toLocaleString(locales, options) { return host.intlDate(this, locales, options, 'any', 'all'); },
    toLocaleDateString(locales, options) { return host.intlDate(this, locales, options, 'date', 'date'); },
    toLocaleTimeString(locales, options) { return host.intlDate(this, locales, options, 'time', 'time'); },
  },
  String: {
    localeCompare(that, locales, options) { return new (intl().Collator)(locales, options).compare(String(this), String(that)); },
    toLocaleUpperCase() { return String(this).toUpperCase(); },
    toLocaleLowerCase() { return String(this).toLowerCase(); },
  },
};
for (const [type, list] of Object.entries(methods))
  for (const [name, method] of Object.entries(list)) host.define(globalThis[type].prototype, name, method);

host.intlDate = (date, locales, options, required, defaults) => {
  const time = Date.prototype.getTime.call(date);
  const { DateTimeFormat } = intl();
  return Number.isNaN(time) ? 'Invalid Date' : new DateTimeFormat(locales, host.intl.withDefaults(options, required, defaults)).format(time);
};
