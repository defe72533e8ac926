"""Calls of one sandbox."""
import binascii
import itertools
import os
import weakref
from queue import Empty
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import _servers
from ._channel import KILLED, LINE_MAX, Ask, Channel, Deliver, Party, describe_exception, encode_json, ignore
from ._errors import SandboxDied, SandboxError, SandboxTimeout
from ._inbox import Inbox, Item
from ._library import LibraryChannel
from ._process_channel import ProcessChannel

__all__ = ["Inbox", "Item", "Link", "describe_exception"]

_names = itertools.count(1)


def _as_line(request: Dict[str, Any]) -> bytes:
    try:
        return encode_json(request).encode()
    except UnicodeEncodeError as problem:
        raise ValueError(f"{request['method']}: a text holds {problem.object[problem.start]!r}, half a surrogate pair, which "
                         "UTF-8 cannot carry") from None
    except ValueError:
        raise ValueError(f"{request['method']}: an option is infinite or not a number") from None


def _release(channel: Channel, party: Party) -> None:
    """The sandbox is not referred to any more: it ends, and no caller waits for that."""
    if os.getpid() != channel.owner or party.death is not None or channel.death is not None:
        return
    party.killing = True
    channel.bury(party)
    channel.write_later(_as_line({"jsonrpc": "2.0", "id": 0, "method": "destroy", "params": {"sandbox": party.name}}) + b"\n")


def _raw_path(params: Dict[str, Any]) -> bytes:
    raw = params.get("pathBase64")
    return params["path"].encode() if raw is None else binascii.a2b_base64(raw)


