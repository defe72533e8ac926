"""The user's variables as bytes, and back.

The bytes: "CAYSTATE", u16 version of this form, u16 version of Python, u64 length, SHA-256 of the rest, the pickle of a
dictionary of variables. The digest tells damage, not malice: a program that can write a pickle can run code, in this sandbox.
"""

import copyreg
import json
import pickle
import struct
import sys
import types
from _sha2 import sha256  # type: ignore[import-not-found]
from collections.abc import Buffer, Iterator
from typing import Any

import cay
from cay._pickling import MADE, Names, Pickler, contents_of, members_of, try_to_pickle

MAGIC = b"CAYSTATE"
VERSION = 1
PYTHON = sys.version_info[0] << 8 | sys.version_info[1]
HEAD = struct.Struct("<8sHHQ32s")

# What every __main__ has.
_OWN = {
    "__name__",
    "__doc__",
    "__package__",
    "__loader__",
    "__spec__",
    "__builtins__",
    "__file__",
    "__cached__",
}


class StateError(Exception):
    """The variables cannot be kept, or the bytes are no state."""


StateError.__module__ = "cay"


def _variables(names: Names) -> Names:
    return {name: value for name, value in names.items() if name not in _OWN}


def _failure(value: object) -> Exception | None:
    try:
        try_to_pickle(value)
    except Exception as error:
        return error
    return None


def _parts(value: Any) -> Iterator[tuple[str, object]]:
    """What an object is made of, each part with how to get there from it."""
    if isinstance(value, dict):
        yield from ((f"[{key!r:.60}]", part) for key, part in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((f"[{index}]", part) for index, part in enumerate(value))
    elif isinstance(value, (set, frozenset)):
        yield from (("{…}", part) for part in value)
    elif isinstance(value, types.FunctionType):
        names = value.__code__.co_freevars
        for name, cell in zip(names, value.__closure__ or ()):
            yield from ((f".<{name}>", contents) for _, contents in contents_of(cell))
        yield from ((f".<default {index}>", part) for index, part in enumerate(value.__defaults__ or ()))
    elif isinstance(value, type):
        yield from ((f".{name}", part) for name, part in members_of(value, MADE).items())
    elif isinstance(value, types.MethodType):
        yield ".__self__", value.__self__
    if not isinstance(value, type) and isinstance(getattr(value, "__dict__", None), dict):
        yield from ((f".{name}", part) for name, part in value.__dict__.items())
    slots = getattr(copyreg, "_slotnames")(type(value)) if not isinstance(value, type) else []
    yield from ((f".{name}", getattr(value, name)) for name in slots if hasattr(value, name))


def _blame(path: str, value: object, error: Exception, depth: int = 20) -> tuple[str, object, Exception]:
    """The innermost part that cannot be pickled by itself."""
    if depth:
        for step, part in _parts(value):
            inner = _failure(part) if part is not value else None
            if inner is not None:
                return _blame(path + step, part, inner, depth - 1)
    return path, value, error


def _explain(variables: Names, error: Exception) -> StateError:
    for name, value in variables.items():
        failure = _failure(value)
        if failure is not None:
            path, culprit, cause = _blame(name, value, failure)
            kind = type(culprit)
            what = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
            return StateError(f"the variable '{name}' cannot be kept: {path} is a {what}: {cause}")
    return StateError(f"the variables cannot be kept: {error}")


class _Given:
    """A file whose contents go to the host piece by piece."""

    def __init__(self) -> None:
        self.length, self.digest = 0, sha256()

    def write(self, data: Buffer) -> int:
        view = memoryview(data).cast("B")
        self.length += len(view)
        self.digest.update(view)
        cay._give(view)
        return len(view)


def snapshot(names: Names) -> bytes:
    """Gives all variables of the user to the host, and then the head, which stands in place of the first bytes given."""
    variables = _variables(names)
    cay._give(bytes(HEAD.size))
    out = _Given()
    try:
        Pickler(out).dump(variables)
    except MemoryError:
        raise
    except Exception as error:
        raise _explain(variables, error) from None
    return HEAD.pack(MAGIC, VERSION, PYTHON, out.length, out.digest.digest())


def _payload(state: memoryview) -> memoryview:
    """The pickle in it, if it is whole and of our kind."""
    if len(state) < HEAD.size or state[: len(MAGIC)] != MAGIC:
        raise StateError("these bytes are not the state of a session")
    _, version, python, length, digest = HEAD.unpack_from(state)
    if version != VERSION:
        raise StateError(f"the state has form {version}, and this is {VERSION}")
    if python != PYTHON:
        raise StateError(
            f"the state is of Python {python >> 8}.{python & 255}, and this is {PYTHON >> 8}.{PYTHON & 255}"
        )
    data = state[HEAD.size :]
    if len(data) != length:
        raise StateError(f"the state is truncated or damaged: {len(data)} bytes of {length}")
    if sha256(data).digest() != digest:
        raise StateError("the state is damaged: its digest differs")
    return data


def _load(data: memoryview) -> Names:
    try:
        variables = pickle.loads(data)
    except MemoryError:
        raise
    except Exception as error:
        raise StateError(f"the state cannot be read: {type(error).__name__}: {error}") from None
    if not isinstance(variables, dict) or not all(isinstance(name, str) for name in variables):
        raise StateError("the state holds no variables")
    return variables


def restore(names: Names, state: memoryview) -> None:
    """Makes the variables those of a snapshot. When it fails nothing has changed."""
    before = dict(names)
    try:
        variables = _load(_payload(state))
    except BaseException:
        names.clear()
        names.update(before)
        raise
    clear(names)
    names.update(variables)


def clear(names: Names) -> None:
    """Forgets all variables of the user."""
    for name in list(_variables(names)):
        names.pop(name, None)
    names["__doc__"] = None
    names["__annotations__"] = {}


def describe(names: Names) -> str:
    """The names and types of the variables, as JSON."""
    shown = [
        {"name": name, "type": type(value).__name__}
        for name, value in _variables(names).items()
        if not (name.startswith("__") and name.endswith("__"))
    ]
    return json.dumps(shown)
