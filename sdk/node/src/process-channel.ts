// A server in a child process: its pipes and its messages.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

import { nameExtraGuests } from "./binary.js";
import { Channel, END_PATIENCE, KILLED, type Params, Party } from "./channel.js";
import { SandboxDied } from "./errors.js";

const LOG_TAIL = 2000;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

function startProcess(binary: string): Child {
  try {
    nameExtraGuests();
    const child = spawn(binary, ["serve", "--stdio"], { stdio: ["pipe", "pipe", "pipe"], detached: true });
    if (child.pid === undefined) child.on("error", () => {}); // reported by the exception, or by `close`
    if (child.stdin !== undefined && child.stdin !== null) return child;
    throw new Error("there are too many open files");
  } catch (problem) {
    throw new SandboxDied(`cannot start ${binary}: ${(problem as Error).message}`);
  }
}

export class ProcessChannel extends Channel {
  private readonly child: Child;
  private readonly ended: Promise<void>;
  private outbox: (() => string | null)[] = [];
  private log = "";
  private parts: Buffer[] = [];

  constructor(binary: string) {
    super();
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

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Only pending answers keep node alive. */
  private rest(): void {
    for (const part of [this.child, this.child.stdin, this.child.stdout, this.child.stderr]) {
      (part as unknown as { unref?: () => void }).unref?.();
    }
  }

  protected keepAlive(on: boolean): void {
    if (!on) this.rest();
    else for (const part of [this.child, this.child.stdout]) (part as unknown as { ref?: () => void }).ref?.();
  }

  override die(why: string): void {
    this.outbox = [];
    super.die(why);
  }

  // ---- outgoing ----

  /** Lines are made when the pipe has room for them, so that what waits takes no more memory than it must; in this order. */
  protected send(makeLine: () => string | null): void {
    if (this.death !== null) return;
    this.outbox.push(makeLine);
    this.pump();
  }

  private pump(): void {
    const { stdin } = this.child;
    while (!stdin.writableNeedDrain && this.outbox.length > 0) {
      const line = this.outbox.shift()!();
      if (line !== null) stdin.write(`${line}\n`);
    }
  }

  // ---- incoming ----

  private take(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      const part = chunk.subarray(from, end);
      const line = this.parts.length === 0 ? part.toString("utf8") : Buffer.concat([...this.parts, part]).toString("utf8");
      this.parts = [];
      from = end + 1;
      try {
        this.dispatch(JSON.parse(line) as Params);
      } catch (problem) {
        this.die(`the sandbox cannot be understood: ${String(problem)}`);
        this.abandon();
        return;
      }
    }
    if (from < chunk.length) this.parts.push(chunk.subarray(from));
  }

  // ---- files ----

  private call(party: Party, method: string, makeParams: () => Params): Promise<Params> {
    return new Promise((resolve, reject) => {
      const params = party.name === "" ? makeParams : () => ({ ...makeParams(), sandbox: party.name });
      this.request(this.nextId(), { resolve, reject, party }, method, params);
    });
  }

  async readFile(party: Party, path: Params, offset: number, length: number): Promise<Buffer> {
    const { data } = await this.call(party, "files.read", () => ({ ...path, offset, length }));
    return Buffer.from(data as string, "base64");
  }

  async writeFile(party: Party, path: Params, data: Uint8Array, options: { mode?: number; offset?: number; append?: boolean }): Promise<void> {
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    await this.call(party, "files.write", () => ({ ...path, data: bytes.toString("base64"), ...options }));
  }

  // ---- the end ----

  abandon(): void {
    this.die("the sandbox's process did not answer, and was ended"); // so that no other sandbox begins in it
    this.child.kill("SIGKILL");
  }

  async close(): Promise<void> {
    this.death ??= KILLED;
    this.keepAlive(true);
    // At the end of its input alone, the server would finish what runs.
    if (this.child.stdin.writable) this.child.stdin.end('{"jsonrpc":"2.0","id":0,"method":"kill"}\n');
    const timer = setTimeout(() => this.child.kill("SIGKILL"), END_PATIENCE);
    await this.ended;
    clearTimeout(timer);
  }
}
