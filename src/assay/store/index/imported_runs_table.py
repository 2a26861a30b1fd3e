"""Convert imported rows into columns of a runs file. DuckDB assembles the JSON of each run from shared pieces.

In: :class:`~assay.analysis.statistics.runs.imported_rows.ImportedRows` with the ids and positions of their runs. Out:
columns, and a query over them that returns the same rows as :func:`assay.store.index.runs_file.rows_of` does for single
runs. Each shared value is encoded once. Array operations and DuckDB process the rows, without a loop in Python.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from assay.analysis.statistics import ABSENT, Floats, Ints
from assay.analysis.statistics.runs.imported_rows import ImportedRows, Shared, columns_of, join_blocks, started_of
from assay.model import Run
from assay.model.runs import imported
from assay.store.index import queries
from assay.store.index.runs_file import Coding

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_FIELDS = tuple(run_field.name for run_field in dataclasses.fields(Run))
_ROWS_PER_VALUE_MIN = 4
"""Minimum mean number of rows per distinct value. Values with fewer rows are stored in the rows, without a lookup."""


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Runs that are ready to store: the keys of ``rows`` are their ids."""

    rows: ImportedRows
    positions: Ints

    def runs(self) -> list[Run]:
        """Return the runs one by one."""
        items = zip(self.rows.runs(), self.positions.tolist(), strict=True)
        return [imported.like(item.run, run_id=item.key, block=position, position=position) for item, position in items]


def joined_blocks(blocks: Sequence[StoredRows]) -> list[StoredRows]:
    """Join blocks with equal fields."""
    groups, begin = [], 0
    positions = np.concatenate([block.positions for block in blocks]) if blocks else np.zeros(0, dtype=np.int64)
    for rows in join_blocks([block.rows for block in blocks]):
        groups.append(StoredRows(rows, positions[begin : begin + len(rows)]))
        begin += len(rows)
    return [block for block in groups if len(block.rows)]


def storable(rows: ImportedRows, checked_counts: dict[int, int]) -> bool:
    """Return whether every row can be stored. If False, the caller checks the rows one by one.

    ``checked_counts``: identity of a list to the number of its values that were checked and can be stored.
    """
    if not np.isfinite(rows.duration_s).all() or any(np.isinf(values).any() for values in rows.metrics.values()):
        return False
    try:
        for shared in rows.shared.values():
            msgspec.json.encode(shared.values[checked_counts.get(id(shared.values), 0) :])
            checked_counts[id(shared.values)] = len(shared.values)
        msgspec.json.encode([rows.common, rows.source_ids])
    except (ValueError, TypeError, OverflowError, RecursionError):
        return False
    return True


class _Sql(str):
    """An SQL expression over a row's columns."""

    __slots__ = ()


_Part = str | Shared | _Sql
"""A part of a text: a constant of all rows, a shared value by code, or a separate value of each row."""


def register_rows(database: DuckDBPyConnection, name: str, stored: StoredRows, bundle: str, coding: Coding) -> str:
    """Register runs with DuckDB, add their codes to ``coding``, and return the query for their rows.

    ``name`` is the name for temporary tables. Raises
    :class:`~assay.analysis.statistics.runs.imported_rows.DuplicateColumnError`.
    """
    rows = stored.rows
    numbered_columns = _numbered_columns(rows, coding)
    ids = np.array(rows.keys, dtype=object)
    columns = _Columns(database, name, {"run_id": ids, "position": stored.positions})
    texts = {
        "run_id": "rows.run_id",
        "bundle": queries.quoted(bundle),
        "run_json": columns.text(_json_parts(rows, columns)),
    }
    for text in queries.RUN_TEXTS:
        if text == "environment_json":
            texts[text] = columns.text([_encoded(_field(rows, "environment"))])
        elif text not in texts:
            shared = _field(rows, text)
            texts[text] = columns.text([Shared(shared.codes, [str(value) for value in shared.values])])
    columns.columns |= numbered_columns
    database.register(name, columns.columns)
    selected_columns = [f"{texts[text]} AS {text}" for text in queries.RUN_TEXTS] + [
        f"rows.{column}" for column in numbered_columns
    ]
    return queries.rows_with_pieces(selected_columns, name, columns.joins)


def _numbered_columns(rows: ImportedRows, coding: Coding) -> dict[str, Any]:
    """Return the columns of codes and values, numbered as in ``coding``."""
    columns: dict[str, Any] = {}
    for name, column in columns_of(rows).items():
        levels = coding.columns.setdefault(name, {})
        level_codes = np.array(
            [*(levels.setdefault(text, len(levels)) for text in column.levels), ABSENT], dtype=np.int32
        )
        columns[f"c{list(coding.columns).index(name)}"] = level_codes[column.codes]  # ABSENT is -1: the last element
    for name, values in {**rows.metrics, "duration_s": rows.duration_s, "started_unix_s": started_of(rows)}.items():
        columns[f"v{coding.values.setdefault(name, len(coding.values))}"] = values
    return columns


