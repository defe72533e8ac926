import asyncio
import dataclasses
import enum
import inspect
import signal
import subprocess
import threading
import time
import typing
from typing import Any, Dict, List, Literal, Optional, Union

import pytest

import cay
from cay import AsyncSandbox, Callback, PythonFailed, Sandbox, SandboxError, SandboxTimeout, ValueTooLarge
from cay import _binary
from cay.callbacks import describe


def test_value_and_output(sandbox):
    result = sandbox.python.run("print('hi'); x = [1, {'a': 2.5}]\nx")
    assert (result.outcome, result.stdout, result.value, result.repr) == ("value", "hi\n", [1, {"a": 2.5}], "[1, {'a': 2.5}]")
    assert result.ok and result.error is None and result.execution_time_ms > 0


def test_text_has_other_hashes_in_another_session(sandbox):
    code = "[hash(x) for x in ('from outside, number 1', b'from outside, number 2')]"
    own = sandbox.python.run(code).value
    assert sandbox.python.run(code).value == own
    assert all(a != b for a, b in zip(own, sandbox.python.session("other").run(code).value))
    sandbox.python.run("kept = {'from outside, number 1': 1}")
    assert sandbox.python.fork("copy").run("kept['from outside' + ', number 1']").value == 1


def test_variables_stay_and_sessions_share_nothing(sandbox):
    sandbox.python.run("x = 1")
    assert sandbox.python.run("x += 1; x").value == 2
    other = sandbox.python.session("other")
    assert other.run("x").error.type == "NameError"
    other.run("x = 'theirs'")
    assert sandbox.python.run("x").value == 2


def test_an_exception_is_a_result_and_the_session_goes_on(sandbox):
    result = sandbox.python.run("y = 1\n1 / 0\n")
    assert (result.outcome, result.ok) == ("exception", False)
    assert (result.error.type, result.error.message, result.error.line) == ("ZeroDivisionError", "division by zero", 2)
    assert 'line 2, in <module>' in result.error.traceback and "1 / 0" in result.error.traceback
    assert sandbox.python.run("y").value == 1
    with pytest.raises(PythonFailed, match="ZeroDivisionError: division by zero"):
        sandbox.python.run("1 / 0", check=True)


def test_syntax_error(sandbox):
    error = sandbox.python.run("x = = 1").error
    assert error.type == "SyntaxError" and error.line == 1


def test_exit(sandbox):
    result = sandbox.python.run("import sys; sys.exit(3)")
    assert (result.outcome, result.exit_code) == ("exit", 3)
    assert sandbox.python.run("import sys; sys.exit()").ok
    assert sandbox.python.run("1 + 1").value == 2


def test_input(sandbox):
    assert sandbox.python.run("[input(), input()]", stdin="one\nzwö\n").value == ["one", "zwö"]
    assert sandbox.python.run("input()").error.type == "EOFError"


def test_a_timeout_is_an_exception_first(sandbox):
    result = sandbox.python.run("kept = 1\nwhile True: pass", timeout_ms=100)
    assert (result.outcome, result.end, result.undone) == ("stopped", "time", False)
    assert sandbox.python.run("kept").value == 1
    with pytest.raises(SandboxTimeout):
        sandbox.python.run("while True: pass", timeout_ms=50, check=True)


def test_code_that_ignores_the_stop_is_undone(sandbox):
    sandbox.python.run("kept = 1")
    code = "kept = 2\nwhile True:\n  try:\n    while True: pass\n  except BaseException: pass"
    result = sandbox.python.run(code, timeout_ms=100)
    assert (result.end, result.undone) == ("time", True)
    assert sandbox.python.run("kept").value == 1


def test_cancel(sandbox):
    timer = threading.Timer(0.2, sandbox.python.cancel)
    timer.start()
    assert sandbox.python.run("import time; time.sleep(60)").end == "cancelled"
    timer.join()
    assert sandbox.python.cancel() is False


