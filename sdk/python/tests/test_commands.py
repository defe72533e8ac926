import threading

import pytest

from cay import CommandFailed, CommandResult, Sandbox, SandboxError, SandboxTimeout
from conftest import NO_SLEEP


def test_echo(shared):
    result = shared.commands.run("echo hello")
    assert result.stdout == "hello\n"
    assert result.stderr == ""
    assert result.exit_code == 0
    assert isinstance(result.execution_time_ms, float) and result.execution_time_ms > 0


def test_pipeline(shared):
    assert shared.commands.run("echo hello | tr a-z A-Z").stdout == "HELLO\n"


@pytest.mark.parametrize("code", [0, 1, 42, 255])
def test_exit_code(shared, code):
    result = shared.commands.run(f"exit {code}")
    assert result.exit_code == code
    assert result.ok is (code == 0)


def test_standard_error(shared):
    result = shared.commands.run("echo oops >&2; false")
    assert (result.stdout, result.stderr, result.exit_code) == ("", "oops\n", 1)


def test_a_signal(shared):
    result = shared.commands.run("kill -9 $$")
    assert result.exit_code == 137
    assert result.end == "signal"


def test_timeout():
    with Sandbox(timeout_ms=60_000) as sandbox:
        result = sandbox.commands.run("echo before; while :; do :; done", timeout_ms=2000)
        assert result.exit_code == 124
        assert result.timed_out
        assert result.stdout == "before\n"
        assert sandbox.commands.run("echo after").stdout == "after\n"


def test_a_timeout_of_one_command_may_be_shorter_or_longer():
    with Sandbox(timeout_ms=500) as sandbox:
        assert sandbox.commands.run("sleep 100", timeout_ms=100).timed_out
        assert sandbox.commands.run("sleep 0.8; echo done", timeout_ms=600_000).stdout == "done\n"


def test_stdin(shared):
    assert shared.commands.run("cat", stdin="héllo\n").stdout == "héllo\n"
    assert shared.commands.run("wc -c", stdin=b"\xff\xfe\x00").stdout.strip() == "3"
    assert shared.commands.run("cat").stdout == ""
    assert shared.commands.run("cat", stdin="").stdout == ""


def test_bytes_in_give_text_out(shared):
    result = shared.commands.run("cat; echo é >&2", stdin=b"a\xff")
    assert result.stdout == "a\ufffd"
    assert result.stderr == "é\n"


def test_cwd(shared):
    assert shared.commands.run("pwd").stdout == "/home/agent\n"
    assert shared.commands.run("pwd", cwd="/tmp").stdout == "/tmp\n"
    with pytest.raises(SandboxError) as caught:
        shared.commands.run("pwd", cwd="/nowhere")
    assert caught.value.errno_name == "ENOENT"


def test_env(shared):
    assert shared.commands.run("echo $A-$HOME", env={"A": "x y"}).stdout == "x y-/home/agent\n"
    assert shared.commands.run("echo $A").stdout == "\n"


def test_files_live_on_between_commands_and_variables_do_not(sandbox):
    sandbox.commands.run("echo kept > f; X=lost; export X")
    assert sandbox.commands.run("cat f; echo $X").stdout == "kept\n\n"


def test_output_that_is_no_utf8(shared):
    assert shared.commands.run("printf 'a\\377b'").stdout == "a\ufffdb"


def test_much_output():
    with Sandbox(output_limit_bytes=1000) as sandbox:
        result = sandbox.commands.run("yes | head -c 5000; echo fine >&2")
        assert len(result.stdout) == 1000
        assert result.stdout_truncated and not result.stderr_truncated


def test_ten_megabytes_of_output_are_whole(shared):
    result = shared.commands.run("yes 012345678 | head -c 10000000")
    assert len(result.stdout) == 10_000_000 and not result.stdout_truncated


def test_on_stdout_and_on_stderr(shared):
    pieces = []
    result = shared.commands.run("echo one; echo two >&2; echo three", on_stdout=lambda text: pieces.append(("out", text)),
                                 on_stderr=lambda text: pieces.append(("err", text)))
    assert pieces == [("out", "one\n"), ("err", "two\n"), ("out", "three\n")]
    assert (result.stdout, result.stderr) == ("one\nthree\n", "two\n")


