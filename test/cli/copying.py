"""--in, --out and --mount."""
import os
import socket
import stat


def test_a_file_goes_in_under_its_name_or_another(t):
    t.path("data.txt", "hello\n")
    r = t.run("--in", "data.txt", "--in", "data.txt:/srv/deep/copy", "--in", "data.txt:sub/",
              "cat data.txt /srv/deep/copy sub/data.txt")
    assert r.text == "hello\n" * 3, r


def test_a_directory_goes_in_with_modes_and_links(t):
    t.path("d/bin/tool", "#!/bin/sh\necho ran\n", 0o755)
    t.path("d/empty/x").parent.mkdir(exist_ok=True)
    os.symlink("bin/tool", t.path("d/link"))
    r = t.run("--in", "d", "d/link; readlink d/link; ls -F d")
    assert r.text == "ran\nbin/tool\nbin/\nempty/\nlink@\n", r


def test_a_large_file_arrives_whole(t):
    data = os.urandom(5 << 20)
    t.path("big", data)
    r = t.run("--in", "big", "--out", "copy", "cat big > copy; wc -c < copy")
    assert r.text.strip() == str(len(data)), r
    assert (t.dir / "copy").read_bytes() == data


def test_a_pipe_can_go_in(t):
    r, w = os.pipe()
    os.write(w, b"through a pipe\n")
    os.close(w)
    done = t.run("--in", f"/dev/fd/{r}:note", "cat note", pass_fds=[r])
    os.close(r)
    assert done.text == "through a pipe\n", done


def test_a_missing_file_is_named(t):
    r = t.run("--in", "nothing", "true")
    assert r.code == 125 and "nothing" in r.errors and "No such file" in r.errors, r
    r = t.run("--out", "nothing", "true")
    assert r.code == 125 and "nothing" in r.errors, r


def test_too_large_files_name_the_option(t):
    t.path("big", b"x" * (2 << 20))
    r = t.run("--disk", "1M", "--in", "big", "true")
    assert r.code == 125 and "--disk" in r.errors, r


def test_a_file_comes_out_also_when_the_command_fails(t):
    r = t.run("--out", "report:result.txt", "echo so far > report; exit 9")
    assert r.code == 9 and (t.dir / "result.txt").read_text() == "so far\n", r
    r = t.run("--timeout", "3s", "--out", "report", "echo begun > report; sleep 100")
    assert r.code == 124 and (t.dir / "report").read_text() == "begun\n", r


def test_a_directory_comes_out_and_is_added_to(t):
    t.path("site/keep", "old")
    t.path("site/index", "old")
    r = t.run("--out", "site", "mkdir -p site/a/b; echo new > site/index; echo x > site/a/b/c; chmod 755 site/a/b/c;"
              " ln -s a/b/c site/l")
    assert r.code == 0 and r.err == b"", r
    assert (t.dir / "site/keep").read_text() == "old"
    assert (t.dir / "site/index").read_text() == "new\n"
    assert os.stat(t.dir / "site/a/b/c").st_mode & 0o777 == 0o755
    assert os.readlink(t.dir / "site/l") == "a/b/c"


def test_names_decide_between_as_and_into(t):
    (t.dir / "there").mkdir()
    r = t.run("--out", "f:there", "--out", "f:made/", "--out", "f:plain", "echo 1 > f")
    assert r.code == 0, r
    assert all((t.dir / name).is_file() for name in ("there/f", "made/f", "plain"))


def test_links_that_lead_out_do_not_come_out(t):
    r = t.run("--out", "d", "mkdir -p d/in && cd d && ln -s /etc/passwd abs && ln -s ../.. up"
              " && ln -s in/../../x trick && ln -s in ok && ln -s ../ok in/back && echo fine > in/file")
    assert r.code == 125 and all(name in r.errors for name in ("d/abs", "d/up", "d/trick")), r
    assert sorted(os.listdir(t.dir / "d")) == ["in", "ok"]
    assert (t.dir / "d/in/back").readlink() == type(t.dir)("../ok")
    assert (t.dir / "d/in/file").read_text() == "fine\n"


def test_links_of_the_host_are_not_followed_below_the_named_place(t):
    t.path("outside/secret", "untouched")
    t.path("d/x")
    os.symlink("../outside", t.dir / "d/dir")
    os.symlink("../outside/secret", t.dir / "d/file")
    r = t.run("--out", "d", "mkdir -p d/dir; echo bad > d/dir/secret; echo bad > d/file")
    assert r.code == 125 and "d/dir" in r.errors, r
    assert (t.dir / "outside/secret").read_text() == "untouched"
    assert os.listdir(t.dir / "outside") == ["secret"]
    assert not (t.dir / "d/file").is_symlink() and (t.dir / "d/file").read_text() == "bad\n"


def test_devices_and_set_user_id_do_not_come_out(t):
    r = t.run("--out", "d", "mkdir d; echo x > d/suid; chmod 4755 d/suid; mkfifo d/fifo")
    assert r.code == 125 and "d/fifo" in r.errors, r
    assert os.listdir(t.dir / "d") == ["suid"]
    assert stat.S_IMODE(os.stat(t.dir / "d/suid").st_mode) == 0o755


