"""multiprocessing: locks and queues between processes, and refusals."""
import concurrent.futures
import math
import multiprocessing
import multiprocessing.connection
import multiprocessing.heap
import os
import pickle
import queue
import signal
import subprocess
import tempfile
import time
import weakref

import each
from each import refused

LONG = 30  # seconds that nothing here takes


class children(list):
    """Processes that begin at once, and end well."""

    def __init__(self, *calls):
        super().__init__(multiprocessing.Process(target=call, args=args, daemon=True) for call, *args in calls)
        for child in self:
            child.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for child in self:
            if kind is not None:
                child.kill()
            child.join(LONG)
        assert kind is not None or [child.exitcode for child in self] == [0] * len(self), self


# ---- locks


def count_up(lock, path, times):
    for _ in range(times):
        with lock:
            with open(path) as file:
                number = int(file.read())
            with open(path, "w") as file:
                file.write(str(number + 1))


def test_lock():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "number")
        for lock in multiprocessing.Lock(), multiprocessing.RLock(), multiprocessing.Semaphore(1):
            with open(path, "w") as file:
                file.write("0")
            with children(*[(count_up, lock, path, 40)] * 3):
                count_up(lock, path, 40)
            with open(path) as file:
                assert file.read() == "160"


def try_to_take(lock, answers):
    answers.send([lock.acquire(False), lock.acquire(timeout=0.01), repr(lock)])
    answers.send(lock.acquire())


def test_lock_of_another():
    for lock in multiprocessing.Lock(), multiprocessing.RLock():
        mine, theirs = multiprocessing.Pipe()
        lock.acquire()
        with children((try_to_take, lock, theirs)):
            first, second, text = mine.recv()
            assert (first, second) == (False, False) and "SomeOtherProcess" in text, text
            lock.release()
            assert mine.recv() is True
        assert not lock.acquire(False)  # who had it has ended


def take(lock, answers):
    lock.acquire()
    answers.send("taken")
    time.sleep(LONG)


def test_lock_of_one_that_is_killed():
    lock, (mine, theirs) = multiprocessing.Lock(), multiprocessing.Pipe()
    child = multiprocessing.Process(target=take, args=(lock, theirs))
    child.start()
    assert mine.recv() == "taken"
    child.kill(), child.join()
    assert child.exitcode == -signal.SIGKILL and not lock.acquire(timeout=0.01)


def test_lock_alone():
    lock = multiprocessing.Lock()
    assert repr(lock) == "<Lock(owner=None)>" and lock.acquire() and not lock.acquire(False)
    assert repr(lock) == "<Lock(owner=MainProcess)>"
    begun = time.monotonic()
    assert not lock.acquire(timeout=0.05) and time.monotonic() - begun >= 0.05
    assert not lock.acquire(True, -1)
    lock.release()
    refused(ValueError, "semaphore or lock released too many times", lock.release)
    refused(RuntimeError, "through inheritance", pickle.dumps, lock)
    refused(TypeError, "cannot pickle 'SemLock' object", pickle.dumps, lock._semlock)

    lock = multiprocessing.RLock()
    refused(AssertionError, "attempt to release recursive lock not owned by thread", lock.release)
    with lock, lock:
        assert repr(lock) == "<RLock(MainProcess, 2)>"
    refused(AssertionError, "not owned", lock.release)


def test_semaphore():
    semaphore = multiprocessing.Semaphore(2)
    assert semaphore.get_value() == 2 and repr(semaphore) == "<Semaphore(value=2)>"
    assert [semaphore.acquire(False) for _ in range(3)] == [True, True, False]
    for _ in range(20):
        semaphore.release()
    assert semaphore.get_value() == 20
    bounded = multiprocessing.BoundedSemaphore(3)
    refused(ValueError, "released too many times", bounded.release)
    assert bounded.acquire() and bounded.get_value() == 2
    bounded.release()
    refused(OSError, "Invalid argument", multiprocessing.Semaphore, -1)


def test_descriptors_are_closed():
    before = len(os.listdir("/proc/self/fd"))
    lock, several = multiprocessing.Lock(), multiprocessing.JoinableQueue()
    several.put(1), several.get()
    gone = weakref.ref(several)
    del lock, several
    assert gone() is None and len(os.listdir("/proc/self/fd")) == before


def wait_for(condition, ready, answers):
    with condition:
        ready.release()
        answers.send(condition.wait(LONG))


def test_condition():
    condition, ready = multiprocessing.Condition(), multiprocessing.Semaphore(0)
    mine, theirs = multiprocessing.Pipe()
    with children(*[(wait_for, condition, ready, theirs)] * 3):
        for _ in range(3):
            assert ready.acquire(timeout=LONG)
        with condition:
            condition.notify()
        assert mine.recv() is True and not mine.poll(0.05)
        with condition:
            condition.notify_all()
        assert mine.recv() is True and mine.recv() is True
    with condition:
        assert condition.wait(0.01) is False and condition.wait_for(lambda: False, 0.01) is False


