"""Split a table's lines into columns, for readers that convert many rows at once.

In: a table's text, and which cells many rows share. Out: some thousand lines at a time. Each row has separate cells,
and aspects (a label, a cluster). An aspect is parsed from some of the shared cells, once for each distinct combination.
Shared cells at the end of a row are looked up together, as one text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Final

import numpy as np

from assay.analysis.statistics import Codes, Distinct, Floats, groups_of

CHARACTERS_AT_ONCE = 2_000_000
"""Maximum number of characters of a table that are split at once. It limits memory use."""
_PLAIN_NUMBERS: Final = re.compile(r"(?:\d{1,12}(?:\.\d{1,12})?\n)*", re.ASCII)


def pieces_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield a text in pieces of whole lines, each with the number of its first line. Lines end with ``\\n``."""
    begin, number = 0, 1
    while begin < len(text):
        end = text.find("\n", begin + CHARACTERS_AT_ONCE) + 1 or len(text)
        piece = text[begin:end].replace("\r\n", "\n")
        yield number, piece
        number += piece.count("\n")
        begin = end


def lines_of(piece: str) -> list[str]:
    """Return the lines of a piece without their ends."""
    return piece.removesuffix("\n").split("\n")


@dataclass(frozen=True, slots=True)
class SplitRows:
    """Split rows: the first cells as columns, and the shared cells at the end in one text."""

    cells: Sequence[Sequence[str]]
    rest: Sequence[str | tuple[str, ...]] | None
    """None if the last cell is not shared."""

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.cells[0] if self.cells else self.rest or ())

    def subset(self, rows: Sequence[int]) -> SplitRows:
        """Return some of the rows."""
        picked = [[column[row] for row in rows] for column in self.cells]
        return SplitRows(picked, None if self.rest is None else [self.rest[row] for row in rows])


class RowSplitter:
    """A definition of how rows are split: shared cells at the end of a row stay together, as one text.

    ``aspects``: the columns of each aspect. A cell of several aspects is split off, to keep combinations few.
    """

    def __init__(self, separator: str, width: int, aspects: Iterable[Sequence[int]]) -> None:
        taken = Counter(number for column_numbers in aspects for number in column_numbers)
        self.separator = separator
        self.head = 1 + max((number for number in range(width) if taken[number] != 1), default=-1)
        """Number of cells before those that stay together."""
        self.width = width

    def of_lines(self, lines: Sequence[str]) -> SplitRows | None:
        """Split lines without quotation marks; None unless all have as many cells as the header."""
        if set(map(str.count, lines, repeat(self.separator))) != {self.width - 1}:
            return None
        columns = list(zip(*[line.split(self.separator, self.head) for line in lines], strict=True))
        return SplitRows(columns[: self.head], columns[self.head] if self.head < self.width else None)

    def of_rows(self, rows: Sequence[Sequence[str]]) -> SplitRows:
        """Return rows that are split already; each has as many cells as the header."""
        cells = [[row[number] for row in rows] for number in range(self.head)]
        return SplitRows(cells, [tuple(row[self.head :]) for row in rows] if self.head < self.width else None)

    def row(self, cut: SplitRows, row: int) -> list[str]:
        """Return a row's cells."""
        cells = [column[row] for column in cut.cells]
        return cells if cut.rest is None else [*cells, *self.of_rest(cut.rest[row])]

    def of_rest(self, rest: str | tuple[str, ...]) -> Sequence[str]:
        """Return the cells that stay together."""
        return rest.split(self.separator) if isinstance(rest, str) else rest


@dataclass(frozen=True, slots=True)
class Aspect:
    """A value that some of a row's shared cells determine together."""

    column_numbers: tuple[int, ...]
    """The columns of these cells, in ascending order."""
    parsed: Distinct
    """Parses a tuple of the cells' texts."""


class Aspects:
    """All aspects of a table, which compute the code of each row in every aspect."""

    def __init__(self, cutting: RowSplitter, aspects: Sequence[Aspect]) -> None:
        self._cutting = cutting
        self._aspects = aspects
        head = cutting.head
        self._cells = {
            number: _distinct_texts() for aspect in aspects for number in aspect.column_numbers if number < head
        }
        self._rests = _distinct_texts()
        self._late = [_distinct_texts() for _ in aspects]
        """The cells at the end of a row that each aspect uses."""
        self._late_of = [np.zeros(0, dtype=np.int32) for _ in aspects]
        """The code of these cells, by the code of all cells at the end."""

    def codes(self, cut: SplitRows, also: Mapping[int, Sequence[str]]) -> list[Codes]:
        """Return each row's code in every aspect: below 0 for cells that can't be parsed.

        ``also``: a further column of texts for an aspect, by its number; its cells follow those of the row.
        """
        cells = {column_number: known.codes(cut.cells[column_number]) for column_number, known in self._cells.items()}
        rest = None if cut.rest is None else self._rest_codes(cut.rest)
        codes_by_aspect = []
        for number, aspect in enumerate(self._aspects):
            columns = [cut.cells[column_number] for column_number in aspect.column_numbers if column_number in cells]
            codes = [cells[column_number] for column_number in aspect.column_numbers if column_number in cells]
            late = None if rest is None else self._late_of[number][rest]
            more = [also[number]] if number in also else []
            codes += [*([] if late is None else [late]), *(_distinct_texts().codes(column) for column in more)]
            firsts, group = groups_of(codes or [np.zeros(len(cut), dtype=np.int32)])
            combinations = []
            for row in firsts.tolist():
                tail = () if late is None else self._late[number].values[late[row]]
                combinations.append((*(column[row] for column in columns), *tail, *(column[row] for column in more)))
            codes_by_aspect.append(aspect.parsed.codes(combinations)[group])
        return codes_by_aspect

    def _rest_codes(self, rest: Sequence[str | tuple[str, ...]]) -> Codes:
        """Return the codes of the cells at the end. For new cells, also add the cells that each aspect uses."""
        known = self._rests.values
        begin, head = len(known), self._cutting.head
        codes = self._rests.codes(rest)
        fresh = list(map(self._cutting.of_rest, known[begin:]))
        for number, aspect in enumerate(self._aspects if fresh else ()):
            column_numbers = [column_number - head for column_number in aspect.column_numbers if column_number >= head]
            late_codes = self._late[number].codes(
                [tuple([cells[column_number] for column_number in column_numbers]) for cells in fresh]
            )
            self._late_of[number] = np.concatenate([self._late_of[number], late_codes])
        return codes


def _distinct_texts() -> Distinct:
    """Return an interner of unchanged texts."""
    return Distinct(lambda text: text)


def plain_numbers(texts: Sequence[str]) -> Floats | None:
    """Return texts as numbers if all are digits, with or without decimals after a point; else None."""
    if not _PLAIN_NUMBERS.fullmatch("\n".join((*texts, ""))):
        return None
    return np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
