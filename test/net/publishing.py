"""publishing.py - ports of a sandbox that this machine reaches."""
import contextlib
import os
import resource
import select
import socket
import urllib.request

import harness
import servers

SERVER = "mkdir w; echo inside > w/index.html; exec python3 -u -m http.server -d w -b 127.0.0.1 8000"


def test_a_server_inside_is_reached(t):
    port = servers.unused_port()
    p = t.start("run", "--publish", f"8000:{port}", SERVER)
    try:
        assert b"Serving HTTP" in p.stdout.readline()
        for _ in range(5):
            assert urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=harness.LONG).read() == b"inside\n"
    finally:
        p.terminate()
        t.finish(p)
    with socket.socket() as s:
        assert s.connect_ex(("127.0.0.1", port)) != 0  # gone with the sandbox


def test_a_unix_socket_leads_inside(t):
    path = t.path("web.sock")
    p = t.start("run", "--publish", f"8000:{path}", SERVER)
    try:
        assert b"Serving HTTP" in p.stdout.readline()
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(str(path))
            s.sendall(b"GET / HTTP/1.0\r\n\r\n")
            answer = s.makefile("rb").read()
        assert answer.endswith(b"inside\n"), answer
        assert path.stat().st_mode & 0o777 == 0o600
    finally:
        p.terminate()
        t.finish(p)
    assert not path.exists()


def test_a_port_that_is_taken_is_told(t):
    with servers.pages() as s:
        r = t.run("--publish", f"8000:{s.port}", "true")
        assert r.code == 125 and "Address already in use" in r.errors, r


def test_a_free_port_is_told(t):
    r = t.run("--publish", "8000:0", "true")
    assert "port 8000 of the sandbox is 127.0.0.1:" in r.errors and r.code == 0, r


# ---- attacks from outside

ECHO = """
import socket, threading
def serve(s):
    with s:
        while data := s.recv(65536):
            s.sendall(data)
listener = socket.create_server(("127.0.0.1", 8000), backlog=128)
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
"""


@contextlib.contextmanager
def echo(t, *words, **keywords):
    """A port at which a sandbox answers each byte with itself."""
    port = servers.unused_port()
    p = t.start("run", "--publish", f"8000:{port}", "--timeout", "none", *words, "--", "python3", "-c", ECHO, **keywords)
    try:
        assert p.stdout.readline() == b"ready\n"
        yield port
    finally:
        p.terminate()
        t.finish(p)


def client(port):
    return socket.create_connection(("127.0.0.1", port), timeout=300)


def says(s, text):
    s.sendall(text)
    got = b""
    while len(got) < len(text):
        piece = s.recv(65536)
        if not piece:
            return got
        got += piece
    return got


def test_clients_that_say_nothing_are_not_in_the_way(t):
    with echo(t) as port, contextlib.ExitStack() as held:
        for _ in range(40):
            held.enter_context(client(port))
        with client(port) as s:
            assert says(s, b"heard") == b"heard"


def test_half_closed_connections_carry_the_other_half(t):
    with echo(t) as port:
        for _ in range(20):
            with client(port) as s:
                s.sendall(b"x" * 100000)
                s.shutdown(socket.SHUT_WR)
                assert len(b"".join(iter(lambda s=s: s.recv(65536), b""))) == 100000


def test_resets_in_the_middle_of_bytes_harm_nothing(t):
    with echo(t) as port:
        for i in range(50):
            with client(port) as s:
                s.sendall(b"x" * (i * 1000 + 1))
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        with client(port) as s:
            assert says(s, b"heard") == b"heard"


def test_a_reader_that_does_not_read_holds_no_other_one(t):
    with echo(t) as port, client(port) as slow:
        slow.setblocking(False)
        sent = 0
        while select.select([], [slow], [], 0.2)[1]:  # until no queue on the way takes more
            sent += slow.send(b"x" * 65536)
        with client(port) as s:
            assert says(s, b"heard") == b"heard"
        slow.setblocking(True)
        slow.shutdown(socket.SHUT_WR)
        assert sum(map(len, iter(lambda: slow.recv(65536), b""))) == sent


def test_clients_beyond_the_descriptors_of_the_process_wait_for_their_turn(t):
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))

    with echo(t, "--procs", "200", preexec_fn=few) as port:
        first = [client(port) for _ in range(80)]  # more than it has descriptors for, and fewer than may wait
        last = client(port)
        last.sendall(b"heard")
        assert not select.select([last], [], [], 0.1)[0]
        for s in first:
            s.close()
        assert last.recv(10) == b"heard"
        last.close()


def test_a_socket_of_another_is_neither_changed_nor_removed(t):
    path, other = t.path("web.sock"), t.path("other", b"x", mode=0o644)
    p = t.start("run", "--publish", f"8000:{path}", "echo ready; read x")
    assert p.stdout.readline() == b"ready\n"
    path.unlink()
    os.symlink(other, path)
    t.finish(p, b"\n")
    assert path.is_symlink() and other.stat().st_mode & 0o777 == 0o644
    r = t.run("--publish", f"8000:{path}", "true")
    assert r.code == 125 and "Address already in use" in r.errors, r
    assert other.read_bytes() == b"x" and other.stat().st_mode & 0o777 == 0o644
    path.unlink()
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(str(path))
        r = t.run("--publish", f"8000:{path}", "true")
        assert r.code == 125 and "Address already in use" in r.errors, r
        assert path.exists()  # another's


# ---- attacks from inside

def test_a_server_that_comes_and_goes_resets_clients_and_nothing_else(t):
    port = servers.unused_port()
    code = """
import socket
print("ready", flush=True)
for i in range(30):
    with socket.create_server(("127.0.0.1", 8000)) as s:
        s.listen(1)
        print(i, flush=True)
        c = s.accept()[0]
        if i % 3 == 0: c.close()
        if i % 3 == 1: s.close(); c.sendall(b"x" * 100000); c.close()
        if i % 3 == 2: c.shutdown(socket.SHUT_RD); c.close()
print("done", flush=True)
input()
"""
    p = t.start("run", "--publish", f"8000:{port}", "--timeout", "none", "--", "python3", "-c", code)
    try:
        assert p.stdout.readline() == b"ready\n"
        served = 0
        while served < 30:
            try:
                with client(port) as s:
                    s.sendall(b"hello")
                    while s.recv(65536):
                        pass
            except OSError:
                pass
            while select.select([p.stdout], [], [], 0)[0]:
                line = p.stdout.readline()
                served = 30 if line == b"done\n" else int(line)
    finally:
        r = t.finish(p, b"\n")
    assert r.code == 0, r
