"""peers.py - the work of session.c in other sandboxes for Python, in native Python, and through the Python package. One number a line.

  peers.py eryx|monty|native|bwrap|process|library WHAT COUNT

`process` and `library` are the two isolations of the package cay. WHAT: first, new, eval, loop, other, callback, async, gather, true, open, freeze,
restore, stop.
"""
import asyncio
import os
import subprocess
import sys
import time


def now():
    return time.perf_counter()


def say(seconds, scale=1e6):
    print(f"{seconds * scale:.3f}")


def resident():
    """Bytes of this process and its children."""
    total, mine = 0, os.getpid()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
            if mine not in (int(name), parent):
                continue
            with open(f"/proc/{name}/smaps_rollup") as rollup:
                total += sum(int(line.split()[1]) for line in rollup if line.startswith("Pss:")) * 1024
        except OSError:
            pass
    return total


class Package:
    """The package cay."""

    def __init__(self, isolation):
        os.environ["CAY_ISOLATION"] = isolation

    def first(self, _count):
        start = now()
        from cay import Sandbox
        with Sandbox() as sandbox:
            sandbox.python.run("print(1)")
        say(now() - start, 1e3)

    def new(self, count):
        from cay import Sandbox
        Sandbox().python.run("1")
        for _ in range(count):
            start = now()
            with Sandbox() as sandbox:
                sandbox.python.run("print(1)")
            say(now() - start)

    def eval(self, count):
        from cay import Sandbox
        with Sandbox() as sandbox:
            sandbox.python.run("x = 0")
            for _ in range(count):
                start = now()
                sandbox.python.run("x += 1")
                say(now() - start)

    loop = eval

    def other(self, count):
        from cay import Sandbox
        with Sandbox() as sandbox:
            sandbox.python.run("x = 0")
            for number in range(count):
                start = now()
                sandbox.python.run(f"x += {number + 1000}")
                say(now() - start)

    def callback(self, count):
        from cay import Sandbox
        with Sandbox(callbacks={"echo": lambda: 1}) as sandbox:
            sandbox.python.run("x = 0")
            start = now()
            sandbox.python.run(f"for i in range({count}): await echo()", check=True)
            say((now() - start) / count)

    def _async(self, count):
        from cay import AsyncSandbox

        async def echo():
            return 1

        async def body():
            async with AsyncSandbox(callbacks={"echo": echo}) as sandbox:
                await sandbox.python.run("x = 0")
                start = now()
                await sandbox.python.run(f"for i in range({count}): await echo()", check=True)
                say((now() - start) / count)

        asyncio.run(body())

    def gather(self, count):
        from cay import Sandbox
        with Sandbox(callbacks={"slow": lambda: time.sleep(0.01)}) as sandbox:
            sandbox.python.run("import asyncio")
            for _ in range(count):
                start = now()
                sandbox.python.run("len(await asyncio.gather(*(slow() for i in range(100))))", check=True)
                say(now() - start, 1e3)

    def true(self, count):
        from cay import Sandbox
        with Sandbox() as sandbox:
            sandbox.commands.run("true")
            for _ in range(count):
                start = now()
                sandbox.commands.run("true")
                say(now() - start)

    def open(self, count):
        from cay import Sandbox
        first = Sandbox()
        first.python.run("1")
        before = resident()
        many = [Sandbox() for _ in range(count)]
        say((resident() - before) / len(many), 1)


class Bwrap:
    def true(self, count):
        for _ in range(count):
            start = now()
            subprocess.run(["bwrap", "--ro-bind", "/", "/", "--tmpfs", "/tmp", "--dev", "/dev", "--proc", "/proc", "--unshare-all",
                            "--die-with-parent", "bash", "-c", "true"], check=True)
            say(now() - start)


class Native:
    def true(self, count):
        for _ in range(count):
            start = now()
            subprocess.run(["bash", "-c", "true"], check=True)
            say(now() - start)

    def new(self, count):
        for _ in range(count):
            start = now()
            subprocess.run([sys.executable, "-c", "print(1)"], stdout=subprocess.DEVNULL, check=True)
            say(now() - start)

    def eval(self, count):
        names = {"x": 0}
        for _ in range(count):
            start = now()
            exec(compile("x += 1", "<cell>", "exec"), names)
            say(now() - start)

    loop = eval


