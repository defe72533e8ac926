"""report - the rules that test/node-suite/run reads, and its page."""
import collections
import fnmatch
import re

WORDS = ("passed", "failed", "skipped", "left out")


class Rules:
    """`PATTERN: cause` for names of files, `/REGEX/flags: cause` for a text; the first that fits counts."""

    def __init__(self, path):
        self.rules = []
        for line in path.read_text().splitlines() if path.exists() else []:
            if not line.strip() or line.startswith("#"):
                continue
            regex = re.match(r"/(.*)/(m?): (.*)", line)
            pattern, _, cause = line.partition(": ")
            self.rules.append((re.compile(regex[1], re.M if regex[2] else 0), regex[3]) if regex else (pattern, cause))

    def find(self, name, text):
        for rule, cause in self.rules:
            if fnmatch.fnmatchcase(name, rule) if isinstance(rule, str) else rule.search(text):
                return cause
        return None


def count(results, module=None):
    total = collections.Counter()
    for name, entries in results.items():
        if module in (None, name):
            total.update(entry["verdict"] for entry in entries)
    return total


def share(total):
    ran = total["passed"] + total["failed"]
    return f"{100 * total['passed'] / ran:.1f} %" if ran else ""


def table(results):
    lines = [f"{module}: " + ", ".join(f"{total[word]} {word}" for word in WORDS if total[word]) + f" ({share(total)})"
             for module in results for total in [count(results, module)]]
    return "\n".join(lines) + "\n"


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


HEAD = """# Node.js's own tests

`make test-node-full` (`test/node-suite/run`) runs the files of Node's `test/parallel` for the modules below in sandboxes, one for each file, and writes
this page. They are those of Debian's source of Node.js 24.21; the library inside is that of 24.19. The files are unchanged and run with the
options that they ask for. A file passes when its process ends with 0; one failed assertion among hundreds fails it.

**Of the {ran:,} files that apply {passed:,} pass: {share}.** {skipped} skip themselves, and {left} are left out, because they test features that are
not there by decision, or fail in Node 24.19 itself.

"""


def page(results, causes):
    total = count(results)
    lines = [HEAD.format(ran=total["passed"] + total["failed"], passed=total["passed"], share=share(total), skipped=total["skipped"], left=total["left out"])
             + f"| module | {' | '.join(WORDS)} | of those that apply |", "|---|" + "---:|" * (len(WORDS) + 1)]
    for module in sorted(results):
        each = count(results, module)
        lines.append(f"| {module} | {' | '.join(str(each[word] or '') for word in WORDS)} | {share(each)} |")
    lines += ["", "## What fails, and why", "", "Causes are what the message of the failure suggests; not all were traced further.", "", "| cause | files |", "|---|---|"]
    failed = collections.defaultdict(list)
    for entries in results.values():
        for entry in entries:
            if entry["verdict"] == "failed":
                failed[causes.find(entry["file"], entry["why"]) or f"not looked into: {entry['why'][:120]}"].append(entry["file"])
    order = sorted(failed.items(), key=lambda item: (item[0].startswith("not looked"), -len(item[1]), item[0]))
    lines += [f"| {cell(cause)} ({len(files)}) | {', '.join(f'`{name}`' for name in sorted(files))} |" for cause, files in order]
    lines += ["", "## Left out, and why", "", "| files | cause |", "|---:|---|"]
    left = collections.Counter(entry["why"] for entries in results.values() for entry in entries if entry["verdict"] == "left out")
    lines += [f"| {number} | {cell(cause)} |" for cause, number in left.most_common()]
    return "\n".join(lines) + "\n"
