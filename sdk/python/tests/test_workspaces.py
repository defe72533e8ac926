"""Workspaces, by the package."""
import asyncio
import pathlib

import pytest

from cay import AsyncWorkspaces, WorkspaceError, Workspaces
from cay._binary import find

MANIFEST = {"entries": [{"type": "file", "path": "a", "content": "one\n"}, {"type": "directory", "path": "d"}], "env": {"NAME": "cay"}}


def test_a_session_runs_commands_and_has_files(tmp_path):
    with Workspaces() as workspaces:
        session = workspaces.provision(MANIFEST)
        done = session.exec("cat a; echo $NAME $X >&2; exit 3", env={"X": "y"})
        assert (done.stdout, done.stderr, done.exit_code, done.timed_out) == ("one\n", "cay y\n", 3, False)
        session.write_file("d/new", b"\xff")
        assert session.read_file("d/new") == b"\xff"
        assert [(e.name, e.type) for e in session.list_dir()] == [("a", "file"), ("d", "directory")]
        session.apply_patch("--- a\n+++ a\n@@ -1 +1 @@\n-one\n+two\n")
        assert session.read_file("a") == b"two\n"
        assert session.exec("sleep 100", timeout_ms=200).timed_out


def test_a_snapshot_is_resumed_in_another_process(tmp_path):
    with Workspaces(tmp_path) as workspaces:
        session = workspaces.provision(MANIFEST)
        id = session.snapshot()
        session.exec("rm -r *")
        session.stop()
        with pytest.raises(WorkspaceError) as refused:
            session.exec("true")
        assert refused.value.name == "SessionNotFound"
    with Workspaces(tmp_path) as workspaces:
        assert [s.id for s in workspaces.snapshots()] == [id]
        assert workspaces.resume(id).read_file("a") == b"one\n"
        workspaces.delete(id)
        with pytest.raises(WorkspaceError) as refused:
            workspaces.resume(id)
        assert refused.value.name == "SnapshotNotFound"


def test_a_parked_session_goes_on_in_another_process(tmp_path):
    with Workspaces(tmp_path) as workspaces:
        session = workspaces.provision(MANIFEST)
        session.park()
    with Workspaces(tmp_path) as workspaces:
        assert workspaces.start(session.handle).exec("cat a").stdout == "one\n"


def test_failures_have_names():
    with Workspaces() as workspaces:
        for manifest, name in (({"entries": [{"type": "directory", "path": "/x"}]}, "PathTraversal"), ({"entry": []}, "InvalidRequest"),
                               ({"entries": [{"type": "git_repo", "url": "ssh://x", "path": "r"}]}, "ProvisionFailed")):
            with pytest.raises(WorkspaceError) as refused:
                workspaces.provision(manifest)
            assert refused.value.name == name


def test_output_comes_as_it_is_written_and_processes_go_on():
    with Workspaces() as workspaces:
        session = workspaces.provision(MANIFEST)
        heard = []
        done = session.exec("echo one; echo two >&2; echo three", on_stdout=heard.append, on_stderr=heard.append)
        assert done.exit_code == 0 and "".join(sorted("".join(heard).splitlines())) == "onethreetwo"
        with pytest.raises(WorkspaceError):
            session.exec("true", working_dir="missing", on_stdout=heard.append)
        with session.start("while read x; do echo got $x; done; exit 3") as process:
            with pytest.raises(WorkspaceError) as late:
                process.wait(0.01)
            assert late.value.name == "Timeout"
            process.write("one\n")
            process.end_input()
            ended = process.wait()
            assert (ended.stdout, ended.exit_code) == ("got one\n", 3)
        killed = session.start("sleep 1000")
        killed.kill()
        assert killed.wait().exit_code == 124
        assert [s.state for s in workspaces.sessions()] == ["running"]


def test_patches_take_fuzz_and_strip():
    with Workspaces() as workspaces:
        session = workspaces.provision(MANIFEST)
        session.write_file("a", "0\n1\n2\n")
        patch = "--- o/x/a\n+++ n/x/a\n@@ -1,3 +1,3 @@\n other\n-1\n+one\n 2\n"
        for refused in {"strip": 1}, {"strip": 2, "strict": True}, {"strip": 2, "fuzz": 0}:
            with pytest.raises(WorkspaceError):
                session.apply_patch(patch, **refused)
        session.apply_patch(patch, strip=2, fuzz=1)
        assert session.read_file("a") == b"0\none\n2\n"


def test_the_store_is_cared_for(tmp_path):
    with Workspaces(tmp_path) as workspaces:
        session = workspaces.provision(MANIFEST)
        ids = [session.snapshot() for _ in range(3)]
        assert workspaces.fsck() == []
        assert workspaces.prune(keep=1) == 2
        assert [s.id for s in workspaces.snapshots()] == ids[2:]


