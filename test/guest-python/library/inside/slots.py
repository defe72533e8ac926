"""Functions behind pointers have the types by which the interpreter calls them.

Elsewhere a function that returns nothing may stand where one that returns a number is called. In WebAssembly the call is a trap.
The slots of all types and the methods of all modules are read from memory by ctypes, and compared with the program's own table.
"""
import ctypes
import importlib
import pkgutil
import sys
import types

import each

LETTERS = {0x7F: "i", 0x7E: "l", 0x7D: "f", 0x7C: "d"}
GETSET, METHODS = 124, 116
SLOTS = {
    24: "vi", 32: "iii", 36: "iiii", 44: "ii", 60: "ii", 64: "iiii", 68: "ii", 72: "iii", 76: "iiii", 92: "iiii", 96: "ii", 100: "iiii", 108: "ii",
    112: "ii", 136: "iiii", 140: "iiii", 148: "iiii", 152: "iii", 156: "iiii", 160: "vi", 164: "ii", 188: "vi", 196: "vi", 200: "iiiii",
}
NUMBER = ["iii"] * 5 + ["iiii"] + ["ii"] * 5 + ["iii"] * 5 + ["ii", "", "ii"] + ["iii"] * 4 + ["iiii"] + ["iii"] * 9 + ["ii"] + ["iii"] * 2
TABLES = {
    40: ["ii", "ii", "ii", "iiii"],
    48: NUMBER,
    52: ["ii", "iii", "iii", "iii", "", "iiii", "", "iii", "iii", "iii"],
    56: ["ii", "iii", "iiii"],
    80: ["iiii", "vii"],
}
# Of the flags of a method, those that decide how it is called.
CALLS = {0x1: "iii", 0x3: "iiii", 0x4: "iii", 0x8: "iii", 0x80: "iiii", 0x82: "iiiii", 0x282: "iiiiii"}
WITH_EFFECTS = {"antigravity", "this", "idlelib", "turtle", "turtledemo", "tkinter", "test"}


def word(address):
    return ctypes.c_uint.from_address(address).value


class Program:
    """The types of this program's functions by their addresses."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.at, self.types, self.functions, self.table = 8, [], [], {}
        while self.at < len(self.data):
            kind, end = self.byte(), self.number()
            end += self.at
            {1: self.read_types, 2: self.read_imports, 3: self.read_functions, 9: self.read_table}.get(kind, int)()
            self.at = end

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def number(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def read_types(self):
        for _ in range(self.number()):
            self.byte()
            arguments = "".join(LETTERS.get(self.byte(), "?") for _ in range(self.number()))
            self.types.append(("".join(LETTERS.get(self.byte(), "?") for _ in range(self.number())) or "v") + arguments)

    def read_imports(self):
        for _ in range(self.number()):
            for _ in range(2):
                len_of_name = self.number()
                self.at += len_of_name
            kind = self.byte()
            if kind == 2:  # the memory that threads share, with its limits
                assert self.byte() == 3
                self.number(), self.number()
                continue
            assert kind == 0, "only functions and the memory are imported"
            self.functions.append(self.number())

    def read_functions(self):
        self.functions += [self.number() for _ in range(self.number())]

    def read_table(self):
        for _ in range(self.number()):
            assert self.number() == 0 and self.byte() == 0x41
            first = self.number()
            assert self.byte() == 0x0B
            for place in range(self.number()):
                self.table[first + place] = self.types[self.functions[self.number()]]


def import_all():
    """As many modules as there are, for each brings types."""
    for module in pkgutil.walk_packages([path for path in sys.path if path.startswith("/usr/lib")], onerror=lambda name: None):
        if module.name.split(".")[0] not in WITH_EFFECTS and "__main__" not in module.name:
            try:
                importlib.import_module(module.name)
            except BaseException:
                pass  # another test knows which may fail
    for name in sys.builtin_module_names:
        importlib.import_module(name)


def all_types():
    found, waiting = set(), [object]
    while waiting:
        kind = waiting.pop()
        if kind not in found:
            found.add(kind)
            waiting += type.__subclasses__(kind)
    return found


class Check:
    def __init__(self):
        self.program, self.wrong, self.count = Program("/usr/bin/python3"), [], 0

    def function(self, address, wanted, *name):
        if address and wanted:
            self.count += 1
            found = self.program.table.get(address)
            if found != wanted:
                self.wrong.append(f"{' '.join(map(str, name))}: is {found}, is called as {wanted}")

    def method(self, definition, owner):
        flags = word(definition + 8) & 0x28F
        self.function(word(definition + 4), CALLS[flags], owner, ctypes.string_at(word(definition)).decode())

    def methods(self, definition, owner):
        while definition and word(definition):
            self.method(definition, owner)
            definition += 16

    def type(self, kind):
        at = id(kind)
        for offset, wanted in SLOTS.items():
            self.function(word(at + offset), wanted, kind, f"slot at {offset}")
        for offset, wants in TABLES.items():
            table = word(at + offset)
            for i, wanted in enumerate(wants if table else ()):
                self.function(word(table + 4 * i), wanted, kind, f"slot {i} of the table at {offset}")
        self.methods(word(at + METHODS), kind)
        entry = word(at + GETSET)
        while entry and word(entry):
            name = ctypes.string_at(word(entry)).decode()
            self.function(word(entry + 4), "iii", kind, "get", name)
            self.function(word(entry + 8), "iiii", kind, "set", name)
            entry += 20

    def module(self, module):
        definition = ctypes.pythonapi.PyModule_GetDef(ctypes.py_object(module))
        if not definition:
            return ctypes.pythonapi.PyErr_Clear()
        self.methods(word(definition + 32), module)
        for offset, wanted in ((40, "iiii"), (44, "ii"), (48, "vi")):
            self.function(word(definition + offset), wanted, module, f"field at {offset}")
        slot = word(definition + 36)
        while slot and word(slot):
            self.function(word(slot + 4), {1: "iii", 2: "ii"}.get(word(slot)), module, f"slot {word(slot)}")
            slot += 8


def test_slots_and_methods():
    import_all()
    check = Check()
    for kind in all_types():
        check.type(kind)
    for module in list(sys.modules.values()):
        if isinstance(module, types.ModuleType):
            check.module(module)
    assert check.count > 20000, check.count
    assert not check.wrong, "\n".join(sorted(set(check.wrong)))


def test_garbage_with_a_method_caller():
    import gc
    import operator

    gc.collect()
    arguments = {}  # the collector knows it when it holds an object, so later than the caller
    arguments["call"] = operator.methodcaller("run", arguments)
    del arguments
    assert gc.collect() > 0


each.run(globals())
