#!/usr/bin/env python3
"""Fails when too many static functions share their name with one of another file.

A static function carries its object (`pipe_read`, `queue_take`): backtraces, profiles and searches show it without its file.

  scripts/check_statics.py            the share, and whether it is within the bound
  scripts/check_statics.py --list     the names that several files use, with the files
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BOUND = 0.06
STATIC = re.compile(r"^static (?:inline )?[\w\s*]*?\b(\w+)\([^;]*?\)\s*\{", re.M)


def main(arguments):
    files = collections.defaultdict(set)
    for path in sorted((ROOT / "src").rglob("*.c")):
        for name in STATIC.findall(path.read_text()):
            files[name].add(str(path.relative_to(ROOT)))
    total = sum(map(len, files.values()))
    shared = {name: places for name, places in files.items() if len(places) > 1}
    count = sum(map(len, shared.values()))
    if "--list" in arguments:
        for name, places in sorted(shared.items(), key=lambda row: -len(row[1])):
            print(f"{name}: {' '.join(sorted(places))}")
    print(f"statics: {total} functions, {100 * count / total:.1f} % share a name with one of another file (at most {100 * BOUND:.0f} %)")
    return count > BOUND * total


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
