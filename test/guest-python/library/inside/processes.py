"""Other programs, pipes, signals; what needs a copy of the process is refused."""
import asyncio
import multiprocessing
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile

import each
from each import refused


def test_run():
    done = subprocess.run(["ls", "-l", "/usr/bin/python3"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("-rwx") and done.stderr == ""
    assert subprocess.run("echo out; echo err >&2; exit 3", shell=True, capture_output=True).returncode == 3
    refused(FileNotFoundError, "nothing", subprocess.run, ["/nothing"])
    refused(subprocess.TimeoutExpired, "timed out", subprocess.run, ["sleep", "60"], timeout=0.1)
    refused(subprocess.CalledProcessError, "exit status 1", subprocess.run, ["false"], check=True)
    assert subprocess.run(["sh", "-c", "kill -9 $$"]).returncode == -9


def test_pipes():
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    data = os.urandom(300_000)
    assert child.communicate(data)[0] == data and child.returncode == 0
    first = subprocess.Popen(["seq", "10000"], stdout=subprocess.PIPE)
    second = subprocess.Popen(["tail", "-n1"], stdin=first.stdout, stdout=subprocess.PIPE, text=True)
    first.stdout.close()
    assert second.communicate()[0] == "10000\n" and first.wait() == 0
    assert os.popen("echo shell").read() == "shell\n" and os.system("exit 2") >> 8 == 2


def test_options():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run("pwd; echo $WORD", shell=True, cwd=folder, env={"WORD": "x"}, capture_output=True, text=True)
        assert done.stdout == f"{folder}\nx\n"
    read, write = os.pipe()
    done = subprocess.run(["sh", "-c", f"echo passed >&{write}"], pass_fds=[write])
    assert os.read(read, 100) == b"passed\n"


def test_spawn():
    assert os.spawnvp(os.P_WAIT, "sh", ["sh", "-c", "exit 5"]) == 5
    assert os.spawnl(os.P_WAIT, "/nothing", "nothing") == 127
    pid = os.spawnlp(os.P_NOWAIT, "true", "true")
    assert os.waitpid(pid, 0) == (pid, 0)
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 4"], os.environ)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 4


def test_fork_is_refused():
    refused(OSError, "fork is not available", os.fork)
    refused(OSError, "fork is not available", os.forkpty)


def work(pipe, number):
    pipe.send([number * number, os.getpid()])


def test_multiprocessing():
    assert multiprocessing.get_start_method() == "spawn"
    mine, theirs = multiprocessing.Pipe()
    child = multiprocessing.Process(target=work, args=(theirs, 7))
    child.start()
    assert mine.recv() == [49, child.pid]
    child.join()
    assert child.exitcode == 0


def test_asyncio_processes():
    async def main():
        child = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        out, _ = await child.communicate(b"through")
        codes = await asyncio.gather(*(shell(f"exit {i}") for i in range(4)))
        return out, child.returncode, codes

    async def shell(line):
        return await (await asyncio.create_subprocess_shell(line)).wait()

    assert asyncio.run(main()) == (b"through", 0, [0, 1, 2, 3])


def test_sockets():
    a, b = socket.socketpair()
    a.sendall(b"hello")
    assert b.recv(10) == b"hello"

    async def main():
        reader, writer = await asyncio.open_connection(sock=a)
        other, answer = await asyncio.open_connection(sock=b)
        answer.write(b"line\n")
        line = await reader.readline()
        writer.close(), answer.close()
        return line

    a.setblocking(False), b.setblocking(False)
    assert asyncio.run(main()) == b"line\n"


def test_select():
    read, write = os.pipe()
    assert select.select([read], [write], [], 0) == ([], [write], [])
    os.write(write, b"x")
    poll, epoll = select.poll(), select.epoll()
    poll.register(read, select.POLLIN), epoll.register(read, select.EPOLLIN)
    assert poll.poll(0) == [(read, select.POLLIN)] and epoll.poll(0) == [(read, select.EPOLLIN)]


def test_signals():
    seen = []
    signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    os.kill(os.getpid(), signal.SIGUSR1)
    assert seen == [signal.SIGUSR1]
    signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    signal.pause()
    assert seen == [signal.SIGUSR1, signal.SIGALRM]
    refused(KeyboardInterrupt, "", signal.raise_signal, signal.SIGINT)


def python(*args, **kwargs):
    done = subprocess.run([*args], capture_output=True, text=True, **kwargs)
    return done.returncode, done.stdout, done.stderr


def test_program():
    assert python("python3", "-c", "import sys; print(sys.argv)", "a", "-b") == (0, "['-c', 'a', '-b']\n", "")
    assert python("python3", "-", "x", input="import sys; print(sys.argv[1])") == (0, "x\n", "")
    assert python("python3", input="print(6 * 7)") == (0, "42\n", "")
    assert python("python3", "-m", "json.tool", "--compact", input='{"a": [1]}') == (0, '{"a":[1]}\n', "")
    assert python("python", "-c", "raise SystemExit(7)")[0] == 7
    assert python("python3", "-c", "raise SystemExit('words')") == (1, "", "words\n")
    assert python("python3", "/nothing.py")[0] == 2
    assert python("python3", "--version")[1].startswith("Python 3.13")
    assert python("python3", "-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)")[0] == -15


def test_traceback():
    code, out, err = python("python3", "-c", "def f():\n    1 / 0\nf()")
    assert code == 1 and err.startswith("Traceback (most recent call last):") and err.endswith("ZeroDivisionError: division by zero\n")
    assert "<cay." not in err and 'File "<string>", line 2, in f' in err


def test_script():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "script")
        with open(path, "w") as file:
            file.write("#!/usr/bin/env python3\nimport sys, helper\nprint(sys.argv[0], helper.x, __name__)\nsys.exit(4)\n")
        with open(os.path.join(folder, "helper.py"), "w") as file:
            file.write("x = 'found'\n")
        os.chmod(path, 0o755)
        assert python(path) == (4, f"{path} found __main__\n", "")


if __name__ == "__main__":
    each.run(globals())
