"""AsyncSandbox: the same sandbox for asyncio.

    async with AsyncSandbox() as sandbox:
        result = await sandbox.commands.run("echo hello")

A task that is cancelled while it waits for a command ends that command.
"""
import asyncio
import functools
import inspect
import os
from types import TracebackType
from typing import Any, Awaitable, Callable, Dict, Generator, List, Mapping, Optional, Sequence, Type, TypeVar, Union

from ._binary import command
from ._errors import SandboxDied, SandboxError, SandboxTimeout
from ._options import (START_PATIENCE, Collected, Data, as_bytes, command_result, create_params, decode, encode, run_params,
                       terminal_params)
from ._rpc import Item, Link
from ._types import CommandResult, FileInfo, Usage, file_info, usage
from .aio_terminal import AsyncTerminal
from .callbacks import Callback, Callbacks, Function
from .files import PIECE, Files, Local, _pieces
from .python import Pieces, PythonResult, TraceEvent, eval_params, python_result, trace_event

AsyncOutput = Callable[[str], Union[Any, Awaitable[Any]]]
T = TypeVar("T")

SMALL = 1 << 16  # a line that a pipe takes without waiting


async def _in_thread(function: Callable[..., T], *arguments: Any) -> T:
    return await asyncio.get_running_loop().run_in_executor(None, functools.partial(function, *arguments))


class _Calls:
    """One link, called from the event loop that runs."""

    def __init__(self, link: Link) -> None:
        self.link = link

    async def start(self, method: str, params: Dict[str, Any], items: "asyncio.Queue[Item]") -> int:
        loop = asyncio.get_running_loop()

        def deliver(item: Item) -> None:
            try:
                loop.call_soon_threadsafe(items.put_nowait, item)
            except RuntimeError:
                pass  # the loop is closed, and with it whoever waited

        number, line = self.link.prepare(method, params, deliver)
        if len(line) <= SMALL:
            self.link.channel.write(line)
        else:
            await _in_thread(self.link.channel.write, line)
        return number

    async def call(self, method: str, params: Dict[str, Any]) -> Any:
        items: "asyncio.Queue[Item]" = asyncio.Queue()
        await self.start(method, params, items)
        kind, value = await items.get()
        if kind == "error":
            raise value
        return value


class AsyncCommands:
    def __init__(self, calls: _Calls) -> None:
        self._calls = calls

    async def run(self, command: str, *, stdin: Optional[Data] = None, cwd: Optional[str] = None,
                  env: Optional[Mapping[str, str]] = None, timeout_ms: Optional[int] = None,
                  on_stdout: Optional[AsyncOutput] = None, on_stderr: Optional[AsyncOutput] = None,
                  check: bool = False) -> CommandResult:
        """As Commands.run; the callbacks may be coroutine functions."""
        stream = on_stdout is not None or on_stderr is not None
        params = run_params(command, stdin, cwd, env, timeout_ms, stream)
        result = await self._run(params, {"stdout": on_stdout, "stderr": on_stderr})
        return result.check() if check else result

    def terminal(self, command: str = "exec bash", *, rows: int = 24, cols: int = 80, cwd: Optional[str] = None,
                 env: Optional[Mapping[str, str]] = None, timeout_ms: Optional[int] = None) -> AsyncTerminal:
        """As Commands.terminal, to be used with `async with`, or to be awaited."""
        return AsyncTerminal(self._calls, terminal_params(command, rows, cols, cwd, env, timeout_ms))

    async def _run(self, params: Dict[str, Any], outputs: Dict[str, Optional[AsyncOutput]]) -> CommandResult:
        items: "asyncio.Queue[Item]" = asyncio.Queue()
        encoding = params.get("encoding", "utf8")
        collected = Collected(encoding) if "stream" in params else None
        number = await self._calls.start("run", params, items)
        try:
            while True:
                kind, value = await items.get()
                if kind == "error":
                    raise value
                if kind == "result":
                    result = command_result(value, encoding)
                    return collected.put_into(result) if collected else result
                assert collected is not None
                await self._take(number, collected, value, outputs)
        except BaseException:
            if self._calls.link.death is None:
                self._calls.link.start("run.cancel", {"id": number})
            raise

    async def _take(self, number: int, collected: Collected, params: Dict[str, Any],
                    outputs: Dict[str, Optional[AsyncOutput]]) -> None:
        name, text = collected.add(params)
        output = outputs[name]
        if output is not None and text:
            answer = output(text)
            if inspect.isawaitable(answer):
                await answer
        taken = collected.acknowledge(params)
        if taken:
            self._calls.link.start("run.ack", {"id": number, "bytes": taken})


