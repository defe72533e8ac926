"""Executing cells: values, errors, input and output."""

import struct

from driver import *


def test_the_value_of_the_last_expression_is_given_as_repr_and_json(d):
    cases = {
        "1 + 1": ("2", "2"),
        "x = 5\nx * 2": ("10", "10"),
        "'a\\n\\u00e9\"'": ("'a\\né\"'", '"a\\né\\""'),
        "1.5": ("1.5", "1.5"),
        "True": ("True", "true"),
        "[1, 2.0, 'x', None]": ("[1, 2.0, 'x', None]", '[1, 2.0, "x", null]'),
        "{'a': (1, 2)}": ("{'a': (1, 2)}", '{"a": [1, 2]}'),
        "10 ** 30": ("1" + "0" * 30, "1" + "0" * 30),
        "float('nan')": ("nan", None),
        "{1: 2}": ("{1: 2}", None),
        "{1, 2}": ("{1, 2}", None),
        "'\\ud800'": ("'\\ud800'", '"\\ud800"'),
        "x = 3": (None, None),
        "None": (None, None),
        "": (None, None),
        "# nothing": (None, None),
        "def f(): pass": (None, None),
        "a = []; a.append(a); a": ("[[...]]", None),
    }
    for code, (shown, json) in cases.items():
        reply = d.ok(code)
        assert (reply.repr, reply.json) == (shown, json), (code, reply)


def test_json_is_given_only_when_it_is_wanted(d):
    assert d.ok("1", 0).json is None


def test_variables_persist_and_the_namespace_holds_nothing_else(d):
    d.ok("x = 1")
    d.ok("x += 1")
    assert d.value("x") == "2"
    assert d.value("sorted(n for n in globals() if not n.startswith('__'))") == "['x']"
    assert d.value("__name__") == "'__main__'"


def test_lines_of_a_traceback_are_the_users(d):
    d.ok("def f(n):\n    return 1 / n\n")
    reply = d.fails("a = 1\nf(0)\n", "ZeroDivisionError")
    assert reply.traceback == (
        "Traceback (most recent call last):\n"
        '  File "<cell 2>", line 2, in <module>\n    f(0)\n    ~^^^\n'
        '  File "<cell 1>", line 2, in f\n    return 1 / n\n           ~~^~~\n'
        "ZeroDivisionError: division by zero\n"
    ), reply.traceback
    assert reply.error == "division by zero" and reply.number(LINE) == 2
    assert d.value("1") == "1"


def test_a_syntax_error_shows_its_text_with_a_caret(d):
    reply = d.fails(
        "x = 1\ny = (1 +\nz", "SyntaxError", '  File "<cell 1>", line 2', "y = (1 +", "^", "was never closed"
    )
    assert reply.number(LINE) == 2
    d.fails("return 5", "SyntaxError", "'return' outside function")
    d.fails("if x:\npass", "IndentationError")
    d.fails("a\0b", "SyntaxError", "null bytes")


def test_a_cell_that_does_not_compile_runs_nothing(d):
    d.fails("x = 1\nreturn x", "SyntaxError")
    d.fails("x", "NameError")
    d.fails("y = 1\n[(yield 1)]", "SyntaxError")
    d.fails("y", "NameError")


def test_future_statements_hold_for_the_last_expression(d):
    assert (
        d.value("from __future__ import annotations\ndef f(a: nothing): pass\n(lambda: f.__annotations__)()")
        == "{'a': 'nothing'}"
    )


def test_chained_and_grouped_exceptions_are_told_whole(d):
    code = "try:\n    1 / 0\nexcept Exception as e:\n    raise KeyError('k') from e"
    d.fails(code, "KeyError", "ZeroDivisionError", "The above exception was the direct cause")
    d.fails(
        "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])",
        "ExceptionGroup",
        "ValueError: 1",
        "TypeError: 2",
    )


def test_the_users_own_exceptions_have_their_short_name(d):
    d.ok("class Oops(Exception): pass")
    assert d.fails("raise Oops('no')", "Oops").error == "no"
    d.fails("import json; json.loads('{')", "json.decoder.JSONDecodeError")


def test_an_exception_whose_str_fails_is_told(d):
    d.ok("class Bad(Exception):\n    def __str__(self): raise RuntimeError")
    d.fails("raise Bad", "Bad", "<exception str() failed>")


def test_a_repr_that_fails_is_an_exception(d):
    d.ok("class Bad:\n    def __repr__(self): raise ValueError('no repr')")
    d.fails("Bad()", "ValueError", "no repr")


