"""cay.service against a server of its own, over grpcio where it is installed."""
import os
import subprocess
import sys
import time

import pytest

from cay import SandboxError

# The messages alone need no grpcio.
from cay._proto import decode, encode
from cay.service import CacheEntry, Chunk, Executed, Service, ServiceError, State, _Execute, _List


def test_messages_are_what_protoc_makes():
    assert encode(_Execute("a", None, 5)) == b"\x0a\x01a\x18\x05"
    assert encode(_Execute(None, "b", -1)) == b"\x12\x01b\x18" + b"\xff" * 9 + b"\x01"
    assert encode(_List((1, 2), 3, 300)) == b"\x08\x01\x08\x02\x10\x03\x18\xac\x02"
    entry = decode(Executed, b"\x08\x01\x12\x02hi\x20\x07\x2a\x05\x0a\x03abc\x78\x01\x82\x01\x01x")
    assert entry == Executed(True, "hi", None, 7, CacheEntry("abc"))
    assert decode(Chunk, b"\x12\x00") == Chunk(output="")
    for cut in (b"\x0a", b"\x0a\x05x", b"\x08", b"\x0b", b"\x08" + b"\xff" * 10):
        with pytest.raises(ValueError):
            decode(Chunk, cut)


def test_without_grpcio_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(SandboxError, match="pip install grpcio"):
        Service()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    pytest.importorskip("grpc")
    if os.environ.get("CAY_ISOLATION") == "library":
        pytest.skip("the server is a program")
    folder = tmp_path_factory.mktemp("service")
    (folder / "tokens").write_text("me:0123456789abcdef\n")
    (folder / "tokens").chmod(0o600)
    program = os.environ.get("CAY_SERVICE") or pytest.skip("no CAY_SERVICE, a `cay` that has the service")
    process = subprocess.Popen([program, "serve", "--grpc", "127.0.0.1:0", "--db", str(folder / "db"), "--parallel", "1", "--queue", "1",
                                "--tokens", str(folder / "tokens")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    yield process.stdout.readline().decode().split()[1]
    process.terminate()
    assert process.wait(60) == 0
    process.stdout.close()


@pytest.fixture
def service(server):
    with Service(server, token="0123456789abcdef", timeout=60) as service:
        yield service


def test_all_methods(service):
    assert service.health().healthy
    first = service.execute("// Adds numbers\nconsole.log(6 * 7); console.error('e')")
    assert first.success and first.output == "42\ne\n" and first.error is None and first.cached.name.startswith("adds-numbers-")
    assert service.execute(cached="ADDS").cached is None and [e.name for e in service.cache("adds-*")] == [first.cached.name]
    chunks = list(service.stream("console.log('a'); console.error('b')"))
    assert [(c.output, c.error_output) for c in chunks[:-1]] == [("a\n", None), (None, "b\n")]
    assert chunks[-1].result.success and chunks[-1].result.state == State.COMPLETED
    id = service.start("console.log('\u20ac'); throw new Error('broken')")
    done = service.get(id, wait=True)
    assert done.state == State.FAILED and "broken" in done.result.error and done.output_length == 4
    assert service.get(id, output_offset=3).output == "\n"
    assert [e.execution_id for e in service.executions([State.FAILED])] == [id]
    tests = service.test("const { test } = require('uvu'); test('one', () => {}); test.run()", code="1")
    assert tests.success and tests.summary.passed == 1 and tests.tests[0].name == "one"
    assert service.clear_cache() >= 2 and service.cache() == ()


def test_failures_have_the_status_of_grpc(server, service):
    with pytest.raises(ServiceError, match="NOT_FOUND") as caught:
        service.get("x")
    assert caught.value.status == "NOT_FOUND"
    with pytest.raises(ServiceError, match="INVALID_ARGUMENT"):
        service.execute()
    with Service(server) as stranger, pytest.raises(ServiceError, match="UNAUTHENTICATED"):
        stranger.health()
    with pytest.raises(ServiceError, match="UNAUTHENTICATED"):
        list(Service(server).stream("1"))
    running = service.start("for (;;);")
    while service.get(running).state == State.PENDING:  # it waits in the queue, too, until a worker has taken it
        time.sleep(0.01)
    waiting = service.start("1")
    with pytest.raises(ServiceError, match="RESOURCE_EXHAUSTED"):
        for _ in range(3):
            service.start("1")
    assert service.cancel(running).state == State.CANCELLED and service.cancel(running).success
    assert service.get(waiting, wait=True).state == State.COMPLETED
    late = service.cancel(waiting)
    assert not late.success and "completed" in late.message
