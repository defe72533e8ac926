"""resuming.py - the relay's second connection to a server resumes the TLS session of the first, and no session leaves its name, port and sandbox."""
import contextlib
import ssl

import servers
from secrets_of_guests import GUEST, HOST, VALUE, check, head, request, run

OTHER = "other.test"


@contextlib.contextmanager
def server(context_of):
    """Gives the port, and for each connection in its order whether it was resumed, with the requests' keys. context_of(n): the n-th connection's."""
    seen = []
    count = iter(range(1000))

    def serve(connection):
        with contextlib.suppress(ssl.SSLError), context_of(next(count)).wrap_socket(connection, server_side=True) as c:
            top, _ = request(c)
            if top is not None:
                seen.append((c.session_reused, VALUE.encode() in top))
                c.sendall(head(b"HTTP/1.1 200 OK", b"Connection: close"))

    with servers.tcp(serve) as port:
        yield port, seen


def of_version(t, version, **how):
    servers.authority(t.dir)
    context = servers.certificate(t.dir, HOST, **how)
    context.minimum_version = context.maximum_version = version
    return context


def asks(n):
    return GUEST + f"for i in range({n}): attempt(ask, X_Key=KEY)\n"


def test_later_connections_resume(t):
    for version in ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3:
        context = of_version(t, version)
        with server(lambda n: context) as (port, seen):
            r = run(t, port, asks(4))
            check(r, "resumed")
            assert r.text.count("ok") == 4 and seen == [(False, True)] + [(True, True)] * 3, (version, seen, r)
            run(t, port, asks(1))
            assert seen[4:] == [(False, True)], (version, seen)  # another sandbox


def test_a_session_is_of_one_name(t):
    context = of_version(t, ssl.TLSVersion.TLSv1_2)
    other = servers.certificate(t.dir, OTHER)

    def choose(connection, name, first):
        if name == OTHER:
            connection.context = other
    context.sni_callback = choose
    with server(lambda n: context) as (port, seen):
        r = run(t, port, GUEST + "for host in 2 * [HOST, 'other.test']: ask(host=host, X_Key=KEY)\n", secret=f"KEY@{HOST}:{port},{OTHER}:{port}", hosts=(HOST, OTHER))
        assert r.text.count("ok") == 4 and [resumed for resumed, _ in seen][:3] == [False, False, True], (seen, r)


def test_a_server_that_has_forgotten_is_verified_again(t):
    good = of_version(t, ssl.TLSVersion.TLSv1_3)
    again = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    again.load_cert_chain(f"{t.dir}/{HOST}.pem", f"{t.dir}/{HOST}.key")
    bad = servers.certificate(t.dir, HOST, own=True)
    contexts = [good, again, bad, again]
    with server(lambda n: contexts[n]) as (port, seen):
        r = run(t, port, asks(4))
        check(r, "forgotten")
        assert r.text.count("ok") == 3 and r.text.count("SSLCertVerificationError") == 1, (seen, r)
        assert seen[:2] == [(False, True)] * 2 and len(seen) == 3, seen  # no request reached the one that could not prove its name


def test_a_connection_that_was_cut_off_may_be_resumed(t):
    """The guest goes before the answer is over: the relay has not said goodbye to the server."""
    context = of_version(t, ssl.TLSVersion.TLSv1_2)
    seen = []

    def serve(connection):
        with contextlib.suppress(ssl.SSLError), context.wrap_socket(connection, server_side=True) as c:
            request(c)
            seen.append(c.session_reused)
            c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome")
            c.recv(1)

    with servers.tcp(serve) as port:
        code = GUEST + """
for i in range(4):
    s = ssl.create_default_context().wrap_socket(socket.create_connection((HOST, PORT), timeout=60), server_hostname=HOST)
    s.sendall(b'GET / HTTP/1.1\\r\\nHost: %s:%d\\r\\n\\r\\n' % (HOST.encode(), PORT))
    print(s.recv(1))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\\1\\0\\0\\0\\0\\0\\0\\0')
    socket.socket.close(s)
"""
        r = run(t, port, code)
        assert seen == [False, True, True, True], (seen, r)
