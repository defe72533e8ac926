"""A folder of unpacked dependencies, each named by a digest of its pins, made aside and renamed into place when whole."""
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from . import Problem

# Part of every key: raise it when the way something is unpacked changes.
LAYOUT = 2


def root():
    base = os.environ.get("CAY_CACHE")
    if not base:
        base = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "cay")
    return pathlib.Path(base)


def place(name, version, pins):
    """Where the thing with these pins stands, whether it is there or not."""
    key = hashlib.sha256(json.dumps([LAYOUT, name, pins], sort_keys=True).encode()).hexdigest()[:12]
    upstream = re.sub(r"^\d+:|-[^-]*$", "", version)
    return root() / "deps" / f"{name}-{upstream}-{key}"


@contextlib.contextmanager
def alone(file):
    """Holds a lock among all processes and their threads; the file stays."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def making(target):
    """Yields an empty folder that becomes `target` if the body succeeds, or None if someone else made it meanwhile."""
    with alone(target.parent / f".{target.name}.lock"):
        if target.exists():
            yield None
            return
        aside = pathlib.Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            yield aside
            aside.chmod(0o755)
            aside.rename(target)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_sha256(path, want):
    got = sha256(path)
    if got != want:
        raise Problem(f"{path.name} has sha256 {got}, but deps.lock says {want or 'nothing'}; it was not used")


def run(command, **options):
    """A command whose output matters only when it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise Problem(f"{' '.join(map(str, command))} failed:\n{done.stdout.strip()}")
    return done.stdout
