"""Any table of runs: a line of column names, then a run a line, with a map from columns to what they mean.

In: text separated by commas, tabs, semicolons or bars (the one under which the header holds all mapped columns), quoted
as in CSV; ``mapping`` column → field, ``defaults`` field → value for all rows that do not say. Fields: :data:`FIELDS`,
and ``level:NAME``, ``parameter:NAME``, ``option:NAME``, ``metric:NAME``. Out: runs, and rows left with the reason.

Durations carry their unit in the field (``duration_min``) or in the cell (``duration``: ``12 min``, ``1h30m``,
``00:12:00``: ``durations.py``). A number has a
point before its decimals, or a comma where another number of the table shows that a comma can be nothing else (``0,5``
does, ``1,234`` does not); grouped thousands are refused. A start without a time zone is kept as written only. Columns
that are not mapped are not read, empty cells say nothing.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from assay.errors import FormatError, SpecificationError
from assay.formats.importing import Format, one_by_one
from assay.formats.source import Source
from assay.formats.tables.durations import written_duration_s
from assay.formats.tables.printed import BYTES_MAX, duration_problem, utc_of
from assay.model import SOURCE_ID_LENGTH_MAX, Found, Left, Origin, RunStatus, foreign_run
from assay.model.spreadsheet import meant_text
from assay.spec.fields import unknown
from assay.units import parse_bytes
from assay.workloads.catalogue import known_name

_DURATIONS: Final = {"duration_ms": 0.001, "duration_s": 1.0, "duration_min": 60.0, "duration_h": 3600.0}
FIELDS: Final = (
    "workload",
    "duration",
    *_DURATIONS,
    "layout",
    "cluster",
    "engine",
    "engine_version",
    "started_at",
    "status",
    "cause",
    "data_bytes",
    "source",
    "source_id",
)
_NAMED: Final = {
    "level": re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}"),
    "parameter": re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+"),
    "option": re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}"),
    "metric": re.compile(r"[a-z][a-z0-9_]{0,63}"),
}
SEPARATORS: Final = ",\t;|"
LINE_BYTES_MAX: Final = 1 << 20
"""Of a line: what is longer is no row of a table, and could fill the memory."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_WHOLE = re.compile(r"[0-9]+\.0+")
_COMMA = re.compile(r"[+-]?(?P<whole>[0-9]+),(?P<decimals>[0-9]+)")
_ADDED = "job_throughput_mb_per_s"
_TEXT_LENGTH_MAX = 1000
_NUMBER_LENGTH_MAX = 40
_DURATION_MIN_S = 0.001


def _is_number(name: str) -> bool:
    return name in _DURATIONS or name == "data_bytes" or name.startswith("metric:")


def table_format(mapping: Mapping[str, str], defaults: Mapping[str, str], origin: Origin = Origin.MEASURED) -> Format:
    """Return the format of tables that ``mapping`` describes; :func:`check_mapping` is applied to it."""
    check_mapping(mapping, defaults, origin)
    read = partial(read_table_runs, mapping=mapping, defaults=defaults, origin=origin)
    variant = json.dumps([str(origin), sorted(mapping.items()), sorted(defaults.items())])
    title = "any table, with a map from columns to fields"
    return Format("table", title, lambda _name, _head: False, one_by_one(read), variant, by_rows=True)


def check_mapping(mapping: Mapping[str, str], defaults: Mapping[str, str], origin: Origin) -> None:
    """Raise :class:`SpecificationError` when a map is none: unknown or doubled fields, or no workload or duration."""
    for name in (*mapping.values(), *defaults):
        kind, colon, inner = name.partition(":")
        if colon and kind in _NAMED:
            if kind == "level" and "." in inner:
                raise SpecificationError(
                    f"a level's name has no dot: {inner[:60]!r}",
                    where=f"--map {name}",
                    hint="names with dots are engine parameters: parameter:NAME",
                )
            if not _NAMED[kind].fullmatch(inner):
                raise SpecificationError(f"{inner[:60]!r} is no name of a {kind} in the map", where=f"--map {name}")
        elif name not in FIELDS:
            raise SpecificationError(unknown("field", name, [*FIELDS, *(f"{kind}:NAME" for kind in _NAMED)]))
    fields = list(mapping.values())
    for name in fields:
        if fields.count(name) > 1:
            raise SpecificationError(f"two columns are mapped to {name}")
    given = {*fields, *defaults}
    durations = given & {"duration", *_DURATIONS}
    if len(durations) != 1:
        said = " and ".join(sorted(durations)) or "none"
        raise SpecificationError(
            f"one column must be mapped to a duration, but there is {said}",
            hint="write --map COLUMN=duration_s, or duration_ms, duration_min, duration_h, or duration where cells say "
            "their unit",
        )
    if "workload" not in given:
        raise SpecificationError("no column is mapped to workload", hint="map one, or give it for all rows")
    if origin is Origin.PUBLISHED and "source" not in given:
        raise SpecificationError(
            "published results need a source", hint="map a column to source, or give one for all rows"
        )


