"""What an interpreter that came out of an image must learn anew in its process."""

import asyncio
import builtins
import os
import signal
import site
import sys
import time
import warnings

import cay


# Packages are installed here in a sandbox, after the image was made.
PACKAGES = site.getsitepackages()[0]


# Where nothing changes any more.
_LIBRARY = frozenset(path for path in sys.path if path and not path.endswith("-packages"))


def find_packages() -> None:
    """Looks for packages anew, and forgets the listing of their folder that the image holds."""
    if PACKAGES not in sys.path:
        sys.path.append(PACKAGES)
    sys.path_importer_cache.pop(PACKAGES, None)


# The files NAME.pth that were read, by this interpreter or the one whose image it began as.
_path_files: "set[str]" = set()


def _new_path_files() -> "list[str]":
    try:
        names = os.listdir(PACKAGES)
    except OSError:
        return []
    return sorted({name for name in names if name.endswith(".pth") and name[0] != "."} - _path_files)


def read_path_files() -> None:
    """Does for packages that came after the image was made what `site` does at the start: reads their files NAME.pth."""
    for name in _new_path_files():
        _path_files.add(name)
        site.addpackage(PACKAGES, name, None)


def set_time_zone() -> None:
    """After the environment has changed."""
    if "TZ" in os.environ and hasattr(time, "tzset"):
        time.tzset()


def begin_boot() -> None:
    """Before an image's own imports: they and sessions look for modules in their directory first, as a REPL does."""
    cay._part("loop").begin_session()
    find_packages()
    _path_files.update(_new_path_files())  # `site` has read them
    sys.argv = [""]
    sys.path.insert(0, "")


def end_boot() -> None:
    """Before an image is made: nothing is left of what ran, or was found where another sandbox may have something else."""
    cay._part("loop").begin_session()
    for path in list(sys.path_importer_cache):
        if path not in _LIBRARY:
            del sys.path_importer_cache[path]


def _customize(user_site: bool) -> None:
    """What `site` does by the variables of a process: the user's own folder, and modules that customize the start."""
    site.USER_BASE = site.USER_SITE = None
    site.ENABLE_USER_SITE = user_site
    site.addusersitepackages(set())
    if "PYTHONPATH" in os.environ:
        site.execsitecustomize()
    if user_site and os.path.isdir(site.getusersitepackages()):
        site.execusercustomize()


def begin_program(user_site: bool, interruptible: bool) -> None:
    """Before a program runs, and after its environment was read: signals, options and variables."""
    find_packages()
    set_time_zone()
    for name in ("invoke", "list_callbacks"):
        builtins.__dict__.pop(name, None)
    builtins.__dict__.pop("_", None)
    cay._part("loop").end_session()
    signal.signal(signal.SIGINT, signal.default_int_handler if interruptible else signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    if cay._part("venv").enter():
        user_site = False
    else:
        read_path_files()
    _customize(user_site)
    if sys.warnoptions:
        warnings._processoptions(sys.warnoptions)  # type: ignore[attr-defined]
