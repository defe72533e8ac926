// WebAssembly tools: modules that take JSON and give JSON, and ask for capabilities.
import { readFile } from "node:fs/promises";

import { findBinary } from "./binary.js";
import { SandboxError } from "./errors.js";
import { hostPath } from "./files.js";
import { Link, type Params, unlessAborted } from "./link.js";
import { checkOptions, type Kind } from "./options.js";

type Local = string | URL;

/** Of a set of tools. */
export interface ToolsOptions {
  /** A configuration or the path of one: tools.settings.sandbox of it is read. Default: the defaults. */
  config?: Readonly<Record<string, unknown>> | Local;
  /** Where relative paths of modules start; default the working directory. */
  dir?: Local;
  /** What tools keep. */
  database?: Local;
  /** The audit log. */
  audit?: Local;
  /** Whose rows are meant when a call names no user. */
  user?: string;
  /** A tool is called again with the answer of its capability, so many times at most. Default 0: that answer is the result. */
  rounds?: number;
  /** For development: modules that only show the shape of an answer are called, too. */
  allowPlaceholders?: boolean;
  /** A `cay` program, in place of the installed one. */
  binary?: string;
}

/** Of one call. */
export interface ToolCallOptions {
  /** Whose rows are meant. */
  user?: string;
  /** Lowers the tool's own limit, never raises it. */
  timeoutMs?: number;
  /** Ends the call; call() then throws the signal's reason. */
  signal?: AbortSignal;
}

/** A tool, and whether it may be called. */
export interface Tool {
  name: string;
  /** The file. */
  module: string;
  entrypoint: string;
  /** Else it is there by convention: wasm/<name>_tool.wasm. */
  configured: boolean;
  /** "ok", or why its module is refused. */
  code: string;
  why: string;
  timeoutMs: number;
  /** 0: not counted. */
  fuel: number;
  /** Its capabilities. */
  allow: string[];
}

/** An entry that is due. */
export interface ToolEvent {
  kind: "task" | "wakeup" | "reminder";
  id: number;
  userId: string;
  /** Of a reminder: its title. */
  name: string;
  prompt?: string;
  /** Seconds since 1970. */
  dueAt: number;
  /** Moments of a recurring one that passed since, and are not delivered. */
  missed: number;
}

/** A call that did not end well: `toolCode` is the cause ("timeout", "forbidden", ...). */
export class ToolFailed extends SandboxError {
  constructor(
    readonly tool: string,
    readonly toolCode: string,
    readonly why: string,
    readonly result: unknown,
  ) {
    super(`${tool}: ${toolCode}: ${why}`);
  }
}

const OPEN: Record<keyof ToolsOptions, Kind> = {
  config: "any",
  dir: "path",
  database: "path",
  audit: "path",
  user: "text",
  rounds: "count",
  allowPlaceholders: "boolean",
  binary: "text",
};

async function openParams(options: ToolsOptions): Promise<Params> {
  const { config, dir, database, audit, user, rounds = 0, allowPlaceholders = false } = options;
  const isPath = typeof config === "string" || config instanceof URL;
  return {
    config: isPath ? (JSON.parse(await readFile(config, "utf8")) as unknown) : config,
    dir: hostPath(dir ?? "."),
    database: database === undefined ? undefined : hostPath(database),
    audit: audit === undefined ? undefined : hostPath(audit),
    user,
    rounds,
    allowPlaceholders,
  }; // JSON leaves out undefined
}

/** A set of tools, in a process of its own. Several calls may run at once. It ends with close(), or with this process. */
export class Tools {
  private constructor(private readonly link: Link) {}

  /** Opens a set, in a process of its own. */
  static async open(options: ToolsOptions = {}): Promise<Tools> {
    checkOptions("Tools.open", options, OPEN);
    const params = await openParams(options);
    const link = new Link(findBinary(options.binary));
    try {
      await link.call("tools.open", params);
    } catch (problem) {
      await link.abandon();
      throw problem;
    }
    return new Tools(link);
  }

  /** What the tool gives, or what the capability gave that it asked for. Throws ToolFailed when it does not end well. */
  async call(name: string, input: Readonly<Record<string, unknown>> = {}, options: ToolCallOptions = {}): Promise<unknown> {
    checkOptions("tools.call", options, { user: "text", timeoutMs: "count", signal: "signal" });
    const { user, timeoutMs, signal } = options;
    let id = 0;
    const begin = (): Promise<Params> => {
      const started = this.link.start("tools.call", { name, input, user, timeoutMs });
      id = started.id;
      return started.answer;
    };
    const answer = await unlessAborted(signal, begin, () => {
      if (this.link.death === null) this.link.call("tools.cancel", { id }).catch(() => {});
    });
    const { code, why = "", result } = answer as { code: string; why?: string; result: unknown };
    if (code !== "ok") throw new ToolFailed(name, code, why, result);
    return result;
  }

  /** The tools, whether their modules are fit, and their capabilities. */
  async list(): Promise<Tool[]> {
    return (await this.link.call("tools.list", {}))["tools"] as Tool[];
  }

  /** null when these bytes are a tool, else why not: "module_has_import: ...". */
  async check(module: Uint8Array, entrypoint?: string): Promise<string | null> {
    const data = Buffer.from(module.buffer, module.byteOffset, module.byteLength).toString("base64");
    const { code, why } = (await this.link.call("tools.check", { data, entrypoint })) as { code: string; why: string };
    return code === "ok" ? null : `${code}: ${why}`;
  }

  /** The tasks, wake-ups and reminders that are due now, each given once. */
  async due(): Promise<ToolEvent[]> {
    return (await this.link.call("tools.due", {}))["events"] as ToolEvent[];
  }

  /** Ends its process. Twice is fine. */
  async close(): Promise<void> {
    await this.link.kill();
  }

  /** `await using tools = await Tools.open()` closes it at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return `Tools { ${this.link.death ?? `pid ${this.link.pid}`} }`;
  }
}