def test_holes_and_doubled_files_do_not_fill_this_machine(t):
    r = t.run("--out", "sparse", "truncate -s 2G sparse; printf end >> sparse")
    if r.code == 0:
        assert os.stat(t.dir / "sparse").st_blocks * 512 < 1 << 20
    r = t.run("--disk", "4M", "--out", "d",
              "mkdir d; head -c 1048576 /dev/urandom > d/0; for i in $(seq 20); do ln d/0 d/$i; done")
    assert r.code == 125 and "more bytes than" in r.errors, r
    assert sum(f.stat().st_size for f in (t.dir / "d").iterdir()) <= 4 << 20


def test_a_mount_can_be_read_and_with_rw_written(t):
    t.path("m/f", "text\n")
    r = t.run("--mount", "m:/m", "cat /m/f; echo x > /m/g")
    assert r.text == "text\n" and r.code != 0 and not (t.dir / "m/g").exists(), r
    os.chmod(t.dir / "m", 0o777)
    r = t.run("--mount", "m:/m:rw", "--cwd", "/m", "echo x > g; cat g")
    assert r.text == "x\n" and (t.dir / "m/g").read_text() == "x\n", r


def test_nothing_leads_out_of_a_mount(t):
    t.path("secret", "secret")
    t.path("m/f", "")
    os.symlink("../secret", t.dir / "m/up")
    os.symlink(t.dir / "secret", t.dir / "m/abs")
    r = t.run("--mount", "m:/m", "cat /m/up /m/abs /m/../secret /m/f/../../secret")
    assert "secret" not in r.text and r.code != 0, r


def test_a_mount_of_nothing_is_named(t):
    r = t.run("--mount", "nothing:/m", "true")
    assert r.code == 125 and "nothing" in r.errors, r


def test_no_socket_of_this_machine_is_made_or_reached_through_a_mount(t):
    t.path("ro/f", "")
    t.path("rw/f", "")
    os.chmod(t.dir / "rw", 0o777)
    server = socket.socket(socket.AF_UNIX)
    at = os.getcwd()
    os.chdir(t.dir / "rw")  # the whole path may be too long for an address
    try:
        server.bind("host")
    finally:
        os.chdir(at)
    server.listen()
    os.chmod(t.dir / "rw/host", 0o777)
    code = """
import errno, os, socket
def error(call, *words):
    try: call(*words)
    except OSError as problem: return errno.errorcode[problem.errno]
    return "done"
for folder in "/ro", "/rw", "/tmp":
    print(folder, error(socket.socket(socket.AF_UNIX).bind, folder + "/s"), error(os.mknod, folder + "/n", 0o140666))
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
    print(error(socket.socket(socket.AF_UNIX, kind).connect, "/rw/host"))
"""
    with server:
        r = t.run("--mount", "ro:/ro", "--mount", "rw:/rw:rw", "--", "python3", "-c", code)
        assert r.text == "/ro EROFS EROFS\n/rw ENOTSUP EPERM\n/tmp done done\nECONNREFUSED\nECONNREFUSED\n", r
        server.settimeout(0)
        try:
            server.accept()
        except BlockingIOError:
            pass
        else:
            raise AssertionError("a sandbox has reached a socket of this machine")
    assert sorted(os.listdir(t.dir / "rw")) == ["f", "host"]


def test_names_that_would_forge_a_message_are_quoted(t):
    r = t.run("--out", "d:d", "mkdir d && cd d && mkfifo $'x: ok\\ncay: all is well \\e[2J' $'\\xff\\u202e'")
    lines = r.errors.splitlines()
    assert "cay: --out: left out 'd/x: ok\\ncay: all is well \\x1b[2J': neither a file, a directory nor a link" in lines, r
    assert "cay: --out: left out 'd/\\xff\\u{202e}': neither a file, a directory nor a link" in lines, r
    assert "\x1b" not in r.errors, r


def test_a_copy_on_write_mount_is_changed_only_by_apply(t):
    t.path("tree/a", "one\n")
    t.path("tree/old/b", "b\n")
    mount = ("--mount", "tree:/w:cow", "--cwd", "/w")
    r = t.cay("run", *mount, "echo two > a; rm -r old")
    assert r.code == 0 and "3 changes to tree are forgotten" in r.errors, r
    r = t.cay("run", *mount, "--changes", "--patch", "p", "echo two > a; rm -r old")
    assert r.errors == "cay: M a\ncay: D old\ncay: D old/b\n", r
    assert "+two" in (t.dir / "p").read_text() and (t.dir / "tree/a").read_text() == "one\n"
    assert t.cay("run", *mount, "--apply", "echo two > a; false").code == 1
    assert (t.dir / "tree/a").read_text() == "one\n"
    assert t.cay("run", *mount, "--apply", "echo two > a; rm -r old").code == 0
    assert (t.dir / "tree/a").read_text() == "two\n" and not (t.dir / "tree/old").exists()
    r = t.cay("run", *mount, "--quiet", "true")
    assert (r.code, r.errors) == (0, ""), r
