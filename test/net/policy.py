"""policy.py - what the rules decide, as programs in the sandbox see it."""
import json
import re
import pathlib

import servers

HERE = pathlib.Path(__file__).resolve().parent


def test_no_spelling_of_a_special_address_is_reached(t):
    forms = re.findall(r'^F\("(.*)"\)$', (HERE / "ssrf.def").read_text(), re.M)
    assert len(forms) >= 160
    with servers.pages() as s:
        code = f"""
import http.client, socket, sys
for form in {forms!r}:
    try:
        host = form
        c = socket.create_connection((host, {s.port}), timeout=5)
        c.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
        print('reached', form, c.recv(100))
    except (OSError, UnicodeError, ValueError):
        pass
print('end')
"""
        r = t.run("--net", "all-public", "--timeout", "5m", "--quiet", "--", "python3", "-c", code)
        assert r.text == "end\n" and s.seen == [], (r, s.seen)


def bracketed(form):
    return f"[{form}]" if ":" in form and not form.startswith("[") else form


# A line for each answer of a server, by the client and the URL.
FETCHES = """
import fs from "node:fs";
const urls = fs.readFileSync("urls", "utf8").split("\\n").filter(Boolean);
for (const url of urls) {
  try { const r = await fetch(url, { signal: AbortSignal.timeout(5000) }); console.log("fetch", r.status, url); } catch {}
}
"""
CLIENTS = """
while read -r url; do curl -s -g -o /dev/null -m 5 --connect-timeout 5 -w 'curl %{http_code} %{url}\\n' "$url"; done < urls | grep -v '^curl 000'
node fetches.mjs
wget -q -O /dev/null -T 5 -t 1 -S -i urls 2>&1 | grep '^ *HTTP/'
echo end
"""


def test_no_spelling_is_reached_by_curl_wget_and_javascript(t):
    forms = re.findall(r'^F\("(.*)"\)$', (HERE / "ssrf.def").read_text(), re.M)
    with servers.pages() as s:
        t.path("fetches.mjs", FETCHES)
        t.path("urls", "".join(f"http://{bracketed(form)}:{s.port}/\n" for form in forms if re.fullmatch(r"[!-~]+", form)))
        given = ["--in", "fetches.mjs", "--in", "urls", "--timeout", "9m", "--quiet"]
        r = t.run("--net", "all-public", *given, CLIENTS)
        assert r.text == "end\n" and s.seen == [], (r, s.seen)
        t.path("urls", f"http://host.cay.internal:{s.port}/\n")  # they do reach what a rule names
        r = t.run("--net", "all-public", "--allow-net", f"127.0.0.1:{s.port}", *given, CLIENTS)
        assert r.text.count("200") == 3 and len(s.seen) == 3, (r, s.seen)


FOLLOWS = """
import urllib.request
for i in range(COUNT):
    try:
        print('python', i, urllib.request.urlopen(f'http://host.cay.internal:{PORT}/{i}', timeout=5).read())
    except Exception:
        pass
print('end')
"""
FETCHED = """
for (let i = 0; i < COUNT; i++) {
  try { const r = await fetch(`http://host.cay.internal:PORT/${i}`, { signal: AbortSignal.timeout(5000) }); console.log("fetch", i, r.status, await r.text()); } catch {}
}
console.log("end");
"""


