import errno
import os
import stat

import pytest

from cay import FileInfo, Sandbox, SandboxError


def test_bytes_there_and_back(sandbox):
    sandbox.files.write("/tmp/input.txt", b"some data")
    assert sandbox.files.read("/tmp/input.txt") == b"some data"
    data = bytes(range(256)) * 10
    sandbox.files.write("/tmp/b", data)
    assert sandbox.files.read("/tmp/b") == data


def test_text_is_utf8(sandbox):
    sandbox.files.write("/tmp/msg.txt", "héllo")
    assert sandbox.files.read("/tmp/msg.txt") == "héllo".encode()
    assert sandbox.files.read_text("/tmp/msg.txt") == "héllo"


def test_other_kinds_of_bytes(sandbox):
    sandbox.files.write("/tmp/a", bytearray(b"ab"))
    sandbox.files.write("/tmp/b", memoryview(b"cd"))
    assert sandbox.files.read("/tmp/a") + sandbox.files.read("/tmp/b") == b"abcd"
    with pytest.raises(TypeError):
        sandbox.files.write("/tmp/c", 5)


def test_empty_file(sandbox):
    sandbox.files.write("/tmp/empty", b"")
    assert sandbox.files.read("/tmp/empty") == b""
    assert sandbox.files.stat("/tmp/empty").size == 0


def test_write_replaces_and_appends(sandbox):
    sandbox.files.write("/tmp/f", "a long text")
    sandbox.files.write("/tmp/f", "short")
    assert sandbox.files.read("/tmp/f") == b"short"
    sandbox.files.write("/tmp/f", " more", append=True)
    sandbox.files.write("/tmp/new", "x", append=True)
    assert sandbox.files.read("/tmp/f") == b"short more"
    assert sandbox.files.read("/tmp/new") == b"x"


def test_parents_are_made(sandbox):
    sandbox.files.write("/tmp/a/b/c/f", "x")
    assert sandbox.files.stat("/tmp/a/b/c").type == "dir"


def test_mode(sandbox):
    sandbox.files.write("run.sh", "echo ran", mode=0o755)
    assert sandbox.commands.run("./run.sh").stdout == "ran\n"
    assert sandbox.files.stat("run.sh").mode == 0o755


def test_a_relative_path_is_where_commands_start(sandbox):
    sandbox.files.write("data.txt", "x")
    assert sandbox.commands.run("cat data.txt").stdout == "x"
    assert sandbox.files.read("/home/agent/data.txt") == b"x"


