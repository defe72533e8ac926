"""isolation="library": what differs from a server process. All other tests run in both ways (sdk/python/test)."""
import os
import subprocess
import sys
import threading
import time

import pytest

from cay import AsyncSandbox, Sandbox, SandboxDied

PATIENCE = 600


@pytest.fixture
def quick():
    with Sandbox(isolation="library") as sandbox:
        yield sandbox


def script(code):
    return subprocess.run([sys.executable, "-W", "error", "-c", "from cay import Sandbox\n" + code], capture_output=True,
                          text=True, timeout=PATIENCE)


def test_it_is_in_this_process(quick):
    assert quick.pid == os.getpid()
    assert quick.commands.run("echo $((6 * 7))").stdout == "42\n"


def test_an_unknown_isolation_is_refused():
    with pytest.raises(ValueError, match="isolation"):
        Sandbox(isolation="none")


def test_both_kinds_live_side_by_side(quick):
    with Sandbox(isolation="process") as other:
        quick.files.write("/tmp/a", b"quick")
        assert not other.files.exists("/tmp/a")
        assert other.pid != quick.pid


def test_a_callback_runs_in_the_thread_that_waits(quick):
    seen = []
    quick.callbacks.add({"where": lambda: seen.append(threading.current_thread())})
    quick.python.run("for _ in range(10): await where()", check=True)
    assert seen == [threading.current_thread()] * 10


def test_callbacks_that_come_at_once_run_at_once(quick):
    together = threading.Barrier(5)
    quick.callbacks.add({"meet": lambda: together.wait(PATIENCE)})
    result = quick.python.run("import asyncio\nlen(await asyncio.gather(*(meet() for _ in range(5))))", check=True)
    assert result.value == 5


def test_a_callback_that_is_slow_does_not_delay_the_deadline(quick):
    released = threading.Event()
    quick.callbacks.add({"sleep": lambda: released.wait(1)})
    result = quick.python.run("await sleep()", timeout_ms=100)
    assert result.timed_out and result.execution_time_ms < 900


def test_a_callback_may_use_the_sandbox(quick):
    def swap(path):
        text = quick.files.read_text(path)
        quick.files.write(path, text[::-1])
        return quick.commands.run(f"cat {path}").stdout

    quick.callbacks.add({"swap": swap})
    quick.files.write("/tmp/word", "abc")
    assert quick.python.run("await swap(path='/tmp/word')").value == "cba"


def test_many_threads_each_with_callbacks(quick):
    quick.callbacks.add({"double": lambda x: 2 * x})
    values = {}

    def work(number):
        with quick.python.session(f"s{number}") as session:
            values[number] = session.run(f"sum([await double(x={number}) for _ in range(50)])").value

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == {number: 100 * number for number in range(8)}


def test_ctrl_c_in_a_callback_ends_the_evaluation():
    done = script("import os, signal, time\n"
                  "s = Sandbox(isolation='library')\n"
                  "s.callbacks.add({'interrupt': lambda: (os.kill(os.getpid(), signal.SIGINT), time.sleep(10))})\n"
                  "try: s.python.run('await interrupt()')\n"
                  "except KeyboardInterrupt: print(s.python.run('6 * 7').value)\n")
    assert (done.stdout, done.stderr) == ("42\n", ""), done


def test_ctrl_c_ends_an_evaluation_and_not_the_session():
    done = script("import os, signal, threading\n"
                  "s = Sandbox(isolation='library'); s.python.run('x = 6')\n"
                  "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
                  "try: s.python.run('while True: pass')\n"
                  "except KeyboardInterrupt: print(s.python.run('x * 7').value)\n")
    assert (done.stdout, done.stderr) == ("42\n", ""), done


def test_the_end_of_the_program_ends_what_runs():
    done = script("import sys, threading, time\n"
                  "s = Sandbox(isolation='library', callbacks={'slow': lambda: time.sleep(0.2)})\n"
                  "for code in ('while True: pass', 'await slow()'):\n"
                  "    threading.Thread(target=s.python.session(code).run, args=(code,), daemon=True).start()\n"
                  "time.sleep(0.3); sys.exit(3)")
    assert (done.returncode, done.stderr) == (3, ""), done


def test_a_fork_makes_its_own_and_leaves_the_parents():
    done = script("import os\n"
                  "s = Sandbox(isolation='library'); s.python.run('x = 1')\n"
                  "if os.fork() == 0:\n"
                  "    try: s.python.run('x')\n"
                  "    except Exception as problem: print(type(problem).__name__, flush=True)\n"
                  "    with Sandbox(isolation='library') as own: print(own.python.run('2').value, flush=True)\n"
                  "    os._exit(0)\n"
                  "assert os.wait()[1] == 0\n"
                  "print(s.python.run('x + 2').value)\n")
    assert (done.stdout, done.stderr) == ("SandboxDied\n2\n3\n", ""), done


def test_after_the_end_every_call_says_so():
    sandbox = Sandbox(isolation="library")
    sandbox.kill()
    for call in (lambda: sandbox.python.run("1"), lambda: sandbox.files.read("/x"), lambda: sandbox.files.write("/x", b"")):
        with pytest.raises(SandboxDied):
            call()


def test_files_of_any_size(quick):
    for size in (0, 1, 4095, 4096, 4097, 5 << 20):
        data = os.urandom(size)
        quick.files.write("/tmp/data", memoryview(data))
        assert quick.files.read("/tmp/data") == data


def test_asyncio(quick):
    import asyncio

    async def double(x):
        await asyncio.sleep(0)
        return 2 * x

    async def body():
        async with AsyncSandbox(isolation="library", callbacks={"double": double}) as sandbox:
            results = await asyncio.gather(*(sandbox.python.session(f"s{i}").run(f"await double(x={i})") for i in range(8)))
            assert [r.value for r in results] == [2 * i for i in range(8)]
            running = asyncio.ensure_future(sandbox.commands.run("sleep 1000"))
            await asyncio.sleep(0.05)
            running.cancel()
            start = time.monotonic()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert time.monotonic() - start < PATIENCE

    asyncio.run(body())
