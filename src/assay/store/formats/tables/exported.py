"""Import the output of ``assay export csv``, ``jsonl`` and ``parquet``, also the examples' ``measured/runs.csv``.

In: CSV (commas, semicolons or tabs) and Parquet with the columns of :mod:`assay.model.runs.run_columns`, or JSON lines
with one whole run each. Out: the runs as they were exported, with origin, lab scale, cache state, checks and campaign.
Each run keeps its id, so a run that the repository already has is not imported again.
"""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from assay.foundation.errors import AssayError, FormatError
from assay.model import ImportedRun, Run, SkippedItem, unescaped_text
from assay.model.runs.run_columns import IDENTIFYING_COLUMNS, check_run, run_of_cells, unknown_columns
from assay.model.runs.run_json import run_of_json
from assay.store.formats.format import Format, read_each
from assay.store.formats.source import LINE_BYTES_MAX, Source, decoded
from assay.workloads.catalogue import known_name

ParquetRows = Callable[[Path], Iterator[dict[str, Any]]]
"""Reads the rows of a Parquet file, column name to value."""
_PARQUET: Final = b"PAR1"
_JSON: Final = b'{"run_id":'
_SEPARATORS: Final = ",;\t"
_JSON_LINE_BYTES_MAX: Final = 1 << 26
"""Maximum length of a line of JSON, in bytes. Counters of jobs and facts about hosts need far less."""


def exported_format(parquet_rows: ParquetRows) -> Format:
    """Return the format of assay's own exports. ``parquet_rows`` may raise any :class:`AssayError`."""

    def read(source: Source) -> Iterator[ImportedRun | SkippedItem]:
        head = source.head()
        if head.startswith(_PARQUET):
            return _parquet(source, parquet_rows)
        return _json_lines(source) if head.startswith(_JSON) else _csv(source)

    return Format("assay", "runs that assay exported as CSV, Parquet or JSON lines", recognises, read_each(read))


def recognises(name: str, head: bytes) -> bool:
    """Return whether a file is an export, by its first 64 KiB; any Parquet file may be an export."""
    if head.startswith((_PARQUET, _JSON)):
        return True
    try:
        return _separator(decoded(head, name).partition("\n")[0]) is not None
    except FormatError:
        return False


def _separator(header: str) -> str | None:
    return next((mark for mark in _SEPARATORS if set(_columns(header, mark)) >= IDENTIFYING_COLUMNS), None)


def _columns(header: str, separator: str) -> list[str]:
    try:
        return [
            unescaped_text(cell.strip()) for cell in next(csv.reader([header], delimiter=separator, strict=True), [])
        ]
    except csv.Error:
        return []


def _csv(source: Source) -> Iterator[ImportedRun | SkippedItem]:
    source.check_lines(LINE_BYTES_MAX)
    text = source.text()
    header = text.partition("\n")[0].rstrip("\r")
    separator = _separator(header)
    if separator is None:
        raise FormatError("lacks columns of `assay export csv`", where=f"{source.name}:1")
    columns = _columns(header, separator)
    yield from _check_columns(source, columns)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    next(reader)
    line = reader.line_num + 1
    try:
        for number, cells in enumerate(reader):
            if len(cells) == len(columns):
                values = dict(zip(columns, map(unescaped_text, cells), strict=True))
                yield _row(f"{source.name}:{line}", values, number)
            elif any(cells):
                yield SkippedItem(f"{source.name}:{line}", f"has {len(cells)} cells, the header {len(columns)}")
            line = reader.line_num + 1
    except csv.Error as error:
        yield SkippedItem(f"{source.name}:{line}", f"can't be read from here on: {error}")


def _parquet(source: Source, parquet_rows: ParquetRows) -> Iterator[ImportedRun | SkippedItem]:
    try:
        for number, row in enumerate(parquet_rows(source.path)):
            if number == 0:
                yield from _check_columns(source, list(row))
            yield _row(f"{source.name}: row {number + 1}", row, number)
    except AssayError as error:
        raise FormatError(error.message, where=source.name) from error


def _check_columns(source: Source, columns: Sequence[str]) -> Iterator[SkippedItem]:
    """Yield the columns that are not read. Raises :class:`FormatError` for a table that is not an export."""
    missing_columns = sorted(IDENTIFYING_COLUMNS - set(columns))
    if missing_columns:
        raise FormatError(f"is not a table of `assay export`: it has no column {missing_columns[0]}", where=source.name)
    duplicate = next((name for name in columns if columns.count(name) > 1), None)
    if duplicate is not None:
        raise FormatError(f"has several columns named {duplicate!r}", where=source.name)
    for name in unknown_columns(columns):
        yield SkippedItem(
            f"{source.name}:1", f"column {name[:60]!r} is not a column that assay exports: it was not read"
        )


def _row(where: str, cells: Mapping[str, Any], number: int) -> ImportedRun | SkippedItem:
    try:
        return _imported_run(where, run_of_cells(cells, number))
    except ValueError as error:
        return SkippedItem(where, str(error))


def _json_lines(source: Source) -> Iterator[ImportedRun | SkippedItem]:
    source.check_lines(_JSON_LINE_BYTES_MAX)
    for number, line in enumerate(io.BytesIO(source.content()), start=1):
        if line.strip():
            where = f"{source.name}:{number}"
            try:
                run = run_of_json(line)
                check_run(run)
                yield _imported_run(where, run)
            except (ValueError, RecursionError, msgspec.MsgspecError) as error:
                yield SkippedItem(where, str(error))


def _imported_run(where: str, run: Run) -> ImportedRun:
    return ImportedRun(run.run_id, where, replace(run, workload=known_name(run.workload)))
