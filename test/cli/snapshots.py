"""--snapshot, --save-snapshot and `cay snapshot`."""
import subprocess


def saved(t, name, command, *options):
    r = t.run(*options, "--save-snapshot", name, command)
    assert r.code == 0, r


def test_a_run_goes_on_where_another_ended(t):
    saved(t, "a.snap", "mkdir w; echo one > w/f; ln -s f w/l; chmod 640 w/f", "--env", "SAID=yes")
    r = t.run("--snapshot", "a.snap", "cat w/l; stat -c %a w/f; echo $SAID; echo two >> w/f")
    assert r.text == "one\n640\nyes\n", r
    r = t.run("--snapshot", "a.snap", "cat w/f")
    assert r.text == "one\n", r  # the file of the snapshot has not changed


def test_a_snapshot_is_kept_also_when_the_run_failed(t):
    r = t.run("--save-snapshot", "a.snap", "echo so far > f; exit 3")
    assert r.code == 3, r
    assert t.run("--snapshot", "a.snap", "cat f").text == "so far\n"
    r = t.run("--save-snapshot", "no/such/a.snap", "true")
    assert r.code == 125 and "no/such/a.snap" in r.errors, r


def test_a_snapshot_is_shown_and_compared(t):
    saved(t, "a.snap", "echo one > f; seq 3 > gone")
    saved(t, "b.snap", "echo two >> f; rm gone", "--snapshot", "a.snap")
    assert "files" in t.cay("snapshot", "info", "a.snap").text
    assert t.cay("snapshot", "ls", "b.snap", "/home/agent/f").text == "/home/agent/f\n"
    assert t.cay("snapshot", "cat", "b.snap", "/home/agent/f").text == "one\ntwo\n"
    r = t.cay("snapshot", "diff", "a.snap", "b.snap", "/home/agent")
    assert r.code == 1 and r.text == "M /home/agent/f\nD /home/agent/gone\n", r
    r = t.cay("snapshot", "diff", "--patch", "a.snap", "b.snap", "/home/agent")
    assert r.code == 1 and "+two\n" in r.text and "deleted file mode 100644\n" in r.text, r
    assert t.cay("snapshot", "diff", "a.snap", "a.snap").code == 0
    r = t.cay("snapshot", "diff", "a.snap", "nothing.snap")
    assert r.code == 2 and "nothing.snap" in r.errors, r


def test_snapshots_are_a_tree_of_branches(t):
    saved(t, "start.snap", "echo one > f")
    saved(t, "left.snap", "echo left > f", "--snapshot", "start.snap")
    saved(t, "leaf.snap", "echo leaf > f", "--snapshot", "left.snap")
    saved(t, "right.snap", "echo right > f", "--snapshot", "start.snap")
    saved(t, "other.snap", "true")
    files = ["other.snap", "leaf.snap", "right.snap", "left.snap", "start.snap"]
    assert t.cay("snapshot", "tree", *files).text == "start.snap\n  left.snap\n    leaf.snap\n  right.snap\nother.snap\n"
    assert t.cay("snapshot", "tree", "leaf.snap", "start.snap").text == "start.snap\nleaf.snap\n"
    assert t.cay("snapshot", "tree", "leaf.snap", "leaf.snap").text == "leaf.snap\nleaf.snap\n"
    r = t.cay("snapshot", "tree", "leaf.snap", "nothing.snap")
    assert r.code != 0 and "nothing.snap" in r.errors, r


def test_archives_become_snapshots_and_the_other_way(t):
    t.path("d/f", "text\n")
    subprocess.run(["tar", "-cf", "in.tar", "-C", "d", "."], cwd=t.dir, check=True)
    assert t.run("--snapshot", "in.tar", "cat f").text == "text\n"
    assert t.cay("snapshot", "load", "in.tar", "a.snap", "/srv/x").code == 0
    assert t.run("--snapshot", "a.snap", "cat /srv/x/f").text == "text\n"
    assert t.cay("snapshot", "save", "a.snap", "out.tar", "/srv").code == 0
    listing = subprocess.run(["tar", "-tf", "out.tar"], cwd=t.dir, check=True, capture_output=True, text=True).stdout
    assert listing.split() == ["x", "x/f"], listing


def test_a_damaged_snapshot_is_refused(t):
    saved(t, "a.snap", "echo one > f")
    data = (t.dir / "a.snap").read_bytes()
    t.path("cut.snap", data[:-5])
    t.path("wrong.snap", data[:200] + bytes([data[200] ^ 1]) + data[201:])
    t.path("other.snap", "some text that is none, but long enough for the first look at it " * 20)
    for name in "cut.snap", "wrong.snap", "other.snap":
        r = t.run("--snapshot", name, "true")
        assert r.code == 125 and name in r.errors and ("damaged" in r.errors or "neither" in r.errors), r


def test_names_in_a_snapshot_do_not_drive_the_terminal(t):
    saved(t, "a.snap", "touch \"$(printf 'a\\033[2Jb')\"")
    r = t.cay("snapshot", "ls", "a.snap")
    assert "\033" not in r.text and "\\x1b" in r.text, r


def test_wrong_words_are_explained(t):
    for words in ([], ["nonsense"], ["info"], ["cat", "a"], ["diff", "a"], ["ls", "--wrong", "a"]):
        r = t.cay("snapshot", *words)
        assert r.code == 2 and "snapshot" in r.errors, r


def test_what_a_sandbox_was_granted_is_not_in_its_snapshot(t):
    """Saved by one process, used by another."""
    t.path("host/f", "of the host\n")
    t.path("value", "value-of-the-secret")
    r = t.run("--mount", "host:/ro", "--mount", "host:/changed:cow", "--allow-net", "granted.test", "--add-host", "granted.test=127.0.0.1", "--secret", "TOKEN=file:value@granted.test",
              "--save-snapshot", "a.snap", "cat /ro/f; echo x > /changed/new; echo $TOKEN > token; echo kept > f")
    assert r.text == "of the host\n", r
    r = t.run("--snapshot", "a.snap", "cat f; cat token | grep -c value-of; ls /ro /changed; python3 -c 'import socket; socket.getaddrinfo(\"granted.test\", 80)' 2>&1 | tail -1")
    lines = r.text.splitlines()
    assert lines[:2] == ["kept", "0"] and "f" not in lines[2:] and "new" not in lines[2:] and "network is off" in lines[-1], r
