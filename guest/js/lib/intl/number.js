// number.js - Intl.NumberFormat and Intl.PluralRules.
'use strict';

const { resolve, oneOf } = host.intl;
const SYMBOLS = { USD: '$', EUR: '€', GBP: '£', JPY: '¥', INR: '₹', CNY: 'CN¥', KRW: '₩', BRL: 'R$', CAD: 'CA$', AUD: 'A$', MXN: 'MX$', NZD: 'NZ$', ILS: '₪',
  VND: '₫', TWD: 'NT$', HKD: 'HK$', PHP: '₱', XAF: 'FCFA' };
const NAMES = { USD: 'US dollars', EUR: 'euros', GBP: 'British pounds', JPY: 'Japanese yen', INR: 'Indian rupees', CNY: 'Chinese yuan', CHF: 'Swiss francs',
  CAD: 'Canadian dollars', AUD: 'Australian dollars' };
const SINGULAR = { USD: 'US dollar', EUR: 'euro', GBP: 'British pound', INR: 'Indian rupee', CHF: 'Swiss franc', CAD: 'Canadian dollar', AUD: 'Australian dollar' };
const NO_CENTS = new Set(['JPY', 'KRW', 'VND', 'CLP', 'ISK', 'UGX', 'XAF', 'XOF', 'PYG', 'RWF', 'KMF', 'GNF', 'DJF', 'BIF', 'VUV', 'XPF']);
const THOUSANDTHS = new Set(['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND']);
// short, long for one, long for others
const UNITS = { kilometer: [' km', 'kilometer'], meter: [' m', 'meter'], centimeter: [' cm', 'centimeter'], millimeter: [' mm', 'millimeter'], mile: [' mi', 'mile'],
  foot: [' ft', 'foot', 'feet'], inch: [' in', 'inch', 'inches'], yard: [' yd', 'yard'], kilogram: [' kg', 'kilogram'], gram: [' g', 'gram'], pound: [' lb', 'pound'],
  ounce: [' oz', 'ounce'], liter: [' L', 'liter'], milliliter: [' mL', 'milliliter'], second: [' sec', 'second'], minute: [' min', 'minute'], hour: [' hr', 'hour'],
  day: [' day', 'day'], week: [' wk', 'week'], month: [' mth', 'month'], year: [' yr', 'year'], millisecond: [' ms', 'millisecond'], microsecond: [' μs', 'microsecond'],
  nanosecond: [' ns', 'nanosecond'], bit: [' bit', 'bit'], byte: [' byte', 'byte'], kilobyte: [' kB', 'kilobyte'], megabyte: [' MB', 'megabyte'],
  gigabyte: [' GB', 'gigabyte'], terabyte: [' TB', 'terabyte'], petabyte: [' PB', 'petabyte'], percent: ['%', 'percent', 'percent'], celsius: ['°C', 'degree Celsius', 'degrees Celsius'],
  fahrenheit: ['°F', 'degree Fahrenheit', 'degrees Fahrenheit'], degree: [' deg', 'degree'], acre: [' ac', 'acre'], hectare: [' ha', 'hectare'] };
const PLURAL_SHORT = new Set(['day', 'week', 'month', 'year']);
const COMPACT = [[1e12, 'T', 'trillion'], [1e9, 'B', 'billion'], [1e6, 'M', 'million'], [1e3, 'K', 'thousand']];

const digits = (options, name, low, high, otherwise) => {
  const value = options[name];
  if (value === undefined) return otherwise;
  const number = Number(value);
  if (!(number >= low && number <= high)) throw new RangeError(`${name} value is out of range.`);
  return Math.floor(number);
};

// Decimal text of a size that is not negative, rounded half away from zero as it is written.
function toFixed(size, least, most) {
  let text;
  if (typeof size === 'bigint') text = `${size}`;
  else if (size >= 1e21) text = BigInt(size).toString();
  else {
    const written = String(size);
    const dot = written.indexOf('.');
    text = written.includes('e') || dot < 0 || written.length - dot - 1 <= most ? size.toFixed(most) : roundText(written, dot, most);
  }
  let [whole, part = ''] = text.split('.');
  part = part.replace(/0+$/, '').padEnd(least, '0');
  return [whole, part];
}

