"""Compute speedups by the definitions of published studies, so that their figures can be reproduced.

In: runs as a table (durations in s). Out: one figure for each level and workload, without an interval, because the
studies give none. Use ``matched.py`` for conclusions; each docstring and docs/explanation/speedup.md name the flaw of a
definition. The same runs count as everywhere: valid runs, without warm runs if others of their group are cold.

Sources: the BSC's report on SSDs and InfiniBand (ALOJA, 2015), section "Performance Speedups" and figures 3 to 6; K.
Kambatla and Y. Chen, "The Truth About MapReduce Performance on SSDs", LISA'14, figures 2 to 6 and table 5.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import (
    ABSENT,
    Ints,
    Means,
    RunTable,
    first_rows,
    groups_by,
    means_by,
    require_factor,
    usable,
    warm_among_cold,
)
from assay.foundation.errors import SpecificationError

AVERAGE = "average"
"""ALOJA's default setup to normalise to: the average over all runs of the workload."""


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """One bar of a published chart."""

    method: str
    workload: str
    origin: str
    factor: str
    level: str
    normalised_to: str
    value: float
    """ALOJA: a speedup, higher is better. LISA'14: a normalised duration, lower is better."""
    spread: float
    """Standard deviation of the runs behind ``value``, in its unit; NaN for one run."""
    runs: int
    runs_reference: int
    """Number of runs of the level that ``value`` is relative to."""
    configurations: int
    """Number of configurations of the level's runs; with more than one, the average mixes them."""


@dataclass(frozen=True, slots=True)
class _Level:
    mean_s: float
    deviation_s: float
    runs: int
    configurations: int


def _averages(table: RunTable, factor: str) -> dict[tuple[str, str], dict[str, _Level]]:
    """Return each level's average by workload and origin, with the average over all levels under :data:`AVERAGE`."""
    column = require_factor(table, factor)
    if factor in ("workload", "origin", "lab_scale"):
        raise SpecificationError(f"{factor} is never averaged over, so it can't be compared this way")
    configurations_of_rows = groups_by(table, [name for name in table.factors if name != factor])
    keep = usable(table) & (column.codes != ABSENT)
    keep &= ~warm_among_cold(table, configurations_of_rows, keep)
    rows = np.flatnonzero(keep)
    names = [name for name in ("origin", "lab_scale", "workload") if name in table.columns]
    groups, levels = groups_by(table, names), len(column.levels) + 1
    durations_s, group = table.values["duration_s"][rows], groups.of_row[rows]
    cell = group * levels + column.codes[rows]
    by_level = means_by(durations_s, cell, groups.count * levels)
    overall = means_by(durations_s, group, groups.count)
    configurations = _configurations(
        configurations_of_rows.of_row[rows] * levels + column.codes[rows], cell, groups.count * levels
    )
    averages: dict[tuple[str, str], dict[str, _Level]] = {}
    for number, row in enumerate(first_rows(groups)):
        if overall.n[number]:
            labels = {name: table.columns[name].text(int(row)) or "" for name in names}
            by_name = averages.setdefault((labels.get("workload", ""), labels.get("origin", "")), {})
            by_name[AVERAGE] = _level(
                overall, number, int(configurations[number * levels : (number + 1) * levels].sum())
            )
            for code in np.flatnonzero(by_level.n[number * levels : (number + 1) * levels]):
                cell_number = int(number * levels + code)
                by_name[column.levels[code]] = _level(by_level, cell_number, int(configurations[cell_number]))
    return averages


def _configurations(configuration: Ints, cell: Ints, count: int) -> Ints:
    """Return the number of distinct configurations in each cell; each configuration is in a single cell."""
    _, first = np.unique(configuration, return_index=True)
    return np.bincount(cell[first], minlength=count)


def _level(means: Means, index: int, configurations: int) -> _Level:
    return _Level(float(means.mean[index]), float(np.sqrt(means.variance[index])), int(means.n[index]), configurations)


def aloja(table: RunTable, factor: str, normalised_to: str = AVERAGE) -> list[PublishedFigure]:
    """Return ALOJA's speedups: mean time of the setup ``normalised_to`` / mean time of all runs of a level.

    The flaw: a level's runs differ in everything else too. Levels that were run more often with slow configurations
    look slow, and the slowest runs dominate an arithmetic mean. If ``configurations`` differs between levels, the
    figure compares mixtures.
    """

    def value(level: _Level, reference: _Level) -> tuple[float, float]:
        speedup = reference.mean_s / level.mean_s
        return speedup, speedup * level.deviation_s / level.mean_s

    return _figures("aloja", table, factor, normalised_to, value)


def lisa14(table: RunTable, factor: str, normalised_to: str) -> list[PublishedFigure]:
    """Return LISA'14's normalised job durations: a level's mean time over that of ``normalised_to``; lower is better.

    The paper repeats one configuration five times on each setup, and the definition is sound for that. The flaw: it
    gives no interval, and its mean can contain runs of other configurations.
    """

    def value(level: _Level, reference: _Level) -> tuple[float, float]:
        return level.mean_s / reference.mean_s, level.deviation_s / reference.mean_s

    return _figures("lisa14", table, factor, normalised_to, value)


def _figures(
    method: str,
    table: RunTable,
    factor: str,
    normalised_to: str,
    value: Callable[[_Level, _Level], tuple[float, float]],
) -> list[PublishedFigure]:
    """Return the figure of each level relative to the setup ``normalised_to``; ``value`` gives it and its spread."""
    figures = [
        PublishedFigure(
            method,
            workload,
            origin,
            factor,
            name,
            normalised_to,
            *value(level, levels[normalised_to]),
            level.runs,
            levels[normalised_to].runs,
            level.configurations,
        )
        for (workload, origin), levels in _averages(table, factor).items()
        for name, level in levels.items()
        if normalised_to in levels and name != AVERAGE
    ]
    if not figures:
        raise SpecificationError(f"no valid run with {factor} {normalised_to!r} to normalise to")
    return figures


def mean_improvement(figures: Sequence[PublishedFigure]) -> dict[str, float]:
    """Return LISA'14's mean gain by level: the arithmetic mean over jobs of performance, 1 / normalised duration.

    Its table 5 divides prices by it. The flaw: an arithmetic mean of ratios depends on which side is the reference: two
    jobs, one twice as fast and one half as fast, have a mean gain of 1.25 in both directions.
    """
    levels = dict.fromkeys(figure.level for figure in figures)
    return {
        level: float(np.mean([1 / figure.value for figure in figures if figure.level == level])) for level in levels
    }