def test_output_as_it_comes(sandbox):
    seen = []
    result = sandbox.python.run("import sys\nfor i in range(3): print(i)\nprint('é', file=sys.stderr)",
                                on_stdout=lambda t: seen.append(t), on_stderr=lambda t: seen.append("!" + t))
    assert seen == ["0\n", "1\n", "2\n", "!é\n"]
    assert (result.stdout, result.stderr) == ("0\n1\n2\n", "é\n")


def test_a_function_that_raises_ends_the_run(sandbox):
    with pytest.raises(KeyError):
        sandbox.python.run("print(1)\nimport time; time.sleep(60)", on_stdout=lambda t: {}["x"])
    assert sandbox.python.run("1").value == 1


def test_trace(sandbox):
    events = []
    sandbox.python.run("def f(a):\n  b = a + 1\n  return b\nf(1)", on_trace=events.append,
                       trace=["line", "call", "return", "locals"])
    f = [e for e in events if e.function == "f"]
    assert [(e.type, e.line) for e in f] == [("call", 1), ("line", 2), ("line", 3), ("return", 3)]
    assert f[0].locals == {"a": "1"} and f[2].locals == {"b": "2"}


def test_files_and_commands_are_the_same_sandbox(sandbox):
    sandbox.files.write("data.txt", "42")
    assert sandbox.python.run("int(open('data.txt').read())").value == 42
    sandbox.python.run("open('out.txt', 'w').write('from python')")
    assert sandbox.commands.run("cat out.txt").stdout == "from python"
    assert sandbox.commands.run("python3 -c 'print(6 * 7)'").stdout == "42\n"
    code = "import subprocess; subprocess.run(['cat', 'data.txt'], capture_output=True, text=True).stdout"
    assert sandbox.python.run(code).value == "42"


def test_state(sandbox):
    sandbox.python.run("def f(x): return x + k\nclass C:\n  v = 3\nk = 4\nobjects = [C(), {1, 2}]")
    state = sandbox.python.save_state()
    sandbox.python.clear_state()
    assert sandbox.python.run("k").error.type == "NameError"
    other = sandbox.python.session("b")
    other.load_state(state)
    assert other.run("f(1) + objects[0].v").value == 8
    with pytest.raises(SandboxError):
        other.load_state(state[:-3])
    with pytest.raises(SandboxError):
        other.load_state(b"nonsense")
    assert other.run("k").value == 4
    other.run("g = (i for i in range(3))")
    with pytest.raises(SandboxError, match="g"):
        other.save_state()


def test_fork_keeps_everything(sandbox):
    sandbox.python.run("g = (i * i for i in range(10)); next(g); next(g); f = lambda: k; k = 5")
    copy = sandbox.python.fork("copy")
    assert copy.run("[next(g), f()]").value == [4, 5]
    assert sandbox.python.run("[next(g), f()]").value == [4, 5]
    copy.run("k = 6")
    assert sandbox.python.run("f()").value == 5
    copy.close()


def test_fork_keeps_what_is_open(sandbox):
    sandbox.files.write("/tmp/f", "one\ntwo\nthree\n")
    sandbox.python.run("import os, socket; f = open('/tmp/f'); f.readline(); r, w = os.pipe(); os.write(w, b'queued')")
    sandbox.python.run("a, b = socket.socketpair(); log = open('/tmp/log', 'a'); log.write('kept ')")
    copy = sandbox.python.fork("files")
    assert copy.run("[f.readline(), os.read(r, 10).decode()]").value == ["two\n", "queued"]
    assert sandbox.python.run("[f.readline(), os.read(r, 10).decode()]").value == ["two\n", "queued"]
    lost = copy.run("a.send(b'x')")
    assert (lost.error.type, lost.error.message) == ("OSError", "[Errno 9] Bad file descriptor")
    copy.run("log.write('by the copy'); log.close(); a.close(); f.close()")
    assert sandbox.files.read("/tmp/log") == b"kept by the copy"
    assert sandbox.python.run("f.read()").value == "three\n"
    copy.close()


