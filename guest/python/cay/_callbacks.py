"""Callbacks as names: which there are, and what their schemas say of them."""

import builtins
import inspect
import keyword
import re
import types
from collections.abc import Iterator
from typing import Any

import cay

_known: dict[str, cay.Callback] = {}
_bound: set[str] = set()

_TYPES: dict[str, object] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": None,
}


def _identifier(name: str) -> str:
    """What a name is called in Python."""
    word = re.sub(r"\W", "_", name) or "_"
    if word[0].isdigit():
        word = "_" + word
    return word + "_" if keyword.iskeyword(word) else word


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def bind(grants: list[dict[str, Any]]) -> None:
    """Makes every callback a name that code finds where it finds `print`, and takes back those that are gone.

    A name of Python's own is not replaced: such a callback can be invoked by name.
    """
    for name in _bound:
        builtins.__dict__.pop(name, None)
    _bound.clear()
    _known.clear()
    for grant in grants:
        schema = grant.get("parameters")
        schema = schema if isinstance(schema, dict) else {}
        name = grant["name"]
        description = grant.get("description") or ""
        _known[name] = cay.Callback(name, description, schema, tuple(_properties(schema)))
    for name, callback in _known.items():
        _place(name, callback)


def _place(name: str, callback: cay.Callback) -> None:
    first, *rest = map(_identifier, name.split("."))
    if first in builtins.__dict__ and first not in _bound:
        return
    _bound.add(first)
    holder: Any = builtins
    path = [first, *rest]
    for word in path[:-1]:
        inner = holder.__dict__.get(word)
        if not isinstance(inner, Namespace):
            inner = Namespace(inner)
            setattr(holder, word, inner)
        holder = inner
    here = holder.__dict__.get(path[-1])
    if isinstance(here, Namespace):
        here._callback = callback
    else:
        setattr(holder, path[-1], callback)


class Namespace(types.SimpleNamespace):
    """Callbacks whose names begin alike; and one that is called as its group is, if there is one."""

    def __init__(self, callback: cay.Callback | None) -> None:
        super().__init__()
        self._callback = callback

    def __call__(self, *args: object, **kwargs: object) -> object:
        if self._callback is None:
            raise TypeError("this names a group of callbacks: call one of " + ", ".join(self))
        return self._callback(*args, **kwargs)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.__dict__ if name != "_callback")

    def __dir__(self) -> list[str]:
        return list(self)

    def __repr__(self) -> str:
        return f"<callbacks {', '.join(self)}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        for name in _bound:
            if builtins.__dict__.get(name) is self:
                return getattr, (builtins, name)
        raise TypeError("a group of callbacks can only be kept while it exists")


def find(name: str) -> cay.Callback:
    """A callback by its whole name."""
    if name not in _known:
        raise cay.CallbackError(f"there is no callback named '{name}'")
    return _known[name]


def _annotation(schema: object) -> Any:
    """The type of Python that fits best; Any where there is none."""
    if not isinstance(schema, dict):
        return Any
    kinds = schema.get("type")
    if isinstance(kinds, list):
        parts = [_TYPES[kind] for kind in kinds if kind in _TYPES]
        union: Any = parts[0] if parts else Any
        for part in parts[1:]:
            union = union | part if union is not None else part | None  # type: ignore[operator]
        return union
    if kinds == "array" and isinstance(schema.get("items"), dict):
        return types.GenericAlias(list, (_annotation(schema["items"]),))
    return _TYPES.get(kinds, Any) if isinstance(kinds, str) else Any


def signature(schema: dict[str, Any]) -> inspect.Signature:
    """How it is called: required parameters first, as Python wants it; those after a gap by keyword only."""
    required = schema.get("required")
    required = required if isinstance(required, list) else []
    parameters: list[inspect.Parameter] = []
    optional_seen = False
    for name, part in _properties(schema).items():
        if not name.isidentifier() or keyword.iskeyword(name):
            continue
        needed = name in required
        after_gap = needed and optional_seen
        kind = inspect.Parameter.KEYWORD_ONLY if after_gap else inspect.Parameter.POSITIONAL_OR_KEYWORD
        default: Any = inspect.Parameter.empty
        if not needed:
            optional_seen = True
            default = part.get("default") if isinstance(part, dict) else None
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=_annotation(part)))
    if schema.get("additionalProperties", not parameters) not in (False, None):
        parameters.append(inspect.Parameter("more", inspect.Parameter.VAR_KEYWORD))
    parameters.sort(key=lambda parameter: parameter.kind)
    return inspect.Signature(parameters)


def document(description: str, schema: dict[str, Any]) -> str:
    """The description, and what the schema says of each parameter."""
    lines = [description or "A callback of the program that started this sandbox."]
    rows = [
        f"  {name}: {part['description']}"
        for name, part in _properties(schema).items()
        if isinstance(part, dict) and isinstance(part.get("description"), str)
    ]
    if rows:
        lines += ["", *rows]
    return "\n".join(lines)
