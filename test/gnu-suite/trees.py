"""trees.py - the source trees of GNU's tools, built for this machine and for a sandbox, and the environment of their tests.

The tree for a sandbox is built as the recipe does it, for the small programs that some tests bring along. In the place of the tools themselves
stand links to those of the sandbox, so the tests meet what the packages contain.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CACHE = pathlib.Path(os.environ.get("CAY_CACHE") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "cay")
SANDBOX_PATH = "/usr/local/bin:/usr/bin:/bin"
ABSENT = ("gcc", "cc", "valgrind", "strace", "gdb")  # from the sandbox, so from the native environment, too
COMMON = ["--disable-nls", "--disable-dependency-tracking", "--without-selinux"]


class Tool:
    """`folder`: where `make check` runs; `places`: folders of its programs, with their names; `probe`: a name for a test; `tests`: the variable
    with all; `targets`, `helpers`: words for make, natively and for the programs that the tests of a sandbox bring."""

    def __init__(self, name, places, folder=".", options=(), probe="tests/probe.sh", tests="TESTS", targets=((),), helpers=()):
        self.name, self.places, self.folder, self.options, self.probe = name, places, folder, list(options), probe
        self.tests, self.targets, self.helpers = tests, targets, helpers

    def source(self):
        return pathlib.Path(subprocess.check_output([ROOT / "scripts/fetch", self.name], text=True).strip())


TOOLS = {tool.name: tool for tool in (
    Tool("coreutils", {"src": None}, tests="all_tests", targets=(("SUBDIRS=.", "all"),), helpers=(("SUBDIRS=.", "src/getlimits"),),
         options=["--enable-single-binary=symlinks", "--enable-no-install-program=stdbuf,chroot,pinky,users,who,hostid,uptime,kill", "--enable-install-program=arch",
                  "--disable-acl", "--disable-xattr", "--disable-libcap", "--without-openssl", "--without-libgmp"]),
    Tool("grep", {"src": ["grep", "egrep", "fgrep"]}, folder="tests", options=["--enable-perl-regexp"], probe="probe.sh", helpers=(("-C", "lib"), ("-C", "tests", "get-mb-cur-max"))),
    Tool("sed", {"sed": ["sed"]}, options=["--disable-acl"], probe="testsuite/probe.sh", helpers=(("testsuite/get-mb-cur-max", "testsuite/test-mbrtowc"),)),
    Tool("gawk", {".": ["gawk"]}, folder="test", options=["--disable-extensions", "--without-mpfr", "--without-readline", "--disable-pma"], probe="",
         targets=(("-C", "support"), ("gawk",))),
    Tool("findutils", {"find": ["find"], "xargs": ["xargs"], "locate": ["locate", "updatedb"]},  # another helper wants error(3) of glibc
         helpers=(("-C", "gl"), ("-C", "lib"), ("-C", "find", "getlimits"))),
    Tool("diffutils", {"src": ["cmp", "diff", "diff3", "sdiff"]}, folder="tests", probe="basic"),
)}


def quietly(log, *words, cwd, env=None, may_fail=False):
    with open(log, "ab") as out:
        out.write(("$ " + " ".join(map(str, words)) + "\n").encode())
        out.flush()
        status = subprocess.run(words, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT).returncode
    if status and not may_fail:
        raise SystemExit(f"{words[0]} failed in {cwd}; the log is {log}")


def guest_configure(tool, tree, log):
    """As guest/gnu/functions configures, with the libc and the libraries of the last build of the guests."""
    script = f'''set -eu
      guest={ROOT}/guest; . $guest/gnu/functions
      export PATH=$guest:$PATH LC_ALL=C CAY_SYSROOT={ROOT}/build/guest/sysroot
      configure . {" ".join(option for option in tool.options if option != "--enable-perl-regexp")}'''
    quietly(log, "bash", "-c", script, cwd=tree)


def build(tool, side):
    """The built tree of one side, from the cache if it is there."""
    parts = repr((tool.options, tool.probe, tool.targets, COMMON)).encode() + (ROOT / "guest/gnu/functions").read_bytes() + str(tool.source()).encode()
    if side == "guest":
        parts += repr(tool.helpers).encode()
    tree = CACHE / "tests" / f"gnu-{tool.name}-{side}-{hashlib.sha256(parts).hexdigest()[:12]}"
    if (tree / ".built").exists():
        return tree
    for old in tree.parent.glob(f"gnu-{tool.name}-{side}-*"):
        shutil.rmtree(old, ignore_errors=True)
    tree.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", "--no-preserve=ownership", tool.source(), tree], check=True)
    subprocess.run(["chmod", "-R", "u+w", tree], check=True)
    (build_native if side == "native" else build_guest)(tool, tree, tree / "build.log")
    (tree / ".built").touch()
    return tree


def build_native(tool, tree, log):
    env = {**os.environ, "FORCE_UNSAFE_CONFIGURE": "1", "CC": "ccache gcc" if shutil.which("ccache") else "gcc"}
    quietly(log, "./configure", "--prefix=/usr", *COMMON, *tool.options, cwd=tree, env=env)
    for target in tool.targets:
        quietly(log, "make", f"-j{os.cpu_count()}", *target, cwd=tree, env=env)
    probe(tool, tree, log, env, "check")
    (tree / "absent").mkdir()
    for name in ABSENT:
        (tree / "absent" / name).write_text("#!/bin/sh\nexit 127\n")
        (tree / "absent" / name).chmod(0o755)


def build_guest(tool, tree, log):
    env = {**os.environ, "PATH": f"{ROOT}/guest:{os.environ['PATH']}", "CAY_SYSROOT": str(ROOT / "build/guest/sysroot")}
    guest_configure(tool, tree, log)
    if tool.name == "grep":  # that of the sandbox has it
        quietly(log, "sed", "-i", "s|/. #undef HAVE_LIBPCRE ./|#define HAVE_LIBPCRE 1|", "config.h", cwd=tree)
    if tool.helpers and tool.helpers[0][0] != "-C":  # of one Makefile, which makes these with `all` alone
        quietly(log, "make", f"-j{os.cpu_count()}", *variable(tree, ".", "BUILT_SOURCES"), cwd=tree, env=env)
    for words in tool.helpers:
        quietly(log, "make", f"-j{os.cpu_count()}", *words, cwd=tree, env=env)
    probe(tool, tree, log, env, "check-TESTS", "PROGRAMS=", "check_PROGRAMS=")
    for folder, names in tool.places.items():
        for name in names or variable(tree, ".", "single_binary_progs") + ["coreutils"]:
            path = tree / folder / name
            path.unlink(missing_ok=True)
            path.symlink_to(f"/usr/bin/{dict(ginstall='install').get(name, name)}")


def probe(tool, tree, log, env, *words):
    """`make check` of one test that writes its environment down; the programs that the tests bring are built for it."""
    if not tool.probe:
        return
    path = tree / tool.folder / tool.probe
    was = path.read_bytes() if path.exists() else None
    path.write_text("#!/bin/sh\n/usr/bin/env -0 >probe.env\n")
    path.chmod(0o755)
    quietly(log, "make", *words, f"TESTS={tool.probe}", "SUBDIRS=.", cwd=tree / tool.folder, env=env)
    if was is not None:
        path.write_bytes(was)
    if tool.name == "coreutils":
        quietly(log, "bash", "-c", "make PROGRAMS= $(for n in $(seq -w 00 37); do echo tests/factor/t$n.sh; done)", cwd=tree, env=env, may_fail=True)


def environment(tool, tree, side):
    """The variables that the Makefile of the tests exports, without those of the caller. Neither side has the programs of ABSENT."""
    if not tool.probe:
        return {}
    pairs = [one.split("=", 1) for one in (tree / tool.folder / "probe.env").read_text().split("\0") if "=" in one]
    found = {name: value for name, value in pairs if os.environ.get(name) != value}
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "SUBDIRS", "TESTS", "PWD", "OLDPWD", "_", "TMPDIR", "CAY_SYSROOT"):
        found.pop(name, None)
    places = ":".join(str(tree / folder) for folder in tool.places)
    if side == "native":
        places += f":{tree}/absent"
    found["PATH"] = f"{places}:{SANDBOX_PATH}"
    found["CC"] = "no-compiler"
    if tool.name == "grep":
        found["PCRE_WORKS"] = "1"
    found["SHELL"] = "/bin/bash"
    found["PERL"], found["AWK"], found["MAKE"] = "perl", "awk", "make"
    return found


def variable(tree, folder, *names):
    """The words of variables of a Makefile."""
    text = "include Makefile\ncay-words:\n" + "".join(f"\t@echo $({name})\n" for name in names)
    return subprocess.run(["make", "-s", "--no-print-directory", "-f", "-", "cay-words"], cwd=tree / folder, input=text, capture_output=True, text=True, check=True).stdout.split()


def tests_of(tool, tree):
    """The names of the tests, in their order."""
    if tool.name == "gawk":
        names = variable(tree, tool.folder, "BASIC_TESTS", "UNIX_TESTS", "GAWK_EXT_TESTS", "LOCALE_CHARSET_TESTS", "ARRAYDEBUG_TESTS")
    else:
        names = variable(tree, tool.folder, tool.tests, *(["factor_tests"] if tool.name == "coreutils" else []))
    return list(dict.fromkeys(name for name in names if "probe" not in name))

