"""fannkuch: flips of all permutations of nine. Prints milliseconds."""
import itertools
import time


def flips(n):
    most = 0
    for permutation in itertools.permutations(range(n)):
        count, p = 0, list(permutation)
        while p[0]:
            k = p[0] + 1
            p[:k] = p[k - 1::-1] if k < n else p[::-1]
            count += 1
        most = max(most, count)
    return most


start = time.perf_counter()
assert flips(9) == 30
print((time.perf_counter() - start) * 1e3)
