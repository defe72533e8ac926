// Files of a sandbox. A path is absolute, or starts at /home/agent, where commands start.
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, symlink, unlink } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { SandboxError } from "./errors.js";
import type { Link, Params } from "./link.js";
import { downloadSteps, type Step, uploadSteps } from "./trees.js";
import { asBuffer, type Data, type FileInfo } from "./types.js";

const PIECE = 4 << 20; // bytes of a file in one message
const AHEAD = 64; // requests on the way at once, when a directory is uploaded
const AHEAD_BYTES = 16 << 20;

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
  if (typeof entry["target"] === "string") info.target = entry["target"];
  return info;
}

/** The first piece replaces the file, the others go behind it. */
function piece(path: string, data: Buffer, offset: number, mode: number | undefined): Params {
  const params: Params = { path, data: data.toString("base64") };
  if (offset > 0) params["offset"] = offset;
  else if (mode !== undefined) params["mode"] = mode;
  return params;
}

export class Files {
  constructor(private readonly link: Link) {}

  async read(path: string): Promise<Buffer> {
    const pieces = [await this.readPiece(path, 0)];
    while (pieces.at(-1)!.length === PIECE) pieces.push(await this.readPiece(path, PIECE * pieces.length));
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  private async readPiece(path: string, offset: number): Promise<Buffer> {
    const { data } = await this.link.call("files.read", { path, offset, length: PIECE });
    return Buffer.from(data as string, "base64");
  }

  /** Its contents as UTF-8; what is none becomes U+FFFD. */
  async readText(path: string): Promise<string> {
    return (await this.read(path)).toString("utf8");
  }

  /**
   * Replaces the file, or adds to it; makes its parents. A string is written as UTF-8; bytes must not change until it is done.
   */
  async write(path: string, data: Data, options: { mode?: number; append?: boolean } = {}): Promise<void> {
    const bytes = asBuffer(data);
    for (let offset = 0; offset === 0 || offset < bytes.length; offset += PIECE) {
      const part = bytes.subarray(offset, offset + PIECE);
      await this.link.call("files.write", () =>
        options.append ? { ...piece(path, part, 0, options.mode), append: true } : piece(path, part, offset, options.mode),
      );
    }
  }

  /** What is in a directory; with recursive also below, with names relative to it. */
  async list(path: string, options: { recursive?: boolean } = {}): Promise<FileInfo[]> {
    const { entries } = await this.link.call("files.list", { path, recursive: options.recursive ?? false });
    return (entries as Params[]).map(fileInfo);
  }

  /** With parents: makes them too, and is content when the directory is there. */
  async mkdir(path: string, options: { parents?: boolean } = {}): Promise<void> {
    await this.link.call("files.mkdir", { path, parents: options.parents ?? false });
  }

  /** A file or an empty directory; with recursive also all that is below. */
  async rm(path: string, options: { recursive?: boolean } = {}): Promise<void> {
    await this.link.call("files.rm", { path, recursive: options.recursive ?? false });
  }

  async stat(path: string): Promise<FileInfo> {
    return fileInfo(await this.link.call("files.stat", { path }));
  }

  async exists(path: string): Promise<boolean> {
    try {
      await this.stat(path);
      return true;
    } catch (problem) {
      if (problem instanceof SandboxError && (problem.errno === "ENOENT" || problem.errno === "ENOTDIR")) return false;
      throw problem;
    }
  }

  async rename(from: string, to: string): Promise<void> {
    await this.link.call("files.rename", { from, to });
  }

  async symlink(target: string, path: string): Promise<void> {
    await this.link.call("files.symlink", { target, path });
  }

  /** A wheel, a folder or a module of pure Python, for every Python of this sandbox. */
  async install(local: string | URL): Promise<void> {
    await this.link.call("files.install", { hostPath: hostPath(local) });
  }

  /** Copies a file, or a directory with all below it, into the sandbox, adding to what is there. */
  async upload(local: string, remote: string): Promise<void> {
    const sending = new Sending(this.link);
    for await (const step of uploadSteps(local, remote)) {
      if (step.kind === "dir") {
        await sending.add("files.mkdir", { path: step.remote, parents: true });
      } else if (step.kind === "link") {
        await sending.add("files.rm", { path: step.remote }, 0, true);
        await sending.add("files.symlink", { target: step.target, path: step.remote });
      } else {
        await this.sendFile(sending, step);
      }
    }
    await sending.finish();
  }

  private async sendFile(sending: Sending, step: Step): Promise<void> {
    const file = await open(step.local, "r");
    try {
      for (let offset = 0; ; ) {
        const data = await readPiece(file);
        const at = offset;
        if (data.length > 0 || offset === 0)
          await sending.add("files.write", () => piece(step.remote, data, at, step.mode), data.length);
        if (data.length < PIECE) return;
        offset += data.length;
      }
    } finally {
      await file.close();
    }
  }

  /**
   * Copies a file, or a directory with all below it, out of the sandbox, adding to what is there. What comes out is not
   * trusted: links that lead out of the copy are left out, and so are devices.
   */
  async download(remote: string, local: string): Promise<void> {
    const info = await this.stat(remote);
    if (info.type !== "dir") {
      await this.receiveFile({ kind: "file", local, remote, mode: info.mode, target: "" });
      return;
    }
    await mkdir(local, { recursive: true });
    for (const step of downloadSteps(await this.list(remote, { recursive: true }), local, remote)) {
      if (step.kind === "dir") {
        await mkdir(step.local, { recursive: true });
      } else if (step.kind === "link") {
        await removeLink(step.local);
        await symlink(step.target, step.local);
      } else {
        await this.receiveFile(step);
      }
    }
  }

  private async receiveFile(step: Step): Promise<void> {
    await removeLink(step.local); // a file is never written through a link that stands in its place
    const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
    const file = await open(step.local, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o666);
    try {
      for (let offset = 0; ; ) {
        const data = await this.readPiece(step.remote, offset);
        await file.writeFile(data);
        offset += data.length;
        if (data.length < PIECE) break;
      }
      if ((step.mode & 0o111) !== 0) {
        const { mode } = await file.stat();
        await file.chmod((mode & 0o7777) | ((mode & 0o444) >> 2));
      }
    } finally {
      await file.close();
    }
  }
}

async function removeLink(path: string): Promise<void> {
  try {
    if ((await lstat(path)).isSymbolicLink()) await unlink(path);
  } catch (problem) {
    if ((problem as NodeJS.ErrnoException).code !== "ENOENT") throw problem;
  }
}

/** A piece of the file, smaller only at its end. What is small takes no more memory than it needs. */
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

  constructor(private readonly link: Link) {}

  async add(method: string, params: Params | (() => Params), size = 0, mayBeMissing = false): Promise<void> {
    while (this.waiting.length >= AHEAD || (this.waiting.length > 0 && this.bytes + size > AHEAD_BYTES)) await this.takeOne();
    const answer = this.link.call(method, params).then(
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
