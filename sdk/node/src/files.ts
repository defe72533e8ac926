// Files of a sandbox. A path is absolute, or starts at /home/agent, where commands start.
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, symlink, unlink } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { SandboxError } from "./errors.js";
import { type Link, type Params, unlessAborted } from "./link.js";
import { type Abortable, ABORTABLE, checkOptions, type Kind, pathParam, pathText, type Remote } from "./options.js";
import { downloadSteps, type LocalPath, type Step, uploadSteps } from "./trees.js";
import { asBuffer, type Data, type FileInfo } from "./types.js";

const PIECE = 4 << 20; // bytes of a file in one message
const AHEAD = 64; // requests on the way at once, when a directory is uploaded
const AHEAD_BYTES = 16 << 20;

/** Of read, readText and download. */
export interface ReadOptions extends Abortable {
  /** Bytes. */
  limit?: number;
}

/** Of write. */
export interface WriteOptions extends Abortable {
  mode?: number;
  append?: boolean;
}

const READ: Record<keyof ReadOptions, Kind> = { ...ABORTABLE, limit: "count" };

/** A path of this machine, whatever the working directory is later. */
export function hostPath(local: string | URL): string {
  return resolve(local instanceof URL ? fileURLToPath(local) : local);
}

function fileInfo(entry: Params): FileInfo {
  const info: FileInfo = {
    name: entry["name"] as string,
    type: entry["type"] as FileInfo["type"],
    size: entry["size"] as number,
    mode: (entry["mode"] ?? 0) as number,
    mtimeMs: (entry["mtimeMs"] ?? 0) as number,
  };
  if (typeof entry["nameBase64"] === "string") info.nameBytes = Buffer.from(entry["nameBase64"], "base64");
  if (typeof entry["target"] === "string") info.target = entry["target"];
  if (typeof entry["targetBase64"] === "string") info.targetBytes = Buffer.from(entry["targetBase64"], "base64");
  return info;
}

/** The first piece replaces the file, the others go behind it. */
function pieceOptions(offset: number, mode: number | undefined): { offset?: number; mode?: number } {
  if (offset > 0) return { offset };
  return mode === undefined ? {} : { mode };
}

function tooLarge(path: Remote, limit: number, what = "the file"): SandboxError {
  return new SandboxError(`EFBIG: ${pathText(path)}: ${what} is larger than the limit of ${limit} bytes; the option limit allows more`);
}

/** Bytes that may still be written to this machine. */
class Budget {
  private left: number;

  constructor(
    private readonly remote: Remote,
    private readonly limit: number,
  ) {
    this.left = limit;
  }

  take(count: number): void {
    this.left -= count;
    if (this.left < 0) throw tooLarge(this.remote, this.limit, "the copy");
  }
}

/** The files of a sandbox, as seen from outside: permissions do not stop these calls, and they work while commands run. */
export class Files {
  constructor(private readonly link: Link) {}

