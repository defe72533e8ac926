// Python in a sandbox: sessions that keep their variables, and functions of this process that they may call.
import { AsyncLocalStorage } from "node:async_hooks";

import { type Display, Displays, readDisplay } from "./display.js";
import { SandboxError, SandboxTimeout } from "./errors.js";
import { hostPath } from "./files.js";
import type { Json, Link, OutputParams, Params } from "./link.js";
import { checkOptions, type Kind, pathParam } from "./options.js";

/** The exception that ended an evaluation. Not an exception itself: see PythonResult.check. */
export interface PythonError {
  type: string;
  message: string;
  traceback: string;
  /** In the code that was run. */
  line: number | null;
}

/** One step of code that is traced. */
export interface TraceEvent {
  type: string;
  line: number;
  function: string;
  file: string;
  /** repr of the variables that changed. */
  locals: Record<string, string>;
}

/** Of one evaluation. */
export interface PythonOptions {
  /** What input() reads. */
  stdin?: string;
  /** In place of the sandbox's, longer or shorter. */
  timeoutMs?: number;
  onStdout?: (text: string) => unknown;
  onStderr?: (text: string) => unknown;
  /** Of "line", "call", "return", "exception", "locals"; default "line" when there is onTrace. */
  trace?: readonly ("line" | "call" | "return" | "exception" | "locals")[];
  /** Only functions and files whose name has this in it. */
  traceFilter?: string;
  /** The most events. */
  traceMax?: number;
  onTrace?: (event: TraceEvent) => unknown;
  /** Makes failure an exception, as PythonResult.check does. */
  check?: boolean;
  /** The result has what a notebook would show: `displays`, and the value's `bundle`. */
  display?: boolean;
  /** Gets what display() is called with, as it comes. */
  onDisplay?: (display: Display) => unknown;
  /** Bytes of all displays together: 16 MiB by default, at most 64 MiB. */
  displayLimitBytes?: number;
  /** Bytes of repr and value each: 1 MiB by default, at most 64 MiB. A longer repr is cut; a longer value is not sent, and reading it throws ValueTooLarge. */
  valueLimitBytes?: number;
  /** Wait in line while the session runs something else (default), with timeoutMs from the turn on; false: SandboxError EBUSY. In a callback it is always false, because the session may be waiting for that callback. */
  wait?: boolean;
  /** Aborting ends the code; the call then rejects with the signal's reason, when the code has ended. */
  signal?: AbortSignal;
  /** The most WebAssembly operations, in a sandbox that has a fuelLimit; the result says how many were used. */
  fuel?: number;
}

const STATE_PIECE = 16 << 20; // bytes: base64 of it fits into a line

const callbackRuns = new AsyncLocalStorage<true>();

/** Code in the sandbox may be waiting for the callback that runs here. */
function inCallback(): boolean {
  return callbackRuns.getStore() === true;
}

function asCallback<T>(work: () => T): T {
  return callbackRuns.run(true, work);
}

const RUN: Record<keyof PythonOptions, Kind> = {
  stdin: "text",
  timeoutMs: "count",
  onStdout: "function",
  onStderr: "function",
  trace: "list",
  traceFilter: "text",
  traceMax: "count",
  onTrace: "function",
  check: "boolean",
  signal: "signal",
  fuel: "count",
  valueLimitBytes: "count",
  display: "boolean",
  onDisplay: "function",
  displayLimitBytes: "count",
  wait: "boolean",
};

/** What an evaluation wrote, gave and ended with. */
export class PythonResult {
  readonly outcome: "value" | "exception" | "exit" | "stopped";
  readonly stdout: string;
  readonly stderr: string;
  readonly executionTimeMs: number;
  /** Of it, always; null when there is none. */
  readonly repr: string | null;
  readonly error: PythonError | null;
  /** Of SystemExit. */
  readonly exitCode: number | null;
  /** When stopped: "time", "cancelled", "signal", "trap". */
  readonly end: string;
  /** The session was rolled back. */
  readonly undone: boolean;
  readonly stdoutTruncated: boolean;
  readonly stderrTruncated: boolean;
  /** WebAssembly operations, when they were counted, else null. */
  readonly fuel: number | null;
  readonly reprTruncated: boolean;
  /** The value is JSON, but longer than valueLimitBytes: reading it throws ValueTooLarge. */
  readonly valueTooLarge: boolean;
  /** The value in all its forms, with `display`; null: there is none, or it displayed itself. */
  readonly bundle: Display | null;
  /** The bundle was longer than displayLimitBytes. */
  readonly bundleTooLarge: boolean;
  readonly #value: unknown;

