"""The transport: foreign requests, excess, TLS, tokens, other addresses, health and reflection."""
import contextlib
import os
import socket
import ssl
import struct
import subprocess
import time
import urllib.error
import urllib.request

import grpc
import hpack
from guest import code
from harness import LONG, execute, fails, pb, stubs, until

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
SERVICE = "/prodisco.sandbox.v1.SandboxService/"


# ---- HTTP/2 by hand, for what no client would send ----


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def fields(*pairs):
    """HPACK literals, never indexed."""
    out = b""
    for name, value in pairs:
        out += b"\x10" + integer(len(name)) + name.encode() + integer(len(value)) + value.encode()
    return out


def integer(n):
    if n < 127:
        return bytes([n])
    out, n = b"\x7f", n - 127
    while n >= 128:
        out, n = out + bytes([n % 128 + 128]), n // 128
    return out + bytes([n])


def request(stream, path=SERVICE + "Execute", flags=END_HEADERS, method="POST", kind="application/grpc", more=()):
    return frame(HEADERS, flags, stream, fields((":method", method), (":scheme", "http"), (":path", path), (":authority", "x"),
                                                ("content-type", kind), ("te", "trailers"), *more))


def message(data, flag=0):
    return bytes([flag]) + struct.pack(">I", len(data)) + data


class Raw:
    def __init__(self, server, hello=PREFACE + frame(SETTINGS, 0, 0)):
        self.socket = server.connect()
        self.data = b""
        self.decoder = hpack.Decoder()
        self.send(hello)

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            pass

    def frames(self):
        """Until the other side closes."""
        while True:
            while len(self.data) < 9 or len(self.data) < 9 + int.from_bytes(self.data[:3], "big"):
                try:
                    more = self.socket.recv(65536)
                except ConnectionResetError:
                    more = b""
                if not more:
                    return
                self.data += more
            length, kind, flags = int.from_bytes(self.data[:3], "big"), self.data[3], self.data[4]
            stream, payload = int.from_bytes(self.data[5:9], "big"), self.data[9:9 + length]
            self.data = self.data[9 + length:]
            yield kind, flags, stream, payload

    def until(self, wanted):
        for got in self.frames():
            if wanted(*got):
                return got
        raise AssertionError("the connection was closed before")

    def answer(self, stream):
        """The header fields and trailers of a call."""
        found = {}
        for kind, flags, of, payload in self.frames():
            if kind == HEADERS:
                block = dict(self.decoder.decode(payload))
                found.update(block if of == stream else {})
            if kind in (HEADERS, DATA) and of == stream and flags & END_STREAM:
                return found
        raise AssertionError("the connection was closed before")

    def closed(self):
        for _ in self.frames():
            pass
        return True


def works(server):
    assert execute(server.stub(), code("say")).output == "hello\n"


# ---- foreign requests ----


def test_garbage_ends_its_own_connection_alone(t):
    server = t.server()
    for data in (b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", os.urandom(10000), b"\0" * 100000, PREFACE + os.urandom(5000),
                 PREFACE + frame(SETTINGS, 0, 0) + frame(DATA, 0, 1, b"x"), PREFACE + frame(SETTINGS, 0, 0, b"abc"),
                 PREFACE + frame(SETTINGS, 0, 0) + frame(WINDOW, 0, 0, b"\0\0\0\0"),
                 PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS, 1, os.urandom(200)),
                 PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS, 2, b"")):
        raw = Raw(server, data)
        with contextlib.suppress(OSError):  # it may have been closed already
            raw.socket.shutdown(socket.SHUT_WR)
        assert raw.closed()
    works(server)


