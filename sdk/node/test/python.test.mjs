import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { PythonFailed, Sandbox, SandboxError, SandboxTimeout, ValueTooLarge } from "cay";
import { folder as makeFolder, own } from "./support.mjs";

describe("python", () => {
  let sandbox, python;
  before(async () => {
    sandbox = await Sandbox.create({
      callbacks: {
        add: { description: "Adds.", parameters: { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } }, required: ["a"] }, run: ({ a, b = 10 }) => a + b },
        later: async ({ n }) => new Promise((resolve) => setTimeout(() => resolve(n), 50)),
        fail: () => { throw new Error("not today"); },
        textless: () => { throw Object.create(null); },
        half: () => { throw new Error("half \ud800"); },
        getter: () => { throw Object.defineProperty(new Error(), "message", { get: () => { throw new Error("no"); } }); },
        rejects: async () => { throw undefined; },
        circular: () => { const a = []; a.push(a); return a; },
      },
    });
    ({ python } = sandbox);
  });
  after(() => sandbox.kill());

  test("a value and output", async () => {
    const result = await python.run("print('hi'); x = [1, {'a': 2.5}]\nx");
    assert.equal(result.outcome, "value");
    assert.equal(result.stdout, "hi\n");
    assert.deepEqual(result.value, [1, { a: 2.5 }]);
    assert.equal(result.repr, "[1, {'a': 2.5}]");
    assert.ok(result.ok);
  });

  test("displays, and the value in all its forms", async () => {
    const seen = [];
    const code = `from IPython.display import HTML, clear_output
class Picture:
    def _repr_png_(self): return b"\\x89PNG"
    def _repr_html_(self): return "<b>"
display("gone"); clear_output()
handle = display(HTML("<i>"), display_id=True)
print("between")
display({"application/vnd.chart+json": {"a": [1]}}, raw=True)
handle.update(2)
Picture()`;
    const result = await python.run(code, { onDisplay: (display) => seen.push(display.kind), check: true });
    assert.deepEqual(seen, ["display", "clear", "display", "display", "update"]);
    assert.deepEqual(result.displays.map(({ data }) => data), [{ "text/plain": "2" }, { "application/vnd.chart+json": { a: [1] } }]);
    assert.equal(result.stdout, "between\n");
    assert.deepEqual(result.bundle.formats, ["text/plain", "text/html", "image/png"]);
    assert.equal(result.bundle.html, "<b>");
    assert.deepEqual(result.bundle.png, Buffer.from("\x89PNG", "latin1"));
    assert.equal(result.results.length, 3);
    const plain = await python.run("display(1)\n2");
    assert.equal(plain.stdout, "1\n");
    assert.equal(plain.bundle, null);
    const large = await python.run("'x' * 100", { display: true, displayLimitBytes: 50 });
    assert.ok(large.bundleTooLarge);
    assert.equal(large.value.length, 100);
  });

  test("variables stay, sessions share nothing", async () => {
    await python.run("kept = 1");
    assert.equal((await python.run("kept += 1; kept")).value, 2);
    const other = python.session("other");
    assert.equal((await other.run("kept")).error.type, "NameError");
    await other.close();
    await assert.rejects(other.close(), SandboxError);
  });

  test("exceptions and exits are results", async () => {
    const result = await python.run("y = 1\n1 / 0");
    assert.deepEqual([result.outcome, result.ok, result.error.type, result.error.line], ["exception", false, "ZeroDivisionError", 2]);
    assert.match(result.error.traceback, /1 \/ 0/);
    await assert.rejects(python.run("1 / 0", { check: true }), (e) => e instanceof PythonFailed && e.message === "ZeroDivisionError: division by zero");
    assert.equal((await python.run("import sys; sys.exit(3)")).exitCode, 3);
    assert.equal((await python.run("y")).value, 1);
  });

  test("packages", async () => {
    const dir = await mkdtemp(join(tmpdir(), "cay-packages-"));
    try {
      await mkdir(join(dir, "mine"));
      await writeFile(join(dir, "mine/__init__.py"), "x = 1\n");
      await writeFile(join(dir, "later.py"), "y = 2\n");
      const own = await Sandbox.create({ packages: [join(dir, "mine")] });
      try {
        assert.equal((await own.python.run("import mine; mine.x")).value, 1);
        await own.files.install(pathToFileURL(join(dir, "later.py")));
        assert.equal((await own.python.run("import later; later.y")).value, 2);
        await assert.rejects(own.files.install(join(dir, "none.whl")), { errno: "ENOENT" });
      } finally {
        await own.kill();
      }
      await assert.rejects(Sandbox.create({ packages: [join(dir, "none.whl")] }), /is no wheel/);
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  test("input", async () => {
    assert.equal((await python.run("input()", { stdin: "zwö\n" })).value, "zwö");
    assert.equal((await python.run("input()")).error.type, "EOFError");
  });

  test("a timeout, and what ignores it", async () => {
    await python.run("kept = 1");
    const result = await python.run("while True: pass", { timeoutMs: 100 });
    assert.deepEqual([result.outcome, result.end, result.undone, result.timedOut], ["stopped", "time", false, true]);
    const code = "kept = 2\nwhile True:\n  try:\n    while True: pass\n  except BaseException: pass";
    assert.equal((await python.run(code, { timeoutMs: 100 })).undone, true);
    assert.equal((await python.run("kept")).value, 1);
    await assert.rejects(python.run("while True: pass", { timeoutMs: 50, check: true }), SandboxTimeout);
  });

  test("cancel", async () => {
    const running = python.run("import time; time.sleep(60)");
    setTimeout(() => python.cancel(), 100);
    assert.equal((await running).end, "cancelled");
    assert.equal(await python.cancel(), false);
  });

  test("output as it comes", async () => {
    const seen = [];
    const result = await python.run("import sys\nfor i in range(3): print(i)\nprint('é', file=sys.stderr)", {
      onStdout: (text) => seen.push(text),
      onStderr: async (text) => seen.push(`!${text}`),
    });
    assert.deepEqual(seen, ["0\n", "1\n", "2\n", "!é\n"]);
    assert.deepEqual([result.stdout, result.stderr], ["0\n1\n2\n", "é\n"]);
  });

  test("a function that throws ends the run, and the session is free again", async () => {
    const wrong = new Error("mine");
    await assert.rejects(python.run("print(1)\nimport time; time.sleep(60)", { onStdout: () => { throw wrong; } }), (e) => e === wrong);
    assert.equal((await python.run("5")).value, 5);
  });

  test("a trace", async () => {
    const events = [];
    await python.run("def f(a):\n  b = a + 1\n  return b\nf(1)", { trace: ["line", "call", "return", "locals"], onTrace: (e) => events.push(e) });
    const f = events.filter((e) => e.function === "f");
    assert.deepEqual(f.map((e) => [e.type, e.line]), [["call", 1], ["line", 2], ["line", 3], ["return", 3]]);
    assert.deepEqual(f[0].locals, { a: "1" });
  });

  for (const [name, told] of [["textless", "no text"], ["half", "half"], ["getter", "no text"], ["rejects", "undefined"], ["circular", "cannot be sent"]]) {
    test(`a callback that fails answers: ${name}`, async () => {
      const { error } = await python.run(`await ${name}()`);
      assert.match(error.type, /CallbackError$/);
      assert.ok(error.message.includes(told), error.message);
    });
  }

  test("callbacks", async () => {
    assert.equal((await python.run("await add(a=1)")).value, 11);
    assert.equal((await python.run("await add(1, 2)")).value, 3);
    assert.match((await python.run("await add(a='x')")).error.message, /should be integer/);
    assert.match((await python.run("await fail()")).error.message, /not today/);
    const many = await python.run("import asyncio\nawait asyncio.gather(*(later(n=i) for i in range(40)))");
    assert.deepEqual(many.value, Array.from({ length: 40 }, (_, i) => i));
    await sandbox.callbacks.add({ extra: () => undefined });
    assert.equal((await python.run("str(await extra())")).value, "None");
    await sandbox.callbacks.remove("extra");
    assert.ok(!(await python.run("await extra()")).ok);
  });

  test("state and copies", async () => {
    await python.clearState();
    await python.run("def f(x): return x + k\nk = 4");
    const state = await python.saveState();
    await python.run("g = (i for i in range(3)); next(g)");
    const copy = await python.fork("copy");
    assert.deepEqual((await copy.run("[next(g), f(1)]")).value, [1, 5]);
    assert.deepEqual((await python.run("[next(g), f(1)]")).value, [1, 5]);
    await assert.rejects(python.saveState(), /g/);
    await copy.clearState();
    await copy.loadState(state);
    assert.equal((await copy.run("f(2)")).value, 6);
    await assert.rejects(copy.loadState(state.subarray(0, 20)), SandboxError);
    await copy.close();
  });

  test("a copy goes on where open files were", async () => {
    await sandbox.files.write("/tmp/f", "one\ntwo\nthree\n");
    await python.run("import socket; f = open('/tmp/f'); f.readline(); a, b = socket.socketpair()");
    const copy = await python.fork("files");
    assert.equal((await copy.run("f.read()")).value, "two\nthree\n");
    assert.equal((await python.run("f.readline()")).value, "two\n");
    const lost = await copy.run("a.send(b'x')");
    assert.equal(lost.error.type, "OSError");
    assert.equal((await copy.run("a.close(), f.close(), 1")).ok, true);
    await copy.close();
  });
});

test("a value that is too large is told from none, and code that is no Unicode is a syntax error", async () => {
  const sandbox = await Sandbox.create();
  try {
    const big = await sandbox.python.run("'x' * 2_000_000");
    assert.deepEqual([big.ok, big.valueTooLarge, big.reprTruncated, big.repr.length], [true, true, true, 1 << 20]);
    assert.throws(() => big.value, ValueTooLarge);
    const none = await sandbox.python.run("None");
    assert.deepEqual([none.value, none.valueTooLarge], [undefined, false]);
    assert.equal((await sandbox.python.run("'x' * 2_000_000", { valueLimitBytes: 4 << 20 })).value.length, 2_000_000);
    await assert.rejects(sandbox.python.run("1", { valueLimitBytes: 0 }), /^SandboxError: valueLimitBytes: must be from 1/);
    await assert.rejects(sandbox.python.run("1", { displayLimitBytes: 2 ** 40 }), /^SandboxError: displayLimitBytes: must be from/);
    for (const session of [sandbox.python, sandbox.js]) assert.equal((await session.run("['\\ud800']")).value, undefined);
    const { error } = await sandbox.python.run("x = 1\ny = '\ud83d'");
    assert.deepEqual([error.type, error.line], ["SyntaxError", 2]);
  } finally {
    await sandbox.kill();
  }
});

test("a state longer than a line is loaded", async (t) => {
  const sandbox = await own(t);
  await sandbox.python.run("big = bytes(60_000_000); small = [1, 'two']");
  const state = await sandbox.python.saveState();
  await sandbox.python.close();
  await sandbox.python.loadState(state);
  assert.deepEqual((await sandbox.python.run("len(big), small")).value, [60_000_000, [1, "two"]]);
  await assert.rejects(sandbox.python.loadState("text"), TypeError);
  await assert.rejects(sandbox.python.loadState(Buffer.alloc(0)), /not (?:a saved state|the state)/);
});

test("a callback whose result has no JSON answers", async (t) => {
  const sandbox = await own(t, { callbacks: { f: () => () => 1, s: () => Symbol("s"), j: () => ({ toJSON: () => undefined }), big: () => 1n } });
  for (const name of ["f", "s", "j", "big"])
    for (const session of [sandbox.python, sandbox.js]) {
      const result = await session.run(`await ${name}()`, { timeoutMs: 60_000 });
      assert.match(result.error?.message ?? "", /JSON|BigInt/, name);
      assert.equal(result.end, "exit");
    }
});

test("runs of one session wait in line", async () => {
  const sandbox = await Sandbox.create({ callbacks: { again: () => sandbox.python.run("1").then(() => "ran", (problem) => problem.errno) } });
  try {
    await sandbox.python.run("import time; order = []");
    const runs = [sandbox.python.run("time.sleep(0.3); order.append(-1)")];
    for (let n = 0; n < 20; n++) runs.push(sandbox.python.run(`order.append(${n})`));
    await assert.rejects(sandbox.python.run("1", { wait: false }), /EBUSY/);
    await Promise.all(runs);
    assert.deepEqual((await sandbox.python.run("order")).value, Array.from({ length: 21 }, (_, n) => n - 1));
    assert.equal((await sandbox.python.run("await again()")).value, "EBUSY");
  } finally {
    await sandbox.kill();
  }
});

test("a callback with a bad schema is refused", async () => {
  await assert.rejects(Sandbox.create({ callbacks: { f: { parameters: { dependentRequired: {} }, run: () => 1 } } }), /dependentRequired/);
});

test("a signal ends code, and the session goes on", async (t) => {
  const sandbox = await own(t);
  const controller = new AbortController();
  let started = () => {};
  const begun = new Promise((resolve) => (started = resolve));
  const run = sandbox.python.run("print('begun', flush=True)\nwhile True: pass", { signal: controller.signal, onStdout: started });
  await begun;
  controller.abort(new Error("enough"));
  await assert.rejects(run, { message: "enough" });
  assert.equal((await sandbox.python.run("6 * 7")).value, 42);
  await assert.rejects(sandbox.python.run("1", { signal: AbortSignal.abort() }), { name: "AbortError" });
  await assert.rejects(sandbox.python.run("1", { timeout: 5 }), /python\.run has no option timeout; did you mean timeoutMs/);
  await assert.rejects(sandbox.python.run(Buffer.from("1")), /code must be a string/);
});

test("sessions end with a block, and images start them", async (t) => {
  const place = makeFolder(t);
  const image = join(place, "image");
  const sandbox = await own(t);
  {
    const session = sandbox.python.session("a");
    await session.run("x = 1");
    await session[Symbol.asyncDispose]();
    assert.equal((await sandbox.python.session("a").run("'x' in globals()")).value, false);
    await sandbox.python.session("never run")[Symbol.asyncDispose]();
    const program = globalThis.process.env.CAY_BINARY ?? fileURLToPath(new URL("../native/bin/cay", import.meta.resolve("cay")));
    execFileSync(program, ["image", "build", "-c", "import fractions; fractions.ready = 42", image]);
    const imaged = await sandbox.python.openSession("imaged", image);
    assert.equal((await imaged.run("import fractions; fractions.ready")).value, 42);
    execFileSync(program, ["image", "build", "--language", "javascript", "-c", "globalThis.ready = 42", `${image}.js`]);
    assert.equal((await (await sandbox.js.openSession("imaged too", `${image}.js`)).run("ready")).value, 42);
    const scripted = await own(t, { image: `${image}.js` });
    assert.equal((await scripted.js.run("ready")).value, 42);
    assert.equal((await scripted.ts.run("ready as number")).value, 42);
    assert.equal((await scripted.python.run("6 * 7")).value, 42);
    const other = await own(t, { image });
    assert.equal((await other.python.run("import fractions; fractions.ready")).value, 42);
    await assert.rejects(Sandbox.create({ image: join(place, "nothing") }), { errno: "ENOENT" });
    const small = await own(t, { image: "busybox" });
    assert.equal((await small.commands.run("echo $0; busybox true && ls /usr/bin/bash")).stdout, "sh\n");
    await assert.rejects(small.python.run("1"), { errno: "ENOENT" });
  }
});
