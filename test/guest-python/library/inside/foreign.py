"""ctypes: types and memory as everywhere, functions of the interpreter, callbacks, and refusals."""
import ctypes
import ctypes.util
import gc
from ctypes import (
    CFUNCTYPE, POINTER, PYFUNCTYPE, Array, BigEndianStructure, Structure, Union, addressof, byref, c_bool, c_byte, c_char, c_char_p, c_double, c_float,
    c_int, c_int8, c_int64, c_long, c_longdouble, c_longlong, c_short, c_size_t, c_ubyte, c_uint, c_uint8, c_uint64, c_ushort, c_void_p, c_wchar_p,
    cast, create_string_buffer, create_unicode_buffer, memmove, memset, pointer, py_object, pythonapi, sizeof, string_at, wstring_at,
)

import each
from each import refused

libc = ctypes.CDLL(None)


class Point(Structure):
    _fields_ = [("x", c_int), ("y", c_int)]


class Mixed(Structure):
    _fields_ = [("tag", c_char), ("value", c_double), ("bits", c_uint, 3), ("more", c_uint, 5), ("points", Point * 2)]


class Number(Union):
    _fields_ = [("i", c_int), ("f", c_float), ("b", c_ubyte * 4)]


def test_sizes_are_those_of_32_bits():
    assert [sizeof(t) for t in (c_char, c_short, c_int, c_long, c_longlong, c_void_p, c_size_t, c_float, c_double)] == [1, 2, 4, 4, 8, 4, 4, 4, 8]
    assert sizeof(Point) == 8 and sizeof(Mixed) == 40 and ctypes.alignment(Mixed) == 8 and Mixed.points.offset == 20


def test_structures_and_unions():
    mixed = Mixed(b"t", 1.5, 5, 17, (Point * 2)((1, 2), (3, 4)))
    assert (mixed.tag, mixed.value, mixed.bits, mixed.more, mixed.points[1].y) == (b"t", 1.5, 5, 17, 4)
    mixed.points[0].x = -7
    assert Mixed.from_buffer_copy(bytes(mixed)).points[0].x == -7
    number = Number(f=1.0)
    assert number.i == 0x3F800000 and bytes(number.b) == b"\0\0\x80\x3f"

    class Network(BigEndianStructure):
        _fields_ = [("port", c_ushort)]

    assert bytes(Network(80)) == b"\0P"


def test_arrays_buffers_and_pointers():
    numbers = (c_int * 4)(1, 2, 3, 4)
    at = cast(numbers, POINTER(c_int))
    at[2] = 30
    assert list(numbers) == [1, 2, 30, 4] and at[:4] == [1, 2, 30, 4] and isinstance(numbers, Array)
    view = memoryview(numbers)
    assert view.format == "<l" and view.nbytes == 16 or view.format == "<i" and view.nbytes == 16
    buffer = create_string_buffer(b"hello", 10)
    assert buffer.value == b"hello" and buffer.raw == b"hello\0\0\0\0\0"
    assert string_at(addressof(buffer), 3) == b"hel" and string_at(buffer) == b"hello"
    memmove(buffer, b"HE", 2)
    memset(addressof(buffer) + 2, ord("x"), 3)
    assert buffer.value == b"HExxx"
    text = create_unicode_buffer("grüße")
    assert text.value == "grüße" and wstring_at(text) == "grüße"
    shared = bytearray(8)
    Point.from_buffer(shared).y = 258
    assert shared == b"\0\0\0\0\x02\x01\0\0"
    point = pointer(Point(5, 6))
    assert point.contents.y == 6 and point[0].x == 5 and not POINTER(Point)()
    refused(ValueError, "NULL pointer access", lambda: POINTER(c_int)().contents)


def test_objects_of_python():
    holder = py_object([1])
    assert holder.value == [1]
    assert cast(id(holder.value), py_object).value is holder.value
    assert c_int.from_address(id(1000)).value > 0


def test_functions_of_the_libc():
    libc.strlen.restype, libc.strlen.argtypes = c_size_t, [c_char_p]
    assert libc.strlen(b"four") == 4 and libc.abs(-3) == 3 and libc.toupper(ord("a")) == ord("A")
    libc.pow.restype, libc.pow.argtypes = c_double, [c_double, c_double]
    assert libc.pow(2, 10) == 1024.0
    libc.sqrtf.restype, libc.sqrtf.argtypes = c_float, [c_float]
    assert libc.sqrtf(2.25) == 1.5
    libc.llabs.restype, libc.llabs.argtypes = c_longlong, [c_longlong]
    assert libc.llabs(-(1 << 40)) == 1 << 40
    libc.strtoull.restype, libc.strtoull.argtypes = c_uint64, [c_char_p, POINTER(c_char_p), c_int]
    end = c_char_p()
    assert libc.strtoull(b"ffffffffffffffffrest", byref(end), 16) == 2**64 - 1 and end.value == b"rest"
    libc.frexp.restype, libc.frexp.argtypes = c_double, [c_double, POINTER(c_int)]
    exponent = c_int()
    assert libc.frexp(8.0, byref(exponent)) == 0.5 and exponent.value == 4


def test_structures_by_value():
    class Quotient(Structure):
        _fields_ = [("quot", c_int), ("rem", c_int)]

    libc.div.restype = Quotient
    result = libc.div(17, 5)
    assert (result.quot, result.rem) == (3, 2)

    class One(Structure):
        _fields_ = [("number", c_int)]

    libc.abs.argtypes = [One]
    assert libc.abs(One(-9)) == 9
    libc.abs.argtypes = None


