"""The event loop of a session.

It is made when the first cell asks for it, and kept, as in a notebook: tasks that a cell has created, with or without
await, go on in later cells. It turns while a cell awaits; before and after any other cell it does what can be done without
waiting. To code in a cell that does not await it is the current loop and not a running one, so that asyncio.run works there.

It has no descriptors of its own until a program asks for a signal, so a session at rest is all in memory.
"""

import asyncio
import functools
import math
import os
import select
import selectors
import sys
from asyncio import events, tasks, unix_events
from collections.abc import Callable, Coroutine
from contextvars import Context
from inspect import CO_COROUTINE
from types import CodeType
from typing import Any

import cay

_loop: "Loop | None" = None
_TURNS = 100


class Selector(selectors.PollSelector):
    """Polls the descriptors of callbacks beside those of asyncio, without the cost of a handle for each."""

    def __init__(self) -> None:
        super().__init__()
        self.poll: select.poll = self._selector  # type: ignore[attr-defined]
        self.waiting: dict[int, cay.Invocation] = {}

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            wait = None
        else:
            wait = math.ceil(timeout * 1000) if timeout > 0 else 0
        if wait != 0:
            flush()
        ready = []
        for fd, event in self.poll.poll(wait):
            invocation = self.waiting.get(fd)
            if invocation is not None:
                invocation._ready()
                continue
            key = self.get_map().get(fd)
            if key is not None and event & select.POLLNVAL:
                self.unregister(fd)  # it is not open in the process that this session has become
            elif key is not None:
                mask = (event & ~select.POLLIN and selectors.EVENT_WRITE) | (
                    event & ~select.POLLOUT and selectors.EVENT_READ
                )
                if mask & key.events:
                    ready.append((key, mask & key.events))
        return ready


class _End:
    """An end of a pipe, for asyncio, which expects a socket. A copy of a session has its pipes, and no sockets."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def fileno(self) -> int:
        return self.fd

    def recv(self, size: int) -> bytes:
        return os.read(self.fd, size)

    def send(self, data: bytes) -> int:
        return os.write(self.fd, data)

    def close(self) -> None:
        os.close(self.fd)


_SelectorEventLoop: Any = unix_events.SelectorEventLoop  # whose inner methods the stubs leave out


class Loop(_SelectorEventLoop):  # type: ignore[misc]
    """asyncio's own, with two differences: a cell starts at once, and the pipe to itself is made when needed."""

    def __init__(self) -> None:
        self._ssock = self._csock = None
        self._internal_fds = 0
        super().__init__(Selector())

    def _make_self_pipe(self) -> None:
        """Only signals write to it, for there is one thread."""

    def _close_self_pipe(self) -> None:
        if self._ssock is not None:
            super()._close_self_pipe()

    def add_signal_handler(self, sig: int, callback: Callable[..., object], *args: Any) -> None:
        if self._ssock is None:
            self._ssock, self._csock = map(_End, os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC))
            self._internal_fds += 1
            self._add_reader(self._ssock.fileno(), self._read_from_self)
        super().add_signal_handler(sig, callback, *args)

    def turn(self) -> None:
        """Does what can be done without waiting, a bounded number of times: a task may always be ready."""
        stops = cay._stops()
        self._run_forever_setup()
        self._stopping = True  # it does not wait
        try:
            for _ in range(_TURNS):
                self._run_once()
                if cay._stops() != stops:
                    raise cay.Stopped("stopped")
                if not self._ready:
                    break
        finally:
            self._stopping = False
            self._run_forever_cleanup()

    def start(self, coroutine: Coroutine[Any, Any, Any], context: Context) -> "asyncio.Task[Any]":
        """Runs it until it has ended, and gives it as a task that is done."""
        stops = cay._stops()
        task = None
        self._run_forever_setup()
        try:
            task = asyncio.Task(coroutine, loop=self, eager_start=True, context=context)
            while not task.done():
                self._run_once()
                if task.done():
                    break
                if cay._stops() != stops:  # it ended another task, and was meant for all
                    raise cay.Stopped("stopped")
                if self._stopping:
                    raise RuntimeError("the event loop was stopped before the cell had ended")
        except BaseException as error:
            if task is not None and not task.done():
                raise self._end(task, error) from None
            raise
        finally:
            self._run_forever_cleanup()
        return task

    def _end(self, task: "asyncio.Task[Any]", error: BaseException) -> BaseException:
        """Ends a cell that still waits, or it would go on in a later one. The error then tells where it waited."""
        task.cancel()
        self._run_once()
        try:
            if task.cancelled():
                task.result()
        except asyncio.CancelledError as cancelled:
            error.__traceback__ = cancelled.__traceback__
            cancelled.__traceback__ = None
        return error


