"""of_trio - structured concurrency: Trio waits with epoll, wakes itself by signals and sockets, and has threads."""
import signal

import trio

import each


def test_children_of_a_nursery_sleep_side_by_side():
    ended = []

    async def child(number):
        await trio.sleep(0.02 * number)
        ended.append(number)

    async def main():
        async with trio.open_nursery() as nursery:
            for number in (1, 2, 3):
                nursery.start_soon(child, number)

    trio.run(main)
    assert sorted(ended) == [1, 2, 3]


def test_time_that_is_up_cancels():
    async def main():
        with trio.move_on_after(0.01) as scope:
            await trio.sleep_forever()
        return scope.cancelled_caught

    assert trio.run(main)


def test_a_failure_cancels_the_other_children():
    async def main():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            raise ValueError("wrong")

    try:
        trio.run(main)
    except* ValueError as group:
        assert [str(e) for e in group.exceptions] == ["wrong"]
    else:
        raise AssertionError("no failure")


def test_channels_pass_values_on():
    async def main():
        send, receive = trio.open_memory_channel(0)

        async def produce():
            async with send:
                for i in range(5):
                    await send.send(i)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(produce)
            return [value async for value in receive]

    assert trio.run(main) == [0, 1, 2, 3, 4]


def test_threads_and_processes():
    async def main():
        inside = await trio.to_thread.run_sync(lambda: trio.from_thread.run_sync(lambda: 42))
        done = await trio.run_process(["sh", "-c", "echo said"], capture_stdout=True)
        return inside, done.stdout

    assert trio.run(main) == (42, b"said\n")


def test_a_server_and_its_client():
    async def serve(stream):
        async with stream:
            async for data in stream:
                await stream.send_all(data.upper())

    async def main():
        async with trio.open_nursery() as nursery:
            listeners = await nursery.start(trio.serve_tcp, serve, 0)
            async with await trio.open_tcp_stream("127.0.0.1", listeners[0].socket.getsockname()[1]) as stream:
                await stream.send_all(b"abc")
                got = await stream.receive_some(10)
            nursery.cancel_scope.cancel()
        return got

    assert trio.run(main) == b"ABC"


def test_signals_are_events():
    async def main():
        with trio.open_signal_receiver(signal.SIGUSR1) as signals:
            signal.raise_signal(signal.SIGUSR1)
            async for number in signals:
                return number

    assert trio.run(main) == signal.SIGUSR1


each.run(globals())
