"""Split a table's lines into columns, for readers that convert many rows at once.

In: a table's text, and the columns that many rows share. Out: some thousand lines at a time. Each row has separate
cells, and aspects (a label, a cluster). An aspect is parsed from shared cells, once for each distinct combination. The
shared cells at the end of a row are looked up as one text.
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
    """Split rows: the first cells as columns, and the shared cells at the end joined in one text."""

    cells: Sequence[Sequence[str]]
    joined_cells: Sequence[str | tuple[str, ...]] | None
    """The shared cells at the end of each row; None if the last cell is not shared."""

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.cells[0] if self.cells else self.joined_cells or ())

    def subset(self, rows: Sequence[int]) -> SplitRows:
        """Return some of the rows."""
        columns = [[column[row] for row in rows] for column in self.cells]
        return SplitRows(columns, None if self.joined_cells is None else [self.joined_cells[row] for row in rows])


class RowSplitter:
    """A splitter of rows into cells. Shared cells at the end of a row stay joined in one text.

    ``aspects``: the columns of each aspect. A cell of several aspects is always split off, which keeps the number of
    combinations small.
    """

    def __init__(self, separator: str, width: int, aspects: Iterable[Sequence[int]]) -> None:
        aspect_counts = Counter(number for column_numbers in aspects for number in column_numbers)
        self.separator = separator
        self.split_count = 1 + max((number for number in range(width) if aspect_counts[number] != 1), default=-1)
        """Number of cells before those that stay joined."""
        self.width = width

    def of_lines(self, lines: Sequence[str]) -> SplitRows | None:
        """Split lines without quotation marks; None unless all have as many cells as the header."""
        if set(map(str.count, lines, repeat(self.separator))) != {self.width - 1}:
            return None
        columns = list(zip(*[line.split(self.separator, self.split_count) for line in lines], strict=True))
        return SplitRows(
            columns[: self.split_count], columns[self.split_count] if self.split_count < self.width else None
        )

    def of_rows(self, rows: Sequence[Sequence[str]]) -> SplitRows:
        """Return rows that are split already; each has as many cells as the header."""
        cells = [[row[number] for row in rows] for number in range(self.split_count)]
        return SplitRows(
            cells, [tuple(row[self.split_count :]) for row in rows] if self.split_count < self.width else None
        )

    def row(self, split_rows: SplitRows, row: int) -> list[str]:
        """Return a row's cells."""
        cells = [column[row] for column in split_rows.cells]
        return cells if split_rows.joined_cells is None else [*cells, *self.cells_of(split_rows.joined_cells[row])]

    def cells_of(self, joined_cells: str | tuple[str, ...]) -> Sequence[str]:
        """Return the cells of a joined text."""
        return joined_cells.split(self.separator) if isinstance(joined_cells, str) else joined_cells


@dataclass(frozen=True, slots=True)
class Aspect:
    """A value that several shared cells of a row determine."""

    column_numbers: tuple[int, ...]
    """The columns of these cells, in ascending order."""
    distinct_values: Distinct
    """The distinct values, which it parses from tuples of the cells' texts."""


class Aspects:
    """All aspects of a table, which compute the code of each row in every aspect."""

    def __init__(self, splitter: RowSplitter, aspects: Sequence[Aspect]) -> None:
        self._splitter = splitter
        self._aspects = aspects
        split_count = splitter.split_count
        self._cells = {
            number: _distinct_texts() for aspect in aspects for number in aspect.column_numbers if number < split_count
        }
        self._joined_cells = _distinct_texts()
        self._joined_cells_of_aspect = [_distinct_texts() for _ in aspects]
        """The cells at the end of a row that each aspect uses."""
        self._codes_of_joined_cells = [np.zeros(0, dtype=np.int32) for _ in aspects]
        """The code of these cells, by the code of all cells at the end."""

    def codes(self, split_rows: SplitRows, added_columns: Mapping[int, Sequence[str]]) -> list[Codes]:
        """Return each row's code in every aspect: below 0 for cells that can't be parsed.

        ``added_columns``: a further column of texts for an aspect, by the aspect's number. Its cells follow those of
        the row.
        """
        codes_of_columns = {
            column_number: distinct_texts.codes(split_rows.cells[column_number])
            for column_number, distinct_texts in self._cells.items()
        }
        joined_codes = None if split_rows.joined_cells is None else self._codes_of(split_rows.joined_cells)
        codes_by_aspect = []
        for number, aspect in enumerate(self._aspects):
            columns = [
                split_rows.cells[column_number]
                for column_number in aspect.column_numbers
                if column_number in codes_of_columns
            ]
            codes = [
                codes_of_columns[column_number]
                for column_number in aspect.column_numbers
                if column_number in codes_of_columns
            ]
            aspect_codes = None if joined_codes is None else self._codes_of_joined_cells[number][joined_codes]
            added = [added_columns[number]] if number in added_columns else []
            codes += [
                *([] if aspect_codes is None else [aspect_codes]),
                *(_distinct_texts().codes(column) for column in added),
            ]
            first_rows, group = groups_of(codes or [np.zeros(len(split_rows), dtype=np.int32)])
            combinations = []
            for row in first_rows.tolist():
                joined = () if aspect_codes is None else self._joined_cells_of_aspect[number].values[aspect_codes[row]]
                combinations.append((*(column[row] for column in columns), *joined, *(column[row] for column in added)))
            codes_by_aspect.append(aspect.distinct_values.codes(combinations)[group])
        return codes_by_aspect

    def _codes_of(self, joined_cells: Sequence[str | tuple[str, ...]]) -> Codes:
        """Return the codes of the cells at the end. For new cells, also add the cells that each aspect uses."""
        distinct_cells = self._joined_cells.values
        begin, split_count = len(distinct_cells), self._splitter.split_count
        codes = self._joined_cells.codes(joined_cells)
        new_cells = list(map(self._splitter.cells_of, distinct_cells[begin:]))
        for number, aspect in enumerate(self._aspects if new_cells else ()):
            column_numbers = [
                column_number - split_count for column_number in aspect.column_numbers if column_number >= split_count
            ]
            aspect_codes = self._joined_cells_of_aspect[number].codes(
                [tuple([cells[column_number] for column_number in column_numbers]) for cells in new_cells]
            )
            self._codes_of_joined_cells[number] = np.concatenate([self._codes_of_joined_cells[number], aspect_codes])
        return codes


def _distinct_texts() -> Distinct:
    """Return an empty collection of distinct texts, which are not parsed."""
    return Distinct(lambda text: text)


def plain_numbers(texts: Sequence[str]) -> Floats | None:
    """Return texts as numbers if all are digits, with or without decimals after a point; else None."""
    if not _PLAIN_NUMBERS.fullmatch("\n".join((*texts, ""))):
        return None
    return np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
