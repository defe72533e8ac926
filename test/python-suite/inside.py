"""inside - the part of test/python-suite/run that the sandbox's python3 executes: one module of CPython's tests.

inside.py MODULE [DONE [NEVER]]     DONE: a file with the ids of tests that shall not run, one in a line
                                    NEVER: one with patterns of those that would wait for a thread for ever: refused

Says what happens on standard output, in lines that begin with MARK: `started ID`, `passed|failed|skipped|refused ID [WHY]`.
`refused`: the test failed because a thread was to be started, which it did not expect to fail. What the tests print goes
to standard error.
"""
import fnmatch
import os
import sys
import types
import unittest

MARK = "\x1e@ "
NO_THREADS = "threads are not available", "can't start new thread"
C_TESTS = "_testcapi", "_testinternalcapi", "_testlimitedcapi", "_testsinglephase"
WANT_C_TESTS = {"test_bytes", "test_class", "test_compile", "test_dis", "test_traceback", "test_types"}
RESOURCES = {"test_socketserver": ("network",)}  # of which it uses the loopback
# What files ask of these modules while they are imported.
ANSWERS = {"get_immortalize_deferred": False, "get_config": {"code_debug_ranges": True}}


class Absent(types.ModuleType):
    """Modules of CPython's that exist for tests in C alone and are not built: a test that needs one is skipped, not the whole file."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ANSWERS:
            return lambda: ANSWERS[name]

        if name.isupper():  # a constant, which only arithmetic would notice
            raise unittest.SkipTest(f"{self.__name__}.{name} is not built")

        def absent(*args, **kwargs):
            raise unittest.SkipTest(f"{self.__name__}.{name} is not built")

        return absent


class Result(unittest.TestResult):
    """One verdict for each method; its subtests count for it."""

    def __init__(self, report):
        super().__init__()
        self.report = report
        self.verdict = None

    def startTest(self, test):
        super().startTest(test)
        self.verdict = None
        self.report(f"started {name_of(test)}")

    def stopTest(self, test):
        super().stopTest(test)
        verdict = self.verdict or ("passed", "")
        self.report(f"{verdict[0]} {name_of(test)} {verdict[1]}")

    def note(self, test, verdict, why):
        """The worst verdict counts, but of a test that was refused its thread: that is why it fails.

        A failure outside of a test (setUpClass, setUpModule) is reported at once.
        """
        why = " ".join(why.split())[:300]
        if not isinstance(test, unittest.TestCase):
            self.report(f"{verdict} {str(test).replace(' ', '_')} {why}")
        elif self.verdict is None or self.verdict[0] == "skipped" or (verdict == "failed" and self.verdict[0] != "refused"):
            self.verdict = verdict, why

    def fault(self, test, error):
        import traceback
        text = f"{error[0].__name__}: {error[1]}"
        refused = any(words in str(error[1]) for words in NO_THREADS)
        self.note(test, "refused" if refused else "failed", text)
        if not refused:
            traceback.print_exception(*error, file=sys.stderr)

    def addError(self, test, err):
        self.fault(test, err)

    def addFailure(self, test, err):
        self.fault(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.fault(test, err)

    def addSkip(self, test, reason):
        self.note(test, "skipped", reason)

    def addUnexpectedSuccess(self, test):
        self.note(test, "failed", "unexpected success")


def name_of(test):
    return test.id().replace("\n", " ").replace(" ", "_")


def without(suite, left_out):
    """The suite less some tests, its structure as it was: classes stay together."""
    kept = [without(part, left_out) if isinstance(part, unittest.TestSuite) else part for part in suite]
    return unittest.TestSuite(part for part in kept if isinstance(part, unittest.TestSuite) or not left_out(name_of(part)))


def prepare(module):
    """What `python -m test` sets up; and what cannot be had here, as it is for CPython's own WebAssembly targets."""
    from test import support
    from test.support import threading_helper
    support.use_resources = RESOURCES.get(module.removeprefix("test."), ())
    support.verbose = False
    support.has_fork_support = False
    support.has_socket_support = True  # CPython's default for WebAssembly is not
    threading_helper.can_start_thread = False
    import test.libregrtest.setup
    unittest.BaseTestSuite._cleanup = True
    sys.setrecursionlimit(1000)


def lines_of(paths):
    return [set(open(path).read().split()) for path in paths] + [set()] * (2 - len(paths))


def main(module, done, never):
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)
    prepare(module)
    if module.removeprefix("test.") in WANT_C_TESTS:
        sys.modules.update((name, Absent(name)) for name in C_TESTS)

    def report(text):
        out.write(MARK + text.replace("\n", " ") + "\n")
        out.flush()

    def left_out(name):
        if name in done:
            return True
        waits = any(fnmatch.fnmatchcase(name.removeprefix("test."), pattern) for pattern in never)
        if waits:
            report(f"refused {name} waits for a thread")
        return waits

    from test.support import os_helper
    try:
        with os_helper.temp_cwd("work"):
            suite = unittest.TestLoader().loadTestsFromName(module)
            without(suite, left_out).run(Result(report))
    except unittest.SkipTest as reason:
        report(f"skipped {module} {reason}")
    report("end -")
    out.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":  # and not in what multiprocessing spawns
    main(sys.argv[1], *lines_of(sys.argv[2:]))
