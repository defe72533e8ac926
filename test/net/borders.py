"""borders.py - a guest that has got a value in a form that no scrubber knows, and makes it plain: it leaves the sandbox on no way."""
import json
import re

from secrets_of_guests import HOST, VALUE, check, leaks, vault
from states import converse

# The value as its bitwise complement: what a server that helps the guest could have sent.
GUEST = f"""
import base64, json, os, subprocess, sys, time, urllib.parse
v = bytes(255 - b for b in bytes.fromhex({bytes(255 - b for b in VALUE.encode()).hex()!r}))
t = v.decode()
def out(data, fd=1):
    data = data if isinstance(data, bytes) else data.encode()
    while data: data = data[os.write(fd, data):]
"""

WAYS = {
    "plain": "out(v)",
    "to_errors": "out(v, 2)",
    "in_a_line": "print('the value is', t, 'and more')",
    "byte_by_byte": "for b in v: out(bytes([b])); time.sleep(0.002)",
    "in_halves": "out(v[:9]); time.sleep(0.05); out(v[9:])",
    "in_halves_between_two_streams": "out(v[:9]); out('x', 2); out(v[9:])",
    "its_end_left_open": "out(b'x' + v[:-1]); out(v[-1:])",
    "behind_a_false_start": "out(v[:5] + v[:7] + v)",
    "over_a_large_write": "out(b'x' * 65530 + v + b'y' * 70000)",
    "many_times": "out(v * 500)",
    "in_base64": "out(base64.b64encode(v))",
    "in_base64_behind_one": "out(base64.b64encode(b'a' + v))",
    "in_base64_behind_two": "out(base64.b64encode(b'ab' + v))",
    "in_base64_for_urls": "out(base64.urlsafe_b64encode(v))",
    "in_base64_lines": "out(base64.encodebytes(v * 10))",
    "in_base64_pieces": "[out(bytes([b])) for b in base64.b64encode(v)]",
    "in_hexadecimal": "out(v.hex())",
    "in_hexadecimal_with_colons": "out(v.hex(':').upper())",
    "in_a_url": "out(urllib.parse.quote(t, safe=''))",
    "in_a_url_every_byte": "out(''.join('%%%02x' % b for b in v))",
    "in_a_url_twice": "out(urllib.parse.quote(''.join('%%%02x' % b for b in v)))",
    "in_a_form": "out(urllib.parse.urlencode({'k': t}))",
    "in_json": "print(json.dumps({'k': t}))",
    "in_json_by_number": "out(''.join('\\\\u%04x' % b for b in v))",
    "in_repr": "print(repr(t), ascii(v))",
    "in_c": "out(''.join('\\\\x%02x' % b for b in v))",
    "in_octal": "out(''.join('\\\\%03o' % b for b in v))",
    "in_html": "import html; out(html.escape(t))",
    "in_html_by_number": "out(''.join('&#%d;' % b for b in v))",
    "in_quoted_printable": "import quopri; out(quopri.encodestring(v)); out(''.join('=%02X' % b for b in v))",
    "in_utf_16": "out(t.encode('utf-16-le')); out(t.encode('utf-16-be'))",
    "in_utf_32": "out(t.encode('utf-32-le'))",
    "backwards": "out(v[::-1])",
    "in_capitals": "out(t.upper())",
    "in_an_exception": "raise RuntimeError(t)",
    "in_an_exit": "sys.exit(t)",
    "in_a_warning": "import warnings; warnings.warn(t)",
    "in_an_error_of_the_system": "open('/' + t.replace('/', '_') + '/' + t)",
    "by_a_child": "subprocess.run(['printf', '%s', t])",
    "by_two_children": "[subprocess.run(['printf', '%s', p]) for p in (t[:8], t[8:])]",
    "by_a_shell": "subprocess.run(['bash', '-c', 'printf %s \"$1\" | cat; printf %q \"$1\"', 'x', t])",
    "by_a_shells_trace": "subprocess.run(['bash', '-xc', ': \"$1\"', 'x', t])",
    "by_a_tool_that_counts": "open('f', 'wb').write(v); subprocess.run('base64 f; od -An -tx1 f; cat f', shell=True)",
    "from_a_child_that_stays": "subprocess.Popen(['sh', '-c', 'sleep 0.2; printf %s \"$1\"', 'x', t]); time.sleep(0.5)",
}


def run(t, code, *options, words=("python3", "-c")):
    return t.run("--net", "package-registries", "--secret", f"KEY@{HOST}", *options, "--", *words, GUEST + code, env={"KEY": VALUE})


def test_no_way_of_output_has_the_value(t):
    assert len(WAYS) >= 40
    for name, code in WAYS.items():
        r = run(t, code)
        check(r, name)
        assert b"***" in r.out + r.err, (name, r)


