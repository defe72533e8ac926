// Workspaces: provisioned from a manifest, used through sessions, kept as snapshots and resumed.
//
//   const workspaces = await Workspaces.open({ store: "workspaces" });
//   const session = await workspaces.provision({ entries: [{ type: "file", path: "a", content: "hello" }] });
//   console.log((await session.exec("cat a")).stdout);
import { findBinary } from "./binary.js";
import { SandboxError } from "./errors.js";
import { hostPath } from "./files.js";
import { Link, type OutputParams, type Params } from "./link.js";
import { checkOptions } from "./options.js";
import { asBuffer, type Data } from "./types.js";

const NAMES = new Set([
  "ProvisionFailed", "PathTraversal", "SessionNotFound", "SnapshotNotFound", "ExecutionFailed", "Timeout", "MemoryExceeded",
  "InvalidRequest", "BackendUnavailable", "EnforcerFailed", "EnforcerUnavailable", "PolicyViolation",
]);

/** A workspace refused; `kind` says why: "PathTraversal", "SessionNotFound", ... */
export class WorkspaceError extends SandboxError {
  readonly kind: string;
  constructor(kind: string, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** An entry of a manifest (workspace-manifest.md). */
export interface ManifestEntry {
  type: "file" | "directory" | "git_repo";
  /** Relative to the workspace. */
  path: string;
  /** Of a file: a text, or bytes. */
  content?: string | readonly number[];
  /** Of a file, in place of `content`. */
  contentBase64?: string;
  /** Of a file: permission bits, or a text in octal. */
  mode?: string | number;
  /** Of a git_repo: https://, http:// or file://. */
  url?: string;
  /** Of a git_repo: a branch or a tag. */
  branch?: string;
  /** Of a git_repo: 40 hexadecimal digits. */
  commit?: string;
  /** Of a git_repo: how many commits of history are wanted. */
  depth?: number;
}

/** What a workspace is made of (workspace-manifest.md). */
export interface Manifest {
  entries?: readonly ManifestEntry[];
  env?: Readonly<Record<string, string>>;
  limits?: object;
  network?: object;
}

/** Of a client of workspaces. */
export interface WorkspacesOptions {
  /** A folder of this machine for snapshots and parked sessions. */
  store?: string | URL;
  /** `{ rules: [...] }`: what git and programs may reach; without it manifests say so. */
  network?: object;
  /** A folder of this machine below which file:// URLs may lead. */
  gitFiles?: string | URL;
  /** Lines https://USER:PASSWORD@HOST/PATH for git servers that want credentials; no workspace sees them. */
  gitCredentials?: string;
  /** A file of this machine: certificate authorities in PEM for https:// URLs, in place of the system's. */
  gitCaFile?: string | URL;
  /** For the clone of a repository; 5 minutes without. */
  gitTimeoutMs?: number;
  /** A `cay` program, in place of the installed one. */
  binary?: string;
}

/** How far the clone of a repository is. */
export interface CloneProgress {
  /** Of the entry of the manifest. */
  path: string;
  /** Objects that have come. */
  received: number;
  /** Objects of the repository; 0: not yet known. */
  total: number;
}

/** Of a provision. */
export interface ProvisionOptions {
  /** Gets the progress of clones. */
  onProgress?: (progress: CloneProgress) => unknown;
}

/** Of a command of a workspace. */
export interface WorkspaceExecOptions {
  /** Relative to the workspace. */
  workingDir?: string;
  timeoutMs?: number;
  env?: Readonly<Record<string, string>>;
  stdin?: string;
  /** The output as it comes. */
  onStdout?: (text: string) => unknown;
  onStderr?: (text: string) => unknown;
}

/** The end of a command of a workspace. */
export interface WorkspaceResult {
  stdout: string;
  stderr: string;
  exitCode: number;
  durationMs: number;
  timedOut: boolean;
  /** There was more than 1 MiB. */
  stdoutTruncated?: boolean;
  stderrTruncated?: boolean;
}

/** An entry of a directory of a workspace. */
export interface WorkspaceEntry {
  name: string;
  type: "file" | "directory" | "link" | "other";
  size: number;
}

/** A snapshot of the store. */
export interface WorkspaceSnapshot {
  id: string;
  /** Of the session that it was taken of. */
  handle: string;
  createdMs: number;
  files: number;
  bytes: number;
}

/** A session that is known. */
export interface WorkspaceSessionInfo {
  handle: string;
  state: "provisioned" | "running" | "parked";
  createdMs: number;
}

const EXEC = { workingDir: "text", timeoutMs: "count", env: "object", stdin: "text", onStdout: "function", onStderr: "function" } as const;

/** A command of a workspace that runs while the program goes on. It ends with its session. */
export class WorkspaceProcess {
  /** @internal */
  constructor(
    private readonly workspaces: Workspaces,
    private readonly number: number,
    /** Its process id in the sandbox. */
    readonly pid: number,
    /** The line that was given. */
    readonly command: string,
  ) {}

  private call(method: string, params: Params = {}): Promise<Params> {
    return this.workspaces.call(method, { process: this.number, ...params });
  }

  /** Waits for its end. WorkspaceError Timeout: it has not ended in that many milliseconds. */
  async wait(timeoutMs?: number): Promise<WorkspaceResult> {
    return (await this.call("workspace.wait", { timeoutMs })) as unknown as WorkspaceResult;
  }

  /** Writes to its standard input; waits while it does not read. */
  async write(data: Data): Promise<void> {
    await this.call("workspace.input", { data: asBuffer(data).toString("base64") });
  }

  /** Nothing more is written: it finds the end of file. */
  async endInput(): Promise<void> {
    await this.call("workspace.input", { end: true });
  }

  /** Sends a signal to its process group, by its number. After its end it does nothing. */
  async signal(number: number): Promise<void> {
    await this.call("workspace.signal", { signal: number });
  }

  /** Ends it with all that it started. Twice is fine. */
  async kill(): Promise<void> {
    await this.call("workspace.kill");
  }

  /** `await using process = await session.start(...)` kills it at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

/** A session of a workspace. Paths are relative to the workspace. */
export class WorkspaceSession {
  /** @internal */
  constructor(
    private readonly workspaces: Workspaces,
    /** Names it, also in other processes while it is parked. */
    readonly handle: string,
  ) {}

  private call(method: string, params: Params = {}): Promise<Params> {
    return this.workspaces.call(method, { handle: this.handle, ...params });
  }

  /** Runs a line for bash and waits for its end. A failing command is no error. */
  async exec(command: string, options: WorkspaceExecOptions = {}): Promise<WorkspaceResult> {
    checkOptions("exec", options, EXEC);
    const { onStdout, onStderr, ...rest } = options;
    const params = { handle: this.handle, command, ...rest };
    if (onStdout === undefined && onStderr === undefined) return (await this.call("workspace.exec", params)) as unknown as WorkspaceResult;
    const hear = ({ stream, data }: OutputParams): void => void (stream === "stdout" ? onStdout : onStderr)?.(data);
    return (await this.workspaces.stream("workspace.exec", { ...params, stream: true }, hear)) as unknown as WorkspaceResult;
  }

  /** Runs a line for bash and does not wait for it. */
  async start(command: string, options: Omit<WorkspaceExecOptions, "stdin" | "onStdout" | "onStderr"> = {}): Promise<WorkspaceProcess> {
    checkOptions("start", options, EXEC);
    const reply = await this.call("workspace.spawn", { command, ...options, inputOpen: true });
    return new WorkspaceProcess(this.workspaces, reply["process"] as number, reply["pid"] as number, command);
  }

  /** The bytes of a file. */
  async readFile(path: string): Promise<Buffer> {
    return Buffer.from((await this.call("workspace.read", { path }))["data"] as string, "base64");
  }

  /** Replaces a file and makes its parents. Without `mode` that of the file stays. */
  async writeFile(path: string, content: Data, mode = 0): Promise<void> {
    await this.call("workspace.write", { path, data: asBuffer(content).toString("base64"), mode });
  }

  /** The entries of a directory in the order of their names. */
  async listDir(path = "."): Promise<WorkspaceEntry[]> {
    return (await this.call("workspace.list", { path }))["entries"] as unknown as WorkspaceEntry[];
  }

  /**
   * Applies a unified diff: all of it or nothing. `strict`: hunks only where they say, and with all of their context; else `fuzz` lines of
   * it may be passed over at each end, 2 unless given. `strip`: folders taken off names, else what the headers suggest.
   */
  async applyPatch(patch: string, options: { strict?: boolean; fuzz?: number; strip?: number } = {}): Promise<void> {
    checkOptions("applyPatch", options, { strict: "boolean", fuzz: "count", strip: "count" });
    await this.call("workspace.patch", { patch, ...options });
  }

  /** Keeps the files; the id of the snapshot, which is on the disk. */
  async snapshot(): Promise<string> {
    return (await this.call("workspace.snapshot"))["id"] as string;
  }

  /** Puts the session into the store; Workspaces.start continues it, in any process. */
  async park(): Promise<void> {
    await this.call("workspace.park");
  }

  /** Ends it with its processes; its handle is invalid from then on. */
  async stop(): Promise<void> {
    await this.call("workspace.stop");
  }
}

/** A client of workspaces, in a process of its own. Several calls may run at once. */
export class Workspaces {
  private constructor(private readonly link: Link) {}

  /** Starts the process. */
  static async open(options: WorkspacesOptions = {}): Promise<Workspaces> {
    checkOptions("Workspaces.open", options, { store: "path", network: "object", gitFiles: "path", gitCredentials: "text", gitCaFile: "path", gitTimeoutMs: "count", binary: "text" });
    const { store, gitFiles, gitCaFile, gitCredentials, gitTimeoutMs, network } = options;
    const workspaces = new Workspaces(new Link(findBinary(options.binary)));
    const local = (given: string | URL | undefined): string | undefined => (given === undefined ? undefined : hostPath(given));
    try {
      const git = { gitFiles: local(gitFiles), gitCredentials, gitCaFile: local(gitCaFile), gitTimeoutMs };
      await workspaces.call("workspace.open", { store: local(store), ...git, network });
    } catch (problem) {
      await workspaces.link.channel.close();
      throw problem;
    }
    return workspaces;
  }

  /** @internal */
  async call(method: string, params: Params): Promise<Params> {
    return this.stream(method, params);
  }

  /** @internal */
  async stream(method: string, params: Params, onOutput?: (params: OutputParams) => void): Promise<Params> {
    try {
      return await this.link.start(method, params, onOutput).answer;
    } catch (problem) {
      const found = problem instanceof SandboxError ? /^(\w+): (.*)$/s.exec(problem.message) : null;
      if (found === null || !NAMES.has(found[1]!)) throw problem;
      throw new WorkspaceError(found[1]!, found[2]!);
    }
  }

  /** Makes a workspace of a manifest: all of it or nothing. */
  async provision(manifest: Manifest, options: ProvisionOptions = {}): Promise<WorkspaceSession> {
    checkOptions("provision", options, { onProgress: "function" });
    const { onProgress } = options;
    const params = { manifest, progress: onProgress !== undefined } as unknown as Params;
    const reply = await this.stream("workspace.provision", params, (told) => void onProgress?.(told as unknown as CloneProgress));
    return new WorkspaceSession(this, reply["handle"] as string);
  }

  /** The session of a handle, parked ones of the store too. */
  async start(handle: string): Promise<WorkspaceSession> {
    await this.call("workspace.start", { handle });
    return new WorkspaceSession(this, handle);
  }

  /** A new workspace with the files of a snapshot. */
  async resume(id: string): Promise<WorkspaceSession> {
    return new WorkspaceSession(this, (await this.call("workspace.resume", { id }))["handle"] as string);
  }

  /** The sessions of this client, and the parked ones of the store. */
  async sessions(): Promise<WorkspaceSessionInfo[]> {
    return (await this.call("workspace.sessions", {}))["sessions"] as unknown as WorkspaceSessionInfo[];
  }

  /** The snapshots of the store by age. */
  async snapshots(): Promise<WorkspaceSnapshot[]> {
    return (await this.call("workspace.snapshots", {}))["snapshots"] as unknown as WorkspaceSnapshot[];
  }

  /** Deletes a snapshot. */
  async delete(id: string): Promise<void> {
    await this.call("workspace.delete", { id });
  }

  /** Deletes snapshots: the newest `keep` stay, and those younger than `maxAgeMs`. How many were deleted. */
  async prune(rules: { keep?: number; maxAgeMs?: number }): Promise<number> {
    return (await this.call("workspace.prune", { ...rules }))["removed"] as number;
  }

  /** Compares the store with its digests: a line for each problem. `repair` removes snapshots that cannot be resumed. */
  async fsck(options: { repair?: boolean } = {}): Promise<string[]> {
    return (await this.call("workspace.fsck", { repair: options.repair ?? false }))["problems"] as string[];
  }

  /** Stops its sessions and ends its process. Twice is fine. */
  async close(): Promise<void> {
    await this.link.kill();
  }

  /** `await using workspaces = await Workspaces.open()` closes it at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
