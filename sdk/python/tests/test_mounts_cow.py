"""Copy-on-write mounts."""
import asyncio

import pytest

from cay import AsyncSandbox, Change, Mount, Sandbox, SandboxError


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "dir").mkdir()
    (tmp_path / "a").write_text("one\n")
    (tmp_path / "dir" / "b").write_text("b\n")
    return tmp_path


def test_changes_stay_in_the_sandbox_until_they_are_applied(tree):
    with Sandbox(mounts={"/w": Mount(tree, copy_on_write=True)}) as sandbox:
        sandbox.commands.run("echo two > a; rm -r dir; echo n > n", cwd="/w", check=True)
        assert [(c.path, c.kind) for c in sandbox.mount_changes("/w")] == [
            ("a", "changed"), ("dir", "removed"), ("dir/b", "removed"), ("n", "added")]
        assert (tree / "a").read_text() == "one\n" and (tree / "dir" / "b").exists()
        assert "-one\n+two\n" in sandbox.mount_patch("/w")
        assert sandbox.mount_apply("/w", only=["dir", "n"]) == 3
        assert sorted(p.name for p in tree.iterdir()) == ["a", "n"]
        assert sandbox.mount_changes("/w") == [Change("a", "changed", True)]
        assert sandbox.mount_apply("/w") == 1
        assert (tree / "a").read_text() == "two\n"
        assert sandbox.mount_changes("/w") == []


def test_what_this_machine_changed_is_not_overwritten(tree):
    with Sandbox() as sandbox:
        sandbox.mount(tree, "/w", copy_on_write=True)
        sandbox.files.write("/w/a", "two\n")
        (tree / "a").write_text("by another program\n")
        assert sandbox.mount_changes("/w") == [Change("a", "changed", True, host_changed=True)]
        with pytest.raises(SandboxError, match="EEXIST.*a was changed"):
            sandbox.mount_apply("/w")
        with pytest.raises(SandboxError, match="EEXIST"):
            sandbox.mount_patch("/w")
        assert (tree / "a").read_text() == "by another program\n"


def test_the_same_for_asyncio_and_forks(tree):
    async def work():
        async with AsyncSandbox(mounts={"/w": Mount(tree, copy_on_write=True)}) as sandbox:
            await sandbox.files.write("/w/a", "two\n")
            await sandbox.files.write("f", "kept")
            assert await sandbox.mount_changes("/w") == [Change("a", "changed", True)]
            assert "+two" in await sandbox.mount_patch("/w")
            copy = await sandbox.fork()
            assert await copy.files.read("f") == b"kept"
            assert not await copy.files.exists("/w/a")  # mounts are not copied
            await copy.kill()
            before = await sandbox.snapshot("before")
            async with AsyncSandbox(snapshot=before) as again:
                assert await again.files.read("f") == b"kept"
            assert await sandbox.mount_apply("/w") == 1
            assert (tree / "a").read_text() == "two\n"

    asyncio.run(work())
