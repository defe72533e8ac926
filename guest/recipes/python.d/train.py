"""train.py - what the interpreter does while its profile is recorded: a little of everything that programs do.

  train.py FILE ...      FILE: Python sources to read, compile and search

It does the same each time, for results are kept by what they were made from: no clock, no chance without a seed. It is not made of the programs
in bench/: what the profile does for them, it must do for others.
"""
import array
import ast
import asyncio
import base64
import bisect
import collections
import contextlib
import copy
import csv
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import hashlib
import heapq
import io
import itertools
import json
import math
import operator
import pickle
import random
import re
import statistics
import string
import struct
import sys
import textwrap
import tokenize
import types
import typing

WORDS = ("list dict set tuple str bytes int float complex range slice iterator generator coroutine module function method "
         "property descriptor attribute exception traceback frame code object type class instance Straße größer naïve 東京 вода").split()


# ---- numbers ----

def integers(n):
    total, seen = 0, []
    for i in range(n):
        total += i * i % 7 - (i >> 1) + (i & 3) - (i ^ 5) + (~i | 1)
        if i % 3 == 0 and i > 10 or i == 4:
            total //= 2
        elif not i & 1:
            total -= -i
        else:
            total = abs(total) + min(i, 3) + max(i, 2, 9)
        seen.append(divmod(i, 13)[1])
    big = 1
    for i in range(1, 120):
        big = big * i + i
    while big > 1 << 70:
        big = big // 12345678901 - (big >> 70)
    return total, sum(seen), pow(3, 1001, 10 ** 30 + 57), int(str(7 ** 250)) % 97, hex(big), math.gcd(total, 360), math.isqrt(7 ** 90)


def sieve(n):
    flags = bytearray([1]) * n
    for i in range(2, int(n ** 0.5) + 1):
        if flags[i]:
            flags[i * i::i] = bytes(len(range(i * i, n, i)))
    return [i for i, f in enumerate(flags) if f and i > 1]


def collatz(limit):
    longest = 0
    for n in range(1, limit):
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        if steps > longest:
            longest = steps
    return longest


def mandelbrot(size):
    inside = 0
    for row in range(size):
        for column in range(size):
            x = y = 0.0
            a, b = 3.0 * column / size - 2.0, 2.0 * row / size - 1.0
            for _ in range(30):
                x, y = x * x - y * y + a, 2.0 * x * y + b
                if x * x + y * y > 4.0:
                    break
            else:
                inside += 1
    return inside


def floats(n):
    points = [(math.cos(i) * i, math.sin(i) * i, float(i)) for i in range(n)]
    total = sum(math.hypot(x, y) + abs(z) ** 0.5 - x / (1.0 + z) for x, y, z in points)
    mean = statistics.fmean(z for _, _, z in points)
    text = [f"{x:.3f} {y:8.2e} {z!r} {x:+g}" for x, y, z in points]
    back = [float(word) for line in text for word in line.split()]
    return total, mean, round(back[7], 2), complex(total, mean) * 2j, max(points), -total < 0.5 <= total


def matrix(n):
    a = [[i * j % 7 + 0.5 for j in range(n)] for i in range(n)]
    b = [[(i + j) / 3 for j in range(n)] for i in range(n)]
    c = [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]
    d = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                d[i][j] += a[i][k] * b[k][j]
    return c[1][1] == d[1][1]


def oscillator(steps):
    position, velocity, masses = [1.0, 0.5, -2.0], [0.0, 0.25, 0.125], (1.5, 2.5, 0.5)
    for _ in range(steps):
        for i, m in enumerate(masses):
            force = -position[i] - 0.1 * velocity[i]
            velocity[i] += force / m * 0.01
            position[i] += velocity[i] * 0.01
        middle = sum(position) / 3
        position[0] -= (position[0] - middle) * 0.001
    return position


def exact(n):
    total = decimal.Decimal(0)
    for i in range(1, n):
        total += decimal.Decimal(i) / 7
    return total.quantize(decimal.Decimal("0.01")), sum(fractions.Fraction(1, i) for i in range(1, 20))


# ---- text and bytes ----

