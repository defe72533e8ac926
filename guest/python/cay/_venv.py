"""Virtual environments (PEP 405), for an interpreter that began with the paths of the machine's own library."""

import os
import site
import sys

HOME = "/usr/bin"


def _program() -> str:
    """The path by which this program was started, without following links: "" for the machine's own."""
    name = sys.orig_argv[0] if sys.orig_argv else ""
    if "/" in name:
        return os.path.abspath(name)
    for folder in os.get_exec_path():
        path = os.path.join(folder, name)
        if folder != HOME and name and os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
        if folder == HOME:
            break
    return ""


def _settings(program: str) -> "tuple[str, dict[str, str]] | None":
    """The root of the environment that a program belongs to, and what its pyvenv.cfg says."""
    folder = os.path.dirname(program)
    for path in (folder, os.path.dirname(folder)):
        try:
            with open(os.path.join(path, "pyvenv.cfg"), encoding="utf-8", errors="replace") as file:
                lines = [line.partition("=") for line in file if "=" in line]
        except OSError:
            continue
        return os.path.dirname(folder), {key.strip().lower(): value.strip() for key, _, value in lines}
    return None


def enter() -> bool:
    """Makes the environment that the program was started from the one that it runs in. False: the machine's packages are
    seen, too, or there is none."""
    program = _program()
    found = _settings(program) if program and os.path.dirname(program) != HOME else None
    if found is None:
        return False
    root, settings = found
    sys.executable = program
    sys.prefix = sys.exec_prefix = root
    shared = settings.get("include-system-site-packages", "false").lower() == "true"
    outer = [path for path in sys.path if path.endswith("-packages")]
    sys.path[:] = [path for path in sys.path if path not in outer]
    site.PREFIXES[:] = [root]
    packages = f"{root}/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    if os.path.isdir(packages):
        site.addsitedir(packages)
    if shared:
        site.PREFIXES.append(sys.base_prefix)
        sys.path.extend(path for path in outer if path not in sys.path)
    else:
        site.ENABLE_USER_SITE = False
    return not shared