@pytest.mark.parametrize("size", [(4 << 20) - 1, 4 << 20, (4 << 20) + 1, 9 << 20])
def test_sizes_around_a_piece(sandbox, size):
    data = os.urandom(1 << 10) * (size // 1024 + 1)
    sandbox.files.write("/tmp/f", data[:size])
    assert sandbox.files.stat("/tmp/f").size == size
    assert sandbox.files.read("/tmp/f") == data[:size]
    sandbox.files.write("/tmp/f", data[:size], append=True)
    assert sandbox.files.stat("/tmp/f").size == 2 * size


def test_list(sandbox):
    sandbox.files.write("/tmp/d/data.txt", b"hello world")
    sandbox.files.mkdir("/tmp/d/subdir")
    sandbox.files.symlink("data.txt", "/tmp/d/link")
    entries = {e.name: e for e in sandbox.files.list("/tmp/d")}
    assert (entries["data.txt"].type, entries["data.txt"].size) == ("file", 11)
    assert (entries["subdir"].type, entries["subdir"].size) == ("dir", 0)
    assert (entries["link"].type, entries["link"].target) == ("link", "data.txt")
    assert all(isinstance(e, FileInfo) for e in entries.values())


def test_list_recursive(sandbox):
    for name in ("a", "b/c", "b/d/e"):
        sandbox.files.write(f"/tmp/t/{name}", "x")
    assert sorted(e.name for e in sandbox.files.list("/tmp/t", recursive=True)) == ["a", "b", "b/c", "b/d", "b/d/e"]


def test_mkdir(sandbox):
    sandbox.files.mkdir("/tmp/subdir")
    assert sandbox.files.stat("/tmp/subdir").type == "dir"
    sandbox.files.mkdir("/tmp/x/y/z", parents=True)
    sandbox.files.mkdir("/tmp/x/y/z", parents=True)


def test_stat(sandbox):
    sandbox.files.write("/tmp/f", "12345")
    assert sandbox.files.stat("/tmp/f") == FileInfo("f", "file", 5, 0o644, sandbox.files.stat("/tmp/f").mtime_ms)
    assert sandbox.files.stat("/tmp").name == "tmp"


def test_rm(sandbox):
    sandbox.files.write("/tmp/f", "x")
    sandbox.files.rm("/tmp/f")
    assert not sandbox.files.exists("/tmp/f")
    sandbox.files.write("/tmp/d/e/f", "x")
    sandbox.files.rm("/tmp/d", recursive=True)
    assert not sandbox.files.exists("/tmp/d")


def test_rename(sandbox):
    sandbox.files.write("/tmp/old", "x")
    sandbox.files.rename("/tmp/old", "/tmp/new")
    assert sandbox.files.read("/tmp/new") == b"x"
    assert not sandbox.files.exists("/tmp/old")


def test_exists(sandbox):
    assert sandbox.files.exists("/etc/passwd")
    assert not sandbox.files.exists("/etc/passwd/x")
    assert not sandbox.files.exists("/nowhere")


@pytest.mark.parametrize("name, call", [
    ("ENOENT", lambda f: f.read("/tmp/nonexistent")),
    ("ENOENT", lambda f: f.stat("/tmp/nonexistent")),
    ("ENOENT", lambda f: f.rm("/tmp/nonexistent")),
    ("ENOENT", lambda f: f.list("/tmp/nonexistent")),
    ("ENOENT", lambda f: f.mkdir("/tmp/no/where")),
    ("EISDIR", lambda f: f.read("/tmp")),
    ("EISDIR", lambda f: f.write("/tmp", "x")),
    ("ENOTDIR", lambda f: f.list("/etc/passwd")),
    ("ENOTDIR", lambda f: f.write("/etc/passwd/x", "x")),
    ("EEXIST", lambda f: f.mkdir("/tmp")),
    ("ENOTEMPTY", lambda f: f.rm("/etc")),
    ("ENAMETOOLONG", lambda f: f.read("/" + "x" * 5000)),
])
def test_errors_have_their_errno(sandbox, name, call):
    with pytest.raises(SandboxError, match=f"^{name}: ") as caught:
        call(sandbox.files)
    assert caught.value.errno_name == name
    assert caught.value.errno == getattr(errno, name)
    assert caught.value.code == 1


def test_upload_and_download_a_directory(sandbox, tmp_path):
    here = tmp_path / "here"
    (here / "sub" / "deep").mkdir(parents=True)
    (here / "empty").mkdir()
    (here / "a.txt").write_text("a")
    (here / "sub" / "run.sh").write_text("echo ran")
    (here / "sub" / "run.sh").chmod(0o755)
    (here / "sub" / "deep" / "big").write_bytes(os.urandom(5 << 20))
    (here / "sub" / "link").symlink_to("../a.txt")
    sandbox.files.upload(here, "/tmp/there")
    assert sandbox.commands.run("cat sub/link; ./sub/run.sh; ls -d empty", cwd="/tmp/there").stdout == "aran\nempty\n"
    sandbox.files.upload(here, "/tmp/there")  # again, over existing files

    back = tmp_path / "back"
    sandbox.files.download("/tmp/there", back)
    assert sorted(p.relative_to(back) for p in back.rglob("*")) == sorted(p.relative_to(here) for p in here.rglob("*"))
    assert (back / "sub/deep/big").read_bytes() == (here / "sub/deep/big").read_bytes()
    assert os.readlink(back / "sub/link") == "../a.txt"
    assert (back / "sub/run.sh").stat().st_mode & stat.S_IXUSR
    sandbox.files.download("/tmp/there", back)


def test_upload_and_download_one_file(sandbox, tmp_path):
    (tmp_path / "f").write_text("one")
    sandbox.files.upload(tmp_path / "f", "/tmp/d/f")
    sandbox.files.download("/tmp/d/f", tmp_path / "g")
    assert (tmp_path / "g").read_text() == "one"


def test_upload_of_what_is_not_there(sandbox, tmp_path):
    with pytest.raises(FileNotFoundError):
        sandbox.files.upload(tmp_path / "nothing", "/tmp/x")
    with pytest.raises(SandboxError):
        sandbox.files.download("/tmp/nothing", tmp_path / "x")


def test_upload_that_does_not_fit(tmp_path):
    for i in range(20):
        (tmp_path / f"{i}").write_bytes(b"x" * 10_000)
    with Sandbox(fs_limit_bytes=100_000) as sandbox:
        with pytest.raises(SandboxError) as caught:
            sandbox.files.upload(tmp_path, "/tmp/x")
        assert caught.value.errno_name == "ENOSPC"


def test_nothing_that_comes_out_leads_out(sandbox, tmp_path):
    sandbox.commands.run("mkdir -p t/d; cd t; ln -s /etc/passwd absolute; ln -s ../../outside up; ln -s d/../../x hidden; "
                         "ln -s d/f good; ln -s ../good d/fine; echo x > d/f; mkfifo pipe; chmod 4755 d/f")
    sandbox.files.download("t", tmp_path / "t")
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")) == ["t", "t/d", "t/d/f", "t/d/fine", "t/good"]
    assert (tmp_path / "t/d/f").stat().st_mode & 0o7000 == 0


def test_a_link_that_stands_here_is_not_written_through(sandbox, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (tmp_path / "t").mkdir()
    (tmp_path / "t/f").symlink_to(victim)
    sandbox.files.write("t/f", "new")
    sandbox.files.download("t", tmp_path / "t")
    assert victim.read_text() == "untouched"
    assert (tmp_path / "t/f").read_text() == "new"


def test_five_hundred_small_files(sandbox, tmp_path):
    for i in range(500):
        folder = tmp_path / "in" / str(i % 10)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i}").write_text(str(i))
    sandbox.files.upload(tmp_path / "in", "/tmp/many")
    assert sandbox.commands.run("find /tmp/many -type f | wc -l").stdout.strip() == "500"
    sandbox.files.download("/tmp/many", tmp_path / "out")
    assert {p.name: p.read_text() for p in (tmp_path / "out").rglob("*") if p.is_file()} == {str(i): str(i) for i in range(500)}


def test_sparse_files_are_neither_read_nor_copied_as_zeros(tmp_path):
    with Sandbox(fs_limit_bytes=10_000_000) as sandbox:
        sandbox.commands.run("printf begin > sparse; truncate -s 400000000 sparse; printf end >> sparse", check=True)
        with pytest.raises(SandboxError, match="sparse: the file is larger than the limit of 10000000 bytes") as caught:
            sandbox.files.read("sparse")
        assert caught.value.errno_name == "EFBIG"
        sandbox.files.download("sparse", tmp_path / "sparse")
        info = os.stat(tmp_path / "sparse")
        assert info.st_size == 400_000_003 and info.st_blocks * 512 < 1_000_000
        with open(tmp_path / "sparse", "rb") as file:
            assert file.read(6) == b"begin\0"
            file.seek(-4, os.SEEK_END)
            assert file.read() == b"\0end"


def test_reading_and_copying_have_a_limit(sandbox, tmp_path):
    sandbox.files.write("ten", b"0123456789")
    assert sandbox.files.read("ten", limit=10) == b"0123456789"
    with pytest.raises(SandboxError, match="EFBIG"):
        sandbox.files.read_text("ten", limit=9)
    sandbox.files.mkdir("two")
    sandbox.files.write("two/a", b"12345")
    sandbox.files.write("two/b", b"12345")
    sandbox.files.download("two", tmp_path / "fits", limit=10)
    with pytest.raises(SandboxError, match="EFBIG: two: the copy is larger than the limit of 9 bytes"):
        sandbox.files.download("two", tmp_path / "cut", limit=9)
    assert [p.name for p in (tmp_path / "cut").iterdir()] == ["a"]  # and no half file
    assert sandbox.files.read("/proc/version").startswith(b"Linux")
    sandbox.files.download("/proc/version", tmp_path / "version")
    assert (tmp_path / "version").read_bytes() == sandbox.files.read("/proc/version")


def test_a_large_file_is_read_in_pieces(sandbox):
    sandbox.commands.run("seq 1500000 > big", check=True)
    pieces = list(sandbox.files.stream("big"))
    assert len(pieces) == 3 and b"".join(pieces).split()[-1] == b"1500000"


def test_names_that_are_not_utf8(sandbox, tmp_path):
    sandbox.commands.run("mkdir $'d\\377'; echo hi > $'d\\377/f\\200'; ln -s $'f\\200' $'d\\377/l'", check=True)
    assert [f.name for f in sandbox.files.list(".")] == ["d\udcff"]
    assert sorted(f.name for f in sandbox.files.list(".", recursive=True)) == ["d\udcff", "d\udcff/f\udc80", "d\udcff/l"]
    assert sandbox.files.read("d\udcff/f\udc80") == sandbox.files.read(b"d\xff/f\x80") == b"hi\n"
    assert sandbox.files.stat(b"d\xff/f\x80").name == "f\udc80"
    sandbox.files.download("d\udcff", tmp_path / "out")
    assert sorted(os.listdir(os.fsencode(tmp_path / "out"))) == [b"f\x80", b"l"]
    assert os.readlink(os.fsencode(tmp_path / "out") + b"/l") == b"f\x80"
    sandbox.files.upload(tmp_path / "out", "back")
    assert sandbox.commands.run("cat $'back/l'").stdout == "hi\n"
    sandbox.files.rename(b"back/f\x80", b"back/g\x81")
    assert sandbox.files.exists(b"back/g\x81") and not sandbox.files.exists("back/f\udc80")
    assert sandbox.commands.run("pwd -P | od -An -c", cwd=b"d\xff").stdout.split()[-2] == "377"
    sandbox.files.rm(b"d\xff", recursive=True)
    assert not sandbox.files.exists(b"d\xff")
