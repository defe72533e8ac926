"""multiprocessing's queues without the thread that feeds their pipe.

An object that is put goes into the pipe as far as there is room. The rest is kept, and goes on whenever this process next has to do with
multiprocessing: it puts, gets, waits for a lock, a connection or a child, closes a queue, or ends.
"""

from __future__ import annotations

import errno
import os
import select
import struct
import weakref
from collections import deque
from typing import Any

from cay import _semaphores

# What a pipe that is ready for writing takes for sure.
_ATOMIC = select.PIPE_BUF


class Feeder:
    """The writing end of one queue in this process.

    It has the queue's lock for writing while a frame is in the pipe in part, and not longer.
    """

    def __init__(self, queue: Any) -> None:
        self._reader, self._writer = queue._reader, queue._writer
        self._lock: _semaphores.SemLock = queue._wlock._semlock
        self._room: Any = queue._sem
        self._ignore_epipe: bool = queue._ignore_epipe
        self._on_error: Any = queue._on_queue_feeder_error
        self._frames: deque[tuple[bytes, list[int]]] = deque()  # with how much of each was written, by and by
        self._busy = self._closing = False

    def add(self, message: memoryview) -> None:
        size = len(message)
        header = struct.pack("!i", size) if size <= 0x7FFF_FFFF else struct.pack("!iQ", -1, size)
        self._frames.append((header + message, []))
        _semaphores.pumps[self] = None
        _semaphores.pump()

    def close(self) -> None:
        """Nothing more will come: the pipe is closed once all is written."""
        self._closing = True
        _semaphores.pumps[self] = None
        self.pump()

    def finish(self) -> None:
        """Waits until all is written."""
        _semaphores.wait({}, done=lambda: not self._frames)

    def needs(self) -> tuple[int, int] | None:
        if self._busy or not self._frames:
            return None
        if self._lock._is_mine() or not self._lock._is_zero():
            return self._writer.fileno(), select.POLLOUT
        return self._lock.handle, select.POLLIN

    def pump(self) -> None:
        if self._busy:  # a signal's handler is here while the pump runs
            return
        self._busy = True
        try:
            while self._frames and self._may_write() and self._write():
                pass
            if not self._is_within_frame() and self._lock._is_mine():
                self._lock.give()
            if not self._frames:
                _semaphores.pumps.pop(self, None)
                if self._closing:
                    self._reader.close()
                    self._writer.close()
        finally:
            self._busy = False

    def _is_within_frame(self) -> bool:
        return bool(self._frames) and bool(self._frames[0][1])

    def _may_write(self) -> bool:
        return self._lock._is_mine() or self._lock.take()

    def _write(self) -> bool:
        """As much of the first frame as there is room for; False: there was none."""
        frame, written = self._frames[0]
        rest = memoryview(frame)[sum(written) :]
        try:
            # Noted by C as soon as it is done: no KeyboardInterrupt comes between.
            written.extend(map(os.write, (self._writer.fileno(),), (rest,)))
        except BlockingIOError:
            return False
        except OSError as problem:
            self._frames.popleft()
            if not (self._ignore_epipe and problem.errno == errno.EPIPE):
                self._room.release()
                self._on_error(problem, frame)
            return True
        if sum(written) == len(frame):
            self._frames.popleft()
        return True


def _finish(reference: weakref.ref[Feeder]) -> None:
    feeder = reference()
    if feeder is not None:
        feeder.finish()


def _fix_queue(module: Any) -> None:
    queue, joinable, dumps = module.Queue, module.JoinableQueue, module._ForkingPickler.dumps
    reset, plain_error = queue._reset, queue._on_queue_feeder_error

    def begin(self: Any, after_fork: bool = False) -> None:
        reset(self, after_fork)
        self._feeder = None
        os.set_blocking(self._writer.fileno(), False)

    def feeder_of(self: Any) -> Feeder:
        feeder: Feeder | None = self._feeder
        if feeder is None:
            feeder = self._feeder = Feeder(self)
            if not self._joincancelled:
                self._jointhread = module.Finalize(feeder, _finish, [weakref.ref(feeder)], exitpriority=-5)
            self._close = module.Finalize(self, feeder.close, exitpriority=10)
        return feeder

    def prepare(self: Any, item: object, block: bool, timeout: float | None) -> memoryview | None:
        """None: it cannot be pickled, and the queue has its own way of saying so (that of ProcessPoolExecutor)."""
        if self._closed:
            raise ValueError(f"Queue {self!r} is closed")
        if not self._sem.acquire(block, timeout):
            raise module.Full
        try:
            message: memoryview = dumps(item)
        except BaseException as error:
            self._sem.release()
            if not isinstance(error, Exception) or type(self)._on_queue_feeder_error is plain_error:
                raise
            self._on_queue_feeder_error(error, item)
            return None
        return message

    def put(self: Any, obj: object, block: bool = True, timeout: float | None = None) -> None:
        message = prepare(self, obj, block, timeout)
        if message is not None:
            feeder_of(self).add(message)

    def put_task(self: Any, obj: object, block: bool = True, timeout: float | None = None) -> None:
        message = prepare(self, obj, block, timeout)
        if message is None:
            return
        with self._cond:
            self._unfinished_tasks.release()
            feeder_of(self).add(message)

    queue._reset, queue.put, joinable.put = begin, put, put_task


def _read(handle: int, size: int) -> bytes:
    if _semaphores.pumps:
        _semaphores.wait({handle: select.POLLIN})
    return os.read(handle, size)


def _write(handle: int, data: memoryview) -> int:
    if not _semaphores.pumps:
        return os.write(handle, data)
    _semaphores.wait({handle: select.POLLOUT})
    return os.write(handle, data[:_ATOMIC])


def _fix_connections(module: Any) -> None:
    """What waits in multiprocessing pumps."""

    class Selector(module._WaitSelector):  # type: ignore[misc]
        def select(self, timeout: float | None = None) -> Any:
            if _semaphores.pumps:
                _semaphores.wait(dict.fromkeys(self.get_map(), select.POLLIN), timeout)
                timeout = 0
            return super().select(timeout)

    module._WaitSelector = Selector
    module.Connection._recv.__defaults__ = (_read,)
    module.Connection._send.__defaults__ = (_write,)


def _fix_children(popen: Any) -> None:
    poll = popen.poll

    def poll_and_pump(self: Any, flag: int = os.WNOHANG) -> int | None:
        if _semaphores.pumps and self.returncode is None:
            _semaphores.wait({self.sentinel: select.POLLIN}, None if flag == 0 else 0)
        code: int | None = poll(self, flag)
        return code

    popen.poll = poll_and_pump


def install(module: Any) -> None:
    """`module`: multiprocessing.queues."""
    from multiprocessing import popen_fork

    _fix_queue(module)
    _fix_connections(module.connection)
    _fix_children(popen_fork.Popen)
