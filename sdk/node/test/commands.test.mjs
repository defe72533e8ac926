import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, describe, test } from "node:test";

import { CommandFailed, CommandResult, Sandbox, SandboxError, SandboxTimeout } from "cay";
import { errno, NO_SLEEP, own, sleep } from "./support.mjs";

describe("commands", () => {
  let sandbox;
  before(async () => (sandbox = await Sandbox.create()));
  after(() => sandbox.kill());
  const run = (...all) => sandbox.commands.run(...all);

  test("echo", async () => {
    const result = await run("echo hello");
    assert.ok(result instanceof CommandResult);
    assert.equal(result.stdout, "hello\n");
    assert.equal(result.stderr, "");
    assert.equal(result.exitCode, 0);
    assert.equal(result.end, "exit");
    assert.ok(result.ok && !result.timedOut && result.executionTimeMs > 0);
  });

  test("a terminal is talked to", async () => {
    let shown = "";
    let wake = () => {};
    const until = async (text) => {
      while (!shown.includes(text)) await new Promise((resolve) => (wake = resolve));
      shown = shown.slice(shown.indexOf(text) + text.length);
    };
    const onOutput = (text) => {
      shown += text;
      wake();
    };
    const terminal = sandbox.commands.terminal("exec bash", { rows: 10, cols: 50, onOutput });
    await until("$ ");
    await terminal.write("tty; stty size\n");
    await until("/dev/pts/0\r\n10 50\r\n");
    await terminal.resize(11, 60);
    await terminal.write(Buffer.from("stty size; cat\n"));
    await until("11 60\r\n");
    await terminal.write("hi\n");
    await until("hi\r\nhi\r\n"); // what a shell does with ^C before cat is there is another matter
    await terminal.write("\x03");
    await until("$ ");
    await terminal.write("exit 3\n");
    const result = await terminal.result;
    assert.equal(result.exitCode, 3);
    assert.ok(result.stdout.includes("11 60"));
    await assert.rejects(terminal.write("late"), SandboxError);
    await terminal.kill();
    const killed = sandbox.commands.terminal("sleep 1000");
    await killed.kill();
    assert.equal((await killed.result).end, "cancelled");
    const ended = sandbox.commands.terminal("cat; echo end");
    await ended.endInput();
    assert.equal((await ended.result).stdout, "end\r\n");
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

  test("a timeout, and the sandbox after it", async () => {
    const result = await run("echo before; while :; do :; done", { timeoutMs: 2000 });
    assert.equal(result.exitCode, 124);
    assert.ok(result.timedOut);
    assert.equal(result.stdout, "before\n");
    assert.equal((await run("echo after")).stdout, "after\n");
  });

  test("a timeout of one command may be shorter or longer", async (t) => {
    const short = await own(t, { timeoutMs: 500 });
    assert.ok((await short.commands.run("sleep 100", { timeoutMs: 100 })).timedOut);
    assert.ok((await short.commands.run("sleep 100")).timedOut);
    assert.equal((await short.commands.run("sleep 0.8; echo done", { timeoutMs: 600_000 })).stdout, "done\n");
  });

  test("standard input, text and bytes", async () => {
    assert.equal((await run("cat", { stdin: "héllo\n" })).stdout, "héllo\n");
    assert.equal((await run("wc -c", { stdin: new Uint8Array([0xff, 0xfe, 0]) })).stdout.trim(), "3");
    assert.equal((await run("wc -c", { stdin: Buffer.from("\ufeffx") })).stdout.trim(), "4");
    assert.equal((await run("wc -c", { stdin: Buffer.from("xyz").subarray(1) })).stdout.trim(), "2");
    assert.equal((await run("cat")).stdout, "");
    assert.equal((await run("cat", { stdin: "" })).stdout, "");
    await assert.rejects(run("cat", { stdin: 5 }), TypeError);
  });

  test("bytes in give text out", async () => {
    const result = await run("cat; echo é >&2", { stdin: Buffer.from([0x61, 0xff]) });
    assert.deepEqual([result.stdout, result.stderr], ["a\ufffd", "é\n"]);
  });

  test("folder", async () => {
    assert.equal((await run("pwd")).stdout, "/home/agent\n");
    assert.equal((await run("pwd", { cwd: "/tmp" })).stdout, "/tmp\n");
    await assert.rejects(run("true", { cwd: "/nowhere" }), errno("ENOENT"));
  });

  test("variables", async () => {
    assert.equal((await run("echo $A-$HOME", { env: { A: "x y" } })).stdout, "x y-/home/agent\n");
    assert.equal((await run("echo [$A]")).stdout, "[]\n");
  });

  test("files live on between commands, and variables do not", async () => {
    await run("echo kept >f; X=lost; export X");
    assert.equal((await run("cat f; echo [$X]")).stdout, "kept\n[]\n");
  });

  test("check", async () => {
    assert.equal((await run("echo fine", { check: true })).stdout, "fine\n");
    await assert.rejects(run("echo so far; echo why >&2; exit 7", { check: true }), (e) => {
      assert.ok(e instanceof CommandFailed && e instanceof SandboxError);
      assert.equal(e.name, "CommandFailed");
      assert.equal(e.message, "the command failed with exit code 7: why");
      assert.deepEqual([e.result.exitCode, e.result.stdout], [7, "so far\n"]);
      return true;
    });
    await assert.rejects(run("sleep 100", { timeoutMs: 100, check: true }), (e) => e instanceof SandboxTimeout && e.result.exitCode === 124);
  });

  test("output as it comes", async () => {
    const pieces = [];
    const result = await run("echo one; echo zwö >&2; echo drei", {
      onStdout: (text) => pieces.push(["out", text]),
      onStderr: (text) => pieces.push(["err", text]),
    });
    assert.deepEqual(pieces, [["out", "one\n"], ["err", "zwö\n"], ["out", "drei\n"]]);
    assert.deepEqual([result.stdout, result.stderr], ["one\ndrei\n", "zwö\n"]);
  });

  test("one output function is enough", async () => {
    const pieces = [];
    const result = await run("echo one; echo two >&2", { onStderr: (text) => pieces.push(text) });
    assert.deepEqual([pieces, result.stdout], [["two\n"], "one\n"]);
  });

  test("output comes while the command runs, and an output function may call", async () => {
    const onStdout = async (text) => {
      if (text === "ready\n") await sandbox.files.write("go", (await run("echo now")).stdout);
    };
    const result = await run("echo ready; until [ -s go ]; do sleep 0.01; done; cat go", { onStdout });
    assert.equal(result.stdout, "ready\nnow\n");
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

  test("output without an end stops when the reader does", async () => {
    let total = 0;
    const enough = new Error("enough");
    const onStdout = (text) => {
      total += text.length;
      if (total > 10_000_000) throw enough;
    };
    await assert.rejects(run("yes", { onStdout }), (e) => e === enough);
    const then = total;
    assert.equal((await run("echo fine")).stdout, "fine\n");
    assert.equal(total, then);
  });

  test("an output function that throws or rejects ends the command", async () => {
    const wrong = new Error("mine");
    await assert.rejects(run("echo x; sleep 1000", { onStdout: () => { throw wrong; } }), (e) => e === wrong);
    await assert.rejects(run("echo x >&2; sleep 1000", { onStderr: () => Promise.reject(wrong) }), (e) => e === wrong);
    assert.ok((await run(NO_SLEEP)).ok);
  });

  test("streamed text keeps characters whole", async () => {
    let text = "";
    const onStdout = (more) => (text += more);
    await run("printf '\\303'; printf '\\251'; printf '\\377'", { onStdout });
    assert.equal(text, "é\ufffd");
    text = "";
    const result = await run("cat", { stdin: Buffer.from([0xc3, 0xa9, 0xff, 0xc3]), onStdout });
    assert.equal(text, "é\ufffd\ufffd");
    assert.equal(result.stdout, text);
  });

  test("bytes that are no UTF-8 are shown as U+FFFD", async () => {
    assert.equal((await run("printf 'a\\377b'")).stdout, "a\ufffdb");
  });

  test("ten megabytes of output are whole", async () => {
    const result = await run("yes 012345678 | head -c 10000000");
    assert.ok(result.stdout.length === 10_000_000 && !result.stdoutTruncated);
  });

  test("commands at the same time", async () => {
    const results = await Promise.all(Array.from({ length: 20 }, (_, i) => run(`sleep 0.1; echo ${i}; cat`, { stdin: "x" })));
    assert.deepEqual(results.map((r) => r.stdout), Array.from({ length: 20 }, (_, i) => `${i}\nx`));
  });

  test("an AbortSignal ends the command", async () => {
    const controller = new AbortController();
    const running = run("echo began; sleep 1000", { signal: controller.signal, onStdout: () => controller.abort(new Error("enough")) });
    await assert.rejects(running, /enough/);
    assert.ok((await run(NO_SLEEP)).ok);
    await assert.rejects(run("true", { signal: AbortSignal.abort(new Error("before")) }), /before/);
    await assert.rejects(run("sleep 1000", { signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
    assert.equal((await run("echo on", { signal: controller.signal.constructor.timeout(600_000) })).stdout, "on\n");
  });

  test("a background process lives on", async (t) => {
    const box = await own(t);
    assert.equal((await box.commands.run("sleep 1000 & echo $! >pid; echo started", { timeoutMs: 5000 })).stdout, "started\n");
    assert.ok((await box.commands.run("sleep 5.2; kill -0 $(cat pid)")).ok);
    assert.ok((await box.commands.run("kill $(cat pid)")).ok);
    assert.ok((await box.commands.run(NO_SLEEP)).ok);
    await box.commands.run("mkfifo ask answer; (while read line <ask; do echo got $line >answer; done) &");
    assert.equal((await box.commands.run("echo one >ask; cat answer")).stdout, "got one\n");
    assert.equal((await box.commands.run("echo two >ask; cat answer")).stdout, "got two\n");
  });

  test("a command that timed out leaves nothing", async () => {
    assert.ok((await run("sleep 1000 & sleep 1000", { timeoutMs: 200 })).timedOut);
    assert.ok((await run(NO_SLEEP)).ok);
  });

  test("arguments that make no sense", async () => {
    await assert.rejects(run("true", { timeoutMs: 0 }), (e) => e instanceof SandboxError && e.code === -32602 && e.errno === null);
  });

  test("what cannot be sent is refused here, and the sandbox goes on", async () => {
    await assert.rejects(run("echo \udc80"), TypeError);
    await assert.rejects(run("echo \\\\\ud83d x"), TypeError);
    assert.equal((await run("echo '\u{1f600}' '\\ud800'")).stdout, "\u{1f600} \\ud800\n");
    await assert.rejects(run("x".repeat(65 << 20)), errno("E2BIG"));
    await assert.rejects(run("true", { timeoutMs: 10n }), TypeError);
    assert.equal((await run("echo fine")).stdout, "fine\n");
  });
});

test("too much output is cut and said", async (t) => {
  const sandbox = await own(t, { outputLimitBytes: 1000 });
  const result = await sandbox.commands.run("yes | head -c 5000; echo fine >&2");
  assert.equal(result.stdout.length, 1000);
  assert.ok(result.stdoutTruncated && !result.stderrTruncated);
});

test("files and kill while a command runs", async () => {
  const sandbox = await Sandbox.create();
  const running = sandbox.commands.run("touch began; sleep 1000");
  while (!(await sandbox.files.exists("began"))) await sleep(1);
  await sandbox.kill();
  const result = await running;
  assert.deepEqual([result.end, result.exitCode], ["cancelled", 124]);
});

test("options of a command are checked", async (t) => {
  const sandbox = await own(t);
  await assert.rejects(sandbox.commands.run("true", { timeout: 5 }), /commands\.run has no option timeout; did you mean timeoutMs\?/);
  await assert.rejects(sandbox.commands.run("true", { timeoutMs: NaN }), /timeoutMs must be a whole number/);
  await assert.rejects(sandbox.commands.run("true", { onstdout: () => {} }), /did you mean onStdout/);
  await assert.rejects(sandbox.commands.run(Buffer.from("ls")), /command must be a string, not object/);
  await assert.rejects(sandbox.commands.run(["ls"]), /command must be a line for bash/);
  assert.throws(() => sandbox.commands.terminal("true", { row: 5 }), /did you mean rows/);
  await assert.rejects(sandbox.files.list(".", { recursiv: true }), /did you mean recursive/);
});

test("output as bytes", async (t) => {
  const sandbox = await own(t);
  const result = await sandbox.commands.run("printf 'a\\377'; printf '\\376' >&2", { binary: true });
  assert.deepEqual([result.stdoutBytes, result.stderrBytes, result.stdout], [Buffer.from([97, 255]), Buffer.of(254), "a\ufffd"]);
  assert.deepEqual((await sandbox.commands.run("cat", { stdin: Buffer.of(255, 0), binary: true })).stdoutBytes, Buffer.of(255, 0));
  const pieces = [];
  const streamed = await sandbox.commands.run("printf 'b\\377'", { binary: true, onStdout: (bytes) => pieces.push(bytes) });
  assert.deepEqual(Buffer.concat(pieces), Buffer.from([98, 255]));
  assert.deepEqual(streamed.stdoutBytes, Buffer.from([98, 255]));
  assert.equal((await sandbox.commands.run("echo x")).stdoutBytes, null);
});

test("a command in the background", async (t) => {
  const sandbox = await own(t);
  const process = await sandbox.commands.start("echo ready; while read line; do echo got $line; done; exit 3");
  await process.waitForOutput("ready\n", 600_000);
  assert.ok(process.running && process.pid > 1);
  assert.deepEqual(await sandbox.commands.list(), [{ pid: process.pid, command: process.command }]);
  await process.write("one\n");
  assert.equal(await process.waitForOutput("got one\n", 600_000), "ready\ngot one\n");
  await assert.rejects(process.wait(50), { name: "SandboxTimeout" });
  await process.endInput();
  const result = await process.wait(600_000);
  assert.deepEqual([result.exitCode, result.stdout, process.running], [3, "ready\ngot one\n", false]);
  await assert.rejects(process.write("more"), { errno: "EPIPE" });
  await assert.rejects(sandbox.commands.start("true", { cwd: "/nowhere" }), { errno: "ENOENT" });
  const other = await sandbox.commands.start("trap 'echo caught; exit 7' USR1; echo ready; while :; do sleep 0.05; done");
  await other.waitForOutput("ready", 600_000);
  await other.signal(10);
  assert.equal((await other.wait(600_000)).exitCode, 7);
  const killed = await sandbox.commands.start("sleep 1000");
  await killed.kill();
  assert.equal((await killed.wait(600_000)).end, "cancelled");
});

test("a command in the background does not keep node alive, waiting for it does", async () => {
  const code = (then) => `import { Sandbox } from "cay"; const s = await Sandbox.create(); const p = await s.commands.start("sleep 0.3; echo done"); ${then}`;
  const run = (then) => spawnSync(globalThis.process.execPath, ["--input-type=module", "-e", code(then)], { encoding: "utf8" });
  assert.deepEqual([run("console.log('end')").stdout, run("console.log((await p.wait()).stdout)").stdout], ["end\n", "done\n\n"]);
});

test("nothing of a cancelled command runs on", async (t) => {
  const sandbox = await own(t);
  for (let i = 0; i < 10; i++) {
    const line = i % 2 === 0 ? "sleep 1000" : "trap '' TERM INT; while :; do :; done";
    await assert.rejects(sandbox.commands.run(line, { signal: AbortSignal.timeout(30) }), { name: "TimeoutError" });
    assert.deepEqual(await sandbox.commands.list(), []);
    const enough = () => { throw new Error("enough"); };
    await assert.rejects(sandbox.commands.run(`echo x; ${line}`, { onStdout: enough }), /enough/);
    assert.deepEqual(await sandbox.commands.list(), []);
  }
});

test("fuel of one command", async (t) => {
  const sandbox = await own(t);
  const result = await sandbox.commands.run("echo x", { fuel: 100_000_000 });
  assert.ok(result.ok && result.fuel > 0 && result.fuel < 100_000_000);
  assert.equal((await sandbox.commands.run("while :; do :; done", { fuel: 100_000 })).end, "fuel");
  assert.equal((await sandbox.commands.run("echo x")).fuel, null);
});
