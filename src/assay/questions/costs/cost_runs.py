"""Which runs count on a cost-effectiveness plane, and which of them stand for its rows.

In: a table of runs of one job or several, the factors that make a row, and how rows are made: ``best`` takes, of a
row's configurations (equal in everything), the one with the smallest geometric mean; ``all`` every run, whatever else
differs; ``fastest`` the one fastest run, as in ALOJA and in BSC's table 2. Out: rows of the table, and the scatter that
a row of few runs has: that of the repetitions of its own configurations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.analysis.cost.run_cost import spread_by, times_of
from assay.analysis.outliers.flagging import odd_times
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
class CountedRuns:
    """Which runs of a table count, and which are flagged as odd in their times."""

    counts: Mask
    flagged: Mask


@dataclass(frozen=True, slots=True)
class ChosenRuns:
    """The runs that stand for the rows: ``rows`` of the table with the row of the view that each belongs to."""

    rows: Ints
    code: Ints
    n_all: Ints
    flagged: Ints
    """Of each row, how many of its runs are flagged."""
    example: Ints
    """A table row of each."""


def counted_runs(table: RunTable, jobs: Groups, *, exclude_flagged: bool) -> CountedRuns:
    """Return the runs that count: valid, with a time, and not warm where others are cold."""
    counts = usable(table)
    counts &= ~warm_among_cold(table, jobs, counts)
    flagged = odd_times(table) & counts
    return CountedRuns(counts & ~flagged if exclude_flagged else counts, flagged)


def _grouped(table: RunTable, rows: Ints, names: Sequence[str]) -> Groups:
    """Return the groups of some rows, in ascending order, copying only the columns that make them."""
    if len(rows) == len(table):
        return groups_by(table, names)
    columns = {name: table.columns[name] for name in names}
    return groups_by(RunTable(table.rows, columns, {}).taken(rows), names)


def _varying(table: RunTable) -> list[str]:
    return [name for name in table.factors if len(table.columns[name].levels) > 1]


def choose(table: RunTable, counted: Ints, flagged: Ints, by: Sequence[str], take: Take) -> ChosenRuns:
    """Return the runs that stand for each row of one job; ``counted`` are its runs that count, ``flagged`` the odd."""
    some = np.zeros(len(table), dtype=np.bool_)
    some[counted] = some[flagged] = True
    rows = np.flatnonzero(some)
    both = _grouped(table, rows, by)
    present, code = np.unique(both.of_row[np.searchsorted(rows, counted)], return_inverse=True)
    count = len(present)
    number = np.full(both.count, -1, dtype=np.int64)
    number[present] = np.arange(count)
    odd = number[both.of_row[np.searchsorted(rows, flagged)]]
    durations_s = table.values["duration_s"][counted]
    n_all = np.bincount(code, minlength=count)
    if take == "all":
        keep = np.ones(len(counted), dtype=np.bool_)
    elif take == "fastest":
        order = np.lexsort((durations_s, code))
        keep = np.zeros(len(counted), dtype=np.bool_)
        keep[order[np.concatenate(([0], np.cumsum(n_all)[:-1]))]] = True
    else:
        whole = _grouped(table, counted, _varying(table))
        times = times_of(durations_s, whole.of_row, whole.count)
        of_whole = np.zeros(whole.count, dtype=np.int64)
        of_whole[whole.of_row] = code
        order = np.lexsort((times.mean_s, of_whole))
        _, first = np.unique(of_whole[order], return_index=True)
        best = np.zeros(whole.count, dtype=np.bool_)
        best[order[first]] = True
        keep = best[whole.of_row]
    example = np.zeros(count, dtype=np.int64)
    example[code[keep]] = counted[keep]
    return ChosenRuns(counted[keep], code[keep], n_all, np.bincount(odd[odd >= 0], minlength=count), example)


def scatter_of(
    table: RunTable, counted: Ints, by: Sequence[str], take: Take, examples: Ints
) -> tuple[float | Floats, float | Floats]:
    """Return the variance of a log time within what each row is made of, and its degrees of freedom.

    Spread is pooled over the configurations of a row (such as a layout) only, as layouts differ in it. A row in which
    nothing repeats has that of the whole job.
    """
    names = by if take == "all" else _varying(table)
    groups = _grouped(table, counted, names)
    times = times_of(table.values["duration_s"][counted], groups.of_row, groups.count)
    rows = groups_by(table, by).of_row
    return spread_by(times, rows[counted][first_rows(groups)], rows[examples])
