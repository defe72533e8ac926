// Commands of a sandbox.
import type { Link, OutputParams, Params } from "./link.js";
import { CommandResult, type Data, type End, type RunOptions } from "./types.js";

const WINDOW = 1 << 20; // bytes of output that may be on the way
const KEPT = 16 << 20; // characters of streamed output that the result still holds, for each stream

function isUtf8(data: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(data);
    return true;
  } catch {
    return false;
  }
}

function stdinParams(data: Data): Params {
  if (typeof data === "string") return { stdin: data };
  if (isUtf8(data)) return { stdin: new TextDecoder("utf-8", { ignoreBOM: true }).decode(data) };
  return { stdin: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64"), encoding: "base64" };
}

function runParams(command: string, options: RunOptions): Params {
  const params: Params = { command };
  if (options.stdin !== undefined) Object.assign(params, stdinParams(options.stdin));
  if (options.cwd !== undefined) params["cwd"] = options.cwd;
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
  private readonly cut = { stdout: false, stderr: false };
  private readonly decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  private unacknowledged = 0;
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly link: Link,
    private readonly options: RunOptions,
    private readonly isBase64: boolean,
    private readonly failed: (problem: unknown) => void,
  ) {}

  add(params: OutputParams): void {
    this.last = this.last.then(() => this.take(params)).catch(this.failed);
  }

  private async take(params: OutputParams): Promise<void> {
    const name = params.stream;
    const text = this.isBase64
      ? this.decoders[name].decode(Buffer.from(params.data, "base64"), { stream: true })
      : params.data;
    const room = KEPT - this.texts[name].length;
    if (text.length > room) this.cut[name] = true;
    if (room > 0) this.texts[name] += text.slice(0, room);
    const output = name === "stdout" ? this.options.onStdout : this.options.onStderr;
    if (output !== undefined && text !== "") await output(text);
    this.unacknowledged += params.bytes;
    if (this.unacknowledged < WINDOW / 2) return;
    const bytes = this.unacknowledged;
    this.unacknowledged = 0;
    this.link.call("run.ack", { id: params.id, bytes }).catch(() => {});
  }

  async finish(reply: Params): Promise<Params> {
    await this.last;
    return {
      ...reply,
      ...this.texts,
      ...(this.cut.stdout ? { stdoutTruncated: true } : {}),
      ...(this.cut.stderr ? { stderrTruncated: true } : {}),
    };
  }
}

function asText(value: unknown, isBase64: boolean): string {
  return isBase64 ? Buffer.from(value as string, "base64").toString("utf8") : (value as string);
}

function commandResult(reply: Params, isBase64: boolean): CommandResult {
  return new CommandResult(
    asText(reply["stdout"], isBase64),
    asText(reply["stderr"], isBase64),
    reply["exitCode"] as number,
    reply["executionTimeMs"] as number,
    (reply["stdoutTruncated"] ?? false) as boolean,
    (reply["stderrTruncated"] ?? false) as boolean,
    (reply["end"] ?? "exit") as End,
    (reply["detail"] ?? "") as string,
  );
}

export class Commands {
  constructor(private readonly link: Link) {}

  /**
   * Runs a line for bash. The result has its output and exit code; 124 is the timeout. Several may run at once.
   */
  async run(command: string, options: RunOptions = {}): Promise<CommandResult> {
    options.signal?.throwIfAborted();
    const result = await this.start(runParams(command, options), options);
    return options.check === true ? result.check() : result;
  }

  private async start(params: Params, options: RunOptions): Promise<CommandResult> {
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
    try {
      const reply = await Promise.race([whole, failure]);
      return commandResult(reply, isBase64 && stream === null);
    } catch (problem) {
      if (this.link.death === null) this.link.call("run.cancel", { id }).catch(() => {});
      throw problem;
    } finally {
      options.signal?.removeEventListener("abort", onAbort);
    }
  }
}
