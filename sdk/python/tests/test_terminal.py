import pytest
from cay import SandboxError, SandboxTimeout


def until(terminal, text):
    shown = ""
    while text not in shown:
        more = terminal.read(timeout=600)
        assert more, shown
        shown += more
    return shown


def test_a_shell_is_talked_to(shared):
    with shared.commands.terminal("exec bash", rows=10, cols=50) as terminal:
        until(terminal, "$ ")
        terminal.write("tty; stty size\n")
        until(terminal, "/dev/pts/0\r\n10 50\r\n")
        terminal.resize(11, 60)
        terminal.write(b"stty size\n")
        until(terminal, "11 60\r\n")
        terminal.write("exit 3\n")
        result = terminal.wait()
        assert result.exit_code == 3 and "11 60" in result.stdout and result.stderr == ""
        assert terminal.read() == ""
        with pytest.raises(SandboxError):
            terminal.write("late")
        terminal.resize(1, 1)


def test_ctrl_c_interrupts(shared):
    with shared.commands.terminal("trap 'echo caught; exit 5' INT; echo ready; while :; do :; done") as terminal:
        until(terminal, "ready")
        terminal.write("\x03")
        assert terminal.wait().exit_code == 5


def test_nothing_new_is_a_timeout_and_with_ends_it(shared):
    with shared.commands.terminal("echo ready; sleep 1000") as terminal:
        until(terminal, "ready\r\n")
        with pytest.raises(SandboxTimeout):
            terminal.read(timeout=0.05)
    assert terminal.wait().end == "cancelled"


def test_the_end_of_input(shared):
    with shared.commands.terminal("cat; echo end", env={"TERM": "dumb"}, cwd="/tmp") as terminal:
        terminal.write("line\n")
        until(terminal, "line\r\nline\r\n")
        terminal.end_input()
        assert "".join(terminal) == "end\r\n"


def test_much_goes_both_ways(shared):
    lines = "".join(f"line {number}\n" for number in range(20000))
    with shared.commands.terminal("stty -echo -icanon -opost; echo ready; head -c %d | md5sum" % len(lines)) as terminal:
        until(terminal, "ready\n")
        terminal.write(lines)
        import hashlib
        assert hashlib.md5(lines.encode()).hexdigest() in terminal.wait().stdout
