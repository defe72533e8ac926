"""states.py - ends that come at a bad moment: deadlines and cancels in every state of a connection, rollbacks and snapshots with open ones, slow peers."""
import json
import signal
import socket
import struct
import threading
import time

import servers

HOST = "host.cay.internal"


# name: code that comes before, and code that then waits; `s` is a connected socket
WAITS = {
    "reading": ("", "s.recv(1)"),
    "writing": ("", "s.sendall(b'+' * 50_000_000)"),
    "polling": ("", "select.select([s], [], [])"),
    "waiting_by_epoll": ("p = select.epoll(); p.register(s, select.EPOLLIN)", "p.poll()"),
    "half_closed": ("s.shutdown(1)", "s.recv(1)"),
    "after_bytes_went_both_ways": ("s.sendall(b'+'); s.recv(1)", "s.recv(1)"),
    "in_a_handshake": ("c = ssl._create_unverified_context()", "c.wrap_socket(s)"),
    "in_a_child": ("p = subprocess.Popen(['cat'], stdin=s)", "p.wait()"),
    "with_a_hundred_more": ("more = [socket.create_connection((HOST, PORT)) for i in range(100)]", "s.recv(1)"),
}


def waiting(name):
    before, wait = WAITS[name]
    return f"import select, socket, ssl, subprocess, sys\ns = socket.create_connection((HOST, PORT))\n{before}\nprint('at', flush=True)\n{wait}"


def greet(connection):
    if connection.recv(1, socket.MSG_PEEK) == b"+":
        connection.sendall(b"=")


def words(port, code):
    return ("--allow-net", f"127.0.0.1:{port}", "--quiet", "--", "python3", "-c", f"HOST, PORT = {HOST!r}, {port}\n" + code)


def converse(t, requests):
    """The answers of a server to these requests, each sent when the one before was answered."""
    p = t.start("serve", "--stdio")
    answers = []
    for i, request in enumerate(requests):
        p.stdin.write((json.dumps({"jsonrpc": "2.0", "id": i, **request}) + "\n").encode())
        while (answer := json.loads(p.stdout.readline())).get("id") != i:
            pass
        answers.append(answer)
    t.finish(p)
    return answers


def test_a_deadline_ends_every_wait(t):
    with servers.silent(greet) as port:
        for name in WAITS:
            r = t.run("--timeout", "700ms", *words(port, waiting(name)))
            assert r.code == 124, (name, r)


def test_a_cancel_ends_every_wait(t):
    """The server says nothing until the end: what the cancel does not end, nothing ends."""
    with servers.silent(greet) as port:
        for name in WAITS:
            p = t.start("run", *words(port, waiting(name)))
            assert p.stdout.readline() == b"at\n", name
            servers.settled(p)
            p.send_signal(signal.SIGINT)
            r = t.finish(p)
            assert r.code != 0, (name, r)


def test_connecting_and_resolving_are_ended_too(t):
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port = full.getsockname()[1]
        fill = [socket.socket() for _ in range(4)]
        for s in fill:
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", port))
        r = t.run("--timeout", "700ms", *words(port, "import socket\nwhile True: socket.create_connection((HOST, PORT))"))
        assert r.code == 124, r
        for s in fill:
            s.close()


def test_a_connection_that_is_not_made_in_time_is_given_up(t):
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port = full.getsockname()[1]
        fill = [socket.socket() for _ in range(4)]
        for s in fill:
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", port))
        code = f"import socket\nheld, r = [], None\ntry:\n  for i in range(9): held.append(socket.create_connection(('{HOST}', {port})))\nexcept OSError as e:\n  r = type(e).__name__\nr"
        requests = [{"method": "create", "params": {"net": {"allow": [f"127.0.0.1:{port}"], "connectTimeoutMs": 300}}}, {"method": "python.eval", "params": {"code": code}}]
        r = converse(t, requests)
        assert r[1]["result"]["repr"] == "'TimeoutError'", r
        for s in fill:
            s.close()


def test_an_undone_cell_leaves_a_dead_connection(t):
    """A rollback brings the variables back; the bytes of connections cannot be taken back, so these are reset."""
    closed = threading.Event()

    def echo(c):
        while data := c.recv(100):
            c.sendall(data)
        closed.set()

    with servers.tcp(echo) as port:
        codes = [f"import socket; s = socket.create_connection(('{HOST}', {port})); s.sendall(b'+one'); x = s.recv(10); x",
                 "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
                 "try:\n  s.sendall(b'+two'); r = s.recv(10)\nexcept OSError as e:\n  r = type(e).__name__\n(x, r)",
                 f"s = socket.create_connection(('{HOST}', {port})); s.sendall(b'+three'); s.recv(10)"]
        requests = [{"method": "create", "params": {"net": {"allow": [f"127.0.0.1:{port}"]}}}]
        requests += [{"method": "python.eval", "params": {"code": code, "timeoutMs": 1000 if "while True" in code else 60000}} for code in codes]
        answers = r = [a["result"] for a in converse(t, requests)]
        assert answers[1]["repr"] == "b'+one'", r
        assert answers[2]["outcome"] == "stopped" and answers[2]["undone"], r
        assert answers[3]["repr"] == "(b'+one', 'ConnectionResetError')", r
        assert answers[4]["repr"] == "b'+three'", r
        assert closed.wait(60)


