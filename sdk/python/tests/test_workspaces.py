"""Workspaces, by the package."""
import pytest

from cay import WorkspaceError, Workspaces

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