  constructor(
    reply: Params,
    streamed: { stdout: string; stderr: string } | null,
    /** What display() was called with, with `display`. */
    readonly displays: readonly Display[] = [],
  ) {
    const error = reply["error"] as (Partial<PythonError> & { type: string; message: string }) | undefined;
    this.outcome = reply["outcome"] as PythonResult["outcome"];
    this.stdout = streamed?.stdout ?? (reply["stdout"] as string);
    this.stderr = streamed?.stderr ?? (reply["stderr"] as string);
    this.executionTimeMs = reply["executionTimeMs"] as number;
    this.#value = reply["value"];
    this.repr = (reply["repr"] ?? null) as string | null;
    this.error =
      error === undefined
        ? null
        : { type: error.type, message: error.message, traceback: error.traceback ?? "", line: error.line ?? null };
    this.exitCode = (reply["exitCode"] ?? null) as number | null;
    this.end = (reply["end"] ?? "exit") as string;
    this.undone = (reply["undone"] ?? false) as boolean;
    this.stdoutTruncated = (reply["stdoutTruncated"] ?? false) as boolean;
    this.stderrTruncated = (reply["stderrTruncated"] ?? false) as boolean;
    this.fuel = (reply["fuel"] ?? null) as number | null;
    this.reprTruncated = (reply["reprTruncated"] ?? false) as boolean;
    this.bundle = readDisplay(reply["bundle"] as Json | undefined);
    this.bundleTooLarge = (reply["bundleTooLarge"] ?? false) as boolean;
    this.valueTooLarge = (reply["valueTooLarge"] ?? false) as boolean;
    Object.defineProperty(this, "value", { enumerable: !this.valueTooLarge, get: () => this.takeValue() }); // it shows like a field
  }

  /** Of the last expression, when it is JSON. */
  declare readonly value: unknown;

  private takeValue(): unknown {
    if (this.valueTooLarge) throw new ValueTooLarge("E2BIG: the value was not sent, because its JSON is longer than valueLimitBytes (1 MiB by default): pass a larger limit to run(), or let the code write the value to a file");
    return this.#value;
  }

  /** What a notebook shows below the cell: `displays`, and the value's `bundle`. */
  get results(): Display[] {
    return this.bundle === null ? [...this.displays] : [...this.displays, this.bundle];
  }

  /** It ran to its end, or exited with 0. */
  get ok(): boolean {
    return this.outcome === "value" || (this.outcome === "exit" && this.exitCode === 0);
  }

  /** It was ended because its time was up. */
  get timedOut(): boolean {
    return this.end === "time";
  }

  /** This result, or throws SandboxTimeout or PythonFailed when it is not ok. */
  check(): this {
    if (this.timedOut) throw new SandboxTimeout(`the code was ended after ${Math.round(this.executionTimeMs)} ms`);
    if (!this.ok) throw new PythonFailed(this);
    return this;
  }
}

/** The value of an evaluation that was longer than valueLimitBytes was asked for. */
export class ValueTooLarge extends SandboxError {}

/** Code run with `check` raised an exception, exited or was stopped; `result` says all. */
export class PythonFailed extends SandboxError {
  readonly result: PythonResult;
  constructor(result: PythonResult) {
    const { error } = result;
    super(
      error !== null
        ? `${error.type}: ${error.message}`
        : result.outcome === "exit"
          ? `SystemExit: ${result.exitCode}`
          : `ended by ${result.end}`,
    );
    this.result = result;
  }
}

interface TraceParams {
  line: number;
  event: Json;
  context?: Json;
}

interface DisplayParams {
  bundle: Json;
}

function traceEvent(params: TraceParams): TraceEvent {
  const event = (typeof params.event === "object" && params.event !== null ? params.event : {}) as Record<string, unknown>;
  const context = (typeof params.context === "object" && params.context !== null ? params.context : {}) as Record<string, unknown>;
  return {
    type: String(event["type"] ?? ""),
    line: params.line,
    function: String(event["function"] ?? ""),
    file: String(event["file"] ?? ""),
    locals: (context["locals"] ?? {}) as Record<string, string>,
  };
}

/** What running this code gives when it is no Unicode: half a surrogate pair is in no program. */
function unencodable(code: string): PythonResult | null {
  const at = code.search(/\p{Surrogate}/u);
  if (at < 0) return null;
  const line = code.slice(0, at).split("\n").length;
  const message = `'utf-8' codec can't encode character '\\u${code.charCodeAt(at).toString(16)}' in position ${at}: surrogates not allowed`;
  const traceback = `  File "<code>", line ${line}\nSyntaxError: ${message}\n`;
  return new PythonResult({ outcome: "exception", stdout: "", stderr: "", executionTimeMs: 0, error: { type: "SyntaxError", message, traceback, line } }, null);
}

function checkName(name: unknown): void {
  if (typeof name !== "string") throw new TypeError(`the name of a session must be a string, not ${typeof name}`);
}