def test_one_callback_is_enough(shared):
    pieces = []
    result = shared.commands.run("echo one; echo two >&2", on_stderr=pieces.append)
    assert pieces == ["two\n"]
    assert result.stdout == "one\n"


def test_callbacks_come_in_this_thread_and_may_call(sandbox):
    seen = []

    def use(text):
        seen.append((threading.current_thread(), sandbox.commands.run(f"echo got {text.strip()}").stdout))

    sandbox.commands.run("echo one; echo two", on_stdout=use)
    assert seen == [(threading.current_thread(), "got one\n"), (threading.current_thread(), "got two\n")]


def test_output_comes_while_the_command_runs(sandbox):
    def go_on(text):
        if text == "ready\n":
            sandbox.files.write("go", "")

    result = sandbox.commands.run("echo ready; until [ -e go ]; do sleep 0.01; done; echo went", on_stdout=go_on)
    assert result.stdout == "ready\nwent\n"


def test_a_slow_callback_slows_the_command(sandbox):
    total = 0

    def slow(text):
        nonlocal total
        total += len(text)
        if total > 30_000_000:
            raise KeyError("enough")

    with pytest.raises(KeyError):
        sandbox.commands.run("yes", on_stdout=slow)
    assert sandbox.commands.run("echo fine").stdout == "fine\n"


def test_an_exception_of_a_callback_ends_the_command(sandbox):
    with pytest.raises(ZeroDivisionError):
        sandbox.commands.run("echo x; sleep 1000", on_stdout=lambda text: 1 / 0)
    assert sandbox.commands.run(NO_SLEEP).ok


def test_streamed_text_keeps_characters_whole(shared):
    pieces = []
    shared.commands.run("printf '\\303'; printf '\\251'; printf '\\377'", on_stdout=pieces.append)
    assert "".join(pieces) == "é\ufffd"
    pieces.clear()
    shared.commands.run("cat", stdin=b"\xc3\xa9\xff", on_stdout=pieces.append)
    assert "".join(pieces) == "é\ufffd"


def test_check(shared):
    assert shared.commands.run("echo fine", check=True).stdout == "fine\n"
    with pytest.raises(CommandFailed, match="exit code 3: it broke") as caught:
        shared.commands.run("echo so far; echo it broke >&2; exit 3", check=True)
    assert caught.value.result.stdout == "so far\n"
    with pytest.raises(SandboxTimeout) as late:
        shared.commands.run("sleep 100", timeout_ms=100, check=True)
    assert isinstance(late.value, TimeoutError) and isinstance(late.value, SandboxError)
    assert late.value.result.exit_code == 124


def test_a_result_is_a_dataclass():
    assert CommandResult("out", "err", 0, 1.5) == CommandResult(stdout="out", stderr="err", exit_code=0,
                                                                execution_time_ms=1.5)


def test_wrong_types_are_errors(shared):
    for command, words in ((5, "must be a str, not int"), (b"ls", "must be a str, not bytes"), (["ls", "-l"], "shlex.join")):
        with pytest.raises(TypeError, match=words):
            shared.commands.run(command)
    with pytest.raises(TypeError):
        shared.commands.run("cat", stdin=5)
    for timeout in (float("nan"), "5", True, 0.5):
        with pytest.raises(TypeError, match="timeout_ms must be a whole number"):
            shared.commands.run("true", timeout_ms=timeout)
    with pytest.raises(TypeError, match="env must map str to str, not 'A' to 1"):
        shared.commands.run("true", env={"A": 1})
    with pytest.raises(ValueError, match="half a surrogate pair"):
        shared.commands.run("echo \ud800")


def test_errors_name_what_this_package_names(shared):
    with pytest.raises(SandboxError, match="^timeout_ms: must be from 1 to") as caught:
        shared.commands.run("true", timeout_ms=0)
    assert caught.value.code == -32602


def test_output_as_bytes(shared):
    result = shared.commands.run("printf 'a\\377'; printf '\\376' >&2", binary=True)
    assert (result.stdout_bytes, result.stderr_bytes, result.stdout) == (b"a\xff", b"\xfe", "a\ufffd")
    assert shared.commands.run("cat", stdin=b"\xff\x00", binary=True).stdout_bytes == b"\xff\x00"
    assert shared.commands.run("cat", stdin="é", binary=True).stdout_bytes == "é".encode()
    pieces = []
    result = shared.commands.run("printf 'b\\377'", binary=True, on_stdout=pieces.append)
    assert b"".join(pieces) == result.stdout_bytes == b"b\xff"
    assert shared.commands.run("echo x").stdout_bytes is None


