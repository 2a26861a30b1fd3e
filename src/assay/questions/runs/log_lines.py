"""Read a part of a run's log with line numbers, and search a log for a text.

In: a repository, the id of a run, and the name of one of its logs. Out: :class:`LogLines`, :class:`LogHits`. A log is
read as a stream; a line longer than :data:`LINE_MAX` bytes counts as several lines.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from assay.store import Repository

PART_BYTES = 256_000
"""Maximum size of a part, in bytes."""
LINE_MAX = 64_000
"""Maximum length of a line, in bytes."""
HITS_MAX = 200
"""Maximum number of hits that are returned."""
_HIT_LENGTH_MAX = 300
"""Maximum length of a hit's text, in characters."""
_LINES_BEFORE = 20
"""Number of lines before a hit in the part that shows it."""


@dataclass(frozen=True, slots=True)
class LogLines:
    """Consecutive lines of a log. ``first``: number of the first line, from 1."""

    name: str
    first: int
    lines: tuple[str, ...]
    offset_bytes: int
    next_offset_bytes: int | None
    """Offset of the rest of the log; None at the end."""


@dataclass(frozen=True, slots=True)
class LogHit:
    """A line with the text. ``offset_bytes``: start of a part that shows it with some lines before it."""

    number: int
    text: str
    offset_bytes: int


@dataclass(frozen=True, slots=True)
class LogHits:
    """The first lines that contain a text, case ignored. ``total``: matching lines; ``lines``: all lines."""

    searched_text: str
    hits: tuple[LogHit, ...]
    total: int
    lines: int


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines with their ends."""
    incomplete_line = b""
    for chunk in chunks:
        *complete_lines, incomplete_line = (incomplete_line + chunk).split(b"\n")
        for line in (part + b"\n" for part in complete_lines):
            yield from (line[offset : offset + LINE_MAX] for offset in range(0, len(line), LINE_MAX))
        while len(incomplete_line) > LINE_MAX:
            yield incomplete_line[:LINE_MAX]
            incomplete_line = incomplete_line[LINE_MAX:]
    if incomplete_line:
        yield incomplete_line


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r\n")


def log_lines(repository: Repository, run_id: str, name: str, offset_bytes: int = 0) -> LogLines:
    """Return about :data:`PART_BYTES` of a log, from the first line that begins at ``offset_bytes`` or later."""
    offset, first, start, size = 0, 0, 0, 0
    shown_lines: list[str] = []
    for number, line in enumerate(_lines(repository.log_chunks(run_id, name)), start=1):
        if offset >= offset_bytes:
            if shown_lines and size + len(line) > PART_BYTES:
                return LogLines(name, first, tuple(shown_lines), start, offset)
            if not shown_lines:
                first, start = number, offset
            shown_lines.append(_text(line))
            size += len(line)
        offset += len(line)
    return LogLines(name, first, tuple(shown_lines), start, None)


def log_hits(repository: Repository, run_id: str, name: str, searched_text: str) -> LogHits:
    """Return the lines of a log that contain ``searched_text``."""
    offset, number, total = 0, 0, 0
    hits: list[LogHit] = []
    offsets_before: deque[int] = deque(maxlen=_LINES_BEFORE)
    folded_text = searched_text.casefold()
    for line in _lines(repository.log_chunks(run_id, name)):
        number += 1
        offsets_before.append(offset)
        text = _text(line)
        if folded_text in text.casefold():
            total += 1
            if len(hits) < HITS_MAX:
                hits.append(LogHit(number, text[:_HIT_LENGTH_MAX], offsets_before[0]))
        offset += len(line)
    return LogHits(searched_text, tuple(hits), total, number)
