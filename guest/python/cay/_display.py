"""MIME bundles: what an object displays itself as, by the protocol of IPython.

https://ipython.readthedocs.io/en/stable/config/integrating.html#rich-display
"""

from __future__ import annotations

import base64
import inspect
import json
import os
import sys
import traceback

import cay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    Bundle = tuple[dict[str, Any], dict[str, Any]]  # data and metadata, each by MIME type

_METHODS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_latex_": "text/latex",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_pdf_": "application/pdf",
    "_repr_json_": "application/json",
    "_repr_javascript_": "application/javascript",
}

# An object that answers to this name answers to every name.
_CANARY = "_cay_no_object_has_this_method_"


def _method(value: object, name: str) -> Callable[..., Any] | None:
    if inspect.isclass(value):
        return None
    try:
        if getattr(value, _CANARY, None) is not None:
            return None
        method = getattr(value, name, None)
    except Exception:
        return None
    return method if callable(method) else None


def _call(value: object, name: str, *args: object, **kwargs: object) -> Any:
    """What the method returns; None when there is none, or when it fails, which stderr tells."""
    method = _method(value, name)
    if method is None:
        return None
    try:
        return method(*args, **kwargs)
    except NotImplementedError:
        return None
    except Exception as error:
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        traceback.print_exception(error)
        return None


def _pair(found: Any) -> tuple[Any, Any]:
    if isinstance(found, tuple) and len(found) == 2:
        return found
    return found, None


def _content(mime: str, content: Any) -> Any:
    """Text as it is, JSON as it is, bytes in base64."""
    if isinstance(content, (bytes, bytearray, memoryview)):
        if mime.startswith("text/") or mime == "image/svg+xml":
            return bytes(content).decode("utf-8", "replace")
        return base64.b64encode(content).decode("ascii")
    if mime == "application/json" or mime.endswith("+json") or isinstance(content, str):
        return content
    return str(content)


def _mimebundle(value: object) -> Bundle:
    data, metadata = _pair(_call(value, "_repr_mimebundle_", include=None, exclude=None))
    if not isinstance(data, dict):
        return {}, {}
    return dict(data), dict(metadata) if isinstance(metadata, dict) else {}


def bundle(value: object) -> Bundle:
    """The value in all forms that it offers; text/plain, its repr, is always there."""
    data, metadata = _mimebundle(value)
    for name, mime in _METHODS.items():
        if mime in data:
            continue
        content, more = _pair(_call(value, name))
        if content is not None:
            data[mime] = content
        if content is not None and more:
            metadata[mime] = more
    if "text/plain" not in data:
        data = {"text/plain": repr(value), **data}
    return {mime: _content(mime, content) for mime, content in data.items() if content is not None}, metadata


def value_bundle(value: object) -> dict[str, Any] | None:
    """What a cell has as its value; None when the value has displayed itself."""
    method = _method(value, "_ipython_display_")
    if method is not None:
        try:
            method()
        except NotImplementedError:
            pass
        else:
            return None
    data, metadata = bundle(value)
    return {"data": data, "metadata": metadata}


def prepare() -> None:
    """Before code of which the bundles are wanted: libraries that ask the environment how to display learn it."""
    os.environ.setdefault("PLOTLY_RENDERER", "plotly_mimetype")


def settle(value: object) -> None:
    """After a cell whose bundles are wanted: figures that it has left open are displayed."""
    if "matplotlib._pylab_helpers" in sys.modules:
        cay._part("figures").settle(value)


class DisplayHandle:
    """Something that was displayed under an id, and may be displayed anew in the same place."""

    def __init__(self, display_id: str | None = None) -> None:
        self.display_id = display_id or os.urandom(16).hex()

    def display(self, obj: object, **kwargs: Any) -> None:
        display(obj, display_id=self.display_id, **kwargs)

    def update(self, obj: object, **kwargs: Any) -> None:
        update_display(obj, display_id=self.display_id, **kwargs)

    def __repr__(self) -> str:
        return f"<DisplayHandle display_id={self.display_id}>"


def _chosen(data: dict[str, Any], include: Sequence[str] | None, exclude: Sequence[str] | None) -> dict[str, Any]:
    if include is not None:
        data = {mime: content for mime, content in data.items() if mime in include}
    return {mime: content for mime, content in data.items() if mime not in (exclude or ())}


def folder() -> str | None:
    """Where displays become files, in a program that no host looks at (`cay python --out-dir`)."""
    return os.environ.get("CAY_DISPLAY_DIR") or None


