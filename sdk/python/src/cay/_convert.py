"""Arguments of callbacks as they are annotated, and results as JSON."""
import dataclasses
import enum
import functools
import inspect
import typing
from typing import Any, Callable, Dict, Mapping, Union


def hints_of(function: Callable[..., Any]) -> Dict[str, Any]:
    """{} when a name in them cannot be found."""
    try:
        return typing.get_type_hints(function)
    except Exception:
        return {}


# ---- from JSON ----

def _fields(hint: Any) -> Dict[str, Any]:
    try:
        return typing.get_type_hints(hint)
    except Exception:
        return {}


def _dataclass(hint: Any, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    hints = _fields(hint)
    return hint(**{name: convert(hints.get(name, Any), one) for name, one in value.items()})


def _fits(hint: Any, value: Any) -> bool:
    """Whether a part of a union is meant."""
    if hint is None or hint is type(None):
        return value is None
    if dataclasses.is_dataclass(hint):
        names = {field.name: field for field in dataclasses.fields(hint)}
        must = {name for name, field in names.items()
                if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING}
        return isinstance(value, dict) and must <= set(value) <= set(names)
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        return any(member.value == value for member in hint)
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if inspect.isclass(hint) and not hasattr(hint, "__required_keys__"):
        return type(value) is hint
    return True


def _union(parts: Any, value: Any) -> Any:
    for part in parts:
        if _fits(part, value):
            return convert(part, value)
    return value


def _generic(origin: Any, parts: Any, value: Any) -> Any:
    if origin is Union or getattr(origin, "__name__", "") == "UnionType":
        return _union(parts, value)
    if not inspect.isclass(origin) or not parts:
        return value
    if isinstance(value, list) and origin is tuple and parts[-1] is not Ellipsis:
        return tuple(convert(part, one) for part, one in zip(parts, value))
    if isinstance(value, list) and not issubclass(origin, Mapping):
        made = [convert(parts[0], one) for one in value]
        return origin(made) if origin in (tuple, set, frozenset) else made
    if isinstance(value, dict) and issubclass(origin, Mapping) and len(parts) == 2:
        return {name: convert(parts[1], one) for name, one in value.items()}
    return value


def convert(hint: Any, value: Any) -> Any:
    """A value of JSON as the annotation wants it: an instance of a dataclass, a member of an Enum, the items of a list, a dict,
    a TypedDict or an Optional likewise. A schema has accepted it; what fits nothing stays as it is."""
    parts = typing.get_args(hint)
    origin = typing.get_origin(hint)
    if origin is not None:
        return _generic(origin, parts, value)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _dataclass(hint, value)
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        return hint(value)
    if hasattr(hint, "__required_keys__") and isinstance(value, dict):  # TypedDict
        hints = _fields(hint)
        return {name: convert(hints.get(name, Any), one) for name, one in value.items()}
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint in (tuple, set, frozenset) and isinstance(value, list):
        return hint(value)
    return value


# ---- to JSON ----

def plain(value: Any) -> Any:
    """What json.dumps does not know: an instance of a dataclass as an object, a member of an Enum as its value, a set as a
    list. It converts their items again."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no JSON")


def adapted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a guest calls it: with values of JSON."""
    hints = hints_of(function)

    def given(arguments: Dict[str, Any]) -> Dict[str, Any]:
        return {name: convert(hints.get(name, Any), one) for name, one in arguments.items()}

    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def call_later(**arguments: Any) -> Any:
            return await function(**given(arguments))
        return call_later

    @functools.wraps(function)
    def call(**arguments: Any) -> Any:
        return function(**given(arguments))
    return call
