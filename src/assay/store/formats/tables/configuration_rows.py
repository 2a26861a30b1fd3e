"""Read a table of configurations to predict: a line of column names, then one configuration per line.

In: text as in CSV. The separator is the comma, tab, semicolon or bar that is most frequent in the header. Out: the rows
with their line numbers, without empty cells. A row whose number of cells differs from the header's has a problem.
"""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from assay.foundation.errors import FormatError
from assay.store.formats.source import Source
from assay.store.formats.tables.mapped_rows import cell_text

ROWS_MAX: Final = 1_000_000
"""Maximum number of rows of one file."""
_SEPARATORS: Final = ",\t;|"


@dataclass(frozen=True, slots=True)
class ConfigurationRow:
    """A row of a table of configurations."""

    line: int
    """Line in the file, or position in a list, from 1."""
    levels: Mapping[str, str]
    """Column to level, as written."""
    problem: str = ""
    """Why the row can't be used; empty if it can be used."""


@dataclass(frozen=True, slots=True)
class ConfigurationTable:
    """A table of configurations."""

    columns: tuple[str, ...]
    rows: tuple[ConfigurationRow, ...]


def read_configuration_rows(source: Source) -> ConfigurationTable:
    """Return the rows of a file. Raises :class:`FormatError` for a file that is not a table of configurations."""
    text = source.text()
    first_line = next((line for line in text.splitlines() if line.strip()), "")
    separator = max(_SEPARATORS, key=first_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    columns: tuple[str, ...] = ()
    rows: list[ConfigurationRow] = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if not columns:
                columns = _columns(cells, f"{source.name}:{reader.line_num}")
            elif len(rows) == ROWS_MAX:
                raise FormatError(f"has more than {ROWS_MAX:,} rows", where=source.name, hint="split the file")
            elif len(cells) != len(columns):
                problem = f"has {len(cells)} cells where the header has {len(columns)}"
                rows.append(ConfigurationRow(reader.line_num, {}, problem))
            else:
                texts = zip(columns, map(cell_text, cells), strict=True)
                rows.append(ConfigurationRow(reader.line_num, {name: text for name, text in texts if text}))
    except csv.Error as error:
        raise FormatError(f"is not valid CSV: {error}", where=f"{source.name}:{reader.line_num}") from error
    if not rows:
        raise FormatError(
            "has no rows to predict",
            where=source.name,
            hint="write a line of column names, such as workload,layout,maps, and one configuration per line",
        )
    return ConfigurationTable(columns, tuple(rows))


def _columns(cells: list[str], where: str) -> tuple[str, ...]:
    columns = tuple(cell.strip() for cell in cells)
    if not all(columns):
        raise FormatError(f"column {columns.index('') + 1} has no name", where=where)
    duplicate = next((name for name in columns if columns.count(name) > 1), None)
    if duplicate is not None:
        raise FormatError(f"two columns are named {duplicate}", where=where)
    return columns
