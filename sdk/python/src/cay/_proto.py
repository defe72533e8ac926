"""Messages of Protocol Buffers as dataclasses: each field has its number, and its type is that of the annotation's default.

    @dataclasses.dataclass(frozen=True)
    class CacheEntry:
        name: str = field(1, str)
        created_at_ms: int = field(3, int)
"""
import dataclasses
from typing import Any, Dict, List, Type, TypeVar

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
M = TypeVar("M")


def field(number: int, kind: type, *, many: bool = False, optional: bool = False) -> Any:
    """`kind` is str, int, bool or another message. `optional` fields are None when they are not there."""
    metadata = {"number": number, "kind": kind, "many": many, "optional": optional}
    if many:
        return dataclasses.field(default=(), metadata=metadata)
    empty = None if optional or dataclasses.is_dataclass(kind) else kind()
    return dataclasses.field(default=empty, metadata=metadata)


# ---- writing ----

def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _piece(number: int, value: Any) -> bytes:
    if isinstance(value, int):  # bool, too
        return _varint(number << 3 | VARINT) + _varint(value)
    data = value.encode() if isinstance(value, str) else encode(value)
    return _varint(number << 3 | BYTES) + _varint(len(data)) + data


def encode(message: Any) -> bytes:
    """A message as bytes."""
    out = b""
    for each in dataclasses.fields(message):
        about, value = each.metadata, getattr(message, each.name)
        if about["many"]:
            out += b"".join(_piece(about["number"], one) for one in value)
        elif value is not None and (value or about["optional"]):
            out += _piece(about["number"], value)
    return out


# ---- reading ----

class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def varint(self) -> int:
        value = shift = 0
        while shift < 70:
            if self.at == len(self.data):
                break
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & ((1 << 64) - 1)
            shift += 7
        raise ValueError("a number of the message is cut")

    def bytes(self, length: int) -> bytes:
        if length > len(self.data) - self.at:
            raise ValueError("a field of the message is cut")
        self.at += length
        return self.data[self.at - length:self.at]

    def value(self, wire: int) -> Any:
        if wire == VARINT:
            return self.varint()
        if wire == BYTES:
            return self.bytes(self.varint())
        if wire in (FIXED64, FIXED32):
            return self.bytes(8 if wire == FIXED64 else 4)
        raise ValueError(f"a field of the message has the unknown type {wire}")


def _read(kind: Any, value: Any) -> Any:
    if kind is bool:
        return bool(value)
    if kind is int:
        return value - (1 << 64) if value >= 1 << 63 else value
    return value.decode() if kind is str else decode(kind, value)


def decode(kind: Type[M], data: bytes) -> M:
    """Bytes as a message; unknown fields are skipped. ValueError: they are not one."""
    by_number = {each.metadata["number"]: each for each in dataclasses.fields(kind)}  # type: ignore[arg-type]
    values: Dict[str, Any] = {}
    reader = _Reader(data)
    while reader.at < len(data):
        tag = reader.varint()
        value, each = reader.value(tag & 7), by_number.get(tag >> 3)
        if each is None or isinstance(value, int) != (each.metadata["kind"] in (int, bool)):
            continue
        read = _read(each.metadata["kind"], value)
        if each.metadata["many"]:
            many: List[Any] = values.setdefault(each.name, [])
            many.append(read)
        else:
            values[each.name] = read
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})
