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
from typing import Any, AsyncIterator, Awaitable, Callable, Dict, Generator, List, Mapping, Optional, Sequence, Type, TypeVar, Union

from ._binary import command
from ._errors import SandboxDied, SandboxError, SandboxTimeout
from ._network import attend, told_of
from ._options import (START_PATIENCE, Collected, Data, Local, Mount, Remote, apply_params, as_bytes, command_result, create_params,
                       creation_files, creation_mounts, decode, isolation_of, mount_params, path_param, run_params, start_params,
                       terminal_params)
from ._rpc import RUN_PATIENCE, Item, Link
from ._types import CommandResult, FileInfo, RunningCommand, Usage, file_info, running_command, usage
from .aio_process import AsyncProcess
from .aio_terminal import AsyncTerminal
from .callbacks import Callback, Callbacks, Function
from .files import PIECE, Files, _pieces, list_params, read_params, too_large
from .display import Displays, OnDisplay
from .python import (Pieces, PythonResult, TraceEvent, check_name, eval_params, in_line, open_params, python_result, state_pieces,
                     trace_event, unencodable)
from .snapshot import Change, Snapshot, changes_of, checked_snapshot

AsyncOutput = Callable[[Any], Union[Any, Awaitable[Any]]]  # of text; of bytes with binary=True
T = TypeVar("T")

NOT_STARTED = "the sandbox was not started: use `async with AsyncSandbox() as sandbox` or `sandbox = await AsyncSandbox()`"
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
            if asyncio._get_running_loop() is loop:
                items.put_nowait(item)
                return
            try:
                loop.call_soon_threadsafe(items.put_nowait, item)
            except RuntimeError:
                pass  # the loop is closed, and with it its waiters

        self.link.channel.attend(loop)
        number, line = self.link.prepare(method, params, deliver)
        await self.send(line)
        return number

    async def send(self, line: bytes) -> None:
        if len(line) <= SMALL:
            self.link.channel.write(line)
        else:
            await _in_thread(self.link.channel.write, line)

    async def call(self, method: str, params: Dict[str, Any]) -> Any:
        items: "asyncio.Queue[Item]" = asyncio.Queue()
        await self.start(method, params, items)
        kind, value = await items.get()
        if kind == "error":
            raise value
        return value


async def _wait_for_end(items: "asyncio.Queue[Item]") -> None:
    """So that the session is free for the next run. A second cancellation ends the wait, too."""
    async def end() -> None:
        while (await items.get())[0] == "output":
            pass

    try:
        await asyncio.wait_for(end(), RUN_PATIENCE)
    except asyncio.TimeoutError:
        pass


