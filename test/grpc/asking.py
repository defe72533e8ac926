"""ExecuteAsync, GetExecution, CancelExecution, ListExecutions, and what survives a server."""
import time

import grpc
from guest import code
from harness import CANCELLED, COMPLETED, FAILED, FINAL, PENDING, RUNNING, TIMEOUT, begin, execute, fails, get, pb, until

NOT_FOUND = grpc.StatusCode.NOT_FOUND


def listed(stub, **words):
    return stub.ListExecutions(pb.ListExecutionsRequest(**words)).executions


def cancel(stub, id):
    return stub.CancelExecution(pb.CancelExecutionRequest(execution_id=id), timeout=60)


def test_an_execution_goes_on_without_its_client(t):
    server = t.server()
    stub = server.stub()
    r = stub.ExecuteAsync(pb.ExecuteRequest(code=code("sleep", 1)))
    assert r.state in (PENDING, RUNNING) and len(r.execution_id) == 36
    other = server.stub()
    until(lambda: get(other, r.execution_id).output == "begun\n")
    early = get(other, r.execution_id)
    assert early.state == RUNNING and early.output_length == 6 and not early.HasField("result")
    done = get(other, r.execution_id, wait=True)
    assert done.state == COMPLETED and done.output == "begun\ndone\n" and done.result.success and done.result.state == COMPLETED
    assert done.result.execution_time_ms >= 900 and done.result.HasField("cached")


def test_output_from_an_offset_never_cuts_a_character(t):
    stub = t.server().stub()
    id = begin(stub, code("say_text", "a\u20acb"))
    assert get(stub, id, wait=True).output_length == 5
    assert [get(stub, id, offset=o).output for o in (0, 1, 4, 5, 99)] == ["a\u20acb", "\u20acb", "b", "", ""]
    assert [get(stub, id, offset=o).output for o in (2, 3)] == ["\u20acb", "\u20acb"]
    fails(grpc.StatusCode.INVALID_ARGUMENT, "negative", lambda: get(stub, id, offset=-1))


def test_both_streams_are_apart(t):
    stub = t.server().stub()
    r = get(stub, begin(stub, code("both")), wait=True)
    assert (r.output, r.error_output, r.output_length, r.error_output_length) == ("a\nc\n", "b\n", 4, 2)


def test_results_of_failure_and_time(t):
    stub = t.server().stub()
    r = get(stub, begin(stub, code("fail")), wait=True)
    assert r.state == FAILED and "broken" in r.result.error and not r.result.success and r.result.state == FAILED
    r = get(stub, begin(stub, code("endless"), timeout_ms=1000), wait=True)
    assert r.state == TIMEOUT and "1000 ms" in r.result.error


def test_an_unknown_execution_is_not_found(t):
    stub = t.server().stub()
    for id in ("x", "0" * 36, "\u20ac", "a" * 5000):
        fails(NOT_FOUND, "no such execution", lambda: get(stub, id))
        fails(NOT_FOUND, "no such execution", lambda: cancel(stub, id))
    fails(grpc.StatusCode.INVALID_ARGUMENT, "execution_id", lambda: get(stub, ""))
    fails(grpc.StatusCode.INVALID_ARGUMENT, "execution_id", lambda: cancel(stub, ""))


def test_cancelling_tells_the_truth_and_can_be_repeated(t):
    stub = t.server().stub()
    id = begin(stub, code("endless"))
    for _ in range(3):
        r = cancel(stub, id)
        assert r.success and r.state == CANCELLED and not r.HasField("message"), r
    r = get(stub, id)
    assert r.state == CANCELLED and r.result.state == CANCELLED and "cancelled" in r.result.error
    done = begin(stub, code("say"))
    get(stub, done, wait=True)
    r = cancel(stub, done)
    assert not r.success and r.state == COMPLETED and "completed already" in r.message, r


def test_a_stream_can_be_cancelled_by_its_id(t):
    stub = t.server().stub()
    call = stub.ExecuteStream(pb.ExecuteRequest(code=code("sleep", 60)))
    assert cancel(stub, next(call).execution_id).success
    *_, last = call
    assert last.result.state == CANCELLED and not last.result.success


def test_a_stream_that_nobody_reads_can_be_cancelled(t):
    server = t.server()
    call = server.stub(("grpc.http2.lookahead_bytes", 65536), ("grpc.http2.bdp_probe", 0)).ExecuteStream(
        pb.ExecuteRequest(code=code("large", 2000000), timeout_ms=120000))
    id = next(call).execution_id
    time.sleep(0.5)
    assert cancel(server.stub(), id).success
    *_, last = call
    assert last.result.state == CANCELLED


def test_waiting_ends_with_the_deadline_of_the_call(t):
    stub = t.server().stub()
    id = begin(stub, code("sleep", 60))
    fails(grpc.StatusCode.DEADLINE_EXCEEDED, "", lambda: stub.GetExecution(pb.GetExecutionRequest(execution_id=id, wait=True), timeout=0.5))
    assert get(stub, id).state == RUNNING
    for _ in range(50):
        stub.GetExecution.future(pb.GetExecutionRequest(execution_id=id, wait=True)).cancel()
    waiting = [stub.GetExecution.future(pb.GetExecutionRequest(execution_id=id, wait=True)) for _ in range(50)]
    assert cancel(stub, id).success
    assert all(w.result(60).state == CANCELLED for w in waiting)


