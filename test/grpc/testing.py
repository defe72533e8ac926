"""ExecuteTest: uvu in the sandbox. Here only for a server of TypeScript or JavaScript."""
import grpc
from guest import LANGUAGE
from harness import CANCELLED, fails, pb, until

USE = "import { test, suite } from 'uvu'; import * as assert from 'uvu/assert';\n"


def run(stub, tests, code=None, timeout_ms=None):
    return stub.ExecuteTest(pb.ExecuteTestRequest(code=code, tests=tests, timeout_ms=timeout_ms), timeout=90)


def counts(r):
    return r.summary.total, r.summary.passed, r.summary.failed, r.summary.skipped


def test_tests_are_missing_or_not_possible(t):
    stub = t.server().stub()
    code = grpc.StatusCode.INVALID_ARGUMENT if LANGUAGE != "python" else grpc.StatusCode.UNIMPLEMENTED
    fails(code, "", lambda: run(stub, ""))


if LANGUAGE != "python":

    def test_code_and_its_tests(t):
        stub = t.server().stub()
        r = run(stub, USE + "test('adds', () => assert.is(add(1, 2), 3)); test('async', async () => { await null; assert.ok(true) }); test.run()",
                "function add(a, b) { return a + b }\nconsole.log('loaded')")
        assert r.success and counts(r) == (2, 2, 0, 0) and not r.HasField("error"), r
        assert [(x.name, x.passed) for x in r.tests] == [("adds", True), ("async", True)] and r.output.startswith("loaded\n"), r
        r = run(stub, "const { test } = require('uvu'); const assert = require('uvu/assert'); test('alone', () => assert.equal({a: [1]}, {a: [1]})); test.run()")
        assert r.success and counts(r) == (1, 1, 0, 0), r

    def test_a_failure_has_its_message_with_the_difference(t):
        r = run(t.server().stub(), USE + """
test('differs', () => assert.equal({a: 1, b: [1, 2]}, {a: 1, b: [1, 3]}));
test('throws', () => { throw new TypeError('broken') });
test('passes', async () => { await new Promise(done => setTimeout(done, 60)) });
test.run()""")
        assert not r.success and counts(r) == (3, 1, 2, 0) and not r.HasField("error"), r
        by = {x.name: x for x in r.tests}
        assert "equal" in by["differs"].error and "3" in by["differs"].error and "2" in by["differs"].error, by
        assert by["throws"].error == "TypeError: broken" and by["passes"].passed and by["passes"].duration_ms >= 50, by

    def test_suites_skip_only_and_hooks(t):
        stub = t.server().stub()
        r = run(stub, USE + """
const math = suite('math');
const seen = [];
math.before(() => seen.push('before')); math.before.each(() => seen.push('each')); math.after.each(() => seen.push('done'));
math('one', () => {}); math('two', () => { assert.equal(seen, ['before', 'each', 'done', 'each']) }); math.skip('three', () => {});
math.run();
const rest = suite('rest'); rest.only('this', () => {}); rest('that', () => { throw 1 }); rest.run();
""")
        assert r.success and counts(r) == (5, 3, 0, 2), r
        assert [x.name for x in r.tests] == ["math > one", "math > two", "rest > this"], r

    def test_hooks_that_fail_fail_tests(t):
        stub = t.server().stub()
        r = run(stub, USE + "const s = suite('s'); s.before(() => { throw new Error('no database') }); s('a', () => {}); s('b', () => {}); s.run()")
        assert not r.success and counts(r) == (2, 0, 2, 0) and r.tests[0].error == "no database", r
        r = run(stub, USE + "const s = suite(); s.before.each(() => { throw new Error('early') }); s('a', () => {}); s.run()")
        assert not r.success and counts(r) == (1, 0, 1, 0) and r.tests[0].error == "early" and r.tests[0].name == "a", r
        r = run(stub, USE + "const s = suite(); s.after.each(() => { throw new Error('late') }); s('a', () => {}); s.run()")
        assert not r.success and counts(r) == (1, 0, 1, 0) and r.tests[0].error == "late", r

    def test_none_ran_is_no_success(t):
        stub = t.server().stub()
        for tests in (USE, USE + "test('never queued', () => {})", "1"):
            r = run(stub, tests)
            assert not r.success and counts(r)[:3] == (0, 0, 0) and not r.HasField("error"), r

    def test_what_does_not_run_is_an_error(t):
        stub = t.server().stub()
        r = run(stub, "test('x', () => { = })")
        assert not r.success and "SyntaxError" in r.error and not r.tests, r
        r = run(stub, USE + "test.run()", "throw new Error('no code')")
        assert not r.success and "no code" in r.error, r
        r = run(stub, USE + "test('x', () => { for (;;); }); test.run()", timeout_ms=1000)
        assert not r.success and "1000 ms" in r.error, r
        r = run(stub, USE + "test('x', () => process.exit(0)); test.run()")
        assert not r.success and not r.tests, r
        r = run(stub, USE + "test('x', () => { require('uvu').noted.tests = 5 }); test.run()")
        assert not r.success, r

    def test_a_cancelled_test_ends(t):
        stub = t.server().stub()
        call = stub.ExecuteTest.future(pb.ExecuteTestRequest(tests=USE + "test('x', () => { for (;;); }); test.run()"))
        until(lambda: stub.ListExecutions(pb.ListExecutionsRequest()).executions)
        info = stub.ListExecutions(pb.ListExecutionsRequest()).executions[0]
        call.cancel()
        until(lambda: stub.ListExecutions(pb.ListExecutionsRequest(states=[CANCELLED])).executions)
        assert info.code_preview.startswith("import { test")

    def test_uvu_and_return_in_scripts(t):
        stub = t.server().stub()
        r = stub.Execute(pb.ExecuteRequest(code="const assert = require('uvu/assert'); assert.is(1, 1); console.log('ok')\nif (true) return 5\nconsole.log('never')"))
        assert r.success and r.output == "ok\n", r
        r = stub.Execute(pb.ExecuteRequest(code="return null.x"))
        assert not r.success and "TypeError" in r.error, r

