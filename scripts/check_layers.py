#!/usr/bin/env python3
"""Fails when a source file includes a layer it may not know (scripts/layers.txt)."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'\s*#\s*include\s+["<]([^">]+)[">]')
ENGINE_HEADERS = {"wasmtime.h", "wasm.h", "wasi.h"}
FOR_ALL = {"cay/status.h"}


def read_rules():
    rules = {}
    for line in (ROOT / "scripts/layers.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            layer, _, allowed = line.partition(":")
            rules[layer.strip()] = set(allowed.split())
    return rules


def layer_of(path):
    """The layer an include path belongs to: its first folder, and all of the engine's own headers are `wasmtime`."""
    if path in ENGINE_HEADERS:
        return "wasmtime"
    return path.split("/")[0] if "/" in path else None


def offences(file, layer, rules):
    known = {*rules, "cay", "wasmtime"}
    for number, line in enumerate(file.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        path = match[1]
        to = layer_of(path)
        if to in known and to != layer and not {to, path} & rules[layer] and path not in FOR_ALL:
            yield f"{file.relative_to(ROOT)}:{number}: {layer} may not include {path}"


def main():
    rules = read_rules()
    found = files = 0
    for file in sorted((ROOT / "src").rglob("*.[ch]")):
        files += 1
        layer = file.relative_to(ROOT / "src").parts[0]
        if layer not in rules:
            print(f"{file.relative_to(ROOT)}: scripts/layers.txt knows no layer {layer}")
            found += 1
            continue
        for offence in offences(file, layer, rules):
            print(offence)
            found += 1
    print(f"layers: {files} files, {found} offences")
    return found != 0


if __name__ == "__main__":
    sys.exit(main())