def test_no_protobuf_is_an_invalid_argument(t):
    channel = t.server().channel()
    for name in ("Execute", "ExecuteAsync", "GetExecution", "CancelExecution", "ListExecutions", "ListCache", "ExecuteTest"):
        for data in (b"\xff\xff\xff", b"\x0a\x05x", b"\x0b", b"\x08", b"\x0d\0"):
            fails(grpc.StatusCode.INVALID_ARGUMENT, "", lambda: channel.unary_unary(SERVICE + name)(data))
    fails(grpc.StatusCode.INVALID_ARGUMENT, "UTF-8", lambda: channel.unary_unary(SERVICE + "Execute")(b"\x0a\x02\xff\xfe"))
    fails(grpc.StatusCode.UNIMPLEMENTED, "no such method", lambda: channel.unary_unary(SERVICE + "Nothing")(b""))
    fails(grpc.StatusCode.UNIMPLEMENTED, "no such method", lambda: channel.unary_unary("/" + "x" * 5000)(b""))
    assert channel.unary_unary(SERVICE + "HealthCheck")(b"\x78\x01\x82\x01\x00") == b"\x08\x01"  # unknown fields are left alone


def test_what_is_not_grpc_is_refused_by_http(t):
    server = t.server()
    raw = Raw(server)
    raw.send(request(1, kind="text/html", flags=END_HEADERS | END_STREAM))
    assert raw.answer(1)[":status"] == "415"
    raw.send(request(3, method="GET", flags=END_HEADERS | END_STREAM))
    assert raw.answer(3)[":status"] == "405"
    raw.send(request(5, kind="application/grpc+json", flags=END_HEADERS | END_STREAM))
    assert raw.answer(5)[":status"] == "415"
    works(server)


def test_framing_is_checked(t):
    server = t.server()
    raw = Raw(server)
    cases = [(b"", "no request message"), (b"\0\0\0", "is cut"), (message(b"")[:4], "is cut"), (message(b"abc")[:-1], "is cut"),
             (message(b"", 7), "not framed"), (message(b"", 1), "gzip"), (message(b"") + message(b""), "more than one"),
             (b"\0\xff\xff\xff\xff", "at most")]
    for i, (data, words) in enumerate(cases):
        stream = 2 * i + 1
        raw.send(request(stream) + frame(DATA, END_STREAM, stream, data))
        answer = raw.answer(stream)
        assert words in answer["grpc-message"] and answer["grpc-status"] != "0", (words, answer)
    stream = 2 * len(cases) + 1
    raw.send(request(stream, more=[("grpc-encoding", "gzip")]) + frame(DATA, END_STREAM, stream, message(b"not gzip at all", 1)))
    assert "damaged" in raw.answer(stream)["grpc-message"]
    raw.send(request(stream + 2, more=[("grpc-timeout", "5x")]) + frame(DATA, END_STREAM, stream + 2, message(b"")))
    assert "grpc-timeout" in raw.answer(stream + 2)["grpc-message"]
    works(server)


def test_a_bomb_ends_at_the_limit(t):
    import gzip
    server = t.server("--message-max", "1M")
    raw = Raw(server)
    bomb = gzip.compress(b"\0" * (64 << 20))
    raw.send(request(1, more=[("grpc-encoding", "gzip")]))
    data = message(bomb, 1)
    for at in range(0, len(data), 16384):
        raw.send(frame(DATA, END_STREAM if at + 16384 >= len(data) else 0, 1, data[at:at + 16384]))
    assert "unpacked" in raw.answer(1)["grpc-message"]
    works(server)


# ---- excess ----


def test_too_many_header_bytes_are_refused(t):
    channel = t.server().channel(("grpc.max_metadata_size", 1 << 20), ("grpc.absolute_max_metadata_size", 1 << 20))
    stub = stubs.SandboxServiceStub(channel)
    try:
        stub.HealthCheck(pb.HealthCheckRequest(), metadata=[("x", "y" * 20000)], timeout=LONG)
        raise AssertionError("it was taken")
    except grpc.RpcError as e:
        assert e.code() in (grpc.StatusCode.UNKNOWN, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INTERNAL), e
    assert stub.HealthCheck(pb.HealthCheckRequest()).healthy