async def _cell(body: CodeType | None, value: CodeType | None, names: dict[str, Any]) -> Any:
    """The two parts of a cell, of which at least one awaits."""
    result = None
    for code in (body, value):
        if code is not None:
            result = eval(code, names)
            if code.co_flags & CO_COROUTINE:
                result = await result
    return result if value is not None else None


def run(
    body: CodeType | None, value: CodeType | None, names: dict[str, Any], context: Context
) -> "asyncio.Task[Any]":
    """Runs a cell; gives a task that is done."""
    return current().start(_cell(body, value, names), context)


def current() -> Loop:
    """The loop of the session, made when it is not there."""
    global _loop
    if _loop is None or _loop.is_closed():
        _loop = Loop()
        cay._loop_made(_loop, _loop._ready, _loop._selector.waiting, _loop._selector._fd_to_key)
    return _loop


def turn() -> None:
    """Between cells."""
    if _loop is not None and not _loop.is_closed() and events._get_running_loop() is None:
        _loop.turn()


class Policy(asyncio.DefaultEventLoopPolicy):
    """Code that does not run in a loop finds that of the session."""

    def get_event_loop(self) -> asyncio.AbstractEventLoop:
        set_by_program: asyncio.AbstractEventLoop | None = getattr(self, "_local")._loop
        return current() if set_by_program is None else set_by_program


_create_task: Any = tasks.create_task


def _create_task_in_session(coro: Any, *, name: Any = None, context: Any = None) -> Any:
    if events._get_running_loop() is not None:
        return _create_task(coro, name=name, context=context)
    return current().create_task(coro, name=name, context=context)


def begin_session() -> None:
    """Makes the loop of the session the one that asyncio finds."""
    functools.update_wrapper(_create_task_in_session, _create_task)
    asyncio.create_task = tasks.create_task = _create_task_in_session
    asyncio.set_event_loop_policy(Policy())


def end_session() -> None:
    """Gives a program asyncio as it is everywhere."""
    asyncio.create_task = tasks.create_task = _create_task
    asyncio.set_event_loop_policy(None)


def watch(loop: asyncio.AbstractEventLoop, fd: int, invocation: cay.Invocation) -> "asyncio.Future[None]":
    """A future that a task waits for until the descriptor is readable and the invocation has its answer."""
    if type(loop) is Loop:
        future = asyncio.Future(loop=loop)
        selector = loop._selector
        selector.waiting[fd] = invocation
        selector.poll.register(fd, select.POLLIN)
    else:
        future = loop.create_future()
        loop.add_reader(fd, invocation._ready)
    future._asyncio_future_blocking = True
    return future


def forget(loop: asyncio.AbstractEventLoop, fd: int) -> None:
    """The opposite of watch()."""
    if type(loop) is Loop:
        selector = loop._selector
        if selector.waiting.pop(fd, None) is not None:
            selector.poll.unregister(fd)
    elif not loop.is_closed():
        loop.remove_reader(fd)


def flush() -> None:
    """Output is flushed before the loop waits."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # closed, None, or the user's own: nothing that a loop should end for
            pass
