"""The child process and the JSON-RPC spoken with it.

A Link owns one server. Any thread may call; one thread reads the server's messages and hands each answer to its waiting caller.
That thread knows only the Channel, never the Link, so a Link without references is collected, and with it
the process ends: also at exit. A fork leaves the child with links that are dead and closed, and the parent's untouched.
"""
import io
import itertools
import json
import os
import select
import subprocess
import threading
import weakref
from queue import Empty, SimpleQueue
from typing import IO, Any, Callable, Dict, List, Optional, Tuple

from ._errors import SandboxDied, SandboxError, SandboxTimeout, from_wire

Item = Tuple[str, Any]  # ("output", params of a notification), ("result", value), ("error", exception)
Deliver = Callable[[Item], None]

LINE_MAX = 64 << 20  # bytes of a request that the server reads
END_PATIENCE = 5.0  # seconds until a server that does not end is ended
LOG_TAIL = 2000
MESSAGE_MAX = 1 << 20  # characters of an error
KILLED = "the sandbox was killed"
END = b'{"jsonrpc":"2.0","id":0,"method":"kill"}\n'  # without an answer


def _ignore(_item: Item) -> None:
    pass


class Channel:
    """Pipes, process and waiting callers: everything that must outlive the Link until the process has ended."""

    def __init__(self, command: List[str]) -> None:
        self.owner = os.getpid()
        self.log: IO[bytes] = _log_file()
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                            bufsize=0, start_new_session=True)
        except OSError as problem:
            self.log.close()
            raise SandboxDied(f"cannot start {command[0]}: {problem}") from problem
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.writing = threading.Lock()
        self.state = threading.RLock()  # a collection may begin, and end in _close, wherever memory is taken
        self.waiting: Dict[int, Deliver] = {}
        self.death: Optional[str] = None  # why calls are impossible
        self.killing = False  # its end is wanted, and no news
        self.answer: Callable[[Dict[str, Any], Callable[[Any, Optional[str]], None]], None] = _refuse  # callbacks
        self.reader = threading.Thread(target=_read, args=(self,), name="cay-reader", daemon=True)
        self.reader.start()

    def expect(self, number: int, deliver: Deliver) -> None:
        with self.state:
            if self.death is not None:
                raise SandboxDied(self.death)
            self.waiting[number] = deliver

    def write(self, line: bytes, patience: float = -1) -> None:
        if not self.writing.acquire(timeout=patience):
            return
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[self.stdin.write(rest):]
        except (OSError, ValueError):
            pass  # it is gone: the reading thread tells all who wait
        finally:
            self.writing.release()

    def die(self, why: str) -> None:
        with self.state:
            if self.death is None:
                self.death = KILLED if self.killing else why
            waiting, self.waiting = self.waiting, {}
            why = self.death
        for deliver in waiting.values():
            deliver(("error", SandboxDied(why)))

    def last_words(self) -> str:
        try:
            size = self.log.seek(0, os.SEEK_END)
            self.log.seek(max(0, size - LOG_TAIL))
            text = self.log.read().decode(errors="replace").strip()
        except (OSError, ValueError):
            return ""
        return f"; it said: {text}" if text else ""


def _log_file() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("cay-log"), "w+b", buffering=0)
    import tempfile
    return tempfile.TemporaryFile(buffering=0)


def _refuse(_params: Dict[str, Any], answer: Callable[[Any, Optional[str]], None]) -> None:
    answer(None, "no callbacks here")


# ---- the reading thread ----

