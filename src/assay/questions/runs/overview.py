"""Count the runs of a repository: how many there are by status, origin, workload, cluster and layout."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import LevelCount, RunTable, level_counts


@dataclass(frozen=True, slots=True)
class RunCounts:
    """Number of runs of a repository, in total and by column."""

    runs: int
    by: dict[str, tuple[LevelCount, ...]]
    """Column to its levels with their runs, most first."""
    first_unix_s: float | None
    last_unix_s: float | None
    """Start of the first and of the last dated run, in seconds since 1970."""


def counts_of(
    table: RunTable, names: Sequence[str] = ("status", "origin", "workload", "cluster", "layout")
) -> RunCounts:
    """Return the numbers of runs by those of the columns ``names`` that the table has."""
    all_runs = np.ones(len(table), dtype=np.bool_)
    by = {}
    for name in names:
        column = table.columns.get(name)
        if column is not None:
            counts = level_counts(column, all_runs)
            levels = [LevelCount(level, int(count), False) for level, count in zip(column.levels, counts, strict=True)]
            by[name] = tuple(sorted((item for item in levels if item.runs), key=lambda item: -item.runs))
    start_times = table.values["started_unix_s"]
    known_start_times = start_times[np.isfinite(start_times)]
    first, last = (
        (float(known_start_times.min()), float(known_start_times.max())) if len(known_start_times) else (None, None)
    )
    return RunCounts(len(table), by, first, last)
