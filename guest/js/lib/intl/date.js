// date.js - Intl.DateTimeFormat. Time zones are those of the system's data.
'use strict';

const { resolve, oneOf } = host.intl;
const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const WIDTHS = ['narrow', 'short', 'long'], NUMBERS = ['numeric', '2-digit'];
const DATE_FIELDS = ['weekday', 'era', 'year', 'month', 'day'], TIME_FIELDS = ['dayPeriod', 'hour', 'minute', 'second', 'fractionalSecondDigits'];
const ALLOWED = { weekday: WIDTHS, era: WIDTHS, year: NUMBERS, month: [...NUMBERS, ...WIDTHS], day: NUMBERS, dayPeriod: WIDTHS, hour: NUMBERS, minute: NUMBERS, second: NUMBERS,
  timeZoneName: ['short', 'long', 'shortOffset', 'longOffset', 'shortGeneric', 'longGeneric'] };
const STYLES = ['full', 'long', 'medium', 'short'];
const ZONES = '/usr/share/zoneinfo/';

host.intl.withDefaults = (options, required, defaults) => {
  const given = { ...options };
  const has = (names) => names.some((name) => given[name] !== undefined);
  const isEnough = (required !== 'time' && has(DATE_FIELDS)) || (required !== 'date' && has(TIME_FIELDS)) || given.dateStyle !== undefined || given.timeStyle !== undefined;
  if (isEnough) return given;
  if (defaults !== 'time') Object.assign(given, { year: 'numeric', month: 'numeric', day: 'numeric' });
  if (defaults !== 'date') Object.assign(given, { hour: 'numeric', minute: 'numeric', second: 'numeric' });
  return given;
};

// ---- time zones ----

const OFFSET = /^([+-])(\d\d):?(\d\d)?$/;
function zoneOf(given) {
  if (given === undefined) return native.getenv('TZ')?.replace(/^:/, '') || 'UTC';
  const text = String(given);
  if (/^(?:utc|gmt|etc\/utc|etc\/gmt)$/i.test(text)) return 'UTC';
  if (OFFSET.test(text) || (/^[A-Za-z][\w+-]*(?:\/[\w+-]+)*$/.test(text) && native.access(ZONES + text, 0) === 0)) return text;
  throw new RangeError(`Invalid time zone specified: ${text}`);
}

// The fields of a moment there, as the numbers of a date in UTC, and how many minutes it is ahead.
function inZone(zone, ms) {
  const offset = OFFSET.exec(zone);
  let ahead = 0;
  if (offset) ahead = (offset[1] === '-' ? -1 : 1) * (60 * offset[2] + Number(offset[3] ?? 0));
  else if (zone !== 'UTC') {
    const before = native.getenv('TZ');
    native.setenv('TZ', zone);
    ahead = -new Date(ms).getTimezoneOffset();
    if (before === undefined) native.unsetenv('TZ');
    else native.setenv('TZ', before);
  }
  return [new Date(ms + ahead * 60000), ahead];
}

function zoneName(zone, ahead, width) {
  const isLong = width.startsWith('long');
  if (zone === 'UTC' && !width.endsWith('Offset')) return isLong ? 'Coordinated Universal Time' : 'UTC';
  if (ahead === 0) return 'GMT';
  const size = Math.abs(ahead), hours = Math.floor(size / 60), minutes = size % 60;
  const sign = ahead < 0 ? '-' : '+';
  return isLong ? `GMT${sign}${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}` : `GMT${sign}${hours}${minutes ? `:${String(minutes).padStart(2, '0')}` : ''}`;
}

// ---- fields ----

const two = (number) => String(number).padStart(2, '0');
const byWidth = (name, width) => (width === 'narrow' ? name[0] : width === 'short' ? name.slice(0, 3) : name);

class DateTimeFormat {
  #o;
  constructor(locales, options = {}) {
    const locale = resolve(locales);
    const isBritish = locale === 'en-GB';
    const dateStyle = oneOf(options, 'dateStyle', STYLES), timeStyle = oneOf(options, 'timeStyle', STYLES);
    const o = this.#o = { locale, calendar: 'gregory', numberingSystem: 'latn', timeZone: zoneOf(options.timeZone), dateStyle, timeStyle };
    if (dateStyle || timeStyle) {
      for (const name of [...DATE_FIELDS, ...TIME_FIELDS, 'timeZoneName'])
        if (options[name] !== undefined) throw new TypeError(`Can't set option ${name} when ${dateStyle ? 'dateStyle' : 'timeStyle'} is used`);
      Object.assign(o, this.#ofStyles(isBritish));
    } else {
      const given = host.intl.withDefaults(options, 'any', 'date');
      for (const [name, allowed] of Object.entries(ALLOWED)) o[name] = oneOf(given, name, allowed);
      o.fractionalSecondDigits = given.fractionalSecondDigits === undefined ? undefined : Math.min(3, Math.max(1, Number(given.fractionalSecondDigits)));
    }
    if (o.hour !== undefined) {
      const cycle = oneOf(options, 'hourCycle', ['h11', 'h12', 'h23', 'h24']);
      o.hourCycle = options.hour12 === undefined ? cycle ?? (isBritish ? 'h23' : 'h12') : options.hour12 ? 'h12' : 'h23';
      o.hour12 = o.hourCycle === 'h12' || o.hourCycle === 'h11';
    }
  }

  #ofStyles(isBritish) {
    const { dateStyle, timeStyle } = this.#o;
    return {
      ...(dateStyle === 'full' && { weekday: 'long' }),
      ...(dateStyle && { year: dateStyle === 'short' && !isBritish ? '2-digit' : 'numeric', day: dateStyle === 'short' && isBritish ? '2-digit' : 'numeric',
        month: { full: 'long', long: 'long', medium: 'short', short: isBritish ? '2-digit' : 'numeric' }[dateStyle] }),
      ...(timeStyle && { hour: 'numeric', minute: '2-digit', ...(timeStyle !== 'short' && { second: '2-digit' }) }),
      ...(timeStyle === 'full' && { timeZoneName: 'long' }), ...(timeStyle === 'long' && { timeZoneName: 'short' }),
    };
  }

