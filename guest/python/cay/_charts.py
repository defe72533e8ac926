"""What a figure of Matplotlib shows, as data: the kinds of its charts, their axes and series, for programs that draw them anew."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

_POINTS_MAX = 10_000  # of one series; longer ones are left out


def _plain(value: Any) -> Any:
    """A number or text of JSON; None for others."""
    item = getattr(value, "item", None)
    if callable(item):
        value = item()
    if isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return None if value is None else str(value)


def _points(xs: Iterable[Any], ys: Iterable[Any]) -> list[list[Any]]:
    return [[_plain(x), _plain(y)] for x, y in zip(xs, ys)]


def _label(artist: Any) -> str:
    label = str(artist.get_label() or "")
    return "" if label.startswith("_") else label


def _lines(axes: Any) -> list[dict[str, Any]]:
    found = []
    for line in axes.get_lines():
        xs, ys = line.get_data(orig=True)
        if len(xs) <= _POINTS_MAX and line.get_visible():
            found.append({"label": _label(line), "points": _points(xs, ys)})
    return found


def _scatters(axes: Any) -> list[dict[str, Any]]:
    from matplotlib.collections import PathCollection

    found = []
    for collection in axes.collections:
        offsets = collection.get_offsets() if isinstance(collection, PathCollection) else ()
        if 0 < len(offsets) <= _POINTS_MAX:
            found.append({"label": _label(collection), "points": [[_plain(x), _plain(y)] for x, y in offsets]})
    return found


def _is_upright(bars: Any) -> bool:
    return getattr(bars, "orientation", "vertical") != "horizontal"


def _names(axis: Any) -> dict[float, str]:
    """The labels of an axis that has categories, by position."""
    from matplotlib.category import StrCategoryFormatter
    from matplotlib.ticker import FixedFormatter

    if not isinstance(axis.get_major_formatter(), (FixedFormatter, StrCategoryFormatter)):
        return {}
    return {round(float(at), 9): text.get_text() for at, text in zip(axis.get_majorticklocs(), axis.get_ticklabels())}


def _bars(axes: Any) -> list[dict[str, Any]]:
    from matplotlib.container import BarContainer

    found = []
    for bars in axes.containers:
        if not isinstance(bars, BarContainer) or len(bars.patches) > _POINTS_MAX:
            continue
        upright, elements = _is_upright(bars), []
        names = _names(axes.xaxis if upright else axes.yaxis)
        for patch in bars.patches:
            middle = patch.get_x() + patch.get_width() / 2 if upright else patch.get_y() + patch.get_height() / 2
            name = names.get(round(float(middle), 9)) or _plain(middle)
            elements.append([name, _plain(patch.get_height() if upright else patch.get_width())])
        found.append({"label": _label(bars), "points": elements})
    return found


def _wedges(axes: Any) -> list[dict[str, Any]]:
    from matplotlib.patches import Wedge

    found = []
    for wedge in axes.patches:
        if isinstance(wedge, Wedge) and len(found) < _POINTS_MAX:
            found.append([_label(wedge), _plain((wedge.theta2 - wedge.theta1) / 360)])
    return [{"label": "", "points": found}] if found else []


_KINDS = (("pie", _wedges), ("bar", _bars), ("scatter", _scatters), ("line", _lines))


def _axis(axis: Any) -> dict[str, Any]:
    low, high = axis.get_view_interval()
    return {"label": axis.get_label_text(), "scale": axis.get_scale(), "limits": [_plain(low), _plain(high)]}


def _chart(axes: Any) -> dict[str, Any]:
    series = [{"kind": kind, **one} for kind, find in _KINDS for one in find(axes)]
    kinds = list(dict.fromkeys(one["kind"] for one in series))
    return {
        "kind": kinds[0] if len(kinds) == 1 else "mixed" if kinds else "unknown",
        "title": axes.get_title(),
        "x": _axis(axes.xaxis),
        "y": _axis(axes.yaxis),
        "series": series,
    }


def describe(figure: Any) -> dict[str, Any]:
    """{"title", "charts": [{"kind", "title", "x", "y", "series"}]}, a chart for each pair of axes."""
    title = getattr(figure, "_suptitle", None)
    return {
        "title": title.get_text() if title is not None else "",
        "charts": [_chart(axes) for axes in figure.axes if axes.get_visible()],
    }
