"""State as bytes."""

from driver import *

EVERYTHING = '''
import functools, enum, dataclasses, abc, typing, json as j, collections, datetime, contextlib, re, decimal
from collections import OrderedDict, namedtuple
number = 5
shared = [1, 2]
same = shared
shared.append(shared)

def plain(a, b=2, *c, d: int = 4, **e) -> str:
    """doc"""
    return f"{a}{b}{d}{number}"
plain.attribute = "kept"

def counter():
    count = 0
    def up():
        nonlocal count
        count += 1
        return count
    def down():
        nonlocal count
        count -= 1
        return count
    return up, down
up, down = counter()
up(); up()

def fact(n): return 1 if n < 2 else n * fact(n - 1)
inner = (lambda: (lambda f: f)(lambda x: x * number))()

class Base(abc.ABC):
    total = 0
    @abc.abstractmethod
    def area(self): ...
    def __init__(self, name): self.name = name
    @property
    def title(self): return self.name.title()
    @classmethod
    def make(cls, *a): return cls(*a)
    @staticmethod
    def unit(): return "m"

class Square(Base):
    __slots__ = ("side",)
    def __init__(self, side):
        super().__init__("square")
        self.side = side
    def area(self): return self.side ** 2
    class Nested: value = 9
square = Square(3)

@dataclasses.dataclass(frozen=True, order=True)
class Point:
    x: int
    y: int = 0
    tags: list = dataclasses.field(default_factory=list, compare=False)
point = Point(1, tags=["a"])

class Colour(enum.Enum):
    RED = 1
    BLUE = "b"
    ALIAS = 1
    def shout(self): return self.name + "!"
    @property
    def low(self): return self.name.lower()
class Flags(enum.Flag):
    A = enum.auto()
    B = enum.auto()
class Planet(enum.Enum):
    EARTH = (5.97e24, 6.37e6)
    def __init__(self, mass, radius): self.mass, self.radius = mass, radius
class Level(enum.IntEnum):
    LOW = 1
colours = {Colour.RED: 1, "both": Flags.A | Flags.B}

@functools.lru_cache(maxsize=10)
def cached(n): return n + number
@contextlib.contextmanager
def managed(): yield "in"
@functools.wraps(plain)
def wrapped(*a, **k): return plain(*a, **k)
part = functools.partial(plain, 7)
method = square.area

T = typing.TypeVar("T")
class Box(typing.Generic[T]):
    def __init__(self, item: T): self.item = item
box = Box[int](4)
class Typed(typing.TypedDict, total=False):
    a: int
class Row(typing.NamedTuple):
    a: int
    b: str = "x"
row = Row(1)
Pair = namedtuple("Pair", "a b")
pair = Pair(1, 2)
class MyError(ValueError): pass
error = MyError("e")
class Meta(type):
    def __call__(cls, *a): return super().__call__(*a)
class WithMeta(metaclass=Meta):
    def __set_name__(self, owner, name): self.told = name
class Holder: thing = WithMeta()
class Cached:
    @functools.cached_property
    def value(self): return number
cached_instance = Cached()
def generic[U](a: U) -> U: return a
class Stack[V]:
    def push(self, v: V) -> None: self.v = v
type Numbers = list[int]
UserId = typing.NewType("UserId", int)
when = datetime.datetime(2024, 1, 2)
money = decimal.Decimal("1.10")
pattern = re.compile("a+")
default = collections.defaultdict(list, {"a": [1]})
import sys
out = sys.stdout
async def coroutine_function(): return 1
'''

CHECKS = """
assert number == 5 and same is shared and shared[2] is shared
assert plain(1) == "1245" and plain.__doc__ == "doc" and plain.attribute == "kept" and plain.__module__ == "__main__"
assert plain.__annotations__ == {"d": int, "return": str}
assert (up(), down(), down()) == (3, 2, 1)
assert fact(5) == 120 and inner(2) == 10
assert square.area() == 9 and square.title == "Square" and Square.make(2).area() == 4 and Base.unit() == "m"
assert isinstance(square, Base) and Square.Nested.value == 9 and method() == 9
try: Base("x")
except TypeError: pass
else: assert False
assert point == Point(1) and Point(1) < Point(2) and point.tags == ["a"] and dataclasses.fields(Point)[1].default == 0
assert dataclasses.replace(point, y=3).y == 3
try: point.x = 2
except dataclasses.FrozenInstanceError: pass
else: assert False
assert Colour(1) is Colour.RED and Colour.ALIAS is Colour.RED and Colour.RED.shout() == "RED!" and colours[Colour.RED] == 1 and Colour.BLUE.low == "blue"
assert list(Colour) == [Colour.RED, Colour.BLUE] and colours["both"] == Flags.A | Flags.B and Planet.EARTH.mass == 5.97e24 and Level.LOW == 1
assert cached(1) == 6 and cached.cache_info().maxsize == 10
with managed() as m: assert m == "in"
assert wrapped(1) == "1245" and wrapped.__name__ == "plain" and part() == "7245"
assert box.item == 4 and Box[int] and Typed(a=1) == {"a": 1} and row == (1, "x") and Row(2).b == "x" and pair.b == 2 and isinstance(pair, Pair)
assert isinstance(error, MyError) and error.args == ("e",) and type(WithMeta) is Meta and Holder.thing.told == "thing"
assert cached_instance.value == 5 and generic(1) == 1 and Numbers.__value__ == list[int] and UserId(5) == 5 and Stack[int]
assert when.year == 2024 and str(money) == "1.10" and pattern.match("aa") and default["b"] == []
assert out is sys.stdout and j.dumps(1) == "1" and await coroutine_function() == 1
number = 6
assert plain(1) == "1246" and inner(2) == 12
"""


