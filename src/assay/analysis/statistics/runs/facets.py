"""Select runs by conditions, count the runs of each further level, and return one page of runs in some order.

In: runs as a table; conditions as levels by column: in every column, a run must have one of the levels. Out: masks,
counts and positions. A facet counts the runs that match all conditions except its own, so a count is the number of runs
after a level is added or exchanged. Array operations only: a million runs take a fraction of a second.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics.arrays import Floats, Ints, Mask
from assay.analysis.statistics.runs.factors_of_runs import FACTOR_SYNONYMS
from assay.analysis.statistics.runs.run_table import ABSENT, Column, RunTable
from assay.foundation.errors import SpecificationError, did_you_mean
from assay.text import level_text

Conditions = Mapping[str, Sequence[str]]
_LEVELS_MAX = 40
"""Maximum number of levels in a facet by default, and in a message."""
_TEXT_LENGTH_MAX = 100
"""Maximum length of a name or level in a message, in characters."""


@dataclass(frozen=True, slots=True)
class LevelCount:
    """One level of a facet with the number of runs that it would select, and whether it is selected now."""

    level: str
    runs: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """One column with its levels: numbers in ascending order, other levels by number of runs."""

    column: str
    levels: tuple[LevelCount, ...]
    more_levels: int
    """Number of levels that are not listed because there are too many, for example ids of campaigns."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the runs that match."""

    total: int
    offset: int
    positions: tuple[int, ...]
    """Rows of the table, in the requested order."""


def conditions_of(where: Sequence[str], option: str = "--where") -> dict[str, list[str]]:
    """Return the conditions in ``COLUMN=LEVEL`` texts. Several levels of one column are alternatives.

    Raises :class:`SpecificationError` for a text of another form; the message names ``option``.
    """
    conditions: dict[str, list[str]] = {}
    for condition in filter(None, where):  # a form sends an empty text if nothing is chosen
        name, equals, level = condition.partition("=")
        if not equals or not name:
            raise SpecificationError(
                f"{condition!r} is not COLUMN=LEVEL", where=option, hint="write for example layout=SSD"
            )
        conditions.setdefault(name, []).append(level)
    return conditions


def matching(table: RunTable, conditions: Conditions, option: str = "--where") -> Mask:
    """Return which runs have, in every named column, one of the named levels.

    Raises :class:`SpecificationError`, with the choices, for a column or level that no run has.
    """
    keep = np.ones(len(table), dtype=np.bool_)
    for name, levels in conditions.items():
        keep &= _has_any_level(table, name, levels, option)
    return keep


def _has_any_level(table: RunTable, name: str, levels: Sequence[str], option: str) -> Mask:
    column = table.columns.get(name)
    if column is None:
        raise SpecificationError(
            f"no run has a column {name[:_TEXT_LENGTH_MAX]!r}",
            where=f"{option} {name[:_TEXT_LENGTH_MAX]}",
            hint=f"{did_you_mean(name, table.columns, FACTOR_SYNONYMS)}columns: {', '.join(sorted(table.columns))}",
        )
    matching_rows = np.zeros(len(table), dtype=np.bool_)
    for level in levels:
        if level not in column.levels:
            hint = f"{_hint_for_several_levels(name, level, column)}{did_you_mean(level, column.levels)}"
            names = ", ".join(_named_level(name, shown) for shown in column.levels[:_LEVELS_MAX])
            raise SpecificationError(
                f"no run has {name} {level[:_TEXT_LENGTH_MAX]!r}",
                where=f"{option} {name}={level[:_TEXT_LENGTH_MAX]}",
                hint=f"{hint}its levels: {names}",
            )
        matching_rows |= column.codes == column.code(level)
    return matching_rows


def _named_level(name: str, level: str) -> str:
    """Return a level with its title, if it has another: ``IB (InfiniBand)``."""
    title = level_text(name, level)
    return level if title == level or level in title else f"{level} ({title})"


def _hint_for_several_levels(name: str, text: str, column: Column) -> str:
    """Return how to choose several levels, if ``text`` joins levels by commas; empty otherwise."""
    levels = [level.strip() for level in text.split(",")]
    if len(levels) < 2 or not any(level in column.levels for level in levels):
        return ""
    options = " ".join(f"--where {name}={level}" for level in levels)
    return f"give each level its own option, for runs with any of them: {options}; "


