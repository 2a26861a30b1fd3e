"""Reads one of ALOJA's tables of runs by columns: the runs that :mod:`assay.formats.aloja.execs` reads by rows.

In: the table's text. Out: the runs of some thousand lines at a time, and the lines that can't be taken, with the same
reasons. Levels repeat, so each combination of cells is made into what it means once (by the functions that the rows are
read with), and a row is a few numbers from there on. Only what no other row has is looked at row by row: quoted lines,
folders' names, starts, ids that stand twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from assay.formats.aloja import codes
from assay.formats.aloja.exec_rows import (
    DURATION_MAX_S,
    ENGINE_FIELDS,
    VALID_MIN_S,
    ZEROS,
    ExecTable,
    Picked,
    doubts,
    plain,
)
from assay.formats.aloja.names import FolderName
from assay.formats.aloja.times import started
from assay.formats.tables.columns import Aspect, Aspects, Cut, Cutting, lines_of, pieces_of, plain_numbers
from assay.model import SOURCE_ID_LENGTH_MAX, SkippedItem, foreign_run
from assay.statistics import Codes, Distinct, Floats, ImportedRows, Shared, groups_of

_COMMON: Final = foreign_run(workload="", duration_s=0.0)
_OF_LABEL: Final = ("status", "cause", "engine_version", "workload", "workload_parameters", "layout", "levels")
"""Fields of a run that its labels decide alone."""
_IN_KEYS: Final = (("bench",), ("net", "disk"), ENGINE_FIELDS, ("cluster", "cluster_name"), ("bench_type",))
"""The shared fields of a key, in its order; fields in one pair of brackets belong to one aspect."""
_PLACE: Final = 2
"""The number of the aspect that folders' names tell something of."""
_NO_FOLDER: Final = FolderName("")


@dataclass(frozen=True, slots=True)
class _Part:
    """Some rows of a table, whose cells mean something each."""

    numbers: list[int]
    """Their lines."""
    cut: Cut
    folders: Sequence[FolderName] | None
    """None where the table has no column for them."""
    duration_s: Floats
    label: Codes
    engine: Codes
    place: Codes