def texts(n):
    lines = [f"{i:05d},{WORDS[i % len(WORDS)]},{i * 1.5:.2f},{'x' * (i % 9)}" for i in range(n)]
    text = "\n".join(lines)
    counts = {}
    for line in text.splitlines():
        number, word, price, tail = line.split(",")
        counts[word] = counts.get(word, 0) + int(number) + len(tail) + float(price)
        if word.startswith("s") or word.endswith("e") or "ra" in word:
            word = word.upper().lower().title().replace("E", "e").strip()
        word = word[::-1] + word[1:-1] + word[0]
        counts.setdefault(word.ljust(12, ".").center(20), 1)
    data = text.encode()
    again = data.decode("utf-8")
    upper = "".join(c for c in again[:3000] if c.isalpha() or c in " ,\n" or c.isdigit())
    table = str.maketrans("abc", "xyz")
    built = ""
    for i in range(200):
        built += chr(97 + i % 26)
    return (len(upper.translate(table)), again == text, built.find("xyz"), text.count("code"), text.rfind("set"), "%s=%d %5.1f %r" % ("a", 3, 2.5, "b"),
            "{0} {name!r:>10} {1:,}".format(1, 1000000, name="n"), data[5:9].hex(), b",".join(data.split(b",")[:20]), sorted(counts)[:3])


def numerals(n):
    return [str(i) for i in range(n)] == [format(int(s), "d") for s in map(str, range(n))]


def wrapping(text):
    return textwrap.fill(textwrap.dedent(text), 60), string.Template("$a ${b}").substitute(a=1, b=2)


def binary(n):
    buffer = io.BytesIO()
    for i in range(n):
        buffer.write(struct.pack("<IHd", i, i & 0xffff, i / 3))
    data = buffer.getvalue()
    back = [struct.unpack_from("<IHd", data, k) for k in range(0, len(data), 14)]
    view = memoryview(data)[10:50]
    return (len(back), base64.b64decode(base64.b64encode(data)) == data, hashlib.sha256(data).hexdigest(), bytes(view)[3],
            sum(array.array("d", [1.5] * n)), sum(bytearray(data)), int.from_bytes(data[:4], "little"))


def expressions(text):
    count = collections.Counter(re.findall(r"[A-Za-z_]\w*", text))
    hits = sum(len(m.group(1)) for m in re.finditer(r"def (\w+)\(([^)]*)\)", text))
    swapped = re.sub(r"(\w+) = (\w+)", lambda m: f"{m[2]} = {m[1]}", text)
    lines = re.split(r"\s*\n\s*", text)
    patterns = [r"^\s*#.*$", r"['\"]([^'\"]*)['\"]", r"\b\d+(?:\.\d+)?\b", r"(?:if|elif|while)\s+.*?:", r"(?i)ERROR|warning", r"\bself\.(?P<name>\w+)",
                r"\([^()]*\)", r"[^\s\w]{2,}"]
    found = [len(re.findall(p, text, re.M)) for p in patterns]
    loglines = [f"2026-0{i % 9 + 1}-1{i % 10}T12:{i % 60:02}:07 host{i % 5} GET /item/{i}?q={i * 7} {200 + i % 4}" for i in range(300)]
    log = re.compile(r"(?P<day>\d+-\d+-\d+)T(\S+) (\w+) (GET|POST) ([^ ?]+)(?:\?(\S*))? (\d{3})")
    fields = [log.match(line).groupdict() for line in loglines]
    return count.most_common(3), hits, len(swapped), len(lines), found, len(fields), bool(re.fullmatch(r"(a|b)*c", "abab" * 10 + "c"))


# ---- containers ----

