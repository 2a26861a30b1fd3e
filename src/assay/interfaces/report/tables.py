"""Make the tables of a document: shortened in the document, complete as CSV files in the package.

In: column titles and rows of text. Out: blocks of a document, and CSV files by name.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import replace

from assay.interfaces.report.output.document import (
    Block,
    Code,
    Line,
    Paragraph,
    ReportDocument,
    Table,
    TableColumn,
    plain_text,
    tables_of,
)

ROWS_MAX = 20
"""Maximum number of rows of a table in the document."""
FOLDER = "tables"
"""Folder of the full tables in a package."""

Rows = Sequence[Sequence[Line | str]]


def table(columns: Sequence[str], rows: Iterable[Sequence[Line | str]], caption: str = "") -> Table:
    """Return a table. A ``#`` at the start of a title marks a column of numbers; it is not shown."""
    titles = tuple(TableColumn(title.removeprefix("#"), title.startswith("#")) for title in columns)
    cells = tuple(tuple((cell,) if isinstance(cell, str) else cell for cell in row) for row in rows)
    return Table(titles, cells, caption)


def table_blocks(
    full_table: Table,
    name: str,
    rows_max: int = ROWS_MAX,
    *,
    row_positions: Sequence[int] | None = None,
    rows_name: str = "first",
) -> tuple[Block, ...]:
    """Return the table with at most ``rows_max`` rows, and a note that names the file with all rows.

    ``row_positions``: positions of the rows to show if there are more; by default the first rows. ``rows_name``: name
    of these rows in the note.
    """
    if len(full_table.rows) <= rows_max:
        return (full_table,)
    positions = row_positions or range(len(full_table.rows))
    shown_rows = tuple(full_table.rows[position] for position in positions)[:rows_max]
    file = f"{FOLDER}/{name}.csv"
    note = (
        f"Shown: the {rows_name} {len(shown_rows):,} of {len(full_table.rows):,} rows. ",
        Code("assay report --bundle"),
        " writes all of them to ",
        Code(file),
        ".",
    )
    return replace(full_table, rows=shown_rows, file=file, all_rows=full_table.rows), Paragraph(note, "soft")


def table_files(document: ReportDocument) -> dict[str, bytes]:
    """Return the CSV files of all shortened tables, by name."""
    files = {}
    for short_table in tables_of(document):
        if short_table.file:
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow([column.title for column in short_table.columns])
            writer.writerows([plain_text(cell) for cell in row] for row in short_table.all_rows)
            files[short_table.file] = text.getvalue().encode()
    return files
