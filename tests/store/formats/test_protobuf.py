"""Test reading messages of Protocol Buffers: what is written is read, and damaged messages are refused."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.foundation.errors import FormatError
from assay.store.formats.profiles.otlp import timed_stacks
from assay.store.formats.protobuf import Fields, bytes_field, double_field, number_field, packed_field

NUMBERS = st.lists(st.integers(0, 2**64 - 1), max_size=5)


@given(NUMBERS, st.lists(st.binary(max_size=5), max_size=5))
def test_written_fields_are_read_back(numbers: list[int], contents: list[bytes]) -> None:
    message = b"".join(number_field(3, number) for number in numbers) + double_field(9, 1.5)
    message += b"".join(bytes_field(700, content) for content in contents)
    fields = Fields(message)
    assert fields.numbers(3) == numbers
    assert fields.number(3) == (numbers[-1] if numbers else 0)
    assert fields.contents(700) == contents
    assert Fields(packed_field(1, numbers)).numbers(1) == numbers


@pytest.mark.parametrize("message", [b"\x0a", b"\x0a\x05abc", b"\x0b", b"\xff" * 12, b"\x09abc"])
def test_a_damaged_message_is_refused(message: bytes) -> None:
    with pytest.raises(FormatError, match="message of Protocol Buffers"):
        Fields(message)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_as_stacks_or_refused(content: bytes) -> None:
    with contextlib.suppress(FormatError):
        timed_stacks(content)
