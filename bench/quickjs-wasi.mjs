// quickjs-wasi.mjs - snapshots of the package quickjs-wasi, found from the working directory. One number a line: milliseconds.
//
//   quickjs-wasi.mjs COUNT    for a snapshot of a VM with an array of 1,000,000 numbers, as bytes, and for a VM from it: lines by turns
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(`${process.cwd()}/`));
const { QuickJS } = await import(pathToFileURL(require.resolve("quickjs-wasi")).href);
const wasm = await WebAssembly.compile(readFileSync(require.resolve("quickjs-wasi/quickjs.wasm")));
for (let i = 0; i < Number(process.argv[2]); i++) {
  const vm = await QuickJS.create({ wasm });
  vm.evalCode("var data = Array.from({ length: 1e6 }, (_, i) => i)").dispose();
  let start = performance.now();
  const kept = vm.snapshot();
  console.log((performance.now() - start).toFixed(3));
  vm.dispose();
  start = performance.now();
  const again = await QuickJS.restore(kept, { wasm });
  again.evalCode("data[999999]").dispose();
  console.log((performance.now() - start).toFixed(3));
  again.dispose();
}
