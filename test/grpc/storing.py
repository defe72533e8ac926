"""What the store keeps when the disk is full, and when the server dies at any of its writes."""
import contextlib
import os
import pathlib
import resource
import subprocess

import grpc
from guest import code
from harness import COMPLETED, FAILED, FINAL, begin, execute, get, pb

HERE = pathlib.Path(__file__).resolve().parent


def preload(t):
    """The library that ends the server at a write."""
    library = t.dir / "dies.so"
    subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-shared", "-fPIC", "-O1", str(HERE / "dies.c"), "-o", str(library), "-ldl"], check=True)
    return str(library)


def work(stub, told):
    """Until the server is gone: its last words are noted."""
    with contextlib.suppress(grpc.RpcError):
        for i in range(6):
            r = execute(stub, code("comment", "cached code", i))
            told["cached"].append((r.cached.name, r.output))
            id = begin(stub, code("say_text", f"output {i}"))
            told["begun"].append(id)
            told["ended"][id] = get(stub, id, wait=True)
        told["cleared"] = stub.ClearCache(pb.ClearCacheRequest()).deleted_count
        told["over"] = True


def check(stub, told):
    for id, before in told["ended"].items():
        assert get(stub, id) == before, (get(stub, id), before)
    for id in told["begun"]:
        assert get(stub, id).state in FINAL
    names = {e.name for e in stub.ListCache(pb.ListCacheRequest()).entries}
    if "cleared" not in told and names:  # it may have died between the clearing and its answer
        assert names >= {name for name, _ in told["cached"]}, (names, told["cached"])
        for name, output in told["cached"]:
            assert stub.Execute(pb.ExecuteRequest(cached=name)).output == output


def test_a_server_killed_at_any_write_leaves_what_it_told(t):
    library, count = preload(t), t.dir / "count"
    server = t.server(database=t.dir / "count.db", env={"LD_PRELOAD": library, "DIES_AT": "-1", "DIES_COUNT": str(count)})
    work(server.stub(), {"cached": [], "begun": [], "ended": {}})
    assert server.stop() == 0
    total = int(count.read_text())
    assert total > 40, total
    runs = range(1, total, max(1, total // 40))
    died = 0
    for at in runs:
        told = {"cached": [], "begun": [], "ended": {}}
        database = t.dir / f"{at}.db"
        try:
            work(t.server(database=database, env={"LD_PRELOAD": library, "DIES_AT": str(at)}).stub(), told)
        except AssertionError as e:
            assert "did not begin" in str(e), e
        process = t.servers[-1].process if t.servers else None
        died += "over" not in told
        if process is not None and process.poll() is None:
            process.kill()
            process.wait()
        server = t.server(database=database)
        check(server.stub(), told)
        server.kill()
        t.servers.clear()
    assert died > len(runs) // 2, (died, len(runs))


def test_a_full_disk_is_an_error_of_the_call_and_no_end(t):
    server = t.server("--cache-max", 100000)
    stub = server.stub()
    kept = begin(stub, code("say"))
    before = get(stub, kept, wait=True)
    assert before.state == COMPLETED
    # A write beyond this size fails, as one to a full disk does.
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (256 * 1024, resource.RLIM_INFINITY))
    refused = 0
    for i in range(40):
        try:
            id = begin(stub, code("say_text", "x" * 20000))
            assert get(stub, id, wait=True).state == COMPLETED
        except grpc.RpcError as e:
            assert e.code() in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INTERNAL), e
            refused += 1
    assert refused > 0
    assert execute(stub, code("comment", "not cached", 1)).output == "1\n"  # needs no store
    assert get(stub, kept) == before and server.process.poll() is None
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    later = begin(stub, code("say"))
    assert get(stub, later, wait=True).state == COMPLETED
    server.kill()
    stub = t.server().stub()
    assert get(stub, kept) == before and get(stub, later).state == COMPLETED
    assert not [i for i in stub.ListExecutions(pb.ListExecutionsRequest(states=[FAILED])).executions if i.state != FAILED]
