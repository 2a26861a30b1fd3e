"""Import any table of runs: a line of column names, then one run per line, with a map from columns to fields.

In: text separated by commas, tabs, semicolons or bars (the one under which the header holds all mapped columns), quoted
as in CSV; ``mapping`` column → field, ``defaults`` field → value for all rows that do not say. Fields: :data:`FIELDS`,
and ``level:NAME``, ``parameter:NAME``, ``option:NAME``, ``metric:NAME``. Out: runs, and skipped rows with the reason.

Durations carry their unit in the field (``duration_min``) or in the cell (``duration``: ``12 min``, ``1h30m``,
``00:12:00``: ``durations.py``). A number has a
point before its decimals, or a comma where another number of the table shows that a comma can be nothing else (``0,5``
does, ``1,234`` does not); grouped thousands are refused. A start without a time zone is kept as written only. Columns
that are not mapped are not read; empty cells take the default.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final, TypeVar

from assay.analysis.statistics import Item
from assay.foundation.errors import SpecificationError
from assay.model import ImportedRun, Origin, SkippedItem
from assay.specs.fields import unknown
from assay.store.formats.format import Format, one_by_one
from assay.store.formats.source import Source
from assay.store.formats.tables.mapped_columns import MappedReader
from assay.store.formats.tables.mapped_rows import DURATIONS, HARDWARE, NAMED, RowReader
from assay.store.formats.tables.table_lines import open_table

FIELDS: Final = (
    "workload",
    "duration",
    *DURATIONS,
    "layout",
    "cluster",
    *HARDWARE,
    "engine",
    "engine_version",
    "started_at",
    "status",
    "cause",
    "data_bytes",
    "source",
    "source_id",
)


def table_format(mapping: Mapping[str, str], defaults: Mapping[str, str], origin: Origin = Origin.MEASURED) -> Format:
    """Return the format of tables that ``mapping`` describes; :func:`check_mapping` is applied to it."""
    check_mapping(mapping, defaults, origin)
    read = partial(read_table_runs, mapping=mapping, defaults=defaults, origin=origin)
    columns = partial(read_table_columns, mapping=mapping, defaults=defaults, origin=origin)
    variant = json.dumps([str(origin), sorted(mapping.items()), sorted(defaults.items())])
    title = "any table, with a map from columns to fields"
    return Format(
        "table", title, lambda _name, _head: False, one_by_one(read), variant, by_rows=True, columns=one_by_one(columns)
    )


def check_mapping(mapping: Mapping[str, str], defaults: Mapping[str, str], origin: Origin) -> None:
    """Raise :class:`SpecificationError` for a map with unknown or repeated fields, or without workload or duration."""
    for name in (*mapping.values(), *defaults):
        kind, colon, inner = name.partition(":")
        if colon and kind in NAMED:
            if kind == "level" and "." in inner:
                raise SpecificationError(
                    f"a level's name has no dot: {inner[:60]!r}",
                    where=f"--map {name}",
                    hint="names with dots are engine parameters: parameter:NAME",
                )
            if not NAMED[kind].fullmatch(inner):
                raise SpecificationError(f"{inner[:60]!r} is no name of a {kind} in the map", where=f"--map {name}")
        elif name not in FIELDS:
            raise SpecificationError(unknown("field", name, [*FIELDS, *(f"{kind}:NAME" for kind in NAMED)]))
    fields = list(mapping.values())
    for name in fields:
        if fields.count(name) > 1:
            raise SpecificationError(f"two columns are mapped to {name}")
    given = {*fields, *defaults}
    durations = given & {"duration", *DURATIONS}
    if len(durations) != 1:
        given_durations = " and ".join(sorted(durations)) or "none"
        raise SpecificationError(
            f"one column must be mapped to a duration, but there is {given_durations}",
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
) -> Iterator[ImportedRun | SkippedItem]:
    """Yield the runs of one table.

    Raises :class:`SpecificationError` for a map that is none, :class:`FormatError` for a file that is no such table.
    """
    check_mapping(mapping, defaults, origin)
    table = open_table(source, mapping)
    reader = RowReader(source.name, table.columns, defaults, origin, decimal_comma=table.has_decimal_commas())
    items = (row if isinstance(row, SkippedItem) else reader.read(*row) for row in table.rows_one_by_one())
    yield from _or_none(source.name, items)


def read_table_columns(
    source: Source, mapping: Mapping[str, str], defaults: Mapping[str, str], origin: Origin
) -> Iterator[Item]:
    """Yield the same as :func:`read_table_runs`, the runs by columns."""
    check_mapping(mapping, defaults, origin)
    table = open_table(source, mapping)
    reader = RowReader(source.name, table.columns, defaults, origin, decimal_comma=table.has_decimal_commas())
    yield from _or_none(source.name, MappedReader(table, reader).read())


Read = TypeVar("Read", bound=Item)


def _or_none(name: str, items: Iterable[Read]) -> Iterator[Read | SkippedItem]:
    """Yield the items of a table, or the reason for an empty one."""
    none = True
    for item in items:
        none = False
        yield item
    if none:
        yield SkippedItem(f"{name}:1", "has a header and no row below it")
