"""Top-level await, and callbacks."""

from driver import *


def test_await_works_at_the_top_level(d):
    assert d.value("import asyncio\nx = await asyncio.sleep(0, 5)\nx + 1") == "6"
    assert d.value("await asyncio.sleep(0.001, 7)") == "7"
    assert d.value("[await asyncio.sleep(0, i) for i in range(3)]") == "[0, 1, 2]"
    assert (
        d.value(
            "async def g():\n    yield 1\n    yield 2\n\nout = []\nasync for v in g(): out.append(v)\nout"
        )
        == "[1, 2]"
    )
    assert d.value("async with asyncio.timeout(1): y = 3\ny") == "3"


def test_the_loop_is_one_and_tasks_go_on_in_the_next_cell_that_awaits(d):
    d.ok(
        "import asyncio\nlog = []\nasync def work():\n    for i in range(3):\n        await asyncio.sleep(0)\n        log.append(i)\n"
    )
    d.ok(
        "loop = asyncio.get_event_loop_policy() and (await asyncio.sleep(0)) or asyncio.get_running_loop() if False else None"
    )
    d.ok(
        "async def current(): return asyncio.get_running_loop()\none = await current()\ntask = asyncio.create_task(work())"
    )
    assert d.value("await asyncio.sleep(0.01)\nlog") == "[0, 1, 2]"
    assert d.value("(await current()) is one") == "True"


def test_gather_and_wait_for_and_cancel(d):
    assert (
        d.value("import asyncio\nawait asyncio.gather(*[asyncio.sleep(0.001, i) for i in range(5)])")
        == "[0, 1, 2, 3, 4]"
    )
    d.fails("await asyncio.wait_for(asyncio.sleep(5), 0.01)", "TimeoutError")
    assert (
        d.value(
            "t = asyncio.create_task(asyncio.sleep(5))\nawait asyncio.sleep(0)\nt.cancel()\ntry:\n    await t\nexcept asyncio.CancelledError:\n    r = 'cancelled'\nr"
        )
        == "'cancelled'"
    )


def test_tracebacks_of_awaiting_code_have_the_users_frames(d):
    d.ok("import asyncio\nasync def f():\n    await asyncio.sleep(0.001)\n    return 1 / 0")
    reply = d.fails(
        "1\nawait f()",
        "ZeroDivisionError",
        'File "<cell 2>", line 2, in <module>',
        'File "<cell 1>", line 4, in f',
    )
    assert "asyncio" not in reply.traceback.replace("asyncio.sleep", "") and "<cay" not in reply.traceback, (
        reply.traceback
    )
    assert reply.number(LINE) == 2
    reply = (
        d.fails("asyncio.get_running_loop()\nawait f()", "RuntimeError")
        if False
        else d.fails("raise KeyError(await asyncio.sleep(0, 1))", "KeyError")
    )
    assert "<cay" not in reply.traceback


def test_exits_and_interrupts_pass_through_the_loop(d):
    assert d.run("import asyncio\nawait asyncio.sleep(0.001)\nraise SystemExit(4)").number(EXIT) == 4
    assert d.run("await asyncio.sleep(0)\nexit(5)").number(EXIT) == 5
    reply = d.run("await asyncio.sleep(0.001)\nraise KeyboardInterrupt")
    assert reply.type == "KeyboardInterrupt" and "<cay" not in reply.traceback, reply
    assert d.value("await asyncio.sleep(0, 1)") == "1"


def test_context_variables_are_shared_by_cells(d):
    d.ok("import contextvars, asyncio\nv = contextvars.ContextVar('v')\nv.set(1)\nNone")
    assert d.value("await asyncio.sleep(0.001)\nv.set(v.get() + 1)\nv.get()") == "2"
    assert d.value("v.get()") == "2"


def test_asyncio_run_works_in_a_cell_that_does_not_await(d):
    assert d.value("import asyncio\nasyncio.run(asyncio.sleep(0.001, 5))") == "5"
    assert d.value("await asyncio.sleep(0.001, 6)") == "6"


def test_subprocesses_and_signals_work_in_the_loop(d):
    assert (
        d.value(
            "import asyncio, signal, os\nhits = []\nloop = asyncio.get_running_loop() if False else None\nasync def f():\n    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, hits.append, 1)\n    os.kill(os.getpid(), signal.SIGUSR1)\n    await asyncio.sleep(0.01)\n    return hits\nawait f()"
        )
        == "[1]"
    )


def test_a_callback_that_answers_at_once_needs_no_loop(d):
    assert d.value("""await invoke('echo', '{"a": 1}')""") == "'{\"a\": 1}'"
    assert d.value("await invoke('echo', {'a': [1, None]})") == "{'a': [1, None]}"
    assert d.value("await invoke('echo')") == "'{}'"
    assert d.value("await invoke('echo', a=1, b=[None])") == "{'a': 1, 'b': [None]}"
    assert (
        d.value("c = invoke('echo')\ntry:\n    c.send(None)\nexcept StopIteration as e:\n    r = e.value\nr")
        == "'{}'"
    )


def test_errors_of_callbacks_are_exceptions(d):
    d.fails("await invoke('fail')", "cay.CallbackError", 'File "<cell 1>", line 1', "it failed")
    d.fails("await invoke('absent')", "cay.CallbackError", "no callback named 'absent'")
    d.fails("await invoke('later')", "cay.CallbackError", "too late")
    d.fails("invoke(5)", "TypeError")
    d.fails("invoke('echo', {}, a=1)", "TypeError", "invoke('name', a=1)")
    d.fails("invoke('echo', a={1, 2})", "TypeError")
    d.fails("invoke('echo', {1, 2})", "TypeError")
    d.fails("x = invoke('echo')\nawait x\nawait x", "RuntimeError", "already awaited")
    assert (
        d.value(
            "from cay import CallbackError\ntry:\n    await invoke('fail')\nexcept CallbackError as e:\n    r = str(e)\nr"
        )
        == "'it failed'"
    )


