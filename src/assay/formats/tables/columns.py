"""A table's lines as columns, for readers that make many rows into runs at once.

In: a table's text, and which of its cells many rows have alike. Out: some thousand lines at a time; of each row the
cells that it has for itself, and what the others mean in several aspects (a label, a cluster), each of which takes
some of the cells and is asked for once for each combination of them that occurs. Cells at the end of a row that are
all shared are looked up together, as one text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Final

import numpy as np

from assay.statistics import Codes, Distinct, Floats, groups_of

CHARACTERS_AT_ONCE = 2_000_000
"""Of a table, so that the rows under way take little memory."""
_PLAIN_NUMBERS: Final = re.compile(r"(?:\d{1,12}(?:\.\d{1,12})?\n)*", re.ASCII)


def pieces_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield a text in pieces of whole lines, with the number of each piece's first line; ends of lines are ``\\n``."""
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
class Cut:
    """Rows that are cut: the cells before the last ones by place, and the last ones, that are shared, in one."""

    cells: Sequence[Sequence[str]]
    rest: Sequence[str | tuple[str, ...]] | None
    """None where the last cell is none that is shared."""

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.cells[0] if self.cells else self.rest or ())

    def taken(self, rows: Sequence[int]) -> Cut:
        """Return some of the rows."""
        picked = [[column[row] for row in rows] for column in self.cells]
        return Cut(picked, None if self.rest is None else [self.rest[row] for row in rows])


class Cutting:
    """How a table's rows are cut: shared cells at the end of a row stay together, as one text.

    ``aspects``: the places of each. A cell that several of them take is by itself, else there were more combinations.
    """

    def __init__(self, separator: str, width: int, aspects: Iterable[Sequence[int]]) -> None:
        taken = Counter(place for places in aspects for place in places)
        self.separator = separator
        self.head = 1 + max((place for place in range(width) if taken[place] != 1), default=-1)
        """How many cells stand before those that stay together."""
        self.width = width

    def of_lines(self, lines: Sequence[str]) -> Cut | None:
        """Return lines without quotation marks, cut; None where not every one has as many cells as the header."""
        if set(map(str.count, lines, repeat(self.separator))) != {self.width - 1}:
            return None
        columns = list(zip(*[line.split(self.separator, self.head) for line in lines], strict=True))
        return Cut(columns[: self.head], columns[self.head] if self.head < self.width else None)

    def of_rows(self, rows: Sequence[Sequence[str]]) -> Cut:
        """Return rows whose cells are apart already; each has as many as the header."""
        cells = [[row[place] for row in rows] for place in range(self.head)]
        return Cut(cells, [tuple(row[self.head :]) for row in rows] if self.head < self.width else None)

    def row(self, cut: Cut, row: int) -> list[str]:
        """Return a row's cells."""
        cells = [column[row] for column in cut.cells]
        return cells if cut.rest is None else [*cells, *self.of_rest(cut.rest[row])]

    def of_rest(self, rest: str | tuple[str, ...]) -> Sequence[str]:
        """Return the cells that stay together."""
        return rest.split(self.separator) if isinstance(rest, str) else rest


@dataclass(frozen=True, slots=True)
class Aspect:
    """Something that some of a row's shared cells tell together."""

    places: tuple[int, ...]
    """Where these cells stand, in ascending order."""
    meant: Distinct
    """What they mean: asked for tuples of their texts."""


class Aspects:
    """Tells what each row is in every aspect."""

    def __init__(self, cutting: Cutting, aspects: Sequence[Aspect]) -> None:
        self._cutting = cutting
        self._aspects = aspects
        head = cutting.head
        self._cells = {place: _alike() for one in aspects for place in one.places if place < head}
        self._rests = _alike()
        self._late = [_alike() for _ in aspects]
        """Of each aspect, what it takes of the cells that stay together."""
        self._late_of = [np.zeros(0, dtype=np.int32) for _ in aspects]
        """The code of that, by the code of the cells that stay together."""

    def codes(self, cut: Cut, also: Mapping[int, Sequence[str]]) -> list[Codes]:
        """Return each row's code in every aspect: below 0 where it means nothing.

        ``also``: a further column of texts for an aspect, by its number; its cells follow those of the row.
        """
        cells = {place: known.codes(cut.cells[place]) for place, known in self._cells.items()}
        rest = None if cut.rest is None else self._rest_codes(cut.rest)
        found = []
        for number, aspect in enumerate(self._aspects):
            columns = [cut.cells[place] for place in aspect.places if place in cells]
            codes = [cells[place] for place in aspect.places if place in cells]
            late = None if rest is None else self._late_of[number][rest]
            more = [also[number]] if number in also else []
            codes += [*([] if late is None else [late]), *(_alike().codes(column) for column in more)]
            firsts, group = groups_of(codes or [np.zeros(len(cut), dtype=np.int32)])
            told = []
            for row in firsts.tolist():
                tail = () if late is None else self._late[number].values[late[row]]
                told.append((*(column[row] for column in columns), *tail, *(column[row] for column in more)))
            found.append(aspect.meant.codes(told)[group])
        return found

    def _rest_codes(self, rest: Sequence[str | tuple[str, ...]]) -> Codes:
        """Return the codes of cells that stay together, and note what each aspect takes of those that are new."""
        known = self._rests.values
        begin, head = len(known), self._cutting.head
        codes = self._rests.codes(rest)
        fresh = list(map(self._cutting.of_rest, known[begin:]))
        for number, aspect in enumerate(self._aspects if fresh else ()):
            places = [place - head for place in aspect.places if place >= head]
            own = self._late[number].codes([tuple([cells[place] for place in places]) for cells in fresh])
            self._late_of[number] = np.concatenate([self._late_of[number], own])
        return codes


def _alike() -> Distinct:
    """Return what numbers texts as they are."""
    return Distinct(lambda told: told)


def plain_numbers(texts: Sequence[str]) -> Floats | None:
    """Return what texts stand for where all are digits, with or without decimals after a point; else None."""
    if not _PLAIN_NUMBERS.fullmatch("\n".join((*texts, ""))):
        return None
    return np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
