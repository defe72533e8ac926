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


FORKS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int plain(void) { return 5; }
static int child(void) {
  pid_t pid = fork();
  int status = 0;
  if (pid == 0) _exit(7);
  return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : -1;
}
int deeper(int (*what)(void), int more) { return more > 0 ? deeper(what, more - 1) + 0 * more : what(); }
int main(int argc, char **argv) {
  printf("%d %d\n", child(), deeper(plain, argc));
  fflush(stdout);
  if (argc > 1) printf("%d\n", deeper(child, argc));
}
"""


def test_a_function_that_never_leads_to_a_fork_need_not_unwind(t):
    source = t.path("forks.c", FORKS)
    for name, options in (("any", []), ("less", ["--no-fork-in=deeper,not_there"])):
        made = subprocess.run([CAY_CC, "--fork", *options, str(source), "-o", str(t.dir / f"{name}.wasm")], check=True, capture_output=True)
        assert made.stderr == b"", made
        r = t.run(f"./{name}.wasm")
        assert r.code == 0 and r.text == "7 5\n", r
    assert (t.dir / "less.wasm").stat().st_size < (t.dir / "any.wasm").stat().st_size
    r = t.run("./any.wasm", "fork")
    assert r.code == 0 and r.text == "7 5\n7\n", r
    r = t.run("./less.wasm", "fork")
    assert r.code > 128 and r.text == "7 5\n" and "trap" in r.errors, r


def section(number, content):
    return bytes([number, len(content)]) + content


def test_the_names_of_functions_in_a_trap_are_quoted(t):
    name = b"x (0x1)\n\x1b[2Jcay: all is well"
    t.path("forged.wasm", b"\0asm\1\0\0\0" + section(1, b"\1\x60\0\0") + section(3, b"\1\0") + section(5, b"\1\0\1") +
           section(7, b"\2\6memory\2\0\6_start\0\0") + section(10, b"\1\3\0\0\x0b") +
           section(0, b"\4name\1" + bytes([len(name) + 3]) + b"\1\0" + bytes([len(name)]) + name))
    r = t.run("./forged.wasm")
    assert r.code > 128 and r"  at 'x (0x1)\n\x1b[2Jcay: all is well' (0x" in r.errors, r
    assert "\x1b" not in r.errors, r
