"""Sockets, names, HTTP, TLS and fetch, with servers of the guest's own on its loopback."""

import contextlib
import pathlib
import subprocess
import tempfile

from driver import *


def check(result, out):
    assert (result.stdout, result.returncode) == (out, 0), result


def test_connections():
    code = """const net = require('net'); const server = net.createServer((c) => { c.on('data', (d) => c.write('echo ' + d)); c.on('end', () => c.end()) });
      server.listen(0, '127.0.0.1', () => { const c = net.connect(server.address().port, '127.0.0.1', () => c.end('hi'));
        c.on('data', (d) => console.log(String(d), c.remoteAddress)).on('close', (bad) => { console.log(bad); server.close() }) });
      net.connect(1, '127.0.0.1').on('error', (e) => console.log(e.code, e.syscall))"""
    result = program("-e", code)
    assert sorted(result.stdout.splitlines()) == ["ECONNREFUSED connect", "echo hi 127.0.0.1", "false"], result


def test_much_data_and_a_slow_reader():
    code = """const net = require('net'); const size = 3000000; const server = net.createServer((c) => { c.write(Buffer.alloc(size, 'x'), () => console.log('written')); c.end() }).listen(0, () => {
        let n = 0; const c = net.connect(server.address().port); c.pause(); setTimeout(() => c.resume(), 20);
        c.on('data', (d) => n += d.length).on('end', () => { console.log(n === size); server.close() }) })"""
    check(program("-e", code), "written\ntrue\n")


def test_unix_sockets():
    code = """const net = require('net'); const server = net.createServer((c) => c.end('by path')).listen('/tmp/s.sock', () =>
        net.connect('/tmp/s.sock').on('data', (d) => console.log(String(d))).on('close', () => server.close(() => console.log(require('fs').existsSync('/tmp/s.sock')))))"""
    check(program("-e", code), "by path\nfalse\n")


def test_datagrams_and_names():
    code = """const s = require('dgram').createSocket('udp4'); s.on('message', (m, from) => { console.log(String(m), from.address, from.size); s.close() }).bind(0, '127.0.0.1', () => s.send('hello', s.address().port, '127.0.0.1'));
      require('dns').promises.lookup('localhost').then((found) => console.log(found.address))"""
    assert sorted(program("-e", code).stdout.splitlines()) in (["127.0.0.1", "hello 127.0.0.1 5"], ["::1", "hello 127.0.0.1 5"])


def test_lists_of_addresses():
    code = """const { BlockList } = require('net'); const list = new BlockList(); list.addSubnet('10.0.0.0', 8); list.addRange('1.1.1.1', '1.1.1.9'); list.addAddress('::1', 'ipv6');
      console.log(list.check('10.2.3.4'), list.check('11.0.0.0'), list.check('1.1.1.5'), list.check('::1', 'ipv6'), list.check('::ffff:10.1.1.1', 'ipv6'), list.rules.length)"""
    check(program("-e", code), "true false true true true 3\n")


def test_http():
    code = """const http = require('http'); const server = http.createServer((q, r) => { let all = ''; q.on('data', (d) => all += d).on('end', () => { r.setHeader('X-A', ['1', '2']); r.end(`${q.method} ${q.url} ${q.headers['x-b']} ${all}`) }) });
      server.listen(0, () => { const q = http.request({ port: server.address().port, method: 'POST', path: '/p?q=1', headers: { 'X-B': 'b' }, agent: new http.Agent({ keepAlive: true }) }, (r) => {
        r.on('data', (d) => console.log(r.statusCode, r.headers['x-a'], String(d))).on('end', () => { q.agent?.destroy(); server.close(() => console.log('closed')) }) }); q.write('a'); q.end('b') })"""
    check(program("-e", code), "200 1, 2 POST /p?q=1 b ab\nclosed\n")