def facets(table: RunTable, conditions: Conditions, names: Sequence[str], levels_max: int = _LEVELS_MAX) -> list[Facet]:
    """Return the facets of the columns ``names``; the conditions are those that :func:`matching` accepts."""
    masks = {name: _has_any_level(table, name, levels, "") for name, levels in conditions.items()}
    matching_rows = _rows_of_all(list(masks.values()))
    all_facets = []
    for name in names:
        column, rows = table.columns[name], matching_rows
        if name in masks:
            rows = _rows_of_all([mask for column_name, mask in masks.items() if column_name != name])
        all_facets.append(_facet(column, name, _runs_by_level(column, rows), set(conditions.get(name, ())), levels_max))
    return all_facets


def _rows_of_all(masks: Sequence[Mask]) -> Ints | None:
    """Return the rows that all masks keep; None for all rows, if there is no mask."""
    return np.flatnonzero(np.logical_and.reduce(masks)) if masks else None


def _facet(column: Column, name: str, counts: Ints, selected_levels: set[str], levels_max: int) -> Facet:
    levels = [
        LevelCount(level, int(count), level in selected_levels)
        for level, count in zip(column.levels, counts, strict=True)
        if count or level in selected_levels
    ]
    levels.sort(key=lambda item: (not item.chosen, -item.runs, item.level))
    listed_levels = levels[:levels_max]
    listed_levels.sort(
        key=_by_number
        if all(is_number(item.level) for item in listed_levels)
        else lambda item: (-item.runs, item.level)
    )
    return Facet(name, tuple(listed_levels), len(levels) - len(listed_levels))


def level_counts(column: Column, keep: Mask) -> Ints:
    """Return how many of the kept rows have each level."""
    return _runs_by_level(column, None if keep.all() else np.flatnonzero(keep))


def _runs_by_level(column: Column, rows: Ints | None) -> Ints:
    """Return how many of ``rows``, or of all rows, have each level. A mask would take many times as long."""
    codes = column.codes if rows is None else column.codes[rows]
    counts = np.bincount(codes.astype(np.intp) + 1, minlength=len(column.levels) + 1)  # int32 takes longer
    return counts[1:].astype(np.int64)


def counts_by(table: RunTable, name: str) -> dict[str, int]:
    """Return the number of runs with each level of a column; the empty text stands for runs without a level."""
    column = table.columns.get(name, Column(np.full(len(table), ABSENT, dtype=np.int32), ()))
    counts = dict(zip(column.levels, level_counts(column, np.ones(len(table), dtype=np.bool_)).tolist(), strict=True))
    counts[""] = len(table) - sum(counts.values())
    return {level: number for level, number in counts.items() if number}


def is_number(text: str) -> bool:
    """Return whether a level is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _by_number(item: LevelCount) -> tuple[float, str]:
    return float(item.level), item.level


def page_of(table: RunTable, keep: Mask, *, sort: str = "-started_unix_s", offset: int = 0, limit: int = 50) -> Page:
    """Return a page of the kept runs by a column or value, descending with ``-`` before its name; rows without a value
    come last.

    Levels sort as numbers if all of them are, else as texts. Raises :class:`SpecificationError` for another name.
    """
    descending, name = sort.startswith("-"), sort.removeprefix("-")
    rows = np.flatnonzero(keep)
    key = _sort_key(table, name)[rows]
    if descending:
        key = -key
    if offset + limit < len(rows) // 4:  # far fewer than all: no need to sort the rest
        reach = offset + limit
        key_or_last = np.where(np.isnan(key), np.inf, key)
        candidate_rows = np.flatnonzero(key_or_last <= np.partition(key_or_last, reach)[reach])
        order = candidate_rows[np.argsort(key_or_last[candidate_rows], kind="stable")]
    else:
        order = np.argsort(key, kind="stable")
    return Page(len(rows), offset, tuple(int(row) for row in rows[order[offset : offset + limit]]))


def _sort_key(table: RunTable, name: str) -> Floats:
    if name in table.values:
        return table.values[name]
    column = table.columns.get(name)
    if column is None:
        names_text = ", ".join(sorted([*table.columns, *table.values]))
        raise SpecificationError(
            f"runs can't be sorted by {name[:_TEXT_LENGTH_MAX]!r}", where="sort", hint=f"by: {names_text}"
        )
    if all(is_number(level) for level in column.levels):
        ranks = np.array([*(float(level) for level in column.levels), np.nan])
    else:
        ranks = np.full(len(column.levels) + 1, np.nan)
        ranks[np.argsort(np.array(column.levels))] = np.arange(len(column.levels), dtype=np.float64)
    sort_key: Floats = ranks[column.codes]  # an absent code, -1, selects the last
    return sort_key
