// The guide for Node: its ```js blocks are one program, and each prints what the ```text block after it says.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { here, node } from "./support.mjs";

const MARK = "=== end of example\n";

/** Each block of code with the text that follows it at once. */
function examples(page) {
  const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, text]) => ({ language, text }));
  return blocks.flatMap(({ language, text }, i) =>
    language === "js" ? [{ code: text, wanted: blocks[i + 1]?.language === "text" ? blocks[i + 1].text : "" }] : []);
}

test("every example of the page", async () => {
  const all = examples(readFileSync(join(here, "node.md"), "utf8"));
  const source = all.map(({ code }) => `${code}process.stdout.write(${JSON.stringify(MARK)});\n`).join("");
  assert.match(source, /^import .* from "cay";\n/);
  const done = await node(source.replace(/^import .*\n/, 'import { SandboxError, SandboxTimeout } from "cay";\n'));
  assert.equal(done.stderr, "");
  assert.deepEqual(done.stdout.split(MARK), [...all.map(({ wanted }) => wanted), ""]);
  assert.ok(all.length >= 8);
  const tool = /async function bash[^]*?^}\n/m.exec(all[0].code)[0];
  assert.ok(tool.split("\n").length <= 15);
});
