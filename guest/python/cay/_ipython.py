"""IPython.display: the classes that code written for notebooks imports, over display() of this program."""

from __future__ import annotations

import base64
import html
import json
import mimetypes
import os
import struct
import types
from collections.abc import Callable, Iterator
from typing import Any

from cay import _display
from cay._display import DisplayHandle, clear_output, display, update_display


def get_ipython() -> None:
    """There is no shell of IPython here."""
    return None


def _read(filename: str, binary: bool) -> str | bytes:
    with open(filename, "rb") as file:
        data = file.read()
    return data if binary else data.decode("utf-8")


class DisplayObject:
    """Contents of one MIME type, from text, bytes or a file."""

    _mime = "text/plain"
    _binary = False

    def __init__(
        self, data: Any = None, url: str | None = None, filename: Any = None, metadata: dict[str, Any] | None = None
    ) -> None:
        if isinstance(data, os.PathLike):
            filename, data = os.fspath(data), None
        elif isinstance(data, str) and self._is_path(data):
            filename, data = data, None
        self.url = url
        self.filename = os.fspath(filename) if filename is not None else None
        self.metadata = metadata or {}
        self.data = _read(self.filename, self._binary) if self.filename is not None else data
        if self.url is not None and self.data is None:
            raise ValueError("display objects of a URL are not fetched here: read the data, and give it as `data`")

    def _is_path(self, data: str) -> bool:
        return False

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> _display.Bundle:
        plain = self.data if self._mime == "text/plain" else repr(self)
        return {"text/plain": plain, self._mime: self.data}, {self._mime: self.metadata} if self.metadata else {}

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__qualname__} object>"


class TextDisplayObject(DisplayObject):
    def __init__(self, data: Any = None, *args: Any, **kwargs: Any) -> None:
        if data is not None and not isinstance(data, (str, os.PathLike)):
            raise TypeError(f"{type(self).__name__} takes text, and was given {type(data).__name__}")
        super().__init__(data, *args, **kwargs)


class Pretty(TextDisplayObject):
    _mime = "text/plain"


class HTML(TextDisplayObject):
    _mime = "text/html"

    def __html__(self) -> str:
        return str(self.data)


class Markdown(TextDisplayObject):
    _mime = "text/markdown"


class Latex(TextDisplayObject):
    _mime = "text/latex"


class Math(Latex):
    def __init__(self, data: str = "", **kwargs: Any) -> None:
        super().__init__(r"$\displaystyle " + data.strip("$") + "$", **kwargs)


class SVG(TextDisplayObject):
    _mime = "image/svg+xml"

    def __init__(self, data: Any = None, *args: Any, **kwargs: Any) -> None:
        if isinstance(data, bytes):
            data = data.decode("utf-8")
        super().__init__(data, *args, **kwargs)

    def _is_path(self, data: str) -> bool:
        return "<" not in data


class Javascript(TextDisplayObject):
    _mime = "application/javascript"


