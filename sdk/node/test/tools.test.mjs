// Tools: modules that are made here, byte by byte, because a user of the package has no compiler for them.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

import { SandboxDied, SandboxError, ToolFailed, Tools } from "cay";

const section = (number, content) => [number, content.length, ...content];
const named = (name, kind, index) => [name.length, ...Buffer.from(name), kind, index];
const body = (code) => [code.length + 2, 0, ...code, 0x0b];

// alloc gives 1024; dealloc does nothing; execute gives its input back: pointer << 32 | length.
const module = (code) => Buffer.from([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
  ...section(1, [3, 0x60, 1, 0x7f, 1, 0x7f, 0x60, 2, 0x7f, 0x7f, 0, 0x60, 2, 0x7f, 0x7f, 1, 0x7e]),
  ...section(3, [3, 0, 1, 2]),
  ...section(5, [1, 0, 2]),
  ...section(7, [4, ...named("memory", 2, 0), ...named("alloc", 0, 0), ...named("dealloc", 0, 1), ...named("execute", 0, 2)]),
  ...section(10, [3, ...body([0x41, 0x80, 0x08]), ...body([]), ...body(code)]),
]);
const MIRROR = module([0x20, 0, 0xad, 0x42, 0x20, 0x86, 0x20, 1, 0xad, 0x84]);
const LOOP = module([0x03, 0x40, 0x0c, 0, 0x0b, 0]); // execute never ends

const ask = (name, args = {}) => ({ status: "capability_call", abi_version: 1, capability_call: { name, args } });

describe("tools", () => {
  let dir;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "cay-tools-"));
    await mkdir(join(dir, "wasm"));
    for (const name of ["todo", "reminders"]) await writeFile(join(dir, `wasm/${name}_tool.wasm`), MIRROR);
  });
  after(() => rm(dir, { recursive: true }));

  async function withTools(options, work) {
    const tools = await Tools.open({ dir, ...options });
    try {
      return await work(tools);
    } finally {
      await tools.close();
    }
  }

  test("a tool is called with JSON", () =>
    withTools({}, async (tools) => {
      assert.deepEqual(await tools.call("todo", { a: [1, "ä\n"] }), { a: [1, "ä\n"] });
      assert.deepEqual(await tools.call("todo"), {});
      assert.match(inspect(tools), /Tools \{ pid \d+ \}/);
    }));

  test("stored rows are there next time", async () => {
    const database = join(dir, "keep.db");
    let answer;
    for (let n = 0; n < 2; n++)
      await withTools({ database, user: "me" }, async (tools) => {
        await tools.call("todo", ask("kv.sqlite.todo.create", { title: "milk" }));
        answer = await tools.call("todo", ask("kv.sqlite.todo.list"));
        assert.deepEqual((await tools.call("todo", ask("kv.sqlite.todo.list"), { user: "you" })).capability_result.result.items, []);
      });
    assert.deepEqual(answer.capability_result.result.items.map((one) => one.title), ["milk", "milk"]);
  });

  test("failures are exceptions with the code", () =>
    withTools({}, async (tools) => {
      await assert.rejects(
        tools.call("todo", ask("log.emit", { event: "x" })),
        (e) => e instanceof ToolFailed && e instanceof SandboxError && e.tool === "todo" && e.toolCode === "forbidden" && e.result.code === "forbidden" && /^todo: forbidden: /.test(e.message),
      );
      await assert.rejects(tools.call("nothing"), (e) => e instanceof ToolFailed && e.toolCode === "module_not_found");
      await assert.rejects(tools.call("../x"), (e) => e instanceof SandboxError && !(e instanceof ToolFailed));
      assert.deepEqual(await tools.call("todo", { still: "there" }), { still: "there" });
    }));

  test("a configuration is an object or a file", async () => {
    const config = { tools: { settings: { sandbox: { tools: { todo: { capabilities: { allow: ["clock.now_unix"] } } } } } } };
    const file = join(dir, "cay.json");
    await writeFile(file, JSON.stringify(config));
    for (const given of [config, file, pathToFileURL(file)])
      await withTools({ config: given }, async (tools) => {
        assert.ok((await tools.call("todo", ask("clock.now_unix"))).capability_result.result.unix > 1.7e9);
        const list = await tools.list();
        assert.deepEqual(list.map((one) => [one.name, one.configured, one.code, one.allow]), [
          ["reminders", false, "ok", ["kv.sqlite.reminders.*"]],
          ["todo", true, "ok", ["clock.now_unix"]],
        ]);
      });
    await assert.rejects(Tools.open({ config: { tools: { settings: { sandbox: 1 } } } }), /tools\.settings\.sandbox: must be an object/);
    await assert.rejects(Tools.open({ config: join(dir, "none.json") }), { code: "ENOENT" });
  });

  test("a due entry is delivered once and recorded", async () => {
    const audit = join(dir, "audit.log");
    await withTools({ database: join(dir, "due.db"), audit, user: "me" }, async (tools) => {
      await tools.call("reminders", ask("kv.sqlite.reminders.create", { title: "tea", due_at: 1000 }));
      const events = await tools.due();
      assert.deepEqual(events.map((one) => [one.kind, one.name, one.userId, one.dueAt]), [["reminder", "tea", "me", 1000]]);
      assert.deepEqual(await tools.due(), []);
    });
    assert.match(await readFile(audit, "utf8"), /"kv\.sqlite\.reminders\.create"/);
  });

  test("bytes are checked", () =>
    withTools({}, async (tools) => {
      assert.equal(await tools.check(MIRROR), null);
      assert.match(await tools.check(MIRROR, "handle"), /^module_no_entrypoint: /);
      assert.match(await tools.check(new Uint8Array(0)), /^module_not_wasm: /);
    }));

  test("a round brings the answer to the tool", () =>
    withTools({ rounds: 2, config: { tools: { settings: { sandbox: { tools: { todo: { capabilities: { allow: ["clock.now_unix"] } } } } } } } }, async (tools) => {
      const last = await tools.call("todo", ask("clock.now_unix"));
      assert.equal(last.round, 1);
      assert.equal(last.input.status, "capability_call");
    }));

  test("a signal ends a call", async () => {
    await writeFile(join(dir, "wasm/loop_tool.wasm"), LOOP);
    const config = { tools: { settings: { sandbox: { tools: { loop: { wasm: { timeout_ms: 600_000 } } } } } } };
    const audit = join(dir, "aborted.log");
    await withTools({ config, audit }, async (tools) => {
      await assert.rejects(tools.call("loop", {}, { signal: AbortSignal.abort(new Error("before")) }), /before/);
      await assert.rejects(tools.call("loop", {}, { signal: AbortSignal.timeout(300) }), { name: "TimeoutError" });
      while ((await readFile(audit, "utf8")) === "") await new Promise((resolve) => setTimeout(resolve, 10));
      assert.equal(JSON.parse(await readFile(audit, "utf8")).code, "cancelled");
      const controller = new AbortController();
      assert.deepEqual(await tools.call("todo", { a: 1 }, { signal: controller.signal }), { a: 1 });
      controller.abort();
    });
  });

  test("calls run at once, and end with the set", async () => {
    const tools = await Tools.open({ dir });
    const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => tools.call("todo", { n })));
    assert.deepEqual(answers.map((one) => one.n), Array.from({ length: 200 }, (_, n) => n));
    await tools.close();
    await tools.close();
    await assert.rejects(tools.call("todo"), SandboxDied);
  });
});
