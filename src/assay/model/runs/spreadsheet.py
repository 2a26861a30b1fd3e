"""Texts in cells of CSV that a spreadsheet would take for a formula and run, such as ``=cmd|' /C calc'!A0``.

What begins so goes out with an apostrophe in front, and so does what has apostrophes before it already, so that taking
one away on the way in gives back every text. A number with a sign is none of these.
"""

import re
from typing import Any

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")


def escaped_cell(value: Any) -> Any:
    """Return a cell's value as it is written: a text that looks like a formula with an apostrophe in front."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value) else value


def unescaped_text(cell: str) -> str:
    """Return the text that :func:`escaped_cell` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
