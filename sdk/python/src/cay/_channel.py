"""The server process, and the JSON-RPC spoken with it.

A Channel is one server. All sandboxes of a program share one, which stays warm until the program ends; tools have one of their
own. A Link (_rpc.py) is one sandbox or set of tools of a Channel.

Any thread may call. A caller that waits reads the pipe itself, and hands on what belongs to others; when several wait, one of
them reads. A thread of the channel's reads only while nobody waits and something may come all the same: output of commands in
the background, replies for an event loop, calls of callbacks. So a program of one thread pays for no change of threads.

The Channel knows no Link, so a Link without references is collected, and with it the sandbox ends. A fork leaves the child with
links that are dead and closed, and the parent's untouched; sandboxes that the child makes have a server of its own.
"""
import fcntl
import itertools
import json
import os
import select
import subprocess
import threading
import time
import weakref
from collections import deque
from typing import IO, Any, Callable, Deque, Dict, List, Optional, Tuple

from ._errors import SandboxDied, from_wire
from ._inbox import Inbox, Item

Deliver = Callable[[Item], None]
Answer = Callable[[Any, Optional[str]], None]
Ask = Callable[[Dict[str, Any], Answer], None]

LINE_MAX = 64 << 20  # bytes of a request that the server reads
LOG_TAIL = 2000
MESSAGE_MAX = 1 << 20  # characters of an error
SMALL_READ, LARGE_READ = 1 << 16, 1 << 20
LINGER = 0.02  # seconds: callers that come one after the other read for themselves
KILLED = "the sandbox was killed"

_decode = json.JSONDecoder().decode


def ignore(_item: Item) -> None:
    pass


channels: "weakref.WeakSet[Channel]" = weakref.WeakSet()  # of this program


class Party:
    """What the Channel knows of a Link: who waits, why calls are impossible, and who answers its callbacks."""

    def __init__(self, name: str) -> None:
        self.name = name  # of the sandbox in its server; "" when the server is its own
        self.death: Optional[str] = None
        self.killing = False  # its end is wanted, and no news
        self.answer: Ask = _refuse