def test_the_list_has_states_limits_and_ages(t):
    stub = t.server().stub()
    long_code = code("comment", "x" * 300, "y")
    done = begin(stub, long_code)
    get(stub, done, wait=True)
    name = stub.ListCache(pb.ListCacheRequest()).entries[0].name
    execute(stub, code("fail"))
    by_name = stub.ExecuteAsync(pb.ExecuteRequest(cached=name)).execution_id
    get(stub, by_name, wait=True)
    active = begin(stub, code("sleep", 60))
    until(lambda: get(stub, active).state == RUNNING)
    assert [i.execution_id for i in listed(stub)] == [active]
    everything = listed(stub, include_completed_within_ms=600000)
    assert [i.execution_id for i in everything][:2] == [active, by_name] and len(everything) == 4, everything
    assert everything[0].started_at_ms > 0 and not everything[0].HasField("finished_at_ms")
    assert everything[1].is_cached and everything[1].cached_name == name and everything[1].finished_at_ms >= everything[1].started_at_ms
    assert everything[2].state == FAILED and everything[3].code_preview == long_code[:100] and not everything[3].is_cached
    assert [i.state for i in listed(stub, states=[FAILED])] == [FAILED]
    assert {i.state for i in listed(stub, states=[RUNNING, COMPLETED])} == {RUNNING, COMPLETED}
    assert [i.execution_id for i in listed(stub, limit=2, include_completed_within_ms=600000)] == [active, by_name]
    assert len(listed(stub, states=[TIMEOUT])) == 0
    fails(grpc.StatusCode.INVALID_ARGUMENT, "negative", lambda: listed(stub, limit=-1))
    fails(grpc.StatusCode.INVALID_ARGUMENT, "negative", lambda: listed(stub, include_completed_within_ms=-1))


def test_what_has_ended_is_kept_by_number_and_age(t):
    stub = t.server("--keep", 2).stub()
    ids = [begin(stub, code("say")) for _ in range(1)]
    get(stub, ids[0], wait=True)
    for _ in range(3):
        ids.append(begin(stub, code("say")))
        get(stub, ids[-1], wait=True)
    until(lambda: len(listed(stub, include_completed_within_ms=600000)) == 2)
    fails(NOT_FOUND, "", lambda: get(stub, ids[0]))
    assert get(stub, ids[-1]).state == COMPLETED
    young = t.server("--keep-for", "1s", database=t.dir / "young.db").stub()
    id = begin(young, code("say"))
    get(young, id, wait=True)
    time.sleep(1.2)
    get(young, begin(young, code("say")), wait=True)
    until(lambda: len(listed(young, include_completed_within_ms=600000)) == 1)
    fails(NOT_FOUND, "", lambda: get(young, id))


# ---- the end of a server ----


def test_a_killed_server_leaves_the_truth(t):
    server = t.server()
    stub = server.stub()
    done = begin(stub, code("both"))
    before = get(stub, done, wait=True)
    running = begin(stub, code("sleep", 60))
    until(lambda: get(stub, running).state == RUNNING)
    name = stub.ListCache(pb.ListCacheRequest()).entries[0].name
    server.kill()
    stub = t.server().stub()
    assert get(stub, done) == before
    lost = get(stub, running)
    assert lost.state == FAILED and "server ended" in lost.result.error and lost.result.state == FAILED
    assert cancel(stub, running).state == FAILED
    assert stub.Execute(pb.ExecuteRequest(cached=name)).success
    assert {i.execution_id for i in listed(stub, include_completed_within_ms=600000)} >= {done, running}


def test_killed_again_and_again(t):
    known = {}
    for _ in range(4):
        server = t.server("--parallel", 4)
        stub = server.stub()
        for id, state in known.items():
            assert get(stub, id).state == state
        ids = [begin(stub, code("comment", "x", i)) for i in range(30)]
        for id in ids[:10]:
            known[id] = get(stub, id, wait=True).state
            assert known[id] == COMPLETED
        server.kill()
        stub = t.server().stub()
        for id in ids:
            state = get(stub, id).state
            assert state in FINAL and known.setdefault(id, state) == state
        t.servers[-1].kill()


def test_one_database_has_one_server(t):
    t.server()
    try:
        t.server()
    except AssertionError as e:
        assert "another server is using it" in str(e), e
    else:
        raise AssertionError("two servers")


def test_a_file_that_is_no_database_is_refused_and_kept(t):
    (t.dir / "grpc.db").write_bytes(b"my diary, " * 200)
    try:
        t.server()
    except AssertionError as e:
        assert "not a SQLite file" in str(e), e
    assert (t.dir / "grpc.db").read_bytes() == b"my diary, " * 200


def test_sigterm_lets_calls_end(t):
    server = t.server("--drain", "30s")
    stub = server.stub()
    execution = begin(stub, code("sleep", 3))
    call = stub.Execute.future(pb.ExecuteRequest(code=code("sleep", 2)), timeout=60)
    until(lambda: len(listed(stub)) == 2)
    server.process.terminate()
    time.sleep(0.5)
    try:
        server.connect()
        raise AssertionError("it still listens")
    except OSError:
        pass
    assert call.result().output == "begun\ndone\n"
    assert server.process.wait(60) == 0
    assert get(t.server().stub(), execution).state == COMPLETED


def test_sigterm_does_not_wait_for_ever(t):
    server = t.server("--drain", "1s")
    stub = server.stub()
    execution = begin(stub, code("endless"), timeout_ms=120000)
    call = stub.Execute.future(pb.ExecuteRequest(code=code("endless"), timeout_ms=120000), timeout=80)
    until(lambda: len([i for i in listed(stub) if i.state == RUNNING]) == 2)
    assert server.stop() == 0
    fails(grpc.StatusCode.UNAVAILABLE, "", call.result)
    assert get(t.server().stub(), execution).state in (CANCELLED, FAILED)
