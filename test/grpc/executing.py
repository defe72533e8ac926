"""Execute, ExecuteStream, the cache."""
import concurrent.futures
import threading
import time

import grpc
from guest import SUFFIX, code
from harness import COMPLETED, CANCELLED, FAILED, RUNNING, TIMEOUT, begin, execute, fails, get, pb, until

INVALID = grpc.StatusCode.INVALID_ARGUMENT


def test_output_and_cache_entry_of_new_code(t):
    stub = t.server().stub()
    now = time.time() * 1000
    r = execute(stub, code("comment", "Greets the whole world", "hi"))
    assert r.success and r.output == "hi\n" and not r.HasField("error"), r
    assert r.HasField("cached") and r.cached.name.startswith("greets-the-whole-world-") and r.cached.name.endswith(SUFFIX), r
    assert r.cached.description == "Greets the whole world" and len(r.cached.content_hash) == 64
    assert abs(r.cached.created_at_ms - now) < 60000
    again = execute(stub, code("comment", "Greets the whole world", "hi"))
    assert again.success and not again.HasField("cached"), again


def test_both_streams_are_the_output_in_order(t):
    r = execute(t.server().stub(), code("both"))
    assert r.output == "a\nb\nc\n", r


def test_failing_code_is_no_error_of_the_call(t):
    stub = t.server().stub()
    r = execute(stub, code("fail"))
    assert not r.success and "broken" in r.error and r.output == "before\n" and not r.HasField("cached"), r
    r = execute(stub, code("syntax"))
    assert not r.success and "Syntax" in r.error, r
    r = execute(stub, code("exit", 3))
    assert not r.success and "3" in r.error, r
    assert execute(stub, code("exit", 0)).success


def test_nothing_to_run_is_invalid(t):
    stub = t.server("--code-max", 1000).stub()
    fails(INVALID, "code or cached", lambda: stub.Execute(pb.ExecuteRequest()))
    fails(INVALID, "empty", lambda: stub.Execute(pb.ExecuteRequest(code="")))
    fails(INVALID, "empty", lambda: stub.Execute(pb.ExecuteRequest(cached="")))
    fails(INVALID, "at most 1000", lambda: stub.Execute(pb.ExecuteRequest(code="#" * 1001)))
    fails(INVALID, "code or cached", lambda: stub.ExecuteStream(pb.ExecuteRequest()))
    fails(INVALID, "code or cached", lambda: stub.ExecuteAsync(pb.ExecuteRequest()))


def test_time_limits_are_clamped(t):
    stub = t.server().stub()
    r = execute(stub, code("endless"), timeout_ms=1)
    assert not r.success and "1000 ms" in r.error and 900 <= r.execution_time_ms < 20000, r
    assert execute(stub, code("say"), timeout_ms=-5).success
    assert execute(stub, code("say"), timeout_ms=2**31 - 1).success


def test_each_execution_has_a_sandbox_of_its_own(t):
    stub = t.server().stub()
    assert execute(stub, code("leave")).success
    r = execute(stub, code("find"))
    assert r.output == "False False\n", r


def test_a_sandbox_without_memory_fails_alone(t):
    stub = t.server("--memory", "64M").stub()
    r = execute(stub, code("memory"))
    assert not r.success and r.error, r
    assert execute(stub, code("say")).output == "hello\n"


def test_a_sandbox_without_processor_time_fails_alone(t):
    stub = t.server("--cpu", "1s").stub()
    r = execute(stub, code("endless"), timeout_ms=100000)
    assert not r.success and "processor" in r.error, r
    assert execute(stub, code("say")).output == "hello\n"


def test_bytes_that_are_no_text_become_question_marks(t):
    stub = t.server().stub()
    r = execute(stub, code("bytes", "a\xffb\xe2\x82"))
    assert r.success and r.output in ("a?b??", "a\ufffdb\ufffd"), r
    r = execute(stub, code("say_text", "a\x00b\u20ac"))
    assert r.output == "a\x00b\u20ac", r


def test_output_is_kept_up_to_its_limit(t):
    stub = t.server("--output-max", "10000").stub()
    r = execute(stub, code("large", 100))
    assert r.success and len(r.output) == 10000, len(r.output)
    whole = "".join(c.output for c in stub.ExecuteStream(pb.ExecuteRequest(code=code("large", 100))))
    assert len(whole) == 100000


