"""Files of a sandbox. A path is absolute, or starts at /home/agent, where commands start.

Names are bytes. One that is not UTF-8 is a str as os.fsdecode gives it, in both directions; a path may also be bytes.
"""
import os
from collections import deque
from typing import Any, Deque, Dict, Iterator, List, Optional, Tuple

from . import _trees
from ._errors import SandboxError
from ._options import Data, Local, Remote, as_bytes, decode, path_param
from ._rpc import Inbox, Link
from ._types import FileInfo, file_info

PIECE = 4 << 20  # bytes of a file in one message
AHEAD = 64  # requests on the way at once, when a directory is uploaded
AHEAD_BYTES = 16 << 20


def too_large(path: Remote, limit: int, what: str = "the file") -> SandboxError:
    return SandboxError(f"EFBIG: {os.fsdecode(path)}: {what} is larger than the limit of {limit} bytes; limit= allows more")


class Files:
    """The files of a sandbox, as seen from outside: permissions do not stop these calls, and they work while commands run."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def read(self, path: Remote, *, limit: Optional[int] = None) -> bytes:
        """The contents of a file. One larger than `limit` bytes, holes counted, is refused with EFBIG; the default is the
        sandbox's fs_limit_bytes. `stream` reads files of any size."""
        most = self._link.fs_limit if limit is None else limit
        pieces: List[bytes] = []
        total = 0
        for piece in self.stream(path):
            total += len(piece)
            if total > most:
                raise too_large(path, most)
            pieces.append(piece)
        return b"".join(pieces)

    def stream(self, path: Remote) -> Iterator[bytes]:
        """The contents of a file, of any size, in pieces of 4 MiB."""
        offset = 0
        while True:
            piece = decode(self._link.call("files.read", read_params(path, offset))["data"])
            if piece:
                yield piece
            if len(piece) < PIECE:
                return
            offset += PIECE

    def read_text(self, path: Remote, *, limit: Optional[int] = None) -> str:
        """As `read`, as UTF-8; ill-formed bytes become U+FFFD."""
        return self.read(path, limit=limit).decode(errors="replace")

    def write(self, path: Remote, data: Data, *, mode: Optional[int] = None, append: bool = False) -> None:
        """Replaces the file, or adds to it; makes its parents. A str is written as UTF-8."""
        view = memoryview(as_bytes(data))
        for params in _pieces(path, view, mode, append):
            self._link.call("files.write", params)

    def list(self, path: Remote, *, recursive: bool = False) -> List[FileInfo]:
        """The entries of a directory; with recursive also below, with names relative to it."""
        return [file_info(e) for e in self._link.call("files.list", list_params(path, recursive))["entries"]]

    def mkdir(self, path: Remote, *, parents: bool = False) -> None:
        """With parents: makes them too, and is content when the directory is there."""
        self._link.call("files.mkdir", {**path_param("path", path), "parents": parents})

    def rm(self, path: Remote, *, recursive: bool = False) -> None:
        """A file or an empty directory; with recursive also all that is below."""
        self._link.call("files.rm", {**path_param("path", path), "recursive": recursive})

    def stat(self, path: Remote) -> FileInfo:
        """What a file is; links are followed. SandboxError ENOENT: it is not there."""
        return file_info(self._link.call("files.stat", path_param("path", path)))

    def exists(self, path: Remote) -> bool:
        """Whether something is there; a link that leads nowhere is nothing."""
        try:
            self.stat(path)
        except SandboxError as problem:
            if problem.errno_name in ("ENOENT", "ENOTDIR"):
                return False
            raise
        return True

    def rename(self, old: Remote, new: Remote) -> None:
        """Renames or moves; a file at the new name is replaced."""
        self._link.call("files.rename", {**path_param("from", old), **path_param("to", new)})

    def symlink(self, target: Remote, path: Remote) -> None:
        """Makes a symbolic link, and its parents. The target is kept as it is written."""
        self._link.call("files.symlink", {**path_param("target", target), **path_param("path", path)})

    def upload(self, local: Local, remote: Remote) -> None:
        """Copies a file, or a directory with all below it, into the sandbox, merging with existing files."""
        sending = _Sending(self._link)
        for step in _trees.upload_steps(os.fspath(local), os.fsdecode(remote)):
            if step.kind == "dir":
                sending.add("files.mkdir", {**path_param("path", step.remote), "parents": True})
            elif step.kind == "link":
                sending.add("files.rm", path_param("path", step.remote), may_be_missing=True)
                sending.add("files.symlink", {**path_param("target", step.target), **path_param("path", step.remote)})
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
        """A package of pure Python (a wheel, a folder, a module) or JavaScript (an archive of npm, a folder), for every program of this sandbox."""
        self._link.call("files.install", path_param("hostPath", os.path.abspath(package)))

    def download(self, remote: Remote, local: Local, *, limit: Optional[int] = None) -> None:
        """Copies a file, or a directory with all below it, out of the sandbox, merging with existing files.

        The copied files are not trusted: links that lead out of the copy are left out, and so are devices. Holes stay holes. More
        than `limit` bytes beside them are refused with EFBIG; the default is the sandbox's fs_limit_bytes.
        """
        target, source = os.fspath(local), os.fsdecode(remote)
        budget = _Budget(source, self._link.fs_limit if limit is None else limit)
        info = self.stat(source)
        if info.type != "dir":
            self._receive_file(_trees.Step("file", target, source, info.mode), budget)
            return
        os.makedirs(target, exist_ok=True)
        for step in _trees.download_steps(self.list(source, recursive=True), target, source):
            if step.kind == "dir":
                os.makedirs(step.local, exist_ok=True)
            elif step.kind == "link":
                _trees.make_link(step)
            else:
                self._receive_file(step, budget)

    def _receive_file(self, step: _trees.Step, budget: "_Budget") -> None:
        fd = _trees.open_new(step)
        try:
            self._receive(step, fd, budget)
            _trees.set_mode(fd, step.mode)
        except BaseException:
            _trees.remove_part(step, fd)
            raise
        finally:
            os.close(fd)

    def _receive(self, step: _trees.Step, fd: int, budget: "_Budget") -> None:
        offset = 0
        while True:
            reply = self._link.call("files.read", {**read_params(step.remote, offset), "skipHoles": True})
            data, offset = decode(reply["data"]), reply["offset"]
            budget.take(len(data))
            view = memoryview(data)
            while view:
                written = os.pwrite(fd, view, offset)
                offset, view = offset + written, view[written:]
            if not data or offset == reply["size"]:
                os.ftruncate(fd, offset)
                return


