"""tapes.py - recording the HTTP of a sandbox, and answering from the recording."""
import gzip
import http.server
import json

import secrets_of_guests
import servers

CODE = """
import hashlib, http.client, ssl, sys, urllib.error, urllib.request
def ask(url, data=None, method=None, **fields):
    request = urllib.request.Request(url, data, fields, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as r:
            body = r.read()
            print(r.status, r.reason, sorted(r.headers.items()), len(body), hashlib.sha256(body).hexdigest())
    except urllib.error.HTTPError as e:
        print(e.code, e.reason, e.read())
    except OSError as e:
        print(type(e).__name__, e)
"""
ASKS = """
ask(f'{BASE}/text')
ask(f'{BASE}/bytes')
ask(f'{BASE}/chunks')
ask(f'{BASE}/end')
ask(f'{BASE}/count')
ask(f'{BASE}/count')
ask(f'{BASE}/echo', b'one')
ask(f'{BASE}/echo', bytes(range(256)))
ask(f'{BASE}/none')
ask(f'{BASE}/text', method='HEAD')
ask(f'{BASE}/missing?a=%20b')
"""


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, length=True, **fields):
        self.server.seen.append(self.requestline)
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        if length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/chunks":
            self.answer(200, b"3\r\nabc\r\n5\r\ndefgh\r\n0\r\n\r\n", False, Transfer_Encoding="chunked")
        elif path == "/end":
            self.close_connection = True
            self.answer(200, "bis zum Schluß".encode(), False, Connection="close")
        elif path == "/count":
            self.answer(200, b"%d" % len(self.server.seen))
        elif path == "/none":
            self.answer(204, b"", False)
        elif path == "/bytes":
            self.answer(200, bytes(range(256)) * 1000, Content_Type="application/octet-stream")
        elif path == "/zip":
            self.answer(200, gzip.compress(b"zipped"), Content_Encoding="gzip")
        elif path == "/text":
            self.answer(200, "ein Text, ä\n".encode(), Content_Type="text/plain", Set_Cookie="a=1")
        else:
            self.answer(404, b"no such page")

    do_HEAD = do_GET

    def do_POST(self):
        self.answer(200, self.rfile.read(int(self.headers["Content-Length"])))

    def log_message(self, *_):
        pass


def test_a_run_is_repeated_without_network_byte_for_byte(t):
    servers.authority(t.dir)
    for scheme, context in (("https", servers.certificate(t.dir, "good.test")), ("http", None)):
        with servers.pages(context, Pages) as s:
            code = f"BASE = '{scheme}://good.test:{s.port}'\n" + CODE + ASKS
            options = ("--net-ca", "ca.pem", "--allow-net", f"127.0.0.1:{s.port}")
            first = t.run(*options, "--add-host", "good.test=127.0.0.1", "--net-record", "tape.json", "--", "python3", "-c", code)
            assert first.code == 0 and first.text.count("\n") == 11 and len(s.seen) == 11, (scheme, first)
        tape = json.loads((t.dir / "tape.json").read_text())
        assert tape["names"] == {"good.test": ["127.0.0.1"]} and len(tape["exchanges"]) == 11, tape
        assert tape["exchanges"][0]["answer"]["body"] == "ein Text, ä\n" and tape["exchanges"][1]["answer"]["bodyBase64"], tape["exchanges"][0]
        again = t.run(*options, "--net-replay", "tape.json", "--", "python3", "-c", code)
        assert again.out == first.out and again.code == 0, (scheme, first, again)


def test_requests_that_the_tape_lacks_are_refused(t):
    servers.authority(t.dir)
    with servers.pages(None, Pages) as s:
        code = f"BASE = 'http://good.test:{s.port}'\n" + CODE
        options = ("--allow-net", f"127.0.0.1:{s.port}", "--allow-net", "*")
        t.run(*options, "--add-host", "good.test=127.0.0.1", "--net-record", "tape.json", "--", "python3", "-c", code + "ask(BASE + '/text')\n")
        seen = len(s.seen)
        more = """
ask(BASE + '/text')
ask(BASE + '/text')
ask(BASE + '/other')
ask(BASE + '/text', b'body')
ask('http://other.test/')
import socket
c = socket.create_connection(('good.test', PORT))
c.sendall(b'\\x01\\x02 no HTTP')
try:
    print(c.recv(10))
except OSError as e:
    print(type(e).__name__)
""".replace("PORT", str(s.port))
        r = t.run(*options, "--net-replay", "tape.json", "--", "python3", "-c", code + more)
        lines = r.text.splitlines()
        assert lines[0].startswith("200 ") and all("502" in line and "not on the tape" in line for line in lines[1:4]), r
        assert "Name" in lines[4] and lines[5] == "PermissionError" and len(s.seen) == seen, r


def test_a_tape_has_names_in_place_of_secrets(t):
    with secrets_of_guests.vault(t) as (port, seen):
        code = secrets_of_guests.GUEST + "ask('/x?a=' + KEY, X_Key=KEY)\nask('/y', 'POST', KEY, X_Key='0')\n"
        first = secrets_of_guests.run(t, port, code, "--net-record", "tape.json", secret=f"KEY@{secrets_of_guests.HOST}:{port}+query")
        tape = (t.dir / "tape.json").read_bytes()
        assert not secrets_of_guests.leaks(tape) and b"/x?a={{KEY}}" in tape and b"cay-secret-KEY" not in tape, tape
        assert len(seen) == 2 and first.code == 0, first
        again = secrets_of_guests.run(t, port, code, "--net-replay", "tape.json", secret=f"KEY@{secrets_of_guests.HOST}:{port}+query")
        key = lambda r: [w for w in r.text.replace("'", " ").replace("=", " ").split() if w.startswith("cay-secret-KEY-")][0][:39]
        assert again.text.replace(key(again), key(first)) == first.text and len(seen) == 2, (first, again)


def test_files_that_are_no_tape_are_refused(t):
    for content in ("", "{", "[]", '{"cay-tape":2,"names":{},"exchanges":[]}', '{"cay-tape":1,"names":{},"exchanges":[{}]}',
                    '{"cay-tape":1,"names":{},"exchanges":[{"request":{"method":"GET","url":"x","fields":[],"body":""},"answer":{"status":200,"reason":"a\\r\\nb","fields":[],"body":""}}]}',
                    '{"cay-tape":1,"names":{},"exchanges":[{"request":{"method":"GET","url":"x","fields":[],"body":""},"answer":{"status":200,"reason":"","fields":[["a","b\\nc"]],"body":""}}]}'):
        t.path("tape.json", content)
        r = t.run("--allow-net", "a.test", "--net-replay", "tape.json", "true")
        assert r.code != 0 and "network.replay: tape.json" in r.errors, (content, r)
    assert t.run("--allow-net", "a.test", "--net-record", "/none/tape.json", "true").code != 0
    r = t.run("--allow-net", "a.test", "--net-record", "a", "--net-replay", "b", "true")
    assert r.code != 0 and "exclude each other" in r.errors, r