def test_system_exit_has_its_code(d):
    for code, number in {
        "exit(3)": 3,
        "raise SystemExit": 0,
        "import sys; sys.exit('bye')": 1,
        "raise SystemExit(-1)": -1,
    }.items():
        reply = d.run(code)
        assert reply.status == EXITED and reply.number(EXIT) == number, (code, reply)
    assert d.run("import sys; sys.exit('bye')").err == "bye\n"
    d.fails("input()", "EOFError")
    assert d.value("1") == "1"


def test_output_is_whole_at_the_end_of_a_cell(d):
    reply = d.ok("import sys\nprint('one', end=''); sys.stderr.write('two')")
    assert (reply.out, reply.err) == ("one", "two")
    assert (
        d.ok("print('\u20ac\\ud83d\\ude00'.encode('utf-16', 'surrogatepass').decode('utf-16'))").out
        == "\u20ac\U0001f600\n"
    )


def test_replaced_streams_are_harmless(d):
    d.ok("import sys, io; old = sys.stdout; sys.stdout = io.StringIO(); print('hidden')")
    assert d.value("sys.stdout.getvalue()") == "'hidden\\n'"
    d.ok("sys.stdout = None")
    d.ok("sys.stdout = 5")
    d.ok("sys.stdout = old; print('seen')")
    d.ok("sys.stdout.close()")
    d.ok("1")


def test_input_reads_what_was_given_or_ends(d):
    d.fails("input()", "EOFError")
    reply = d.run("a = input('name? '); b = input(); (a, b)", 1, (STDIN, "Ann\nBob\nrest"))
    assert reply.repr == "('Ann', 'Bob')" and reply.out == "name? ", reply
    d.fails("input()", "EOFError")
    d.frame(INPUT, b"one\ntwo\nthree\n")
    assert d.value("input()") == "'one'"
    d.frame(INPUT, b"four\n")
    assert d.value("input()") == "'four'"
    d.frame(INPUT, b"five\nsix")
    assert d.value("import sys; sys.stdin.read()") == "'five\\nsix'"
    assert d.value("sys.stdin.read()") == "''"


def test_recursion_is_an_error_and_the_session_goes_on(d):
    d.ok("def f(n): return f(n + 1)")
    reply = d.fails("f(0)", "RecursionError", "Previous line repeated")
    assert len(reply.traceback) < 5000
    d.fails("x = []\nfor _ in range(100_000): x = [x]\nrepr(x)", "RecursionError")
    d.fails("import json; json.loads('[' * 100_000)", "RecursionError")
    reply = d.fails(
        "import sys; sys.setrecursionlimit(20_000); f(0)", "RecursionError", "Previous line repeated"
    )
    assert len(reply.traceback) < 5000
    d.ok("sys.setrecursionlimit(1000)")
    assert d.value("1") == "1"


def test_variables_of_an_image_stay():
    with Driver("import json\nx = 20\ndef f():\n    return x // y\n") as d:
        assert d.value("x += 1; y = 2; f(), json.loads('3')") == "(10, 3)"
        d.fails("y = 0; f()", "ZeroDivisionError", 'File "<image>", line 4, in f', "return x // y")
        names = d.call(NAMES).json
        assert '"x"' in names and '"f"' in names and '"function"' in names, names


def test_names_are_listed_with_their_types(d):
    d.ok("x = 1\ndef f(): pass\nimport os")
    assert (
        d.call(NAMES).json
        == '[{"name": "x", "type": "int"}, {"name": "f", "type": "function"}, {"name": "os", "type": "module"}]'
    )


def test_source_lines_are_found_by_those_who_look(d):
    d.ok("def f():\n    return 1")
    assert d.value("import inspect; inspect.getsource(f)") == "'def f():\\n    return 1\\n'"


def test_the_store_of_sources_is_bounded(d):
    for _ in range(600):
        d.ok("pass")
    assert int(d.value("import linecache; len([n for n in linecache.cache if n.startswith('<cell')])")) <= 512


def test_large_values_are_cut(d):
    reply = d.ok("'\u00e9' * 2_000_000")
    assert len(reply.fields[REPR]) <= 1 << 20 and reply.json is None and reply.text(REPR)[-1] == "é"