def test_rapid_resets_end_the_connection(t):
    server = t.server()
    raw = Raw(server)
    for start in range(0, 4000, 100):
        raw.send(b"".join(request(2 * i + 1, SERVICE + "HealthCheck") + frame(RST, 0, 2 * i + 1, b"\0\0\0\x08") for i in range(start, start + 100)))
    kind, _, _, payload = raw.until(lambda kind, *_: kind == GOAWAY)
    assert int.from_bytes(payload[4:8], "big") != 0
    works(server)


def test_a_flood_of_pings_ends_the_connection(t):
    server = t.server()
    raw = Raw(server)
    for _ in range(50):
        raw.send(frame(PING, 0, 0, b"12345678") * 100)
    assert raw.closed()
    works(server)


def test_a_ping_after_each_answer_is_no_flood(t):
    raw = Raw(t.server())
    for i in range(4000):  # what grpc-go does to measure the connection
        raw.send(request(2 * i + 1, SERVICE + "HealthCheck") + frame(DATA, END_STREAM, 2 * i + 1, message(b"")))
        raw.until(lambda kind, flags, of, _: of == 2 * i + 1 and flags & END_STREAM)
        raw.send(frame(PING, 0, 0, b"12345678"))
        raw.until(lambda kind, flags, *_: kind == PING and flags & ACK)


def test_connections_are_limited(t):
    server = t.server("--connections", 3)
    held = [Raw(server) for _ in range(3)]
    for raw in held:
        raw.until(lambda kind, flags, *_: kind == SETTINGS and flags == 0)
    assert Raw(server).closed()
    held.pop().socket.close()
    time.sleep(0.2)
    works(server)


def test_a_connection_that_ends_is_not_reset_under_a_client_that_still_sends(t):
    server = t.server()
    for last in (frame(GOAWAY, 0, 0, b"\0\0\0\0\0\0\0\xff"),  # the client's own end
                 frame(DATA, 0, 1, b"x")):  # a fault: the server's GOAWAY comes before the end
        raw = Raw(server)
        raw.until(lambda kind, flags, *_: kind == SETTINGS and flags & ACK)
        raw.socket.sendall(last + frame(0xff, 0, 0, bytes(16000)) * 64)
        said = b""
        while more := raw.socket.recv(65536):
            said += more
        assert (said[3:4] == bytes([GOAWAY])) == (last[3] == DATA), said
        raw.socket.close()
    works(server)


def test_streams_of_a_connection_are_limited(t):
    server = t.server("--streams", 5)
    raw = Raw(server)
    settings = raw.until(lambda kind, flags, *_: kind == SETTINGS and flags == 0)[3]
    assert b"\0\x03\0\0\0\x05" in settings
    for i in range(8):
        raw.send(request(2 * i + 1))
    refused = raw.until(lambda kind, *_: kind in (RST, GOAWAY))
    assert refused[2] in (11, 13, 15, 0), refused
    stub = server.stub()
    calls = [stub.Execute.future(pb.ExecuteRequest(code=code("say")), timeout=LONG) for _ in range(20)]
    assert all(c.result().success for c in calls)


def test_a_connection_that_says_nothing_is_asked_and_closed(t):
    server = t.server("--ping", "600ms")
    raw = Raw(server)
    raw.until(lambda kind, flags, *_: kind == PING and flags == 0)
    assert raw.closed()
    works(server)


def test_an_idle_connection_is_closed_with_goaway(t):
    server = t.server("--idle", "500ms")
    raw = Raw(server)
    goaway = raw.until(lambda kind, *_: kind == GOAWAY)
    assert int.from_bytes(goaway[3][4:8], "big") == 0
    stub = server.stub()
    for _ in range(3):
        assert stub.HealthCheck(pb.HealthCheckRequest()).healthy
        time.sleep(0.8)


def test_sigterm_says_goaway_and_which_call_was_the_last(t):
    server = t.server()
    raw = Raw(server)
    raw.send(request(1) + frame(DATA, END_STREAM, 1, message(pb.ExecuteRequest(code=code("sleep", 1)).SerializeToString())))
    stub = server.stub()
    until(lambda: stub.ListExecutions(pb.ListExecutionsRequest()).executions)
    server.process.terminate()
    first = raw.until(lambda kind, *_: kind == GOAWAY)
    assert int.from_bytes(first[3][:4], "big") == 2**31 - 1
    ping = raw.until(lambda kind, flags, *_: kind == PING and not flags)
    raw.send(frame(PING, ACK, 0, ping[3]))
    last = raw.until(lambda kind, *_: kind == GOAWAY)
    assert int.from_bytes(last[3][:4], "big") == 1
    assert raw.answer(1)["grpc-status"] == "0"
    assert raw.closed() and server.process.wait(LONG) == 0


