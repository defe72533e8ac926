"""servers.py - servers on the loopback of this machine, each on a thread, ended with their `with` block."""
import contextlib
import http.server
import pathlib
import socket
import ssl
import struct
import subprocess
import threading
import time


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.server.seen.append(("GET", self.headers["Host"], self.path))
        self.answer(b"x" * int(self.path[6:]) if self.path.startswith("/size/") else f"page {self.path}\n".encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append(("POST", self.headers["Host"], self.path))
        self.answer(b"%d bytes\n" % len(body))

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, address):
        pass  # a client that leaves is no news


@contextlib.contextmanager
def pages(context=None, handler=Pages):
    """An HTTP server; with a context of ssl, one of HTTPS. `seen` has (method, Host, path) of each request."""
    server = Server(("127.0.0.1", 0), handler)
    server.seen, server.port = [], server.server_address[1]
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def tcp(serve):
    """Calls serve(connection) on a thread for each connection; gives the port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)

    def each(connection):
        with contextlib.suppress(OSError), connection:
            serve(connection)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=each, args=(listener.accept()[0],), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


@contextlib.contextmanager
def silent(first=lambda connection: None):
    """A server that keeps its connections and says nothing, after first(connection), until the `with` block ends; gives the port."""
    over = threading.Event()
    with tcp(lambda connection: (first(connection), over.wait())) as port:
        try:
            yield port
        finally:
            over.set()


def settled(process, most=60):
    """Waits until a program, such as one that said that it will wait, takes no processor time; its next step is not told by this."""
    def used():
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return fields[11:13]
    end, before = time.monotonic() + most, None
    while time.monotonic() < end and (now := used()) != before:
        before = now
        time.sleep(0.03)


def listening(process, port, most=120):
    """Waits until a program of this machine accepts connections at this port."""
    end = time.monotonic() + most
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.02)
    raise AssertionError(f"nothing listens at {port}: exit code {process.poll()}")


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def unused_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# ---- certificates, made for one run ----


def _openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def authority(folder):
    """ca.pem and ca.key in this folder."""
    _openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
             "-subj", "/CN=test authority", "-days", "30", "-addext", "keyUsage=critical,keyCertSign,cRLSign")


def certificate(folder, name, expired=False, own=False):
    """A server's context for this name, signed by the authority or by itself."""
    folder = pathlib.Path(folder)
    (folder / f"{name}.ext").write_text(f"subjectAltName=DNS:{name}\n")
    _openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr",
             "-subj", f"/CN={name}")
    signer = ["-signkey", f"{name}.key"] if own else ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"]
    days = ["-days", "30"]
    if expired:
        _openssl(folder, "x509", "-req", "-in", f"{name}.csr", *signer, "-extfile", f"{name}.ext", "-days", "-1", "-out", f"{name}.pem")
    else:
        _openssl(folder, "x509", "-req", "-in", f"{name}.csr", *signer, "-extfile", f"{name}.ext", *days, "-out", f"{name}.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
    return context