def test_callbacks_that_wait_overlap(d):
    code = "import asyncio, time\nt = time.monotonic()\nr = await asyncio.gather(*[invoke('sleep', '{\"ms\": 300}') for _ in range(10)])\n(set(r), time.monotonic() - t < 2)"
    assert d.value(code) == "({'\"slept\"'}, True)"


def test_callbacks_are_tasks_and_can_be_cancelled(d):
    assert d.value("import asyncio\nt = asyncio.create_task(invoke('sleep'))\nawait t") == "'\"slept\"'"
    d.fails("await asyncio.wait_for(invoke('never'), 0.05)", "TimeoutError")
    assert d.value("await asyncio.sleep(0.01, 'on')") == "'on'"
    assert (
        d.value("t = asyncio.create_task(invoke('never'))\nawait asyncio.sleep(0.01)\nt.cancel()") == "True"
    )
    assert d.value("await asyncio.sleep(0.01)\nt.cancelled()") == "True"


def test_callbacks_work_in_other_loops_and_without_one(d):
    assert (
        d.value(
            "import asyncio\nasync def f(): return await asyncio.gather(invoke('sleep'), invoke('echo'))\nasyncio.run(f())"
        )
        == "['\"slept\"', '{}']"
    )
    assert (
        d.value("try:\n    invoke('sleep').send(None)\nexcept StopIteration as e:\n    r = e.value\nr")
        == "'\"slept\"'"
    )
    d.fails("async def g(): await asyncio.wait_for(invoke('never'), 0.05)\nasyncio.run(g())", "TimeoutError")


def test_a_long_answer_is_read_at_once(d):
    assert d.value("len(await invoke('long'))") == "100002"


def test_output_comes_before_the_question(d):
    assert d.ok("print('before', end='')\nawait invoke('sleep')\nprint(' after')").out == "before after\n"


def test_callbacks_are_functions(d):
    d.grant(
        "echo",
        math__echo={
            "description": "Echoes.",
            "parameters": {
                "type": "object",
                "required": ["text"],
                "properties": {
                    "text": {"type": "string", "description": "what to say"},
                    "count": {"type": "integer", "default": 1},
                },
            },
        },
    )
    assert d.value("await math.echo('hi', count=2)") == "{'text': 'hi', 'count': 2}"
    assert d.value("await echo(a=1)") == "{'a': 1}"
    assert d.value("import inspect; str(inspect.signature(math.echo))") == "'(text: str, count: int = 1)'"
    assert "what to say" in d.value("math.echo.__doc__")
    assert "Echoes." in d.ok("help(math.echo)").out
    d.fails("math.echo('a', 'b', 'c')", "TypeError", "at most 2")
    d.fails("math.echo('a', text='b')", "TypeError", "multiple values")
    d.fails("math.echo({1})", "TypeError", "'text' cannot be written as JSON")
    assert d.value("sorted(n for n in globals() if not n.startswith('__'))") == "['inspect']"
    assert d.value("[c['name'] for c in list_callbacks()]") == "['echo', 'math.echo']"


def test_callbacks_come_and_go(d):
    d.grant("echo", "print", "class", "get-it", "a", "a.b")
    assert (
        d.value("await echo(), callable(class_), callable(get_it), repr(print)")
        == "({}, True, True, '<built-in function print>')"
    )
    assert d.value("callable(a), repr(a), repr(a.b)") == "(True, '<callbacks b>', '<callback a.b>')"
    d.grant("fail")
    d.fails("echo", "NameError")
    d.fails("await fail()", "cay.CallbackError")


def test_answers_that_are_no_json_are_errors(d):
    d.grant("raw")
    d.fails("await raw(a='{')", "json.decoder.JSONDecodeError")
    d.fails("await raw(a='[1] 2')", "json.decoder.JSONDecodeError", "Extra data")
    d.fails("await raw(a='')", "json.decoder.JSONDecodeError")
    assert d.value("await raw(a=' [1, {}] ')") == "[1, {}]"


def test_subprocesses_can_be_awaited(d):
    d.ok(
        "import asyncio\nasync def run(code):\n"
        "    p = await asyncio.create_subprocess_shell(code, stdin=-1, stdout=-1)\n"
        "    return (await p.communicate(b'hello'))[0], p.returncode"
    )
    assert d.value("await run('cat; exit 3')") == "(b'hello', 3)"
    assert d.value("await asyncio.gather(run('cat'), run('true'))") == "[(b'hello', 0), (b'', 0)]"
    assert d.value("asyncio.run(run('cat; exit 4'))") == "(b'hello', 4)"
    assert d.value("await run('kill -9 $$')") == "(b'', -9)"


def test_descriptors_that_are_gone_do_not_keep_the_loop_busy(d):
    d.ok(
        "import asyncio, os, time\nr, w = os.pipe()\nasync def f(): asyncio.get_running_loop().add_reader(r, print)\nawait f()"
    )
    d.ok(
        "os.close(r)\nbefore = time.process_time()\nawait asyncio.sleep(0.3)\nassert time.process_time() - before < 0.2"
    )
    d.ok("t = asyncio.create_task(invoke('never'))\nawait asyncio.sleep(0.01)\nos.closerange(3, 20)")
    d.fails("await t", "OSError", "Bad file descriptor")
