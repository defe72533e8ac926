// What calls take and answer with.
import { CommandFailed, SandboxTimeout } from "./errors.js";
import type { CallbackMap } from "./python.js";

export type Data = string | Uint8Array;

/** Its bytes, without a copy where they are bytes already. */
export function asBuffer(data: Data): Buffer {
  if (typeof data === "string") return Buffer.from(data, "utf8");
  if (data instanceof Uint8Array) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  throw new TypeError(`data must be a string or bytes, not ${data === null ? "null" : typeof data}`);
}

export type End = "exit" | "signal" | "trap" | "time" | "fuel" | "cancelled";

export interface CreateOptions {
  /** Milliseconds for each command, unless it brings its own. Default 30,000. */
  timeoutMs?: number;
  /** Bytes in files. Default 256 MiB. */
  fsLimitBytes?: number;
  /** Memory of all processes together. Default 256 MiB. */
  memoryLimitBytes?: number;
  /** Of each output stream of a command. Default 16 MiB. */
  outputLimitBytes?: number;
  /** WebAssembly operations of a command or an evaluation; counting them makes code slower. Default: not counted. */
  fuelLimit?: number;
  /** Processes at once. Default 64. */
  processLimit?: number;
  /** Bytes of WebAssembly modules that programs of the sandbox bring and have compiled. Default 64 MiB. */
  codeLimitBytes?: number;
  /** Variables of all commands. */
  env?: Readonly<Record<string, string>>;
  /** The folder of the guests, in place of the installed ones. */
  wasmDir?: string;
  /** A `cay` program, in place of the installed one. */
  binary?: string;
  /** Wheels, folders and modules of pure Python that it can import. */
  packages?: readonly (string | URL)[];
  /** What code in the sandbox may ask of this process: functions by name, each with one object of arguments. */
  callbacks?: CallbackMap;
}

export interface RunOptions {
  stdin?: Data;
  /** Where it starts; default /home/agent. */
  cwd?: string;
  /** Variables for this command. */
  env?: Readonly<Record<string, string>>;
  /** In place of the sandbox's, longer or shorter. */
  timeoutMs?: number;
  /** The output as text as it comes. The command waits while a promise that it answered is not settled. */
  onStdout?: (text: string) => unknown;
  onStderr?: (text: string) => unknown;
  /** Aborting ends the command; the call then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Makes failure an exception, as CommandResult.check does. */
  check?: boolean;
}

export interface TerminalOptions extends Pick<RunOptions, "cwd" | "env" | "timeoutMs" | "signal"> {
  /** The size of the window; default 24 and 80. */
  rows?: number;
  cols?: number;
  /** What it shows, as it comes. The command waits while a promise that it answered is not settled. */
  onOutput?: (text: string) => unknown;
}

/** How a command ended, and what it wrote. */
export class CommandResult {
  constructor(
    readonly stdout: string,
    readonly stderr: string,
    /** 124 at the timeout or when it was cancelled; 128 + signal. */
    readonly exitCode: number,
    readonly executionTimeMs: number,
    readonly stdoutTruncated: boolean,
    readonly stderrTruncated: boolean,
    readonly end: End,
    /** Of a trap. */
    readonly detail: string,
  ) {}

  get ok(): boolean {
    return this.exitCode === 0;
  }

  get timedOut(): boolean {
    return this.end === "time";
  }

  /** This result, or throws SandboxTimeout or CommandFailed when the exit code is not 0. */
  check(): this {
    if (this.timedOut) throw new SandboxTimeout(`the command was ended after ${Math.round(this.executionTimeMs)} ms`, this);
    if (this.exitCode !== 0) {
      const last = this.stderr.trim().split("\n").at(-1);
      throw new CommandFailed(`the command failed with exit code ${this.exitCode}${last ? `: ${last}` : ""}`, this);
    }
    return this;
  }
}

export interface FileInfo {
  name: string;
  /** "link" only in listings; "other" for devices and the like. */
  type: "file" | "dir" | "link" | "other";
  size: number;
  mode: number;
  mtimeMs: number;
  /** Of a link. */
  target?: string;
}

export interface Usage {
  memoryBytes: number;
  memoryPeakBytes: number;
  fsBytes: number;
  fsPeakBytes: number;
  files: number;
  processes: number;
  processesPeak: number;
  syscalls: number;
  unknownSyscalls: number;
  forks: number;
  execs: number;
}
