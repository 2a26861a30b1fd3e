"""Split a table's text: its separator, its mapped columns, and its rows with their lines.

In: a file, and the names of the needed columns. Out: rows, in blocks. They are split as in
:mod:`assay.store.formats.tables.columns` up to the first quotation mark, and as CSV from there on.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final

from assay.foundation.errors import FormatError
from assay.model import SkippedItem
from assay.specs.fields import unknown
from assay.store.formats.source import LINE_BYTES_MAX, Source
from assay.store.formats.tables.columns import lines_of, pieces_of
from assay.store.formats.tables.mapped_rows import is_number, shows_comma

SEPARATORS: Final = ",\t;|"
_ROWS_AT_ONCE: Final = 20_000
"""Maximum number of rows that are in memory as texts at a time."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Consecutive rows, including blank rows."""

    numbers: Sequence[int]
    """Line numbers of the rows."""
    lines: Sequence[str] | None
    """Texts of the rows if no row has a quotation mark."""
    cells: Sequence[list[str] | str] = ()
    """If ``lines`` is None: each row's cells or, in place of invalid cells, the reason. Invalid cells may be too large
    to store."""

    def rows_one_by_one(self, separator: str, width: int) -> Iterator[tuple[int, list[str] | str]]:
        """Yield each row that is not blank: its line, with its cells or the reason why they are invalid."""
        if self.lines is None:
            yield from zip(self.numbers, self.cells, strict=True)
            return
        for number, line in zip(self.numbers, self.lines, strict=True):
            if line and not is_blank(cells := line.split(separator)):
                yield number, cells if len(cells) == width else _width_problem(cells, width)


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table with its header."""

    name: str
    text: str = field(repr=False)
    separator: str
    width: int
    columns: Mapping[str, int]
    """The column of each mapped field."""

    def rows(self) -> Iterator[Rows | SkippedItem]:
        """Yield the rows below the header, and finally the part that can't be read."""
        is_below_header = False
        pieces = pieces_of(self.text)
        for first_line, piece in pieces:
            lines = lines_of(piece)
            numbers = range(first_line, first_line + len(lines))
            if '"' in piece or "\r" in piece or max(map(len, lines)) > csv.field_size_limit():
                yield from self._quoted(
                    chain([piece], (later_piece for _, later_piece in pieces)), first_line, is_below_header
                )
                return
            if not is_below_header:
                header = next(
                    (index for index, line in enumerate(lines) if not is_blank(line.split(self.separator))), None
                )
                if header is None:
                    continue
                is_below_header, numbers, lines = True, numbers[header + 1 :], lines[header + 1 :]
            if lines:
                yield Rows(numbers, lines)

    def _quoted(self, pieces: Iterator[str], first_line: int, is_below_header: bool) -> Iterator[Rows | SkippedItem]:
        """Yield the remaining rows as CSV. ``is_below_header``: whether the header was read."""
        text = chain.from_iterable(io.StringIO(piece, newline="") for piece in pieces)
        reader = _Csv(self.name, text, self.separator, self.width, first_line)
        rows = islice(reader.rows(), 0 if is_below_header else 1, None)
        while block := list(islice(rows, _ROWS_AT_ONCE)):
            yield Rows([number for number, _ in block], None, [cells for _, cells in block])
        if reader.unreadable_part:
            yield reader.unreadable_part

    def rows_one_by_one(self) -> Iterator[tuple[int, list[str] | str] | SkippedItem]:
        """Yield the rows one by one."""
        for rows in self.rows():
            if isinstance(rows, SkippedItem):
                yield rows
            else:
                yield from rows.rows_one_by_one(self.separator, self.width)

    def has_decimal_commas(self) -> bool:
        """Return whether a number of the table proves that a comma separates decimals."""
        if "," not in self.text or (self.separator == "," and '"' not in self.text):
            return False
        number_columns = [column for name, column in self.columns.items() if is_number(name)]
        rows = (
            row[1] for row in self.rows_one_by_one() if not isinstance(row, SkippedItem) and not isinstance(row[1], str)
        )
        return any(shows_comma(cells[column].strip()) for cells in rows for column in number_columns)


class _Csv:
    """A reader of rows as CSV that records the location of an error, and its reason."""

    def __init__(self, name: str, lines: Iterator[str], separator: str, width: int, first_line: int) -> None:
        self._name = name
        self._lines = lines
        self._reader = csv.reader(lines, delimiter=separator, strict=True)
        self._width = width
        self._first_line = first_line
        self.unreadable_part: SkippedItem | None = None

    def rows(self) -> Iterator[tuple[int, list[str] | str]]:
        """Yield each row that is not blank: its line, with its cells or the reason why they are invalid."""
        begin = self._first_line
        try:
            for cells in self._reader:
                if not is_blank(cells):
                    yield begin, cells if len(cells) == self._width else _width_problem(cells, self._width)
                begin = self._first_line + self._reader.line_num
        except csv.Error as error:
            lines = self._first_line + self._reader.line_num - begin + sum(1 for _ in self._lines)
            reason = "a quote that opens in this line is never closed" if "end of data" in str(error) else str(error)
            count = f"{lines} lines" if lines > 1 else "1 line"
            self.unreadable_part = SkippedItem(
                f"{self._name}:{begin}", f"can't be read from here on, {count}: {reason}"
            )


def is_blank(cells: Sequence[str]) -> bool:
    """Return whether all cells of a row are blank."""
    return not any(cell.strip() for cell in cells)


def _width_problem(cells: list[str], width: int) -> str:
    lines = 1 + sum(cell.count("\n") for cell in cells)
    continuation = f", and continues for {lines} lines: a quote in it is closed too late" if lines > 1 else ""
    return f"has {len(cells)} cells, the header {width}{continuation}"


def open_table(source: Source, mapping: Mapping[str, str]) -> OpenTable:
    """Open a table with these columns. Raises :class:`FormatError` for a file without them."""
    source.check_lines(LINE_BYTES_MAX)
    text = source.text()
    first_line = next((line for line in text.splitlines() if line.strip()), "")
    if not first_line:
        raise FormatError("is empty", where=source.name)
    names = {separator: _header(first_line, separator) for separator in SEPARATORS}
    separator = next((s for s in SEPARATORS if set(mapping) <= set(names[s])), None)
    if separator is None:
        likely_separator = max(SEPARATORS, key=lambda s: len(names[s]))
        column = next(column for column in mapping if column not in names[likely_separator])
        raise FormatError(unknown("column", column, names[likely_separator][:50]), where=f"{source.name}:1")
    header = names[separator]
    for column in mapping:
        if header.count(column) > 1:
            raise FormatError(f"has {header.count(column)} columns named {column!r}", where=f"{source.name}:1")
    columns = {name: header.index(column) for column, name in mapping.items()}
    return OpenTable(source.name, text, separator, len(header), columns)


def _header(line: str, separator: str) -> list[str]:
    """Return the names of the columns; empty if the line can't be read as CSV with this separator."""
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, strict=True))]
    except (csv.Error, StopIteration):
        return []
