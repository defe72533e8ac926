"""`cay run --tty`: a terminal in the sandbox, driven from a terminal of this machine."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from harness import CAY, LONG


class Window:
    """cay on a terminal that this holds the other side of."""

    def __init__(self, t, *words, size=(24, 80), env=None):
        self.master, self.slave = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(self.slave)
        self.shown = b""
        self.process = subprocess.Popen([CAY, *words], cwd=t.dir, stdin=self.slave, stdout=self.slave,
                                        stderr=self.slave, env={**os.environ, "TERM": "xterm", **(env or {})},
                                        preexec_fn=self.enter)

    def enter(self):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode() if isinstance(text, str) else text)

    def take(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            self.shown += os.read(self.master, 65536)
        return bool(ready)

    def until(self, wanted):
        """Takes the output up to and with a text or pattern that has to appear."""
        pattern = re.compile(wanted.encode(), re.DOTALL)
        end = time.monotonic() + LONG
        while not (found := pattern.search(self.shown)):
            if time.monotonic() > end:
                raise AssertionError(f"{wanted!r} does not appear; shown is {self.shown[-400:]!r}")
            self.take(0.2)
        text, self.shown = self.shown[:found.end()], self.shown[found.end():]
        return text.decode(errors="backslashreplace")

    def line(self, text, wanted):
        self.type(text + "\n")
        return self.until(wanted)

    def end(self):
        """The exit code, when the terminal is as it was."""
        end = time.monotonic() + LONG
        while self.process.poll() is None and time.monotonic() < end:
            self.take(0.05)
        code = self.process.wait(timeout=1)
        while self.take(0):
            pass
        after = termios.tcgetattr(self.slave)
        os.close(self.master)
        os.close(self.slave)
        assert after == self.before, "the terminal was not put back"
        return code


def is_raw(window):
    return not termios.tcgetattr(window.slave)[3] & termios.ICANON


PROMPT = r"\$ $"


def test_a_shell_says_what_it_is_on(t):
    w = Window(t, "run", "--tty", "bash", size=(30, 100))
    w.until(PROMPT)
    assert is_raw(w)
    w.line("tty; stty size; echo $TERM $((6 * 7))", "/dev/pts/0\r\n30 100\r\nxterm 42\r\n")
    w.line("exit 3", "exit\r\n")
    assert w.end() == 3


def test_an_interrupt_ends_what_is_in_the_foreground_only(t):
    w = Window(t, "run", "--tty", "bash")
    w.until(PROMPT)
    w.type("sh -c 'echo ru\"\"ns; exec sleep 100'\n")
    w.until("runs\r\n")
    w.type("\x03")
    w.until(r"\^C.*\$ $")
    w.line("echo code $?", "code 130\r\n")
    w.type("echo com''puting; while :; do :; done\n")
    w.until("computing\r\n")
    w.type("\x03")
    w.until(r"\^C.*\$ $")
    w.line("echo still here", "\nstill here\r\n")
    w.until(PROMPT)  # before it the shell does not read key by key, and ^D would end a line and not the shell
    w.type("\x04")
    assert w.end() == 130 or w.process.returncode == 0


def test_jobs_are_stopped_listed_and_continued(t):
    t.path("job", "tty() { read -r _ _ _ _ group _ _ front _ </proc/$$/stat; [ $group = $front ]; }\n"
                  "echo runs; until [ -e go ]; do sleep 0.05; done\n"
                  "until tty; do sleep 0.05; done; echo in front; exec sleep 1000\n")
    w = Window(t, "run", "--tty", "--in", "job", "bash")
    w.until(PROMPT)
    w.type("sh -c '. ./job'\n")
    w.until("runs\r\n")
    w.type("\x1a")
    w.until(r"\[1\]\+  Stopped +sh -c .*\$ $")
    w.line("bg", r"\[1\]\+ sh -c .* &")
    w.line("jobs", r"\[1\]\+  Running +sh -c .* &")
    w.type("touch go; fg\n")
    w.until("in front\r\n")
    w.type("\x03")
    w.until(r"\^C.*\$ $")
    w.line("jobs; echo none", "\nnone\r\n")
    w.type("cat &\n")
    w.until(r"\[1\] \d+")
    w.line("until jobs | grep Stopped; do sleep 0.1; done", r"\[1\]\+  Stopped +cat")
    w.line("kill %1; exit 0", "")
    assert w.end() == 0


def test_a_new_size_of_the_window_arrives(t):
    # With a trap: without one, bash goes on when the sleep has just ended by itself.
    w = Window(t, "run", "--tty", "trap 'stty size' WINCH; trap 'exit 3' INT; echo ready; while :; do sleep 0.05; done")
    w.until("ready\r\n")
    w.resize(11, 22)
    w.until("11 22\r\n")
    w.type("\x03")
    assert w.end() == 3


def test_lines_are_edited_in_the_sandbox(t):
    w = Window(t, "run", "--tty", "read line; echo \"<$line>\"; cat")
    w.type("abd\x7fc\n")
    w.until("<abc>\r\n")
    w.type("one\n")
    w.until("one\r\none\r\n")
    w.type("\x04")
    assert w.end() == 0


def test_an_editor_works(t):
    """BusyBox's, and the one that `vi` is here: vim where the further programs are installed."""
    for n, (command, ready, typed) in enumerate((("busybox vi", "100%", "Modified"), ("vi", "100%|All", "hello"))):
        w = Window(t, "run", "--tty", "--out", f"file{n}", f"{command} file{n}", size=(10, 40))
        w.until(ready)
        w.type("ihello\x1b")
        w.until(typed)
        w.type(":wq\r")
        assert w.end() == 0
        assert (t.dir / f"file{n}").read_text() == "hello\n"


