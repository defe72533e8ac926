// Requests of the server to its client. The server is one of ours that asks, and prints each answer as output of `run`.
import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { Link } from "./node_modules/cay/dist/link.js";
import { folder } from "./support.mjs";

const SERVER = `#!${process.execPath}
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
let run, asked = 0, answers = [];
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.method === "run") {
    run = message;
    for (const { cancel, ...ask } of message.params.asks) {
      say({ id: "cay-" + ++asked, ...ask });
      if (cancel) say({ method: "request.cancelled", params: { id: "cay-" + asked } });
    }
  } else if (message.method === "kill") {
    say({ id: message.id, result: { ok: true } });
    process.exit(0);
  } else {
    answers.push(message);
  }
  if (answers.length === run.params.count) say({ id: run.id, result: { answers } });
});
`;

function server(t) {
  const binary = join(folder(t), "cay");
  writeFileSync(binary, SERVER);
  chmodSync(binary, 0o755);
  const link = new Link(binary);
  t.after(() => link.kill());
  return link;
}

const ask = async (link, asks, count = asks.length) => (await link.call("run", { asks, count })).answers;

test("a handler answers, at once or later", async (t) => {
  const link = server(t);
  link.answer("double", ({ x }) => 2 * x);
  link.answer("later", async ({ x }) => ({ was: x }));
  link.answer("nothing", () => undefined);
  const answers = await ask(link, [
    { method: "double", params: { x: 21 } },
    { method: "later", params: { x: [1, "é"] } },
    { method: "nothing" },
  ]);
  assert.deepEqual(answers.sort((a, b) => (a.id < b.id ? -1 : 1)), [
    { jsonrpc: "2.0", id: "cay-1", result: 42 },
    { jsonrpc: "2.0", id: "cay-2", result: { was: [1, "é"] } },
    { jsonrpc: "2.0", id: "cay-3", result: null },
  ]);
});

test("answers come in the order in which they are ready", async (t) => {
  const link = server(t);
  let release;
  const held = new Promise((resolve) => (release = resolve));
  link.answer("slow", () => held);
  link.answer("fast", () => (setImmediate(release, "slow"), "fast"));
  const answers = await ask(link, [{ method: "slow" }, { method: "fast" }]);
  assert.deepEqual(answers.map((answer) => answer.result), ["fast", "slow"]);
});

test("what goes wrong is told to the server", async (t) => {
  const link = server(t);
  link.answer("throws", () => {
    throw new RangeError("too far");
  });
  link.answer("rejects", () => Promise.reject("plain"));
  link.answer("big", () => 10n);
  const answers = await ask(link, ["throws", "rejects", "big", "unknown"].map((method) => ({ method })));
  const errors = Object.fromEntries(answers.map((answer) => [answer.id, answer.error]));
  assert.deepEqual(errors["cay-1"], { code: 1, message: "RangeError: too far" });
  assert.deepEqual(errors["cay-2"], { code: 1, message: "plain" });
  assert.match(errors["cay-3"].message, /cannot be sent: .*BigInt/);
  assert.deepEqual(errors["cay-4"], { code: -32601, message: "no method unknown here" });
});

test("a request that is taken back aborts its signal and is not answered", async (t) => {
  const link = server(t);
  let aborted = false;
  link.answer("wait", (_, signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve((aborted = true)))));
  link.answer("now", () => aborted);
  const answers = await ask(link, [{ method: "wait", cancel: true }, { method: "now" }], 1);
  assert.deepEqual(answers, [{ jsonrpc: "2.0", id: "cay-2", result: true }]);
});

test("the end of the sandbox aborts pending callbacks", async (t) => {
  const link = server(t);
  const aborted = new Promise((resolve) => {
    link.answer("wait", (_, signal) => {
      signal.addEventListener("abort", () => resolve(true));
      setImmediate(() => process.kill(link.pid, "SIGKILL"));
      return new Promise(() => {});
    });
  });
  await assert.rejects(ask(link, [{ method: "wait" }]), /SIGKILL/);
  assert.ok(await aborted);
});
