import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { Sandbox, SandboxError } from "cay";

const errno = (name) => (e) => e instanceof SandboxError && e.errno === name && e.message.startsWith(`${name}: `);

describe("files", () => {
  let sandbox, files, folder;
  before(async () => {
    sandbox = await Sandbox.create();
    files = sandbox.files;
    folder = await mkdtemp(join(tmpdir(), "cay-node-"));
  });
  after(async () => {
    await sandbox.kill();
    await rm(folder, { recursive: true });
  });

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

  test("errors have names", async () => {
    await assert.rejects(files.read("/none"), errno("ENOENT"));
    await assert.rejects(files.read("/tmp"), errno("EISDIR"));
    await assert.rejects(files.list("/etc/passwd"), errno("ENOTDIR"));
    await assert.rejects(files.write("/tmp", "x"), errno("EISDIR"));
    await assert.rejects(files.write("/tmp/x", 7), TypeError);
  });

  test("a large file each way", async () => {
    const data = Buffer.alloc(20 << 20, "0123456789abcdef");
    data[12345678] = 0;
    await files.write("/tmp/large", data);
    assert.ok((await files.read("/tmp/large")).equals(data));
    await files.rm("/tmp/large");
  });

  test("a folder in and out again", async () => {
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

  test("what comes out cannot lead out", async () => {
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

  test("a mount", async () => {
    await writeFile(join(folder, "seen"), "from outside");
    await sandbox.mount(folder, "/mnt/host");
    assert.equal((await sandbox.commands.run("cat /mnt/host/seen; echo x >/mnt/host/new")).stdout, "from outside");
    await assert.rejects(stat(join(folder, "new")), { code: "ENOENT" });
    await sandbox.unmount("/mnt/host");
    assert.ok(!(await files.exists("/mnt/host/seen")));
  });
});

test("the limit of files holds", async () => {
  const sandbox = await Sandbox.create({ fsLimitBytes: 1 << 20 });
  await assert.rejects(sandbox.files.write("/tmp/x", Buffer.alloc(2 << 20)), errno("ENOSPC"));
  assert.ok((await sandbox.usage()).fsPeakBytes <= 1 << 20);
  await sandbox.kill();
});

test("10,000 small files", async () => {
  const sandbox = await Sandbox.create();
  const names = Array.from({ length: 10_000 }, (_, i) => `many/${i % 100}/${i}`);
  await Promise.all(names.map((name) => sandbox.files.write(name, name)));
  const texts = await Promise.all(names.map((name) => sandbox.files.readText(name)));
  assert.deepEqual(texts, names);
  await sandbox.kill();
});
