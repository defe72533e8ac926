#!/usr/bin/env python3
"""check_symbols.py BUILD - fails unless libcay.so exports exactly what include/cay declares, all of it named cay_*."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def exported(library):
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in listing.splitlines()}


def declared():
    """Names between CAY_API and the opening parenthesis."""
    names = set()
    for header in (ROOT / "include/cay").glob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        names |= set(re.findall(r"CAY_API\b(?!\s*__attribute__)[^;(]*?\b(\w+)\s*\(", text))
    return names


def main(build):
    have, want = exported(f"{build}/src/libcay.so"), declared()
    problems = [f"{name} is exported but is not in include/cay" for name in sorted(have - want)]
    problems += [f"{name} is declared in include/cay but not exported" for name in sorted(want - have)]
    problems += [f"{name} is public but is not called cay_*" for name in sorted(want) if not name.startswith("cay_")]
    print("\n".join(problems + [f"symbols: {len(have)} exported, {len(problems)} problems"]))
    return problems != []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "build"))
