"""life.py - how servers live and end: clients that die, that do not read, many at once, much data."""
import base64
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
CAY = os.environ.get("CAY", str(ROOT / "cay"))
PATIENCE = 600  # seconds; a machine may be busy


class Server:
    """A server, one call at a time."""

    def __init__(self, **keywords):
        self.process = subprocess.Popen([CAY, "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, **keywords)
        self.last = 0

    def send(self, method, **params):
        self.last += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return self.last

    def hear(self):
        return json.loads(self.process.stdout.readline())

    def call(self, method, **params):
        number = self.send(method, **params)
        reply = self.hear()
        assert reply["id"] == number, reply
        assert "result" in reply, reply
        return reply["result"]

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        assert self.process.wait(PATIENCE) == 0
        self.process.stdout.close()

    def peak_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def wait_until(what, *arguments):
    end = time.monotonic() + PATIENCE
    while not what(*arguments):
        assert time.monotonic() < end, f"waited {PATIENCE} s for {what.__name__}"
        time.sleep(0.01)


def is_gone(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def client(code, **keywords):
    """A Python process that starts a server, prints its pid, and goes on with `code`."""
    start = ("import subprocess, sys, time, os\n"
             f"s = subprocess.Popen([{CAY!r}, 'serve', '--stdio'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
             "def say(m, p='{}'):\n"
             "    s.stdin.write(b'{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}\\n' % (m.encode(), p.encode()))\n"
             "    s.stdin.flush()\n"
             "say('create'); s.stdout.readline()\n")
    process = subprocess.Popen([sys.executable, "-c", start + code], stdout=subprocess.PIPE, text=True, **keywords)
    return process, int(process.stdout.readline())


def kill_and_expect_the_end(process, server):
    process.kill()
    process.wait()
    process.stdout.close()
    wait_until(is_gone, server)


def test_a_client_killed_while_a_command_computes_leaves_nothing():
    kill_and_expect_the_end(*client(
        "say('run', '{\"command\":\"while :; do :; done\"}'); print(s.pid, flush=True); time.sleep(1000)"))


def test_a_client_killed_while_a_command_sleeps_leaves_nothing():
    kill_and_expect_the_end(*client(
        "say('run', '{\"command\":\"sleep 1000 | sleep 1000\"}'); print(s.pid, flush=True); time.sleep(1000)"))


def test_a_client_killed_that_never_read_its_output_leaves_nothing():
    kill_and_expect_the_end(*client(
        "say('run', '{\"command\":\"yes\",\"stream\":true}'); s.stdout.readline(); print(s.pid, flush=True); time.sleep(1000)"))


def test_the_parents_death_ends_it_though_another_holds_its_input():
    process, server = client(
        "heir = os.fork()\n"
        "if heir == 0: time.sleep(1000)\n"
        "say('run', '{\"command\":\"yes\",\"stream\":true}')\n"
        "open('heir', 'w').write(str(heir)); print(s.pid, flush=True); time.sleep(1000)", cwd=(d := tempfile.mkdtemp()))
    heir = int(pathlib.Path(d, "heir").read_text())
    try:
        process.kill()
        process.wait()
        wait_until(is_gone, server)
        assert not is_gone(heir)
    finally:
        os.kill(heir, signal.SIGKILL)
        process.stdout.close()


def test_after_the_end_of_input_a_client_that_closes_its_output_ends_it():
    s = Server()
    s.call("create")
    s.send("run", command="yes", stream=True, timeoutMs=3_600_000)
    s.process.stdout.readline()
    s.process.stdin.close()
    s.process.stdout.close()
    assert s.process.wait(PATIENCE) == 0


def test_end_of_input_finishes_what_was_asked():
    requests = [("create", {}), ("run", {"command": "read -t 600 x; echo $?; sleep 0.2; echo done", "inputOpen": True}),
                ("run", {"command": "sleep 0.2; echo $(seq 3)", "stream": True, "window": 1}),
                ("python.eval", {"code": "import time; time.sleep(0.2); 6 * 7"})]
    text = "".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": m, "params": p}) + "\n" for i, (m, p) in enumerate(requests))
    s = subprocess.run([CAY, "serve", "--stdio"], input=text.encode(), capture_output=True, timeout=PATIENCE)
    lines = [json.loads(line) for line in s.stdout.splitlines()]
    results = {line["id"]: line["result"] for line in lines if "id" in line}
    streamed = "".join(line["params"]["data"] for line in lines if line.get("method") == "run.output")
    assert s.returncode == 0, s
    assert results[1]["stdout"] == "1\ndone\n", results
    assert results[2]["exitCode"] == 0 and streamed == "1 2 3\n", (results, streamed)
    assert results[3]["value"] == 42, results


def test_a_callback_without_a_client_fails():
    requests = [("create", {}), ("callbacks.set", {"callbacks": [{"name": "ask"}]}),
                ("python.eval", {"code": "import time; time.sleep(0.2)\ntry: await ask()\nexcept Exception as e: print('failed')"})]
    text = "".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": m, "params": p}) + "\n" for i, (m, p) in enumerate(requests))
    s = subprocess.run([CAY, "serve", "--stdio"], input=text.encode(), capture_output=True, timeout=PATIENCE)
    assert json.loads(s.stdout.splitlines()[-1])["result"]["stdout"] == "failed\n", s


def test_a_closed_output_ends_it():
    s = Server()
    s.call("create")
    s.process.stdout.close()
    try:
        s.send("usage")
        s.send("usage")
    except BrokenPipeError:
        pass
    assert s.process.wait(PATIENCE) == 0
    try:
        s.process.stdin.close()
    except BrokenPipeError:
        pass


def test_a_process_of_a_workspace_is_written_to_streamed_and_ended():
    s = Server()
    s.call("workspace.open")
    handle = s.call("workspace.provision", manifest={})["handle"]
    spawned = s.send("workspace.spawn", handle=handle, command="while read x; do echo got $x; done; exit 3", inputOpen=True, stream=True)
    process = s.hear()["result"]["process"]
    s.send("workspace.input", process=process, data=base64.b64encode(b"one\n").decode())
    lines = [s.hear(), s.hear()]
    output = next(line for line in lines if "method" in line)
    assert output["params"] == {"id": spawned, "stream": "stdout", "data": "got one\n"}, lines
    waiting = s.send("workspace.wait", process=process, timeoutMs=1)
    reply = s.hear()
    assert reply["id"] == waiting and reply["error"]["message"].startswith("Timeout: "), reply
    assert s.call("workspace.input", process=process, end=True) == {"ok": True}
    ended = s.call("workspace.wait", process=process)
    assert (ended["exitCode"], ended["stdout"]) == (3, "got one\n"), ended
    assert s.call("workspace.forget", process=process) == {"ok": True}
    s.send("workspace.wait", process=process)
    assert s.hear()["error"]["message"].startswith("InvalidRequest: there is no process"), process
    other = s.call("workspace.spawn", handle=handle, command="sleep 1000")["process"]
    s.call("workspace.kill", process=other)
    assert s.call("workspace.wait", process=other)["exitCode"] == 124
    third = s.call("workspace.spawn", handle=handle, command="sleep 1000")["process"]
    s.call("workspace.signal", process=third, signal=9)
    assert s.call("workspace.wait", process=third)["exitCode"] == 137
    left = s.call("workspace.spawn", handle=handle, command="sleep 1000", stream=True)["process"]
    s.call("workspace.stop", handle=handle)
    s.send("workspace.wait", process=left)
    assert s.hear()["error"]["message"].startswith("SessionNotFound: "), left
    s.end()


def test_output_of_a_workspace_comes_as_it_is_written():
    s = Server()
    s.call("workspace.open")
    handle = s.call("workspace.provision", manifest={})["handle"]
    id = s.send("workspace.exec", handle=handle, command="printf '\\303'; sleep 0.05; printf '\\244\\n'; echo e >&2", stream=True)
    data = {"stdout": "", "stderr": ""}
    while True:
        line = s.hear()
        if "method" not in line:
            break
        assert line["method"] == "workspace.output" and line["params"]["id"] == id, line
        data[line["params"]["stream"]] += line["params"]["data"]
    assert data == {"stdout": "ä\n", "stderr": "e\n"}, data
    assert line["result"]["stdout"] == "ä\n", line
    s.end()


def test_a_copy_on_write_mount_is_listed_patched_and_applied():
    place = pathlib.Path(tempfile.mkdtemp())
    (place / "a").write_text("one\n")
    (place / "b").write_text("b\n")
    s = Server()
    s.call("create")
    assert s.call("mount", hostPath=str(place), path="/w", copyOnWrite=True) == {"ok": True}
    s.call("run", command="cd /w && echo two > a && rm b && echo n > n")
    assert s.call("mount.changes", path="/w")["changes"] == [
        {"path": "a", "kind": "changed", "contents": True, "hostChanged": False},
        {"path": "b", "kind": "removed", "contents": True, "hostChanged": False},
        {"path": "n", "kind": "added", "contents": True, "hostChanged": False}]
    assert "-one\n+two\n" in s.call("mount.patch", path="/w")["patch"]
    assert s.call("mount.apply", path="/w", only=["a", "n"]) == {"applied": 2}
    assert (place / "a").read_text() == "two\n" and (place / "b").exists()
    (place / "b").write_text("by the host\n")
    s.send("mount.apply", path="/w")
    assert s.hear()["error"]["message"].startswith("EEXIST: b was changed on the host"), place
    s.send("mount.changes", path="/tmp")
    assert s.hear()["error"]["message"].startswith("ENOENT: "), place
    s.end()


def test_two_hundred_servers_at_once():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    servers = [Server() for _ in range(200)]
    for s in servers:
        s.send("create")
    for number, s in enumerate(servers):
        assert s.hear()["result"] == {"ok": True}
        s.send("run", command=f"echo {number} | tr 0-9 a-j")
    for number, s in enumerate(servers):
        want = str(number).translate(str.maketrans("0123456789", "abcdefghij")) + "\n"
        reply = s.hear()
        assert reply["result"]["stdout"] == want, reply
    for s in servers:
        s.end()


def test_ten_thousand_small_files():
    s = Server()
    s.call("create")
    for i in range(10000):
        s.call("files.write", path=f"/tmp/{i % 100}/{i}", data=base64.b64encode(b"%d" % i).decode())
    for i in range(10000):
        assert base64.b64decode(s.call("files.read", path=f"/tmp/{i % 100}/{i}")["data"]) == b"%d" % i
    assert len(s.call("files.list", path="/tmp", recursive=True)["entries"]) == 10100
    assert s.peak_mib() < 300, s.peak_mib()
    s.end()


def test_a_hundred_megabytes_each_way_in_parts():
    size, part = 100 << 20, 1 << 20
    s = Server()
    s.call("create")
    block = os.urandom(part)
    data = base64.b64encode(block).decode()
    before = s.peak_mib()
    for _ in range(size // part):
        s.call("files.write", path="/tmp/big", data=data, append=True)
    assert s.call("files.stat", path="/tmp/big")["size"] == size
    for i in range(size // part):
        got = s.call("files.read", path="/tmp/big", offset=i * part, length=part)["data"]
        assert got == data
    grown = s.peak_mib() - before
    assert grown < 160, f"{grown:.0f} MiB beside the 100 of the file"
    s.end()


def test_much_output_in_a_stream_is_never_held():
    s = Server()
    s.call("create")
    number = s.send("run", command="yes 0123456789abcde | head -c 100000000", stream=True, timeoutMs=600000)
    total = 0
    while (reply := s.hear()).get("id") != number:
        total += len(reply["params"]["data"])
    assert total == 100000000 and reply["result"]["exitCode"] == 0, (total, reply)
    assert s.peak_mib() < 150, s.peak_mib()
    s.end()


def test_many_commands_in_one_sandbox_leave_nothing_behind():
    s = Server()
    s.call("create")
    for _ in range(50):
        s.call("run", command="true")
    before = s.peak_mib()
    for i in range(500):
        assert s.call("run", command=f"echo {i} | cat")["stdout"] == f"{i}\n"
    assert s.peak_mib() - before < 20, (before, s.peak_mib())
    assert s.call("usage")["memoryBytes"] == 0
    s.end()


def test_nothing_but_replies_is_written():
    s = subprocess.run([CAY, "serve", "--stdio", "--log-level", "debug"], input=b'{"jsonrpc":"2.0","id":1,"method":"kill"}\n',
                       capture_output=True, timeout=PATIENCE)
    assert s.stdout == b'{"jsonrpc":"2.0","id":1,"result":{"ok":true}}\n', s.stdout
    assert b"debug" in s.stderr, s.stderr


def test_words_that_are_wrong_are_told():
    for words in ([], ["--stdio", "--line-max", "1"], ["--stdio", "--log-level", "loud"], ["--stdio", "more"], ["--port"]):
        s = subprocess.run([CAY, "serve", *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        assert s.returncode == 2 and s.stderr and not s.stdout, (words, s)


class Screen:
    """A command on a terminal of a server, driven by its output."""

    def __init__(self, command, **params):
        self.server, self.shown, self.reply = Server(), "", None
        self.server.call("create")
        self.id = self.server.send("run", command=command, stream=True, inputOpen=True, **params)

    def hear(self):
        line = self.server.hear()
        if line.get("method") == "run.output":
            assert line["params"]["stream"] == "stdout", line
            self.shown += line["params"]["data"]
        elif line["id"] == self.id:
            self.reply = line["result"]
        else:
            return line["result"]
        return None

    def call(self, method, **params):
        self.server.send(method, id=self.id, **params)
        while (result := self.hear()) is None:
            pass
        return result

    def type(self, text):
        assert self.call("run.input", data=text) == {"ok": True, "taken": len(text), "running": True}

    def until(self, text):
        while text not in self.shown:
            assert self.reply is None, (text, self.shown)
            self.hear()
        self.shown = self.shown.partition(text)[2]

    def end(self):
        while self.reply is None:
            self.hear()
        self.server.end()
        return self.reply["exitCode"]


def test_a_shell_on_a_terminal_is_typed_to_interrupted_and_resized():
    s = Screen("exec bash", tty={"rows": 5, "cols": 60})
    s.until("$ ")
    s.type("stty size; tty\n")
    s.until("5 60\r\n/dev/pts/0\r\n")
    s.type("echo com''puting; while :; do :; done\n")
    s.until("computing\r\n")
    s.type("\x03")
    s.until("^C")
    s.until("$ ")  # before it, a resize and typed keys together make bash lose a key, natively too
    assert s.call("run.resize", rows=7, cols=80) == {"ok": True, "running": True}
    s.type("stty size\n")
    s.until("7 80\r\n")
    s.type("sh -c 'echo sleep''ing; exec sleep 1000'\n")  # in the foreground once it says so
    s.until("sleeping\r\n")
    s.type("\x1a")
    s.until("Stopped")
    s.type("exit 6\nexit 6\n")
    assert s.end() == 6


def test_unread_terminal_input_is_refused():
    s = Screen("stty -echo raw; echo ready; sleep 1000", tty={})
    s.until("ready")
    taken = 0
    while (result := s.call("run.input", data="x" * 10000))["taken"] == 10000:
        taken += 10000
    assert result["running"] and 60000 < taken + result["taken"] < 80000, (taken, result)
    assert s.call("run.cancel") == {"ok": True, "cancelled": True}
    while s.reply is None:
        s.hear()
    assert s.reply["end"] == "cancelled"
    assert s.call("run.input", data="x") == {"ok": True, "taken": 0, "running": False}
    assert s.call("run.resize", rows=1, cols=1) == {"ok": True, "running": False}
    s.server.end()


def test_a_host_without_room_for_a_program_is_enforcer_unavailable():
    """Address space is taken away from the server, as `ulimit -v` does it."""
    server = Server(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)))
    server.call("workspace.open")
    handle = server.call("workspace.provision", manifest={})["handle"]
    server.send("workspace.exec", handle=handle, command="true")
    message = server.hear()["error"]["message"]
    assert message.startswith("EnforcerUnavailable: /usr/bin/bash cannot be started: "), message
    server.end()


def test_a_damaged_shell_is_enforcer_failed():
    """Both its compiled code and its module are cut, as by a disk that was full."""
    with tempfile.TemporaryDirectory() as folder:
        guests = pathlib.Path(os.environ.get("CAY_GUESTS", pathlib.Path(CAY).resolve().parents[2] / "guest"))
        for path in guests.iterdir():
            (pathlib.Path(folder) / path.name).symlink_to(path.resolve())
        for name in ("bash.wasm", "bash.cwasm"):
            (pathlib.Path(folder) / name).unlink()
            (pathlib.Path(folder) / name).write_bytes((guests / name).read_bytes()[:100_000])
        server = Server(env={**os.environ, "CAY_GUESTS": folder})
        server.call("workspace.open")
        handle = server.call("workspace.provision", manifest={})["handle"]
        server.send("workspace.exec", handle=handle, command="true")
        message = server.hear()["error"]["message"]
        assert message.startswith("EnforcerFailed: "), message
        server.end()


def test_missing_guests_are_backend_unavailable():
    server = Server(env={**os.environ, "CAY_GUESTS": "/nowhere"})
    server.send("workspace.open")
    message = server.hear()["error"]["message"]
    assert message.startswith("BackendUnavailable: ") and "/nowhere" in message, message
    server.end()
