"""Cells that await nothing: values, errors, names, output, being stopped."""

import json
import struct

from driver import *


def test_the_value_is_given_as_inspect_and_as_json(d):
    cases = {
        "1 + 1": ("2", "2"),
        "let x = 5; x * 2": ("10", "10"),
        "'a\\n\\u00e9'": ("'a\\né'", '"a\\né"'),
        "1.5": ("1.5", "1.5"),
        "true": ("true", "true"),
        "null": ("null", "null"),
        "[1, 'x', null]": ("[ 1, 'x', null ]", '[1,"x",null]'),
        "({a: [1, 2]})": ("{ a: [ 1, 2 ] }", '{"a":[1,2]}'),
        "10n ** 30n": ("1" + "0" * 30 + "n", None),
        "NaN": ("NaN", None),
        "-0": ("-0", "0"),
        "new Map([[1, 2]])": ("Map(1) { 1 => 2 }", "{}"),
        "const o = {}; o.o = o; o": ("<ref *1> { o: [Circular *1] }", None),
        "undefined": (None, None),
        "": (None, None),
        "// nothing": (None, None),
        "function f() {}": (None, None),
        "Symbol('s')": ("Symbol(s)", None),
    }
    for code, (shown, json) in cases.items():
        reply = d.ok(code)
        assert (reply.repr, reply.json) == (shown, json), (code, reply)


def test_json_is_given_only_when_it_is_wanted(d):
    assert d.ok("1", 0).json is None


def test_the_last_value_has_a_name(d):
    assert d.value("6 * 7") == "42"
    d.ok("undefined")
    assert d.value("_ + 1") == "43"
    d.ok("var _ = 'mine'")
    d.ok("5")
    assert d.value("_") == "'mine'"


def test_values_that_are_too_large_are_cut_or_left_out(d):
    reply = d.run("'x'.repeat(100)", WANT_JSON, (6, 10))
    assert len(reply.repr) == 10 and reply.json is None and reply.number(27) == 3, reply


def test_declarations_persist_and_may_be_declared_again(d):
    d.ok("let a = 1; const b = 2; class C {}; function f() { return a + b } var v = 3")
    assert d.value("f() + v") == "6"
    d.ok("let a = 10; const b = 20; class C { static x = 1 }; var f = () => a * b")
    assert d.value("[f(), C.x]") == "[ 200, 1 ]"


def test_a_cell_that_fails_to_compile_changes_nothing(d):
    d.ok("let a = 1")
    d.fails("let a = 2; let let", "SyntaxError")
    assert d.value("a") == "1"


def test_errors_have_type_text_line_and_the_users_frames_alone(d):
    reply = d.fails("function f() {\n  null.x\n}\nf()", "TypeError", "at f (<cell 1>:2:3)", "at <cell 1>:4:1")
    assert reply.number(LINE) == 2 and "x" in reply.error
    assert "node:" not in reply.traceback


def test_columns_of_the_first_line_are_those_of_v8(d):
    for number, (code, column) in enumerate([("throw new Error('x')", 7), ("let early = 1; throw new Error('x')", 22), ("[1].map((n) => nowhere)", 16), ("nowhere", 1), ("  nowhere", 3), ("if (1) { }; nowhere", 13)], 1):
        d.fails(code, "Error" if "throw" in code else "ReferenceError", f"<cell {number}>:1:{column}")
    d.fails("foo bar", "SyntaxError", ":1:5")


def test_errors_of_the_engine_have_the_words_of_v8(d):
    for code, text in {"null.x": "Cannot read properties of null (reading 'x')", "let u; u.x.y": "Cannot read properties of undefined (reading 'x')",
                       "null.x = 1": "Cannot set properties of null (setting 'x')", "u.x = 1": "Cannot set properties of undefined (setting 'x')",
                       "`${Symbol('s')}`": "Cannot convert a Symbol value to a string", "+Symbol('s')": "Cannot convert a Symbol value to a number",
                       "(() => { const one = 1; one = 2 })()": "Assignment to constant variable.",
                       "'use strict'; Object.freeze({a: 1}).a = 2": "Cannot assign to read only property 'a' of object"}.items():
        d.fails(code, "TypeError", text)


