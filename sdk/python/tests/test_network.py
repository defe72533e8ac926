"""The network of a sandbox: rules, questions and decisions, secrets, recordings."""
import asyncio
import contextlib
import http.server
import json
import threading

import pytest

import cay


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"page {self.path}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def pages():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def fetch(port):
    return f"wget -q -T 20 -O- http://a.test:{port}/x"


HOSTS = {"a.test": "127.0.0.1"}


@pytest.mark.parametrize("isolation", ["process", "library"])
def test_a_function_is_asked_where_no_rule_decides(isolation):
    asked, told = [], []

    def ask(question):
        asked.append(question)
        return len(asked) > 1

    with pages() as port, cay.Sandbox(net={"hosts": HOSTS, "ask": ask, "decision": told.append}, isolation=isolation) as sandbox:
        refused = sandbox.commands.run(fetch(port))
        assert refused.exit_code != 0 and "Permission denied" in refused.stderr
        assert sandbox.commands.run(fetch(port)).stdout == "page /x\n"
    assert [(a["event"], a["host"], a["port"]) for a in asked] == [("connect", "a.test", port)] * 2
    assert ("http", True) in [(d["event"], d["allowed"]) for d in told]


def test_a_function_that_fails_is_a_no():
    def ask(question):
        raise RuntimeError(question["host"])

    with pages() as port, cay.Sandbox(net={"hosts": HOSTS, "ask": ask}) as sandbox:
        assert "Permission denied" in sandbox.commands.run(fetch(port)).stderr


def test_coroutines_are_asked_in_the_event_loop():
    async def main(port):
        loops = []

        async def ask(question):
            loops.append(asyncio.get_running_loop())
            await asyncio.sleep(0.01)
            return True

        async with cay.AsyncSandbox(net={"hosts": HOSTS, "ask": ask}) as sandbox:
            assert (await sandbox.commands.run(fetch(port))).stdout == "page /x\n"
        assert loops == [asyncio.get_running_loop()]

    with pages() as port:
        asyncio.run(main(port))


def test_a_coroutine_is_asked_by_a_sandbox_without_a_loop():
    async def ask(question):
        await asyncio.sleep(0.01)
        return True

    with pages() as port, cay.Sandbox(net={"hosts": HOSTS, "ask": ask}) as sandbox:
        assert sandbox.commands.run(fetch(port)).stdout == "page /x\n"


def test_a_run_is_recorded_and_replayed(tmp_path):
    tape = tmp_path / "tape.json"
    with pages() as port:
        with cay.Sandbox(net={"allow": [f"127.0.0.1:{port}"], "hosts": HOSTS, "record_file": tape}) as sandbox:
            assert sandbox.commands.run(fetch(port)).stdout == "page /x\n"
    assert json.loads(tape.read_text())["exchanges"][0]["answer"]["body"] == "page /x\n"
    with cay.Sandbox(net={"allow": [f"127.0.0.1:{port}"], "replay_file": tape}) as sandbox:
        assert sandbox.commands.run(fetch(port)).stdout == "page /x\n"


def test_code_sees_a_placeholder_of_a_secret():
    secret = {"name": "TOKEN", "value": "a-value-of-its-own", "hosts": ["a.test"]}
    with cay.Sandbox(net={"allow": ["a.test"], "secrets": [secret]}) as sandbox:
        seen = sandbox.commands.run("env; cat /etc/ssl/certs/ca-certificates.crt").stdout
        assert "TOKEN=cay-secret-TOKEN-" in seen and "a-value-of-its-own" not in seen


@pytest.mark.parametrize("net, words", [
    ({"ask": True}, "ask must be a function"),
    ({"secrets": [{"nam": "x"}]}, "a secret does not know 'nam'"),
    ({"secrets": [{"name": "A", "value": "12345678", "hosts": "a.test"}]}, "list of texts"),
    ({"presets": "x"}, "net: does not know 'presets'"),
])
def test_nonsense_is_refused(net, words):
    with pytest.raises(TypeError, match=words):
        cay.Sandbox(net=net)
