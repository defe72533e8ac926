"""AsyncTools: the same tools for asyncio.

    async with AsyncTools(database="tools.db", user="me") as tools:
        print(await tools.call("todo", {"action": "list"}))
"""
import asyncio
from types import TracebackType
from typing import Any, Generator, List, Mapping, Optional, Type

from ._binary import command
from ._errors import SandboxDied
from ._rpc import Item, Link
from .aio import _Calls, _in_thread
from ._options import Local
from .tools import (Config, Tool, ToolEvent, call_params, call_result, check_params, check_result, due_result,
                    list_result, open_params)


class AsyncTools:
    """As Tools, started by `async with AsyncTools()`, or by `await AsyncTools()`, then ended by close().

    Calls that are gathered run at once. A task that is cancelled while it waits for a tool ends that call."""

    def __init__(self, config: Optional[Config] = None, *, dir: Optional[Local] = None,
                 database: Optional[Local] = None, audit: Optional[Local] = None, user: Optional[str] = None,
                 rounds: int = 0, allow_placeholders: bool = False, binary: Optional[str] = None) -> None:
        self._params = open_params(config, dir, database, audit, user, rounds, allow_placeholders)
        self._command = command(binary)
        self._link: Optional[Link] = None

    async def start(self) -> "AsyncTools":
        """Starts the process, if it was not started: `async with` and `await` do this."""
        if self._link is not None:
            return self
        link = await _in_thread(Link, self._command, True)
        try:
            await _Calls(link).call("tools.open", self._params)
        except BaseException:
            await _in_thread(link.close)
            raise
        self._link = link
        return self

    def __await__(self) -> Generator[Any, None, "AsyncTools"]:
        return self.start().__await__()

    def _calls(self) -> _Calls:
        if self._link is None:
            raise SandboxDied("the tools were not started: use `async with` or `await` them")
        return _Calls(self._link)

    async def call(self, name: str, input: Optional[Mapping[str, Any]] = None, *, user: Optional[str] = None,
                   timeout_ms: Optional[int] = None) -> Any:
        """As Tools.call."""
        calls = self._calls()
        answer: "asyncio.Queue[Item]" = asyncio.Queue()
        number = await calls.start("tools.call", call_params(name, input, user, timeout_ms), answer)
        try:
            kind, value = await answer.get()
        except BaseException:
            if calls.link.death is None:
                calls.link.start("tools.cancel", {"id": number})
            raise
        if kind == "error":
            raise value
        return call_result(name, value)

    async def list(self) -> "List[Tool]":
        """As Tools.list."""
        return list_result(await self._calls().call("tools.list", {}))

    async def check(self, module: bytes, entrypoint: Optional[str] = None) -> Optional[str]:
        """As Tools.check."""
        return check_result(await self._calls().call("tools.check", check_params(module, entrypoint)))

    async def due(self) -> "List[ToolEvent]":
        """As Tools.due."""
        return due_result(await self._calls().call("tools.due", {}))

    async def close(self) -> None:
        """Ends its process. Twice is fine."""
        if self._link is not None:
            await _in_thread(self._link.kill)

    async def __aenter__(self) -> "AsyncTools":
        return await self.start()

    async def __aexit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<cay.AsyncTools {self._link!r}>" if self._link is not None else "<cay.AsyncTools not started>"
