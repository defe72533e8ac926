#!/usr/bin/env python3
"""bench.py - what a sandbox costs a Python program, beside subprocess.run and files of its own, without any isolation.

  sdk/python/bench.py              all rows
  sdk/python/bench.py --rounds 9   more rounds (5)
  sdk/python/bench.py --json       one object

It measures the installed package; without one, the sources beside it and $CAY_BINARY or the `cay` on PATH. Each round
measures both sides of every row, one after the other; the figure is the median of the rounds.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

try:
    from cay import Sandbox
except ImportError:
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "src"))
    from cay import Sandbox

ENVIRONMENT = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
SMALL = b"x" * 1000
LARGE = b"0123456789" * 10_000_000
COUNT = 300


def seconds(function, times=1):
    start = time.perf_counter()
    for _ in range(times):
        function()
    return (time.perf_counter() - start) / times


def program(code):
    subprocess.run([sys.executable, "-c", code], check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)


def plain(command):
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True)


def first_result():
    with Sandbox() as sandbox:
        sandbox.commands.run("true")


def alive(work):
    """A side that needs a sandbox which has run something already."""
    def measure():
        with Sandbox(fs_limit_bytes=512 << 20) as sandbox:
            sandbox.commands.run("true")
            return work(sandbox)
    return measure


def there_and_back(sandbox):
    for number in range(COUNT):
        sandbox.files.write(f"/tmp/{number}", SMALL)
        sandbox.files.read(f"/tmp/{number}")


def own_files():
    with tempfile.TemporaryDirectory() as folder:
        def both():
            for number in range(COUNT):
                with open(f"{folder}/{number}", "wb") as file:
                    file.write(SMALL)
                with open(f"{folder}/{number}", "rb") as file:
                    file.read()
        return COUNT / seconds(both)


def through_programs():
    """As an agent has it that reaches its files by commands."""
    with tempfile.TemporaryDirectory() as folder:
        def both():
            subprocess.run(["sh", "-c", f"cat > {folder}/f"], input=SMALL)
            subprocess.run(["cat", f"{folder}/f"], capture_output=True)
        return 1 / seconds(both, 30)


def at_once(run):
    with ThreadPoolExecutor(8) as pool:
        return 64 / seconds(lambda: list(pool.map(lambda _: run("true"), range(64))))


def megabytes(move):
    return len(LARGE) / 1e6 / seconds(move)


def large_down(sandbox):
    sandbox.files.write("/tmp/large", LARGE)
    return megabytes(lambda: sandbox.files.read("/tmp/large"))


def own_large(reading):
    with tempfile.NamedTemporaryFile() as file:
        def write():
            with open(file.name, "wb") as to:
                to.write(LARGE)

        def read():
            with open(file.name, "rb") as of:
                of.read()
        write()
        return megabytes(read if reading else write)


ROWS = [  # name, unit, the sandbox's function, the peer's name, the peer's function
    ("program with one command, Python's start included", "ms",
     lambda: 1e3 * seconds(lambda: program("from cay import Sandbox; Sandbox().commands.run('true')")), "subprocess.run",
     lambda: 1e3 * seconds(lambda: program("import subprocess; subprocess.run(['bash', '-c', 'true'])"))),
    ("Sandbox() to the first result, and its end", "ms", lambda: 1e3 * seconds(first_result, 10), "subprocess.run",
     lambda: 1e3 * seconds(lambda: plain("true"), 10)),
    ('run("true")', "ms", alive(lambda s: 1e3 * seconds(lambda: s.commands.run("true"), 200)), "subprocess.run",
     lambda: 1e3 * seconds(lambda: plain("true"), 50)),
    ('run("echo hi | tr a-z A-Z")', "ms", alive(lambda s: 1e3 * seconds(lambda: s.commands.run("echo hi | tr a-z A-Z"), 100)),
     "subprocess.run", lambda: 1e3 * seconds(lambda: plain("echo hi | tr a-z A-Z"), 50)),
    ("commands from 8 threads", "per s", alive(lambda s: at_once(s.commands.run)), "subprocess.run",
     lambda: at_once(plain)),
    ("files of 1 kB, written and read", "per s", alive(lambda s: COUNT / seconds(lambda: there_and_back(s))),
     "subprocess.run", through_programs),
    ("files of 1 kB, written and read", "per s", alive(lambda s: COUNT / seconds(lambda: there_and_back(s))), "open()",
     own_files),
    ("100 MB in", "MB/s", alive(lambda s: megabytes(lambda: s.files.write("/tmp/large", LARGE))), "open()",
     lambda: own_large(False)),
    ("100 MB out", "MB/s", alive(large_down), "open()", lambda: own_large(True)),
]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--json", action="store_true")
    options = options.parse_args()
    samples = [([], []) for _ in ROWS]
    for _ in range(options.rounds):
        for (_, _, ours, _, theirs), (here, there) in zip(ROWS, samples):
            here.append(ours())
            there.append(theirs())
    figures = [(row, statistics.median(here), statistics.median(there)) for row, (here, there) in zip(ROWS, samples)]
    if options.json:
        print(json.dumps([{"name": row[0], "unit": row[1], "cay": ours, "beside": row[3], "figure": theirs}
                          for row, ours, theirs in figures]))
        return
    print(f"{'':<50} {'cay':>9}  {'beside it':>25} {'cay / it':>9}")
    for (name, unit, _, beside, _), ours, theirs in figures:
        ratio = ours / theirs
        print(f"{name:<50} {ours:>9.3g}  {beside + format(theirs, '>10.3g'):>25} {ratio:>8.2f}x  {unit}")


if __name__ == "__main__":
    main()
