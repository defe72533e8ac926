"""Snapshots and forks of whole sandboxes."""
import subprocess

import pytest

from cay import Change, Sandbox, SandboxError, Snapshot


def test_a_fork_goes_its_own_way(sandbox):
    sandbox.files.write("f", "one")
    sandbox.python.run("x = [1]; log = open('/tmp/log', 'w+')")
    with sandbox.fork() as copy:
        copy.files.write("f", "two")
        assert copy.python.run("x.append(2); x").value == [1, 2]
        assert sandbox.python.run("x").value == [1]
        assert sandbox.files.read("f") == b"one"
        assert copy.files.read("f") == b"two"
        assert copy.python.run("log.write('abc')").value == 3


def test_sessions_go_along_under_their_names(sandbox):
    session = sandbox.python.session("work")
    session.run("x = 5")
    sandbox.js.run("globalThis.y = 6")
    with sandbox.fork() as copy:
        assert copy.python.session("work").run("x").value == 5
        assert copy.js.run("y").value == 6


def test_a_snapshot_is_one_moment(sandbox):
    sandbox.files.write("f", "one")
    before = sandbox.snapshot("the start")
    sandbox.files.write("f", "two")
    sandbox.files.write("g", "new")
    after = sandbox.snapshot()
    assert (before.label, after.parent) == ("the start", before.id)
    assert before.diff(after) == [Change("/home/agent/f", "changed", True), Change("/home/agent/g", "added", True)]
    assert "-one" in before.patch(after) and "+two" in before.patch(after)
    with Sandbox(snapshot=before) as old:
        assert old.files.read("f") == b"one" and not old.files.exists("g")


def test_a_snapshot_is_saved_and_loaded(sandbox, tmp_path):
    sandbox.files.write("f", "kept")
    sandbox.python.run("x = {'a': 1}")
    sandbox.snapshot("label").save(tmp_path / "a.snap")
    loaded = Snapshot.load(tmp_path / "a.snap")
    assert loaded.label == "label"
    with Sandbox(snapshot=loaded) as again:
        assert again.files.read("f") == b"kept"
        assert again.python.run("x").value == {"a": 1}
    (tmp_path / "cut").write_bytes((tmp_path / "a.snap").read_bytes()[:-1])
    with pytest.raises(SandboxError, match="damaged"):
        Snapshot.load(tmp_path / "cut")


def test_files_alone_go_to_an_archive_and_come_back(sandbox, tmp_path):
    sandbox.files.write("d/f", "kept")
    sandbox.python.run("x = 1")
    snapshot = sandbox.snapshot()
    snapshot.save(tmp_path / "a.tar", tar=True, directory="/home/agent/d")
    assert subprocess.run(["tar", "-tf", tmp_path / "a.tar"], check=True, capture_output=True, text=True).stdout == "f\n"
    with Sandbox(snapshot=Snapshot.load(tmp_path / "a.tar", directory="/tmp")) as again:
        assert again.files.read("/tmp/f") == b"kept"
    snapshot.save(tmp_path / "a.snap")
    with Sandbox(snapshot=Snapshot.load(tmp_path / "a.snap", sessions=False)) as again:
        assert again.files.read("d/f") == b"kept"
        assert again.python.run("'x' in globals()").value is False


def test_an_archive_is_a_snapshot_of_files(tmp_path):
    (tmp_path / "f").write_text("text")
    subprocess.run(["tar", "-cf", tmp_path / "a.tar", "-C", tmp_path, "f"], check=True)
    with Sandbox(snapshot=Snapshot.load(tmp_path / "a.tar")) as sandbox:
        assert sandbox.files.read("f") == b"text"


def test_a_running_process_is_named_or_left_out(sandbox):
    sandbox.commands.run("sleep 100 > /dev/null 2>&1 &")
    with pytest.raises(SandboxError, match="EBUSY.*process 3"):
        sandbox.fork()
    with sandbox.fork(leave_out=True) as copy:
        assert copy.commands.run("echo here").stdout == "here\n"


def test_a_fork_outlives_its_parent():
    parent = Sandbox()
    parent.python.run("x = 'deep'")
    child = parent.fork()
    parent.kill()
    grandchild = child.fork()
    child.kill()
    assert grandchild.python.run("x").value == "deep"
    grandchild.kill()


def test_a_refusal_names_all_processes_that_run(sandbox):
    sandbox.commands.run("sleep 100 >/dev/null 2>&1 & cat /dev/zero >/dev/null 2>&1 & echo")
    with pytest.raises(SandboxError, match=r"EBUSY.* processes \d+ \((sleep|bash)\), \d+ \((cat|bash)\) are running"):
        sandbox.snapshot()


def test_a_snapshot_waits_for_what_runs(sandbox):
    sandbox.commands.run("(sleep 0.5; echo done > f) &")
    with pytest.raises(SandboxError, match=r"EBUSY: .*\d+ \((bash|sleep)\)"):
        sandbox.snapshot()
    with pytest.raises(SandboxError, match="EBUSY"):
        sandbox.snapshot(wait=0.05)
    with sandbox.fork(wait=30) as copy:
        assert copy.files.read("f") == b"done\n"
    sandbox.commands.run("sleep 100 &")
    with pytest.raises(SandboxError, match="EBUSY"):
        sandbox.snapshot(wait=0.05)
    assert sandbox.snapshot(leave_out=True).files > 0


def test_a_sandbox_ends_while_a_snapshot_waits_for_it():
    import threading
    failures = []
    sandbox = Sandbox()
    sandbox.commands.run("sleep 100 &")

    def take():
        try:
            sandbox.snapshot(wait=60)
        except Exception as problem:
            failures.append(problem)

    waiting = threading.Thread(target=take)
    waiting.start()
    sandbox.commands.run("true")  # other requests are answered meanwhile
    sandbox.kill()
    waiting.join(20)
    assert not waiting.is_alive() and len(failures) == 1


def test_parked_sessions_come_back_from_memory_and_from_a_file(sandbox, tmp_path):
    sandbox.python.run("x = list(range(100))")
    sandbox.js.run("globalThis.y = 6")
    sandbox.park()
    assert sandbox.python.run("sum(x)").value == 4950
    place = tmp_path / "parked"
    sandbox.park(place)
    assert place.stat().st_mode & 0o777 == 0o600
    with pytest.raises(SandboxError, match="EEXIST"):
        sandbox.park(place)
    assert (sandbox.python.run("x[-1]").value, sandbox.js.run("y").value) == (99, 6)
    assert not place.exists()
