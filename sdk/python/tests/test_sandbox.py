import pickle
import subprocess
import sys
import time
import urllib.request

import pytest

import cay
from cay import Mount, BinaryNotFound, Sandbox, SandboxDied, SandboxError
from conftest import children


def test_create_and_kill():
    sandbox = Sandbox(isolation="process")
    assert sandbox.pid in children()
    sandbox.kill()
    with pytest.raises(SandboxDied):
        sandbox.usage()


def test_sandboxes_of_a_program_share_one_process():
    with Sandbox(isolation="process") as first, Sandbox(isolation="process") as second:
        assert first.pid == second.pid and children().count(first.pid) == 1
        first.files.write("/tmp/a", "first")
        assert not second.files.exists("/tmp/a")
        first.kill()
        assert second.commands.run("echo alive").stdout == "alive\n"


def test_with_options():
    with Sandbox(timeout_ms=60_000, fs_limit_bytes=512 * 1024 * 1024) as sandbox:
        assert sandbox.commands.run("echo hello").stdout == "hello\n"


def test_options_are_by_name_only():
    with pytest.raises(TypeError):
        Sandbox(60_000)


def test_the_context_manager_ends_it():
    with Sandbox() as sandbox:
        assert sandbox.commands.run("echo hello").stdout == "hello\n"
    with pytest.raises(SandboxDied):
        sandbox.commands.run("true")


def test_kill_twice_is_fine():
    sandbox = Sandbox()
    sandbox.kill()
    sandbox.kill()


def test_after_kill_every_call_says_so():
    sandbox = Sandbox()
    sandbox.kill()
    for call in (lambda: sandbox.commands.run("true"), lambda: sandbox.files.read("/etc/passwd"),
                 lambda: sandbox.env.get("HOME"), sandbox.usage):
        with pytest.raises(SandboxDied, match="killed"):
            call()


def test_repr_tells_its_state():
    sandbox = Sandbox()
    assert repr(sandbox) == f"<cay.Sandbox pid {sandbox.pid}>"
    sandbox.kill()
    assert repr(sandbox) == "<cay.Sandbox killed>"


def test_a_wrong_option_is_an_error_and_leaves_no_process(leaves_nothing):
    with pytest.raises(SandboxError, match="timeout_ms") as caught:
        Sandbox(timeout_ms=0)
    assert caught.value.code == -32602
    del caught


def test_a_folder_without_guests_is_an_error(leaves_nothing):
    with pytest.raises(SandboxError) as caught:
        Sandbox(wasm_dir="/nowhere")
    assert caught.value.errno_name == "ENOENT"
    del caught


def test_a_missing_program_is_a_clear_runtime_error():
    with pytest.raises(RuntimeError, match="/nowhere/cay is not a program"):
        Sandbox(binary="/nowhere/cay")
    assert issubclass(BinaryNotFound, SandboxError)


