"""Make reproducible damaged copies of a file: flipped bytes, cuts, swaps, duplicates, changed digits.

Shared by the tests of all parsers. `make test` reads 200 for each, `make fuzz` 1,000 (``ASSAY_FUZZ=1000``).
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator

_ODD = (b"", b"\0", b"\xff", b"-", b"-0", b"NaN", b"1e999", b"99999999999999999999999", b",", b"\t", b'"', b"{", b"\r")
_DIGIT = re.compile(rb"[0-9]")
STEPS_MAX = 3
COPIES = 200
"""Damaged copies that a test reads of each sound file in `make test`."""


def fuzz_count() -> int:
    """Return how many damaged copies a test reads: the environment's ``ASSAY_FUZZ``, or 200."""
    return int(os.environ.get("ASSAY_FUZZ", COPIES))


def mutations(content: bytes, count: int, seed: int = 0) -> Iterator[bytes]:
    """Yield ``count`` damaged copies of ``content``, each after one to three changes; the same ones for a seed."""
    chance = random.Random(seed)
    for _ in range(count):
        damaged = content
        for _ in range(chance.randint(1, STEPS_MAX)):
            damaged = chance.choice(_CHANGES)(damaged, chance)
        yield damaged


def _span(content: bytes, chance: random.Random) -> tuple[int, int]:
    begin = chance.randint(0, len(content))
    return begin, min(len(content), begin + int(chance.paretovariate(0.7)))


def _flip(content: bytes, chance: random.Random) -> bytes:
    if not content:
        return content
    damaged = bytearray(content)
    for _ in range(chance.randint(1, 8)):
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def _truncate(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randint(0, len(content))]


def _cut(content: bytes, chance: random.Random) -> bytes:
    begin, end = _span(content, chance)
    return content[:begin] + content[end:]


def _double(content: bytes, chance: random.Random) -> bytes:
    begin, end = _span(content, chance)
    return content[:end] + content[begin:end] + content[end:]


def _insert(content: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(content))
    return content[:at] + chance.choice(_ODD) + content[at:]


def _lines(content: bytes, chance: random.Random) -> bytes:
    """Swap two lines, or drop or double one."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    first, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(3):
        case 0:
            lines[first], lines[other] = lines[other], lines[first]
        case 1:
            del lines[first]
        case _:
            lines.insert(first, lines[first])
    return b"".join(lines)


def _digits(content: bytes, chance: random.Random) -> bytes:
    """Put something else in the place of a digit: another digit, a sign, nothing, a word that parses as a number."""
    match = _DIGIT.search(content, chance.randint(0, len(content))) or _DIGIT.search(content)
    if not match:
        return content
    start = match.start()
    new = chance.choice((*_ODD, *(b"%d" % digit for digit in range(10))))
    return content[:start] + new + content[start + 1 :]


_CHANGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip,
    _truncate,
    _cut,
    _double,
    _insert,
    _lines,
    _digits,
    _digits,
)
