"""packages.py - requests, httpx and aiohttp: installed by pip from an index of the test into an environment, over TLS that is verified, and
used under a policy.

All are wheels of pure Python but aiohttp, whose wheels on the registry are native. Its C parts (_http_parser, _http_writer and
_websocket/mask, reader_c) are copies of code that it has in Python, too, for interpreters without them: the wheel of the test is its source without
the C parts. Of multidict, yarl, frozenlist, propcache and charset-normalizer the registry has native wheels and pure ones; the pure ones are taken."""
import io
import json
import pathlib
import subprocess
import threading
import zipfile

import harness
import servers
from clients import wheel
from secrets_of_guests import VALUE, check

HOST = "good.test"
WHEELS = ("requests", "urllib3", "certifi", "idna", "charset-normalizer", "httpx", "httpcore", "h11", "anyio", "aiosignal", "aiohappyeyeballs", "attrs", "frozenlist",
          "multidict", "propcache", "yarl", "typing-extensions")


def folder(name):
    return pathlib.Path(subprocess.run([harness.ROOT / "scripts/fetch", name], check=True, capture_output=True, text=True).stdout.strip())


def packed(place):
    """The wheel that was unpacked there: its name and bytes."""
    (info,) = place.glob("*.dist-info")
    assert "Root-Is-Purelib: true" in (info / "WHEEL").read_text(), place
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as z:
        for path in sorted(p for p in place.rglob("*") if p.is_file()):
            assert path.suffix not in (".so", ".pyd"), path
            z.write(path, path.relative_to(place))
    return f"{info.name.removesuffix('.dist-info')}-py3-none-any.whl", data.getvalue()


def aiohttp():
    """Its source as a wheel, without the parts in C."""
    place = folder("aiohttp")
    metadata = (place / "PKG-INFO").read_text()
    field = lambda name: [line.partition(": ")[2] for line in metadata.splitlines() if line.startswith(name + ":")]
    files = {str(p.relative_to(place)): p.read_text() for p in sorted((place / "aiohttp").rglob("*.py"))}
    requires = [r for r in field("Requires-Dist") if "extra ==" not in r]
    version = field("Version")[0]
    return f"aiohttp-{version}-py3-none-any.whl", wheel("aiohttp", version, files, requires)


class Site(servers.Pages):
    """A package index under /simple, and pages: /slow never answers, /to/URL redirects."""

    def do_GET(self):
        parts = self.path.strip("/").split("/")
        if parts[0] == "simple":
            names = [w for w in self.server.wheels if w.split("-")[0].replace("_", "-").lower() == parts[1]]
            self.answer(("<!DOCTYPE html><html><body>" + "".join(f'<a href="/files/{w}">{w}</a>' for w in names) + "</body></html>").encode())
        elif parts[0] == "files":
            self.answer(self.server.wheels[parts[1]])
        elif self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path[4:])
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path == "/slow":
            self.server.hold.wait(30)
        elif self.path == "/key":
            self.server.keys.append(self.headers["X-Key"])
            self.answer(self.headers["X-Key"].encode())
        else:
            super().do_GET()

    def answer(self, body):
        self.send_response(200)
        kind = "text/html" if self.path.startswith("/simple") else "application/json" if self.path == "/json" else "application/octet-stream"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


