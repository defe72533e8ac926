"""publishing.py - ports of a sandbox that this machine reaches."""
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