/** Variables that live from one run to the next. One run at a time: others wait in line. */
export class Session {
  constructor(
    protected readonly link: Link,
    readonly name: string,
    protected readonly language?: string,
  ) {
    checkName(name);
  }

  /**
   * Runs code, in which top-level `await` is allowed. The value is that of the last statement, if it is an expression. An
   * exception of the code is a result, unless `check` asks for one here.
   */
  async run(code: string, options: PythonOptions = {}): Promise<PythonResult> {
    if (typeof code !== "string") throw new TypeError(`code must be a string, not ${code === null ? "null" : typeof code}`);
    checkOptions("python.run", options, RUN);
    options.signal?.throwIfAborted();
    const streams = options.onStdout !== undefined || options.onStderr !== undefined;
    const trace = options.trace ?? (options.onTrace === undefined ? undefined : ["line" as const]);
    const params = this.named({ code, stdin: options.stdin, timeoutMs: options.timeoutMs, trace, traceFilter: options.traceFilter, traceMax: options.traceMax, fuel: options.fuel, valueMax: options.valueLimitBytes, displayMax: options.displayLimitBytes });
    if (options.display === true || options.onDisplay !== undefined) params["display"] = true;
    if (streams) params["stream"] = true;
    if (this.language !== undefined) params["language"] = this.language;
    if (options.wait === false || inCallback()) params["wait"] = false;
    const result = unencodable(code) ?? (await this.evaluate(params, streams, options));
    return options.check === true ? result.check() : result;
  }

  private async evaluate(params: Params, streams: boolean, options: PythonOptions): Promise<PythonResult> {
    const texts = { stdout: "", stderr: "" };
    const displays = new Displays();
    let failure: { problem: unknown } | null = null;
    let last: Promise<unknown> = Promise.resolve();
    const take = async (notified: OutputParams | TraceParams | DisplayParams): Promise<void> => {
      if (failure !== null) return;
      if ("bundle" in notified) {
        const display = readDisplay(notified.bundle);
        if (display === null) return;
        displays.add(display);
        await options.onDisplay?.(display);
        return;
      }
      if ("event" in notified) {
        await options.onTrace?.(traceEvent(notified));
        return;
      }
      texts[notified.stream] += notified.data;
      await (notified.stream === "stdout" ? options.onStdout : options.onStderr)?.(notified.data);
    };
    const fail = (problem: unknown): void => {
      failure ??= { problem };
      this.link.call("python.cancel", this.named({ id })).catch(() => {});
    };
    const { id, answer } = this.link.start("python.eval", params, (notified) => {
      last = last.then(() => take(notified)).catch(fail);
    });
    const onAbort = (): void => fail(options.signal?.reason);
    options.signal?.addEventListener("abort", onAbort, { once: true });
    const reply = await answer.finally(() => options.signal?.removeEventListener("abort", onAbort));
    await last;
    const failed = failure as { problem: unknown } | null;
    if (failed !== null) throw failed.problem;
    return new PythonResult(reply, streams ? texts : null, displays.shown);
  }

  protected named(params: Record<string, unknown>): Params {
    const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined));
    return this.name === "" ? given : { session: this.name, ...given };
  }

  private inLine(params: Record<string, unknown>): Params {
    return this.named(inCallback() ? { ...params, wait: false } : params);
  }

  protected async openImage(name: string, image: string | URL): Promise<void> {
    await this.link.call("python.open", { session: name, language: this.language ?? "python", ...pathParam("image", hostPath(image)) });
  }

  /** Ends what runs; runs that wait in line go on. False: nothing ran. */
  async cancel(): Promise<boolean> {
    return (await this.link.call("python.cancel", this.named({})))["cancelled"] as boolean;
  }

  /** The variables as bytes; SandboxError names what cannot be stored. */
  async saveState(): Promise<Buffer> {
    return Buffer.from((await this.link.call("python.saveState", this.inLine({})))["data"] as string, "base64");
  }

  /** Puts variables of saveState into this session. Bytes that are damaged or foreign change nothing. */
  async loadState(state: Uint8Array): Promise<void> {
    if (!(state instanceof Uint8Array)) throw new TypeError("the state must be the bytes of saveState");
    const named = this.inLine({});
    const bytes = Buffer.from(state.buffer, state.byteOffset, state.byteLength);
    for (let offset = 0; offset === 0 || offset < bytes.length; offset += STATE_PIECE) {
      const end = offset + STATE_PIECE;
      await this.link.call("python.loadState", () => ({ ...named, data: bytes.toString("base64", offset, end), offset, more: end < bytes.length }));
    }
  }

  /** Forgets all variables. */
  async clearState(): Promise<void> {
    await this.link.call("python.clearState", this.inLine({}));
  }

  /** A copy with everything that is in memory: lambdas, generators too. Open files go on where they are; sockets and pipes to other processes do not. */
  async fork(name: string): Promise<Session> {
    checkName(name);
    await this.link.call("python.fork", this.named({ to: name }));
    if (this.language === undefined) return new Session(this.link, name);
    return this.language === "javascript" ? new JavaScriptSession(this.link, name) : new TypeScriptSession(this.link, name);
  }

  /** Ends the session, and what runs in it. Its variables are gone; a later run begins anew. */
  async close(): Promise<void> {
    await this.link.call("python.close", this.named({}));
  }

  /** `await using session = sandbox.python.session("name")` closes it at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.link.death !== null) return;
    try {
      await this.close();
    } catch (problem) {
      if (!(problem instanceof SandboxError && problem.errno === "ENOENT")) throw problem; // it never ran, or was closed
    }
  }
}

/** The first session of a sandbox, and the way to others. */
export class Python extends Session {
  constructor(link: Link) {
    super(link, "");
  }

