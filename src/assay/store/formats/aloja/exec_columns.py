"""Read one of ALOJA's tables of runs by columns.

In: the table's text. Out: runs in blocks of some thousand lines, and skipped lines with their reasons. Levels
repeat, so :class:`~assay.store.formats.aloja.exec_rows.ExecTable` parses each distinct combination of cells once, and a
row becomes a few codes. Only unique values are handled row by row: quoted lines, folder names, start times and repeated
ids.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from assay.analysis.statistics import Codes, Distinct, Floats, ImportedRows, Shared, groups_of
from assay.model import SOURCE_ID_LENGTH_MAX, SkippedItem, foreign_run
from assay.store.formats.aloja import codes
from assay.store.formats.aloja.exec_rows import (
    ENGINE_FIELDS,
    VALID_MIN_S,
    ZEROS,
    CellSelection,
    ExecTable,
    plain,
    row_warnings,
)
from assay.store.formats.aloja.names import FolderName
from assay.store.formats.aloja.times import DURATION_S_MAX, start_time_of
from assay.store.formats.tables.columns import (
    Aspect,
    Aspects,
    RowSplitter,
    SplitRows,
    lines_of,
    pieces_of,
    plain_numbers,
)

_DEFAULT_RUN: Final = foreign_run(workload="", duration_s=0.0)
_LABEL_FIELDS: Final = ("status", "cause", "engine_version", "workload", "workload_parameters", "layout", "levels")
"""Fields of a run that depend on its labels alone."""
_KEY_FIELDS: Final = (("bench",), ("net", "disk"), ENGINE_FIELDS, ("cluster", "cluster_name"), ("bench_type",))
"""The shared fields of a key, in order. The fields of each tuple belong to one aspect of a row."""
_CLUSTER_ASPECT: Final = 2
"""Position of the cluster among the aspects. The cluster also depends on the folder's name."""
_NO_FOLDER: Final = FolderName("")


@dataclass(frozen=True, slots=True)
class _Part:
    """Some rows of a table, with their parsed cells."""

    numbers: list[int]
    """Line numbers of the rows."""
    split_rows: SplitRows
    folders: Sequence[FolderName] | None
    """None if the table has no column for them."""
    duration_s: Floats
    label: Codes
    engine: Codes
    cluster_code: Codes