def answer_event(event, back):
    assert event.wait(LONG)
    back.set()


def test_event():
    event, back = multiprocessing.Event(), multiprocessing.Event()
    assert not event.wait(0.01) and not event.is_set()
    with children((answer_event, event, back)):
        event.set()
        assert back.wait(LONG)
    event.clear()
    assert not event.is_set() and back.is_set()


def meet(barrier, answers):
    answers.send([barrier.wait(LONG), barrier.wait(LONG)])
    try:
        barrier.wait(LONG)
    except Exception as problem:
        answers.send(type(problem).__name__)


def test_barrier():
    barrier, (mine, theirs) = multiprocessing.Barrier(3, timeout=LONG), multiprocessing.Pipe()
    with children(*[(meet, barrier, theirs)] * 2):
        numbers = [[barrier.wait(), barrier.wait()], mine.recv(), mine.recv()]
        assert [sorted(turn) for turn in zip(*numbers)] == [[0, 1, 2], [0, 1, 2]]
        barrier.abort()
        assert [mine.recv(), mine.recv()] == ["BrokenBarrierError"] * 2
    assert barrier.broken and barrier.n_waiting == 0
    barrier.reset()
    assert not barrier.broken and barrier.parties == 3


# ---- queues


def reverse(tasks, results):
    for number, data in iter(tasks.get, None):
        results.put((number, data[::-1]))


def test_queues_in_both_directions():
    """More than both pipes hold is under way, and the one who puts all of it does not wait."""
    tasks, results, count = multiprocessing.Queue(), multiprocessing.Queue(), 80
    datas = [os.urandom(40_000) for _ in range(count)]
    with children(*[(reverse, tasks, results)] * 3) as workers:
        for task in enumerate(datas):
            tasks.put(task)
        for _ in workers:
            tasks.put(None)
        got = dict(results.get(timeout=LONG) for _ in range(count))
        assert all(got[number] == data[::-1] for number, data in enumerate(datas))
    assert results.empty() and tasks.qsize() == 0


def send_back(inbox, outbox):
    outbox.put(inbox.get())


def test_large_objects():
    inbox, outbox = multiprocessing.Queue(), multiprocessing.Queue()
    data = os.urandom(1 << 20) * 5
    with children((send_back, inbox, outbox)):
        inbox.put(data)
        assert outbox.get(timeout=LONG) == data
    inbox.put(data)  # and alone
    assert not inbox.empty() and inbox.get() == data and inbox.empty()


def put_and_end(results, cancel):
    results.put(bytes(1_000_000))
    if cancel:
        results.cancel_join_thread()


def test_end_of_a_putting_process():
    results = multiprocessing.Queue()
    with children((put_and_end, results, False)):  # it waits until all is read
        assert len(results.get(timeout=LONG)) == 1_000_000
    with children((put_and_end, multiprocessing.Queue(), True)):
        pass  # it does not


def say(connection, tasks):
    connection.send(len(tasks.get()))


def test_waiting_for_others_goes_on_with_the_queue():
    data, ways = bytes(1_000_000), ("recv", "poll", "wait", "join", "lock", "is_alive", "close")
    for way in ways:
        tasks, (mine, theirs) = multiprocessing.Queue(), multiprocessing.Pipe()
        event = multiprocessing.Event()
        with children((say, theirs, tasks)) as (child,):
            tasks.put(data)
            if way == "poll":
                assert mine.poll(LONG)
            elif way == "wait":
                assert multiprocessing.connection.wait([mine], LONG) == [mine]
            elif way == "join":
                child.join()
            elif way == "lock":
                while not mine.poll(0):
                    event.wait(0.01)
            elif way == "is_alive":
                while child.is_alive():
                    time.sleep(0.001)
            elif way == "close":
                tasks.close(), tasks.join_thread()
            assert mine.recv() == len(data), way


def send_large(connection, tasks):
    connection.recv_bytes()
    connection.send(len(tasks.get()))


def test_sending_goes_on_with_the_queue():
    """The child reads the queue only when it has all of the message, and both are longer than what pipes hold."""
    tasks, (mine, theirs) = multiprocessing.Queue(), multiprocessing.Pipe()
    with children((send_large, theirs, tasks)):
        tasks.put(bytes(1_000_000))
        mine.send_bytes(bytes(1_000_000))
        assert mine.recv() == 1_000_000