  /** The session of this name; it begins with its first run. */
  session(name: string): Session {
    return new Session(this.link, name);
  }

  /** A session that begins as an image of `cay image build`, a file of this machine; there must be none of this name. */
  async openSession(name: string, image: string | URL): Promise<Session> {
    await this.openImage(name, image);
    return new Session(this.link, name);
  }
}

/** As Session, of JavaScript. `repr` is what util.inspect writes. */
export class JavaScriptSession extends Session {
  constructor(link: Link, name: string) {
    super(link, name, "javascript");
  }
}

/** A session of JavaScript, and the way to others. */
export class JavaScript extends JavaScriptSession {
  constructor(link: Link) {
    super(link, "js");
  }

  /** The session of this name; it begins with its first run. */
  session(name: string): JavaScriptSession {
    return new JavaScriptSession(this.link, name);
  }

  /** As Python's, with an image of JavaScript. */
  async openSession(name: string, image: string | URL): Promise<JavaScriptSession> {
    await this.openImage(name, image);
    return new JavaScriptSession(this.link, name);
  }
}

/** As JavaScriptSession, of TypeScript. Types are not checked. */
export class TypeScriptSession extends Session {
  constructor(link: Link, name: string) {
    super(link, name, "typescript");
  }
}

/** A session of TypeScript, and the way to others. */
export class TypeScript extends TypeScriptSession {
  constructor(link: Link) {
    super(link, "ts");
  }

  /** The session of this name; it begins with its first run. */
  session(name: string): TypeScriptSession {
    return new TypeScriptSession(this.link, name);
  }

  /** As Python's, with an image of TypeScript. */
  async openSession(name: string, image: string | URL): Promise<TypeScriptSession> {
    await this.openImage(name, image);
    return new TypeScriptSession(this.link, name);
  }
}

/** A function of this process, with its description for code in the sandbox. Its argument is an object of the named arguments. */
export interface Callback {
  description?: string;
  /** A JSON Schema (an object); without it every object is accepted. */
  parameters?: Record<string, unknown>;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  run: (args: any, context: CallbackContext) => unknown;
}

/** Of one call of a callback. */
export interface CallbackContext {
  /** Aborted when the sandbox ends before the call is answered. */
  signal: AbortSignal;
}

/** Functions by name. */
export type CallbackMap = Readonly<Record<string, Callback | Callback["run"]>>;

/** sandbox.callbacks: what code in the sandbox may ask of this process. Calls that come at once run at once. */
export class Callbacks {
  private readonly functions = new Map<string, Callback["run"]>();

  constructor(private readonly link: Link) {
    const { functions } = this; // the handler must not hold the sandbox
    link.answer("callback", (params, signal) => {
      const { name, arguments: args } = params as { name: string; arguments: Json };
      const run = functions.get(name);
      if (run === undefined) throw new Error(`no callback ${name} here`);
      return asCallback(() => run(args, { signal }));
    });
  }

  /** Adds functions by name; one of a name that is there is replaced. */
  async add(callbacks: CallbackMap): Promise<void> {
    checkOptions("callbacks", callbacks, Object.fromEntries(Object.keys(callbacks ?? {}).map((name) => [name, "any"])));
    const described = Object.entries(callbacks).map(([name, given]) => {
      const callback: Callback = typeof given === "function" ? { run: given } : given;
      if (typeof callback?.run !== "function") throw new TypeError(`the callback ${name} is no function`);
      this.functions.set(name, callback.run);
      return { name, description: callback.description ?? "", parameters: callback.parameters ?? { type: "object" } };
    });
    await this.link.call("callbacks.set", { callbacks: described });
  }

  /** Takes one back. Calls that are under way are still answered. */
  async remove(name: string): Promise<void> {
    await this.link.call("callbacks.remove", { name });
    this.functions.delete(name);
  }
}