class _Budget:
    """Bytes that may still be written to this machine."""

    def __init__(self, remote: str, limit: int) -> None:
        self.remote, self.limit, self.left = remote, limit, limit

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise too_large(self.remote, self.limit, "the copy")


def read_params(path: Remote, offset: int) -> Dict[str, Any]:
    return {**path_param("path", path), "offset": offset, "length": PIECE}


def list_params(path: Remote, recursive: bool) -> Dict[str, Any]:
    return {**path_param("path", path), "recursive": recursive}


def _piece(path: Remote, data: Any, offset: int, mode: Optional[int]) -> Dict[str, Any]:
    """The first piece replaces the file, the others go behind it."""
    params: Dict[str, Any] = {**path_param("path", path), "data": data}
    if offset:
        params["offset"] = offset
    elif mode is not None:
        params["mode"] = mode
    return params


def _pieces(path: Remote, view: memoryview, mode: Optional[int], append: bool) -> Any:
    for offset in range(0, len(view) or 1, PIECE):
        params = _piece(path, view[offset:offset + PIECE], 0 if append else offset, mode)
        if append:
            params["append"] = True
        yield params


class _Sending:
    """Requests on their way, so many at once; the first failure is raised."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.waiting: Deque[Tuple[Inbox, int, bool]] = deque()
        self.bytes = 0

    def add(self, method: str, params: Dict[str, Any], size: int = 0, may_be_missing: bool = False) -> None:
        while len(self.waiting) >= AHEAD or (self.waiting and self.bytes + size > AHEAD_BYTES):
            self.take_one()
        answer = self.link.inbox()
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
