// A server, and the calls that wait for it.
//
// A Channel is one server: a process (process-channel.ts) or a library in this one (library-channel.ts). All sandboxes of a program share
// one, which stays warm until the program ends; tools have one of their own. A Link is one sandbox or set of tools of a Channel.
//
// A Channel must outlive the Link until its sandbox has ended, so it does not know the Link. A sandbox with nothing to do does not
// keep node alive; one that owes an answer does.
import { SandboxDied, SandboxError } from "./errors.js";

export type Params = Record<string, unknown>;
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Answers a request of the server, now or later. The signal says that the answer is not needed any more. */
export type Handler = (params: Json, signal: AbortSignal) => unknown;

export interface OutputParams {
  id: number;
  stream: "stdout" | "stderr";
  data: string;
  bytes: number;
}

export interface Waiter {
  resolve: (result: Params) => void;
  reject: (problem: unknown) => void;
  onOutput?: ((params: OutputParams) => void) | undefined;
  /** It does not keep node alive. */
  quiet?: boolean | undefined;
  /** Whose request it is: as long as it waits, so do the callbacks. */
  party: Party;
}

/** The part of a Link that its Channel knows. */
export class Party {
  readonly handlers = new Map<string, Handler>();
  /** For notifications that belong to no request. */
  readonly notices = new Map<string, (params: Params) => void>();
  /** Why calls are impossible. */
  death: string | null = null;
  /** Its end is wanted, and no news. */
  killing = false;

  /** name: of the sandbox in its server; "" when the server is its own. */
  constructor(readonly name: string) {}
}

export const LINE_MAX = 64 << 20; // bytes of a request that the server reads
const MESSAGE_MAX = 1 << 20; // characters of an error
export const END_PATIENCE = 5000; // milliseconds until a server that does not end is ended
export const KILLED = "the sandbox was killed";
const METHOD_NOT_FOUND = -32601;

/** Whether JSON of JSON.stringify has half a surrogate pair: such a half is all that it writes as \ud... */
export function hasHalfPair(json: string): boolean {
  return json.includes("\\ud") && /(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(json);
}

/** JSON; throws for what JSON and Unicode do not know. */
export function asJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (hasHalfPair(text)) throw new TypeError("a text holds half a surrogate pair, which is no Unicode");
  if (text.length > LINE_MAX / 3 && Buffer.byteLength(text) > LINE_MAX) throw new SandboxError(`E2BIG: the request is longer than ${LINE_MAX} bytes`);
  return text;
}

/** A thrown value, of any kind, as Unicode text. */
export function describeThrown(problem: unknown): string {
  try {
    const text = problem instanceof Error ? `${problem.name}: ${problem.message}` : String(problem);
    return text.slice(0, MESSAGE_MAX).replace(/\p{Surrogate}/gu, "\ufffd");
  } catch {
    return "something was thrown that has no text";
  }
}

/** Throws for what JSON.stringify leaves out without a word: functions, symbols, what a toJSON turns into such. */
function checkJson(value: unknown): void {
  const given = typeof (value as { toJSON?: unknown } | null)?.toJSON === "function" ? JSON.stringify(value) : value;
  if (typeof given === "function" || typeof given === "symbol" || given === undefined)
    throw new TypeError(`the callback's result is not JSON: a ${typeof value}`);
}

export type CallAnswer = { result: unknown } | { error: { code: number; message: string } };

export abstract class Channel {
  readonly waiting = new Map<number, Waiter>();
  death: string | null = null;
  private readonly parties = new Map<string, WeakRef<Party>>();
  private readonly asked = new Map<unknown, { party: Party | undefined; controller: AbortController }>();
  private last = 0; // id of a request
  private busy = 0; // answers that keep node alive

  /** Of the process that it is in. */
  abstract get pid(): number | undefined;

  /** Sends a line, made when there is room for it; null: it is not sent after all. */
  protected abstract send(makeLine: () => string | null, method: string): void;

  /** Whether answers that are to come keep node alive. */
  protected abstract keepAlive(on: boolean): void;

  /** It does not answer: it ends by force. */
  abstract abandon(): void;

  /** Ends everything in it, and waits for that. Twice is fine. */
  abstract close(): Promise<void>;

  abstract readFile(party: Party, path: Params, offset: number, length: number): Promise<Buffer>;
  abstract writeFile(party: Party, path: Params, data: Uint8Array, options: { mode?: number; offset?: number; append?: boolean }): Promise<void>;

  // ---- parties ----

  join(party: Party): void {
    this.parties.set(party.name, new WeakRef(party));
  }

  /** Its callers have no answer to expect any more. */
  bury(name: string, why = KILLED): void {
    const party = this.parties.get(name)?.deref();
    this.parties.delete(name);
    if (party !== undefined) party.death ??= why;
    for (const [id, waiter] of [...this.waiting])
      if (waiter.party.name === name) this.settled(id)?.reject(new SandboxDied(waiter.party.death ?? why));
    for (const [id, one] of [...this.asked])
      if (one.party === undefined || one.party.name === name) this.takeBack(id);
  }

