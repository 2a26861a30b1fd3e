"""Hold many imported runs as columns: :class:`ImportedRows` holds a table, ``ImportedRun`` a single run.

In: for each field of :class:`~assay.model.runs.run.Run`, its distinct values and the code of each row; the separate
values of each row (key, duration, the source's id, metrics) as columns. Out: the same runs one by one, and the columns
of a :class:`~assay.analysis.statistics.runs.run_table.RunTable`. Each distinct value is processed once, however many
rows share it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from assay.analysis.statistics.arrays import Codes, Floats, Ints, Mask
from assay.analysis.statistics.runs.factors_of_runs import LAYOUT_DEVICES, NETWORK_KIND, determined_parameters
from assay.analysis.statistics.runs.run_table import ABSENT, BASE_VALUES, Column, RunTable, texts_of_run, unix_s
from assay.model import ImportedRun, Run, SkippedItem
from assay.model.runs.imported import like


@dataclass(frozen=True, slots=True)
class Shared:
    """A field of many runs: ``values[codes[row]]``. Fields that always change together share one array of codes."""

    codes: Codes
    values: Sequence[Any]


class Distinct:
    """The distinct values of many items. Each distinct item is parsed once and gets a code."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make
        self._numbers: dict[Hashable, int] = {}
        self.values: list[Any] = []
        self.sources: list[Any] = []
        """The item that each value was parsed from."""
        self.mistakes: list[str] = []
        """Why items could not be parsed: the first has code -1, the second -2."""

    def codes(self, items: Sequence[Hashable]) -> Codes:
        """Return the code of each item; a code below 0 if ``make`` raised ValueError."""
        numbers = self._numbers
        codes = list(map(numbers.get, items))
        if None in codes:  # seldom, after the first thousand rows
            for item in dict.fromkeys(item for item, code in zip(items, codes, strict=True) if code is None):
                try:
                    self.values.append(self._make(item))
                    self.sources.append(item)
                    numbers[item] = len(self.values) - 1
                except ValueError as error:
                    self.mistakes.append(str(error))
                    numbers[item] = -len(self.mistakes)
            codes = list(map(numbers.get, items))
        return np.array(codes, dtype=np.int32)


@dataclass(frozen=True, slots=True)
class ImportedRows:
    """Runs of one table, in the order of its rows."""

    source: str
    """The table's name, for messages."""
    lines: Ints
    keys: Sequence[str]
    """The key of each row; see :class:`ImportedRun`."""
    common: Run
    """The values that all rows share, except for the following fields."""
    shared: Mapping[str, Shared]
    """By field of :class:`Run`."""
    duration_s: Floats
    source_ids: Sequence[str]
    metrics: Mapping[str, Floats]
    """By name; NaN if a row lacks the metric."""

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.lines)

    def subset(self, keep: Mask) -> ImportedRows:
        """Return the rows that a mask selects."""
        if keep.all():
            return self
        rows = np.flatnonzero(keep).tolist()
        codes_by_id = {id(field.codes): field.codes[keep] for field in self.shared.values()}
        return replace(
            self,
            lines=self.lines[keep],
            keys=[self.keys[row] for row in rows],
            shared={name: Shared(codes_by_id[id(field.codes)], field.values) for name, field in self.shared.items()},
            duration_s=self.duration_s[keep],
            source_ids=[self.source_ids[row] for row in rows],
            metrics={name: values[keep] for name, values in self.metrics.items() if not np.isnan(values[keep]).all()},
        )

    def runs(self) -> Iterator[ImportedRun]:
        """Yield the runs one by one."""
        times, lines = self.duration_s.tolist(), self.lines.tolist()
        codes = {name: field.codes.tolist() for name, field in self.shared.items()}
        metrics = {name: values.tolist() for name, values in self.metrics.items()}
        for row, key in enumerate(self.keys):
            fields = {name: field.values[codes[name][row]] for name, field in self.shared.items()}
            row_metrics = {name: values[row] for name, values in metrics.items() if not math.isnan(values[row])}
            run = like(
                self.common, **fields, duration_s=times[row], source_id=self.source_ids[row], metrics=row_metrics
            )
            yield ImportedRun(key, f"{self.source}:{lines[row]}", run)


Item = ImportedRun | SkippedItem | ImportedRows
"""An item that a reader of a format yields."""


def join_blocks(blocks: Sequence[ImportedRows]) -> list[ImportedRows]:
    """Join neighbouring blocks that have the same fields."""
    groups: list[list[ImportedRows]] = []
    for block in blocks:
        if groups and _same_fields(groups[-1][0], block):
            groups[-1].append(block)
        else:
            groups.append([block])
    return [_joined_block(group) if len(group) > 1 else group[0] for group in groups]


