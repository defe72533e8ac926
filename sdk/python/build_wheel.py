"""build_wheel.py - makes the wheel of this folder: a build backend (PEP 517) of the standard library alone.

With CAY_NATIVE naming a folder as `make install` leaves it (bin/, lib/), that goes into the wheel, which is then tagged
for this platform. Without, the wheel is pure Python, and a `cay` program has to be on PATH or in CAY_BINARY.

    build_wheel.py FOLDER                   the wheel of cay, into FOLDER
    build_wheel.py FOLDER GUESTS NATIVE     that of cay-guests-extra or cay-science, with the guests of a folder `extra` or `science`
"""
import base64
import hashlib
import os
import pathlib
import re
import stat
import subprocess
import sys
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
EPOCH = (1980, 1, 1, 0, 0, 0)  # so that the same contents give the same file


def version():
    return re.search(r'__version__ = "(.+)"', (HERE / "src/cay/_version.py").read_text())[1]


def project():
    """The few fields of pyproject.toml that the metadata needs; tomllib is not in Python 3.9."""
    text = (HERE / "pyproject.toml").read_text()

    def field(name):
        return re.search(rf'^{name} = "(.+)"$', text, re.M)[1]

    classifiers = re.findall(r'^  "(.+)",$', text[text.index("classifiers"):text.index("[tool")], re.M)
    return field("name"), field("description"), field("requires-python"), classifiers


LICENCES = ("LICENSE", "THIRD-PARTY-NOTICES")  # scripts/notices put them into the native folder


def metadata(licences):
    name, description, python, classifiers = project()
    lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version()}", f"Summary: {description}",
             *(f"Classifier: {c}" for c in classifiers), f"Requires-Python: {python}", "License-Expression: Apache-2.0",
             *(f"License-File: {name}" for name in licences),
             "Description-Content-Type: text/markdown", "", (HERE / "README.md").read_text()]
    return "\n".join(lines)


# ---- the platform ----

def glibc_needed(native):
    """The newest version of glibc that a program or library of the folder asks for."""
    newest = (2, 17)
    for file in sorted(p for p in native.rglob("*") if p.is_file() and p.read_bytes()[:4] == b"\x7fELF"):
        if file.suffix == ".cwasm":
            continue
        table = subprocess.run(["objdump", "-T", str(file)], check=True, capture_output=True, text=True).stdout
        for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", table):
            newest = max(newest, (int(major), int(minor)))
    return newest


def tag(native):
    if native is None:
        return "py3-none-any"
    major, minor = glibc_needed(native)
    return f"py3-none-manylinux_{major}_{minor}_{os.uname().machine}"


# ---- the archive ----

class Wheel:
    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []

    def add(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, EPOCH)
        info.external_attr = (stat.S_IFREG | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data, compresslevel=9)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, info):
        name = f"{info}/RECORD"
        self.zip.writestr(zipfile.ZipInfo(name, EPOCH), "\n".join([*self.record, f"{name},,", ""]))
        self.zip.close()


def native_folder():
    given = os.environ.get("CAY_NATIVE")
    return pathlib.Path(given) if given else None


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    native = native_folder()
    file_name = f"cay-{version()}-{tag(native)}.whl"
    wheel = Wheel(pathlib.Path(wheel_directory) / file_name)
    for file in sorted((HERE / "src").rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            wheel.add(file.relative_to(HERE / "src").as_posix(), file.read_bytes())
    if native is not None:
        for file in sorted(p for p in native.rglob("*") if p.is_file() and (p.parent != native or p.name not in LICENCES)):
            mode = 0o755 if os.access(file, os.X_OK) else 0o644
            wheel.add(f"cay/_native/{file.relative_to(native).as_posix()}", file.read_bytes(), mode)
    info = f"cay-{version()}.dist-info"
    licences = [name for name in LICENCES if native is not None and (native / name).is_file()]
    wheel.add(f"{info}/METADATA", metadata(licences).encode())
    for name in licences:
        wheel.add(f"{info}/licenses/{name}", (native / name).read_bytes())
    wheel.add(f"{info}/entry_points.txt", b"[console_scripts]\ncay = cay.__main__:main\n")
    pure = "true" if native is None else "false"
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: cay\nRoot-Is-Purelib: {pure}\nTag: {tag(native)}\n".encode())
    wheel.close(info)
    return file_name


# By the name of the folder of guests: the package and its summary.
FURTHER = {"extra": ("cay-guests-extra", "Further programs for the sandboxes of cay"),
           "science": ("cay-science", "The image `science` for the sandboxes of cay: Python with numpy, pandas and Matplotlib")}


def build_further(wheel_directory, guests, native):
    """The wheel of further guests, from their folder: its files go into the folder of the package's own guests."""
    package, summary = FURTHER[guests.name]
    name = package.replace("-", "_")
    info = f"{name}-{version()}.dist-info"
    machine = f"py3-none-manylinux_2_17_{os.uname().machine}"
    file_name = f"{name}-{version()}-{machine}.whl"
    wheel = Wheel(pathlib.Path(wheel_directory) / file_name)
    for file in sorted(p for p in guests.rglob("*") if p.is_file()):
        wheel.add(f"cay/_native/lib/cay/guest/{guests.name}/{file.relative_to(guests).as_posix()}", file.read_bytes())
    licences = [licence for licence in LICENCES if (native / licence).is_file()]
    lines = ["Metadata-Version: 2.4", f"Name: {package}", f"Version: {version()}", f"Summary: {summary}",
             f"Requires-Dist: cay=={version()}", "License-Expression: Apache-2.0", *(f"License-File: {licence}" for licence in licences), ""]
    wheel.add(f"{info}/METADATA", "\n".join(lines).encode())
    for licence in licences:
        wheel.add(f"{info}/licenses/{licence}", (native / licence).read_bytes())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: cay\nRoot-Is-Purelib: false\nTag: {machine}\n".encode())
    wheel.close(info)
    return file_name


def build_sdist(sdist_directory, config_settings=None):
    base = f"cay-{version()}"
    with tarfile.open(pathlib.Path(sdist_directory) / f"{base}.tar.gz", "w:gz") as archive:
        for name in ("pyproject.toml", "README.md", "build_wheel.py", "src"):
            archive.add(HERE / name, f"{base}/{name}", filter=lambda i: None if "__pycache__" in i.name else i)
    return f"{base}.tar.gz"


if __name__ == "__main__":
    made = build_further(sys.argv[1], *map(pathlib.Path, sys.argv[2:])) if len(sys.argv) > 2 else build_wheel(sys.argv[1])
    print(pathlib.Path(sys.argv[1]) / made)
