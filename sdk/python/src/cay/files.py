"""Files of a sandbox. A path is absolute, or starts at /home/agent, where commands start."""
import os
from collections import deque
from queue import SimpleQueue
from typing import Any, Deque, Dict, List, Optional, Tuple, Union

from . import _trees
from ._errors import SandboxError
from ._options import Data, as_bytes, decode, encode
from ._rpc import Item, Link
from ._types import FileInfo, file_info

PIECE = 4 << 20  # bytes of a file in one message
AHEAD = 64  # requests on the way at once, when a directory is uploaded
AHEAD_BYTES = 16 << 20

Local = Union[str, "os.PathLike[str]"]


class Files:
    def __init__(self, link: Link) -> None:
        self._link = link

    def read(self, path: str) -> bytes:
        first = self._read_piece(path, 0)
        if len(first) < PIECE:
            return first
        pieces = [first]
        while len(pieces[-1]) == PIECE:
            pieces.append(self._read_piece(path, PIECE * len(pieces)))
        return b"".join(pieces)

    def _read_piece(self, path: str, offset: int) -> bytes:
        return decode(self._link.call("files.read", {"path": path, "offset": offset, "length": PIECE})["data"])

    def read_text(self, path: str) -> str:
        """Its contents as UTF-8; what is none becomes U+FFFD."""
        return self.read(path).decode(errors="replace")

    def write(self, path: str, data: Data, *, mode: Optional[int] = None, append: bool = False) -> None:
        """Replaces the file, or adds to it; makes its parents. A str is written as UTF-8."""
        view = memoryview(as_bytes(data))
        for params in _pieces(path, view, mode, append):
            self._link.call("files.write", params)

    def list(self, path: str, *, recursive: bool = False) -> List[FileInfo]:
        """What is in a directory; with recursive also below, with names relative to it."""
        return [file_info(e) for e in self._link.call("files.list", {"path": path, "recursive": recursive})["entries"]]

    def mkdir(self, path: str, *, parents: bool = False) -> None:
        """With parents: makes them too, and is content when the directory is there."""
        self._link.call("files.mkdir", {"path": path, "parents": parents})

    def rm(self, path: str, *, recursive: bool = False) -> None:
        """A file or an empty directory; with recursive also all that is below."""
        self._link.call("files.rm", {"path": path, "recursive": recursive})

    def stat(self, path: str) -> FileInfo:
        return file_info(self._link.call("files.stat", {"path": path}))

    def exists(self, path: str) -> bool:
        try:
            self.stat(path)
        except SandboxError as problem:
            if problem.errno_name in ("ENOENT", "ENOTDIR"):
                return False
            raise
        return True

    def rename(self, old: str, new: str) -> None:
        self._link.call("files.rename", {"from": old, "to": new})

    def symlink(self, target: str, path: str) -> None:
        self._link.call("files.symlink", {"target": target, "path": path})

    def upload(self, local: Local, remote: str) -> None:
        """Copies a file, or a directory with all below it, into the sandbox, adding to what is there."""
        sending = _Sending(self._link)
        for step in _trees.upload_steps(os.fspath(local), remote):
            if step.kind == "dir":
                sending.add("files.mkdir", {"path": step.remote, "parents": True})
            elif step.kind == "link":
                sending.add("files.rm", {"path": step.remote}, may_be_missing=True)
                sending.add("files.symlink", {"target": step.target, "path": step.remote})
            else:
                self._send_file(sending, step)
        sending.finish()

    def _send_file(self, sending: "_Sending", step: _trees.Step) -> None:
        with open(step.local, "rb") as file:
            offset = 0
            while True:
                data = file.read(PIECE)
                if data or offset == 0:
                    sending.add("files.write", _piece(step.remote, data, offset, step.mode), len(data))
                if len(data) < PIECE:
                    return
                offset += len(data)

    def install(self, package: Local) -> None:
        """A wheel, a folder or a module of pure Python, for every Python of this sandbox."""
        self._link.call("files.install", {"hostPath": os.path.abspath(package)})

    def download(self, remote: str, local: Local) -> None:
        """Copies a file, or a directory with all below it, out of the sandbox, adding to what is there.

        What comes out is not trusted: links that lead out of the copy are left out, and so are devices.
        """
        target = os.fspath(local)
        if self.stat(remote).type != "dir":
            self._receive_file(_trees.Step("file", target, remote, self.stat(remote).mode))
            return
        os.makedirs(target, exist_ok=True)
        for step in _trees.download_steps(self.list(remote, recursive=True), target, remote):
            if step.kind == "dir":
                os.makedirs(step.local, exist_ok=True)
            elif step.kind == "link":
                _trees.make_link(step)
            else:
                self._receive_file(step)

    def _receive_file(self, step: _trees.Step) -> None:
        with open(_trees.open_new(step), "wb", buffering=0) as file:
            offset = 0
            while True:
                data = self._read_piece(step.remote, offset)
                _write_all(file, data)
                offset += len(data)
                if len(data) < PIECE:
                    _trees.set_mode(file.fileno(), step.mode)
                    return


def _write_all(file: Any, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view):]


def _piece(path: str, data: Any, offset: int, mode: Optional[int]) -> Dict[str, Any]:
    """The first piece replaces the file, the others go behind it."""
    params: Dict[str, Any] = {"path": path, "data": encode(data)}
    if offset:
        params["offset"] = offset
    elif mode is not None:
        params["mode"] = mode
    return params


def _pieces(path: str, view: memoryview, mode: Optional[int], append: bool) -> Any:
    for offset in range(0, len(view) or 1, PIECE):
        params = _piece(path, view[offset:offset + PIECE], 0 if append else offset, mode)
        if append:
            params["append"] = True
        yield params


class _Sending:
    """Requests on their way, so many at once; the first failure is raised."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.waiting: Deque[Tuple["SimpleQueue[Item]", int, bool]] = deque()
        self.bytes = 0

    def add(self, method: str, params: Dict[str, Any], size: int = 0, may_be_missing: bool = False) -> None:
        while len(self.waiting) >= AHEAD or (self.waiting and self.bytes + size > AHEAD_BYTES):
            self.take_one()
        answer: "SimpleQueue[Item]" = SimpleQueue()
        self.link.start(method, params, answer.put)
        self.waiting.append((answer, size, may_be_missing))
        self.bytes += size

    def take_one(self) -> None:
        answer, size, may_be_missing = self.waiting.popleft()
        kind, value = answer.get()
        self.bytes -= size
        if kind == "error" and not (may_be_missing and value.errno_name == "ENOENT"):
            raise value

    def finish(self) -> None:
        while self.waiting:
            self.take_one()