def snapshot(d):
    reply = d.call(SNAPSHOT)
    assert reply.status == OK, reply
    return reply.fields[BYTES]


def test_functions_classes_and_values_survive_in_another_session(d):
    d.ok(EVERYTHING)
    d.ok(CHECKS.replace("(3, 2, 1)", "(3, 2, 1)") + "number = 5; up(); number")
    state = snapshot(d)
    with Driver() as other:
        other.ok("old = 1")
        reply = other.call(RESTORE, (BYTES, state))
        assert reply.status == OK, reply
        other.ok(CHECKS)
        other.fails("old", "NameError")
        again = snapshot(other)
        with Driver() as third:
            assert third.call(RESTORE, (BYTES, again)).status == OK
            assert third.value("number, square.area(), Colour.RED.shout()") == "(6, 9, 'RED!')"


def refused(d, *parts):
    reply = d.call(SNAPSHOT)
    assert reply.status == EXCEPTION and reply.type == "cay.StateError", reply
    for part in parts:
        assert part in reply.error, (part, reply.error)


def test_an_error_names_the_variable_and_the_path(d):
    d.ok("fine = 1\nconfig = {'a': [1, {'g': (i for i in 'ab')}]}")
    refused(d, "'config'", "config['a'][1]['g'] is a generator")
    d.ok("del config\nclass Thing: pass\nt = Thing(); t.inner = Thing(); t.inner.file = open('/dev/null')")
    refused(d, "'t'", "t.inner.file is a _io.TextIOWrapper")
    d.ok(
        "del t\nimport threading\ndef outer():\n    lock = threading.Lock()\n    return lambda: lock\nf = outer()"
    )
    refused(d, "'f'", "f.<lock> is a _thread.lock")
    d.ok("del f")
    assert d.call(SNAPSHOT).status == OK


def test_damaged_and_foreign_bytes_change_nothing(d):
    d.ok("x = 1")
    state = snapshot(d)
    d.ok("x = 2; y = 3")
    flipped = bytearray(state)
    flipped[-3] ^= 1
    for bad in (
        b"",
        b"hello",
        state[:20],
        state[:-1],
        state + b"x",
        bytes(flipped),
        b"X" + state[1:],
        state[:8] + b"\t\0" + state[10:],
    ):
        reply = d.call(RESTORE, (BYTES, bad))
        assert reply.status == EXCEPTION and reply.type == "cay.StateError", (bad, reply)
    assert d.value("x, y") == "(2, 3)"
    assert d.call(RESTORE, (BYTES, state)).status == OK
    assert d.value("x") == "1"
    d.fails("y", "NameError")


def test_a_pickle_that_raises_changes_nothing(d):
    d.ok(
        "class Bomb:\n    def __reduce__(self): return exec, (\"import __main__; __main__.x = 'hurt'; 1/0\",)\nx = 1\nb = Bomb()"
    )
    state = snapshot(d)
    d.ok("b = None")
    reply = d.call(RESTORE, (BYTES, state))
    assert reply.status == EXCEPTION and "ZeroDivisionError" in reply.error, reply
    assert d.value("x, b") == "(1, None)"


def test_clearing_leaves_a_fresh_namespace(d):
    fresh = d.value("sorted(globals())")
    d.ok("x = 1; import os; y: int = 2; __doc__ = 'mine'")
    assert d.call(CLEAR).status == OK
    assert d.value("sorted(globals())") == fresh
    assert d.value("__doc__") is None


def test_callbacks_can_be_kept_by_name(d):
    d.grant("echo")
    d.ok("e = echo")
    state = snapshot(d)
    assert d.call(RESTORE, (BYTES, state)).status == OK
    assert d.value("await e(a=1)") == "{'a': 1}"
