"""Figures of Matplotlib: as values and arguments of display() they are PNG, and what a cell shows or leaves open is displayed.

This is a backend of Matplotlib, too: that of the image `science`. Where nothing takes displays, it is Agg.
"""

from __future__ import annotations

import atexit
import io
from typing import Any

from matplotlib._pylab_helpers import Gcf
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import cay

_display = cay._part("display")

CHART = "application/vnd.cay.chart+json"


def _png(figure: Figure) -> bytes | None:
    if not figure.axes and not figure.lines:
        return None
    out = io.BytesIO()
    canvas = figure.canvas if hasattr(figure.canvas, "print_png") else FigureCanvasAgg(figure)
    canvas.print_figure(
        out,
        format="png",
        facecolor=figure.get_facecolor(),
        edgecolor=figure.get_edgecolor(),
        dpi=figure.dpi,
        bbox_inches="tight",
    )
    return out.getvalue()


def _bundle(figure: Figure, **kwargs: object) -> dict[str, Any]:
    data: dict[str, Any] = {"text/plain": repr(figure)}
    png = _png(figure)
    if png is not None:
        data["image/png"] = png
        data[CHART] = cay._part("charts").describe(figure)
    return data


def _shows(figure: Figure) -> bool:
    """Displays a figure; False where nothing takes displays."""
    data, metadata = _display.bundle(figure)
    return "image/png" not in data or _display.offer("display", data, metadata, None)


def settle(value: object = None) -> None:
    """At the end of a cell: figures left open are displayed and closed, but for one that is the value of the cell."""
    try:
        for manager in Gcf.get_all_fig_managers():
            if manager.canvas.figure is not value and not _shows(manager.canvas.figure):
                break
    finally:
        Gcf.destroy_all()


class FigureManager(FigureManagerBase):
    def __init__(self, canvas: Any, num: Any) -> None:
        super().__init__(canvas, num)
        if _display.folder() is not None:
            atexit.unregister(settle)
            atexit.register(settle)

    @classmethod
    def pyplot_show(cls, *, block: bool | None = None) -> None:
        for manager in Gcf.get_all_fig_managers():
            if not _shows(manager.canvas.figure):
                return
            Gcf.destroy(manager)

    def show(self) -> None:
        _shows(self.canvas.figure)


class FigureCanvas(FigureCanvasAgg):
    manager_class = FigureManager  # type: ignore[assignment]


def install() -> None:
    """Figures display themselves, and this is the backend, also of a pyplot that has been imported."""
    from matplotlib import pyplot

    Figure._repr_mimebundle_ = _bundle  # type: ignore[attr-defined]
    pyplot.switch_backend(f"module://{__name__}")
