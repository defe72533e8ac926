"""clients.py - clients of HTTP that people bring: requests, as the wheel of pip has it."""
import ensurepip
import http.server
import io
import pathlib
import zipfile

import secrets_of_guests
import servers


def pip_wheel():
    folders = [pathlib.Path(ensurepip.__file__).parent / "_bundled", pathlib.Path("/usr/share/python-wheels")]
    found = sorted(wheel for folder in folders for wheel in folder.glob("pip-*.whl"))
    assert found, f"no wheel of pip in {folders}"
    return found[-1]


def wheel(name, version, files, requires=()):
    """A wheel of pure Python."""
    info = f"{name}-{version}.dist-info"
    rows = {**files, f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {r}\n" for r in requires),
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as z:
        for path, text in rows.items():
            z.writestr(path, text)
        z.writestr(f"{info}/RECORD", "".join(f"{path},,\n" for path in [*rows, f"{info}/RECORD"]))
    return data.getvalue()


class Index(http.server.BaseHTTPRequestHandler):
    """A package index (PEP 503) of two wheels, one of which requires the other."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.seen.append(self.path)
        wheels = self.server.wheels
        name = self.path.strip("/").split("/")
        if name[0] == "simple":
            links = [f'<a href="/files/{w}">{w}</a>' for w in wheels if w.startswith(name[1] + "-")] if len(name) > 1 else []
            body, kind, status = "<!DOCTYPE html><html><body>" + "".join(links) + "</body></html>", "text/html", 200 if links else 404
        else:
            body, kind, status = wheels.get(name[-1], b""), "application/octet-stream", 200
        body = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_pip_installs_wheels_into_an_environment(t):
    with servers.pages(handler=Index) as s:
        s.wheels = {"pear-1.2-py3-none-any.whl": wheel("pear", "1.2", {"pear.py": "from apple import core\nskin = core + '!'\n"}, ["apple>=2"]),
                    "apple-2.0-py3-none-any.whl": wheel("apple", "2.0", {"apple/__init__.py": "core = 'core'\n"})}
        index = f"--index-url http://host.cay.internal:{s.port}/simple --trusted-host host.cay.internal"
        r = t.run("--allow-net", f"127.0.0.1:{s.port}", "--timeout", "5m", f"""set -e
python3 -m venv /tmp/v
/tmp/v/bin/pip install -q --disable-pip-version-check {index} pear
/tmp/v/bin/python -c 'import pear, sys; print(pear.skin, pear.__file__, sys.prefix != sys.base_prefix)'
/tmp/v/bin/pip list --disable-pip-version-check --format=freeze
python3 -c 'import pear' 2>&1 | tail -1
. /tmp/v/bin/activate; python -I -c 'import pear; print(pear.skin)'
pip uninstall -q -y pear; python -c 'import pear' 2>&1 | tail -1
deactivate; pip install -q --disable-pip-version-check {index} apple 2>/dev/null; python3 -c 'import apple; print(apple.core)'""")
        lines = r.text.splitlines()
        assert lines[0] == "core! /tmp/v/lib/python3.13/site-packages/pear.py True", r
        assert lines[1:3] == ["apple==2.0", "pear==1.2"] or lines[1:4:2] == ["apple==2.0", "pear==1.2"], r
        assert "ModuleNotFoundError: No module named 'pear'" in lines and "core!" in lines and lines[-1] == "core", r


def test_environments_without_pip_and_with_the_machines_packages(t):
    r = t.run("--timeout", "3m", """set -e
python3 -m venv --without-pip /tmp/a; /tmp/a/bin/python3 -c 'import sys, site; print(sys.prefix, sys.base_prefix, sys.executable, site.getsitepackages()[0], site.ENABLE_USER_SITE)'
mkdir -p /tmp/a/lib/python3.13/site-packages/x; echo /tmp/extra > /tmp/a/lib/python3.13/site-packages/x.pth; mkdir /tmp/extra; echo 'y = 5' > /tmp/extra/z.py
PYTHONHASHSEED=1 /tmp/a/bin/python -c 'import z, sys; print(z.y, sys.prefix)'
/tmp/a/bin/python -c 'import z, sys; print(z.y, sysconfig.get_path("purelib")) if (sysconfig := __import__("sysconfig")) else 0'
printf '#!/tmp/a/bin/python\nimport sys; print(sys.prefix)\n' > /tmp/s; chmod +x /tmp/s; /tmp/s
python3 -m venv --without-pip --system-site-packages /tmp/b; /tmp/b/bin/python -c 'import sys; print(sys.prefix, [p for p in sys.path if p.endswith("-packages")])'
python3 -c 'import sys; print(sys.prefix)'""")
    assert r.text.splitlines() == ["/tmp/a /usr /tmp/a/bin/python3 /tmp/a/lib/python3.13/site-packages False", "5 /tmp/a", "5 /tmp/a/lib/python3.13/site-packages", "/tmp/a",
                                   "/tmp/b ['/tmp/b/lib/python3.13/site-packages', '/usr/local/lib/python3.13/dist-packages']", "/usr"], r


PROXIED = """
import os, urllib.request
os.environ['http_proxy'] = f'http://host.cay.internal:{PORT}'
try:
    print(urllib.request.urlopen('http://elsewhere.test/page', timeout=20).read())
except OSError as e:
    print(e)
os.environ['no_proxy'] = 'elsewhere.test'
try:
    urllib.request.urlopen('http://elsewhere.test/page', timeout=20)
except OSError as e:
    print(e)
os.environ['https_proxy'] = os.environ['http_proxy']; del os.environ['no_proxy']
try:
    urllib.request.urlopen('https://elsewhere.test/', timeout=20)
except OSError as e:
    print(e)
"""


def test_variables_of_proxies_are_honoured_and_their_proxy_needs_a_rule(t):
    with servers.pages() as s:
        code = f"PORT = {s.port}\n" + PROXIED
        r = t.run("--allow-net", f"127.0.0.1:{s.port}", "--quiet", "--", "python3", "-c", code, env={"http_proxy": "http://127.0.0.1:1"})
        lines = r.text.splitlines()
        assert lines[0] == "b'page http://elsewhere.test/page\\n'" and "Permission denied" in lines[1], r  # the host is allowed by its address, whatever it is asked for
        assert "Tunnel" not in s.seen and len(s.seen) == 1 and len(lines) == 3, (r, s.seen)
        r = t.run("--allow-net", f"proxy.test:{s.port}", "--net-rules", '[{"action":"allow","host":"proxy.test","cidr":"127.0.0.1"}]', "--add-host", "proxy.test=127.0.0.1", "--quiet", "--",
                  "python3", "-c", code.replace("host.cay.internal", "proxy.test"))
        assert "403" in r.text and len(s.seen) == 1, (r, s.seen)  # allowed by name: it is asked for its own pages alone
        r = t.run("--allow-net", "other.test", "--quiet", "--", "python3", "-c", code)
        assert "Permission denied" in r.text and len(s.seen) == 1, (r, s.seen)


PROXIES = """
export http_proxy=http://host.cay.internal:PORT https_proxy=http://host.cay.internal:PORT
curl -sS http://elsewhere.test/by-curl; wget -qO- http://elsewhere.test/by-wget
curl -sS https://elsewhere.test/ 2>&1 | grep -o 'Permission denied'
no_proxy=elsewhere.test curl -sS http://elsewhere.test/ 2>/dev/null; echo $?
curl -sS --noproxy '*' http://elsewhere.test/ 2>/dev/null; echo $?
node -e 'fetch("http://elsewhere.test/by-fetch").catch((e) => console.log(e.cause.code))'
node -e 'require("http").get("http://elsewhere.test/by-get").on("error", (e) => console.log(e.code))'
"""


def test_proxies_of_curl_wget_and_javascript(t):
    """curl and wget honour the variables; node ignores them, as Node.js does unless it is told otherwise."""
    with servers.pages() as s:
        r = t.run("--allow-net", f"127.0.0.1:{s.port}", "--quiet", PROXIES.replace("PORT", str(s.port)))
        lines = r.text.splitlines()
        assert lines[:2] == ["page http://elsewhere.test/by-curl", "page http://elsewhere.test/by-wget"], r
        assert lines[2:] == ["Permission denied", "7", "7", "EACCES", "EACCES"], r
        assert [q[2] for q in s.seen] == ["http://elsewhere.test/by-curl", "http://elsewhere.test/by-wget"], s.seen


def test_requests_verify_and_use_secrets(t):
    with secrets_of_guests.vault(t) as (port, seen):
        code = """
import os
from pip._vendor import requests
s = requests.Session()
for i in range(3):
    print(s.get(f'https://{HOST}:{PORT}/{i}', headers={'X-Key': os.environ['KEY']}, timeout=60).status_code)
try:
    requests.get(f'https://other.test:{PORT}/', timeout=60)
except requests.exceptions.SSLError as e:
    print('Hostname mismatch' in str(e) or 'doesn\\'t match' in str(e))
"""
        r = secrets_of_guests.run(t, port, code, "--wheel", pip_wheel(), "--timeout", "5m", hosts=(secrets_of_guests.HOST, "other.test"))
        assert r.text == "200\n200\n200\nTrue\n" and len(seen) == 3, (r, seen)
        assert all(secrets_of_guests.VALUE.encode() in top for top, _ in seen), seen
