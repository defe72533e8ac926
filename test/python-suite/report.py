"""report - what test/python-suite/run reads beside its files, and its page."""
import fnmatch


def read_lists(path):
    """`[part]` and `[full]`: names of files, divided by blanks."""
    lists, names = {}, []
    for line in path.read_text().splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("["):
            names = lists.setdefault(line.strip("[]"), [])
        else:
            names += line.split()
    return lists


def read_expected(path):
    """(pattern of test ids, whether it may also pass, cause) in the order of the file: `PATTERN: cause`, `?PATTERN: cause`.

    A pattern with a star says what may fail, one without what always does. `-PATTERN: cause` is not for this list: see read_never.
    """
    cause, known = "", []
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith(("#", "-")):
            continue
        pattern, _, cause = line.partition(": ")
        known.append((pattern.removeprefix("?"), "*" in pattern or pattern.startswith("?"), cause.strip()))
    return known


def read_never(path):
    """Patterns of tests that are not run, because they would wait for a thread for ever: `-PATTERN: cause`."""
    return [line[1:].partition(": ")[0] for line in path.read_text().splitlines() if line.startswith("-")]


def short(test):
    return test.removeprefix("test.")


def cause_of(test, known):
    return next(((sometimes, cause) for pattern, sometimes, cause in known if fnmatch.fnmatchcase(short(test), pattern)), None)


def surprises(outcome, known):
    """Unknown failures, and passes of known failures."""
    for test, (verdict, why) in outcome.verdicts.items():
        found = cause_of(test, known)
        if verdict == "failed" and not found:
            yield f"FAIL {short(test)}: {why}"
        elif verdict == "passed" and found and not found[0]:
            yield f"FAIL {short(test)}: passes, but is listed as failing: {found[1]}"


def expected(outcome, known):
    """Failures that are."""
    for test, (verdict, _) in outcome.verdicts.items():
        found = cause_of(test, known)
        if verdict == "failed" and found:
            yield f"known {short(test)}: {found[1]}"


def line(outcome):
    counts = [f"{outcome.count(word)} {word}" for word in ("passed", "failed", "skipped", "refused") if outcome.count(word)]
    return f"{outcome.name}: {', '.join(counts)} ({outcome.seconds:.1f} s)"


HEAD = """# CPython's own regression tests

`make test-python-full` (`test/python-suite/run --all`) runs these files of the `Lib/test` that comes with CPython 3.13.5 inside
sandboxes, one for each file, and writes this page. The group `python-suite` of `make test` runs a part of them.

Counted are test methods, a method with its subtests as one. A method that hangs or ends its process has failed. As CPython itself
does for WebAssembly, the tests are told that there are no threads and no fork, and skip what asks for them
first; methods that start a thread without asking, and those that would wait for one for ever, are counted apart. Resources that `python -m test` leaves out unless asked for (network, much memory, much
time) are left out. Modules in C that exist for tests alone (`_testcapi` and its like) are not built.

"""

TOTALS = """| | methods |
|---|---:|
| passed | {passed} |
| failed | {failed} |
| need a thread | {refused} |
| skipped by the tests | {skipped} |

Of the methods that run (passed or failed), {share:.2f} % pass.
"""


def failures(outcomes, known):
    """{cause: {file: [test]}} in the order of `known`; unknown ones last."""
    causes = dict.fromkeys(cause for _, _, cause in known)
    found = {cause: {} for cause in causes}
    for outcome in outcomes:
        for test, (verdict, why) in outcome.verdicts.items():
            if verdict == "failed":
                entry = cause_of(test, known)
                cause = entry[1] if entry else f"not looked into: {why}"
                found.setdefault(cause, {}).setdefault(outcome.name, []).append(short(test))
    return {cause: files for cause, files in found.items() if files}


def page(outcomes, known):
    """doc/python-testsuite.md."""
    total = {word: sum(o.count(word) for o in outcomes) for word in ("passed", "failed", "refused", "skipped")}
    share = 100 * total["passed"] / max(1, total["passed"] + total["failed"])
    lines = [HEAD + TOTALS.format(**total, share=share), "## What fails, and why", "",
             "Causes are what the test and the code that it runs suggest; not all were traced further.", "", "| cause | tests |", "|---|---|"]
    for cause, files in failures(outcomes, known).items():
        tests = ", ".join(f"`{test}`" for names in files.values() for test in names)
        lines.append(f"| {cause.replace('|', chr(92) + '|')} | {tests} |")
    lines += ["", "## File by file", "", "| file | passed | failed | need a thread | skipped |", "|---|---:|---:|---:|---:|"]
    for o in outcomes:
        counts = " | ".join(str(o.count(word) or "") for word in ("passed", "failed", "refused", "skipped"))
        lines.append(f"| {o.name} | {counts} |")
    return "\n".join(lines) + "\n"
