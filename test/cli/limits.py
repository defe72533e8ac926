"""What happens at each limit."""
import json


def test_a_timeout_is_124_and_is_explained(t):
    r = t.run("--timeout", "300ms", "while :; do :; done")
    assert r.code == 124 and "300ms" in r.errors and "--timeout" in r.errors, r
    r = t.run("-q", "-t", "0.3", "sleep 100")
    assert r.code == 124 and r.err == b"", r
    assert json.loads(t.run("--json", "-t", "300ms", "sleep 100").text)["end"] == "time"


def test_all_that_was_started_ends_at_the_timeout(t):
    r = t.run("-t", "500ms", "trap '' TERM INT; (while :; do :; done) & sleep 100 & while :; do :; done")
    assert r.code == 124, r


def test_memory_is_refused_and_the_option_is_named(t):
    r = t.run("--memory", "32M", "cat /dev/zero | tail; echo \"tail ended with ${PIPESTATUS[1]}\"; exit 5")
    assert r.code == 5 and "tail ended with" in r.text and "tail ended with 0" not in r.text, r
    assert "--memory" in r.errors, r


def test_stacks_are_charged_as_they_grow(t):
    r = t.run("--memory", "64M", "(:; (:; (:; (:; (echo five; sleep 0.1)))))")
    assert (r.code, r.text) == (0, "five\n"), r
    r = t.run("--memory", "8M", "f() { local x=$1; f $((x + 1)); }; f 1")
    assert r.code == 139 and "no memory left for a recursion" in r.errors, r


def test_a_full_file_system_is_no_space(t):
    r = t.run("--disk", "1M", "yes > /tmp/x")
    assert r.code != 0 and "No space left" in r.errors and "--disk" in r.errors, r


def test_a_fork_bomb_ends(t):
    r = t.run("--procs", "16", "--timeout", "5s", ":(){ :|:& };: ; wait")
    assert r.code in (0, 1, 124, 254, 255), r


def test_modules_of_guests_are_compiled_up_to_a_limit(t):
    module = "(printf '\\0asm\\1\\0\\0\\0'; head -c 2000 /dev/zero) > x; chmod +x x; ./x"
    r = t.run("--code", "1K", "--strace", module)
    assert r.code == 126 and "quota exceeded" in r.errors and "that the sandbox may have compiled" in r.errors, r
    r = t.run(module)
    assert r.code == 126 and "Exec format error" in r.errors, r


def test_fuel_runs_out(t):
    r = t.run("--fuel", "50M", "while :; do :; done")
    assert r.code == 124 and "fuel" in r.errors, r
    o = json.loads(t.run("--json", "--fuel", "10G", "echo hi").text)
    assert o["end"] == "exit" and o["fuel"] > 1000, o


def test_the_output_of_a_command_has_no_limit_when_it_passes_through(t):
    r = t.run("head -c 5000000 /dev/zero")
    assert len(r.out) == 5000000, len(r.out)


def test_too_little_memory_to_start_names_the_option(t):
    for size, words in ("1", "1 bytes here"), ("100K", "100K, and 512M"), ("1M", "1M, and 512M"):
        r = t.run("--memory", size, "true")
        assert r.code != 0 and "--memory SIZE is the limit" in r.errors and words in r.errors, r


def test_there_is_no_option_for_the_background(t):
    r = t.run("--background-ms", "5", "true")
    assert r.code == 125 and "the sandbox ends with this command, and so does all that it left running" in r.errors, r
