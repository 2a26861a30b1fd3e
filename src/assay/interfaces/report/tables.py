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
    plain,
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


def shortened(
    full: Table, name: str, rows_max: int = ROWS_MAX, *, chosen: Sequence[int] | None = None, which: str = "first"
) -> tuple[Block, ...]:
    """Return the table with at most ``rows_max`` rows, and a note that names the file with all rows.

    ``chosen``: positions of the rows to show if there are more; by default the first rows. ``which`` names these rows
    in the note.
    """
    if len(full.rows) <= rows_max:
        return (full,)
    shown = tuple(full.rows[at] for at in chosen or range(len(full.rows)))[:rows_max]
    file = f"{FOLDER}/{name}.csv"
    note = (
        f"Shown: the {which} {len(shown):,} of {len(full.rows):,} rows. ",
        Code("assay report --bundle"),
        " writes all of them to ",
        Code(file),
        ".",
    )
    return replace(full, rows=shown, file=file, all_rows=full.rows), Paragraph(note, "soft")


def table_files(document: ReportDocument) -> dict[str, bytes]:
    """Return the CSV files of all shortened tables, by name."""
    files = {}
    for shown in tables_of(document):
        if shown.file:
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow([column.title for column in shown.columns])
            writer.writerows([plain(cell) for cell in row] for row in shown.all_rows)
            files[shown.file] = text.getvalue().encode()
    return files
