// A sandbox in a child process.
import { findBinary } from "./binary.js";
import { Commands } from "./commands.js";
import { SandboxTimeout } from "./errors.js";
import { Files, hostPath } from "./files.js";
import { Link, type Params } from "./link.js";
import { Callbacks, Python } from "./python.js";
import type { CreateOptions, Usage } from "./types.js";

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

function createParams(options: CreateOptions): Params {
  const { timeoutMs = 30_000, fsLimitBytes, memoryLimitBytes, outputLimitBytes, processLimit, fuelLimit, codeLimitBytes, env, wasmDir } = options;
  const packages = options.packages?.map(hostPath);
  // JSON leaves out undefined
  return { timeoutMs, fsLimitBytes, memoryLimitBytes, outputLimitBytes, processLimit, fuelLimit, codeLimitBytes, env, wasmDir, packages };
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
 * A small Linux of its own, in memory. Several commands may run at once. It ends with kill(), when nobody holds it any more,
 * and with this process, however that ends. One with nothing to do does not keep node alive.
 */
export class Sandbox {
  readonly commands: Commands;
  readonly files: Files;
  readonly env: Env;
  readonly python: Python;
  readonly callbacks: Callbacks;

  private constructor(private readonly link: Link) {
    this.commands = new Commands(link);
    this.files = new Files(link);
    this.env = new Env(link);
    this.python = new Python(link);
    this.callbacks = new Callbacks(link);
  }

  static async create(options: CreateOptions = {}): Promise<Sandbox> {
    const link = new Link(findBinary(options.binary));
    try {
      await inTime(link.call("create", createParams(options)), START_PATIENCE);
    } catch (problem) {
      await link.channel.close();
      throw problem;
    }
    const sandbox = new Sandbox(link);
    try {
      if (options.callbacks !== undefined) await sandbox.callbacks.add(options.callbacks);
    } catch (problem) {
      await sandbox.kill();
      throw problem;
    }
    return sandbox;
  }

  /** Of the child process. */
  get pid(): number | undefined {
    return this.link.pid;
  }

  /** Ends everything in it, and its process. Twice is fine. */
  async kill(): Promise<void> {
    await this.link.kill();
  }

  /** Lets the sandbox see a directory of this machine. */
  async mount(hostPath: string, path: string, options: { writable?: boolean } = {}): Promise<void> {
    await this.link.call("mount", { hostPath, path, writable: options.writable ?? false });
  }

  async unmount(path: string): Promise<void> {
    await this.link.call("unmount", { path });
  }

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