class AsyncCommands:
    """As Commands."""

    def __init__(self, calls: _Calls) -> None:
        self._calls = calls

    async def run(self, command: str, *, stdin: Optional[Data] = None, cwd: Optional[Remote] = None,
                  env: Optional[Mapping[str, str]] = None, timeout_ms: Optional[int] = None,
                  on_stdout: Optional[AsyncOutput] = None, on_stderr: Optional[AsyncOutput] = None,
                  check: bool = False, binary: bool = False, fuel: Optional[int] = None) -> CommandResult:
        """As Commands.run; on_stdout and on_stderr may be coroutine functions."""
        stream = on_stdout is not None or on_stderr is not None
        params = run_params(command, stdin, cwd, env, timeout_ms, stream, binary, fuel)
        result = await self._run(params, {"stdout": on_stdout, "stderr": on_stderr}, binary)
        return result.check() if check else result

    async def start(self, command: str, *, cwd: Optional[Remote] = None, env: Optional[Mapping[str, str]] = None,
                    timeout_ms: Optional[int] = None) -> AsyncProcess:
        """As Commands.start."""
        process = AsyncProcess(self._calls, command)
        await process._start(start_params(command, cwd, env, timeout_ms))
        return process

    async def list(self) -> "List[RunningCommand]":
        """As Commands.list."""
        return [running_command(one) for one in (await self._calls.call("run.list", {}))["runs"]]

    def terminal(self, command: str = "exec bash", *, rows: int = 24, cols: int = 80, cwd: Optional[Remote] = None,
                 env: Optional[Mapping[str, str]] = None, timeout_ms: Optional[int] = None) -> AsyncTerminal:
        """As Commands.terminal, to be used with `async with`, or to be awaited."""
        return AsyncTerminal(self._calls, terminal_params(command, rows, cols, cwd, env, timeout_ms))

    async def _run(self, params: Dict[str, Any], outputs: Dict[str, Optional[AsyncOutput]],
                   binary: bool) -> CommandResult:
        items: "asyncio.Queue[Item]" = asyncio.Queue()
        encoding = params.get("encoding", "utf8")
        collected = Collected(encoding, binary) if "stream" in params else None
        number = await self._calls.start("run", params, items)
        ended = False
        try:
            while True:
                kind, value = await items.get()
                ended = kind != "output"
                if kind == "error":
                    raise value
                if ended:
                    result = command_result(value, encoding, binary)
                    return collected.put_into(result) if collected else result
                assert collected is not None
                await self._take(number, collected, value, outputs)
        except BaseException:
            if not ended and self._calls.link.death is None:
                self._calls.link.start("run.cancel", {"id": number})
                await _wait_for_end(items)
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

    async def read(self, path: Remote, *, limit: Optional[int] = None) -> bytes:
        """As Files.read."""
        most = self._calls.link.fs_limit if limit is None else limit
        pieces: List[bytes] = []
        total = 0
        async for piece in self.stream(path):
            total += len(piece)
            if total > most:
                raise too_large(path, most)
            pieces.append(piece)
        return b"".join(pieces)

    async def stream(self, path: Remote) -> AsyncIterator[bytes]:
        """As Files.stream."""
        offset = 0
        while True:
            piece = decode((await self._calls.call("files.read", read_params(path, offset)))["data"])
            if piece:
                yield piece
            if len(piece) < PIECE:
                return
            offset += PIECE

    async def read_text(self, path: Remote, *, limit: Optional[int] = None) -> str:
        """As Files.read_text."""
        return (await self.read(path, limit=limit)).decode(errors="replace")

    async def write(self, path: Remote, data: Data, *, mode: Optional[int] = None, append: bool = False) -> None:
        """As Files.write."""
        for params in _pieces(path, memoryview(as_bytes(data)), mode, append):
            await self._calls.call("files.write", params)

    async def list(self, path: Remote, *, recursive: bool = False) -> List[FileInfo]:
        """As Files.list."""
        reply = await self._calls.call("files.list", list_params(path, recursive))
        return [file_info(e) for e in reply["entries"]]

    async def mkdir(self, path: Remote, *, parents: bool = False) -> None:
        """As Files.mkdir."""
        await self._calls.call("files.mkdir", {**path_param("path", path), "parents": parents})

    async def rm(self, path: Remote, *, recursive: bool = False) -> None:
        """As Files.rm."""
        await self._calls.call("files.rm", {**path_param("path", path), "recursive": recursive})

    async def stat(self, path: Remote) -> FileInfo:
        """As Files.stat."""
        return file_info(await self._calls.call("files.stat", path_param("path", path)))

    async def exists(self, path: Remote) -> bool:
        """As Files.exists."""
        try:
            await self.stat(path)
        except SandboxError as problem:
            if problem.errno_name in ("ENOENT", "ENOTDIR"):
                return False
            raise
        return True

    async def rename(self, old: Remote, new: Remote) -> None:
        """As Files.rename."""
        await self._calls.call("files.rename", {**path_param("from", old), **path_param("to", new)})

    async def symlink(self, target: Remote, path: Remote) -> None:
        """As Files.symlink."""
        await self._calls.call("files.symlink", {**path_param("target", target), **path_param("path", path)})

    async def upload(self, local: Local, remote: Remote) -> None:
        """As Files.upload."""
        await _in_thread(Files(self._calls.link).upload, local, remote)

    async def install(self, package: Local) -> None:
        """As Files.install."""
        await self._calls.call("files.install", path_param("hostPath", os.path.abspath(package)))

    async def download(self, remote: Remote, local: Local, *, limit: Optional[int] = None) -> None:
        """As Files.download."""
        await _in_thread(functools.partial(Files(self._calls.link).download, remote, local, limit=limit))


class AsyncEnv:
    """As Env."""

    def __init__(self, calls: _Calls) -> None:
        self._calls = calls

    async def get(self, name: str) -> Optional[str]:
        """None when it is not set."""
        value: Optional[str] = (await self._calls.call("env.get", {"name": name}))["value"]
        return value

    async def set(self, name: str, value: Optional[str]) -> None:
        """None removes it."""
        await self._calls.call("env.set", {"name": name, "value": value})