def test_the_last_answer_of_a_drain_is_whole_for_a_client_that_still_sends(t):
    server = t.server()
    raw = Raw(server)
    raw.send(request(1) + frame(DATA, END_STREAM, 1, message(pb.ExecuteRequest(code=code("large", 100)).SerializeToString())))
    raw.until(lambda kind, flags, of, _: of == 1 and kind == HEADERS)
    server.process.terminate()
    # More than the window has room for: the end waits for it.
    ping = raw.until(lambda kind, flags, *_: kind == PING and not flags)
    raw.send(frame(PING, ACK, 0, ping[3]))
    time.sleep(0.3)
    raw.send(frame(WINDOW, 0, 0, b"\0\1\0\0") + frame(WINDOW, 0, 1, b"\0\1\0\0") + frame(PING, 0, 0, b"12345678") * 50)
    answer = raw.answer(1)
    raw.send(frame(PING, 0, 0, b"12345678") * 50)
    assert answer["grpc-status"] == "0" and raw.closed() and server.process.wait(LONG) == 0


def test_a_half_sent_request_does_not_hold_memory(t):
    server = t.server("--message-max", "8M")
    raws = [Raw(server) for _ in range(4)]
    before = server.memory()
    for raw in raws:
        for i in range(200):
            raw.send(request(2 * i + 1) + frame(DATA, 0, 2 * i + 1, b"\0\0\x7f\xff\xff" + b"x" * 16000))
    time.sleep(0.5)
    assert server.memory() - before < 64 << 20, server.memory() - before
    works(server)


# ---- TLS, tokens, addresses ----