class AsyncFiles:
    """As Files."""

    def __init__(self, calls: _Calls) -> None:
        self._calls = calls

    async def read(self, path: str) -> bytes:
        pieces: List[bytes] = []
        while not pieces or len(pieces[-1]) == PIECE:
            params = {"path": path, "offset": PIECE * len(pieces), "length": PIECE}
            pieces.append(decode((await self._calls.call("files.read", params))["data"]))
        return b"".join(pieces)

    async def read_text(self, path: str) -> str:
        return (await self.read(path)).decode(errors="replace")

    async def write(self, path: str, data: Data, *, mode: Optional[int] = None, append: bool = False) -> None:
        for params in _pieces(path, memoryview(as_bytes(data)), mode, append):
            await self._calls.call("files.write", params)

    async def list(self, path: str, *, recursive: bool = False) -> List[FileInfo]:
        reply = await self._calls.call("files.list", {"path": path, "recursive": recursive})
        return [file_info(e) for e in reply["entries"]]

    async def mkdir(self, path: str, *, parents: bool = False) -> None:
        await self._calls.call("files.mkdir", {"path": path, "parents": parents})

    async def rm(self, path: str, *, recursive: bool = False) -> None:
        await self._calls.call("files.rm", {"path": path, "recursive": recursive})

    async def stat(self, path: str) -> FileInfo:
        return file_info(await self._calls.call("files.stat", {"path": path}))

    async def exists(self, path: str) -> bool:
        try:
            await self.stat(path)
        except SandboxError as problem:
            if problem.errno_name in ("ENOENT", "ENOTDIR"):
                return False
            raise
        return True

    async def rename(self, old: str, new: str) -> None:
        await self._calls.call("files.rename", {"from": old, "to": new})

    async def symlink(self, target: str, path: str) -> None:
        await self._calls.call("files.symlink", {"target": target, "path": path})

    async def upload(self, local: Local, remote: str) -> None:
        await _in_thread(Files(self._calls.link).upload, local, remote)

    async def install(self, package: Local) -> None:
        await self._calls.call("files.install", {"hostPath": os.path.abspath(package)})

    async def download(self, remote: str, local: Local) -> None:
        await _in_thread(Files(self._calls.link).download, remote, local)


class AsyncEnv:
    def __init__(self, calls: _Calls) -> None:
        self._calls = calls

    async def get(self, name: str) -> Optional[str]:
        value: Optional[str] = (await self._calls.call("env.get", {"name": name}))["value"]
        return value

    async def set(self, name: str, value: Optional[str]) -> None:
        await self._calls.call("env.set", {"name": name, "value": value})


class AsyncSession:
    """As Session; on_stdout, on_stderr and on_trace may be coroutine functions."""

    def __init__(self, calls: _Calls, name: str) -> None:
        self._calls = calls
        self.name = name

    async def run(self, code: str, *, stdin: Optional[str] = None, timeout_ms: Optional[int] = None,
                  on_stdout: Optional[AsyncOutput] = None, on_stderr: Optional[AsyncOutput] = None,
                  on_trace: Optional[Callable[[TraceEvent], Any]] = None, trace: Sequence[str] = (),
                  trace_filter: Optional[str] = None, trace_max: Optional[int] = None, check: bool = False) -> PythonResult:
        pieces = Pieces(on_stdout, on_stderr)
        if on_trace is not None and not trace:
            trace = ("line",)
        params = eval_params(code, self.name, stdin, timeout_ms, pieces.wanted, trace, trace_filter, trace_max)
        result = pieces.put_into(await self._run(params, pieces, on_trace))
        return result.check() if check else result

    async def _run(self, params: Dict[str, Any], pieces: Pieces,
                   on_trace: Optional[Callable[[TraceEvent], Any]]) -> PythonResult:
        items: "asyncio.Queue[Item]" = asyncio.Queue()
        await self._calls.start("python.eval", params, items)
        try:
            while True:
                kind, value = await items.get()
                if kind == "error":
                    raise value
                if kind == "result":
                    return python_result(value)
                answer = pieces.add(value) if "event" not in value else on_trace(trace_event(value)) if on_trace else None
                if inspect.isawaitable(answer):
                    await answer
        except SandboxError:
            raise
        except BaseException:
            if self._calls.link.death is None:
                self._calls.link.start("python.cancel", self._named())
            raise

    def _named(self, **more: Any) -> Dict[str, Any]:
        return {"session": self.name, **more} if self.name else more

    async def cancel(self) -> bool:
        return bool((await self._calls.call("python.cancel", self._named()))["cancelled"])

    async def save_state(self) -> bytes:
        return decode((await self._calls.call("python.saveState", self._named()))["data"])

    async def load_state(self, state: bytes) -> None:
        await self._calls.call("python.loadState", self._named(data=encode(state)))

    async def clear_state(self) -> None:
        await self._calls.call("python.clearState", self._named())

    async def fork(self, name: str) -> "AsyncSession":
        await self._calls.call("python.fork", self._named(to=name))
        return AsyncSession(self._calls, name)

    async def close(self) -> None:
        await self._calls.call("python.close", self._named())


