"""No zombie, no descriptor and no process stays, however a sandbox ends."""
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import pytest

from cay import Sandbox, SandboxDied

PATIENCE = 600


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def wait_until_gone(pid):
    wait_until(lambda: is_gone(pid))


def script(code, **keywords):
    return subprocess.run([sys.executable, "-W", "error", "-c", "from cay import Sandbox\n" + code], capture_output=True,
                          text=True, timeout=PATIENCE, **keywords)


def test_kill_leaves_nothing(leaves_nothing):
    for _ in range(5):
        sandbox = Sandbox()
        sandbox.commands.run("true")
        sandbox.kill()


def test_collection_leaves_nothing(leaves_nothing):
    sandbox = Sandbox()
    gone = weakref.ref(sandbox)
    del sandbox
    assert gone() is None


def test_collection_of_a_cycle_leaves_nothing(leaves_nothing):
    sandbox = Sandbox()
    sandbox.self = sandbox
    del sandbox
    gc.collect()


def test_its_parts_keep_it_alive(leaves_nothing):
    commands = Sandbox().commands
    gc.collect()
    assert commands.run("echo alive").stdout == "alive\n"
    del commands


def test_an_exception_in_the_body_leaves_nothing(leaves_nothing):
    with pytest.raises(ZeroDivisionError):
        with Sandbox():
            1 / 0


def test_the_end_of_the_program_leaves_nothing():
    done = script("s = Sandbox(); print(s.pid)")
    assert done.returncode == 0 and done.stderr == "", done
    assert is_gone(int(done.stdout))


def test_an_uncaught_exception_leaves_nothing():
    done = script("s = Sandbox(); print(s.pid, flush=True); 1 / 0")
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr
    assert is_gone(int(done.stdout))


def test_sys_exit_while_another_thread_runs_a_command():
    done = script("import sys, threading\ns = Sandbox(); print(s.pid, flush=True)\n"
                  "runs = threading.Event()\n"
                  "run = lambda: s.commands.run('echo runs; sleep 1000', on_stdout=lambda text: runs.set())\n"
                  "threading.Thread(target=run, daemon=True).start()\n"
                  "runs.wait(); sys.exit(3)")
    assert done.returncode == 3, done
    assert is_gone(int(done.stdout))


def test_os_exit_and_sigkill_end_the_server():
    for code in ("os._exit(0)", "os.kill(os.getpid(), 9)"):
        done = script("import os, threading\ns = Sandbox(); print(s.pid, flush=True)\n"
                      "runs = threading.Event()\n"
                      "run = lambda: s.commands.run('echo runs; while :; do :; done', on_stdout=lambda text: runs.set())\n"
                      "threading.Thread(target=run).start()\n"
                      f"runs.wait(); {code}")
        wait_until_gone(int(done.stdout))


def test_ctrl_c_ends_the_command_and_not_the_sandbox():
    done = script("import os, signal, threading\ns = Sandbox()\n"
                  "runs = threading.Event()\n"
                  "stop = lambda: (runs.wait(), os.kill(os.getpid(), signal.SIGINT))\n"
                  "threading.Thread(target=stop).start()\n"
                  "try: s.commands.run('echo runs; sleep 1000', on_stdout=lambda text: runs.set())\n"
                  "except KeyboardInterrupt: print(s.commands.run('echo alive').stdout)\n")
    assert done.stdout == "alive\n\n", done


def test_a_server_that_is_killed_is_told_and_reaped(leaves_nothing):
    sandbox = Sandbox(isolation="process")
    os.kill(sandbox.pid, signal.SIGKILL)
    with pytest.raises(SandboxDied, match="signal 9"):
        while True:
            sandbox.commands.run("true")
    assert repr(sandbox) == "<cay.Sandbox dead>"
    sandbox.kill()


def test_a_server_that_dies_during_a_command(leaves_nothing):
    sandbox = Sandbox(isolation="process")
    with pytest.raises(SandboxDied):
        sandbox.commands.run("echo runs; sleep 1000", on_stdout=lambda text: os.kill(sandbox.pid, signal.SIGKILL))
    sandbox.kill()


def test_a_server_that_is_stopped_can_be_killed(leaves_nothing, monkeypatch):
    monkeypatch.setattr("cay._servers.END_PATIENCE", 0.3)
    sandbox = Sandbox(isolation="process")
    os.kill(sandbox.pid, signal.SIGSTOP)
    sandbox.kill()


