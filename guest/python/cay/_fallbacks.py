"""What Python does with fork(2) elsewhere, and with threads where this interpreter has none.

fork refuses; functions built upon it begin a new program instead. Without threads one cannot be started, and says why. What most programs
want of one is a result: executors that would use threads run the work at once, in the submitting thread. Modules are changed
after their import, whenever that is.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys

TYPE_CHECKING = False  # typing is much to import for a cold start
if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from typing import Any, NoReturn

NO_THREADS = (
    "can't start new thread: threads are not available in this sandbox "
    "(ThreadPoolExecutor and asyncio.to_thread run their work inline; processes and asyncio work)"
)
NO_FORK = "fork is not available to Python in this sandbox: use subprocess, os.posix_spawn or multiprocessing's spawn"
NO_POOLS = "threads are not available in this sandbox, and {} needs some: use multiprocessing's Process and Queue"
NO_SHARING = "processes share no memory in this sandbox: use multiprocessing's Queue or Pipe"


def _no_thread(*args: object, **kwargs: object) -> NoReturn:
    raise RuntimeError(NO_THREADS)


def _no_pool(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise RuntimeError(NO_POOLS.format(type(self).__name__))


def _no_sharing(*args: object, **kwargs: object) -> NoReturn:
    raise OSError(errno.ENODEV, NO_SHARING)


def fork() -> NoReturn:
    """Refuses: a process cannot be copied while an interpreter runs in it."""
    raise OSError(errno.ENOSYS, NO_FORK)


def forkpty() -> NoReturn:
    """Refuses, as fork() does."""
    raise OSError(errno.ENOSYS, NO_FORK)


def _spawn(mode: int, file: Any, args: Any, env: Any, call: Callable[..., object]) -> int:
    """os.spawn*, which is made of fork and exec elsewhere."""
    if not isinstance(args, (tuple, list)):
        raise TypeError("argv must be a tuple or a list")
    if not args or not args[0]:
        raise ValueError("argv first element cannot be empty")
    begin = os.posix_spawnp if call in (os.execvp, os.execvpe) else os.posix_spawn
    try:
        pid = begin(file, args, os.environ if env is None else env)
    except OSError:
        if mode == os.P_NOWAIT:
            raise
        return 127  # as the child that could not exec says
    if mode == os.P_NOWAIT:
        return pid
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _fix_os(module: types.ModuleType) -> None:
    setattr(module, "fork", fork)
    setattr(module, "forkpty", forkpty)
    setattr(module, "_spawnvef", _spawn)


def _fix_thread(module: types.ModuleType) -> None:
    setattr(module, "start_new_thread", _no_thread)
    setattr(module, "start_new", _no_thread)
    setattr(module, "start_joinable_thread", _no_thread)


def _fix_threading(module: types.ModuleType) -> None:
    setattr(module, "_start_new_thread", _no_thread)
    setattr(module, "_start_joinable_thread", _no_thread)


def _fix_pool(module: types.ModuleType) -> None:
    """ThreadPoolExecutor.submit: the future that it gives is done."""
    base: Any = importlib.import_module("concurrent.futures._base")
    pool: Any = getattr(module, "ThreadPoolExecutor")

    def begin(self: Any) -> None:
        if self._broken:
            raise getattr(module, "BrokenThreadPool")(self._broken)
        if self._shutdown:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if getattr(module, "_shutdown"):
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")
        initializer, self._initializer = self._initializer, None
        if initializer is None:
            return
        try:
            initializer(*self._initargs)
        except Exception as problem:
            base.LOGGER.critical("Exception in initializer:", exc_info=True)
            self._broken = "A thread initializer failed, the thread pool is not usable anymore"
            raise getattr(module, "BrokenThreadPool")(self._broken) from problem

    def submit(self: Any, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        begin(self)
        future = base.Future()
        future.set_running_or_notify_cancel()
        try:
            result = fn(*args, **kwargs)
        except Exception as problem:
            future.set_exception(problem)
        except BaseException as problem:  # the program is to end, and not the work alone
            future.set_exception(problem)
            raise
        else:
            future.set_result(result)
        return future

    submit.__doc__ = base.Executor.submit.__doc__
    pool.submit = submit


def _fix_events(module: types.ModuleType) -> None:
    """The end of a loop, for which asyncio would wait in a thread."""

    async def shutdown_default_executor(self: Any, timeout: float | None = None) -> None:
        self._executor_shutdown_called = True
        if self._default_executor is not None:
            self._default_executor.shutdown()

    getattr(module, "BaseEventLoop").shutdown_default_executor = shutdown_default_executor


def _fix_children(module: types.ModuleType) -> None:
    """asyncio watches descriptors of processes. The watcher with threads, which few ask for, does the same."""
    threads, descriptors = getattr(module, "ThreadedChildWatcher"), getattr(module, "PidfdChildWatcher")
    threads.add_child_handler, threads._do_wait = descriptors.add_child_handler, descriptors._do_wait


def _fix_servers(module: types.ModuleType) -> None:
    """A server with a thread for each request answers one after the other (ThreadingHTTPServer, so `-m http.server`)."""

    def process_request(self: Any, request: Any, client_address: Any) -> None:
        self.process_request_thread(request, client_address)

    getattr(module, "ThreadingMixIn").process_request = process_request


def _fix_processes(module: types.ModuleType) -> None:
    """multiprocessing begins new interpreters unless told otherwise, and shared values are refused."""
    contexts = getattr(module, "_concrete_contexts")
    getattr(module, "_default_context")._default_context = contexts["spawn"]
    for name in ("Value", "Array", "RawValue", "RawArray"):
        setattr(getattr(module, "BaseContext"), name, _no_sharing)


def _parts(*names: str) -> Callable[[types.ModuleType], None]:
    """A change that is long enough to have modules of its own, compiled when a program needs it: the last makes it."""

    def change(module: types.ModuleType) -> None:
        load: Any = getattr(importlib.import_module("cay"), "_part")
        [load(name) for name in names][-1].install(module)

    return change


def _fix_pools(module: types.ModuleType) -> None:
    """They would have begun processes before they found out about threads."""

    def refuse(self: Any, *args: object, **kwargs: object) -> NoReturn:
        self._state = getattr(module, "INIT")
        _no_pool(self)

    getattr(module, "Pool").__init__ = refuse


def _fix_executors(module: types.ModuleType) -> None:
    getattr(module, "ProcessPoolExecutor").__init__ = _no_pool


def _fix_managers(module: types.ModuleType) -> None:
    getattr(module, "BaseManager").start = _no_pool


def _fix_heap(module: types.ModuleType) -> None:
    """Its memory is a file that is mapped, and each process would see its own."""
    getattr(module, "reduction").register(getattr(module, "Arena"), _no_sharing)


def _fix_shared_memory(module: types.ModuleType) -> None:
    getattr(module, "SharedMemory").__init__ = _no_sharing


_WAITING: dict[str, Callable[[types.ModuleType], None]] = {
    "os": _fix_os,
    "multiprocessing.context": _fix_processes,
    "multiprocessing.synchronize": _parts("semaphores"),
    "multiprocessing.queues": _parts("semaphores", "queues"),
    "multiprocessing.heap": _fix_heap,
    "multiprocessing.shared_memory": _fix_shared_memory,
}

_WITHOUT_THREADS: dict[str, Callable[[types.ModuleType], None]] = {
    "_thread": _fix_thread,
    "threading": _fix_threading,
    "concurrent.futures.thread": _fix_pool,
    "asyncio.base_events": _fix_events,
    "asyncio.unix_events": _fix_children,
    "socketserver": _fix_servers,
    "multiprocessing.pool": _fix_pools,
    "multiprocessing.managers": _fix_managers,
    "concurrent.futures.process": _fix_executors,
}
if not getattr(sys.modules["cay"], "_threads", False):
    _WAITING |= _WITHOUT_THREADS


class _Loader:
    """Another loader, and then the change."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        change = _WAITING.pop(module.__name__, None)
        if change is not None:
            change(module)


class _Finder:
    """Finds the modules that wait for their change."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _WAITING:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                setattr(spec, "loader", _Loader(spec.loader))
                return spec
        return None


def after_import(name: str, change: Callable[[types.ModuleType], None]) -> None:
    """Changes a module that is not there yet."""
    _WAITING[name] = change
    _watch()


def _watch() -> None:
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def install() -> None:
    """Changes imported modules now, and others when they are imported."""
    for name, change in list(_WAITING.items()):
        module = sys.modules.get(name)
        if module is not None:
            del _WAITING[name]
            change(module)
    if _WAITING:
        _watch()


install()