def test_anything_can_be_thrown(d):
    for code, text in {"throw 'text'": "text", "throw {a: 1}": "{ a: 1 }", "throw null": "null", "throw 1n": "1n"}.items():
        reply = d.run(code)
        assert (reply.status, reply.type, reply.error) == (EXCEPTION, "Uncaught", text), reply


def test_the_cause_of_an_error_is_part_of_its_stack(d):
    reply = d.fails("throw new Error('outer', {cause: new TypeError('inner')})", "Error", "outer", "inner", "[cause]")
    assert reply.error == "outer"


def test_the_console_fails_with_none_of_its_streams(d):
    assert d.value("process.stdout.write = () => { throw new Error('no') }; console.log(1); delete process.stdout.write; 5") == "5"
    assert d.ok("console.log('there')").out == "there\n"
    assert d.value("require('fs').closeSync(2); console.error(1); await null; 6") == "6"


def test_stdout_and_stderr_stay_apart(d):
    reply = d.ok("console.log('out', {a: 1}); console.error('err'); process.stdout.write('more')")
    assert (reply.out, reply.err) == ("out { a: 1 }\nmore", "err\n"), reply


def test_each_cell_has_its_own_input(d):
    read = "let text = ''; for await (const part of process.stdin) text += part; text"
    assert d.run(read, WANT_JSON, (STDIN, "one")).json == '"one"'
    assert d.run(read, WANT_JSON, (STDIN, "two")).json == '"two"'
    d.frame(INPUT, b"three")
    assert d.value(read) == "'three'"
    d.frame(INPUT, b"four")
    assert d.value("require('fs').readFileSync(0, 'utf8')") == "'four'"


def test_exit_ends_the_cell_and_not_the_session(d):
    d.ok("let n = 1")
    reply = d.run("try { process.exit(3) } finally { n = 2 }")
    assert (reply.status, reply.number(EXIT)) == (EXITED, 3), reply
    assert d.value("n") == "1"
    assert d.value("await new Promise((done) => process.nextTick(done, 5))") == "5"


def test_recursion_without_end_is_a_range_error(d):
    d.fails("(function f() { f() })()", "RangeError", "Maximum call stack")
    assert d.value("1") == "1"
    calls = "let n = 0; const count = () => { n++; count() }; try { count() } catch (e) { [n > 10000, e instanceof RangeError, typeof e.stack, e.stack.split('\\n').length > 5] }"
    assert d.value(calls) == "[ true, true, 'string', true ]"


def test_nested_source_is_an_error_and_no_trap(d):
    """Of each kind 100,000, at the bottom of the stack and near its end."""
    sources = ["[", "(", "{", "({a:", "`${", "function f(){", "()=>{", "(class{a=", "class A{static{", "new ", "if(1)", "a=", "f(", "!(", "async(a=(", "/(?:", "1?1:("]
    d.ok(f"""const sources = {json.dumps(sources)}.map((one) => one.repeat(100000))
      const attempt = (compile) => {{ try {{ compile(); return 'compiled' }} catch (e) {{ return `${{e.name}} ${{typeof e.stack}}` }} }}
      const below = (depth, compile) => depth > 0 ? below(depth - 1, compile) : attempt(compile)
      const all = (depth) => [...new Set(sources.map((source) => below(depth, () => new Function(source))))].sort().join()""")
    for depth in (0, 5000, 8000):
        assert d.value(f"all({depth})") in ("'RangeError string,SyntaxError string'", "'RangeError string'"), d.value(f"all({depth})")
    for code in ("JSON.parse('['.repeat(1000))", "new RegExp('(?:'.repeat(100000))", "new RegExp('['.repeat(100000), 'v')"):
        assert d.value(f"attempt(() => {code})") == "'SyntaxError string'", code
    assert d.value("[1e5, 1e6].map((n) => attempt(() => JSON.parse('['.repeat(n) + ']'.repeat(n), (key, value) => value))).join()") == "'RangeError string,RangeError string'"