def test_a_fork_cannot_use_it_and_does_not_end_it():
    with Sandbox() as sandbox:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            words = "nothing"
            try:
                sandbox.commands.run("true")
            except SandboxDied as problem:
                words = str(problem)
            sandbox.kill()
            del sandbox
            gc.collect()
            os.write(writing, words.encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as answer:
            assert "not to this fork" in answer.read()
        assert os.waitpid(child, 0)[1] == 0
        assert sandbox.commands.run("echo alive").stdout == "alive\n"


def test_a_fork_that_lives_on_does_not_keep_it_alive():
    lives, ends = os.pipe()
    done = script("import os\ns = Sandbox(); print(s.pid, flush=True)\n"
                  "if os.fork() == 0:\n"
                  f"    os.close(1); os.close(2); os.read({lives}, 1); os._exit(0)\n"
                  "s.kill()\n", pass_fds=(lives,))
    assert done.returncode == 0 and done.stderr == "", done
    assert is_gone(int(done.stdout))
    os.close(ends)
    os.close(lives)


def test_a_fork_that_ends_normally_does_not_end_it():
    done = script("import os\ns = Sandbox()\n"
                  "child = os.fork()\n"
                  "if child: assert os.waitpid(child, 0)[1] == 0; print(s.commands.run('echo alive').stdout)\n")
    assert done.stdout == "alive\n\n" and done.stderr == "", done


def test_multiprocessing_may_make_its_own():
    done = script("import multiprocessing as m\n"
                  "def work(i):\n"
                  "    with Sandbox() as s: return s.commands.run(f'echo {i}').stdout\n"
                  "if __name__ == '__main__':\n"
                  "    mine = Sandbox()\n"
                  "    with m.get_context('fork').Pool(3) as p: print(p.map(work, range(3)), mine.commands.run('echo 9').stdout)\n")
    assert done.stdout == "['0\\n', '1\\n', '2\\n'] 9\n\n", done


def test_programs_that_the_caller_starts_get_none_of_its_descriptors():
    with Sandbox(isolation="process") as sandbox:
        pipes = {os.readlink(f"/proc/{sandbox.pid}/fd/{n}") for n in (0, 1)}
        names = subprocess.run(["ls", "-l", "/proc/self/fd"], capture_output=True, text=True, close_fds=False).stdout
        assert not any(pipe in names for pipe in pipes)


def test_fifty_at_once(leaves_nothing):
    many = [Sandbox() for _ in range(50)]
    assert [s.commands.run(f"echo {i}").stdout for i, s in enumerate(many)] == [f"{i}\n" for i in range(50)]
    for s in many:
        s.kill()
    del s


def test_kill_from_several_threads(leaves_nothing):
    sandbox = Sandbox()
    threads = [threading.Thread(target=sandbox.kill) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_dead_server_is_replaced(leaves_nothing):
    first, other = Sandbox(isolation="process"), Sandbox(isolation="process")
    os.kill(first.pid, signal.SIGKILL)
    with Sandbox(isolation="process") as new:
        assert new.pid != first.pid and new.commands.run("echo alive").stdout == "alive\n"
        for dead in (first, other):
            with pytest.raises(SandboxDied):
                dead.commands.run("true")


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def test_a_thousand_sandboxes_have_no_thread_each(leaves_nothing):
    here = threading.active_count()
    many = [Sandbox() for _ in range(1000)]
    assert [s.python.run(f"x = {i}; x").value for i, s in list(enumerate(many))[::100]] == list(range(0, 1000, 100))
    assert threading.active_count() == here
    # Threads of the tests before may be at rest still: they end after two seconds without work. One for each sandbox would stay.
    wait_until(lambda: threads_of(many[0].pid) < 100)
    for s in many:
        s.kill()
    del s


def test_threads_that_call_at_once_get_each_its_answer():
    with Sandbox() as first, Sandbox() as second:
        def ask(number):
            for turn in range(20):
                box = (first, second)[turn % 2]
                box.files.write(f"/tmp/{number}", f"{number}.{turn}")
                answers.append(box.files.read_text(f"/tmp/{number}") == f"{number}.{turn}")

        answers = []
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [True] * 320


def test_many_collected_sandboxes_do_not_fill_the_pipes(leaves_nothing):
    keep = Sandbox()
    for _ in range(300):
        Sandbox().self = None
    large = "x" * (3 << 20)
    keep.files.write("/tmp/large", large)
    assert keep.files.read_text("/tmp/large") == large
