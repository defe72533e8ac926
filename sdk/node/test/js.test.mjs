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
