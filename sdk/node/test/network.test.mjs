// The network of a sandbox: questions, decisions, secrets, recordings.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Sandbox } from "cay";

async function withPages(use) {
  const server = createServer((request, response) => response.end(`page ${request.url}\n`));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await use(server.address().port);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const hosts = { "a.test": "127.0.0.1" };
const fetchPage = (port) => `wget -q -T 20 -O- http://a.test:${port}/x`;

test("a function is asked where no rule decides, and told of decisions", async () => {
  await withPages(async (port) => {
    const asked = [];
    const told = [];
    const ask = async (question) => {
      asked.push(question);
      return asked.length > 1;
    };
    const sandbox = await Sandbox.create({ net: { hosts, ask, decision: (d) => told.push(d) } });
    try {
      assert.match((await sandbox.commands.run(fetchPage(port))).stderr, /Permission denied/);
      assert.equal((await sandbox.commands.run(fetchPage(port))).stdout, "page /x\n");
    } finally {
      await sandbox.kill();
    }
    assert.deepEqual(asked.map((a) => [a.event, a.host, a.port]), [["connect", "a.test", port], ["connect", "a.test", port]]);
    assert.ok(told.some((d) => d.event === "http" && d.allowed));
  });
});

test("a function that throws is a no", async () => {
  await withPages(async (port) => {
    const ask = () => {
      throw new Error("no");
    };
    const sandbox = await Sandbox.create({ net: { hosts, ask, decision: ask } });
    try {
      assert.match((await sandbox.commands.run(fetchPage(port))).stderr, /Permission denied/);
    } finally {
      await sandbox.kill();
    }
  });
});

test("a run is recorded and replayed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "cay-node-"));
  const tape = join(folder, "tape.json");
  let url;
  await withPages(async (port) => {
    url = port;
    const sandbox = await Sandbox.create({ net: { allow: [`127.0.0.1:${port}`], hosts, recordFile: tape } });
    assert.equal((await sandbox.commands.run(fetchPage(port))).stdout, "page /x\n");
    await sandbox.kill();
  });
  assert.equal(JSON.parse(await readFile(tape, "utf8")).exchanges.length, 1);
  const sandbox = await Sandbox.create({ net: { allow: [`127.0.0.1:${url}`], replayFile: tape } });
  assert.equal((await sandbox.commands.run(fetchPage(url))).stdout, "page /x\n");
  await sandbox.kill();
  await rm(folder, { recursive: true });
});

test("code sees a placeholder of a secret", async () => {
  const secrets = [{ name: "TOKEN", value: "a-value-of-its-own", hosts: ["a.test"] }];
  const sandbox = await Sandbox.create({ net: { allow: ["a.test"], secrets } });
  const seen = (await sandbox.commands.run("env")).stdout;
  await sandbox.kill();
  assert.match(seen, /TOKEN=cay-secret-TOKEN-/);
  assert.ok(!seen.includes("a-value-of-its-own"));
});
