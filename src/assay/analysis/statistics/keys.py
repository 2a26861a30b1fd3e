"""Group the rows of a table: codes of several columns are combined into one number per row, in array operations.

In: a :class:`~run_table.RunTable` and names of columns. Out: dense group numbers (0, 1, 2, …), sums and medians by
group. There are no loops over rows: a million rows take a fraction of a second.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.statistics.arrays import Floats, Ints, Mask
from assay.analysis.statistics.runs.factors_of_runs import (
    FACTOR_SYNONYMS,
    LAYOUT_DEVICES,
    SIZE_OPTIONS,
    layouts_on_hard_disks,
)
from assay.analysis.statistics.runs.run_table import ABSENT, Column, RunTable
from assay.foundation.errors import SpecificationError, did_you_mean
from assay.model import LAYOUT_FACTOR, RunStatus

_RADIX_MAX = 2**62
"""Maximum number of combinations of levels that one integer can number."""
_LOG_SPAN = 64.0
"""Range of packed logarithms of seconds: fixed point in [-32, 32), in the bits that group numbers do not use."""
_LOG_BITS_MAX = 48
"""Maximum number of bits of a packed logarithm."""


@dataclass(frozen=True, slots=True)
class Groups:
    """A group number for each row, 0 … ``count`` - 1, without gaps."""

    of_row: Ints
    count: int


def _dense(key: Ints, size: int) -> tuple[Ints, int]:
    """Return keys below ``size`` as numbers without gaps, in the same order, and the number of distinct keys."""
    if size <= 4 * len(key) + 1024:  # a lookup table of all possible keys is cheaper than sorting
        is_used = np.zeros(size, dtype=np.bool_)
        is_used[key] = True
        number = np.cumsum(is_used, dtype=np.int64) - 1
        return number[key], int(number[-1]) + 1 if size else 0
    bits = len(key).bit_length()
    if size > _RADIX_MAX >> bits:
        levels, dense = np.unique(key, return_inverse=True)
        return dense.astype(np.int64, copy=False), len(levels)
    packed = (key << bits) | np.arange(len(key))  # one sort of combined numbers is faster
    packed.sort()
    row = packed & (2**bits - 1)
    packed >>= bits
    number = np.zeros(len(key), dtype=np.int64)
    np.cumsum(packed[1:] != packed[:-1], out=number[1:])
    dense = np.empty_like(number)
    dense[row] = number
    return dense, int(number[-1]) + 1 if len(key) else 0


def groups_by(table: RunTable, names: Sequence[str]) -> Groups:
    """Return one group for each existing combination of levels of ``names``; an absent level counts as a level."""
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


def first_rows(groups: Groups) -> Ints:
    """Return the first row of each group."""
    first = np.zeros(groups.count, dtype=np.int64)
    first[groups.of_row[::-1]] = np.arange(len(groups.of_row))[::-1]
    return first


def merged_groups(table: RunTable, groups: Groups, names: Sequence[str], first: Ints | None = None) -> Groups:
    """Return :func:`groups_by` for some of the columns that define ``groups``, but faster.

    ``first``: the groups' :func:`first_rows`, if the caller has them.
    """
    first = first_rows(groups) if first is None else first
    columns = {name: Column(table.columns[name].codes[first], table.columns[name].levels) for name in names}
    level_groups = groups_by(RunTable(table.rows[first], columns, {}), names)
    return Groups(level_groups.of_row[groups.of_row], level_groups.count)


def level_of_group(column: Column, groups: Groups) -> Ints:
    """Return each group's code in ``column``, which must be one of the columns that define the groups."""
    levels = np.full(groups.count, ABSENT, dtype=np.int64)
    levels[groups.of_row] = column.codes
    return levels


def _packed(logs: Floats, groups: Groups) -> tuple[Ints, int]:
    bits = min(_LOG_BITS_MAX, 62 - int(groups.count).bit_length())
    fixed_point = logs + _LOG_SPAN / 2
    fixed_point *= 2.0**bits / _LOG_SPAN
    np.clip(fixed_point, 0, 2.0**bits - 1, out=fixed_point)
    packed = groups.of_row << bits
    packed |= fixed_point.astype(np.int64)
    packed.sort()
    return packed, bits


def _unpacked(packed: Ints, bits: int) -> Floats:
    values: Floats = ((packed & (2**bits - 1)) + 0.5) * (_LOG_SPAN / 2.0**bits)
    values -= _LOG_SPAN / 2
    return values


def sorted_within(logs: Floats, groups: Groups) -> tuple[Floats, Ints]:
    """Return ``logs`` and their groups, sorted by group, then by value: one sort of packed integers.

    Values are rounded to about 1e-11; use the original column for exact times.
    """
    packed, bits = _packed(logs, groups)
    return _unpacked(packed, bits), packed >> bits