def read_table_runs(
    source: Source, mapping: Mapping[str, str], defaults: Mapping[str, str], origin: Origin
) -> Iterator[Found | Left]:
    """Yield the runs of one table.

    Raises :class:`SpecificationError` for a map that is none, :class:`FormatError` for a file that is no such table.
    """
    check_mapping(mapping, defaults, origin)
    table = _table(source, mapping)
    for line, cells in table.rows:
        where = f"{source.name}:{line}"
        if isinstance(cells, str):
            yield Left(where, cells)
            continue
        told = {name: meant_text(cells[column].strip()) for name, column in table.columns.items()}
        values = {**defaults, **{name: text for name, text in told.items() if text}}
        try:
            yield _run(where, values, origin, table.decimal_comma)
        except ValueError as error:
            yield Left(where, str(error))
    if table.broken:
        yield Left(*table.broken)
    elif not table.rows:
        yield Left(f"{source.name}:1", "has a header and no row below it")


@dataclass(frozen=True, slots=True)
class _Table:
    """A table's rows with their lines, and where the mapped columns are."""

    columns: dict[str, int]
    rows: list[tuple[int, list[str] | str]] = field(repr=False)
    """Each row's line, and its cells or what is wrong with them: of a row as wide as memory the cells are not kept."""
    broken: tuple[str, str] | None
    """Where the quoting breaks, and how: what follows can't be read."""
    decimal_comma: bool


def _rows(
    text: str, separator: str, name: str, width: int
) -> tuple[list[tuple[int, list[str] | str]], tuple[str, str] | None]:
    rows: list[tuple[int, list[str] | str]] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    begin = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append((begin, cells if len(cells) == width else _odd(cells, width)))
            begin = reader.line_num + 1
    except csv.Error as error:
        lines = text.count("\n") + (not text.endswith("\n")) - begin + 1
        how = "a quote that opens in this line is never closed" if "end of data" in str(error) else str(error)
        return rows, (f"{name}:{begin}", f"can't be read from here on, {_lines(lines)}: {how}")
    return rows, None


def _lines(number: int) -> str:
    return f"{number} lines" if number > 1 else "1 line"


def _odd(cells: list[str], width: int) -> str:
    lines = 1 + sum(cell.count("\n") for cell in cells)
    return f"has {len(cells)} cells, the header {width}{_swallowed(lines)}"


def _swallowed(lines: int) -> str:
    """Return what a row of several lines probably is."""
    return f", and goes on for {lines} lines: a quote that opens in it is closed late" if lines > 1 else ""


def _table(source: Source, mapping: Mapping[str, str]) -> _Table:
    source.check_lines(LINE_BYTES_MAX)
    text = source.text()
    first = next((line for line in text.splitlines() if line.strip()), "")
    if not first:
        raise FormatError("is empty", where=source.name)
    names = {separator: _header(first, separator) for separator in SEPARATORS}
    separator = next((s for s in SEPARATORS if set(mapping) <= set(names[s])), None)
    if separator is None:
        likely = max(SEPARATORS, key=lambda s: len(names[s]))
        column = next(column for column in mapping if column not in names[likely])
        raise FormatError(unknown("column", column, names[likely][:50]), where=f"{source.name}:1")
    header = names[separator]
    for column in mapping:
        if header.count(column) > 1:
            raise FormatError(f"has {header.count(column)} columns named {column!r}", where=f"{source.name}:1")
    rows, broken = _rows(text, separator, source.name, len(header))
    columns = {name: header.index(column) for column, name in mapping.items()}
    numeric = [column for name, column in columns.items() if _is_number(name)]
    cells = (cells[column].strip() for _, cells in rows[1:] if not isinstance(cells, str) for column in numeric)
    return _Table(columns, rows[1:], broken, any(_shows_comma(cell) for cell in cells))


def _header(line: str, separator: str) -> list[str]:
    """Return the names of the columns; none when the line's quoting is broken under this separator."""
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, strict=True))]
    except (csv.Error, StopIteration):
        return []


def _shows_comma(cell: str) -> bool:
    """Tell whether ``cell`` is a number whose comma can't group thousands."""
    match = _COMMA.fullmatch(cell)
    return match is not None and (len(match["decimals"]) != 3 or match["whole"].startswith("0") or len(match[0]) > 8)


def _number(text: str, name: str, decimal_comma: bool) -> float:
    """Return a cell's number; raise :class:`ValueError` in words when it is none or could be two."""
    if len(text) > _NUMBER_LENGTH_MAX:
        raise ValueError(f"{name} is {text[:12]!r}…, which is too long for a number")
    if _COMMA.fullmatch(text):
        if not decimal_comma:
            raise ValueError(f"{name} is {text!r}: the comma may group thousands or begin decimals; write a point")
        text = text.replace(",", ".")
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise ValueError(f"{name} is {text!r}, which is no number")
    return value


