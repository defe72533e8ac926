"""Commands in the background, for asyncio."""
import asyncio
import signal as _signal
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Union

from ._errors import SandboxDied, SandboxError, SandboxTimeout
from ._options import Data, as_bytes, encode
from ._rpc import Item
from ._types import CommandResult
from .process import TYPED, _Observed

if TYPE_CHECKING:
    from .aio import _Calls


class AsyncProcess(_Observed):
    """As Process: made by `await commands.start(...)`. `async with` kills it at the end."""

    def __init__(self, calls: "_Calls", command: str) -> None:
        super().__init__(command)
        self._calls = calls
        self._news = asyncio.Event()
        self._id = 0

    async def _start(self, params: Dict[str, Any]) -> None:
        loop, progress, news = asyncio.get_running_loop(), self._progress, self._news

        def deliver(item: Item) -> None:
            progress.take(item)
            try:
                loop.call_soon_threadsafe(news.set)
            except RuntimeError:
                pass  # the loop is closed

        self._calls.link.channel.read_in_background()
        self._id, line = self._calls.link.prepare("run", params, deliver)
        await self._calls.send(line)
        await self._until(lambda: progress.pid is not None or progress.ended)
        if progress.problem is not None:
            raise progress.problem

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._news.clear()
            if not holds():
                await self._news.wait()

    async def wait(self, timeout: Optional[float] = None) -> CommandResult:
        """As Process.wait. A task that is cancelled meanwhile leaves the command as it is."""
        progress = self._progress
        try:
            await asyncio.wait_for(self._until(lambda: progress.ended), timeout)
        except asyncio.TimeoutError:
            raise SandboxTimeout(f"{self.command}: has not ended in {timeout} s") from None
        if progress.problem is not None:
            raise progress.problem
        assert progress.result is not None
        return progress.result

    async def wait_for_output(self, text: str, timeout: Optional[float] = None) -> str:
        """As Process.wait_for_output."""
        progress = self._progress
        try:
            await asyncio.wait_for(self._until(lambda: text in progress.text("stdout") or progress.ended), timeout)
        except asyncio.TimeoutError:
            raise SandboxTimeout(f"{self.command}: has not written {text!r} in {timeout} s") from None
        shown = progress.text("stdout")
        if text not in shown:
            raise SandboxError(f"EPIPE: {self.command}: ended without writing {text!r}")
        return shown

    async def write(self, data: Data) -> None:
        """As Process.write."""
        rest = as_bytes(data)
        while rest:
            reply = await self._calls.call("run.input", {"id": self._id, "data": encode(rest[:TYPED])})
            if not reply["running"]:
                raise SandboxError(f"EPIPE: {self.command}: has ended, or does not read any more")
            rest = rest[reply["taken"]:]
            if rest and reply["taken"] == 0:
                await asyncio.sleep(0.01)

    async def end_input(self) -> None:
        """As Process.end_input."""
        if not self._progress.ended:
            await self._calls.call("run.input", {"id": self._id, "end": True})

    async def signal(self, number: Union[int, "_signal.Signals"]) -> None:
        """As Process.signal."""
        if not self._progress.ended:
            await self._calls.call("run.signal", {"id": self._id, "signal": int(number)})

    async def kill(self) -> None:
        """As Process.kill."""
        if not self._progress.ended and self._calls.link.death is None:
            try:
                await self._calls.call("run.cancel", {"id": self._id})
            except SandboxDied:
                pass

    async def __aenter__(self) -> "AsyncProcess":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.kill()