class AsyncSession:
    """As Session; on_stdout, on_stderr, on_trace and on_display may be coroutine functions."""

    language: Optional[str] = None  # None: Python

    def __init__(self, calls: _Calls, name: str) -> None:
        self._calls = calls
        self.name = name

    async def run(self, code: str, *, stdin: Optional[str] = None, timeout_ms: Optional[int] = None,
                  on_stdout: Optional[AsyncOutput] = None, on_stderr: Optional[AsyncOutput] = None,
                  on_trace: Optional[Callable[[TraceEvent], Any]] = None, trace: Sequence[str] = (),
                  trace_filter: Optional[str] = None, trace_max: Optional[int] = None, check: bool = False,
                  fuel: Optional[int] = None, wait: bool = True,
                  value_limit_bytes: Optional[int] = None, display: bool = False,
                  on_display: Optional[OnDisplay] = None, display_limit_bytes: Optional[int] = None) -> PythonResult:
        """As Session.run."""
        pieces, displays = Pieces(on_stdout, on_stderr), Displays(on_display, display)
        if on_trace is not None and not trace:
            trace = ("line",)
        params = eval_params(code, self.name, stdin, timeout_ms, pieces.wanted, trace, trace_filter, trace_max,
                             fuel, wait, value_limit_bytes, displays.wanted, display_limit_bytes)
        if self.language is not None:
            params["language"] = self.language
        result = unencodable(code) or pieces.put_into(await self._run(params, pieces, on_trace, displays))
        result.displays = displays.shown
        return result.check() if check else result

    async def _run(self, params: Dict[str, Any], pieces: Pieces,
                   on_trace: Optional[Callable[[TraceEvent], Any]], displays: Displays) -> PythonResult:
        items: "asyncio.Queue[Item]" = asyncio.Queue()
        number = await self._calls.start("python.eval", params, items)
        try:
            while True:
                kind, value = await items.get()
                if kind == "error":
                    raise value
                if kind == "result":
                    return python_result(value)
                if "bundle" in value:
                    answer = displays.add(value)
                elif "event" not in value:
                    answer = pieces.add(value)
                else:
                    answer = on_trace(trace_event(value)) if on_trace else None
                if inspect.isawaitable(answer):
                    await answer
        except SandboxError:
            raise
        except BaseException:
            if self._calls.link.death is None:
                self._calls.link.start("python.cancel", self._named(id=number))
                await _wait_for_end(items)
            raise

    def _named(self, **more: Any) -> Dict[str, Any]:
        return {"session": self.name, **more} if self.name else more

    async def cancel(self) -> bool:
        """As Session.cancel."""
        return bool((await self._calls.call("python.cancel", self._named()))["cancelled"])

    async def save_state(self) -> bytes:
        """As Session.save_state."""
        return decode((await self._calls.call("python.saveState", self._named(**in_line())))["data"])

    async def load_state(self, state: bytes) -> None:
        """As Session.load_state."""
        for piece in state_pieces(state):
            await self._calls.call("python.loadState", self._named(**piece, **in_line()))

    async def clear_state(self) -> None:
        """As Session.clear_state."""
        await self._calls.call("python.clearState", self._named(**in_line()))

    async def fork(self, name: str) -> "AsyncSession":
        """As Session.fork."""
        check_name(name)
        await self._calls.call("python.fork", self._named(to=name))
        kinds = {None: AsyncSession, "javascript": AsyncJavaScriptSession, "typescript": AsyncTypeScriptSession}
        return kinds[self.language](self._calls, name)

    async def close(self) -> None:
        """As Session.close."""
        await self._calls.call("python.close", self._named())

    async def __aenter__(self) -> "AsyncSession":
        return self

    async def __aexit__(self, *_: Any) -> None:
        if self._calls.link.death is not None:
            return
        try:
            await self.close()
        except SandboxError as problem:
            if problem.errno_name != "ENOENT":  # it never ran, or was closed
                raise


class AsyncPython(AsyncSession):
    """As Python."""

    def __init__(self, calls: _Calls) -> None:
        super().__init__(calls, "")

    def session(self, name: str) -> AsyncSession:
        """The session of this name, to be used with `async with` or closed; it begins with its first run."""
        return AsyncSession(self._calls, name)

    async def open_session(self, name: str, image: Local) -> AsyncSession:
        """A session that begins as an image, a file of `cay image build`; there must be none of this name."""
        await self._calls.call("python.open", open_params(name, self.language, image))
        return AsyncSession(self._calls, name)


class AsyncJavaScriptSession(AsyncSession):
    """As JavaScriptSession."""

    language = "javascript"


