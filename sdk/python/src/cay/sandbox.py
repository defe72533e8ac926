"""A sandbox in a child process."""
import os
from types import TracebackType
from typing import Any, Mapping, Optional, Sequence, Type, Union

from ._binary import command
from ._options import START_PATIENCE, create_params
from ._rpc import Link
from ._types import Usage, usage
from .callbacks import Callback, Callbacks, Function
from .commands import Commands
from .files import Files, Local
from .python import CallbackTable, Python


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

    It ends with kill(), with the `with` block, when nobody holds it any more, and with this process, however that ends.
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
                 code_limit_bytes: Optional[int] = None) -> None:
        """timeout_ms is for each command, unless the command brings its own. Defaults: 256 MiB of memory, 16 MiB of
        output, 64 processes. `binary` names a `cay` program in place of the installed one.
        `callbacks` are functions of this process that code in the sandbox may call (see cay.callbacks). `packages` are wheels,
        folders or modules of pure Python that it can import. `fuel_limit` is the most WebAssembly operations of a command or
        an evaluation; counting them makes code slower. `code_limit_bytes` is the most of WebAssembly modules that programs
        of the sandbox bring and have compiled, 64 MiB if not given."""
        params = create_params(timeout_ms, fs_limit_bytes, memory_limit_bytes, output_limit_bytes, process_limit, env,
                               wasm_dir, packages, fuel_limit, code_limit_bytes)
        self._link = Link(command(binary))
        try:
            self._link.call("create", params, START_PATIENCE)
        except BaseException:
            self._link.close()
            raise
        self.commands = Commands(self._link)
        self.files = Files(self._link)
        self.env = Env(self._link)
        self.python = Python(self._link)
        functions = Callbacks()
        self._link.channel.answer = functions.handle
        self.callbacks = CallbackTable(self._link, functions)
        if callbacks:
            self._add(callbacks)

    def _add(self, callbacks: Mapping[str, Union[Function, Callback]]) -> None:
        try:
            self.callbacks.add(callbacks)
        except BaseException:
            self._link.close()
            raise

    @property
    def pid(self) -> int:
        """Of the child process."""
        return self._link.pid

    def kill(self) -> None:
        """Ends everything in it, and its process. Twice is fine."""
        self._link.kill()

    def mount(self, host_path: Local, path: str, *, writable: bool = False) -> None:
        """Lets the sandbox see a directory of this machine."""
        self._link.call("mount", {"hostPath": os.fspath(host_path), "path": path, "writable": writable})

    def unmount(self, path: str) -> None:
        self._link.call("unmount", {"path": path})

    def usage(self) -> Usage:
        return usage(self._link.call("usage", {}))

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.kill()

    def __repr__(self) -> str:
        return f"<cay.Sandbox {self._link!r}>"

    def __reduce__(self) -> Any:
        raise TypeError("a Sandbox cannot be pickled: it is a process")
