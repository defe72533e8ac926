import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { CommandFailed, Sandbox, SandboxError, SandboxTimeout } from "cay";

describe("commands", () => {
  let sandbox;
  before(async () => (sandbox = await Sandbox.create()));
  after(() => sandbox.kill());
  const run = (...all) => sandbox.commands.run(...all);

  test("echo", async () => {
    const result = await run("echo hello");
    assert.equal(result.stdout, "hello\n");
    assert.equal(result.stderr, "");
    assert.equal(result.exitCode, 0);
    assert.equal(result.end, "exit");
    assert.ok(result.ok && result.executionTimeMs > 0);
  });

  test("a pipeline", async () => assert.equal((await run("echo hello | tr a-z A-Z")).stdout, "HELLO\n"));

  for (const code of [0, 1, 42, 255])
    test(`exit code ${code}`, async () => {
      const result = await run(`exit ${code}`);
      assert.equal(result.exitCode, code);
      assert.equal(result.ok, code === 0);
    });

  test("standard error", async () => {
    const { stdout, stderr, exitCode } = await run("echo oops >&2; false");
    assert.deepEqual([stdout, stderr, exitCode], ["", "oops\n", 1]);
  });

  test("a signal", async () => {
    const result = await run("kill -9 $$");
    assert.equal(result.exitCode, 137);
    assert.equal(result.end, "signal");
  });

  test("standard input, text and bytes", async () => {
    assert.equal((await run("cat", { stdin: "héllo\n" })).stdout, "héllo\n");
    assert.equal((await run("wc -c", { stdin: new Uint8Array([0xff, 0xfe, 0]) })).stdout.trim(), "3");
    assert.equal((await run("wc -c", { stdin: Buffer.from("\ufeffx") })).stdout.trim(), "4");
    assert.equal((await run("cat")).stdout, "");
  });

  test("folder and variables", async () => {
    assert.equal((await run("pwd")).stdout, "/home/agent\n");
    assert.equal((await run("pwd", { cwd: "/tmp" })).stdout, "/tmp\n");
    assert.equal((await run("echo $A-$B", { env: { A: "1", B: "zwei" } })).stdout, "1-zwei\n");
    assert.equal((await run("echo [$A]")).stdout, "[]\n");
    await sandbox.env.set("KEPT", "yes");
    assert.equal((await run("echo $KEPT")).stdout, "yes\n");
    assert.equal(await sandbox.env.get("KEPT"), "yes");
    await sandbox.env.set("KEPT", null);
    assert.equal(await sandbox.env.get("KEPT"), null);
  });

  test("files stay between commands", async () => {
    await run("echo one >f; export V=1");
    assert.equal((await run("cat f; echo [$V]")).stdout, "one\n[]\n");
  });

  test("a folder that is not there", async () => {
    await assert.rejects(run("true", { cwd: "/nowhere" }), (e) => e instanceof SandboxError && e.errno === "ENOENT");
  });

  test("check", async () => {
    await assert.rejects(run("echo why >&2; exit 7", { check: true }), (e) => {
      assert.ok(e instanceof CommandFailed);
      assert.equal(e.message, "the command failed with exit code 7: why");
      assert.equal(e.result.exitCode, 7);
      return true;
    });
    assert.equal((await run("echo fine", { check: true })).stdout, "fine\n");
  });

  test("a timeout, and the sandbox after it", async () => {
    const result = await run("echo before; while :; do :; done", { timeoutMs: 200 });
    assert.equal(result.exitCode, 124);
    assert.ok(result.timedOut);
    assert.equal(result.stdout, "before\n");
    assert.equal((await run("echo after")).stdout, "after\n");
    await assert.rejects(run("sleep 100", { timeoutMs: 50, check: true }), SandboxTimeout);
  });

  test("output as it comes", async () => {
    const pieces = [];
    const result = await run("echo one; sleep 0.2; echo zwö; echo drei >&2", {
      onStdout: (text) => pieces.push(["out", text]),
      onStderr: (text) => pieces.push(["err", text]),
    });
    assert.deepEqual(pieces, [["out", "one\n"], ["out", "zwö\n"], ["err", "drei\n"]]);
    assert.deepEqual([result.stdout, result.stderr], ["one\nzwö\n", "drei\n"]);
  });

  test("output of many pieces is whole and in order, and a slow reader is waited for", async () => {
    let text = "";
    const result = await run("seq 1 300000", {
      onStdout: async (more) => {
        text += more;
        await new Promise((resolve) => setImmediate(resolve));
      },
    });
    assert.equal(text, Array.from({ length: 300000 }, (_, i) => `${i + 1}\n`).join(""));
    assert.equal(result.stdout, text);
  });

  test("an output function that throws ends the command", async () => {
    const wrong = new Error("mine");
    await assert.rejects(run("echo x; sleep 100", { onStdout: () => { throw wrong; } }), (e) => e === wrong);
    assert.equal((await run("echo on")).stdout, "on\n");
  });

  test("bytes that are no UTF-8 are shown as U+FFFD", async () => {
    assert.equal((await run("printf 'a\\377b'")).stdout, "a\ufffdb");
  });

  test("commands at the same time", async () => {
    const results = await Promise.all(Array.from({ length: 20 }, (_, i) => run(`sleep 0.1; echo ${i}`)));
    assert.deepEqual(results.map((r) => r.stdout), Array.from({ length: 20 }, (_, i) => `${i}\n`));
  });

  test("an AbortSignal", async () => {
    const controller = new AbortController();
    const running = run("sleep 100", { signal: controller.signal });
    setTimeout(() => controller.abort(new Error("enough")), 50);
    await assert.rejects(running, /enough/);
    await assert.rejects(run("true", { signal: AbortSignal.abort(new Error("before")) }), /before/);
    assert.equal((await run("echo on")).stdout, "on\n");
  });

  test("arguments that make no sense", async () => {
    await assert.rejects(run(7), (e) => e instanceof SandboxError && e.code === -32602);
  });
});

test("too much output is cut and said", async () => {
  const sandbox = await Sandbox.create({ outputLimitBytes: 1000 });
  const result = await sandbox.commands.run("head -c 5000 /dev/zero | tr '\\0' x");
  assert.equal(result.stdout.length, 1000);
  assert.ok(result.stdoutTruncated && !result.stderrTruncated);
  await sandbox.kill();
});
