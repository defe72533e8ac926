"""Commands on a terminal, for asyncio."""
import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Any, AsyncIterator, Dict, Generator, Optional, Type

from ._errors import SandboxError, SandboxTimeout
from ._options import Data, as_bytes, encode
from ._rpc import Item
from ._types import CommandResult
from .terminal import TYPED, Screen

if TYPE_CHECKING:
    from .aio import _Calls


class AsyncTerminal:
    """As Terminal: started by `async with`, which kills it at the end, or by `await`.

    One task reads; any may write. A task that is cancelled while it reads or waits leaves the command as it is.
    """

    def __init__(self, calls: "_Calls", params: Dict[str, Any]) -> None:
        self._calls = calls
        self._params = params
        self._items: "asyncio.Queue[Item]"
        self._screen = Screen()
        self._number: Optional[int] = None

    @property
    def _id(self) -> int:
        if self._number is None:
            raise SandboxError("the terminal was not started: use `async with` or `await` it")
        return self._number

    async def start(self) -> "AsyncTerminal":
        """Starts the command, if it was not started: `async with` and `await` do this."""
        if self._number is None:
            self._items = asyncio.Queue()
            self._number = await self._calls.start("run", self._params, self._items)
        return self

    async def _next(self, timeout: Optional[float]) -> Item:
        if not self._items.empty():
            return self._items.get_nowait()
        try:
            return await asyncio.wait_for(self._items.get(), timeout)
        except asyncio.TimeoutError:
            raise SandboxTimeout(f"the terminal shows nothing new in {timeout} s") from None

    async def read(self, timeout: Optional[float] = None) -> str:
        """The next text that it shows; "" when the command has ended. SandboxTimeout: nothing came in that many seconds."""
        number, clock = self._id, asyncio.get_running_loop().time
        deadline = None if timeout is None else clock() + timeout

        def acknowledge(taken: int) -> None:
            self._calls.link.start("run.ack", {"id": number, "bytes": taken})

        while self._screen.result is None:
            item = await self._next(None if deadline is None else max(0.0, deadline - clock()))
            text = self._screen.take(item, acknowledge)
            if text:
                return text
        return ""

    async def __aiter__(self) -> AsyncIterator[str]:
        """All that it shows until the command has ended."""
        while True:
            text = await self.read()
            if not text:
                return
            yield text

    async def write(self, data: Data) -> None:
        """Types text. Waits while the command does not read earlier input. SandboxError: it has ended."""
        rest = as_bytes(data)
        while rest:
            reply = await self._calls.call("run.input", {"id": self._id, "data": encode(rest[:TYPED])})
            if not reply["running"]:
                raise SandboxError("EPIPE: the command has ended", 1)
            rest = rest[reply["taken"]:]
            if rest and reply["taken"] == 0:
                await asyncio.sleep(0.01)

    async def end_input(self) -> None:
        """Ends the input: a program that reads finds the end of file."""
        await self._calls.call("run.input", {"id": self._id, "end": True})

    async def resize(self, rows: int, cols: int) -> None:
        """The window has this size now. After the end of the command it does nothing."""
        await self._calls.call("run.resize", {"id": self._id, "rows": rows, "cols": cols})

    async def wait(self) -> CommandResult:
        """Until the command has ended. `stdout` of the result is all that was shown."""
        while await self.read():
            pass
        assert self._screen.result is not None
        return self._screen.result

    async def kill(self) -> None:
        """Ends it with all that it started. Twice is fine."""
        if self._screen.result is None and self._calls.link.death is None:
            await self._calls.call("run.cancel", {"id": self._id})

    def __await__(self) -> Generator[Any, None, "AsyncTerminal"]:
        return self.start().__await__()

    async def __aenter__(self) -> "AsyncTerminal":
        return await self.start()

    async def __aexit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.kill()