def test_background_process_lives_on(sandbox):
    assert sandbox.commands.run("sleep 1000 & echo $! > pid; echo started", timeout_ms=5000).stdout == "started\n"
    assert sandbox.commands.run("sleep 5.2; kill -0 $(cat pid)").ok
    assert sandbox.commands.run("kill $(cat pid)").ok
    assert sandbox.commands.run(NO_SLEEP).ok


def test_a_pipe_reaches_what_is_left_in_the_background(sandbox):
    sandbox.commands.run("mkfifo ask answer; (while read line < ask; do echo got $line > answer; done) &")
    assert sandbox.commands.run("echo one > ask; cat answer").stdout == "got one\n"
    assert sandbox.commands.run("echo two > ask; cat answer").stdout == "got two\n"


def test_a_command_that_timed_out_leaves_nothing(sandbox):
    assert sandbox.commands.run("sleep 1000 & sleep 1000", timeout_ms=200).timed_out
    assert sandbox.commands.run(NO_SLEEP).ok


def test_many_threads_use_one_sandbox(sandbox):
    failures = []

    def work(number):
        try:
            for turn in range(10):
                text = f"{number}-{turn}"
                assert sandbox.commands.run(f"echo {text}; cat", stdin="x").stdout == f"{text}\nx"
                sandbox.files.write(f"/tmp/{number}", text)
                assert sandbox.files.read(f"/tmp/{number}") == text.encode()
        except BaseException as problem:
            failures.append(problem)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_files_and_kill_while_a_command_runs():
    sandbox = Sandbox()
    results = []
    thread = threading.Thread(target=lambda: results.append(sandbox.commands.run("touch began; sleep 1000")))
    thread.start()
    while not sandbox.files.exists("began"):
        pass
    sandbox.kill()
    thread.join()
    assert results[0].end == "cancelled" and results[0].exit_code == 124


def test_a_command_in_the_background(sandbox):
    with sandbox.commands.start("echo ready; while read line; do echo got $line; done; exit 3") as process:
        process.wait_for_output("ready\n", 600)
        assert process.running and process.pid > 1
        assert [(c.pid, c.command) for c in sandbox.commands.list()] == [(process.pid, process.command)]
        process.write("one\n")
        assert process.wait_for_output("got one\n", 600) == "ready\ngot one\n"
        with pytest.raises(SandboxTimeout):
            process.wait(0.05)
        process.end_input()
        result = process.wait(600)
        assert (result.exit_code, result.stdout, process.running) == (3, "ready\ngot one\n", False)
    assert sandbox.commands.list() == []
    with pytest.raises(SandboxError, match="EPIPE"):
        process.write("more")


def test_a_command_in_the_background_is_signalled_and_killed(sandbox):
    process = sandbox.commands.start("trap 'echo caught; exit 7' USR1; echo ready; while :; do sleep 0.05; done")
    process.wait_for_output("ready", 600)
    process.signal(10)
    assert process.wait(600).exit_code == 7 and process.stdout == "ready\ncaught\n"
    with sandbox.commands.start("sleep 1000") as process:
        pass
    assert process.wait(600).end == "cancelled"
    with pytest.raises(SandboxError, match="ended without writing"):
        sandbox.commands.start("echo something else").wait_for_output("ready", 600)
    with pytest.raises(SandboxError, match="ENOENT"):
        sandbox.commands.start("true", cwd="/nowhere")


def test_a_command_in_the_background_has_no_time_limit_of_its_own():
    with Sandbox(timeout_ms=200) as sandbox:
        process = sandbox.commands.start("sleep 0.5; echo done")
        assert process.wait(600).stdout == "done\n"
        assert sandbox.commands.start("sleep 1000", timeout_ms=100).wait(600).timed_out


def test_fuel_of_one_command():
    with Sandbox() as sandbox:
        result = sandbox.commands.run("echo x", fuel=100_000_000)
        assert result.ok and 0 < result.fuel < 100_000_000
        assert sandbox.commands.run("while :; do :; done", fuel=100_000).end == "fuel"
        assert sandbox.commands.run("echo x").fuel is None
