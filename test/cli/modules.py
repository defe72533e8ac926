"""WebAssembly files of this machine as the program."""
import os
import subprocess

import harness

CAY_CC = os.environ.get("CAY_CC", str(harness.ROOT / "guest" / "cay-cc"))
PROGRAM = r"""
#include <stdio.h>
int main(int argc, char **argv) {
  int c, n = 0;
  while ((c = getchar()) != EOF) n++;
  for (int i = 1; i < argc; i++) printf("%s|", argv[i]);
  printf("%d bytes\n", n);
  return argc;
}
"""


def compiled(t):
    source = t.path("tool.c", PROGRAM)
    subprocess.run([CAY_CC, str(source), "-o", str(t.dir / "tool.wasm")], check=True, capture_output=True)


def test_a_module_runs_with_its_arguments_input_and_exit_code(t):
    compiled(t)
    r = t.run("./tool.wasm", "a b", "--json", input=b"1234")
    assert r.code == 3 and r.text == "a b|--json|4 bytes\n", r
    r = t.run("tool.wasm")
    assert r.code == 1 and r.text == "0 bytes\n", r
    r = t.run("--", t.dir / "tool.wasm", "x")
    assert r.code == 2 and r.text == "x|0 bytes\n", r


def test_a_module_that_is_copied_in_runs_as_a_program_of_the_sandbox(t):
    compiled(t)
    os.chmod(t.dir / "tool.wasm", 0o755)
    r = t.run("--in", "tool.wasm:bin/tool", "bin/tool one two < /dev/null")
    assert r.code == 3 and r.text == "one|two|0 bytes\n", r


def test_a_module_that_is_cut_or_foreign_is_126(t):
    t.path("cut.wasm", b"\0asm\1\0\0\0\1\5")
    r = t.run("./cut.wasm")
    assert r.code == 126 and "cut.wasm" in r.errors, r
    t.path("empty.wasm", b"\0asm\1\0\0\0")
    r = t.run("./empty.wasm")
    assert r.code == 126, r


def test_a_trap_is_explained(t):
    source = t.path("trap.c", "int main(void) { __builtin_trap(); }")
    subprocess.run([CAY_CC, str(source), "-o", str(t.dir / "trap.wasm")], check=True, capture_output=True)
    r = t.run("./trap.wasm")
    assert r.code > 128 and "trap" in r.errors and "main" in r.errors, r
