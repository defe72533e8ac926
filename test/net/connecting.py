"""connecting.py - sockets that lead out: connecting, moving bytes, ends and errors."""
import pathlib
import socket
import threading
import time

import harness
import servers

HOST = "host.cay.internal"


def python(t, port, code, *options, **keywords):
    return t.run("--allow-net", f"127.0.0.1:{port}", *options, "--", "python3", "-c", f"HOST, PORT = {HOST!r}, {port}\n" + code, **keywords)


def test_programs_reach_an_allowed_server(t):
    with servers.pages() as s:
        r = t.run("--allow-net", f"127.0.0.1:{s.port}", f"busybox wget -qO- http://{HOST}:{s.port}/a; printf 'GET /b HTTP/1.0\\r\\n\\r\\n' | nc {HOST} {s.port} | tail -n 1")
        assert r.text == "page /a\npage /b\n" and r.code == 0, r
        r = python(t, s.port, "import urllib.request as u; print(u.urlopen(f'http://{HOST}:{PORT}/c').read())")
        assert r.text == "b'page /c\\n'\n", r


def test_without_options_the_network_is_off(t):
    with servers.pages() as s:
        r = t.run(f"busybox wget -T 2 -qO- http://{HOST}:{s.port}/; busybox wget -T 2 -qO- http://192.0.2.2:{s.port}/; cat /etc/resolv.conf")
        assert "The network is off in this sandbox" in r.errors and "unreachable" in r.errors.lower(), r
        assert "nameserver" not in r.text and s.seen == [], r


def test_large_answers_arrive_whole(t):
    with servers.pages() as s:
        r = t.run("--allow-net", f"127.0.0.1:{s.port}", f"busybox wget -qO- http://{HOST}:{s.port}/size/20000000 | wc -c")
        assert r.text.strip() == "20000000", r


def test_errors_are_told_by_their_cause(t):
    closed = servers.unused_port()
    code = """
import socket
def why(address, timeout=None):
    s = socket.socket()
    s.settimeout(timeout)
    try:
        s.connect(address)
    except OSError as e:
        return type(e).__name__
print(why((HOST, PORT)), why((HOST, PORT + 1)), why(('8.8.8.8', 53)), why(('169.254.169.254', 80)))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    u.sendto(b'x', ('8.8.8.8', 53))
except OSError as e:
    print(type(e).__name__)
"""
    r = python(t, closed, code)
    assert r.text == "ConnectionRefusedError PermissionError PermissionError PermissionError\nPermissionError\n", r


def test_a_reset_is_a_reset(t):
    with servers.tcp(servers.reset) as port:
        r = python(t, port, """
import socket
try: # the reset may come while connect sleeps
    s = socket.socket()
    s.connect((HOST, PORT))
    print(s.recv(10))
except OSError as e:
    print(type(e).__name__)
""")
        assert r.text == "ConnectionResetError\n", r


def test_urgent_bytes_do_not_leave_the_sandbox(t):
    with servers.tcp(lambda connection: connection.sendall(connection.recv(9))) as port:
        r = python(t, port, """
import errno, socket
s = socket.create_connection((HOST, PORT))
try:
    s.send(b'!', socket.MSG_OOB)
except OSError as e:
    print(e.errno == errno.EOPNOTSUPP)
s.send(b'x')
print(s.recv(9))
""")
        assert r.text == "True\nb'x'\n", r


def test_each_way_is_closed_by_itself(t):
    def serve(c):
        data = b""
        while piece := c.recv(100):
            data += piece
        c.sendall(b"got " + data)

    with servers.tcp(serve) as port:
        r = python(t, port, """
import socket
s = socket.create_connection((HOST, PORT))
s.sendall(b'+one '); s.sendall(b'two')
s.shutdown(socket.SHUT_WR)
print(s.makefile('rb').read())
""")
        assert r.text == "b'got +one two'\n", r


def test_non_blocking_connections_and_selectors(t):
    with servers.pages() as s:
        r = python(t, s.port, """
import asyncio
async def one(i):
    reader, writer = await asyncio.open_connection(HOST, PORT)
    writer.write(f'GET /{i} HTTP/1.1\\r\\nHost: {HOST}\\r\\nConnection: close\\r\\n\\r\\n'.encode())
    body = (await reader.read()).split(b'\\r\\n\\r\\n')[1]
    writer.close()
    return body == f'page /{i}\\n'.encode()
async def main():
    print(sum(await asyncio.gather(*(one(i) for i in range(60)))))
asyncio.run(main())
""")
        assert r.text == "60\n", r


