"""smallfiles: 10,000 files of 100 bytes in 100 folders, written and read. Prints the milliseconds of `write` or `read`."""
import os
import sys
import tempfile
import time

with tempfile.TemporaryDirectory() as top:
    names = [os.path.join(top, str(i % 100), str(i)) for i in range(10000)]
    for i in range(100):
        os.mkdir(os.path.join(top, str(i)))
    start = time.perf_counter()
    for name in names:
        with open(name, "wb") as file:
            file.write(b"x" * 100)
    written = time.perf_counter()
    total = 0
    for name in names:
        with open(name, "rb") as file:
            total += len(file.read())
    assert total == 1000000
    print(((time.perf_counter() - written) if sys.argv[1] == "read" else (written - start)) * 1e3)