def _same_fields(a: ImportedRows, b: ImportedRows) -> bool:
    return (a.source, a.common, a.shared.keys(), a.metrics.keys()) == (
        b.source,
        b.common,
        b.shared.keys(),
        b.metrics.keys(),
    )


def _joined_block(blocks: Sequence[ImportedRows]) -> ImportedRows:
    first = blocks[0]
    # Joined codes by the identity of their parts, so that fields still share one array.
    joined_codes: dict[tuple[int, ...], Codes] = {}
    shared: dict[str, Shared] = {}
    for name in first.shared:
        parts = [block.shared[name] for block in blocks]
        values, starts = _values_of(parts)
        key = (*(id(part.codes) for part in parts), *starts)
        if key not in joined_codes:
            joined_codes[key] = np.concatenate(
                [part.codes + np.int32(start) for part, start in zip(parts, starts, strict=True)]
            )
        shared[name] = Shared(joined_codes[key], values)
    return replace(
        first,
        lines=np.concatenate([block.lines for block in blocks]),
        keys=[key for block in blocks for key in block.keys],
        shared=shared,
        duration_s=np.concatenate([block.duration_s for block in blocks]),
        source_ids=[source_id for block in blocks for source_id in block.source_ids],
        metrics={name: np.concatenate([block.metrics[name] for block in blocks]) for name in first.metrics},
    )


def _values_of(parts: Sequence[Shared]) -> tuple[Sequence[Any], list[int]]:
    """Return the values of all parts, each list once, and the index where each part's values begin."""
    values: list[Any] = []
    begins: dict[int, int] = {}
    for part in parts:
        if id(part.values) not in begins:
            begins[id(part.values)] = len(values)
            values += part.values
    return values, [begins[id(part.values)] for part in parts]


def groups_of(codes: Sequence[Codes]) -> tuple[Ints, Ints]:
    """Return the first row of each combination of codes, in the order of these rows, and each row's combination."""
    size = len(codes[0])
    key = np.zeros(size, dtype=np.int64)
    span = 1
    for column in codes:
        high = int(column.max(initial=0)) + 1
        if span * high >= 2**62:
            _, dense = np.unique(key, return_inverse=True)
            key, span = dense.astype(np.int64), size
        key = key * high + column
        span *= high
    if span <= 4 * size + 1024:  # a lookup table of all possible keys is cheaper than sorting
        first_of = np.full(span, size, dtype=np.int64)
        first_of[key[::-1]] = np.arange(size - 1, -1, -1)
        used_keys = np.flatnonzero(first_of < size)
        dense_of_key = np.zeros(span, dtype=np.int64)
        dense_of_key[used_keys] = np.arange(len(used_keys))
        first, dense = first_of[used_keys], dense_of_key[key]
    else:
        _, first, dense = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return first[order], rank[dense.reshape(-1)]


class DuplicateColumnError(ValueError):
    """Two fields give a column of the same name; only complete runs decide which of them is used."""


_INDEPENDENT_FIELDS: Final = (
    "cluster",
    "engine",
    "engine_version",
    "origin",
    "data_bytes",
    "lab_scale",
    "status",
    "plan",
    "campaign_id",
)
"""Fields that are a column each, independent of the other fields."""
_FIELDS: Final = frozenset({*_INDEPENDENT_FIELDS, "cold", "layout", LAYOUT_DEVICES, NETWORK_KIND})
_ENTRY_FIELDS: Final = ("workload", "workload_parameters", "levels")
"""Fields whose entries are columns. They also determine which parameters follow from them."""


def columns_of(rows: ImportedRows) -> dict[str, Column]:
    """Return the columns that ``table_of`` gives for these runs, with columns and levels in the same order.

    Each distinct value of the fields of a level is converted to text once. Raises :class:`DuplicateColumnError`.
    """
    if not len(rows):
        return {}
    blank = like(rows.common, workload="", workload_parameters={}, levels={}, parameters={}, environment={}, layout="")
    parts = [_part(rows, (name,), blank, (name,)) for name in _INDEPENDENT_FIELDS]
    parts.append(_part(rows, ("cold", "origin"), blank, ("cold",)))
    parts.append(_part(rows, ("layout", "environment"), blank, ("layout", LAYOUT_DEVICES, NETWORK_KIND)))
    parts.append(_part(rows, _ENTRY_FIELDS, blank))
    parts.append(_parameters(rows, blank))
    columns: dict[str, tuple[int, Column]] = {}
    for part in parts:
        for name, column in part.items():
            if name in columns:
                raise DuplicateColumnError(name)
            columns[name] = column
    firsts = {first for first, _ in columns.values()}
    order = {first: list(texts_of_run(run_at(rows, first))) for first in firsts}
    if any(name not in order[first] for name, (first, _) in columns.items()):
        raise DuplicateColumnError
    ordered_names = sorted(columns, key=lambda name: (columns[name][0], order[columns[name][0]].index(name)))
    return {name: columns[name][1] for name in ordered_names}


