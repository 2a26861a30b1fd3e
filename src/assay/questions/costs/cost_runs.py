"""Select the runs that make up each row of a cost comparison, and pool the spread of their times.

In: a table of runs of one job or several, the factors that make a row, and the selection. Out: rows of the table, and
the spread for rows with few runs, pooled over the repetitions of the row's configurations.

- ``best`` selects the runs of the row's configuration with the smallest geometric mean time. Runs of one configuration
  are equal in every factor.
- ``all`` selects every run of the row, of all its configurations.
- ``fastest`` selects the fastest run, as ALOJA and BSC's table 2 do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from assay.analysis.cost.run_cost import spread_by, times_of
from assay.analysis.outliers.anomaly_column import time_outliers
from assay.analysis.statistics import (
    Floats,
    Groups,
    Ints,
    Mask,
    RunTable,
    first_rows,
    groups_by,
    usable,
    warm_among_cold,
)

Take = Literal["best", "all", "fastest"]


@dataclass(frozen=True, slots=True)
class ValidRuns:
    """The runs of a table that count, and those whose times are flagged as outliers."""

    counts: Mask
    flagged: Mask


@dataclass(frozen=True, slots=True)
class ChosenRuns:
    """The runs that make up the rows of a comparison."""

    rows: Ints
    """Rows of the table."""
    code: Ints
    """The row of the comparison that each of ``rows`` belongs to."""
    n_all: Ints
    """Number of runs of each row of the comparison, before the selection."""
    flagged: Ints
    """Number of outliers of each row of the comparison."""
    example: Ints
    """One table row, as an example, for each row of the comparison."""


def valid_runs(table: RunTable, jobs: Groups, *, exclude_flagged: bool) -> ValidRuns:
    """Return the runs that count: valid, with a time, and not warm where others of the job are cold."""
    counts = usable(table)
    counts &= ~warm_among_cold(table, jobs, counts)
    is_flagged = time_outliers(table) & counts
    return ValidRuns(counts & ~is_flagged if exclude_flagged else counts, is_flagged)


def _groups_of_rows(table: RunTable, rows: Ints, names: Sequence[str]) -> Groups:
    """Return the groups of some rows, in ascending order. Copies only the columns of the groups."""
    if len(rows) == len(table):
        return groups_by(table, names)
    columns = {name: table.columns[name] for name in names}
    return groups_by(replace(table, columns=columns, values={}).subset(rows), names)


def _varied_factors(table: RunTable) -> list[str]:
    return [name for name in table.factors if len(table.columns[name].levels) > 1]


def choose(table: RunTable, counted_rows: Ints, flagged: Ints, by: Sequence[str], take: Take) -> ChosenRuns:
    """Return the runs that make up each row of one job. ``counted_rows``: its runs that count; ``flagged``: its
    outliers."""
    is_selected = np.zeros(len(table), dtype=np.bool_)
    is_selected[counted_rows] = is_selected[flagged] = True
    rows = np.flatnonzero(is_selected)
    row_groups = _groups_of_rows(table, rows, by)
    row_groups_present, code = np.unique(row_groups.of_row[np.searchsorted(rows, counted_rows)], return_inverse=True)
    count = len(row_groups_present)
    number = np.full(row_groups.count, -1, dtype=np.int64)
    number[row_groups_present] = np.arange(count)
    outliers = number[row_groups.of_row[np.searchsorted(rows, flagged)]]
    durations_s = table.values["duration_s"][counted_rows]
    n_all = np.bincount(code, minlength=count)
    if take == "all":
        is_kept = np.ones(len(counted_rows), dtype=np.bool_)
    elif take == "fastest":
        order = np.lexsort((durations_s, code))
        is_kept = np.zeros(len(counted_rows), dtype=np.bool_)
        is_kept[order[np.concatenate(([0], np.cumsum(n_all)[:-1]))]] = True
    else:
        configurations = _groups_of_rows(table, counted_rows, _varied_factors(table))
        times = times_of(durations_s, configurations.of_row, configurations.count)
        row_of_configuration = np.zeros(configurations.count, dtype=np.int64)
        row_of_configuration[configurations.of_row] = code
        order = np.lexsort((times.mean_s, row_of_configuration))
        _, first = np.unique(row_of_configuration[order], return_index=True)
        is_best = np.zeros(configurations.count, dtype=np.bool_)
        is_best[order[first]] = True
        is_kept = is_best[configurations.of_row]
    example = np.zeros(count, dtype=np.int64)
    example[code[is_kept]] = counted_rows[is_kept]
    return ChosenRuns(
        counted_rows[is_kept], code[is_kept], n_all, np.bincount(outliers[outliers >= 0], minlength=count), example
    )


def spread_of_rows(
    table: RunTable, counted_rows: Ints, by: Sequence[str], take: Take, examples: Ints
) -> tuple[float | Floats, float | Floats]:
    """Return the variance of the logarithm of time within the configurations of each row, and its degrees of freedom.

    The variance is pooled within each row, because it differs between layouts. A row without repetitions uses the
    variance of the whole job.
    """
    names = by if take == "all" else _varied_factors(table)
    groups = _groups_of_rows(table, counted_rows, names)
    times = times_of(table.values["duration_s"][counted_rows], groups.of_row, groups.count)
    rows = groups_by(table, by).of_row
    return spread_by(times, rows[counted_rows][first_rows(groups)], rows[examples])
