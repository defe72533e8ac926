import http.server
import os
import threading

import pytest

from cay import Sandbox


@pytest.fixture
def sandbox():
    with Sandbox() as s:
        yield s


@pytest.fixture(scope="module")
def shared():
    """One for the tests that leave nothing behind that others could see."""
    with Sandbox() as s:
        yield s


def open_descriptors():
    """Those of this process, but for guests and images of sessions, which a library has open for the next sandbox."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{number}").endswith((".cwasm", ".image", ":cay-image (deleted)")):
                found.add(number)
        except OSError:
            pass  # the one of the listing
    return found


def children():
    """Processes whose parent we are, zombies too."""
    mine = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == os.getpid():
            mine.append(int(name))
    return sorted(mine)


NO_SLEEP = "i=0; while ps | grep -q '[s]leep 1000'; do [ $((i += 1)) -lt 500 ] || exit 1; usleep 20000; done"


def warm_up():
    """What a program keeps: a server, and a library that has its guests open."""
    for isolation in ("process", "library"):
        with Sandbox(isolation=isolation) as sandbox:
            sandbox.python.run("1")


@pytest.fixture
def leaves_nothing():
    """The test ends with as many processes and descriptors as it began with. The server that sandboxes share is one of them."""
    warm_up()
    before = len(children()), len(open_descriptors())
    yield
    warm_up()
    assert (len(children()), len(open_descriptors())) == before


@pytest.fixture
def page_server():
    """The port of an HTTP server on this machine's loopback whose every page is "page"."""
    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"page\n")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()
