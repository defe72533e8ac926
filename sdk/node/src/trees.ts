// Directories on their way into a sandbox and out of it: what to do, without doing it. Names are bytes: one that is not UTF-8 is a
// Buffer, and so is every path with such a name in it.
import { opendir, readlink, stat } from "node:fs/promises";

import { nameOf, type Remote } from "./options.js";
import type { FileInfo } from "./types.js";

export type LocalPath = string | Buffer;

export interface Step {
  kind: "dir" | "file" | "link";
  local: LocalPath;
  remote: Remote;
  mode: number;
  target: Remote;
}

function bytesOf(path: Remote): Buffer {
  return typeof path === "string" ? Buffer.from(path) : Buffer.from(path.buffer, path.byteOffset, path.byteLength);
}

function join(base: Remote, name: Remote): LocalPath {
  if (typeof base === "string" && typeof name === "string") return base.endsWith("/") ? `${base}${name}` : `${base}/${name}`;
  const front = bytesOf(base);
  return Buffer.concat([front, Buffer.from(front.at(-1) === 47 ? "" : "/"), bytesOf(name)]);
}

function step(kind: Step["kind"], local: LocalPath, remote: Remote, mode = 0, target: Remote = ""): Step {
  return { kind, local, remote, mode, target };
}

/** A directory's contents, parents first; links stay links, and other kinds of files are left out. */
export async function* uploadSteps(local: LocalPath, remote: Remote): AsyncGenerator<Step> {
  const info = await stat(local);
  if (!info.isDirectory()) {
    yield step("file", local, remote, info.mode & 0o777);
    return;
  }
  yield step("dir", local, remote);
  const waiting: [LocalPath, Remote][] = [[local, remote]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [folder, place] = next;
    for await (const entry of await opendir(folder as string, { encoding: "buffer" as BufferEncoding })) {
      const name = nameOf(entry.name as unknown as Buffer);
      const here = join(folder, name);
      const there = join(place, name);
      if (entry.isSymbolicLink()) {
        yield step("link", here, there, 0, nameOf(await readlink(here, { encoding: "buffer" })));
      } else if (entry.isDirectory()) {
        yield step("dir", here, there);
        waiting.push([here, there]);
      } else if (entry.isFile()) {
        yield step("file", here, there, (await stat(here)).mode & 0o777);
      }
    }
  }
}

/** Whether a link leads nowhere outside: ".." may stand only in front, where it stays inside the copied tree. */
function stays(name: string, target: string | undefined): boolean {
  if (target === undefined || target === "" || target.startsWith("/")) return false;
  const parts = target.split("/");
  let ups = 0;
  while (ups < parts.length && parts[ups] === "..") ups++;
  return ups <= name.split("/").length - 1 && !parts.slice(ups).includes("..");
}

/**
 * What a sandbox says it has is not trusted: names that lead out, devices, and links that lead out are left out. Links come
 * last, so that nothing is written through one. Bytes that are no UTF-8 are no "/" and no ".", so the text of a name shows where it leads.
 */
export function downloadSteps(entries: readonly FileInfo[], local: LocalPath, remote: Remote): Step[] {
  const steps: Step[] = [];
  const links: Step[] = [];
  for (const entry of entries) {
    if (entry.name.split("/").some((part) => part === "" || part === "." || part === "..")) continue;
    if (entry.name.includes("\0")) continue;
    const name = entry.nameBytes ?? entry.name;
    const here = join(local, name);
    const there = join(remote, name);
    if (entry.type === "dir") steps.push(step("dir", here, there));
    else if (entry.type === "file") steps.push(step("file", here, there, entry.mode & 0o777));
    else if (entry.type === "link" && stays(entry.name, entry.target))
      links.push(step("link", here, there, 0, entry.targetBytes ?? entry.target));
  }
  return [...steps, ...links];
}
