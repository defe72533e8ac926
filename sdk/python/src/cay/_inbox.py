"""Items for a caller that waits."""
import threading
import time
from collections import deque
from queue import Empty
from typing import TYPE_CHECKING, Any, Deque, Optional, Tuple

if TYPE_CHECKING:
    from ._channel import Channel

Item = Tuple[str, Any]  # ("output", params of a notification), ("result", value), ("error", exception)


class Inbox:
    """The items for one caller."""

    __slots__ = ("bell", "channel", "items")

    def __init__(self, channel: "Channel") -> None:
        self.channel = channel
        self.items: Deque[Item] = deque()
        self.bell: Optional[threading.Lock] = None  # held while it sleeps

    def put(self, item: Item) -> None:
        self.items.append(item)
        self.ring()

    def ring(self) -> None:
        bell = self.bell
        if bell is not None:
            try:
                bell.release()
            except RuntimeError:
                pass  # it is awake

    def get(self, timeout: Optional[float] = None) -> Item:
        """The next item. queue.Empty: none came in that many seconds."""
        channel = self.channel
        deadline = None if timeout is None else time.monotonic() + timeout
        channel.last_call = time.monotonic()
        try:
            while not self.items:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left < 0:
                    raise Empty
                if not channel.reading.acquire(blocking=False):
                    self._sleep(left)
                    continue
                while not self.items and channel.receive(left) and left is None:
                    pass
                channel.step_down()
        except BaseException:
            channel.step_down()
            raise
        return self.items.popleft()

    def _sleep(self, left: Optional[float]) -> None:
        channel = self.channel
        if self.bell is None:
            self.bell = threading.Lock()
        self.bell.acquire(blocking=False)
        channel.sleepers[self] = None
        try:
            if channel.reading.acquire(blocking=False):  # its reader left before it could see this sleeper
                channel.reading.release()
            elif not self.items:
                self.bell.acquire(timeout=-1 if left is None else left)
        finally:
            channel.sleepers.pop(self, None)
            if self.items:  # even when it was woken to read: another one may have to
                channel.step_down()