def test_callbacks():
    def add(a: int, b: int = 10) -> int:
        "Adds."
        return a + b

    def fail() -> None:
        raise ValueError("not today")

    with Sandbox(callbacks={"math.add": add, "fail": fail, "odd": lambda: object()}) as sandbox:
        assert sandbox.python.run("await math.add(a=1)").value == 11
        assert sandbox.python.run("await math.add(1, 2)").value == 3
        assert sandbox.python.run("import json; json.loads(await invoke('math.add', '{\"a\": 5}'))").value == 15
        names = sandbox.python.run("[c['name'] for c in list_callbacks()]").value
        assert sorted(names) == ["fail", "math.add", "odd"]
        error = sandbox.python.run("await fail()").error
        assert error.type.endswith("CallbackError") and "ValueError: not today" in error.message
        assert "not JSON" in sandbox.python.run("await odd()").error.message
        assert "should be integer" in sandbox.python.run("await math.add(a='x')").error.message
        caught = "try:\n  await fail()\nexcept Exception as e:\n  x = str(e)\nx"
        assert "not today" in sandbox.python.run(caught).value
        sandbox.callbacks.remove("fail")
        assert not sandbox.python.run("await fail()").ok
        sandbox.callbacks.add({"late": lambda: "there"})
        assert sandbox.python.run("await late()").value == "there"


def test_callbacks_at_once():
    def slow(n: int) -> int:
        time.sleep(0.2)
        return n

    async def later(n: int) -> int:
        await asyncio.sleep(0.2)
        return n

    with Sandbox(callbacks={"slow": slow, "later": later}) as sandbox:
        for name in ("slow", "later"):
            result = sandbox.python.run(f"import asyncio\nawait asyncio.gather(*({name}(n=i) for i in range(50)))")
            assert result.value == list(range(50))
            assert result.execution_time_ms < 5000  # one after the other: 10 s


def test_a_callback_that_never_answers_ends_with_the_deadline():
    async def never() -> None:
        await asyncio.sleep(1000)

    with Sandbox(callbacks={"never": never}) as sandbox:
        assert sandbox.python.run("await never()", timeout_ms=200).end == "time"
        assert sandbox.python.run("1").value == 1


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Greedy(dict):
    def items(self):
        raise LookupError("no items")


def deep():
    result = []
    for _ in range(100_000):
        result = [result]
    return result


# What a callback may raise or give, and what the code that awaits it is told.
FAILURES = {
    "exits": (SystemExit(3), "SystemExit: 3"),
    "interrupts": (KeyboardInterrupt(), "KeyboardInterrupt"),
    "closes": (GeneratorExit(), "GeneratorExit"),
    "cancels": (asyncio.CancelledError(), "CancelledError"),
    "other": (BaseException("x"), "BaseException: x"),
    "silent": (Silent(), "Silent"),
    "half": (ValueError("half \ud800"), "ValueError: half"),
    "gives_half": ("half \ud800", "not JSON"),
    "gives_infinity": ([float("inf")], "not JSON"),
    "gives_keys": ({(1, 2): 3}, "not JSON"),
    "gives_depth": (deep(), "not JSON"),
    "gives_greedy": (Greedy(a=1), "not JSON"),
    "gives_too_much": ("x" * (65 << 20), "longer than"),
}


def failing(outcome, is_async):
    def plain():
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async def coroutine():
        return plain()

    return coroutine if is_async else plain


@pytest.mark.parametrize("is_async", [False, True])
def test_a_callback_that_fails_in_any_way_answers(is_async):
    functions = {name: failing(outcome, is_async) for name, (outcome, _) in FAILURES.items()}
    before = signal.signal(signal.SIGINT, lambda *_: None)  # KeyboardInterrupt is then of the function alone
    try:
        with Sandbox(callbacks={**functions, "sound": failing(1, is_async)}) as sandbox:
            for name, (_, expected) in FAILURES.items():
                error = sandbox.python.run(f"await {name}()").error
                assert error is not None and error.type.endswith("CallbackError") and expected in error.message, name
            assert sandbox.python.run("await sound()").value == 1
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_callback_of_an_asyncio_client_that_fails_in_any_way_answers(is_async):
    async def main():
        functions = {name: failing(outcome, is_async) for name, (outcome, _) in FAILURES.items()}
        async with AsyncSandbox(callbacks={**functions, "sound": failing(1, is_async)}) as sandbox:
            for name, (_, expected) in FAILURES.items():
                error = (await sandbox.python.run(f"await {name}()")).error
                assert error is not None and error.type.endswith("CallbackError") and expected in error.message, name
            assert (await sandbox.python.run("await sound()")).value == 1

    before = signal.signal(signal.SIGINT, lambda *_: None)  # KeyboardInterrupt is then of the function alone
    try:
        asyncio.run(main())
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_callback_of_an_event_loop_that_is_closed_answers():
    async def call():
        return 1

    async def make():
        return await AsyncSandbox(callbacks={"call": call}).start()

    sandbox = asyncio.run(make())
    try:
        result = asyncio.run(sandbox.python.run("await call()"))
        assert "Event loop is closed" in result.error.message
    finally:
        asyncio.run(sandbox.kill())


