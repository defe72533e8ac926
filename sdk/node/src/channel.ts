// The child process: its pipes, its messages, and the promises that wait for one.
//
// It must outlive the Link until the process has ended, so it does not know the Link. A sandbox with nothing to do does not
// keep node alive; one that owes an answer does.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

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
}

const LINE_MAX = 64 << 20; // bytes of a request that the server reads
const LOG_TAIL = 2000;
const MESSAGE_MAX = 1 << 20; // characters of an error
export const END_PATIENCE = 5000; // milliseconds until a server that does not end is ended
const METHOD_NOT_FOUND = -32601;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

function startProcess(binary: string): Child {
  try {
    const child = spawn(binary, ["serve", "--stdio"], { stdio: ["pipe", "pipe", "pipe"], detached: true });
    if (child.pid === undefined) child.on("error", () => {}); // reported by the exception, or by `close`
    if (child.stdin !== undefined && child.stdin !== null) return child;
    throw new Error("there are too many open files");
  } catch (problem) {
    throw new SandboxDied(`cannot start ${binary}: ${(problem as Error).message}`);
  }
}

/** A line of the protocol; throws for what JSON and Unicode do not know. */
export function asLine(message: Params): string {
  const line = JSON.stringify(message);
  // Such a half is all that JSON.stringify writes as \ud...
  if (line.includes("\\ud") && /(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(line)) throw new TypeError("a text holds half a surrogate pair, which is no Unicode");
  if (Buffer.byteLength(line) > LINE_MAX) throw new SandboxError(`E2BIG: the request is longer than ${LINE_MAX} bytes`);
  return `${line}\n`;
}

/** Throws for what JSON.stringify leaves out without a word: functions, symbols, what a toJSON turns into such. */
function checkJson(value: unknown): void {
  const given = typeof (value as { toJSON?: unknown } | null)?.toJSON === "function" ? JSON.stringify(value) : value;
  if (typeof given === "function" || typeof given === "symbol" || given === undefined)
    throw new TypeError(`the callback's result is not JSON: a ${typeof value}`);
}

/** A thrown value, of any kind, as Unicode text. */
function describeThrown(problem: unknown): string {
  try {
    const text = problem instanceof Error ? `${problem.name}: ${problem.message}` : String(problem);
    return text.slice(0, MESSAGE_MAX).replace(/\p{Surrogate}/gu, "\ufffd");
  } catch {
    return "something was thrown that has no text";
  }
}

export class Channel {
  readonly child: Child;
  readonly waiting = new Map<number, Waiter>();
  readonly handlers = new Map<string, Handler>();
  readonly ended: Promise<void>;
  death: string | null = null;
  private readonly asked = new Map<unknown, AbortController>();
  private busy = 0; // answers that keep node alive
  private outbox: (() => string | null)[] = [];
  private log = "";
  private parts: Buffer[] = [];

  constructor(binary: string) {
    this.child = startProcess(binary);
    const { stdin, stdout, stderr } = this.child;
    stderr.setEncoding("utf8").on("data", (text: string) => {
      this.log = (this.log + text).slice(-LOG_TAIL);
    });
    stdout.on("data", (chunk: Buffer) => this.take(chunk));
    stdin.on("error", () => {}); // it is gone: its end tells all who wait
    stdin.on("drain", () => this.pump());
    this.ended = new Promise((resolve) => {
      this.child.once("error", (problem) => {
        this.die(`cannot start ${binary}: ${problem.message}`);
        resolve();
      });
      this.child.once("close", (code, signal) => {
        const words = this.log.trim();
        this.die(`the sandbox's process ended with ${signal ?? `exit code ${code}`}${words === "" ? "" : `; it said: ${words}`}`);
        resolve();
      });
    });
    this.rest();
  }

  /** Only pending answers keep node alive. */
  private rest(): void {
    for (const part of [this.child, this.child.stdin, this.child.stdout, this.child.stderr]) {
      (part as unknown as { unref?: () => void }).unref?.();
    }
  }

  /** Keeps node alive until `release`. */
  hold(): void {
    this.busy++;
    this.wake();
  }

  release(): void {
    if (--this.busy <= 0) this.rest();
  }

  private wake(): void {
    for (const part of [this.child, this.child.stdout]) (part as unknown as { ref?: () => void }).ref?.();
  }

  die(why: string): void {
    this.death ??= why;
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    this.outbox = [];
    for (const waiter of waiting) waiter.reject(new SandboxDied(this.death));
    for (const controller of this.asked.values()) controller.abort();
    this.asked.clear();
  }

  // ---- outgoing ----

  /** Sends a request, whose waiter is told its answer. */
  request(id: number, waiter: Waiter, makeMessage: () => Params): void {
    this.waiting.set(id, waiter);
    if (waiter.quiet !== true) this.hold();
    this.send(() => {
      try {
        return asLine(makeMessage());
      } catch (problem) {
        this.settled(id)?.reject(problem);
        return null;
      }
    });
  }

  /** Lines are made when the pipe has room for them, so that what waits takes no more memory than it must; in this order. */
  private send(makeLine: () => string | null): void {
    if (this.death !== null) return;
    this.outbox.push(makeLine);
    this.pump();
  }

  private pump(): void {
    const { stdin } = this.child;
    while (!stdin.writableNeedDrain && this.outbox.length > 0) {
      const line = this.outbox.shift()!();
      if (line !== null) stdin.write(line);
    }
  }

  // ---- incoming ----

  private take(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      this.parts.push(chunk.subarray(from, end));
      const line = Buffer.concat(this.parts).toString("utf8");
      this.parts = [];
      from = end + 1;
      try {
        this.dispatch(JSON.parse(line) as Params);
      } catch (problem) {
        this.die(`the sandbox cannot be understood: ${String(problem)}`);
        this.child.kill("SIGKILL");
        return;
      }
    }
    if (from < chunk.length) this.parts.push(chunk.subarray(from));
  }

  private dispatch(message: Params): void {
    const { id, method } = message;
    if (typeof method !== "string") this.answered(message);
    else if (id !== undefined) void this.serve(method, id, (message["params"] ?? null) as Json);
    else this.notified(method, message["params"] as Params);
  }

  private answered(message: Params): void {
    const waiter = this.settled(message["id"] as number);
    const error = message["error"] as { code: number; message: string } | undefined;
    if (error !== undefined) waiter?.reject(new SandboxError(error.message.replace(/^valueMax(?=:)/, "valueLimitBytes"), error.code));
    else waiter?.resolve(message["result"] as Params);
  }

  private settled(id: number): Waiter | undefined {
    const waiter = this.waiting.get(id);
    this.waiting.delete(id);
    if (waiter !== undefined && waiter.quiet !== true) this.release();
    return waiter;
  }

  private notified(method: string, params: Params): void {
    if (method === "request.cancelled") this.asked.get(params["id"])?.abort();
    else this.waiting.get(params["id"] as number)?.onOutput?.(params as unknown as OutputParams);
  }

  /** A request of the server. */
  private async serve(method: string, id: unknown, params: Json): Promise<void> {
    const controller = new AbortController();
    this.asked.set(id, controller);
    const answer = await this.work(method, params, controller.signal);
    this.asked.delete(id);
    const line = ((): string => {
      try {
        return asLine({ jsonrpc: "2.0", id, ...answer });
      } catch (problem) {
        return asLine({ jsonrpc: "2.0", id, error: { code: 1, message: `the answer cannot be sent: ${describeThrown(problem)}` } });
      }
    })();
    if (!controller.signal.aborted) this.send(() => line);
  }

  private async work(method: string, params: Json, signal: AbortSignal): Promise<Params> {
    const handler = this.handlers.get(method);
    if (handler === undefined) return { error: { code: METHOD_NOT_FOUND, message: `no method ${method} here` } };
    try {
      const result = (await handler(params, signal)) ?? null;
      checkJson(result);
      return { result };
    } catch (problem) {
      return { error: { code: 1, message: describeThrown(problem) } };
    }
  }

  // ---- the end ----

  /** Ends the process and waits for it. Twice is fine. */
  async close(): Promise<void> {
    this.death ??= "the sandbox was killed";
    this.wake();
    // At the end of its input alone, the server would finish what runs.
    if (this.child.stdin.writable) this.child.stdin.end('{"jsonrpc":"2.0","id":0,"method":"kill"}\n');
    const timer = setTimeout(() => this.child.kill("SIGKILL"), END_PATIENCE);
    await this.ended;
    clearTimeout(timer);
  }
}
