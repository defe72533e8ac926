"""AsyncWorkspaces: the same workspaces for asyncio.

    async with AsyncWorkspaces(store="workspaces") as workspaces:
        session = await workspaces.provision({"entries": [{"type": "file", "path": "a", "content": "hello"}]})
        print((await session.exec("cat a")).stdout)
"""
import asyncio
import inspect
from types import TracebackType
from typing import Any, Awaitable, Callable, Dict, List, Mapping, Optional, Type, Union

from ._binary import command
from ._errors import SandboxDied, SandboxError
from ._options import Local, decode, encode
from ._rpc import Item, Link
from .aio import _Calls, _in_thread
from .workspaces import Entry, Executed, SessionInfo, SnapshotInfo, exec_params, executed, open_params, patch_params, prune_params, workspace_error

AsyncOutput = Callable[[str], Union[Any, Awaitable[Any]]]


class AsyncWorkspaceProcess:
    """As WorkspaceProcess."""

    def __init__(self, workspaces: "AsyncWorkspaces", number: int, pid: int, command: str) -> None:
        self._workspaces, self._number, self.pid, self.command = workspaces, number, pid, command

    async def _call(self, method: str, **params: Any) -> Dict[str, Any]:
        return await self._workspaces._call(method, {"process": self._number, **params})

    async def wait(self, timeout: Optional[float] = None) -> Executed:
        """As WorkspaceProcess.wait."""
        return executed(await self._call("workspace.wait", **({} if timeout is None else {"timeoutMs": int(timeout * 1000)})))

    async def write(self, data: Union[str, bytes]) -> None:
        """As WorkspaceProcess.write."""
        await self._call("workspace.input", data=encode(data.encode() if isinstance(data, str) else data))

    async def end_input(self) -> None:
        """As WorkspaceProcess.end_input."""
        await self._call("workspace.input", end=True)

    async def signal(self, number: int) -> None:
        """As WorkspaceProcess.signal."""
        await self._call("workspace.signal", signal=int(number))

    async def kill(self) -> None:
        """As WorkspaceProcess.kill."""
        await self._call("workspace.kill")

    async def __aenter__(self) -> "AsyncWorkspaceProcess":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.kill()

    def __repr__(self) -> str:
        return f"<cay.AsyncWorkspaceProcess {self.pid} {self.command!r}>"


