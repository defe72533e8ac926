"""resolving.py - name servers that want to lead a guest elsewhere. Each test has a network namespace of its own, with public addresses on its
loopback, a name server, and a web server at each address that tells by which one it was reached.

  python3 resolving.py NAME FOLDER   runs the inner part of one test in the namespace that it was started in
"""
import http.server
import os
import pathlib
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
PUBLIC, OTHER = "8.8.4.4", "1.1.1.1"
PRIVATE = ["127.0.0.1", "10.1.2.3", "192.168.1.1", "169.254.169.254", "100.64.0.1"]
PRIVATE6 = ["::1", "::ffff:7f00:1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "fd00:ec2::254", "fe80::1", "2002:7f00:1::"]


# ---- outside of the namespace ----

def inside(t, name):
    r = subprocess.run([HERE.parent / "support/own-namespace", sys.executable, __file__, name, str(t.dir)], capture_output=True, text=True, timeout=600)
    assert r.returncode == 0, f"{r.stdout[-2000:]}\n{r.stderr[-2000:]}"


# ---- a name server ----

def labels(name):
    return b"".join(bytes([len(p)]) + p.encode() for p in name.split(".") if p) + b"\0"


def record(name, kind, data, ttl=0):
    return labels(name) + struct.pack(">HHIH", kind, 1, ttl, len(data)) + data


def a(name, *addresses):
    return [record(name, 1, socket.inet_aton(x)) for x in addresses]


def aaaa(name, *addresses):
    return [record(name, 28, socket.inet_pton(socket.AF_INET6, x)) for x in addresses]


def cname(name, to):
    return [record(name, 5, labels(to))]


class Names:
    """A name server; `zone` gives the records for a name and a type, or None: no such name; bytes are sent as they are."""

    def __init__(self, zone):
        self.zone, self.asked = zone, []
        udp, tcp = self.handler(False), self.handler(True)
        self.servers = [socketserver.ThreadingUDPServer(("127.0.0.1", 53), udp), socketserver.ThreadingTCPServer(("127.0.0.1", 53), tcp)]
        for server in self.servers:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def answer(self, query, tcp):
        end, parts = 12, []
        while query[end]:
            parts.append(query[end + 1:end + 1 + query[end]].decode())
            end += query[end] + 1
        name, kind = ".".join(parts).lower(), struct.unpack(">H", query[end + 1:end + 3])[0]
        self.asked.append((name, kind))
        records = self.zone(name, kind)
        if isinstance(records, bytes):
            return records
        flags = 0x8580 if records is not None else 0x8583
        body = b"".join(records or [])
        if not tcp and len(body) > 480:
            flags, records, body = flags | 0x0200, [], b""  # come again by TCP
        return query[:2] + struct.pack(">HHHHH", flags, 1, len(records or []), 0, 0) + query[12:end + 5] + body

    def handler(names, tcp):
        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                if not tcp:
                    data, sock = self.request
                    sock.sendto(names.answer(data, False), self.client_address)
                    return
                while head := self.request.recv(2):
                    answer = names.answer(self.request.recv(struct.unpack(">H", head)[0]), True)
                    self.request.sendall(struct.pack(">H", min(len(answer), 65535)) + answer)
        return Handler


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        where = self.connection.getsockname()[0].removeprefix("::ffff:")
        self.server.seen.append(where)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(where.encode())

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
    daemon_threads = True


class World:
    def __init__(self, folder, zone):
        sys.path.insert(0, str(HERE.parent / "cli"))
        import harness
        self.t = harness.T(folder)
        subprocess.run("ip link set lo up; for a in %s; do ip addr add $a/32 dev lo; done; for a in %s; do ip -6 addr add $a/128 dev lo nodad; done; sysctl -qw net.ipv6.bindv6only=0" %
                       (" ".join([PUBLIC, OTHER, *PRIVATE[1:]]), " ".join(x for x in PRIVATE6[1:] if not x.startswith("::ffff"))), shell=True, check=False, stderr=subprocess.DEVNULL)
        conf = self.t.path("resolv.conf", "nameserver 127.0.0.1\noptions timeout:2 attempts:1\n")
        subprocess.run(["mount", "--bind", conf, "/etc/resolv.conf"], check=True)
        self.names = Names(zone)
        self.web = Server(("::", 80), Page)
        self.web.seen = []
        threading.Thread(target=self.web.serve_forever, daemon=True).start()

    def get(self, *hosts, options=(), times=1):
        code = f"""
import socket
for host in {list(hosts)!r} * {times}:
    try:
        s = socket.create_connection((host, 80), timeout=20)
        s.sendall(f'GET / HTTP/1.0\\r\\nHost: {{host}}\\r\\n\\r\\n'.encode())
        print(host, s.makefile('rb').read().split(b'\\r\\n\\r\\n')[-1].decode().strip()[:60])
    except OSError as e:
        print(host, type(e).__name__, e)
"""
        return self.t.run("--timeout", "2m", "--quiet", *(w for h in hosts for w in ("--allow-net", h)), *options, "--", "python3", "-c", code)

    def private(self):
        return [w for w in self.web.seen if w not in (PUBLIC, OTHER)]


# ---- the tests ----

def inner_plain(folder):
    w = World(folder, lambda name, kind: a(name, PUBLIC) if kind == 1 else [])
    r = w.get("good.test")
    assert r.text == f"good.test {PUBLIC}\n", r


def inner_changing(folder):
    """Each question has another answer: public, then private, and so on."""
    count = [0]

    def zone(name, kind):
        if kind != 1:
            return []
        count[0] += 1
        return a(name, PUBLIC if count[0] % 2 else PRIVATE[count[0] // 2 % len(PRIVATE)])
    w = World(folder, zone)
    for _ in range(4):
        w.get("rebind.test", times=6)
    w.get(*(f"r{i}.rebind.test" for i in range(10)), options=("--allow-net", "*.rebind.test"), times=2)
    assert not w.private() and w.web.seen, w.web.seen
    assert count[0] >= 8, count


def inner_mixed(folder):
    """Public and private addresses in one answer: the guest hears of the public ones alone."""
    def zone(name, kind):
        return a(name, *PRIVATE, PUBLIC) if kind == 1 else aaaa(name, *PRIVATE6) if kind == 28 else []
    w = World(folder, zone)
    r = w.t.run("--allow-net", "mixed.test", "--quiet", "--", "python3", "-c", "import socket; print(sorted({x[4][0] for x in socket.getaddrinfo('mixed.test', 80)}))")
    assert r.text == f"['{PUBLIC}']\n", r
    assert w.get("mixed.test", times=4).text == f"mixed.test {PUBLIC}\n" * 4 and not w.private(), w.web.seen


def inner_private(folder):
    def zone(name, kind):
        i = int(name.split(".")[0][1:])
        return a(name, PRIVATE[i]) if kind == 1 and name[0] == "a" else aaaa(name, PRIVATE6[i]) if kind == 28 and name[0] == "b" else []
    w = World(folder, zone)
    hosts = [f"a{i}.test" for i in range(len(PRIVATE))] + [f"b{i}.test" for i in range(len(PRIVATE6))]
    r = w.get(*hosts, options=("--net", "all-public"))
    assert r.text.count("PermissionError") == len(hosts) and w.web.seen == [], (r, w.web.seen)


def inner_aliases(folder):
    """Chains of names: rules are about the name that was asked for, and the address at the end is checked."""
    def zone(name, kind):
        first = name.split(".")[0]
        if first.startswith("chain"):
            i = int(first[5:])
            return cname(name, f"chain{i + 1}.test") + zone(f"chain{i + 1}.test", kind) if i < 8 else a(name, PUBLIC) if kind == 1 else []
        if first.startswith("bad"):
            i = int(first[3:])
            return cname(name, f"bad{i + 1}.test") + zone(f"bad{i + 1}.test", kind) if i < 8 else a(name, "127.0.0.1") if kind == 1 else []
        if first == "round":
            return cname(name, "round.test")
        if first == "foreign":
            return cname(name, "localhost") + (a("localhost", "127.0.0.1") if kind == 1 else [])
        return None
    w = World(folder, zone)
    r = w.get("chain0.test", "bad0.test", "round.test", "foreign.test")
    lines = r.text.splitlines()
    assert lines[0] == f"chain0.test {PUBLIC}" and "PermissionError" in lines[1] and "gaierror" in lines[2], r
    assert "PermissionError" in lines[3] or "gaierror" in lines[3], r
    r = w.t.run("--allow-net", "chain0.test", "--quiet", "--", "python3", "-c", "import socket; print(socket.gethostbyname('chain1.test'))")
    assert r.text == "192.0.2.1\n", r  # the names in between are not allowed by it
    assert not w.private(), w.web.seen


def inner_huge(folder):
    """Answers of many records, by TCP, and messages that are no answers."""
    def zone(name, kind):
        if name == "many.test":
            return a(name, *(f"10.9.{i // 250}.{i % 250 + 1}" for i in range(1500)), PUBLIC) if kind == 1 else []
        if name == "crowd.test":
            return a(name, *([PUBLIC] * 1500)) if kind == 1 else []
        if name == "long.test":
            return [record(name, 16, b"\xff" + b"x" * 255) * 200, *a(name, PUBLIC)] if kind == 1 else []
        return b"" if name == "empty.test" else os.urandom(400) if name == "noise.test" else b"\xff" * 60000
    w = World(folder, zone)
    started = time.monotonic()
    r = w.get("crowd.test", "many.test", "long.test", "empty.test", "noise.test", "flood.test")
    lines = r.text.splitlines()
    assert len(lines) == 6 and r.code == 0 and lines[0] == f"crowd.test {PUBLIC}", r
    assert all("Error" in line or "gaierror" in line or line.endswith(PUBLIC) for line in lines), r
    assert not w.private() and time.monotonic() - started < 120, w.web.seen


def inner_silent(folder):
    """A name server that answers nothing: the guest's deadline runs."""
    w = World(folder, lambda name, kind: time.sleep(30) or [])
    started = time.monotonic()
    r = w.t.run("--allow-net", "silent.test", "--timeout", "1s", "--", "python3", "-c", "import socket; socket.gethostbyname('silent.test')")
    assert r.code == 124 and time.monotonic() - started < 20, r


def inner_quiet(folder):
    """Names that no rule allows are not asked for: a question carries text out."""
    w = World(folder, lambda name, kind: a(name, PUBLIC) if kind == 1 else [])
    w.get("good.test", options=())
    w.t.run("--net", "all-public", "--deny-net", "*.leak.test", "--allow-net", "good.test", "--quiet", "--", "python3", "-c",
            "import socket\nfor n in ('secret-text.leak.test', 'a.leak.test'):\n  try: print(socket.gethostbyname(n))\n  except OSError as e: print(e)")
    w.t.run("--allow-net", "10.0.0.0/8", "--allow-net", "good.test", "--quiet", "--", "python3", "-c", "import socket\ntry: socket.gethostbyname('secret-text.other.test')\nexcept OSError: pass")
    assert not [q for q in w.names.asked if "leak" in q[0] or "other" in q[0]], w.names.asked


def test_names_are_looked_up_by_the_hosts_resolver(t):
    inside(t, "plain")


def test_answers_that_change_lead_nowhere_else(t):
    inside(t, "changing")


def test_of_mixed_answers_the_public_addresses_remain(t):
    inside(t, "mixed")


def test_names_of_special_addresses_are_denied(t):
    inside(t, "private")


def test_chains_of_aliases_are_followed_and_their_end_is_checked(t):
    inside(t, "aliases")


def test_huge_and_broken_answers_are_bounded(t):
    inside(t, "huge")


def test_a_silent_name_server_holds_no_deadline(t):
    inside(t, "silent")


def test_names_without_a_rule_are_not_asked_for(t):
    inside(t, "quiet")


if __name__ == "__main__":
    globals()["inner_" + sys.argv[1]](sys.argv[2])
