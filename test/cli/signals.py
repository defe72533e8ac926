"""What Ctrl-C and kill do to a run."""
import signal


def begin(t, line, *options):
    """A run whose command has said that it is ready."""
    p = t.start("run", *options, line)
    assert p.stdout.readline() == b"ready\n"
    return p


def test_an_interrupt_ends_the_command_and_is_seen_by_the_parent(t):
    p = begin(t, "echo ready; sleep 100; echo not reached")
    p.send_signal(signal.SIGINT)
    r = t.finish(p)
    assert r.code == -signal.SIGINT and r.out == b"" and r.err == b"", r


def test_an_interrupt_is_the_commands_to_handle(t):
    p = begin(t, "trap 'echo caught; exit 7' INT; echo ready; while :; do :; done")
    p.send_signal(signal.SIGINT)
    r = t.finish(p)
    assert r.code == 7 and r.text == "caught\n", r


def test_a_second_interrupt_within_a_second_ends_it(t):
    p = begin(t, "trap 'echo caught' INT; trap '' TERM; echo ready; while :; do :; done")
    p.send_signal(signal.SIGINT)
    assert p.stdout.readline() == b"caught\n" and p.poll() is None
    p.send_signal(signal.SIGINT)
    assert t.finish(p).code == -signal.SIGINT


def test_a_termination_ends_what_does_not_listen_a_second_later(t):
    p = begin(t, "trap '' TERM; echo ready; while :; do :; done")
    p.send_signal(signal.SIGTERM)
    assert t.finish(p).code == -signal.SIGTERM
    p = begin(t, "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
    p.send_signal(signal.SIGTERM)
    r = t.finish(p)
    assert r.code == 0 and r.text == "bye\n", r


def test_files_come_out_after_an_interrupt(t):
    p = begin(t, "echo half > report; echo ready; sleep 100", "--out", "report")
    p.send_signal(signal.SIGINT)
    t.finish(p)
    assert (t.dir / "report").read_text() == "half\n"


def test_an_ignored_interrupt_stays_ignored(t):
    p = t.start("run", "echo ready; sleep 0.5; echo end",
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert p.stdout.readline() == b"ready\n"
    p.send_signal(signal.SIGINT)
    r = t.finish(p)
    assert r.code == 0 and r.text == "end\n", r


def test_python_that_computes_hears_an_interrupt(t):
    handler = "import os, signal, sys\nsignal.signal(signal.SIGINT, lambda *_: (os.write(1, b'caught\\n'), sys.exit(7)))\n"
    for code, ends in (("", (130, -signal.SIGINT)), (handler, (7,))):
        p = t.start("python", "-c", code + "print('ready', flush=True)\nwhile True: pass")
        assert p.stdout.readline() == b"ready\n"
        p.send_signal(signal.SIGINT)
        r = t.finish(p)
        assert r.code in ends and (("KeyboardInterrupt" in r.errors) if code == "" else r.text == "caught\n"), r
