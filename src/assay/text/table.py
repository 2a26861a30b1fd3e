"""Define a table of text cells; interfaces decide on its layout."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_FIGURE = re.compile(r"–|absent|-?[0-9][0-9.,]*(?:×| [%A-Za-z/]+)?(?: \([0-9.,]+ to [0-9.,]+\))?")


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table with a title and notes. Without headers, the first column names the row."""

    title: str
    headers: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of_pairs(cls, title: str, values: Mapping[str, str]) -> TextTable:
        """Return a table of names and values."""
        return cls(title, (), tuple(values.items()))

    @property
    def right_aligned(self) -> tuple[bool, ...]:
        """Whether each column is right-aligned, because it has only numbers."""
        return tuple(
            all(not cell or _FIGURE.fullmatch(cell) for cell in column) for column in zip(*self.rows, strict=True)
        )

    def first(self, count: int) -> TextTable:
        """Return the table with its first rows."""
        return TextTable(self.title, self.headers, self.rows[:count], self.notes)

    def __bool__(self) -> bool:
        """Return whether the table has rows or notes."""
        return bool(self.rows or self.notes)
