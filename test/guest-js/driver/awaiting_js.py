"""Cells that await: the loop, callbacks, leftovers."""

import json
import struct

from driver import *


def announce(d, *callbacks):
    d.frame(GRANTS, json.dumps(callbacks).encode())
    d.ok("0", NEW_GRANTS)


def test_a_cell_may_await_at_its_top(d):
    assert d.value("const n = await Promise.resolve(20); n + 1") == "21"
    assert d.value("n") == "20"
    assert d.value("await new Promise((done) => setTimeout(done, 5, 'late'))") == "'late'"
    d.fails("await Promise.reject(new TypeError('no'))", "TypeError", "no")


def test_await_that_nothing_can_settle_is_an_error(d):
    d.fails("await new Promise(() => {})", "Error", "nothing is going to settle")


def test_timers_that_are_left_go_on_when_a_later_cell_awaits(d):
    d.ok("let seen = 0; setTimeout(() => { seen = 1 }, 1)")
    assert d.value("seen") == "0"
    assert d.value("await new Promise((done) => setTimeout(done, 20)); seen") == "1"


def test_a_cell_that_drains_ends_when_nothing_is_left(d):
    reply = d.run("setTimeout(() => console.log('later'), 5); 1", WANT_JSON | 128)
    assert (reply.status, reply.repr, reply.out) == (OK, "1", "later\n"), reply


def test_what_nobody_catches_ends_the_cell(d):
    d.fails("Promise.reject(new Error('unhandled')); 1", "Error", "unhandled", "at <cell 1>:1:")
    d.fails("setTimeout(() => { throw new Error('late') }, 1); await new Promise((done) => setTimeout(done, 50))", "Error", "late")
    d.fails("process.nextTick(() => { throw new RangeError('tick') })", "RangeError", "tick")
    assert d.value("1") == "1"


def test_an_endless_chain_of_microtasks_is_stopped(d):
    d.frame(STOP, struct.pack("<II", 2, 50))
    reply = d.run("for (;;) await null")
    assert (reply.status, reply.error) == (STOPPED, "cancelled"), reply
    assert d.value("1") == "1"


def test_a_sleep_is_stopped(d):
    d.frame(STOP, struct.pack("<II", 1, 50))
    reply = d.run("await new Promise((done) => setTimeout(done, 60000))")
    assert reply.status == STOPPED, reply


def test_callbacks_are_functions(d):
    schema = {"type": "object", "properties": {"a": {}, "b": {}}}
    announce(d, {"name": "echo", "description": "", "parameters": schema}, {"name": "fail", "description": "", "parameters": {}})
    assert d.ok("await echo({a: 1})").json == d.ok("await echo(1)").json == '{"a":1}'
    assert d.ok("await echo(1, [2])").json == '{"a":1,"b":[2]}'
    d.fails("await fail()", "CallbackError")
    d.fails("await invoke('nowhere')", "CallbackError", "there is no callback named 'nowhere'")
    d.fails("await echo(1, 2, 3)", "TypeError", "at most 2")
    assert d.value("typeof await invoke('echo', '{\"a\":1}')") == "'string'"


def test_callbacks_that_answer_later_run_side_by_side(d):
    announce(d, {"name": "sleep", "description": "", "parameters": {}})
    assert d.value("(await Promise.all([sleep({ms: 30}), sleep({ms: 20}), sleep({ms: 10})])).length") == "3"


def test_callbacks_in_groups_and_names_that_would_hide_something(d):
    announce(d, {"name": "echo", "description": "", "parameters": {}}, {"name": "group.echo", "description": "", "parameters": {}},
             {"name": "console", "description": "", "parameters": {}})
    assert d.value("[typeof group.echo, typeof console.log, listCallbacks().length]") == "[ 'function', 'function', 3 ]"


def test_storage_follows_what_awaits(d):
    code = """
    const { AsyncLocalStorage } = require('async_hooks')
    const storage = new AsyncLocalStorage(), seen = []
    await storage.run(1, async () => { await null; seen.push(storage.getStore()); await new Promise((f) => setTimeout(f, 2)); seen.push(storage.getStore()) })
    seen.push(storage.getStore()); seen"""
    assert d.value(code) == "[ 1, 1, undefined ]"


def test_dynamic_import_and_its_errors(d):
    assert d.value("(await import('node:path')).sep") == "'/'"
    assert d.value("(await import('data:text/javascript,export default 5')).default") == "5"
    d.fails("await import('./nothing.mjs')", "Error", "Cannot find module")