def test_hostile_http():
    code = """const http = require('http'), net = require('net'); const server = http.createServer({ maxHeaderSize: 1000 }, (q, r) => r.end()); server.on('clientError', (e, s) => { console.log(e.code); s.end('HTTP/1.1 400 Bad\\r\\n\\r\\n') });
      server.listen(0, async () => { for (const text of ['nonsense\\r\\n\\r\\n', 'GET / HTTP/1.1\\r\\nA: ' + 'x'.repeat(2000) + '\\r\\n\\r\\n', 'POST / HTTP/1.1\\r\\nHost: a\\r\\nContent-Length: 1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n'])
        await new Promise((done) => net.connect(server.address().port).on('close', done).on('error', () => {}).on('data', () => {}).end(text)); server.close() })"""
    check(program("-e", code), "HPE_INVALID_METHOD\nHPE_HEADER_OVERFLOW\nHPE_INVALID_TRANSFER_ENCODING\n")


def test_fetch():
    code = """import http from 'http'; const server = http.createServer((q, r) => { if (q.url === '/redirect') return r.writeHead(302, { location: '/end' }).end(); if (q.url === '/slow') return r.write('begun'); let n = 0; q.on('data', (d) => n += d.length).on('end', () => r.end(JSON.stringify({ url: q.url, type: q.headers['content-type']?.slice(0, 19), n }))) });
      await new Promise((done) => server.listen(0, done)); const at = `http://127.0.0.1:${server.address().port}`;
      console.log(await (await fetch(at + '/redirect')).json(), (await fetch(at + '/x', { method: 'POST', body: new URLSearchParams({ a: 'b' }) })).status);
      const form = new FormData(); form.set('f', new Blob(['xyz']), 'n.txt'); console.log((await (await fetch(at, { method: 'POST', body: form })).json()).type);
      const slow = await fetch(at + '/slow', { signal: AbortSignal.timeout(50) }); const reader = slow.body.getReader(); console.log(new TextDecoder().decode((await reader.read()).value)); await reader.read().catch((e) => console.log(e.name));
      const streamed = new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode('piece')); c.close() } }); console.log((await (await fetch(at, { method: 'PUT', body: streamed, duplex: 'half' })).json()).n);
      server.closeAllConnections(); server.close(); await fetch(at).catch((e) => console.log(e.message, typeof e.cause.code))"""
    out = "{ url: '/end', n: 0 } 200\nmultipart/form-data\nbegun\nTimeoutError\n5\nfetch failed string\n"
    check(program("--input-type=module", "-e", code), out)


def test_without_a_network():
    if NATIVE:
        return
    result = program("-e", "fetch('http://example.com').catch((e) => console.log(e.cause.message)); require('http').get('http://192.0.2.9').on('error', (e) => console.log(e.code, e.message))"
                     "; fetch('http://192.0.2.8').catch(({ cause }) => console.log(cause.name, cause.constructor.name, cause.address, cause.port, cause.stack.split('\\n')[0]))")
    off = "192.0.2.%d:80 - Local (0.0.0.0:0): Network is unreachable (the sandbox's network is off, or its policy does not allow this address)"
    assert sorted(result.stdout.splitlines()) == ["ENETUNREACH connect ENETUNREACH " + off % 9, "Error Error 192.0.2.8 80 Error: connect ENETUNREACH " + off % 8,
                                                  "getaddrinfo EAI_FAIL example.com: The network is off in this sandbox, names cannot be resolved"], result


@contextlib.contextmanager
def folder_with_certificate():
    """key.pem and cert.pem, which is for localhost."""
    with tempfile.TemporaryDirectory() as folder:
        command = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
        yield folder


