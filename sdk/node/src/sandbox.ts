// A sandbox in a server process, which all of this program share, or in this process.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { findBinary } from "./binary.js";
import { Commands } from "./commands.js";
import { SandboxTimeout } from "./errors.js";
import { Files, hostPath } from "./files.js";
import { Link, type Params, unlessAborted } from "./link.js";
import { ABORTABLE, checkOptions, checkTexts, type Kind, pathParam, type Remote } from "./options.js";
import { Callbacks, JavaScript, Python, TypeScript } from "./python.js";
import { isolationOf } from "./servers.js";
import type { CreateOptions, MountChange, MountOptions, NetDecision, NetOptions, SaveOptions, SnapshotOptions, Usage } from "./types.js";

const START_PATIENCE = 60_000; // milliseconds

/** Variables that later commands start with. */
export class Env {
  constructor(private readonly link: Link) {}

  /** null when it is not set. */
  async get(name: string): Promise<string | null> {
    return (await this.link.call("env.get", { name }))["value"] as string | null;
  }

  /** null removes it. */
  async set(name: string, value: string | null): Promise<void> {
    await this.link.call("env.set", { name, value });
  }
}

const CREATE: Record<keyof CreateOptions, Kind> = {
  timeoutMs: "count",
  fsLimitBytes: "count",
  memoryLimitBytes: "count",
  outputLimitBytes: "count",
  fuelLimit: "count",
  processLimit: "count",
  codeLimitBytes: "count",
  cpuMs: "count",
  backgroundMs: "count",
  env: "object",
  wasmDir: "text",
  binary: "text",
  isolation: "text",
  signal: "signal",
  packages: "list",
  image: "path",
  snapshot: "path",
  net: "object",
  files: "object",
  mounts: "object",
  callbacks: "object",
};

const NET: Record<keyof NetOptions, Kind> = {
  preset: "text",
  allow: "list",
  deny: "list",
  rules: "list",
  hosts: "object",
  connections: "count",
  sentBytes: "count",
  receivedBytes: "count",
  bytesPerSecond: "count",
  connectTimeoutMs: "count",
  idleTimeoutMs: "count",
  ask: "function",
  decision: "function",
  secrets: "list",
  caFile: "text",
  crlFile: "text",
  cacheFile: "text",
  recordFile: "text",
  replayFile: "text",
};

/** The name of an installed image, or a file. */
function imageParam(image: string | URL): Params {
  return typeof image === "string" && /^[a-z0-9-]+$/.test(image) ? { image } : pathParam("image", hostPath(image));
}

function createParams(options: CreateOptions): Params {
  checkOptions("Sandbox.create", options, CREATE);
  checkTexts("env", options.env);
  for (const [path, data] of Object.entries(options.files ?? {}))
    checkOptions("files", { [path]: data }, { [path]: "contents" });
  const { timeoutMs = 30_000, fsLimitBytes, memoryLimitBytes, outputLimitBytes, processLimit, fuelLimit, codeLimitBytes, cpuMs, backgroundMs, env, wasmDir, net } = options;
  checkOptions("net", net ?? {}, NET);
  const { ask, decision, ...granted } = net ?? {};
  const told = { ...(ask === undefined ? {} : { ask: true }), ...(decision === undefined ? {} : { decisions: true }) };
  const packages = options.packages?.map(hostPath);
  const image = options.image === undefined ? {} : imageParam(options.image);
  // JSON leaves out undefined
  return { timeoutMs, fsLimitBytes, memoryLimitBytes, outputLimitBytes, processLimit, fuelLimit, codeLimitBytes, cpuMs, backgroundMs, env, wasmDir, packages, net: net === undefined ? undefined : { ...granted, ...told }, ...image };
}

/** Decisions and questions about the network go to the functions of its options. */
function attendNetwork(link: Link, { ask, decision }: NetOptions): void {
  link.attend("net.decision", ({ sandbox: _, ...told }) => {
    void (async () => decision?.(told as unknown as NetDecision))().catch(() => {}); // it cannot change anything
  });
  link.attend("net.ask", ({ ask: number, sandbox: _, ...question }) => {
    // what throws is a no
    void (async () => ask?.(question as unknown as NetDecision))()
      .then(Boolean, () => false)
      .then((allow) => link.call("net.answer", { ask: number, allow }))
      .catch(() => {}); // the sandbox is gone, and its question with it
  });
}

