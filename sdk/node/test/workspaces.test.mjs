// Workspaces and copy-on-write mounts, by the package.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";

import { WorkspaceError, Workspaces } from "cay";
import { errno, folder, own } from "./support.mjs";

const MANIFEST = { entries: [{ type: "file", path: "a", content: "one\n" }, { type: "directory", path: "d" }], env: { NAME: "cay" } };
const kind = (name) => (e) => e instanceof WorkspaceError && e.kind === name;

async function opened(t, options) {
  const workspaces = await Workspaces.open(options);
  t.after(() => workspaces.close());
  return workspaces;
}

test("a session runs commands and has files", async (t) => {
  const workspaces = await opened(t);
  const session = await workspaces.provision(MANIFEST);
  const done = await session.exec("cat a; echo $NAME $X >&2; exit 3", { env: { X: "y" } });
  assert.deepEqual([done.stdout, done.stderr, done.exitCode, done.timedOut], ["one\n", "cay y\n", 3, false]);
  await session.writeFile("d/new", Uint8Array.of(255));
  assert.deepEqual([...(await session.readFile("d/new"))], [255]);
  assert.deepEqual((await session.listDir()).map((e) => [e.name, e.type]), [["a", "file"], ["d", "directory"]]);
  await session.applyPatch("--- a\n+++ a\n@@ -1 +1 @@\n-one\n+two\n");
  assert.equal((await session.readFile("a")).toString(), "two\n");
  assert.ok((await session.exec("sleep 100", { timeoutMs: 200 })).timedOut);
  await session.writeFile("a", "0\n1\n2\n");
  const fuzzy = "--- o/x/a\n+++ n/x/a\n@@ -1,3 +1,3 @@\n other\n-1\n+one\n 2\n";
  for (const refused of [{ strip: 1 }, { strip: 2, strict: true }, { strip: 2, fuzz: 0 }]) await assert.rejects(session.applyPatch(fuzzy, refused));
  await session.applyPatch(fuzzy, { strip: 2, fuzz: 1 });
  assert.equal((await session.readFile("a")).toString(), "0\none\n2\n");
});

test("a snapshot is resumed, and parked sessions go on, in another process", async (t) => {
  const store = folder(t);
  const one = await opened(t, { store });
  const session = await one.provision(MANIFEST);
  const id = await session.snapshot();
  await session.park();
  await one.close();
  const other = await opened(t, { store });
  assert.deepEqual((await other.snapshots()).map((s) => s.id), [id]);
  assert.equal((await (await other.resume(id)).exec("cat a")).stdout, "one\n");
  assert.equal((await (await other.start(session.handle)).exec("cat a")).stdout, "one\n");
  assert.deepEqual(await other.fsck(), []);
  assert.equal(await other.prune({ keep: 1 }), 0);
  await other.delete(id);
  await assert.rejects(other.resume(id), kind("SnapshotNotFound"));
});

test("output comes as it is written, and processes go on", async (t) => {
  const session = await (await opened(t)).provision(MANIFEST);
  let heard = "";
  await session.exec("echo one; echo two", { onStdout: (text) => void (heard += text) });
  assert.equal(heard, "one\ntwo\n");
  const process = await session.start("while read x; do echo got $x; done; exit 3");
  await assert.rejects(process.wait(1), kind("Timeout"));
  await process.write("one\n");
  await process.endInput();
  const ended = await process.wait();
  assert.deepEqual([ended.stdout, ended.exitCode], ["got one\n", 3]);
  const killed = await session.start("sleep 1000");
  await killed.kill();
  assert.equal((await killed.wait()).exitCode, 124);
});

test("failures have names", async (t) => {
  const workspaces = await opened(t);
  await assert.rejects(workspaces.provision({ entries: [{ type: "directory", path: "/x" }] }), kind("PathTraversal"));
  await assert.rejects(workspaces.provision({ entry: [] }), kind("InvalidRequest"));
  await assert.rejects(workspaces.provision({ entries: [{ type: "git_repo", url: "ssh://x", path: "r" }] }), kind("ProvisionFailed"));
  const session = await workspaces.provision({});
  await assert.rejects(session.readFile("missing"), kind("ExecutionFailed"));
  await session.stop();
  await assert.rejects(session.exec("true"), kind("SessionNotFound"));
});