def test_bounds():
    several = multiprocessing.Queue(2)
    assert several.empty() and not several.full() and several.qsize() == 0
    refused(queue.Empty, "", several.get_nowait)
    refused(queue.Empty, "", several.get, timeout=0.01)
    several.put(1), several.put(2)
    assert several.full() and several.qsize() == 2 and not several.empty()
    refused(queue.Full, "", several.put_nowait, 3)
    refused(queue.Full, "", several.put, 3, timeout=0.01)
    assert several.get() == 1 and several.get(timeout=1) == 2
    several.close(), several.join_thread()
    refused(ValueError, "is closed", several.put, 1)
    refused(ValueError, "is closed", several.get)


def test_unpicklable_objects():
    several = multiprocessing.JoinableQueue(1)
    for _ in range(2):
        refused(Exception, "lambda", several.put, lambda: 0)
    several.join()
    several.put("fits")
    assert several.get() == "fits"


def do_tasks(tasks, done):
    for task in iter(tasks.get, None):
        done.put(task * 2)
        tasks.task_done()
    tasks.task_done()


def test_joinable():
    tasks, done = multiprocessing.JoinableQueue(), multiprocessing.SimpleQueue()
    with children((do_tasks, tasks, done)):
        for number in range(20):
            tasks.put(number)
        tasks.join()
        assert [done.get() for _ in range(20)] == list(range(0, 40, 2)) and done.empty()
        tasks.put(None)
        tasks.join()
    refused(ValueError, "task_done() called too many times", tasks.task_done)


def test_interrupted():
    """A signal's exception in the midst of a put leaves the queue whole."""
    several, sent, interrupted = multiprocessing.Queue(), 0, 0

    def interrupt(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    for number in range(200):
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0001)  # which may be over before it returns
                several.put((number, bytes(5000)))
            finally:  # the signal may come here, too
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            interrupted += 1
        try:
            while True:
                number, data = several.get(timeout=0)
                assert len(data) == 5000
                sent += 1
        except queue.Empty:
            pass
    assert sent > 0
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


# ---- pools


def test_pool():
    with multiprocessing.Pool(2) as pool:
        assert pool.map(math.factorial, range(6)) == [1, 1, 2, 6, 24, 120]
        assert pool.apply_async(pow, (2, 5)).get(LONG) == 32
        assert sorted(pool.imap_unordered(abs, [-1, -2, -3])) == [1, 2, 3]
        assert isinstance(refusal(pool.apply_async(int, ("x",)).get), ValueError)


def refusal(call):
    try:
        call(LONG)
    except Exception as problem:
        return problem


def test_process_pool_executor():
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        assert list(pool.map(math.sqrt, [4, 9])) == [2, 3]
        assert pool.submit(os.getpid).result(LONG) != os.getpid()
        assert isinstance(pool.submit(int, "x").exception(LONG), ValueError)


def test_what_cannot_be_pickled_fails_alone():
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        assert "pickle" in str(pool.submit(len, lambda: 0).exception(LONG))
        assert pool.submit(len, "abc").result(LONG) == 3
    queue = multiprocessing.Queue()
    refused((AttributeError, TypeError, pickle.PicklingError), "pickle", queue.put, lambda: 0)


def test_manager():
    with multiprocessing.Manager() as manager:
        shared, several = manager.dict(), manager.list([1])
        shared["a"] = 1
        several.append(2)
        assert (dict(shared), list(several)) == ({"a": 1}, [1, 2])


# ---- refusals


def test_refusals():
    for kind in (multiprocessing.Value, multiprocessing.Array):
        refused(OSError, "share no memory", kind, "i", 1)
    lock = multiprocessing.get_context("fork").Lock()
    refused(RuntimeError, "created in a fork context", multiprocessing.Process(target=len, args=(lock,)).start)
    memory = multiprocessing.heap.BufferWrapper(8)
    child = multiprocessing.Process(target=len, args=(memory,))
    refused(OSError, "share no memory", child.start)
    assert multiprocessing.active_children() == []


def test_parts_come_when_they_are_needed():
    code = "import sys, multiprocessing as m; names = 'cay._semaphores', 'cay._queues'; print([n in sys.modules for n in names])"
    for more, loaded in ("", [False, False]), ("m.Lock(); ", [True, False]), ("m.Queue(); ", [True, True]):
        done = subprocess.run(["python3", "-c", code.replace("names =", more + "names =")], capture_output=True, text=True)
        assert done.stdout == f"{loaded}\n", done


def test_program():
    code = """if __name__ == "__main__":
    import multiprocessing as m
    q = m.Queue()
    q.put(bytes(10))
    print(q.get() == bytes(10))
"""
    done = subprocess.run(["python3", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


if __name__ == "__main__":
    each.run(globals())