def _field(rows: ImportedRows, name: str) -> Shared:
    """Return a field of all rows, shared or not."""
    return rows.shared.get(name) or Shared(np.zeros(len(rows), dtype=np.int32), [getattr(rows.common, name)])


def _encoded(shared: Shared) -> Shared:
    return Shared(shared.codes, [msgspec.json.encode(value).decode() for value in shared.values])


def _json_parts(rows: ImportedRows, columns: _Columns) -> list[_Part]:
    """Return the parts of each run's JSON, in the order of the fields."""
    parts: list[_Part] = []
    for number, name in enumerate(_FIELDS):
        parts.append(f'{"," if number else "{"}"{name}":')
        if name == "run_id":
            parts += ['"', _Sql("rows.run_id"), '"']
        elif name in ("block", "position"):
            parts.append(_Sql("rows.position"))
        elif name == "duration_s":
            parts.append(columns.column(_numbers(rows.duration_s)))
        elif name == "source_id":
            parts += _texts(rows.source_ids, columns)
        elif name == "metrics":
            parts.append(columns.column(_metrics(rows)) if rows.metrics else "{}")
        elif name == "environment":
            parts.append("{}")
        elif name in rows.shared:
            parts.append(_encoded(rows.shared[name]))
        else:
            parts.append(msgspec.json.encode(getattr(rows.common, name)).decode())
    return [*parts, "}"]


def _texts(texts: Sequence[str], columns: _Columns) -> list[_Part]:
    """Return texts as JSON. Texts of letters and digits need only quotation marks."""
    joined = "".join(texts)
    if joined.isascii() and (joined.isalnum() or not joined):
        return ['"', columns.column(texts), '"']
    return [columns.column([msgspec.json.encode(text).decode() for text in texts])]


def _numbers(values: Floats) -> list[str]:
    """Return numbers as JSON. All are encoded at once."""
    return msgspec.json.encode(values.tolist()).decode()[1:-1].split(",") if len(values) else []


def _metrics(rows: ImportedRows) -> list[str]:
    """Return each row's metrics as JSON."""
    names = [msgspec.json.encode(name).decode() for name in rows.metrics]
    texts = [[None if text == "null" else text for text in _numbers(values)] for values in rows.metrics.values()]
    return [
        "{" + ",".join(f"{name}:{text}" for name, text in zip(names, row, strict=True) if text is not None) + "}"
        for row in zip(*texts, strict=True)
    ]


@dataclass(slots=True)
class _Columns:
    """The columns of some rows, and the tables of shared pieces to join."""

    database: DuckDBPyConnection
    name: str
    columns: dict[str, Any]
    joins: list[str] = field(default_factory=list)

    def column(self, texts: Sequence[str]) -> _Sql:
        """Add a column."""
        name = f"t{len(self.columns)}"
        self.columns[name] = np.array(texts, dtype=object)
        return _Sql(f"rows.{name}")

    def text(self, parts: Sequence[_Part]) -> str:
        """Return the SQL expression that concatenates ``parts``."""
        merged_parts = _merge_parts(list(map(_constant_if_single, parts)))
        return f"concat({', '.join(map(self._expression, merged_parts))})"

    def _expression(self, part: _Part) -> str:
        if isinstance(part, Shared):
            if len(part.values) > 1 and len(part.values) * _ROWS_PER_VALUE_MIN > len(part.codes):
                return self.column(np.array(part.values, dtype=object)[part.codes].tolist())
            return self._join(part)
        return part if isinstance(part, _Sql) else queries.quoted(part)

    def _join(self, shared: Shared) -> str:
        number = len(self.joins)
        self.columns[f"k{number}"] = shared.codes
        self.database.execute(queries.pieces(f"{self.name}_{number}"), [list(shared.values)])
        self.joins.append(queries.join_pieces(f"{self.name}_{number}", f"k{number}"))
        return f"{self.name}_{number}.piece"


def _constant_if_single(part: _Part) -> _Part:
    """Return a constant if all rows share one text, which saves a lookup per row."""
    if not isinstance(part, Shared) or len(part.values) != 1:
        return part
    text: str = part.values[0]
    return text if text.isprintable() else part


def _merge_parts(parts: Sequence[_Part]) -> list[_Part]:
    """Return the same text from fewer parts: a constant becomes part of the shared text next to it."""
    merged: list[_Part] = []
    for part in parts:
        last = merged[-1] if merged else None
        if isinstance(part, _Sql) or isinstance(last, _Sql) or last is None:
            merged.append(part)
        elif isinstance(part, Shared) and isinstance(last, Shared):
            if last.codes is part.codes:
                pairs = zip(last.values, part.values, strict=True)
                merged[-1] = Shared(part.codes, [previous + text for previous, text in pairs])
            else:
                merged.append(part)
        elif isinstance(part, Shared):
            merged[-1] = Shared(part.codes, [last + text for text in part.values])
        elif isinstance(last, Shared):
            merged[-1] = Shared(last.codes, [text + part for text in last.values])
        else:
            merged[-1] = last + part
    return merged
