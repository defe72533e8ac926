"""peers.py - the work of session.c in other sandboxes for Python, and in native Python. One number a line.

  peers.py eryx|monty|native new|eval|loop|callback|gather|freeze|restore|stop COUNT
"""
import subprocess
import sys
import time


def now():
    return time.perf_counter()


def say(seconds, scale=1e6):
    print(f"{seconds * scale:.3f}")


class Native:
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
    def __init__(self):
        import eryx
        self.eryx = eryx

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
    def __init__(self):
        import pydantic_monty
        self.monty = pydantic_monty

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
    side = {"native": Native, "eryx": Eryx, "monty": Monty}[sys.argv[1]]()
    work = getattr(side, sys.argv[2], None)
    if work is None:
        print("0")  # it has nothing like it
        return
    work(int(sys.argv[3]))


if __name__ == "__main__":
    main()
