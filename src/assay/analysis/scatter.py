"""How far each run lies from what its configuration lets one expect, on logarithms of run times.

In: runs as a table, and which of them to learn from. Out: for each run the expected time (s), the typical scatter, and
the robust z score of its log time; and the learned floor of each workload, below which no run can have done its work.

Where a configuration has repetitions, the expected time is their median. Where it has too few, it is that of a
log-linear model: a factor for each level of each factor, fitted by workload to the configurations' medians, with large
residuals weighed down (Huber, Ann. Math. Stat. 35 (1964)). Robust z: B. Iglewicz and D. C. Hoaglin, How to Detect and
Handle Outliers (1993). Nothing is learned from a run's status.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.analysis.keys import Floats, Groups, Ints, Mask, groups_by, median_by
from assay.analysis.table import RunTable

REPETITIONS_MIN = 3
"""With two runs nobody can say which of them is off."""
OWN_SCATTER_MIN = 8
"""Fewer repetitions than this do not tell a configuration's scatter; its workload's is taken."""
SCATTER_MIN = 0.02
"""Run times of the same thing scatter by at least 2 %: a z score never counts smaller differences as large."""
NORMAL = 1.4826
"""The median absolute deviation times this is a normal distribution's standard deviation."""
GAP_MIN = 4.0
"""A gap without any run, this many times wide, tells runs that did nothing from those that did their work."""
ABOVE_SHARE_MIN = 0.2
ABOVE_MIN = 5
"""So many runs, and this share of their workload's, must lie above a gap: fewer are slow runs, not the normal ones."""
FIT_CONFIGURATIONS_MAX = 40_000
"""The log-linear model is fitted to at most so many configurations, evenly taken: its effects are sure long before."""
_SWEEPS, _ROUNDS, _HUBER = 6, 3, 1.345
_SAME_WORK = ("workload", "data_bytes", "engine", "origin", "lab_scale")


