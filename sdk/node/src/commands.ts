// Commands of a sandbox.
import type { Link, OutputParams, Params } from "./link.js";
import { checkLine, checkOptions, checkTexts, type Kind, NO_TIMEOUT, pathParam } from "./options.js";
import { Process } from "./process.js";
import { Terminal } from "./terminal.js";
import {
  asBuffer,
  CommandResult,
  type Data,
  type End,
  type RunningCommand,
  type RunOptions,
  type StartOptions,
  type TerminalOptions,
} from "./types.js";

const START: Record<keyof StartOptions, Kind> = { cwd: "path", env: "object", timeoutMs: "count", signal: "signal" };
const RUN: Record<keyof RunOptions, Kind> = {
  ...START,
  stdin: "data",
  onStdout: "function",
  onStderr: "function",
  check: "boolean",
  binary: "boolean",
  fuel: "count",
};
const TERMINAL: Record<keyof TerminalOptions, Kind> = { ...START, rows: "count", cols: "count", onOutput: "function" };

const WINDOW = 1 << 20; // bytes of output that may be on the way
const KEPT = 16 << 20; // characters of streamed output that the result still holds, for each stream

const utf8 = (options: { fatal?: boolean } = {}) => new TextDecoder("utf-8", { ignoreBOM: true, ...options });

function stdinParams(data: Data, binary: boolean): Params {
  if (typeof data === "string" && !binary) return { stdin: data };
  const bytes = asBuffer(data);
  if (binary) return { stdin: bytes.toString("base64") };
  try {
    return { stdin: utf8({ fatal: true }).decode(bytes) };
  } catch {
    return { stdin: bytes.toString("base64"), encoding: "base64" };
  }
}

function runParams(command: string, options: RunOptions): Params {
  checkLine(command);
  checkTexts("env", options.env);
  const params: Params = { command };
  if (options.binary === true) params["encoding"] = "base64";
  if (options.fuel !== undefined) params["fuel"] = options.fuel;
  if (options.stdin !== undefined) Object.assign(params, stdinParams(options.stdin, options.binary === true));
  if (options.cwd !== undefined) Object.assign(params, pathParam("cwd", options.cwd));
  if (options.env !== undefined) params["env"] = options.env;
  if (options.timeoutMs !== undefined) params["timeoutMs"] = options.timeoutMs;
  if (options.onStdout !== undefined || options.onStderr !== undefined) {
    params["stream"] = true;
    params["window"] = WINDOW;
  }
  return params;
}

/** Streamed output: handed on in order, and put together for the result. */
class Stream {
  private readonly texts = { stdout: "", stderr: "" };
  private readonly bytes: { stdout: Buffer[]; stderr: Buffer[] } = { stdout: [], stderr: [] };
  private readonly sizes = { stdout: 0, stderr: 0 };
  private readonly cut = { stdout: false, stderr: false };
  private readonly decoders = { stdout: utf8(), stderr: utf8() };
  private unacknowledged = 0;
  private stopped = false;
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly link: Link,
    private readonly options: RunOptions,
    private readonly isBase64: boolean,
    private readonly failed: (problem: unknown) => void,
  ) {}

  add(params: OutputParams): void {
    this.then(() => this.take(params));
  }

  /** Nothing more is handed on. */
  stop(): void {
    this.stopped = true;
  }

  private then(step: () => Promise<void>): void {
    this.last = this.last.then(() => (this.stopped ? undefined : step())).catch((problem: unknown) => {
      this.stop();
      this.failed(problem);
    });
  }

  private async take(params: OutputParams): Promise<void> {
    const name = params.stream;
    const { data } = params;
    if (this.options.binary === true) await this.handBytes(name, Buffer.from(data, "base64"));
    else await this.hand(name, this.isBase64 ? this.decoders[name].decode(Buffer.from(data, "base64"), { stream: true }) : data);
    this.unacknowledged += params.bytes;
    if (this.unacknowledged < WINDOW / 2) return;
    const bytes = this.unacknowledged;
    this.unacknowledged = 0;
    this.link.call("run.ack", { id: params.id, bytes }).catch(() => {});
  }

  private async hand(name: "stdout" | "stderr", text: string): Promise<void> {
    if (text === "") return;
    const room = KEPT - this.texts[name].length;
    if (text.length > room) this.cut[name] = true;
    if (room > 0) this.texts[name] += text.slice(0, room);
    await (name === "stdout" ? this.options.onStdout : this.options.onStderr)?.(text);
  }

  private async handBytes(name: "stdout" | "stderr", bytes: Buffer): Promise<void> {
    const part = bytes.subarray(0, KEPT - this.sizes[name]);
    if (part.length < bytes.length) this.cut[name] = true;
    this.sizes[name] += part.length;
    if (part.length > 0) this.bytes[name].push(part);
    await (name === "stdout" ? this.options.onStdout : this.options.onStderr)?.(bytes);
  }

  async finish(reply: Params): Promise<Params> {
    if (this.options.binary !== true)
      for (const name of ["stdout", "stderr"] as const) this.then(() => this.hand(name, this.decoders[name].decode()));
    await this.last;
    const whole = (name: "stdout" | "stderr") => Buffer.concat(this.bytes[name]).toString("base64");
    return {
      ...reply,
      ...(this.options.binary === true ? { stdout: whole("stdout"), stderr: whole("stderr") } : this.texts),
      ...(this.cut.stdout ? { stdoutTruncated: true } : {}),
      ...(this.cut.stderr ? { stderrTruncated: true } : {}),
    };
  }
}

