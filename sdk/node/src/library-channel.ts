// A server in this process: the addon, which is built on the library. The lines are those of the process, but answers of evaluations and
// commands, calls of callbacks and the contents of files come as values.
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

import { nameExtraGuests } from "./binary.js";
import { asJson, Channel, hasHalfPair, KILLED, type Json, type Params, Party, unsendable } from "./channel.js";
import { BinaryNotFound, SandboxDied } from "./errors.js";

const MODULE = "_cay.node";
const HOME = "/home/agent/";

enum Kind {
  Line,
  Value,
  RunEnd,
  Call,
  File,
}

enum Flag {
  OutCut = 1,
  ErrCut = 2,
  ReprCut = 4,
  ValueTooLarge = 8,
  BundleTooLarge = 16,
}

declare const serverBrand: unique symbol;
declare const callBrand: unique symbol;
type Server = { [serverBrand]: never };
type Call = { [callBrand]: never };

interface Addon {
  open(guests: string | null, cache: string | null, deliver: (...item: unknown[]) => void): Server;
  line(server: Server, text: string, now: boolean): void;
  read(server: Server, id: number, sandbox: string, path: Buffer, offset: number, length: number): void;
  write(server: Server, id: number, sandbox: string, path: Buffer, offset: number, data: Buffer, mode: number, part: boolean): void;
  answer(call: Call, json: string): void;
  fail(call: Call, why: string): void;
  hold(server: Server, on: boolean): void;
}

// Requests that only start or change something, and wait for nothing.
const AT_ONCE = new Set(["run", "run.ack", "run.cancel", "run.input", "run.signal", "run.resize", "python.eval", "python.cancel"]);

/** The addon that belongs to a `cay` program. */
export function findAddon(binary: string): string {
  const folder = dirname(realpathSync(binary));
  for (const path of [join(folder, "..", "lib", MODULE), join(folder, "..", "..", "sdk", "node", "native", MODULE)])
    if (existsSync(path)) return path;
  throw new BinaryNotFound(`${binary} comes without ${MODULE}, which isolation: "library" needs: install the package for this platform, or use isolation: "process"`);
}

/** Where compiled code is kept, as the `cay` program has it; null: it is not kept. */
function cacheFolder(): string | null {
  const { CAY_CACHE: given, XDG_CACHE_HOME: xdg = "", HOME: home = "" } = process.env;
  const folder = given ?? (xdg.startsWith("/") ? `${xdg}/cay` : home.startsWith("/") ? `${home}/.cache/cay` : "");
  return folder === "" ? null : `${folder}/code`;
}

function pathBytes(path: Params): Buffer {
  const given = path["pathBase64"] === undefined ? Buffer.from(path["path"] as string) : Buffer.from(path["pathBase64"] as string, "base64");
  return given[0] === 47 ? given : Buffer.concat([Buffer.from(HOME), given]);
}

/** As the process answers it. */
function evaluation(item: unknown[]): Params {
  const [, , outcome, stdout, stderr, executionTimeMs, json, repr, type, message, traceback, line, exitCode, end, undone, detail, fuel, flags, bundle] = item;
  const bits = flags as number;
  const reply: Params = { outcome, stdout, stderr, executionTimeMs, repr, exitCode, end, undone, detail };
  if (json !== undefined) reply["value"] = asValue(json as string);
  if (bundle !== undefined) reply["bundle"] = asValue(bundle as string);
  if (type !== undefined) reply["error"] = { type, message: message ?? "", traceback: traceback ?? "", line: line === 0 ? null : line };
  if (fuel !== 0) reply["fuel"] = fuel;
  if (bits !== 0) Object.assign(reply, cuts(bits), { reprTruncated: (bits & Flag.ReprCut) !== 0, valueTooLarge: (bits & Flag.ValueTooLarge) !== 0, bundleTooLarge: (bits & Flag.BundleTooLarge) !== 0 });
  return reply;
}

/** The guest's JSON counts only if it is JSON, and its texts are Unicode. */
function asValue(json: string): unknown {
  try {
    const value: unknown = JSON.parse(json);
    return json.includes("\\ud") && hasHalfPair(JSON.stringify(value)) ? undefined : value;
  } catch {
    return undefined;
  }
}

