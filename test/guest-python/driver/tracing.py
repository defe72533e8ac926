"""Trace events."""

import json

from driver import *

CODE_TO_TRACE = "def f(a):\n    b = a + 1\n    return b\n\nx = f(1)\nx = f(2)\n"


def test_lines_calls_and_returns_are_told(d):
    d.run(CODE_TO_TRACE, LINES | CALLS | RETURNS)
    events = [(int(line), json.loads(event)) for line, event, _ in d.events()]
    told = [(line, event["type"], event["function"]) for line, event in events]
    once = [(1, "call", "f"), (2, "line", "f"), (3, "line", "f"), (3, "return", "f")]
    whole = [(1, "line", "<module>"), (5, "line", "<module>"), *once, (6, "line", "<module>"), *once]
    assert [t for t in told if t[1:] not in [("call", "<module>"), ("return", "<module>")]] == whole, told
    assert [e["value"] for _, e in events if e["type"] == "return" and e["function"] == "f"] == ["2", "3"]
    assert events[0][1]["file"] == "<cell 1>"


def test_exceptions_are_told(d):
    d.run("def f():\n    raise ValueError('x')\ntry:\n    f()\nexcept ValueError: pass", EXCEPTIONS)
    told = [(int(line), json.loads(event)) for line, event, _ in d.events()]
    assert [(line, e["function"], e["exception"], e["value"]) for line, e in told] == [
        (2, "f", "ValueError", "ValueError('x')"),
        (4, "<module>", "ValueError", "ValueError('x')"),
    ], told


def test_off_is_silent_and_leaves_nothing(d):
    d.run(CODE_TO_TRACE, LINES)
    d.events()
    d.ok("x = f(3)")
    assert d.events() == []
    assert d.value("import sys; sys.monitoring.get_tool(3)") is None


def test_only_frames_of_the_user_are_told(d):
    d.run(
        "import json, asyncio\njson.dumps({1: [2]}, indent=1)\nawait asyncio.sleep(0.001)",
        LINES | CALLS | RETURNS,
    )
    assert {json.loads(event)["file"] for _, event, _ in d.events()} == {"<cell 1>"}


def test_a_filter_chooses_functions_and_files(d):
    d.ok("class C:\n    def one(self): return 1\n    def two(self): return 2\ndef go(): C().one(); C().two()")
    d.run("go()", CALLS, (FILTER, "C.one"))
    assert [json.loads(event)["function"] for _, event, _ in d.events()] == ["C.one"]
    d.run("go()", CALLS, (FILTER, "nothing,C.*"))
    assert [json.loads(event)["function"] for _, event, _ in d.events()] == ["C.one", "C.two"]
    d.run("go()", CALLS, (FILTER, "<cell 4>"))
    assert [json.loads(event)["function"] for _, event, _ in d.events()] == ["<module>"]


def test_locals_are_told_when_they_change(d):
    d.run(CODE_TO_TRACE, LINES | LOCALS)
    told = [(line, json.loads(context)["locals"] if context else None) for line, _, context in d.events()]
    assert told[2] == ("2", {"a": "1"}) and told[3] == ("3", {"b": "2"}), told
    assert told[4][0] == "6" and told[4][1] == {"x": "2"}, told


def test_tracing_ends_at_the_cap(d):
    d.events(room=3)
    reply = d.run("for i in range(1000):\n    pass\ni", LINES)
    assert reply.repr == "999" and len(d.events()) == 3
