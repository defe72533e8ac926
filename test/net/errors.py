"""errors.py - the nine names of the contract's network errors (doc/reference/network.md), each brought about through the clients
that guests use: sockets, ssl and urllib of Python, curl, fetch and sockets of JavaScript."""
import contextlib
import ssl

import servers

HOST = "server.test"

CLIENT = """
import errno, socket, ssl, sys, urllib.error, urllib.request
kind, port = sys.argv[1], int(sys.argv[2])
def name(e):
    if isinstance(e, urllib.error.URLError) and isinstance(e.reason, OSError): e = e.reason
    if isinstance(e, ssl.SSLCertVerificationError): return 'certificate-error'
    if isinstance(e, ssl.SSLError): return 'handshake-failed'
    if isinstance(e, socket.gaierror): return 'host-not-found'
    if isinstance(e, TimeoutError): return 'timed-out'
    if isinstance(e, PermissionError): return 'not-permitted'
    if isinstance(e, ConnectionRefusedError): return 'connection-refused'
    if isinstance(e, (ConnectionResetError, BrokenPipeError)): return 'connection-reset'
    if e.errno in (errno.EBADF, errno.ENOTCONN): return 'invalid-handle'
    return 'io-error'
try:
    if kind == 'socket':
        s = socket.create_connection((sys.argv[3], port), timeout=float(sys.argv[4])); s.sendall(b'x'); s.recv(1)
    elif kind == 'urllib':
        urllib.request.urlopen(f'{sys.argv[3]}:{port}/', timeout=float(sys.argv[4]))
    else:
        s = socket.create_connection((sys.argv[3], port)); s.close(); s.send(b'x')
    print('none')
except OSError as e:
    print(name(e))
"""

FETCH = """
const [, , url, patience] = process.argv;
fetch(url, { signal: patience ? AbortSignal.timeout(+patience) : undefined }).then(
  (r) => console.log(r.status), (e) => console.log(e.name === 'TimeoutError' ? e.name : e.cause.code));
"""


def guest(t, port, script, *options):
    """The lines that `script` prints in a sandbox that may go to HOST alone, at this port."""
    t.path("client.py", CLIENT)
    t.path("fetch.js", FETCH)
    rules = f'[{{"action":"allow","host":"{HOST}","cidr":"127.0.0.1","port":{port}}}]'
    r = t.run("--net-rules", rules, "--add-host", f"{HOST}=127.0.0.1", "--in", "client.py", "--in", "fetch.js", "--timeout", "5m", "--quiet", *options, script)
    return r.text.splitlines(), r


def test_not_permitted(t):
    lines, r = guest(t, 1, "python3 client.py socket 2 server.test 60; python3 client.py urllib 2 http://server.test 60; curl -sS http://192.0.2.2:2/ 2>&1; echo $?; node fetch.js http://server.test:2/")
    assert lines[:2] == ["not-permitted"] * 2 and lines[-2:] == ["7", "EACCES"], r


def test_host_not_found(t):
    lines, r = guest(t, 1, "python3 client.py socket 1 nowhere.invalid 60; python3 client.py urllib 1 http://nowhere.invalid 60; python3 client.py socket 1 server.test 60",
                     "--allow-net", "*.invalid")
    assert lines[:2] == ["host-not-found"] * 2, r
    lines, r = guest(t, 1, "curl -sS http://nowhere.invalid/ 2>&1; echo $?; node fetch.js http://nowhere.invalid/", "--allow-net", "*.invalid")
    assert lines[-2:] == ["6", "ENOTFOUND"], r


def test_connection_refused(t):
    port = servers.unused_port()
    lines, r = guest(t, port, f"python3 client.py socket {port} {HOST} 60; python3 client.py urllib {port} http://{HOST} 60; curl -sS http://{HOST}:{port}/ 2>/dev/null; echo $?; node fetch.js http://{HOST}:{port}/")
    assert lines == ["connection-refused", "connection-refused", "7", "ECONNREFUSED"], r


def test_connection_reset(t):
    with servers.tcp(servers.reset) as port:
        lines, r = guest(t, port, f"python3 client.py socket {port} {HOST} 60; python3 client.py urllib {port} http://{HOST} 60; curl -sS http://{HOST}:{port}/ 2>/dev/null; echo $?; node fetch.js http://{HOST}:{port}/")
        assert lines[:2] == ["connection-reset"] * 2 and lines[2] in ("7", "52", "56") and lines[3] in ("ECONNRESET", "UND_ERR_SOCKET"), r


def silent(connection):
    with contextlib.suppress(OSError):
        while connection.recv(4096):
            pass


