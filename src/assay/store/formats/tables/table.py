"""Import any table of runs: a line of column names, then one run per line, with a map from columns to fields.

In: text separated by commas, tabs, semicolons or bars, quoted as in CSV. The separator is the one with which the header
contains all mapped columns. ``mapping`` maps columns to fields, and ``defaults`` has values of fields for empty
cells. Fields: :data:`FIELDS`, and ``level:NAME``, ``parameter:NAME``, ``option:NAME``, ``metric:NAME``. Out: runs, and
skipped rows with the reason.

Durations carry their unit in the field (``duration_min``) or in the cell (``duration``: ``12 min``, ``1h30m``,
``00:12:00``; see ``durations.py``). Decimals follow a point. They may follow a comma if a number of the table proves
that commas do not group thousands (``0,5`` does, ``1,234`` does not). Grouped thousands are rejected. A start without a
time zone is stored only as written. Columns that are not mapped are not read; empty cells take the default.
"""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from assay.analysis.statistics import Item
from assay.foundation.errors import SpecificationError
from assay.model import Origin, SkippedItem
from assay.specs.fields import unknown
from assay.store.formats.format import Format, read_each
from assay.store.formats.source import Source
from assay.store.formats.tables.mapped_columns import MappedReader
from assay.store.formats.tables.mapped_rows import DURATIONS, HARDWARE, NAME_PATTERNS, RowProblems
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
    """Return the format of tables that ``mapping`` describes. Raises the errors of :func:`check_mapping`."""
    check_mapping(mapping, defaults, origin)
    read = partial(read_table, mapping=mapping, defaults=defaults, origin=origin)
    variant = json.dumps([str(origin), sorted(mapping.items()), sorted(defaults.items())])
    title = "any table, with a map from columns to fields"
    return Format("table", title, lambda _name, _head: False, read_each(read), variant, by_rows=True)


def check_mapping(mapping: Mapping[str, str], defaults: Mapping[str, str], origin: Origin) -> None:
    """Raise :class:`SpecificationError` for a map with unknown or repeated fields, or without workload or duration."""
    for name in (*mapping.values(), *defaults):
        kind, colon, inner = name.partition(":")
        if colon and kind in NAME_PATTERNS:
            if kind == "level" and "." in inner:
                raise SpecificationError(
                    f"a level's name has no dot: {inner[:60]!r}",
                    where=f"--map {name}",
                    hint="names with dots are engine parameters: parameter:NAME",
                )
            if not NAME_PATTERNS[kind].fullmatch(inner):
                raise SpecificationError(f"{inner[:60]!r} is not a valid name of a {kind}", where=f"--map {name}")
        elif name not in FIELDS:
            raise SpecificationError(unknown("field", name, [*FIELDS, *(f"{kind}:NAME" for kind in NAME_PATTERNS)]))
    fields = list(mapping.values())
    for name in fields:
        if fields.count(name) > 1:
            raise SpecificationError(f"two columns are mapped to {name}")
    field_names = {*fields, *defaults}
    durations = field_names & {"duration", *DURATIONS}
    if len(durations) != 1:
        duration_names = " and ".join(sorted(durations)) or "none"
        raise SpecificationError(
            f"one column must be mapped to a duration, but there is {duration_names}",
            hint="write --map COLUMN=duration_s, or duration_ms, duration_min, duration_h, or duration where cells say "
            "their unit",
        )
    if "workload" not in field_names:
        raise SpecificationError(
            "no column is mapped to workload", hint="map a column to workload, or give a workload for all rows"
        )
    if origin is Origin.PUBLISHED and "source" not in field_names:
        raise SpecificationError(
            "published results need a source", hint="map a column to source, or give one for all rows"
        )


def read_table(
    source: Source, mapping: Mapping[str, str], defaults: Mapping[str, str], origin: Origin
) -> Iterator[Item]:
    """Yield the runs of one table by columns, and the skipped rows.

    Raises :class:`SpecificationError` for an invalid map, :class:`FormatError` for a file without the mapped columns.
    """
    check_mapping(mapping, defaults, origin)
    table = open_table(source, mapping)
    problems = RowProblems(source.name, table.columns, defaults, origin, decimal_comma=table.has_decimal_commas())
    is_empty = True
    for item in MappedReader(table, problems).read():
        is_empty = False
        yield item
    if is_empty:
        yield SkippedItem(f"{source.name}:1", "has a header and no row below it")
