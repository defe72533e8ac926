"""http2.py - servers that speak HTTP/2, behind a relay that speaks HTTP/1.1 to the guest."""
import contextlib
import json
import shutil
import subprocess

import secrets_of_guests
import servers
from secrets_of_guests import HOST, VALUE, check, run

SERVER = r"""
const http2 = require("http2"), fs = require("fs");
const [name, alpn] = process.argv.slice(1);
const server = http2.createSecureServer({ key: fs.readFileSync(`${name}.key`), cert: fs.readFileSync(`${name}.pem`), allowHTTP1: false, ALPNProtocols: alpn.split(",") });
server.on("sessionError", () => {});
server.on("stream", (stream, headers) => {
  const seen = { method: headers[":method"], path: headers[":path"], authority: headers[":authority"], key: headers["x-key"], cookie: headers.cookie, fields: Object.keys(headers) };
  console.log(JSON.stringify(seen));
  stream.on("error", () => {});
  const path = headers[":path"];
  if (path.startsWith("/size/")) { stream.respond({ ":status": 200 }); stream.end(Buffer.alloc(Number(path.slice(6)), "x")); return; }
  if (path === "/none") { stream.respond({ ":status": 204 }, { endStream: true }); return; }
  if (path === "/bare") { stream.respond({ ":status": 200 }, { endStream: true }); return; }
  if (path === "/hints") { stream.additionalHeaders({ ":status": 103, link: headers["x-key"] || "" }); stream.respond({ ":status": 200 }); stream.end("late"); return; }
  if (path === "/trailers") { stream.respond({ ":status": 200 }, { waitForTrailers: true }); stream.on("wantTrailers", () => stream.sendTrailers({ "x-end": headers["x-key"] || "" })); stream.end("body"); return; }
  if (path === "/reset") { stream.respond({ ":status": 200 }); stream.write("some"); setTimeout(() => stream.destroy(new Error("reset")), 50); return; }
  if (path === "/goaway") { stream.respond({ ":status": 200 }); stream.end("last"); stream.session.goaway(); return; }
  if (path === "/early") { stream.respond({ ":status": 413, "content-length": 4 }); stream.end("much"); return; }
  if (path === "/field") { stream.respond({ ":status": 200, "x-echo": headers["x-key"], "set-cookie": ["a=1", "b=2"] }); stream.end("ok"); return; }
  const pieces = [];
  stream.on("data", (d) => pieces.push(d));
  stream.on("end", () => { stream.respond({ ":status": 200, "content-type": "text/plain" }); stream.end(`${headers["x-key"]} ${Buffer.concat(pieces).length} ${Buffer.concat(pieces)}`.slice(0, 2000)); });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"""


@contextlib.contextmanager
def http2(t, alpn="h2"):
    """A server of Node's; gives its port and a function that stops it and returns the requests that it saw."""
    node = shutil.which("node")
    assert node, "node is needed for a server of HTTP/2"
    servers.authority(t.dir)
    servers.certificate(t.dir, HOST)
    process = subprocess.Popen([node, "-e", SERVER, HOST, alpn], cwd=t.dir, stdout=subprocess.PIPE, text=True)
    try:
        port = int(process.stdout.readline())

        def seen():
            process.terminate()
            return [json.loads(line) for line in process.stdout.read().splitlines()]
        yield port, seen
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_requests_go_to_a_server_that_speaks_http_2_alone(t):
    with http2(t) as (port, seen):
        code = secrets_of_guests.GUEST + """
ask('/echo?a=b', X_Key=KEY, Cookie='c=d')
ask('/field', X_Key=KEY)
ask('/post', 'POST', b'y' * 300000, X_Key=KEY)
ask('/chunks', 'POST', iter([b'one', b'two']), X_Key=KEY)
ask('/none'); ask('/bare'); ask('/', 'HEAD')
"""
        r = run(t, port, code)
        check(r, "http2")
        requests = seen()
        stars = "*" * len(VALUE)
        assert [q["key"] for q in requests[:4]] == [VALUE] * 4 and requests[0]["authority"] == f"{HOST}:{port}", (requests, r)
        assert requests[0]["path"] == "/echo?a=b" and requests[0]["cookie"] == "c=d", requests[0]
        assert not {"host", "connection", "transfer-encoding"} & {f for q in requests for f in q["fields"]}, requests
        assert f"{stars} 0 " in r.text and f"('x-echo', '{stars}'), ('set-cookie', 'a=1'), ('set-cookie', 'b=2')" in r.text, r
        assert f"{stars} 300000 yyy" in r.text and f"{stars} 6 onetwo" in r.text, r
        assert r.text.count("204 ") == 1 and "('content-length', '0')" in r.text and len(requests) == 7, r


def test_large_bodies_pass_both_ways(t):
    with http2(t) as (port, seen):
        code = """
import http.client
c = http.client.HTTPSConnection(HOST, PORT, timeout=60)
for i in range(3):
    c.request('GET', '/size/5000000')
    print(len(c.getresponse().read()))
c.request('POST', '/', b'z' * 3000000)
print(c.getresponse().read()[:20])
"""
        r = run(t, port, code)
        assert r.text == "5000000\n5000000\n5000000\nb'undefined 3000000 zz'\n", r


def test_hints_and_trailers_have_no_value(t):
    with http2(t) as (port, seen):
        r = run(t, port, secrets_of_guests.GUEST + "ask('/hints', X_Key=KEY); ask('/trailers', X_Key=KEY)")
        check(r, "hints")
        assert "103 " in r.text and "body" in r.text and len(seen()) == 2, r  # Python takes the hint for the answer


def test_a_reset_stream_is_a_cut_answer(t):
    with http2(t) as (port, seen):
        r = run(t, port, secrets_of_guests.GUEST + "attempt(ask, '/reset')\nask('/goaway')\nask('/after')\n")
        assert "IncompleteRead" in r.text and "last" in r.text and "undefined 0" in r.text, r


def test_an_answer_may_come_before_the_body_is_over(t):
    with http2(t) as (port, seen):
        r = run(t, port, secrets_of_guests.GUEST + "attempt(ask, '/early', 'POST', b'x' * 2000000)\n")
        assert "413" in r.text or "BrokenPipe" in r.text or "ConnectionReset" in r.text, r


def test_a_server_of_both_is_spoken_to_in_http_2(t):
    with http2(t, "h2,http/1.1") as (port, seen):
        r = run(t, port, "import urllib.request\nprint(urllib.request.urlopen(f'https://{HOST}:{PORT}/x').read())\n")
        assert r.text == "b'undefined 0 '\n" and seen()[0]["path"] == "/x", r