// In decimal digits: 1.005 is rounded as it reads.
function roundText(written, dot, most) {
  const scaled = BigInt(written.slice(0, dot) + written.slice(dot + 1, dot + 1 + most)) + (written[dot + 1 + most] >= '5' ? 1n : 0n);
  const text = scaled.toString().padStart(most + 1, '0');
  return most === 0 ? text : `${text.slice(0, -most)}.${text.slice(-most)}`;
}

function toPrecision(size, least, most) {
  const number = Number(size);
  if (number === 0) return ['0', ''.padEnd(Math.max(0, least - 1), '0')];
  const exponent = Math.floor(Math.log10(Number(number.toPrecision(most))));
  const fraction = Math.max(0, most - 1 - exponent);
  const rounded = exponent >= most ? Number(number.toPrecision(most)) : number;
  return toFixed(rounded, Math.max(0, least - 1 - exponent), Math.min(100, fraction));
}

class NumberFormat {
  #o;
  constructor(locales, options = {}) {
    const locale = resolve(locales);
    const style = oneOf(options, 'style', ['decimal', 'percent', 'currency', 'unit'], 'decimal');
    const currency = options.currency === undefined ? undefined : String(options.currency).toUpperCase();
    if (currency !== undefined && !/^[A-Z]{3}$/.test(currency)) throw new RangeError(`Invalid currency code : ${options.currency}`);
    if (style === 'currency' && currency === undefined) throw new TypeError('Currency code is required with currency style.');
    const unit = options.unit;
    if (style === 'unit') {
      if (unit === undefined) throw new TypeError('Unit is required with unit style.');
      if (!String(unit).split('-per-').every((part) => UNITS[part])) throw new RangeError(`Invalid unit argument for Intl.NumberFormat() '${unit}'`);
    }
    const notation = oneOf(options, 'notation', ['standard', 'scientific', 'engineering', 'compact'], 'standard');
    const cents = style !== 'currency' ? undefined : NO_CENTS.has(currency) ? 0 : THOUSANDTHS.has(currency) ? 3 : 2;
    const isCompact = notation === 'compact';
    let low = digits(options, 'minimumFractionDigits', 0, 100, undefined), high = digits(options, 'maximumFractionDigits', 0, 100, undefined);
    const isRounded = low !== undefined || high !== undefined;
    const usual = isCompact ? 0 : cents ?? 0, limit = isCompact || style === 'percent' ? 0 : cents ?? 3;
    if (low === undefined) low = high === undefined ? usual : Math.min(usual, high);
    if (high === undefined) high = Math.max(limit, low);
    if (low > high) throw new RangeError('maximumFractionDigits value is out of range.');
    const hasSignificant = options.minimumSignificantDigits !== undefined || options.maximumSignificantDigits !== undefined;
    this.#o = {
      locale, numberingSystem: 'latn', style, ...(style === 'currency' && { currency, currencyDisplay: options.currencyDisplay ?? 'symbol', currencySign: options.currencySign ?? 'standard' }),
      ...(style === 'unit' && { unit: String(unit), unitDisplay: options.unitDisplay ?? 'short' }),
      minimumIntegerDigits: digits(options, 'minimumIntegerDigits', 1, 21, 1),
      ...(hasSignificant ? { minimumSignificantDigits: digits(options, 'minimumSignificantDigits', 1, 21, 1), maximumSignificantDigits: digits(options, 'maximumSignificantDigits', 1, 21, 21) }
        : { minimumFractionDigits: low, maximumFractionDigits: high }),
      useGrouping: options.useGrouping === undefined ? (isCompact ? 'min2' : 'auto') : options.useGrouping === true || options.useGrouping === 'true' ? 'always' : options.useGrouping === 'false' ? false : options.useGrouping,
      notation, ...(isCompact && { compactDisplay: oneOf(options, 'compactDisplay', ['short', 'long'], 'short') }),
      signDisplay: oneOf(options, 'signDisplay', ['auto', 'never', 'always', 'exceptZero', 'negative'], 'auto'),
      roundingIncrement: 1, roundingMode: options.roundingMode ?? 'halfExpand', roundingPriority: 'auto', trailingZeroDisplay: options.trailingZeroDisplay ?? 'auto',
    };
    host.define(this.#o, 'compactDigits', isCompact && !isRounded && !hasSignificant);
  }