def test_timed_out(t):
    with servers.tcp(silent) as port:
        lines, r = guest(t, port, f"python3 client.py socket {port} {HOST} 0.2; python3 client.py urllib {port} http://{HOST} 0.2; curl -sS -m 1 http://{HOST}:{port}/ 2>/dev/null; echo $?; node fetch.js http://{HOST}:{port}/ 200")
        assert lines == ["timed-out", "timed-out", "28", "TimeoutError"], r


def test_invalid_handle(t):
    with servers.pages() as s:
        lines, r = guest(t, s.port, f"python3 client.py closed {s.port} {HOST}")
        assert lines == ["invalid-handle"], r
        lines, r = guest(t, s.port, "python3 -c 'import socket; socket.socket().recv(1)' 2>&1 | tail -1")
        assert lines == ["OSError: [Errno 107] Transport endpoint is not connected"], r


def test_io_error(t):
    """Any other number, such as ENETUNREACH of a sandbox without a network."""
    t.path("client.py", CLIENT)
    r = t.run("--in", "client.py", "python3 client.py socket 80 1.2.3.4 60; python3 client.py urllib 80 http://1.2.3.4 60; curl -sS http://1.2.3.4/ 2>/dev/null; echo $?")
    assert r.text == "io-error\nio-error\n7\n", r


@contextlib.contextmanager
def tls(t, **how):
    """A server of TLS whose certificate has the faults of `how`."""
    servers.authority(t.dir)
    servers.certificate(t.dir, HOST, **how)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{t.dir}/{HOST}.pem", f"{t.dir}/{HOST}.key")
    with servers.pages(context=context) as s:
        yield s.port


def test_certificate_error(t):
    with tls(t, expired=True) as port:
        lines, r = guest(t, port, f"python3 client.py urllib {port} https://{HOST} 60; curl -sS https://{HOST}:{port}/ 2>/dev/null; echo $?; node fetch.js https://{HOST}:{port}/", "--net-ca", "ca.pem")
        assert lines == ["certificate-error", "60", "CERT_HAS_EXPIRED"], r


def test_handshake_failed(t):
    def alert(connection):
        connection.recv(4096)
        connection.sendall(bytes([21, 3, 3, 0, 2, 2, 40]))  # handshake_failure
    with servers.tcp(alert) as port:
        lines, r = guest(t, port, f"python3 client.py urllib {port} https://{HOST} 60; curl -sS https://{HOST}:{port}/ 2>/dev/null; echo $?; node fetch.js https://{HOST}:{port}/")
        assert lines[:2] == ["handshake-failed", "35"] and "SSL" in lines[2], r


OFF = {
    "curl -sS http://example.com/": "Could not resolve host: example.com (The network is off in this sandbox",
    "wget -O- http://example.com/": "The network is off in this sandbox",
    "pip install requests": "The network is off in this sandbox",
    "git clone https://example.com/x": "Could not resolve host: example.com (The network is off in this sandbox",
    "node -e 'fetch(\"http://example.com\").catch((e) => console.log(e.cause.message))'": "The network is off in this sandbox",
    "python3 -c 'import urllib.request as u; u.urlopen(\"http://example.com\")'": "The network is off in this sandbox",
    "curl -sS http://1.2.3.4/": "the sandbox's network is off",
    "git ls-remote https://1.2.3.4/x": "the sandbox's network is off",
    "nc example.com 80": "The network is off in this sandbox",
    "nc -w 9 1.2.3.4 80": "the sandbox's network is off",
    "nslookup example.com": "can't resolve 'example.com': The network is off in this sandbox",
    "nslookup example.com 8.8.8.8": "the sandbox's network is off",
    "getent hosts example.com": "The network is off in this sandbox",
    "getent ahosts example.com": "The network is off in this sandbox",
    "node -e 'net.connect(80, \"1.2.3.4\").on(\"error\", (e) => console.log(e.message))'": "the sandbox's network is off",
    "node -e 'fetch(\"http://1.2.3.4\").catch((e) => console.log(e.cause.message))'": "the sandbox's network is off",
    "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(\"example.com:80\") or die $@'": "Bad hostname 'example.com:80': The network is off in this sandbox",
    "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(\"1.2.3.4:80\") or die $@'": "the sandbox's network is off",
    "perl -MHTTP::Tiny -e 'print HTTP::Tiny->new->get(\"http://example.com\")->{content}'": "The network is off in this sandbox",
    "python3 -c 'import socket; socket.create_connection((\"1.2.3.4\", 80))'": "the sandbox's network is off",
}


def test_without_a_network_each_program_says_that_it_is_off(t):
    for command, words in OFF.items():
        r = t.run("--timeout", "2m", f"{command} 2>&1")
        assert words in r.text and "timed out" not in r.text, (command, r)
