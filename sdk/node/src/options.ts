// What callers give: options that are unknown or make no sense are refused here, in this package's words; paths become members of
// requests.
import { inspect } from "node:util";

import type { Params } from "./channel.js";

/** A path of the sandbox. Names are bytes: a name that is not UTF-8 is given as bytes. */
export type Remote = string | Uint8Array;

export const NO_TIMEOUT = 0xffff_fffe; // milliseconds: 49 days

export type Kind = "count" | "function" | "boolean" | "text" | "list" | "object" | "signal" | "data" | "path" | "contents" | "any";

/** A call that can be aborted: it then rejects with the signal's reason. */
export interface Abortable {
  signal?: AbortSignal;
}

export const ABORTABLE: Record<keyof Abortable, Kind> = { signal: "signal" };

const TESTS: Record<Kind, [(value: unknown) => boolean, string]> = {
  count: [(value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0, "a whole number that is not negative"],
  function: [(value) => typeof value === "function", "a function"],
  boolean: [(value) => typeof value === "boolean", "true or false"],
  text: [(value) => typeof value === "string", "a string"],
  list: [(value) => Array.isArray(value), "an array"],
  object: [(value) => typeof value === "object" && value !== null && !Array.isArray(value), "an object"],
  signal: [(value) => value instanceof AbortSignal, "an AbortSignal"],
  data: [(value) => typeof value === "string" || value instanceof Uint8Array, "a string or bytes"],
  path: [(value) => typeof value === "string" || value instanceof Uint8Array || value instanceof URL, "a path"],
  contents: [(value) => typeof value === "string" || value instanceof Uint8Array || value instanceof URL, "a string, bytes or a URL"],
  any: [() => true, ""],
};

function shown(value: unknown): string {
  return inspect(value, { depth: 1, breakLength: Infinity }).slice(0, 200);
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}

function meant(name: string, known: string[]): string {
  const lower = name.toLowerCase();
  const begins = known.find((one) => one.toLowerCase().startsWith(lower) || lower.startsWith(one.toLowerCase()));
  const near = begins ?? known.find((one) => distance(one.toLowerCase(), lower) <= 2);
  return near === undefined ? `; it knows ${known.join(", ")}` : `; did you mean ${near}?`;
}

/** Throws a TypeError for an option that `what` does not know, or whose value is of another kind. undefined is not given. */
export function checkOptions(what: string, options: object, known: Readonly<Record<string, Kind>>): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw new TypeError(`${what}: the options must be an object, not ${shown(options)}`);
  for (const [name, value] of Object.entries(options)) {
    const kind = known[name];
    if (kind === undefined) throw new TypeError(`${what} has no option ${name}${meant(name, Object.keys(known))}`);
    const [fits, words] = TESTS[kind];
    if (value !== undefined && !fits(value)) throw new TypeError(`${what}: ${name} must be ${words}, not ${shown(value)}`);
  }
}

export function checkTexts(name: string, object: Readonly<Record<string, unknown>> | undefined): void {
  for (const [key, value] of Object.entries(object ?? {}))
    if (typeof value !== "string") throw new TypeError(`${name}: ${key} must be a string, not ${shown(value)}`);
}

export function checkLine(command: unknown): void {
  if (Array.isArray(command)) throw new TypeError("command must be a line for bash, not an array");
  if (typeof command !== "string") throw new TypeError(`command must be a string, not ${command === null ? "null" : typeof command}`);
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of these bytes, or the bytes when they are no UTF-8. */
export function nameOf(bytes: Uint8Array): Remote {
  try {
    return strict.decode(bytes);
  } catch {
    return bytes;
  }
}

/** The member of a request for this path; JSON carries no bytes, so a path that is not UTF-8 goes as base64. */
export function pathParam(name: string, path: Remote): Params {
  const text = typeof path === "string" ? path : path instanceof Uint8Array ? nameOf(path) : undefined;
  if (text === undefined) throw new TypeError(`the path must be a string or bytes, not ${shown(path)}`);
  if (typeof text === "string") return { [name]: text };
  return { [`${name}Base64`]: Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString("base64") };
}

/** For messages. */
export function pathText(path: Remote): string {
  return typeof path === "string" ? path : Buffer.from(path.buffer, path.byteOffset, path.byteLength).toString("utf8");
}
