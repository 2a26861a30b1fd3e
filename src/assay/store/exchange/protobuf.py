"""Encode messages of Protocol Buffers: numbers, doubles, and fields with a length (protobuf.dev, "Encoding")."""

import struct
from collections.abc import Iterable

_DOUBLE, _WITH_LENGTH = 1, 2
"""Wire types of a double and of a text, a message or packed numbers; that of a number is 0."""


def varint(value: int) -> bytes:
    """Return a number from 0 in groups of seven bits, lowest first."""
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def number_field(number: int, value: int) -> bytes:
    """Return the field ``number`` with a number from 0."""
    return varint(number << 3) + varint(value)


def double_field(number: int, value: float) -> bytes:
    """Return the field ``number`` with a double."""
    return varint(number << 3 | _DOUBLE) + struct.pack("<d", value)


def bytes_field(number: int, content: bytes) -> bytes:
    """Return the field ``number`` with a message or bytes."""
    return varint(number << 3 | _WITH_LENGTH) + varint(len(content)) + content


def text_field(number: int, text: str) -> bytes:
    """Return the field ``number`` with a text."""
    return bytes_field(number, text.encode("utf-8", "replace"))


def packed_field(number: int, values: Iterable[int]) -> bytes:
    """Return the repeated field ``number`` with numbers from 0."""
    return bytes_field(number, b"".join(map(varint, values)))