def test_no_program_at_all_says_what_to_do(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CAY_BINARY", raising=False)
    monkeypatch.setattr("os.path.isfile", lambda path: False)
    with pytest.raises(BinaryNotFound, match="CAY_BINARY"):
        Sandbox()


def test_a_program_that_is_no_server_dies_with_its_words(tmp_path, leaves_nothing):
    program = tmp_path / "cay"
    program.write_text("#!/bin/sh\necho no server here >&2\nexit 7\n")
    program.chmod(0o755)
    with pytest.raises(SandboxDied, match="exit code 7; it said: no server here"):
        Sandbox(isolation="process", binary=str(program))


def test_a_program_that_talks_nonsense_is_not_waited_for(tmp_path, leaves_nothing):
    program = tmp_path / "cay"
    program.write_text("#!/bin/sh\nread line\necho nonsense\nsleep 1000\n")
    program.chmod(0o755)
    with pytest.raises(SandboxDied, match="cannot be understood"):
        Sandbox(isolation="process", binary=str(program))


def test_two_sandboxes_share_nothing(sandbox):
    with Sandbox() as other:
        sandbox.files.write("/tmp/x", "mine")
        assert not other.files.exists("/tmp/x")


def test_the_file_limit_holds():
    with Sandbox(fs_limit_bytes=100_000) as sandbox:
        with pytest.raises(SandboxError) as caught:
            sandbox.files.write("/tmp/x", b"x" * 200_000)
        assert caught.value.errno_name == "ENOSPC"
        sandbox.files.write("/tmp/x", b"x" * 1000)


def test_the_process_limit_holds():
    with Sandbox(process_limit=5) as sandbox:
        result = sandbox.commands.run("for i in 1 2 3 4 5 6 7 8; do sleep 5 & done; true", timeout_ms=10_000)
        assert "fork" in result.stderr


def test_the_limit_of_compiled_modules_holds():
    module = b"\0asm\1\0\0\0" + bytes(2000)
    with Sandbox(code_limit_bytes=1000) as sandbox:
        sandbox.files.write("/tmp/x", module)
        result = sandbox.commands.run("chmod +x /tmp/x; /tmp/x")
        assert result.exit_code == 126 and "quota exceeded" in result.stderr


def test_the_network_is_off_unless_given():
    with Sandbox() as sandbox:
        assert "The network is off in this sandbox" in sandbox.commands.run("wget -q -O- http://example.com/").stderr


def test_an_allowed_server_is_reached(page_server):
    with Sandbox(net={"allow": [f"127.0.0.1:{page_server}"], "hosts": {"web.test": "127.0.0.1"}}) as sandbox:
        assert sandbox.commands.run(f"wget -q -O- http://web.test:{page_server}/").stdout == "page\n"
        assert "Permission denied" in sandbox.commands.run(f"wget -q -O- http://host.cay.internal:{page_server + 1}/").stderr


def test_what_the_network_does_not_know_is_an_error():
    for net in ({"alow": []}, {"allow": "example.com"}, ["example.com"]):
        with pytest.raises(TypeError):
            Sandbox(net=net)
    with pytest.raises(cay.SandboxError, match="no network preset"):
        Sandbox(net={"preset": "everything"})


def test_a_server_inside_is_published():
    with Sandbox() as sandbox:
        port = sandbox.publish(8000)
        server = sandbox.commands.start("mkdir w; echo inside > w/index.html; exec python3 -m http.server -d w -b 127.0.0.1 8000")
        for _ in range(200):
            try:
                assert urllib.request.urlopen(f"http://127.0.0.1:{port}/").read() == b"inside\n"
                break
            except OSError:
                time.sleep(0.05)
        else:
            raise AssertionError("no answer")
        server.kill()


def test_environment_of_all_commands():
    with Sandbox(env={"GREETING": "hi there"}) as sandbox:
        assert sandbox.commands.run("echo $GREETING").stdout == "hi there\n"


def test_env_get_and_set(sandbox):
    assert sandbox.env.get("HOME") == "/home/agent"
    assert sandbox.env.get("FOO") is None
    sandbox.env.set("FOO", "bar é")
    assert sandbox.env.get("FOO") == "bar é"
    assert sandbox.commands.run("echo $FOO").stdout == "bar é\n"
    sandbox.env.set("FOO", None)
    assert sandbox.env.get("FOO") is None
    with pytest.raises(SandboxError) as caught:
        sandbox.env.set("A=B", "x")
    assert caught.value.errno_name == "EINVAL"


def test_usage(sandbox):
    sandbox.files.write("/tmp/x", b"x" * 100_000)
    sandbox.commands.run("true")
    usage = sandbox.usage()
    assert usage.fs_bytes >= 100_000
    assert usage.memory_peak_bytes > 0
    assert usage.syscalls > 0


def test_processor_time_is_limited_and_counted():
    with Sandbox(cpu_ms=200) as sandbox:
        result = sandbox.commands.run("while :; do :; done")
        assert (result.end, "processor time" in result.detail) == ("time", True), result
        assert sandbox.usage().cpu_ms >= 200
        stopped = sandbox.python.run("while True: pass")
        assert (stopped.end, "processor time" in stopped.detail) == ("time", True), stopped


def test_mount(sandbox, tmp_path):
    (tmp_path / "a").write_text("of the host\n")
    sandbox.mount(tmp_path, "/mnt/here")
    assert sandbox.commands.run("cat /mnt/here/a").stdout == "of the host\n"
    assert sandbox.commands.run("echo x > /mnt/here/b").exit_code != 0
    sandbox.unmount("/mnt/here")
    sandbox.mount(tmp_path, "/mnt/here", writable=True)
    assert sandbox.commands.run("echo x > /mnt/here/b").exit_code == 0
    assert (tmp_path / "b").read_text() == "x\n"
    with pytest.raises(SandboxError) as caught:
        sandbox.mount("/nowhere", "/mnt/other")
    assert caught.value.errno_name == "ENOENT"


def test_it_cannot_be_pickled(sandbox):
    with pytest.raises(TypeError):
        pickle.dumps(sandbox)


def test_texts_that_are_no_unicode_are_refused_here(sandbox):
    with pytest.raises(ValueError, match="half a surrogate pair"):
        sandbox.commands.run("echo \udc80")
    assert sandbox.commands.run("echo fine").ok


def test_a_command_that_is_too_long_is_refused_here(sandbox):
    with pytest.raises(SandboxError) as caught:
        sandbox.commands.run("x" * (65 << 20))
    assert caught.value.errno_name == "E2BIG"
    assert sandbox.commands.run("echo fine").ok


def test_asyncio_is_imported_only_when_wanted():
    code = "import cay, sys; assert 'asyncio' not in sys.modules; cay.AsyncSandbox; assert 'asyncio' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_all_names_are_there():
    for name in cay.__all__:
        assert getattr(cay, name) is not None
    with pytest.raises(AttributeError):
        cay.nothing


def test_one_hundred_one_after_the_other(leaves_nothing):
    start = time.monotonic()
    for number in range(100):
        with Sandbox() as sandbox:
            assert sandbox.commands.run(f"echo {number}").stdout == f"{number}\n"
    assert time.monotonic() - start < 300


def test_options_that_make_no_sense_are_told_before_anything_starts():
    for options, words in (({"packages": "x.whl"}, r"packages must be a list of paths: packages=\['x.whl'\]"),
                           ({"timeout_ms": float("nan")}, "timeout_ms must be a whole number, not nan"),
                           ({"env": {"A": None}}, "env must map str to str"),
                           ({"mounts": ["data"]}, "mounts must map paths"),
                           ({"files": {"a": 5}}, "files: a: must be str, bytes or a path, not int"),
                           ({"timeout": 5}, "timeout")):
        with pytest.raises(TypeError, match=words):
            Sandbox(**options)
    with pytest.raises(SandboxError, match="^fs_limit_bytes: must be from"):
        Sandbox(fs_limit_bytes=0)


def test_files_and_mounts_at_creation(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "f").write_text("of the host\n")
    with Sandbox(files={"a/b.txt": "text", "/tmp/raw": b"\xff", "copy": tmp_path / "data"},
                 mounts={"/ro": tmp_path / "data", "/rw": Mount(tmp_path / "data", writable=True)}) as sandbox:
        assert sandbox.files.read("a/b.txt") == b"text" and sandbox.files.read("/tmp/raw") == b"\xff"
        assert sandbox.commands.run("cat copy/f /ro/f").stdout == "of the host\n" * 2
        assert not sandbox.commands.run("echo > /ro/new").ok
        assert sandbox.commands.run("echo new > /rw/new").ok
    assert (tmp_path / "data" / "new").read_text() == "new\n"
    with pytest.raises(SandboxError, match="ENOENT"):
        Sandbox(mounts={"/m": tmp_path / "nothing"})


def test_a_mount_of_one_file(tmp_path):
    (tmp_path / "notes").write_text("mine\n")
    (tmp_path / "secret").write_text("secret\n")
    with Sandbox(mounts={"notes": tmp_path / "notes"}) as sandbox:
        assert sandbox.commands.run("cat notes; ls; cat notes/../secret").stdout == "mine\nnotes\n"
        assert not sandbox.commands.run("echo x > notes").ok
        sandbox.unmount("notes")
        sandbox.mount(tmp_path / "notes", "notes", writable=True)
        assert sandbox.commands.run("echo more >> notes").ok
    assert (tmp_path / "notes").read_text() == "mine\nmore\n"