def test_broken_requests_are_answered(d):
    assert Reply(*d.frame(EXECUTE, b"\1\0\0\0\xff\xff\xff\xff")).status == OK
    assert Reply(*d.frame(EXECUTE, b"abc")).status == OK
    assert Reply(*d.frame(77, b"")).type == "ValueError"
    assert d.call(EXECUTE, (CODE, b"\xff\xfe")).type == "UnicodeDecodeError"
    assert d.value("1") == "1"


def test_the_environment_is_set_before_first_use(d):
    d.call(GREET, (ENV, "COLOUR=blue"), (ENV, "TZ=UTC-2"), (ENV, "nonsense"))
    assert d.value("import os, time; os.environ['COLOUR'], time.localtime(0).tm_hour") == "('blue', 2)"


def test_a_seed_repeats_and_none_differs(d):
    def numbers(*fields):
        assert d.call(GREET, *fields).status == OK
        return d.value("import random; [random.random() for _ in range(3)]")

    assert numbers((SEED, b"s" * 32)) == numbers((SEED, b"s" * 32)) != numbers((SEED, b"t" * 32))
    assert numbers() != numbers()


def test_modules_of_the_working_directory_can_be_imported(d):
    assert d.value("import sys; sys.path[0], sys.argv") == "('', [''])"


def test_a_stop_is_an_exception_that_except_exception_does_not_catch(d):
    d.frame(STOP, struct.pack("<II", 1, 50))
    reply = d.run(
        "x = 7\nwhile True:\n    try:\n        while True: pass\n    except Exception:\n        pass"
    )
    assert reply.status == STOPPED and reply.type == "cay.Stopped" and reply.error == "time limit reached", (
        reply
    )
    assert 'File "<cell 1>", line 4' in reply.traceback
    assert d.value("x") == "7"
    d.frame(STOP, struct.pack("<II", 2, 50))
    reply = d.run("import time; time.sleep(5)")
    assert reply.status == STOPPED and reply.error == "cancelled", reply
    assert d.value("x") == "7"


def test_a_stop_ends_what_awaits(d):
    d.frame(STOP, struct.pack("<II", 4, 50))
    reply = d.run("import asyncio\nawait asyncio.sleep(5)")
    assert reply.status == STOPPED and reply.error == "instruction limit reached", reply
    assert 'File "<cell 1>", line 2, in <module>\n    await asyncio.sleep(5)' in reply.traceback, (
        reply.traceback
    )
    assert "<cay" not in reply.traceback and "Cancelled" not in reply.traceback, reply.traceback
    assert d.value("await asyncio.sleep(0, 'fine')") == "'fine'"
    d.frame(STOP, struct.pack("<II", 1, 50))
    reply = d.run(
        "ended = []\ntry:\n    await asyncio.sleep(0.1)\n    ended.append(1)\nfinally:\n    ended.append(2)"
    )
    assert reply.status == STOPPED, reply
    assert d.value("ended") == "[2]"
    assert d.value("await asyncio.sleep(0.2)\nended") == "[2]"
    d.ok("async def spin():\n    while True: pass")
    d.frame(STOP, struct.pack("<II", 1, 50))
    assert d.run("t = asyncio.create_task(spin())\nawait asyncio.sleep(5)").status == STOPPED


def test_code_that_tampers_with_the_driver_hurts_only_itself(d):
    d.ok("import sys, traceback, linecache, asyncio, builtins, json, cay\nkept = dict(sys.modules)")
    for code in (
        "traceback.TracebackException = None",
        "linecache.cache = 5",
        "sys.stdin = 5; sys.stderr = None",
        "sys.stdin.close()",
        "del sys.modules['cay._report']",
        "json.loads = None",
        "asyncio.Task = None",
        "cay.Callback('n', 'd', {}, (1,))",
        "cay.Callback('n', 'd', {}, ('a',))(1).throw(5)",
        "type(invoke('x'))()",
        "i = invoke('echo'); i.close(); i.send(None)",
        "builtins.__import__ = None",
        "import signal; signal.signal(64, signal.SIG_IGN)",
        "cay.CallbackError = cay.Stopped = None",
        "sys.modules.clear()",
        "globals().clear()",
    ):
        d.run(code)
        d.run("1 / 0")
        d.run("await invoke('fail')")
    assert d.run("1 + 1").repr == "2"


def test_memory_errors_leave_the_session_usable(d):
    d.fails("import sys; bytearray(sys.maxsize - 100)", "MemoryError")
    d.fails(
        "x = []\nfor _ in range(100): x.append(bytes(10**9))" if not NATIVE else "raise MemoryError",
        "MemoryError",
    )
    d.ok("x = None")
    assert d.value("1") == "1"
