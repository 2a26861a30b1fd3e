"""Read the rows of a dump that mysqldump or mariadb-dump wrote.

In: the dump's text. Out: one :class:`DumpRow` for each row of each INSERT or REPLACE statement, with column names from
the statement or from the table's CREATE TABLE; and one :class:`Damage` for each part that should be a row and can't be
read. Values stay as written: text without quotes and escapes, numbers as their digits, NULL as None, hex literals as
bytes.

The syntax follows the manual of MySQL 8, chapters "String Literals" and "INSERT Statement". mysqldump writes a line
break inside a string as ``\\n``, so a string that does not end on its line is damage. This limits the effect of one
damaged byte, and makes every pass over the text linear.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from assay.foundation.errors import FormatError

Value = str | bytes | None

_NAME = r"(?:`([^`\r\n]++)`|([A-Za-z0-9_$]++))"
_QUALIFIED = rf"{_NAME}(?:\s*+\.\s*+{_NAME})?+"
_INSERT = re.compile(
    rf"(?:INSERT|REPLACE)\b(?:\s++(?:LOW_PRIORITY|DELAYED|HIGH_PRIORITY|IGNORE)\b)*+(?:\s++INTO\b)?+\s*+{_QUALIFIED}",
    re.IGNORECASE,
)
_CREATE = re.compile(
    rf"CREATE(?:\s++TEMPORARY)?+\s++TABLE\b(?:\s++IF\s++NOT\s++EXISTS\b)?+\s*+{_QUALIFIED}\s*+\(", re.IGNORECASE
)
_COLUMN_LIST = re.compile(rf"\s*+\(((?:\s*+{_NAME}\s*+,)*+\s*+{_NAME})\s*+\)")
_ONE_NAME = re.compile(_NAME)
_VALUES = re.compile(r"\s*+VALUES?\b", re.IGNORECASE)
_SINGLE = r"'([^'\\\r\n]*+(?:(?:\\[^\r\n]|'')[^'\\\r\n]*+)*+)'"
_DOUBLE = r'"([^"\\\r\n]*+(?:(?:\\[^\r\n]|"")[^"\\\r\n]*+)*+)"'
_VALUE = re.compile(
    rf"\s*+(?:(NULL)|([-+]?+(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:E[-+]?+[0-9]++)?+)(?!x)|(?:_\w++\s*+)?+{_SINGLE}|{_DOUBLE}"
    r"|(?:_binary\s*+)?+0x([0-9A-F]++)|X'([0-9A-F]*+)'|(B'[01]*+')|(TRUE|FALSE))\s*+([,)])",
    re.IGNORECASE,
)
_IN_DEFINITION = re.compile(
    rf"\s++|{_SINGLE}|{_DOUBLE}|`(?P<column>[^`\r\n]++)`|(?P<word>\w++)|(?P<mark>[(),;])|(?P<other>.)", re.DOTALL
)
_NO_COLUMN: Final = frozenset(
    {"PRIMARY", "UNIQUE", "KEY", "INDEX", "CONSTRAINT", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK", "PERIOD"}
)
_ROWS_BEGIN = re.compile(r"\bVALUES?\s*+\(", re.IGNORECASE)
_LINE_OF_ROWS = re.compile(r"^(?:INSERT|REPLACE)\b", re.IGNORECASE | re.MULTILINE)
_BLANK = re.compile(r"[\s;]++")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_HEADER = re.compile(r"-- (?:MySQL|MariaDB) dump ")
_END = re.compile(r"^-- Dump completed", re.MULTILINE)
_HEAD_CHARACTERS: Final = 4096
"""Number of characters in which a dump's header, or the start of rows in an unknown statement, is searched."""
_SHOWN_CHARACTERS: Final = 24
"""Maximum length of damaged text in a message, in characters."""


@dataclass(frozen=True, slots=True)
class DumpRow:
    """One row of a table."""

    table: str
    columns: tuple[str, ...]
    values: tuple[Value, ...]
    line: int
    number: int
    """Position of the row among its table's rows in this dump, from 1."""

    def texts(self) -> dict[str, str]:
        """Return the row's values by column, without those that are NULL or bytes."""
        return {
            column: value for column, value in zip(self.columns, self.values, strict=True) if isinstance(value, str)
        }


@dataclass(frozen=True, slots=True)
class Damage:
    """A part of a dump that can't be read."""

    line: int
    table: str
    """Empty if the damage belongs to no table."""
    why: str


def is_dump(head: bytes) -> bool:
    """Return whether a file that starts with ``head`` was written by mysqldump or mariadb-dump."""
    return _HEADER.search(head[:_HEAD_CHARACTERS].decode("latin-1")) is not None


