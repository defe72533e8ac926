"""regex: words, addresses and dates in a text of 2 MB. Prints milliseconds."""
import re
import time

text = " ".join(f"word{i} user{i}@example{i % 7}.org 2026-{i % 12 + 1:02}-{i % 28 + 1:02} {i * 3.5:.2f}" for i in range(40000))
start = time.perf_counter()
assert len(re.findall(r"[\w.]+@[\w.]+\.org", text)) == 40000
assert len(re.findall(r"\b\d{4}-\d{2}-\d{2}\b", text)) == 40000
assert len(re.sub(r"(\w+)@(\w+)", r"\2 at \1", text)) > len(text)
assert sum(1 for _ in re.finditer(r"\b[a-z]+\d+\b", text)) > 40000
print((time.perf_counter() - start) * 1e3)
