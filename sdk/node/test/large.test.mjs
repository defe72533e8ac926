// Large data travels in pieces: neither side holds much more than one piece.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { folder, node } from "./support.mjs";

const SIZE = 100_000_000;
const MIB = 1 << 20;
const digest = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");
const PEAK = `import { readFileSync } from "node:fs";
  const peak = (pid) => Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync(\`/proc/\${pid}/status\`, "utf8"))[1]) * 1024;\n`;

test("100 MB in and out in bounded memory", async (t) => {
  const place = folder(t);
  const data = Buffer.alloc(SIZE, "0123456789abcdefg");
  for (let at = 0; at < SIZE; at += MIB) data.writeUInt32BE(at, at);
  writeFileSync(join(place, "in"), data);
  const done = await node(`${PEAK}
    const s = await Sandbox.create();
    const before = [peak(process.pid), peak(s.pid)];
    await s.files.upload(${JSON.stringify(join(place, "in"))}, "/tmp/big");
    const { stdout } = await s.commands.run("sha256sum </tmp/big");
    await s.files.download("/tmp/big", ${JSON.stringify(join(place, "out"))});
    console.log(JSON.stringify({ sum: stdout.split(" ")[0], client: peak(process.pid) - before[0], server: peak(s.pid) - before[1] }));`);
  const { sum, client, server } = JSON.parse(done.stdout || done.stderr);
  assert.equal(sum, digest(join(place, "in")));
  assert.equal(sum, digest(join(place, "out")));
  if (process.env.CAY_ISOLATION !== "library") assert.ok(client < 200 * MIB, `client ${client}`); // else it is the server, too
  assert.ok(server < SIZE + (process.env.CAY_ISOLATION === "library" ? 200 : 150) * MIB, `server ${server}`);
});

test("a hundred large writes at once take the memory of a few", async () => {
  const done = await node(`${PEAK}
    const s = await Sandbox.create();
    const data = Buffer.alloc(4 << 20, "x");
    const before = peak(process.pid);
    await Promise.all(Array.from({ length: 100 }, () => s.files.write("/tmp/same", data)));
    console.log(peak(process.pid) - before);`);
  const grown = Number(done.stdout);
  assert.ok(grown > 0 && grown < 200 * MIB, `${grown}`);
});
