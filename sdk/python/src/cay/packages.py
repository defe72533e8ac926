"""Packages of pure Python for a sandbox: wheels and folders, without pip and without running anything of theirs here."""
import os
import posixpath
from typing import Iterator, List, Tuple, Union

from ._errors import SandboxError

Package = Union[str, "os.PathLike[str]"]

PLACE = "/usr/local/lib/python3.13/dist-packages"
SCRIPTS = "/usr/local/bin"
NATIVE = (".so", ".pyd", ".dylib", ".dll", ".a")
FILE_MAX = 256 << 20


def _refuse_native(package: str, name: str) -> None:
    if name.endswith(NATIVE) or ".so." in posixpath.basename(name):
        raise SandboxError(f"ENOEXEC: {package} has machine code ({name}): only packages of pure Python can be installed")


def _place(package: str, name: str) -> str:
    """Where a file of a wheel goes; "" for what is left out (the headers and data of its .data folder)."""
    parts = name.split("/")
    if name.startswith("/") or ".." in parts:
        raise SandboxError(f"EINVAL: {package}: {name} leads out of the package")
    if parts[0].endswith(".data") and len(parts) > 2:
        if parts[1] in ("purelib", "platlib"):
            return posixpath.join(PLACE, *parts[2:])
        return posixpath.join(SCRIPTS, *parts[2:]) if parts[1] == "scripts" else ""
    return posixpath.join(PLACE, name)


def _wheel(path: str) -> Iterator[Tuple[str, bytes, int]]:
    import zipfile  # takes longer to import than a sandbox to start
    package = os.path.basename(path)
    tags = package[:-len(".whl")].split("-")[-3:]
    if len(tags) == 3 and (tags[1] != "none" or tags[2] != "any"):
        raise SandboxError(f"ENOEXEC: {package} is built for {tags[2]}: only wheels of pure Python (none-any) can be installed")
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if info.is_dir():
                    continue
                _refuse_native(package, info.filename)
                place = _place(package, info.filename)
                if info.file_size > FILE_MAX:
                    raise SandboxError(f"EFBIG: {package}: {info.filename} is larger than {FILE_MAX} bytes")
                if place:
                    yield place, archive.read(info), 0o755 if place.startswith(SCRIPTS) else 0o644
    except zipfile.BadZipFile as problem:
        raise SandboxError(f"EINVAL: {package} is no wheel: {problem}") from None


def _folder(path: str) -> Iterator[Tuple[str, bytes, int]]:
    """A package or a folder of packages: `path` with an __init__.py goes in under its name, else what is in it."""
    base = os.path.abspath(path)
    top = os.path.dirname(base) if os.path.exists(os.path.join(base, "__init__.py")) else base
    for folder, folders, files in os.walk(base):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            here = os.path.join(folder, name)
            _refuse_native(path, name)
            with open(here, "rb") as file:
                yield posixpath.join(PLACE, *os.path.relpath(here, top).split(os.sep)), file.read(), 0o644


def files_of(package: Package) -> List[Tuple[str, bytes, int]]:
    """Everything that is to be written: path in the sandbox, contents, permissions. All is looked at before anything is written."""
    path = os.fspath(package)
    if os.path.isdir(path):
        return list(_folder(path))
    if path.endswith(".whl") and os.path.isfile(path):
        return list(_wheel(path))
    if path.endswith(".py") and os.path.isfile(path):
        with open(path, "rb") as file:
            return [(posixpath.join(PLACE, os.path.basename(path)), file.read(), 0o644)]
    raise SandboxError(f"ENOENT: {path} is no wheel, no folder and no module")