  get format() { return (value) => this.formatToParts(value).map((part) => part.value).join(''); }

  #digits(size) {
    const o = this.#o;
    if (o.compactDigits) return Number(size) < 100 ? toPrecision(size, 1, 2) : toFixed(Math.round(Number(size)), 0, 0);
    if (o.maximumSignificantDigits !== undefined) return toPrecision(size, o.minimumSignificantDigits, o.maximumSignificantDigits);
    if (o.roundingMode === 'trunc' || o.roundingMode === 'floor') {
      const scale = 10 ** o.maximumFractionDigits;
      return toFixed(Math.floor(Number(size) * scale) / scale, o.minimumFractionDigits, o.maximumFractionDigits);
    }
    return toFixed(size, o.minimumFractionDigits, o.maximumFractionDigits);
  }

  #wholeParts(whole, parts) {
    const o = this.#o;
    const padded = whole.padStart(o.minimumIntegerDigits, '0');
    if (o.useGrouping === false || padded.length <= 3 || (o.useGrouping === 'min2' && padded.length <= 4)) return parts.push({ type: 'integer', value: padded });
    padded.replace(/\B(?=(\d{3})+(?!\d))/g, ',').split(',').forEach((value, i) => {
      if (i > 0) parts.push({ type: 'group', value: ',' });
      parts.push({ type: 'integer', value });
    });
    return undefined;
  }

  #sizeParts(size) {
    const o = this.#o, parts = [];
    let suffix, exponent;
    if (o.notation === 'compact' && Number(size) >= 999.5) {
      let index = COMPACT.findIndex(([scale]) => Number(size) >= scale);
      if (index < 0) index = COMPACT.length - 1;
      if (index > 0 && Number(toFixed(Number(size) / COMPACT[index][0], 0, 0)[0]) >= 1000) index--;
      suffix = COMPACT[index];
      size = Number(size) / suffix[0];
    } else if (o.notation === 'scientific' || o.notation === 'engineering') {
      exponent = Number(size) === 0 ? 0 : Math.floor(Math.log10(Number(size)));
      if (o.notation === 'engineering') exponent = Math.floor(exponent / 3) * 3;
      size = Number(size) / 10 ** exponent;
    }
    const [whole, part] = this.#digits(size);
    this.#wholeParts(whole, parts);
    if (part !== '' && !(o.trailingZeroDisplay === 'stripIfInteger' && /^0+$/.test(part))) parts.push({ type: 'decimal', value: '.' }, { type: 'fraction', value: part });
    if (suffix && o.compactDisplay === 'long') parts.push({ type: 'literal', value: ' ' });
    if (suffix) parts.push({ type: 'compact', value: suffix[o.compactDisplay === 'long' ? 2 : 1] });
    if (exponent !== undefined) {
      parts.push({ type: 'exponentSeparator', value: 'E' });
      if (exponent < 0) parts.push({ type: 'exponentMinusSign', value: '-' });
      parts.push({ type: 'exponentInteger', value: String(Math.abs(exponent)) });
    }
    return parts;
  }

  #unitText(name, isOne) {
    const [short, one, many = `${one}s`] = UNITS[name];
    if (this.#o.unitDisplay === 'long') return ` ${isOne ? one : many}`;
    if (this.#o.unitDisplay === 'narrow' && name !== 'percent') return short.trim();
    return PLURAL_SHORT.has(name) && !isOne ? `${short}s` : name === 'month' && !isOne ? ' mths' : short;
  }

  formatToParts(value) {
    const o = this.#o;
    const number = typeof value === 'bigint' ? value : typeof value === 'string' && /^\s*[+-]?\d{16,}\s*$/.test(value) ? BigInt(value) : Number(value);
    const isNegative = number < 0 || Object.is(number, -0);
    let size = number < 0 ? -number : number;
    if (o.style === 'percent') size = typeof size === 'bigint' ? size * 100n : Number((size * 100).toPrecision(15));
    let parts = Number.isNaN(number) ? [{ type: 'nan', value: 'NaN' }] : size === Infinity ? [{ type: 'infinity', value: '∞' }] : this.#sizeParts(size);
    const isZero = parts.every((part) => !['integer', 'fraction'].includes(part.type) || /^0+$/.test(part.value)) && !Number.isNaN(number) && size !== Infinity;
    const text = parts.map((part) => part.value).join('');
    if (o.style === 'percent') parts.push({ type: 'percentSign', value: '%' });
    if (o.style === 'currency') {
      if (o.currencyDisplay === 'name') parts.push({ type: 'literal', value: ' ' }, { type: 'currency', value: (text === '1' ? SINGULAR : NAMES)[o.currency] ?? NAMES[o.currency] ?? o.currency });
      else {
        const symbol = o.currencyDisplay === 'code' ? o.currency : o.currencyDisplay === 'narrowSymbol' ? (SYMBOLS[o.currency] ?? o.currency).replace(/^[A-Z]+(?=[^A-Z])/, '') : SYMBOLS[o.currency] ?? o.currency;
        parts = [{ type: 'currency', value: symbol }, ...(/[A-Z]$/.test(symbol) ? [{ type: 'literal', value: '\u00a0' }] : []), ...parts];
      }
    }
    if (o.style === 'unit') {
      const [first, per] = o.unit.split('-per-');
      const unit = this.#unitText(first, text === '1') + (per === undefined ? '' : o.unitDisplay === 'long' ? ` per ${UNITS[per][1]}` : per === 'hour' && first === 'kilometer' ? '/h' : `/${{ second: 's', hour: 'h', minute: 'min' }[per] ?? UNITS[per][0].trim()}`);
      if (unit.startsWith(' ')) parts.push({ type: 'literal', value: ' ' });
      parts.push({ type: first === 'percent' ? 'percentSign' : 'unit', value: unit === ' km/h' || unit === ' mi/h' ? unit.trim().replace('mi/h', 'mph') : unit.trimStart() });
    }
    const shows = { auto: isNegative, never: false, always: true, exceptZero: !isZero && !Number.isNaN(number), negative: isNegative && !isZero }[o.signDisplay];
    if (!shows) return parts;
    if (isNegative && o.currencySign === 'accounting') return [{ type: 'literal', value: '(' }, ...parts, { type: 'literal', value: ')' }];
    return [isNegative ? { type: 'minusSign', value: '-' } : { type: 'plusSign', value: '+' }, ...parts];
  }

  formatRange(from, to) {
    const [a, b] = [this.format(from), this.format(to)];
    return a === b ? `~${a}` : this.#o.style === 'decimal' ? `${a}–${b}` : `${a} – ${b}`;
  }
  resolvedOptions() { return { ...this.#o }; }
}

class PluralRules {
  #type;
  #format;
  #locale;
  constructor(locales, options = {}) {
    this.#locale = resolve(locales);
    this.#type = oneOf(options, 'type', ['cardinal', 'ordinal'], 'cardinal');
    this.#format = new NumberFormat(locales, { ...options, style: 'decimal' });
  }
  select(value) {
    const number = Math.abs(Number(value)), text = this.#format.format(number);
    if (this.#type === 'cardinal') return text === '1' ? 'one' : 'other';
    if (!Number.isInteger(number)) return 'other';
    const last = number % 10, two = number % 100;
    return last === 1 && two !== 11 ? 'one' : last === 2 && two !== 12 ? 'two' : last === 3 && two !== 13 ? 'few' : 'other';
  }
  selectRange(from, to) { return this.select(to); }
  resolvedOptions() { return { locale: this.#locale, type: this.#type, pluralCategories: this.#type === 'cardinal' ? ['one', 'other'] : ['few', 'one', 'two', 'other'] }; }
}

host.intl.values = { currency: [...new Set([...Object.keys(SYMBOLS), ...Object.keys(NAMES)])].sort(), unit: Object.keys(UNITS).sort(), calendar: ['gregory'],
  numberingSystem: ['latn'], collation: ['default'], timeZone: ['UTC'] };

return { NumberFormat, PluralRules };
