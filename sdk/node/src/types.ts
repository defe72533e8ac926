// What calls take and answer with.
import { CommandFailed, SandboxTimeout } from "./errors.js";
import type { Abortable, Remote } from "./options.js";
import type { CallbackMap } from "./python.js";

/** Contents: text, which becomes UTF-8, or bytes. */
export type Data = string | Uint8Array;

/** Its bytes, without a copy where they are bytes already. */
export function asBuffer(data: Data): Buffer {
  if (typeof data === "string") return Buffer.from(data, "utf8");
  if (data instanceof Uint8Array) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  throw new TypeError(`data must be a string or bytes, not ${data === null ? "null" : typeof data}`);
}

/** How a command ended. */
export type End = "exit" | "signal" | "trap" | "time" | "fuel" | "cancelled";

/** A directory or one file of this machine, for `mounts`. */
export interface MountOptions {
  hostPath: string | URL;
  /** Default: only to read. */
  writable?: boolean;
  /** Of a directory: it appears writable, and nothing that the sandbox writes reaches this machine but by mountApply. */
  copyOnWrite?: boolean;
}

/** A path that the sandbox has changed in a mount with `copyOnWrite`. */
export interface MountChange {
  /** Relative to the mount. */
  path: string;
  kind: "added" | "removed" | "changed";
  /** False: only its mode changed. */
  contents: boolean;
  /** This machine has changed it, too, since the sandbox looked at it. */
  hostChanged: boolean;
}

/** How a snapshot is taken, of saveSnapshot and fork. */
export interface SnapshotOptions extends Abortable {
  /** For people, up to 200 bytes. */
  label?: string;
  /** Goes on without processes that run and sessions that evaluate, which else are an error (EBUSY). */
  leaveOut?: boolean;
  /** Waits so many milliseconds for their end before they are that error. */
  waitMs?: number;
}

/** Of saveSnapshot. */
export interface SaveOptions extends SnapshotOptions {
  /** A tar archive of the files, those that are not in every sandbox, in place of all of it. */
  tar?: boolean;
  /** Of an archive: the directory that it is of; "/" without. */
  directory?: string;
}

/** A decision about the network, or a question. */
export interface NetDecision {
  /** "resolve", "connect", "tls", "http", "limit" or "secret". */
  event: string;
  /** The name, or the address when no name led to it. */
  host: string;
  /** Empty before the name is resolved. */
  address: string;
  /** 0: about a name alone. */
  port: number;
  /** One sentence. */
  reason: string;
  /** Not of a question. */
  allowed?: boolean;
  /** The number of the rule that decided. */
  rule?: number;
  /** Of an HTTP request. */
  method?: string;
  /** Of an HTTP request. */
  path?: string;
  /** Of the event "secret": its name. */
  secret?: string;
}

/** A value that the sandbox uses and never sees: a variable of its environment has a placeholder. */
export interface Secret {
  /** Of the variable. */
  name: string;
  value: string;
  /** "HOST[:PORT]": that get the value in requests over HTTPS. */
  hosts: readonly string[];
  /** Also in the query of a request. Default: in its headers alone. */
  query?: boolean;
  /** Also in the body of a request. */
  body?: boolean;
  /** Default: one that cannot be guessed. */
  placeholder?: string;
}

/** What a sandbox may connect to. */
export interface NetOptions {
  /** "package-registries" or "all-public". Default "none". */
  preset?: string;
  /** "HOST[:PORT]": "example.com", "*.example.com:443", "10.0.0.0/8:8000-8999". */
  allow?: readonly string[];
  /** Likewise; goes before `allow`. */
  deny?: readonly string[];
  /** Rules of the egress policy, with methods and paths of HTTP. */
  rules?: readonly object[];
  /** Names and their addresses, for which no name server is asked. */
  hosts?: Readonly<Record<string, string>>;
  /** Open at once. Default 1024. */
  connections?: number;
  /** Of all connections together. Default: not limited. */
  sentBytes?: number;
  /** Of all connections together. Default: not limited. */
  receivedBytes?: number;
  /** Both ways together. Default: not limited. */
  bytesPerSecond?: number;
  /** Default 30,000. */
  connectTimeoutMs?: number;
  /** Of a connection without a byte. Default 600,000. */
  idleTimeoutMs?: number;
  /** Decides where no rule does: a name before it is resolved, a connection before it is made. A promise is awaited; the program
   * inside waits, too. */
  ask?: (question: NetDecision) => unknown;
  /** Is told of each decision. */
  decision?: (decision: NetDecision) => void;
  /** Values that programs use and never see. */
  secrets?: readonly Secret[];
  /** Certificate authorities in PEM, beside the usual ones: a file of this machine. */
  caFile?: string;
  /** Lists of revoked certificates in PEM, for servers that the host verifies: a file of this machine. */
  crlFile?: string;
  /** A file of this machine that keeps the answers that a shared cache may keep. */
  cacheFile?: string;
  /** A file that gets all HTTP and HTTPS of the sandbox as JSON, when it is closed. */
  recordFile?: string;
  /** Such a file, from which requests are answered in place of the network. */
  replayFile?: string;
}

