"""peers.py - what the network tests of comparable sandboxes ask for (just-bash's allow lists, eryx's sockets and TLS, agentos' loopback), asked of this one.

Their tests call their own interfaces and servers on the internet: the situations are theirs, the programs and servers are ours. doc/network-peers.md counts theirs, through an adapter.
"""
import json

import servers

# Names that look like the allowed one, and lead to this machine by --add-host: only the policy is between them and the server.
ALIKE = ("evil.test", "api.test.evil.test", "xapi.test", "api-test", "api.tes1.test", "sub.api.test", "xn--pi-7ba.test", "api.test.co")


def forms(port, other):
    """URLs that must not reach a server where https://api.test:PORT is allowed."""
    return [*(f"https://{name}:{port}/data" for name in ALIKE), f"https://api.test@evil.test:{port}/data", f"https://user:pass@evil.test:{port}/data", f"https://api.test%40evil.test:{port}/", f"https://%65vil.test:{port}/data",
            f"https://evil%252etest:{port}/data", f"https://api.test%00.evil.test:{port}/data", f"https://evil.test%0d%0aHost:%20api.test:{port}/data", f"https://\u0430pi.test:{port}/data", f"https://evil\u200b.test:{port}/data",
            f"\ufeffhttps://evil.test:{port}/data", f"http://api.test:{port}/data", f"https://api.test:{other}/data", f"http://api.test:{other}/data", f"api.test:{port}/data", f"//evil.test:{port}/data", f"ftp://api.test:{port}/data",
            f"https://127.0.0.1:{port}/data", f"https://localhost:{port}/data", f"https://[::1]:{port}/data", f"https://[::ffff:127.0.0.1]:{port}/data", f"https://2130706433:{port}/data", f"https://0177.0.0.1:{port}/data",
            f"https://0x7f000001:{port}/data", f"https://192.0.2.2:{port}/data", "https://10.0.0.1/data", "https://192.168.1.1/data", "https://172.16.0.1/data", "https://169.254.169.254/latest/meta-data/",
            "javascript:alert(1)", "data:text/plain,evil", f"https://evil.test:{port}/#https://api.test:{port}/", f"https://evil.test:{port}\\@api.test/"]


FETCHES = """
import fs from "node:fs";
for (const url of fs.readFileSync("urls", "utf8").split("\\n").filter(Boolean)) {
  if (url.startsWith("data:")) continue; // its text comes from nowhere but the URL
  try { const r = await fetch(url, { signal: AbortSignal.timeout(20000) }); if (r.status !== 403) console.log("fetch", url, r.status); } catch {}
}
"""
URLLIB = """
import ssl, urllib.request
context = ssl._create_unverified_context()
for url in open('urls').read().split('\\n'):
    if url.startswith('data:') or not url: continue
    try: print('python', url, urllib.request.urlopen(url, context=context, timeout=20).status)
    except Exception: pass
"""


def rules(*places):
    return ["--net-rules", json.dumps([{"action": "allow", "host": host, "cidr": "127.0.0.1", **more} for host, more in places])]


def pins(*names):
    return [w for name in names for w in ("--add-host", f"{name}=127.0.0.1")]


def test_no_url_that_looks_like_the_allowed_one_reaches_a_server(t):
    servers.authority(t.dir)
    t.path("fetches.mjs", FETCHES)
    t.path("follow.py", URLLIB)
    with servers.pages(servers.certificate(t.dir, "api.test")) as allowed, servers.pages() as other:
        t.path("urls", "\n".join(forms(allowed.port, other.port)) + "\n")
        words = [*rules(("api.test", {"port": allowed.port, "scheme": "https"})), *pins("api.test", *ALIKE), "--net-ca", "ca.pem", "--in", "urls", "--in", "fetches.mjs", "--in", "follow.py", "--timeout", "5m", "--quiet"]
        r = t.run(*words, "while read -r url; do curl -skg -m 20 -o out -w '%{http_code} ' \"$url\" >code; case $(cat code) in 000*|403*) ;; *) echo curl \"$url\" $(cat code);; esac; done <urls; node fetches.mjs; python3 follow.py; echo end")
        assert r.text == "end\n" and allowed.seen == [] and other.seen == [], (r, allowed.seen, other.seen)
        url = f"https://api.test:{allowed.port}"
        r = t.run(*words, f"curl -sS {url}/a; curl -sS {url.upper().replace('HTTPS', 'https')}/b; curl -sS {url}/c | grep -c page; curl -s https://evil.test:{allowed.port}/ | wc -c; echo ${{PIPESTATUS[0]}}")
        assert r.text == "page /a\npage /b\n1\n0\n7\n" and len(allowed.seen) == 3, (r, allowed.seen)