def test_callbacks_with_a_bad_schema_are_refused():
    with pytest.raises(SandboxError, match="dependentRequired"):
        Sandbox(callbacks={"f": Callback(lambda: 1, "", {"dependentRequired": {}})})
    with pytest.raises(TypeError):
        Sandbox(callbacks={"f": 7})


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0


def test_schemas_from_hints():
    def f(a: str, b: Optional[int] = None, c: List[float] = [], d: Dict[str, bool] = {}, e: Literal["x", 1] = "x",
          p: Point = None, q: Union[str, List[int]] = "", col: Color = None, any: Any = None, *, k: int) -> None:
        """First.

        More."""

    told = describe("f", f)
    assert told["description"] == "First.\n\nMore."
    properties = told["parameters"]["properties"]
    assert properties["a"] == {"type": "string"}
    assert properties["b"] == {"type": ["integer", "null"]}
    assert properties["c"] == {"type": "array", "items": {"type": "number"}}
    assert properties["d"] == {"type": "object", "additionalProperties": {"type": "boolean"}}
    assert properties["e"] == {"enum": ["x", 1]}
    assert properties["p"]["required"] == ["x"]
    assert properties["q"] == {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]}
    assert properties["col"] == {"enum": ["red"]}
    assert properties["any"] == {}
    assert told["parameters"]["required"] == ["a", "k"]
    assert "additionalProperties" not in describe("g", lambda **kw: 1)["parameters"]


def test_asyncio():
    async def main():
        async def double(n: int) -> int:
            await asyncio.sleep(0.01)
            return 2 * n

        async with AsyncSandbox(callbacks={"double": double}) as sandbox:
            assert (await sandbox.python.run("await double(n=4)")).value == 8
            seen = []

            async def take(text):
                seen.append(text)

            await sandbox.python.run("print(1)", on_stdout=take)
            assert seen == ["1\n"]
            a, b = sandbox.python.session("a"), sandbox.python.session("b")
            results = await asyncio.gather(a.run("import time; time.sleep(0.1); 1"), b.run("2"))
            assert [r.value for r in results] == [1, 2]
            begun = asyncio.Event()
            running = asyncio.ensure_future(a.run("import time; print('begun'); time.sleep(600)", on_stdout=lambda _: begun.set()))
            await begun.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert (await a.run("5", wait=False)).value == 5
            copy = await b.fork("copy")
            await copy.load_state(await b.save_state())
            await copy.close()

    asyncio.run(main())


def test_a_state_longer_than_a_line_is_loaded(sandbox):
    sandbox.python.run("big = bytes(60_000_000); small = [1, 'two']")
    state = sandbox.python.save_state()
    sandbox.python.close()
    sandbox.python.load_state(memoryview(state))
    assert sandbox.python.run("len(big), small").value == [60_000_000, [1, "two"]]
    with pytest.raises(SandboxError, match="not a saved state"):
        sandbox.python.load_state(b"")
    with pytest.raises(TypeError, match="not str"):
        sandbox.python.load_state("text")


@pytest.mark.parametrize("language", ["python", "js", "ts"])
def test_half_a_surrogate_pair_has_no_json(sandbox, language):
    session = getattr(sandbox, language)
    for code in ("'\\ud800'", "['a', '\\udfff']"):
        result = session.run(code)
        assert result.ok and result.value is None and result.repr, result
    assert session.run("['\U0001f600', '\\\\ud800']").value == ["\U0001f600", "\\ud800"]