class AsyncWorkspaceSession:
    """As WorkspaceSession."""

    def __init__(self, workspaces: "AsyncWorkspaces", handle: str) -> None:
        self.handle = handle
        self._workspaces = workspaces

    async def _call(self, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        return await self._workspaces._call(method, {"handle": self.handle, **params})

    async def exec(self, command: str, *, working_dir: Optional[str] = None, timeout_ms: Optional[int] = None,
                   env: Optional[Mapping[str, str]] = None, stdin: str = "", on_stdout: Optional[AsyncOutput] = None,
                   on_stderr: Optional[AsyncOutput] = None) -> Executed:
        """As WorkspaceSession.exec; on_stdout and on_stderr may be coroutine functions."""
        params = exec_params(self.handle, command, working_dir, timeout_ms, env, stdin)
        if on_stdout is None and on_stderr is None:
            return executed(await self._workspaces._call("workspace.exec", params))
        outputs = {"stdout": on_stdout, "stderr": on_stderr}

        def hear(told: Dict[str, Any]) -> Any:
            output = outputs[told["stream"]]
            return output(told["data"]) if output is not None else None

        return executed(await self._workspaces._stream("workspace.exec", {**params, "stream": True}, hear))

    async def start(self, command: str, *, working_dir: Optional[str] = None, timeout_ms: Optional[int] = None,
                    env: Optional[Mapping[str, str]] = None) -> AsyncWorkspaceProcess:
        """As WorkspaceSession.start."""
        reply = await self._workspaces._call("workspace.spawn", exec_params(self.handle, command, working_dir, timeout_ms, env, "", inputOpen=True))
        return AsyncWorkspaceProcess(self._workspaces, reply["process"], reply["pid"], command)

    async def read_file(self, path: str) -> bytes:
        """As WorkspaceSession.read_file."""
        return decode((await self._call("workspace.read", {"path": path}))["data"])

    async def write_file(self, path: str, content: Union[str, bytes], mode: int = 0) -> None:
        """As WorkspaceSession.write_file."""
        data = content.encode() if isinstance(content, str) else content
        await self._call("workspace.write", {"path": path, "data": encode(data), "mode": mode})

    async def list_dir(self, path: str = ".") -> List[Entry]:
        """As WorkspaceSession.list_dir."""
        return [Entry(e["name"], e["type"], e["size"]) for e in (await self._call("workspace.list", {"path": path}))["entries"]]

    async def apply_patch(self, patch: str, *, strict: bool = False, fuzz: Optional[int] = None, strip: Optional[int] = None) -> None:
        """As WorkspaceSession.apply_patch."""
        await self._call("workspace.patch", patch_params(patch, strict, fuzz, strip))

    async def snapshot(self) -> str:
        """As WorkspaceSession.snapshot."""
        return str((await self._call("workspace.snapshot", {}))["id"])

    async def park(self) -> None:
        """As WorkspaceSession.park."""
        await self._call("workspace.park", {})

    async def stop(self) -> None:
        """As WorkspaceSession.stop."""
        await self._call("workspace.stop", {})

    def __repr__(self) -> str:
        return f"<cay.AsyncWorkspaceSession {self.handle}>"


class AsyncWorkspaces:
    """As Workspaces; it starts with `async with`."""

    def __init__(self, store: Optional[Local] = None, *, network: Optional[Mapping[str, Any]] = None,
                 git_files: Optional[Local] = None, git_credentials: Optional[str] = None, git_ca_file: Optional[Local] = None,
                 git_timeout_ms: Optional[int] = None, binary: Optional[str] = None) -> None:
        """Takes the options of Workspaces."""
        self._params, self._command = open_params(store, network, git_files, git_credentials, git_ca_file, git_timeout_ms), command(binary)
        self._link: Optional[Link] = None

    async def _call(self, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        if self._link is None:
            raise SandboxDied("the workspaces were not opened: use `async with AsyncWorkspaces() as workspaces`")
        try:
            answer: Dict[str, Any] = await _Calls(self._link).call(method, params)
            return answer
        except SandboxError as problem:
            raise workspace_error(problem) from None

    async def _stream(self, method: str, params: Dict[str, Any], hear: Callable[[Dict[str, Any]], Any]) -> Dict[str, Any]:
        if self._link is None:
            raise SandboxDied("the workspaces were not opened: use `async with AsyncWorkspaces() as workspaces`")
        items: "asyncio.Queue[Item]" = asyncio.Queue()
        await _Calls(self._link).start(method, params, items)
        while True:
            kind, value = await items.get()
            if kind == "error":
                raise workspace_error(value) if isinstance(value, SandboxError) else value
            if kind == "result":
                reply: Dict[str, Any] = value
                return reply
            answer = hear(value)
            if inspect.isawaitable(answer):
                await answer

    async def provision(self, manifest: Mapping[str, Any], *,
                        on_progress: Optional[Callable[[str, int, int], Any]] = None) -> AsyncWorkspaceSession:
        """As Workspaces.provision; on_progress may be a coroutine function."""
        params = {"manifest": dict(manifest)}
        if on_progress is None:
            return AsyncWorkspaceSession(self, (await self._call("workspace.provision", params))["handle"])
        tell = on_progress
        reply = await self._stream("workspace.provision", {**params, "progress": True},
                                   lambda told: tell(told["path"], told["received"], told["total"]))
        return AsyncWorkspaceSession(self, reply["handle"])

    async def start(self, handle: str) -> AsyncWorkspaceSession:
        """As Workspaces.start."""
        await self._call("workspace.start", {"handle": handle})
        return AsyncWorkspaceSession(self, handle)

    async def resume(self, id: str) -> AsyncWorkspaceSession:
        """As Workspaces.resume."""
        return AsyncWorkspaceSession(self, (await self._call("workspace.resume", {"id": id}))["handle"])

    async def sessions(self) -> List[SessionInfo]:
        """As Workspaces.sessions."""
        found = (await self._call("workspace.sessions", {}))["sessions"]
        return [SessionInfo(s["handle"], s["state"], s["createdMs"] / 1000) for s in found]

    async def snapshots(self) -> List[SnapshotInfo]:
        """As Workspaces.snapshots."""
        found = (await self._call("workspace.snapshots", {}))["snapshots"]
        return [SnapshotInfo(s["id"], s["handle"], s["createdMs"] / 1000, s["files"], s["bytes"]) for s in found]

    async def delete(self, id: str) -> None:
        """As Workspaces.delete."""
        await self._call("workspace.delete", {"id": id})

    async def prune(self, keep: Optional[int] = None, max_age: Optional[float] = None) -> int:
        """As Workspaces.prune."""
        return int((await self._call("workspace.prune", prune_params(keep, max_age)))["removed"])

    async def fsck(self, repair: bool = False) -> List[str]:
        """As Workspaces.fsck."""
        problems: List[str] = (await self._call("workspace.fsck", {"repair": repair}))["problems"]
        return problems

    async def close(self) -> None:
        """As Workspaces.close."""
        if self._link is not None:
            await _in_thread(self._link.kill)

    async def __aenter__(self) -> "AsyncWorkspaces":
        self._link = await _in_thread(Link, self._command, True)
        try:
            await self._call("workspace.open", self._params)
        except BaseException:
            await _in_thread(self._link.close)
            raise
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<cay.AsyncWorkspaces {self._link!r}>" if self._link is not None else "<cay.AsyncWorkspaces not open>"