def test_paths_and_methods_cannot_be_written_around(t):
    paths = ["/v2/users", "/v1/../v2/users", "/v1/%2e%2e/v2/users", "/v1%2f..%2fv2/users", "/v1/..%5cv2/users", "/v1/..\\v2/users", "/v2/?path=/v1/users", "/v10", "//v1/x", "/./v2", "/v1/..;/v2", "/v1/%252e%252e/v2", "/v2//../v1/x", "/v1//../../v1/x"]
    with servers.pages() as s:
        base = f"http://api.test:{s.port}"
        words = [*rules(("api.test", {"port": s.port, "path": "/v1", "method": ["GET"]})), *pins("api.test"), "--quiet"]
        t.path("paths", "\n".join(paths) + "\n")
        r = t.run(*words, "--in", "paths", f"""while read -r p; do curl -sg --path-as-is -o /dev/null -w '%{{http_code}}\\n' "{base}$p"; done <paths
for m in POST PUT DELETE PATCH HEAD OPTIONS; do curl -s -o /dev/null -m 20 -X $m -d '' -w '%{{http_code}}\\n' {base}/v1/x; done
curl -s -o /dev/null -w '%{{http_code}}\\n' -H 'X-HTTP-Method-Override: DELETE' {base}/v1/x; curl -s {base}/v1; curl -s '{base}/v1/a?b#/v2'""")
        lines = r.text.splitlines()
        assert lines[:len(paths) + 6] == ["403"] * (len(paths) + 6), r
        assert lines[len(paths) + 6:] == ["200", "page /v1", "page /v1/a?b"], r
        assert [q[2] for q in s.seen] == ["/v1/x", "/v1", "/v1/a?b"], s.seen


def test_a_denied_path_is_denied_in_every_spelling(t):
    paths = ["/admin", "/admin/", "/admin/x", "/x/../admin", "/%61dmin", "/admin//../x", "//admin", "/x//../admin", "/./admin", "/admin/./", "/admin%2fx", "/x/..//admin", "/admin\\x", "/admin;/x", "/x/../../admin"]
    with servers.pages() as s:
        t.path("paths", "\n".join(paths) + "\n")
        denied = json.dumps([{"action": "deny", "host": "api.test", "path": "/admin"}, {"action": "allow", "host": "api.test", "cidr": "127.0.0.1", "port": s.port}])
        r = t.run("--net-rules", denied, *pins("api.test"), "--quiet", "--in", "paths", f"""while read -r p; do curl -sg --path-as-is -o /dev/null -w '%{{http_code}} ' "http://api.test:{s.port}$p"; done <paths
echo; curl -s http://api.test:{s.port}/administration; curl -s http://api.test:{s.port}/x/admin""")
        assert r.text.splitlines() == ["403 " * len(paths), "page /administration", "page /x/admin"], r
        assert [q[2] for q in s.seen] == ["/administration", "/x/admin"], s.seen


class Redirects(servers.Pages):
    """/to/URL leads there; everything else is a page, which is told with its fields."""

    def do_GET(self):
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path[4:])
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.server.fields.append(dict(self.headers))
            super().do_GET()


