"""Reads one of ALOJA's tables of runs by columns: the runs that :mod:`assay.formats.aloja.execs` reads by rows.

In: the table's text. Out: the runs of some thousand lines at a time, and the lines that can't be taken, with the same
reasons. Levels repeat, so each combination of cells is made into what it means once (by the functions that the rows are
read with), and a row is a few numbers from there on. Only what no other row has is looked at row by row: quoted lines,
folders' names, starts, ids that stand twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final

import numpy as np

from assay.formats.aloja import codes
from assay.formats.aloja.exec_rows import DURATION_MAX_S, VALID_MIN_S, ZEROS, Table, doubts, plain
from assay.formats.aloja.names import FolderName
from assay.formats.aloja.times import started
from assay.model.imported import SOURCE_ID_LENGTH_MAX, Left, foreign_run
from assay.model.warning import CodedWarning
from assay.statistics.arrays import Codes, Floats
from assay.statistics.found_rows import Distinct, FoundRows, Shared, groups_of

LINES_AT_ONCE: Final = 20_000
_COMMON: Final = foreign_run(workload="", duration_s=0.0)
_OF_LABEL: Final = ("status", "cause", "engine_version", "workload", "workload_parameters", "layout", "levels")
"""Fields of a run that its labels decide alone."""
_PLAIN_NUMBERS: Final = re.compile(r"(?:\d{1,12}(?:\.\d{1,12})?\n)*", re.ASCII)
_NO_FOLDER: Final = FolderName("")


@dataclass(frozen=True, slots=True)
class _Part:
    """Some rows of a table, cell by cell, whose cells mean something each."""

    numbers: list[int]
    """Their lines."""
    columns: Sequence[Sequence[str]]
    folders: Sequence[FolderName] | None
    """None where the table has no column for them."""
    duration_s: Floats
    label: Codes
    engine: Codes
    place: Codes


class ColumnReader:
    """Reads one table; what its rows share is kept from one part to the next."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._width = table.header.width
        self._labels = Distinct(table.label_of)
        self._engines = Distinct(table.parameters_of)
        self._places = Distinct(lambda told: table.place_of(*told))
        self._starts, self._whens, self._remarks, self._warnings = (Distinct(lambda told: told) for _ in range(4))
        self._sources = Distinct(lambda told: table.sources_of(*told))
        self._of_label: dict[str, list[Any]] = {name: [] for name in _OF_LABEL}
        self._clusters: list[str] = []
        self._environments: list[dict[str, Any]] = []

    def read(self, text: str) -> Iterator[FoundRows | Left]:
        """Yield the table's runs, and what can't be taken, in the order of its lines."""
        lines = text.replace("\r\n", "\n").split("\n")  # else Windows' ends of lines have every line taken apart alone
        for begin in range(0, len(lines), LINES_AT_ONCE):
            left: dict[int, str] = {}
            part = self._part(lines[begin : begin + LINES_AT_ONCE], begin + 1, left)
            rows = self._found(part, left) if part else None
            yield from (Left(f"{self._table.name}:{line}", left[line]) for line in sorted(left))
            if rows is not None and len(rows):
                yield rows

    def _part(self, lines: Sequence[str], first: int, left: dict[int, str]) -> _Part | None:
        """Return the rows that are runs; ``left`` takes the other lines, with the reason."""
        numbers, columns = self._cells(lines, first, left)
        while numbers:
            part, mistakes = self._meant(numbers, columns)
            if not mistakes:
                return part
            left |= {numbers[row]: why for row, why in mistakes.items()}
            good = [row for row in range(len(numbers)) if row not in mistakes]
            numbers = [numbers[row] for row in good]
            columns = [[column[row] for row in good] for column in columns]
        return None

    def _cells(
        self, lines: Sequence[str], first: int, left: dict[int, str]
    ) -> tuple[list[int], Sequence[Sequence[str]]]:
        """Return the lines' numbers and their cells by column; ``left`` takes what is no row."""
        header = self._table.header
        rows = [line for line in lines if line and line != header.text]
        whole = header.delimiter.join(rows)
        counts = set(map(str.count, rows, repeat(header.delimiter)))
        if counts == {self._width - 1} and header.delimiter != "\t" and '"' not in whole and "\r" not in whole:
            cells = whole.split(header.delimiter)
            if len(rows) == len(lines):
                numbers = list(range(first, first + len(lines)))
            else:
                numbers = [number for number, line in enumerate(lines, first) if line and line != header.text]
            return numbers, [cells[place :: self._width] for place in range(self._width)]
        numbers, found = [], []
        for number, ended in enumerate(lines, start=first):
            line = ended.rstrip("\r")
            if not line or line == header.text or line.isspace():
                continue
            try:
                found.append(self._table.cells(line))
                numbers.append(number)
            except ValueError as error:
                left[number] = str(error)
        return numbers, list(zip(*found, strict=True))

    def _meant(self, numbers: list[int], columns: Sequence[Sequence[str]]) -> tuple[_Part, dict[int, str]]:
        """Return what cells mean, and by row why some mean nothing; the first reason counts, as for a row alone."""
        table = self._table
        duration_s, mistakes = self._durations(columns[table.header.places["duration"]])
        exec_place = table.header.places.get("exec")
        folders = None if exec_place is None else [FolderName.of(text) for text in columns[exec_place]]
        hints = [""] * len(numbers) if folders is None else [folder.place for folder in folders]
        label = self._labels.codes(table.labels.of_columns(columns))
        engine = self._engines.codes(table.engine.of_columns(columns))
        place = self._places.codes(list(zip(table.cluster.of_columns(columns), hints, strict=True)))
        for made, found in ((self._labels, label), (self._engines, engine), (self._places, place)):
            for row in np.flatnonzero(found < 0).tolist():
                mistakes.setdefault(row, made.mistakes[-1 - int(found[row])])
        return _Part(numbers, columns, folders, duration_s, label, engine, place), mistakes

    def _durations(self, texts: Sequence[str]) -> tuple[Floats, dict[int, str]]:
        """Return durations in seconds, and by row why a text is none."""
        if _PLAIN_NUMBERS.fullmatch("\n".join((*texts, ""))):
            seconds = np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
            odd = np.flatnonzero((seconds == 0) | (seconds > DURATION_MAX_S))
        else:
            seconds, odd = np.ones(len(texts)), np.arange(len(texts))
        mistakes = {}
        for row in odd.tolist():
            try:
                seconds[row] = self._table.duration_of(texts[row])
            except ValueError as error:
                mistakes[row] = str(error)
        return seconds, mistakes

    def _found(self, part: _Part, left: dict[int, str]) -> FoundRows:
        """Return the runs of rows, but for those that stand in the table already."""
        identities, keys = self._texts(part, "id"), self._keys(part)
        for name, values in self._of_label.items():
            values += [getattr(label, name) for label in self._labels.values[len(values) :]]
        fresh = self._places.values[len(self._clusters) :]
        self._clusters += [place.joined.name for place in fresh]
        self._environments += [place.environment for place in fresh]
        starts, when = self._started(part)
        warnings, sources = self._told(part, when)
        rows = FoundRows(
            self._table.name,
            np.array(part.numbers, dtype=np.int64),
            keys,
            _COMMON,
            {
                **{name: Shared(part.label, values) for name, values in self._of_label.items()},
                "cluster": Shared(part.place, self._clusters),
                "environment": Shared(part.place, self._environments),
                "parameters": Shared(part.engine, self._engines.values),
                "started_at": Shared(starts, self._starts.values),
                "warnings": Shared(warnings, self._warnings.values),
                "sources": Shared(sources, self._sources.values),
            },
            part.duration_s,
            _source_ids(identities),
            self._metrics(part),
        )
        doubled = self._doubled(part, keys, [text.strip() for text in identities])
        left |= {part.numbers[row]: why for row, why in doubled.items()}
        return rows.taken(np.array([row not in doubled for row in range(len(keys))])) if doubled else rows

    def _texts(self, part: _Part, name: str) -> Sequence[str]:
        """Return a field of each row; empty texts where the table has no such column."""
        place = self._table.header.places.get(name)
        return [""] * len(part.numbers) if place is None else part.columns[place]

    def _metrics(self, part: _Part) -> dict[str, Floats]:
        """Return what the rows tell beside their times."""
        if "cost" not in self._table.header.places:
            return {}
        dollars = np.array([self._table.dollars(text) for text in self._texts(part, "cost")], dtype=np.float64)
        return {} if np.isnan(dollars).all() else {"aloja_cost_usd": dollars}

    def _keys(self, part: _Part) -> list[str]:
        """Return what the rows are known by."""
        rows = zip(*(_plain(part.columns[place]) for place in self._table.key.places), strict=True)
        if part.folders is None:
            return list(map(" ".join, rows))
        return [folder.text or " ".join(cells) for folder, cells in zip(part.folders, rows, strict=True)]

    def _started(self, part: _Part) -> tuple[Codes, Codes]:
        """Return when the runs started and how that is known, as codes of their own."""
        places, count = self._table.header.places, len(part.numbers)
        if "start" not in places and "end" not in places:
            found = [started("", "", 0.0, _NO_FOLDER, has_start=False)] * count
        else:
            folders = part.folders or [_NO_FOLDER] * count
            begins, ends = self._texts(part, "start"), self._texts(part, "end")
            rows = zip(begins, ends, part.duration_s.tolist(), folders, strict=True)
            found = [started(*row, has_start="start" in places) for row in rows]
        when = self._whens.codes([(one.source, one.warnings) for one in found])
        return self._starts.codes([one.at for one in found]), when

    def _told(self, part: _Part, when: Codes) -> tuple[Codes, Codes]:
        """Return the runs' warnings and the sources of their figures, as codes."""
        labels, places, whens = self._labels.values, self._places.values, self._whens.values
        remark = self._remarks.codes(self._doubts(part))
        remarks = self._remarks.values
        firsts, group = groups_of([part.label, part.place, when, remark])
        rows = [(int(part.label[r]), int(part.place[r]), int(when[r]), int(remark[r])) for r in firsts.tolist()]
        warnings = self._warnings.codes(
            [labels[a].warnings + places[b].joined.warnings + whens[c][1] + remarks[d] for a, b, c, d in rows]
        )
        sources = self._sources.codes([(whens[c][0], places[b].joined.source) for _, b, c, _ in rows])
        return warnings[group], sources[group]

    def _doubts(self, part: _Part) -> list[tuple[CodedWarning, ...]]:
        """Return what speaks against each row."""
        labels = map(self._labels.values.__getitem__, part.label.tolist())
        rows = zip(labels, part.duration_s.tolist(), part.folders or [_NO_FOLDER] * len(part.numbers), strict=True)
        return [
            doubts(label, duration_s, folder) if folder.text or duration_s < VALID_MIN_S else ()
            for label, duration_s, folder in rows
        ]

    def _doubled(self, part: _Part, keys: Sequence[str], identities: Sequence[str]) -> dict[int, str]:
        """Note which runs are taken, and return by row why some are not: they were taken before."""
        table = self._table
        named = identities if part.folders is None else [folder.text for folder in part.folders]
        told = [identity for identity in identities if identity]
        if (
            all(named)
            and len(set(keys)) == len(keys)
            and table.taken.keys().isdisjoint(keys)
            and len(set(told)) == len(told)
            and table.ids.keys().isdisjoint(told)
        ):
            table.taken.update({key: f"{table.name}:{line}" for key, line in zip(keys, part.numbers, strict=True)})
            table.ids.update({i: line for i, line in zip(identities, part.numbers, strict=True) if i})
            return {}
        doubled = {}
        for row, (key, identity, line) in enumerate(zip(keys, identities, part.numbers, strict=True)):
            try:
                if named[row] or identity:  # else two equal rows may be two runs
                    table.take(key, identity, line)
            except ValueError as error:
                doubled[row] = str(error)
        return doubled


def _plain(texts: Sequence[str]) -> Sequence[str]:
    """Return the cells of one column of a key as :func:`plain` does: all of them in one go where that is the same."""
    whole = "\n".join(texts)
    if "".join(texts).split(None, 1) not in ([], ["".join(texts)]):
        return list(map(plain, texts))
    return ZEROS.sub("", whole).split("\n") if "." in whole or "," in whole else texts


def _source_ids(texts: Sequence[str]) -> list[str]:
    """Return what the rows' source calls them."""
    whole = "".join(texts)
    if whole.isascii() and whole.isdecimal() and max(map(len, texts)) <= SOURCE_ID_LENGTH_MAX:
        return list(texts)
    return [codes.known(text)[:SOURCE_ID_LENGTH_MAX] for text in texts]
