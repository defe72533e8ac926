"""Directories on their way into a sandbox and out of it: what to do, without doing it."""
import os
import stat
from typing import Iterator, List, NamedTuple, Optional, Tuple

from ._types import FileInfo


class Step(NamedTuple):
    kind: str  # "dir", "file", "link"
    local: str
    remote: str
    mode: int = 0
    target: str = ""


def join(base: str, name: str) -> str:
    return f"{base.rstrip('/')}/{name}" if base != "/" else f"/{name}"


def upload_steps(local: str, remote: str) -> Iterator[Step]:
    """A directory's contents, parents first; links stay links, and other kinds of files are left out."""
    info = os.stat(local)
    if not stat.S_ISDIR(info.st_mode):
        yield Step("file", local, remote, stat.S_IMODE(info.st_mode) & 0o777)
        return
    yield Step("dir", local, remote)
    waiting: List[Tuple[str, str]] = [(local, remote)]
    while waiting:
        folder, place = waiting.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                there = join(place, entry.name)
                if entry.is_symlink():
                    yield Step("link", entry.path, there, target=os.readlink(entry.path))
                elif entry.is_dir():
                    yield Step("dir", entry.path, there)
                    waiting.append((entry.path, there))
                elif entry.is_file():
                    yield Step("file", entry.path, there, stat.S_IMODE(entry.stat().st_mode) & 0o777)


def _stays(name: str, target: Optional[str]) -> bool:
    """Whether a link leads nowhere outside: ".." may stand only in front, where it stays inside the copied tree."""
    if not target or target.startswith("/"):
        return False
    parts = target.split("/")
    ups = 0
    while ups < len(parts) and parts[ups] == "..":
        ups += 1
    return ups <= name.count("/") and ".." not in parts[ups:]


def download_steps(entries: List[FileInfo], local: str, remote: str) -> Iterator[Step]:
    """What a sandbox says it has is not trusted: names that lead out, devices, and links that lead out are left out.
    Links come last, so that nothing is written through one."""
    links: List[Step] = []
    for entry in entries:
        if any(part in ("", ".", "..") for part in entry.name.split("/")) or "\0" in entry.name:
            continue
        here, there = os.path.join(local, entry.name), join(remote, entry.name)
        if entry.type == "dir":
            yield Step("dir", here, there)
        elif entry.type == "file":
            yield Step("file", here, there, entry.mode & 0o777)
        elif entry.type == "link" and _stays(entry.name, entry.target):
            links.append(Step("link", here, there, target=entry.target or ""))
    yield from links


def make_link(step: Step) -> None:
    if os.path.islink(step.local):
        os.unlink(step.local)
    os.symlink(step.target, step.local)


def open_new(step: Step) -> int:
    """A file to write to, never through a link that stands in its place."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    if os.path.islink(step.local):
        os.unlink(step.local)
    return os.open(step.local, flags, 0o666)


def set_mode(fd: int, mode: int) -> None:
    """The permission to execute is kept; the rest is what this user's files get."""
    if mode & 0o111:
        now = os.fstat(fd).st_mode
        os.fchmod(fd, stat.S_IMODE(now) | (now & 0o444) >> 2)


def remove_part(step: Step, fd: int) -> None:
    """After a failure: a part of a file would look like a file."""
    if stat.S_ISREG(os.fstat(fd).st_mode):
        os.unlink(step.local)
