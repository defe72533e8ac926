"""Runs one file of a package's tests with pytest and tells what became of each: `\x1e@ WORD TEST WHY` in a line on standard output.

    inside.py MODULE DONE MARKS       tests named in the file DONE are left out: they have run, or ended an earlier process
"""
import os
import sys

import pytest

MARK = "\x1e@ "


def tell(word, test, why=""):
    line = f"\n{MARK}{word} {test.replace(' ', '_')} {' '.join(why.split())[:300]}\n"
    os.write(1, line.encode("utf-8", "replace"))


class Teller:
    def __init__(self, done):
        self.done, self.verdict = done, ("passed", "")

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if name_of(item.nodeid) not in self.done]

    def pytest_collectreport(self, report):
        if report.failed:
            tell("failed", "collection", str(report.longrepr)[-300:])
        elif report.skipped:
            tell("skipped", "collection", str(report.longrepr))

    def pytest_runtest_logstart(self, nodeid, location):
        self.verdict = "passed", ""
        tell("started", name_of(nodeid))

    def pytest_runtest_logreport(self, report):
        if report.skipped:  # also tests that are known to fail
            self.verdict = "skipped", str(report.longrepr)
        elif report.failed:
            self.verdict = "failed", getattr(getattr(report.longrepr, "reprcrash", None), "message", "") or str(report.longrepr)[-300:]

    def pytest_runtest_logfinish(self, nodeid, location):
        tell(self.verdict[0], name_of(nodeid), self.verdict[1])


def name_of(nodeid):
    return nodeid.partition("::")[2].replace(" ", "_")


def main(module, done, marks):
    import importlib.util
    with open(done, encoding="utf-8") as file:
        known = set(file.read().split("\n"))
    path = importlib.util.find_spec(module).origin
    os.chdir("/tmp" if os.path.isdir("/tmp") else "/")
    code = pytest.main(["-q", "-p", "no:cacheprovider", "-o", "addopts=", "--rootdir", "/tmp", "--tb=short", "-W", "ignore::pytest.PytestUnknownMarkWarning",
                        "-m", marks, "--confcutdir", os.path.dirname(os.path.dirname(importlib.util.find_spec(module.partition(".")[0]).origin)), path], plugins=[Teller(known)])
    tell("end", "-", str(int(code)))


main(*sys.argv[1:])
