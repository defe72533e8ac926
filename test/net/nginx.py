"""nginx.py - a real web server: nginx speaks HTTP/1.1 and HTTP/2, plain and in TLS, with pages, uploads, ranges, compression, redirects and a proxy."""
import contextlib
import hashlib
import json
import pathlib
import random
import signal
import subprocess

import harness
import servers
from secrets_of_guests import HOST, VALUE, check

CONFIG = """
daemon off; master_process off; pid nginx.pid; error_log error.log;
events { worker_connections 256; }
http {
  access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  default_type application/octet-stream; gzip on; gzip_min_length 100; gzip_types application/octet-stream;
  client_max_body_size 8m; ssl_certificate HOST.pem; ssl_certificate_key HOST.key;
  server {
    listen 127.0.0.1:PLAIN; listen 127.0.0.1:TLS ssl; listen 127.0.0.1:TLS2 ssl http2; server_name HOST;
    root files;
    location /told { return 200 "$request_method $request_uri $server_protocol $http_x_key\\n"; }
    location /moved { return 302 https://HOST:TLS/told; }
    location /up { dav_methods PUT DELETE; }
    location /proxied { proxy_pass http://127.0.0.1:PLAIN/told; proxy_http_version 1.1; proxy_set_header X-Key $http_x_key; }
    location /slow { limit_rate 50k; }
  }
}
"""


@contextlib.contextmanager
def nginx(t):
    """Gives the ports: plain, TLS, TLS with HTTP/2."""
    place = pathlib.Path(subprocess.run([harness.ROOT / "scripts/fetch", "nginx"], check=True, capture_output=True, text=True).stdout.strip())
    servers.authority(t.dir)
    servers.certificate(t.dir, HOST)
    ports = [servers.unused_port() for _ in range(3)]
    text = CONFIG.replace("HOST", HOST)
    for name, port in zip(("TLS2", "TLS", "PLAIN"), reversed(ports)):
        text = text.replace(name, str(port)) if name != "TLS" else text.replace("TLS", str(port))
    t.path("nginx.conf", text)
    t.path("files/page", b"a page " * 1000)
    t.path("files/large", random.Random(1).randbytes(3_000_000))
    t.path("files/slow", b"s" * 60_000)
    (t.dir / "files/up").mkdir()
    process = subprocess.Popen([place / "usr/sbin/nginx", "-p", str(t.dir), "-c", "nginx.conf", "-e", "error.log"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        servers.listening(process, ports[0])
        yield ports
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def options(*ports):
    return ["--net-ca", "ca.pem", "--add-host", f"{HOST}=127.0.0.1", "--net-rules", json.dumps([{"action": "allow", "host": HOST, "cidr": "127.0.0.1", "port": list(ports)}]), "--timeout", "5m", "--quiet"]


def test_curl_wget_python_and_javascript_against_nginx(t):
    with nginx(t) as (plain, tls, tls2):
        digest = hashlib.sha256((t.dir / "files/large").read_bytes()).hexdigest()
        script = f"""
for base in http://{HOST}:{plain} https://{HOST}:{tls} https://{HOST}:{tls2}; do
  curl -sS $base/large | sha256sum | cut -d' ' -f1
  curl -sS --compressed $base/page | wc -c
  curl -sS -r 100-199 $base/large | wc -c
  curl -sSL $base/moved
  head -c 2000000 /dev/zero | curl -sS -T - $base/up/a -o /dev/null -w '%{{http_code}}\\n'; curl -sS $base/up/a | wc -c; curl -sS -X DELETE $base/up/a -w '%{{http_code}}\\n'
  wget -qO- $base/large | sha256sum | cut -d' ' -f1
  python3 -c 'import hashlib, sys, urllib.request as u; print(hashlib.sha256(u.urlopen(sys.argv[1]).read()).hexdigest())' $base/large
  node -e 'fetch(process.argv[1]).then((r) => r.arrayBuffer()).then((b) => console.log(require("crypto").createHash("sha256").update(Buffer.from(b)).digest("hex")))' $base/large
done"""
        r = t.run(*options(plain, tls, tls2), script)
        each = [digest, "7000", "100", "GET /told HTTP/1.1 ", "201", "2000000", "204", digest, digest, digest]
        assert r.text.splitlines() == each * 3, r


def test_secrets_and_rules_about_paths_with_nginx(t):
    """The relay's side of TLS: HTTP/1.1 and HTTP/2, an upload, a proxied answer, a slow one."""
    with nginx(t) as (plain, tls, tls2):
        for port, version in ((tls, "HTTP/1.1"), (tls2, "HTTP/2.0")):
            script = f"""
curl -sS -H "X-Key: $KEY" https://{HOST}:{port}/told; curl -sS -H "X-Key: $KEY" https://{HOST}:{port}/proxied
curl -sS https://{HOST}:{port}/large | sha256sum | cut -d' ' -f1
head -c 1000000 /dev/zero | curl -sS -T - https://{HOST}:{port}/up/b -o /dev/null -w '%{{http_code}}\\n'
curl -sS https://{HOST}:{port}/slow | wc -c
seq 30 | xargs -P 5 -I@ curl -sS -H "X-Key: $KEY" https://{HOST}:{port}/told?@ | grep -c '{"[*]" * len(VALUE)}'"""
            r = t.run(*options(plain, tls, tls2), "--secret", f"KEY@{HOST}:{port}", script, env={"KEY": VALUE})
            check(r, version)
            stars = "*" * len(VALUE)
            digest = hashlib.sha256((t.dir / "files/large").read_bytes()).hexdigest()
            lines = r.text.splitlines()
            assert lines[0] == f"GET /told {version} {stars}" and lines[1] == f"GET /told HTTP/1.1 {stars}", (version, r)
            assert lines[2:] == [digest, "201" if version == "HTTP/1.1" else "204", "60000", "30"], (version, r)
            assert (t.dir / "files/up/b").stat().st_size == 1_000_000