def test_messages_of_four_megabytes(t):
    stub = t.server("--code-max", "6M", "--output-max", "6M").stub()
    text = "x" * (4 << 20)
    r = execute(stub, code("say_text", text))
    assert r.success and r.output == text
    zipped = execute(stub, code("say_text", text + "y"), compression=grpc.Compression.Gzip)
    assert zipped.output == text + "y"
    fails(grpc.StatusCode.RESOURCE_EXHAUSTED, "at most 8388608", lambda: execute(stub, "#" * (9 << 20)))


def test_cached_code_runs_by_name_and_by_part(t):
    stub = t.server().stub()
    name = execute(stub, code("comment", "List the pods", "pods")).cached.name
    execute(stub, code("comment", "Count nodes", "nodes"))

    def by(name):
        return stub.Execute(pb.ExecuteRequest(cached=name))

    assert by(name).output == "pods\n" and not by(name).HasField("cached")
    assert by("LIST-the").output == "pods\n" and by("count").output == "nodes\n"
    newest = execute(stub, code("comment", "List the pods again", "again")).cached.name
    assert by("pods").output == "again\n" and by(name).output == "pods\n" and newest != name
    e = fails(grpc.StatusCode.NOT_FOUND, "near it", lambda: by("count-nods"))
    assert "count-nodes" in e.details()
    stub.ClearCache(pb.ClearCacheRequest())
    fails(grpc.StatusCode.NOT_FOUND, "empty", lambda: by(name))


def test_the_list_of_the_cache(t):
    stub = t.server().stub()
    names = [execute(stub, code("comment", what, what)).cached.name for what in ("list pods", "list nodes", "drop pods")]

    def listed(filter=None):
        return [e.name for e in stub.ListCache(pb.ListCacheRequest(filter=filter)).entries]

    assert listed() == names[::-1] == listed("") == listed("*")
    assert listed("list-*") == [names[1], names[0]] and listed("PODS") == [names[2], names[0]]
    assert listed("*-pods-??????" + SUFFIX) == [names[2], names[0]] and listed("list") == [names[1], names[0]]
    assert listed("pods-*") == [] and listed("%") == [] and listed("nowhere") == []
    fails(INVALID, "256", lambda: stub.ListCache(pb.ListCacheRequest(filter="*a" * 200)))
    assert stub.ClearCache(pb.ClearCacheRequest()).deleted_count == 3
    assert stub.ClearCache(pb.ClearCacheRequest()).deleted_count == 0 and listed() == []


def test_names_come_from_what_the_code_defines(t):
    stub = t.server().stub()
    entry = execute(stub, code("define", "sumOfParts", "sumOfParts")).cached
    assert entry.name.startswith("sum-of-parts-") and "sumOfParts" in entry.description, entry


def test_the_cache_is_limited(t):
    stub = t.server("--cache-max", 3).stub()
    for i in range(5):
        execute(stub, code("comment", f"number {'abcde'[i]}", i))
    names = [e.name for e in stub.ListCache(pb.ListCacheRequest()).entries]
    assert [n[:8] for n in names] == ["number-e", "number-d", "number-c"], names


# ---- streams ----


def test_a_stream_has_one_id_and_ends_with_the_result(t):
    stub = t.server().stub()
    chunks = list(stub.ExecuteStream(pb.ExecuteRequest(code=code("both"))))
    assert len({c.execution_id for c in chunks}) == 1 and len(chunks[0].execution_id) == 36
    assert [c.WhichOneof("chunk") for c in chunks] == ["output", "error_output", "output", "result"], chunks
    assert [c.timestamp_ms for c in chunks] == sorted(c.timestamp_ms for c in chunks) and chunks[0].timestamp_ms > 0
    result = chunks[-1].result
    assert result.success and result.state == COMPLETED and result.HasField("cached") and not result.HasField("error")
    *_, last = stub.ExecuteStream(pb.ExecuteRequest(code=code("fail")))
    assert not last.result.success and last.result.state == FAILED and "broken" in last.result.error
    *_, last = stub.ExecuteStream(pb.ExecuteRequest(code=code("endless"), timeout_ms=1000))
    assert last.result.state == TIMEOUT


def test_output_comes_while_it_runs(t):
    stub = t.server().stub()
    call = stub.ExecuteStream(pb.ExecuteRequest(code=code("sleep", 60)))
    first = next(call)
    assert first.output == "begun\n" and get(stub, first.execution_id).state == RUNNING
    call.cancel()


def test_a_cancelled_stream_ends_the_guest(t):
    stub = t.server().stub()
    call = stub.ExecuteStream(pb.ExecuteRequest(code=code("sleep", 60)))
    id = next(call).execution_id
    call.cancel()
    until(lambda: get(stub, id).state == CANCELLED)