READY = r">>> \x1b\[0m\x1b\[4D(\x1b\[\?\d+[hl])*\x1b\[4C$"


def interrupt_a_sleep(w):
    w.type("import time; print('slee' + 'ping'); time.sleep(1000)\n")
    w.until("sleeping")
    w.type("\x03")
    w.until("KeyboardInterrupt")
    w.until(READY)


def test_python_alone_is_to_be_talked_to(t):
    w = Window(t, "python")
    w.until(READY)
    w.line("6 * 7", "42\r\n")
    w.until(READY)
    w.line("\x1bOA", "42\r\n")
    w.until(READY)
    interrupt_a_sleep(w)
    w.type("for zero in iter(int, print('loo' + 'ping')): pass\n\n")
    w.until("looping")
    w.type("\x03")
    w.until("KeyboardInterrupt.*" + READY)
    w.type("input('name? ')\n")
    w.until(r"name\? .*")
    w.line("it", "'it'\r\n")
    w.until(READY)
    w.type("\x04")
    code = w.end()
    assert code == 0, (code, w.shown)


def test_an_interrupt_after_output_ends_a_sleep_that_has_hardly_begun(t):
    for _ in range(20):  # between the output and the sleep the program reads the clock
        w = Window(t, "run", "--tty", "python3")
        w.until(READY)
        interrupt_a_sleep(w)
        w.type("\x04")
        code = w.end()
        assert code == 0, (code, w.shown)


def test_the_prompt_of_node(t):
    w = Window(t, "js")
    w.until("Welcome to Node.js.*> ")
    w.type("const x = { abc: 1, abd: 2 }\r")
    w.until("undefined.*> ")
    w.type("x.ab")
    w.until(r"x\.ab")
    while not re.search(rb"x\.abc.*x\.abd", w.shown, re.DOTALL):  # each Tab alone: in a piece of several keys it would be text
        w.type("\t")
        w.take(1)
    w.until("x.abc.*x.abd")
    w.type("c + await Promise.resolve(41)\r")
    w.until("42.*> ")
    w.type("console.log('loo' + 'ping'); for (;;);\r")
    w.until("looping\r\n")
    w.type("\x03")
    w.until("interrupted.*> ")
    w.type("6 * 7\r")
    w.until("42.*> ")
    w.type(".exit\r")
    assert w.end() == 0


def test_python_on_an_unknown_terminal(t):
    for words, env in (((), {"TERM": "strange"}), (("--env", "PYTHON_BASIC_REPL=1"), {})):
        w = Window(t, "python", *words, env=env)
        w.until(">>> $")
        w.type("print('loo' + 'ping'); exec('while True: pass')\n")
        w.until("looping\r\n")
        w.type("\x03")
        w.until("KeyboardInterrupt.*>>> $")
        w.line("'go' + ' on'", "'go on'\r\n")
        w.until(">>> $")
        while w.process.poll() is None:  # the interpreter takes no key before it has set the terminal, after its prompt
            w.type("\x04")
            w.take(0.2)
        code = w.end()
        assert code == 0, (code, w.shown)


