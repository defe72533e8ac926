"""Source packages and programs of another Debian suite, through apt with a private configuration: nothing on the machine changes."""
import functools
import os
import pathlib
import re
import subprocess
import tempfile
import time
import urllib.parse

from . import Problem, cache, machine, say

HELPER = "/usr/lib/apt/apt-helper"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
LISTS_AGE = 24 * 3600
RECENT = 600  # of lists that a package in a suite that moves is looked up in
MTIME = 946684800  # 2000-01-01


@functools.cache
def _mirrors():
    """The archive and the security archive that this machine is set up with."""
    release = dict(
        line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line
    )
    own = release.get("VERSION_CODENAME", "").strip('"')
    listing = cache.run(["apt-get", "indextargets", "--format", "$(RELEASE) $(COMPONENT) $(REPO_URI)"])
    found = {}
    for suite, component, uri in (line.split() for line in listing.splitlines()):
        if component == "main":
            found.setdefault(suite, uri)
    if own not in found:
        raise Problem("no Debian mirror for the suite of this machine in its apt sources")
    return found[own], found.get(f"{own}-security")


def _stanza(kind, uri, suites):
    return f"Types: {kind}\nURIs: {uri}\nSuites: {suites}\nComponents: main\nSigned-By: {KEYRING}\n"


def _pool_folder(source):
    """Where the files of a source package stand in an archive, below main/."""
    return f"{source[:4] if source.startswith('lib') else source[0]}/{source}"


def _download_pinned(files, folder):
    """The files as deps.lock has them, from the pool of the archive or of the security archive; False if they are in neither any more.

    No package list is read: it may lag behind the pool, or be ahead of it, and takes longer to read than most files."""
    main, security = _mirrors()
    for archive, pool in ((main, "pool/main"), (security, "pool/updates/main")):
        wanted = [part for file, digest in files.items() if archive and not (folder / file).exists() for part in (
            "/".join([archive.rstrip("/"), pool, _pool_folder(file.split("_")[0]), urllib.parse.quote(file)]), str(folder / file), f"SHA256:{digest}")]
        if wanted:
            subprocess.run([HELPER, "-q", "-o", "APT::Sandbox::User=root", "download-file", *wanted], stdin=subprocess.DEVNULL, capture_output=True)
    return {file.name: cache.sha256(file) for file in folder.iterdir()} == files


