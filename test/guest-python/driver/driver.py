"""driver.py - the driver in a process, as a host sees it: fake_host.c linked with it, frames over pipes."""

import os
import pathlib
import re
import struct
import subprocess

# Natively a program that is linked with the driver; else the module of one, which $CAY runs in a sandbox.
NATIVE = os.environ.get("FAKE_HOST")
GUEST = os.environ.get("FAKE_HOST_WASM", "fake_host.wasm")
CAY = os.environ.get("CAY", "cay")


def command(folder=None, variables=None):
    """How the driver is started, with a folder that it may write and variables that it sees."""
    if NATIVE:
        return [NATIVE]
    words = [CAY, "run", "--timeout", "none"]
    for name, value in (variables or {}).items():
        words += ["-e", f"{name}={value}"]
    return [*words, *(["--mount", f"{folder}:{folder}:rw"] if folder else []), GUEST]


# Its variables would be those of every test.
MODULES = "asyncio json re math collections itertools functools datetime random io os dataclasses enum typing hashlib"
BOOT = f"for _ in '{MODULES}'.split(): __import__(_)\ndel _"

def protocol():
    """The words of src/guest/talk.def, by their kind and name."""
    words = {}
    text = (pathlib.Path(__file__).resolve().parents[3] / "src/guest/talk.def").read_text()
    for kind, name, number in re.findall(r"^TALK_(\w+)\((\w+), (\d+),", text, re.M):
        words.setdefault(kind, {})[name] = int(number)
    return words


def numbers(kind, *names):
    return (protocol()[kind][name] for name in names)


EXECUTE, SNAPSHOT, RESTORE, CLEAR, GREET, NAMES = numbers(
    "OP", "EXECUTE", "SAVE_STATE", "LOAD_STATE", "CLEAR_STATE", "GREET", "NAMES"
)
GRANTS, INPUT, EVENTS, STOP, MEASURE = range(100, 105)  # of fake_host.c
CODE, NAME, FLAGS, FILTER, STDIN = numbers("FIELD", "CODE", "NAME", "FLAGS", "TRACE_FILTER", "INPUT")
STATUS, REPR, JSON, TYPE, TEXT, TRACEBACK, EXIT, LINE, BYTES, SEED, ENV = numbers(
    "FIELD",
    *("STATUS", "REPR", "JSON", "ERROR_TYPE", "ERROR_TEXT", "TRACEBACK", "EXIT_CODE", "ERROR_LINE"),
    *("BYTES", "SEED", "ENV"),
)
OK, EXCEPTION, EXITED, STOPPED = numbers("STATUS_OF", "OK", "EXCEPTION", "EXIT", "STOPPED")
WANT_JSON, LINES, CALLS, RETURNS, EXCEPTIONS, LOCALS, NEW_GRANTS = numbers(
    "FLAG",
    *("WANT_JSON", "TRACE_LINES", "TRACE_CALLS", "TRACE_RETURNS", "TRACE_EXCEPTIONS", "TRACE_WITH_LOCALS"),
    "CALLBACKS_CHANGED",
)


def pack(fields):
    """Fields as the driver reads them: pairs of a tag and bytes, text or a number."""
    out = b""
    for tag, value in fields:
        if isinstance(value, int):
            value = struct.pack("<I", value)
        elif isinstance(value, str):
            value = value.encode("utf-8", "surrogatepass")
        out += struct.pack("<II", tag, len(value)) + value + bytes(-len(value) % 4)
    return out


class Reply:
    def __init__(self, data, out, err):
        self.fields, self.out, self.err = {}, out.decode(), err.decode()
        at = 0
        while at < len(data):
            tag, length = struct.unpack_from("<II", data, at)
            assert at + 8 + length <= len(data), "a field reaches past the end"
            self.fields[tag] = data[at + 8 : at + 8 + length]
            at += 8 + (length + 3) // 4 * 4

    def text(self, tag):
        return self.fields[tag].decode() if tag in self.fields else None

    def number(self, tag):
        return struct.unpack("<i", self.fields[tag])[0] if tag in self.fields else None

    status = property(lambda self: self.number(STATUS))
    repr = property(lambda self: self.text(REPR))
    json = property(lambda self: self.text(JSON))
    type = property(lambda self: self.text(TYPE))
    error = property(lambda self: self.text(TEXT))
    traceback = property(lambda self: self.text(TRACEBACK))

    def __repr__(self):
        return f"{self.fields}, stdout {self.out[-800:]!r}, stderr {self.err[-800:]!r}"


class Driver:
    def __init__(self, boot=None):
        self.cell = 0
        self.process = subprocess.Popen(
            [*command(), BOOT if boot is None else boot], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()

    def _read(self, length):
        data = self.process.stdout.read(length)
        assert len(data) == length, f"the driver has gone: {self.process.wait(5)}"
        return data

    def frame(self, op, data):
        self.process.stdin.write(struct.pack("<II", op, len(data)) + data)
        self.process.stdin.flush()
        lengths = struct.unpack("<III", self._read(12))
        return [self._read(length) for length in lengths]

    def call(self, op, *fields):
        return Reply(*self.frame(op, pack(fields)))

    def run(self, code, flags=WANT_JSON, *more):
        """Executes code, whatever comes of it."""
        self.cell += 1
        return self.call(EXECUTE, (CODE, code), (NAME, f"<cell {self.cell}>"), (FLAGS, flags), *more)

    def ok(self, code, *more):
        """Executes code that must succeed, and gives its reply."""
        reply = self.run(code, *more)
        assert reply.status == OK, reply
        return reply

    def value(self, code):
        """The repr of what the code ends with."""
        return self.ok(code).repr

    def fails(self, code, kind, *parts):
        """Executes code that must end with an exception of this kind, in whose traceback these parts stand."""
        reply = self.run(code)
        assert reply.status == EXCEPTION and reply.type == kind, reply
        for part in parts:
            assert part in reply.traceback, (part, reply.traceback)
        return reply

    def grant(self, *names, **schemas):
        """Announces callbacks to the code that follows."""
        import json

        grants = [{"name": name, "description": f"Calls {name}.", "parameters": {}} for name in names]
        grants += [{"name": name.replace("__", "."), **schema} for name, schema in schemas.items()]
        self.frame(GRANTS, json.dumps(grants).encode())
        self.ok("None", NEW_GRANTS)

    def events(self, room=0xFFFFFFFF):
        """Trace events since the last call; `room` more are taken."""
        data = self.frame(EVENTS, struct.pack("<I", room))[0].decode()
        return [line.split("\t") for line in data.splitlines()]


def environment():
    """The tests' own, without what would change the interpreter."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def program(*args, input="", folder=None, **variables):
    """python3 with these arguments, out of a booted interpreter."""
    return subprocess.run(
        [*command(folder, variables), "--main", *args],
        input=input,
        capture_output=True,
        text=True,
        timeout=60,
        env={**environment(), **(variables if NATIVE else {})},
    )


def main(modules, words):
    """Runs every test_… of the modules whose name contains one of the words, and counts."""
    import traceback

    passed = failed = 0
    for module in modules:
        for name, test in vars(module).items():
            if not name.startswith("test_") or (words and not any(word in name for word in words)):
                continue
            sentence = name[5:].replace("_", " ")
            try:
                if test.__code__.co_argcount:
                    with Driver() as driver:
                        test(driver)
                else:
                    test()
            except Exception:
                failed += 1
                print(f"FAILED {pathlib.Path(module.__file__).stem}: {sentence}\n{traceback.format_exc()}")
            else:
                passed += 1
                print(f"ok {sentence}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
