// The servers of this program: started when first needed, and ended with it.
import type { Channel } from "./channel.js";
import { findAddon, LibraryChannel } from "./library-channel.js";
import { ProcessChannel } from "./process-channel.js";

/** Where sandboxes live: in one server process that all of a program share, or in this process. */
export type Isolation = "process" | "library";

const shared = new Map<string, Channel>();

/** Servers that are started alike are alike. */
function keyOf(binary: string, isolation: Isolation): string {
  const settings = Object.entries(process.env).filter(([name]) => /^(CAY_|XDG_|LD_)|^HOME$/.test(name));
  return JSON.stringify([isolation, binary, settings.sort()]);
}

/** isolation, or what CAY_ISOLATION says, or "process". */
export function isolationOf(given: string | undefined): Isolation {
  const chosen = given ?? (process.env["CAY_ISOLATION"] || "process");
  if (chosen !== "process" && chosen !== "library") throw new TypeError(`isolation must be "process" or "library", not ${JSON.stringify(chosen)}`);
  return chosen;
}

export function sharedChannel(binary: string, isolation: Isolation): Channel {
  const key = isolation === "library" ? findAddon(binary) : keyOf(binary, isolation);
  const there = shared.get(key);
  if (there !== undefined && there.death === null) return there;
  const made = isolation === "library" ? new LibraryChannel(key) : new ProcessChannel(binary);
  shared.set(key, made);
  return made;
}
