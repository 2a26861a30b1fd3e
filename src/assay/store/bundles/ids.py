"""Run ids: UUIDs of version 7 (RFC 9562), which sort by creation time, and their short forms."""

import itertools
import os
import time
import uuid
from collections.abc import Iterable

SHORT_LENGTH_MIN = 8
"""Minimum length of a shortened id, in characters."""


def new_run_id(unix_ns: int | None = None) -> str:
    """Return a new UUIDv7 for ``unix_ns`` (nanoseconds since 1970; now when None).

    The twelve bits after the milliseconds hold their fraction (RFC 9562, section 6.2, method 3), so the ids
    of a process sort in the order of their creation, unless they fall within the same quarter of a microsecond.
    """
    milliseconds, remainder_ns = divmod(time.time_ns() if unix_ns is None else unix_ns, 1_000_000)
    fraction = remainder_ns * 4096 // 1_000_000
    random = int.from_bytes(os.urandom(8), "big") >> 2
    return str(uuid.UUID(int=milliseconds << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62 | random))


def short_length(run_ids: Iterable[str]) -> int:
    """Return the number of leading characters that distinguish ``run_ids``; at least 8."""
    sorted_ids = sorted(set(run_ids))
    shared_lengths = (_shared_length(first, second) for first, second in itertools.pairwise(sorted_ids))
    return max(SHORT_LENGTH_MIN, max(shared_lengths, default=0) + 1)


def _shared_length(first: str, second: str) -> int:
    pairs = enumerate(zip(first, second, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(first), len(second)))
