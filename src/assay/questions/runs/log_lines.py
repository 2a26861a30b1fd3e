"""A run's log by lines: a part of it with the lines' numbers, and the lines that have a text.

In: a repository, a run's id and a log's name, which must be one of the run's. Out: :class:`LogLines`, :class:`LogHits`.
A log is read as a stream, whatever its size; a line longer than :data:`LINE_MAX` bytes counts as several.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from assay.store import Repository

PART_BYTES = 256_000
LINE_MAX = 64_000
HITS_MAX = 200
_HIT_CHARACTERS = 300
_LINES_BEFORE = 20
"""A part that shows a hit begins so many lines before it."""


@dataclass(frozen=True, slots=True)
class LogLines:
    """Whole lines of a log, ``first`` the number of the first one, from 1."""

    name: str
    first: int
    lines: tuple[str, ...]
    offset_bytes: int
    next_offset_bytes: int | None
    """Where the rest begins; None at the end."""


@dataclass(frozen=True, slots=True)
class LogHit:
    """A line that has the text; ``offset_bytes``: where a part begins that shows it with some lines before."""

    number: int
    text: str
    offset_bytes: int


@dataclass(frozen=True, slots=True)
class LogHits:
    """The first lines that have a text, in any letters' case, of ``total`` such lines in a log of ``lines``."""

    wanted: str
    hits: tuple[LogHit, ...]
    total: int
    lines: int


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines with their ends."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in (each + b"\n" for each in whole):
            yield from (line[at : at + LINE_MAX] for at in range(0, len(line), LINE_MAX))
        while len(rest) > LINE_MAX:
            yield rest[:LINE_MAX]
            rest = rest[LINE_MAX:]
    if rest:
        yield rest


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r\n")


def log_lines(repository: Repository, run_id: str, name: str, offset_bytes: int = 0) -> LogLines:
    """Return about :data:`PART_BYTES` of a log, from the first line that begins at ``offset_bytes`` or later."""
    at, first, start, size = 0, 0, 0, 0
    shown: list[str] = []
    for number, line in enumerate(_lines(repository.log_chunks(run_id, name)), start=1):
        if at >= offset_bytes:
            if shown and size + len(line) > PART_BYTES:
                return LogLines(name, first, tuple(shown), start, at)
            if not shown:
                first, start = number, at
            shown.append(_text(line))
            size += len(line)
        at += len(line)
    return LogLines(name, first, tuple(shown), start, None)


def log_hits(repository: Repository, run_id: str, name: str, wanted: str) -> LogHits:
    """Return the lines of a log that have ``wanted``."""
    at, number, total = 0, 0, 0
    found: list[LogHit] = []
    before: deque[int] = deque(maxlen=_LINES_BEFORE)
    folded = wanted.casefold()
    for line in _lines(repository.log_chunks(run_id, name)):
        number += 1
        before.append(at)
        text = _text(line)
        if folded in text.casefold():
            total += 1
            if len(found) < HITS_MAX:
                found.append(LogHit(number, text[:_HIT_CHARACTERS], before[0]))
        at += len(line)
    return LogHits(wanted, tuple(found), total, number)
