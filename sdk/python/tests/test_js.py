"""sandbox.js: sessions of JavaScript."""

import asyncio

import pytest

from cay import PythonFailed, Sandbox
from cay.aio import AsyncSandbox


def test_values_output_and_variables():
    with Sandbox() as sandbox:
        result = sandbox.js.run("console.log('out'); let x = [1, { a: null }]; x")
        assert (result.value, result.repr, result.stdout) == ([1, {"a": None}], "[ 1, { a: null } ]", "out\n")
        assert sandbox.js.run("x.length + await Promise.resolve(1)").value == 3
        with sandbox.js.session("other") as other:
            assert other.run("typeof x").value == "undefined"


def test_errors_and_deadlines():
    with Sandbox() as sandbox:
        failed = sandbox.js.run("let kept = 1;\nnull.y")
        assert (failed.outcome, failed.error.type, failed.error.line) == ("exception", "TypeError", 2)
        with pytest.raises(PythonFailed, match="TypeError"):
            sandbox.js.run("null.y", check=True)
        assert sandbox.js.run("for (;;) ;", timeout_ms=100).end == "time"
        assert sandbox.js.run("kept").value == 1


@pytest.mark.parametrize("wait", ["for (;;);", "await new Promise((done) => setTimeout(done, 60000))", "(() => { try { for (;;); } finally { kept = 3 } })()"])
def test_sigint_without_a_handler_ends_the_cell_alone(wait):
    with Sandbox() as sandbox:
        sandbox.js.run("let kept = 1")
        failed = sandbox.js.run("kept = 2; process.kill(process.pid, 'SIGINT'); " + wait, timeout_ms=20_000)
        assert (failed.outcome, failed.error.type) == ("exception", "Error")
        assert failed.error.message == "Script execution was interrupted by `SIGINT`"
        assert sandbox.js.run("kept").value == 2


def test_a_handler_of_sigint_takes_its_place_until_it_is_removed():
    with Sandbox() as sandbox:
        sandbox.js.run("let came = 0; const note = () => came++; process.on('SIGINT', note)")
        own = "process.kill(process.pid, 'SIGINT'); await new Promise((done) => setTimeout(done, 10)); came"
        assert sandbox.js.run(own).value == 1
        sandbox.js.run("process.off('SIGINT', note)")
        assert sandbox.js.run(own).outcome == "exception"
        assert sandbox.js.run("came").value == 1


def test_callbacks_are_functions():
    with Sandbox(callbacks={"add": lambda a, b: a + b}) as sandbox:
        assert sandbox.js.run("await add({ a: 1, b: 2 })").value == 3


def test_a_copy_speaks_javascript():
    with Sandbox() as sandbox:
        sandbox.js.run("let n = 1; const next = () => n++")
        copy = sandbox.js.fork("copy")
        assert [copy.run("next()").value, copy.run("next()").value, sandbox.js.run("next()").value] == [1, 2, 1]


def test_the_same_from_asyncio():
    async def main():
        async with AsyncSandbox() as sandbox:
            return (await sandbox.js.run("6 * 7")).value

    assert asyncio.run(main()) == 42


def test_typescript_values_and_variables():
    with Sandbox() as sandbox:
        result = sandbox.ts.run("enum E { A = 1, B }\nlet x: number = E.B as number; console.log(E[1]); x")
        assert (result.value, result.stdout) == (2, "A\n")
        assert sandbox.ts.run("const f = <T,>(a: T): T => a; f<number>(x) + 1").value == 3
        assert sandbox.js.run("typeof x").value == "undefined"
        with sandbox.ts.session("other") as other:
            assert other.run("class A { constructor(readonly a: string) { } }; new A('b').a").value == "b"
            assert other.fork("copy").run("new A('c').a as any").value == "c"


def test_typescript_errors_have_the_places_of_the_source():
    with Sandbox() as sandbox:
        failed = sandbox.ts.run("interface A {\n  b: string\n}\nfunction f(a: A): never {\n  throw new TypeError(a.b)\n}\nf({ b: 'c' })")
        assert (failed.error.type, failed.error.message, failed.error.line) == ("TypeError", "c", 5)
        failed = sandbox.ts.run("let a = 1\nlet b: = 2")
        assert (failed.error.type, failed.error.line) == ("SyntaxError", 2)
        assert "a type is expected" in failed.error.message


def test_typescript_imports_typescript():
    with Sandbox(files={"shape.ts": "export interface A { a: 1 }\nexport const area = (r: number): number => r * r"}) as sandbox:
        assert sandbox.ts.run("import { area, type A } from './shape.ts'; area(3)").value == 9
        assert sandbox.ts.run("import * as shape from './shape'; Object.keys(shape)").value == ["area"]
        assert sandbox.js.run("(await import('./shape.ts')).area(2)").value == 4
        assert sandbox.commands.run("echo 'import { area } from \"./shape\"; console.log(area(4) as number)' > m.ts; node m.ts").stdout == "16\n"


def test_nested_code_ends_with_an_error_and_the_session_stays():
    with Sandbox() as sandbox:
        assert sandbox.ts.run("let kept: number = 1").outcome == "value"
        failed = sandbox.ts.run("let a: " + "[" * 200000)
        assert (failed.outcome, failed.error.type) == ("exception", "SyntaxError")
        assert sandbox.ts.run("kept").value == 1


