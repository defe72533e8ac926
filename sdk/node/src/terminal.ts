// Commands on a terminal.
import { setTimeout as sleep } from "node:timers/promises";
import { SandboxError } from "./errors.js";
import type { Link } from "./link.js";
import { asBuffer, type CommandResult, type Data } from "./types.js";

const TYPED = 32 << 10; // bytes in one request

/**
 * A command that leads a session on a terminal, as in a window: made by `commands.terminal`. Bytes written are typed keys: they are edited,
 * echoed, and "\x03" is Ctrl-C. Its output, the echo included, has escape sequences of the guest.
 */
export class Terminal {
  constructor(
    private readonly link: Link,
    private readonly id: number,
    /** How it ended; `stdout` is all that was shown. */
    readonly result: Promise<CommandResult>,
  ) {}

  /** Types text. Waits while the command does not read earlier input. SandboxError: it has ended. */
  async write(data: Data): Promise<void> {
    let rest = typeof data === "string" ? Buffer.from(data) : asBuffer(data);
    while (rest.length > 0) {
      const part = rest.subarray(0, TYPED).toString("base64");
      const reply = await this.link.call("run.input", { id: this.id, data: part });
      if (reply["running"] !== true) throw new SandboxError("EPIPE: the command has ended", 1);
      rest = rest.subarray(reply["taken"] as number);
      if (rest.length > 0 && reply["taken"] === 0) await sleep(10);
    }
  }

  /** Ends the input: a program that reads finds the end of file. */
  async endInput(): Promise<void> {
    await this.link.call("run.input", { id: this.id, end: true });
  }

  /** The window has this size now. After the end of the command it does nothing. */
  async resize(rows: number, cols: number): Promise<void> {
    await this.link.call("run.resize", { id: this.id, rows, cols });
  }

  /** Ends it with all that it started. Twice is fine. */
  async kill(): Promise<void> {
    if (this.link.death === null) await this.link.call("run.cancel", { id: this.id });
  }
}