def rows_of(text: str, *, source: str, tables: Collection[str] | None = None) -> Iterator[DumpRow | Damage]:
    """Yield the rows of ``tables`` (None: of all tables) and the damage, in the order of the text.

    If a part can't be parsed, the rest of its line is skipped. Raises :class:`FormatError` if the text contains no
    table.
    """
    reader = _SqlReader(text, tables)
    yield from reader.read()
    if not reader.has_table:
        raise FormatError("there is no CREATE TABLE and no INSERT in it", where=source, hint="is it a dump of MySQL?")


def _joined_name(groups: tuple[str | None, ...]) -> str:
    """Return the table of ``database.table`` or ``table``, from the four groups of a qualified name."""
    first, second = groups[0] or groups[1], groups[2] or groups[3]
    return second or first or ""


def _unescaped(text: str, quote: str) -> str:
    """Return a quoted text without its escapes."""
    undoubled = text.replace(quote * 2, quote) if quote in text else text
    return _ESCAPE.sub(_one_character, undoubled) if "\\" in undoubled else undoubled


def _one_character(match: re.Match[str]) -> str:
    letter = match.group(1)
    return _ESCAPED.get(letter, letter)


def _value(match: re.Match[str]) -> Value:
    null, number, single, double, digits, quoted_digits, bits, truth, _ = match.groups()
    if null:
        return None
    if number:
        return number
    if single is not None:
        return _unescaped(single, "'")
    if double is not None:
        return _unescaped(double, '"')
    if bits:
        return bits[2:-1]
    if truth:
        return "1" if truth.upper() == "TRUE" else "0"
    hexadecimal = digits or quoted_digits or ""
    return bytes.fromhex(hexadecimal if len(hexadecimal) % 2 == 0 else f"0{hexadecimal}")


