"""Escape CSV cells that a spreadsheet would execute as a formula, for example ``=cmd|' /C calc'!A0``.

Text that looks like a formula, also after apostrophes, gets an apostrophe in front. The import removes one apostrophe,
which restores every text. Signed numbers are not escaped.
"""

import re
from typing import Any

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")


def escaped_cell(value: Any) -> Any:
    """Return the value of a cell as written: text that looks like a formula gets an apostrophe in front."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value) else value


def unescaped_text(cell: str) -> str:
    """Return the original text of a cell that :func:`escaped_cell` wrote."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
