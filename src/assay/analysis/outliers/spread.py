"""Compute each run's expected time from its configuration, and its robust z score, on logarithms of run times.

In: runs as a table, and which of them to learn from. Out: for each run the expected time (s), the typical spread, and
the robust z score of its log time; and the minimum time of each workload, learned from the runs: a shorter run can't
have done its work.

The expected time is the median of a configuration's repetitions. With too few repetitions, a log-linear model gives it:
a multiplier for each level of each factor, fitted by workload to the configurations' medians, with less weight on large
residuals (Huber, Ann. Math. Stat. 35 (1964)). Robust z: B. Iglewicz and D. C. Hoaglin, How to Detect and Handle
Outliers (1993). A run's status is not used.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import (
    Floats,
    Groups,
    Ints,
    Mask,
    RunTable,
    first_rows,
    groups_by,
    median_by,
    merged_groups,
    sorted_within,
)

REPETITIONS_MIN = 3
"""Minimum number of repetitions: of two runs, either could be the outlier."""
SPREAD_RUNS_MIN = 8
"""Minimum number of repetitions for a separate spread; with fewer, the spread of the workload is used."""
SPREAD_ALONE_RUNS_MIN = 20
"""Minimum number of repetitions for a spread below that of the workload: otherwise, a ninth run
would be an outlier if eight runs are close by chance."""
SPREAD_MIN = 0.02
"""Minimum spread of log run times, so that small differences never have a large z score."""
NORMAL = 1.4826
"""Standard deviation of a normal distribution / its median absolute deviation."""
GAP_MIN = 4.0
"""Minimum ratio of the times at the ends of an empty gap, which separates runs that did nothing from the others."""
SHARE_ABOVE_GAP_MIN = 0.2
"""Minimum share of the runs above a gap."""
RUNS_ABOVE_GAP_MIN = 5
"""Minimum number of runs above a gap; fewer runs are slow runs, not normal runs."""
FIT_CONFIGURATIONS_MAX = 20_000
"""Maximum number of configurations, evenly sampled, to which the log-linear model is fitted."""
DEGREES_MIN = 10
"""Minimum degrees of freedom of the log-linear model, against overfitting."""
_SWEEPS, _ROUNDS = 5, 3
"""Number of sweeps over all factors in a round, and of rounds with new weights."""
_HUBER = 1.345
"""Maximum residual with full weight, in robust standard deviations."""
_ENGINE_PARAMETERS = ("dfs.", "hadoop.", "io.", "mapred.", "mapreduce.", "spark.", "yarn.")
_SAME_WORK = ("workload", "data_bytes", "engine", "origin", "lab_scale")


@dataclass(frozen=True, slots=True)
class MinimumTimes:
    """The shortest plausible time of each work (workload, data size, engine, origin, lab scale)."""

    work: Groups
    floor_s: Floats
    """The shortest time above the gap; NaN if the runs show no gap."""
    is_below: Mask
    """Runs below the gap whose configuration does not explain it."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expectations for each row of the table; NaN without an expectation."""

    expected_s: Floats
    spread: Floats
    """Robust standard deviation of the log time."""
    z: Floats
    repetitions: Ints
    """Number of runs of the same configuration that were used, including this run."""
    modelled: Mask
    """Whether the expectation is from the log-linear model, because of too few repetitions."""


def configurations_of(table: RunTable) -> Groups:
    """Return which runs are repetitions: equal in every factor, and in whether caches were cold."""
    return groups_by(table, [*table.factors, *(["cold"] if "cold" in table.columns else [])])


def work_of(table: RunTable, configurations: Groups, first: Ints | None = None) -> Groups:
    """Return which runs did the same work; ``first``: the first rows of the configurations, if known."""
    return merged_groups(table, configurations, [name for name in _SAME_WORK if name in table.columns], first)


def _gap_middles(logs: Floats, work: Ints, count: int) -> tuple[Floats, Floats]:
    """Return, by work, the middle of the highest gap with enough runs above it, and the log time of its upper end."""
    logs, work = sorted_within(logs, Groups(work, count))
    sizes = np.bincount(work, minlength=count)
    ends = np.cumsum(sizes)
    gap_rows = np.flatnonzero(np.diff(logs) >= np.log(GAP_MIN))
    gap_rows = gap_rows[work[gap_rows + 1] == work[gap_rows]]
    runs_above = ends[work[gap_rows]] - gap_rows - 1
    rows = gap_rows[runs_above >= np.maximum(RUNS_ABOVE_GAP_MIN, SHARE_ABOVE_GAP_MIN * sizes[work[gap_rows]])]
    middle, upper = np.full(count, -np.inf), np.full(count, np.nan)
    middle[work[rows]] = (logs[rows] + logs[rows + 1]) / 2  # a later assignment, to the highest gap, wins
    upper[work[rows]] = logs[rows + 1]
    return middle, upper