class _Apt:
    """apt-get that knows one suite's sources (or, with kind "deb", its packages) and keeps its state in the cache."""

    def __init__(self, suite, kind="deb-src"):
        self.folder = cache.root() / "apt" / (suite if kind == "deb-src" else f"{suite}-packages")
        for sub in ("lists/partial", "cache/archives/partial"):
            (self.folder / sub).mkdir(parents=True, exist_ok=True)
        main, security = _mirrors()
        text = _stanza(kind, main, f"{suite} {suite}-updates" if kind == "deb-src" else suite)
        if security and kind == "deb-src":
            text += "\n" + _stanza(kind, security, f"{suite}-security")
        self.suite = suite
        (self.folder / "suite.sources").write_text(text)

    def _command(self, tool, *arguments):
        options = {
            "Dir::Etc::sourcelist": self.folder / "suite.sources",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::State::lists": self.folder / "lists",
            "Dir::Cache": self.folder / "cache",
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            # A mirror may lag behind a suite that moves; the files are held against deps.lock all the same.
            "Acquire::Check-Valid-Until": "false",
        }
        settings = [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
        return [tool, "-q", *settings, *arguments]

    def update(self, age=LISTS_AGE):
        """Reads the lists if those there are older than `age` seconds; True if it did. Others wait: threads, and other fetches."""
        with cache.alone(self.folder / "updating"):
            return self._update(age)

    def _update(self, age):
        stamp = self.folder / "updated"
        if stamp.exists() and time.time() - stamp.stat().st_mtime < age:
            return False
        say(f"reading the package lists of Debian {self.suite}")
        cache.run(self._command("apt-get", "update", "--error-on=any"))
        stamp.touch()
        return True

    def _versions(self, name):
        out = subprocess.run(self._command("apt-cache", "showsrc", "--only-source", name), capture_output=True, text=True)
        return [line.split()[1] for line in out.stdout.splitlines() if line.startswith("Version:")]

    def download_packages(self, names, folder):
        """Packages as the suite has them now; nothing is installed and nothing of the machine's packages is asked."""
        cache.run(self._command("apt-get", "-o", "Dir::State::status=/dev/null", "download", *names), cwd=folder)
        return {file.name: cache.sha256(file) for file in sorted(folder.glob("*.deb"))}

    def choose(self, name, wanted):
        """The wanted version if the suite still has it, else the newest it has."""
        fresh = self.update()
        versions = self._versions(name)
        if wanted not in versions and not fresh:
            self.update(RECENT)
            versions = self._versions(name)
        if not versions:
            raise Problem(f"Debian {self.suite} has no source package {name} any more")
        if wanted in versions:
            return wanted
        newest = versions[0]
        for version in versions[1:]:
            if subprocess.run(["dpkg", "--compare-versions", version, "gt", newest]).returncode == 0:
                newest = version
        return newest

    def download(self, name, version, patched, folder):
        """The upstream tarballs and Debian's patches; the description (.dsc) adds nothing to the signed index."""
        for part in ("--tar-only", "--diff-only") if patched else ("--tar-only",):
            cache.run(self._command("apt-get", "source", "--download-only", "--only-source", part, f"{name}={version}"),
                      cwd=folder)
        return {file.name: cache.sha256(file) for file in sorted(folder.iterdir()) if not file.name.endswith(".asc")}


def _tar(archive, into, only=()):
    """Into `into`, without the one folder that most archives, but not all, have at their top. `only`: some folders of it."""
    into.mkdir(exist_ok=True)
    listed = cache.run(["tar", "-tf", archive]).splitlines()
    tops = {name.removeprefix("./").split("/")[0] for name in listed} - {"", "."}
    strip = ["--strip-components=1"] if len(tops) == 1 and len(listed) > 1 else []
    wanted = [f"{tops.copy().pop()}/{folder}" if strip else folder for folder in only]
    cache.run(["tar", "-xf", archive, "-C", into, "--no-same-owner", *strip, *wanted])


def _unpack(folder, names, into, only=()):
    """What dpkg-source -x makes of a package in format 3.0 (quilt): upstream, its components, Debian's patches."""
    for name in sorted(names, key=len):
        component = re.search(r"\.orig(?:-([a-z0-9-]+))?\.tar\.", name)
        if component and not (only and component[1]):
            _tar(folder / name, into / component[1] if component[1] else into, only)
    for name in names:
        if ".debian.tar." in name:
            _tar(folder / name, into / "debian")
            _patch(into)
    _same_age(into)


def _same_age(tree):
    """A patched configure.ac must not look newer than its configure, or make would run autoconf."""
    for folder, _, files in os.walk(tree):
        for file in files:
            os.utime(os.path.join(folder, file), (0, MTIME), follow_symlinks=False)


def _patch(tree):
    series = tree / "debian" / "patches" / "series"
    lines = series.read_text().splitlines() if series.exists() else []
    for patch in (line.split("#")[0].split() for line in lines):
        if patch:
            file = tree / "debian" / "patches" / patch[0]
            cache.run(["patch", "-p1", "--quiet", "--forward", "--fuzz=0", "--no-backup-if-mismatch", "-i", file.resolve()], cwd=tree)


def _moved(name, pins):
    """A file beside the cache's entries naming the versions taken in place of pins that the suite has dropped."""
    place = cache.place(name, pins["version"], pins)
    return place.with_name(place.name + ".moved")


def fetch(name, entry):
    pins = {key: entry[key] for key in ("suite", "version", "files")}
    target = cache.place(name, entry["version"], pins)
    if target.exists():
        return target
    moved = _moved(name, pins)
    if moved.exists():
        version, target = moved.read_text().split()
        if os.path.isdir(target):
            say(f"{name}: Debian {entry['suite']} has moved on to {version}, which is used; deps.lock should be updated")
            return pathlib.Path(target)
    return _fetch_new(name, entry, pins, target, moved)


def _fetch_new(name, entry, pins, target, moved):
    scratches = cache.root() / "apt"
    scratches.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{name}.", dir=scratches) as scratch:
        pinned, newest = pathlib.Path(scratch, "pinned"), pathlib.Path(scratch, "newest")
        pinned.mkdir()
        newest.mkdir()
        say(f"fetching {name} {entry['version']} (source, Debian {entry['suite']})")
        if _download_pinned(entry["files"], pinned):
            return _made(target, pinned, entry["files"], entry)
        version, got = _download_newest(name, entry, newest)
        target = _made(cache.place(name, version, {**pins, "version": version, "files": got}), newest, got, entry)
    if version != entry["version"]:
        moved.write_text(f"{version} {target}\n")
        say(f"{name}: Debian {entry['suite']} has moved on from {entry['version']}; in deps.lock put\n{_shown(version, got)}")
    return target


def _made(target, folder, files, entry):
    with cache.making(target) as aside:
        if aside is not None:
            _unpack(folder, files, aside, entry.get("only", ()))
    return target


def _download_newest(name, entry, folder):
    """The pinned version if the suite still has it, else its newest: the version and the files."""
    apt = _Apt(entry["suite"])
    version = apt.choose(name, entry["version"])
    if version != entry["version"]:
        say(f"fetching {name} {version} (source, Debian {entry['suite']})")
    got = apt.download(name, version, any(".debian.tar." in file for file in entry["files"]), folder)
    if version == entry["version"] and got != entry["files"]:
        raise Problem(f"{name} {version} is not what deps.lock describes; it came as\n{_shown(version, got)}")
    return version, got


# ---- programs: the packages' files in one folder, as they would stand under / ----

def fetch_packages(name, entry):
    if machine() not in entry["files"]:
        raise Problem(f"deps.lock has no {name} for {machine()}")
    wanted = entry["files"][machine()]
    pins = {"suite": entry["suite"], "files": wanted}
    target = cache.place(name, entry["version"], pins)
    if target.exists():
        return target
    moved = _moved(name, {**pins, "version": entry["version"]})
    if moved.exists() and os.path.isdir(moved.read_text().strip()):
        say(f"{name}: Debian {entry['suite']} has moved on from {entry['version']}; deps.lock should be updated")
        return pathlib.Path(moved.read_text().strip())
    return _fetch_new_packages(name, entry, wanted, moved)


def _fetch_new_packages(name, entry, wanted, moved):
    apt = _Apt(entry["suite"], "deb")
    apt.update(RECENT)
    say(f"fetching {name} {entry['version']} (packages, Debian {entry['suite']})")
    with tempfile.TemporaryDirectory(prefix=f"{name}.", dir=apt.folder) as scratch:
        folder = pathlib.Path(scratch)
        got = apt.download_packages(entry["packages"], folder)
        for file in got.keys() & wanted.keys():
            cache.check_sha256(folder / file, wanted[file])
        target = cache.place(name, entry["version"], {"suite": entry["suite"], "files": got})
        with cache.making(target) as aside:
            if aside is not None:
                for file in got:
                    cache.run(["dpkg-deb", "--extract", folder / file, aside])
    if got != wanted:
        moved.write_text(f"{target}\n")
        say(f"{name}: Debian {entry['suite']} has moved on; in deps.lock put\n{_shown(entry['version'], got)}")
    return target


def _shown(version, files):
    lines = "".join(f'\n  "{name}" = "{digest}"' for name, digest in files.items())
    return f'  version = "{version}"\n  files:{lines}'