def test_outputs_that_a_cell_took_away_are_back_in_the_next(sandbox):
    for code in ("import sys; sys.stdout = None", "del sys.stdout", "sys.stdout = sys.stderr = None", "sys.stdout.close()"):
        assert sandbox.python.run(code).ok
        result = sandbox.python.run("print('out'); print('err', file=sys.stderr)")
        assert (result.stdout, result.stderr) == ("out\n", "err\n"), code
    sandbox.python.run("import io, contextlib; mine = sys.stdout = io.StringIO()")
    sandbox.python.run("print('kept')")
    assert sandbox.python.run("mine.getvalue()").value == "kept\n"
    for code in ("process.stdout.end('bye')", "process.stderr.end()", "process.stdout.destroy()"):
        assert sandbox.js.run(code).ok
        for _ in range(2):
            result = sandbox.js.run("console.log('out'); console.error('err')")
            assert (result.error, result.stdout, result.stderr) == (None, "out\n", "err\n"), code


def test_a_value_that_is_too_large_is_told_from_none(sandbox):
    big = sandbox.python.run("'x' * 2_000_000")
    assert (big.ok, big.value_too_large, big.repr_truncated, len(big.repr)) == (True, True, True, 1 << 20)
    with pytest.raises(ValueTooLarge, match="value_limit_bytes"):
        big.value
    assert "value_too_large=True" in repr(big)
    none = sandbox.python.run("None")
    assert (none.value, none.value_too_large, none.repr_truncated) == (None, False, False)
    whole = sandbox.python.run("'x' * 2_000_000", value_limit_bytes=4 << 20)
    assert (len(whole.value), whole.value_too_large, whole.repr_truncated) == (2_000_000, False, False)
    assert sandbox.python.run("[1, 2, 3]", value_limit_bytes=8).value_too_large
    with pytest.raises(SandboxError, match="^value_limit_bytes: must be from 1 to"):
        sandbox.python.run("1", value_limit_bytes=1 << 30)
    with pytest.raises(SandboxError, match="^display_limit_bytes: must be from"):
        sandbox.python.run("1", display_limit_bytes=1 << 30)


def test_code_that_is_no_unicode_is_a_syntax_error(sandbox):
    result = sandbox.python.run("x = 1\ny = '\ud83d'")
    assert (result.outcome, result.error.type, result.error.line) == ("exception", "SyntaxError", 2)
    assert "surrogates not allowed" in result.error.message
    with pytest.raises(PythonFailed, match="SyntaxError"):
        sandbox.python.run("'\ud83d'", check=True)
    assert sandbox.python.run("'\\ud83d'").repr == "'\\ud83d'"

    async def main():
        async with AsyncSandbox() as other:
            assert (await other.python.run("'\ud83d'")).error.type == "SyntaxError"
            assert (await other.python.run("'x' * 2_000_000")).value_too_large

    asyncio.run(main())


def test_after_a_cancelled_run_the_session_is_free():
    async def main():
        async with AsyncSandbox() as sandbox:
            await sandbox.python.run("kept = 1")
            for code in ("import time; time.sleep(60)", "import asyncio; await asyncio.sleep(60)", "while True: pass"):
                for _ in range(5):
                    with pytest.raises(asyncio.TimeoutError):
                        await asyncio.wait_for(sandbox.python.run(code), 0.05)
                    assert (await sandbox.python.run("kept", wait=False)).value == 1
                    running = asyncio.ensure_future(sandbox.python.run(code))
                    await asyncio.sleep(0)
                    running.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await running
                    assert (await sandbox.python.run("kept", wait=False)).value == 1

    asyncio.run(main())


