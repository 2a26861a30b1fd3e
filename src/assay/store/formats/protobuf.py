"""Encode and decode messages of Protocol Buffers: numbers, doubles, fields with a length (protobuf.dev, "Encoding")."""

import struct
from collections.abc import Iterable, Iterator

from assay.foundation.errors import FormatError

_DOUBLE, _WITH_LENGTH = 1, 2
"""Wire types: of a double, and of a text, a message or packed numbers. The wire type of a number is 0."""
_FIXED_BYTES = {1: 8, 5: 4}
"""Wire types of fixed length to their bytes."""
_VARINT_BITS = 70
"""Maximum bits of a number's groups of seven bits: ten groups hold 64 bits."""


def varint(value: int) -> bytes:
    """Encode a number that is not negative in groups of seven bits, lowest first."""
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def number_field(number: int, value: int) -> bytes:
    """Return the field ``number`` with a number that is not negative."""
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
    """Return the repeated field ``number`` with numbers that are not negative."""
    return bytes_field(number, b"".join(map(varint, values)))


class Fields:
    """The fields of a message by number. A message without a field has 0 or empty bytes for it."""

    def __init__(self, content: bytes) -> None:
        """Raises FormatError if the message ends within a field, or has a group."""
        self._numbers: dict[int, list[int]] = {}
        self._contents: dict[int, list[bytes]] = {}
        position = 0
        while position < len(content):
            key, position = _read_varint(content, position)
            number, wire = key >> 3, key & 7
            if wire == 0:
                value, position = _read_varint(content, position)
                self._numbers.setdefault(number, []).append(value)
                continue
            if wire == _WITH_LENGTH:
                length, position = _read_varint(content, position)
            elif wire in _FIXED_BYTES:
                length = _FIXED_BYTES[wire]
            else:
                raise FormatError(f"a message of Protocol Buffers has a field of the unknown type {wire}")
            if position + length > len(content):
                raise FormatError("a message of Protocol Buffers ends within a field")
            self._contents.setdefault(number, []).append(content[position : position + length])
            position += length

    def number(self, number: int) -> int:
        """Return the last number of a field."""
        return self._numbers.get(number, [0])[-1]

    def numbers(self, number: int) -> list[int]:
        """Return the numbers of a repeated field, packed or not."""
        numbers = [value for content in self.contents(number) for value in packed_numbers(content)]
        return [*self._numbers.get(number, []), *numbers]

    def content(self, number: int) -> bytes:
        """Return the last content of a field."""
        return self._contents.get(number, [b""])[-1]

    def contents(self, number: int) -> list[bytes]:
        """Return the contents of a repeated field."""
        return self._contents.get(number, [])


def packed_numbers(content: bytes) -> Iterator[int]:
    """Yield packed numbers."""
    position = 0
    while position < len(content):
        value, position = _read_varint(content, position)
        yield value


def _read_varint(content: bytes, position: int) -> tuple[int, int]:
    """Return the number at a position, and the position after it."""
    value = shift = 0
    while position < len(content) and shift < _VARINT_BITS:
        part = content[position]
        position += 1
        value |= (part & 0x7F) << shift
        if part <= 0x7F:
            return value, position
        shift += 7
    raise FormatError("a message of Protocol Buffers ends within a number, or has one of more than 64 bits")
