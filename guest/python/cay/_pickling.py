"""pickle, with functions and classes by value.

What pickle takes from modules by name does not exist by name in another session when it was defined in __main__, or in a
function. Such things are taken apart here and put together again; they then belong to the other session's own __main__.
"""

import abc
import builtins
import dataclasses
import enum
import functools
import importlib
import io
import itertools
import linecache
import marshal
import pickle
import sys
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, cast

import cay

Names = dict[str, Any]
Reduced = tuple[Any, ...]


# Making things again. Pickles refer to these by name.


def make_cell() -> types.CellType:
    return types.CellType()


def _globals_of(module: str) -> Names:
    if module == "__main__":
        return sys.modules["__main__"].__dict__
    return importlib.import_module(module).__dict__


def make_function(
    code: bytes, module: str | Names, name: str, closure: tuple[types.CellType, ...], source: str | None = None
) -> types.FunctionType:
    names = _globals_of(module) if isinstance(module, str) else module
    made = marshal.loads(code)
    if source is not None:
        file = _file_of(made.co_filename, source)
        if file != made.co_filename:
            made = _moved(made, file)
    return types.FunctionType(made, names, name, None, closure or None)


def source_of(file: str) -> str | None:
    """The code of a cell, as tracebacks show it; None when it is no cell, or a forgotten one."""
    entry = linecache.cache.get(file)
    if entry is None or len(entry) != 4 or entry[1] is not None:
        return None
    return "".join(entry[2])


def _file_of(file: str, source: str) -> str:
    """What that code is called in this session, where another cell may have its name."""
    if source_of(file) == source:
        return file
    base = file.removeprefix("<").removesuffix(">").partition(", saved")[0]
    for number in itertools.count(1):
        name = f"<{base}, saved {number}>"
        known = source_of(name)
        if known is None:
            cay._keep_source(name, source)
        if known in (None, source):
            return name
    raise AssertionError


def _moved(code: types.CodeType, file: str) -> types.CodeType:
    constants = tuple(_moved(c, file) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=file, co_consts=constants)


def fill_function(function: types.FunctionType, state: dict[str, Any]) -> None:
    function.__globals__.update(state.pop("globals", {}))
    for cell, contents in state.pop("cells"):
        cell.cell_contents = contents
    function.__dict__.update(state.pop("dict"))
    for name, value in state.items():
        setattr(function, name, value)


def make_class(meta: type, name: str, bases: tuple[type, ...], namespace: Names, keywords: Names) -> type:
    return types.new_class(
        name, bases, {"metaclass": meta, **keywords}, lambda inner: inner.update(namespace)
    )


def make_enum(name: str, bases: tuple[type, ...], members: Names, namespace: Names) -> type:
    meta = type(bases[-1])
    inner = cast(Any, meta).__prepare__(name, bases)
    for key, value in {**namespace, **members}.items():
        inner[key] = value
    return meta(name, bases, inner)


def fill_class(made: type, state: Names) -> None:
    for name, value in state.items():
        setattr(made, name, value)
        if hasattr(type(value), "__set_name__") and not isinstance(value, type):
            try:
                value.__set_name__(made, name)
            except Exception:  # it was told once; its contents came with its own state
                pass
    if isinstance(made, abc.ABCMeta):
        abc.update_abstractmethods(cast(type, made))


