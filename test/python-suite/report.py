"""report - what test/python-suite/run reads beside its files, and its page."""
import collections
import fnmatch

# The verdicts, and their names.
WORDS = {"passed": "passed", "failed": "failed", "unbuilt": "need a module for tests in C", "skipped": "skipped"}

NEVER = "="


def read_lists(path):
    """`[part]` and `[full]`: names of files, divided by blanks."""
    lists, names = {}, []
    for line in path.read_text().splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("["):
            names = lists.setdefault(line.strip("[]"), [])
        else:
            names += line.split() if names is not lists.get("cannot") else [line] * bool(line)
    return lists


def read_left_out(lists):
    """{file: cause} of `[cannot]`, whose lines are `FILE ...: cause`."""
    left_out = {}
    for line in lists.get("cannot", ()):
        files, _, cause = line.partition(": ")
        left_out.update((name, cause) for name in files.split())
    return left_out


def read_expected(path):
    """(pattern of test ids, whether it may also pass, cause) in the order of the file: `PATTERN: cause`, `?PATTERN: cause`.

    A pattern with a star says what may fail, one without what always does. `-PATTERN` and `=PATTERN` are not for this list: see read_never.
    """
    cause, known = "", []
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith(("#", NEVER)):
            continue
        pattern, _, cause = line.partition(": ")
        known.append((pattern.removeprefix("?"), "*" in pattern or pattern.startswith("?"), cause.strip()))
    return known


def read_never(path):
    """`VERDICT PATTERN` of tests that are not run: `=PATTERN: cause` needs a module for tests in C, without which it would harm the tests
    after it.
    """
    return [f"unbuilt {line[1:].partition(': ')[0]}" for line in path.read_text().splitlines() if line.startswith(NEVER)]


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
    counts = [f"{outcome.count(word)} {word}" for word in WORDS if outcome.count(word)]
    return f"{outcome.name}: {', '.join(counts)} ({outcome.seconds:.1f} s)"


HEAD = """# CPython's own regression tests

`make test-python-full` (`test/python-suite/run --all`) runs these {files} files of the `Lib/test` that comes with CPython 3.13.5 inside
sandboxes, one for each file, and writes this page. The group `python-suite` of `make test` runs a part of them. Not among them are {left_out} files
that cannot run, which the end of this page lists.

**With threads and without fork, of {all:,} test methods {passed:,} pass and {failed} fail: {share:.2f} % of those that run. {unbuilt:,} need modules for tests in C that are not
built, and {skipped:,} are skipped by the tests themselves, so {covered:.1f} % of all methods pass.**

| | methods |
|---|---:|
| passed | {passed} |
| failed | {failed} |
| need a module for tests in C | {unbuilt} |
| skipped by the tests | {skipped} |

A method counts once, with its subtests. A method that hangs or ends its process has failed. Threads are those of the sandbox: real ones, of
which one computes at a time. As CPython does for its own WebAssembly targets, the tests are told that there is no fork; those that ask for it first are skipped. Modules in C that exist for tests alone (`_testcapi` and others) are not built: files that cannot be imported without get a stub, and a method that
uses the stub is not counted as passed, whatever comes of it. Resources that `python -m test` leaves out unless asked for (network,
much memory, much time) are left out. A file that skips itself counts as one method.

"""


def count(outcomes, word):
    return sum(o.count(word) for o in outcomes)


def headline(outcomes, left_out):
    total = {word: count(outcomes, word) for word in WORDS}
    all_methods = sum(total.values())
    share = 100 * total["passed"] / max(1, total["passed"] + total["failed"])
    return HEAD.format(**total, all=all_methods, share=share, covered=100 * total["passed"] / max(1, all_methods), files=len(outcomes), left_out=len(left_out))


def skips(outcomes):
    """[(how many, reason)], the most frequent first; those of fewer than five methods together."""
    counts = collections.Counter()
    for outcome in outcomes:
        counts.update(why or "no reason is given" for verdict, why in outcome.verdicts.values() if verdict == "skipped")
    often = [(count, why) for why, count in counts.most_common() if count >= 5]
    return often + [(counts.total() - sum(count for count, _ in often), "other reasons, each of fewer than five methods")]


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


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


def page(outcomes, known, left_out):
    """doc/python-testsuite.md."""
    lines = [headline(outcomes, left_out) + "## What fails, and why", "",
             "Causes are what the test and the code that it runs suggest; not all were traced further.", "", "| cause | tests |", "|---|---|"]
    for cause, files in failures(outcomes, known).items():
        tests = ", ".join(f"`{test}`" for names in files.values() for test in names)
        lines.append(f"| {cell(cause)} | {tests} |")
    lines += ["", "## Skipped tests, and why", "", "| methods | reason, in the words of the tests |", "|---:|---|"]
    lines += [f"| {count} | {cell(why)} |" for count, why in skips(outcomes)]
    lines += ["", "## File by file", "", f"| file | {' | '.join(WORDS.values())} |", "|---|" + "---:|" * len(WORDS)]
    lines += [f"| {o.name} | {' | '.join(str(o.count(word) or '') for word in WORDS)} |" for o in outcomes]
    lines += ["", "## Files that cannot run", "", "| file | cause |", "|---|---|"]
    lines += [f"| {name} | {cell(cause)} |" for name, cause in left_out.items()]
    return "\n".join(lines) + "\n"