def test_tls():
    with folder_with_certificate() as folder:
        (pathlib.Path(folder) / "tls.mjs").write_text(
            "import https from 'https'; import fs from 'fs'; import tls from 'tls'\nconst at = new URL('.', import.meta.url).pathname, key = fs.readFileSync(at + 'key.pem'), cert = fs.readFileSync(at + 'cert.pem')\n"
            "const server = https.createServer({ key, cert, ALPNProtocols: ['http/1.1'] }, (q, r) => { let n = 0; q.on('data', (d) => n += d.length).on('end', () => r.end(`${q.url} ${n}`)) })\n"
            "await new Promise((done) => server.listen(0, done)); const { port } = server.address()\n"
            "await new Promise((done) => https.request({ port, host: 'localhost', ca: cert, method: 'POST', path: '/a' }, (r) => { const { socket } = r\n"
            "  console.log(socket.authorized, socket.getProtocol(), socket.getPeerCertificate().subject.CN, socket.getCipher().version); r.on('data', (d) => console.log(String(d))).on('end', done) }).end(Buffer.alloc(300000)))\n"
            "for (const options of [{ host: 'localhost' }, { host: '127.0.0.1', ca: cert }, { host: 'localhost', ca: cert, maxVersion: 'TLSv1.2' }])\n"
            "  await new Promise((done) => tls.connect({ port, ...options }, function () { console.log(this.getProtocol()); this.on('close', done).end() }).on('error', (e) => { console.log(e.code); done() }))\n"
            "console.log(tls.rootCertificates.length > 50); server.closeAllConnections(); server.close()"
        )
        out = "true TLSv1.3 localhost TLSv1.3\n/a 300000\nDEPTH_ZERO_SELF_SIGNED_CERT\nERR_TLS_CERT_ALTNAME_INVALID\nTLSv1.2\ntrue\n"
        check(program(f"{folder}/tls.mjs", folder=folder), out)


def test_sessions_of_tls_and_certificates():
    with folder_with_certificate() as folder:
        (pathlib.Path(folder) / "tls.mjs").write_text(
            "import { once } from 'events'; import fs from 'fs'; import tls from 'tls'; import { X509Certificate } from 'crypto'\nconst at = new URL('.', import.meta.url).pathname, key = fs.readFileSync(at + 'key.pem'), cert = fs.readFileSync(at + 'cert.pem')\n"
            "const server = tls.createServer({ key, cert }, (socket) => socket.end('x')).listen(0); await once(server, 'listening'); const { port } = server.address()\n"
            "const keys = []; server.on('keylog', (line) => keys.push(String(line).split(' ')[0]))\n"
            "let session; for (const maxVersion of ['TLSv1.3', 'TLSv1.2']) for (let i = 0; i < 2; i++) {\n"
            "  let reused; const socket = tls.connect({ port, host: 'localhost', ca: cert, session, maxVersion }, () => reused = socket.isSessionReused()); socket.on('session', (s) => session = s).resume(); await once(socket, 'close'); console.log(maxVersion, reused) }\n"
            "console.log(keys.includes('CLIENT_RANDOM'), keys.includes('EXPORTER_SECRET'), server.getTicketKeys().length)\n"
            "const own = new X509Certificate(cert); console.log(own.subject, own.checkHost('localhost'), own.checkHost('other'), own.checkIssued(own), own.validToDate > new Date(), own.toString() === String(cert))\n"
            "tls.setDefaultCACertificates([cert]); const socket = tls.connect({ port, host: 'localhost' }); await once(socket, 'secureConnect'); console.log(socket.authorized, socket.getPeerX509Certificate().fingerprint256 === own.fingerprint256, socket.getPeerCertificate().issuerCertificate); socket.destroy(); server.close()"
        )
        out = "TLSv1.3 false\nTLSv1.3 true\nTLSv1.2 false\nTLSv1.2 true\ntrue true 48\nCN=localhost localhost undefined true true true\ntrue true undefined\n"
        check(program(f"{folder}/tls.mjs", folder=folder), out)