def test_connecting_sockets_become_writable(t):
    with servers.pages() as s:
        r = python(t, s.port, """
import errno, select, socket
a = socket.getaddrinfo(HOST, PORT, type=socket.SOCK_STREAM)[0][4]
s = socket.socket(); s.setblocking(False)
print(s.connect_ex(a) == errno.EINPROGRESS, select.select([], [s], [], 10)[1] == [s], s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
print(s.getpeername() == a, s.getsockname()[0])
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
p = select.epoll(); p.register(s, select.EPOLLIN | select.EPOLLET)
s.send(b'GET / HTTP/1.0\\r\\n\\r\\n')
print(p.poll(10)[0][1] & select.EPOLLIN, s.recv(8))
""")
        assert r.text == "True True 0\nTrue 10.0.2.15\n1 b'HTTP/1.1'\n", r


def test_a_thousand_connections(t):
    with servers.tcp(lambda c: c.sendall(c.recv(10) * 2) or c.recv(10)) as port:
        r = python(t, port, """
import socket
a = socket.getaddrinfo(HOST, PORT, type=socket.SOCK_STREAM)[0][4]
all = []
for i in range(1000):
    s = socket.socket(); s.connect(a); all.append(s)
for i, s in enumerate(all): s.sendall(b'+%03d' % i)
print(sum(s.recv(100) == b'+%03d' % i * 2 for i, s in enumerate(all)))
""", "--timeout", "2m")
        assert r.text == "1000\n", r


def threads_of(pid):
    return len(list(pathlib.Path(f"/proc/{pid}/task").iterdir()))


def test_connections_have_no_thread_each(t):
    with servers.tcp(lambda c: c.recv(10)) as port:
        counts = []
        for n in (1, 300):
            code = f"import socket; held = [socket.create_connection((HOST, PORT)) for i in range({n})]; print('open', flush=True); input()"
            p = t.start("run", "--allow-net", f"127.0.0.1:{port}", "--", "python3", "-c", f"HOST, PORT = {HOST!r}, {port}\n" + code)
            assert p.stdout.readline() == b"open\n"
            counts.append(threads_of(p.pid))
            t.finish(p, b"\n")
        assert counts[0] == counts[1], counts


def test_a_deadline_ends_a_guest_in_every_state(t):
    hold = threading.Event()
    with servers.tcp(lambda c: hold.wait()) as port:
        for code in ("s.recv(1)", "s.sendall(b'+' * 50_000_000)", "__import__('select').select([s], [], [])"):
            r = python(t, port, f"import socket; s = socket.create_connection((HOST, PORT)); {code}", "--timeout", "500ms")
            assert r.code == 124, (code, r)
        hold.set()


def test_processes_share_a_connection(t):
    with servers.tcp(lambda c: c.sendall(b"=" + c.recv(3) + c.recv(3))) as port:
        r = t.run("--allow-net", f"127.0.0.1:{port}", f"exec 3<>/dev/tcp/{HOST}/{port}; (printf +ab >&3); printf +cd >&3; cat <&3")
        assert r.text == "=+ab+cd", r


def test_a_slow_server_sends_a_byte_at_a_time(t):
    def serve(c):
        for byte in b"slowly":
            c.sendall(bytes([byte]))
            time.sleep(0.02)

    with servers.tcp(serve) as port:
        assert t.run("--allow-net", f"127.0.0.1:{port}", f"nc {HOST} {port} </dev/null").text == "slowly"


def test_a_guest_that_does_not_read_makes_the_server_wait(t):
    sent, stuck = [], threading.Event()

    def serve(c):
        c.settimeout(2)
        try:
            for i in range(1000):
                c.sendall(b"x" * 65536)
                sent.append(i)
        finally:
            stuck.set()

    with servers.tcp(serve) as port:
        p = t.start("run", "--allow-net", f"127.0.0.1:{port}", "--timeout", "10m", "--", "python3", "-c", f"import socket; s = socket.create_connection(({HOST!r}, {port})); input(); print('done')")
        assert stuck.wait(harness.LONG)
        r = t.finish(p, b"\n")
        assert r.text == "done\n" and len(sent) < 500, (len(sent), r)


def test_names_are_resolved_by_rule(t):
    with servers.pages() as s:
        r = t.run("--allow-net", f"a.test:{s.port}", "--allow-net", f"127.0.0.1:{s.port}", "--add-host", "a.test=127.0.0.1", "--add-host",
                  "b.test:127.0.0.1", f"for h in a.test b.test c.test; do busybox wget -T 5 -qO- http://$h:{s.port}/$h; done; nslookup a.test | grep -c 192.0.2.2")
        assert r.text == "page /a.test\npage /b.test\n2\n" or r.text == "page /a.test\npage /b.test\n1\n", r
        assert "Permission denied" in r.errors and "c.test is denied" in r.errors, r
        assert [seen[1] for seen in s.seen] == [f"a.test:{s.port}", f"b.test:{s.port}"], s.seen