def test_python_edits_lines(t):
    w = Window(t, "run", "--tty", "--", "python3", "-c", "import readline; readline.add_history('older')\n"
               "print(readline.backend, [input('? ') for _ in range(2)])")
    w.until(r"\? $")
    w.type("bc\x01a\x05d\n")
    w.until(r"bcd\r\n\? ")
    w.type("\x1b[A\x1b[A!\n")
    w.until(r"editline \['abcd', 'older!'\]\r\n")
    assert w.end() == 0


def test_python_has_curses(t):
    t.path("screen.py", """import curses, curses.panel
def main(screen):
    window = curses.newwin(3, 20, 2, 4)
    panel = curses.panel.new_panel(window)
    window.border()
    window.addstr(1, 1, 'gr\\u00fc\\u00dfe', curses.A_BOLD)
    curses.panel.update_panels()
    curses.doupdate()
    return screen.getmaxyx(), curses.COLORS, screen.getkey(), screen.getkey()
print(curses.wrapper(main))
""")
    for term, colours, up in (("xterm", 8, "OA"), ("xterm-256color", 256, "OA"), ("tmux", 8, "OA"), ("linux", 8, "[A"), ("vt100", 0, "OA")):
        w = Window(t, "run", "--tty", "--in", "screen.py", "--", "python3", "screen.py", size=(30, 100), env={"TERM": term})
        w.until("gr\u00fc\u00dfe")
        w.type("q\x1b" + up)
        w.until(re.escape(f"((30, 100), {colours}, 'q', 'KEY_UP')") + "\r\n")
        assert w.end() == 0


def test_it_is_put_back_whatever_ends_the_run(t):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1):
        w = Window(t, "run", "--tty", "echo ready; sleep 1000")
        w.until("ready\r\n")
        assert is_raw(w)
        w.process.send_signal(number)
        code = w.end()
        assert code == (128 + signal.SIGTERM if number == signal.SIGHUP else -number), (number, code)
    w = Window(t, "run", "--tty", "--timeout", "1s", "echo ready; sleep 1000")
    w.until("ready\r\n")
    assert w.end() == 124


def test_it_is_put_back_while_cay_is_stopped(t):
    # The new size is passed on when the terminal has been taken again.
    w = Window(t, "run", "--tty", "trap 'stty size' WINCH; trap 'exit 3' INT; echo ready; while :; do sleep 0.05; done")
    w.until("ready\r\n")
    w.process.send_signal(signal.SIGTSTP)
    os.waitid(os.P_PID, w.process.pid, os.WSTOPPED | os.WNOWAIT)
    assert termios.tcgetattr(w.slave) == w.before
    w.resize(11, 22)
    w.process.send_signal(signal.SIGCONT)
    w.until("11 22\r\n")
    assert is_raw(w)
    w.type("\x03")
    assert w.end() == 3


def test_without_a_terminal_here_there_is_one_in_the_sandbox(t):
    r = t.run("--tty", "tty; stty size; read x; echo \"<$x>\"; cat; echo end >&2", input=b"typed\nmore")
    assert r.code == 0 and r.err == b"", r
    text = r.text.replace("\r\n", "\n")
    for wanted in ("/dev/pts/0\n", "24 80\n", "<typed>\n", "end\n"):
        assert wanted in text, text


def test_output_without_a_reader_ends_the_run(t):
    p = t.start("run", "--tty", "yes")
    assert p.stdout.read(100)
    p.stdout.close()
    assert p.wait(timeout=LONG) == -signal.SIGPIPE
    p.stdin.close()
    p.stderr.close()


def test_json_and_a_terminal_exclude_each_other(t):
    r = t.run("--tty", "--json", "true")
    assert r.code == 125 and "give one of them" in r.errors, r


def test_much_output_arrives_whole(t):
    r = t.run("--tty", "seq 100000 | md5sum; stty -opost; seq 100000")
    head, _, rest = r.out.partition(b"\n")
    import hashlib
    assert hashlib.md5(rest).hexdigest() == head.split()[0].decode(), r


def test_an_interrupt_after_output_leaves_the_prompt_of_node_able_to_write(t):
    for _ in range(20):  # it may come while the library writes
        w = Window(t, "js")
        w.until("Welcome to Node.js.*> ")
        w.type("console.log('loo' + 'ping'); for (;;);\r")
        w.until("looping\r\n")
        w.type("\x03")
        w.until("interrupted.*> ")
        w.type(".exit\r")
        assert w.end() == 0
