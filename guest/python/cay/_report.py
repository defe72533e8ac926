"""An exception as text: what Python prints, with the frames of the user alone."""

import asyncio
import os
import traceback
from types import TracebackType

import cay

_DEEP, _SHOWN = 5000, 200  # frames

_ASYNCIO = os.path.dirname(asyncio.__file__) + "/"


def _is_ours(entry: TracebackType) -> bool:
    """Whether a frame belongs to this program, or to the loop that it turns."""
    name = entry.tb_frame.f_code.co_filename
    return name.startswith("<cay.") or name.startswith(_ASYNCIO)


def _strip(error: BaseException, seen: set[int]) -> None:
    """Takes the first frames off every traceback of the chain while they are ours."""
    if id(error) in seen:
        return
    seen.add(id(error))
    entry = error.__traceback__
    while entry is not None and _is_ours(entry):
        entry = entry.tb_next
    error.__traceback__ = entry
    for other in (error.__cause__, error.__context__):
        if other is not None:
            _strip(other, seen)
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            _strip(part, seen)


def _line_in(error: BaseException, cell: str | None) -> int:
    """The line of the cell where it happened, the innermost; 0 when there is none."""
    if isinstance(error, SyntaxError) and error.filename == cell and error.lineno:
        return error.lineno
    found = 0
    entry = error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code.co_filename == cell:
            found = entry.tb_lineno or found
        entry = entry.tb_next
    return found


def _limit(error: BaseException) -> int | None:
    """How many frames are shown, from the outermost on: all, unless they are so many that telling them takes too much memory."""
    depth = 0
    entry = error.__traceback__
    while entry is not None:
        depth += 1
        entry = entry.tb_next
    return None if depth <= _DEEP else _SHOWN


def _name_of(kind: type[BaseException]) -> str:
    if kind.__module__ in ("builtins", "__main__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def _text(error: BaseException) -> str:
    shown = traceback.TracebackException.from_exception(error, limit=_limit(error), compact=True)
    return "".join(shown.format())


def _text_of_stop(error: BaseException) -> str:
    """The same without marks under the lines, which are found by parsing them: who stopped it is waiting."""
    frames = []
    entry = error.__traceback__
    while entry is not None:
        code = entry.tb_frame.f_code
        frames.append(traceback.FrameSummary(code.co_filename, entry.tb_lineno or 0, code.co_name, lookup_line=False))
        entry = entry.tb_next
    lines = traceback.StackSummary.from_list(frames[: _limit(error)]).format()
    return "".join(["Traceback (most recent call last):\n", *lines, f"{_name_of(type(error))}: {error}\n"])


def describe(error: BaseException, cell: str | None) -> tuple[str, str, str, int]:
    """The type's name, the message, the whole text, and the line in the cell or 0."""
    _strip(error, set())
    try:
        message = str(error)
    except Exception:
        message = "<exception str() failed>"
    alone = error.__cause__ is None and error.__context__ is None
    text = _text_of_stop(error) if alone and type(error) is cay.Stopped else _text(error)
    return _name_of(type(error)), message, text, _line_in(error, cell)
