// No process and no descriptor stays, however a sandbox ends.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { Worker } from "node:worker_threads";

import { Sandbox, SandboxDied } from "cay";
import { closed, gone, here, node, own, sleep } from "./support.mjs";

test("no descriptor is left behind", async () => {
  const count = () => readdirSync("/proc/self/fd").length;
  await Promise.all([1, 2].map(async () => (await Sandbox.create()).kill())); // what a program keeps: a server
  const before = count();
  for (let i = 0; i < 10; i++) await (await Sandbox.create()).kill();
  assert.ok(count() <= before + 1);
});

test("fifty at once", async () => {
  const sandboxes = await Promise.all(Array.from({ length: 50 }, () => Sandbox.create()));
  const results = await Promise.all(sandboxes.map((s, i) => s.commands.run(`echo ${i} >f; cat f`)));
  assert.deepEqual(results.map((r) => r.stdout), sandboxes.map((_, i) => `${i}\n`));
  await Promise.all(sandboxes.map((s) => s.kill()));
});

test("a server that is killed is told", async () => {
  const sandbox = await Sandbox.create({ isolation: "process" });
  const running = assert.rejects(sandbox.commands.run("sleep 1000"), (e) => e instanceof SandboxDied && /ended with SIGKILL/.test(e.message));
  process.kill(sandbox.pid, "SIGKILL");
  await running;
  await assert.rejects(sandbox.commands.run("true"), SandboxDied);
  await sandbox.kill();
});

test("a call during kill says so", async () => {
  const sandbox = await Sandbox.create();
  const killed = sandbox.kill();
  await assert.rejects(sandbox.commands.run("true"), SandboxDied);
  await killed;
});

test("an exception in the body ends it", async () => {
  let port;
  const body = async () => {
    const sandbox = await Sandbox.create();
    port = await sandbox.publish(80);
    try {
      throw new RangeError("mine");
    } finally {
      await sandbox.kill();
    }
  };
  await assert.rejects(body(), RangeError);
  assert.ok(await closed(port));
});

test("all sandboxes of a program share one server, and share nothing", async (t) => {
  const [a, b] = [await own(t), await own(t)];
  assert.equal(a.pid, b.pid);
  await a.files.write("/tmp/f", "a");
  assert.equal(await b.files.exists("/tmp/f"), false);
  await a.python.run("x = 1");
  assert.equal((await b.python.run("x")).error.type, "NameError");
});

test("a dead server is replaced", async (t) => {
  const [first, other] = [await own(t, { isolation: "process" }), await own(t, { isolation: "process" })];
  process.kill(first.pid, "SIGKILL");
  await assert.rejects(first.commands.run("true"), SandboxDied);
  const next = await own(t, { isolation: "process" });
  assert.notEqual(next.pid, first.pid);
  assert.equal((await next.commands.run("echo alive")).stdout, "alive\n");
  for (const dead of [first, other]) await assert.rejects(dead.commands.run("true"), SandboxDied);
});

test("a thousand sandboxes have no thread each", async () => {
  const many = await Promise.all(Array.from({ length: 1000 }, () => Sandbox.create()));
  for (let i = 0; i < 1000; i += 100) assert.equal((await many[i].python.run(`x = ${i}; x`)).value, i);
  // Threads of the tests before may be at rest still: they end after two seconds without work. One for each sandbox would stay.
  const threads = () => readdirSync(`/proc/${many[0].pid}/task`).length;
  for (let i = 0; i < 6000 && threads() >= 100; i++) await sleep(10);
  assert.ok(threads() < 100);
  await Promise.all(many.map((s) => s.kill()));
});

// What another node does with a sandbox until it ends in some way.
const BEGIN = `const sandbox = await Sandbox.create();
  sandbox.commands.run("while :; do :; done").catch(() => {});
  console.log(sandbox.pid);\n`;

describe("the end of node is the end of the sandbox", { concurrency: 2 }, () => {
  for (const [name, source, code] of [
    ["process.exit", "setTimeout(() => process.exit(3), 50);", 3],
    ["an exception", "setTimeout(() => { throw new Error('x'); }, 50);", 1],
    ["a rejection", "setTimeout(() => Promise.reject(new Error('x')), 50);", 1],
    ["SIGKILL", "setTimeout(() => process.kill(process.pid, 'SIGKILL'), 50);", null],
    ["SIGINT", "setTimeout(() => process.kill(process.pid, 'SIGINT'), 50);", null],
  ])
    test(name, async () => {
      const done = await node(BEGIN + source);
      const pid = Number(done.stdout);
      assert.ok(pid > 1, done.stderr);
      assert.equal(done.code, code);
      assert.ok(await gone(pid));
    });

  test("a worker thread that is terminated", async () => {
    const source = `const { parentPort } = require("node:worker_threads");
      import("cay").then(async ({ Sandbox }) => {
        const sandbox = await Sandbox.create();
        const port = await sandbox.publish(80);
        sandbox.commands.run("sleep 1000").catch(() => {});
        parentPort.postMessage({ pid: sandbox.pid, port });
      });`;
    const worker = new Worker(source, { eval: true });
    const { pid, port } = await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
    await worker.terminate();
    assert.ok(await closed(port));
    if (pid !== process.pid) assert.ok(await gone(pid));
  });

  test("a sandbox with nothing to do does not keep node alive", async () => {
    const done = await node(`const s = await Sandbox.create(); await s.commands.run("true"); console.log(s.pid);`);
    assert.equal(done.code, 0);
    assert.equal(done.stderr, "");
    assert.ok(await gone(Number(done.stdout)));
  });

  test("one that owes an answer does", async () => {
    const done = await node(`const s = await Sandbox.create();
      s.commands.run("sleep 0.5; echo late").then(({ stdout }) => console.log(stdout.trim()));`);
    assert.deepEqual([done.stdout, done.code], ["late\n", 0]);
  });

  test("a sandbox without references is ended", async () => {
    const source = `console.log(await (async () => {
        const sandbox = await Sandbox.create({ callbacks: { f: () => sandbox.pid } }); // which refers to it
        await sandbox.python.run("await f()");
        return sandbox.publish(80);
      })());
      setInterval(() => globalThis.gc(), 20);`;
    let ended;
    await node(source, {
      options: ["--expose-gc"],
      onOutput: async (child, text) => {
        ended = await closed(Number(text));
        child.kill("SIGKILL");
      },
    });
    assert.ok(ended);
  });

  test("its parts keep it alive", async () => {
    const source = `const { commands } = await Sandbox.create();
      for (let i = 0; i < 20; i++) { globalThis.gc(); await new Promise((resolve) => setTimeout(resolve, 10)); }
      console.log((await commands.run("echo alive")).stdout.trim());`;
    assert.equal((await node(source, { options: ["--expose-gc"] })).stdout, "alive\n");
  });

  test("a server that is stopped can be killed", async () => {
    const sandbox = await Sandbox.create({ isolation: "process" });
    process.kill(sandbox.pid, "SIGSTOP");
    await sandbox.kill();
    assert.ok(await gone(sandbox.pid));
  });
});

test("programs that the caller starts get none of its descriptors", async (t) => {
  const sandbox = await own(t, { isolation: "process" });
  const { execFileSync } = await import("node:child_process");
  const { readlinkSync } = await import("node:fs");
  const pipes = [0, 1].map((n) => readlinkSync(`/proc/${sandbox.pid}/fd/${n}`));
  const listed = execFileSync("ls", ["-l", "/proc/self/fd"], { encoding: "utf8", cwd: here });
  for (const pipe of pipes) assert.ok(!listed.includes(pipe));
});