def test_the_same_for_asyncio(tmp_path):
    async def work():
        async with AsyncWorkspaces(tmp_path) as workspaces:
            session = await workspaces.provision(MANIFEST)
            heard = []

            async def hear(text):
                heard.append(text)

            assert (await session.exec("cat a", on_stdout=hear)).stdout == "one\n"
            assert "".join(heard) == "one\n"
            await session.write_file("d/new", "x")
            assert await session.read_file("d/new") == b"x"
            assert [e.name for e in await session.list_dir("d")] == ["new"]
            process = await session.start("cat")
            await process.write("in")
            await process.end_input()
            assert (await process.wait()).stdout == "in"
            id = await session.snapshot()
            assert [s.id for s in await workspaces.snapshots()] == [id]
            await session.stop()
            with pytest.raises(WorkspaceError) as refused:
                await session.exec("true")
            assert refused.value.name == "SessionNotFound"
            assert (await workspaces.fsck(), await workspaces.prune(keep=1)) == ([], 0)
            again = await workspaces.resume(id)
            await again.write_file("a", "0\n1\n2\n")
            await again.apply_patch("--- o/x/a\n+++ n/x/a\n@@ -1,3 +1,3 @@\n other\n-1\n+one\n 2\n", strip=2, fuzz=1)
            assert await again.read_file("a") == b"0\none\n2\n"
            async with await again.start("sleep 1000") as sleeper:
                pass
            assert (await sleeper.wait()).exit_code == 124
            await again.write_file("a", "one\n")
            assert (await asyncio.gather(again.exec("cat d/new"), again.exec("cat a")))[0].stdout == "x"

    asyncio.run(work())


def program(folder, *lines):
    """The program of the package, started by a script that takes something away before."""
    path = folder / "cay"
    path.write_text("\n".join(["#!/bin/sh", *lines, f"exec '{find()}' \"$@\"", ""]))
    path.chmod(0o755)
    return str(path)


def damaged_guests(folder):
    """Guests whose shell was cut, its module and its compiled code, as by a disk that was full."""
    guests, place = pathlib.Path(find()).parents[1] / "lib/cay/guest", folder / "guests"
    place.mkdir()
    for path in guests.iterdir():
        if path.name in ("bash.wasm", "bash.cwasm"):
            (place / path.name).write_bytes(path.read_bytes()[:100_000])
        else:
            (place / path.name).symlink_to(path.resolve())
    return place


def exec_with(binary):
    with Workspaces(binary=binary) as workspaces:
        workspaces.provision({}).exec("true")


PROVOKED = {
    "ProvisionFailed": lambda w, s, folder: w.provision({"entries": [{"type": "git_repo", "url": "ssh://x", "path": "r"}]}),
    "PathTraversal": lambda w, s, folder: s.read_file("../x"),
    "SessionNotFound": lambda w, s, folder: w.start("session-0"),
    "SnapshotNotFound": lambda w, s, folder: w.resume("snap-0"),
    "ExecutionFailed": lambda w, s, folder: s.read_file("missing"),
    "Timeout": lambda w, s, folder: s.start("sleep 10").wait(0.01),
    "MemoryExceeded": lambda w, s, folder: w.provision({"limits": {"memory": 1_000_000}}).exec("true"),
    "InvalidRequest": lambda w, s, folder: w.provision({"entries": 1}),
    "BackendUnavailable": lambda w, s, folder: Workspaces("/proc/version/x"),
    "EnforcerFailed": lambda w, s, folder: exec_with(program(folder, f"export CAY_GUESTS='{damaged_guests(folder)}'")),
    "EnforcerUnavailable": lambda w, s, folder: exec_with(program(folder, "ulimit -v 1048576")),
    "PolicyViolation": lambda w, s, folder: s.write_file("big", b"x" * (2 << 20)),
}


@pytest.mark.parametrize("name", PROVOKED)
def test_each_failure_of_the_contract_comes_by_its_name(name, tmp_path):
    with Workspaces(tmp_path / "store") as workspaces:
        session = workspaces.provision({"limits": {"disk": 1 << 20}})
        with pytest.raises(WorkspaceError) as refused:
            PROVOKED[name](workspaces, session, tmp_path)
        assert refused.value.name == name and str(refused.value), refused.value


def test_the_failures_are_those_of_the_contract():
    assert len(PROVOKED) == 12


def test_a_clone_tells_of_its_progress(tmp_path):
    import subprocess
    repository = tmp_path / "repo"
    script = "git init -q . && for i in 1 2 3; do echo $i > f$i; done && git add -A && git -c user.name=a -c user.email=a@b commit -qm one"
    repository.mkdir()
    subprocess.run(["sh", "-c", script], cwd=repository, check=True)
    manifest = {"entries": [{"type": "git_repo", "path": "r", "url": f"file://{repository}"}]}
    told = []
    with Workspaces(git_files=tmp_path) as workspaces:
        try:
            session = workspaces.provision(manifest, on_progress=lambda path, received, total: told.append((path, received, total)))
        except WorkspaceError as problem:
            assert problem.name == "ProvisionFailed" and "cay-git is not installed" in str(problem)
            return  # the package brings no cay-git
        assert session.read_file("r/f2") == b"2\n"
        assert {path for path, _, _ in told} == {"r"} and told[-1][1] == told[-1][2] == 5
