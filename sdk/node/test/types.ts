// Every method, as the compiler sees it. Compiled and not run.
import { type CommandResult, type CreateOptions, type FileInfo, Sandbox, SandboxError, ToolFailed, Tools, type Usage } from "cay";

export async function all(options: CreateOptions): Promise<void> {
  const sandbox: Sandbox = await Sandbox.create({ ...options, timeoutMs: 1000, env: { A: "b" } });
  const result: CommandResult = await sandbox.commands.run("true", {
    stdin: new Uint8Array(3),
    cwd: "/tmp",
    env: { A: "b" },
    timeoutMs: 10,
    onStdout: (text: string) => text.length,
    onStderr: async (text) => void text.length,
    signal: AbortSignal.timeout(5),
    check: true,
  });
  const text: string = result.check().stdout + result.stderr + result.end + result.detail;
  const bytes: Buffer = await sandbox.files.read("f");
  const read: string = await sandbox.files.readText("f");
  const list: FileInfo[] = await sandbox.files.list("d", { recursive: true });
  const info: FileInfo = await sandbox.files.stat("f");
  const there: boolean = await sandbox.files.exists("f");
  const value: string | null = await sandbox.env.get("A");
  const usage: Usage = await sandbox.usage();
  await sandbox.files.write("f", bytes, { mode: 0o600, append: true });
  await sandbox.files.mkdir("d", { parents: true });
  await sandbox.files.rm("d", { recursive: true });
  await sandbox.files.rename("a", "b");
  await sandbox.files.symlink("a", "b");
  await sandbox.files.upload("here", "there");
  await sandbox.files.download("there", "here");
  await sandbox.env.set("A", null);
  await sandbox.mount("/host", "/mnt", { writable: true });
  await sandbox.unmount("/mnt");
  await sandbox[Symbol.asyncDispose]();
  await sandbox.kill();
  const error = new SandboxError(`${text}${read}${list.length}${info.size}${there}${value}${usage.files}`);
  const errno: string | null = error.errno;
  // @ts-expect-error a command is text
  await sandbox.commands.run(7);
  // @ts-expect-error there is no such option
  await sandbox.commands.run("true", { timeout: 7 });
  throw errno;
}

export async function abortable(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  await (await Sandbox.create({ isolation: "library", signal })).kill();
  const started = await sandbox.commands.start("true", { signal });
  await started.wait(undefined, { signal });
  await started.waitForOutput("x", 5, { signal });
  await sandbox.files.write("f", await sandbox.files.read("f", { signal }), { signal });
  for await (const piece of sandbox.files.stream("f", { signal })) piece.length;
  await sandbox.files.upload("here", "there", { signal });
  await sandbox.files.download("there", "here", { signal });
  await sandbox.saveSnapshot("f", { signal });
  await (await sandbox.fork({ signal })).kill();
  await sandbox.callbacks.add({ f: (_: object, context) => context.signal.aborted });
  // @ts-expect-error there are two ways
  await Sandbox.create({ isolation: "none" });
}

export async function python(): Promise<unknown> {
  const sandbox = await Sandbox.create({ callbacks: { plain: ({ n }: { n: number }) => n, full: { description: "", parameters: {}, run: async () => 1 } } });
  const result = await sandbox.python.run("1", { stdin: "", timeoutMs: 1, trace: ["line"], onTrace: (event) => event.locals["a"], check: true });
  const line: number | null = result.check().error?.line ?? null;
  const copy = await sandbox.python.session("a").fork("b");
  await copy.loadState(await copy.saveState());
  // @ts-expect-error there is no such event
  await copy.run("1", { trace: ["lines"] });
  return [line, result.value];
}

export async function tools(): Promise<string[]> {
  await using set = await Tools.open({ config: { tools: {} }, dir: new URL("file:///tmp/"), database: "t.db", rounds: 1 });
  const result: unknown = await set.call("todo", { action: "list" }, { user: "me", timeoutMs: 5 });
  const why: string | null = await set.check(new Uint8Array(0));
  const failed = new ToolFailed("todo", "timeout", why ?? "", result);
  // @ts-expect-error the input is an object
  await set.call("todo", "list");
  return [...(await set.list()).flatMap((one) => one.allow), ...(await set.due()).map((one) => one.userId), failed.toolCode];
}
