"""harness.py - what the tests of the command line share: running cay, and running tests.

A test is a function `test_<what_is_true>(t)` of a module beside this one; it gets a T with a fresh directory, which is
also the working directory of all that it runs. assert says what should be; the function's name is the sentence.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CAY = os.environ.get("CAY", str(ROOT / "cay"))
LONG = 600  # seconds until a test that hangs is given up


class Done:
    """How a program ended: its exit code (negative: a signal) and output as bytes; the texts as properties."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def text(self):
        return self.out.decode(errors="backslashreplace")

    @property
    def errors(self):
        return self.err.decode(errors="backslashreplace")

    def __repr__(self):
        return f"code {self.code}, stdout {self.out[-400:]!r}, stderr {self.err[-400:]!r}"


class T:
    def __init__(self, folder):
        self.dir = pathlib.Path(folder)

    def path(self, name, content=None, mode=None):
        """A file of this test's directory, with its parents; written when content is given."""
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is not None:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        if mode is not None:
            path.chmod(mode)
        return path

    def start(self, *words, env=None, **keywords):
        """cay with these words, running; its input and outputs are pipes unless said otherwise."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **keywords}
        environment = {**os.environ, **(env or {})}
        return subprocess.Popen([CAY, *map(str, words)], cwd=self.dir, env=environment, bufsize=0, **pipes)

    def finish(self, process, input=None):
        try:
            out, err = process.communicate(input, timeout=LONG)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise AssertionError(f"no end after {LONG} s") from None
        return Done(process.returncode, out or b"", err or b"")

    def cay(self, *words, input=b"", **keywords):
        return self.finish(self.start(*words, **keywords), input)

    def run(self, *words, **keywords):
        return self.cay("run", *words, **keywords)


def run_one(function):
    """None, or what went wrong."""
    folder = tempfile.mkdtemp(prefix="cay-cli-")
    try:
        function(T(folder))
        return None
    except AssertionError:
        frame = traceback.extract_tb(sys.exc_info()[2])[-1]
        return f"line {frame.lineno}: {frame.line}\n  {sys.exc_info()[1]}"
    except Exception:  # a bug of the test, or a program that is missing: told like a failure
        return traceback.format_exc()
    finally:
        subprocess.run(["chmod", "-R", "u+rwx", folder], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)


def main(modules, chosen, loud):
    passed = failed = 0
    for module in modules:
        for name, function in list(vars(module).items()):
            if not name.startswith("test_") or (chosen and not any(word in name for word in chosen)):
                continue
            problem = run_one(function)
            if problem:
                failed += 1
                print(f"FAIL {module.__name__}: {name[5:]}\n  {problem}", flush=True)
            else:
                passed += 1
                if loud:
                    print(f"ok   {module.__name__}: {name[5:]}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
