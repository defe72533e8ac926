import asyncio
import inspect

import pytest

import cay.aio
import cay.commands
import cay.files
import cay.process
import cay.python
import cay.sandbox
import cay.terminal
from cay import AsyncSandbox, CommandFailed, Sandbox, SandboxDied, SandboxError, SandboxTimeout
from conftest import NO_SLEEP


def run(coroutine):
    return asyncio.run(coroutine)


def test_the_same_surface():
    async def body():
        async with AsyncSandbox(env={"A": "b"}) as sandbox:
            assert (await sandbox.commands.run("echo $A | tr a-z A-Z")).stdout == "B\n"
            await sandbox.files.write("/tmp/d/f", "héllo")
            assert await sandbox.files.read("/tmp/d/f") == "héllo".encode()
            assert await sandbox.files.read_text("/tmp/d/f") == "héllo"
            assert [e.name for e in await sandbox.files.list("/tmp/d")] == ["f"]
            await sandbox.files.mkdir("/tmp/e")
            await sandbox.files.rename("/tmp/d/f", "/tmp/e/g")
            await sandbox.files.symlink("g", "/tmp/e/l")
            assert (await sandbox.files.stat("/tmp/e/l")).size == 6
            await sandbox.files.rm("/tmp/e", recursive=True)
            assert not await sandbox.files.exists("/tmp/e")
            await sandbox.env.set("X", "y")
            assert await sandbox.env.get("X") == "y"
            assert (await sandbox.usage()).files > 0
            assert repr(sandbox) == f"<cay.AsyncSandbox pid {sandbox.pid}>"
    run(body())


PAIRS = [(Sandbox, AsyncSandbox), (cay.commands.Commands, cay.aio.AsyncCommands), (cay.files.Files, cay.aio.AsyncFiles),
         (cay.sandbox.Env, cay.aio.AsyncEnv), (cay.python.Session, cay.aio.AsyncSession), (cay.process.Process, cay.AsyncProcess),
         (cay.terminal.Terminal, cay.AsyncTerminal)]


@pytest.mark.parametrize("one, other", PAIRS)
def test_every_method_has_its_counterpart_with_the_same_parameters(one, other):
    for name, member in vars(one).items():
        if name.startswith("_"):
            continue
        assert hasattr(other, name), f"{other.__name__} has no {name}"
        if inspect.isfunction(member):
            theirs = set(inspect.signature(getattr(other, name)).parameters)
            assert set(inspect.signature(member).parameters) - {"timeout"} <= theirs, name
    assert set(inspect.signature(Sandbox).parameters) == set(inspect.signature(AsyncSandbox).parameters)


def test_snapshots_and_forks():
    async def body():
        async with AsyncSandbox() as sandbox:
            await sandbox.python.run("x = [1]")
            before = await sandbox.snapshot("the start")
            copy = await sandbox.fork()
            assert (await copy.python.run("x.append(2); x")).value == [1, 2]
            await copy.kill()
            assert (await sandbox.python.run("x")).value == [1]
            async with AsyncSandbox(snapshot=before) as old:
                assert (await old.python.run("x")).value == [1]
            with Sandbox(snapshot=before) as old:
                assert old.python.run("x").value == [1]
        with pytest.raises(TypeError, match=r"Snapshot\.load"):
            AsyncSandbox(snapshot="file.snap")

    run(body())


def test_it_can_be_awaited():
    async def body():
        sandbox = await AsyncSandbox()
        other = await AsyncSandbox.create(timeout_ms=100)
        assert (await other.commands.run("sleep 10")).timed_out
        await other.kill()
        await sandbox.kill()
        await sandbox.kill()
        with pytest.raises(SandboxDied):
            await sandbox.commands.run("true")
    run(body())


def test_before_the_start_it_says_so():
    async def body():
        sandbox = AsyncSandbox()
        with pytest.raises(SandboxDied, match="not started"):
            await sandbox.usage()
        assert repr(sandbox) == "<cay.AsyncSandbox not started>"
    run(body())


def test_many_at_once():
    async def body():
        async with AsyncSandbox() as sandbox:
            results = await asyncio.gather(*(sandbox.commands.run(f"sleep 0.1; echo {i}") for i in range(20)))
            assert [r.stdout for r in results] == [f"{i}\n" for i in range(20)]
    run(body())