  /**
   * The contents of a file. One larger than `limit` bytes, holes counted, is refused with EFBIG; the default is the sandbox's
   * fsLimitBytes. `stream` reads files of any size.
   */
  async read(path: Remote, options: ReadOptions = {}): Promise<Buffer> {
    checkOptions("files.read", options, READ);
    const limit = options.limit ?? this.link.fsLimit;
    const pieces: Buffer[] = [];
    let total = 0;
    for await (const piece of this.pieces(path, options.signal)) {
      total += piece.length;
      if (total > limit) throw tooLarge(path, limit);
      pieces.push(piece);
    }
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  /** The contents of a file, of any size, in pieces of 4 MiB. */
  stream(path: Remote, options: Abortable = {}): AsyncGenerator<Buffer> {
    checkOptions("files.stream", options, ABORTABLE);
    return this.pieces(path, options.signal);
  }

  private async *pieces(path: Remote, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
    for (let offset = 0; ; offset += PIECE) {
      const piece = await unlessAborted(signal, () => this.link.readFile(pathParam("path", path), offset, PIECE));
      if (piece.length > 0) yield piece;
      if (piece.length < PIECE) return;
    }
  }

  /** As `read`, as UTF-8; ill-formed bytes become U+FFFD. */
  async readText(path: Remote, options: ReadOptions = {}): Promise<string> {
    return (await this.read(path, options)).toString("utf8");
  }

  /**
   * Replaces the file, or adds to it; makes its parents. A string is written as UTF-8; bytes must not change until it is done.
   */
  async write(path: Remote, data: Data, options: WriteOptions = {}): Promise<void> {
    checkOptions("files.write", options, { ...ABORTABLE, mode: "count", append: "boolean" });
    const bytes = asBuffer(data);
    for (let offset = 0; offset === 0 || offset < bytes.length; offset += PIECE) {
      const part = bytes.subarray(offset, offset + PIECE);
      const how = options.append === true ? { ...pieceOptions(0, options.mode), append: true } : pieceOptions(offset, options.mode);
      await unlessAborted(options.signal, () => this.link.writeFile(pathParam("path", path), part, how));
    }
  }

  /** The entries of a directory; with recursive also below, with names relative to it. */
  async list(path: Remote, options: { recursive?: boolean } = {}): Promise<FileInfo[]> {
    checkOptions("files.list", options, { recursive: "boolean" });
    const { entries } = await this.link.call("files.list", { ...pathParam("path", path), recursive: options.recursive ?? false });
    return (entries as Params[]).map(fileInfo);
  }

  /** With parents: makes them too, and is content when the directory is there. */
  async mkdir(path: Remote, options: { parents?: boolean } = {}): Promise<void> {
    checkOptions("files.mkdir", options, { parents: "boolean" });
    await this.link.call("files.mkdir", { ...pathParam("path", path), parents: options.parents ?? false });
  }

  /** A file or an empty directory; with recursive also all that is below. */
  async rm(path: Remote, options: { recursive?: boolean } = {}): Promise<void> {
    checkOptions("files.rm", options, { recursive: "boolean" });
    await this.link.call("files.rm", { ...pathParam("path", path), recursive: options.recursive ?? false });
  }

  /** What a file is; links are followed. SandboxError ENOENT: it is not there. */
  async stat(path: Remote): Promise<FileInfo> {
    return fileInfo(await this.link.call("files.stat", pathParam("path", path)));
  }

  /** Whether something is there; a link that leads nowhere is nothing. */
  async exists(path: Remote): Promise<boolean> {
    try {
      await this.stat(path);
      return true;
    } catch (problem) {
      if (problem instanceof SandboxError && (problem.errno === "ENOENT" || problem.errno === "ENOTDIR")) return false;
      throw problem;
    }
  }

  /** Renames or moves; a file at the new name is replaced. */
  async rename(from: Remote, to: Remote): Promise<void> {
    await this.link.call("files.rename", { ...pathParam("from", from), ...pathParam("to", to) });
  }

  /** Makes a symbolic link, and its parents. The target is kept as it is written. */
  async symlink(target: Remote, path: Remote): Promise<void> {
    await this.link.call("files.symlink", { ...pathParam("target", target), ...pathParam("path", path) });
  }

  /** A package of pure Python (a wheel, a folder, a module) or JavaScript (an archive of npm, a folder), for every program of this sandbox. */
  async install(local: string | URL): Promise<void> {
    await this.link.call("files.install", { hostPath: hostPath(local) });
  }

  /** Copies a file, or a directory with all below it, into the sandbox, merging with existing files. */
  async upload(local: string, remote: Remote, options: Abortable = {}): Promise<void> {
    checkOptions("files.upload", options, ABORTABLE);
    const sending = new Sending();
    const { link } = this;
    for await (const step of uploadSteps(local, remote)) {
      options.signal?.throwIfAborted();
      const path = pathParam("path", step.remote);
      if (step.kind === "dir") {
        await sending.add(() => link.call("files.mkdir", { ...path, parents: true }));
      } else if (step.kind === "link") {
        await sending.add(() => link.call("files.rm", path), 0, true);
        await sending.add(() => link.call("files.symlink", { ...pathParam("target", step.target), ...path }));
      } else {
        await this.sendFile(sending, step, options.signal);
      }
    }
    await sending.finish();
  }

  private async sendFile(sending: Sending, step: Step, signal: AbortSignal | undefined): Promise<void> {
    const file = await open(step.local, "r");
    try {
      for (let offset = 0; ; ) {
        const data = await readPiece(file);
        const at = offset;
        if (data.length > 0 || offset === 0)
          await sending.add(() => this.link.writeFile(pathParam("path", step.remote), data, pieceOptions(at, step.mode)), data.length);
        signal?.throwIfAborted();
        if (data.length < PIECE) return;
        offset += data.length;
      }
    } finally {
      await file.close();
    }
  }

  /**
   * Copies a file, or a directory with all below it, out of the sandbox, merging with existing files. The files are not
   * trusted: links that lead out of the copy are left out, and so are devices. Holes stay holes. More than `limit` bytes beside
   * them are refused with EFBIG; the default is the sandbox's fsLimitBytes.
   */
  async download(remote: Remote, local: string, options: ReadOptions = {}): Promise<void> {
    checkOptions("files.download", options, READ);
    const { signal } = options;
    const budget = new Budget(remote, options.limit ?? this.link.fsLimit);
    const info = await this.stat(remote);
    if (info.type !== "dir") {
      await this.receiveFile({ kind: "file", local, remote, mode: info.mode, target: "" }, budget, signal);
      return;
    }
    await mkdir(local, { recursive: true });
    for (const step of downloadSteps(await this.list(remote, { recursive: true }), local, remote)) {
      if (step.kind === "dir") {
        await mkdir(step.local, { recursive: true });
      } else if (step.kind === "link") {
        await removeLink(step.local);
        await symlink(step.target as LocalPath, step.local);
      } else {
        await this.receiveFile(step, budget, signal);
      }
    }
  }

  private async receiveFile(step: Step, budget: Budget, signal: AbortSignal | undefined): Promise<void> {
    await removeLink(step.local); // a file is never written through a link that stands in its place
    const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
    const file = await open(step.local, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o666);
    try {
      await this.receive(step, file, budget, signal);
      const { mode } = await file.stat();
      if ((step.mode & 0o111) !== 0) await file.chmod((mode & 0o7777) | ((mode & 0o444) >> 2));
    } catch (problem) {
      if ((await file.stat()).isFile()) await unlink(step.local); // a part of a file would look like a file
      throw problem;
    } finally {
      await file.close();
    }
  }

  private async receive(step: Step, file: FileHandle, budget: Budget, signal: AbortSignal | undefined): Promise<void> {
    for (let offset = 0; ; ) {
      const params = { ...pathParam("path", step.remote), offset, length: PIECE, skipHoles: true };
      const reply = (await unlessAborted(signal, () => this.link.call("files.read", params))) as { data: string; offset: number; size: number };
      const data = Buffer.from(reply.data, "base64");
      budget.take(data.length);
      offset = reply.offset;
      for (let done = 0; done < data.length; ) {
        const { bytesWritten } = await file.write(data, done, data.length - done, offset);
        done += bytesWritten;
        offset += bytesWritten;
      }
      if (data.length === 0 || offset === reply.size) {
        await file.truncate(offset);
        return;
      }
    }
  }
}

async function removeLink(path: LocalPath): Promise<void> {
  try {
    if ((await lstat(path)).isSymbolicLink()) await unlink(path);
  } catch (problem) {
    if ((problem as NodeJS.ErrnoException).code !== "ENOENT") throw problem;
  }
}

/** A piece of the file, smaller only at its end. A small file takes no more memory than it needs. */
async function readPiece(file: FileHandle): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(PIECE);
  let done = 0;
  while (done < PIECE) {
    const { bytesRead } = await file.read(buffer, done, PIECE - done);
    if (bytesRead === 0) return Buffer.from(buffer.subarray(0, done));
    done += bytesRead;
  }
  return buffer;
}

/** Requests on their way, not too many and not too much at once; the first failure is thrown. */
class Sending {
  private readonly waiting: { answer: Promise<Error | null>; size: number }[] = [];
  private bytes = 0;

  async add(call: () => Promise<unknown>, size = 0, mayBeMissing = false): Promise<void> {
    while (this.waiting.length >= AHEAD || (this.waiting.length > 0 && this.bytes + size > AHEAD_BYTES)) await this.takeOne();
    const answer = call().then(
      () => null,
      (problem: Error) => (mayBeMissing && problem instanceof SandboxError && problem.errno === "ENOENT" ? null : problem),
    );
    this.waiting.push({ answer, size });
    this.bytes += size;
  }

  private async takeOne(): Promise<void> {
    const { answer, size } = this.waiting.shift()!;
    const problem = await answer;
    this.bytes -= size;
    if (problem !== null) throw problem;
  }

  async finish(): Promise<void> {
    while (this.waiting.length > 0) await this.takeOne();
  }
}
