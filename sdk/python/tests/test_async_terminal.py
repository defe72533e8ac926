import asyncio
import hashlib
import os
import signal

import pytest

from cay import AsyncSandbox, SandboxDied, SandboxError, SandboxTimeout


def run(body, **options):
    async def with_sandbox():
        async with AsyncSandbox(**options) as sandbox:
            await body(sandbox)
    asyncio.run(with_sandbox())


async def until(terminal, text):
    shown = ""
    while text not in shown:
        more = await terminal.read(timeout=600)
        assert more, shown
        shown += more
    return shown


def test_a_shell_is_talked_to():
    async def body(sandbox):
        async with sandbox.commands.terminal("exec bash", rows=10, cols=50) as terminal:
            await until(terminal, "$ ")
            await terminal.write("tty; stty size\n")
            await until(terminal, "/dev/pts/0\r\n10 50\r\n")
            await terminal.resize(11, 60)
            await terminal.write(b"stty size\n")
            await until(terminal, "11 60\r\n")
            await terminal.write("exit 3\n")
            result = await terminal.wait()
            assert result.exit_code == 3 and "11 60" in result.stdout and result.stderr == ""
            assert await terminal.read() == ""
            with pytest.raises(SandboxError):
                await terminal.write("late")
            await terminal.resize(1, 1)
    run(body)


def test_it_is_awaited_or_says_that_it_was_not_started():
    async def body(sandbox):
        terminal = sandbox.commands.terminal("echo ready; sleep 1000")
        with pytest.raises(SandboxError, match="not started"):
            await terminal.read()
        assert await terminal is terminal
        await until(terminal, "ready\r\n")
        await terminal.kill()
        assert (await terminal.wait()).end == "cancelled"
        await terminal.kill()
    run(body)


def test_nothing_new_is_a_timeout_and_leaving_ends_it():
    async def body(sandbox):
        async with sandbox.commands.terminal("echo ready; sleep 1000") as terminal:
            await until(terminal, "ready\r\n")
            with pytest.raises(SandboxTimeout):
                await terminal.read(timeout=0.05)
        assert (await terminal.wait()).end == "cancelled"
    run(body)


def test_a_reader_that_is_cancelled_loses_nothing():
    async def body(sandbox):
        async with sandbox.commands.terminal("cat; echo end", env={"TERM": "dumb"}, cwd="/tmp") as terminal:
            reader = asyncio.ensure_future(terminal.read())
            await asyncio.sleep(0.05)
            reader.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reader
            await terminal.write("line\n")
            await until(terminal, "line\r\nline\r\n")
            await terminal.end_input()
            assert "".join([text async for text in terminal]) == "end\r\n"
    run(body)


def test_several_at_once_and_the_loop_goes_on():
    async def body(sandbox):
        lines = "".join(f"line {number}\n" for number in range(10000))

        async def digest():
            command = "stty -echo -icanon -opost; echo ready; head -c %d | md5sum" % len(lines)
            async with sandbox.commands.terminal(command) as terminal:
                await until(terminal, "ready\n")
                await terminal.write(lines)
                return (await terminal.wait()).stdout

        expected = hashlib.md5(lines.encode()).hexdigest()
        first, second, word = await asyncio.gather(digest(), digest(), sandbox.commands.run("echo word"))
        assert expected in first and expected in second and word.stdout == "word\n"
    run(body)


def test_a_sandbox_that_is_gone_ends_the_reader():
    async def body(sandbox):
        terminal = await sandbox.commands.terminal("sleep 1000")
        reader = asyncio.ensure_future(terminal.read())
        await asyncio.sleep(0.05)
        os.kill(sandbox.pid, signal.SIGKILL)
        with pytest.raises(SandboxDied):
            await reader
        await terminal.kill()
    run(body, isolation="process")
