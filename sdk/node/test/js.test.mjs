// sandbox.js: sessions of JavaScript.
import assert from "node:assert/strict";
import { test } from "node:test";
import { PythonFailed, Sandbox } from "cay";

test("values, output and variables", async (t) => {
  const sandbox = await Sandbox.create();
  t.after(() => sandbox.kill());
  const result = await sandbox.js.run("console.log('out'); let x = [1, { a: null }]; x");
  assert.deepEqual([result.value, result.repr, result.stdout], [[1, { a: null }], "[ 1, { a: null } ]", "out\n"]);
  assert.equal((await sandbox.js.run("x.length + await Promise.resolve(1)")).value, 3);
  assert.equal((await sandbox.js.session("other").run("typeof x")).value, "undefined");
});

test("errors and deadlines", async (t) => {
  const sandbox = await Sandbox.create();
  t.after(() => sandbox.kill());
  const failed = await sandbox.js.run("let kept = 1;\nnull.y");
  assert.deepEqual([failed.outcome, failed.error.type, failed.error.line], ["exception", "TypeError", 2]);
  await assert.rejects(sandbox.js.run("null.y", { check: true }), PythonFailed);
  assert.equal((await sandbox.js.run("for (;;) ;", { timeoutMs: 100 })).end, "time");
  assert.equal((await sandbox.js.run("kept")).value, 1);
});

test("TypeScript", async (t) => {
  const sandbox = await Sandbox.create();
  t.after(() => sandbox.kill());
  assert.equal((await sandbox.ts.run("enum E { A = 1, B }\nlet x: number = E.B as number; x")).value, 2);
  assert.equal((await sandbox.ts.session("other").run("const f = <T,>(a: T): T => a; f<string>('a')")).value, "a");
  const copy = await sandbox.ts.fork("copy");
  assert.equal((await copy.run("x!")).value, 2);
  const failed = await sandbox.ts.run("let a: number = 1\nnull!.b");
  assert.deepEqual([failed.error.type, failed.error.line], ["TypeError", 2]);
});
