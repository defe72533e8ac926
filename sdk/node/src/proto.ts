// Messages of Protocol Buffers as plain objects, by a table of their fields.

/** @internal A field: its number, its kind (a table is a message), whether there are many, whether it may be absent. */
export interface Field {
  readonly number: number;
  readonly kind: "string" | "int" | "bool" | Fields;
  readonly many?: boolean;
  readonly optional?: boolean;
}

/** @internal The fields of a message, by their names. */
export type Fields = { readonly [name: string]: Field };
type Value = string | number | boolean | Values;
/** @internal */
export type Values = { [name: string]: Value | Value[] | undefined };

// ---- writing ----

function varint(value: number): number[] {
  let rest = BigInt.asUintN(64, BigInt(value));
  const out: number[] = [];
  for (; rest > 0x7fn; rest >>= 7n) out.push(Number(rest & 0x7fn) | 0x80);
  return [...out, Number(rest)];
}

function piece(field: Field, value: Value): Buffer {
  const tag = field.number * 8;
  if (typeof value === "number" || typeof value === "boolean") return Buffer.from([...varint(tag), ...varint(Number(value))]);
  const data = typeof value === "string" ? Buffer.from(value) : encode(field.kind as Fields, value);
  return Buffer.concat([Buffer.from([...varint(tag + 2), ...varint(data.length)]), data]);
}

/** @internal */
export function encode(fields: Fields, message: Values): Buffer {
  const out: Buffer[] = [];
  for (const [name, field] of Object.entries(fields)) {
    const value = message[name];
    if (value === undefined) continue;
    if (Array.isArray(value)) out.push(...value.map((one) => piece(field, one)));
    else if (field.optional || value) out.push(piece(field, value));
  }
  return Buffer.concat(out);
}

// ---- reading ----

class Reader {
  at = 0;
  constructor(readonly data: Buffer) {}

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.data[this.at++];
      if (byte === undefined) break;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new RangeError("a number of the message is cut");
  }

  bytes(length: number): Buffer {
    if (length > this.data.length - this.at) throw new RangeError("a field of the message is cut");
    this.at += length;
    return this.data.subarray(this.at - length, this.at);
  }

  value(wire: number): bigint | Buffer {
    switch (wire) {
      case 0: return this.varint();
      case 1: return this.bytes(8);
      case 2: return this.bytes(Number(this.varint()));
      case 5: return this.bytes(4);
      default: throw new RangeError(`a field of the message has the unknown type ${wire}`);
    }
  }
}

function read(kind: Field["kind"], value: bigint | Buffer): Value {
  if (typeof value === "bigint") return kind === "bool" ? value !== 0n : Number(BigInt.asIntN(64, value));
  return kind === "string" ? value.toString() : decode(kind as Fields, value);
}

function empty(field: Field): Value | Value[] | undefined {
  if (field.many) return [];
  if (field.optional || typeof field.kind === "object") return undefined;
  return field.kind === "string" ? "" : field.kind === "int" ? 0 : false;
}

/** @internal Unknown fields are skipped. RangeError: the bytes are no message. */
export function decode(fields: Fields, data: Buffer): Values {
  const byNumber = new Map(Object.entries(fields).map(([name, field]) => [field.number, name]));
  const message: Values = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, empty(field)]));
  for (const reader = new Reader(data); reader.at < data.length;) {
    const tag = Number(reader.varint());
    const value = reader.value(tag % 8);
    const name = byNumber.get(Math.floor(tag / 8));
    const field = name === undefined ? undefined : fields[name];
    if (name === undefined || !field || (typeof value === "bigint") !== (field.kind === "int" || field.kind === "bool")) continue;
    if (field.many) (message[name] as Value[]).push(read(field.kind, value));
    else message[name] = read(field.kind, value);
  }
  return message;
}
