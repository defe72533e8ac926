"""A server in this process: the module _cay, which is built on the library.

A caller asks the module itself and waits there, without the GIL and without another thread of Python. Calls of callbacks come to
it meanwhile. All other messages come to the thread of the channel.
"""
import functools
import importlib.machinery
import importlib.util
import os
import threading
from typing import Any, Dict, List, Optional, Tuple

from ._channel import KILLED, Channel, Party, channels, decode_json, dispatch, reason, result_json
from ._errors import BinaryNotFound, SandboxDied, SandboxError, from_wire

LINE, VALUE, RUN_END, CALL = range(4)
MODULE = "_cay.abi3.so"
HOME = b"/home/agent/"

Reply = Any  # the result of JSON-RPC, or the tuple of an evaluation or a command


# ---- the module ----

@functools.lru_cache(maxsize=None)
def find(binary: str) -> str:
    """The module that belongs to a `cay` program."""
    folder = os.path.dirname(os.path.realpath(binary))
    for path in (os.path.join(folder, "..", "lib", MODULE), os.path.join(folder, "..", "..", "sdk", "python", "native", MODULE)):
        if os.path.isfile(path):
            return os.path.normpath(path)
    raise BinaryNotFound(f"{binary} comes without {MODULE}, which isolation='library' needs: install the wheel for this platform, or "
                         "use isolation='process'")


_modules: Dict[str, Any] = {}


def load(path: str) -> Any:
    if path not in _modules:
        loader = importlib.machinery.ExtensionFileLoader("_cay", path)
        spec = importlib.util.spec_from_file_location("_cay", path, loader=loader)
        assert spec is not None
        try:
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
        except ImportError as problem:
            raise SandboxDied(f"{path} cannot be loaded: {problem}") from problem
        _modules[path] = module
    return _modules[path]


def cache_folder() -> Optional[str]:
    """Where compiled code is kept, as the `cay` program has it; None: it is not kept."""
    given = os.environ.get("CAY_CACHE")
    if given is None:
        xdg, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
        given = f"{xdg}/cay" if xdg.startswith("/") else f"{home}/.cache/cay" if home.startswith("/") else ""
    return f"{given}/code" if given else None


# ---- the channel ----

class LibraryChannel(Channel):
    """A server in this process."""

    def __init__(self, module: Any, guests: Optional[str]) -> None:
        super().__init__()
        self.module = module
        try:
            self.native = module.Server(guests, cache_folder())
        except OSError as problem:
            raise SandboxDied(f"cannot start the library: {problem}") from problem
        self.loop: Any = None  # that attends
        channels.add(self)

    @property
    def pid(self) -> int:
        return self.owner

    def write(self, line: bytes, patience: float = -1) -> None:
        try:
            self.native.line(line)
        except ConnectionError:
            pass  # it is closed: those who wait have been told

    def write_later(self, line: bytes) -> None:
        self.write(line)

    def receive(self, timeout: Optional[float] = None) -> bool:
        try:
            items: List[Tuple[Any, ...]] = self.native.receive(-1 if timeout is None else int(timeout * 1000))
        except ConnectionError:
            return False
        for item in items:
            self._hand_on(item)
        return bool(items)

    def _hand_on(self, item: Tuple[Any, ...]) -> None:
        if item[0] == CALL:
            self._call(item, False)
        elif item[0] == LINE:
            dispatch(self, item[2])
        else:
            with self.state:
                deliver = self.waiting.pop(item[1], None)
            if deliver is not None:
                deliver[0](("result", item))

    def attend(self, loop: Any) -> None:
        """Messages come to the event loop, through one descriptor. With a second loop they come to a thread."""
        if self.background is not None or self.loop is loop:
            return
        if self.loop is not None and not self.loop.is_closed():
            self.read_in_background()
            return
        self.loop = loop
        loop.add_reader(self.native.fileno(), self.receive, 0)

    def read_on(self) -> None:
        with self.reading:
            while self.death is None:
                self.receive()

    # ---- asking ----

    def ask(self, number: int, line: bytes, party: Party) -> Reply:
        """The result of a request. SandboxError: it is refused."""
        if party.death is not None or self.death is not None:
            raise SandboxDied(party.death or self.death or KILLED)
        try:
            item = self.native.ask(number, party.name, line, self._call_here)
        except ConnectionError as problem:
            raise SandboxDied(party.death or self.death or str(problem)) from None
        if item[0] != LINE:
            return item
        message = decode_json(item[2].decode())
        if "error" not in message:
            return message["result"]
        raise SandboxDied(KILLED) if party.killing else from_wire(message["error"])

    def _call_here(self, item: Tuple[Any, ...]) -> None:
        self._call(item, True)

    def _call(self, item: Tuple[Any, ...], here: bool) -> None:
        _, sandbox, name, arguments, call = item
        module = self.module

        def answer(result: Any, why: Optional[str]) -> None:
            text = b""
            if why is None:
                text, why = result_json(result)
            if why is None:
                module.answer(call, text)
            else:
                module.fail(call, reason(why).replace("\0", "\\0").encode())

        party = self.parties.get(sandbox)
        if party is None:
            answer(None, "no callbacks here")
            return
        try:
            params = {"name": name, "arguments": decode_json(arguments.decode()) if arguments != b"{}" else {}}
            party.answer(params, answer, here)
        except Exception as problem:
            answer(None, f"the callback cannot be called: {type(problem).__name__}: {problem}")

    # ---- files ----

    def read_file(self, party: Party, path: bytes, offset: int, length: int) -> bytes:
        reply = self._file(party, "read", path, offset, length)
        assert isinstance(reply, bytes)
        return reply

    def write_file(self, party: Party, path: bytes, data: Any, mode: int, offset: Optional[int], append: bool) -> None:
        part = append or offset is not None
        at = 0xffff_ffff_ffff_ffff if append else offset or 0
        self._file(party, "write", path, data if isinstance(data, bytes) else bytes(data), mode, at, part)

    def _file(self, party: Party, what: str, path: bytes, *arguments: Any) -> Any:
        if party.death is not None or self.death is not None:
            raise SandboxDied(party.death or self.death or KILLED)
        if not path.startswith(b"/"):
            path = HOME + path
        try:
            reply = getattr(self.native, what)(party.name, path, *arguments)
        except ConnectionError as problem:
            raise SandboxDied(party.death or self.death or str(problem)) from None
        if isinstance(reply, tuple):
            raise SandboxDied(KILLED) if party.killing else SandboxError(reply[1], reply[0])
        return reply

    # ---- the end ----

    def abandon(self) -> None:
        pass  # it always answers

    def close(self) -> None:
        """Ends everything in it, and waits for that. Twice is fine."""
        with self.state:
            self.death = self.death or KILLED
        self.native.close()
        background = self.background
        if background is not None and background is not threading.current_thread():
            background.join()
        self.die(KILLED)
