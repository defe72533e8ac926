"""Modules that others import and few programs need: in an image they are absent until somebody wants them.

In their place, their importers have a proxy that leads there. When such a module is imported, by anybody, they get it.
"""

import importlib
import sys
import types
from collections.abc import Callable

from cay import _fallbacks

_USERS = {
    "asyncio.sslproto": ("asyncio", "asyncio.base_events", "asyncio.selector_events"),
    "ipaddress": ("urllib.parse",),
    "ssl": ("asyncio.base_events", "asyncio.selector_events"),
}


class _Late:
    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> object:
        return getattr(importlib.import_module(self.__name__), name)


class _LateSSL(_Late):
    """asyncio asks of every socket whether it is one of these."""

    class SSLSocket:
        """Of these there are none as long as ssl is not there."""


def _give(name: str, module: object) -> None:
    for user in _USERS[name]:
        setattr(sys.modules[user], name.rpartition(".")[2], module)


def _giver(name: str) -> Callable[[types.ModuleType], None]:
    return lambda module: _give(name, module)


def _import_users() -> None:
    sys.modules.update({name: types.ModuleType(name) for name in _USERS})
    for users in _USERS.values():
        for user in users:
            importlib.import_module(user)
    for name in _USERS:
        del sys.modules[name]
        _give(name, _LateSSL(name) if name == "ssl" else _Late(name))
        _fallbacks.after_import(name, _giver(name))


_import_users()