class Code(TextDisplayObject):
    """Source with its language, as preformatted text."""

    def __init__(self, data: Any = None, language: str | None = None, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.language = language

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> _display.Bundle:
        fence = f"```{self.language or ''}\n{self.data}\n```"
        shown = f"<pre>{html.escape(str(self.data))}</pre>"
        return {"text/plain": self.data, "text/markdown": fence, "text/html": shown}, {}


class JSON(DisplayObject):
    _mime = "application/json"

    def __init__(self, data: Any = None, expanded: bool = False, root: str = "root", **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        if isinstance(self.data, (str, bytes)):
            self.data = json.loads(self.data)
        self.metadata = {"expanded": expanded, "root": root, **self.metadata}


def _png_size(data: bytes) -> tuple[int, int] | None:
    if data[:8] != b"\x89PNG\r\n\x1a\n" or len(data) < 24:
        return None
    width, height = struct.unpack(">II", data[16:24])
    return width, height


class Image(DisplayObject):
    """A PNG, JPEG, GIF or WebP from bytes or a file."""

    _binary = True
    _FORMATS = {"png": "image/png", "jpeg": "image/jpeg", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}

    def __init__(
        self,
        data: Any = None,
        url: str | None = None,
        filename: Any = None,
        format: str | None = None,
        embed: bool | None = None,
        width: int | None = None,
        height: int | None = None,
        retina: bool = False,
        metadata: dict[str, Any] | None = None,
        alt: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(data, url, filename, metadata)
        if not isinstance(self.data, (bytes, bytearray, memoryview)):
            raise TypeError("Image takes the bytes of a picture, or the name of a file")
        self.format = (format or self._guess(bytes(self.data[:16]))).lower()
        if self.format not in self._FORMATS:
            raise ValueError(f"Image cannot be {self.format!r}: it is one of {', '.join(self._FORMATS)}")
        size = _png_size(bytes(self.data[:24])) if retina else None
        self.width = size[0] // 2 if size and width is None else width
        self.height = size[1] // 2 if size and height is None else height
        self.alt = alt

    def _is_path(self, data: str) -> bool:
        return True

    @staticmethod
    def _guess(head: bytes) -> str:
        if head.startswith(b"\xff\xd8"):
            return "jpeg"
        if head.startswith((b"GIF87a", b"GIF89a")):
            return "gif"
        return "webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else "png"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> _display.Bundle:
        mime = self._FORMATS[self.format]
        metadata = dict(self.metadata)
        metadata.update((name, value) for name in ("width", "height", "alt") if (value := getattr(self, name)) is not None)
        return {"text/plain": repr(self), mime: bytes(self.data)}, {mime: metadata} if metadata else {}


class Audio(DisplayObject):
    """Sound from the bytes of a file, as an element of HTML."""

    _binary = True
    _element = "audio"

    def __init__(self, data: Any = None, filename: Any = None, url: str | None = None, **kwargs: Any) -> None:
        super().__init__(data, url, filename)
        if not isinstance(self.data, (bytes, bytearray)):
            raise TypeError(f"{type(self).__name__} takes the bytes of a file, or its name")
        self.mimetype = kwargs.get("mimetype") or mimetypes.guess_type(self.filename or "")[0] or f"{self._element}/mpeg"

    def _is_path(self, data: str) -> bool:
        return True

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> _display.Bundle:
        source = f"data:{self.mimetype};base64,{base64.b64encode(self.data).decode()}"
        return {"text/plain": repr(self), "text/html": f'<{self._element} controls src="{source}"></{self._element}>'}, {}


class Video(Audio):
    _element = "video"


class IFrame:
    """A page in a frame."""

    def __init__(self, src: str, width: Any, height: Any, extras: list[str] | None = None, **kwargs: Any) -> None:
        self.src, self.width, self.height = src, width, height

    def _repr_html_(self) -> str:
        return f'<iframe width="{self.width}" height="{self.height}" src="{html.escape(self.src)}" frameborder="0"></iframe>'


class ProgressBar:
    """A bar that is displayed anew while it is iterated over."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._progress = 0
        self._handle = DisplayHandle()

    @property
    def progress(self) -> int:
        return self._progress

    @progress.setter
    def progress(self, value: int) -> None:
        self._progress = value
        self._handle.update(self)

    def _repr_html_(self) -> str:
        return f'<progress value="{self._progress}" max="{self.total}"></progress>'

    def __repr__(self) -> str:
        return f"[{self._progress}/{self.total}]"

    def __iter__(self) -> Iterator[int]:
        self._handle.display(self)
        for number in range(self.total):
            self.progress = number + 1
            yield number


def _display_as(kind: type[Any]) -> Callable[..., None]:
    def show(*objs: Any, raw: bool = False, metadata: dict[str, Any] | None = None) -> None:
        for obj in objs:
            display(kind(obj) if raw else obj, metadata=metadata)

    return show


_CLASSES = (
    DisplayObject, TextDisplayObject, Pretty, HTML, Markdown, Latex, Math, SVG, Javascript, Code, JSON, Image, Audio, Video,
    IFrame, ProgressBar, DisplayHandle,
)  # fmt: skip

for _kind in _CLASSES:
    _kind.__module__ = "IPython.display"  # a saved state finds them there


def fill(module: types.ModuleType) -> None:
    """Gives a module of IPython the names that it has there."""
    functions: tuple[Callable[..., Any], ...] = (display, update_display, clear_output, get_ipython)
    if module.__name__ == "IPython":
        functions = (display, get_ipython)
        setattr(module, "version_info", (0, 0, 0))
    elif module.__name__ == "IPython.core":
        functions = ()
    else:
        for kind in _CLASSES:
            setattr(module, kind.__name__, kind)
        for kind in (HTML, Markdown, Latex, SVG, JSON, Javascript):
            setattr(module, f"display_{kind.__name__.lower()}", _display_as(kind))
    for function in functions:
        setattr(module, function.__name__, function)
