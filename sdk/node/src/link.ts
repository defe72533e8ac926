// The child process and the JSON-RPC spoken with it.
//
// A Link owns one server. Requests may overlap; answers come by their ids. The process ends with kill(), when its input
// is closed, which this process's own end does, however that comes, or when nobody holds the Link any more. A sandbox with nothing
// to do does not keep node alive.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

import { SandboxDied, SandboxError } from "./errors.js";

export type Params = Record<string, unknown>;
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
/** Answers a request of the server. */
export type Handler = (params: Json) => Json | Promise<Json>;

interface Waiter {
  resolve: (result: Params) => void;
  reject: (error: Error) => void;
  onOutput?: (params: OutputParams) => void;
}

export interface OutputParams {
  id: number;
  stream: "stdout" | "stderr";
  data: string;
  bytes: number;
}

const LINE_MAX = 64 << 20; // bytes of a request that the server reads
const LOG_TAIL = 2000;
const END_PATIENCE = 5000; // milliseconds until a server that does not end is ended
const METHOD_NOT_FOUND = -32601;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** Everything that must outlive the Link until the process has ended; it does not know the Link. */
class Channel {
  readonly child: Child;
  readonly waiting = new Map<number, Waiter>();
  readonly handlers = new Map<string, Handler>();
  readonly ended: Promise<void>;
  death: string | null = null;
  private log = "";
  private parts: Buffer[] = [];

  constructor(binary: string) {
    this.child = spawn(binary, ["serve", "--stdio"], { stdio: ["pipe", "pipe", "pipe"], detached: true });
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.log = (this.log + text).slice(-LOG_TAIL);
    });
    this.child.stdout.on("data", (chunk: Buffer) => this.take(chunk));
    this.child.stdin.on("error", () => {}); // it is gone: its end tells all who wait
    this.ended = new Promise((resolve) => {
      this.child.once("error", (problem) => {
        this.die(`cannot start ${binary}: ${problem.message}`);
        resolve();
      });
      this.child.once("close", (code, signal) => {
        const how = signal !== null ? signal : `exit code ${code}`;
        const words = this.log.trim();
        this.die(`the sandbox's process ended with ${how}${words === "" ? "" : `; it said: ${words}`}`);
        resolve();
      });
    });
    this.rest();
  }

  /** Only who waits for an answer keeps node alive. */
  rest(): void {
    for (const part of [this.child, this.child.stdin, this.child.stdout, this.child.stderr]) {
      (part as unknown as { unref?: () => void }).unref?.();
    }
  }

  wake(): void {
    for (const part of [this.child, this.child.stdout]) (part as unknown as { ref?: () => void }).ref?.();
  }

  die(why: string): void {
    this.death ??= why;
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const waiter of waiting) waiter.reject(new SandboxDied(this.death));
  }

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
    if (typeof message["method"] === "string") {
      if ("id" in message) void this.serve(message["method"], message["id"] as Json, (message["params"] ?? null) as Json);
      else this.notify(message["params"] as unknown as OutputParams);
      return;
    }
    const id = message["id"] as number;
    const waiter = this.waiting.get(id);
    if (waiter === undefined) return;
    this.waiting.delete(id);
    if (this.waiting.size === 0) this.rest();
    const error = message["error"] as { code: number; message: string } | undefined;
    if (error !== undefined) waiter.reject(new SandboxError(error.message, error.code));
    else waiter.resolve(message["result"] as Params);
  }

  private notify(params: OutputParams): void {
    this.waiting.get(params.id)?.onOutput?.(params);
  }

  /** A request of the server, which any handler may answer late. */
  private async serve(method: string, id: Json, params: Json): Promise<void> {
    const handler = this.handlers.get(method);
    let answer: Params;
    try {
      answer =
        handler === undefined
          ? { error: { code: METHOD_NOT_FOUND, message: `no method ${method} here` } }
          : { result: await handler(params) };
    } catch (problem) {
      answer = { error: { code: 1, message: problem instanceof Error ? problem.message : String(problem) } };
    }
    this.send({ jsonrpc: "2.0", id, ...answer });
  }

  send(message: Params): void {
    if (this.death === null) this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Ends the process and waits for it. */
  async close(): Promise<void> {
    this.death ??= "the sandbox was killed";
    this.wake();
    this.child.stdin.end(); // the end of input is the end of the server
    const timer = setTimeout(() => this.child.kill("SIGKILL"), END_PATIENCE);
    await this.ended;
    clearTimeout(timer);
  }
}

const forgotten = new FinalizationRegistry<Channel>((channel) => void channel.close());

export class Link {
  readonly channel: Channel;
  private next = 1;

  constructor(binary: string) {
    this.channel = new Channel(binary);
    forgotten.register(this, this.channel, this);
  }

  get pid(): number | undefined {
    return this.channel.child.pid;
  }

  get death(): string | null {
    return this.channel.death;
  }

  /** Answers requests of the server for `method`. */
  answer(method: string, handler: Handler): void {
    this.channel.handlers.set(method, handler);
  }

  /** The id of a request, and its answer. */
  start(method: string, params: Params, onOutput?: (params: OutputParams) => void): { id: number; answer: Promise<Params> } {
    const id = this.next++;
    const channel = this.channel;
    if (channel.death !== null) return { id, answer: Promise.reject(new SandboxDied(channel.death)) };
    const line = `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
    if (Buffer.byteLength(line) > LINE_MAX)
      return { id, answer: Promise.reject(new SandboxError(`E2BIG: ${method}: the request is longer than ${LINE_MAX} bytes`)) };
    const answer = new Promise<Params>((resolve, reject) => {
      channel.waiting.set(id, onOutput === undefined ? { resolve, reject } : { resolve, reject, onOutput });
    });
    channel.wake();
    channel.child.stdin.write(line);
    return { id, answer };
  }

  call(method: string, params: Params): Promise<Params> {
    return this.start(method, params).answer;
  }

  /** Waits while more is on its way to the server than should be. */
  async drained(): Promise<void> {
    const { stdin } = this.channel.child;
    if (!stdin.writableNeedDrain || this.channel.death !== null) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        stdin.off("drain", done).off("close", done);
        resolve();
      };
      stdin.on("drain", done).on("close", done);
    });
  }

  /** Ends everything in it, then the process. Twice is fine. */
  async kill(): Promise<void> {
    if (this.death === null) {
      const patience = new Promise<void>((resolve) => setTimeout(resolve, END_PATIENCE).unref());
      await Promise.race([this.call("kill", {}).then(() => {}, () => {}), patience]);
    }
    await this.channel.close();
    forgotten.unregister(this);
  }
}
