// text.js - Intl.Collator, ListFormat, RelativeTimeFormat, Segmenter, Locale.
'use strict';

const { canonical, resolve, oneOf } = host.intl;

// ---- order ----

const withoutMarks = (text) => text.normalize('NFD').replace(/\p{M}/gu, '');
const compareText = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const KIND = /^\s/u;
// Blanks, then punctuation, then digits, then letters.
const rank = (unit) => (unit === undefined ? -1 : KIND.test(unit) ? 0 : /^[\p{P}]/u.test(unit) ? 1 : /^[\p{S}]/u.test(unit) ? 2 : /^\p{N}/u.test(unit) ? 3 : 4);

function compareBase(a, b, numeric) {
  const split = (text) => (numeric ? text.match(/\d+|[^\d]/gu) ?? [] : [...text]);
  const left = split(withoutMarks(a).toLowerCase()), right = split(withoutMarks(b).toLowerCase());
  for (let i = 0; i < left.length || i < right.length; i++) {
    const x = left[i], y = right[i];
    if (x === y) continue;
    const byRank = rank(x) - rank(y);
    if (byRank !== 0) return Math.sign(byRank);
    if (numeric && /^\d/.test(x)) {
      const byNumber = BigInt(x) - BigInt(y);
      if (byNumber !== 0n) return byNumber < 0n ? -1 : 1;
    } else return compareText(x, y);
  }
  return 0;
}