def test_an_expired_call_ends_the_guest(t):
    stub = t.server().stub()
    call = stub.ExecuteStream(pb.ExecuteRequest(code=code("sleep", 60)), timeout=3)
    id = next(call).execution_id
    fails(grpc.StatusCode.DEADLINE_EXCEEDED, "", lambda: list(call))
    until(lambda: get(stub, id).state == CANCELLED)
    fails(grpc.StatusCode.DEADLINE_EXCEEDED, "", lambda: stub.Execute(pb.ExecuteRequest(code=code("endless")), timeout=0.5))
    until(lambda: not stub.ListExecutions(pb.ListExecutionsRequest()).executions)


def test_a_dead_client_ends_its_guests(t):
    server = t.server()
    stub, channel = server.stub(), server.channel()
    from harness import stubs
    other = stubs.SandboxServiceStub(channel)
    call = other.ExecuteStream(pb.ExecuteRequest(code=code("sleep", 60)))
    id = next(call).execution_id
    channel.close()
    until(lambda: get(stub, id).state == CANCELLED)


def test_a_slow_reader_slows_the_guest_and_not_the_memory(t):
    server = t.server()
    stub = server.stub(("grpc.http2.lookahead_bytes", 65536), ("grpc.http2.bdp_probe", 0))
    execute(stub, code("say"))
    before = server.memory()
    call = stub.ExecuteStream(pb.ExecuteRequest(code=code("large", 200000), timeout_ms=60000))
    first = next(call)
    time.sleep(2)
    assert get(server.stub(), first.execution_id).state == RUNNING
    assert server.memory() - before < 96 << 20, server.memory() - before
    length = len(first.output) + sum(len(c.output) for c in call if c.WhichOneof("chunk") == "output")
    assert length == 200000 * 1000, length


def test_the_time_limit_holds_for_a_reader_that_never_reads(t):
    server = t.server()
    stub = server.stub(("grpc.http2.lookahead_bytes", 65536), ("grpc.http2.bdp_probe", 0))
    call = stub.ExecuteStream(pb.ExecuteRequest(code=code("large", 2000000), timeout_ms=2000))
    id = next(call).execution_id
    assert get(server.stub(), id, wait=True).state == TIMEOUT
    *_, last = call
    assert last.result.state == TIMEOUT


# ---- many ----


def test_a_thousand_streams_at_once(t):
    server = t.server("--parallel", 8)
    stub = server.stub()
    calls = [stub.Execute.future(pb.ExecuteRequest(code=code("say"), timeout_ms=60000), timeout=80) for _ in range(1000)]
    assert all(c.result().output == "hello\n" for c in calls)


def test_many_connections(t):
    server = t.server()

    def one(i):
        with server.channel() as channel:
            from harness import stubs
            return execute(stubs.SandboxServiceStub(channel), code("comment", "x", i)).output

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert list(pool.map(one, range(64))) == [f"{i}\n" for i in range(64)]


def test_the_queue_is_limited_and_pending_is_real(t):
    stub = t.server("--parallel", 1, "--queue", 2).stub()
    running = begin(stub, code("sleep", 30))
    until(lambda: get(stub, running).state == RUNNING)
    waiting = [begin(stub, code("say")) for _ in range(2)]
    assert [get(stub, id).state for id in waiting] == [1, 1]
    fails(grpc.StatusCode.RESOURCE_EXHAUSTED, "queue is full", lambda: begin(stub, code("say")))
    fails(grpc.StatusCode.RESOURCE_EXHAUSTED, "queue is full", lambda: execute(stub, code("say")))
    r = stub.CancelExecution(pb.CancelExecutionRequest(execution_id=waiting[0]))
    assert r.success and r.state == CANCELLED
    assert begin(stub, code("say"))
    stub.CancelExecution(pb.CancelExecutionRequest(execution_id=running))
    assert get(stub, waiting[1], wait=True).state == COMPLETED


def test_clients_take_turns(t):
    server = t.server("--parallel", 1)
    greedy, modest = server.stub(), server.stub()
    first = begin(greedy, code("sleep", 2))
    until(lambda: get(greedy, first).state == RUNNING)
    many = [begin(greedy, code("say")) for _ in range(20)]
    one = begin(modest, code("say"))
    assert get(modest, one, wait=True).state == COMPLETED
    [get(greedy, id, wait=True) for id in many]
    infos = {i.execution_id: i for i in greedy.ListExecutions(pb.ListExecutionsRequest(include_completed_within_ms=600000)).executions}
    later = sum(infos[id].finished_at_ms >= infos[one].started_at_ms for id in many)
    assert later >= 18, later
