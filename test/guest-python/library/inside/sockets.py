"""sockets - what processes of one sandbox say to each other over its loopback, and that nothing else is reached."""
import asyncio
import errno
import multiprocessing
import os
import socket
import socketserver
import struct
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from multiprocessing import reduction

import each


def client(code, *words):
    """A second process."""
    return subprocess.Popen([sys.executable, "-c", code, *map(str, words)], stdout=subprocess.PIPE, text=True)


def test_a_connection_in_one_process():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one:
        two, address = server.accept()
        with two:
            assert address == one.getsockname()
            one.sendall(b"there")
            assert two.recv(10) == b"there"
            two.sendall(b"back")
            two.shutdown(socket.SHUT_WR)
            assert one.recv(10) == b"back" and one.recv(10) == b""


def test_names_of_addresses():
    found = {row[4][0] for row in socket.getaddrinfo("localhost", 80, type=socket.SOCK_STREAM)}
    assert found == {"127.0.0.1", "::1"}
    assert socket.if_nametoindex("lo") == 1 and socket.if_indextoname(1) == "lo"
    assert socket.if_nameindex() == [(1, "lo")]
    assert socket.gethostbyname("localhost") == socket.gethostbyname(socket.gethostname()) == "127.0.0.1"
    each.refused(OSError, "not supported", socket.socket, 16, socket.SOCK_RAW)  # AF_NETLINK


def test_datagrams():
    with socket.socket(type=socket.SOCK_DGRAM) as one, socket.socket(type=socket.SOCK_DGRAM) as two:
        one.bind(("127.0.0.1", 0))
        assert two.sendto(b"a", one.getsockname()) == 1
        assert one.recvfrom(9) == (b"a", ("127.0.0.1", two.getsockname()[1]))


def test_nothing_else_is_reached():
    for address in ("8.8.8.8", "10.0.0.1", "169.254.169.254"):
        try:
            socket.create_connection((address, 80), timeout=5)
        except OSError as problem:
            assert problem.errno == errno.ENETUNREACH
        else:
            raise AssertionError(address)


def test_socketserver():
    class Upper(socketserver.StreamRequestHandler):
        def handle(self):
            self.wfile.write(self.rfile.readline().upper())

    for kind, address in ((socketserver.TCPServer, ("127.0.0.1", 0)), (socketserver.UnixStreamServer, "/tmp/upper")):
        with kind(address, Upper) as server:
            code = ("import socket, sys; s = socket.socket(int(sys.argv[1])); "
                    "s.connect(eval(sys.argv[2])); s.sendall(b'words\\n'); print(s.makefile().read(), end='')")
            other = client(code, int(server.address_family), repr(server.server_address))
            server.handle_request()
            assert other.communicate()[0] == "WORDS\n"


def test_http():
    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"got " + self.path.encode())

        def log_message(self, *words):
            pass

    with HTTPServer(("localhost", 0), Page) as server:
        other = client("import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())",
                       f"http://localhost:{server.server_port}/page")
        server.handle_request()
        assert other.communicate()[0] == "got /page\n"


def test_a_server_with_threads():
    server = subprocess.Popen([sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--directory", "/etc", "8123"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    got = ""
    for _ in range(500):  # until it listens
        got = subprocess.run(["wget", "-q", "-O-", "http://127.0.0.1:8123/hosts"], capture_output=True, text=True).stdout
        if got:
            break
    server.kill()
    server.wait()
    assert "localhost" in got


def test_asyncio():
    async def answer(reader, writer):
        writer.write((await reader.readline()).upper())
        await writer.drain()
        writer.close()

    async def main():
        tcp = await asyncio.start_server(answer, "127.0.0.1", 0)
        local = await asyncio.start_unix_server(answer, "/tmp/asyncio")
        said = []
        for reader, writer in (await asyncio.open_connection(*tcp.sockets[0].getsockname()),
                               await asyncio.open_unix_connection("/tmp/asyncio")):
            writer.write(b"x\n")
            said.append(await reader.read())
            writer.close()
        tcp.close()
        local.close()
        return said

    assert asyncio.run(main()) == [b"X\n", b"X\n"]


def test_many_at_once():
    async def echo(reader, writer):
        writer.write(await reader.read())
        await writer.drain()
        writer.close()

    async def one(address, n):
        reader, writer = await asyncio.open_connection(*address)
        writer.write(bytes([n]) * 100_000)
        writer.write_eof()
        got = await reader.read()
        writer.close()
        return got == bytes([n]) * 100_000

    async def main():
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        address = server.sockets[0].getsockname()
        return await asyncio.gather(*(one(address, n) for n in range(50)))

    assert all(asyncio.run(main()))


def tells(end):
    end.send({"from": "child"})
    end.close()


def test_multiprocessing_pipe():
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=tells, args=(there,))
    child.start()
    assert here.recv() == {"from": "child"}
    child.join()
    assert child.exitcode == 0


def test_descriptors_in_a_message():
    one, two = socket.socketpair()
    read, write = os.pipe()
    with one, two:
        assert socket.send_fds(one, [b"two of them"], [read, write]) == 11
        data, fds, flags, _ = socket.recv_fds(two, 100, 5)
        assert data == b"two of them" and len(fds) == 2 and flags & socket.MSG_CTRUNC == 0
        os.close(read), os.close(write)
        os.write(fds[1], b"through them")
        assert os.read(fds[0], 100) == b"through them"
        socket.send_fds(one, [b"x"], fds)
        assert socket.recv_fds(two, 100, 1)[2] & socket.MSG_CTRUNC
        for fd in fds:
            os.close(fd)


def test_a_listening_socket_is_handed_on():
    """What a supervisor does: a child accepts on a socket that it was sent."""
    code = ("import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
            "_, fds, _, _ = socket.recv_fds(s, 9, 1); l = socket.socket(fileno=fds[0]); c, _ = l.accept(); c.sendall(b'from the child')")
    with socket.socket(socket.AF_UNIX) as meeting, socket.create_server(("127.0.0.1", 0)) as server:
        meeting.bind("/tmp/meeting")
        meeting.listen()
        other = client(code, "/tmp/meeting")
        with meeting.accept()[0] as to_it:
            socket.send_fds(to_it, [b"x"], [server.fileno()])
        address = server.getsockname()
        server.close()
        with socket.create_connection(address) as connection:
            assert connection.recv(100) == b"from the child"
        assert other.wait() == 0


def test_credentials():
    one, two = socket.socketpair()
    with one, two:
        two.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        one.sendall(b"x")
        _, told, _, _ = two.recvmsg(9, socket.CMSG_SPACE(12))
        assert told[0][:2] == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)
        assert struct.unpack("3i", told[0][2]) == (os.getpid(), os.getuid(), os.getgid())


def receives(end):
    fd = reduction.recv_handle(end)
    os.write(fd, b"by the child")
    end.close()


def test_multiprocessing_handles():
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=receives, args=(there,))
    child.start()
    read, write = os.pipe()
    reduction.send_handle(here, write, child.pid)
    os.close(write)
    assert os.read(read, 100) == b"by the child" and os.read(read, 100) == b""
    child.join()
    assert child.exitcode == 0


if __name__ == "__main__":
    each.run(globals())
