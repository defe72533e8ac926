// Directories on their way into a sandbox and out of it: what to do, without doing it.
import { opendir, readlink, stat } from "node:fs/promises";
import { join } from "node:path";

import type { FileInfo } from "./types.js";

export interface Step {
  kind: "dir" | "file" | "link";
  local: string;
  remote: string;
  mode: number;
  target: string;
}

export function joinRemote(base: string, name: string): string {
  return base === "/" ? `/${name}` : `${base.replace(/\/+$/, "")}/${name}`;
}

function step(kind: Step["kind"], local: string, remote: string, mode = 0, target = ""): Step {
  return { kind, local, remote, mode, target };
}

/** A directory's contents, parents first; links stay links, and what is neither file nor directory is left out. */
export async function* uploadSteps(local: string, remote: string): AsyncGenerator<Step> {
  const info = await stat(local);
  if (!info.isDirectory()) {
    yield step("file", local, remote, info.mode & 0o777);
    return;
  }
  yield step("dir", local, remote);
  const waiting: [string, string][] = [[local, remote]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [folder, place] = next;
    for await (const entry of await opendir(folder)) {
      const here = join(folder, entry.name);
      const there = joinRemote(place, entry.name);
      if (entry.isSymbolicLink()) {
        yield step("link", here, there, 0, await readlink(here));
      } else if (entry.isDirectory()) {
        yield step("dir", here, there);
        waiting.push([here, there]);
      } else if (entry.isFile()) {
        yield step("file", here, there, (await stat(here)).mode & 0o777);
      }
    }
  }
}

/** Whether a link leads nowhere outside: ".." may stand only in front, where it leaves what was made here. */
function stays(name: string, target: string | undefined): boolean {
  if (target === undefined || target === "" || target.startsWith("/")) return false;
  const parts = target.split("/");
  let ups = 0;
  while (ups < parts.length && parts[ups] === "..") ups++;
  return ups <= name.split("/").length - 1 && !parts.slice(ups).includes("..");
}

/**
 * What a sandbox says it has is not trusted: names that lead out, devices, and links that lead out are left out. Links come
 * last, so that nothing is written through one.
 */
export function downloadSteps(entries: readonly FileInfo[], local: string, remote: string): Step[] {
  const steps: Step[] = [];
  const links: Step[] = [];
  for (const entry of entries) {
    if (entry.name.split("/").some((part) => part === "" || part === "." || part === "..")) continue;
    if (entry.name.includes("\0")) continue;
    const here = join(local, entry.name);
    const there = joinRemote(remote, entry.name);
    if (entry.type === "dir") steps.push(step("dir", here, there));
    else if (entry.type === "file") steps.push(step("file", here, there, entry.mode & 0o777));
    else if (entry.type === "link" && stays(entry.name, entry.target)) links.push(step("link", here, there, 0, entry.target));
  }
  return [...steps, ...links];
}
