"""Whole sandboxes as values."""
import itertools
import os
import weakref
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from ._binary import command
from ._channel import Channel
from ._options import Local, isolation_of, path_param
from ._rpc import Link, _as_line

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Change:
    """A path that differs between two snapshots, or in a copy-on-write mount."""

    path: str
    """In the sandbox; of a mount, relative to it."""
    kind: str
    """"added", "removed" or "changed"."""
    contents: bool
    """False: only its mode or its owner changed."""
    host_changed: bool = False
    """Of a mount: this machine has changed it, too, since the sandbox looked at it."""


def changes_of(reply: Dict[str, Any]) -> List[Change]:
    return [Change(one["path"], one["kind"], one["contents"], one.get("hostChanged", False)) for one in reply["changes"]]


def _forget(channel: Channel, name: str) -> None:
    if os.getpid() != channel.owner or channel.death is not None:
        return
    channel.write_later(_as_line({"jsonrpc": "2.0", "id": 0, "method": "snapshot.remove", "params": {"name": name}}) + b"\n")


class Snapshot:
    """A sandbox as it was: files, variables, and sessions with all that was in their memory.

    Made by Sandbox.snapshot and Snapshot.load. It shares with its sandbox, with other snapshots and with the sandboxes made from it
    all that neither of them changes. It lives in the server process of this program as long as it is referred to; save() keeps it.
    """

    id: str
    """64 hexadecimal digits, also in its file."""
    parent: Optional[str]
    """The snapshot that its sandbox was made from, or taken as before."""
    label: str
    """The words that it was taken with."""
    files: int
    """Those that are not in every sandbox."""
    bytes: int
    """In these files."""

    def __init__(self, link: Link, name: str, info: Dict[str, Any]) -> None:
        self._link, self._name = link, name
        self.id, self.parent, self.label = info["id"], info.get("parent"), info["label"]
        self.files, self.bytes = info["files"], info["bytes"]
        self._finalizer = weakref.finalize(self, _forget, link.channel, name)
        self._finalizer.atexit = False

    @classmethod
    def _take(cls, link: Link, label: str, leave_out: bool, wait: float) -> "Snapshot":
        name = f"snapshot {next(_numbers)}"
        how = {"leaveOut": True} if leave_out else {"waitMs": int(wait * 1000)}
        return cls(link, name, link.call("snapshot.take", {"name": name, "label": label, **how}))

    @classmethod
    def load(cls, path: Local, *, binary: Optional[str] = None, isolation: Optional[str] = None, sessions: bool = True,
             directory: str = "/home/agent") -> "Snapshot":
        """From a file of save(), of `cay run --save-snapshot`, or from a tar archive, whose names begin at `directory`. Without its
        sessions a file loads with other guests, too."""
        name, link = f"snapshot {next(_numbers)}", Link(command(binary), isolation=isolation_of(isolation))
        return cls(link, name, link.call("snapshot.load", {"name": name, "sessions": sessions, "dir": directory,
                                                              **path_param("path", os.path.abspath(path))}))

    def _name_in(self, link: Link) -> str:
        if self._link.channel is not link.channel:
            raise ValueError("the snapshot is in another server process: save it, and load it with the same binary and isolation")
        return self._name

    def save(self, path: Local, *, tar: bool = False, directory: str = "/") -> None:
        """To a file, which is replaced as a whole. It holds what the sandbox held: keep it as you would keep that.

        With `tar` an archive of the files in `directory` and below, those that are not in every sandbox.
        """
        archive = {"tar": True, "dir": directory} if tar else {}
        self._link.call("snapshot.save", {"name": self._name, **archive, **path_param("path", os.path.abspath(path))})

    def diff(self, later: "Snapshot", path: str = "/") -> List[Change]:
        """The changes from this one to a later one, at `path` and below."""
        return changes_of(self._link.call("snapshot.diff", {"from": self._name, "to": later._name, "path": path}))

    def patch(self, later: "Snapshot", path: str = "/home/agent") -> str:
        """The same as a unified patch in git's form, with names relative to `path`: for `git apply` and `patch -p1`."""
        text: str = self._link.call("snapshot.diff", {"from": self._name, "to": later._name, "path": path, "patch": True})["patch"]
        return text

    def __repr__(self) -> str:
        return f"<cay.Snapshot {self.id[:12]} {self.label!r}>"


def checked_snapshot(given: Optional[Snapshot]) -> Optional[Snapshot]:
    """What the caller gave, if it can be one."""
    if given is None or isinstance(given, Snapshot):
        return given
    raise TypeError(f"snapshot must be a Snapshot, not {type(given).__name__}: Snapshot.load(path) reads one from a file")