test("changes of a copy-on-write mount stay in the sandbox until they are applied", async (t) => {
  const place = folder(t);
  mkdirSync(join(place, "dir"));
  writeFileSync(join(place, "a"), "one\n");
  writeFileSync(join(place, "dir", "b"), "b\n");
  const sandbox = await own(t, { mounts: { "/w": { hostPath: place, copyOnWrite: true } } });
  await sandbox.commands.run("echo two > a; rm -r dir", { cwd: "/w", check: true });
  assert.deepEqual((await sandbox.mountChanges("/w")).map((c) => [c.path, c.kind]), [["a", "changed"], ["dir", "removed"], ["dir/b", "removed"]]);
  assert.match(await sandbox.mountPatch("/w"), /-one\n\+two\n/);
  assert.equal(await sandbox.mountApply("/w", ["dir"]), 2);
  assert.ok(!existsSync(join(place, "dir")));
  assert.equal(readFileSync(join(place, "a"), "utf8"), "one\n");
  writeFileSync(join(place, "a"), "by another program\n");
  await assert.rejects(sandbox.mountApply("/w"), errno("EEXIST"));
});

const native = join(createRequire(import.meta.url).resolve("cay"), "../../native");

/** The program of the package, started by a script that takes something away before. */
function program(t, ...lines) {
  const path = join(folder(t), "cay");
  writeFileSync(path, ["#!/bin/sh", ...lines, `exec '${join(native, "bin/cay")}' "$@"`, ""].join("\n"), { mode: 0o755 });
  return path;
}

/** Guests whose shell was cut, its module and its compiled code, as by a disk that was full. */
function damagedGuests(t) {
  const guests = join(native, "lib/cay/guest");
  const place = folder(t);
  for (const name of readdirSync(guests)) {
    const path = realpathSync(join(guests, name));
    if (name === "bash.wasm" || name === "bash.cwasm") writeFileSync(join(place, name), readFileSync(path).subarray(0, 100_000));
    else symlinkSync(path, join(place, name));
  }
  return place;
}

const execWith = async (t, binary) => (await (await opened(t, { binary })).provision({})).exec("true");

const PROVOKED = {
  ProvisionFailed: (w) => w.provision({ entries: [{ type: "git_repo", url: "ssh://x", path: "r" }] }, { onProgress: () => {} }),
  PathTraversal: (w, s) => s.readFile("../x"),
  SessionNotFound: (w) => w.start("session-0"),
  SnapshotNotFound: (w) => w.resume("snap-0"),
  ExecutionFailed: (w, s) => s.readFile("missing"),
  Timeout: async (w, s) => (await s.start("sleep 10")).wait(1),
  MemoryExceeded: async (w) => (await w.provision({ limits: { memory: 1_000_000 } })).exec("true"),
  InvalidRequest: (w) => w.provision({ entries: 1 }),
  BackendUnavailable: () => Workspaces.open({ store: "/proc/version/x" }),
  EnforcerFailed: (w, s, t) => execWith(t, program(t, `export CAY_GUESTS='${damagedGuests(t)}'`)),
  EnforcerUnavailable: (w, s, t) => execWith(t, program(t, "ulimit -v 1048576")),
  PolicyViolation: (w, s) => s.writeFile("big", Buffer.alloc(2 << 20)),
};
for (const [name, provoke] of Object.entries(PROVOKED)) {
  test(`${name} comes by its name`, async (t) => {
    const workspaces = await opened(t, { store: folder(t) });
    const session = await workspaces.provision({ limits: { disk: 1 << 20 } });
    await assert.rejects(async () => provoke(workspaces, session, t), kind(name));
  });
}

test("the failures are those of the contract", () => assert.equal(Object.keys(PROVOKED).length, 12));

test("a clone tells of its progress", async (t) => {
  const place = folder(t);
  execFileSync("sh", ["-c", "git init -q . && for i in 1 2 3; do echo $i > f$i; done && git add -A && git -c user.name=a -c user.email=a@b commit -qm one"], { cwd: place });
  // With the program of the build: the package has no cay-git.
  const workspaces = await opened(t, { gitFiles: place, binary: process.env["CAY_SERVICE"] });
  const told = [];
  const manifest = { entries: [{ type: "git_repo", path: "r", url: `file://${place}` }] };
  const session = await workspaces.provision(manifest, { onProgress: (progress) => told.push(progress) });
  assert.equal((await session.exec("cat r/f3")).stdout, "3\n");
  const last = told.at(-1);
  assert.deepEqual([last.path, last.received], ["r", last.total]);
  assert.ok(last.total >= 5);
});

test("a snapshot waits for what runs, and no longer than it may", async (t) => {
  const file = join(folder(t), "s");
  const sandbox = await own(t);
  await sandbox.commands.run("mkfifo /tmp/fifo; cat /tmp/fifo > got & true");
  await assert.rejects(sandbox.saveSnapshot(file, { waitMs: 1 }), errno("EBUSY"));
  const [, end] = await Promise.all([sandbox.saveSnapshot(file, { waitMs: 600_000 }), sandbox.commands.run("echo done > /tmp/fifo")]);
  assert.equal(end.exitCode, 0);
  const copy = await own(t, { snapshot: file });
  assert.equal(await copy.files.readText("got"), "done\n");
});
