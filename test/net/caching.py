"""caching.py - answers that are kept in a file, and which are not."""
import email.utils
import http.server
import json
import ssl
import time

import secrets_of_guests
import servers

CODE = """
import os, sys, urllib.error, urllib.request
def ask(path, data=None, **fields):
    request = urllib.request.Request(BASE + path, data, {n.replace('_', '-'): v for n, v in fields.items()})
    try:
        with urllib.request.urlopen(request, timeout=60) as r:
            print(path, r.status, r.read().decode(), r.headers.get('Cache-Status'), r.headers.get('Age'))
    except urllib.error.HTTPError as e:
        print(path, e.code, e.read().decode(), e.headers.get('Cache-Status'))
"""


class Pages(http.server.BaseHTTPRequestHandler):
    """/N?field=value&…: the N-th answer for this path, with these fields; `_etag`: 304 for its own ETag; `_status`."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path, _, query = self.path.partition("?")
        words = [w.partition("=")[::2] for w in query.split("&") if w]
        fields = {n: v.replace("+", " ") for n, v in words}
        self.server.seen.append((self.command, self.path, dict(self.headers)))
        number = sum(1 for s in self.server.seen if s[1] == self.path)
        status = int(fields.pop("_status", 200))
        body = f"{number}".encode()
        if "_expires" in fields:
            fields["Expires"] = email.utils.formatdate(time.time() + int(fields.pop("_expires")), usegmt=True)
        if "ETag" in fields and self.headers["If-None-Match"] == fields["ETag"]:
            status, body = 304, b""
        if "_size" in fields:
            body = b"x" * int(fields.pop("_size"))
        end = fields.pop("_end", None)
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        if not end and status != 304:
            self.send_header("Content-Length", str(len(body)))
        if end:
            self.close_connection = True
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_):
        pass


def run(t, s, code, *options, base=None, **keywords):
    base = base or f"http://host.cay.internal:{s.port}"
    return t.run("--allow-net", f"127.0.0.1:{s.port}", "--net-cache", "cache.json", *options, "--", "python3", "-c", f"BASE = {base!r}\n" + CODE + code, **keywords)


def numbers(r):
    return [line.split(" ")[2] for line in r.text.splitlines()]


def test_fresh_answers_are_given_again(t):
    with servers.pages(handler=Pages) as s:
        paths = ["/a?Cache-Control=max-age=100", "/b?Cache-Control=public,+s-maxage=50", "/c?_expires=100", "/d?Cache-Control=max-age=100&_status=404", "/e?Cache-Control=max-age=9&Vary=Accept-Encoding"]
        r = run(t, s, "".join(f"ask({p!r}); ask({p!r})\n" for p in paths))
        assert numbers(r) == ["1", "1"] * len(paths) and r.text.count("cay; hit 0") >= len(paths) - 1 and len(s.seen) == len(paths), (r, s.seen)


def test_answers_that_may_not_be_kept_are_not(t):
    with servers.pages(handler=Pages) as s:
        paths = ["/a", "/b?Cache-Control=no-store,+max-age=100", "/c?Cache-Control=private,+max-age=100", "/d?Cache-Control=max-age=0", "/e?_expires=-100", "/f?Expires=0", "/g?Cache-Control=max-age=100&Vary=*",
                 "/h?Cache-Control=max-age=100&Set-Cookie=a", "/i?Cache-Control=max-age=100&_status=500", "/j?Cache-Control=max-age=100&Age=100", "/k?Cache-Control=no-cache,+max-age=100",
                 "/l?Cache-Control=max-age=x", "/m?Cache-Control=max-age=100&_end=1", "/n?Cache-Control=s-maxage=0,+max-age=100", "/o?Cache-Control=max-age=100&Vary=Cookie", "/p?Cache-Control=max-age=100&_status=206"]
        r = run(t, s, "".join(f"ask({p!r}); ask({p!r})\n" for p in paths))
        assert numbers(r) == ["1", "2"] * len(paths) and "Cache-Status" not in r.text, r


def test_requests_that_do_not_want_an_answer_from_a_cache_get_none(t):
    with servers.pages(handler=Pages) as s:
        path = "/a?Cache-Control=max-age=100&Age=5"
        asks = ["Cache_Control='no-cache'", "Cache_Control='no-store'", "Cache_Control='max-age=0'", "Pragma='no-cache'", "Range='bytes=0-0'", "If_None_Match='\"x\"'", "Authorization='Basic eDp5'", "Cookie='a=b'"]
        r = run(t, s, f"ask({path!r})\n" + "".join(f"ask({path!r}, {a})\n" for a in asks) + f"ask({path!r})\n")
        assert len(s.seen) == 1 + len(asks), (r, s.seen)
        r = run(t, s, "ask('/b?Cache-Control=public,+max-age=100', Authorization='Basic eDp5'); ask('/b?Cache-Control=public,+max-age=100', Authorization='Basic eDp5')")
        assert numbers(r) == ["1", "1"], r


def test_answers_vary_by_what_they_say(t):
    with servers.pages(handler=Pages) as s:
        path = "/a?Cache-Control=max-age=100&Vary=X-One"
        r = run(t, s, "".join(f"ask({path!r}, X_One={v!r})\n" for v in "aabba") + f"ask({path!r})\n")
        assert numbers(r) == ["1", "1", "2", "2", "1", "3"], r


def test_stale_answers_are_asked_about(t):
    with servers.pages(handler=Pages) as s:
        path = '/a?ETag="one"&Cache-Control=max-age=0'
        r = run(t, s, f"ask({path!r}); ask({path!r}); ask({path!r})\n")
        assert numbers(r) == ["1", "1", "1"] and r.text.count("fwd-status=304") == 2, r
        assert [q[2].get("If-None-Match") for q in s.seen] == [None, '"one"', '"one"'], s.seen
        r = run(t, s, f"ask({path!r}, If_None_Match='\"one\"')\n")
        assert " 304 " in r.text, r


def test_changes_forget_the_answer(t):
    with servers.pages(handler=Pages) as s:
        path = "/a?Cache-Control=max-age=100"
        r = run(t, s, f"ask({path!r}); ask({path!r}); ask({path!r}, b'new'); ask({path!r})\n")
        assert numbers(r) == ["1", "1", "2", "3"], r


def test_runs_share_a_file_and_nothing_else(t):
    with servers.pages(handler=Pages) as s:
        path = "/a?Cache-Control=max-age=100"
        for expected in ("1", "1"):
            assert numbers(run(t, s, f"ask({path!r})\n")) == [expected]
        (t.dir / "cache.json").rename(t.dir / "other.json")
        assert numbers(run(t, s, f"ask({path!r})\n")) == ["2"]
        saved = json.loads((t.dir / "cache.json").read_text())
        assert saved["cay-cache"] == 1 and saved["answers"][0]["answer"]["body"] == "2", saved
        assert (t.dir / "cache.json").stat().st_mode & 0o077 == 0 and sorted(p.name for p in t.dir.iterdir()) == ["cache.json", "other.json"]


def test_rules_hold_for_kept_answers(t):
    with servers.pages(handler=Pages) as s:
        path = "/a?Cache-Control=max-age=100"
        assert numbers(run(t, s, f"ask({path!r})\n")) == ["1"]
        rules = json.dumps([{"action": "deny", "host": "host.cay.internal", "path": "/a"}])
        r = run(t, s, f"ask({path!r})\n", "--net-rules", rules)
        assert "403" in r.text or "1" in r.text, r  # an address that is allowed by itself has no rule about paths
        r = t.run("--allow-net", "a.test", "--net-cache", "cache.json", f"wget -q -O- 'http://host.cay.internal:{s.port}{path}'")
        assert r.code != 0 and r.text == "", r


def test_large_answers_pass_and_are_not_kept(t):
    with servers.pages(handler=Pages) as s:
        r = run(t, s, "import urllib.request as u\nfor i in range(2): print(len(u.urlopen(BASE + '/a?Cache-Control=max-age=100&_size=20000000').read()))\n", "--timeout", "2m")
        assert r.text == "20000000\n20000000\n" and len(s.seen) == 2, r
        assert json.loads((t.dir / "cache.json").read_text())["answers"] == []


def test_secrets_are_credentials_and_stay_out_of_the_file(t):
    servers.authority(t.dir)
    with servers.pages(servers.certificate(t.dir, "vault.test"), handler=Pages) as s:
        options = ("--net-ca", "ca.pem", "--secret", f"KEY@vault.test:{s.port}", "--add-host", "vault.test=127.0.0.1")
        code = "for p in ('/a?Cache-Control=max-age=100', '/b?Cache-Control=public,+max-age=100'):\n  for i in range(2): ask(p, X_Key=os.environ['KEY'])\n"
        r = run(t, s, code, *options, base=f"https://vault.test:{s.port}", env={"KEY": secrets_of_guests.VALUE})
        assert numbers(r) == ["1", "2", "1", "1"], r
        assert all(q[2]["X-Key"] == secrets_of_guests.VALUE for q in s.seen), s.seen
        text = (t.dir / "cache.json").read_text()
        assert not secrets_of_guests.leaks(text.encode()) and len(json.loads(text)["answers"]) == 1, text


def test_files_that_are_no_cache_are_left_alone(t):
    for text, words in (("{}", "no cache of version"), ("x", "no cache"), ('{"cay-cache": 1, "answers": [{}]}', "not whole")):
        t.path("cache.json", text)
        r = t.run("--net", "all-public", "--net-cache", "cache.json", "true")
        assert r.code == 125 and words in r.errors and (t.dir / "cache.json").read_text() == text, (text, r)
    r = t.run("--net", "all-public", "--net-cache", "c.json", "--net-record", "t.json", "true")
    assert r.code == 125 and "excludes" in r.errors, r
