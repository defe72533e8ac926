"""What code displays: MIME bundles, as notebooks show them."""
import base64
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional

_PLAIN = ("text/", "image/svg+xml", "application/javascript")


@dataclass
class Display:
    """One thing in all the forms that it offers, by MIME type."""

    data: Dict[str, Any] = field(repr=False)  # text, JSON, and everything else in base64
    metadata: Dict[str, Any] = field(default_factory=dict, repr=False)
    id: Optional[str] = None  # of display(…, display_id=…)
    kind: str = "display"  # "update": in the place of the display with the same id; "clear": all so far is taken back
    wait: bool = False  # of "clear": when the next thing comes

    def content(self, mime: str) -> Any:
        """The contents of a MIME type: str, bytes, or what JSON says; None when there are none."""
        content = self.data.get(mime)
        if not isinstance(content, str) or mime.startswith(_PLAIN) or mime == "application/json" or mime.endswith("+json"):
            return content
        try:
            return base64.b64decode(content, validate=True)
        except ValueError:
            return None  # the guest made it

    @property
    def formats(self) -> List[str]:
        """The MIME types."""
        return list(self.data)

    @property
    def text(self) -> Optional[str]:
        """text/plain."""
        return self.content("text/plain")

    @property
    def html(self) -> Optional[str]:
        """text/html."""
        return self.content("text/html")

    @property
    def markdown(self) -> Optional[str]:
        """text/markdown."""
        return self.content("text/markdown")

    @property
    def latex(self) -> Optional[str]:
        """text/latex."""
        return self.content("text/latex")

    @property
    def svg(self) -> Optional[str]:
        """image/svg+xml."""
        return self.content("image/svg+xml")

    @property
    def png(self) -> Optional[bytes]:
        """image/png, as the bytes of the file."""
        return self.content("image/png")

    @property
    def jpeg(self) -> Optional[bytes]:
        """image/jpeg, as the bytes of the file."""
        return self.content("image/jpeg")

    @property
    def pdf(self) -> Optional[bytes]:
        """application/pdf, as the bytes of the file."""
        return self.content("application/pdf")

    @property
    def json(self) -> Any:
        """application/json."""
        return self.content("application/json")

    def __repr__(self) -> str:
        return f"Display({', '.join(self.data)})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self.data, self.metadata


OnDisplay = Callable[[Display], Any]


def read_display(bundle: Any) -> Optional[Display]:
    """A bundle of the guest; None when it is none."""
    if not isinstance(bundle, dict):
        return None
    kind, data, metadata, name = (bundle.get(key) for key in ("kind", "data", "metadata", "id"))
    if kind == "clear":
        return Display({}, kind="clear", wait=bundle.get("wait") is True)
    if not isinstance(data, dict):
        return None
    return Display(data, metadata if isinstance(metadata, dict) else {}, name if isinstance(name, str) else None,
                   "update" if kind == "update" else "display")


class Displays:
    """What an evaluation has displayed, as it stands at its end."""

    def __init__(self, handler: Optional[OnDisplay], wanted: bool) -> None:
        self.handler = handler
        self.wanted = wanted or handler is not None
        self.shown: List[Display] = []
        self._clear_next = False

    def add(self, params: Dict[str, Any]) -> Any:
        """Takes the parameters of a notification, and returns what the handler returns."""
        display = read_display(params.get("bundle"))
        if display is None:
            return None
        if display.kind == "clear":
            self._clear(display.wait)
        else:
            self._show(display)
        return self.handler(display) if self.handler is not None else None

    def _clear(self, wait: bool) -> None:
        self._clear_next = wait
        if not wait:
            self.shown.clear()

    def _show(self, display: Display) -> None:
        if self._clear_next:
            self._clear(False)
        if display.kind == "display":
            self.shown.append(display)
            return
        for at, before in enumerate(self.shown):
            if before.id == display.id:
                self.shown[at] = display