@dataclass(slots=True)
class _SqlReader:
    """A reader that passes over the text once. ``columns``: the columns of the tables defined so far."""

    text: str
    tables: Collection[str] | None
    position: int = 0
    line: int = 1
    counted_until: int = 0
    has_table: bool = False
    comment_end: int = -1
    """End of the comment after ``position``; kept, so that no part of the text is searched twice."""
    rows_begin: int = -1
    """Start of the next INSERT, kept for the same reason."""
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)

    def read(self) -> Iterator[DumpRow | Damage]:
        text, length = self.text, len(self.text)
        while self.position < length:
            if blank := _BLANK.match(text, self.position):
                self.position = blank.end()
            elif text.startswith(("--", "#"), self.position):
                self.to_next_line()
            elif text.startswith("/*", self.position):
                yield from self.comment()
            elif match := _CREATE.match(text, self.position):
                yield from self.definition(match)
            elif match := _INSERT.match(text, self.position):
                yield from self.insert(match)
            else:
                yield from self.skip_unknown()
        if _HEADER.search(text, 0, _HEAD_CHARACTERS) and not _END.search(text):
            yield Damage(self.line_of(length), "", 'the dump has no "Dump completed" line: it was cut off')

    def line_of(self, position: int) -> int:
        """Return the line of ``position``, which must not decrease from call to call."""
        self.line += self.text.count("\n", self.counted_until, position)
        self.counted_until = max(position, self.counted_until)
        return self.line

    def to_next_line(self) -> None:
        end = self.text.find("\n", self.position)
        self.position = len(self.text) if end < 0 else end + 1

    def is_selected(self, table: str) -> bool:
        return self.tables is None or table in self.tables

    def skip_unknown(self) -> Iterator[Damage]:
        """Skip a line that starts no known statement; report it if it seems to contain rows."""
        begin = self.position
        self.to_next_line()
        if _ROWS_BEGIN.search(self.text, begin, min(self.position, begin + _HEAD_CHARACTERS)):
            excerpt = self.text[begin : begin + _SHOWN_CHARACTERS]
            yield Damage(
                self.line_of(begin),
                "",
                f"has rows, but {excerpt!r} does not begin a known statement: the rows are not imported",
            )

    def comment(self) -> Iterator[Damage]:
        """Skip a comment.

        A comment that MySQL executes (``/*!``) and that contains an INSERT lacks its end, which is damage.
        """
        text, begin = self.text, self.position
        if self.comment_end < begin + 2:
            end = text.find("*/", begin + 2)
            self.comment_end = len(text) if end < 0 else end
        if self.rows_begin < begin:
            match = _LINE_OF_ROWS.search(text, begin)
            self.rows_begin = match.start() if match else len(text)
        if self.comment_end == len(text):
            yield Damage(self.line_of(begin), "", "a comment does not end: nothing after it is imported")
            self.position = len(text)
        elif text.startswith("/*!", begin) and self.rows_begin < self.comment_end:
            yield Damage(self.line_of(begin), "", "a comment does not end before the next INSERT")
            self.to_next_line()
        else:
            self.position = self.comment_end + 2

    def definition(self, match: re.Match[str]) -> Iterator[Damage]:
        """Read the columns of a CREATE TABLE. An unquoted semicolon or the end of the text within it is damage."""
        self.has_table = True
        table, line = _joined_name(match.groups()), self.line_of(match.start())
        names: list[str] = []
        depth, expects_name, self.position = 1, True, match.end()
        while depth and (token := _IN_DEFINITION.match(self.text, self.position)):
            self.position = token.end()
            mark, name = token["mark"], token["column"] or token["word"]
            if mark == ";" or token["other"] in ("'", '"'):
                break
            depth += {"(": 1, ")": -1}.get(mark or "", 0)
            if mark == "," and depth == 1:
                expects_name = True
            elif expects_name and not token.group().isspace():
                expects_name = False
                if name and (token["column"] or name.upper() not in _NO_COLUMN):
                    names.append(name)
        is_complete = depth == 0 and names and len(set(names)) == len(names)
        self.columns[table] = tuple(names) if is_complete else ()
        if not is_complete and self.is_selected(table):
            yield Damage(line, table, "the definition of its columns can't be read")

    def insert(self, match: re.Match[str]) -> Iterator[DumpRow | Damage]:
        self.has_table = True
        table = _joined_name(match.groups())
        if not self.is_selected(table):
            if table not in self.columns:
                why = "the dump does not define this table: its rows are not imported"
                yield Damage(self.line_of(match.start()), table, why)
            self.to_next_line()
            return
        self.position = match.end()
        columns = self.columns.get(table, ())
        if column_list := _COLUMN_LIST.match(self.text, self.position):
            columns = tuple(name[0] or name[1] for name in _ONE_NAME.findall(column_list.group(1)))
            self.position = column_list.end()
        values = _VALUES.match(self.text, self.position)
        if not values or not columns:
            why = "the columns are unknown" if values else "this form of INSERT is not read"
            yield Damage(self.line_of(match.start()), table, f"{why}: its rows are not imported")
            self.to_next_line()
            return
        self.position = values.end()
        yield from self.rows(table, columns)

    def rows(self, table: str, columns: tuple[str, ...]) -> Iterator[DumpRow | Damage]:
        """Yield the rows of a statement whose VALUES was just read, and advance past its end."""
        text = self.text
        while True:
            if blank := _BLANK.match(text, self.position):
                self.position = blank.end()
            begin = self.position
            self.numbers[table] = number = self.numbers.get(table, 0) + 1
            values = self.one_row()
            line = self.line_of(begin)
            if isinstance(values, str):
                yield Damage(line, table, f"row {number} {values}")
                if not text.startswith("(", begin):
                    return
                self.to_next_line()
                blank = _BLANK.match(text, self.position)
                if not text.startswith("(", blank.end() if blank else self.position):
                    return
                continue
            if len(values) == len(columns):
                yield DumpRow(table, columns, values, line, number)
            else:
                yield Damage(line, table, f"row {number} has {len(values)} values for {len(columns)} columns")
            end = _BLANK.match(text, self.position)
            position, is_closed = (end.end(), ";" in end.group()) if end else (self.position, False)
            if is_closed:
                self.position = position
                return
            if text.startswith(",", position):
                self.position = position + 1
                continue
            if position >= len(text):
                yield Damage(line, table, f"the statement ends after row {number} without a semicolon: it was cut off")
            elif not re.match(r"(?:ON|AS)\b", text[position : position + 3], re.IGNORECASE):
                excerpt = text[position : position + _SHOWN_CHARACTERS]
                yield Damage(
                    line, table, f"row {number} is followed by {excerpt!r}: the rest of the line is not imported"
                )
            self.position = position
            if not (end and "\n" in end.group()):
                self.to_next_line()
            return

    def one_row(self) -> tuple[Value, ...] | str:
        """Return the row at the current position and advance, or return why it is not a row."""
        text = self.text
        if not text.startswith("(", self.position):
            excerpt = text[self.position : self.position + _SHOWN_CHARACTERS]
            return f"should begin at {excerpt!r}" if excerpt else "is missing: the file was cut off"
        position, values = self.position + 1, []
        while match := _VALUE.match(text, position):
            values.append(_value(match))
            position = match.end()
            if text[position - 1] == ")":
                self.position = position
                return tuple(values)
        excerpt = text[position : position + _SHOWN_CHARACTERS]
        return f"can't be read at {excerpt!r}: the rest of the line is not imported" if excerpt else "was cut off"
