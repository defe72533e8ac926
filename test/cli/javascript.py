"""`cay js`: what programs of Node's library do."""
import subprocess

PACKAGE = '{"name": "thing", "version": "1.0.0", "bin": {"thing-run": "cli.js"}}'


def js(t, code, *options):
    r = t.cay("js", *options, "-e", code)
    assert r.code == 0, r
    return r.text


def test_packages_of_javascript_are_found_from_every_folder(t):
    t.path("thing/package.json", PACKAGE)
    t.path("thing/index.js", "module.exports = 42\n")
    t.path("thing/cli.js", "console.log(process.argv.slice(2).join('+'))\n")
    assert t.cay("js", "--package", "thing", "-p", "require('thing')").text == "42\n"
    subprocess.run(["tar", "-czf", "thing-1.0.0.tgz", "thing"], cwd=t.dir, check=True)
    r = t.cay("run", "--package", "thing-1.0.0.tgz", "cd /tmp; thing-run a 'b c'; node --input-type=module -e 'import x from \"thing\"; console.log(x)'")
    assert r.text == "a+b c\n42\n", r
    t.path("thing/build/fast.node", "x")
    r = t.cay("js", "--package", "thing", "-p", "1")
    assert r.code == 125 and "cay: --package: thing has machine code (build/fast.node): only packages of pure JavaScript" in r.errors, r


def test_node_test_finds_files_and_tells_what_fails(t):
    t.path("p/good.test.mjs", "import test from 'node:test'; test('adds', () => {}); test('waits', async () => {})\n")
    r = t.cay("run", "--in", "p", "cd p && node --test")
    assert r.code == 0 and "tests 2" in r.text and "pass 2" in r.text, r
    t.path("p/test/bad.js", "const { test } = require('node:test'); const assert = require('assert')\ntest('is wrong', () => assert.ok(1 === 2))\n")
    r = t.cay("run", "--in", "p", "cd p && node --test --test-reporter=tap")
    assert r.code == 1 and "# fail 1" in r.text and "not ok" in r.text and "is wrong" in r.text, r


def test_a_cluster_shares_a_port(t):
    t.path("c.mjs", """import cluster from 'node:cluster'; import http from 'node:http'
if (cluster.isPrimary) {
  cluster.fork(); cluster.fork()
  let listening = 0
  cluster.on('listening', async () => {
    if (++listening < 2) return
    const seen = new Set()
    for (let i = 0; i < 4; i++) seen.add(await (await fetch('http://127.0.0.1:8000', { headers: { connection: 'close' } })).text())
    console.log([...seen].sort().join())
    for (const worker of Object.values(cluster.workers)) worker.disconnect()
  })
  cluster.on('exit', (worker, code) => console.log('exit', code))
} else {
  http.createServer((request, response) => response.end(`worker ${cluster.worker.id}`)).listen(8000)
}
""")
    r = t.cay("js", "c.mjs")
    assert r.text == "worker 1,worker 2\nexit 0\nexit 0\n", r


def test_sockets_are_sent_to_child_processes(t):
    t.path("s.js", """const { fork } = require('child_process'), net = require('net')
if (process.argv[2] === 'child') {
  process.on('message', (word, socket) => socket.end(`${word} from the child`))
} else {
  const child = fork(__filename, ['child'])
  const server = net.createServer((socket) => child.send('hello', socket)).listen(0, () => {
    net.connect(server.address().port).on('data', (bytes) => { console.log(String(bytes)); child.kill(); server.close() })
  })
}
""")
    assert t.cay("js", "s.js").text == "hello from the child\n"


