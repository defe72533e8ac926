"""json: a document of 20,000 records, written and read ten times. Prints milliseconds."""
import json
import time

records = [{"id": i, "name": f"record {i}", "tags": ["a", "b", str(i)], "ratio": i / 7, "ok": i % 2 == 0} for i in range(20000)]
start = time.perf_counter()
for _ in range(10):
    assert json.loads(json.dumps(records))[-1]["id"] == 19999
print((time.perf_counter() - start) * 1e3)
