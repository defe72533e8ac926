"""Reading deps.lock and bringing in the sources it pins; used by scripts/setup, scripts/fetch and scripts/make-guests-doc."""
import pathlib
import platform
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Problem(Exception):
    """Something a person has to act on; its text says what."""


def lock():
    with open(ROOT / "deps.lock", "rb") as file:
        return tomllib.load(file)


def machine():
    return platform.machine()


def say(text):
    print(text, file=sys.stderr, flush=True)
