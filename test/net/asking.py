"""asking.py - decisions and questions over JSON-RPC."""
import json

import harness
import servers


class Client:
    """A server, and its messages: replies by id, notifications in order."""

    def __init__(self, t):
        self.process = t.start("serve", "--stdio")
        self.told = []

    def send(self, number, method, **params):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n")

    def reply(self, number, answer=None):
        """The reply to this request; each net.ask meanwhile gets this answer."""
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" in message:
                self.told.append((message["method"], message["params"]))
                if message["method"] == "net.ask":
                    self.send(1000 + len(self.told), "net.answer", ask=message["params"]["ask"], allow=answer)
            elif message["id"] == number:
                return message

    def await_told(self, wanted):
        """Reads until a notification is told for which wanted(method, params)."""
        while not any(wanted(*told) for told in self.told):
            message = json.loads(self.process.stdout.readline())
            assert "method" in message, message
            self.told.append((message["method"], message["params"]))

    def call(self, number, method, answer=None, **params):
        self.send(number, method, **params)
        return self.reply(number, answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(harness.LONG)
        self.process.stdout.close()
        self.process.stderr.close()


def test_the_client_is_asked_where_no_rule_decides(t):
    with servers.pages() as s, Client(t) as c:
        assert "result" in c.call(1, "create", net={"hosts": {"a.test": "127.0.0.1"}, "ask": True, "decisions": True})
        command = f"busybox wget -T 20 -q -O- http://a.test:{s.port}/x"
        r = c.call(2, "run", answer=False, command=command)["result"]
        assert r["stdout"] == "" and "Permission denied" in r["stderr"] and s.seen == [], r
        r = c.call(3, "run", answer=True, command=command)["result"]
        assert r["stdout"] == "page /x\n", r
        asks = [params for method, params in c.told if method == "net.ask"]
        assert [(a["event"], a["host"], a["port"]) for a in asks] == [("connect", "a.test", s.port)] * 2, asks
        assert c.call(4, "net.usage")["result"]["connectionsMade"] == 2


def test_a_name_is_asked_about_before_it_is_resolved(t):
    with Client(t) as c:
        c.call(1, "create", net={"ask": True})
        r = c.call(2, "run", answer=False, command="busybox wget -T 20 -q -O- http://secret.test/")["result"]
        asks = [(params["event"], params["host"]) for method, params in c.told if method == "net.ask"]
        assert asks == [("resolve", "secret.test")] and "Permission denied" in r["stderr"], (asks, r)


def test_a_guest_that_waits_for_an_answer_has_its_deadline(t):
    with servers.pages() as s, Client(t) as c:
        c.call(1, "create", net={"hosts": {"a.test": "127.0.0.1"}, "ask": True})
        asked = None
        while asked is None:  # on a machine with much to do wget may not come to its question in that time
            c.send(2, "run", command=f"busybox wget -T 60 -q -O- http://a.test:{s.port}/x", timeoutMs=700)
            reply = None
            while reply is None:
                message = json.loads(c.process.stdout.readline())
                asked = message["params"] if message.get("method") == "net.ask" else asked
                reply = message if message.get("id") == 2 else None
        assert asked["host"] == "a.test" and reply["result"]["end"] == "time" and s.seen == [], (asked, reply)
        late = c.call(3, "net.answer", ask=asked["ask"], allow=True)  # no guest waits for it
        assert "result" in late or "error" in late, late
        assert c.call(4, "run", command="echo alive")["result"]["stdout"] == "alive\n"


def test_decisions_are_told(t):
    with servers.pages() as s, Client(t) as c:
        c.call(1, "create", id="box", net={"allow": [f"127.0.0.1:{s.port}"], "decisions": True})
        c.call(2, "run", sandbox="box", command=f"busybox wget -q -O- http://host.cay.internal:{s.port}/p; busybox wget -q -O- http://10.0.0.1/")
        c.await_told(lambda method, p: method == "net.decision" and p["host"] == "10.0.0.1")  # told on a thread of its own, at times behind the answer
        told = [(p["event"], p["allowed"], p["host"], p["sandbox"]) for method, p in c.told if method == "net.decision"]
        assert ("connect", True, "host.cay.internal", "box") in told and ("http", True, "host.cay.internal", "box") in told, told
        assert ("connect", False, "10.0.0.1", "box") in told, told


def test_what_create_does_not_know_is_an_error(t):
    with Client(t) as c:
        for net in ({"presets": "x"}, {"preset": "x"}, {"allow": ["a b"]}, {"rules": {}}, {"hosts": {"a": "b"}}, []):
            assert "error" in c.call(1, "create", net=net), net