def test_redirects_are_followed_as_far_as_the_rules_go(t):
    with servers.pages(handler=Redirects) as s, servers.pages() as evil:
        s.fields = []
        base = f"http://api.test:{s.port}"
        words = [*rules(("api.test", {"port": s.port})), *pins("api.test", "evil.test"), "--quiet"]
        r = t.run(*words, f"curl -sSL {base}/to/{base}/to//end; for u in http://evil.test:{evil.port}/ http://127.0.0.1:{evil.port}/ //evil.test:{evil.port}/ http://host.cay.internal:{evil.port}/ file:///etc/passwd; do curl -sL {base}/to/$u; echo $?; done")
        lines = r.text.splitlines()
        assert lines[0] == "page /end" and all(code in ("1", "7") for code in lines[1:]) and len(lines) == 6 and evil.seen == [], (r, evil.seen)


# name: code that says so where it got through; the port is that of a server on this machine's loopback
WAYS = {
    "descriptors_that_were_left": "assert any(stat.S_ISSOCK(os.fstat(f).st_mode) for f in range(64) if os.path.exists(f'/proc/self/fd/{f}'))",
    "a_socket": "socket.create_connection((HOST, PORT), 20)",
    "the_module_below": "import _socket; c = _socket.socket(2, 1); c.connect((HOST, PORT)); c.send(b'x')",
    "libc": "import ctypes; c = ctypes.CDLL(None); f = c.socket(2, 1, 0); a = struct.pack('<H', 2) + struct.pack('>H', PORT) + socket.inet_aton(HOST) + bytes(8); assert c.connect(f, a, 16) == 0",
    "a_system_call": "import ctypes; c = ctypes.CDLL(None); assert c.syscall(41, 2, 3, 1) >= 0",
    "raw_sockets": "socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)",
    "packets": "socket.socket(17, socket.SOCK_RAW)",
    "netlink": "socket.socket(16, socket.SOCK_RAW)",
    "vsock": "socket.socket(40, socket.SOCK_STREAM).connect((2, PORT))",
    "udp": "c = socket.socket(2, 2); c.sendto(b'x', (HOST, PORT)); c.settimeout(1); c.recv(1)",
    "dns_to_another": "c = socket.socket(2, 2); c.sendto(b'\\0' * 12, ('10.0.0.53', 53)); c.settimeout(1); c.recv(1)",
    "dns_by_tcp": "socket.create_connection(('10.0.0.53', 53), 20)",
    "a_mapped_address": "socket.create_connection(('::ffff:' + HOST, PORT), 20)",
    "a_bound_source": "socket.create_connection((HOST, PORT), 20, ('0.0.0.0', 0))",
    "without_blocking": "c = socket.socket(); c.setblocking(False); e = c.connect_ex((HOST, PORT)); import select; select.select([], [c], [c], 20); assert not (e not in (0, 115) or c.getsockopt(1, 4)), e",
    "sendto_that_connects": "c = socket.socket(); c.sendto(b'GET / HTTP/1.0\\r\\n\\r\\n', 0x20000000, (HOST, PORT)); c.recv(1)",
    "a_second_connect": "c = socket.socket(); c.connect_ex((HOST, PORT)); c.connect((HOST, PORT)); c.send(b'x'); c.recv(1)",
    "asyncio": "import asyncio; asyncio.run(asyncio.wait_for(asyncio.open_connection(HOST, PORT), 20))",
    "http": "import http.client; c = http.client.HTTPConnection(HOST, PORT, timeout=20); c.request('GET', '/'); c.getresponse()",
    "urllib": "import urllib.request; urllib.request.urlopen(f'http://{HOST}:{PORT}/', timeout=20)",
    "ftp": "import ftplib; ftplib.FTP().connect(HOST, PORT, 20)",
    "mail": "import smtplib; smtplib.SMTP(HOST, PORT, timeout=20)",
    "xmlrpc": "import xmlrpc.client; xmlrpc.client.ServerProxy(f'http://{HOST}:{PORT}/').x()",
    "a_thread": "import threading; r = []; h = threading.Thread(target=lambda: r.append(socket.create_connection((HOST, PORT), 20))); threading.excepthook = lambda a: None; h.start(); h.join(); assert r",
    "a_process": "subprocess.run([sys.executable, '-c', f'import socket; socket.create_connection((\\'{HOST}\\', {PORT}), 20)'], check=True, capture_output=True)",
    "another_program": "subprocess.run(['curl', '-sf', '-m', '20', f'http://{HOST}:{PORT}/'], check=True, capture_output=True)",
    "the_shell": "subprocess.run(['bash', '-c', f'exec 3<>/dev/tcp/{HOST}/{PORT}'], check=True, capture_output=True)",
    "a_device": "os.open(f'/dev/tcp/{HOST}/{PORT}', os.O_RDWR)",
    "the_hosts_sockets": "c = socket.socket(socket.AF_UNIX); [c.connect(p) for p in ('/var/run/docker.sock',)]",
    "javascript": "subprocess.run(['node', '-e', f'require(\"net\").connect({PORT}, \"{HOST}\").on(\"error\", () => process.exit(1)).on(\"connect\", () => process.exit(0))'], check=True, capture_output=True)",
}
BEGIN = "import os, socket, stat, struct, subprocess, sys\n"


