// Where the `cay` program is: $CAY_BINARY, the one of the package, the one on PATH.
import { accessSync, constants, statSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";

import { BinaryNotFound } from "./errors.js";

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

export function findBinary(given?: string): string {
  const named = given ?? (process.env["CAY_BINARY"] || undefined);
  if (named !== undefined) {
    if (isProgram(named)) return named;
    throw new BinaryNotFound(`${named} is not a program (named by ${given === undefined ? "CAY_BINARY" : "binary"})`);
  }
  const bundled = join(__dirname, "..", "native", "bin", "cay");
  if (isProgram(bundled)) return bundled;
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    const path = join(folder, "cay");
    if (folder !== "" && isProgram(path)) return path;
  }
  throw new BinaryNotFound(
    "there is no cay program: this package was installed without one and none is on PATH; " +
      "install the package for this platform, or set CAY_BINARY to the program",
  );
}

function nameGuests(variable: string, name: string): void {
  if (process.env[variable] !== undefined) return;
  try {
    process.env[variable] = join(dirname(createRequire(__filename).resolve(`${name}/package.json`)), "guest");
  } catch {
    // it is not installed
  }
}

/** The guests of the packages cay-guests-extra and cay-science, where these are installed: servers and the library find them by the environment. */
export function nameExtraGuests(): void {
  nameGuests("CAY_GUESTS_EXTRA", "cay-guests-extra");
  nameGuests("CAY_GUESTS_SCIENCE", "cay-science");
}
