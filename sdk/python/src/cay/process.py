"""Commands in the background."""
import signal as _signal
import threading
import time
from typing import Any, Dict, Optional, Union

from ._errors import SandboxError, SandboxTimeout
from ._options import Collected, Data, as_bytes, command_result, encode
from ._rpc import Item, Link
from ._types import CommandResult

TYPED = 32 << 10  # bytes in one request


class Progress:
    """The state of a command. The reading thread holds it as long as the command runs, so it does not know the Link."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.pid: Optional[int] = None
        self.collected = Collected("base64")
        self.result: Optional[CommandResult] = None
        self.problem: Optional[BaseException] = None

    def take(self, item: Item) -> None:
        """On the reading thread."""
        kind, value = item
        with self.changed:
            if kind == "error":
                self.problem = value
            elif kind == "result":
                self.result = self.collected.put_into(command_result(value, "base64"))
            elif "pid" in value:
                self.pid = value["pid"]
            else:
                self.collected.add(value)
            self.changed.notify_all()

    @property
    def ended(self) -> bool:
        return self.result is not None or self.problem is not None

    def text(self, stream: str) -> str:
        with self.changed:
            return self.collected.text(stream)


class _Observed:
    """A command as the client sees it without a request to the server."""

    def __init__(self, command: str) -> None:
        self.command = command
        self._progress = Progress()

    @property
    def pid(self) -> int:
        """Its process id in the sandbox."""
        return self._progress.pid or 0

    @property
    def running(self) -> bool:
        """It has not ended yet."""
        return not self._progress.ended

    @property
    def stdout(self) -> str:
        """Its standard output so far."""
        return self._progress.text("stdout")

    @property
    def stderr(self) -> str:
        """Its standard error so far."""
        return self._progress.text("stderr")

    def __repr__(self) -> str:
        return f"<cay.{type(self).__name__} {self.pid} {self.command!r} {'running' if self.running else 'ended'}>"


class Process(_Observed):
    """A command that runs while the program goes on: made by `commands.start`. Any thread may use it.

    Of its output, the first 16 MiB of each stream are kept; it never waits for a reader. `with` kills it at the end.
    """

    def __init__(self, link: Link, params: Dict[str, Any], command: str) -> None:
        super().__init__(command)
        self._link, progress = link, self._progress
        link.channel.read_in_background()
        self._id = link.start("run", params, progress.take)
        with progress.changed:
            progress.changed.wait_for(lambda: progress.pid is not None or progress.ended)
        if progress.problem is not None:
            raise progress.problem

    def wait(self, timeout: Optional[float] = None) -> CommandResult:
        """Waits until it has ended. SandboxTimeout: it has not in that many seconds, and goes on."""
        progress = self._progress
        with progress.changed:
            if not progress.changed.wait_for(lambda: progress.ended, timeout):
                raise SandboxTimeout(f"{self.command}: has not ended in {timeout} s")
        if progress.problem is not None:
            raise progress.problem
        assert progress.result is not None
        return progress.result

    def wait_for_output(self, text: str, timeout: Optional[float] = None) -> str:
        """Waits until `text` is in its standard output, and returns all of that. SandboxTimeout: it did not come in that
        many seconds. SandboxError: it ended without writing it."""
        progress = self._progress
        with progress.changed:
            found = progress.changed.wait_for(lambda: text in progress.collected.text("stdout") or progress.ended, timeout)
            shown = progress.collected.text("stdout")
        if text in shown:
            return shown
        if not found:
            raise SandboxTimeout(f"{self.command}: has not written {text!r} in {timeout} s")
        raise SandboxError(f"EPIPE: {self.command}: ended without writing {text!r}")

    def write(self, data: Data) -> None:
        """Writes to its standard input. Waits while it does not read earlier input. SandboxError: it has ended."""
        rest = as_bytes(data)
        while rest:
            reply = self._link.call("run.input", {"id": self._id, "data": encode(rest[:TYPED])})
            if not reply["running"]:
                raise SandboxError(f"EPIPE: {self.command}: has ended, or does not read any more")
            rest = rest[reply["taken"]:]
            if rest and reply["taken"] == 0:
                time.sleep(0.01)

    def end_input(self) -> None:
        """Nothing more is written: it finds the end of file."""
        if not self._progress.ended:
            self._link.call("run.input", {"id": self._id, "end": True})

    def signal(self, number: Union[int, "_signal.Signals"]) -> None:
        """Sends a signal to its process group, such as signal.SIGINT. After its end it does nothing."""
        if not self._progress.ended:
            self._link.call("run.signal", {"id": self._id, "signal": int(number)})

    def kill(self) -> None:
        """Ends it with all that it started. Twice is fine."""
        if not self._progress.ended and self._link.death is None:
            self._link.call("run.cancel", {"id": self._id})

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: Any) -> None:
        self.kill()
