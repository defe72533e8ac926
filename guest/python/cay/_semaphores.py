"""multiprocessing's locks: each is an eventfd that counts, which a child that is spawned inherits.

A waiter pumps: objects of this process that their queues' pipes had no room for go on meanwhile (_queues).
"""

from __future__ import annotations

import errno
import os
import select
import time
from _thread import get_ident
from collections import deque
from collections.abc import Callable
from operator import call
from typing import Any, Final, Protocol

RECURSIVE_MUTEX, SEMAPHORE = range(2)

# What the states of a barrier begin with is -2, and semaphores count from 0.
_LOWEST: Final = -2


class Pump(Protocol):
    """What goes on while this process waits."""

    def pump(self) -> None: ...
    def needs(self) -> tuple[int, int] | None:
        """A descriptor and the events that it waits for, or None: nothing, for now."""


# Those that have something to do. A dictionary keeps their order.
pumps: dict[Pump, None] = {}


def pump() -> None:
    """Does what can be done at once."""
    for each in list(pumps):
        each.pump()


def wait(wanted: dict[int, int], timeout: float | None = None, done: Callable[[], bool] | None = None) -> bool:
    """Pumps until a descriptor has one of the events that are wanted of it, or an error, or until `done` says so.

    False: there was not time enough.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    errors = select.POLLERR | select.POLLHUP | select.POLLNVAL
    while True:
        pump()
        if done is not None and done():
            return True
        poll = select.poll()
        for fd, events in _with_needs(wanted).items():
            poll.register(fd, events)
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready = poll.poll(None if left is None else left * 1000)
        if any(fd in wanted and events & (wanted[fd] | errors) for fd, events in ready):
            return True
        if left == 0:
            return False


def _with_needs(wanted: dict[int, int]) -> dict[int, int]:
    result = dict(wanted)
    for each in pumps:
        need = each.needs()
        if need is not None:
            result[need[0]] = result.get(need[0], 0) | need[1]
    return result


class SemLock:
    """What _multiprocessing.SemLock is elsewhere. The thread of this process that took it last is its owner."""

    SEM_VALUE_MAX: Final = 0x7FFF_FFFF

    def __init__(self, kind: int, value: int, maxvalue: int, name: str, unlink: bool) -> None:
        if kind not in (RECURSIVE_MUTEX, SEMAPHORE):
            raise ValueError("unrecognized kind")
        if not 0 <= value <= self.SEM_VALUE_MAX:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        flags = os.EFD_SEMAPHORE | os.EFD_NONBLOCK | os.EFD_CLOEXEC
        self._begin(os.eventfd(value, flags), kind, maxvalue)

    def _begin(self, handle: int, kind: int, maxvalue: int) -> None:
        self.handle, self.kind, self.maxvalue, self.name = handle, kind, maxvalue, None
        # As many numbers as times that this process has it. They are added and taken away by C within the call of the
        # system, so that no KeyboardInterrupt comes between the two.
        self._taken: list[int] = []
        self._owner = 0

    @classmethod
    def _rebuild(cls, handle: int, kind: int, maxvalue: int, name: None) -> SemLock:
        """In the child, that has inherited the handle."""
        self = cls.__new__(cls)
        os.set_inheritable(handle, False)
        self._begin(handle, kind, maxvalue)
        return self

    def __del__(self, close: Any = os.close) -> None:
        if hasattr(self, "handle"):
            close(self.handle)

    def __reduce__(self) -> str:
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")

    def take(self) -> bool:
        """Takes it if it is to be had at once."""
        try:
            self._taken.extend(map(os.eventfd_read, (self.handle,)))
        except BlockingIOError:
            return False
        self._owner = get_ident()
        return True

    def give(self) -> None:
        """Gives it back, whatever it counts."""
        calls: list[Callable[[], object]] = [self._post, self._taken.pop] if self._taken else [self._post]
        deque(map(call, calls), maxlen=0)

    def _post(self) -> None:
        os.eventfd_write(self.handle, 1)

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        if pumps:
            pump()
        if self.kind == RECURSIVE_MUTEX and self._is_mine():
            self._taken.append(1)
            return True
        deadline = None if timeout is None else time.monotonic() + max(0.0, timeout)
        while not self.take():
            if not block:
                return False
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not wait({self.handle: select.POLLIN}, left):
                return False
        return True

    def release(self) -> None:
        if self.kind == RECURSIVE_MUTEX:
            if not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if len(self._taken) > 1:
                self._taken.pop()
                return
        elif self._is_full():
            raise ValueError("semaphore or lock released too many times")
        self.give()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _is_full(self) -> bool:
        if self.maxvalue == 1:
            return not self._is_zero()
        # The count never reaches its bound, so condition variables need not check it.
        return self.maxvalue < self.SEM_VALUE_MAX and self._get_value() >= self.maxvalue

    def _count(self) -> int:
        return len(self._taken)

    def _is_mine(self) -> bool:
        return bool(self._taken) and self._owner == get_ident()

    def _is_zero(self) -> bool:
        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        return not poll.poll(0)

    def _get_value(self) -> int:
        with open(f"/proc/self/fdinfo/{self.handle}") as lines:
            for line in lines:
                key, _, value = line.partition(":")
                if key == "eventfd-count":
                    return int(value, 16)
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def _after_fork(self) -> None:
        self._taken.clear()


def _set_cell(cell: Any, value: int) -> None:
    now: int = cell.get_value()
    for _ in range(value - now):
        cell.release()
    for _ in range(now - value):
        cell.acquire(False)


def _fix_barrier(barrier: Any) -> None:
    """Its two numbers are semaphores; who changes them has the lock of its condition."""

    def begin(self: Any, parties: int, action: Any = None, timeout: float | None = None, *, ctx: Any) -> None:
        cells = ctx.Semaphore(-_LOWEST), ctx.Semaphore(0)
        self.__setstate__((parties, action, timeout, ctx.Condition(), cells))

    def set_state(self: Any, state: tuple[Any, ...]) -> None:
        self._parties, self._action, self._timeout, self._cond, self._wrapper = state

    barrier.__init__, barrier.__setstate__ = begin, set_state
    barrier._state = property(
        lambda self: self._wrapper[0].get_value() + _LOWEST,
        lambda self, value: _set_cell(self._wrapper[0], value - _LOWEST),
    )
    barrier._count = property(
        lambda self: self._wrapper[1].get_value(), lambda self, value: _set_cell(self._wrapper[1], value)
    )


def install(module: Any) -> None:
    """`module`: multiprocessing.synchronize."""

    state = module.SemLock.__getstate__

    def state_with_handle(self: Any) -> tuple[Any, ...]:
        handle, *rest = state(self)
        return module.context.get_spawning_popen().duplicate_for_child(handle), *rest

    module._multiprocessing.SemLock = SemLock
    module.SemLock.__getstate__ = state_with_handle
    _fix_barrier(module.Barrier)
