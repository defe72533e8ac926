"""inside - the part of test/python-suite/run that the sandbox's python3 executes: one module of CPython's tests.

inside.py MODULE [DONE [NEVER]]     DONE: a file with the ids of tests that shall not run, one in a line
                                    NEVER: one with `VERDICT PATTERN` in each line, of those that cannot run here

Says what happens on standard output, in lines that begin with MARK: `started ID`, `passed|failed|skipped|unbuilt ID [WHY]`.
`unbuilt`: it needs a module that exists for tests in C alone and is not built. What the tests print goes to standard error.
"""
import fnmatch
import importlib
import os
import re
import sys
import types
import unittest

MARK = "\x1e@ "
C_TESTS = "_testcapi", "_testinternalcapi", "_testlimitedcapi", "_testsinglephase"
UNBUILT = re.compile(r"_testcapi|_testinternalcapi|_testlimitedcapi|_test(single|multi)phase|_testbuffer|_testimportmultiple|_testexternalinspection"
                     r"|_testclinic|_xxtestfuzz|_ctypes_test|_testembed|xxlimited|ndarray object required|requires test modules")
RESOURCES = {"test_socketserver": ("network",)}  # of which it uses the loopback
# What files ask of these modules while they are imported.
ANSWERS = {"get_immortalize_deferred": False, "get_config": {"code_debug_ranges": True}}


class Unbuilt:
    """A function, a type or a number of such a module: a test that uses it is skipped."""

    def __init__(self, why):
        self.why = why

    def use(self, *args, **kwargs):
        Absent.used = self.why
        raise unittest.SkipTest(self.why)

    __call__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __lt__ = __le__ = __gt__ = __ge__ = use
    __index__ = __int__ = __neg__ = __iter__ = __enter__ = use


class Absent(types.ModuleType):
    """Stands for a module that exists for tests in C alone, in files that cannot be imported without it: the tests that use it are unbuilt."""

    used = ""  # what the test that runs has asked for: its verdict counts no more, whatever it is

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ANSWERS:
            return lambda: ANSWERS[name]
        Absent.used = f"{self.__name__}.{name} is not built"
        return Unbuilt(Absent.used)


class Result(unittest.TestResult):
    """One verdict for each method; its subtests count for it."""

    def __init__(self, report):
        super().__init__()
        self.report = report
        self.verdict = None

    def startTest(self, test):
        super().startTest(test)
        self.verdict = None
        Absent.used = ""
        self.report(f"started {name_of(test)}")

    def stopTest(self, test):
        super().stopTest(test)
        verdict = ("unbuilt", Absent.used) if Absent.used else self.verdict or ("passed", "")
        self.report(f"{verdict[0]} {name_of(test)} {verdict[1]}")

    def note(self, test, verdict, why):
        """The worst verdict counts. A failure outside of a test (setUpClass, setUpModule) is reported at once."""
        why = " ".join(why.split())[:300]
        if not isinstance(test, unittest.TestCase):
            self.report(f"{verdict} {str(test).replace(' ', '_')} {why}")
        elif verdict == "failed" or self.verdict is None or self.verdict[0] in ("skipped", "unbuilt"):
            self.verdict = verdict, why

    def fault(self, test, error):
        import traceback
        self.note(test, "failed", f"{error[0].__name__}: {error[1]}")
        traceback.print_exception(*error, file=sys.stderr)

    def addError(self, test, err):
        self.fault(test, err)

    def addFailure(self, test, err):
        self.fault(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.fault(test, err)

    def addSkip(self, test, reason):
        self.note(test, kind_of_skip(reason), reason)

    def addUnexpectedSuccess(self, test):
        self.note(test, "failed", "unexpected success")


def kind_of_skip(reason):
    return "unbuilt" if UNBUILT.search(str(reason)) else "skipped"


def name_of(test):
    return test.id().replace("\n", " ").replace(" ", "_")


def without(suite, left_out):
    """The suite less some tests, its structure as it was: classes stay together."""
    kept = [without(part, left_out) if isinstance(part, unittest.TestSuite) else part for part in suite]
    return unittest.TestSuite(part for part in kept if isinstance(part, unittest.TestSuite) or not left_out(name_of(part)))


def prepare(module):
    """What `python -m test` sets up; and what cannot be had here, as it is for CPython's own WebAssembly targets."""
    from test import support
    support.use_resources = RESOURCES.get(module.removeprefix("test."), ())
    support.verbose = False
    support.has_fork_support = False
    support.has_socket_support = True  # CPython's default for WebAssembly is not
    import test.libregrtest.setup
    unittest.BaseTestSuite._cleanup = True
    sys.setrecursionlimit(1000)


def lines_of(path):
    return open(path).read().splitlines() if path else []


def load(module):
    """The tests of a module; with stubs for missing modules only if it cannot be imported otherwise."""
    before = set(sys.modules)
    try:
        importlib.import_module(module)
    except (ImportError, unittest.SkipTest) as reason:
        if not UNBUILT.search(str(reason)):
            raise unittest.SkipTest(reason) from None
        for name in set(sys.modules) - before:
            del sys.modules[name]
        sys.modules.update((name, Absent(name)) for name in C_TESTS)
    return unittest.TestLoader().loadTestsFromName(module)


def main(module, done, never):
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)
    prepare(module)

    def report(text):
        out.write(MARK + text.replace("\n", " ") + "\n")
        out.flush()

    def left_out(name):
        if name in done:
            return True
        for verdict, pattern in never:
            if fnmatch.fnmatchcase(name.removeprefix("test."), pattern):
                report(f"{verdict} {name} is not run")
                return True
        return False

    from test.support import os_helper
    try:
        with os_helper.temp_cwd("work"):
            without(load(module), left_out).run(Result(report))
    except unittest.SkipTest as reason:
        report(f"{kind_of_skip(reason)} {module} {reason}")
    report("end -")
    out.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":  # and not in what multiprocessing spawns
    module, done, never = (sys.argv[1:] + [None, None])[:3]
    main(module, set(lines_of(done)), [line.split() for line in lines_of(never)])