def run_at(rows: ImportedRows, row: int) -> Run:
    """Return a row's run without the row's separate values."""
    return like(rows.common, **_fields_at(rows, rows.shared, row))


def _fields_at(rows: ImportedRows, names: Iterable[str], row: int) -> dict[str, Any]:
    """Return a row's values of fields."""
    shared = rows.shared
    return {n: shared[n].values[shared[n].codes[row]] if n in shared else getattr(rows.common, n) for n in names}


def _codes(rows: ImportedRows, names: Iterable[str]) -> list[Codes]:
    """Return the distinct arrays of codes of some fields; zeros for fields that all rows share."""
    arrays = {id(rows.shared[name].codes): rows.shared[name].codes for name in names if name in rows.shared}
    return list(arrays.values()) or [np.zeros(len(rows), dtype=np.int32)]


def _part(
    rows: ImportedRows, fields: Sequence[str], blank: Run, column_names: Sequence[str] | None = None
) -> dict[str, tuple[int, Column]]:
    """Return the columns of some fields, each with the first row that has it.

    ``column_names``: the returned columns; None: all entries of the fields.
    """
    firsts, group = groups_of(_codes(rows, fields))
    texts_of_groups = []
    for row in firsts.tolist():
        texts = texts_of_run(like(blank, **_fields_at(rows, fields, row)))
        picked_names = texts.keys() & column_names if column_names else texts.keys() - _FIELDS
        texts_of_groups.append({name: text for name, text in texts.items() if name in picked_names})
    return _coded(texts_of_groups, firsts, group)


def _parameters(rows: ImportedRows, blank: Run) -> dict[str, tuple[int, Column]]:
    """Return the columns of the engine parameters that neither a level nor the layout determines."""
    firsts, group = groups_of(_codes(rows, _ENTRY_FIELDS))
    determined_names = [
        determined_parameters(like(blank, **_fields_at(rows, _ENTRY_FIELDS, row))) for row in firsts.tolist()
    ]
    kinds: dict[frozenset[str], int] = {}
    kind = np.array([kinds.setdefault(frozenset(names), len(kinds)) for names in determined_names], dtype=np.int32)[
        group
    ]
    firsts, group = groups_of([kind, *_codes(rows, ("parameters",))])
    fields = (*_ENTRY_FIELDS, "parameters")
    texts_of_groups = []
    for row in firsts.tolist():
        run = like(blank, **_fields_at(rows, fields, row))
        texts = texts_of_run(run)
        texts_of_groups.append({name: texts[name] for name in run.parameters if name in texts})
    return _coded(texts_of_groups, firsts, group)


def _coded(texts: Sequence[Mapping[str, str]], firsts: Ints, group: Ints) -> dict[str, tuple[int, Column]]:
    """Return columns of the groups' texts; groups and levels are in the order of their first rows."""
    levels: dict[str, dict[str, int]] = {}
    begins: dict[str, int] = {}
    codes: dict[str, Codes] = {}
    for number, group_texts in enumerate(texts):
        for name, text in group_texts.items():
            if name not in levels:
                levels[name], begins[name] = {}, int(firsts[number])
                codes[name] = np.full(len(texts), ABSENT, dtype=np.int32)
            codes[name][number] = levels[name].setdefault(text, len(levels[name]))
    return {name: (begins[name], Column(codes[name][group], tuple(levels[name]))) for name in levels}


def table_of_rows(rows: ImportedRows) -> RunTable:
    """Return the runs as a table, in their order, as ``table_of`` does. Raises :class:`DuplicateColumnError`."""
    values = {name: column for name, column in rows.metrics.items() if name not in BASE_VALUES}
    values |= {"duration_s": rows.duration_s, "started_unix_s": started_of(rows)}
    return RunTable(np.arange(len(rows)), columns_of(rows), values)


def started_of(rows: ImportedRows) -> Floats:
    """Return when the runs started, in seconds since 1970; NaN if unknown."""
    starts = rows.shared.get("started_at") or Shared(np.zeros(len(rows), dtype=np.int32), [rows.common.started_at])
    seconds = np.array([*map(unix_s, starts.values)], dtype=np.float64)
    starts_s: Floats = seconds[starts.codes]
    return starts_s