def learn_floors(table: RunTable, work: Groups, is_examined: Mask) -> MinimumTimes:
    """Return the floor of each work (:func:`work_of`) and the runs below it; only rows of ``is_examined`` are used.

    A job that does nothing ends after a short time, whatever its configuration, and there is a wide empty gap up to the
    fastest job that did its work. A run below the gap is excused if its cluster, layout, network, or a workload option
    explains the short time: at least :data:`RUNS_ABOVE_GAP_MIN` runs share that level, none of them is above the gap,
    and runs of other work do not show that the level is no faster. An engine parameter is no excuse: it seldom makes a
    job that much faster, but settings with which every job fails immediately are common.
    """
    rows = np.flatnonzero(is_examined)
    logs, work_of_run = np.log(table.values["duration_s"][rows]), work.of_row[rows]
    middle, upper = _gap_middles(logs, work_of_run, work.count)
    is_below = logs < middle[work_of_run]
    flagged = np.zeros(len(table), dtype=np.bool_)
    if is_below.any():
        is_excused = _excused_runs(table, rows, logs, Groups(work_of_run, work.count), is_below)
        flagged[rows[is_below & ~is_excused]] = True
    return MinimumTimes(work, np.exp(upper).round(6), flagged)


def _excused_runs(table: RunTable, rows: Ints, logs: Floats, work: Groups, is_below: Mask) -> Mask:
    """Return the runs below the gap whose short time a level of a factor explains."""
    above_rows, below_rows = np.flatnonzero(~is_below), np.flatnonzero(is_below)
    log_pace = logs - median_by(logs[above_rows], Groups(work.of_row[above_rows], work.count))[work.of_row]
    log_pace[below_rows] = 0.0
    is_excused = np.zeros(len(rows), dtype=np.bool_)
    for name in table.factors:
        column = table.columns[name]
        if name in _SAME_WORK or name.startswith(_ENGINE_PARAMETERS):
            continue
        levels = len(column.levels) + 1
        code = column.codes[rows] + 1
        key = work.of_row * levels + code
        runs_below = np.bincount(key[below_rows], minlength=work.count * levels)
        runs_above = np.bincount(key, minlength=work.count * levels) - runs_below
        runs_of_level = runs_above.reshape(work.count, levels).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean_pace = np.bincount(code, weights=log_pace, minlength=levels) / runs_of_level
        is_refuted = (runs_of_level >= RUNS_ABOVE_GAP_MIN) & (mean_pace > -np.log(GAP_MIN) / 2)
        is_excuse = (runs_below >= RUNS_ABOVE_GAP_MIN) & (runs_above == 0) & ~np.tile(is_refuted, work.count)
        is_excused[below_rows] |= is_excuse[key[below_rows]]
    return is_excused


def _fit(response: Floats, codes: Sequence[Ints], size: int) -> Floats:
    """Return effects of all levels (each of ``codes`` is a factor's index into them), by robust backfitting."""
    effects = np.zeros(size)
    weights = np.ones(len(response))
    for _ in range(_ROUNDS):
        residual = response - _sum_of(effects, codes)
        total_weights = [np.bincount(level, weights=weights, minlength=size) for level in codes]
        for _ in range(_SWEEPS):
            for level, total_weight in zip(codes, total_weights, strict=True):
                change = np.bincount(level, weights=weights * residual, minlength=size)
                change = np.divide(change, total_weight, out=np.zeros(size), where=total_weight > 0)
                effects += change
                residual -= change[level]
        scale = max(NORMAL * float(np.median(np.abs(residual))), SPREAD_MIN)
        weights = np.minimum(1.0, _HUBER * scale / np.maximum(np.abs(residual), 1e-12))
    return effects