def test_questions_of_tls():
    """Protocols, keys that both sides have, sessions and names that the server is asked about; negotiating anew; an authority of one context alone."""
    with folder_with_certificate() as folder:
        (pathlib.Path(folder) / "tls.mjs").write_text(
            "import { once } from 'events'; import fs from 'fs'; import tls from 'tls'\nconst at = new URL('.', import.meta.url).pathname, key = fs.readFileSync(at + 'key.pem'), cert = fs.readFileSync(at + 'cert.pem')\n"
            "const start = async (options, on = () => {}) => { const server = tls.createServer({ key, cert, ...options }, on).listen(0); await once(server, 'listening'); return [server, { port: server.address().port, host: 'localhost', ca: cert }] }\n"
            "const meet = async (options) => { const socket = tls.connect(options); try { await once(socket, 'secureConnect'); return socket } catch (e) { return e } }\n"
            "let [server, to] = await start({ ALPNCallback: ({ servername, protocols }) => protocols.find((name) => name === 'b') }, (socket) => socket.end())\n"
            "const first = await meet({ ...to, ALPNProtocols: ['a', 'b', 'c'] }); console.log(first.alpnProtocol); first.destroy(); console.log((await meet({ ...to, ALPNProtocols: ['x'] })).code); server.close()\n"
            "const secret = Buffer.alloc(32, 7), psk = { ciphers: 'PSK+HIGH', checkServerIdentity() {} }\n"
            "for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) { [server, to] = await start({ key: undefined, cert: undefined, ...psk, maxVersion, pskCallback: (socket, identity) => identity === 'me' ? secret : null }, (socket) => socket.end())\n"
            "  const known = await meet({ ...to, ...psk, pskCallback: () => ({ psk: secret, identity: 'me' }) }); console.log(known.getProtocol(), known.authorized); known.destroy()\n"
            "  console.log((await meet({ ...to, ...psk, pskCallback: () => ({ psk: secret, identity: 'other' }) })) instanceof Error); server.close() }\n"
            "const stored = new Map(); [server, to] = await start({ secureOptions: 16384 /* no tickets */, maxVersion: 'TLSv1.2' }, (socket) => socket.end('x'))\n"
            "server.on('newSession', (id, session, done) => { stored.set(id.toString('hex'), session); done() }).on('resumeSession', (id, done) => setImmediate(() => done(null, stored.get(id.toString('hex')))))\n"
            "let session; for (let i = 0; i < 2; i++) { const socket = await meet({ ...to, session }); socket.resume(); session = socket.getSession(); console.log(socket.isSessionReused(), stored.size); await once(socket, 'close') } server.close()\n"
            "let handshakes = 0; [server, to] = await start({ maxVersion: 'TLSv1.2' }, (socket) => { socket.on('secure', () => handshakes++).on('data', (data) => socket.end(data)) })\n"
            "const anew = await meet(to); await new Promise((done) => anew.renegotiate({}, done)); anew.write('after'); console.log(String((await once(anew, 'data'))[0]), handshakes); anew.destroy(); server.close()\n"
            "const trusting = tls.createSecureContext({}); trusting.context.addCACert(cert); [server, to] = await start({}); for (const secureContext of [trusting, tls.createSecureContext({})]) { const met = await meet({ ...to, secureContext }); console.log(met.code ?? met.authorized); met.destroy?.() } server.close()"
        )
        out = "b\nERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL\nTLSv1.2 true\ntrue\nTLSv1.3 true\ntrue\nfalse 1\ntrue 1\nafter 1\ntrue\nDEPTH_ZERO_SELF_SIGNED_CERT\n"
        check(program(f"{folder}/tls.mjs", folder=folder), out)


def test_children_with_a_channel():
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "child.js").write_text("process.on('message', (m) => { process.send({ got: m }); process.disconnect() })")
        (pathlib.Path(folder) / "main.js").write_text(
            "const c = require('child_process').fork(__dirname + '/child.js'); c.on('message', (m) => console.log(m)).on('exit', (code) => console.log(code)); c.send({ a: [1] })"
        )
        if NATIVE:
            return
        check(program(f"{folder}/main.js", folder=folder), "{ got: { a: [ 1 ] } }\n0\n")