def _duration_s(values: Mapping[str, str], decimal_comma: bool) -> float:
    name = next((name for name in ("duration", *_DURATIONS) if name in values), None)
    if name is None:
        raise ValueError("says no duration")
    text = values[name]
    if name == "duration":
        if len(text) > _NUMBER_LENGTH_MAX:
            raise ValueError(f"{text[:12]!r}… is too long for a duration")
        duration_s = written_duration_s(text)
    else:
        duration_s = _number(text, name, decimal_comma) * _DURATIONS[name]
    if wrong := duration_problem(duration_s):
        raise ValueError(wrong)
    if duration_s < _DURATION_MIN_S:
        raise ValueError(f"a run of {duration_s:g} s is none: is the unit another?")
    return duration_s


def _data_bytes(text: str, decimal_comma: bool) -> int:
    if len(text) <= _NUMBER_LENGTH_MAX and text.endswith("B"):
        found = float(parse_bytes(text))
    else:
        found = _number(text, "data_bytes", decimal_comma)
    if not 0 <= found <= BYTES_MAX or found != int(found):
        raise ValueError(f"data_bytes is {text!r}, which is no number of bytes")
    return int(found)


def _texts(values: Mapping[str, str], kind: str) -> dict[str, str]:
    prefix = f"{kind}:"
    return {name.removeprefix(prefix): text for name, text in values.items() if name.startswith(prefix)}


def _key(values: Mapping[str, str], origin: Origin, numbers: Mapping[str, float], started_at: str) -> str:
    """Return what makes a row the run that it is, the same in every notation: 1119, 1119.0 and 1,119e3 are one time."""
    told = {
        name: " ".join(text.split()) for name, text in values.items() if name not in (*numbers, "duration", *_DURATIONS)
    }
    told |= {name: f"{value:.12g}" for name, value in numbers.items()}
    for name, text in told.items():
        if name.partition(":")[0] in _NAMED and _WHOLE.fullmatch(text):
            told[name] = text.partition(".")[0]
    if started_at:
        told["started_at"] = started_at
    return json.dumps([str(origin), sorted(told.items())], ensure_ascii=True)


def _run(where: str, values: Mapping[str, str], origin: Origin, decimal_comma: bool) -> Found:
    """Return a row as a run; raise :class:`ValueError` in words when it can't be one."""
    if not values.get("workload"):
        raise ValueError("says no workload")
    if origin is Origin.PUBLISHED and not values.get("source"):
        raise ValueError("says no source, which a published result needs")
    for name, text in values.items():
        if len(text) > _TEXT_LENGTH_MAX or not text.isprintable():
            raise ValueError(f"{name} is {text[:20]!r}…, which is no text of one line")
    duration_s = _duration_s(values, decimal_comma)
    data_bytes = _data_bytes(values["data_bytes"], decimal_comma) if "data_bytes" in values else None
    status, cause = _status(values)
    metrics = {name: _number(text, name, decimal_comma) for name, text in _texts(values, "metric").items()}
    sources = {"duration_s": values.get("source") or "the table"}
    if data_bytes:
        sources |= {"job_throughput_mb_per_s": "data_bytes / duration_s"} if _ADDED not in metrics else {}
        metrics.setdefault(_ADDED, data_bytes / duration_s / 1e6)
    started_at = utc_of(values["started_at"]) if "started_at" in values else ""
    if started_at is None:
        raise ValueError(f"started_at is {values['started_at']!r}, which is no date and time as in ISO 8601")
    numbers = {f"metric:{name}": value for name, value in metrics.items() if f"metric:{name}" in values}
    numbers |= {"data_bytes": float(data_bytes)} if data_bytes is not None else {}
    key = _key(values, origin, numbers | {"duration_s": duration_s}, started_at)
    environment = {} if started_at or "started_at" not in values else {"started_at_as_written": values["started_at"]}
    return Found(
        key,
        where,
        foreign_run(
            workload=known_name(values["workload"]),
            duration_s=duration_s,
            status=status,
            cause=cause,
            origin=origin,
            engine=values.get("engine", "hadoop"),
            engine_version=values.get("engine_version", ""),
            cluster=values.get("cluster", ""),
            layout=values.get("layout", ""),
            levels=_texts(values, "level"),
            parameters=_texts(values, "parameter"),
            workload_parameters=_texts(values, "option"),
            started_at=started_at,
            data_bytes=data_bytes,
            metrics=metrics,
            environment=environment,
            sources=sources,
            source_id=values.get("source_id", "")[:SOURCE_ID_LENGTH_MAX],
        ),
    )


def _status(values: Mapping[str, str]) -> tuple[RunStatus, str | None]:
    text = values.get("status", RunStatus.VALID).lower()
    if text not in [str(status) for status in RunStatus]:
        raise ValueError(unknown("status", text, [str(status) for status in RunStatus]))
    status = RunStatus(text)
    return status, None if status is RunStatus.VALID else values.get("cause") or f"the table says {text}"