def make_cached(function: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


# Taking things apart.

_SENTINELS: dict[int, tuple[object, str, str]] = {
    id(value): (value, module, name)
    for module, name, value in [
        ("dataclasses", "MISSING", dataclasses.MISSING),
        ("dataclasses", "KW_ONLY", dataclasses.KW_ONLY),
        ("dataclasses", "_HAS_DEFAULT_FACTORY", getattr(dataclasses, "_HAS_DEFAULT_FACTORY")),
        ("dataclasses", "_FIELD", getattr(dataclasses, "_FIELD")),
        ("dataclasses", "_FIELD_CLASSVAR", getattr(dataclasses, "_FIELD_CLASSVAR")),
        ("dataclasses", "_FIELD_INITVAR", getattr(dataclasses, "_FIELD_INITVAR")),
        *(("types", name, value) for name, value in vars(types).items() if isinstance(value, type)),
    ]
    if not (isinstance(value, type) and getattr(builtins, value.__name__, None) is value)
}

# What the creation of a class puts there by itself.
MADE = {"__dict__", "__weakref__", "__abstractmethods__", "_abc_impl", "__slots__", "__static_attributes__"}
_MADE_BY_ENUM = {
    "_new_member_",
    "__new_member__",
    "_member_names_",
    "_member_map_",
    "_member_type_",
    "_value2member_map_",
    "_hashable_values_",
    "_unhashable_values_",
    "_unhashable_values_map_",
    "_use_args_",
    "_value_repr_",
    "_generate_next_value_",
    "_flag_mask_",
    "_singles_mask_",
    "_all_bits_",
    "_boundary_",
    "_inverted_",
}


def _find(module: str | None, path: str) -> object:
    """What a module has under a dotted name; None when nothing."""
    found: Any = sys.modules.get(module or "")
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _is_known(value: Any) -> bool:
    """Whether another session finds it by its name."""
    module = getattr(value, "__module__", None)
    return module != "__main__" and _find(module, value.__qualname__) is value


def _reduce_cell(cell: types.CellType) -> Reduced:
    return make_cell, ()


def contents_of(cell: types.CellType) -> Iterator[tuple[types.CellType, object]]:
    try:
        yield cell, cell.cell_contents
    except ValueError:  # not filled yet
        return


def _module_of_globals(function: types.FunctionType) -> str | None:
    names = function.__globals__
    module = names.get("__name__")
    if isinstance(module, str):
        known = sys.modules.get(module)
        if known is not None and known.__dict__ is names:
            return module
    return None


def _names_in(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)


def _needed_globals(function: types.FunctionType) -> Names:
    """What a function needs of globals that are no module's, as namedtuple and exec make them."""
    names = function.__globals__
    wanted = {"__name__", "__builtins__", *_names_in(function.__code__)}
    needed = {name: names[name] for name in wanted if name in names}
    if needed.get("__builtins__") in (builtins, builtins.__dict__):
        del needed["__builtins__"]  # every function finds them by itself
    return needed


def _reduce_function(
    function: types.FunctionType, shells: dict[int, Names], sources: dict[str, str | None]
) -> Reduced:
    cells = function.__closure__ or ()
    state = {
        "cells": [pair for cell in cells for pair in contents_of(cell)],
        "dict": function.__dict__,
        "__qualname__": function.__qualname__,
        "__module__": function.__module__,
        "__defaults__": function.__defaults__,
        "__kwdefaults__": function.__kwdefaults__,
        "__annotations__": function.__annotations__,
        "__doc__": function.__doc__,
        "__type_params__": function.__type_params__,
    }
    home: str | Names | None = _module_of_globals(function)
    if home is None:
        home = shells.setdefault(id(function.__globals__), {})
        state["globals"] = _needed_globals(function)
    file = function.__code__.co_filename
    if file not in sources:
        sources[file] = source_of(file)
    made = marshal.dumps(function.__code__), home, function.__name__, cells, sources[file]
    return make_function, made, state, None, None, fill_function


def _is_slot(kind: type, value: object) -> bool:
    return isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType)) and (
        getattr(value, "__objclass__", None) is kind
    )


def members_of(kind: type, made: set[str]) -> Names:
    return {
        name: value for name, value in vars(kind).items() if name not in made and not _is_slot(kind, value)
    }


def _reduce_class(kind: type) -> Reduced:
    members = members_of(kind, MADE)
    early: Names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    if "__slots__" in vars(kind):
        early["__slots__"] = vars(kind)["__slots__"]
    members.pop("__qualname__", None)
    bases, keywords = kind.__bases__, {}
    if "__orig_bases__" in vars(kind):  # Generic looks for it while a class is made
        early["__orig_bases__"] = members.pop("__orig_bases__")
        members.pop("__parameters__", None)
    if typing.is_typeddict(kind):  # which is made from its source text, and else is a dict
        bases, keywords = early.pop("__orig_bases__"), {"total": getattr(kind, "__total__")}
    made = type(kind), kind.__name__, bases, early, keywords
    return make_class, made, members, None, None, fill_class


def _reduce_enum(kind: type[enum.Enum]) -> Reduced:
    members = {name: member._value_ for name, member in kind.__members__.items()}
    rest = {
        name: value
        for name, value in members_of(kind, MADE | _MADE_BY_ENUM).items()
        if name not in members and getattr(object, name, None) is not value and not _is_enums_own(name, value)
    }
    made = kind.__name__, kind.__bases__, members, {"__qualname__": kind.__qualname__, **rest}
    return make_enum, made


def _is_enums_own(name: str, value: object) -> bool:
    """Whether a method was put there by the machinery of enum and not by the user."""
    if isinstance(value, types.FunctionType):
        return value.__module__ == "enum"
    inner = getattr(value, "__func__", None)
    if isinstance(inner, types.FunctionType):
        return inner.__module__ == "enum"
    return name.startswith("__") and isinstance(value, (types.BuiltinMethodType, types.WrapperDescriptorType))


