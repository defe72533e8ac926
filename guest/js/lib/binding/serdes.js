'use strict';
// v8.serialize: values in the format of V8, version 15.
const { CLASS } = native;
const VERSION = 15;
const TAG = { undefined: '_', null: '0', true: 'T', false: 'F', int: 'I', double: 'N', bigint: 'Z', latin1: '"', utf16: 'c', utf8: 'S', object: 'o',
  objectEnd: '{', array: 'A', arrayEnd: '$', sparse: 'a', sparseEnd: '@', hole: '-', date: 'D', trueObject: 'y', falseObject: 'x', numberObject: 'n',
  bigintObject: 'z', stringObject: 's', regexp: 'R', map: ';', mapEnd: ':', set: "'", setEnd: ',', buffer: 'B', view: 'V', reference: '^', error: 'r',
  host: '\\' };
const code = Object.fromEntries(Object.entries(TAG).map(([name, text]) => [name, text.charCodeAt(0)]));
const nameOf = new Map(Object.entries(code).map(([name, number]) => [number, name]));
const LATIN1 = 4, UTF16 = 3, UTF8 = 1;
const VIEWS = { b: Int8Array, B: Uint8Array, C: Uint8ClampedArray, w: Int16Array, W: Uint16Array, d: Int32Array, D: Uint32Array, h: globalThis.Float16Array,
  f: Float32Array, F: Float64Array, q: BigInt64Array, Q: BigUint64Array, '?': DataView };
const FLAGS = 'gimyusdv'; // the bits of a regular expression's flags: global, ignoreCase, multiline, sticky, unicode, dotAll, …
const FLAG_BITS = { g: 1, i: 2, m: 4, y: 8, u: 16, s: 32, d: 128, v: 256 };
const ERRORS = { E: EvalError, R: RangeError, F: ReferenceError, S: SyntaxError, T: TypeError, U: URIError };

class Serializer {
  #bytes = new Uint8Array(256);
  #length = 0;
  #seen = new Map();
  #viewsAreHosts = false;
  #transferred = new Map();

