// Commands in the background.
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

import { commandResult } from "./commands.js";
import { SandboxError, SandboxTimeout } from "./errors.js";
import { type Link, type OutputParams, type Params, unlessAborted } from "./link.js";
import { type Abortable, ABORTABLE, checkOptions } from "./options.js";
import { asBuffer, type CommandResult, type Data } from "./types.js";

const TYPED = 32 << 10; // bytes in one request
const KEPT = 16 << 20; // characters of each stream

/** The state of a command. The Channel holds it as long as the command runs, so it does not know the Link. */
class Progress {
  readonly texts = { stdout: "", stderr: "" };
  readonly cut = { stdout: false, stderr: false };
  readonly decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  pid = 0;
  ended = false;
  private waiting: (() => void)[] = [];

  take(params: OutputParams | { pid: number }): void {
    if ("pid" in params) {
      this.pid = params.pid;
    } else {
      const { stream, data } = params;
      const text = this.decoders[stream].decode(Buffer.from(data, "base64"), { stream: true });
      const room = KEPT - this.texts[stream].length;
      if (text.length > room) this.cut[stream] = true;
      if (room > 0) this.texts[stream] += text.slice(0, room);
    }
    this.tell();
  }

  tell(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const one of waiting) one();
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }
}

/**
 * A command that runs while the program goes on: made by `commands.start`. Of its output, the first 16 Mi characters of each stream
 * are kept; it never waits for a reader.
 */
export class Process {
  private constructor(
    private readonly link: Link,
    private readonly id: number,
    private readonly progress: Progress,
    /** The line that was given. */
    readonly command: string,
    private readonly answer: Promise<CommandResult>,
  ) {}

  /** @internal */
  static async start(link: Link, command: string, params: Params, signal?: AbortSignal): Promise<Process> {
    const progress = new Progress();
    const { id, answer } = link.start("run", params, (output) => progress.take(output), true);
    const result = answer.then(
      (reply) => {
        progress.ended = true;
        progress.tell();
        return commandResult(
          { ...reply, ...progress.texts, stdoutTruncated: progress.cut.stdout, stderrTruncated: progress.cut.stderr },
          false,
        );
      },
      (problem: unknown) => {
        progress.ended = true;
        progress.tell();
        throw problem;
      },
    );
    result.catch(() => {}); // a caller that does not wait ignores the failure
    const onAbort = (): void => void link.call("run.cancel", { id }).catch(() => {});
    signal?.addEventListener("abort", onAbort, { once: true });
    const forget = (): void => signal?.removeEventListener("abort", onAbort);
    result.then(forget, forget);
    link.channel.hold();
    await progress.until(() => progress.pid !== 0 || progress.ended);
    link.channel.release();
    if (progress.pid === 0) await result;
    return new Process(link, id, progress, command, result);
  }

  /** Its process id in the sandbox. */
  get pid(): number {
    return this.progress.pid;
  }

  /** It has not ended yet. */
  get running(): boolean {
    return !this.progress.ended;
  }

  /** Its standard output so far. */
  get stdout(): string {
    return this.progress.texts.stdout;
  }

  /** Its standard error so far. */
  get stderr(): string {
    return this.progress.texts.stderr;
  }

  private async inTime<T>(what: Promise<T>, timeoutMs: number | undefined, why: string, signal: AbortSignal | undefined): Promise<T> {
    checkOptions("wait", { timeoutMs }, { timeoutMs: "count" });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      if (timeoutMs === undefined) return;
      timer = setTimeout(() => reject(new SandboxTimeout(`${this.command}: ${why} in ${timeoutMs} ms`)), timeoutMs);
    });
    this.link.channel.hold(); // the command itself does not keep node alive
    try {
      return await unlessAborted(signal, () => Promise.race([what, late]));
    } finally {
      clearTimeout(timer);
      this.link.channel.release();
    }
  }

  /** Waits until it has ended. SandboxTimeout: it has not in that many milliseconds, and goes on; so it does when the signal is aborted. */
  async wait(timeoutMs?: number, options: Abortable = {}): Promise<CommandResult> {
    checkOptions("wait", options, ABORTABLE);
    return this.inTime(this.answer, timeoutMs, "has not ended", options.signal);
  }

  /**
   * Waits until `text` is in its standard output, and answers all of that. SandboxTimeout: it did not come in that many
   * milliseconds. SandboxError: it ended without writing it.
   */
  async waitForOutput(text: string, timeoutMs?: number, options: Abortable = {}): Promise<string> {
    checkOptions("waitForOutput", options, ABORTABLE);
    const shown = this.progress.until(() => this.stdout.includes(text) || this.progress.ended);
    await this.inTime(shown, timeoutMs, `has not written ${JSON.stringify(text)}`, options.signal);
    if (!this.stdout.includes(text)) throw new SandboxError(`EPIPE: ${this.command}: ended without writing ${JSON.stringify(text)}`);
    return this.stdout;
  }

  /** Writes to its standard input. Waits while it does not read earlier input. SandboxError: it has ended. */
  async write(data: Data): Promise<void> {
    let rest = asBuffer(data);
    while (rest.length > 0) {
      const part = rest.subarray(0, TYPED).toString("base64");
      const reply = await this.link.call("run.input", { id: this.id, data: part });
      if (reply["running"] !== true) throw new SandboxError(`EPIPE: ${this.command}: has ended, or does not read any more`);
      rest = rest.subarray(reply["taken"] as number);
      if (rest.length > 0 && reply["taken"] === 0) await sleep(10);
    }
  }

  /** Nothing more is written: it finds the end of file. */
  async endInput(): Promise<void> {
    if (this.running) await this.link.call("run.input", { id: this.id, end: true });
  }

  /** Sends a signal to its process group, by its number or its name, "SIGINT". After its end it does nothing. */
  async signal(signal: number | NodeJS.Signals): Promise<void> {
    const number = typeof signal === "string" ? constants.signals[signal] : signal;
    if (!Number.isInteger(number)) throw new TypeError(`signal must be a number or a name as "SIGINT", not ${JSON.stringify(signal)}`);
    if (this.running) await this.link.call("run.signal", { id: this.id, signal: number });
  }

  /** Ends it with all that it started. Twice is fine. */
  async kill(): Promise<void> {
    if (this.running && this.link.death === null) await this.link.call("run.cancel", { id: this.id });
  }

  /** `await using process = await commands.start(...)` kills it at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
