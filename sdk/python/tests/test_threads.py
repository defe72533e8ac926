"""Threads of the code in a session: they go on while code is evaluated, and stand still in between."""
import time

import pytest

from cay import Sandbox, SandboxError

COUNTING = """
import threading, time
n = 0
def count():
    global n
    while True:
        n += 1
        time.sleep(0.001)
t = threading.Thread(target=count, daemon=True)
t.start()
"""


def value(sandbox, code, **options):
    result = sandbox.python.run(code, **options)
    assert result.ok, result
    return result.value


def test_they_run_in_a_cell(sandbox):
    code = "import threading\nseen = []\nts = [threading.Thread(target=seen.append, args=(i,)) for i in range(10)]\n"
    assert value(sandbox, code + "[t.start() for t in ts]; [t.join() for t in ts]; sorted(seen)") == list(range(10))
    assert value(sandbox, "threading.active_count()") == 1


def test_they_stand_still_between_cells_and_go_on_with_the_next(sandbox):
    value(sandbox, COUNTING)
    before = value(sandbox, "time.sleep(0.05); n")
    assert before > 5
    time.sleep(0.3)
    assert value(sandbox, "n") <= before + 2
    assert value(sandbox, "time.sleep(0.2); n") > before + 20


def test_their_output_is_that_of_the_cell_in_which_it_comes(sandbox):
    value(sandbox, "import threading, time\ngo = threading.Event()\n"
          "t = threading.Thread(target=lambda: (go.wait(), print('from the thread')))\nt.start()")
    assert sandbox.python.run("1").stdout == ""
    assert sandbox.python.run("go.set(); t.join()").stdout == "from the thread\n"


def test_copies_wait_for_their_end(sandbox):
    value(sandbox, "import threading\ngo = threading.Event()\nt = threading.Thread(target=go.wait)\nt.start()")
    with pytest.raises(SandboxError, match="1 thread"):
        sandbox.snapshot()
    with pytest.raises(SandboxError, match="1 thread"):
        sandbox.python.fork("copy")
    value(sandbox, "go.set(); t.join(); kept = 5")
    sandbox.snapshot()
    assert sandbox.python.fork("copy").run("kept, threading.active_count()").value == [5, 1]


def test_a_time_limit_ends_a_wait_for_one(sandbox):
    value(sandbox, "x = 1")
    value(sandbox, COUNTING)
    stopped = sandbox.python.run("t.join()", timeout_ms=200)
    assert (stopped.error.type, stopped.undone) == ("cay.Stopped", False)
    assert value(sandbox, "x, t.is_alive()") == [1, True]


def test_a_time_limit_while_several_compute(sandbox):
    value(sandbox, "import threading\ndef spin():\n  while True: pass\n"
          "for _ in range(3): threading.Thread(target=spin, daemon=True).start()")
    assert value(sandbox, "1 + 1") == 2
    begun = time.monotonic()
    assert sandbox.python.run("while True: pass", timeout_ms=200).error.type == "cay.Stopped"
    assert time.monotonic() - begun < 10
    assert value(sandbox, "threading.active_count()") == 4


def test_an_undo_ends_them_and_goes_back_to_before_the_first(sandbox):
    value(sandbox, "x = 1")
    value(sandbox, COUNTING)
    value(sandbox, "y = 2")
    deaf = "while True:\n  try:\n    while True: pass\n  except BaseException: pass"
    assert sandbox.python.run(deaf, timeout_ms=100).undone
    assert value(sandbox, "import threading\nx, 'y' in globals(), 'n' in globals(), threading.active_count()") == [1, False, False, 1]
    value(sandbox, COUNTING)
    assert value(sandbox, "time.sleep(0.05); n > 5") is True


def test_a_thread_that_is_deaf_is_ended_by_force(sandbox):
    value(sandbox, "x = 1")
    code = ("import threading, re\nt = threading.Thread(target=re.match, args=('(a*)*b', 'a' * 60))\nt.start()\n"
            "while True:\n  try:\n    t.join()\n  except BaseException: pass")
    assert sandbox.python.run(code, timeout_ms=100).undone
    assert value(sandbox, "x") == 1


