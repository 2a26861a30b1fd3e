"""Which rows of a table belong together: codes of many columns combined into one number a row, in array operations.

In: a :class:`~assay.analysis.table.RunTable` and names of columns. Out: dense group numbers (0, 1, 2, …), sums and
medians by group. Nothing here loops over rows: a million of them take a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.table import ABSENT, Column, RunTable
from assay.errors import SpecificationError
from assay.model.run import RunStatus

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_RADIX_MAX = 2**62
_LOG_BITS = 32
_LOG_SPAN = 64.0
"""Logarithms of seconds are packed as 32-bit fixed point in [-32, 32): a resolution of 1.5e-8."""


@dataclass(frozen=True, slots=True)
class Groups:
    """A group number for each row, 0 … ``count`` - 1, without gaps."""

    of_row: Ints
    count: int


def _dense(key: Ints, size: int) -> tuple[Ints, int]:
    if size <= 4 * len(key) + 1024:  # a table of all possible keys is cheaper than sorting
        seen = np.zeros(size, dtype=np.bool_)
        seen[key] = True
        number = np.cumsum(seen, dtype=np.int64) - 1
        return number[key], int(number[-1]) + 1 if size else 0
    levels, dense = np.unique(key, return_inverse=True)
    return dense.astype(np.int64, copy=False), len(levels)


def groups_by(table: RunTable, names: Sequence[str]) -> Groups:
    """Return one group for each combination of levels of ``names`` that occurs; an absent level is a level too."""
    key = np.zeros(len(table), dtype=np.int64)
    size = 1
    for name in names:
        column = table.columns[name]
        levels = len(column.levels) + 1
        if size * levels > _RADIX_MAX:
            key, size = _dense(key, size)
        key *= levels
        key += column.codes
        key += 1
        size *= levels
    return Groups(*_dense(key, size))


def level_of_group(column: Column, groups: Groups) -> Ints:
    """Return each group's code in ``column``, which must be one that the groups were made by."""
    found = np.full(groups.count, ABSENT, dtype=np.int64)
    found[groups.of_row] = column.codes
    return found


def median_by(logs: Floats, groups: Groups) -> Floats:
    """Return the median of ``logs`` in each group, to 1.5e-8: one sort of packed integers instead of two of rows."""
    scale = 2.0**_LOG_BITS / _LOG_SPAN
    fixed = np.clip((logs + _LOG_SPAN / 2) * scale, 0, 2.0**_LOG_BITS - 1).astype(np.int64)
    packed = np.sort((groups.of_row << _LOG_BITS) | fixed)
    sizes = np.bincount(groups.of_row, minlength=groups.count)
    starts = np.cumsum(sizes) - sizes
    low, high = starts + (sizes - 1) // 2, starts + sizes // 2
    values = packed & (2**_LOG_BITS - 1)
    middle: Floats = (values[low] + values[high]) / (2 * scale) - _LOG_SPAN / 2
    return middle


def usable(table: RunTable) -> Mask:
    """Return which runs count: valid, with a positive finite duration."""
    duration_s = table.values["duration_s"]
    with np.errstate(invalid="ignore"):
        timed = (duration_s > 0) & np.isfinite(duration_s)
    return timed & has_level(table, "status", RunStatus.VALID.value)


def has_level(table: RunTable, name: str, level: str) -> Mask:
    """Return which rows have ``level`` in column ``name``; none when there is no such column or level."""
    column = table.columns.get(name)
    code = ABSENT if column is None else column.code(level)
    if column is None or code == ABSENT:
        return np.zeros(len(table), dtype=np.bool_)
    found: Mask = column.codes == code
    return found


def warm_beside_cold(table: RunTable, groups: Groups, counted: Mask) -> Mask:
    """Return which counted rows are warm while their group has counted rows with caches proven cold."""
    warm = has_level(table, "cold", "warm") & counted
    if not warm.any():
        return warm
    cold = has_level(table, "cold", "cold") & counted
    some_cold = np.zeros(groups.count, dtype=np.bool_)
    some_cold[groups.of_row[cold]] = True
    return warm & some_cold[groups.of_row]


def require_factor(table: RunTable, name: str) -> Column:
    """Return the column of a factor. SpecificationError, with the names that there are, when no run has it."""
    if name not in table.factors:
        known = ", ".join(sorted(table.factors)) or "none: the table is empty"
        raise SpecificationError(f"no run has a factor {name!r}", hint=f"factors of these runs: {known}")
    return table.columns[name]


def combined(table: RunTable, names: Sequence[str], joint: str | None = None) -> RunTable:
    """Return ``table`` with ``names`` as one factor, its levels joined by `` + ``: ``SSD + IB``.

    A row that lacks one of them lacks the joint factor. The single factors are gone: they follow from the joint one.
    """
    columns = [require_factor(table, name) for name in names]
    groups = groups_by(table, names)
    of_group = [level_of_group(column, groups) for column in columns]
    present = np.logical_and.reduce([codes != ABSENT for codes in of_group])
    number = np.where(present, np.cumsum(present) - 1, ABSENT)
    levels = tuple(
        " + ".join(column.levels[int(codes[group])] for column, codes in zip(columns, of_group, strict=True))
        for group in np.flatnonzero(present)
    )
    rest = {name: column for name, column in table.columns.items() if name not in names}
    joint_column = Column(number[groups.of_row].astype(np.int32), levels)
    return RunTable(table.rows, {**rest, joint or " + ".join(names): joint_column}, table.values)
