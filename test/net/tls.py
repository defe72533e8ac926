"""tls.py - TLS that the guest speaks: certificates, and the name in the first bytes."""
import servers

GET = """
import ssl, sys, urllib.error, urllib.request
context = ssl.create_default_context(cafile='ca.pem')
def get(host):
    try:
        return urllib.request.urlopen(f'https://{host}:PORT/', context=context, timeout=20).read().decode().strip()
    except urllib.error.URLError as e:
        return getattr(e.reason, 'verify_message', None) or type(e.reason).__name__
"""


def get(t, port, hosts, *options):
    code = GET.replace("PORT", str(port)) + "".join(f"print(get({h!r}))\n" for h in hosts)
    return t.run("--in", "ca.pem", "--allow-net", f"127.0.0.1:{port}", *options, "--", "python3", "-c", code)


def test_certificates_are_verified(t):
    servers.authority(t.dir)
    for name, how, answer in (("good.test", {}, "page /"), ("expired.test", {"expired": True}, "certificate has expired"), ("own.test", {"own": True}, "self-signed certificate")):
        with servers.pages(servers.certificate(t.dir, name, **how)) as s:
            r = get(t, s.port, [name], "--add-host", f"{name}=127.0.0.1")
            assert r.text.strip() == answer, (name, r)


def test_a_certificate_for_another_host_is_refused(t):
    servers.authority(t.dir)
    with servers.pages(servers.certificate(t.dir, "good.test")) as s:
        r = get(t, s.port, ["other.test"], "--add-host", "other.test=127.0.0.1")
        assert "Hostname mismatch" in r.text, r


def test_the_server_name_must_be_the_name_that_was_allowed(t):
    servers.authority(t.dir)
    with servers.pages(servers.certificate(t.dir, "good.test")) as s:
        code = f"""
import socket, ssl
context = ssl._create_unverified_context()
for name in ('good.test', 'other.test', None):
    try:
        with context.wrap_socket(socket.create_connection(('good.test', {s.port})), server_hostname=name) as c:
            print('connected', c.version())
    except OSError as e:
        print(type(e).__name__)
"""
        rules = '[{"action":"allow","host":"good.test","cidr":"127.0.0.1"}]'
        r = t.run("--net-rules", rules, "--add-host", "good.test=127.0.0.1", "--", "python3", "-c", code)
        assert r.text == "connected TLSv1.3\nPermissionError\nPermissionError\n", r


def test_asyncio_streams_speak_tls(t):
    servers.authority(t.dir)
    with servers.pages(servers.certificate(t.dir, "good.test")) as s:
        code = f"""
import asyncio, ssl
async def main():
    context = ssl.create_default_context(cafile='ca.pem')
    reader, writer = await asyncio.open_connection('good.test', {s.port}, ssl=context)
    writer.write(b'GET /x HTTP/1.0\\r\\nHost: good.test\\r\\n\\r\\n')
    print((await reader.read()).split(b'\\r\\n\\r\\n')[1])
    writer.close()
asyncio.run(main())
"""
        r = t.run("--in", "ca.pem", "--allow-net", f"127.0.0.1:{s.port}", "--add-host", "good.test=127.0.0.1", "--", "python3", "-c", code)
        assert r.text == "b'page /x\\n'\n", r


SCRIPT = """
const https = require('https');
const get = (url) => new Promise((done) => https.get(url, (r) => { let all = ''; r.on('data', (d) => all += d).on('end', () => done(all.trim())) }).on('error', (e) => done(e.code)));
(async () => {
  for (const url of process.argv.slice(2)) console.log(await fetch(url).then(async (r) => (await r.text()).trim(), (e) => e.cause.code), await get(url));
})();
"""


def test_curl_wget_and_javascript_verify_certificates(t):
    servers.authority(t.dir)
    t.path("get.js", SCRIPT)
    answers = {"good.test": ("page /", "0", "0", "page / page /"), "expired.test": ("", "60", "5", "CERT_HAS_EXPIRED CERT_HAS_EXPIRED"),
               "own.test": ("", "60", "5", "DEPTH_ZERO_SELF_SIGNED_CERT DEPTH_ZERO_SELF_SIGNED_CERT"), "other.test": ("", "60", "5", "ERR_TLS_CERT_ALTNAME_INVALID ERR_TLS_CERT_ALTNAME_INVALID")}
    for name, how in (("good.test", {}), ("expired.test", {"expired": True}), ("own.test", {"own": True}), ("other.test", {})):
        context = servers.certificate(t.dir, "good.test" if name == "other.test" else name, **how)
        with servers.pages(context) as s:
            url = f"https://{name}:{s.port}/"
            r = t.run("--in", "get.js", "--net-ca", "ca.pem", "--allow-net", f"127.0.0.1:{s.port}", "--add-host", f"{name}=127.0.0.1", "--quiet",
                      f"curl -sS {url} 2>/dev/null; echo curl $?; wget -qO /dev/null {url} 2>/dev/null; echo wget $?; node get.js {url}")
            body, curl, wget, script = answers[name]
            assert r.text.splitlines() == [*([body] if body else []), f"curl {curl}", f"wget {wget}", script], (name, r)