def test_the_end_of_the_process_by_a_thread(sandbox):
    value(sandbox, "x = 1")
    ended = sandbox.python.run("import os, threading, time\nthreading.Thread(target=os._exit, args=(3,)).start()\ntime.sleep(20)")
    assert ended.undone and not ended.ok
    assert value(sandbox, "x") == 1


def test_they_count_as_processes():
    with Sandbox(process_limit=8) as sandbox:
        code = ("import threading\ngo, made = threading.Event(), []\ntry:\n  while True:\n"
                "    t = threading.Thread(target=go.wait)\n    t.start()\n    made.append(t)\n"
                "except RuntimeError as problem: print(problem)\ngo.set(); [t.join() for t in made]; len(made)")
        for _ in range(2):
            result = sandbox.python.run(code)
            assert (result.stdout, 4 <= result.value <= 8) == ("can't start new thread\n", True), result


def test_threads_beyond_the_memory_are_refused_and_given_back():
    with Sandbox(memory_limit_bytes=96 << 20, process_limit=500) as sandbox:
        code = ("import threading\ngo, made = threading.Event(), []\ntry:\n  while True:\n"
                "    t = threading.Thread(target=go.wait)\n    t.start()\n    made.append(t)\n"
                "except RuntimeError as problem: print(problem)\ngo.set(); [t.join() for t in made]; len(made), threading.active_count()")
        for _ in range(2):
            result = sandbox.python.run(code)
            assert result.stdout == "can't start new thread\n" and result.value[0] > 4 and result.value[1] == 1, result
        assert sandbox.commands.run("echo there is room").stdout == "there is room\n"


def test_threads_that_share_the_last_memory_have_memory_errors():
    with Sandbox(memory_limit_bytes=96 << 20) as sandbox:
        code = ("import threading\nheld, go = [], threading.Event()\ndef hog():\n  mine = []\n  go.wait()\n  try:\n    while True: mine.append(bytearray(1 << 20))\n"
                "  except MemoryError: held.append(len(mine))\n"
                "threads = [threading.Thread(target=hog) for _ in range(6)]\nfor t in threads: t.start()\ngo.set()\nfor t in threads: t.join()\nlen(held)")
        assert value(sandbox, code) == 6
        assert value(sandbox, "import gc\nthreads.clear(); gc.collect(); threading.active_count()") == 1


def test_a_stop_by_force_of_threads_that_hold_all_memory_gives_it_back():
    with Sandbox(memory_limit_bytes=96 << 20) as sandbox:
        value(sandbox, "x = 1")
        code = ("import threading\nkept, full, go = [], threading.Event(), threading.Event()\ndef hog():\n  go.wait()\n  while True:\n"
                "    try: kept.append(bytearray(1 << 16))\n    except MemoryError: full.set()\n"
                "for _ in range(4): threading.Thread(target=hog).start()\ngo.set(); full.wait()\n"
                "while True:\n  try:\n    while True: pass\n  except BaseException: pass")
        assert sandbox.python.run(code, timeout_ms=5000).undone
        assert value(sandbox, "import threading\nx, 'kept' in globals(), threading.active_count()") == [1, False, 1]
        assert sandbox.commands.run("echo there is room").stdout == "there is room\n"


def test_a_sandbox_with_living_threads_ends(sandbox):
    value(sandbox, COUNTING)
    sandbox.kill()


def test_a_pool_that_was_not_shut_down_serves_later_cells(sandbox):
    code = "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(3)\nlist(pool.map(abs, [-1, -2]))"
    assert value(sandbox, code) == [1, 2]
    assert value(sandbox, "list(pool.map(abs, [-3]))") == [3]
    value(sandbox, "pool.shutdown()")
    sandbox.snapshot()


def test_asyncio_in_cells_uses_threads(sandbox):
    assert value(sandbox, "import asyncio, threading\nawait asyncio.to_thread(threading.get_ident) != threading.get_ident()") is True