def containers(n):
    numbers = [(i * 7919) % n for i in range(n)]
    by_rest = collections.defaultdict(list)
    for x in numbers:
        by_rest[x % 10].append(x)
    unique = set(numbers) | {1, 2} - {3}
    queue = collections.deque(maxlen=50)
    heap = []
    for x in numbers:
        queue.append(x)
        heapq.heappush(heap, (x, -x))
        if len(heap) > 40:
            heapq.heappop(heap)
        if x in unique and x not in by_rest:
            unique.discard(x)
    ordered = sorted(numbers, key=lambda x: (x % 10, -x))
    ordered.sort(reverse=True)
    names = sorted((WORDS[i % len(WORDS)] + str(i) for i in range(n // 4)), key=str.lower)
    inverted = {v: k for k, v in enumerate(ordered)}
    inverted.update({str(k): k for k in range(50)})
    for key in list(inverted)[:100]:
        del inverted[key]
    first, *middle, last = ordered
    copied = numbers[:]
    copied[2:5] = [1, 2]
    copied[::2] = copied[::2]
    copied.insert(3, 9)
    copied.extend(middle[:4])
    copied.pop(), copied.pop(0), copied.reverse(), copied.index(9), copied.count(1)
    rotated = copied[5:] + copied[:5]
    rotated[:8] = rotated[7::-1]
    rotated[0], rotated[1] = rotated[1], rotated[0]
    return (bisect.bisect(sorted(numbers), 5), len(inverted | {1: 2}), any(x > n for x in copied), all(x >= 0 for x in numbers), first, last, names[0],
            list(zip(*[(1, 2), (3, 4)])), list(map(operator.add, copied, middle))[:2], list(filter(None, numbers))[:3], [*range(3), *"ab"], {**{"a": 1}},
            list(reversed(numbers))[0], numbers == copied, (1, 2) < (1, 3), max(names, key=len), {x for x in "hello"}, {k: v for k, v in by_rest.items()} == by_rest)


def combinations(n):
    total = sum(a * b for a, b in itertools.combinations(range(n), 2))
    total += sum(1 for p in itertools.permutations(range(6)) if p[0] < p[-1])
    pairs = itertools.groupby(sorted(str(i) for i in range(n)), key=lambda s: s[0])
    return total, [(k, len(list(g))) for k, g in pairs], list(itertools.islice(itertools.chain.from_iterable(itertools.product("ab", "cd")), 3))


def queens(n, row=0, columns=frozenset(), up=frozenset(), down=frozenset()):
    if row == n:
        return 1
    return sum(queens(n, row + 1, columns | {c}, up | {row + c}, down | {row - c})
               for c in range(n) if c not in columns and row + c not in up and row - c not in down)


def shortest(n):
    graph = {i: [((i * 3 + k) % n, k + 1) for k in range(3)] for i in range(n)}
    distance, heap = {0: 0}, [(0, 0)]
    while heap:
        d, node = heapq.heappop(heap)
        if d > distance[node]:
            continue
        for other, weight in graph[node]:
            if d + weight < distance.get(other, math.inf):
                distance[other] = d + weight
                heapq.heappush(heap, (d + weight, other))
    return distance


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


# ---- documents ----

def documents(n):
    people = [{"name": WORDS[i % len(WORDS)], "age": i % 90, "score": i / 3, "tags": [WORDS[i % 5], None, True], "at": {"x": -i, "y": 1e-3 * i}, "note": "a\n\"b\" é"[:i % 9]}
              for i in range(n)]
    text = json.dumps(people)
    pretty = json.dumps(people[:20], indent=2, sort_keys=True, ensure_ascii=False)
    back = json.loads(text)
    file = io.StringIO()
    writer = csv.DictWriter(file, ["name", "age"], extrasaction="ignore")
    writer.writeheader()
    writer.writerows(people)
    rows = list(csv.reader(io.StringIO(file.getvalue())))
    stored = pickle.loads(pickle.dumps(people))
    try:
        json.loads('{"a": [1, 2,, 3]}')
    except json.JSONDecodeError as error:
        where = error.pos
    return back == people == stored, len(pretty), len(rows), where, copy.deepcopy(people[:30]) == people[:30]


def times(n):
    start = datetime.datetime(2026, 1, 31, 12, 30)
    stamps = [(start + datetime.timedelta(hours=7 * i)).isoformat() for i in range(n)]
    parsed = [datetime.datetime.fromisoformat(s) for s in stamps]
    return (parsed[-1] - parsed[0]).days, parsed[3].strftime("%Y-%m-%d %H:%M"), datetime.datetime.strptime("2026-02-03", "%Y-%m-%d").weekday()


# ---- classes and calls ----

class Shape:
    count = 0

    def __init__(self, name, *sizes, **more):
        self.name, self.sizes = name, sizes
        self.__dict__.update(more)
        Shape.count += 1

    @property
    def area(self):
        return math.prod(self.sizes)

    @classmethod
    def unit(cls):
        return cls("unit", 1, 1)

    @staticmethod
    def kind():
        return "shape"

    def __eq__(self, other):
        return isinstance(other, Shape) and self.sizes == other.sizes

    def __lt__(self, other):
        return self.area < other.area

    def __hash__(self):
        return hash(self.sizes)

    def __repr__(self):
        return f"{type(self).__name__}({self.name!r})"

    def __getattr__(self, name):
        if name.startswith("size_"):
            return self.sizes[int(name[5:])]
        raise AttributeError(name)


class Cube(Shape):
    def __init__(self, side):
        super().__init__("cube", side, side, side)

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return self.sizes[i]

    def __contains__(self, x):
        return x in self.sizes

    def __call__(self, factor=2):
        return self.area * factor


class Vector:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    def length(self):
        return (self.x * self.x + self.y * self.y) ** 0.5


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


@dataclasses.dataclass(order=True)
class Item:
    name: str
    price: float = 0.0
    tags: list = dataclasses.field(default_factory=list)

    def total(self, count: int = 1) -> float:
        return self.price * count


class Place(typing.NamedTuple):
    x: int
    y: int = 0


def objects(n):
    shapes = [Cube(i % 5 + 1) if i % 2 else Shape("flat", i, 2, colour="red") for i in range(n)]
    total = sum(s.area for s in shapes) + sum(len(s) + s() + s(factor=3) + s[0] for s in shapes if isinstance(s, Cube) and 2 in s)
    total += len(set(shapes)) + len({repr(s) for s in shapes}) + sum(s.size_0 for s in shapes) + sum(hasattr(s, "colour") for s in shapes)
    total += Shape.unit().area + len(Shape.kind())
    at = Vector(0.0, 0.0)
    for i in range(n):
        at = at + Vector(i, 1.0) * 0.5
        total += at.length() > 3
    items = sorted(Item(w, i * 1.5) for i, w in enumerate(WORDS))
    total += sum(item.total(count=2) for item in items) + sum(getattr(Place(i), "x") for i in range(n)) + Colour(1).value + (Colour.RED is Colour["RED"])
    for thing in [1, "a", [1, 2], {"k": 3}, Place(1, 2), None, 2.5] * (n // 20):
        match thing:
            case int() | None: total += 1
            case str(s): total += len(s)
            case [a, b]: total += a + b
            case {"k": v}: total += v
            case Place(x=x): total += x
            case _: total += 2
    return total, max(shapes).area, dataclasses.asdict(items[0])


@functools.lru_cache(maxsize=None)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def ackermann(m, n):
    if m == 0:
        return n + 1
    return ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))


def plain_fibonacci(n):
    return n if n < 2 else plain_fibonacci(n - 1) + plain_fibonacci(n - 2)


def many(a, b=2, /, c=3, *rest, d=4, **others):
    return a + b + c + d + len(rest) + len(others)


def repeated(times):
    def decorate(function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            result = None
            for _ in range(times):
                result = function(*args, **kwargs)
            return result
        return run
    return decorate


@repeated(3)
def calls(n):
    total, add = 0, functools.partial(many, 1)
    def bump(k):
        nonlocal total
        total += k
    for i in range(n):
        total += many(i) + many(i, 1, c=2) + many(*(1, 2, 3, 4), **{"e": 5, "d": 6}) + add(3) + (lambda x, y=1: x + y)(i)
        bump(i)
    return total + functools.reduce(operator.add, range(n)) + sum(map(int, "123")) + len(str(print))


class Refused(Exception):
    pass


@contextlib.contextmanager
def guarded(log):
    try:
        yield log
    except Refused as refused:
        log.append(str(refused))
    finally:
        log.append("left")


def failures(n):
    log, count = [], 0
    for i in range(n):
        try:
            if i % 3 == 0:
                raise ValueError(i)
            if i % 3 == 1:
                {}["missing"]
            [][i]
        except (KeyError, IndexError):
            count += 1
        except ValueError as error:
            count += error.args[0]
        else:
            count -= 1
        finally:
            count += 1
        with guarded(log):
            if i % 5 == 0:
                raise Refused("no") from None
        with contextlib.suppress(ZeroDivisionError):
            1 / (i % 2)
    return count, len(log)


def tree(depth):
    return None if depth == 0 else (tree(depth - 1), depth, tree(depth - 1))


def walk(node):
    if node is not None:
        yield from walk(node[0])
        yield node[1]
        yield from walk(node[2])


def averages():
    total = count = 0
    value = None
    while True:
        value = yield value
        total, count = total + value, count + 1
        value = total / count


def generators(n):
    gauge = averages()
    next(gauge)
    for i in range(n):
        gauge.send(i)
    squares = (x * x for x in range(n) if x % 2)
    return sum(walk(tree(9))), sum(squares), next(iter([3])), sum(x for x in itertools.takewhile(lambda x: x < 50, itertools.count())), gauge.close()


async def produce(queue, n):
    for i in range(n):
        await queue.put(i)
        if i % 10 == 0:
            await asyncio.sleep(0)
    await queue.put(None)


async def numbers_of(queue):
    while (item := await queue.get()) is not None:
        yield item


async def tasks(n):
    queue = asyncio.Queue(5)
    async def consume():
        return sum([x async for x in numbers_of(queue)])
    async def one(i):
        async with lock:
            await asyncio.sleep(0)
        return i
    lock = asyncio.Lock()
    results = await asyncio.gather(produce(queue, n), consume(), *(one(i) for i in range(n // 4)))
    async with asyncio.timeout(1000):
        return results[1]


# ---- programs about programs ----

def sources(texts):
    names = collections.Counter()
    for text in texts:
        tree = ast.parse(text)
        for node in ast.walk(tree):
            names[type(node).__name__] += 1
        code = compile(tree, "<text>", "exec")
        stack = [code]
        while stack:
            top = stack.pop()
            stack.extend(c for c in top.co_consts if isinstance(c, types.CodeType))
            names[top.co_name] += 1
    names["tokens"] = sum(1 for _ in tokenize.generate_tokens(io.StringIO(texts[0]).readline))
    unparsed = ast.unparse(ast.parse(texts[0]))
    return names.most_common(5), len(unparsed)


def cells(n):
    names = {}
    for i in range(n):
        exec(compile(f"x = {i}\ny = [x + k for k in range(3)]\ndef f(a, b={i}):\n  return a + b\nz = f(x) if y else None\n", "<cell>", "exec"), names)
    return eval("x + z", names)


def words(n):
    generator = random.Random(7)
    letters = [generator.choice(string.ascii_lowercase) for _ in range(n)]
    generator.shuffle(letters)
    return "".join(letters)[:5], generator.randrange(10), generator.gauss(0, 1), generator.sample(range(50), 3)


def main(paths):
    texts_read = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            texts_read.append(file.read())
    whole = "".join(texts_read)
    work = [
        (integers, 4000), (sieve, 20000), (collatz, 700), (mandelbrot, 24), (floats, 500), (matrix, 14), (oscillator, 1500), (exact, 300),
        (texts, 1200), (numerals, 3000), (wrapping, whole[:6000]), (binary, 800), (expressions, whole[:30000]), (words, 1000),
        (containers, 2500), (combinations, 120), (queens, 6), (shortest, 300), (edit_distance, whole[:120], whole[40:160]),
        (documents, 300), (times, 150),
        (objects, 800), (fibonacci, 200), (ackermann, 2, 9), (plain_fibonacci, 15), (calls, 300), (failures, 600), (generators, 500),
        (sources, texts_read), (cells, 150),
    ]
    for function, *arguments in work:
        print(function.__name__, str(function(*arguments))[:60])
    print("tasks", asyncio.run(tasks(200)))


main(sys.argv[1:])