@dataclass(frozen=True, slots=True)
class Floors:
    """By work (workload, data, engine, origin, scale): the learned floor, NaN where the runs show no gap."""

    work: Groups
    floor_s: Floats
    """The shortest time above the gap."""
    below: Mask
    """Runs that lie below the gap, and whose configuration does not explain that."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """For each row of the table; NaN where nothing can be expected."""

    expected_s: Floats
    scatter: Floats
    """Standard deviation of the log time, robustly."""
    z: Floats
    repetitions: Ints
    """Runs of the same configuration that were learned from, this one included."""
    modelled: Mask
    """Whether the log-linear model gave the expectation, for want of repetitions."""


def work_of(table: RunTable) -> Groups:
    """Return which runs had the same work to do."""
    return groups_by(table, [name for name in _SAME_WORK if name in table.columns])


def _gap_middles(logs: Floats, work: Ints, count: int) -> tuple[Floats, Floats]:
    """Return, by work, the middle of the highest gap with enough runs above it, and the log time of its upper end."""
    order = np.lexsort((logs, work))
    logs, work = logs[order], work[order]
    sizes = np.bincount(work, minlength=count)
    ends = np.cumsum(sizes)
    above = ends[work[1:]] - np.arange(1, len(work))
    gap = np.diff(logs)
    enough = np.maximum(ABOVE_MIN, ABOVE_SHARE_MIN * sizes[work[1:]])
    found = np.flatnonzero((work[1:] == work[:-1]) & (gap >= np.log(GAP_MIN)) & (above >= enough))
    middle, upper = np.full(count, -np.inf), np.full(count, np.nan)
    middle[work[found]] = (logs[found] + logs[found + 1]) / 2  # the last one assigned is the highest
    upper[work[found]] = logs[found + 1]
    return middle, upper


def learn_floors(table: RunTable, learn: Mask) -> Floors:
    """Return each work's floor and the runs below it; only rows of ``learn`` are looked at.

    A job that does nothing ends in a narrow range of short times whatever its configuration, and there is a wide empty
    gap up to the fastest that did something. A run below the gap is let off where a level of its configuration explains
    the short time: at least :data:`ABOVE_MIN` runs have it and none of them lies above.
    """
    work = work_of(table)
    rows = np.flatnonzero(learn)
    logs, ids = np.log(table.values["duration_s"][rows]), work.of_row[rows]
    middle, upper = _gap_middles(logs, ids, work.count)
    below = logs < middle[ids]
    affected = np.isfinite(middle)[ids]
    suspects, good = np.flatnonzero(below), np.flatnonzero(affected & ~below)
    explained = np.zeros(len(suspects), dtype=np.bool_)
    for name in table.factors:
        column = table.columns[name]
        if name in _SAME_WORK or len(column.levels) + 1 <= 1 or len(suspects) == 0:
            continue
        levels = len(column.levels) + 1
        key = ids * levels + column.codes[rows] + 1
        low = np.bincount(key[suspects], minlength=work.count * levels)
        high = np.bincount(key[good], minlength=work.count * levels)
        explained |= ((low >= ABOVE_MIN) & (high == 0))[key[suspects]]
    flagged = np.zeros(len(table), dtype=np.bool_)
    flagged[rows[suspects[~explained]]] = True
    return Floors(work, np.exp(upper), flagged)


def _fit(response: Floats, codes: Ints, offsets: Ints, size: int) -> Floats:
    """Return effects of all levels (rows of ``codes`` index them, one row a factor), by robust backfitting."""
    effects = np.zeros(size)
    weights = np.ones(len(response))
    del offsets
    for _ in range(_ROUNDS):
        residual = response - effects[codes].sum(axis=0)
        for _ in range(_SWEEPS):
            for level in codes:
                total = np.bincount(level, weights=weights, minlength=size)
                change = np.bincount(level, weights=weights * residual, minlength=size)
                change = np.divide(change, total, out=np.zeros(size), where=total > 0)
                effects += change
                residual -= change[level]
        scale = max(NORMAL * float(np.median(np.abs(residual))), SCATTER_MIN)
        weights = np.minimum(1.0, _HUBER * scale / np.maximum(np.abs(residual), 1e-12))
    return effects


def _model(table: RunTable, work: Groups, configurations: Groups, medians: Floats) -> Floats:
    """Return the log-linear model's expected log time of each configuration, fitted to their medians."""
    first = np.zeros(configurations.count, dtype=np.int64)
    first[configurations.of_row] = np.arange(len(configurations.of_row))
    work_ids = work.of_row[first]
    levels, size = [work_ids], work.count
    for name in table.factors:
        column = table.columns[name]
        if name in _SAME_WORK or len(column.levels) < 2:
            continue
        width = len(column.levels) + 1
        levels.append(size + work_ids * width + column.codes[first] + 1)
        size += work.count * width
    codes = np.stack(levels)
    step = max(1, -(-configurations.count // FIT_CONFIGURATIONS_MAX))
    effects = _fit(medians[::step], codes[:, ::step], work_ids, size)
    expected: Floats = effects[codes].sum(axis=0)
    return expected


def _scale_by_work(apart: Floats, work: Ints, count: int) -> Floats:
    """Return a robust standard deviation by work; the largest of all where a work has no scatter to learn from."""
    scale = np.full(count, np.nan)
    if len(apart):
        present, dense = np.unique(work, return_inverse=True)
        scale[present] = NORMAL * median_by(np.abs(apart), Groups(dense, len(present)))
    known = scale[np.isfinite(scale)]
    scale[~np.isfinite(scale)] = known.max() if len(known) else np.nan
    return np.maximum(scale, SCATTER_MIN)


def expectations(table: RunTable, learn: Mask) -> Expectation:
    """Return what the rows of ``learn`` let one expect of each of them; NaN for the other rows."""
    rows = np.flatnonzero(learn)
    nothing = np.full(len(table), np.nan)
    result = Expectation(nothing, nothing.copy(), nothing.copy(), np.zeros(len(table), np.int64), learn & False)
    if len(rows) == 0:
        return result
    part = table.taken(rows)
    logs = np.log(part.values["duration_s"])
    configurations, work = groups_by(part, part.factors), work_of(part)
    n = np.bincount(configurations.of_row, minlength=configurations.count)[configurations.of_row]
    medians = median_by(logs, configurations)
    apart = logs - medians[configurations.of_row]
    repeated = n >= REPETITIONS_MIN
    # The median of few runs lies on or near one of them, so deviations from it come out too small.
    widened = apart * np.sqrt(n / np.maximum(n - 1.0, 1.0))
    scatter = _scale_by_work(widened[repeated], work.of_row[repeated], work.count)[work.of_row]
    own = NORMAL * median_by(np.abs(apart), configurations)[configurations.of_row]
    scatter = np.where(n >= OWN_SCATTER_MIN, np.maximum(own, SCATTER_MIN), scatter)
    expected = medians[configurations.of_row]
    if not repeated.all():
        model = _model(part, work, configurations, medians)
        misfit = (medians - model)[configurations.of_row]
        modelled_scatter = _scale_by_work(misfit[~repeated], work.of_row[~repeated], work.count)[work.of_row]
        expected = np.where(repeated, expected, model[configurations.of_row])
        scatter = np.where(repeated, scatter, modelled_scatter)
    result.expected_s[rows] = np.exp(expected)
    result.scatter[rows] = scatter
    result.z[rows] = (logs - expected) / scatter
    result.repetitions[rows] = n
    result.modelled[rows] = ~repeated
    return result