if LANGUAGE == "typescript":

    def test_typescript_in_scripts(t):
        stub = t.server().stub()
        code = "import * as fs from 'node:fs';\nenum E { A = 2 }\nconst twice = <T extends number>(x: T): number => x * 2;\nconsole.log(twice(E.A), typeof fs.readFileSync as string)\nreturn"
        r = stub.Execute(pb.ExecuteRequest(code=code))
        assert r.success and r.output == "4 function\n" and r.cached.name.endswith(".ts"), r
        r = stub.Execute(pb.ExecuteRequest(code="interface A { b: number }\nconst a: A | null = null;\na!.b"))
        assert not r.success and "TypeError" in r.error and ":3:" in r.error, r
        r = stub.Execute(pb.ExecuteRequest(code="let a: number = 1;\nlet b: = 2"))
        assert not r.success and "SyntaxError: a type is expected" in r.error and ":2:8" in r.error, r

    def test_typescript_and_its_tests(t):
        r = run(t.server().stub(), USE + "test('area', () => { const s: Shape = { side: 3 }; assert.is(area(s), 9 as number) }); test.run()",
                "export interface Shape { side: number }\nexport function area(s: Shape): number { return s.side ** 2 }")
        assert r.success and counts(r) == (1, 1, 0, 0), r


if LANGUAGE != "python":

    def test_packages_are_those_of_the_operator(t):
        package = t.dir / "shout"
        package.mkdir()
        (package / "index.js").write_text("module.exports = (text) => text.toUpperCase() + '!'\n")
        stub = t.server("--module", f"shout={package}", "--module", f"@own/shout={package}").stub()
        r = stub.Execute(pb.ExecuteRequest(code="import shout from 'shout'; console.log(shout('a'), require('@own/shout')('b'))"))
        assert r.success and r.output == "A! B!\n", r
        for code in "require('express')", "import 'express'", "await import('express/lib')":
            r = stub.Execute(pb.ExecuteRequest(code=code))
            assert not r.success and "not available in sandbox" in r.error and "Module 'express" in r.error, r
        r = stub.Execute(pb.ExecuteRequest(code="require('fs').writeFileSync('node_modules/shout/index.js', '')"))
        assert not r.success and "EROFS" in r.error, r