def test_runs_of_one_session_wait_in_line():
    async def main():
        async with AsyncSandbox() as sandbox:
            await sandbox.python.run("import time; order = []")
            slow = asyncio.ensure_future(sandbox.python.run("time.sleep(0.3); order.append('slow')"))
            await asyncio.sleep(0)
            others = [asyncio.ensure_future(sandbox.python.run(f"order.append({n})")) for n in range(20)]
            await asyncio.sleep(0)
            others[7].cancel()  # it waits: what runs goes on
            with pytest.raises(SandboxError, match="EBUSY"):
                await sandbox.python.run("1", wait=False)
            assert (await slow).ok
            await asyncio.gather(*others, return_exceptions=True)
            state = await sandbox.python.save_state()
            assert (await sandbox.python.run("order")).value == ["slow", *(n for n in range(20) if n != 7)]
            assert state

    asyncio.run(main())


def test_runs_of_several_threads_wait_in_line(sandbox):
    sandbox.python.run("total = 0; import time")
    threads = [threading.Thread(target=sandbox.python.run, args=("n = total; time.sleep(0.001); total = n + 1",))
               for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sandbox.python.run("total").value == 40


def test_a_line_that_is_full_is_busy():
    async def main():
        async with AsyncSandbox() as sandbox:
            runs = [asyncio.ensure_future(sandbox.python.run("import time; time.sleep(0.01)")) for _ in range(100)]
            results = await asyncio.gather(*runs, return_exceptions=True)
            refused = [r for r in results if isinstance(r, SandboxError)]
            assert 0 < len(refused) <= 35 and all(r.errno_name == "EBUSY" for r in refused)

    asyncio.run(main())


@pytest.mark.parametrize("is_async", [False, True])
def test_a_callback_does_not_wait_for_the_session_that_waits_for_it(is_async):
    def plain():
        try:
            return sandbox.python.run("1").value
        except SandboxError as busy:
            return busy.errno_name

    async def coroutine():
        return plain()

    with Sandbox(callbacks={"again": coroutine if is_async else plain}) as sandbox:
        assert sandbox.python.run("await again()").value == "EBUSY"


def test_fuel():
    with Sandbox(fuel_limit=300_000_000) as sandbox:
        sandbox.python.run("x = 1")
        result = sandbox.python.run("x = 2\nwhile True: pass")
        assert (result.outcome, result.end, result.undone) == ("stopped", "fuel", True)
        assert sandbox.python.run("x").value == 1
        done = sandbox.commands.run("while :; do :; done")
        assert (done.end, done.exit_code) == ("fuel", 124)


class Shade(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Spot:
    x: int
    y: float = 0.0


class Options(typing.TypedDict, total=False):
    color: Shade
    points: typing.List[Spot]


def test_callbacks_receive_what_they_are_annotated_with():
    seen = []

    def draw(point: Spot, color: Shade, options: Options, many: typing.Optional[typing.Dict[str, Spot]] = None,
             either: typing.Union[int, Spot, None] = None, pair: typing.Tuple[int, Shade] = (1, Shade.RED)) -> Spot:
        seen.append((point, color, options, many, either, pair))
        return Spot(point.x + 1, 2)

    with Sandbox(callbacks={"draw": draw}) as sandbox:
        result = sandbox.python.run("await draw(point={'x': 1, 'y': 2}, color='red', options={'color': 'blue', 'points': [{'x': 3}]},"
                                    " many={'a': {'x': 4}}, either={'x': 5}, pair=[6, 'blue'])", check=True)
        assert result.value == {"x": 2, "y": 2}
        result = sandbox.python.run("await draw(point={'x': 1}, color='green', options={})")
        assert result.error is not None
    assert seen == [(Spot(1, 2.0), Shade.RED, {"color": Shade.BLUE, "points": [Spot(3)]}, {"a": Spot(4)}, Spot(5),
                     (6, Shade.BLUE))]
    assert type(seen[0][0].y) is float


def test_a_decorator_registers_callbacks():
    with Sandbox() as sandbox:
        @sandbox.callback
        def double(number: int) -> int:
            "Twice the number."
            return 2 * number

        @sandbox.callback(name="say.it", description="Says it.")
        async def something() -> str:
            return "it"

        assert double(4) == 8
        assert sandbox.python.run("await double(number=21), await say.it()").value == [42, "it"]
        listed = sandbox.python.run("{c['name']: c['description'] for c in list_callbacks()}").value
        assert listed == {"double": "Twice the number.", "say.it": "Says it."}


def test_a_decorator_registers_callbacks_for_asyncio():
    async def body():
        made = AsyncSandbox()

        @made.callback
        async def early() -> str:
            return "early"

        async with made as sandbox:
            @sandbox.callback
            def late() -> str:
                return "late"

            assert (await sandbox.python.run("await early(), await late()")).value == ["early", "late"]

    asyncio.run(body())


def test_sessions_end_with_a_block():
    with Sandbox() as sandbox:
        with sandbox.python.session("a") as session:
            session.run("x = 1")
        assert sandbox.python.session("a").run("'x' in globals()").value is False
        with sandbox.python.session("never run"):
            pass
        with sandbox.python.session("b") as session:
            session.run("1")
            session.close()


def test_every_public_name_explains_itself():
    public = {name: getattr(cay, name) for name in cay.__all__}
    for kind in [one for one in public.values() if inspect.isclass(one)]:
        public.update({f"{kind.__name__}.{name}": one for name, one in vars(kind).items() if not name.startswith("_") and (callable(one) or isinstance(one, property))})
    assert len(public) > 100 and [name for name, one in public.items() if not inspect.getdoc(one)] == []


def test_images_start_sessions(tmp_path):
    cay, image = _binary.find(), str(tmp_path / "numbers.image")
    subprocess.run([cay, "image", "build", "-c", "import fractions; fractions.ready = 42", image], check=True, stdout=subprocess.DEVNULL)
    with Sandbox(image=image) as sandbox:
        assert sandbox.python.run("import fractions; fractions.ready").value == 42
        assert sandbox.python.session("other").run("import fractions; fractions.ready").value == 42
    with Sandbox() as sandbox:
        with sandbox.python.session("imaged", image=image) as session:
            assert session.run("import fractions; fractions.ready").value == 42
        assert sandbox.python.run("import fractions; hasattr(fractions, 'ready')").value is False
        with pytest.raises(SandboxError, match="ENOENT"):
            sandbox.python.session("none", image=tmp_path / "nothing")
    with pytest.raises(SandboxError, match="ENOENT"):
        Sandbox(image=tmp_path / "nothing")
    with pytest.raises(SandboxError, match='the image "nonsuch" is not installed: it comes with the package cay-nonsuch'):
        Sandbox(image="nonsuch")
    with Sandbox(image="busybox") as sandbox:
        assert sandbox.commands.run("echo $0; busybox true && ls /usr/bin/bash").stdout == "sh\n"
        with pytest.raises(SandboxError, match="ENOENT: /usr/bin/python3"):
            sandbox.python.run("1")


def test_words_that_make_no_sense_in_a_run(tmp_path):
    with Sandbox() as sandbox:
        with pytest.raises(TypeError, match="code must be a str, not bytes"):
            sandbox.python.run(b"1")
        with pytest.raises(TypeError, match=r"trace=\['line'\]"):
            sandbox.python.run("1", trace="line")
        with pytest.raises(TypeError, match="timeout_ms must be a whole number"):
            sandbox.python.run("1", timeout_ms=float("inf"))
        with pytest.raises(SandboxError, match="^trace_max: must be from"):
            sandbox.python.run("1", trace_max=0)


@pytest.mark.parametrize("language, kind", [("javascript", "js"), ("typescript", "ts")])
def test_images_of_other_languages_start_sessions(tmp_path, language, kind):
    image = str(tmp_path / "an.image")
    code = "globalThis.ready = 42"
    subprocess.run([_binary.find(), "image", "build", "--language", language, "-c", code, image], check=True, stdout=subprocess.DEVNULL)
    with Sandbox() as sandbox:
        with getattr(sandbox, kind).session("imaged", image=image) as session:
            assert session.run("ready").value == 42
    with Sandbox(image=image) as sandbox:
        assert getattr(sandbox, kind).run("ready").value == 42
        assert sandbox.python.run("6 * 7").value == 42

    async def body():
        async with AsyncSandbox() as sandbox:
            session = await getattr(sandbox, kind).open_session("imaged", image)
            assert (await session.run("ready + 1")).value == 43

    asyncio.run(body())