class Eryx:
    @property
    def eryx(self):
        import eryx
        return eryx

    def first(self, _count):
        start = now()
        import eryx
        eryx.Sandbox().execute("print(1)")
        say(now() - start, 1e3)

    def new(self, count):
        self.eryx.Sandbox().execute("print(1)")
        for _ in range(count):
            start = now()
            self.eryx.Sandbox().execute("print(1)")
            say(now() - start)

    def eval(self, count):
        session = self.eryx.Session()
        session.execute("x = 0")
        for _ in range(count):
            start = now()
            session.execute("x += 1")
            say(now() - start)

    loop = eval

    def session(self, callbacks):
        return self.eryx.Session(callbacks=[{"name": name, "fn": fn, "description": ""} for name, fn in callbacks.items()])

    def callback(self, count):
        session = self.session({"echo": lambda: "1"})
        session.execute("x = 0")
        start = now()
        session.execute(f"for i in range({count}): await invoke('echo')")
        say((now() - start) / count)

    def gather(self, count):
        session = self.session({"slow": lambda: time.sleep(0.01) or "1"})
        session.execute("import asyncio")
        for _ in range(count):
            start = now()
            session.execute("await asyncio.gather(*(invoke('slow') for i in range(100)))")
            say(now() - start, 1e3)

    def freeze(self, _count):
        session = self.eryx.Session()
        session.execute("data = list(range(1000000))")
        start = now()
        state = session.snapshot_state()
        say(now() - start, 1e3)
        return state

    def restore(self, _count):
        session = self.eryx.Session()
        session.execute("data = list(range(1000000))")
        state = session.snapshot_state()
        start = now()
        session.restore_state(state)
        say(now() - start, 1e3)

    def stop(self, _count):
        session = self.eryx.Session(execution_timeout_ms=100)
        session.execute("x = 1")
        start = now()
        try:
            session.execute("while True: pass")
        except Exception:
            pass
        say(now() - start - 0.1, 1e3)


class Monty:
    @property
    def monty(self):
        import pydantic_monty
        return pydantic_monty

    def first(self, _count):
        start = now()
        with self.monty.Monty() as pool, pool.checkout() as session:
            session.feed_run("print(1)", print_callback=lambda *_: None)
        say(now() - start, 1e3)

    def new(self, count):
        for _ in range(count):
            start = now()
            with self.monty.Monty() as pool, pool.checkout() as session:
                session.feed_run("print(1)", print_callback=lambda *_: None)
            say(now() - start)

    def eval(self, count):
        with self.monty.Monty() as pool, pool.checkout() as session:
            session.feed_run("x = 0")
            for _ in range(count):
                start = now()
                session.feed_run("x += 1")
                say(now() - start)

    loop = eval

    def callback(self, count):
        with self.monty.Monty() as pool, pool.checkout() as session:
            session.feed_run("x = 0")
            start = now()
            session.feed_run(f"for i in range({count}): echo()", external_lookup={"echo": lambda: 1})
            say((now() - start) / count)

    def freeze(self, _count):
        with self.monty.Monty() as pool, pool.checkout() as session:
            session.feed_run("data = list(range(1000000))")
            start = now()
            session.dump()
            say(now() - start, 1e3)

    def stop(self, _count):
        with self.monty.Monty() as pool, pool.checkout(limits={"max_feed_duration_secs": 0.1}) as session:
            start = now()
            try:
                session.feed_run("while True: pass")
            except Exception:
                pass
            say(now() - start - 0.1, 1e3)


def main():
    name = sys.argv[1]
    side = Package(name) if name in ("process", "library") else {"native": Native, "bwrap": Bwrap, "eryx": Eryx, "monty": Monty}[name]()
    work = getattr(side, {"async": "_async"}.get(sys.argv[2], sys.argv[2]), None)
    if work is None:
        print("0")  # it has nothing like it
        return
    work(int(sys.argv[3]))


if __name__ == "__main__":
    main()