def certificates(folder):
    """A CA, a server's certificate for 127.0.0.1 and a client's, as paths."""
    def run(*words):
        subprocess.run(["openssl", *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)

    ec = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    run("req", "-x509", *ec, "-days", 2, "-subj", "/CN=test CA", "-keyout", "ca.key", "-out", "ca.pem")
    for name, extra in (("server", "subjectAltName=IP:127.0.0.1"), ("client", "extendedKeyUsage=clientAuth")):
        (folder / f"{name}.ext").write_text(extra)
        run("req", *ec, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        run("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", 2, "-extfile", f"{name}.ext", "-out", f"{name}.pem")
    return lambda name: (folder / name).read_bytes()


def test_tls(t):
    read = certificates(t.dir)
    server = t.server("--tls-cert", "server.pem", "--tls-key", "server.key")
    credentials = grpc.ssl_channel_credentials(read("ca.pem"))
    stub = server.stub(credentials=credentials)
    assert execute(stub, code("say")).output == "hello\n"
    chunks = stub.ExecuteStream(pb.ExecuteRequest(code=code("large", 2000)))
    assert sum(len(c.output) for c in chunks) == 2000000
    fails(grpc.StatusCode.UNAVAILABLE, "", lambda: server.stub().HealthCheck(pb.HealthCheckRequest(), timeout=LONG))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(t.dir / "ca.pem")
    context.check_hostname = False
    for setting in ({"maximum_version": ssl.TLSVersion.TLSv1_1}, {}):
        for name, value in setting.items():
            setattr(context, name, value)
        try:
            with context.wrap_socket(server.connect()) as s:  # no ALPN: not HTTP/2
                assert s.recv(100) == b""
        except (ssl.SSLError, ConnectionError):
            pass
    assert execute(stub, code("say")).success


def test_clients_with_certificates(t):
    read = certificates(t.dir)
    server = t.server("--tls-cert", "server.pem", "--tls-key", "server.key", "--tls-client-ca", "ca.pem")
    both = grpc.ssl_channel_credentials(read("ca.pem"), read("client.key"), read("client.pem"))
    assert execute(server.stub(credentials=both), code("say")).output == "hello\n"
    none = grpc.ssl_channel_credentials(read("ca.pem"))
    fails(grpc.StatusCode.UNAVAILABLE, "", lambda: server.stub(credentials=none).HealthCheck(pb.HealthCheckRequest(), timeout=LONG))
    until(lambda: '"client":"cert:client"' in server.log())


def test_tokens(t):
    tokens = t.dir / "tokens"
    tokens.write_text("# who may come\nalice:0123456789abcdef0123\n\nfedcba98765432100000\n")
    tokens.chmod(0o600)
    server = t.server("--tokens", tokens)
    stub = server.stub()

    def ask(*values):
        return stub.HealthCheck(pb.HealthCheckRequest(), metadata=[("authorization", v) for v in values])

    assert ask("Bearer 0123456789abcdef0123").healthy and ask("bearer fedcba98765432100000").healthy
    no = grpc.StatusCode.UNAUTHENTICATED
    fails(no, "a token is needed", ask)
    for wrong in ("Bearer", "Bearer 0123456789abcdef012", "Bearer 0123456789abcdef01234", "Basic 0123456789abcdef0123", "alice:0123456789abcdef0123"):
        fails(no, "not known", lambda: ask(wrong))
    fails(no, "a token", lambda: list(stub.ExecuteStream(pb.ExecuteRequest(code=code("say")))))
    assert stub.Execute(pb.ExecuteRequest(code=code("say")), metadata=[("authorization", "Bearer 0123456789abcdef0123")]).success
    until(lambda: '"client":"token:alice"' in server.log())
    assert "0123456789abcdef0123" not in server.log()
    assert server.channel().unary_unary("/grpc.health.v1.Health/Check")(b"") == b"\x08\x01"


def refused(t, *words, **keywords):
    try:
        t.server(*words, **keywords)
    except AssertionError as e:
        return str(e)
    raise AssertionError("it serves")


def test_unusable_addresses_are_refused(t):
    tokens = t.dir / "tokens"
    tokens.write_text("0123456789abcdef\n")
    tokens.chmod(0o644)
    assert "chmod 600" in refused(t, "--tokens", tokens)
    tokens.chmod(0o600)
    tokens.write_text("short\n")
    assert "at least 16" in refused(t, "--tokens", tokens)
    assert "needs --tls-cert" in refused(t, address="0.0.0.0:0") and "needs --tls-cert" in refused(t, address="[::]:0")
    assert "no address" in refused(t, address="nowhere") and "no address" in refused(t, address="127.0.0.1:x")
    assert "belong together" in refused(t, "--tls-cert", "x") and "certificate" in refused(t, "--tls-cert", "x", "--tls-key", "y")
    assert "no such option" in refused(t, "--nothing") and "--queue" in refused(t, "--queue", "0")
    server = t.server("--plaintext", address="0.0.0.0:0")
    channel = grpc.insecure_channel(f"127.0.0.1:{server.port}")
    assert stubs.SandboxServiceStub(channel).HealthCheck(pb.HealthCheckRequest()).healthy


def test_a_socket_in_the_file_system(t):
    path = t.dir / "s"
    server = t.server(address=f"unix:{path}")
    assert server.address == f"unix:{path}" and path.stat().st_mode & 0o777 == 0o600
    works(server)
    server.kill()
    server = t.server(address=f"unix:{path}")
    works(server)
    assert "cannot listen" in refused(t, address=f"unix:{path}", database=t.dir / "other.db")
    works(server)
    assert server.stop() == 0 and not path.exists()


def test_ipv6(t):
    works(t.server(address="[::1]:0"))


# ---- other services ----


def test_health(t):
    server = t.server(env={"KUBECONFIG": str(t.dir / "none") + ":" + str(t.dir / "config"), "HOME": str(t.dir)})
    (t.dir / "config").write_text("apiVersion: v1\ncurrent-context: \"prod-eu\" # ours\n")
    r = server.stub().HealthCheck(pb.HealthCheckRequest())
    assert r.healthy and r.kubernetes_context == ""
    r = t.server(env={"KUBECONFIG": str(t.dir / "none") + ":" + str(t.dir / "config")}, database=t.dir / "2.db").stub().HealthCheck(pb.HealthCheckRequest())
    assert r.kubernetes_context == "prod-eu", r
    channel = server.channel()
    check = channel.unary_unary("/grpc.health.v1.Health/Check")
    assert check(b"") == b"\x08\x01" and check(b"\x0a\x22prodisco.sandbox.v1.SandboxService") == b"\x08\x01"
    fails(grpc.StatusCode.NOT_FOUND, "service", lambda: check(b"\x0a\x01x"))
    watch = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"")
    assert next(watch) == b"\x08\x01"
    gone = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"\x0a\x01x")
    assert next(gone) == b"\x08\x03"
    gone.cancel()
    server.process.terminate()
    assert next(watch) == b"\x08\x02"
    assert server.process.wait(LONG) == 0


