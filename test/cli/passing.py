"""What passes between the command and the one who runs it: streams, environment, exit code, results."""
import base64
import json
import os
import subprocess


def test_the_exit_code_passes_through(t):
    for code in (0, 1, 42, 255):
        assert t.run(f"exit {code}").code == code


def test_a_signal_is_128_and_its_number_and_is_named(t):
    r = t.run("kill -SEGV $$")
    assert r.code == 139 and "SIGSEGV" in r.errors, r
    r = t.run("--quiet", "kill -9 $$")
    assert r.code == 137 and r.err == b"", r


def test_output_and_errors_stay_apart(t):
    r = t.run("echo out; echo err >&2")
    assert (r.out, r.err) == (b"out\n", b"err\n"), r


def test_bytes_of_any_value_pass_both_ways(t):
    data = os.urandom(3 << 20) + bytes(range(256))
    r = t.run("cat", input=data)
    assert r.code == 0 and r.out == data, f"{r.code}, {len(r.out)} of {len(data)} bytes, {r.errors[-200:]}"


def test_output_comes_as_it_appears(t):
    p = t.start("run", "while read -r line; do echo \"got $line\"; done")
    for word in (b"one", b"two"):
        p.stdin.write(word + b"\n")
        assert p.stdout.readline() == b"got " + word + b"\n"
    assert t.finish(p).code == 0


def test_an_input_that_stays_open_does_not_hold_the_end_up(t):
    p = t.start("run", "echo done")
    assert p.stdout.readline() == b"done\n"
    assert p.wait(timeout=60) == 0
    t.finish(p)


def test_unread_input_is_no_failure(t):
    r = t.run("true", input=b"x" * (4 << 20))
    assert r.code == 0 and r.err == b"", r


def test_a_closed_input_is_at_its_end(t):
    r = t.finish(subprocess.Popen(["sh", "-c", 'exec "$0" run "cat; echo end" <&-', os.environ.get("CAY", "cay")],
                                  cwd=t.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    assert r.text == "end\n", r


def test_a_reader_that_leaves_ends_the_command_quietly(t):
    p = t.start("run", "yes", stdin=subprocess.DEVNULL)
    p.stdout.read(4)
    p.stdout.close()
    p.stdout = None
    r = t.finish(p)
    assert r.code == -13 and r.err == b"", r


def test_a_full_disk_behind_the_output_is_told(t):
    with open("/dev/full", "wb") as full:
        r = t.run("echo something", stdout=full)
    assert r.code == 125 and "No space left" in r.errors, r


def test_background_processes_end_with_the_command(t):
    r = t.run("sleep 1000 & echo started")
    assert r.text == "started\n" and r.code == 0, r


def test_variables_are_set_inherited_and_otherwise_unknown(t):
    r = t.run("--env", "A=1 2", "-e", "B", "-e", "GONE", 'echo "$A,$B,$SECRET,${GONE-unset}"',
              env={"B": "from here", "SECRET": "x"})
    assert r.text == "1 2,from here,,unset\n", r


def test_the_command_starts_where_it_is_told(t):
    assert t.run("pwd").text == "/home/agent\n"
    assert t.run("--cwd", "/tmp", "pwd").text == "/tmp\n"
    r = t.run("-C", "/no/where", "pwd")
    assert r.code == 125 and "/no/where" in r.errors, r


def test_json_holds_the_whole_result(t):
    r = t.run("--json", "echo out; echo err >&2; cat; exit 3", input=b"in")
    assert r.code == 3 and r.err == b"", r
    o = json.loads(r.text)
    assert (o["end"], o["code"], o["exit_code"]) == ("exit", 3, 3), o
    assert (o["stdout"], o["stderr"]) == ("out\nin", "err\n"), o
    assert o["stdout_cut"] is False and o["detail"] == "" and o["wall_ms"] > 0, o
    assert o["usage"]["execs"] >= 1 and o["usage"]["memory_peak"] > 0 and o["usage"]["syscalls"] > 0, o


def test_json_gives_bytes_that_are_no_text_in_base64(t):
    o = json.loads(t.run("--json", r"printf 'a\377\0b'; echo ü >&2").text)
    assert "stdout" not in o and base64.b64decode(o["stdout_base64"]) == b"a\xff\0b", o
    assert o["stderr"] == "ü\n", o


def test_json_marks_output_that_was_cut(t):
    o = json.loads(t.run("--json", "--capture", "10", "seq 100; exit 1").text)
    assert o["stdout_cut"] and o["stdout"] == "1\n2\n3\n4\n5\n" and o["code"] == 1 and not o["stderr_cut"], o


def test_json_tells_a_command_that_cannot_be_started(t):
    r = t.run("--json", "--", "no-such-program")
    o = json.loads(r.text)
    assert o["end"] == "error" and o["exit_code"] == r.code == 127 and o["error"]["status"] == "not_found", o


def test_strace_shows_the_calls(t):
    r = t.run("--strace", "cat /etc/os-release > /dev/null")
    assert 'openat(AT_FDCWD, "/etc/os-release"' in r.errors and "execve(" in r.errors, r.errors[-2000:]
    assert all(len(line) > 3 for line in r.errors.splitlines()), r


def test_stats_are_written_at_the_end(t):
    r = t.run("--stats", "echo hi")
    assert r.text == "hi\n" and "exit 0 after" in r.errors and "processes  " in r.errors, r
