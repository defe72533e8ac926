"""Commands on a terminal."""
import time
from queue import Empty
from typing import Any, Callable, Dict, Iterator, Optional

from ._errors import SandboxError, SandboxTimeout
from ._options import Collected, Data, as_bytes, command_result, encode
from ._rpc import Item, Link
from ._types import CommandResult

TYPED = 32 << 10  # bytes in one request


class Screen:
    """What a terminal has shown, and the result of its command once that has ended."""

    def __init__(self) -> None:
        self.collected = Collected("base64")
        self.result: Optional[CommandResult] = None

    def take(self, item: Item, acknowledge: Callable[[int], Any]) -> str:
        """The text of a notification; "" if there is none in it, as in the last."""
        kind, value = item
        if kind == "error":
            raise value
        if kind == "result":
            self.result = self.collected.put_into(command_result(value, "base64"))
            return ""
        text = self.collected.add(value)[1]
        taken = self.collected.acknowledge(value)
        if taken:
            acknowledge(taken)
        return text


class Terminal:
    """A command that leads a session on a terminal, as in a window: made by `commands.terminal`.

    Bytes written are typed keys: they are edited, echoed, and "\\x03" is Ctrl-C. Bytes read are those that a window would show, the
    echo included, with escape sequences of the guest. One thread reads; any may write. `with` kills it at the end.
    """

    def __init__(self, link: Link, params: Dict[str, Any]) -> None:
        self._link = link
        self._items = link.inbox()
        self._screen = Screen()
        self._id = link.start("run", params, self._items.put)

    def read(self, timeout: Optional[float] = None) -> str:
        """The next text that it shows; "" when the command has ended. SandboxTimeout: nothing came in that many seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._screen.result is None:
            try:
                item = self._items.get(timeout=None if deadline is None else max(0.0, deadline - time.monotonic()))
            except Empty:
                raise SandboxTimeout(f"the terminal shows nothing new in {timeout} s") from None
            text = self._screen.take(item, self._acknowledge)
            if text:
                return text
        return ""

    def _acknowledge(self, taken: int) -> None:
        self._link.start("run.ack", {"id": self._id, "bytes": taken})

    def __iter__(self) -> Iterator[str]:
        """All that it shows until the command has ended."""
        return iter(self.read, "")

    def write(self, data: Data) -> None:
        """Types text. Waits while the command does not read earlier input. SandboxError: it has ended."""
        rest = as_bytes(data)
        while rest:
            reply = self._link.call("run.input", {"id": self._id, "data": encode(rest[:TYPED])})
            if not reply["running"]:
                raise SandboxError("EPIPE: the command has ended", 1)
            rest = rest[reply["taken"]:]
            if rest and reply["taken"] == 0:
                time.sleep(0.01)

    def end_input(self) -> None:
        """Ends the input: a program that reads finds the end of file."""
        self._link.call("run.input", {"id": self._id, "end": True})

    def resize(self, rows: int, cols: int) -> None:
        """The window has this size now. After the end of the command it does nothing."""
        self._link.call("run.resize", {"id": self._id, "rows": rows, "cols": cols})

    def wait(self) -> CommandResult:
        """Until the command has ended. `stdout` of the result is all that was shown."""
        for _ in self:
            pass
        assert self._screen.result is not None
        return self._screen.result

    def kill(self) -> None:
        """Ends it with all that it started. Twice is fine."""
        if self._screen.result is None and self._link.death is None:
            self._link.call("run.cancel", {"id": self._id})

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: Any) -> None:
        self.kill()