  #room(count) {
    if (this.#length + count <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(2 * this.#bytes.length, this.#length + count));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
  #byte(value) {
    this.#room(1);
    this.#bytes[this.#length++] = value;
  }
  #raw(bytes) {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }
  #varint(value) {
    for (let rest = BigInt(value); ; rest >>= 7n) {
      if (rest < 128n) return this.#byte(Number(rest));
      this.#byte(Number(rest & 127n) | 128);
    }
  }
  #double(value) { this.#raw(new Uint8Array(new Float64Array([value]).buffer)); }

  #text(value) {
    const isLatin1 = !/[^\0-\xff]/.test(value);
    const bytes = new Uint8Array(native.encode(isLatin1 ? LATIN1 : UTF16, value));
    if (!isLatin1 && (this.#length + 2 + Math.ceil(Math.log2(bytes.length + 1) / 7)) % 2) this.#byte(0); // padding
    this.#byte(isLatin1 ? code.latin1 : code.utf16);
    this.#varint(bytes.length);
    this.#raw(bytes);
  }

  #bigint(value) {
    const size = value < 0n ? -value : value;
    const digits = [];
    for (let rest = size; rest > 0n; rest >>= 64n) digits.push(rest & 0xffffffffffffffffn);
    this.#varint(digits.length * 16 + (value < 0n ? 1 : 0));
    this.#raw(new Uint8Array(new BigUint64Array(digits).buffer));
  }

  #properties(value, keys) {
    for (const key of keys) {
      this.#value(typeof key === 'string' && String(key >>> 0) === key && key >>> 0 < 0xffffffff ? Number(key) : key);
      this.#value(value[key]);
    }
  }

  #array(value) {
    const extra = Object.keys(value).filter((key) => String(key >>> 0) !== key);
    this.#byte(code.array);
    this.#varint(value.length);
    for (let i = 0; i < value.length; i++) {
      if (i in value) this.#value(value[i]);
      else this.#byte(code.hole);
    }
    this.#properties(value, extra);
    this.#byte(code.arrayEnd);
    this.#varint(extra.length);
    this.#varint(value.length);
  }

  #error(value) {
    this.#byte(code.error);
    for (const [letter, type] of Object.entries(ERRORS)) if (value instanceof type) this.#byte(letter.charCodeAt(0));
    if (Object.hasOwn(value, 'message')) {
      this.#byte(109); // m
      this.#text(String(value.message));
    }
    if (Object.hasOwn(value, 'cause')) {
      this.#byte(99); // c
      this.#value(value.cause);
    }
    if (typeof value.stack === 'string') {
      this.#byte(115); // s
      this.#text(value.stack);
    }
    this.#byte(46); // .
  }

  #view(value) {
    if (this.#viewsAreHosts) {
      this.#byte(code.host);
      this._writeHostObject(value);
      return;
    }
    if (!this.#seen.has(value.buffer)) this.#value(value.buffer);
    this.#byte(code.view);
    const [letter] = Object.entries(VIEWS).find(([, type]) => type && value instanceof type);
    this.#byte(letter.charCodeAt(0));
    this.#varint(value.byteOffset);
    this.#varint(value.byteLength);
    this.#varint(0);
  }

  #object(value) {
    const kind = native.classOf(value);
    if (native.proxyDetails(value)) throw new (this._getDataCloneError)('#<Object> could not be cloned.');
    const collection = (begin, end, items) => {
      this.#byte(begin);
      for (const item of items) this.#value(item);
      this.#byte(end);
      this.#varint(items.length);
    };
    if (typeof value === 'function') throw new (this._getDataCloneError)(`${value} could not be cloned.`);
    if (Array.isArray(value)) return this.#array(value);
    if (kind === CLASS.DATE) return this.#byte(code.date), this.#double(Number(value));
    if (kind === CLASS.MAP) return collection(code.map, code.mapEnd, [...value].flat(1));
    if (kind === CLASS.SET) return collection(code.set, code.setEnd, [...value]);
    if (kind === CLASS.ERROR) return this.#error(value);
    if (kind === CLASS.BOOLEAN) return this.#byte(value.valueOf() ? code.trueObject : code.falseObject);
    if (kind === CLASS.NUMBER) return this.#byte(code.numberObject), this.#double(value.valueOf());
    if (kind === CLASS.BIG_INT) return this.#byte(code.bigintObject), this.#bigint(value.valueOf());
    if (kind === CLASS.STRING) return this.#byte(code.stringObject), this.#text(value.valueOf());
    if (kind === CLASS.REGEXP) {
      this.#byte(code.regexp);
      this.#text(value.source);
      return this.#varint([...value.flags].reduce((sum, flag) => sum | FLAG_BITS[flag], 0));
    }
    if (kind === CLASS.ARRAY_BUFFER) {
      this.#byte(code.buffer);
      this.#varint(value.byteLength);
      return this.#raw(new Uint8Array(value));
    }
    if (ArrayBuffer.isView(value)) return this.#view(value);
    if ([CLASS.PROMISE, CLASS.WEAKMAP, CLASS.WEAKSET, CLASS.GENERATOR].includes(kind)) throw new (this._getDataCloneError)(`#<${value.constructor?.name}> could not be cloned.`);
    const keys = Object.keys(value);
    this.#byte(code.object);
    this.#properties(value, keys);
    this.#byte(code.objectEnd);
    return this.#varint(keys.length);
  }

  #value(value) {
    switch (typeof value) {
      case 'undefined': return this.#byte(code.undefined);
      case 'boolean': return this.#byte(value ? code.true : code.false);
      case 'string': return this.#text(value);
      case 'bigint': return this.#byte(code.bigint), this.#bigint(value);
      case 'symbol': throw new (this._getDataCloneError)(`${String(value)} could not be cloned.`);
      case 'number':
        if (!Number.isInteger(value) || Object.is(value, -0) || Math.abs(value) >= 2 ** 30) return this.#byte(code.double), this.#double(value);
        this.#byte(code.int);
        return this.#varint(value >= 0 ? value * 2 : -value * 2 - 1);
      default:
    }
    if (value === null) return this.#byte(code.null);
    if (this.#seen.has(value)) {
      this.#byte(code.reference);
      return this.#varint(this.#seen.get(value));
    }
    if (ArrayBuffer.isView(value) && !this.#viewsAreHosts && !this.#seen.has(value.buffer)) this.#value(value.buffer);
    this.#seen.set(value, this.#seen.size);
    return this.#object(value);
  }

  writeHeader() { this.#raw(new Uint8Array([0xff, VERSION])); }
  writeValue(value) {
    this.#value(value);
    return true;
  }
  releaseBuffer() { // the next bytes begin anew
    const released = this.#bytes.slice(0, this.#length);
    this.#length = 0;
    return host.toBuffer(released.buffer);
  }
  transferArrayBuffer(id, buffer) { this.#transferred.set(buffer, id); }
  writeUint32(value) { this.#varint(value); }
  writeUint64(high, low) { this.#varint(BigInt(high) << 32n | BigInt(low)); }
  writeDouble(value) { this.#double(value); }
  writeRawBytes(bytes) { this.#raw(new Uint8Array(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength)); }
  _setTreatArrayBufferViewsAsHostObjects(on) { this.#viewsAreHosts = on; }
}

class Deserializer {
  #bytes;
  #at = 0;
  #objects = [];
  #version = 0;
  constructor(buffer) {
    this.buffer = buffer;
    this.#bytes = new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  }

  #fail() { throw new Error('Unable to deserialize cloned data.'); }
  #byte() { return this.#at < this.#bytes.length ? this.#bytes[this.#at++] : this.#fail(); }
  #raw(count) {
    if (count > this.#bytes.length - this.#at) this.#fail();
    this.#at += count;
    return this.#bytes.slice(this.#at - count, this.#at);
  }
  #big() {
    for (let value = 0n, shift = 0n; ; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
      if (shift > 63n) this.#fail();
    }
  }
  #varint() { return Number(this.#big()); }
  #double() { return new Float64Array(this.#raw(8).buffer)[0]; }
  #bigint() {
    const head = this.#varint();
    const digits = new BigUint64Array(this.#raw((head >> 1) & ~7).buffer);
    const size = digits.reduceRight((sum, digit) => (sum << 64n) | digit, 0n);
    return head & 1 ? -size : size;
  }
  #put(object) {
    this.#objects.push(object);
    return object;
  }

  #peek() {
    while (this.#bytes[this.#at] === 0) this.#at++;
    return this.#bytes[this.#at];
  }
  #until(end, take) {
    while (this.#peek() !== end) take();
    this.#at++;
  }
  #properties(into, end) {
    this.#until(end, () => {
      const key = this.#value();
      Object.defineProperty(into, key, { __proto__: null, value: this.#value(), writable: true, enumerable: true, configurable: true });
    });
  }

  #error() {
    let type = Error, message, cause, stack;
    for (let tag = String.fromCharCode(this.#byte()); tag !== '.'; tag = String.fromCharCode(this.#byte())) {
      if (tag === 'm') message = this.#value();
      else if (tag === 'c') cause = [this.#value()];
      else if (tag === 's') stack = this.#value();
      else type = ERRORS[tag] ?? this.#fail();
    }
    const error = this.#put(new type(message));
    if (cause) host.define(error, 'cause', cause[0]);
    if (stack !== undefined) host.define(error, 'stack', stack);
    return error;
  }

  #withView(buffer) {
    if (this.#bytes[this.#at] !== code.view) return buffer;
    this.#at++;
    const type = VIEWS[String.fromCharCode(this.#byte())] ?? this.#fail();
    const offset = this.#varint(), length = this.#varint();
    this.#varint();
    return this.#put(new type(buffer, offset, length / (type.BYTES_PER_ELEMENT ?? 1)));
  }

  #collection(end, add) {
    this.#until(end, add);
    this.#varint();
  }

  #value() {
    this.#peek();
    switch (nameOf.get(this.#byte())) {
      case 'undefined': return undefined;
      case 'null': return null;
      case 'true': return true;
      case 'false': return false;
      case 'int': {
        const value = this.#varint();
        return value % 2 ? -(value + 1) / 2 : value / 2;
      }
      case 'double': return this.#double();
      case 'bigint': return this.#bigint();
      case 'latin1': return native.decode(LATIN1, this.#raw(this.#varint()));
      case 'utf16': return native.decode(UTF16, this.#raw(this.#varint()));
      case 'utf8': return native.decode(UTF8, this.#raw(this.#varint()));
      case 'reference': return this.#objects[this.#varint()] ?? this.#fail();
      case 'date': return this.#put(new Date(this.#double()));
      case 'trueObject': return this.#put(Object(true));
      case 'falseObject': return this.#put(Object(false));
      case 'numberObject': return this.#put(Object(this.#double()));
      case 'bigintObject': return this.#put(Object(this.#bigint()));
      case 'stringObject': return this.#put(Object(this.#value()));
      case 'error': return this.#error();
      case 'host': return this.#put(this._readHostObject());
      case 'regexp': {
        const source = this.#value(), bits = this.#varint();
        return this.#put(new RegExp(source, [...FLAGS].filter((flag) => bits & FLAG_BITS[flag]).join('')));
      }
      case 'object': {
        const object = this.#put({});
        this.#properties(object, code.objectEnd);
        this.#varint();
        return object;
      }
      case 'array': {
        const array = this.#put(new Array(this.#varint()));
        for (let i = 0; i < array.length; i++) {
          if (this.#bytes[this.#at] === code.hole) this.#at++;
          else array[i] = this.#value();
        }
        this.#properties(array, code.arrayEnd);
        this.#varint(), this.#varint();
        return array;
      }
      case 'sparse': {
        const array = this.#put(new Array(this.#varint()));
        this.#properties(array, code.sparseEnd);
        this.#varint(), this.#varint();
        return array;
      }
      case 'map': {
        const map = this.#put(new Map());
        this.#collection(code.mapEnd, () => map.set(this.#value(), this.#value()));
        return map;
      }
      case 'set': {
        const set = this.#put(new Set());
        this.#collection(code.setEnd, () => set.add(this.#value()));
        return set;
      }
      case 'buffer': return this.#withView(this.#put(this.#raw(this.#varint()).buffer));
      default: return this.#fail();
    }
  }

  readHeader() {
    if (this.#byte() !== 0xff) this.#fail();
    this.#version = this.#byte();
    if (this.#version > VERSION) this.#fail();
    return true;
  }
  readValue() { return this.#value(); }
  getWireFormatVersion() { return this.#version; }
  transferArrayBuffer() {}
  readUint32() { return this.#varint(); }
  readUint64() {
    const value = this.#big();
    return [Number(value >> 32n), Number(value & 0xffffffffn)];
  }
  readDouble() { return this.#double(); }
  readRawBytes(length) { return host.toBuffer(this.#raw(length).buffer); }
  _readRawBytes(length) {
    this.#raw(length);
    return this.#at - length;
  }
}

return { Serializer, Deserializer };
