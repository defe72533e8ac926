"""A sandbox in the server process of this program."""
import os
from types import TracebackType
from typing import Any, Dict, List, Mapping, Optional, Sequence, Type, Union

from ._binary import command
from ._network import attend, told_of
from ._options import (START_PATIENCE, Data, Local, Mount, Remote, apply_params, create_params, creation_files, creation_mounts, isolation_of, mount_params,
                       path_param)
from ._rpc import Link
from ._types import Usage, usage
from .callbacks import Callback, Callbacks, Function
from .commands import Commands
from .files import Files
from .python import CallbackTable, JavaScript, Python, TypeScript
from .snapshot import Change, Snapshot, changes_of, checked_snapshot


class Env:
    """Variables that later commands start with."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def get(self, name: str) -> Optional[str]:
        """None when it is not set."""
        value: Optional[str] = self._link.call("env.get", {"name": name})["value"]
        return value

    def set(self, name: str, value: Optional[str]) -> None:
        """None removes it."""
        self._link.call("env.set", {"name": name, "value": value})


class Sandbox:
    """A small Linux of its own, in memory. Any thread may use it; several commands may run at once.

    All sandboxes of this program live in one server process, a child, which starts with the first of them and ends with this
    process. If it dies, calls raise SandboxDied, and the next Sandbox() starts another one.

    A sandbox ends with kill(), with the `with` block, when no reference to it is left, and with this process, however that ends.
    A fork of this process cannot use it.
    """

    commands: Commands
    files: Files
    env: Env
    python: Python
    callbacks: CallbackTable

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
        """Starts one.

        Commands and limits:
            timeout_ms: milliseconds of wall clock for each command or evaluation that brings none of its own.
            memory_limit_bytes: memory of all processes together; 512 MiB.
            fs_limit_bytes: bytes in files; also what files.read and files.download take at most, unless they say otherwise.
            output_limit_bytes: captured bytes of each output stream of a command; 16 MiB.
            process_limit: processes at once; 64.
            fuel_limit: WebAssembly operations of a command or an evaluation. Counting them makes code slower.
            code_limit_bytes: WebAssembly modules that programs of the sandbox bring and have compiled; 64 MiB.
            cpu_ms: milliseconds of the processor, all processes together, as long as the sandbox lives; one hour.
            background_ms: how long what a command or an evaluation leaves running may live on after its end; no limit.

        Its parts:
            env: variables of all commands.
            files: by path in the sandbox: contents as str or bytes, or a pathlib.Path of this machine, which is copied.
            mounts: by path in the sandbox: a directory or one file of this machine, only to read;
                Mount("dir", writable=True) or Mount("dir", copy_on_write=True) for more.
            packages: what code can import, of pure Python or JavaScript: wheels, archives of npm (``.tgz``), folders, modules.
            callbacks: functions of this process that code may call (see cay.callbacks).
            image: what sessions of its language begin as: a file of `cay image build`, or the name of an installed image. "science", of the
                package cay-science, has numpy and what stands on it, already imported. "busybox": a sandbox with BusyBox and dash alone.
            snapshot: what the sandbox begins as, in place of an empty one; not with packages.

        The network, off unless given:
            net: {"allow": ["pypi.org:443"]}; also "deny", "preset" ("package-registries", "all-public"), "rules", "hosts"
                (names and their addresses), and limits: "connections", "sent_bytes", "received_bytes", "bytes_per_second",
                "connect_timeout_ms", "idle_timeout_ms"; "secrets": [{"name": "TOKEN", "value": …, "hosts": ["api.example.com"]}],
                of which code sees a placeholder alone; "ca_file"; "crl_file"; "cache_file"; "record_file" or "replay_file"; "ask" and "decision", functions
                of one mapping: ask decides where no rule does, decision is told of each.

        isolation: "process", or "library": in this process, where calls take a fraction of the time. What fails in the
        library then fails here. $CAY_ISOLATION says which, if this does not; "process".
        binary: a `cay` program in place of the installed one; wasm_dir: a folder of guests, likewise.
        """
        params = create_params(timeout_ms, fs_limit_bytes, memory_limit_bytes, output_limit_bytes, process_limit, env,
                               wasm_dir, packages, fuel_limit, code_limit_bytes, image, cpu_ms, background_ms, net)
        mounted, contents = creation_mounts(mounts), creation_files(files)
        begins_as = checked_snapshot(snapshot)
        self._kept = dict(timeout_ms=timeout_ms, fs_limit_bytes=fs_limit_bytes, memory_limit_bytes=memory_limit_bytes,
                          output_limit_bytes=output_limit_bytes, process_limit=process_limit, wasm_dir=wasm_dir, binary=binary,
                          fuel_limit=fuel_limit, code_limit_bytes=code_limit_bytes, image=image, isolation=isolation)
        self._link = Link(command(binary), isolation=isolation_of(isolation))
        self._link.fs_limit = fs_limit_bytes
        try:
            if begins_as is not None:
                params["snapshot"] = begins_as._name_in(self._link)
            self._link.create(params, START_PATIENCE)
        except BaseException:
            self._link.close()
            raise
        self.commands = Commands(self._link)
        self.files = Files(self._link)
        self.env = Env(self._link)
        self.python = Python(self._link)
        self.js = JavaScript(self._link)
        self.ts = TypeScript(self._link)
        functions = Callbacks()
        self._link.serve(functions.handle)
        attend(self._link, functions, told_of(net))
        self.callbacks = CallbackTable(self._link, functions)
        self._fill(callbacks, mounted, contents)

    def _fill(self, callbacks: Optional[Mapping[str, Union[Function, Callback]]], mounts: List[Dict[str, Any]],
              files: Mapping[str, Any]) -> None:
        try:
            if callbacks:
                self.callbacks.add(callbacks)
            for params in mounts:
                self._link.call("mount", params)
            for path, data in files.items():
                if isinstance(data, os.PathLike):
                    self.files.upload(data, path)
                else:
                    self.files.write(path, data)
        except BaseException:
            self._link.close()
            raise

    @property
    def pid(self) -> int:
        """Of the server process, in which all sandboxes of this program live."""
        return self._link.pid

    def snapshot(self, label: str = "", *, leave_out: bool = False, wait: float = 0) -> Snapshot:
        """The sandbox as it is now, as a value; the sandbox goes on.

        SandboxError EBUSY: a process runs in the background, or a session evaluates. `wait` seconds are given them to end;
        `leave_out` goes on without them.
        """
        return Snapshot._take(self._link, label, leave_out, wait)

    def park(self, path: Optional[Local] = None) -> None:
        """Gives the memory of its sessions back until they are used again, but for their own changes. That goes to a file, too, if
        `path` names one that is not there yet; it is removed when the last session is back."""
        self._link.call("sandbox.park", {} if path is None else path_param("path", os.path.abspath(path)))

    def fork(self, *, leave_out: bool = False, wait: float = 0) -> "Sandbox":
        """A copy: files, variables, limits, and sessions with all that is in their memory. Mounts and callbacks are not copied."""
        kept: Any = self._kept
        return Sandbox(snapshot=self.snapshot(leave_out=leave_out, wait=wait), **kept)

    def kill(self) -> None:
        """Ends everything in it. Twice is fine."""
        self._link.kill()

    def publish(self, port: int, host: str = "0") -> Optional[int]:
        """Forwards a port of this machine to a server in the sandbox, as long as that lives.

        `host` is PORT of 127.0.0.1 (0: any free one), ADDRESS:PORT, or the path of a Unix socket to make. Returns the port of this
        machine; None for a Unix socket.
        """
        port_here: Optional[int] = self._link.call("net.publish", {"port": port, "host": host}).get("hostPort")
        return port_here

    def callback(self, function: Any = None, *, name: Optional[str] = None, description: Optional[str] = None) -> Any:
        """A decorator: code in the sandbox may call this function, by its own name or by `name`.

            @sandbox.callback
            def price(fruit: str) -> float: ...

        The schema of the arguments and the description are read from it, unless a `description` is given.
        """
        return self.callbacks.register(function, name=name, description=description)

    def mount(self, host_path: Local, path: Remote, *, writable: bool = False, copy_on_write: bool = False) -> None:
        """Lets the sandbox see a directory or one file of this machine.

        With `copy_on_write` a directory appears writable, and nothing that the sandbox writes reaches this machine but by mount_apply.
        """
        self._link.call("mount", mount_params(host_path, path, writable, copy_on_write))

    def mount_changes(self, path: Remote) -> List[Change]:
        """The changes of the sandbox in a copy-on-write mount."""
        return changes_of(self._link.call("mount.changes", path_param("path", path)))

    def mount_patch(self, path: Remote) -> str:
        """These changes as a unified patch in git's form. SandboxError EEXIST: this machine has changed one of the files since."""
        text: str = self._link.call("mount.patch", path_param("path", path))["patch"]
        return text

    def mount_apply(self, path: Remote, only: Optional[Sequence[str]] = None) -> int:
        """Makes these changes on this machine, each file atomically; how many. `only`: paths in the mount, directories with all below.

        SandboxError EEXIST: a file is not as the sandbox saw it, and nothing was applied.
        """
        count: int = self._link.call("mount.apply", apply_params(path, only))["applied"]
        return count

    def unmount(self, path: Remote) -> None:
        """Takes a directory of `mount` away again. SandboxError EBUSY: something in it is in use."""
        self._link.call("unmount", path_param("path", path))

    def usage(self) -> Usage:
        """Present use of resources, and the peaks."""
        return usage(self._link.call("usage", {}))

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.kill()

    def __repr__(self) -> str:
        return f"<cay.Sandbox {self._link!r}>"

    def __reduce__(self) -> Any:
        raise TypeError("a Sandbox cannot be pickled: it has processes")