def test_copies_of_sandboxes_and_sessions_have_dead_connections(t):
    """The connection stays with the original; the copy's is reset."""
    with servers.tcp(lambda c: [c.sendall(d) for d in iter(lambda: c.recv(100), b"")]) as port:
        cell = "try:\n  s.sendall(b'+two'); r = s.recv(10)\nexcept OSError as e:\n  r = type(e).__name__\nr"
        requests = [{"method": "create", "params": {"net": {"allow": [f"127.0.0.1:{port}"]}}},
                    {"method": "python.eval", "params": {"code": f"import socket; s = socket.create_connection(('{HOST}', {port})); s.sendall(b'+one'); s.recv(10)"}},
                    {"method": "sandbox.fork", "params": {"to": "b"}},
                    {"method": "python.fork", "params": {"to": "copy"}},
                    {"method": "python.eval", "params": {"code": cell, "sandbox": "b"}},
                    {"method": "python.eval", "params": {"code": cell, "session": "copy"}},
                    {"method": "python.eval", "params": {"code": cell}}]
        answers = converse(t, requests)
        assert answers[6]["result"]["repr"] == "b'+two'", answers
        for i in (4, 5):
            assert answers[i].get("result", {}).get("repr") == "'ConnectionResetError'", (i, answers)


def test_a_slow_client_and_a_slow_server_hold_nobody_up(t):
    """Fifty connections of a byte now and then, both ways, beside one that is quick."""
    def serve(c):
        first = c.recv(1)
        if first == b"q":
            c.sendall(b"x" * 1_000_000)
            return
        for _ in range(10):
            c.sendall(b".")
            c.recv(1)

    with servers.tcp(serve) as port:
        code = """
import selectors, socket, threading, time
a = socket.getaddrinfo(HOST, PORT, type=socket.SOCK_STREAM)[0][4]
slow = []
for i in range(50):
    s = socket.socket(); s.connect(a); s.sendall(b's'); slow.append(s)
q = socket.create_connection(a); q.sendall(b'q')
got = 0
while got < 1_000_000: got += len(q.recv(1 << 20))
print(got)
done = 0
for k in range(10):
    for s in slow:
        done += len(s.recv(1)); s.sendall(b'.')
print(done)
"""
        r = t.run("--timeout", "2m", *words(port, code))
        assert r.text == "1000000\n500\n", r


def test_a_head_that_comes_a_byte_at_a_time_is_waited_for(t):
    """A guest that dribbles its request: the server sees nothing until the head is whole, and others are served."""
    with servers.pages() as s:
        code = """
import socket, time, urllib.request
slow = socket.create_connection(('a.test', PORT))
for b in f'GET /slow HTTP/1.1\\r\\nHost: a.test:{PORT}\\r\\n\\r\\n'.encode():
    slow.sendall(bytes([b])); time.sleep(0.01)
print(slow.recv(15))
print(urllib.request.urlopen(f'http://a.test:{PORT}/quick').read())
"""
        rules = '[{"action":"allow","host":"a.test","cidr":"127.0.0.1"}]'
        r = t.run("--net-rules", rules, "--add-host", "a.test=127.0.0.1", "--", "python3", "-c", f"PORT = {s.port}\n" + code)
        assert r.text == "b'HTTP/1.1 200 OK'\nb'page /quick\\n'\n" and [q[2] for q in s.seen] == ["/slow", "/quick"], (r, s.seen)


def test_an_idle_time_ends_a_silent_connection(t):
    with servers.silent() as port:
        requests = [{"method": "create", "params": {"net": {"allow": [f"127.0.0.1:{port}"], "idleTimeoutMs": 400}}},
                    {"method": "run", "params": {"command": f"python3 -c \"import socket; s = socket.create_connection(('{HOST}', {port})); s.recv(1)\" 2>&1 | tail -1"}}]
        r = converse(t, requests)
        assert "TimeoutError" in r[1]["result"]["stdout"], r


def test_limits_of_connections_bytes_and_rate_hold(t):
    with servers.pages() as s:
        net = {"allow": [f"127.0.0.1:{s.port}"], "connections": 3, "receivedBytes": 300000}
        code = f"""
import socket, urllib.request
a = socket.getaddrinfo('{HOST}', {s.port}, type=socket.SOCK_STREAM)[0][4]
held = []
try:
    for i in range(10):
        c = socket.socket(); c.connect(a); held.append(c)
except OSError as e:
    print(len(held), e.errno)
held.clear(); del c
for size in (100000, 150000, 200000, 1):
    try: print(len(urllib.request.urlopen(f'http://{HOST}:{s.port}/size/{{size}}').read()))
    except Exception as e: print(type(e).__name__)
"""
        requests = [{"method": "create", "params": {"net": net}}, {"method": "python.eval", "params": {"code": code}}]
        r = converse(t, requests)
        out = r[1]["result"]["stdout"].splitlines()
        assert out[0] == "3 99" and out[1:3] == ["100000", "150000"] and out[3] != "200000" and out[4] != "1", (out, r)
        net = {"allow": [f"127.0.0.1:{s.port}"], "bytesPerSecond": 200000}
        code = f"import time, urllib.request\nbegan = time.monotonic()\nfor i in range(2): urllib.request.urlopen('http://{HOST}:{s.port}/size/200000').read()\ntime.monotonic() - began > 0.8"
        requests = [{"method": "create", "params": {"net": net}}, {"method": "python.eval", "params": {"code": code}}]
        r = converse(t, requests)
        assert r[1]["result"]["repr"] == "True", r


def test_resets_in_the_middle_are_told(t):
    def serve(c):
        c.recv(4)
        c.sendall(b"x" * 100000)
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with servers.tcp(serve) as port:
        code = """
import socket
s = socket.create_connection((HOST, PORT)); s.sendall(b'+abc')
n = 0
try:
    while d := s.recv(65536): n += len(d)
    print('end')
except OSError as e:
    print(type(e).__name__, n <= 100000)
"""
        r = t.run(*words(port, code))
        assert r.text == "ConnectionResetError True\n", r
