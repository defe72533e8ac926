import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync } from "node:fs";
import { mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { Sandbox } from "cay";
import { errno, folder as makeFolder, own } from "./support.mjs";

describe("files", () => {
  let sandbox, files;
  before(async () => {
    sandbox = await Sandbox.create();
    files = sandbox.files;
  });
  after(() => sandbox.kill());

  test("write and read", async () => {
    await files.write("/tmp/a", "héllo");
    assert.deepEqual(await files.read("/tmp/a"), Buffer.from("héllo"));
    assert.equal(await files.readText("/tmp/a"), "héllo");
    await files.write("/tmp/a", new Uint8Array([0, 255, 10]));
    assert.deepEqual([...(await files.read("/tmp/a"))], [0, 255, 10]);
    await files.write("/tmp/empty", "");
    assert.equal((await files.read("/tmp/empty")).length, 0);
  });

  test("a view of a larger buffer is only its part", async () => {
    const whole = Buffer.from("0123456789");
    await files.write("/tmp/part", whole.subarray(2, 5));
    assert.equal(await files.readText("/tmp/part"), "234");
  });

  test("parents, appending, modes, relative paths", async () => {
    await files.write("deep/er/f", "1", { mode: 0o755 });
    await files.write("deep/er/f", "2", { append: true });
    assert.equal(await files.readText("/home/agent/deep/er/f"), "12");
    assert.equal((await files.stat("deep/er/f")).mode, 0o755);
  });

  test("stat, list, exists", async () => {
    await sandbox.commands.run("mkdir -p l/d; echo x >l/f; ln -s f l/s");
    const info = await files.stat("l/f");
    assert.equal(info.type, "file");
    assert.equal(info.size, 2);
    assert.ok(info.mtimeMs > 0);
    const listed = await files.list("l");
    assert.deepEqual(listed.map((e) => [e.name, e.type]).sort(), [["d", "dir"], ["f", "file"], ["s", "link"]]);
    assert.equal(listed.find((e) => e.name === "s").target, "f");
    assert.ok(await files.exists("l/f"));
    assert.ok(!(await files.exists("l/none")));
    assert.ok(!(await files.exists("l/f/below")));
    assert.deepEqual((await files.list("/home/agent/deep", { recursive: true })).map((e) => e.name).sort(), ["er", "er/f"]);
  });

  test("mkdir, rm, rename, symlink", async () => {
    await files.mkdir("m");
    await assert.rejects(files.mkdir("m"), errno("EEXIST"));
    await files.mkdir("m/a/b", { parents: true });
    await files.mkdir("m/a/b", { parents: true });
    await assert.rejects(files.rm("m"), errno("ENOTEMPTY"));
    await files.rename("m/a", "m/c");
    assert.ok(await files.exists("m/c/b"));
    await files.rm("m", { recursive: true });
    assert.ok(!(await files.exists("m")));
    await files.symlink("/etc/passwd", "link");
    assert.ok((await files.readText("link")).includes("agent"));
  });

  for (const [name, call] of [
    ["ENOENT", () => files.read("/tmp/nonexistent")],
    ["ENOENT", () => files.stat("/tmp/nonexistent")],
    ["ENOENT", () => files.rm("/tmp/nonexistent")],
    ["ENOENT", () => files.list("/tmp/nonexistent")],
    ["ENOENT", () => files.rename("/tmp/nonexistent", "/tmp/x")],
    ["ENOENT", () => files.mkdir("/tmp/no/where")],
    ["EISDIR", () => files.read("/tmp")],
    ["EISDIR", () => files.write("/tmp", "x")],
    ["ENOTDIR", () => files.list("/etc/passwd")],
    ["ENOTDIR", () => files.write("/etc/passwd/x", "x")],
    ["EEXIST", () => files.mkdir("/tmp")],
    ["ENOTEMPTY", () => files.rm("/etc")],
    ["ENAMETOOLONG", () => files.read(`/${"x".repeat(5000)}`)],
  ])
    test(`the name of an error: ${name} of ${String(call).slice(12)}`, () => assert.rejects(call(), errno(name)));

  test("data that is none", () => assert.rejects(files.write("/tmp/x", 7), TypeError));

  for (const size of [0, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, 9 << 20])
    test(`a file of ${size} bytes, which travels in pieces`, async () => {
      const data = Buffer.alloc(size, "0123456789abcde");
      await files.write("/tmp/pieces", data);
      assert.equal((await files.stat("/tmp/pieces")).size, size);
      assert.ok((await files.read("/tmp/pieces")).equals(data));
      await files.write("/tmp/pieces", data, { append: true });
      assert.equal((await files.stat("/tmp/pieces")).size, 2 * size);
      await files.rm("/tmp/pieces");
    });

  test("a folder in and out again", async (t) => {
    const folder = makeFolder(t);
    const from = join(folder, "from");
    await mkdir(join(from, "sub/empty"), { recursive: true });
    await writeFile(join(from, "a.txt"), "a");
    await writeFile(join(from, "sub/run.sh"), "#!/bin/sh\necho ran\n", { mode: 0o755 });
    await writeFile(join(from, "big"), Buffer.alloc((8 << 20) + 5, 7));
    await symlink("../a.txt", join(from, "sub/l"));
    await files.upload(from, "up");
    await files.upload(from, "up"); // again, onto itself
    assert.equal((await sandbox.commands.run("up/sub/run.sh; cat up/sub/l; stat -c %s up/big; ls up/sub")).stdout,
      `ran\na${(8 << 20) + 5}\nempty\nl\nrun.sh\n`);
    const to = join(folder, "to");
    await files.download("up", to);
    await files.download("up", to);
    assert.equal(await readFile(join(to, "a.txt"), "utf8"), "a");
    assert.equal(await readlink(join(to, "sub/l")), "../a.txt");
    assert.equal((await stat(join(to, "big"))).size, (8 << 20) + 5);
    assert.ok(((await stat(join(to, "sub/run.sh"))).mode & 0o100) !== 0);
    await files.download("up/a.txt", join(folder, "one"));
    assert.equal(await readFile(join(folder, "one"), "utf8"), "a");
  });

  test("downloaded links cannot lead out", async (t) => {
    const folder = makeFolder(t);
    const to = join(folder, "out");
    await writeFile(join(folder, "precious"), "mine");
    await sandbox.commands.run("mkdir -p evil/d; ln -s /etc evil/abs; ln -s ../../precious evil/up; ln -s d/../../x evil/mid; ln -s d evil/ok; mkfifo evil/pipe");
    await mkdir(to);
    await symlink(join(folder, "precious"), join(to, "file"));
    await sandbox.commands.run("echo overwritten >evil/file");
    await files.download("evil", to);
    assert.equal(await readFile(join(folder, "precious"), "utf8"), "mine");
    assert.equal(await readFile(join(to, "file"), "utf8"), "overwritten\n");
    for (const name of ["abs", "up", "mid", "pipe"]) await assert.rejects(stat(join(to, name)), { code: "ENOENT" });
    assert.equal(await readlink(join(to, "ok")), "d");
  });

  test("a mount", async (t) => {
    const folder = makeFolder(t);
    await writeFile(join(folder, "seen"), "from outside");
    await sandbox.mount(folder, "/mnt/host");
    assert.equal((await sandbox.commands.run("cat /mnt/host/seen; echo x >/mnt/host/new")).stdout, "from outside");
    await assert.rejects(stat(join(folder, "new")), { code: "ENOENT" });
    await sandbox.unmount("/mnt/host");
    assert.ok(!(await files.exists("/mnt/host/seen")));
    await sandbox.mount(folder, "/mnt/host", { writable: true });
    assert.ok((await sandbox.commands.run("echo x >/mnt/host/new")).ok);
    assert.equal(await readFile(join(folder, "new"), "utf8"), "x\n");
    await assert.rejects(sandbox.mount("/nowhere", "/mnt/other"), errno("ENOENT"));
  });

  test("a missing file can be copied neither in nor out", async (t) => {
    const folder = makeFolder(t);
    await assert.rejects(files.upload(join(folder, "nothing"), "/tmp/x"), { code: "ENOENT", syscall: "stat" });
    await assert.rejects(files.download("/tmp/nothing", join(folder, "x")), errno("ENOENT"));
  });

  test("five hundred small files in and out", async (t) => {
    const folder = makeFolder(t);
    for (let i = 0; i < 500; i++) {
      await mkdir(join(folder, "in", String(i % 10)), { recursive: true });
      await writeFile(join(folder, "in", String(i % 10), String(i)), String(i));
    }
    await files.upload(join(folder, "in"), "/tmp/small");
    assert.equal((await sandbox.commands.run("find /tmp/small -type f | wc -l")).stdout.trim(), "500");
    await files.download("/tmp/small", join(folder, "out"));
    for (let i = 0; i < 10; i++)
      for (const name of await readdir(join(folder, "in", String(i))))
        assert.equal(await readFile(join(folder, "out", String(i), name), "utf8"), name);
  });

  test("calls take effect in the order they were made", async () => {
    const answers = [];
    for (let i = 0; i < 50; i++) {
      answers.push(files.write("/tmp/order", `${i}-`.repeat(20_000)), files.readText("/tmp/order"));
    }
    const texts = (await Promise.all(answers)).filter((text) => text !== undefined);
    assert.deepEqual(texts.map((text) => parseInt(text)), Array.from({ length: 50 }, (_, i) => i));
  });
});

test("the limit of files holds", async (t) => {
  const folder = makeFolder(t);
  const sandbox = await own(t, { fsLimitBytes: 100_000 });
  await assert.rejects(sandbox.files.write("/tmp/x", Buffer.alloc(200_000)), errno("ENOSPC"));
  assert.ok((await sandbox.usage()).fsPeakBytes <= 100_000);
  await sandbox.files.write("/tmp/x", Buffer.alloc(1000));
  for (let i = 0; i < 20; i++) await writeFile(join(folder, String(i)), "x".repeat(10_000));
  await assert.rejects(sandbox.files.upload(folder, "/tmp/many"), errno("ENOSPC"));
  await sandbox.files.rm("/tmp/many", { recursive: true });
});

test("10,000 small files", async (t) => {
  const sandbox = await own(t);
  const names = Array.from({ length: 10_000 }, (_, i) => `many/${i % 100}/${i}`);
  await Promise.all(names.map((name) => sandbox.files.write(name, name)));
  const texts = await Promise.all(names.map((name) => sandbox.files.readText(name)));
  assert.deepEqual(texts, names);
});

test("sparse files are neither read nor copied as zeros", async (t) => {
  const folder = makeFolder(t);
  const sandbox = await own(t, { fsLimitBytes: 10_000_000 });
  {
    await sandbox.commands.run("printf begin > sparse; truncate -s 400000000 sparse; printf end >> sparse", { check: true });
    await assert.rejects(sandbox.files.read("sparse"), { errno: "EFBIG", message: /limit of 10000000 bytes/ });
    await sandbox.files.download("sparse", join(folder, "sparse"));
    const info = statSync(join(folder, "sparse"));
    assert.equal(info.size, 400_000_003);
    assert.ok(info.blocks * 512 < 1_000_000);
    await sandbox.files.write("ten", "0123456789");
    assert.equal((await sandbox.files.read("ten", { limit: 10 })).length, 10);
    await assert.rejects(sandbox.files.readText("ten", { limit: 9 }), { errno: "EFBIG" });
    await assert.rejects(sandbox.files.download("ten", join(folder, "ten"), { limit: 9 }), { errno: "EFBIG" });
    assert.equal(existsSync(join(folder, "ten")), false);
  }
});

test("names that are not UTF-8", async (t) => {
  const folder = makeFolder(t);
  const sandbox = await own(t);
  const name = (text) => Buffer.from(text, "latin1");
  {
    await sandbox.commands.run("mkdir $'d\\377'; echo hi > $'d\\377/f\\200'; ln -s $'f\\200' $'d\\377/l'", { check: true });
    const [entry] = await sandbox.files.list(".");
    assert.deepEqual([entry.name, entry.nameBytes], ["d\ufffd", name("d\xff")]);
    assert.equal(await sandbox.files.readText(name("d\xff/f\x80")), "hi\n");
    assert.deepEqual((await sandbox.files.stat(name("d\xff/f\x80"))).nameBytes, name("f\x80"));
    await sandbox.files.download(name("d\xff"), join(folder, "out"));
    const out = readdirSync(join(folder, "out"), "buffer").sort(Buffer.compare);
    assert.deepEqual(out, [name("f\x80"), name("l")]);
    await sandbox.files.upload(join(folder, "out"), "back");
    assert.equal((await sandbox.commands.run("cat back/l")).stdout, "hi\n");
    await sandbox.files.rename(name("back/f\x80"), name("back/g\x81"));
    assert.equal(await sandbox.files.exists(name("back/g\x81")), true);
    assert.ok((await sandbox.commands.run("pwd", { cwd: name("d\xff"), binary: true })).stdoutBytes.includes(255));
  }
});
