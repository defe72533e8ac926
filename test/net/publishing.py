"""publishing.py - ports of a sandbox that this machine reaches."""
import socket
import time
import urllib.request

import servers

SERVER = "mkdir w; echo inside > w/index.html; exec python3 -m http.server -d w -b 127.0.0.1 8000"


def fetch(url, tries=200):
    for i in range(tries):
        try:
            return urllib.request.urlopen(url, timeout=10).read()
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"no answer from {url}")


def test_a_server_inside_is_reached(t):
    port = servers.unused_port()
    p = t.start("run", "--publish", f"8000:{port}", SERVER)
    try:
        for _ in range(5):
            assert fetch(f"http://127.0.0.1:{port}/") == b"inside\n"
    finally:
        p.terminate()
        t.finish(p)
    with socket.socket() as s:
        assert s.connect_ex(("127.0.0.1", port)) != 0  # gone with the sandbox


def test_a_unix_socket_leads_inside(t):
    path = t.path("web.sock")
    p = t.start("run", "--publish", f"8000:{path}", SERVER)
    try:
        answer = b""
        for _ in range(200):
            with socket.socket(socket.AF_UNIX) as s:
                try:
                    s.connect(str(path))
                    s.sendall(b"GET / HTTP/1.0\r\n\r\n")
                    answer = s.makefile("rb").read()
                except OSError:
                    answer = b""
            if answer:
                break
            time.sleep(0.05)
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
