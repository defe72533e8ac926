"""The user's variables: listed, as bytes and back, forgotten; what a copy of an image learns."""

import json

from driver import *


def test_names_are_listed_with_types(d):
    d.ok("let a = 1, b = 'x'; const c = [1]; class D {}; function f() {}; globalThis.g = null")
    names = {entry["name"]: entry["type"] for entry in json.loads(d.call(NAMES).json)}
    assert names == {"a": "number", "b": "string", "c": "Array", "D": "function", "f": "function", "g": "null"}, names


def test_state_survives_as_bytes(d):
    d.ok("let a = {x: [1, 2.5, 'é', null, true]}; const m = new Map([[1, new Set([2])]]); let when = new Date(5), u = new Uint8Array([1, 2])")
    saved = d.call(SNAPSHOT).fields[BYTES]
    with Driver() as other:
        assert other.call(RESTORE, (BYTES, saved)).status == OK
        assert other.value("[a, m, when.getTime(), u]") == d.value("[a, m, when.getTime(), u]")


def test_what_cannot_be_stored_is_named(d):
    d.ok("let fine = 1; const f = () => 1")
    reply = d.call(SNAPSHOT)
    assert reply.status == EXCEPTION and "'f'" in reply.error, reply


def test_bytes_that_are_none_change_nothing(d):
    d.ok("let a = 1")
    for data in (b"", b"nonsense", bytes(100)):
        assert d.call(RESTORE, (BYTES, data)).status == EXCEPTION
    assert d.value("a") == "1"


def test_clearing_forgets_the_users_variables_alone(d):
    d.ok("let a = 1; globalThis.b = 2; var c = 3")
    assert d.call(CLEAR).status == OK
    assert d.value("[typeof a, typeof b, typeof c, typeof require, typeof setTimeout]") == "[ 'undefined', 'undefined', 'undefined', 'function', 'function' ]"


def test_a_greeting_sets_the_environment_and_the_seed(d):
    assert d.call(GREET, (SEED, b"12345678"), (ENV, "A=1"), (ENV, "B=two")).status == OK
    first = d.value("[process.env.A, process.env.B, Object.keys(process.env).sort().join()]")
    assert first == "[ '1', 'two', 'A,B' ]", first
    number = d.value("Math.random()")
    with Driver() as other:
        other.call(GREET, (SEED, b"12345678"))
        assert other.value("Math.random()") == number


def test_the_images_own_code_stays():
    with Driver("globalThis.helper = (x) => x + 1") as d:
        assert d.value("helper(1)") == "2"
        d.call(CLEAR)
        assert d.value("helper(2)") == "3"
