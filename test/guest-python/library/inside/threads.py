"""Threads: they run beside each other, and take turns."""
import asyncio
import concurrent.futures
import faulthandler
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import _thread

import each
from each import refused

LONG = 30  # seconds that nothing here takes


def run(*calls):
    threads = [threading.Thread(target=call, args=args) for call, *args in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive()


def test_start_and_join():
    seen = []
    run(*[(seen.append, number) for number in range(20)])
    assert sorted(seen) == list(range(20)) and threading.active_count() == 1


def test_sleeps_overlap():
    begun = time.monotonic()
    run(*[(time.sleep, 0.2)] * 10)
    assert time.monotonic() - begun < 1.5


def test_one_that_computes_lets_others_have_the_lock():
    over = []

    def compute():
        while not over:
            pass

    thread = threading.Thread(target=compute)
    thread.start()
    time.sleep(0.02)
    over.append(True)
    thread.join(LONG)
    assert not thread.is_alive()


def test_two_that_compute_share():
    counts, until = [0, 0], time.monotonic() + 0.3

    def count(which):
        while time.monotonic() < until:
            counts[which] += 1

    run((count, 0), (count, 1))
    assert min(counts) > max(counts) / 20, counts


def test_locks_keep_others_out():
    lock, total = threading.Lock(), [0]

    def add():
        for _ in range(2000):
            with lock:
                now = total[0]
                if now % 100 == 0:
                    time.sleep(0)
                total[0] = now + 1

    run(*[(add,)] * 4)
    assert total == [8000]


def test_conditions_events_barriers():
    condition, items, got = threading.Condition(), [], []

    def take():
        with condition:
            assert condition.wait_for(lambda: items, LONG)
            got.append(items.pop())

    threads = [threading.Thread(target=take) for _ in range(5)]
    for thread in threads:
        thread.start()
    for number in range(5):
        with condition:
            items.append(number)
            condition.notify()
    for thread in threads:
        thread.join(LONG)
    assert sorted(got) == list(range(5))
    barrier, passed = threading.Barrier(4, timeout=LONG), []
    run(*[(lambda: passed.append(barrier.wait()),)] * 4)
    assert sorted(passed) == [0, 1, 2, 3]
    event = threading.Event()
    threading.Timer(0.01, event.set).start()
    assert event.wait(LONG) and not threading.Event().wait(0.01)


def test_queue():
    work, done = queue.Queue(2), queue.SimpleQueue()

    def serve():
        while (item := work.get()) is not None:
            done.put(item * item)
            work.task_done()

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(50):
        work.put(number, timeout=LONG)
    work.join()
    for _ in threads:
        work.put(None)
    assert sorted(done.get() for _ in range(50)) == [number * number for number in range(50)]
    refused(queue.Empty, "", work.get, True, 0.01) if work.empty() else None
    for thread in threads:
        thread.join(LONG)


def test_local():
    own, seen = threading.local(), []

    def set_it(value):
        own.value = value
        time.sleep(0.01)
        seen.append(own.value == value)

    run(*[(set_it, number) for number in range(5)])
    assert seen == [True] * 5 and not hasattr(own, "value")


def test_executor():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(pow, range(5), [2] * 5)) == [0, 1, 4, 9, 16]
        assert pool.submit(pow, 2, exp=5).result(LONG) == 32
        assert isinstance(pool.submit(int, "x").exception(LONG), ValueError)
        nested = pool.submit(lambda: pool.submit(len, "abc").result(LONG) + 1)
        assert nested.result(LONG) == 4
        first, second = threading.Event(), threading.Event()
        waits = pool.submit(lambda: first.set() or second.wait(LONG))
        assert first.wait(LONG) and not waits.done()
        second.set()
        assert waits.result(LONG) is True
    refused(RuntimeError, "after shutdown", pool.submit, print)


def test_asyncio():
    async def main():
        loop = asyncio.get_running_loop()
        assert await asyncio.to_thread(pow, 2, 3) == 8
        assert await loop.run_in_executor(None, threading.get_ident) != threading.get_ident()
        begun = time.monotonic()
        await asyncio.gather(*[asyncio.to_thread(time.sleep, 0.1) for _ in range(4)])
        assert time.monotonic() - begun < LONG
        called = loop.create_future()
        threading.Thread(target=lambda: loop.call_soon_threadsafe(called.set_result, 7)).start()
        return await called

    assert asyncio.run(main()) == 7


def test_signals_come_to_the_main_thread():
    came = []
    before = signal.signal(signal.SIGUSR1, lambda *_: came.append(threading.current_thread() is threading.main_thread()))
    thread = threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGUSR1))
    thread.start()
    thread.join(LONG)
    until = time.monotonic() + LONG
    while not came and time.monotonic() < until:
        time.sleep(0.01)
    signal.signal(signal.SIGUSR1, before)
    assert came == [True]


def test_deep_recursion_ends_with_an_error():
    seen = []

    def deep():
        nested = []
        for _ in range(100000):
            nested = [nested]
        try:
            repr(nested)
        except RecursionError:
            seen.append("too deep")

    run((deep,))
    assert seen == ["too deep"]


def test_there_is_an_end_to_them():
    stop, threads = threading.Event(), []
    try:
        for _ in range(10000):
            threads.append(threading.Thread(target=stop.wait, args=(LONG,)))
            threads[-1].start()
        raise AssertionError("ten thousand threads")
    except RuntimeError as problem:
        assert "can't start new thread" in str(problem), problem
    finally:
        stop.set()
        for thread in threads[:-1]:
            thread.join(LONG)
    run((print, ""))


def test_subprocess_beside_a_thread():
    over = threading.Event()
    thread = threading.Thread(target=over.wait, args=(LONG,))
    thread.start()
    assert subprocess.run(["echo", "x"], capture_output=True, text=True).stdout == "x\n"
    over.set()
    thread.join(LONG)


def test_watchdog():
    with tempfile.TemporaryFile("w+") as out:
        faulthandler.dump_traceback_later(0.05, file=out)
        time.sleep(0.3)
        faulthandler.cancel_dump_traceback_later()
        out.seek(0)
        assert "Timeout (0:00:00.050000)!" in out.read()


def test_after_a_cold_start():
    code = """import threading, asyncio, concurrent.futures as f, os
print(f.ThreadPoolExecutor().submit(pow, 2, 3).result(), asyncio.run(asyncio.to_thread(len, 'ab')))
over = []
t = threading.Thread(target=lambda: over.append(1)); t.start()
while not over: pass
try: os.fork()
except OSError as problem: print('not available' in str(problem))
"""
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("8 2\nTrue\n", ""), done


def test_a_program_waits_for_its_threads():
    code = "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.1), print('last'))).start()\nprint('first')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "first\nlast\n", ""), done
    code = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nprint('first')"
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "first\n", "") and time.monotonic() - begun < LONG, done


def test_identity():
    seen = []
    run((lambda: seen.extend([threading.get_native_id(), _thread.get_ident()]),))
    assert seen[0] != os.getpid() and threading.get_native_id() == os.getpid()
    assert sorted(os.listdir("/proc/self/task")) == [str(os.getpid())]


each.run(globals())