class AsyncJavaScript(AsyncJavaScriptSession):
    """As JavaScript."""

    def __init__(self, calls: _Calls) -> None:
        super().__init__(calls, "js")

    def session(self, name: str) -> AsyncJavaScriptSession:
        """The session of this name, to be used with `async with` or closed; it begins with its first run."""
        return AsyncJavaScriptSession(self._calls, name)

    async def open_session(self, name: str, image: Local) -> AsyncJavaScriptSession:
        """As AsyncPython.open_session, with an image of JavaScript."""
        await self._calls.call("python.open", open_params(name, self.language, image))
        return AsyncJavaScriptSession(self._calls, name)


class AsyncTypeScriptSession(AsyncJavaScriptSession):
    """As TypeScriptSession."""

    language = "typescript"


class AsyncTypeScript(AsyncTypeScriptSession):
    """As TypeScript."""

    def __init__(self, calls: _Calls) -> None:
        super().__init__(calls, "ts")

    def session(self, name: str) -> AsyncTypeScriptSession:
        """The session of this name, to be used with `async with` or closed; it begins with its first run."""
        return AsyncTypeScriptSession(self._calls, name)

    async def open_session(self, name: str, image: Local) -> AsyncTypeScriptSession:
        """As AsyncPython.open_session, with an image of TypeScript."""
        await self._calls.call("python.open", open_params(name, self.language, image))
        return AsyncTypeScriptSession(self._calls, name)


