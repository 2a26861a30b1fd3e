"""What many runs come to at a glance: how many there are of what, and which level of a factor leads on each workload.

In: runs as a table. Out: counts, and for each workload (of one origin and lab scale: those are never mixed) the levels
that may be the fastest, with the speedup of the front over a usual baseline, from matched sets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.compare.matched import STRATA, match
from assay.compare.significance import best_of
from assay.compare.speedups import Speedup, speedups_of
from assay.model import LAYOUT_FACTOR
from assay.statistics import (
    ABSENT,
    LevelCount,
    RunTable,
    first_rows,
    groups_by,
    hard_disk_layouts,
    level_counts,
    require_factor,
    usable,
)


@dataclass(frozen=True, slots=True)
class RunCounts:
    """How many runs a repository holds, and of what."""

    runs: int
    by: dict[str, tuple[LevelCount, ...]]
    """Column to its levels with their runs, most first."""
    first_unix_s: float | None
    last_unix_s: float | None
    """When the first and last dated run began."""


@dataclass(frozen=True, slots=True)
class Leader:
    """Which levels of a factor may be the fastest on one workload."""

    workload: str
    origin: str
    lab_scale: str | None
    factor: str
    runs: int
    """Valid runs of the workload."""
    levels: int
    """Levels of the factor that valid runs have."""
    front: str | None
    """The level that no other was measured to be faster than; None when nothing could be compared."""
    may_be_best: tuple[str, ...]
    slower: tuple[str, ...]
    never_compared: tuple[str, ...]
    speedup: Speedup | None
    """The front against the usual baseline; None when the front is the baseline itself."""
    baseline: str | None


def counts_of(
    table: RunTable, names: Sequence[str] = ("status", "origin", "workload", "cluster", "layout")
) -> RunCounts:
    """Return how many runs there are by each of the columns ``names`` that the table has."""
    every = np.ones(len(table), dtype=np.bool_)
    found = {}
    for name in names:
        column = table.columns.get(name)
        if column is not None:
            counts = level_counts(column, every)
            levels = [LevelCount(level, int(count), False) for level, count in zip(column.levels, counts, strict=True)]
            found[name] = tuple(sorted((item for item in levels if item.runs), key=lambda item: -item.runs))
    started = table.values["started_unix_s"]
    dated = started[np.isfinite(started)]
    first, last = (float(dated.min()), float(dated.max())) if len(dated) else (None, None)
    return RunCounts(len(table), found, first, last)


def usual_baseline(table: RunTable, factor: str) -> str | None:
    """Return the level that others are usually compared with; None when no valid run has one.

    Of storage layouts, the one on local hard disks with the most valid runs; otherwise the level with the most.
    """
    column = require_factor(table, factor)
    counts = level_counts(column, usable(table))
    if not counts.any():
        return None
    on_disks = hard_disk_layouts(table) if factor == LAYOUT_FACTOR else ()
    disks = np.array([level in on_disks for level in column.levels])
    some = counts * disks
    return column.levels[int(np.argmax(some if some.any() else counts))]


def leaders(table: RunTable, factor: str = "layout") -> list[Leader]:
    """Return who leads on each workload, in the order of their number of runs."""
    names = [name for name in (*STRATA, "workload") if name in table.columns]
    if factor not in table.factors or "workload" not in names:
        return []
    groups = groups_by(table, names)
    counted = usable(table) & (table.columns[factor].codes != ABSENT)
    runs = np.bincount(groups.of_row[counted], minlength=groups.count)
    found = []
    for number, row in enumerate(first_rows(groups)):
        if runs[number]:
            part = table.taken(np.flatnonzero(groups.of_row == number))
            texts = {name: table.columns[name].text(int(row)) for name in names}
            found.append(_leader(part, factor, texts, int(runs[number])))
    return sorted(found, key=lambda leader: -leader.runs)


def _leader(part: RunTable, factor: str, texts: dict[str, str | None], runs: int) -> Leader:
    levels = int(np.count_nonzero(level_counts(part.columns[factor], usable(part))))
    matched = match(part, factor) if levels > 1 else None
    best = next(iter(best_of(matched)), None) if matched else None
    baseline = usual_baseline(part, factor)
    speedup = None
    if matched and best is not None and baseline is not None and best.front != baseline:
        speedups = speedups_of(matched, baseline)
        speedup = next((item for item in speedups if item.candidate == best.front and item.ratio is not None), None)
    return Leader(
        texts["workload"] or "",
        texts.get("origin") or "",
        texts.get("lab_scale"),
        factor,
        runs,
        levels,
        best.front if best else None,
        best.may_be_best if best else (),
        tuple(best.slower) if best else (),
        best.never_compared if best else (),
        speedup,
        baseline,
    )
