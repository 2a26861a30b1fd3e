"""Read a table with a map by columns.

In: an open table. Out: runs in blocks of some thousand lines, and the skipped lines. The functions of
:mod:`assay.store.formats.tables.mapped_rows` parse each distinct text or combination of texts once. They also give the
reason to skip a row with an invalid field.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, starmap
from operator import attrgetter
from typing import Any, Final

import numpy as np

from assay.analysis.statistics import Codes, Distinct, Floats, ImportedRows, Item, Mask, Shared, groups_of
from assay.model import Run, SkippedItem
from assay.model.runs.throughput import JOB_THROUGHPUT
from assay.store.formats.plausible import DURATION_MAX_S
from assay.store.formats.tables.columns import Aspect, Aspects, RowSplitter, SplitRows, plain_numbers
from assay.store.formats.tables.mapped_rows import (
    DURATION_MIN_S,
    DURATIONS,
    HARDWARE,
    RowProblems,
    bytes_of,
    cell_text,
    check_texts,
    duration_of,
    key_item,
    key_number,
    key_of,
    key_text,
    label_of,
    number_of,
    source_id_of,
    sources_of,
    started_of,
)
from assay.store.formats.tables.table_lines import OpenTable, Rows, is_blank

_ASPECTS: Final = {
    ("workload",): ("workload",),
    ("status", "cause"): ("status", "cause"),
    ("engine",): ("engine",),
    ("engine_version",): ("engine_version",),
    ("cluster", "environment"): ("cluster", *HARDWARE),
    ("layout",): ("layout",),
    ("levels",): ("layout", "level:"),
    ("parameters",): ("parameter:",),
    ("workload_parameters",): ("option:",),
    ("sources",): ("source",),
}
"""Fields of a run, and the fields of a table that determine them; a colon matches all fields of that kind."""
_ROW_FIELDS: Final = ("duration", *DURATIONS, "data_bytes", "metric:", "source_id", "started_at")
"""Fields with a separate value in each row."""
_PLACEHOLDERS: Final = {"workload": "-", "source": "-"}
"""Placeholders for required fields, used while other fields are parsed separately."""


def _is_one_of(name: str, kinds: Sequence[str]) -> bool:
    return name in kinds or f"{name.partition(':')[0]}:" in kinds


@dataclass(frozen=True, slots=True)
class _ParsedRows:
    """The parsed cells of some rows."""

    line_numbers: Sequence[int]
    aspects: Sequence[Codes]
    """The code of each row by label, then by text of the key."""
    figures: dict[str, Floats]
    """By field; NaN where a cell is empty."""
    texts: dict[str, tuple[Distinct, Codes]]
    """By field, the other separate values of each row."""


class MappedReader:
    """A reader of one table. Values that rows share are kept from one part to the next."""

    def __init__(self, table: OpenTable, problems: RowProblems) -> None:
        self._table = table
        self._problems = problems
        names = list(dict.fromkeys((*problems.defaults, *table.columns)))
        self._row_fields = [name for name in names if _is_one_of(name, _ROW_FIELDS)]
        self._duration = next(name for name in self._row_fields if name in ("duration", *DURATIONS))
        fields = {
            run_fields: [name for name in names if _is_one_of(name, kinds)] for run_fields, kinds in _ASPECTS.items()
        }
        fields = {
            run_fields: table_fields
            for run_fields, table_fields in fields.items()
            if not table.columns.keys().isdisjoint(table_fields)
        }
        key_fields = sorted({*names, "duration_s"} - {"duration", *DURATIONS} | {"duration_s"})
        self._key = [
            list(part) for _, part in groupby(key_fields, lambda name: name if _is_one_of(name, _ROW_FIELDS) else "")
        ]
        """Fields in the order of a key; consecutive shared fields are one part."""
        self._labels = {
            run_fields: Distinct(partial(self._label, table_fields)) for run_fields, table_fields in fields.items()
        }
        parts = [part for part in self._key if not _is_one_of(part[0], _ROW_FIELDS)]
        self._key_texts = [Distinct(partial(self._key_text, part)) for part in parts]
        column_numbers = [self._column_numbers(table_fields) for table_fields in fields.values()]
        self._splitter = RowSplitter(table.separator, table.width, column_numbers)
        aspects = list(map(Aspect, column_numbers, self._labels.values()))
        aspects += map(Aspect, map(self._column_numbers, parts), self._key_texts)
        self._aspects = Aspects(self._splitter, aspects)
        self._values_by_field = {
            name: Distinct(partial(self._row_value, name)) for name in ("started_at", "data_bytes")
        }
        self._sources = Distinct(lambda source: sources_of(source[0], with_throughput=source[1]))
        self._values: dict[str, list[Any]] = {}
        """The distinct values of each field of a run."""

    def read(self) -> Iterator[Item]:
        """Yield the table's runs and skipped lines."""
        common = self._common()
        for rows in self._table.rows():
            if isinstance(rows, SkippedItem):
                yield rows
            elif common is None:
                yield from starmap(
                    self._problems.skipped, rows.rows_one_by_one(self._table.separator, self._table.width)
                )
            else:
                yield from self._rows_and_skipped(rows, common)

    def _common(self) -> Run | None:
        """Return the run that all rows copy; None if a default is invalid, so that each row reports it."""
        columns = self._table.columns
        values = {name: text for name, text in self._problems.defaults.items() if name not in columns}
        try:
            check_texts({**_PLACEHOLDERS, **values}, self._problems.origin)
            return label_of(values, self._problems.origin)
        except ValueError:
            return None

    def _column_numbers(self, names: Sequence[str]) -> tuple[int, ...]:
        return tuple(sorted(self._table.columns[name] for name in names if name in self._table.columns))

    def _values_of(self, names: Sequence[str], row_cells: Sequence[str]) -> dict[str, str]:
        """Return the texts of fields, from cells in the order of their columns; an empty cell takes the default."""
        cells = dict(zip(self._column_numbers(names), row_cells, strict=True))
        columns, defaults = self._table.columns, self._problems.defaults
        texts = {name: cell_text(cells[columns[name]]) if name in columns else "" for name in names}
        values = {name: text or defaults.get(name, "") for name, text in texts.items()}
        nonempty_values = {name: text for name, text in values.items() if text}
        check_texts(
            {n: text for n, text in _PLACEHOLDERS.items() if n not in names} | nonempty_values, self._problems.origin
        )
        return nonempty_values

    def _label(self, names: Sequence[str], cells: Sequence[str]) -> Run:
        return label_of(self._values_of(names, cells), self._problems.origin)

    def _key_text(self, names: Sequence[str], cells: Sequence[str]) -> str:
        values = self._values_of(names, cells)
        return "".join(f", {key_item(name, key_text(name, values[name]))}" for name in names if name in values)

    def _row_value(self, name: str, cell: str) -> Any:
        """Parse a separate value; None for an empty cell."""
        has_column = name in self._table.columns
        values = self._values_of([name], [cell] if has_column else [])
        if name == self._duration:
            return duration_of(values, self._problems.decimal_comma)
        if name not in values:
            return None
        if name == "data_bytes":
            return bytes_of(values[name], self._problems.decimal_comma)
        if name.startswith("metric:"):
            return number_of(values[name], name.removeprefix("metric:"), self._problems.decimal_comma)
        return values[name], started_of(values[name]) if name == "started_at" else None

    def _rows_and_skipped(self, rows: Rows, common: Run) -> Iterator[Item]:
        """Yield the runs of some rows, and the skipped rows with the row reader's reason."""
        skipped: dict[int, Item] = {}
        numbers, split_rows = self._complete_rows(rows, skipped)
        if len(split_rows):
            parsed_rows, is_bad = self._parse(numbers, split_rows)
            for row in np.flatnonzero(is_bad).tolist():
                if not is_blank(cells := self._splitter.row(split_rows, row)):
                    skipped[numbers[row]] = self._problems.skipped(numbers[row], cells)
            if is_bad.any():
                good_rows = np.flatnonzero(~is_bad).tolist()
                numbers, split_rows = [numbers[row] for row in good_rows], split_rows.subset(good_rows)
                parsed_rows = self._parse(numbers, split_rows)[0] if good_rows else parsed_rows
        yield from (skipped[line] for line in sorted(skipped))
        if len(split_rows):
            yield self._rows_of(parsed_rows, common)

    def _complete_rows(self, rows: Rows, skipped: dict[int, Item]) -> tuple[Sequence[int], SplitRows]:
        """Return the rows with as many cells as the header, with their lines; ``skipped`` receives the others."""
        if rows.lines is not None and (split_rows := self._splitter.of_lines(rows.lines)) is not None:
            return rows.numbers, split_rows
        complete_rows: list[tuple[int, list[str]]] = []
        for line, cells in rows.rows_one_by_one(self._table.separator, self._table.width):
            if isinstance(cells, str):
                skipped[line] = self._problems.skipped(line, cells)
            else:
                complete_rows.append((line, cells))
        return [line for line, _ in complete_rows], self._splitter.of_rows([cells for _, cells in complete_rows])

    def _parse(self, numbers: Sequence[int], split_rows: SplitRows) -> tuple[_ParsedRows, Mask]:
        """Parse cells, and return which rows have an invalid cell."""
        aspects = self._aspects.codes(split_rows, {})
        is_bad = np.any([codes < 0 for codes in aspects], axis=0) | np.zeros(len(split_rows), dtype=np.bool_)
        parsed_rows = _ParsedRows(numbers, aspects, {}, {})
        for name in self._row_fields:
            column = self._table.columns.get(name)
            cells = [""] * len(split_rows) if column is None else split_rows.cells[column]
            figures = plain_numbers(cells) if name in DURATIONS or name.startswith("metric:") else None
            if figures is not None:
                parsed_rows.figures[name] = figures * DURATIONS.get(name, 1.0)
                if name == self._duration:
                    is_bad |= (parsed_rows.figures[name] < DURATION_MIN_S) | (
                        parsed_rows.figures[name] > DURATION_MAX_S
                    )
                continue
            distinct_values = self._values_by_field.get(name) or Distinct(partial(self._row_value, name))
            codes = distinct_values.codes(cells)
            is_bad |= codes < 0
            if name == self._duration or name.startswith("metric:"):
                parsed_rows.figures[name] = np.array([*distinct_values.values, np.nan], dtype=np.float64)[
                    np.maximum(codes, -1)
                ]
            else:
                parsed_rows.texts[name] = (distinct_values, codes)
        return parsed_rows, is_bad

    def _rows_of(self, parsed_rows: _ParsedRows, common: Run) -> ImportedRows:
        duration_s = parsed_rows.figures[self._duration]
        count = len(duration_s)
        shared: dict[str, Shared] = {}
        for codes, (fields, distinct_values) in zip(parsed_rows.aspects, self._labels.items(), strict=False):
            for field in fields:
                shared[field] = self._shared(field, distinct_values, codes, attrgetter(field))
        metrics = {
            name.removeprefix("metric:"): figures
            for name, figures in parsed_rows.figures.items()
            if name != self._duration
        }
        if "data_bytes" in parsed_rows.texts:
            distinct_values, codes = parsed_rows.texts["data_bytes"]
            shared["data_bytes"] = Shared(codes, distinct_values.values)
            data = np.array([distinct_values.values[code] or 0 for code in codes.tolist()], dtype=np.float64)
            table_throughput = metrics.get(JOB_THROUGHPUT, np.full(count, np.nan))
            is_computed = (data > 0) & np.isnan(table_throughput)
            metrics[JOB_THROUGHPUT] = np.where(is_computed, data / duration_s / 1e6, table_throughput)
            shared["sources"] = self._sources_of(shared.get("sources"), is_computed, common)
        if "started_at" in parsed_rows.texts:
            distinct_values, codes = parsed_rows.texts["started_at"]
            shared["started_at"] = self._shared(
                "started_at", distinct_values, codes, lambda start: start[1][0] if start else ""
            )
            as_written = self._shared("as_written", distinct_values, codes, lambda start: start[1][1] if start else {})
            shared["environment"] = self._environments_of(shared.get("environment"), as_written, common)
        source_ids = [""] * count
        if "source_id" in parsed_rows.texts:
            distinct_values, codes = parsed_rows.texts["source_id"]
            source_ids = [
                source_id_of(value[0]) if (value := distinct_values.values[code]) else "" for code in codes.tolist()
            ]
        return ImportedRows(
            self._table.name,
            np.array(parsed_rows.line_numbers, dtype=np.int64),
            self._keys_of(parsed_rows),
            common,
            shared,
            duration_s,
            source_ids,
            {name: figures for name, figures in metrics.items() if not np.isnan(figures).all()},
        )

    def _shared(self, field: str, distinct_values: Distinct, codes: Codes, value_of: Callable[[Any], Any]) -> Shared:
        """Return a field derived from other values; the table shares one list of its values."""
        values = self._values.setdefault(field, [])
        values += [value_of(value) for value in distinct_values.values[len(values) :]]
        return Shared(codes, values)

    def _environments_of(self, hardware: Shared | None, as_written: Shared, common: Run) -> Shared:
        """Return the environments of rows with a start time and, unless ``hardware`` is None, with hardware."""
        if hardware is None:
            hardware = Shared(np.zeros_like(as_written.codes), [common.environment])
        first_rows, group = groups_of([hardware.codes, as_written.codes])
        pairs = [(int(hardware.codes[row]), int(as_written.codes[row])) for row in first_rows]
        merged_environments = [{**hardware.values[a], **as_written.values[b]} for a, b in pairs]
        values = self._values.setdefault("environment with start", [])
        values += merged_environments
        return Shared((group + len(values) - len(merged_environments)).astype(np.int32), values)

    def _sources_of(self, row_sources: Shared | None, is_computed: Mask, common: Run) -> Shared:
        """Return the sources of the rows' figures; ``row_sources``: the sources that the rows state."""
        codes = [is_computed.astype(np.int32), *([row_sources.codes] if row_sources else [])]
        first_rows, group = groups_of(codes)
        rows = [
            (row_sources.values[row_sources.codes[row]] if row_sources else common.sources, bool(is_computed[row]))
            for row in first_rows
        ]
        combinations = [(sources["duration_s"], computed) for sources, computed in rows]
        return Shared(self._sources.codes(combinations)[group], self._sources.values)

    def _keys_of(self, parsed_rows: _ParsedRows) -> list[str]:
        """Return the keys that identify the rows."""
        key_texts = zip(self._key_texts, parsed_rows.aspects[len(self._labels) :], strict=True)
        columns: list[Sequence[str]] = []
        for part in self._key:
            name = part[0]
            figures = parsed_rows.figures.get(self._duration if name == "duration_s" else name)
            if not _is_one_of(name, _ROW_FIELDS):
                distinct_values, codes = next(key_texts)
                columns.append([distinct_values.values[code] for code in codes.tolist()])
            elif figures is not None:
                begin, end = f", {key_item(name, '0')}".rsplit("0", 1)
                texts = [f"{begin}{key_number(value)}{end}" for value in figures.tolist()]
                absences = np.isnan(figures).tolist()
                columns.append(["" if is_absent else text for is_absent, text in zip(absences, texts, strict=True)])
            else:
                distinct_values, codes = parsed_rows.texts[name]
                items = {code: _key_item(name, distinct_values.values[code]) for code in np.unique(codes).tolist()}
                columns.append([items[code] for code in codes.tolist()])
        return [key_of(self._problems.origin, ["".join(row)[2:]]) for row in zip(*columns, strict=True)]


def _key_item(name: str, value: Any) -> str:
    """Return the part of a row's key for a separate value."""
    if value is None:
        return ""
    if name == "data_bytes":
        return f", {key_item(name, key_number(float(value)))}"
    text, start = value
    return f", {key_item(name, (start and start[0]) or key_text(name, text))}"