class AsyncPython(AsyncSession):
    """As Python."""

    def __init__(self, calls: _Calls) -> None:
        super().__init__(calls, "")

    def session(self, name: str) -> AsyncSession:
        return AsyncSession(self._calls, name)


class AsyncCallbackTable:
    def __init__(self, calls: _Calls, callbacks: Callbacks) -> None:
        self._calls = calls
        self._callbacks = callbacks

    async def add(self, callbacks: Mapping[str, Union[Function, Callback]]) -> None:
        described = self._callbacks.add(callbacks)
        await self._calls.call("callbacks.set", {"callbacks": described})

    async def remove(self, name: str) -> None:
        await self._calls.call("callbacks.remove", {"name": name})
        self._callbacks.remove(name)


class AsyncSandbox:
    """As Sandbox, started by `async with AsyncSandbox()`, or by `await AsyncSandbox()`, then ended by kill()."""

    commands: AsyncCommands
    files: AsyncFiles
    env: AsyncEnv
    python: AsyncPython
    callbacks: AsyncCallbackTable

    def __init__(self, *, timeout_ms: int = 30_000, fs_limit_bytes: int = 256 * 1024 * 1024,
                 memory_limit_bytes: Optional[int] = None, output_limit_bytes: Optional[int] = None,
                 process_limit: Optional[int] = None, env: Optional[Mapping[str, str]] = None,
                 wasm_dir: Optional[str] = None, binary: Optional[str] = None,
                 callbacks: Optional[Mapping[str, Union[Function, Callback]]] = None,
                 packages: Sequence[Local] = (), fuel_limit: Optional[int] = None,
                 code_limit_bytes: Optional[int] = None) -> None:
        self._functions = callbacks
        self._params = create_params(timeout_ms, fs_limit_bytes, memory_limit_bytes, output_limit_bytes, process_limit,
                                     env, wasm_dir, packages, fuel_limit, code_limit_bytes)
        self._command = command(binary)
        self._link: Optional[Link] = None

    @classmethod
    async def create(cls, **options: Any) -> "AsyncSandbox":
        return await cls(**options)

    async def start(self) -> "AsyncSandbox":
        if self._link is not None:
            return self
        link = await _in_thread(Link, self._command)
        calls = _Calls(link)
        try:
            await asyncio.wait_for(calls.call("create", self._params), START_PATIENCE)
        except asyncio.TimeoutError:
            await _in_thread(link.close)
            raise SandboxTimeout(f"the sandbox did not start in {START_PATIENCE:.0f} s") from None
        except BaseException:
            await _in_thread(link.close)
            raise
        self._link = link
        self.commands, self.files, self.env = AsyncCommands(calls), AsyncFiles(calls), AsyncEnv(calls)
        self.python = AsyncPython(calls)
        functions = Callbacks(asyncio.get_running_loop())
        link.channel.answer = functions.handle
        self.callbacks = AsyncCallbackTable(calls, functions)
        try:
            if self._functions:
                await self.callbacks.add(self._functions)
        except BaseException:
            await _in_thread(link.close)
            raise
        return self

    def __await__(self) -> Generator[Any, None, "AsyncSandbox"]:
        return self.start().__await__()

    def _calls(self) -> _Calls:
        if self._link is None:
            raise SandboxDied("the sandbox was not started: use `async with` or `await` it")
        return _Calls(self._link)

    @property
    def pid(self) -> int:
        return self._calls().link.pid

    async def kill(self) -> None:
        if self._link is not None:
            await _in_thread(self._link.kill)

    async def mount(self, host_path: Local, path: str, *, writable: bool = False) -> None:
        host = os.fspath(host_path)
        await self._calls().call("mount", {"hostPath": host, "path": path, "writable": writable})

    async def unmount(self, path: str) -> None:
        await self._calls().call("unmount", {"path": path})

    async def usage(self) -> Usage:
        return usage(await self._calls().call("usage", {}))

    async def __aenter__(self) -> "AsyncSandbox":
        return await self.start()

    async def __aexit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.kill()

    def __repr__(self) -> str:
        return f"<cay.AsyncSandbox {self._link!r}>" if self._link is not None else "<cay.AsyncSandbox not started>"