let snapshots = 0;

/** A snapshot has a name in the server, which is not wanted after it was used. */
async function restore(link: Link, params: Params, snapshot: string | URL): Promise<Params> {
  const name = `node start ${++snapshots}`;
  await link.call("snapshot.load", { name, ...pathParam("path", hostPath(snapshot)), wasmDir: params["wasmDir"] });
  try {
    return await link.call("create", { ...params, snapshot: name });
  } finally {
    await link.call("snapshot.remove", { name });
  }
}

function asMount(path: string, given: string | URL | MountOptions): MountOptions {
  if (typeof given === "string" || given instanceof URL) return { hostPath: given };
  if (typeof given !== "object" || given === null) throw new TypeError(`mounts: ${path}: must be a path, a URL or { hostPath, writable, copyOnWrite }`);
  checkOptions(`mounts: ${path}`, given, { hostPath: "path", writable: "boolean", copyOnWrite: "boolean" });
  return given;
}

async function inTime<T>(answer: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new SandboxTimeout(`no answer in ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A small Linux of its own, in memory. Several commands may run at once. It ends with kill(), when no reference to it is left,
 * and with this process, however that ends. One with nothing to do does not keep node alive.
 */
export class Sandbox {
  readonly commands: Commands;
  readonly files: Files;
  readonly env: Env;
  readonly python: Python;
  readonly js: JavaScript;
  readonly ts: TypeScript;
  readonly callbacks: Callbacks;

  private constructor(
    private readonly link: Link,
    private readonly options: CreateOptions,
  ) {
    this.commands = new Commands(link);
    this.files = new Files(link);
    this.env = new Env(link);
    this.python = new Python(link);
    this.js = new JavaScript(link);
    this.ts = new TypeScript(link);
    this.callbacks = new Callbacks(link);
  }

  /** Makes one. When the signal is aborted meanwhile, it is ended again. */
  static async create(options: CreateOptions = {}): Promise<Sandbox> {
    const params = createParams(options);
    const isolation = isolationOf(options.isolation);
    options.signal?.throwIfAborted();
    const link = new Link(findBinary(options.binary), isolation);
    link.fsLimit = options.fsLimitBytes ?? link.fsLimit;
    attendNetwork(link, options.net ?? {});
    const sandbox = new Sandbox(link, options);
    try {
      const begin = (): Promise<unknown> => (options.snapshot === undefined ? link.call("create", params) : restore(link, params, options.snapshot));
      await unlessAborted(options.signal, () => inTime(begin(), START_PATIENCE));
      await sandbox.fill(options);
      options.signal?.throwIfAborted();
    } catch (problem) {
      await (problem instanceof SandboxTimeout ? link.abandon() : sandbox.kill());
      throw problem;
    }
    return sandbox;
  }

  private async fill({ callbacks, mounts = {}, files = {} }: CreateOptions): Promise<void> {
    if (callbacks !== undefined) await this.callbacks.add(callbacks);
    for (const [path, given] of Object.entries(mounts)) {
      const { hostPath: host, ...how } = asMount(path, given);
      await this.mount(host, path, how);
    }
    for (const [path, data] of Object.entries(files)) {
      if (data instanceof URL) await this.files.upload(hostPath(data), path);
      else await this.files.write(path, data);
    }
  }

  /** Of the process that it is in: the server, or this one. */
  get pid(): number | undefined {
    return this.link.pid;
  }

  /** Ends everything in it. Twice is fine. */
  async kill(): Promise<void> {
    await this.link.kill();
  }

  /**
   * Keeps the sandbox as it is now in a file: files, variables, and sessions with all that is in their memory. The file holds what the
   * sandbox held: keep it as you would keep that. SandboxError EBUSY: a process runs in the background, or a session evaluates.
   */
  async saveSnapshot(path: string | URL, options: SaveOptions = {}): Promise<void> {
    checkOptions("saveSnapshot", options, { ...ABORTABLE, label: "text", leaveOut: "boolean", waitMs: "count", tar: "boolean", directory: "text" });
    const name = `node saved ${++snapshots}`;
    options.signal?.throwIfAborted();
    const { label = "", leaveOut = false, waitMs = 0, tar = false, directory } = options;
    await this.link.call("snapshot.take", { name, label, leaveOut, waitMs });
    try {
      await unlessAborted(options.signal, () => this.link.call("snapshot.save", { name, tar, dir: directory, ...pathParam("path", hostPath(path)) }));
    } finally {
      await this.link.call("snapshot.remove", { name });
    }
  }

  /**
   * Gives the memory of its sessions back until they are used again, but for their own changes. That goes to a file, too, if `path` names
   * one that is not there yet; it is removed when the last session is back.
   */
  async park(path?: string | URL): Promise<void> {
    await this.link.call("sandbox.park", path === undefined ? {} : pathParam("path", hostPath(path)));
  }

  /** A copy: files, variables, limits, and sessions. Mounts and callbacks are not copied. */
  async fork(options: SnapshotOptions = {}): Promise<Sandbox> {
    const { packages: _packages, files: _files, mounts: _mounts, callbacks: _callbacks, env: _env, signal: _signal, ...kept } = this.options;
    const folder = await mkdtemp(join(tmpdir(), "cay-"));
    try {
      const snapshot = join(folder, "fork.snap");
      await this.saveSnapshot(snapshot, options);
      return await Sandbox.create({ ...kept, snapshot, ...(options.signal === undefined ? {} : { signal: options.signal }) });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Forwards a port of this machine to a server in the sandbox, as long as that lives. `host` is PORT of 127.0.0.1 (0: any free
   * one), ADDRESS:PORT, or the path of a Unix socket to make. The port of this machine; undefined for a Unix socket. */
  async publish(port: number, host: string = "0"): Promise<number | undefined> {
    return (await this.link.call("net.publish", { port, host }))["hostPort"] as number | undefined;
  }

  /** Lets the sandbox see a directory or one file of this machine. */
  async mount(host: string | URL, path: Remote, options: Omit<MountOptions, "hostPath"> = {}): Promise<void> {
    checkOptions("mount", options, { writable: "boolean", copyOnWrite: "boolean" });
    const params = { ...pathParam("hostPath", hostPath(host)), ...pathParam("path", path) };
    await this.link.call("mount", { ...params, writable: options.writable ?? false, copyOnWrite: options.copyOnWrite ?? false });
  }

  /** The changes of the sandbox in a mount with `copyOnWrite`. */
  async mountChanges(path: Remote): Promise<MountChange[]> {
    return (await this.link.call("mount.changes", pathParam("path", path)))["changes"] as MountChange[];
  }

  /** These changes as a unified patch in git's form. SandboxError EEXIST: this machine has changed one of the files since. */
  async mountPatch(path: Remote): Promise<string> {
    return (await this.link.call("mount.patch", pathParam("path", path)))["patch"] as string;
  }

  /**
   * Makes these changes on this machine, each file atomically; how many. `only`: paths in the mount, directories with all below.
   * SandboxError EEXIST: a file is not as the sandbox saw it, and nothing was applied.
   */
  async mountApply(path: Remote, only?: readonly string[]): Promise<number> {
    return (await this.link.call("mount.apply", { ...pathParam("path", path), only }))["applied"] as number;
  }

  /** Takes a directory of `mount` away again. SandboxError EBUSY: something in it is in use. */
  async unmount(path: Remote): Promise<void> {
    await this.link.call("unmount", pathParam("path", path));
  }

  /** Present use of resources, and the peaks. */
  async usage(): Promise<Usage> {
    return (await this.link.call("usage", {})) as unknown as Usage;
  }

  /** `await using sandbox = await Sandbox.create()` kills it at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return `Sandbox { ${this.link.death ?? `pid ${this.pid}`} }`;
  }
}
