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
from typing import Any, Awaitable, Callable, Dict, Generator, List, Mapping, Optional, Type, TypeVar, Union

from ._binary import command
from ._errors import SandboxDied, SandboxError, SandboxTimeout
from ._options import START_PATIENCE, Collected, Data, as_bytes, command_result, create_params, decode, run_params
from ._rpc import Item, Link
from ._types import CommandResult, FileInfo, Usage, file_info, usage
from .files import PIECE, Files, Local, _pieces

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


class AsyncSandbox:
    """As Sandbox, started by `async with AsyncSandbox()`, or by `await AsyncSandbox()`, then ended by kill()."""

    commands: AsyncCommands
    files: AsyncFiles
    env: AsyncEnv

    def __init__(self, *, timeout_ms: int = 30_000, fs_limit_bytes: int = 256 * 1024 * 1024,
                 memory_limit_bytes: Optional[int] = None, output_limit_bytes: Optional[int] = None,
                 process_limit: Optional[int] = None, env: Optional[Mapping[str, str]] = None,
                 wasm_dir: Optional[str] = None, binary: Optional[str] = None) -> None:
        self._params = create_params(timeout_ms, fs_limit_bytes, memory_limit_bytes, output_limit_bytes, process_limit,
                                     env, wasm_dir)
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