class Collator {
  #o;
  constructor(locales, options = {}) {
    this.#o = { locale: resolve(locales), usage: oneOf(options, 'usage', ['sort', 'search'], 'sort'),
      sensitivity: oneOf(options, 'sensitivity', ['base', 'accent', 'case', 'variant'], 'variant'), ignorePunctuation: Boolean(options.ignorePunctuation), collation: 'default',
      numeric: Boolean(options.numeric), caseFirst: oneOf(options, 'caseFirst', ['upper', 'lower', 'false'], 'false') };
  }
  get compare() { return (a, b) => this.#compare(String(a), String(b)); }
  #compare(first, second) {
    const { sensitivity, numeric, ignorePunctuation, caseFirst } = this.#o;
    const [a, b] = ignorePunctuation ? [first, second].map((text) => text.replace(/[\p{P}\s]/gu, '')) : [first, second];
    if (a === b) return 0;
    const base = compareBase(a, b, numeric);
    if (base !== 0 || sensitivity === 'base') return base;
    if (sensitivity !== 'case') {
      const accents = compareText(a.normalize('NFD').toLowerCase(), b.normalize('NFD').toLowerCase());
      if (accents !== 0 || sensitivity === 'accent') return accents;
    }
    // Small letters come first, unless it is said otherwise.
    const byCase = -compareText(withoutMarks(a), withoutMarks(b));
    return caseFirst === 'upper' ? -byCase : byCase;
  }
  resolvedOptions() { return { ...this.#o }; }
}

// ---- lists ----

class ListFormat {
  #o;
  constructor(locales, options = {}) {
    this.#o = { locale: resolve(locales), type: oneOf(options, 'type', ['conjunction', 'disjunction', 'unit'], 'conjunction'), style: oneOf(options, 'style', ['long', 'short', 'narrow'], 'long') };
  }
  format(list) { return this.formatToParts(list).map((part) => part.value).join(''); }
  formatToParts(list) {
    const items = [...list];
    for (const item of items) if (typeof item !== 'string') throw new TypeError('Iterable yielded a non-String value');
    const { type, style, locale } = this.#o;
    const word = type === 'disjunction' ? 'or' : type === 'unit' ? '' : style === 'long' ? 'and' : style === 'short' ? '&' : '';
    const comma = type === 'unit' && style === 'narrow' ? ' ' : ', ';
    const parts = [];
    items.forEach((value, i) => {
      const isLast = i === items.length - 1;
      const withComma = items.length > 2 && !(locale === 'en-GB' && type !== 'unit');
      if (i > 0) parts.push({ type: 'literal', value: !isLast || !word ? comma : withComma ? `, ${word} ` : ` ${word} ` });
      parts.push({ type: 'element', value });
    });
    return parts;
  }
  resolvedOptions() { return { ...this.#o }; }
}

// ---- times from now ----

const UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'];
const SHORT = { second: 'sec.', minute: 'min.', hour: 'hr.', day: 'day', week: 'wk.', month: 'mo.', quarter: 'qtr.', year: 'yr.' };
const NAMED = { day: { '-1': 'yesterday', 0: 'today', 1: 'tomorrow' }, second: { 0: 'now' } };

class RelativeTimeFormat {
  #o;
  constructor(locales, options = {}) {
    this.#o = { locale: resolve(locales), style: oneOf(options, 'style', ['long', 'short', 'narrow'], 'long'), numeric: oneOf(options, 'numeric', ['always', 'auto'], 'always'), numberingSystem: 'latn' };
  }
  format(value, unit) { return this.formatToParts(value, unit).map((part) => part.value).join(''); }
  formatToParts(value, given) {
    const unit = String(given).replace(/s$/, ''), number = Number(value);
    if (!UNITS.includes(unit)) throw new RangeError(`Invalid unit argument for format() '${given}'`);
    if (!Number.isFinite(number)) throw new RangeError('Invalid value');
    const { style, numeric } = this.#o;
    const named = NAMED[unit]?.[number] ?? (unit !== 'second' && unit !== 'day' ? { '-1': `last ${unit}`, 0: `this ${unit}`, 1: `next ${unit}` }[number] : undefined);
    if (numeric === 'auto' && named && !(['minute', 'hour'].includes(unit) && number !== 0)) return [{ type: 'literal', value: named }];
    const size = Math.abs(number), isPast = number < 0 || Object.is(number, -0);
    const text = style === 'long' ? (size === 1 ? unit : `${unit}s`) : SHORT[unit] === 'day' ? (size === 1 ? 'day' : 'days') : unit === 'quarter' && size !== 1 ? 'qtrs.' : SHORT[unit];
    const numbers = new Intl.NumberFormat('en').formatToParts(size).map((part) => ({ ...part, unit }));
    return isPast ? [...numbers, { type: 'literal', value: ` ${text} ago` }] : [{ type: 'literal', value: 'in ' }, ...numbers, { type: 'literal', value: ` ${text}` }];
  }
  resolvedOptions() { return { ...this.#o }; }
}

// ---- parts of texts ----

const GRAPHEME = /\r\n|\p{RI}\p{RI}|\p{Emoji}(?:\p{EMod}|\ufe0f\u20e3?|[\u{e0020}-\u{e007e}]+\u{e007f})?(?:\u200d\p{Emoji}(?:\p{EMod}|\ufe0f)?)+|\P{M}[\p{M}\u200d\p{EMod}]*|./gsu;
const WORD = /[\p{L}\p{M}]+(?:['’.][\p{L}\p{M}]+)*[\p{N}_]*|\p{N}+(?:[.,]\p{N}+)*|\s+|./gsu;
const SENTENCE = /[^.!?\n]*(?:[.!?]+["')\]]*\s*|\n+|$)/gsu;

class Segmenter {
  #o;
  constructor(locales, options = {}) {
    this.#o = { locale: resolve(locales), granularity: oneOf(options, 'granularity', ['grapheme', 'word', 'sentence'], 'grapheme') };
  }
  segment(text) {
    const input = String(text), { granularity } = this.#o;
    const pattern = { grapheme: GRAPHEME, word: WORD, sentence: SENTENCE }[granularity];
    const all = function* all() {
      for (const { 0: segment, index } of input.matchAll(pattern)) {
        if (segment === '') continue;
        yield { segment, index, input, ...(granularity === 'word' && { isWordLike: /[\p{L}\p{N}]/u.test(segment) }) };
      }
    };
    return { [Symbol.iterator]: all, containing: (at = 0) => [...all()].find(({ segment, index }) => index <= at && at < index + segment.length) };
  }
  resolvedOptions() { return { ...this.#o }; }
}

// ---- names of languages ----

class Locale {
  #tag;
  constructor(tag, options = {}) {
    const [language, ...rest] = canonical(tag).split('-');
    const script = options.script ?? rest.find((part) => /^[A-Z][a-z]{3}$/.test(part)), region = options.region ?? rest.find((part) => /^[A-Z]{2}$|^\d{3}$/.test(part));
    const extension = /-u-.*$/.exec(canonical(tag))?.[0] ?? '';
    Object.defineProperties(this, Object.fromEntries(Object.entries({ language: options.language ?? language, script, region }).map(([name, value]) => [name, { value, enumerable: false }])));
    this.#tag = [this.language, script, region].filter(Boolean).join('-') + extension;
  }
  get baseName() { return this.#tag.replace(/-u-.*$/, ''); }
  maximize() { return this.language === 'en' ? new Locale(`en-Latn-${this.region ?? 'US'}`) : this; }
  minimize() { return this.language === 'en' && (this.region ?? 'US') === 'US' ? new Locale('en') : this; }
  toString() { return this.#tag; }
}

return { Collator, ListFormat, RelativeTimeFormat, Segmenter, Locale };