def test_no_way_of_python_goes_around_the_rules(t):
    with servers.pages() as s:
        tries = "".join(f"for HOST in HOSTS:\n  try:\n    exec({code!r}, dict(globals()))\n    print('through', {name!r}, HOST)\n  except BaseException: pass\n" for name, code in WAYS.items())
        code = BEGIN + f"PORT, HOSTS = {s.port}, ('127.0.0.1', '192.0.2.2', '10.0.0.1', '169.254.169.254')\n" + tries + "print('end')"
        for words in ((), ("--net", "all-public"), ("--net", "package-registries"), ("--allow-net", "api.test"), ("--allow-net", f"127.0.0.1:{servers.unused_port()}")):
            r = t.run(*words, "--timeout", "5m", "--quiet", "--", "python3", "-c", code)
            assert r.text == "end\n" and s.seen == [], (words, r, s.seen)


def test_the_ways_of_python_do_go_through_where_a_rule_allows_it(t):
    """Else the test above would be one of programs that fail by themselves."""
    fail = {"a_system_call", "raw_sockets", "packets", "netlink", "vsock", "udp", "dns_to_another", "dns_by_tcp", "a_device", "the_hosts_sockets", "descriptors_that_were_left", "ftp", "mail", "xmlrpc", "libc", "a_second_connect", "sendto_that_connects", "a_mapped_address"}
    with servers.pages() as s:
        tries = "".join(f"try:\n  exec({code!r}, dict(globals()))\n  print({name!r})\nexcept BaseException as e: pass\n" for name, code in WAYS.items() if name not in fail)
        code = BEGIN + f"PORT, HOST = {s.port}, '192.0.2.2'\n" + tries
        r = t.run("--allow-net", f"127.0.0.1:{s.port}", "--timeout", "5m", "--quiet", "--", "python3", "-c", code)
        assert r.text.split() == [name for name in WAYS if name not in fail], r


LOOPBACK = """
node -e 'require("http").createServer((q, r) => r.end(`inside ${q.method} ${q.url}\\n`)).listen(8080, "127.0.0.1", () => console.log("listening"))' >log &
while ! grep -q listening log; do sleep 0.05; done
curl -sS http://127.0.0.1:8080/curl; curl -sS -d x http://localhost:8080/post; wget -qO- http://127.0.0.1:8080/wget
python3 -c 'import urllib.request as u; print(u.urlopen("http://127.0.0.1:8080/python").read().decode(), end="")'
node -e 'fetch("http://127.0.0.1:8080/fetch").then(async (r) => process.stdout.write(await r.text()))'
curl -s -m 20 http://127.0.0.1:PORT/ ; echo $?
curl -s -m 20 http://127.0.0.1:8081/ ; echo $?
kill %1; wait 2>/dev/null; curl -s http://127.0.0.1:8080/; echo $?
"""


def test_servers_inside_are_reached_inside_and_those_outside_are_not(t):
    with servers.pages() as s:
        for words in ((), ("--net", "all-public")):
            r = t.run(*words, "--timeout", "5m", "--quiet", LOOPBACK.replace("PORT", str(s.port)))
            assert r.text.splitlines() == ["inside GET /curl", "inside POST /post", "inside GET /wget", "inside GET /python", "inside GET /fetch", "7", "7", "7"] and s.seen == [], (words, r, s.seen)
