// cay/service against a server of its own, over @grpc/grpc-js where it is installed. CAY_SERVICE names a `cay` that has the service.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import test from "node:test";

import { Service, ServiceError, State } from "cay/service";
import { folder } from "./support.mjs";

const program = process.env.CAY_SERVICE;
const TOKEN = "0123456789abcdef";

async function server(t, ...words) {
  const place = folder(t);
  writeFileSync(join(place, "tokens"), `me:${TOKEN}\n`, { mode: 0o600 });
  const child = spawn(program, ["serve", "--grpc", "127.0.0.1:0", "--db", join(place, "db"), "--tokens", join(place, "tokens"), ...words], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = await once(createInterface(child.stdout), "line");
  const service = await Service.connect(line.split(" ")[1], { token: TOKEN, timeoutMs: 60_000 });
  t.after(async () => {
    service.close();
    child.kill("SIGTERM");
    const [code] = await once(child, "exit");
    assert.equal(code, 0);
  });
  return { service, address: line.split(" ")[1] };
}

const status = (name) => (e) => e instanceof ServiceError && e.status === name && e.message.startsWith(`${name}: `);

test("all methods of the service answer", { skip: !program && "no CAY_SERVICE" }, async (t) => {
  const { service } = await server(t);
  assert.equal((await service.health()).healthy, true);
  const first = await service.execute({ code: "// Adds numbers\nconsole.log(6 * 7); console.error('e')" });
  assert.equal(first.output, "42\ne\n");
  assert.equal(first.error, undefined);
  assert.match(first.cached.name, /^adds-numbers-/);
  assert.ok(Math.abs(first.cached.createdAtMs - Date.now()) < 60_000);
  assert.equal((await service.execute({ cached: "ADDS" })).cached, undefined);
  assert.deepEqual((await service.cache("adds-*")).map((e) => e.name), [first.cached.name]);
  const chunks = [];
  for await (const chunk of service.stream({ code: "console.log('a'); console.error('b')" })) chunks.push(chunk);
  assert.deepEqual(chunks.slice(0, -1).map((c) => [c.output, c.errorOutput]), [["a\n", undefined], [undefined, "b\n"]]);
  assert.equal(chunks.at(-1).result.state, State.COMPLETED);
  const id = await service.start({ code: "console.log('\u20ac'); throw new Error('broken')" });
  const done = await service.get(id, { wait: true });
  assert.equal(done.state, State.FAILED);
  assert.match(done.result.error, /broken/);
  assert.equal(done.outputLength, 4);
  assert.equal((await service.get(id, { outputOffset: 3 })).output, "\n");
  assert.deepEqual((await service.executions({ states: [State.FAILED] })).map((e) => e.executionId), [id]);
  const tested = await service.test("const { test } = require('uvu'); test('one', () => {}); test.run()", { code: "1" });
  assert.deepEqual([tested.success, tested.summary.passed, tested.tests[0].name], [true, 1, "one"]);
  assert.ok((await service.clearCache()) >= 2);
  assert.deepEqual(await service.cache(), []);
});

test("failed calls have the status of gRPC", { skip: !program && "no CAY_SERVICE" }, async (t) => {
  const { service, address } = await server(t, "--parallel", "1", "--queue", "1");
  await assert.rejects(service.get("x"), status("NOT_FOUND"));
  await assert.rejects(service.execute({}), status("INVALID_ARGUMENT"));
  const stranger = await Service.connect(address);
  t.after(() => stranger.close());
  await assert.rejects(stranger.health(), status("UNAUTHENTICATED"));
  await assert.rejects(stranger.stream({ code: "1" }).next(), status("UNAUTHENTICATED"));
  const running = await service.start({ code: "for (;;);" });
  await assert.rejects(async () => {
    for (let i = 0; i < 3; i++) await service.start({ code: "1" });
  }, status("RESOURCE_EXHAUSTED"));
  assert.equal((await service.cancel(running)).state, State.CANCELLED);
  assert.equal((await service.cancel(running)).success, true);
});

test("leaving a stream cancels its execution", { skip: !program && "no CAY_SERVICE" }, async (t) => {
  const { service } = await server(t);
  let id;
  for await (const chunk of service.stream({ code: "console.log('begun'); for (;;);" })) {
    id = chunk.executionId;
    break;
  }
  assert.equal((await service.get(id, { wait: true })).state, State.CANCELLED);
});