function asText(value: unknown, isBase64: boolean): string {
  if (Buffer.isBuffer(value)) return value.toString("utf8");
  return isBase64 ? Buffer.from(value as string, "base64").toString("utf8") : (value as string);
}

function asBytes(value: unknown): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.from(value as string, "base64");
}

export function commandResult(reply: Params, isBase64: boolean, binary = false): CommandResult {
  const bytes = (name: string) => (binary ? asBytes(reply[name]) : null);
  return new CommandResult(
    asText(reply["stdout"], isBase64),
    asText(reply["stderr"], isBase64),
    reply["exitCode"] as number,
    reply["executionTimeMs"] as number,
    (reply["stdoutTruncated"] ?? false) as boolean,
    (reply["stderrTruncated"] ?? false) as boolean,
    (reply["end"] ?? "exit") as End,
    (reply["detail"] ?? "") as string,
    (reply["fuel"] ?? null) as number | null,
    bytes("stdout"),
    bytes("stderr"),
  );
}

/** Shell commands in a sandbox. They share its files and processes, and several may run at once. */
export class Commands {
  constructor(private readonly link: Link) {}

  /**
   * Runs a line for bash. The result has its output and exit code; 124 is the timeout. Several may run at once. What the command
   * leaves in the background lives on, and later commands can reach it; its output is then discarded.
   */
  async run(command: string, options: RunOptions = {}): Promise<CommandResult> {
    checkOptions("commands.run", options, RUN);
    options.signal?.throwIfAborted();
    const result = await this.begin(runParams(command, options), options).result;
    return options.check === true ? result.check() : result;
  }

  /**
   * Runs a line for bash and does not wait for it: a server, or a program that is written to while it runs. It runs until it ends,
   * is killed or the sandbox ends, unless `timeoutMs` says how long it may take.
   */
  async start(command: string, options: StartOptions = {}): Promise<Process> {
    checkOptions("commands.start", options, START);
    const { signal } = options;
    const params = runParams(command, { ...options, timeoutMs: options.timeoutMs ?? NO_TIMEOUT });
    signal?.throwIfAborted();
    return Process.start(this.link, command, { ...params, encoding: "base64", stream: true, inputOpen: true, announce: true }, signal);
  }

  /** The commands of this sandbox that are running now. */
  async list(): Promise<RunningCommand[]> {
    const { runs } = await this.link.call("run.list", {});
    return (runs as RunningCommand[]).map(({ pid, command }) => ({ pid, command }));
  }

  /** Runs a line for bash on a terminal of its own, and does not wait for it. */
  terminal(command = "exec bash", options: TerminalOptions = {}): Terminal {
    checkOptions("commands.terminal", options, TERMINAL);
    options.signal?.throwIfAborted();
    const { rows = 24, cols = 80, onOutput = () => {}, ...rest } = options;
    const asRun: RunOptions = { ...rest, onStdout: onOutput };
    const params: Params = { ...runParams(command, asRun), encoding: "base64", inputOpen: true, tty: { rows, cols } };
    const { id, result } = this.begin(params, asRun);
    result.catch(() => {}); // a caller that does not ask ignores the failure
    return new Terminal(this.link, id, result);
  }

  private begin(params: Params, options: RunOptions): { id: number; result: Promise<CommandResult> } {
    const isBase64 = params["encoding"] === "base64";
    let fail: (problem: unknown) => void = () => {};
    const failure = new Promise<never>((_, reject) => (fail = reject));
    failure.catch(() => {});
    const stream = params["stream"] === true ? new Stream(this.link, options, isBase64, fail) : null;
    const { id, answer } = this.link.start("run", params, stream === null ? undefined : (p) => stream.add(p));
    const onAbort = () => fail(options.signal?.reason);
    options.signal?.addEventListener("abort", onAbort, { once: true });
    const whole = stream === null ? answer : answer.then((reply) => stream.finish(reply));
    whole.catch(() => {});
    return { id, result: this.finish(id, answer, whole, failure, stream, isBase64, options, onAbort) };
  }

  private async finish(
    id: number,
    answer: Promise<Params>,
    whole: Promise<Params>,
    failure: Promise<never>,
    stream: Stream | null,
    isBase64: boolean,
    options: RunOptions,
    onAbort: () => void,
  ): Promise<CommandResult> {
    try {
      const reply = await Promise.race([whole, failure]);
      return commandResult(reply, isBase64 && (stream === null || options.binary === true), options.binary === true);
    } catch (problem) {
      stream?.stop();
      if (this.link.death === null) this.link.call("run.cancel", { id }).catch(() => {});
      await answer.catch(() => {}); // nothing of the command runs on
      throw problem;
    } finally {
      options.signal?.removeEventListener("abort", onAbort);
    }
  }
}