/** What a sandbox is made with. */
export interface CreateOptions extends Abortable {
  /** Milliseconds for each command, unless it brings its own. Default 30,000. */
  timeoutMs?: number;
  /** Bytes in files. Default 256 MiB. */
  fsLimitBytes?: number;
  /** Memory of all processes together. Default 512 MiB. */
  memoryLimitBytes?: number;
  /** Of each output stream of a command. Default 16 MiB. */
  outputLimitBytes?: number;
  /** WebAssembly operations of a command or an evaluation; counting them makes code slower. Default: not counted. */
  fuelLimit?: number;
  /** Processes at once. Default 64. */
  processLimit?: number;
  /** Bytes of WebAssembly modules that programs of the sandbox bring and have compiled. Default 64 MiB. */
  codeLimitBytes?: number;
  /** Milliseconds of the processor, all processes together, as long as the sandbox lives. Default one hour. */
  cpuMs?: number;
  /** How long what a command or an evaluation leaves running may live on after its end. Default: not limited. */
  backgroundMs?: number;
  /** Variables of all commands. */
  env?: Readonly<Record<string, string>>;
  /** The folder of the guests, in place of the installed ones. */
  wasmDir?: string;
  /** A `cay` program, in place of the installed one. */
  binary?: string;
  /**
   * "process": in a server process, which all sandboxes of the program share. "library": in this process, where calls take a fraction of
   * the time; a crash of the library is one of this process. Default: what CAY_ISOLATION says, or "process".
   */
  isolation?: "process" | "library";
  /** What code can import, of pure Python or JavaScript: wheels, archives of npm (`.tgz`), folders, modules. */
  packages?: readonly (string | URL)[];
  /** A file of saveSnapshot, of `cay run --save-snapshot`, or a tar archive: what the sandbox begins as. Not with packages. */
  snapshot?: string | URL;
  /** What sessions of the image's language begin as: an image of `cay image build`, a file of this machine, or the name of an installed image, such as "science" of the package cay-science. Or "busybox": a sandbox with BusyBox and dash alone. */
  image?: string | URL;
  /** Hosts that it may connect to. Default: none, the network is off. */
  net?: NetOptions;
  /** By path in the sandbox: contents, or a URL of a file or directory of this machine, which is copied. */
  files?: Readonly<Record<string, Data | URL>>;
  /** By path in the sandbox: directories or files of this machine. */
  mounts?: Readonly<Record<string, string | URL | MountOptions>>;
  /** What code in the sandbox may ask of this process: functions by name, each with one object of arguments. */
  callbacks?: CallbackMap;
}

/** Of one command. */
export interface RunOptions {
  stdin?: Data;
  /** Where it starts; default /home/agent. */
  cwd?: Remote;
  /** Variables for this command. */
  env?: Readonly<Record<string, string>>;
  /** In place of the sandbox's, longer or shorter. */
  timeoutMs?: number;
  /** The output as text as it comes; with `binary` as bytes. The command waits while a promise that it answered is not settled. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  onStdout?: (text: any) => unknown;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  onStderr?: (text: any) => unknown;
  /** `stdoutBytes` and `stderrBytes` of the result hold the output as it was. */
  binary?: boolean;
  /** The most WebAssembly operations; the result says how many were used. */
  fuel?: number;
  /** Aborting ends the command; the call then rejects with the signal's reason, when the command has ended. */
  signal?: AbortSignal;
  /** Makes failure an exception, as CommandResult.check does. */
  check?: boolean;
}

/** Of a command in the background. */
export interface StartOptions extends Pick<RunOptions, "cwd" | "env"> {
  /** Aborting kills it. */
  signal?: AbortSignal;
  /** Default: it runs until it ends, is killed or the sandbox ends. */
  timeoutMs?: number;
}

/** A command that runs: its process id in the sandbox, and the line that was given. */
export interface RunningCommand {
  pid: number;
  command: string;
}

/** Of a command on a terminal. */
export interface TerminalOptions extends Pick<RunOptions, "cwd" | "env" | "timeoutMs" | "signal"> {
  /** The size of the window; default 24 and 80. */
  rows?: number;
  cols?: number;
  /** Receives output as it comes. The command waits while a promise returned by it is not settled. */
  onOutput?: (text: string) => unknown;
}

/** How a command ended, and its output. */
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
    /** Of a trap; or the limit of the sandbox that ended it. */
    readonly detail: string,
    /** WebAssembly operations, when they were counted, else null. */
    readonly fuel: number | null = null,
    /** With `binary`: the output as it was, else null. */
    readonly stdoutBytes: Buffer | null = null,
    readonly stderrBytes: Buffer | null = null,
  ) {}

  /** The exit code is 0. */
  get ok(): boolean {
    return this.exitCode === 0;
  }

  /** It was ended because its time was up. */
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

/** A file, directory or link of the sandbox. */
export interface FileInfo {
  name: string;
  /** When the name is not UTF-8: its bytes; `name` has U+FFFD then. */
  nameBytes?: Buffer;
  /** "link" only in listings; "other" for devices and the like. */
  type: "file" | "dir" | "link" | "other";
  size: number;
  mode: number;
  mtimeMs: number;
  /** Of a link. */
  target?: string;
  /** When it is not UTF-8. */
  targetBytes?: Buffer;
}

/** What a sandbox uses now, and the most it used. */
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
  codeBytes: number;
  /** Processor time of all its processes so far, in milliseconds. */
  cpuMs: number;
}
