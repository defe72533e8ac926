"""Locals in trace events: of every frame what changed since its last event, shortened."""

import json
import reprlib
from types import FrameType, ModuleType
from typing import Any

_MISSING = object()
_PLAIN = (int, float, str, bytes, bool, type(None), complex)
_HIDDEN = {
    "__builtins__",
    "__annotations__",
    "__name__",
    "__doc__",
    "__package__",
    "__loader__",
    "__spec__",
    "__file__",
}

_shorter = reprlib.Repr(maxlevel=3, maxstring=80, maxother=80, maxlong=60)

# The locals of each frame at its last event: the value if it cannot change, and how it was shown.
_last: dict[FrameType, dict[str, tuple[object, str]]] = {}


def short(value: object) -> str:
    """A repr of bounded length."""
    try:
        return _shorter.repr(value)[:400]
    except Exception as error:
        return f"<{type(value).__name__}: repr failed with {type(error).__name__}>"


def changes(frame: FrameType) -> str | None:
    """{"locals": {name: repr}, "gone": [name]} as JSON; None when nothing changed."""
    before = _last.get(frame)
    if before is None:
        before = _last[frame] = {}
    values = dict(frame.f_locals)
    changed: dict[str, str] = {}
    for name, value in values.items():
        if name in _HIDDEN or isinstance(value, ModuleType):
            continue
        known, shown = before.get(name, (_MISSING, ""))
        if known is value and type(value) in _PLAIN:
            continue
        now = short(value)
        if known is _MISSING or now != shown:
            changed[name] = now
        before[name] = (value if type(value) in _PLAIN else None, now)
    gone = [name for name in before if name not in values]
    for name in gone:
        del before[name]
    if not changed and not gone:
        return None
    told: dict[str, Any] = {"locals": changed}
    if gone:
        told["gone"] = gone
    return json.dumps(told)


def forget() -> None:
    """Tracing has ended."""
    _last.clear()
