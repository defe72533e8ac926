"""Tools: modules that are made here, byte by byte, because a user of the package has no compiler for them."""
import asyncio
import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from cay import AsyncTools, SandboxDied, SandboxError, ToolFailed, Tools


def section(number, content):
    return bytes([number, len(content)]) + content


def export(name, kind, index):
    return bytes([len(name)]) + name.encode() + bytes([kind, index])


def body(code):
    return bytes([len(code) + 2, 0]) + code + b"\x0b"


def module(code):
    return b"\0asm\1\0\0\0" + section(1, b"\x03\x60\1\x7f\1\x7f\x60\2\x7f\x7f\0\x60\2\x7f\x7f\1\x7e") + \
        section(3, b"\3\0\1\2") + section(5, b"\1\0\2") + \
        section(7, b"\4" + export("memory", 2, 0) + export("alloc", 0, 0) + export("dealloc", 0, 1) + export("execute", 0, 2)) + \
        section(10, b"\3" + body(b"\x41\x80\x08") + body(b"") + body(code))


# alloc gives 1024; dealloc does nothing; execute gives its input back: pointer << 32 | length.
MIRROR = module(b"\x20\0\xad\x42\x20\x86\x20\1\xad\x84")
LOOP = module(b"\x03\x40\x0c\0\x0b\0")  # execute never ends


def ask(capability, **args):
    return {"status": "capability_call", "abi_version": 1, "capability_call": {"name": capability, "args": args}}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "wasm").mkdir()
    (tmp_path / "wasm/todo_tool.wasm").write_bytes(MIRROR)
    (tmp_path / "wasm/reminders_tool.wasm").write_bytes(MIRROR)
    return tmp_path


def test_a_tool_is_called_with_json(place):
    with Tools(dir=place) as tools:
        assert tools.call("todo", {"a": [1, "ä\n"]}) == {"a": [1, "ä\n"]}
        assert tools.call("todo") == {}


def test_stored_rows_are_there_next_time(place):
    for _ in range(2):
        with Tools(dir=place, database=place / "t.db", user="me") as tools:
            tools.call("todo", ask("kv.sqlite.todo.create", title="milk"))
            answer = tools.call("todo", ask("kv.sqlite.todo.list"))
    assert [one["title"] for one in answer["capability_result"]["result"]["items"]] == ["milk", "milk"]


def test_failures_are_exceptions_with_the_code(place):
    with Tools(dir=place) as tools:
        with pytest.raises(ToolFailed, match="forbidden") as caught:
            tools.call("todo", ask("log.emit", event="x"))
        assert caught.value.tool_code == "forbidden" and caught.value.result["code"] == "forbidden"
        with pytest.raises(ToolFailed) as caught:
            tools.call("nothing")
        assert caught.value.tool_code == "module_not_found"
        with pytest.raises(SandboxError):
            tools.call("../x")


def test_a_configuration_is_a_mapping_or_a_file(place):
    config = {"tools": {"settings": {"sandbox": {"tools": {"todo": {"capabilities": {"allow": ["clock.now_unix"]}}}}}}}
    (place / "cay.json").write_text(json.dumps(config))
    for given in (config, place / "cay.json"):
        with Tools(given, dir=place) as tools:
            assert tools.call("todo", ask("clock.now_unix"))["capability_result"]["result"]["unix"] > 1700000000
            assert [(one.name, one.allow) for one in tools.list()] == [
                ("reminders", ["kv.sqlite.reminders.*"]), ("todo", ["clock.now_unix"])]
    with pytest.raises(SandboxError, match="tools.settings.sandbox: must be an object"):
        Tools({"tools": {"settings": {"sandbox": 1}}})


def test_due_entry_is_given_once(place):
    with Tools(dir=place, database=place / "t.db", user="me") as tools:
        tools.call("reminders", ask("kv.sqlite.reminders.create", title="tea", due_at=1000))
        events = tools.due()
        assert [(one.kind, one.name, one.user_id, one.due_at) for one in events] == [("reminder", "tea", "me", 1000)]
        assert tools.due() == []


