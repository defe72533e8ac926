"""Threads are refused; what runs work in threads runs it inline."""
import asyncio
import concurrent.futures
import subprocess
import sys
import threading
import _thread

import each
from each import refused


def test_start_says_why():
    refused(RuntimeError, "threads are not available", threading.Thread(target=print).start)
    refused(RuntimeError, "threads are not available", threading.Timer(0, print).start)
    refused(RuntimeError, "threads are not available", _thread.start_new_thread, print, ())
    assert threading.active_count() == 1


def test_locks_work():
    with threading.Lock(), threading.RLock(), threading.Condition(), threading.Semaphore():
        pass
    assert threading.local().__dict__ == {} and threading.Event().wait(0.01) is False


def test_executor():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(pow, range(5), [2] * 5)) == [0, 1, 4, 9, 16]
        future = pool.submit(pow, 2, exp=5)
        assert future.done() and future.result() == 32
        failed = pool.submit(int, "x")
        assert isinstance(failed.exception(), ValueError)
        assert {f.result() for f in concurrent.futures.as_completed([pool.submit(abs, -i) for i in range(3)])} == {0, 1, 2}
        nested = pool.submit(lambda: pool.submit(len, "abc").result() + 1)
        assert nested.result() == 4
        called = []
        pool.submit(abs, -7).add_done_callback(lambda f: called.append(f.result()))
        assert called == [7]
    refused(RuntimeError, "after shutdown", pool.submit, print)


def test_executor_initializer():
    seen = []
    with concurrent.futures.ThreadPoolExecutor(initializer=seen.append, initargs=("once",)) as pool:
        pool.submit(print, end="")
        pool.submit(print, end="")
    assert seen == ["once"]
    pool = concurrent.futures.ThreadPoolExecutor(initializer=int, initargs=("x",))
    import logging
    logging.disable()
    refused(concurrent.futures.BrokenExecutor, "initializer failed", pool.submit, print)


def test_fatal_exceptions_are_not_kept():
    pool = concurrent.futures.ThreadPoolExecutor()
    refused(KeyboardInterrupt, "", pool.submit, interrupt)


def interrupt():
    raise KeyboardInterrupt


def test_asyncio():
    async def main():
        loop = asyncio.get_running_loop()
        assert await asyncio.to_thread(pow, 2, 3) == 8
        assert await loop.run_in_executor(None, len, "four") == 4
        infos = await asyncio.gather(*(asyncio.to_thread(abs, -i) for i in range(10)))
        assert infos == list(range(10))
        await loop.shutdown_default_executor()
        return "end"
    assert asyncio.run(main()) == "end"


def test_after_a_cold_start():
    code = """import threading, asyncio, concurrent.futures as f, os, hashlib
print(f.ThreadPoolExecutor().submit(pow, 2, 3).result(), asyncio.run(asyncio.to_thread(len, 'ab')))
print(len(hashlib.pbkdf2_hmac('sha256', b'p', b's', 1)))
for call in (threading.Thread().start, os.fork):
    try: call()
    except (RuntimeError, OSError) as problem: print('not available' in str(problem))
"""
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("8 2\n32\nTrue\nTrue\n", ""), done


each.run(globals())
