"""How asyncio learns that a child process has ended: there are no threads, and not every kernel has pidfds.

asyncio falls back on a watcher that starts a thread for each child. This one takes its place: SIGCHLD says that some child
has ended, and each that somebody waits for is asked.
"""

import os
import signal
from asyncio import AbstractEventLoop, events, unix_events
from collections.abc import Callable
from typing import Any, Self

Callback = Callable[..., object]


_ThreadedChildWatcher: Any = unix_events.ThreadedChildWatcher


class Watcher(_ThreadedChildWatcher):  # type: ignore[misc]
    """A watcher by its interface, which is on its way out, and by what programs look for."""

    __module__ = unix_events.__name__  # who makes a watcher elsewhere is warned that they will go

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[int, tuple[AbstractEventLoop, Callback, tuple[Any, ...]]] = {}

    def __del__(self) -> None:
        """The other one looks at its threads."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def is_active(self) -> bool:
        return True

    def close(self) -> None:
        self._waiting.clear()

    def attach_loop(self, loop: AbstractEventLoop | None) -> None:
        """Each child has the loop that was running when it began."""

    def add_child_handler(self, pid: int, callback: Callback, *args: Any) -> None:
        loop = events.get_running_loop()
        self._waiting[pid] = loop, callback, args
        loop.add_signal_handler(signal.SIGCHLD, self._look)
        self._look()  # it may have ended before

    def remove_child_handler(self, pid: int) -> bool:
        return self._waiting.pop(pid, None) is not None

    def _look(self) -> None:
        for pid, (loop, callback, args) in list(self._waiting.items()):
            try:
                ended, status = os.waitpid(pid, os.WNOHANG)
                code = os.waitstatus_to_exitcode(status) if ended else None
            except ChildProcessError:  # somebody else has waited for it: what it said is not known
                code = 255
            if code is None:
                continue
            del self._waiting[pid]
            if not loop.is_closed():
                loop.call_soon(callback, pid, code, *args)


setattr(unix_events, "ThreadedChildWatcher", Watcher)
