"""node in the shell, out of a booted interpreter: options, scripts, exit codes."""

import pathlib
import tempfile

from driver import *


def check(result, out, code=0):
    assert (result.stdout, result.returncode) == (out, code), (result, out)


def test_code_from_options(d):
    check(program("-e", "console.log(6 * 7)"), "42\n")
    check(program("-p", "[1, {a: 2}]"), "[ 1, { a: 2 } ]\n")
    check(program("--input-type=module", "-e", "import os from 'os'; console.log(await os.EOL.length)"), "1\n")
    check(program("-e", "console.log(process.argv.slice(1))", "a", "b"), "[ 'a', 'b' ]\n")


def test_code_from_standard_input():
    check(program("-", input="console.log('piped')"), "piped\n")
    check(program(input="console.log('piped')"), "piped\n")


def test_exit_codes_and_messages():
    check(program("-e", "process.exit(3)"), "", 3)
    check(program("-e", "process.exitCode = 4; process.on('exit', (c) => console.log('exit', c))"), "exit 4\n", 4)
    failed = program("-e", "throw new TypeError('bad')")
    check(failed, "", 1)
    assert "TypeError: bad\n    at [eval]:1:" in failed.stderr, failed.stderr
    failed = program("-e", "Promise.reject(new Error('nobody'))")
    assert failed.returncode == 1 and "nobody" in failed.stderr
    assert program("--no-such-option").returncode == 9
    assert program("nowhere.js").returncode == 1


def test_standard_input_as_a_stream():
    code = "let all = ''; process.stdin.on('data', (d) => all += d).on('end', () => console.log(all.length))"
    check(program("-e", code, input="x" * 100000), "100000\n")


def test_scripts_modules_and_packages():
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        (at / "node_modules/pack/lib").mkdir(parents=True)
        (at / "node_modules/pack/package.json").write_text('{"exports": {"import": "./lib/m.mjs", "require": "./lib/c.cjs"}}')
        (at / "node_modules/pack/lib/m.mjs").write_text("export default 'module'")
        (at / "node_modules/pack/lib/c.cjs").write_text("module.exports = 'common'")
        (at / "data.json").write_text('{"a": [1]}')
        (at / "common.cjs").write_text("#!/usr/bin/env node\nconsole.log(require('pack'), require('./data.json').a, __filename.endsWith('common.cjs'))")
        (at / "other.mjs").write_text("export let n = 1; export const add = () => n++")
        (at / "main.mjs").write_text(
            "import pack from 'pack'; import { n, add } from './other.mjs'; import data from './data.json' with { type: 'json' }\n"
            "add(); console.log(pack, n, data.a, import.meta.filename.endsWith('main.mjs')); await import('./common.cjs')"
        )
        check(program(f"{folder}/common.cjs", folder=folder), "common [ 1 ] true\n")
        check(program(f"{folder}/main.mjs", folder=folder), "module 2 [ 1 ] true\ncommon [ 1 ] true\n")


def test_each_module_knows_its_own_address():
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {"main.mjs": "import { u } from './a.mjs'; console.log(u, import.meta.filename.endsWith('main.mjs'))",
                           "a.mjs": "import { n } from './b.mjs'; export const u = [import.meta.url.endsWith('/a.mjs'), typeof import.meta.resolve, n]",
                           "b.mjs": "import './a.mjs'; export const n = import.meta.filename.endsWith('/b.mjs')"}.items():
            pathlib.Path(folder, name).write_text(text)
        check(program(f"{folder}/main.mjs", folder=folder), "[ true, 'function', true ] true\n")


def test_children():
    code = "const c = require('child_process'); console.log(c.execSync('cat', {input: 'in'}).toString()); c.exec('echo out; exit 3', (e, out) => console.log(e.code, out))"
    check(program("-e", code), "in\n3 out\n\n")
    code = "const c = require('child_process').spawn('cat'); c.stdout.on('data', (d) => console.log(String(d))); c.on('close', (n) => console.log(n)); c.stdin.end('piped')"
    check(program("-e", code), "piped\n0\n")
    check(program("-e", "console.log(require('child_process').spawnSync('nowhere').error.code)"), "ENOENT\n")


def test_signals():
    check(program("-e", "process.on('SIGUSR2', (s) => { console.log(s); clearInterval(t) }); const t = setInterval(() => {}, 1000); process.kill(process.pid, 'SIGUSR2')"), "SIGUSR2\n")


def test_digests_and_keys():
    code = """const c = require('crypto'); console.log(c.createHash('sha256').update('abc').digest('hex').slice(0, 8), c.createHmac('sha1', 'k').update('d').digest('base64'),
      c.pbkdf2Sync('p', 's', 1000, 8, 'sha256').toString('hex'), c.scryptSync('p', 's', 8).toString('hex'), c.randomUUID().length, c.timingSafeEqual(Buffer.from('a'), Buffer.from('b')));
      crypto.subtle.digest('SHA-256', new TextEncoder().encode('abc')).then((b) => console.log(Buffer.from(b).toString('hex').slice(0, 8)))"""
    check(program("-e", code), "ba7816bf K5DkHnwMyOL3XAKRDDiZzEaLoxY= 07f5f5e23e40846c 4329787752e75d1d 36 false\nba7816bf\n")


def test_what_is_missing_refuses_by_name():
    failed = program("-e", "require('vm').createContext({})")
    assert failed.returncode == 1 and "not supported in a sandbox" in failed.stderr, failed
    failed = program("-e", "new WebAssembly.Module(new Uint8Array())")
    assert failed.returncode == 1 and "WebAssembly.Module is not supported in a sandbox" in failed.stderr, failed
