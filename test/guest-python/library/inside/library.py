"""Parts of the library that depend on the system, used as programs use them."""
import datetime
import decimal
import hashlib
import hmac
import locale
import lzma
import bz2
import mmap
import multiprocessing.shared_memory
import os
import pathlib
import shutil
import sqlite3
import struct
import tarfile
import tempfile
import time
import uuid
import zipfile
import zlib
import zoneinfo

import each
from each import refused


def test_files():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "a" / "b").mkdir(parents=True)
        (root / "a" / "b" / "ü.txt").write_text("grüße")
        shutil.copytree(root / "a", root / "copy")
        assert [p.name for p in root.rglob("*.txt")] == ["ü.txt", "ü.txt"]
        os.symlink("a", root / "link")
        assert os.readlink(root / "link") == "a" and (root / "link" / "b" / "ü.txt").read_text() == "grüße"
        name = shutil.make_archive(str(root / "all"), "gztar", root / "a")
        with tarfile.open(name) as archive:
            assert "./b/ü.txt" in archive.getnames()
        with zipfile.ZipFile(root / "z.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(root / "a" / "b" / "ü.txt", "ü.txt")
            assert archive.testzip() is None
        shutil.rmtree(root / "a")
        assert shutil.disk_usage(folder).free > 0 and shutil.which("python3") == "/usr/bin/python3"
    assert not os.path.exists(folder)
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")
        file.flush()
        assert os.stat(file.name).st_size == 1


def test_mmap():
    with tempfile.TemporaryFile() as file:
        file.write(b"hello world")
        file.flush()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            assert view[:5] == b"hello" and view.find(b"world") == 6
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as view:
            view[:5] = b"HELLO"
            assert view[:] == b"HELLO world"
        with mmap.mmap(file.fileno(), 0) as view:
            view[:5] = b"HELLO"
            file.seek(0)
            assert file.read() == b"HELLO world"
            file.write(b"!")
            file.flush()
            file.seek(0)
            file.write(b"hallo")
            file.flush()
            assert view[:] == b"hallo world"
            view.flush()
            view.resize(20000)
            assert os.fstat(file.fileno()).st_size == 20000 and view[11:13] == b"!\0"
            view[19999] = 7
        file.seek(0)
        assert file.read()[-1] == 7
    with mmap.mmap(-1, 4096) as view:
        view.write(b"x")


def test_shared_objects_are_refused():
    refused(OSError, "share no memory", multiprocessing.shared_memory.SharedMemory, create=True, size=10)


def test_zones():
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    assert datetime.datetime(2024, 7, 1, 12, tzinfo=berlin).utcoffset() == datetime.timedelta(hours=2)
    assert len(zoneinfo.available_timezones()) > 500
    os.environ["TZ"] = "Asia/Tokyo"
    time.tzset()
    assert time.localtime(0).tm_hour == 9
    del os.environ["TZ"]
    time.tzset()


def test_first_block_of_zones_has_transitions():
    """python-dateutil and other readers of version 1 use no other."""
    for zone in ("Europe/Berlin", "America/New_York", "Asia/Kolkata"):
        with open(f"/usr/share/zoneinfo/{zone}", "rb") as file:
            magic, transitions, types = struct.unpack(">4s28x2L4x", file.read(44))
        assert magic == b"TZif" and transitions > 4 and types > 1, (zone, transitions, types)


def test_sqlite():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.db")
        with sqlite3.connect(path) as one:
            one.execute("create table t(a, b)")
            one.executemany("insert into t values(?, ?)", [(i, str(i)) for i in range(1000)])
        two = sqlite3.connect(path)
        assert two.execute("select sum(a), count(b) from t").fetchone() == (499500, 1000)
        assert two.execute("select json_extract('{\"a\": 5}', '$.a')").fetchone() == (5,)
        two.execute("create virtual table words using fts5(text)")
        two.execute("insert into words values('the quick fox')")
        assert two.execute("select * from words where words match 'quick'").fetchall() == [("the quick fox",)]


def test_decimal():
    assert decimal.__libmpdec_version__ and decimal.getcontext().prec == 28
    decimal.getcontext().prec = 60
    assert str(decimal.Decimal(2).sqrt()).startswith("1.41421356237309504880168872420969807856967187537694")


def test_hashes():
    known = {"md5", "sha1", "sha256", "sha512", "sha3_256", "shake_128", "blake2b", "blake2s"}
    assert known <= hashlib.algorithms_available and hashlib.sha256(b"").hexdigest().startswith("e3b0c44298fc1c14")
    assert hmac.new(b"key", b"text", "sha256").hexdigest().startswith("6afa9046a9579cad")


def test_pbkdf2():  # RFC 6070
    derive = hashlib.pbkdf2_hmac
    assert derive("sha1", b"password", b"salt", 1).hex() == "0c60c80f961f0e71f3a9b524af6012062fe037a6"
    assert derive("sha1", b"password", b"salt", 4096).hex() == "4b007901b765489abead49d926f721d065a429c1"
    long = derive("sha1", b"passwordPASSWORDpassword", b"saltSALTsaltSALTsaltSALTsaltSALTsalt", 4096, 25)
    assert long.hex() == "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038"
    refused(ValueError, "iteration", derive, "sha1", b"", b"", 0)
    refused(ValueError, "key length", derive, "sha1", b"", b"", 1, 0)
    refused(ValueError, "unsupported", derive, "nothing", b"", b"", 1)


def test_compression():
    data = os.urandom(1000) * 20
    for module in (zlib, bz2, lzma):
        assert module.decompress(module.compress(data)) == data


def test_locale():
    assert locale.setlocale(locale.LC_ALL, "C") == "C"
    assert locale.getpreferredencoding() == "utf-8" and locale.localeconv()["decimal_point"] == "."
    refused(locale.Error, "unsupported", locale.setlocale, locale.LC_ALL, "xx_XX.ISO8859-1") if not accepts_any() else None


def accepts_any():
    """musl takes the name of any locale, for its messages."""
    try:
        return bool(locale.setlocale(locale.LC_ALL, "xx_XX.ISO8859-1"))
    except locale.Error:
        return False
    finally:
        locale.setlocale(locale.LC_ALL, "C")


def test_identifiers():
    assert len({uuid.uuid4() for _ in range(100)}) == 100 and uuid.uuid1().version == 1
    import pwd
    assert pwd.getpwuid(os.getuid()).pw_name == "agent" == os.environ.get("USER", "agent")


each.run(globals())