def test_callbacks_of_both_kinds():
    async def body():
        out, err = [], []

        async def later(text):
            await asyncio.sleep(0)
            err.append(text)

        async with AsyncSandbox() as sandbox:
            result = await sandbox.commands.run("echo 1; echo 2 >&2", on_stdout=out.append, on_stderr=later)
        assert (out, err, result.stdout) == (["1\n"], ["2\n"], "1\n")
    run(body())


def test_much_output_at_the_clients_pace():
    async def body():
        total = 0

        def count(text):
            nonlocal total
            total += len(text)

        async with AsyncSandbox() as sandbox:
            await sandbox.commands.run("yes | head -c 20000000", on_stdout=count)
        assert total == 20_000_000
    run(body())


def test_a_cancelled_task_ends_its_command():
    async def body():
        async with AsyncSandbox() as sandbox:
            task = asyncio.ensure_future(sandbox.commands.run("touch began; sleep 1000"))
            while not await sandbox.files.exists("began"):
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await sandbox.commands.run(NO_SLEEP)).ok
    run(body())


def test_nothing_of_a_cancelled_command_runs_on():
    async def body():
        async with AsyncSandbox() as sandbox:
            for line in ("sleep 1000", "trap '' TERM INT; while :; do :; done") * 5:
                for options in ({}, {"on_stdout": print}):
                    with pytest.raises(asyncio.TimeoutError):
                        await asyncio.wait_for(sandbox.commands.run(line, **options), 0.03)
                    assert await sandbox.commands.list() == []

    run(body())


def test_errors():
    async def body():
        async with AsyncSandbox() as sandbox:
            with pytest.raises(SandboxError) as caught:
                await sandbox.files.read("/nowhere")
            assert caught.value.errno_name == "ENOENT"
            with pytest.raises(CommandFailed):
                await sandbox.commands.run("false", check=True)
    run(body())


def test_large_files_and_directories(tmp_path):
    async def body():
        (tmp_path / "d").mkdir()
        (tmp_path / "d" / "f").write_bytes(b"x" * (9 << 20))
        async with AsyncSandbox() as sandbox:
            await sandbox.files.upload(tmp_path / "d", "/tmp/d")
            data = await sandbox.files.read("/tmp/d/f")
            assert data == b"x" * (9 << 20)
            await sandbox.files.write("/tmp/d/g", data)
            await sandbox.files.download("/tmp/d", tmp_path / "e")
        assert (tmp_path / "e" / "g").stat().st_size == 9 << 20
    run(body())


def test_nothing_is_left_when_the_loop_ends_without_kill(leaves_nothing):
    async def body():
        sandbox = await AsyncSandbox()
        await sandbox.commands.run("true")
    run(body())
    import gc
    gc.collect()


def test_sandbox_that_is_not_started_says_so():
    sandbox = AsyncSandbox()
    for use in (lambda: sandbox.commands, lambda: sandbox.files, lambda: sandbox.python.run, lambda: sandbox.pid):
        with pytest.raises(SandboxDied, match="async with AsyncSandbox"):
            use()
    with pytest.raises(TypeError, match="async with"):
        with sandbox:
            pass
    assert not hasattr(sandbox, "nothing")


def test_background_files_and_mounts(tmp_path):
    async def body():
        async with AsyncSandbox(files={"f": "x"}, mounts={"/m": tmp_path}) as sandbox:
            process = await sandbox.commands.start("cat f; echo; read line; echo got $line; exit 3", cwd="/home/agent")
            assert await process.wait_for_output("x\n", 600) == "x\n"
            assert [c.pid for c in await sandbox.commands.list()] == [process.pid]
            await process.write("one\n")
            result = await process.wait(600)
            assert (result.exit_code, result.stdout) == (3, "x\ngot one\n")
            async with await sandbox.commands.start("sleep 1000") as process:
                with pytest.raises(SandboxTimeout):
                    await process.wait(0.05)
            assert (await process.wait(600)).end == "cancelled"
            assert (await sandbox.commands.run("printf '\\377'", binary=True)).stdout_bytes == b"\xff"
            assert b"".join([piece async for piece in sandbox.files.stream("f")]) == b"x"
            with pytest.raises(SandboxError, match="EFBIG"):
                await sandbox.files.read("f", limit=0)

    asyncio.run(body())
