"""anchors.py - the native Python of the figures, and the one that has the peers: made in a folder from what deps.lock pins.

PYTHON and PEERS name others. The native one is Debian's, which is built with profiles and at link time; it runs with the libraries that
it was built for, on any Debian.
"""
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERSION = "python3.13"
PEERS = ("pyeryx", "pydantic-monty", "pydantic-monty-client", "pydantic-monty-runtime", "typing-extensions")


def fetched(*names):
    found = subprocess.run([str(ROOT / "scripts/fetch"), *names], check=True, stdout=subprocess.PIPE, text=True)
    return [pathlib.Path(line) for line in found.stdout.splitlines()]


def keep_compiled(folder):
    """From here on every Python that is started keeps compiled modules, as one that a user installed; in the folder."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(pathlib.Path(folder) / "compiled")


def place_native(folder):
    """A Python in the folder, with modules of its own; the shared libraries stay where they were unpacked."""
    program = folder / "bin" / VERSION
    if program.exists():
        return program
    (source,) = fetched("python-native")
    linked = next((source / "usr/lib").glob("*-linux-gnu"))
    program.parent.mkdir(parents=True)
    shutil.copytree(source / "usr/lib" / VERSION, folder / "lib" / VERSION, symlinks=True)
    loader = next(linked.glob("ld-linux-*"))
    subprocess.run(["patchelf", "--set-interpreter", str(loader), "--force-rpath", "--set-rpath", str(linked), "--output", str(program),
                    str(source / "usr/bin" / VERSION)], check=True)
    return program


def native_python(folder):
    if "PYTHON" in os.environ:
        return os.environ["PYTHON"]
    return str(place_native(pathlib.Path(folder) / "native"))


def peers_python(folder):
    """A virtual environment of the native one, with the wheels as they were unpacked."""
    if "PEERS" in os.environ:
        return os.environ["PEERS"]
    folder = pathlib.Path(folder)
    home, place = place_native(folder / "native"), folder / "peers"
    packages = place / "lib" / VERSION / "site-packages"
    packages.mkdir(parents=True)
    (place / "bin").mkdir()
    (place / "bin" / VERSION).symlink_to(home)
    (place / "pyvenv.cfg").write_text(f"home = {home.parent}\n")
    wheels = fetched(*PEERS)
    (packages / "peers.pth").write_text("".join(f"{wheel}\n" for wheel in wheels))
    for script in (path for wheel in wheels for path in wheel.glob("*.data/scripts/*")):
        copy = place / "bin" / script.name
        copy.write_bytes(script.read_bytes())
        copy.chmod(0o755)
    return str(place / "bin" / VERSION)
