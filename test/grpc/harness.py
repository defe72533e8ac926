"""harness.py - what the tests of the gRPC server share: a server of one's own, real clients, and running tests.

A test is a function `test_<what_is_true>(t)`; it gets a T with a fresh directory. Its name is the sentence. `t.server(...)`
starts `cay serve --grpc` on a free port of loopback; servers are ended with the test.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

import grpc
from cay import sandbox_pb2 as pb
from cay import sandbox_pb2_grpc as stubs

ROOT = pathlib.Path(__file__).resolve().parents[2]
CAY = os.environ.get("CAY", str(ROOT / "build/src/cli/cay"))
LANGUAGE = os.environ.get("LANGUAGE_UNDER_TEST", "typescript")
LONG = 90  # seconds until a test that hangs is given up
LARGE = [("grpc.max_receive_message_length", 64 << 20), ("grpc.max_send_message_length", 64 << 20)]

PENDING, RUNNING, COMPLETED, FAILED, CANCELLED, TIMEOUT = range(1, 7)
FINAL = {COMPLETED, FAILED, CANCELLED, TIMEOUT}


class Server:
    def __init__(self, folder, *words, address="127.0.0.1:0", database=None, env=None):
        self.errors = open(folder / f"log-{time.monotonic_ns()}", "w+b")
        command = [CAY, "serve", "--grpc", address, "--language", LANGUAGE, "--db", str(database or folder / "grpc.db"), *map(str, words)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, cwd=folder, env={**os.environ, **(env or {})})
        line = self.process.stdout.readline().decode()
        if not line.startswith("listening "):
            self.process.wait(LONG)
            raise AssertionError(f"the server did not begin: {self.log()[-2000:]}")
        self.address = line.split(" ", 1)[1].strip()

    def log(self):
        self.errors.flush()
        return pathlib.Path(self.errors.name).read_text(errors="replace")

    @property
    def port(self):
        return int(self.address.rsplit(":", 1)[1])

    def channel(self, *options, credentials=None):
        options = [*LARGE, ("grpc.use_local_subchannel_pool", 1), *options]
        if credentials is not None:
            return grpc.secure_channel(self.address, credentials, options=options)
        return grpc.insecure_channel(self.address, options=options)

    def stub(self, *options, credentials=None):
        return stubs.SandboxServiceStub(self.channel(*options, credentials=credentials))

    def memory(self):
        """Bytes of this process that are in memory."""
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(LONG)

    def stop(self):
        """SIGTERM, and the exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(LONG)

    def connect(self):
        """A bare socket."""
        s = socket.create_connection(("127.0.0.1", self.port))
        s.settimeout(LONG)
        return s


class T:
    def __init__(self, folder):
        self.dir = pathlib.Path(folder)
        self.servers = []

    def server(self, *words, **keywords):
        self.servers.append(Server(self.dir, *words, **keywords))
        return self.servers[-1]

    def end(self):
        for server in self.servers:
            if server.process.poll() is None:
                server.kill()
            assert b"ERROR: AddressSanitizer" not in server.log().encode() and "runtime error:" not in server.log(), server.log()[-4000:]


def fails(code, part, function):
    """The call ends with this status, and its text has this part."""
    try:
        result = function()
        if hasattr(result, "__next__"):
            result = list(result)
    except grpc.RpcError as e:
        assert e.code() == code and part in e.details(), f"{e.code()}: {e.details()}"
        return e
    raise AssertionError(f"no {code}: {result!r:.300}")


def execute(stub, code, timeout_ms=None, **keywords):
    return stub.Execute(pb.ExecuteRequest(code=code, timeout_ms=timeout_ms), timeout=LONG, **keywords)


def begin(stub, code, timeout_ms=None):
    return stub.ExecuteAsync(pb.ExecuteRequest(code=code, timeout_ms=timeout_ms), timeout=LONG).execution_id


def get(stub, id, wait=False, offset=0):
    return stub.GetExecution(pb.GetExecutionRequest(execution_id=id, wait=wait, output_offset=offset), timeout=LONG)


def until(what, seconds=LONG):
    """Waits for something that others do."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def run_one(function):
    folder = tempfile.mkdtemp(prefix="cay-grpc-")
    t = T(folder)
    try:
        with contextlib.ExitStack() as stack:
            stack.callback(t.end)
            function(t)
        return None
    except BaseException as e:
        if isinstance(e, KeyboardInterrupt):
            raise
        logs = "".join(s.log()[-1500:] for s in t.servers)
        return traceback.format_exc() + logs
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_all(modules, part=""):
    passed = failed = 0
    for module in modules:
        for name, function in sorted(vars(module).items()):
            if not name.startswith("test_") or part not in name:
                continue
            wrong = run_one(function)
            passed, failed = passed + (wrong is None), failed + (wrong is not None)
            print(f"{'ok' if wrong is None else 'FAILED'} {module.__name__}: {name[5:]}", flush=True)
            if wrong is not None:
                print(wrong, flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed != 0