  die(why: string): void {
    this.death ??= why;
    const waiting = [...this.waiting.keys()];
    for (const id of waiting) {
      const waiter = this.settled(id)!;
      waiter.reject(new SandboxDied(waiter.party.death ?? this.death));
    }
    for (const id of [...this.asked.keys()]) this.takeBack(id);
  }

  /** Keeps node alive until `release`. */
  hold(): void {
    if (this.busy++ === 0) this.keepAlive(true);
  }

  release(): void {
    if (--this.busy === 0) this.keepAlive(false);
  }

  // ---- outgoing ----

  nextId(): number {
    return ++this.last;
  }

  expect(id: number, waiter: Waiter): void {
    this.waiting.set(id, waiter);
    if (waiter.quiet !== true) this.hold();
  }

  /** Sends a request; the waiter gets its answer. */
  request(id: number, waiter: Waiter, method: string, makeParams: () => Params): void {
    this.expect(id, waiter);
    this.send(() => {
      try {
        return asJson({ jsonrpc: "2.0", id, method, params: makeParams() });
      } catch (problem) {
        this.settled(id)?.reject(problem);
        return null;
      }
    }, method);
  }

  /** Sends a request whose answer is of no interest. */
  tell(method: string, params: Params): void {
    if (this.death === null) this.send(() => asJson({ jsonrpc: "2.0", id: this.nextId(), method, params }), method);
  }

  // ---- incoming ----

  protected dispatch(message: Params): void {
    const { id, method } = message;
    if (typeof method !== "string") this.answered(message);
    else if (id !== undefined) void this.serve(method, id, (message["params"] ?? null) as Json);
    else this.notified(method, message["params"] as Params);
  }

  private answered(message: Params): void {
    const error = message["error"] as { code: number; message: string } | undefined;
    if (error === undefined) this.settled(message["id"] as number)?.resolve(message["result"] as Params);
    else this.refused(message["id"] as number, error.message, error.code);
  }

  protected refused(id: number, message: string, code: number): void {
    const waiter = this.settled(id);
    waiter?.reject(waiter.party.killing ? new SandboxDied(KILLED) : new SandboxError(message.replace(/^(value|display)Max(?=:)/, "$1LimitBytes"), code));
  }

  protected settled(id: number): Waiter | undefined {
    const waiter = this.waiting.get(id);
    this.waiting.delete(id);
    if (waiter !== undefined && waiter.quiet !== true) this.release();
    return waiter;
  }

  private notified(method: string, params: Params): void {
    if (method === "request.cancelled") this.takeBack(params["id"]);
    else if (params["id"] === undefined) this.parties.get((params["sandbox"] as string | undefined) ?? "")?.deref()?.notices.get(method)?.(params);
    else this.waiting.get(params["id"] as number)?.onOutput?.(params as unknown as OutputParams);
  }

  // ---- requests of the server ----

  private takeBack(id: unknown): void {
    const one = this.asked.get(id);
    this.asked.delete(id);
    one?.controller.abort();
  }

  private async serve(method: string, id: unknown, params: Json): Promise<void> {
    const name = ((params as { sandbox?: string } | null)?.sandbox ?? "") as string;
    const { answer, wanted } = await this.work(id, name, method, params);
    if (!wanted || this.death !== null) return;
    const head = { jsonrpc: "2.0", id };
    const line = ((): string => {
      try {
        return asJson({ ...head, ...answer });
      } catch (problem) {
        return asJson({ ...head, error: unsendable(problem) });
      }
    })();
    this.send(() => line, "");
  }

  /** What the handler gives or throws, and whether that is still wanted. `id` is any value that is this request's alone. */
  protected async work(id: unknown, name: string, method: string, params: Json): Promise<{ answer: CallAnswer; wanted: boolean }> {
    const party = this.parties.get(name)?.deref();
    const handler = party?.handlers.get(method);
    if (handler === undefined) return { answer: { error: { code: METHOD_NOT_FOUND, message: `no method ${method} here` } }, wanted: true };
    const controller = new AbortController();
    this.asked.set(id, { party, controller });
    let answer: CallAnswer;
    try {
      const result = handler(params, controller.signal);
      answer = { result: (isThenable(result) ? await result : result) ?? null };
      checkJson(answer.result);
    } catch (problem) {
      answer = { error: { code: 1, message: describeThrown(problem) } };
    }
    this.asked.delete(id);
    return { answer, wanted: !controller.signal.aborted };
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

export function unsendable(problem: unknown): { code: number; message: string } {
  return { code: 1, message: `the answer cannot be sent: ${describeThrown(problem)}` };
}
