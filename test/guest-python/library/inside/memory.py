"""Objects come and go: what the build calls directly (guest/recipes/python.d/direct.c) counts, traces and frees as before."""
import gc
import subprocess
import sys
import tracemalloc

import each

COLD = "/usr/libexec/cay/python3"  # not from an image, which has chosen already


class Real(float):
    pass


class Whole(int):
    pass


class Text(str):
    pass


def churn(times):
    for i in range(times):
        values = [i * 1.5, i + 10 ** 6, -i - 10 ** 30, i % 7, str(i), "ж" * (i % 50), bytes(i % 600), Real(i), Whole(i), Text(i)]
        values.append(dict.fromkeys(values[:5]))
    del values


def test_freed_memory_is_reused():
    churn(1000)
    gc.collect()
    before = sys.getallocatedblocks()
    churn(20000)
    gc.collect()
    assert abs(sys.getallocatedblocks() - before) < 200, (before, sys.getallocatedblocks())


def test_small_integers_live_for_ever():
    for small in range(-5, 257):
        made = int(str(small))
        assert made is int.from_bytes(small.to_bytes(2, "little", signed=True), "little", signed=True)
        del made
    assert sum(range(-5, 257)) == 32881


def test_subclasses_are_finalised():
    gone = []
    for kind in (float, int, str):
        kind = type("Kind", (kind,), {"__del__": lambda self: gone.append(type(self).__base__)})
        made = kind("7")
        del made
    assert gone == [float, int, str]


def test_tracemalloc_sees_every_kind_of_memory():
    tracemalloc.start()
    start = tracemalloc.get_traced_memory()[0]
    kept = [[float(i) for i in range(1000)], [i + 10 ** 6 for i in range(1000)], [str(i) * 20 for i in range(1000)], bytes(300), {i: i for i in range(100)}]
    full = tracemalloc.get_traced_memory()[0]
    del kept
    end = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert full - start > 1000 * (16 + 16 + 60) and end - start < 10000, (start, full, end)


def test_another_allocator_can_be_chosen():
    code = ("import sys; x = [i * 2.5 for i in range(1000)] + [str(i) for i in range(1000)] + [i + 10 ** 6 for i in range(1000)]; "
            "del x; print(sys.getallocatedblocks() > 0)")
    for allocator, counted in ("pymalloc", True), ("pymalloc_debug", True), ("malloc", False), ("malloc_debug", False):
        done = subprocess.run([COLD, "-c", code], env={"PYTHONMALLOC": allocator}, capture_output=True, text=True)
        assert done.stdout == f"{counted}\n", (allocator, done)


each.run(globals())
