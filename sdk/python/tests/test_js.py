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