class Channel:
    """A server: its process, its pipes and the callers that wait."""

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
        _make_roomy(self.stdin.fileno(), self.stdout.fileno())
        self.numbers = itertools.count(1)
        self.writing = threading.Lock()
        self.unsent: Deque[bytes] = deque()  # lines of collected links, and the rest of a line that was interrupted
        self.reading = threading.RLock()
        self.input: Tuple[Deque[bytes], Deque[bytes]] = (deque(), deque())  # whole lines, and pieces of the next
        self.sleepers: Dict[Inbox, None] = {}  # callers that wait while another thread reads
        self.last_call = 0.0
        self.background: Optional[threading.Thread] = None
        self.warm = False  # it has made a sandbox
        self.state = threading.RLock()  # a collection may begin, and end in _release, wherever memory is taken
        self.waiting: Dict[int, Tuple[Deliver, Party]] = {}
        self.parties: "weakref.WeakValueDictionary[str, Party]" = weakref.WeakValueDictionary()
        self.death: Optional[str] = None  # why calls are impossible
        self.killing = False
        channels.add(self)

    # ---- sending ----

    def expect(self, number: int, deliver: Deliver, party: Party) -> None:
        with self.state:
            if self.death is not None or party.death is not None:
                raise SandboxDied(party.death or self.death or KILLED)
            self.waiting[number] = (deliver, party)

    def write(self, line: bytes, patience: float = -1) -> None:
        if not self.writing.acquire(timeout=patience):
            return
        try:
            self._flush()
            self._send(line)
        except (OSError, ValueError):
            pass  # it is gone: its readers find out
        finally:
            if self.death is not None:
                self.stdin.close()
            self.writing.release()
        if self.unsent:
            self.write_later()

    def write_later(self, line: Optional[bytes] = None) -> None:
        """Where waiting is not possible: the thread that writes sends it, too."""
        if line is not None:
            self.unsent.append(line)
        while self.unsent and self.writing.acquire(blocking=False):
            try:
                self._flush()
            except (OSError, ValueError):
                self.unsent.clear()
            finally:
                self.writing.release()

    def _flush(self) -> None:
        while self.unsent:
            self._send(self.unsent.popleft())

    def _send(self, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while True:
                count = self.stdin.write(rest)  # None: the pipe is full
                rest = rest[count or 0:]
                if not rest:
                    return
                self._wait_for_room()
        except BaseException:
            if 0 < len(rest) < len(line):  # a signal: the next line must not come inside this one
                self.unsent.appendleft(bytes(rest))
            raise

    def _wait_for_room(self) -> None:
        """The server may be waiting for us to read."""
        poller = select.poll()
        poller.register(self.stdin, select.POLLOUT)
        if self.reading.acquire(blocking=False):
            try:
                poller.register(self.stdout, select.POLLIN)
                if any(fd == self.stdout.fileno() for fd, _ in poller.poll()):
                    self.receive(0)
            finally:
                self.step_down()
        else:
            poller.poll(100)

    # ---- receiving ----

    def receive(self, timeout: Optional[float] = None) -> bool:
        """By the thread that holds `reading`: hands on the messages of one read. False: none came, in time or any more.

        What was read is kept by the very call that reads, and a line is taken away after it was handed on: a signal's
        handler may raise in between.
        """
        if not self.input[0]:
            if self.death is not None:
                return False
            if timeout is not None:
                poller = select.poll()
                poller.register(self.stdout, select.POLLIN)
                if not poller.poll(max(0.0, timeout * 1000)):
                    return False
            pieces = self.input[1]
            size = LARGE_READ if pieces and len(pieces[-1]) >= SMALL_READ else SMALL_READ
            try:
                pieces.extend(map(os.read, (self.stdout.fileno(),), (size,)))
            except (OSError, ValueError) as problem:
                self._end(f"the sandbox cannot be understood: {problem}")
                return False
            if not pieces[-1]:
                self._end(_how_it_ended(self))
                return False
            if b"\n" not in pieces[-1]:
                return True
            *whole, rest = b"".join(pieces).split(b"\n")
            self.input = (deque(whole), deque([rest] if rest else []))
        lines = self.input[0]
        try:
            while lines:
                _dispatch(self, lines[0])
                lines.popleft()
        except ValueError as problem:
            lines.clear()
            self._end(f"the sandbox cannot be understood: {problem}")
        return True

    def _end(self, why: str) -> None:
        """The server has ended, or is of no use any more."""
        self.process.kill()
        self.process.wait()
        self.die(why)
        self.stdout.close()
        self.log.close()
        self.write(b"")  # closes the other pipe, now or when its writer has done

    def step_down(self) -> None:
        """Another one that waits reads on."""
        while self.reading._is_owned():  # type: ignore[attr-defined]
            self.reading.release()
        for inbox in list(self.sleepers):
            inbox.ring()
            return

    def read_in_background(self) -> None:
        if self.background is None:
            with self.state:
                if self.background is None and self.death is None:
                    thread = threading.Thread(target=_read, args=(self,), name="cay-reader", daemon=True)
                    thread.start()
                    self.background = thread

    # ---- the end ----

    def die(self, why: str) -> None:
        with self.state:
            if self.death is None:
                self.death = KILLED if self.killing else why
            waiting, self.waiting = self.waiting, {}
            why = self.death
        for deliver, party in waiting.values():
            deliver(("error", SandboxDied(party.death or why)))

    def bury(self, party: Party) -> None:
        """Its callers have no answer to expect any more."""
        with self.state:
            party.death = party.death or KILLED
            left = {number: deliver for number, (deliver, whose) in self.waiting.items() if whose is party}
            for number in left:
                del self.waiting[number]
        for deliver in left.values():
            deliver(("error", SandboxDied(party.death)))

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


def _make_roomy(stdin: int, stdout: int) -> None:
    os.set_blocking(stdin, False)  # a full pipe: see Channel._wait_for_room
    for fd in (stdin, stdout):
        try:
            fcntl.fcntl(fd, getattr(fcntl, "F_SETPIPE_SZ", 1031), LARGE_READ)
        except OSError:
            pass  # then 64 KiB


def _refuse(_params: Dict[str, Any], answer: Answer) -> None:
    answer(None, "no callbacks here")


# ---- messages ----

def _plain(value: Any) -> Any:
    from ._convert import plain  # takes a while to import, and is seldom needed
    return plain(value)


encode_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_encode_result = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode


def response(number: Any, result: Any, why: Optional[str]) -> bytes:
    """The line that answers a request of the server: the result, or why there is none. A result that is no JSON is none."""
    reply: Dict[str, Any] = {"jsonrpc": "2.0", "id": number}
    if why is None:
        try:
            line = _encode_result({**reply, "result": result}).encode()
            if len(line) <= LINE_MAX:
                return line + b"\n"
            why = f"the callback's result is longer than {LINE_MAX} bytes"
        except Exception as problem:
            why = f"the callback's result is no JSON: {describe_exception(problem)}"
    message = why[:MESSAGE_MAX].encode(errors="backslashreplace").decode()  # half a surrogate pair has no UTF-8
    reply["error"] = {"code": 1, "message": message}
    return encode_json(reply).encode() + b"\n"


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
    party = channel.parties.get(message["params"].get("sandbox", ""))
    try:
        (_refuse if party is None else party.answer)(message["params"], answer)
    except Exception as problem:  # no thread for it, or its event loop is closed
        answer(None, f"the callback cannot be called: {describe_exception(problem)}")


_NOBODY = (ignore, Party(""))


def _dispatch(channel: Channel, line: bytes) -> None:
    message = _decode(line.decode())
    number = message.get("id")
    if "method" in message:
        if number is not None:
            _serve(channel, message)
        elif "id" in message["params"]:  # else it is about nothing that we asked
            with channel.state:
                deliver, _ = channel.waiting.get(message["params"]["id"], _NOBODY)
            deliver(("output", message["params"]))
        return
    with channel.state:
        deliver, party = channel.waiting.pop(number, _NOBODY)
    if "error" not in message:
        deliver(("result", message["result"]))
    elif party.killing:
        deliver(("error", SandboxDied(KILLED)))
    else:
        deliver(("error", from_wire(message["error"])))


def _how_it_ended(channel: Channel) -> str:
    code = channel.process.wait()
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"the sandbox's process ended with {how}{channel.last_words()}"


def _read(channel: Channel) -> None:
    """The thread of a channel, for what comes while nobody waits."""
    while channel.death is None:
        if time.monotonic() - channel.last_call < LINGER or not channel.reading.acquire(blocking=False):
            time.sleep(LINGER)
            continue
        try:
            channel.receive()
        finally:
            channel.step_down()