function cuts(bits: number): Params {
  return { stdoutTruncated: (bits & Flag.OutCut) !== 0, stderrTruncated: (bits & Flag.ErrCut) !== 0 };
}

function runEnd(item: unknown[]): Params {
  const [, , exitCode, stdout, stderr, executionTimeMs, end, detail, fuel, flags] = item;
  return { exitCode, stdout, stderr, executionTimeMs, end, detail: detail ?? "", ...(fuel === 0 ? {} : { fuel }), ...cuts(flags as number) };
}

export class LibraryChannel extends Channel {
  private readonly addon: Addon;
  private readonly server: Server;

  constructor(path: string) {
    super();
    try {
      const module: { exports: unknown } = { exports: {} };
      process.dlopen(module, path);
      this.addon = module.exports as Addon;
      nameExtraGuests();
      this.server = this.addon.open(process.env["CAY_GUESTS"] ?? null, cacheFolder(), (...item) => this.take(item));
    } catch (problem) {
      throw new SandboxDied(`cannot start the library ${path}: ${(problem as Error).message}`);
    }
  }

  get pid(): number {
    return process.pid;
  }

  protected keepAlive(on: boolean): void {
    this.addon.hold(this.server, on);
  }

  protected send(makeLine: () => string | null, method: string): void {
    const line = this.death === null ? makeLine() : null;
    if (line !== null) this.addon.line(this.server, line, AT_ONCE.has(method));
  }

  // ---- incoming ----

  private take(item: unknown[]): void {
    try {
      this.handOn(item);
    } catch (problem) {
      process.nextTick(() => {
        throw problem; // of a function of the caller's: as from any other event
      });
    }
  }

  private handOn(item: unknown[]): void {
    const id = item[1] as number;
    if (item[0] === Kind.Value) this.settled(id)?.resolve(evaluation(item));
    else if (item[0] === Kind.RunEnd) this.settled(id)?.resolve(runEnd(item));
    else if (item[0] === Kind.Call) void this.called(item[1] as string, item[2] as string, item[3] as string, item[4] as Call);
    else if (item[0] === Kind.Line) this.dispatch(JSON.parse(item[2] as string) as Params);
    else if (item[2] === 0) this.settled(id)?.resolve({ bytes: item[3] });
    else this.refused(id, item[4] as string, item[2] as number);
  }

  private async called(sandbox: string, name: string, args: string, call: Call): Promise<void> {
    const { answer } = await this.work(call, sandbox, "callback", { name, arguments: JSON.parse(args) as Json });
    try {
      if ("error" in answer) this.addon.fail(call, answer.error.message.replaceAll("\0", "\\0"));
      else this.addon.answer(call, asJson(answer.result));
    } catch (problem) {
      this.addon.fail(call, unsendable(problem).message);
    }
  }

  // ---- files ----

  private file(party: Party, start: (id: number) => void): Promise<Params> {
    return new Promise((resolve, reject) => {
      const id = this.nextId();
      this.expect(id, { resolve, reject, party });
      try {
        start(id);
      } catch (problem) {
        this.settled(id);
        reject(problem);
      }
    });
  }

  async readFile(party: Party, path: Params, offset: number, length: number): Promise<Buffer> {
    const { bytes } = await this.file(party, (id) => this.addon.read(this.server, id, party.name, pathBytes(path), offset, length));
    return (bytes ?? Buffer.alloc(0)) as Buffer;
  }

  async writeFile(party: Party, path: Params, data: Uint8Array, options: { mode?: number; offset?: number; append?: boolean }): Promise<void> {
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    const { mode = 0, offset = 0, append = false } = options;
    const part = append || options.offset !== undefined;
    await this.file(party, (id) => this.addon.write(this.server, id, party.name, pathBytes(path), append ? -1 : offset, bytes, mode, part));
  }

  // ---- the end ----

  abandon(): void {} // it always answers

  /** The library itself ends with the program, or with the worker thread that made it. */
  async close(): Promise<void> {
    this.death ??= KILLED;
    this.die(KILLED);
  }
}
