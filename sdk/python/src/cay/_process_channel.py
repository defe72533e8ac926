"""A server in a process of its own, and its pipes.

Any thread may call. A caller that waits reads the pipe itself, and hands on what belongs to others; when several wait, one of
them reads. A thread of the channel's reads only while no caller waits and messages may come all the same: output of commands in
the background, replies for an event loop, calls of callbacks. So a program of one thread pays for no change of threads.
"""
import fcntl
import os
import select
import subprocess
import threading
import time
from collections import deque
from typing import IO, Deque, List, Optional, Tuple

from ._channel import Channel, channels, dispatch
from ._errors import SandboxDied

LOG_TAIL = 2000
SMALL_READ, LARGE_READ = 1 << 16, 1 << 20
LINGER = 0.02  # seconds: callers that come one after the other read for themselves


class ProcessChannel(Channel):
    """A server in a process of its own: pipes."""

    def __init__(self, command: List[str]) -> None:
        super().__init__()
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
        self.writing = threading.Lock()
        self.unsent: Deque[bytes] = deque()  # lines of collected links, and the rest of a line that was interrupted
        self.input: Tuple[Deque[bytes], Deque[bytes]] = (deque(), deque())  # whole lines, and pieces of the next
        channels.add(self)

    @property
    def pid(self) -> int:
        return self.process.pid

    # ---- sending ----

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

        The bytes are kept by the very call that reads them, and a line is taken away after it was handed on: a signal's
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
                dispatch(self, lines[0])
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

    def read_on(self) -> None:
        while self.death is None:
            if time.monotonic() - self.last_call < LINGER or not self.reading.acquire(blocking=False):
                time.sleep(LINGER)
                continue
            try:
                self.receive()
            finally:
                self.step_down()

    # ---- the end ----

    def abandon(self) -> None:
        self.process.kill()

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


def _how_it_ended(channel: ProcessChannel) -> str:
    code = channel.process.wait()
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"the sandbox's process ended with {how}{channel.last_words()}"