def _model(table: RunTable, rows: Ints, work: Ints, work_count: int, medians: Floats) -> tuple[Floats, Floats]:
    """Return the log-linear model's expected log time of each configuration; ``rows``: one run of each.

    The second array has, by work, the number of configurations per degree of freedom. Its square root is the ratio of
    the spread to the residuals. NaN with too few degrees of freedom.
    """
    configurations = np.bincount(work, minlength=work_count)
    used_degrees = np.minimum(configurations, 1)
    levels, size = [work], work_count
    for name in table.factors:
        column = table.columns[name]
        if name in _SAME_WORK or len(column.levels) < 2:
            continue
        width = len(column.levels) + 1
        level = work * width + column.codes[rows] + 1
        has_level = np.bincount(level, minlength=work_count * width).reshape(work_count, width) > 0
        used_degrees = used_degrees + np.maximum(np.count_nonzero(has_level, axis=1) - 1, 0)
        levels.append(size + level)
        size += work_count * width
    step = max(1, -(-len(rows) // FIT_CONFIGURATIONS_MAX))
    effects = _fit(medians[::step], [level[::step].copy() for level in levels], size)
    degrees = configurations - used_degrees
    variance_factor = np.where(degrees >= DEGREES_MIN, configurations / np.maximum(degrees, 1), np.nan)
    return _sum_of(effects, levels), variance_factor


def _sum_of(effects: Floats, levels: Sequence[Ints]) -> Floats:
    total = np.zeros(len(levels[0]))
    for level in levels:
        total += effects[level]
    return total


def _scale_by_work(deviations: Floats, work: Ints, count: int) -> Floats:
    """Return a robust standard deviation by work; the largest of all for work without repetitions."""
    scale = NORMAL * median_by(np.abs(deviations), Groups(work, count))
    known_scales = scale[np.isfinite(scale)]
    scale[~np.isfinite(scale)] = known_scales.max() if len(known_scales) else np.nan
    return np.maximum(scale, SPREAD_MIN)


def _differences_within(logs: Floats, configuration: Ints, work: Ints) -> tuple[Floats, Ints]:
    """Return the difference of each run to the next one of its configuration, and the work of each."""
    order = np.argsort(configuration, kind="stable")
    is_same = configuration[order][1:] == configuration[order][:-1]
    return np.diff(logs[order])[is_same], work[order][1:][is_same]


def expectations(table: RunTable, configurations: Groups, works: Groups, is_examined: Mask) -> Expectation:
    """Return the expectation of each row of ``is_examined`` from these rows; NaN for the other rows."""
    rows = np.flatnonzero(is_examined)
    unknown = np.full(len(table), np.nan)
    result = Expectation(unknown, unknown.copy(), unknown.copy(), np.zeros(len(table), np.int64), is_examined & False)
    if len(rows) == 0:
        return result
    logs = np.log(table.values["duration_s"][rows])
    repetition_groups = Groups(configurations.of_row[rows], configurations.count)
    work = works.of_row[rows]
    sizes = np.bincount(repetition_groups.of_row, minlength=repetition_groups.count)
    n = sizes[repetition_groups.of_row]
    medians = median_by(logs, repetition_groups)
    expected = medians[repetition_groups.of_row]
    deviations = logs - expected
    is_repeated = n >= REPETITIONS_MIN
    repeated_rows = np.flatnonzero(is_repeated)
    # The median of three runs is one of them, so deviations from it are too small. Differences between runs are not.
    steps, of_step = _differences_within(
        logs[repeated_rows], repetition_groups.of_row[repeated_rows], work[repeated_rows]
    )
    spread = _scale_by_work(steps / np.sqrt(2), of_step, works.count)[work]
    frequent_rows = np.flatnonzero(n >= SPREAD_RUNS_MIN)
    if len(frequent_rows):
        groups = Groups(repetition_groups.of_row[frequent_rows], repetition_groups.count)
        spread_of_frequent = np.maximum(
            NORMAL * median_by(np.abs(deviations[frequent_rows]), groups)[groups.of_row], SPREAD_MIN
        )
        has_few_runs = n[frequent_rows] < SPREAD_ALONE_RUNS_MIN
        spread[frequent_rows] = np.where(
            has_few_runs, np.fmax(spread_of_frequent, spread[frequent_rows]), spread_of_frequent
        )
    if not is_repeated.all():
        configuration_numbers, model = np.flatnonzero(sizes), np.full(repetition_groups.count, np.nan)
        example_rows = first_rows(repetition_groups)[configuration_numbers]
        model[configuration_numbers], variance_factor = _model(
            table, rows[example_rows], work[example_rows], works.count, medians[configuration_numbers]
        )
        rare_rows = np.flatnonzero(~is_repeated)
        residuals = logs[rare_rows] - model[repetition_groups.of_row[rare_rows]]
        spread[rare_rows] = (
            _scale_by_work(residuals, work[rare_rows], works.count)[work[rare_rows]]
            * np.sqrt(variance_factor)[work[rare_rows]]
        )
        expected[rare_rows] = np.where(
            np.isfinite(spread[rare_rows]), model[repetition_groups.of_row[rare_rows]], np.nan
        )
    result.expected_s[rows] = np.round(np.exp(expected), 6)
    result.spread[rows] = spread
    result.z[rows] = (logs - expected) / spread
    result.repetitions[rows] = n
    result.modelled[rows] = ~is_repeated
    return result
