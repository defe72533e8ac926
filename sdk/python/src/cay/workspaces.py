"""Workspaces: provisioned from a manifest, used through sessions, kept as snapshots and resumed.

    from cay import Workspaces

    with Workspaces(store="workspaces") as workspaces:
        session = workspaces.provision({"entries": [{"type": "file", "path": "a", "content": "hello"}]})
        print(session.exec("cat a").stdout)
        id = session.snapshot()
"""
import os
import re
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Callable, Dict, List, Mapping, Optional, Type, Union

from ._binary import command
from ._errors import SandboxError
from ._options import Local, decode, encode
from ._rpc import Link

_NAMES = {"ProvisionFailed", "PathTraversal", "SessionNotFound", "SnapshotNotFound", "ExecutionFailed", "Timeout", "MemoryExceeded",
          "InvalidRequest", "BackendUnavailable", "EnforcerFailed", "EnforcerUnavailable", "PolicyViolation"}


class WorkspaceError(SandboxError):
    """A workspace refused; `name` says why: "PathTraversal", "SessionNotFound", ..."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


@dataclass
class Executed:
    """The end of a command of a workspace."""

    stdout: str
    stderr: str
    exit_code: int
    duration: float  # seconds
    timed_out: bool
    stdout_truncated: bool  # there was more than 1 MiB
    stderr_truncated: bool


def workspace_error(problem: SandboxError) -> SandboxError:
    found = re.match(r"(\w+): (.*)", str(problem), re.S)
    return problem if found is None or found[1] not in _NAMES else WorkspaceError(found[1], found[2])


def executed(reply: Dict[str, Any]) -> "Executed":
    return Executed(reply["stdout"], reply["stderr"], reply["exitCode"], reply["durationMs"] / 1000, reply["timedOut"],
                    reply.get("stdoutTruncated", False), reply.get("stderrTruncated", False))


def exec_params(handle: str, command: str, working_dir: Optional[str], timeout_ms: Optional[int], env: Optional[Mapping[str, str]],
                stdin: str, **more: Any) -> Dict[str, Any]:
    params: Dict[str, Any] = {"handle": handle, "command": command, "stdin": stdin, "env": dict(env or {}), **more}
    if working_dir is not None:
        params["workingDir"] = working_dir
    if timeout_ms is not None:
        params["timeoutMs"] = timeout_ms
    return params


def patch_params(patch: str, strict: bool, fuzz: Optional[int], strip: Optional[int]) -> Dict[str, Any]:
    given = {"fuzz": fuzz, "strip": strip}
    return {"patch": patch, "strict": strict, **{name: number for name, number in given.items() if number is not None}}


def prune_params(keep: Optional[int], max_age: Optional[float]) -> Dict[str, Any]:
    rules = {"keep": keep, "maxAgeMs": None if max_age is None else max(1, int(max_age * 1000))}
    return {name: value for name, value in rules.items() if value is not None}


def open_params(store: Optional[Local], network: Optional[Mapping[str, Any]], git_files: Optional[Local],
                git_credentials: Optional[str], git_ca_file: Optional[Local], git_timeout_ms: Optional[int]) -> Dict[str, Any]:
    params: Dict[str, Any] = {}
    if store is not None:
        params["store"] = os.path.abspath(store)
    if network is not None:
        params["network"] = dict(network)
    if git_files is not None:
        params["gitFiles"] = os.path.abspath(git_files)
    if git_credentials is not None:
        params["gitCredentials"] = git_credentials
    if git_ca_file is not None:
        params["gitCaFile"] = os.path.abspath(git_ca_file)
    if git_timeout_ms is not None:
        params["gitTimeoutMs"] = git_timeout_ms
    return params


@dataclass
class Entry:
    """An entry of a directory."""

    name: str
    type: str  # "file", "directory", "link", "other"
    size: int


@dataclass
class SnapshotInfo:
    """A snapshot of the store."""

    id: str
    handle: str  # of the session that it was taken of
    created: float  # seconds since 1970
    files: int
    bytes: int


@dataclass
class SessionInfo:
    """A session of a workspace."""

    handle: str
    state: str  # "provisioned", "running", "parked"
    created: float  # seconds since 1970


class WorkspaceSession:
    """A session of a workspace. Paths are relative to the workspace."""

    def __init__(self, workspaces: "Workspaces", handle: str) -> None:
        self.handle = handle
        self._workspaces = workspaces

    def _call(self, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        return self._workspaces._call(method, {"handle": self.handle, **params})

    def exec(self, command: str, *, working_dir: Optional[str] = None, timeout_ms: Optional[int] = None,
             env: Optional[Mapping[str, str]] = None, stdin: str = "", on_stdout: Optional[Callable[[str], Any]] = None,
             on_stderr: Optional[Callable[[str], Any]] = None) -> Executed:
        """Runs a line for bash and waits for its end. A failing command is no exception. on_stdout and on_stderr get the text as
        it comes, in this thread."""
        params = exec_params(self.handle, command, working_dir, timeout_ms, env, stdin)
        if on_stdout is None and on_stderr is None:
            return executed(self._call("workspace.exec", params))
        outputs = {"stdout": on_stdout, "stderr": on_stderr}

        def hear(told: Dict[str, Any]) -> None:
            output = outputs[told["stream"]]
            if output is not None:
                output(told["data"])

        return executed(self._workspaces._stream("workspace.exec", {**params, "stream": True}, hear))

    def start(self, command: str, *, working_dir: Optional[str] = None, timeout_ms: Optional[int] = None,
              env: Optional[Mapping[str, str]] = None) -> "WorkspaceProcess":
        """Runs a line for bash and does not wait for it."""
        params = exec_params(self.handle, command, working_dir, timeout_ms, env, "", inputOpen=True)
        reply = self._call("workspace.spawn", params)
        return WorkspaceProcess(self._workspaces, reply["process"], reply["pid"], command)

    def read_file(self, path: str) -> bytes:
        """The bytes of a file."""
        return decode(self._call("workspace.read", {"path": path})["data"])

    def write_file(self, path: str, content: Union[str, bytes], mode: int = 0) -> None:
        """Replaces a file and makes its parents. Mode 0 keeps that of the file."""
        data = content.encode() if isinstance(content, str) else content
        self._call("workspace.write", {"path": path, "data": encode(data), "mode": mode})

    def list_dir(self, path: str = ".") -> List[Entry]:
        """The entries of a directory in the order of their names."""
        return [Entry(e["name"], e["type"], e["size"]) for e in self._call("workspace.list", {"path": path})["entries"]]

    def apply_patch(self, patch: str, *, strict: bool = False, fuzz: Optional[int] = None, strip: Optional[int] = None) -> None:
        """Applies a unified diff: all of it or nothing.

        `strict`: hunks only where they say, and with all of their context; else `fuzz` lines of it may be passed over at each end,
        2 unless given. `strip`: folders taken off names, else what the headers suggest.
        """
        self._call("workspace.patch", patch_params(patch, strict, fuzz, strip))

    def snapshot(self) -> str:
        """Keeps the files; gives the id of the snapshot, which is on the disk."""
        return str(self._call("workspace.snapshot", {})["id"])

    def park(self) -> None:
        """Puts the session into the store; Workspaces.start continues it, in any process."""
        self._call("workspace.park", {})

    def stop(self) -> None:
        """Ends it with its processes; its handle is invalid from then on."""
        self._call("workspace.stop", {})

    def __repr__(self) -> str:
        return f"<cay.WorkspaceSession {self.handle}>"


class WorkspaceProcess:
    """A command of a workspace that runs while the program goes on. It ends with its session. `with` kills it at the end."""

    def __init__(self, workspaces: "Workspaces", number: int, pid: int, command: str) -> None:
        self._workspaces, self._number, self.pid, self.command = workspaces, number, pid, command

    def _call(self, method: str, **params: Any) -> Dict[str, Any]:
        return self._workspaces._call(method, {"process": self._number, **params})

    def wait(self, timeout: Optional[float] = None) -> Executed:
        """Waits for its end. WorkspaceError Timeout: it has not ended in that many seconds."""
        return executed(self._call("workspace.wait", **({} if timeout is None else {"timeoutMs": int(timeout * 1000)})))

    def write(self, data: Union[str, bytes]) -> None:
        """Writes to its standard input; waits while it does not read."""
        self._call("workspace.input", data=encode(data.encode() if isinstance(data, str) else data))

    def end_input(self) -> None:
        """Nothing more is written: it finds the end of file."""
        self._call("workspace.input", end=True)

    def signal(self, number: int) -> None:
        """Sends a signal to its process group. After its end it does nothing."""
        self._call("workspace.signal", signal=int(number))

    def kill(self) -> None:
        """Ends it with all that it started. Twice is fine."""
        self._call("workspace.kill")

    def __enter__(self) -> "WorkspaceProcess":
        return self

    def __exit__(self, *_: Any) -> None:
        self.kill()

    def __repr__(self) -> str:
        return f"<cay.WorkspaceProcess {self.pid} {self.command!r}>"


class Workspaces:
    """A client of workspaces, in a process of its own. Any thread may use it; several calls may run at once."""

    def __init__(self, store: Optional[Local] = None, *, network: Optional[Mapping[str, Any]] = None,
                 git_files: Optional[Local] = None, git_credentials: Optional[str] = None, git_ca_file: Optional[Local] = None,
                 git_timeout_ms: Optional[int] = None, binary: Optional[str] = None) -> None:
        """`store` is a folder for snapshots. `network` ({"rules": [...]}) is what git and programs may reach; without it
        manifests say so. file:// URLs may lead below the folder `git_files`. `git_credentials` are lines
        https://USER:PASSWORD@HOST/PATH for servers that want them; no workspace sees them. `git_ca_file` has certificate
        authorities in PEM for https:// URLs, in place of the system's; `git_timeout_ms` is for one clone."""
        self._link = Link(command(binary), own=True)
        try:
            self._call("workspace.open", open_params(store, network, git_files, git_credentials, git_ca_file, git_timeout_ms))
        except BaseException:
            self._link.close()
            raise

    def _call(self, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        try:
            answer: Dict[str, Any] = self._link.call(method, params)
            return answer
        except SandboxError as problem:
            raise workspace_error(problem) from None

    def _stream(self, method: str, params: Dict[str, Any], hear: Callable[[Dict[str, Any]], Any]) -> Dict[str, Any]:
        items = self._link.inbox()
        self._link.start(method, params, items.put)
        while True:
            kind, value = items.get()
            if kind == "error":
                raise workspace_error(value) if isinstance(value, SandboxError) else value
            if kind == "result":
                reply: Dict[str, Any] = value
                return reply
            hear(value)

    def provision(self, manifest: Mapping[str, Any], *, on_progress: Optional[Callable[[str, int, int], Any]] = None) -> WorkspaceSession:
        """Makes a workspace of a manifest: all of it or nothing. on_progress gets the path of a repository, the objects that have come
        and those that there are (0: not yet known), in this thread."""
        params = {"manifest": dict(manifest)}
        if on_progress is None:
            return WorkspaceSession(self, self._call("workspace.provision", params)["handle"])
        tell = on_progress
        reply = self._stream("workspace.provision", {**params, "progress": True},
                             lambda told: tell(told["path"], told["received"], told["total"]))
        return WorkspaceSession(self, reply["handle"])

    def start(self, handle: str) -> WorkspaceSession:
        """The session of a handle, parked ones of the store too."""
        self._call("workspace.start", {"handle": handle})
        return WorkspaceSession(self, handle)

    def resume(self, id: str) -> WorkspaceSession:
        """A new workspace with the files of a snapshot."""
        return WorkspaceSession(self, self._call("workspace.resume", {"id": id})["handle"])

    def snapshots(self) -> List[SnapshotInfo]:
        """The snapshots of the store by age."""
        return [SnapshotInfo(s["id"], s["handle"], s["createdMs"] / 1000, s["files"], s["bytes"])
                for s in self._call("workspace.snapshots", {})["snapshots"]]

    def sessions(self) -> List[SessionInfo]:
        """The sessions of this client, and the parked ones of the store."""
        return [SessionInfo(s["handle"], s["state"], s["createdMs"] / 1000) for s in self._call("workspace.sessions", {})["sessions"]]

    def delete(self, id: str) -> None:
        """Deletes a snapshot."""
        self._call("workspace.delete", {"id": id})

    def prune(self, keep: Optional[int] = None, max_age: Optional[float] = None) -> int:
        """Deletes snapshots: the newest `keep` stay, and those younger than `max_age` seconds. How many were deleted."""
        return int(self._call("workspace.prune", prune_params(keep, max_age))["removed"])

    def fsck(self, repair: bool = False) -> List[str]:
        """Compares the store with its digests: a line for each problem. `repair` removes snapshots that cannot be resumed."""
        problems: List[str] = self._call("workspace.fsck", {"repair": repair})["problems"]
        return problems

    def close(self) -> None:
        """Stops its sessions and ends its process. Twice is fine."""
        self._link.kill()

    def __enter__(self) -> "Workspaces":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<cay.Workspaces {self._link!r}>"