class ColumnReader:
    """A reader of one table. Values that rows share are kept from one part to the next."""

    def __init__(self, table: ExecTable) -> None:
        self._table = table
        header = table.header
        column_numbers = [selection.column_numbers for selection in (table.labels, table.engine, table.cluster)]
        self._splitter = RowSplitter(header.delimiter, header.width, column_numbers)
        self._labels = Distinct(table.label_of)
        self._engines = Distinct(table.parameters_of)
        has_folders = "exec" in header.column_numbers
        self._clusters_of_rows = Distinct(
            lambda cells: table.cluster_of(cells[:-1], cells[-1]) if has_folders else table.cluster_of(cells, "")
        )
        self._key_parts_by_field: dict[tuple[str, ...], list[str]] = {names: [] for names in _KEY_FIELDS}
        """The part of a row's key for each label, engine and cluster."""
        self._aspects = Aspects(
            self._splitter, list(map(Aspect, column_numbers, (self._labels, self._engines, self._clusters_of_rows)))
        )
        self._starts, self._start_sources, self._distinct_row_warnings, self._warnings = (
            Distinct(lambda cells: cells) for _ in range(4)
        )
        self._sources = Distinct(lambda cells: table.sources_of(*cells))
        self._values_of_labels: dict[str, list[Any]] = {name: [] for name in _LABEL_FIELDS}
        self._clusters: list[str] = []
        self._environments: list[dict[str, Any]] = []

    def read(self, text: str) -> Iterator[ImportedRows | SkippedItem]:
        """Yield the table's runs and skipped lines, in the order of the lines."""
        for first_line, piece in pieces_of(text):
            skipped: dict[int, str] = {}
            part = self._part(piece, first_line, skipped)
            rows = self._rows(part, skipped) if part else None
            yield from (SkippedItem(f"{self._table.name}:{line}", skipped[line]) for line in sorted(skipped))
            if rows is not None and len(rows):
                yield rows

    def _part(self, piece: str, first_line: int, skipped: dict[int, str]) -> _Part | None:
        """Return the rows that are runs; ``skipped`` receives the other lines with the reason."""
        numbers, split_rows = self._cells(piece, first_line, skipped)
        while numbers:
            part, mistakes = self._parse_cells(numbers, split_rows)
            if not mistakes:
                return part
            skipped |= {numbers[row]: why for row, why in mistakes.items()}
            good_rows = [row for row in range(len(numbers)) if row not in mistakes]
            numbers = [numbers[row] for row in good_rows]
            split_rows = split_rows.subset(good_rows)
        return None

    def _cells(self, piece: str, first_line: int, skipped: dict[int, str]) -> tuple[list[int], SplitRows]:
        """Return line numbers and cells; ``skipped`` receives lines that are not rows."""
        header, lines = self._table.header, lines_of(piece)
        if header.delimiter != "\t" and '"' not in piece and "\r" not in piece:
            rows = [line for line in lines if line and line != header.text]
            if (split_rows := self._splitter.of_lines(rows)) is not None:
                if len(rows) == len(lines):
                    return list(range(first_line, first_line + len(lines))), split_rows
                return [
                    number for number, line in enumerate(lines, first_line) if line and line != header.text
                ], split_rows
        numbers, rows_of_cells = [], []
        for number, raw_line in enumerate(lines, start=first_line):
            line = raw_line.rstrip("\r")
            if not line or line == header.text or line.isspace():
                continue
            try:
                rows_of_cells.append(self._table.cells(line))
                numbers.append(number)
            except ValueError as error:
                skipped[number] = str(error)
        return numbers, self._splitter.of_rows(rows_of_cells)

    def _parse_cells(self, numbers: list[int], split_rows: SplitRows) -> tuple[_Part, dict[int, str]]:
        """Parse cells. Also return, by row, the first reason why a row can't be parsed."""
        column_numbers = self._table.header.column_numbers
        duration_s, mistakes = self._durations(split_rows.cells[column_numbers["duration"]])
        folder_column = column_numbers.get("exec")
        folders = None if folder_column is None else [FolderName.of(text) for text in split_rows.cells[folder_column]]
        hints = {} if folders is None else {_CLUSTER_ASPECT: [folder.location for folder in folders]}
        label, engine, cluster_code = self._aspects.codes(split_rows, hints)
        for aspect, codes_of_rows in (
            (self._labels, label),
            (self._engines, engine),
            (self._clusters_of_rows, cluster_code),
        ):
            for row in np.flatnonzero(codes_of_rows < 0).tolist():
                mistakes.setdefault(row, aspect.mistakes[-1 - int(codes_of_rows[row])])
        return _Part(numbers, split_rows, folders, duration_s, label, engine, cluster_code), mistakes

    def _durations(self, texts: Sequence[str]) -> tuple[Floats, dict[int, str]]:
        """Return durations in seconds, and by row the reason for an invalid duration."""
        numbers = plain_numbers(texts)
        if numbers is not None:
            seconds, rows_to_parse = numbers, np.flatnonzero((numbers == 0) | (numbers > DURATION_S_MAX))
        else:
            seconds, rows_to_parse = np.ones(len(texts)), np.arange(len(texts))
        mistakes = {}
        for row in rows_to_parse.tolist():
            try:
                seconds[row] = self._table.duration_of(texts[row])
            except ValueError as error:
                mistakes[row] = str(error)
        return seconds, mistakes

    def _rows(self, part: _Part, skipped: dict[int, str]) -> ImportedRows:
        """Return the runs of rows, without repetitions of earlier rows of the table."""
        identities, keys = self._texts(part, "id"), self._keys_of(part)
        for name, values in self._values_of_labels.items():
            values += [getattr(label, name) for label in self._labels.values[len(values) :]]
        new_clusters = self._clusters_of_rows.values[len(self._clusters) :]
        self._clusters += [cluster.joined.name for cluster in new_clusters]
        self._environments += [cluster.environment for cluster in new_clusters]
        starts, start_sources = self._start_codes(part)
        warnings, sources = self._warnings_and_sources(part, start_sources)
        rows = ImportedRows(
            self._table.name,
            np.array(part.numbers, dtype=np.int64),
            keys,
            _DEFAULT_RUN,
            {
                **{name: Shared(part.label, values) for name, values in self._values_of_labels.items()},
                "cluster": Shared(part.cluster_code, self._clusters),
                "environment": Shared(part.cluster_code, self._environments),
                "parameters": Shared(part.engine, self._engines.values),
                "started_at": Shared(starts, self._starts.values),
                "warnings": Shared(warnings, self._warnings.values),
                "sources": Shared(sources, self._sources.values),
            },
            part.duration_s,
            _source_ids(identities),
            self._metrics(part),
        )
        reasons_by_row = self._register_runs(part, keys, [text.strip() for text in identities])
        skipped |= {part.numbers[row]: why for row, why in reasons_by_row.items()}
        return (
            rows.subset(np.array([row not in reasons_by_row for row in range(len(keys))])) if reasons_by_row else rows
        )

    def _texts(self, part: _Part, name: str) -> Sequence[str]:
        """Return a field of each row; empty texts if the table has no column for it."""
        column = self._table.header.column_numbers.get(name)
        return [""] * len(part.numbers) if column is None else part.split_rows.cells[column]

    def _metrics(self, part: _Part) -> dict[str, Floats]:
        """Return the metrics of the rows other than their times."""
        if "cost" not in self._table.header.column_numbers:
            return {}
        texts = self._texts(part, "cost")
        cost_usd = plain_numbers(texts)
        if cost_usd is None:
            cost_usd = np.array([self._table.cost_usd(text) for text in texts], dtype=np.float64)
        return {} if np.isnan(cost_usd).all() else {"aloja_cost_usd": cost_usd}

    def _keys_of(self, part: _Part) -> list[str]:
        """Return the keys that identify the rows."""
        folder_names = [] if part.folders is None else [folder.text for folder in part.folders]
        if folder_names and all(folder_names):
            return folder_names
        label, table = part.label, self._table
        bench, disk, suite = (
            self._key_parts(label, self._labels, table.labels, _KEY_FIELDS[index]) for index in (0, 1, 4)
        )
        engine = self._key_parts(part.engine, self._engines, table.engine, _KEY_FIELDS[2])
        cluster = self._key_parts(part.cluster_code, self._clusters_of_rows, table.cluster, _KEY_FIELDS[3])
        times = _plain(self._texts(part, "duration"))
        parts = zip(bench, times, disk, engine, cluster, suite, strict=True)
        keys = [f"{b} {time}{d}{e}{c}{s}" for b, time, d, e, c, s in parts]
        if "id" in table.header.column_numbers:
            keys = [f"{identity}{key}" for identity, key in zip(_plain(self._texts(part, "id")), keys, strict=True)]
        else:
            keys = [key[1:] for key in keys]
        return [name or key for name, key in zip(folder_names, keys, strict=True)] if folder_names else keys

    def _key_parts(
        self, rows: Codes, distinct_cells: Distinct, selection: CellSelection, names: tuple[str, ...]
    ) -> Iterator[str]:
        """Return the part of each row's key that the fields ``names`` form."""
        texts = self._key_parts_by_field[names]
        for label_cells in distinct_cells.sources[len(texts) :]:
            cells = dict(zip(selection.names, label_cells, strict=False))  # a cluster's cells end with an unnamed hint
            texts.append("".join(f" {plain(cells[name])}" for name in names if name in cells))
        return map(texts.__getitem__, rows.tolist())

    def _start_codes(self, part: _Part) -> tuple[Codes, Codes]:
        """Return the codes of the runs' start times, and of the sources of these times."""
        column_numbers, count = self._table.header.column_numbers, len(part.numbers)
        if "start" not in column_numbers and "end" not in column_numbers:
            start_times = [start_time_of("", "", 0.0, _NO_FOLDER, has_start=False)]
        else:
            folders = part.folders or [_NO_FOLDER] * count
            begins, ends = self._texts(part, "start"), self._texts(part, "end")
            rows = zip(begins, ends, part.duration_s.tolist(), folders, strict=True)
            start_times = [start_time_of(*row, has_start="start" in column_numbers) for row in rows]
        start_sources = self._start_sources.codes([(start.source, start.warnings) for start in start_times])
        starts = self._starts.codes([start.at for start in start_times])
        return (
            (starts, start_sources)
            if len(start_times) == count
            else (np.repeat(starts, count), np.repeat(start_sources, count))
        )

    def _warnings_and_sources(self, part: _Part, start_sources_of_rows: Codes) -> tuple[Codes, Codes]:
        """Return the codes of the runs' warnings and of the sources of their figures."""
        labels, clusters, start_sources = self._labels.values, self._clusters_of_rows.values, self._start_sources.values
        row_warning_codes = self._row_warnings(part)
        row_warning_texts = self._distinct_row_warnings.values
        first_rows, group = groups_of([part.label, part.cluster_code, start_sources_of_rows, row_warning_codes])
        rows = [
            (int(part.label[r]), int(part.cluster_code[r]), int(start_sources_of_rows[r]), int(row_warning_codes[r]))
            for r in first_rows.tolist()
        ]
        warnings = self._warnings.codes(
            [
                labels[a].warnings + clusters[b].joined.warnings + start_sources[c][1] + row_warning_texts[d]
                for a, b, c, d in rows
            ]
        )
        sources = self._sources.codes([(start_sources[c][0], clusters[b].joined.source) for _, b, c, _ in rows])
        return warnings[group], sources[group]

    def _row_warnings(self, part: _Part) -> Codes:
        """Return the codes of each row's warnings."""
        row_warning_codes = np.repeat(self._distinct_row_warnings.codes([()]), len(part.numbers))
        rows_to_check = (
            np.flatnonzero(part.duration_s < VALID_MIN_S) if part.folders is None else np.arange(len(row_warning_codes))
        )
        labels, folders = self._labels.values, part.folders or [_NO_FOLDER] * len(row_warning_codes)
        rows = zip(
            rows_to_check.tolist(),
            part.label[rows_to_check].tolist(),
            part.duration_s[rows_to_check].tolist(),
            strict=True,
        )
        row_warning_codes[rows_to_check] = self._distinct_row_warnings.codes(
            [row_warnings(labels[label], time, folders[row]) for row, label, time in rows]
        )
        return row_warning_codes

    def _register_runs(self, part: _Part, keys: Sequence[str], identities: Sequence[str]) -> dict[int, str]:
        """Register imported runs. Return, by row, why a run is skipped: an earlier row has the same run."""
        table = self._table
        names = identities if part.folders is None else [folder.text for folder in part.folders]
        line_by_key = dict(zip(keys, part.numbers, strict=True))
        nonempty_identities = [identity for identity in identities if identity]
        if all(names) and len(line_by_key) == len(keys) and table.are_new(line_by_key):
            lines = (
                part.numbers
                if len(nonempty_identities) == len(keys)
                else [n for i, n in zip(identities, part.numbers, strict=True) if i]
            )
            ids = dict(zip(nonempty_identities, lines, strict=True))
            if len(ids) == len(nonempty_identities) and table.ids.keys().isdisjoint(ids):
                table.line_by_key.update(line_by_key)
                table.ids.update(ids)
                return {}
        reasons_by_row = {}
        for row, (key, identity, line) in enumerate(zip(keys, identities, part.numbers, strict=True)):
            try:
                if names[row] or identity:  # else two equal rows may be two runs
                    table.register(key, identity, line)
            except ValueError as error:
                reasons_by_row[row] = str(error)
        return reasons_by_row


def _plain(texts: Sequence[str]) -> Sequence[str]:
    """Return the cells of a key's column, normalised as by :func:`plain`, in one operation if possible."""
    joined_lines = "\n".join(texts)
    if "".join(texts).split(None, 1) not in ([], ["".join(texts)]):
        return list(map(plain, texts))
    return ZEROS.sub("", joined_lines).split("\n") if "." in joined_lines or "," in joined_lines else texts


def _source_ids(texts: Sequence[str]) -> list[str]:
    """Return the ids that the source gives the rows."""
    joined_ids = "".join(texts)
    if joined_ids.isascii() and joined_ids.isdecimal() and max(map(len, texts)) <= SOURCE_ID_LENGTH_MAX:
        return list(texts)
    return [codes.known_text(text)[:SOURCE_ID_LENGTH_MAX] for text in texts]
