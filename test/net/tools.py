"""tools.py - the network of tools: no spelling of a special address is reached by http.request, and the network errors have the words of
doc/reference/network.md."""
import contextlib
import json
import os
import pathlib
import re
import subprocess

import servers

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = HERE.parent / "tool"
FLAGS = ["--target=wasm32", "-O1", "-nostdlib", "-ffreestanding", "-fno-builtin", "-Wl,--no-entry"]
TOOL = "http_call"


class Tool:
    """A server of JSON-RPC and a tool in it that gives its input back: each input is an envelope for http.request."""

    def __init__(self, t, rules, **http):
        self.number = 0
        module = t.path(f"wasm/{TOOL}_tool.wasm")
        subprocess.run([os.environ.get("CLANG", "clang-19"), *FLAGS, str(TOOLS / "mirror.c"), "-o", str(module)], check=True)
        self.t, self.process = t, t.start("serve", "--stdio")
        allowed = {TOOL: {"capabilities": {"abi_version": 1, "allow": ["http.request"]}}}
        config = {"tools": {"settings": {"sandbox": {"tools": allowed, "network": {"rules": rules}, "http": http}}}}
        self.call("tools.open", config=config, dir=str(t.dir))

    def call(self, method, **params):
        self.number += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}).encode() + b"\n")
        while (answer := json.loads(self.process.stdout.readline())).get("id") != self.number:
            pass
        assert "result" in answer, answer
        return answer["result"]

    def ask(self, url, **arguments):
        """(code, the result or the sentence)."""
        envelope = {"status": "capability_call", "abi_version": 1, "capability_call": {"name": "http.request", "args": {"url": url, **arguments}}}
        r = self.call("tools.call", name=TOOL, input=envelope)
        return r["code"], r["result"]["capability_result"]["result"] if r["code"] == "ok" else r["why"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.t.finish(self.process)


def bracketed(form):
    return f"[{form}]" if ":" in form and not form.startswith("[") else form


def forms():
    found = re.findall(r'^F\("(.*)"\)$', (HERE / "ssrf.def").read_text(), re.M)
    assert len(found) >= 160
    return found


PUBLIC = [{"action": "allow", "host": "*"}]


def test_no_spelling_is_reached_by_a_tool(t):
    with servers.pages() as s, Tool(t, PUBLIC, timeout_ms=5000) as tool:
        for form in forms():
            for url in (f"http://{bracketed(form)}:{s.port}/", f"http://example.com@{bracketed(form)}:{s.port}/"):
                code, why = tool.ask(url)
                assert code in ("forbidden", "invalid_args"), (url, code, why)
        assert s.seen == [], s.seen


def test_a_tool_does_reach_what_a_rule_names(t):
    with servers.pages() as s, Tool(t, [{"action": "allow", "cidr": "127.0.0.1", "port": s.port}]) as tool:
        code, r = tool.ask(f"http://127.0.0.1:{s.port}/x")
        assert code == "ok" and r["body"] == "page /x\n" and len(s.seen) == 1, (code, r)


def test_no_redirect_leads_a_tool_to_a_special_address(t):
    """The server that a rule names sends its client to every spelling."""
    with servers.pages() as inner:
        places = [f"http://{bracketed(form)}:{inner.port}/" for form in forms() if re.fullmatch(r"[!-~]+", form)]
        places += [f"//127.0.0.1:{inner.port}/", f"http:\\\\127.0.0.1:{inner.port}/", f"http://localhost:{inner.port}/", "file:///etc/passwd", "gopher://127.0.0.1/", "ftp://127.0.0.1/"]

        def serve(connection):
            line = connection.recv(65536).split(b" ")[1]
            place = places[int(line[1:])]
            connection.sendall(f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        with servers.tcp(serve) as port, Tool(t, [{"action": "allow", "cidr": "127.0.0.1", "port": port}, *PUBLIC], timeout_ms=5000) as tool:
            for i, place in enumerate(places):
                code, why = tool.ask(f"http://127.0.0.1:{port}/{i}")
                assert code in ("forbidden", "internal"), (place, code, why)
        assert inner.seen == [], inner.seen


# ---- the names of the contract's errors ----

def silent(connection):
    with contextlib.suppress(OSError):
        while connection.recv(4096):
            pass


def here(*ports):
    return [{"action": "allow", "cidr": "127.0.0.1", "port": list(ports)}, {"action": "allow", "host": "localhost", "port": list(ports)}, {"action": "allow", "host": "*.invalid"}]


def test_each_error_has_its_words(t):
    def alert(connection):
        connection.recv(4096)
        connection.sendall(bytes([21, 3, 3, 0, 2, 2, 40]))  # handshake_failure

    def garbage(connection):
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")

    servers.authority(t.dir)
    expired = servers.certificate(t.dir, "localhost", expired=True)
    closed = servers.unused_port()
    with servers.tcp(servers.reset) as reset, servers.tcp(silent) as mute, servers.tcp(alert) as bad, servers.tcp(garbage) as odd, servers.pages(context=expired) as s:
        with Tool(t, here(closed, reset, mute, bad, odd, s.port), ca_file=str(t.dir / "ca.pem")) as tool:
            words = {
                "not-permitted": (tool.ask("http://127.0.0.1:1/"), "forbidden", "no rule that allows 127.0.0.1:1"),
                "host-not-found": (tool.ask("http://nowhere.invalid/"), "internal", "nowhere.invalid"),
                "connection-refused": (tool.ask(f"http://127.0.0.1:{closed}/"), "internal", f"127.0.0.1:{closed}: connection refused"),
                "connection-reset": (tool.ask(f"http://127.0.0.1:{reset}/"), "internal", f"127.0.0.1:{reset}: connection reset"),
                "timed-out": (tool.ask(f"http://127.0.0.1:{mute}/", timeout_ms=300), "internal", f"127.0.0.1:{mute} did not answer in time"),
                "io-error": (tool.ask(f"http://127.0.0.1:{odd}/"), "internal", f"127.0.0.1:{odd}: "),
                "handshake-failed": (tool.ask(f"https://127.0.0.1:{bad}/"), "internal", f"127.0.0.1:{bad}: TLS handshake failed"),
                "certificate-error": (tool.ask(f"https://localhost:{s.port}/"), "internal", f"localhost:{s.port}: certificate error"),
            }
    for name, ((code, why), expected, text) in words.items():
        assert code == expected and text in why, (name, code, why)
    assert len({why for (_, why), _, _ in words.values()}) == len(words), words  # one to one
    assert re.search("no such host|name", words["host-not-found"][0][1]), words["host-not-found"]
