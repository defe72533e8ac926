"""Every module that a Python on Linux has imports, but those of this list."""
import importlib
import sys

import each

# doc/reference/python.md says why.
ABSENT = {
    "_dbm", "_gdbm", "_tkinter", "_uuid", "ensurepip", "idlelib", "tkinter", "turtle", "turtledemo",
}
OF_OTHER_SYSTEMS = {
    "_aix_support", "_android_support", "_apple_support", "_ios_support", "_osx_support", "_overlapped", "_scproxy", "_winapi",
    "_wmi", "msvcrt", "nt", "winreg", "winsound",
}
WITH_EFFECTS = {"antigravity", "this"}
OF_C = """_bz2 _csv _curses _curses_panel _datetime _decimal _elementtree _hashlib _json _lzma _pickle _posixsubprocess _random _socket
_sqlite3 _ssl _struct _zoneinfo array binascii fcntl grp math mmap pyexpat readline resource select syslog termios unicodedata zlib""".split()


def test_all_but_the_list():
    missing = set()
    for name in sorted(sys.stdlib_module_names - WITH_EFFECTS):
        try:
            importlib.import_module(name)
        except ImportError:
            missing.add(name)
    assert missing | {"ensurepip"} == ABSENT | OF_OTHER_SYSTEMS, missing ^ (ABSENT | OF_OTHER_SYSTEMS)  # ensurepip comes with a further guest


def test_inner_modules():
    for name in ("concurrent.futures.thread", "curses.ascii", "curses.panel", "curses.textpad", "email.mime.multipart", "html.parser", "http.server", "importlib.metadata",
                 "importlib.resources", "json.tool", "logging.handlers", "multiprocessing.connection", "os.path", "sqlite3.dbapi2",
                 "unittest.mock", "urllib.request", "urllib.robotparser", "wsgiref.simple_server", "xml.etree.ElementTree",
                 "xml.dom.minidom", "xml.sax.expatreader", "xmlrpc.client", "zipfile", "zoneinfo"):
        importlib.import_module(name)


def test_in_c():
    for name in OF_C:
        module = importlib.import_module(name)
        assert "C" in type(module).__name__ or not getattr(module, "__file__", None), name


def test_platform():
    import os
    import platform
    import sysconfig
    assert (sys.platform, os.name, platform.system()) == ("linux", "posix", "Linux")
    assert sys.version_info[:2] == (3, 13) and platform.python_implementation() == "CPython"
    assert sysconfig.get_config_var("SIZEOF_VOID_P") == 4
    assert sys.executable == "/usr/bin/python3" and sys.prefix == "/usr"


each.run(globals())
