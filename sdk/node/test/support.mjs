// What several tests need.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import assert from "node:assert/strict";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { Sandbox, SandboxError } from "cay";

export const here = fileURLToPath(new URL(".", import.meta.url));

/** For assert.rejects: the sandbox refused with this errno. */
export const errno = (name) => (e) => e instanceof SandboxError && e.errno === name && e.code === 1 && e.message.startsWith(`${name}: `);

/** A sandbox for one test. */
export async function own(t, options) {
  const sandbox = await Sandbox.create(options);
  t.after(() => sandbox.kill());
  return sandbox;
}

/** A folder for one test. */
export function folder(t) {
  const path = mkdtempSync(join(tmpdir(), "cay-node-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** In the sandbox: waits until no `sleep 1000` runs any more. */
export const NO_SLEEP = "i=0; while ps | grep -q '[s]leep 1000'; do [ $((i += 1)) -lt 500 ] || exit 1; usleep 20000; done";

const isAlive = (pid) => existsSync(`/proc/${pid}`) && !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));

/** Whether a process ends; it has a minute. */
export async function gone(pid) {
  for (let i = 0; i < 60000 && isAlive(pid); i++) await sleep(10);
  return !isAlive(pid);
}

/** Whether a port of this machine, which a sandbox published, is closed; it has a minute. */
export async function closed(port) {
  const answers = () =>
    new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1", () => socket.destroy());
      socket.once("close", () => resolve(true)).once("error", (problem) => resolve(problem.code !== "ECONNREFUSED"));
    });
  assert.ok(port > 0);
  for (let i = 0; i < 6000 && (await answers()); i++) await sleep(10);
  return !(await answers());
}

/** Another node, which runs this module; its output and exit code. */
export async function node(source, { options = [], onOutput = () => {} } = {}) {
  const code = `import { Sandbox } from "cay";\n${source}`;
  const child = spawn(process.execPath, [...options, "--input-type=module", "-e", code], { cwd: here });
  const result = { stdout: "", stderr: "", code: null };
  child.stdout.setEncoding("utf8").on("data", (text) => {
    result.stdout += text;
    onOutput(child, result.stdout);
  });
  child.stderr.setEncoding("utf8").on("data", (text) => (result.stderr += text));
  result.code = await new Promise((resolve) => child.once("close", resolve));
  return result;
}
