import assert from "node:assert/strict";
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

import { BinaryNotFound, Sandbox, SandboxDied, SandboxError } from "cay";
import { errno, folder, here, node, own } from "./support.mjs";

/** The processes whose parent we are, dead ones too. */
function children() {
  const numbers = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return numbers.filter((pid) => {
    try {
      return Number(readFileSync(`/proc/${pid}/stat`, "latin1").split(")").pop().trim().split(" ")[1]) === process.pid;
    } catch {
      return false;
    }
  });
}

function program(t, text) {
  const path = join(folder(t), "cay");
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

test("create and kill; twice is fine", async () => {
  const sandbox = await Sandbox.create({ timeoutMs: 60_000, fsLimitBytes: 512 << 20 });
  assert.equal(inspect(sandbox), `Sandbox { pid ${sandbox.pid} }`);
  await Promise.all([sandbox.kill(), sandbox.kill()]);
  await sandbox.kill();
  assert.equal(inspect(sandbox), "Sandbox { the sandbox was killed }");
});

test("after kill every call says so", async () => {
  const sandbox = await Sandbox.create();
  await sandbox.kill();
  const calls = [
    () => sandbox.commands.run("true"),
    () => sandbox.files.read("/etc/passwd"),
    () => sandbox.env.get("HOME"),
    () => sandbox.usage(),
  ];
  for (const call of calls) await assert.rejects(call(), (e) => e instanceof SandboxDied && /killed/.test(e.message));
});

test("asyncDispose", async () => {
  const sandbox = await Sandbox.create();
  await sandbox[Symbol.asyncDispose]();
  await assert.rejects(sandbox.usage(), SandboxDied);
});

test("a process is a child of this one, a library is in it", async (t) => {
  const other = await own(t, { isolation: "process" });
  assert.ok(children().includes(String(other.pid)));
  assert.equal((await own(t, { isolation: "library" })).pid, process.pid);
  await assert.rejects(Sandbox.create({ isolation: "none" }), /isolation must be/);
});

test("a signal ends creation, and a process that runs", async (t) => {
  await assert.rejects(Sandbox.create({ signal: AbortSignal.abort(new RangeError("mine")) }), RangeError);
  const sandbox = await own(t);
  const controller = new AbortController();
  const started = await sandbox.commands.start("sleep 1000", { signal: controller.signal });
  await assert.rejects(started.wait(undefined, { signal: AbortSignal.timeout(20) }), { name: "TimeoutError" });
  assert.ok(started.running);
  controller.abort();
  assert.equal((await started.wait()).end, "cancelled");
  await assert.rejects(sandbox.files.read("/etc/passwd", { signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("the end of a sandbox aborts the callbacks that it waits for", async () => {
  let begun = () => {};
  const called = new Promise((resolve) => (begun = resolve));
  const sandbox = await Sandbox.create({ callbacks: { wait: (_, { signal }) => (begun(signal), new Promise(() => {})) } });
  const run = sandbox.python.run("await wait()").catch(() => {});
  const signal = await called;
  assert.equal(signal.aborted, false);
  await sandbox.kill();
  await run;
  assert.equal(signal.aborted, true);
});

test("the loop is never blocked by a sandbox that computes", async (t) => {
  const sandbox = await own(t);
  const run = sandbox.python.run("n = 0\nwhile n < 3_000_000: n += 1");
  let turns = 0, ended = false;
  void run.then(() => (ended = true));
  while (!ended) {
    turns++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(turns > 100, `${turns}`);
});

test("two sandboxes share nothing", async (t) => {
  const [one, other] = [await own(t), await own(t)];
  await one.files.write("/tmp/x", "mine");
  assert.ok(!(await other.files.exists("/tmp/x")));
});

test("variables", async (t) => {
  const sandbox = await own(t, { env: { GREETING: "hi there" } });
  assert.equal((await sandbox.commands.run("echo $GREETING")).stdout, "hi there\n");
  assert.equal(await sandbox.env.get("HOME"), "/home/agent");
  assert.equal(await sandbox.env.get("FOO"), null);
  await sandbox.env.set("FOO", "bar é");
  assert.equal(await sandbox.env.get("FOO"), "bar é");
  assert.equal((await sandbox.commands.run("echo $FOO")).stdout, "bar é\n");
  await sandbox.env.set("FOO", null);
  assert.equal(await sandbox.env.get("FOO"), null);
  await assert.rejects(sandbox.env.set("A=B", "x"), errno("EINVAL"));
});

test("the limit of processes holds", async (t) => {
  const sandbox = await own(t, { processLimit: 5 });
  const { stderr } = await sandbox.commands.run("for i in 1 2 3 4 5 6 7 8; do sleep 5 & done; true", { timeoutMs: 600_000 });
  assert.match(stderr, /fork/);
});

test("the limit of compiled modules holds", async (t) => {
  const sandbox = await own(t, { codeLimitBytes: 1000 });
  await sandbox.files.write("/tmp/x", Buffer.concat([Buffer.from("\0asm\x01\0\0\0"), Buffer.alloc(2000)]));
  const { exitCode, stderr } = await sandbox.commands.run("chmod +x /tmp/x; /tmp/x");
  assert.equal(exitCode, 126);
  assert.match(stderr, /quota exceeded/);
});

test("usage", async (t) => {
  const sandbox = await own(t);
  await sandbox.files.write("/tmp/x", "x".repeat(100_000));
  await sandbox.commands.run("true");
  const usage = await sandbox.usage();
  assert.ok(usage.fsBytes >= 100_000 && usage.memoryPeakBytes > 0 && usage.syscalls > 0);
});

test("processor time is limited and counted", async (t) => {
  const sandbox = await own(t, { cpuMs: 200 });
  const { end, detail } = await sandbox.commands.run("while :; do :; done");
  assert.equal(end, "time");
  assert.match(detail, /processor time/);
  assert.ok((await sandbox.usage()).cpuMs >= 200);
});

test("wrong options are errors and leave no process", async () => {
  const before = children();
  await assert.rejects(Sandbox.create({ timeoutMs: 0 }), (e) => e.code === -32602 && /timeoutMs/.test(e.message));
  await assert.rejects(Sandbox.create({ env: { "A=B": "1" } }), (e) => e instanceof SandboxError && e.code === -32602);
  await assert.rejects(Sandbox.create({ wasmDir: "/nowhere" }), errno("ENOENT"));
  assert.deepEqual(children(), before);
});

test("a program that is not there", async () => {
  await assert.rejects(Sandbox.create({ binary: "/nowhere/cay" }), (e) => e instanceof BinaryNotFound && /binary/.test(e.message));
  process.env.CAY_BINARY = "/etc/passwd";
  await assert.rejects(Sandbox.create(), (e) => e instanceof BinaryNotFound && /CAY_BINARY/.test(e.message));
  delete process.env.CAY_BINARY;
});

test("no program at all says what to do", async (t) => {
  const copy = folder(t);
  mkdirSync(join(copy, "bin"));
  cpSync(join(here, "node_modules/cay/dist"), join(copy, "dist"), { recursive: true });
  cpSync(join(here, "node_modules/cay/package.json"), join(copy, "package.json"));
  const source = `const bare = await import(${JSON.stringify(pathToFileURL(join(copy, "dist/index.js")))});
    process.env.PATH = ${JSON.stringify(join(copy, "bin"))};
    await bare.Sandbox.create().catch((e) => console.log(e.name, e.message, e instanceof bare.BinaryNotFound));`;
  assert.match((await node(source)).stdout, /^BinaryNotFound .*CAY_BINARY.* true\n$/);
});

test("a program that is no server dies with its words", async (t) => {
  const binary = program(t, "#!/bin/sh\necho no server here >&2\nexit 7\n");
  await assert.rejects(Sandbox.create({ binary, isolation: "process" }), (e) => e instanceof SandboxDied && /exit code 7; it said: no server here$/.test(e.message));
});

test("a program that talks nonsense is not waited for", async (t) => {
  const binary = program(t, "#!/bin/sh\nread line\necho nonsense\nexec sleep 1000\n");
  await assert.rejects(Sandbox.create({ binary, isolation: "process" }), (e) => e instanceof SandboxDied && /cannot be understood/.test(e.message));
});

test("a program that cannot be started", async (t) => {
  const binary = program(t, "#!/nowhere/interpreter\n");
  await assert.rejects(Sandbox.create({ binary, isolation: "process" }), (e) => e instanceof SandboxDied && /cannot start/.test(e.message));
});

test("too many open files are an error and no crash", async () => {
  const source = `import { openSync } from "node:fs";
    try { for (;;) openSync("/dev/null"); } catch {}
    await Sandbox.create({ isolation: "process" }).catch((e) => console.log(e.name, e.message));`;
  const { stdout, code } = await node(`process.title = "many";\n${source}`);
  assert.match(stdout, /^SandboxDied cannot start .*\n$/);
  assert.equal(code, 0);
});

test("unknown and nonsensical options are refused before anything starts", async () => {
  const cases = [
    [{ timeout: 5 }, /Sandbox\.create has no option timeout; did you mean timeoutMs\?/],
    [{ timeoutMs: NaN }, /timeoutMs must be a whole number that is not negative, not NaN/],
    [{ timeoutMs: "5" }, /timeoutMs must be a whole number/],
    [{ memoryLimitBytes: 1.5 }, /memoryLimitBytes must be a whole number/],
    [{ packages: "x.whl" }, /packages must be an array, not 'x\.whl'/],
    [{ env: { A: 1 } }, /env: A must be a string, not 1/],
    [{ files: { a: 5 } }, /files: a must be a string, bytes or a URL, not 5/],
    [{ nonsense: 1 }, /has no option nonsense; it knows timeoutMs/],
    [5, /the options must be an object/],
  ];
  for (const [options, words] of cases) await assert.rejects(Sandbox.create(options), { name: "TypeError", message: words });
  await assert.rejects(Sandbox.create({ mounts: { "/m": { hostpath: "." } } }), /has no option hostpath; did you mean hostPath/);
});

test("files and mounts at creation", async (t) => {
  const place = folder(t);
  writeFileSync(join(place, "f"), "of the host\n");
  const files = { "a/b": "text", "/tmp/raw": Uint8Array.of(255), copy: pathToFileURL(place) };
  const sandbox = await own(t, { files, mounts: { "/ro": place, "/rw": { hostPath: place, writable: true } } });
  {
    assert.deepEqual(await sandbox.files.read("/tmp/raw"), Buffer.of(255));
    assert.equal((await sandbox.commands.run("cat a/b copy/f /ro/f")).stdout, "textof the host\nof the host\n");
    assert.equal((await sandbox.commands.run("echo > /ro/new")).ok, false);
    assert.equal((await sandbox.commands.run("echo new > /rw/new")).ok, true);
    assert.equal(readFileSync(join(place, "new"), "utf8"), "new\n");
  }
});

test("a fork has files and sessions, and goes its own way", async (t) => {
  const sandbox = await own(t);
  await sandbox.files.write("f", "one");
  await sandbox.python.run("x = [1]");
  const copy = await sandbox.fork();
  t.after(() => copy.kill());
  await copy.files.write("f", "two");
  assert.deepEqual((await copy.python.run("x.append(2); x")).value, [1, 2]);
  assert.deepEqual((await sandbox.python.run("x")).value, [1]);
  assert.equal(await sandbox.files.readText("f"), "one");
});

test("a snapshot in a file is what a sandbox begins as", async (t) => {
  const path = join(folder(t), "a.snap");
  const sandbox = await own(t);
  await sandbox.files.write("f", "kept");
  await sandbox.saveSnapshot(path, { label: "here" });
  const again = await own(t, { snapshot: path });
  assert.equal(await again.files.readText("f"), "kept");
  await sandbox.commands.run("sleep 100 > /dev/null 2>&1 &");
  await assert.rejects(sandbox.saveSnapshot(path), errno("EBUSY"));
  await sandbox.saveSnapshot(path, { leaveOut: true });
  const archive = join(folder(t), "a.tar");
  await sandbox.saveSnapshot(archive, { leaveOut: true, tar: true, directory: "/home/agent" });
  assert.equal(await (await own(t, { snapshot: archive })).files.readText("f"), "kept");
  await assert.rejects(Sandbox.create({ snapshot: join(folder(t), "nothing") }), /nothing/);
});
