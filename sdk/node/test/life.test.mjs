import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { inspect } from "node:util";
import { test } from "node:test";

import { BinaryNotFound, Sandbox, SandboxDied, SandboxError } from "cay";

const alive = (pid) => existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));

async function gone(pid) {
  for (let i = 0; i < 500 && alive(pid); i++) await new Promise((resolve) => setTimeout(resolve, 10));
  return !alive(pid);
}

test("kill ends the process, and twice is fine", async () => {
  const sandbox = await Sandbox.create();
  const { pid } = sandbox;
  assert.match(inspect(sandbox), /Sandbox { pid \d+ }/);
  await sandbox.kill();
  await sandbox.kill();
  assert.ok(await gone(pid));
  assert.equal(inspect(sandbox), "Sandbox { the sandbox was killed }");
  await assert.rejects(sandbox.commands.run("true"), SandboxDied);
  await assert.rejects(sandbox.files.read("/etc/passwd"), SandboxDied);
});

test("what runs when it is killed is told so", async () => {
  const sandbox = await Sandbox.create();
  const running = sandbox.commands.run("sleep 100");
  await sandbox.commands.run("true");
  await sandbox.kill();
  const how = await running.then((r) => r.end, (e) => e.constructor);
  assert.ok(how === "cancelled" || how === SandboxDied);
});

test("a sandbox whose process dies says so", async () => {
  const sandbox = await Sandbox.create();
  const running = assert.rejects(sandbox.commands.run("sleep 100"), /ended with SIGKILL/);
  process.kill(sandbox.pid, "SIGKILL");
  await running;
  await assert.rejects(sandbox.commands.run("true"), SandboxDied);
  await sandbox.kill();
});

test("asyncDispose", async () => {
  const sandbox = await Sandbox.create();
  await sandbox[Symbol.asyncDispose]();
  assert.ok(await gone(sandbox.pid));
});

test("no descriptor is left behind", async () => {
  const count = () => readdirSync("/proc/self/fd").length;
  await (await Sandbox.create()).kill();
  const before = count();
  for (let i = 0; i < 10; i++) await (await Sandbox.create()).kill();
  assert.ok(count() <= before + 1);
});

test("many sandboxes", async () => {
  const sandboxes = await Promise.all(Array.from({ length: 30 }, () => Sandbox.create()));
  const results = await Promise.all(sandboxes.map((s, i) => s.commands.run(`echo ${i} >f; cat f`)));
  assert.deepEqual(results.map((r) => r.stdout), sandboxes.map((_, i) => `${i}\n`));
  await Promise.all(sandboxes.map((s) => s.kill()));
});

test("a program that is not there", async () => {
  await assert.rejects(Sandbox.create({ binary: "/nowhere/cay" }), (e) => e instanceof BinaryNotFound && /binary/.test(e.message));
  process.env.CAY_BINARY = "/etc/passwd";
  await assert.rejects(Sandbox.create(), (e) => e instanceof BinaryNotFound && /CAY_BINARY/.test(e.message));
  delete process.env.CAY_BINARY;
});

test("a program that is another one", async () => {
  await assert.rejects(Sandbox.create({ binary: "/bin/cat" }), SandboxError);
  await assert.rejects(Sandbox.create({ binary: "/bin/false" }), (e) => e instanceof SandboxDied && /exit code 1/.test(e.message));
});

test("guests that are not there", async () => {
  await assert.rejects(Sandbox.create({ wasmDir: "/nowhere" }), (e) => e instanceof SandboxError && /nowhere/.test(e.message));
});

// What another node does with a sandbox, until it ends in some way.
const program = (then) => `
  const { Sandbox } = await import(${JSON.stringify(import.meta.resolve?.("cay") ?? "cay")});
  const sandbox = await Sandbox.create();
  sandbox.commands.run("sleep 100").catch(() => {});
  console.log(sandbox.pid);
  ${then}`;
const node = (then) => spawn(process.execPath, ["--input-type=module", "-e", program(then)], { cwd: import.meta.dirname ?? process.cwd() });

for (const [name, then] of [
  ["process.exit", "setTimeout(() => process.exit(3), 50);"],
  ["an exception", "setTimeout(() => { throw new Error('x'); }, 50);"],
  ["SIGKILL", "setInterval(() => {}, 1000);"],
])
  test(`the sandbox ends with a client that ends by ${name}`, async () => {
    const child = node(then);
    const [line] = await once(child.stdout, "data");
    const pid = Number(String(line).trim());
    assert.ok(pid > 1);
    if (name === "SIGKILL") child.kill("SIGKILL");
    await once(child, "exit");
    assert.ok(await gone(pid));
  });

test("a sandbox with nothing to do does not keep node alive", () => {
  const source = `const { Sandbox } = await import("cay"); const s = await Sandbox.create(); await s.commands.run("true"); console.log("done");`;
  const result = spawnSync(process.execPath, ["--input-type=module", "-e", source], { encoding: "utf8", timeout: 20_000, cwd: process.cwd() });
  assert.equal(result.stdout, "done\n");
  assert.equal(result.status, 0);
});

test("a sandbox that nobody holds is ended", async () => {
  const source = `const { Sandbox } = await import("cay");
    let s = await Sandbox.create(); console.log(s.pid); s = null;
    for (let i = 0; i < 50; i++) { globalThis.gc(); await new Promise((r) => setTimeout(r, 20)); }
    console.log("end"); await new Promise((r) => setTimeout(r, 10000));`;
  const child = spawn(process.execPath, ["--expose-gc", "--input-type=module", "-e", source], { cwd: process.cwd() });
  let text = "";
  for await (const chunk of child.stdout) if ((text += chunk).includes("end")) break;
  const pid = Number(text.split("\n")[0]);
  assert.ok(await gone(pid));
  child.kill("SIGKILL");
});