def test_packages_of_commonjs_are_imported_by_main_and_without():
    files = {
        "node_modules/plain/index.js": "module.exports = (t) => t + 1",
        "node_modules/main/package.json": '{ "main": "lib/start" }',
        "node_modules/main/lib/start.js": "exports.named = 2",
        "node_modules/empty/package.json": "{}",
    }
    with Sandbox(files=files) as sandbox:
        assert sandbox.js.run("import plain from 'plain'; import { named } from 'main'; plain(named)").value == 3
        assert sandbox.ts.run("import plain from 'plain'; import { named } from 'main'; plain(named) as number").value == 3
        assert "empty" in sandbox.js.run("await import('empty')").error.message
        assert sandbox.js.run("require('nothing')").error.message == "Module 'nothing' not available in sandbox"
        assert sandbox.js.run("await import('nothing')").error.message == "Module 'nothing' not available in sandbox"
        assert "Cannot find module './nothing'" in sandbox.js.run("require('./nothing')").error.message
        assert "Cannot find package 'nothing'" in sandbox.commands.run("echo \"import 'nothing'\" > a.mjs; node a.mjs").stderr


def test_loops_that_never_end_are_stopped_and_the_session_stays():
    loops = [
        "/^(a+)+$/.test('a'.repeat(40) + 'b')",
        "await new Promise(() => { const f = () => Promise.resolve().then(f); f() })",
        "await new Promise(() => { const f = () => process.nextTick(f); f() })",
        "({ get [Symbol.toStringTag]() { for (;;); } })",
        "const e = new Error('a'); Object.defineProperty(e, 'name', { get() { for (;;); } }); throw e",
    ]
    with Sandbox() as sandbox:
        sandbox.js.run("let kept = 1")
        for loop in loops:
            assert sandbox.js.run(loop, timeout_ms=200).end == "time", loop
            assert sandbox.js.run("kept").value == 1, loop


def test_a_recursion_without_an_end_is_a_range_error():
    with Sandbox() as sandbox:
        assert sandbox.js.run("function f() { f() } try { f() } catch (e) { e instanceof RangeError }").value is True
        assert sandbox.js.run("f()").error.type == "RangeError"
        sandbox.js.run("let deep = []; for (let i = 0; i < 1e6; i++) deep = [deep]")
        for code in ("JSON.stringify(deep)", "String(deep)", "structuredClone(deep)"):
            assert sandbox.js.run(code).error.type == "RangeError", code
        assert sandbox.js.run("JSON.parse('['.repeat(1e6))").error.type == "SyntaxError"
        assert sandbox.js.run("deep").outcome == "value"  # its JSON is left out
        assert sandbox.js.run("deep = null; 6 * 7").value == 42


def test_a_session_at_its_memory_limit_goes_on():
    with Sandbox(memory_limit_bytes=96 << 20) as sandbox:
        sandbox.js.run("let kept = 1, a = []")
        filled = sandbox.js.run("for (;;) a.push(Buffer.alloc(1e5, 1))")
        assert filled.outcome == "exception" and "memory" in filled.error.message, filled
        assert sandbox.js.run("kept").value == 1
        assert sandbox.js.run("a = null; const b = Buffer.alloc(3e7, 1); b.length").value == 30_000_000


def test_timers_go_on_behind_one_that_throws():
    with Sandbox() as sandbox:
        sandbox.js.run("let seen = []; setTimeout(() => { throw new Error('first') }, 1); setTimeout(() => seen.push(2), 2)")
        assert sandbox.js.run("await new Promise((done) => setTimeout(done, 30))").error.message == "first"
        assert sandbox.js.run("await new Promise((done) => setTimeout(done, 30)); seen").value == [2]


def test_hostile_values_do_not_confuse_the_driver():
    values = {
        "({ toJSON() { throw 1 } })": "value",
        "({ [Symbol.for('nodejs.util.inspect.custom')]() { throw new Error('in inspect') } })": "exception",
        "new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 }, getPrototypeOf() { throw 3 } })": "value",
        "({ then(done) { done(5) } })": "value",
        "await ({ get then() { throw new Error('then') } })": "exception",
        "throw new Proxy({}, { get() { throw 1 } })": "exception",
        "throw null": "exception",
        "const e = new Error('a'); Object.defineProperty(e, 'stack', { get() { throw 1 } }); throw e": "exception",
        "Object.prototype.get = 1; Array.prototype.map = null; String.prototype.split = null; [1]": "value",
        "delete globalThis.JSON; delete globalThis.Promise; delete globalThis.Object; 5": "value",
    }
    with Sandbox() as sandbox:
        for code, outcome in values.items():
            assert sandbox.js.run(code).outcome == outcome, code
        assert sandbox.js.run("1 + 1").value == 2


def test_memory_that_runs_out_can_be_caught():
    with Sandbox(memory_limit_bytes=128 << 20) as sandbox:
        result = sandbox.js.run("let a = []; try { for (;;) a.push(new Array(1e5).fill(1)) } catch (e) { a = null; String(e) }")
        assert "out of memory" in result.value
        assert sandbox.js.run("1 + 1").value == 2


def test_fuel_ends_javascript():
    with Sandbox(fuel_limit=200_000_000) as sandbox:
        assert sandbox.js.run("for (;;);").end == "fuel"
        assert sandbox.ts.run("const x: number = 1; x").value == 1