def test_brotli_and_zstandard(t):
    assert js(t, """const zlib = require('zlib'), text = 'hello hello hello hello'
console.log(String(zlib.brotliDecompressSync(Buffer.from('GxYA+I2Ubt5EVYaWbCBvIU8c4Dg=', 'base64'))))
console.log(String(zlib.zstdDecompressSync(Buffer.from('KLUv/SAXZQAAMGhlbGxvIAEAmUsR', 'base64'))))
console.log(String(zlib.brotliDecompressSync(zlib.brotliCompressSync(text))), zlib.zstdCompressSync(text).toString('base64'))
const long = Buffer.alloc(300_000, 'abc')
for (const [pack, unpack] of [[zlib.brotliCompress, zlib.brotliDecompress], [zlib.zstdCompress, zlib.zstdDecompress]])
  pack(long, (error, packed) => unpack(packed, (error, back) => console.log(packed.length < 100, back.equals(long))))
for (const f of [zlib.brotliDecompressSync, zlib.zstdDecompressSync])
  try { f(Buffer.from('no such thing')) } catch (error) { console.log(error.code) }
""") == ("hello hello hello hello\nhello hello hello hello\nhello hello hello hello KLUv/SAXZQAAMGhlbGxvIAEAmUsR\n"
         "ERR__ERROR_FORMAT_PADDING_2\nZSTD_error_prefix_unknown\ntrue true\ntrue true\n")


def test_folders_are_copied(t):
    assert js(t, """const fs = require('fs')
fs.mkdirSync('/tmp/a/b', { recursive: true }); fs.writeFileSync('/tmp/a/b/c', 'x', { mode: 0o640 }); fs.symlinkSync('b/c', '/tmp/a/l')
fs.cpSync('/tmp/a', '/tmp/z', { recursive: true })
console.log(fs.readdirSync('/tmp/z', { recursive: true }).sort().join(), fs.readlinkSync('/tmp/z/l'), (fs.statSync('/tmp/z/b/c').mode & 0o777).toString(8))
for (const [from, to, options] of [['/tmp/a', '/tmp/z', {}], ['/tmp/a', '/tmp/a/b/d', { recursive: true }], ['/tmp/a/b/c', '/tmp/z/b/c', { force: false, errorOnExist: true }]])
  try { fs.cpSync(from, to, options) } catch (error) { console.log(error.code) }
""") == "b,b/c,l /tmp/a/b/c 640\nERR_FS_EISDIR\nERR_FS_CP_EINVAL\nERR_FS_CP_EEXIST\n"


def test_changes_of_files_are_noticed(t):
    assert js(t, """const fs = require('fs')
fs.mkdirSync('/tmp/w')
const watcher = fs.watch('/tmp/w', (kind, name) => { console.log(kind, name); watcher.close() })
fs.writeFileSync('/tmp/w/new', '')
""") == "rename new\n"


def test_timers_go_on_behind_one_that_throws(t):
    """On a busy machine all timers are due before the first immediate runs."""
    lines = js(t, """process.on('uncaughtException', (error) => console.log(error.message))
setTimeout(() => { throw new Error('one') }); setTimeout(() => console.log('two'))
setImmediate(() => { throw new Error('three') }); setImmediate(() => console.log('four')); setTimeout(() => console.log('five'), 30)
""").split()
    assert [line for line in lines if line in ("one", "two", "five")] == ["one", "two", "five"] and [line for line in lines if line in ("three", "four")] == ["three", "four"], lines


def test_stacks_have_the_columns_of_v8(t):
    t.path("s.js", """function f() { throw new Error('x') }
const o = { a: { b() { f() } } };
for (const g of [() => o.a.b(1, [2].map((x) => x)), () => new (class A { constructor() { f() } })(), () => f(...[1]), () => o['a'].b()])
  try { g() } catch (error) { console.log(error.stack.split('\\n').slice(1, 4).map((line) => /(\\d+:\\d+)\\)?$/.exec(line)[1]).join(' ')) }
""")
    assert t.cay("js", "s.js").text == "1:22 2:24 3:28\n1:22 3:90 3:59\n1:22 3:108 4:9\n1:22 2:24 3:132\n"