def test_bytes_are_checked(place):
    with Tools() as tools:
        assert tools.check(MIRROR) is None
        assert tools.check(MIRROR, "handle").startswith("module_no_entrypoint: ")
        assert tools.check(b"").startswith("module_not_wasm: ")


def test_threads_call_at_once(place, leaves_nothing):
    with Tools(dir=place) as tools, ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda n: tools.call("todo", {"n": n})["n"], range(200))) == list(range(200))


LONG = {"tools": {"settings": {"sandbox": {"tools": {"loop": {"wasm": {"timeout_ms": 600000}}}}}}}


def codes(log):
    return [json.loads(line)["code"] for line in log.read_text().splitlines()]


def wait_for(condition):
    until = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_ctrl_c_ends_a_call(place):
    (place / "wasm/loop_tool.wasm").write_bytes(LOOP)
    with Tools(LONG, dir=place, audit=place / "a.log") as tools:
        timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            tools.call("loop")
        timer.join()
        wait_for(lambda: codes(place / "a.log") == ["cancelled"])
        assert tools.call("todo", {"a": 1}) == {"a": 1}


# ---- asyncio ----

def test_a_task_that_is_cancelled_ends_its_call(place):
    (place / "wasm/loop_tool.wasm").write_bytes(LOOP)

    async def body():
        async with AsyncTools(LONG, dir=place, audit=place / "a.log") as tools:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(tools.call("loop"), 0.3)
            wait_for(lambda: codes(place / "a.log") == ["cancelled"])
            assert await tools.call("todo", {"a": 1}) == {"a": 1}
    asyncio.run(body())


def test_closing_does_not_wait_for_calls(place):
    (place / "wasm/loop_tool.wasm").write_bytes(LOOP)
    tools = Tools(LONG, dir=place, audit=place / "a.log")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(tools.call, "loop")
        time.sleep(0.3)
        tools.close()
        assert tools._link.channel.process.returncode == 0  # no force was needed
        with pytest.raises((ToolFailed, SandboxDied)):
            running.result()
    assert codes(place / "a.log") == ["cancelled"]


def test_the_same_surface_for_asyncio(place):
    async def body():
        config = {"tools": {"settings": {"sandbox": {"tools": {"todo": {"capabilities": {"allow": ["clock.now_unix"]}}}}}}}
        async with AsyncTools(config, dir=place, database=place / "t.db", audit=place / "a.log", user="me") as tools:
            assert await tools.call("todo", {"a": 1}) == {"a": 1}
            assert (await tools.call("todo", ask("clock.now_unix")))["capability_result"]["result"]["unix"] > 1700000000
            with pytest.raises(ToolFailed, match="forbidden") as caught:
                await tools.call("todo", ask("log.emit", event="x"))
            assert caught.value.tool_code == "forbidden"
            assert [one.name for one in await tools.list()] == ["reminders", "todo"]
            assert await tools.check(MIRROR) is None
            assert (await tools.check(b"")).startswith("module_not_wasm: ")
            await tools.call("reminders", ask("kv.sqlite.reminders.create", title="tea", due_at=1000))
            assert [(one.kind, one.name) for one in await tools.due()] == [("reminder", "tea")]
        await tools.close()
        with pytest.raises(SandboxDied):
            await tools.call("todo")
    asyncio.run(body())
    assert '"forbidden"' in (place / "a.log").read_text()


def test_gathered_calls_run_at_once(place):
    async def body():
        tools = await AsyncTools(dir=place)
        answers = await asyncio.gather(*(tools.call("todo", {"n": n}) for n in range(200)))
        assert [one["n"] for one in answers] == list(range(200))
        await tools.close()
    asyncio.run(body())


def test_asyncio_says_what_is_wrong_at_the_start(place):
    async def body():
        tools = AsyncTools(dir=place)
        with pytest.raises(SandboxDied, match="not started"):
            await tools.list()
        assert repr(tools) == "<cay.AsyncTools not started>"
        with pytest.raises(SandboxError, match="tools.settings.sandbox: must be an object"):
            await AsyncTools({"tools": {"settings": {"sandbox": 1}}})
    asyncio.run(body())