def _reduce_type(kind: type) -> Reduced:
    if isinstance(kind, enum.EnumType) and kind.__members__:
        return _reduce_enum(cast(type[enum.Enum], kind))
    return _reduce_class(kind)


def _reduce_module(module: types.ModuleType) -> Reduced:
    if sys.modules.get(module.__name__) is not module:
        raise pickle.PicklingError(f"the module '{module.__name__}' cannot be imported by its name")
    return importlib.import_module, (module.__name__,)


def _reduce_property(value: property) -> Reduced:
    return property, (value.fget, value.fset, value.fdel, value.__doc__)


def _reduce_wrapped(value: Any) -> Reduced:
    return type(value), (value.__func__,)


def _reduce_mapping(value: types.MappingProxyType[Any, Any]) -> Reduced:
    return types.MappingProxyType, (dict(value),)


def _reduce_cached(value: Any) -> Reduced:
    return make_cached, (value.__wrapped__, value.cache_parameters())


def make_type_variable(kind: Any, name: str, constraints: tuple[Any, ...], keywords: Names) -> Any:
    made = kind(name, *constraints, **keywords)
    made.__module__ = "__main__"
    return made


def _reduce_type_variable(value: Any) -> Reduced | str:
    name: str = value.__name__
    known: bool = value.__module__ != "__main__" and _find(value.__module__, name) is value
    if known:
        return name
    keywords = {
        word: getattr(value, f"__{word}__")
        for word in ("bound", "covariant", "contravariant", "infer_variance")
        if getattr(value, f"__{word}__", None)
    }
    if value.has_default():
        keywords["default"] = value.__default__
    return make_type_variable, (type(value), name, getattr(value, "__constraints__", ()), keywords)


def make_alias(name: str, value: Any, parameters: tuple[Any, ...]) -> Any:
    return typing.TypeAliasType(name, value, type_params=parameters)


def _reduce_alias(value: Any) -> Reduced:
    return make_alias, (value.__name__, value.__value__, value.__type_params__)


def make_new_type(name: str, base: Any) -> Any:
    made: Any = getattr(typing, "NewType")(name, base)
    made.__module__ = "__main__"
    return made


def _reduce_new_type(value: Any) -> Reduced | str:
    if value.__module__ != "__main__":
        return cast(str, value.__qualname__)
    return make_new_type, (value.__name__, value.__supertype__)


def _reduce_stream(value: io.TextIOWrapper) -> Reduced:
    for name in ("stdin", "stdout", "stderr"):
        if value is getattr(sys, name):
            return getattr, (sys, name)
    raise pickle.PicklingError("an open file cannot be kept as bytes")


def _reduce_generator(value: object) -> Reduced:
    raise pickle.PicklingError(
        f"a {type(value).__name__} that runs cannot be kept as bytes; an image keeps it"
    )


_REDUCERS: dict[type, Callable[[Any], Reduced | str]] = {
    types.CellType: _reduce_cell,
    types.ModuleType: _reduce_module,
    types.MappingProxyType: _reduce_mapping,
    types.GeneratorType: _reduce_generator,
    types.CoroutineType: _reduce_generator,
    types.AsyncGeneratorType: _reduce_generator,
    io.TextIOWrapper: _reduce_stream,
    typing.TypeVar: _reduce_type_variable,
    typing.ParamSpec: _reduce_type_variable,
    typing.TypeVarTuple: _reduce_type_variable,
    typing.TypeAliasType: _reduce_alias,
    typing.NewType: _reduce_new_type,
    property: _reduce_property,
    classmethod: _reduce_wrapped,
    staticmethod: _reduce_wrapped,
    type(functools.lru_cache(len)): _reduce_cached,
}


class Pickler(pickle.Pickler):
    """pickle's, for objects that are not found by name."""

    def __init__(self, file: Any) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.sources: dict[str, str | None] = {}  # of cells, by file: one object each, which pickle then has once
        self.shells: dict[int, Names] = {}  # new globals, empty, for functions whose own are no module's

    def reducer_override(self, value: Any) -> Any:
        sentinel = _SENTINELS.get(id(value))
        if sentinel is not None and sentinel[0] is value:
            return getattr, (importlib.import_module(sentinel[1]), sentinel[2])
        if isinstance(value, type):
            return NotImplemented if _is_known(value) else _reduce_type(value)
        if isinstance(value, types.FunctionType):
            return NotImplemented if _is_known(value) else _reduce_function(value, self.shells, self.sources)
        reducer = _REDUCERS.get(type(value))
        return reducer(value) if reducer else NotImplemented


class _Nothing:
    def write(self, data: Any) -> int:
        return len(data)


def try_to_pickle(value: object) -> None:
    """Raises what keeps it from being kept."""
    Pickler(_Nothing()).dump(value)