def test_an_assertion_shows_its_source(t):
    t.path("a.js", "const assert = require('assert')\ntry { assert.ok(1 === 2) } catch (error) { console.log(error.message) }\n")
    assert t.cay("js", "a.js").text == "The expression evaluated to a falsy value:\n\n  assert.ok(1 === 2)\n\n"


def test_deep_and_hostile_values_end_with_errors(t):
    assert js(t, """const deep = () => { let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return a }
const tries = [() => JSON.stringify(deep()), () => JSON.parse('['.repeat(1e6)), () => String(deep()), () => structuredClone(deep()), () => require('v8').serialize(deep()),
  () => { let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x }, () => eval('('.repeat(1e5) + '1' + ')'.repeat(1e5)), function f() { return f() + 1 }]
for (const f of tries) try { f(); console.log('no error') } catch (error) { console.log(error.name) }
const own = []; own.push({ own }); try { JSON.stringify(own) } catch (error) { console.log(error.name) }
console.log(({ '\\u00c3\\u00a9': 1 }).\\u00e9)
""") == "RangeError\nSyntaxError\n" + "RangeError\n" * 6 + "TypeError\nundefined\n"


def test_the_memory_limit_is_an_error_first(t):
    for grow in ("a.push(new Array(1e5).fill(1.5))", "a.push(Buffer.alloc(1e6, 1))", "a.push('x'.repeat(1e6) + a.length)"):
        code = "try { const a = []; for (;;) %s } catch (error) { console.log('caught', error instanceof Error) }" % grow
        assert js(t, code, "--memory", "64M") == "caught true\n"


def test_code_without_an_end_stops_at_the_deadline(t):
    for code in ("/^(a+)+$/.test('a'.repeat(40) + 'b')", "for (;;);", "(function f() { Promise.resolve().then(f) })()", "(function f() { process.nextTick(f) })()",
                 "new Proxy({}, { get() { for (;;); } }).x", "({ get then() { for (;;); } }).then", "'x'.repeat(1e6).replace(/(x+x+)+y/, '')"):
        r = t.cay("js", "--timeout", "1s", "-e", code)
        assert r.code == 124, (code, r)


def test_threads_are_refused_with_the_way_around(t):
    r = t.cay("js", "-e", "new (require('worker_threads').Worker)('1', { eval: true })")
    assert r.code == 1 and "Worker is not supported in a sandbox: a program has one thread. child_process.fork and cluster start processes instead" in r.errors, r


def test_ports_and_streams_change_hands(t):
    assert js(t, """const { port1, port2 } = new MessageChannel(), { port1: a, port2: b } = new MessageChannel()
const buffer = new ArrayBuffer(8)
const refused = [() => structuredClone(buffer, { transfer: [buffer, buffer] }), () => port1.postMessage(1, [port1]), () => port1.postMessage({ a })]
for (const f of refused) try { f() } catch (error) { console.log(error.name) }
port2.onmessage = async ({ data }) => {
  console.log(data.buffer.byteLength, buffer.byteLength, await new Response(data.stream).text())
  data.a.onmessage = (event) => { console.log(event.data); port1.close(); b.close() }
  b.postMessage('through')
}
const stream = new ReadableStream({ start(controller) { controller.enqueue(new TextEncoder().encode('streamed')); controller.close() } })
port1.postMessage({ buffer, a, stream }, [buffer, a, stream])
""") == "DataCloneError\nDataCloneError\nDataCloneError\n8 0 streamed\nthrough\n"


def test_a_script_is_found_without_its_ending_as_node_finds_it(t):
    t.path("a.js", "console.log('found', require('./b'))\n")
    t.path("b.js", "module.exports = 1\n")
    t.path("plain", "console.log('plain')\n")
    t.path("plain.js", "console.log('not this')\n")
    assert t.cay("js", "a").text == "found 1\n"
    assert t.cay("js", "./a", "word").text == "found 1\n"
    assert t.cay("js", "plain").text == "plain\n"
    r = t.cay("js", "c")
    assert r.code == 125 and "c: No such file" in r.errors, r