def test_functions_with_any_number_of_arguments():
    to = create_string_buffer(64)
    libc.snprintf.argtypes = None
    assert libc.snprintf(to, c_size_t(64), b"%d %s %.2f %lld|", 7, b"seven", c_double(7.5), c_longlong(1 << 33)) == 24
    assert to.value == b"7 seven 7.50 8589934592|"
    number, word = c_int(), create_string_buffer(8)
    assert libc.sscanf(b"12 abc", b"%d %7s", byref(number), word) == 2 and (number.value, word.value) == (12, b"abc")
    assert libc.sprintf(to, b"none") == 4


def test_functions_of_python():
    pythonapi.PyLong_FromLong.restype = py_object
    assert pythonapi.PyLong_FromLong(77) == 77
    pythonapi.Py_BuildValue.restype = py_object
    assert pythonapi.Py_BuildValue(b"(is)", 1, b"two") == (1, "two")
    pythonapi.PyUnicode_AsUTF8.restype, pythonapi.PyUnicode_AsUTF8.argtypes = c_char_p, [py_object]
    assert pythonapi.PyUnicode_AsUTF8("ü") == "ü".encode()
    assert pythonapi.PyList_Append(py_object(made := []), py_object(5)) == 0 and made == [5]
    refused(ValueError, "bad", pythonapi.PyErr_SetString, py_object(ValueError), b"bad")
    assert pythonapi.Py_IsInitialized() == 1
    assert py_object.in_dll(pythonapi, "PyExc_KeyError").value is KeyError


def test_callbacks():
    compare_type = CFUNCTYPE(c_int, POINTER(c_int), POINTER(c_int))
    numbers = (c_int * 6)(5, -1, 9, 3, 3, 0)
    libc.qsort(numbers, len(numbers), sizeof(c_int), compare_type(lambda a, b: a[0] - b[0]))
    assert list(numbers) == [-1, 0, 3, 3, 5, 9]
    assert CFUNCTYPE(c_double, c_double, c_float, c_int64)(lambda a, b, c: a + b + c)(1.5, 2.5, 1 << 40) == 4.0 + (1 << 40)
    assert CFUNCTYPE(c_int8, c_uint8)(lambda x: x - 256)(250) == -6
    assert PYFUNCTYPE(py_object, py_object, py_object)(lambda a, b: (b, a))(1, "x") == ("x", 1)

    @CFUNCTYPE(None, c_char_p)
    def keep(text):
        kept.append(text)

    kept = []
    keep(b"kept")
    assert kept == [b"kept"]


def test_callbacks_by_address():
    kind = CFUNCTYPE(c_bool, c_short)
    is_even = kind(lambda n: n % 2 == 0)
    again = kind(cast(is_even, c_void_p).value)
    assert again(4) and not again(-3)


def test_callbacks_are_given_back():
    kind = CFUNCTYPE(c_int, c_int)
    for i in range(500):
        assert kind(lambda n: n + i)(1) == 1 + i
        if i % 20 == 0:
            gc.collect()
    kept = []
    refused(MemoryError, "callbacks of one type", lambda: [kept.append(kind(abs)) for _ in range(100)])
    kept.clear()
    gc.collect()
    assert kind(abs)(-4) == 4


def test_errno():
    own = ctypes.CDLL(None, use_errno=True)
    assert own.close(99) == -1 and ctypes.get_errno() == 9


def test_calls_of_another_type_are_refused():
    libc.sqrt.restype, libc.sqrt.argtypes = c_int, None
    refused(TypeError, "sqrt is double (double), but is called as int32 (int32): set its argtypes and restype", libc.sqrt, 4)
    refused(TypeError, "strchr is int32 (int32, int32), but is called as int32 (int32)", libc.strchr, b"x")
    refused(ValueError, "no function at address", CFUNCTYPE(c_int)(0))
    refused(ValueError, "no function at address", CFUNCTYPE(c_int)(addressof(create_string_buffer(8))))
    many = CFUNCTYPE(c_double, *[c_float, c_longlong] * 8)(ctypes.cast(libc.abs, c_void_p).value)
    refused(TypeError, "abs is int32 (int32)", many, *[1] * 16)
    long_one = ctypes.CDLL(None).abs
    long_one.restype, long_one.argtypes = c_longdouble, [c_int]
    refused(TypeError, "abs is", long_one, 1)


def test_integers_are_widened_and_shortened():
    libc.atoll.restype, libc.atoll.argtypes = c_int, None
    assert libc.atoll(b"-12") == -12
    labs = ctypes.CDLL(None).llabs
    labs.restype = c_longlong
    assert labs(-5) == 5
    assert ctypes.CDLL(None).abs(c_longlong(-8)) == 8


def test_libraries():
    assert ctypes.CDLL("libc.so.6").abs(-1) == 1 and ctypes.CDLL(ctypes.util.find_library("c")).abs(-2) == 2
    refused(OSError, "libfoo.so: libraries of machine code cannot be loaded in this sandbox", ctypes.CDLL, "libfoo.so")
    refused(AttributeError, "nothing_like_it: not among the functions", lambda: libc.nothing_like_it)
    assert not hasattr(libc, "strlcpyy") and hasattr(libc, "strlcpy")


each.run(globals())