def test_files_that_are_taken_out_have_no_value(t):
    code = """
os.makedirs('d')
for i, shift in enumerate((0, 65530, 1048570, 4194300)):
    open(f'd/{i}', 'wb').write(b'x' * shift + v + b'y' * 100 + base64.b64encode(v) + b'z' * 100000)
open('one', 'wb').write(v)
"""
    r = run(t, code, "--out", "one", "--out", "d")
    assert r.code == 0, r
    files = [t.dir / "one", *(t.dir / "d").iterdir()]
    assert len(files) == 5, files
    for path in files:
        data = path.read_bytes()
        assert not leaks(data) and data.count(b"*" * len(VALUE)) == (1 if path.name == "one" else 2), path
    assert [p.stat().st_size for p in sorted((t.dir / "d").iterdir())] == [n + len(VALUE) + 200 + (len(VALUE) + 2) // 3 * 4 + 99900 for n in (0, 65530, 1048570, 4194300)]


def test_reports_have_no_value(t):
    check(run(t, "out(v); out(base64.b64encode(v), 2)", "--json"), "json")
    check(run(t, "out(v)", "--strace"), "trace")


def test_what_is_no_secret_passes_as_it_is(t):
    text = "".join(chr(c) for c in range(32, 127)) * 50
    r = run(t, f"for i in range(0, {len(text)}, 7): out({text!r}[i:i+7])")
    assert r.text == text, r
    r = run(t, "out(v[:-1]); out('%'); out('\\\\'); out('&#'); out('='); out(v[:1])")
    assert r.text == VALUE[:-1] + "%\\&#=" + VALUE[0], r


def test_a_prompt_appears_before_its_answer_comes(t):
    p = t.start("run", "--net", "package-registries", "--secret", f"KEY@{HOST}", "--", "python3", "-uc", "print('ready: '); print('got ' + input())", env={"KEY": VALUE})
    assert p.stdout.readline() == b"ready: \n"
    r = t.finish(p, b"it\n")
    assert r.text == "got it\n", r


def test_sessions_give_no_value(t):
    requests = [{"method": "create", "params": {"net": {"allow": ["a.test"], "secrets": [{"name": "KEY", "value": VALUE, "hosts": [HOST]}]}}}]
    requests += [{"method": "python.eval", "params": {"code": code}} for code in
                 (GUEST + "t", "[t, base64.b64encode(v).decode(), v]", "print(t[:9], end=''); print(t[9:], end='', flush=True)", "raise ValueError(t)", "sys.stderr.write(t)", "def f(x):\n  raise KeyError(x)\nf(t)", "{t: 1}")]
    requests += [{"method": "files.read", "params": {"path": "/tmp/f"}}]
    requests.insert(-1, {"method": "python.eval", "params": {"code": "open('/tmp/f', 'w').write(t)"}})
    answers = converse(t, requests)
    text = json.dumps(answers)
    assert not leaks(text.encode()) and all("result" in a for a in answers), answers
    assert text.count("*" * len(VALUE)) >= 8, answers


def test_a_core_dump_of_cay_has_no_value_in_the_vault(t):
    """Pages of the vault are left out of core dumps: VmFlags says dd (dontdump) and wf (wipe on fork)."""
    p = t.start("run", "--net", "package-registries", "--secret", f"KEY@{HOST}", "--", "python3", "-uc", "print('ready'); input()", env={"KEY": VALUE})
    assert p.stdout.readline() == b"ready\n"
    maps = open(f"/proc/{p.pid}/smaps").read()
    flags = [line for line in maps.splitlines() if line.startswith("VmFlags:")]
    assert any({"dd", "wf"} <= set(line.split()[1:]) for line in flags), flags[:5]
    t.finish(p, b"\n")


def memory(pid):
    """All that this process can write, piece by piece; reservations of more than a gibibyte have other uses."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
        for line in open(f"/proc/{pid}/maps"):
            start, end, rights = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
            start, end = int(start, 16), int(end, 16)
            if not rights.startswith("rw") or end - start > 1 << 30:
                continue
            try:
                file.seek(start)
                yield b"".join(iter(lambda: file.read(min(1 << 24, end - file.tell())), b""))
            except OSError:
                continue


def test_memory_of_cay_has_no_value_when_the_sandbox_is_gone(t):
    """Neither in the vault and the relay's buffers, nor in the line of JSON in which it came."""
    forms = [VALUE.encode(), json.dumps(VALUE)[1:-1].encode()]
    with vault(t) as (port, seen):
        p = t.start("serve", "--stdio")

        def call(number, method, **params):
            p.stdin.write((json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n").encode())
            while (answer := json.loads(p.stdout.readline())).get("id") != number:
                pass
            return answer["result"]
        call(1, "create", net={"allow": [f"127.0.0.1:{port}"], "hosts": {HOST: "127.0.0.1"}, "caFile": str(t.dir / "ca.pem"),
                               "secrets": [{"name": "KEY", "value": VALUE, "hosts": [f"{HOST}:{port}"], "body": True, "query": True}]})
        call(2, "run", command=f'curl -sS -H "X-Key: $KEY" -d "k=$KEY" "https://{HOST}:{port}/x?$KEY"')
        assert len(seen) == 1 and VALUE.encode() in seen[0][0], seen
        assert any(forms[0] in piece for piece in memory(p.pid)), "the vault is not found"
        call(3, "destroy")
        call(4, "protocol")
        left = [(form, piece[max(0, piece.find(form) - 40):piece.find(form) + 60]) for piece in memory(p.pid) for form in forms if form in piece]
        assert left == [], left
        t.finish(p)