# Each client as one function: (method, url, **options) -> (status, body); errors as their own classes.
USE = """
import asyncio, json, os, ssl, sys
KEY = os.environ['KEY']
def causes(e):
    found = []
    while e is not None:
        found.append(type(e).__name__ + ' ' + str(e))
        e = getattr(e, 'os_error', None) or e.__cause__ or e.__context__
    return ' | '.join(found)
def by_requests(method, url, timeout=60, **options):
    import requests
    r = requests.request(method, url, timeout=timeout, **options)
    return r.status_code, r.content
def by_httpx(method, url, timeout=60, **options):
    import httpx
    r = httpx.request(method, url, timeout=timeout, follow_redirects=True, **options)
    return r.status_code, r.content
def by_httpx_async(method, url, timeout=60, **options):
    import httpx
    async def main():
        async with httpx.AsyncClient(timeout=timeout, follow_redirects=True) as c:
            r = await c.request(method, url, **options)
            return r.status_code, r.content
    return asyncio.run(main())
def by_aiohttp(method, url, timeout=60, **options):
    import aiohttp
    async def main():
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(timeout)) as c:
            async with c.request(method, url, **options) as r:
                return r.status, await r.read()
    return asyncio.run(main())
for client in (by_requests, by_httpx, by_httpx_async, by_aiohttp):
    def ask(*a, **k):
        try:
            return client(*a, **k)
        except Exception as e:
            return causes(e)
    base = f'https://good.test:{PORT}'
    print(json.dumps({'client': client.__name__, 'seen': [str(x) for x in (
        ask('GET', base + '/a'), ask('POST', base + '/b', data={'k': 'v'}), ask('GET', base + '/to/' + base + '/c'), ask('GET', base + '/key', headers={'X-Key': KEY}),
        len(ask('GET', base + '/size/3000000')[1]), ask('GET', f'https://wrong.test:{PORT}/d'), ask('GET', f'https://denied.test:{PORT}/e'), ask('GET', base + '/to/http://169.254.169.254/'),
        ask('GET', base + '/slow', timeout=0.5))]}), flush=True)
import aiohttp
async def many():
    async with aiohttp.ClientSession() as c:
        async def one(i):
            async with c.get(f'https://good.test:{PORT}/{i}') as r:
                return await r.text() == f'page /{i}\\n'
        return sum(await asyncio.gather(*(one(i) for i in range(40))))
print(asyncio.run(many()))
import aiohttp.http_parser, multidict, yarl
print(aiohttp.http_parser.HttpRequestParser is aiohttp.http_parser.HttpRequestParserPy, multidict.MultiDict.__module__, yarl.URL('http://a/b c'))
"""


def test_requests_httpx_and_aiohttp_from_an_index_under_a_policy(t):
    servers.authority(t.dir)
    context = servers.certificate(t.dir, HOST)
    with servers.pages(context, Site) as s:
        s.wheels, s.keys, s.hold = dict([*(packed(folder(name)) for name in WHEELS), aiohttp()]), [], threading.Event()
        t.path("use.py", f"PORT = {s.port}\n" + USE)
        rules = [{"action": "allow", "host": [HOST, "wrong.test"], "cidr": "127.0.0.1"}]
        r = t.run("--net-ca", "ca.pem", "--net-rules", json.dumps(rules), *(w for name in (HOST, "wrong.test", "denied.test") for w in ("--add-host", f"{name}=127.0.0.1")),
                  "--secret", f"KEY@{HOST}:{s.port}", "--in", "use.py", "--timeout", "9m", "--quiet", f"""set -e
python3 -m venv /tmp/v
/tmp/v/bin/pip install -q --disable-pip-version-check --index-url https://{HOST}:{s.port}/simple requests httpx aiohttp
/tmp/v/bin/python use.py""", env={"KEY": VALUE})
        s.hold.set()
        lines = r.text.splitlines()
        assert len(lines) == 6, r
        check(r, "packages")
        for line in lines[:4]:
            told = json.loads(line)
            got, stars = told["seen"], b"*" * len(VALUE)
            assert got[0] == str((200, b"page /a\n")) and got[1] == str((200, b"3 bytes\n")) and got[2] == str((200, b"page /c\n")), told
            assert got[3] == str((200, stars)) and got[4] == "3000000", told
            assert "CERTIFICATE_VERIFY_FAILED" in got[5] and "ostname mismatch" in got[5], told
            assert "Permission denied" in got[6] and "Permission denied" in got[7] and "imeout" in got[8], told
        assert lines[4] == "40" and lines[5] == "True multidict._multidict_py http://a/b%20c", r
        assert s.keys == [VALUE] * 4, s.keys