def test_no_redirect_leads_to_a_special_address(t):
    """A server that a rule names sends its clients to every spelling of the special addresses, where a server listens."""
    forms = [form for form in re.findall(r'^F\("(.*)"\)$', (HERE / "ssrf.def").read_text(), re.M) if re.fullmatch(r"[!-~]+", form)]
    with servers.pages() as inner:
        places = [f"http://{bracketed(form)}:{inner.port}/" for form in forms] + [f"//localhost:{inner.port}/", f"//127.0.0.1:{inner.port}/", f"http://public@127.0.0.1:{inner.port}/", "file:///etc/passwd"]

        def serve(connection):
            place = places[int(connection.recv(65536).split(b" ")[1][1:])]
            connection.sendall(f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        with servers.tcp(serve) as port:
            t.path("fetched.mjs", FETCHED.replace("COUNT", str(len(places))).replace("PORT", str(port)))
            t.path("follows.py", f"COUNT, PORT = {len(places)}, {port}\n" + FOLLOWS)
            script = f"for i in $(seq 0 {len(places) - 1}); do curl -sL -m 5 http://host.cay.internal:{port}/$i | grep -v '^$'; done; python3 follows.py; node fetched.mjs"
            r = t.run("--net", "all-public", "--allow-net", f"127.0.0.1:{port}", "--in", "fetched.mjs", "--in", "follows.py", "--timeout", "9m", "--quiet", script)
            assert r.text == "end\nend\n" and inner.seen == [], (r, inner.seen)


def test_denied_hosts_go_before_allowed_ones(t):
    with servers.pages() as s:
        r = t.run("--allow-net", f"*.test:{s.port}", "--allow-net", f"127.0.0.1:{s.port}", "--deny-net", "bad.test", "--add-host", "bad.test=127.0.0.1",
                  "--add-host", "good.test=127.0.0.1", f"busybox wget -T 5 -qO- http://good.test:{s.port}/; busybox wget -T 5 -qO- http://bad.test:{s.port}/")
        assert r.text == "page /\n" and "bad.test is denied: a rule denies it" in r.errors, r


def test_the_host_header_must_be_the_name_that_was_allowed(t):
    with servers.pages() as s:
        code = f"""
import socket
def ask(*requests):
    s = socket.create_connection(('a.test', {s.port}))
    try:
        for r in requests:
            s.sendall(r)
            got, more = b'', b'+'
            while more and (got.endswith(b'\\r\\n') or not got.endswith(b'\\n')):
                more = s.recv(4096)
                got += more
            print(got.split(b'\\r\\n')[0].decode())
    except OSError as e:
        print(type(e).__name__)
get = lambda host, path='/': f'GET {{path}} HTTP/1.1\\r\\nHost: {{host}}\\r\\n\\r\\n'.encode()
ask(get('a.test:{s.port}'))
ask(get('other.test'))
ask(get('a.test'), get('other.test'))
ask(b'GET / HTTP/1.0\\r\\n\\r\\n')
"""
        rules = '[{"action":"allow","host":"a.test","cidr":"127.0.0.1"}]'
        r = t.run("--net-rules", rules, "--add-host", "a.test=127.0.0.1", "--", "python3", "-c", code)
        lines = r.text.split("\n")
        assert lines[:2] == ["HTTP/1.1 200 OK", "HTTP/1.1 403 Forbidden"] and lines[2] == "HTTP/1.1 200 OK", r
        assert lines[3] in ("PermissionError", "") and "HTTP/1.1 403 Forbidden" in lines[4:], r
        assert [seen[1] for seen in s.seen] == [f"a.test:{s.port}", "a.test"], s.seen


ASK = """
import socket
def ask(port, *parts):
    s = socket.create_connection(('a.test', port), 60)
    got = b''
    try:
        for part in parts:
            s.sendall(part)
            more = b'+'
            while more and not got.endswith(END):
                more = s.recv(4096)
                got += more
            print(got.split(b'\\r\\n')[0].decode(), end=' ')
            got = got[:0]
    except OSError as e:
        print(type(e).__name__, end=' ')
    print()
def head(method, path, host, *fields):
    return '\\r\\n'.join([f'{method} {path} HTTP/1.1', f'Host: {host}', *fields, '', '']).encode()
"""


def test_a_request_behind_an_upgrade_is_a_request(t):
    """The next bytes are a request to a server that does not change the protocol."""
    code = ASK + """
END = b'/v1/x\\n'
for protocol in 'foo', 'websocket', 'h2c', 'websocket, foo':
    first = head('GET', '/v1/x', f'a.test:{PORT}', 'Connection: Upgrade', f'Upgrade: {protocol}')
    ask(PORT, first + head('GET', '/v2/x', 'b.test'), b'')
    ask(PORT, first, head('GET', '/v2/x', 'b.test'))
    ask(PORT, first[:-2] + b'Content-Length: 5\\r\\n\\r\\nGET /' + head('GET', '/v2/x', 'b.test'), b'')
    ask(PORT, head('GET', '/v1/x', f'a.test:{PORT}'), first, head('GET', '/v2/x', 'b.test'))
    ask(PORT, first, head('GET', '/v1/x', f'a.test:{PORT}'))
"""
    named = {"action": "allow", "host": "a.test", "cidr": "127.0.0.1"}
    policies = [[named], [{**named, "path": "/v1"}], [{"action": "deny", "host": "b.test"}, {"action": "allow", "cidr": "127.0.0.1"}, named], [{"action": "deny", "path": "/v2"}, named]]
    for rules in policies:
        with servers.pages() as s:
            r = t.run("--net-rules", json.dumps(rules), "--add-host", "a.test=127.0.0.1", "--quiet", "--timeout", "3m", "--", "python3", "-c", f"PORT = {s.port}\n" + code)
            assert r.code == 0 and len(s.seen) == 4 * 7 and {(host, path) for _, host, path in s.seen} == {(f"a.test:{s.port}", "/v1/x")}, (rules, r, s.seen)


def agree(seen):
    """A server that changes to any protocol and then gives all bytes back; `seen` has them, too."""
    def serve(connection):
        first = b""
        while b"\r\n\r\n" not in first:
            first += connection.recv(4096)
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" + first.partition(b"\r\n\r\n")[2])
        while more := connection.recv(4096):
            seen.append(more)
            connection.sendall(more)
    return serve


def test_another_protocol_begins_where_the_server_agrees_and_no_rule_asks_for_more(t):
    code = ASK + """
END = b'\\r\\n\\r\\n'
for protocol in 'websocket', 'h2c':
    s = socket.create_connection(('a.test', PORT), 60)
    s.sendall(head('GET', '/v1/x', f'a.test:{PORT}', 'Connection: Upgrade', f'Upgrade: {protocol}'))
    got = b''
    while got.count(END) < 2: got += s.recv(4096)
    try:
        s.sendall(b'\\x81\\x03abc')
        got = b''
        while not got.endswith(b'abc') and (more := s.recv(4096)): got += more
        print(protocol, got == b'\\x81\\x03abc')
    except OSError as e:
        print(protocol, type(e).__name__)
"""
    named = {"action": "allow", "host": "a.test", "cidr": "127.0.0.1"}
    for rules, h2c in (([named], "True"), ([{**named, "path": "/v1"}], "PermissionError"), ([{**named, "method": "GET"}], "PermissionError"), ([{"action": "allow", "cidr": "127.0.0.1"}, named], "True")):
        seen = []
        with servers.tcp(agree(seen)) as port:
            r = t.run("--net-rules", json.dumps(rules), "--add-host", "a.test=127.0.0.1", "--quiet", "--", "python3", "-c", f"PORT = {port}\n" + code)
            assert r.text == f"websocket True\nh2c {h2c}\n" and len(seen) == 1 + (h2c == "True"), (rules, r, seen)


def test_no_request_behind_another_has_a_denied_name(t):
    """Also on a connection to an address that is allowed by itself."""
    code = ASK + """
END = b'/\\n'
ask(PORT, head('GET', '/', 'c.test'), head('GET', '/', 'b.test'))
ask(PORT, head('GET', '/', 'c.test') + head('GET', '/', 'b.test'), b'')
"""
    with servers.pages() as s:
        r = t.run("--deny-net", "b.test", "--allow-net", f"127.0.0.1:{s.port}", "--add-host", "a.test=127.0.0.1", "--quiet", "--", "python3", "-c", f"PORT = {s.port}\n" + code)
        assert [host for _, host, _ in s.seen] == ["c.test"] * 2, (r, s.seen)


def echo(seen):
    def serve(connection):
        while more := connection.recv(4096):
            seen.append(more)
            connection.sendall(more)
    return serve


ANY = [[{"action": "allow", "host": "a.test", "cidr": "127.0.0.1"}], [{"action": "allow", "cidr": "127.0.0.1"}, {"action": "allow", "host": "a.test", "cidr": "127.0.0.1"}]]


def test_first_bytes_of_other_protocols_reach_their_server(t):
    """Also those that could become a request, by clients that wait for an answer to them."""
    code = """
import socket
for first in b'A', b'GE', b'PING', b'hello', b'HELLO THERE', b'GET / ICAP/1.0', b'\\r\\n', b'PING\\r\\n', b'G' * 40, b'\\0', b'A\\0', b'word ' * 20000, b'a' * 100000, b'\\n' * 100000:
    with socket.create_connection(('a.test', PORT), 60) as s:
        for part in first, b' and more', b'\\nlast':
            got = b''
            s.sendall(part)
            while len(got) < len(part): got += s.recv(4096)
            assert got == part, (first, part, got)
print('end')
"""
    for rules in ANY:
        with servers.tcp(echo([])) as port:
            r = t.run("--net-rules", json.dumps(rules), "--add-host", "a.test=127.0.0.1", "--quiet", "--timeout", "3m", "--", "python3", "-c", f"PORT = {port}\n" + code)
            assert r.text == "end\n", (rules, r)


def record(seen):
    def serve(connection):
        while more := connection.recv(4096):
            seen.append(more)
    return serve


def test_no_request_gets_out_in_pieces_or_behind_empty_lines(t):
    code = """
import socket, time
request = b'GET / HTTP/1.1\\r\\nHost: b.test\\r\\n\\r\\n'
for parts in ([b'GE', request[2:]], [request[:3], request[3:9], request[9:]], [b'\\r\\n', request], [b'\\r\\n' + request], [b'\\n\\n', b'get' + request[3:]], [b'get' + request[3:]], [b'Get', request[3:]], [b' ' + request], [b'GET\\t/' + request[5:]], [request.replace(b'\\r', b'')], [b'GET /\\0' + request[5:]], [b'GET', b'\\x0b/' + request[5:]]):
    with socket.create_connection(('a.test', PORT), 60) as s:
        try:
            for part in parts:
                time.sleep(0.2 if part != parts[0] else 0)
                s.sendall(part)
            got = s.recv(4096)
            assert not got or b'403' in got, (parts, got)
        except PermissionError: pass
print('end')
"""
    for rules in ANY[:1], [[{"action": "deny", "host": "b.test"}, *ANY[1]]]:
        seen = []
        with servers.tcp(record(seen)) as port:
            r = t.run("--net-rules", json.dumps(rules[0]), "--add-host", "a.test=127.0.0.1", "--quiet", "--timeout", "3m", "--", "python3", "-c", f"PORT = {port}\n" + code)
            assert r.text == "end\n" and not any(b"Host" in more for more in seen), (rules, r, seen)


def test_methods_and_paths_of_plain_http(t):
    rules = '[{"action":"allow","host":"a.test","cidr":"127.0.0.1","method":["GET"],"path":"/v1/"}]'
    with servers.pages() as s:
        r = t.run("--net-rules", rules, "--add-host", "a.test=127.0.0.1",
                  f"for p in v1/x v2/x v1/../v2 v1/%2e%2e/v2; do busybox wget -qO- http://a.test:{s.port}/$p; done; busybox wget -qO- --post-data x http://a.test:{s.port}/v1/x")
        assert r.text == "page /v1/x\n" and r.errors.count("403") >= 4, r
        assert s.seen == [("GET", f"a.test:{s.port}", "/v1/x")], s.seen


def test_names_lead_only_to_addresses_that_are_allowed(t):
    with servers.pages() as s:
        r = t.run("--net", "all-public", "--allow-net", "rebind.test", "--add-host", "rebind.test=127.0.0.1", f"busybox wget -T 5 -qO- http://rebind.test:{s.port}/")
        assert r.text == "" and "Permission denied" in r.errors and s.seen == [], r


def test_words_that_are_no_rules_are_refused(t):
    for words, why in ((["--net", "everything"], "no network preset"), (["--allow-net", "a b"], "no HOST[:PORT]"), (["--allow-net", "a:0"], "the port"),
                       (["--add-host", "a"], "no NAME=ADDRESS"), (["--net-rules", "x"], "no JSON"), (["--net-rules", '[{"action":"alow"}]'], "allow or deny"),
                       (["--publish", "x"], "PORT"), (["--publish", "0"], "PORT")):
        r = t.run(*words, "true")
        assert r.code == 125 and why in r.errors, (words, r)


def test_the_hint_for_a_special_address_says_what_to_type(t):
    r = t.run("--allow-net", "host.cay.internal", "busybox wget -T 20 -q -O- http://host.cay.internal:8765/")
    assert "--allow-net 127.0.0.1 allows it" in r.err.decode() and ":0" not in r.err.decode(), r
    r = t.run("--allow-net", "a.test", "--add-host", "a.test=127.0.0.1", "busybox wget -T 20 -q -O- http://a.test/")
    assert "its address in place of its name" in r.err.decode(), r


def test_wget_and_curl_give_up_where_the_policy_denies(t):
    r = t.run("--allow-net", "other.test", "--add-host", "other.test=127.0.0.1", "wget -q -O- http://10.0.0.1/; echo $?; curl -sS http://10.0.0.1/; echo $?; wget -q -O- http://denied.test/; echo $?")
    assert r.text == "4\n7\n4\n", r