class ColumnReader:
    """Reads one table; what its rows share is kept from one part to the next."""

    def __init__(self, table: ExecTable) -> None:
        self._table = table
        header = table.header
        places = [picked.places for picked in (table.labels, table.engine, table.cluster)]
        self._cutting = Cutting(header.delimiter, header.width, places)
        self._labels = Distinct(table.label_of)
        self._engines = Distinct(table.parameters_of)
        hinted = "exec" in header.places
        self._places = Distinct(
            lambda told: table.place_of(told[:-1], told[-1]) if hinted else table.place_of(told, "")
        )
        self._in_keys: dict[tuple[str, ...], list[str]] = {names: [] for names in _IN_KEYS}
        """Of each label, engine and place what it adds to the keys of its rows."""
        self._aspects = Aspects(self._cutting, list(map(Aspect, places, (self._labels, self._engines, self._places))))
        self._starts, self._whens, self._remarks, self._warnings = (Distinct(lambda told: told) for _ in range(4))
        self._sources = Distinct(lambda told: table.sources_of(*told))
        self._of_label: dict[str, list[Any]] = {name: [] for name in _OF_LABEL}
        self._clusters: list[str] = []
        self._environments: list[dict[str, Any]] = []

    def read(self, text: str) -> Iterator[ImportedRows | SkippedItem]:
        """Yield the table's runs, and what can't be taken, in the order of its lines."""
        for first, piece in pieces_of(text):
            left: dict[int, str] = {}
            part = self._part(piece, first, left)
            rows = self._found(part, left) if part else None
            yield from (SkippedItem(f"{self._table.name}:{line}", left[line]) for line in sorted(left))
            if rows is not None and len(rows):
                yield rows

    def _part(self, piece: str, first: int, left: dict[int, str]) -> _Part | None:
        """Return the rows that are runs; ``left`` takes the other lines, with the reason."""
        numbers, cut = self._cells(piece, first, left)
        while numbers:
            part, mistakes = self._meant(numbers, cut)
            if not mistakes:
                return part
            left |= {numbers[row]: why for row, why in mistakes.items()}
            good = [row for row in range(len(numbers)) if row not in mistakes]
            numbers = [numbers[row] for row in good]
            cut = cut.taken(good)
        return None

    def _cells(self, piece: str, first: int, left: dict[int, str]) -> tuple[list[int], Cut]:
        """Return the lines' numbers and their cells; ``left`` takes what is no row."""
        header, lines = self._table.header, lines_of(piece)
        if header.delimiter != "\t" and '"' not in piece and "\r" not in piece:
            rows = [line for line in lines if line and line != header.text]
            if (cut := self._cutting.of_lines(rows)) is not None:
                if len(rows) == len(lines):
                    return list(range(first, first + len(lines))), cut
                return [number for number, line in enumerate(lines, first) if line and line != header.text], cut
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
        return numbers, self._cutting.of_rows(found)

    def _meant(self, numbers: list[int], cut: Cut) -> tuple[_Part, dict[int, str]]:
        """Return what cells mean, and by row why some mean nothing; the first reason counts, as for a row alone."""
        places = self._table.header.places
        duration_s, mistakes = self._durations(cut.cells[places["duration"]])
        exec_place = places.get("exec")
        folders = None if exec_place is None else [FolderName.of(text) for text in cut.cells[exec_place]]
        hints = {} if folders is None else {_PLACE: [folder.place for folder in folders]}
        label, engine, place = self._aspects.codes(cut, hints)
        for made, found in ((self._labels, label), (self._engines, engine), (self._places, place)):
            for row in np.flatnonzero(found < 0).tolist():
                mistakes.setdefault(row, made.mistakes[-1 - int(found[row])])
        return _Part(numbers, cut, folders, duration_s, label, engine, place), mistakes

    def _durations(self, texts: Sequence[str]) -> tuple[Floats, dict[int, str]]:
        """Return durations in seconds, and by row why a text is none."""
        numbers = plain_numbers(texts)
        if numbers is not None:
            seconds, odd = numbers, np.flatnonzero((numbers == 0) | (numbers > DURATION_MAX_S))
        else:
            seconds, odd = np.ones(len(texts)), np.arange(len(texts))
        mistakes = {}
        for row in odd.tolist():
            try:
                seconds[row] = self._table.duration_of(texts[row])
            except ValueError as error:
                mistakes[row] = str(error)
        return seconds, mistakes

    def _found(self, part: _Part, left: dict[int, str]) -> ImportedRows:
        """Return the runs of rows, but for those that stand in the table already."""
        identities, keys = self._texts(part, "id"), self._keys_of(part)
        for name, values in self._of_label.items():
            values += [getattr(label, name) for label in self._labels.values[len(values) :]]
        fresh = self._places.values[len(self._clusters) :]
        self._clusters += [place.joined.name for place in fresh]
        self._environments += [place.environment for place in fresh]
        starts, when = self._started(part)
        warnings, sources = self._told(part, when)
        rows = ImportedRows(
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
        return [""] * len(part.numbers) if place is None else part.cut.cells[place]

    def _metrics(self, part: _Part) -> dict[str, Floats]:
        """Return what the rows tell beside their times."""
        if "cost" not in self._table.header.places:
            return {}
        texts = self._texts(part, "cost")
        dollars = plain_numbers(texts)
        if dollars is None:
            dollars = np.array([self._table.dollars(text) for text in texts], dtype=np.float64)
        return {} if np.isnan(dollars).all() else {"aloja_cost_usd": dollars}

    def _keys_of(self, part: _Part) -> list[str]:
        """Return what the rows are known by."""
        named = [] if part.folders is None else [folder.text for folder in part.folders]
        if named and all(named):
            return named
        label, table = part.label, self._table
        bench, disk, suite = (self._in_key(label, self._labels, table.labels, _IN_KEYS[at]) for at in (0, 1, 4))
        engine = self._in_key(part.engine, self._engines, table.engine, _IN_KEYS[2])
        cluster = self._in_key(part.place, self._places, table.cluster, _IN_KEYS[3])
        times = _plain(self._texts(part, "duration"))
        told = zip(bench, times, disk, engine, cluster, suite, strict=True)
        keys = [f"{b} {time}{d}{e}{c}{s}" for b, time, d, e, c, s in told]
        if "id" in table.header.places:
            keys = [f"{identity}{key}" for identity, key in zip(_plain(self._texts(part, "id")), keys, strict=True)]
        else:
            keys = [key[1:] for key in keys]
        return [name or key for name, key in zip(named, keys, strict=True)] if named else keys

    def _in_key(self, rows: Codes, known: Distinct, picked: Picked, names: tuple[str, ...]) -> Iterator[str]:
        """Return what some of an aspect's fields add to the key of each row."""
        texts = self._in_keys[names]
        for told in known.told[len(texts) :]:
            cells = dict(zip(picked.names, told, strict=False))  # a place has a hint behind its cells
            texts.append("".join(f" {plain(cells[name])}" for name in names if name in cells))
        return map(texts.__getitem__, rows.tolist())

    def _started(self, part: _Part) -> tuple[Codes, Codes]:
        """Return when the runs started and how that is known, as codes of their own."""
        places, count = self._table.header.places, len(part.numbers)
        if "start" not in places and "end" not in places:
            found = [started("", "", 0.0, _NO_FOLDER, has_start=False)]
        else:
            folders = part.folders or [_NO_FOLDER] * count
            begins, ends = self._texts(part, "start"), self._texts(part, "end")
            rows = zip(begins, ends, part.duration_s.tolist(), folders, strict=True)
            found = [started(*row, has_start="start" in places) for row in rows]
        when = self._whens.codes([(one.source, one.warnings) for one in found])
        starts = self._starts.codes([one.at for one in found])
        return (starts, when) if len(found) == count else (np.repeat(starts, count), np.repeat(when, count))

    def _told(self, part: _Part, when: Codes) -> tuple[Codes, Codes]:
        """Return the runs' warnings and the sources of their figures, as codes."""
        labels, places, whens = self._labels.values, self._places.values, self._whens.values
        remark = self._doubts(part)
        remarks = self._remarks.values
        firsts, group = groups_of([part.label, part.place, when, remark])
        rows = [(int(part.label[r]), int(part.place[r]), int(when[r]), int(remark[r])) for r in firsts.tolist()]
        warnings = self._warnings.codes(
            [labels[a].warnings + places[b].joined.warnings + whens[c][1] + remarks[d] for a, b, c, d in rows]
        )
        sources = self._sources.codes([(whens[c][0], places[b].joined.source) for _, b, c, _ in rows])
        return warnings[group], sources[group]

    def _doubts(self, part: _Part) -> Codes:
        """Return what speaks against each row, as codes."""
        found = np.repeat(self._remarks.codes([()]), len(part.numbers))
        odd = np.flatnonzero(part.duration_s < VALID_MIN_S) if part.folders is None else np.arange(len(found))
        labels, folders = self._labels.values, part.folders or [_NO_FOLDER] * len(found)
        rows = zip(odd.tolist(), part.label[odd].tolist(), part.duration_s[odd].tolist(), strict=True)
        found[odd] = self._remarks.codes([doubts(labels[label], time, folders[row]) for row, label, time in rows])
        return found

    def _doubled(self, part: _Part, keys: Sequence[str], identities: Sequence[str]) -> dict[int, str]:
        """Note which runs are taken, and return by row why some are not: they were taken before."""
        table = self._table
        named = identities if part.folders is None else [folder.text for folder in part.folders]
        fresh = dict(zip(keys, part.numbers, strict=True))
        told = [identity for identity in identities if identity]
        if all(named) and len(fresh) == len(keys) and table.are_new(fresh):
            lines = (
                part.numbers
                if len(told) == len(keys)
                else [n for i, n in zip(identities, part.numbers, strict=True) if i]
            )
            ids = dict(zip(told, lines, strict=True))
            if len(ids) == len(told) and table.ids.keys().isdisjoint(ids):
                table.taken.update(fresh)
                table.ids.update(ids)
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