  get format() { return (value) => this.formatToParts(value).map((part) => part.value).join(''); }

  #date(at) {
    const o = this.#o, isBritish = o.locale === 'en-GB';
    const year = at.getUTCFullYear(), parts = [];
    const isText = WIDTHS.includes(o.month);
    const isNumeric = o.month !== undefined && !isText && (o.day !== undefined || o.year !== undefined);
    const number = (value, width) => (width === '2-digit' || (isBritish && isNumeric && o.day && o.year) ? two(value) : String(value));
    const weekday = o.weekday && { type: 'weekday', value: byWidth(DAYS[at.getUTCDay()], o.weekday) };
    const month = o.month && { type: 'month', value: isText ? byWidth(MONTHS[at.getUTCMonth()], o.month) : number(at.getUTCMonth() + 1, o.month) };
    const day = o.day && { type: 'day', value: number(at.getUTCDate(), o.day) };
    const shown = o.era && year <= 0 ? 1 - year : year;
    const yearPart = o.year && { type: 'year', value: o.year === '2-digit' ? two(Math.abs(shown) % 100) : String(shown) };
    const join = (list, between) => list.filter(Boolean).forEach((part, i) => {
      if (i > 0) parts.push({ type: 'literal', value: typeof between === 'function' ? between(part) : between });
      parts.push(part);
    });
    const order = isBritish ? [day, month, yearPart] : [month, day, yearPart];
    if (isText && isBritish) join([weekday, ...order], (part) => (part === day && weekday && o.weekday === 'long' ? ', ' : ' '));
    else if (isText) join([weekday, ...order], (part) => (part === day && month ? ' ' : part === yearPart && !day ? ' ' : part === yearPart || weekday ? ', ' : ' '));
    else {
      join([weekday], '');
      if (weekday && order.some(Boolean)) parts.push({ type: 'literal', value: month || yearPart ? ', ' : ' ' });
      if (weekday && day && !month && !yearPart) return [day, { type: 'literal', value: ' ' }, weekday];
      join(order, '/');
    }
    if (o.era) parts.push({ type: 'literal', value: ' ' }, { type: 'era', value: year <= 0 ? (o.era === 'long' ? 'Before Christ' : 'BC') : o.era === 'long' ? 'Anno Domini' : 'AD' });
    return parts;
  }

  #time(at) {
    const o = this.#o, parts = [];
    const put = (type, value) => {
      if (parts.length > 0) parts.push({ type: 'literal', value: type === 'fractionalSecond' ? '.' : ':' });
      parts.push({ type, value });
    };
    if (o.hour) {
      const hours = at.getUTCHours();
      const shown = { h11: hours % 12, h12: hours % 12 || 12, h23: hours, h24: hours || 24 }[o.hourCycle];
      put('hour', o.hour === '2-digit' || !o.hour12 ? two(shown) : String(shown));
    }
    if (o.minute) put('minute', o.hour || o.second || o.minute === '2-digit' && (o.hour || o.second) ? two(at.getUTCMinutes()) : String(at.getUTCMinutes()));
    if (o.second) put('second', o.minute ? two(at.getUTCSeconds()) : String(at.getUTCSeconds()));
    if (o.fractionalSecondDigits) put('fractionalSecond', String(at.getUTCMilliseconds()).padStart(3, '0').slice(0, o.fractionalSecondDigits));
    if (o.hour && o.hour12) parts.push({ type: 'literal', value: ' ' }, { type: 'dayPeriod', value: ['AM', 'PM'].map((x) => (o.locale === 'en-GB' ? x.toLowerCase() : x))[at.getUTCHours() < 12 ? 0 : 1] });
    return parts;
  }

  formatToParts(value) {
    const ms = value === undefined ? Date.now() : Number(value);
    if (!Number.isFinite(ms) || Math.abs(ms) > 8.64e15) throw new RangeError('Invalid time value');
    const o = this.#o;
    const [at, ahead] = inZone(o.timeZone, Math.floor(ms));
    const date = this.#date(at), time = this.#time(at);
    const isLong = o.dateStyle ? o.dateStyle === 'full' || o.dateStyle === 'long' : o.month === 'long';
    const parts = [...date];
    if (date.length > 0 && time.length > 0) parts.push({ type: 'literal', value: isLong ? ' at ' : ', ' });
    parts.push(...time);
    if (o.timeZoneName) parts.push({ type: 'literal', value: time.length > 0 ? ' ' : ', ' }, { type: 'timeZoneName', value: zoneName(o.timeZone, ahead, o.timeZoneName) });
    return parts;
  }

  formatRange(from, to) {
    const [a, b] = [this.format(from), this.format(to)];
    return a === b ? a : `${a} – ${b}`;
  }
  formatRangeToParts(from, to) {
    return [...this.formatToParts(from).map((part) => ({ ...part, source: 'startRange' })), { type: 'literal', value: ' – ', source: 'shared' },
      ...this.formatToParts(to).map((part) => ({ ...part, source: 'endRange' }))];
  }
  resolvedOptions() { return Object.fromEntries(Object.entries(this.#o).filter(([name, value]) => value !== undefined && !(this.#o.dateStyle && DATE_FIELDS.includes(name)))); }
}

return { DateTimeFormat };
