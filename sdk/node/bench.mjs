#!/usr/bin/env node
// bench.mjs - what a sandbox costs a Node program, beside child_process and files of its own, without any isolation.
//
//   sdk/node/bench.mjs              all rows
//   sdk/node/bench.mjs --rounds 9   more rounds (5)
//   sdk/node/bench.mjs --json       one object a row
//
// Rows that begin with "library" stand beside the same calls of a server process.
//
// It measures the package that CAY_PACKAGE names (a folder as npm installs it); without, the one beside it (sdk/node/build) with
// $CAY_BINARY or the `cay` on PATH. PEERS names a folder with node_modules in which `just-bash` (npm) is installed, a bash rewritten in
// TypeScript: then there are rows beside it too. Each round measures both sides of every row, one after the other; the figure is the median.
import { execFile, execFileSync, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({ options: { rounds: { type: "string", default: "5" }, json: { type: "boolean", default: false } } });
const PACKAGE = pathToFileURL(resolve(process.env.CAY_PACKAGE ?? fileURLToPath(new URL(".", import.meta.url)), "dist/index.js")).href;
const { Sandbox } = await import(PACKAGE);

const SMALL = Buffer.alloc(1000, "x");
const LARGE = Buffer.alloc(100_000_000, "0123456789");
const COUNT = 300;

async function seconds(work, times = 1) {
  const start = performance.now();
  for (let i = 0; i < times; i++) await work(i);
  return (performance.now() - start) / 1e3 / times;
}

const milliseconds = async (work, times) => 1e3 * (await seconds(work, times));

/** A command on this machine, as a program without a sandbox runs one. */
const plain = (command) =>
  new Promise((done, failed) => execFile("bash", ["-c", command], (problem, stdout) => (problem ? failed(problem) : done(stdout))));

const program = (source) => execFileSync(process.execPath, ["--input-type=module", "-e", source]);

/** A side that needs a sandbox which has run something already. */
const alive = (work) => async () => {
  const sandbox = await Sandbox.create({ fsLimitBytes: 512 << 20 });
  try {
    await sandbox.commands.run("true");
    return await work(sandbox);
  } finally {
    await sandbox.kill();
  }
};

const inFolder = (work) => async () => {
  const folder = await mkdtemp(join(tmpdir(), "cay-bench-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
};

async function firstResult() {
  const sandbox = await Sandbox.create();
  await sandbox.commands.run("true");
  await sandbox.kill();
}

const at8 = async (run) => 64 / (await seconds(() => Promise.all(Array.from({ length: 8 }, async () => {
  for (let i = 0; i < 8; i++) await run("true");
}))));

const thereAndBack = async (write, read) => 1 / (await seconds(async (i) => {
  await write(String(i), SMALL);
  await read(String(i));
}, COUNT));

const allAtOnce = async (write, read) => COUNT / (await seconds(() => Promise.all(Array.from({ length: COUNT }, async (_, i) => {
  await write(String(i), SMALL);
  await read(String(i));
}))));

const own = (folder) => [(name, data) => writeFile(join(folder, name), data), (name) => readFile(join(folder, name))];
const boxed = ({ files }) => [(name, data) => files.write(`/tmp/${name}`, data), (name) => files.read(`/tmp/${name}`)];

/** As an agent has it that reaches its files by commands. */
const throughPrograms = (folder) => [
  (name, data) => new Promise((done) => {
    const child = spawn("sh", ["-c", `cat > ${folder}/${name}`], { stdio: ["pipe", "ignore", "ignore"] });
    child.once("close", done).stdin.end(data);
  }),
  (name) => plain(`cat ${folder}/${name}`),
];

const megabytes = async (work) => LARGE.length / 1e6 / (await seconds(work));

const ROWS = [ // name, unit, the sandbox's function, the peer's name, the peer's function
  ["program with one command, Node's start included", "ms",
    () => milliseconds(() => program(`const { Sandbox } = await import(${JSON.stringify(PACKAGE)}); await (await Sandbox.create()).commands.run("true");`)),
    "child_process", () => milliseconds(() => program('import { execFileSync } from "node:child_process"; execFileSync("bash", ["-c", "true"]);'))],
  ["Sandbox.create() to the first result, and its end", "ms", () => milliseconds(firstResult, 10), "execFile", () => milliseconds(() => plain("true"), 10)],
  ['run("true")', "ms", alive((s) => milliseconds(() => s.commands.run("true"), 200)), "execFile", () => milliseconds(() => plain("true"), 50)],
  ['run("echo hi | tr a-z A-Z")', "ms", alive((s) => milliseconds(() => s.commands.run("echo hi | tr a-z A-Z"), 100)), "execFile",
    () => milliseconds(() => plain("echo hi | tr a-z A-Z"), 50)],
  ["commands, 8 at once", "per s", alive((s) => at8((line) => s.commands.run(line))), "execFile", () => at8(plain)],
  ["files of 1 kB, written and read", "per s", alive((s) => thereAndBack(...boxed(s))), "execFile", inFolder((f) => thereAndBack(...throughPrograms(f)))],
  ["files of 1 kB, written and read", "per s", alive((s) => thereAndBack(...boxed(s))), "fs/promises", inFolder((f) => thereAndBack(...own(f)))],
  ["the same, all at once", "per s", alive((s) => allAtOnce(...boxed(s))), "fs/promises", inFolder((f) => allAtOnce(...own(f)))],
  ["100 MB in", "MB/s", alive((s) => megabytes(() => s.files.write("/tmp/large", LARGE))), "fs/promises",
    inFolder((f) => megabytes(() => writeFile(join(f, "large"), LARGE)))],
  ["100 MB out", "MB/s", alive(async (s) => {
    await s.files.write("/tmp/large", LARGE);
    return megabytes(() => s.files.read("/tmp/large"));
  }), "fs/promises", inFolder(async (f) => {
    await writeFile(join(f, "large"), LARGE);
    return megabytes(() => readFile(join(f, "large")));
  })],
];

/** The two values of `isolation`, beside each other. */
const isolated = (isolation, work) => async () => {
  const sandbox = await Sandbox.create({ isolation, callbacks: { one: () => 1, later: async () => 1 } });
  try {
    await sandbox.python.run("x = 0");
    return await work(sandbox);
  } finally {
    await sandbox.kill();
  }
};
const bothWays = (name, work) => [name, "µs", isolated("library", (s) => work(s, "library")), "process", isolated("process", (s) => work(s, "process"))];
const callbacks = (name) => async (s) => 1e6 * (await seconds(() => s.python.run(`for _ in range(300): await ${name}()`))) / 300;

ROWS.push(
  bothWays("library: new sandbox, print(1), end", async (_, isolation) => 1e6 * (await seconds(async () => {
    const sandbox = await Sandbox.create({ isolation });
    await sandbox.python.run("print(1)");
    await sandbox.kill();
  }, 30))),
  bothWays("library: x += 1 in a session", async (s) => 1e6 * (await seconds(() => s.python.run("x += 1"), COUNT))),
  bothWays('library: run("true")', async (s) => 1e6 * (await seconds(() => s.commands.run("true"), 50))),
  bothWays("library: a callback", callbacks("one")),
  bothWays("library: an asynchronous callback", callbacks("later")),
);

if (process.env.PEERS !== undefined) {
  const { createRequire } = await import("node:module");
  const at = createRequire(join(resolve(process.env.PEERS), "here.js"));
  const { Bash } = await import(pathToFileURL(at.resolve("just-bash")).href);
  const peer = (work) => async () => {
    const bash = new Bash();
    await bash.exec("true");
    return work((line, input) => bash.exec(line, input === undefined ? {} : { stdin: input }));
  };
  const loop = "i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done; echo $i";
  ROWS.push(
    ["a new one to the first result", "ms", () => milliseconds(firstResult, 10), "just-bash", () => milliseconds(() => new Bash().exec("true"), 10)],
    ['run("true")', "ms", alive((s) => milliseconds(() => s.commands.run("true"), 200)), "just-bash", peer((run) => milliseconds(() => run("true"), 200))],
    ['run("echo hi | tr a-z A-Z")', "ms", alive((s) => milliseconds(() => s.commands.run("echo hi | tr a-z A-Z"), 100)), "just-bash",
      peer((run) => milliseconds(() => run("echo hi | tr a-z A-Z"), 100))],
    ["a loop of 5,000", "ms", alive((s) => milliseconds(() => s.commands.run(loop), 3)), "just-bash", peer((run) => milliseconds(() => run(loop), 3))],
    ["sort 20,000 lines", "ms", alive((s) => milliseconds(() => s.commands.run("seq 20000 | sort -r | tail -1"), 3)), "just-bash",
      peer((run) => milliseconds(() => run("seq 20000 | sort -r | tail -1"), 3))],
  );
}

const median = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

const samples = ROWS.map(() => [[], []]);
for (let round = 0; round < Number(options.rounds); round++) {
  for (const [i, [, , here, , there]] of ROWS.entries()) {
    samples[i][0].push(await here());
    samples[i][1].push(await there());
  }
}
if (!options.json) console.log(`${"".padEnd(50)} ${"cay".padStart(9)}  ${"beside it".padStart(25)} ${"cay / it".padStart(9)}`);
for (const [i, [name, unit, , beside]] of ROWS.entries()) {
  const [ours, theirs] = samples[i].map(median);
  if (options.json) {
    console.log(JSON.stringify({ name, unit, cay: ours, beside, figure: theirs }));
  } else {
    const figure = (x) => String(Number(x.toPrecision(3))).padStart(9);
    console.log(`${name.padEnd(50)} ${figure(ours)}  ${(beside + figure(theirs)).padStart(25)} ${(ours / theirs).toFixed(2).padStart(8)}x  ${unit}`);
  }
}