def response(number: Any, result: Any, why: Optional[str]) -> bytes:
    """The line that answers a request of the server: the result, or why there is none. A result that is no JSON is none."""
    reply: Dict[str, Any] = {"jsonrpc": "2.0", "id": number}
    if why is None:
        try:
            whole = {**reply, "result": result}
            line = json.dumps(whole, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode()
            if len(line) <= LINE_MAX:
                return line + b"\n"
            why = f"the callback's result is longer than {LINE_MAX} bytes"
        except Exception as problem:
            why = f"the callback's result is no JSON: {describe_exception(problem)}"
    message = why[:MESSAGE_MAX].encode(errors="backslashreplace").decode()  # half a surrogate pair has no UTF-8
    reply["error"] = {"code": 1, "message": message}
    return json.dumps(reply, ensure_ascii=False).encode() + b"\n"


def _plain(value: Any) -> Any:
    from ._convert import plain  # takes a while to import, and is seldom needed
    return plain(value)


def describe_exception(problem: BaseException) -> str:
    """Its type and text, also when it cannot say the latter."""
    name = type(problem).__name__
    try:
        text = str(problem)
    except Exception:
        return name
    return f"{name}: {text}" if text else name


def _serve(channel: Channel, message: Dict[str, Any]) -> None:
    """A request of the server, which may be answered later and by another thread. It is always answered: code in the
    sandbox waits."""
    def answer(result: Any, why: Optional[str]) -> None:
        channel.write(response(message["id"], result, why))

    if message["method"] != "callback":
        answer(None, f"no method {message['method']} here")
        return
    try:
        channel.answer(message["params"], answer)
    except Exception as problem:  # no thread for it, or its event loop is closed
        answer(None, f"the callback cannot be called: {describe_exception(problem)}")


def _dispatch(channel: Channel, line: bytes) -> None:
    message = json.loads(line)
    number = message.get("id")
    if number is not None and "method" in message:
        _serve(channel, message)
        return
    if number is None and "method" in message:
        if "id" not in message["params"]:
            return  # about nothing that we asked
        with channel.state:
            deliver = channel.waiting.get(message["params"]["id"], _ignore)
        deliver(("output", message["params"]))
        return
    with channel.state:
        deliver = channel.waiting.pop(number, _ignore)
    if "error" in message:
        deliver(("error", from_wire(message["error"])))
    else:
        deliver(("result", message["result"]))


def _how_it_ended(channel: Channel) -> str:
    code = channel.process.wait()
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"the sandbox's process ended with {how}{channel.last_words()}"


def _read(channel: Channel) -> None:
    lines = io.BufferedReader(channel.stdout, 1 << 16)  # type: ignore[type-var]
    why = None
    try:
        for line in lines:
            _dispatch(channel, line)
    except (OSError, ValueError) as problem:
        why = f"the sandbox cannot be understood: {problem}"
        channel.process.kill()
    channel.die(why or _how_it_ended(channel))
    lines.close()


# ---- the end ----

def _say_end(channel: Channel) -> None:
    """At the end of its input alone, the server would finish what runs. A pipe with room takes these bytes at once."""
    poller = select.poll()
    try:
        poller.register(channel.stdin, select.POLLOUT)
        if poller.poll(END_PATIENCE * 1000):
            channel.stdin.write(END)
    except (OSError, ValueError):
        pass  # it is gone, or closed already


def _close(channel: Channel) -> None:
    """Ends the process, waits for it, and closes all that belongs to it. Twice is fine."""
    if os.getpid() != channel.owner:
        return
    with channel.state:
        channel.death = channel.death or KILLED
    if channel.writing.acquire(timeout=END_PATIENCE):
        _say_end(channel)
        channel.stdin.close()
        channel.writing.release()
    else:
        channel.process.kill()  # it does not even read
    try:
        channel.process.wait(END_PATIENCE)
    except subprocess.TimeoutExpired:
        channel.process.kill()
        channel.process.wait()
    if threading.current_thread() is not channel.reader:
        channel.reader.join()
    channel.log.close()


_links: "weakref.WeakSet[Link]" = weakref.WeakSet()


def _forget_after_fork() -> None:
    """In the child: the parent's servers are not ours to end, and must not be kept alive by our copies of the pipes."""
    for link in list(_links):
        channel = link.channel
        channel.state, channel.writing = threading.RLock(), threading.Lock()
        channel.waiting = {}
        channel.death = "the sandbox belongs to the process that made it, not to this fork"
        channel.process.returncode = 0  # so that a child of another process is not waited for
        for pipe in (channel.stdin, channel.stdout, channel.log):
            try:
                pipe.close()
            except OSError:
                pass


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


# ---- calling ----

def _as_line(request: Dict[str, Any]) -> bytes:
    try:
        return json.dumps(request, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as problem:
        raise ValueError(f"{request['method']}: a text holds {problem.object[problem.start]!r}, half a surrogate pair, which "
                         "UTF-8 cannot carry") from None
    except ValueError:
        raise ValueError(f"{request['method']}: an option is infinite or not a number") from None


class Link:
    def __init__(self, command: List[str]) -> None:
        self.channel = Channel(command)
        self.fs_limit = 256 << 20  # bytes: what files.read and files.download take at most
        self.numbers = itertools.count(1)
        self.close = weakref.finalize(self, _close, self.channel)
        _links.add(self)

    @property
    def pid(self) -> int:
        return self.channel.process.pid

    @property
    def death(self) -> Optional[str]:
        return self.channel.death

    def prepare(self, method: str, params: Dict[str, Any], deliver: Deliver) -> Tuple[int, bytes]:
        """A request that somebody waits for from now on: its id, and the line to send."""
        number = next(self.numbers)
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        line = _as_line(request)
        if len(line) > LINE_MAX:
            raise SandboxError(f"E2BIG: {method}: the request is longer than {LINE_MAX} bytes")
        self.channel.expect(number, deliver)
        return number, line + b"\n"

    def start(self, method: str, params: Dict[str, Any], deliver: Deliver = _ignore, patience: float = -1) -> int:
        number, line = self.prepare(method, params, deliver)
        self.channel.write(line, patience)
        return number

    def call(self, method: str, params: Dict[str, Any], timeout: Optional[float] = None) -> Any:
        answer: "SimpleQueue[Item]" = SimpleQueue()
        self.start(method, params, answer.put, -1 if timeout is None else timeout)
        try:
            kind, value = answer.get(timeout=timeout)
        except Empty:
            raise SandboxTimeout(f"no answer to {method} in {timeout} s") from None
        if kind == "error":
            raise value
        return value

    def kill(self) -> None:
        """Ends everything in it, then the process. Twice is fine."""
        if os.getpid() != self.channel.owner:
            return
        self.channel.killing = True
        if self.death is None:
            try:
                self.call("kill", {}, timeout=END_PATIENCE)
            except SandboxError:
                pass  # then without its consent
        self.close()

    def __repr__(self) -> str:
        if self.death is None:
            return f"pid {self.pid}"
        return "killed" if self.death == KILLED else "dead"