def median_by(logs: Floats, groups: Groups) -> Floats:
    """Return the median of ``logs`` in each group, to about 1e-11; NaN for a group without values."""
    sizes = np.bincount(groups.of_row, minlength=groups.count)
    if len(logs) == 0:
        return np.full(groups.count, np.nan)
    packed, bits = _packed(logs, groups)
    starts = np.minimum(np.cumsum(sizes) - sizes, len(packed) - 1)
    low, high = starts + np.maximum(sizes - 1, 0) // 2, np.minimum(starts + sizes // 2, len(packed) - 1)
    medians: Floats = (_unpacked(packed[low], bits) + _unpacked(packed[high], bits)) / 2
    medians[sizes == 0] = np.nan
    return medians


def same_work(table: RunTable) -> list[str]:
    """Return the columns that are equal for runs that did the same work: workload, size, origin."""
    sizes = (name for name in table.columns if name.endswith(SIZE_OPTIONS))
    return [*(name for name in ("workload", "data_bytes", "origin", "lab_scale") if name in table.columns), *sizes]


def usable(table: RunTable) -> Mask:
    """Return which runs count: valid, with a positive finite duration."""
    duration_s = table.values["duration_s"]
    with np.errstate(invalid="ignore"):
        has_duration = (duration_s > 0) & np.isfinite(duration_s)
    return has_duration & has_level(table, "status", RunStatus.VALID.value)


def has_level(table: RunTable, name: str, level: str) -> Mask:
    """Return which rows have ``level`` in column ``name``; none if no run has this column or level."""
    column = table.columns.get(name)
    code = ABSENT if column is None else column.code(level)
    if column is None or code == ABSENT:
        return np.zeros(len(table), dtype=np.bool_)
    rows: Mask = column.codes == code
    return rows


def warm_among_cold(table: RunTable, groups: Groups, is_counted: Mask) -> Mask:
    """Return which counted rows are warm while their group has counted rows with caches proven cold."""
    is_warm = has_level(table, "cold", "warm") & is_counted
    if not is_warm.any():
        return is_warm
    is_cold = has_level(table, "cold", "cold") & is_counted
    has_cold = np.zeros(groups.count, dtype=np.bool_)
    has_cold[groups.of_row[is_cold]] = True
    return is_warm & has_cold[groups.of_row]


def require_factor(
    table: RunTable, name: str, questions: Sequence[str] = (), synonyms: Mapping[str, str] = FACTOR_SYNONYMS
) -> Column:
    """Return the column of a factor. Raises SpecificationError, with the existing names, if no run has it.

    ``questions``: names that the caller accepts besides factors; the error lists them first. ``synonyms``: a word in
    lower case to the name that it means.
    """
    if name not in table.factors:
        factors_text = ", ".join(sorted(table.factors)) or "none: the table is empty"
        suggestion = did_you_mean(name, [*questions, *table.factors], synonyms)
        questions_text = f"questions: {', '.join(questions)}; " if questions else ""
        raise SpecificationError(
            f"no run has a factor {name!r}", hint=f"{suggestion}{questions_text}factors of these runs: {factors_text}"
        )
    return table.columns[name]


def hard_disk_layouts(table: RunTable) -> frozenset[str]:
    """Return the layouts that only use local hard disks."""
    names = (LAYOUT_FACTOR, LAYOUT_DEVICES)
    if not all(name in table.columns for name in names):
        return frozenset()
    layout, devices = (table.columns[name] for name in names)
    return layouts_on_hard_disks(
        (layout.text(int(row)), devices.text(int(row))) for row in first_rows(groups_by(table, names))
    )


def combined(table: RunTable, names: Sequence[str], joint: str | None = None) -> RunTable:
    """Return ``table`` with ``names`` as one factor, its levels joined by `` + ``: ``SSD + IB``.

    A row without a level of one factor has no level of the joint factor. The single factors are removed, because they
    follow from the joint factor.
    """
    columns = [require_factor(table, name) for name in names]
    groups = groups_by(table, names)
    codes_of_groups = [level_of_group(column, groups) for column in columns]
    is_present = np.logical_and.reduce([codes != ABSENT for codes in codes_of_groups])
    number = np.where(is_present, np.cumsum(is_present) - 1, ABSENT)
    levels = tuple(
        " + ".join(column.levels[int(codes[group])] for column, codes in zip(columns, codes_of_groups, strict=True))
        for group in np.flatnonzero(is_present)
    )
    other_columns = {name: column for name, column in table.columns.items() if name not in names}
    joint_column = Column(number[groups.of_row].astype(np.int32), levels)
    return replace(table, columns={**other_columns, joint or " + ".join(names): joint_column})