class AsyncCallbackTable:
    """As CallbackTable."""

    def __init__(self, calls: _Calls, callbacks: Callbacks) -> None:
        self._calls = calls
        self._callbacks = callbacks

    async def add(self, callbacks: Mapping[str, Union[Function, Callback]]) -> None:
        """As CallbackTable.add."""
        described = self._callbacks.add(callbacks)
        await self._calls.call("callbacks.set", {"callbacks": described})

    async def remove(self, name: str) -> None:
        """As CallbackTable.remove."""
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
                 code_limit_bytes: Optional[int] = None, image: Optional[Local] = None,
                 cpu_ms: Optional[int] = None, background_ms: Optional[int] = None,
                 mounts: Optional[Mapping[str, Union[Local, Mount]]] = None,
                 files: Optional[Mapping[str, Union[Data, "os.PathLike[str]"]]] = None,
                 net: Optional[Mapping[str, Any]] = None, isolation: Optional[str] = None,
                 snapshot: Optional[Snapshot] = None) -> None:
        """Takes the options of Sandbox; the sandbox starts with `async with`."""
        self._functions: Dict[str, Union[Function, Callback]] = dict(callbacks or {})
        self._told = told_of(net)
        self._params = create_params(timeout_ms, fs_limit_bytes, memory_limit_bytes, output_limit_bytes, process_limit,
                                     env, wasm_dir, packages, fuel_limit, code_limit_bytes, image, cpu_ms, background_ms, net)
        self._mounts, self._files, self._fs_limit = creation_mounts(mounts), creation_files(files), fs_limit_bytes
        self._command, self._isolation = command(binary), isolation_of(isolation)
        self._snapshot = checked_snapshot(snapshot)
        self._kept = dict(timeout_ms=timeout_ms, fs_limit_bytes=fs_limit_bytes, memory_limit_bytes=memory_limit_bytes,
                          output_limit_bytes=output_limit_bytes, process_limit=process_limit, wasm_dir=wasm_dir, binary=binary,
                          fuel_limit=fuel_limit, code_limit_bytes=code_limit_bytes, image=image, isolation=isolation)
        self._link: Optional[Link] = None

    @classmethod
    async def create(cls, **options: Any) -> "AsyncSandbox":
        """Makes and starts one: the same as awaiting it."""
        return await cls(**options)

    async def start(self) -> "AsyncSandbox":
        """Starts it, if it was not started: `async with` and `await` do this."""
        if self._link is not None:
            return self
        link = await _in_thread(Link, self._command, False, self._isolation)
        link.fs_limit = self._fs_limit
        calls = _Calls(link)
        try:
            if self._snapshot is not None:
                self._params["snapshot"] = self._snapshot._name_in(link)
            await asyncio.wait_for(self._create(calls), START_PATIENCE)
        except asyncio.TimeoutError:
            await _in_thread(link.abandon)
            raise SandboxTimeout(f"the sandbox did not start in {START_PATIENCE:.0f} s") from None
        except BaseException:
            await _in_thread(link.close)
            raise
        self._link = link
        self.commands, self.files, self.env = AsyncCommands(calls), AsyncFiles(calls), AsyncEnv(calls)
        self.python = AsyncPython(calls)
        self.js = AsyncJavaScript(calls)
        self.ts = AsyncTypeScript(calls)
        self._table = functions = Callbacks(asyncio.get_running_loop())
        link.serve(functions.handle)
        attend(link, functions, self._told)
        self.callbacks = AsyncCallbackTable(calls, functions)
        try:
            await self._fill(calls)
        except BaseException:
            await _in_thread(link.close)
            raise
        return self

    async def _create(self, calls: _Calls) -> None:
        """As Link.create."""
        try:
            await calls.call("create", self._params)
        except SandboxDied:
            if not await _in_thread(calls.link.rejoin):
                raise
            await calls.call("create", self._params)
        calls.link.channel.warm = True

    async def _fill(self, calls: _Calls) -> None:
        if self._functions:
            await self.callbacks.add(self._functions)
        for params in self._mounts:
            await calls.call("mount", params)
        for path, data in self._files.items():
            if isinstance(data, os.PathLike):
                await self.files.upload(data, path)
            else:
                await self.files.write(path, data)

    def callback(self, function: Any = None, *, name: Optional[str] = None, description: Optional[str] = None) -> Any:
        """A decorator, as Sandbox.callback; before the start as well as after it."""
        def add(given: Function) -> Function:
            callback = Callback(given, description)
            if self._link is None:
                self._functions[name or given.__name__] = callback
            else:  # answered at once: the server does nothing else before
                self._link.call("callbacks.set", {"callbacks": self._table.add({name or given.__name__: callback})})
            return given

        return add if function is None else add(function)

    def __await__(self) -> Generator[Any, None, "AsyncSandbox"]:
        return self.start().__await__()

    def __getattr__(self, name: str) -> Any:
        if name in ("commands", "files", "env", "python", "js", "ts", "callbacks"):
            raise SandboxDied(NOT_STARTED)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __enter__(self) -> None:
        raise TypeError("an AsyncSandbox is used with `async with`; Sandbox is the one for `with`")

    def __exit__(self, *_: Any) -> None:
        pass

    def _calls(self) -> _Calls:
        if self._link is None:
            raise SandboxDied(NOT_STARTED)
        return _Calls(self._link)

    @property
    def pid(self) -> int:
        """As Sandbox.pid."""
        return self._calls().link.pid

    async def snapshot(self, label: str = "", *, leave_out: bool = False, wait: float = 0) -> Snapshot:
        """As Sandbox.snapshot."""
        return await _in_thread(Snapshot._take, self._calls().link, label, leave_out, wait)

    async def park(self, path: Optional[Local] = None) -> None:
        """As Sandbox.park."""
        await self._calls().call("sandbox.park", {} if path is None else path_param("path", os.path.abspath(path)))

    async def fork(self, *, leave_out: bool = False, wait: float = 0) -> "AsyncSandbox":
        """As Sandbox.fork; the copy is started."""
        kept: Any = self._kept
        return await AsyncSandbox(snapshot=await self.snapshot(leave_out=leave_out, wait=wait), **kept)

    async def kill(self) -> None:
        """Ends everything in it. Twice is fine."""
        if self._link is not None:
            await _in_thread(self._link.kill)

    async def publish(self, port: int, host: str = "0") -> Optional[int]:
        """As Sandbox.publish."""
        port_here: Optional[int] = (await self._calls().call("net.publish", {"port": port, "host": host})).get("hostPort")
        return port_here

    async def mount(self, host_path: Local, path: Remote, *, writable: bool = False, copy_on_write: bool = False) -> None:
        """As Sandbox.mount."""
        await self._calls().call("mount", mount_params(host_path, path, writable, copy_on_write))

    async def mount_changes(self, path: Remote) -> List[Change]:
        """As Sandbox.mount_changes."""
        return changes_of(await self._calls().call("mount.changes", path_param("path", path)))

    async def mount_patch(self, path: Remote) -> str:
        """As Sandbox.mount_patch."""
        text: str = (await self._calls().call("mount.patch", path_param("path", path)))["patch"]
        return text

    async def mount_apply(self, path: Remote, only: Optional[Sequence[str]] = None) -> int:
        """As Sandbox.mount_apply."""
        count: int = (await self._calls().call("mount.apply", apply_params(path, only)))["applied"]
        return count

    async def unmount(self, path: Remote) -> None:
        """As Sandbox.unmount."""
        await self._calls().call("unmount", path_param("path", path))

    async def usage(self) -> Usage:
        """As Sandbox.usage."""
        return usage(await self._calls().call("usage", {}))

    async def __aenter__(self) -> "AsyncSandbox":
        return await self.start()

    async def __aexit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.kill()

    def __repr__(self) -> str:
        return f"<cay.AsyncSandbox {self._link!r}>" if self._link is not None else "<cay.AsyncSandbox not started>"
