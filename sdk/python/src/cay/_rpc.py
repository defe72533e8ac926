"""Calls of one sandbox."""
import itertools
import os
import weakref
from queue import Empty
from typing import Any, Dict, List, Optional, Tuple

from . import _servers
from ._channel import KILLED, LINE_MAX, Ask, Channel, Deliver, Party, describe_exception, encode_json, ignore
from ._errors import SandboxDied, SandboxError, SandboxTimeout
from ._inbox import Inbox, Item

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
    """The sandbox is not referred to any more: it ends, and nobody waits for that."""
    if os.getpid() != channel.owner or party.death is not None or channel.death is not None:
        return
    party.killing = True
    channel.bury(party)
    channel.write_later(_as_line({"jsonrpc": "2.0", "id": 0, "method": "destroy", "params": {"sandbox": party.name}}) + b"\n")


class Link:
    """One sandbox of a server that all of this program share, or (`own`) all of a server."""

    def __init__(self, command: List[str], own: bool = False) -> None:
        self.command, self.own = command, own
        self.fs_limit = 256 << 20  # bytes: what files.read and files.download take at most
        self._join()

    def _join(self) -> None:
        self.party = Party("" if self.own else str(next(_names)))
        self.channel = Channel(self.command) if self.own else _servers.shared_channel(self.command)
        self.channel.parties[self.party.name] = self.party
        self._finalizer = weakref.finalize(self, _servers.close, self.channel) if self.own else \
            weakref.finalize(self, _release, self.channel, self.party)
        self._finalizer.atexit = self.own

    def close(self) -> None:
        """Ends it, and waits for that only when it has a server of its own. Twice is fine."""
        self._finalizer()

    @property
    def pid(self) -> int:
        return self.channel.process.pid

    @property
    def death(self) -> Optional[str]:
        return self.party.death or self.channel.death

    def serve(self, answer: Ask) -> None:
        """Calls of callbacks go there."""
        self.party.answer = answer

    def prepare(self, method: str, params: Dict[str, Any], deliver: Deliver) -> Tuple[int, bytes]:
        """A request that somebody waits for from now on: its id, and the line to send."""
        channel = self.channel
        number = next(channel.numbers)
        if not self.own:
            params = {**params, "id" if method == "create" else "sandbox": self.party.name}
        line = _as_line({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        if len(line) > LINE_MAX:
            raise SandboxError(f"E2BIG: {method}: the request is longer than {LINE_MAX} bytes")
        channel.expect(number, deliver, self.party)
        return number, line + b"\n"

    def start(self, method: str, params: Dict[str, Any], deliver: Deliver = ignore, patience: float = -1) -> int:
        """Sends a request. Its answer comes to `deliver` when somebody reads: see Inbox and read_in_background."""
        number, line = self.prepare(method, params, deliver)
        self.channel.write(line, patience)
        return number

    def inbox(self) -> Inbox:
        return Inbox(self.channel)

    def call(self, method: str, params: Dict[str, Any], timeout: Optional[float] = None) -> Any:
        answer = Inbox(self.channel)
        self.start(method, params, answer.put, -1 if timeout is None else timeout)
        try:
            kind, value = answer.get(timeout)
        except Empty:
            raise SandboxTimeout(f"no answer to {method} in {timeout} s") from None
        if kind == "error":
            raise value
        return value

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
        self.channel.process.kill()
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