class Link:
    """One sandbox of a server that all of this program share, or (`own`) all of a server."""

    def __init__(self, command: List[str], own: bool = False, isolation: str = "process") -> None:
        self.command, self.own, self.isolation = command, own, isolation
        self.fs_limit = 256 << 20  # bytes: what files.read and files.download take at most
        self._join()

    def _join(self) -> None:
        self.party = Party("" if self.own else str(next(_names)))
        self.library: Optional[LibraryChannel] = None
        self.channel: Channel
        if self.isolation == "library":
            self.channel = self.library = _servers.shared_library(self.command)
        else:
            self.channel = ProcessChannel(self.command) if self.own else _servers.shared_channel(self.command)
        self.channel.parties[self.party.name] = self.party
        self._finalizer = weakref.finalize(self, _servers.close, self.channel) if self.own else \
            weakref.finalize(self, _release, self.channel, self.party)
        self._finalizer.atexit = self.own

    def close(self) -> None:
        """Ends it, and waits for that only when it has a server of its own. Twice is fine."""
        self._finalizer()

    @property
    def pid(self) -> int:
        return self.channel.pid

    @property
    def death(self) -> Optional[str]:
        return self.party.death or self.channel.death

    def serve(self, answer: Ask) -> None:
        """Calls of callbacks go there."""
        self.party.answer = answer

    def attend_network(self, told: Callable[[str, Dict[str, Any]], None]) -> None:
        """Decisions and questions about the network go there, with the thread that reads them."""
        self.party.network = told
        if self.library is not None:
            self.library.read_in_background()

    # ---- requests ----

    def _request(self, method: str, params: Dict[str, Any]) -> Tuple[int, bytes]:
        number = next(self.channel.numbers)
        if not self.own:
            params = {**params, "id" if method == "create" else "sandbox": self.party.name}
        line = _as_line({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        if len(line) > LINE_MAX:
            raise SandboxError(f"E2BIG: {method}: the request is longer than {LINE_MAX} bytes")
        return number, line

    def prepare(self, method: str, params: Dict[str, Any], deliver: Deliver) -> Tuple[int, bytes]:
        """A request that somebody waits for from now on: its id, and the line to send."""
        number, line = self._request(method, params)
        self.channel.expect(number, deliver, self.party)
        return number, line + b"\n"

    def start(self, method: str, params: Dict[str, Any], deliver: Deliver = ignore, patience: float = -1) -> int:
        """Sends a request. Its answer comes to `deliver` when somebody reads: see Inbox and read_in_background."""
        number, line = self.prepare(method, params, deliver)
        self.channel.write(line, patience)
        return number

    def inbox(self) -> Inbox:
        if self.library is not None:
            self.library.read_in_background()
        return Inbox(self.channel)

    def call(self, method: str, params: Dict[str, Any], timeout: Optional[float] = None) -> Any:
        """The result of a request."""
        if self.library is not None:
            return self._ask_library(self.library, method, params)
        answer = Inbox(self.channel)
        self.start(method, params, answer.put, -1 if timeout is None else timeout)
        try:
            kind, value = answer.get(timeout)
        except Empty:
            raise SandboxTimeout(f"no answer to {method} in {timeout} s") from None
        if kind == "error":
            raise value
        return value

    def run(self, method: str, params: Dict[str, Any], cancel: str, named: Dict[str, Any]) -> Any:
        """As call, for what takes a while: when the caller is interrupted, the request `cancel` ends it. From a library, the
        result is the tuple of the module."""
        if self.library is None:
            return self._run_process(method, params, cancel, named)
        number, line = self._request(method, params)
        try:
            return self.library.ask(number, line, self.party)
        except SandboxError:
            raise
        except BaseException:  # of a callback, or Ctrl-C
            self.library.read_in_background()  # its answer has no caller any more
            if self.death is None:
                self.call(cancel, {**named, "id": number})
            raise

    def _run_process(self, method: str, params: Dict[str, Any], cancel: str, named: Dict[str, Any]) -> Any:
        items = self.inbox()
        number = self.start(method, params, items.put)
        try:
            kind, value = items.get()
        except BaseException:  # Ctrl-C
            if self.death is None:
                self.start(cancel, {**named, "id": number})
                wait_for_end(items)
            raise
        if kind == "error":
            raise value
        return value

    def _ask_library(self, library: LibraryChannel, method: str, params: Dict[str, Any]) -> Any:
        if method == "files.read" and "length" in params and "skipHoles" not in params:
            return {"data": library.read_file(self.party, _raw_path(params), params.get("offset", 0), params["length"])}
        if method == "files.write":
            library.write_file(self.party, _raw_path(params), params["data"], params.get("mode", 0), params.get("offset"),
                               params.get("append", False))
            return {"ok": True}
        return library.ask(*self._request(method, params), self.party)

    # ---- life ----

    def create(self, params: Dict[str, Any], timeout: float) -> None:
        """Makes the sandbox."""
        try:
            self.call("create", params, timeout)
        except SandboxTimeout:
            self.abandon()
            raise
        except SandboxDied:
            if not self.rejoin():
                raise
            self.call("create", params, timeout)
        self.channel.warm = True

    def abandon(self) -> None:
        """The server does not answer: it ends by force."""
        self.channel.abandon()
        _servers.close(self.channel)

    def rejoin(self) -> bool:
        """True: the server that was there had died unnoticed, and this is a link to a new one."""
        if not self.channel.warm or self.channel.death is None or os.getpid() != self.channel.owner:
            return False
        self._join()
        return True

    def kill(self) -> None:
        """Ends everything in it. Twice is fine."""
        if os.getpid() != self.channel.owner:
            return
        self.party.killing = True
        if self.own:
            self.channel.killing = True
        if self.death is None:
            try:
                self.call("kill" if self.own else "destroy", {}, timeout=_servers.END_PATIENCE)
            except SandboxTimeout:
                self.abandon()
            except SandboxError:
                pass  # then without its consent
        self.channel.bury(self.party)
        if self.own:
            self.close()

    def __repr__(self) -> str:
        if self.death is None:
            return f"pid {self.pid}"
        return "killed" if self.death == KILLED else "dead"


RUN_PATIENCE = 5.0  # seconds until code that was cancelled has ended; it takes 50 ms at most


def wait_for_end(items: Inbox) -> None:
    """So that the session is free for the next run."""
    try:
        while items.get(RUN_PATIENCE)[0] == "output":
            pass
    except Empty:
        pass
