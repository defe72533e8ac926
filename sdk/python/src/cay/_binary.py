"""Where the `cay` program is: $CAY_BINARY, the one of the wheel, the one on PATH."""
import os
from typing import List, Optional

from ._errors import BinaryNotFound


def _is_script(path: str) -> bool:
    """The command that this package installed, or another one: it would only look for the program again."""
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def _on_path() -> Optional[str]:
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, "cay")
        if folder and os.path.isfile(path) and os.access(path, os.X_OK) and not _is_script(path):
            return path
    return None


def find(given: Optional[str] = None) -> str:
    named = given or os.environ.get("CAY_BINARY")
    if named:
        if os.path.isfile(named) and os.access(named, os.X_OK):
            return named
        raise BinaryNotFound(f"{named} is not a program (named by {'binary=' if given else 'CAY_BINARY'})")
    bundled = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native", "bin", "cay")
    if os.path.isfile(bundled):
        return bundled
    found = _on_path()
    if found is None:
        raise BinaryNotFound("there is no cay program: this package was installed without one and none is on PATH; "
                             "install the wheel for this platform, or set CAY_BINARY to the program")
    return found


def command(given: Optional[str] = None) -> List[str]:
    return [find(given), "serve", "--stdio"]
