"""Clients in Go: h2spec (RFC 9113 and 7541), grpcurl (reflection), ghz (many calls). Without `go` nothing is here to run."""
import json
import os
import re
import shutil
import subprocess

from guest import code
from harness import ROOT
from wire import certificates

TOOLS = {"h2spec": "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible", "ghz": "github.com/bojand/ghz/cmd/ghz@v0.121.0",
         "grpcurl": "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4"}
PLACE = ROOT / "build/grpc-go"
HAS_GO = shutil.which("go") is not None

# nghttp2 takes the field block of a closed stream for one that crossed its end, and ignores it.
NOT_OURS = {"Sends stream identifier that is numerically smaller than previous"}


def tool(name):
    """The program, fetched and built once through Go's module proxy, at a pinned version."""
    path = PLACE / name
    if not path.exists():
        environment = {**os.environ, "GOBIN": str(PLACE), "GOFLAGS": "", "GOTOOLCHAIN": "local"}
        subprocess.run(["go", "install", TOOLS[name]], check=True, env=environment, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return str(path)


def h2spec(server, *words):
    done = subprocess.run([tool("h2spec"), "-h", "127.0.0.1", "-p", str(server.port), "-o", "4", *words], capture_output=True, text=True)
    counts = re.search(r"(\d+) tests, (\d+) passed, \d+ skipped, (\d+) failed", done.stdout)
    failures = {line.split(": ", 1)[1].strip() for line in done.stdout.splitlines() if re.match(r"\s+\u00d7 \d+: ", line)}
    assert counts and int(counts[1]) >= 140 and int(counts[2]) >= 140, done.stdout[-2000:]
    assert failures <= NOT_OURS, failures - NOT_OURS


if HAS_GO:

    def test_h2spec(t):
        h2spec(t.server())

    def test_h2spec_over_tls(t):
        certificates(t.dir)
        h2spec(t.server("--tls-cert", "server.pem", "--tls-key", "server.key"), "-t", "-k")

    def test_ghz_has_an_answer_for_each_call(t):
        server = t.server()
        for method, count, clients, connections in (("Execute", 4000, 50, 1), ("Execute", 2500, 1, 1), ("ExecuteStream", 1000, 50, 10), ("ListExecutions", 3000, 50, 10)):
            ask = json.dumps({} if method == "ListExecutions" else {"code": code("say")})
            done = subprocess.run([tool("ghz"), "--insecure", "--call", f"prodisco.sandbox.v1.SandboxService/{method}", "-d", ask, "-n", str(count), "-c", str(clients),
                                   "--connections", str(connections), "--timeout", "60s", "-O", "json", server.address], capture_output=True, text=True, check=True)
            report = json.loads(done.stdout)
            assert report["statusCodeDistribution"] == {"OK": count}, (method, report["statusCodeDistribution"], report["errorDistribution"])

    def test_grpcurl_needs_no_proto_file(t):
        server = t.server()

        def curl(*words):
            return subprocess.run([tool("grpcurl"), "-plaintext", *words], capture_output=True, text=True, check=True).stdout

        service = "prodisco.sandbox.v1.SandboxService"
        assert set(curl(server.address, "list").split()) == {service, "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"}
        described = curl(server.address, "describe", service)
        assert described.count("rpc ") == 10 and "stream .prodisco.sandbox.v1.ExecuteChunk" in described
        answer = json.loads(curl("-d", json.dumps({"code": code("say")}), server.address, service + "/Execute"))
        assert answer["success"] and answer["output"] == "hello\n" and answer["cached"]["name"], answer
        health = json.loads(curl(server.address, "grpc.health.v1.Health/Check"))
        assert health == {"status": "SERVING"}
