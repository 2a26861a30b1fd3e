"""Decode messages of Protocol Buffers, independently of the encoder."""

from __future__ import annotations

from collections import defaultdict

Fields = dict[int, list[int | bytes]]


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number and the position behind it."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data: bytes) -> Fields:
    """Return the fields of a Protocol Buffers message that has numbers, doubles and parts with a length."""
    read, at = defaultdict[int, list[int | bytes]](list), 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 1:
            read[tag >> 3].append(data[at : at + 8])
            at += 8
            continue
        value, at = varint(data, at)
        if tag & 7 == 2:
            read[tag >> 3].append(data[at : at + value])
            at += value
        else:
            assert tag & 7 == 0
            read[tag >> 3].append(value)
    return read


def numbers(packed: int | bytes) -> list[int]:
    """Return the numbers of a packed field."""
    assert isinstance(packed, bytes)
    values, at = [], 0
    while at < len(packed):
        value, at = varint(packed, at)
        values.append(value)
    return values


def message(value: int | bytes) -> Fields:
    """Return the fields of a message in a field."""
    assert isinstance(value, bytes)
    return fields(value)
