"""What an interpreter that came out of an image must learn anew in its process."""

import asyncio
import builtins
import os
import random
import signal
import site
import sys
import time
import warnings


# Packages are installed here in a sandbox, after the image was made.
PACKAGES = site.getsitepackages()[0]


def find_packages() -> None:
    """Packages are looked for, and what was found out about their folder in the image is forgotten."""
    if PACKAGES not in sys.path:
        sys.path.append(PACKAGES)
    sys.path_importer_cache.pop(PACKAGES, None)


def set_time_zone() -> None:
    """After the environment has changed."""
    if "TZ" in os.environ and hasattr(time, "tzset"):
        time.tzset()


def reseed(seed: bytes) -> None:
    """Random numbers begin anew; without a seed, from the system's randomness."""
    random.seed(int.from_bytes(seed) if seed else None)
    tempfile = sys.modules.get("tempfile")
    if tempfile is not None:
        setattr(tempfile, "_name_sequence", None)


def begin_session() -> None:
    """Before the first request: modules are also looked for in the working directory, as in a REPL."""
    find_packages()
    sys.argv = [""]
    if "" not in sys.path:
        sys.path.insert(0, "")


def rehearse() -> None:
    """What the first request of a copy does, while the image is made."""
    set_time_zone()
    reseed(b"rehearsal")
    begin_session()


def end_rehearsal() -> None:
    """Nothing of it is left."""
    sys.path.remove("")
    asyncio.set_event_loop_policy(None)


def begin_program(user_site: bool, interruptible: bool) -> None:
    """Before a program runs, and after its environment was read: signals, and what was given by options and variables."""
    find_packages()
    set_time_zone()
    reseed(b"")
    for name in ("invoke", "list_callbacks"):
        builtins.__dict__.pop(name, None)
    signal.signal(signal.SIGINT, signal.default_int_handler if interruptible else signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    if user_site:
        site.ENABLE_USER_SITE = True
        site.addusersitepackages(set())
    if sys.warnoptions:
        warnings._processoptions(sys.warnoptions)  # type: ignore[attr-defined]
