"""The servers of this program: started when first needed, ended with it, and none of a fork's business."""
import atexit
import os
import select
import subprocess
import threading
from typing import Dict, List, Tuple

from ._channel import KILLED, Channel, channels
from ._library import LibraryChannel, find, load
from ._process_channel import ProcessChannel

END_PATIENCE = 5.0  # seconds until a server that does not end is ended
END = b'{"jsonrpc":"2.0","id":0,"method":"kill"}\n'  # without an answer


def _say_end(channel: ProcessChannel) -> None:
    """At the end of its input alone, the server would finish what runs. A pipe with room takes these bytes at once."""
    poller = select.poll()
    try:
        poller.register(channel.stdin, select.POLLOUT)
        if poller.poll(END_PATIENCE * 1000):
            channel.stdin.write(END)
    except (OSError, ValueError):
        pass  # it is gone, or closed already


def close(channel: Channel) -> None:
    """Ends the process, waits for it, and closes all that belongs to it. Twice is fine."""
    if os.getpid() != channel.owner:
        return
    if isinstance(channel, ProcessChannel):
        _close_process(channel)
    elif isinstance(channel, LibraryChannel):
        channel.close()


def _close_process(channel: ProcessChannel) -> None:
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
    if channel.background not in (None, threading.current_thread()):
        channel.background.join()  # type: ignore[union-attr]
    if channel.reading.acquire(timeout=END_PATIENCE):  # another thread may be at the last bytes
        channel.die(KILLED)
        channel.stdout.close()
        channel.step_down()
    channel.log.close()


_shared: Dict[Tuple[str, ...], ProcessChannel] = {}
_libraries: Dict[str, LibraryChannel] = {}  # by module
_starting = threading.RLock()


def _key(command: List[str]) -> Tuple[str, ...]:
    """Servers that are started alike are alike."""
    return (*command, *(f"{name}={value}" for name, value in sorted(os.environ.items())
                        if name.startswith(("CAY_", "XDG_", "LD_")) or name == "HOME"))


def shared_channel(command: List[str]) -> ProcessChannel:
    key = _key(command)
    with _starting:
        channel = _shared.get(key)
        if channel is None or channel.death is not None:
            channel = _shared[key] = ProcessChannel(command)
        return channel


def shared_library(command: List[str]) -> LibraryChannel:
    path = find(command[0])
    with _starting:
        channel = _libraries.get(path)
        if channel is None or channel.death is not None:
            channel = _libraries[path] = LibraryChannel(load(path), os.environ.get("CAY_GUESTS"))
        return channel


def _end_servers() -> None:
    for channel in list(channels):
        close(channel)


atexit.register(_end_servers)


def _forget_after_fork() -> None:
    """In the child: the parent's servers are not ours to end, and must not be kept alive by our copies of the pipes."""
    global _starting
    _starting = threading.RLock()
    for channel in list(channels):
        channel.state, channel.reading = threading.RLock(), threading.RLock()
        channel.waiting, channel.sleepers, channel.background = {}, {}, None
        channel.death = "the sandbox belongs to the process that made it, not to this fork"
        if isinstance(channel, ProcessChannel):
            _forget_process(channel)
    _shared.clear()
    _libraries.clear()


def _forget_process(channel: ProcessChannel) -> None:
    channel.writing = threading.Lock()
    channel.process.returncode = 0  # so that a child of another process is not waited for
    for pipe in (channel.stdin, channel.stdout, channel.log):
        try:
            pipe.close()
        except OSError:
            pass


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