def test_json_is_as_deep_as_there_is_memory(d):
    d.ok("""const depth = (open, inner, close, n, next) => { let at = JSON.parse(open.repeat(n) + inner + close.repeat(n)), found = 0; while (typeof at === 'object') { at = next(at); found++ } return [found, at] }
      const fault = (text) => { try { return JSON.parse(text) } catch (e) { return `${e.name}: ${e.message}` } }""")
    assert d.value("depth('[', '[7]', ']', 1e5, (v) => v[0])") == "[ 100001, 7 ]"
    assert d.value("""depth('{"a":', '"end"', '}', 1e5, (v) => v.a)""") == "[ 100000, 'end' ]"
    assert d.value("fault('['.repeat(1e5))") == "'SyntaxError: Unexpected end of JSON input'"
    for text in ("[1,2,{\"a\":[}]", "{\"a\":1,}", "{\"a\" 1}", "[1 2]", "[1,]", "[[1,2],[3,4]", "{\"a\":{}", "]"):
        assert "SyntaxError" in d.value(f"fault({json.dumps(text)})"), text
    assert d.value("""JSON.stringify(JSON.parse('{"a":[1,{"b":null,"__proto__":[]},[],{}],"2":"x","1":{},"a":true}'))""") == """'{"1":{},"2":"x","a":true}'"""
    assert d.value("""JSON.stringify(JSON.parse(' [ {"b" : [ [ ] , { } ] , "__proto__" : 1 } , null ] '))""") == """'[{"b":[[],{}],"__proto__":1},null]'"""



def test_chains_of_the_engines_own_calls_are_an_error_and_no_trap(d):
    d.ok("""const chain = (made, next) => { for (let i = 0; i < 100000; i++) made = next(made); return made }
      const attempt = (use) => { try { return typeof use() } catch (e) { return `${e.name} ${typeof e.stack}` } }
      const proxies = chain({}, (p) => new Proxy(p, {})), helpers = chain([1].values(), (it) => it.take(3))""")
    for use in ("proxies.a", "proxies.a = 1", "Object.keys(proxies)", "({ ...proxies })", "helpers.next()", "Object.getPrototypeOf(proxies)", "proxies instanceof Object", "(() => { for (const key in proxies) ; })()", "'a' in proxies",
      "delete proxies.a", "Object.isExtensible(proxies)", "Object.preventExtensions(proxies)", "Object.setPrototypeOf(proxies, null)", "Object.getOwnPropertyDescriptor(proxies, 'a')",
      "Object.defineProperty(proxies, 'a', { value: 1 })", "chain(() => 1, (p) => new Proxy(p, {}))()", "new (chain(function () {}, (p) => new Proxy(p, {})))", "chain([], (a) => [a]).flat(Infinity)"):
        assert d.value(f"attempt(() => {use})") == "'RangeError string'", use


def test_what_computes_is_stopped(d):
    for code in ("for (;;) ;", "for (;;) try { for (;;) ; } catch {} finally { }", "/(a+)+$/.test('a'.repeat(40) + 'b')"):
        d.frame(STOP, struct.pack("<II", 1, 50))
        reply = d.run(code)
        assert (reply.status, reply.error) == (STOPPED, "time limit reached"), reply
    assert d.value("2") == "2"


def test_values_that_fight_back_do_not_confuse_the_driver(d):
    d.run("({ get a() { throw new Error('no') } })")
    d.run("new Proxy({}, { ownKeys() { throw 1 }, get() { throw 2 } })")
    d.run("({ toJSON() { throw 3 } })")
    d.run("class E extends Error { get message() { throw 4 } get name() { throw 5 } }; throw new E()")
    d.run("Object.prototype.then = 1; Array.prototype[0] = 2; JSON.stringify = null; delete Object.prototype.then; delete Array.prototype[0]")
    assert d.value("6") == "6"


def test_require_and_import_find_nodes_modules(d):
    assert d.value("require('path').join('a', 'b')") == "'a/b'"
    assert d.value("import fs, { existsSync as there } from 'node:fs'\nimport * as os from 'os'\nthere('/') && fs.existsSync('/') && os.EOL === '\\n'") == "true"
    assert d.value("export const answer = 42; answer") == "42"
    d.fails("require('nowhere')", "Error", "Module 'nowhere' not available in sandbox")
    d.fails("import 'nowhere'", "Error", "Module 'nowhere' not available in sandbox")


def test_cells_have_no_bindings_of_ours(d):
    assert d.value("typeof host + typeof native") == "'undefinedundefined'"