def test_reflection(t):
    channel = t.server().channel()
    for version in ("v1", "v1alpha"):
        ask = channel.stream_stream(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo")
        listed, by_symbol, by_name, missing, nothing = ask(iter([
            b"\x3a\x00", b"\x22\x2aprodisco.sandbox.v1.SandboxService.Execute", b"\x1a\x11cay/sandbox.proto", b"\x22\x04nope", b""]))
        assert b"prodisco.sandbox.v1.SandboxService" in listed and b"grpc.health.v1.Health" in listed
        assert b"ExecuteTestRequest" in by_symbol and b"ExecuteTestRequest" in by_name
        assert b"no such file or symbol" in missing and b"nothing is asked" in nothing
        many = list(ask(iter([b"\x1a\x11cay/sandbox.proto"] * 500)))
        assert len(many) == 500


def test_metrics(t):
    server = t.server("--metrics", "127.0.0.1:0")
    where = server.process.stdout.readline().decode().split()
    assert where[0] == "metrics"
    stub = server.stub()
    assert execute(stub, code("say")).success and not execute(stub, code("fail")).success

    def read(path="/metrics"):
        with urllib.request.urlopen(f"http://{where[1]}{path}", timeout=LONG) as answer:
            return dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#"))

    until(lambda: read()["cay_executions_running"] == "0")
    values = read()
    assert values['cay_executions_total{state="completed"}'] == "1" == values['cay_executions_total{state="failed"}'], values
    assert values["cay_cache_entries"] == "1" and values["cay_connections"] == "1" and int(values["cay_calls_total"]) == 2, values
    try:
        read("/")
        raise AssertionError("it is there")
    except urllib.error.HTTPError as e:
        assert e.code == 404
    with socket.create_connection(("127.0.0.1", int(where[1].rsplit(":", 1)[1]))):  # says nothing
        assert read()["cay_connections"] == "1"
    assert "loopback" in refused(t, "--metrics", "0.0.0.0:0", database=t.dir / "other.db")
    assert server.stop() == 0


def test_answers_are_compressed_for_those_who_take_it(t):
    server = t.server()
    raw = Raw(server)
    ask = pb.ExecuteRequest(code=code("large", 100)).SerializeToString()
    for stream, more, small in ((1, [("grpc-accept-encoding", "identity, gzip")], True), (3, [], False)):
        raw.send(request(stream, more=more) + frame(DATA, END_STREAM, stream, message(ask)))
        size = 0
        for kind, flags, of, payload in raw.frames():
            if of == stream and kind == DATA:
                size += len(payload)
            if of == 0 or kind == DATA:
                raw.send(frame(WINDOW, 0, 0, b"\0\0\x80\0"))
                raw.send(frame(WINDOW, 0, stream, b"\0\0\x80\0")) if kind == DATA and not flags & END_STREAM else None
            if of == stream and kind == HEADERS and flags & END_STREAM:
                break
        assert (size < 2000) == small, size