_SUFFIXES = {
    "text/html": "html",
    "text/markdown": "md",
    "text/latex": "tex",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "application/pdf": "pdf",
    "application/javascript": "js",
    "text/plain": "txt",
}
_written = 0


def _write_files(place: str, data: dict[str, Any]) -> None:
    """Each form as a file, display-1.png and so on."""
    global _written
    _written += 1
    os.makedirs(place, exist_ok=True)
    for mime, content in data.items():
        name = _SUFFIXES.get(mime) or ("json" if mime.endswith("json") else "bin")
        if mime.endswith("+json"):
            name = mime.partition("/")[2].removesuffix("+json") + ".json"
        text = isinstance(content, str)
        plain = mime.startswith("text/") or mime in ("image/svg+xml", "application/javascript")
        with open(os.path.join(place, f"display-{_written}.{name}"), "wb") as file:
            if name.endswith("json"):
                file.write(json.dumps(content).encode())
            else:
                file.write(content.encode() if plain and text else base64.b64decode(content))


def offer(kind: str, data: dict[str, Any], metadata: dict[str, Any], display_id: str | None) -> bool:
    """Displays a bundle; False where nothing takes it."""
    shown: dict[str, Any] = {"kind": kind, "data": data, "metadata": metadata}
    if display_id is not None:
        shown["id"] = display_id
    if cay._show(shown):
        return True
    place = folder()
    if place is not None:
        _write_files(place, data)
    return place is not None


def _show(kind: str, data: dict[str, Any], metadata: dict[str, Any], display_id: str | None) -> None:
    if not offer(kind, data, metadata, display_id) or folder() is not None:
        print(data.get("text/plain", ""))


def _display_one(
    kind: str,
    obj: Any,
    display_id: str | None,
    include: Sequence[str] | None,
    exclude: Sequence[str] | None,
    metadata: dict[str, Any] | None,
    raw: bool,
) -> None:
    if raw:
        if not isinstance(obj, dict):
            raise TypeError("display(…, raw=True) takes a dictionary of contents by MIME type")
        data, found = {mime: _content(mime, content) for mime, content in obj.items()}, {}
    else:
        method = _method(obj, "_ipython_display_")
        if method is not None:
            method()
            return
        data, found = bundle(obj)
    _show(kind, _chosen(data, include, exclude), {**found, **(metadata or {})}, display_id)


def display(
    *objs: Any,
    include: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    metadata: dict[str, Any] | None = None,
    transient: dict[str, Any] | None = None,
    display_id: bool | str | None = None,
    raw: bool = False,
    clear: bool = False,
    **kwargs: Any,
) -> DisplayHandle | None:
    """Displays objects, each in all forms that it offers. Where nothing shows more than text, it prints them.

    display_id: True makes an id, and a handle is returned whose update() displays something else in the place.
    raw: the objects are dictionaries of contents by MIME type.
    """
    if transient and display_id is None:
        display_id = transient.get("display_id")
    if clear:
        clear_output(wait=True)
    handle = DisplayHandle(display_id if isinstance(display_id, str) else None) if display_id else None
    for obj in objs:
        _display_one("display", obj, handle and handle.display_id, include, exclude, metadata, raw)
    return handle


def update_display(obj: Any, *, display_id: str, **kwargs: Any) -> None:
    """Displays an object in the place of the one that has the id."""
    _display_one(
        "update",
        obj,
        display_id,
        kwargs.get("include"),
        kwargs.get("exclude"),
        kwargs.get("metadata"),
        bool(kwargs.get("raw")),
    )


def clear_output(wait: bool = False) -> None:
    """Takes back what the cell has displayed; with `wait`, when the next thing is displayed."""
    sys.stdout.flush()
    sys.stderr.flush()
    cay._show({"kind": "clear", "wait": bool(wait)})


class _Finder:
    """IPython.display, for code that was written for notebooks. An IPython that is installed comes first."""

    _NAMES = ("IPython", "IPython.display", "IPython.core", "IPython.core.display", "IPython.core.display_functions")

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in self._NAMES:
            return None
        from importlib.machinery import ModuleSpec

        spec = ModuleSpec(name, self, is_package=name in ("IPython", "IPython.core"))  # type: ignore[arg-type]
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        cay._part("ipython").fill(module)


sys.meta_path.append(_Finder())  # type: ignore[arg-type]
