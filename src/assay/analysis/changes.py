"""Find change points in the history of a configuration's repetitions: when runs became faster or slower.

In: durations (s) and start times of a configuration's runs, or a whole table. Out: the changes with their dates and
sizes: ratios of geometric means, after / before, with an interval.

Method: binary segmentation by a weighted rank CUSUM in seeded intervals (S. Kovács and others, Biometrika 110 (2023)),
so that a change and its reversal do not hide each other. Ranks make it robust to outliers and to the distribution of
times. The test corrects for the search over all positions: each split is compared with the same statistic of histories
without a change, and after the last split each change is tested again between its neighbours. It is the rank form
of E-divisive's scheme (D. S. Matteson and N. A. James, J. Am. Stat. Assoc. 109 (2014)), which MongoDB and Otava use on
performance histories; the statistic is A. N. Pettitt's (Appl. Stat. 28 (1979)), divided by its standard deviation.

On a machine whose speed drifts, consecutive runs are correlated, and chance then looks like a change. So the null
hypothesis is a first-order autoregression with the correlation of the table's consecutive runs (without correlation,
its ranks are a random permutation). Sessions of several runs, and machines whose speed wanders, make the differences
between two runs grow with their distance. So a random walk is added, with the step that explains this growth. The
correlation and the step are estimated from all histories of the table together. With few histories the estimate is
uncertain; a change must then also be abrupt: visible within ten runs before and after it. As a table has many
histories, the false discovery rate is limited (Y. Benjamini and Y. Hochberg, J. R. Stat. Soc. B 57 (1995)).
docs/measurements/error-rates.md has both error rates.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import Estimate, Floats, Ints, Mask, RunTable, groups_by, usable, welch_ratio

ALPHA = 0.01
"""Maximum share of the histories without a change that are reported as changed."""
FALSE_SHARE_MAX = 0.05
"""Maximum share of false positives among the histories of a table that are reported as changed."""
DRAWS = 999
"""Number of draws of the null distribution, unless a small p value needs more."""
DRAWS_MAX = 50_000
"""Maximum number of draws of the null distribution for a table of many histories."""
CORRELATION_MAX = 0.95
"""Maximum correlation of consecutive runs in the null distribution."""
RAISED_MAX = 0.1
"""Maximum amount by which the estimated correlation is raised."""
_LARGE_CHANGE_MIN = 2.5
"""Minimum size of a large change of level, in standard deviations of a run."""
_KEPT_SHARE = 0.9
"""Share of the differences, the smallest, from which the correlation is estimated. The largest differences contain
changes of level."""
SEED = 20_141_105
RUNS_MIN = 12
"""Minimum length of a searched history: with fewer runs, no order of the times is significant."""
HISTORY_MAX = 2_000
"""Maximum length of a searched history. Of a longer history, only the latest runs are searched."""
_CELLS_MAX = 2_000_000
"""Maximum number of random numbers in memory, draws × runs."""
_CELLS_IN_ALL_MAX = 20_000_000
"""Maximum number of random numbers for one p value, draws × runs."""
_FIRST_BATCH = 60
"""Number of draws in the first batch, which is enough to dismiss most histories without a change."""
_NEAR, _FAR = 2, 8
"""Distances, in runs, of the pairs whose differences show whether the level wanders."""
_ERRORS_FEW = 2.0, 1.0
"""Numbers of standard errors by which the estimated wander is raised if few runs show it: for whole histories, and for
their parts. Changes must then also be abrupt."""
_ERRORS_MANY = 6.0, 6.0
"""The same numbers if many runs show the wander. They give the intended error rates with 20 and 30 histories that
wander. The estimate is at most doubled. Differences at distance 8 overlap, so they have less information than
independent pairs."""
_WANDER_NOISE_MIN = 0.1
"""Minimum share of the squared differences at distance :data:`_NEAR` that is noise of single runs."""
WANDER_MIN, WANDER_MIN_LONG = 0.3, 0.4
"""Minimum wander in the null distribution of an abrupt change, in standard deviations of a run: for a history of at
most 2 × :data:`ABRUPT_RUNS` runs, and for a longer one, where the tested stretch is the most likely of many."""
ABRUPT_RUNS = 10
"""Number of runs before and after a change within which it must be visible, if few runs show whether levels wander."""
_WANDER_SHOWN = 50
"""Minimum number of distinct stretches of :data:`_FAR` runs for a good estimate of the wander."""
_CHI_SQUARE_MEDIAN = 0.4549
"""Median of the square of a standard normal."""
_DRAWS_BEYOND_MIN = 5
"""Minimum number of draws beyond the observed value; otherwise more are drawn. Many histories need a smaller p."""
_CUSUM_MIN = 2.3
"""Largest standardised CUSUM that is not tested, because it can't be significant: a single position would need 2.58."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """One change, between the last run before and the first run after it."""

    index: int
    """The first run after the change, counted in the history."""
    last_before_unix_s: float
    first_after_unix_s: float
    ratio: Estimate
    """Geometric mean time of the segment after the change / before it; above 1, runs became slower. As the position was
    chosen for its size, the interval is somewhat too narrow."""
    p: float
    runs_before: int
    """Number of runs of the segment before the change; ``runs_after``: of the segment after it."""
    runs_after: int


@dataclass(frozen=True, slots=True)
class History:
    """The changes of one configuration."""

    position: int
    """A row of the configuration, from which its levels can be read."""
    runs: int
    changes: tuple[ChangePoint, ...]


def _ranks(values: Floats) -> Floats:
    from scipy.stats import rankdata  # imported here because the import takes as long as the rest of the command

    ranks: Floats = rankdata(values)
    return ranks


def _intervals(n: int) -> list[tuple[int, int]]:
    """Return seeded intervals of lengths n, n / 2, n / 4, … down to :data:`RUNS_MIN`, overlapping by half."""
    intervals: list[tuple[int, int]] = []
    length = float(n)
    while length >= RUNS_MIN or not intervals:
        count = max(1, int(2 * np.ceil(n / length) - 1))
        starts = np.linspace(0, n - length, count)
        intervals += [(int(start), min(n, int(np.ceil(start + length)))) for start in starts]
        length /= 2
    return list(dict.fromkeys(intervals))


def _largest_cusum(ranks: Floats, intervals: list[tuple[int, int]]) -> tuple[Floats, Ints]:
    """Return each row's largest standardised CUSUM within any of the intervals, and the number of values before it."""
    best, before_change = np.zeros(len(ranks)), np.zeros(len(ranks), dtype=np.int64)
    for start, end in intervals:
        part = ranks[:, start:end]
        n = end - start
        sums = np.cumsum(part - part.mean(axis=1, keepdims=True), axis=1)[:, :-1]
        before = np.arange(1, n)
        spread = np.maximum(part.var(axis=1, ddof=1), 1e-12)[:, None]
        standardised = np.abs(sums) / np.sqrt(spread * before * (n - before) / n)
        positions = standardised.argmax(axis=1)
        largest = standardised[np.arange(len(ranks)), positions]
        is_larger = largest > best
        best[is_larger], before_change[is_larger] = largest[is_larger], start + positions[is_larger] + 1
    return best, before_change


def correlation_of(histories_logs: Sequence[Floats]) -> float:
    """Return the correlation of consecutive runs in a first-order autoregression, at least 0.

    It is the lower of two estimates, because changes of level bias both upwards: small changes the estimate around
    levels, large changes the estimate from differences. Without changes the lower estimate is too low, and with few
    runs it is uncertain. It is therefore raised by twice its standard error (M. S. Bartlett, J. R. Stat. Soc. Suppl. 8,
    1946), but by at most :data:`RAISED_MAX`, so that a change can still be found in a single short history.
    """
    correlation = float(
        np.clip(min(_by_differences(histories_logs), _around_levels(histories_logs)), 0.0, CORRELATION_MAX)
    )
    pairs = sum(len(logs) - 1 for logs in histories_logs if len(logs) and np.ptp(logs) > 0)
    increase = min(RAISED_MAX, 2 * float(np.sqrt((1 - correlation**2) / pairs))) if pairs else 0.0
    return min(CORRELATION_MAX, correlation + increase)


def _by_differences(histories_logs: Sequence[Floats]) -> float:
    """Estimate the correlation from differences: mean square at distance two / mean square at distance one, minus 1.

    The largest differences are excluded from both, because they contain changes of level.
    """
    near = np.concatenate([np.abs(np.diff(logs)) for logs in histories_logs] or [np.zeros(0)])
    far = np.concatenate([np.abs(logs[2:] - logs[:-2]) for logs in histories_logs] or [np.zeros(0)])
    near, far = (np.sort(differences)[: max(1, int(len(differences) * _KEPT_SHARE))] for differences in (near, far))
    if not len(far) or not near.any():
        return 0.0
    return float((far**2).mean() / (near**2).mean()) - 1


def _around_levels(histories_logs: Sequence[Floats]) -> float:
    """Estimate the correlation of consecutive runs around the levels between large changes, corrected for the number
    of levels."""
    product_sum = square_sum = 0.0
    count, levels, null = 0, 0, NullStatistic()
    for logs in histories_logs:
        parts = _levels(logs, null)
        residuals = np.concatenate([part - part.mean() for part in parts])
        product_sum += float((residuals[1:] * residuals[:-1]).sum())
        square_sum += float((residuals**2).sum())
        count, levels = count + len(residuals), levels + len(parts)
    if square_sum <= 0:
        return 0.0
    correlation = product_sum / square_sum
    return correlation + (1 + 4 * correlation) * levels / count


def _levels(logs: Floats, null: NullStatistic) -> list[Floats]:
    """Return the parts of a history between its changes of more than :data:`_LARGE_CHANGE_MIN` standard deviations."""
    positions = [position for position, _ in change_positions(logs, null)]
    while True:
        parts = np.split(logs, positions)
        spread = float(np.sqrt(np.concatenate([part - part.mean() for part in parts]).var()))
        jumps = [abs(b.mean() - a.mean()) / max(spread, 1e-12) for a, b in itertools.pairwise(parts)]
        smallest = int(np.argmin(jumps)) if jumps else None
        if smallest is None or jumps[smallest] >= _LARGE_CHANGE_MIN:
            return parts
        del positions[smallest]


def random_walk_step(histories_logs: Sequence[Floats], correlation: float, errors: float) -> float:
    """Return the step of the random walk of the level of histories, in standard deviations of a run.

    The estimate is the excess of the differences at distance :data:`_FAR` over those at distance :data:`_NEAR` that the
    correlation of consecutive runs does not explain. It uses medians of squared differences, because a single change of
    level affects few of them. The step is raised by ``errors`` times its standard error.
    """
    near, far = (_squared_difference(histories_logs, distance) for distance in (_NEAR, _FAR))
    pairs = sum(max(0, len(logs) - _FAR) for logs in histories_logs)
    if not near or not far or not pairs:
        return 0.0
    explained_square = near * (1 - correlation**_FAR) / (1 - correlation**_NEAR)
    effective_pairs = max(1.0, pairs / _FAR)  # consecutive differences share most of their runs
    excess_square = max(0.0, far - explained_square) * (1 + min(1.0, errors / float(np.sqrt(effective_pairs))))
    step_square = excess_square / (_FAR - _NEAR)
    run_variance = max(near - _NEAR * step_square, _WANDER_NOISE_MIN * near) / (2 * (1 - correlation**_NEAR))
    return float(np.sqrt(step_square / run_variance))


def _squared_difference(histories_logs: Sequence[Floats], distance: int) -> float:
    """Return the mean square of differences between runs at ``distance``, from their median under normality."""
    squares = [(logs[distance:] - logs[:-distance]) ** 2 for logs in histories_logs if len(logs) > distance]
    return float(np.median(np.concatenate(squares))) / _CHI_SQUARE_MEDIAN if squares else 0.0


class NullStatistic:
    """The distribution of the statistic without a change, by length of the history; drawn when needed, and seeded.

    ``wander``: the step of a random walk that is added, in standard deviations of a run (:func:`random_walk_step`).
    ``has_few_runs``: whether few runs show how far levels wander. Each change is then tested a second time, within
    :data:`ABRUPT_RUNS` runs before and after it: a wandering level moves far over many runs, but little over a few.
    """

    def __init__(
        self, correlation: float = 0.0, seed: int = SEED, wander: float = 0.0, has_few_runs: bool = False
    ) -> None:
        self.has_few_runs = has_few_runs
        self._abrupt = (
            [NullStatistic(correlation, seed, max(wander, wander_min)) for wander_min in (WANDER_MIN, WANDER_MIN_LONG)]
            if has_few_runs
            else []
        )
        self.correlation = round(correlation, 2)
        self.wander = round(wander, 2)
        self._seed = seed
        self._values: dict[int, Floats] = {}

    def of_abrupt_changes(self, runs: int) -> NullStatistic | None:
        """Return the null distribution of an abrupt change in ``runs`` runs; None if a change need not be abrupt."""
        return self._abrupt[runs > 2 * ABRUPT_RUNS] if self._abrupt else None

    def _drawn_values(self, n: int, count: int) -> Floats:
        """Draw ``count`` more values for histories of ``n`` runs; return all values drawn so far."""
        earlier_values = self._values.get(n, np.zeros(0))
        rng = np.random.default_rng([self._seed, n, len(earlier_values)])
        values = rng.standard_normal((count, n))
        for at in range(1, n if self.correlation else 1):
            values[:, at] = self.correlation * values[:, at - 1] + np.sqrt(1 - self.correlation**2) * values[:, at]
        if self.wander:
            values += self.wander * np.cumsum(rng.standard_normal((count, n)), axis=1)
        ranks = values.argsort(axis=1).argsort(axis=1).astype(np.float64)
        self._values[n] = np.concatenate([earlier_values, _largest_cusum(ranks, _intervals(n))[0]])
        return self._values[n]

    def p(self, n: int, observed: float, *, alpha: float, draws: int = DRAWS) -> float:
        """Return the p value of ``observed`` in a history of ``n`` runs; 1 as soon as it is above alpha."""
        if observed <= _CUSUM_MIN:
            return 1.0
        values = self._values.get(n, np.zeros(0))
        draws_needed, draws_max = DRAWS, max(DRAWS, min(draws, _CELLS_IN_ALL_MAX // n))
        while True:
            used_values = values[:draws_needed]
            above = int(np.count_nonzero(used_values >= observed - 1e-9))
            if (above + 1) / (draws_needed + 1) > alpha:
                return 1.0
            if len(used_values) == draws_needed and (draws_needed == draws_max or above >= _DRAWS_BEYOND_MIN):
                return (above + 1) / (draws_needed + 1)
            if len(used_values) == draws_needed:
                draws_needed = min(draws_max, 10 * draws_needed)
            batch = max(_FIRST_BATCH, _CELLS_MAX // n)
            values = self._drawn_values(
                n, min(draws_needed - len(used_values), batch if len(used_values) else _FIRST_BATCH)
            )


def null_distribution_of(histories_logs: Sequence[Floats]) -> NullStatistic:
    """Return the null distribution for histories with the correlation and the wander of these histories.

    Levels between large changes do not wander, so the smaller of two estimates counts: of whole histories, and of the
    parts between large changes. With few histories the estimate is uncertain, so each change must also be abrupt
    (:class:`NullStatistic`).
    """
    correlation = correlation_of(histories_logs)
    has_few_runs = sum(max(0, len(logs) - _FAR) for logs in histories_logs) / _FAR < _WANDER_SHOWN
    errors_of_whole, errors_of_parts = _ERRORS_FEW if has_few_runs else _ERRORS_MANY
    wander = random_walk_step(histories_logs, correlation, errors_of_whole)
    if wander:
        parts = [part for logs in histories_logs for part in _levels(logs, NullStatistic())]
        wander = min(wander, random_walk_step(parts, correlation, errors_of_parts))
    return NullStatistic(correlation, wander=wander, has_few_runs=has_few_runs)


def _test(values: Floats, null: NullStatistic, alpha: float, draws: int = DRAWS) -> tuple[float, int]:
    """Return the p value of the most likely change in ``values``, and its position."""
    if len(values) < RUNS_MIN:
        return 1.0, len(values) // 2
    (observed,), (position,) = _largest_cusum(_ranks(values)[None, :], _intervals(len(values)))
    return null.p(len(values), float(observed), alpha=alpha, draws=draws), int(position)


def change_positions(
    values: Floats, null: NullStatistic | None = None, *, alpha: float = ALPHA
) -> list[tuple[int, float]]:
    """Return the number of ``values`` before each change of level, rising, with its p value.

    ``null``: the distribution without a change; by default that of uncorrelated runs. Draws are seeded, so the same
    values give the same answer.
    """
    null = null or NullStatistic()
    pending, positions = [(0, len(values))], []
    while pending:
        start, end = pending.pop()
        p, position = _test(values[start:end], null, alpha)
        if p <= alpha:
            positions.append(start + position)
            pending += [(start, start + position), (start + position, end)]
    return _confirmed(values, sorted(positions), null, alpha)


def _confirmed(values: Floats, positions: list[int], null: NullStatistic, alpha: float) -> list[tuple[int, float]]:
    """Return the changes that are also significant between their neighbours, each at its most likely position there."""
    while True:
        bounds = [0, *positions, len(values)]
        results = [_test(values[a:c], null, alpha) for a, c in zip(bounds, bounds[2:], strict=False)]
        new_positions = [bounds[i] + position for i, (_, position) in enumerate(results)]
        abrupt_null = null.of_abrupt_changes(len(values))
        if abrupt_null is not None:
            for i, position in enumerate(new_positions):
                neighbourhood = values[
                    max(bounds[i], position - ABRUPT_RUNS) : min(bounds[i + 2], position + ABRUPT_RUNS)
                ]
                results[i] = max(results[i][0], _test(neighbourhood, abrupt_null, alpha)[0]), results[i][1]
        weakest = max(range(len(positions)), key=lambda i: results[i][0], default=None)
        if weakest is None or results[weakest][0] <= alpha:
            return sorted({position: p for position, (p, _) in zip(new_positions, results, strict=True)}.items())
        del positions[weakest]


def changes_of(
    started_unix_s: Floats, durations_s: Floats, null: NullStatistic | None = None, *, alpha: float = ALPHA
) -> tuple[ChangePoint, ...]:
    """Return the changes in one configuration's history; the caller excludes runs without a start time.

    ``null``: the distribution without a change; by default estimated from this history. Raises ValueError for times
    that are not positive and finite.
    """
    if not (np.isfinite(durations_s) & (durations_s > 0)).all() or not np.isfinite(started_unix_s).all():
        raise ValueError("a history needs positive finite durations and known start times")
    order = np.argsort(started_unix_s, kind="stable")[-HISTORY_MAX:]
    sorted_starts_unix_s, sorted_durations_s = started_unix_s[order], durations_s[order]
    logs = np.log(sorted_durations_s)
    change_points = change_positions(logs, null or null_distribution_of([logs]), alpha=alpha)
    bounds = [0, *(position for position, _ in change_points), len(sorted_durations_s)]
    return tuple(
        ChangePoint(
            position,
            float(sorted_starts_unix_s[position - 1]),
            float(sorted_starts_unix_s[position]),
            welch_ratio(sorted_durations_s[position:after].tolist(), sorted_durations_s[before:position].tolist()),
            p,
            position - before,
            after - position,
        )
        for (position, p), before, after in zip(change_points, bounds, bounds[2:], strict=False)
    )


def _rejected(p: Floats, share: float) -> Mask:
    """Return which hypotheses to reject at the false discovery rate ``share`` (Benjamini and Hochberg)."""
    order = np.argsort(p)
    passing_positions = np.flatnonzero(p[order] <= share * np.arange(1, len(p) + 1) / max(1, len(p)))
    rejected = np.zeros(len(p), dtype=np.bool_)
    rejected[order[: passing_positions[-1] + 1 if len(passing_positions) else 0]] = True
    return rejected


@dataclass(frozen=True, slots=True)
class Histories:
    """The searched histories of a table, and those with a change."""

    changed: tuple[History, ...]
    """The largest change first."""
    searched: int
    """Number of configurations with at least :data:`RUNS_MIN` runs with a start time."""
    runs_without_start: int
    """Number of valid runs without a start time, which are excluded."""
    correlation: float
    """Correlation of consecutive runs of these histories."""
    wander: float
    """Step by which the level wanders from run to run, in standard deviations of a run."""


@dataclass(frozen=True, slots=True)
class RunSeries:
    """The dated valid runs of one configuration, in the order of their starts; the latest :data:`HISTORY_MAX`."""

    rows: Ints
    """Rows of the table."""
    started_unix_s: Floats
    durations_s: Floats


def run_series(table: RunTable, ignore: Collection[str] = ()) -> list[RunSeries]:
    """Return the series of each configuration; warm and cold runs have separate series.

    ``ignore``: factors that may differ within a series, such as the version of a build.
    """
    names = [*table.factors, *(["cold"] if "cold" in table.columns else [])]
    started_unix_s, durations_s = table.values["started_unix_s"], table.values["duration_s"]
    rows = np.flatnonzero(usable(table) & np.isfinite(started_unix_s))
    configurations = groups_by(table, [name for name in names if name not in ignore]).of_row[rows]
    order = np.lexsort((started_unix_s[rows], configurations))
    rows, configurations = rows[order], configurations[order]
    starts = np.flatnonzero(np.diff(configurations, prepend=-1))
    latest = [series_rows[-HISTORY_MAX:] for series_rows in np.split(rows, starts[1:]) if len(series_rows)]
    return [RunSeries(series_rows, started_unix_s[series_rows], durations_s[series_rows]) for series_rows in latest]


def histories(table: RunTable, *, alpha: float = ALPHA, ignore: Collection[str] = ()) -> Histories:
    """Return every configuration that changed; valid runs with a start time count.

    Configurations of fewer than :data:`RUNS_MIN` runs are not searched. ``ignore``: see :func:`run_series`.
    """
    series = [item for item in run_series(table, ignore) if len(item.rows) >= RUNS_MIN]
    logs = [np.log(item.durations_s) for item in series]
    null = null_distribution_of(logs)
    draws = min(DRAWS_MAX, int(10 * max(1, len(logs)) / FALSE_SHARE_MAX))
    p = np.array([_test(values, null, alpha, draws)[0] for values in logs])
    changed_histories = []
    for at in np.flatnonzero(_rejected(p, FALSE_SHARE_MAX)):
        changes = changes_of(series[at].started_unix_s, series[at].durations_s, null, alpha=alpha)
        if changes:
            changed_histories.append(History(int(series[at].rows[0]), len(series[at].rows), changes))
    changed_histories.sort(key=lambda history: -max(abs(np.log(change.ratio.value)) for change in history.changes))
    undated_runs = int(np.count_nonzero(usable(table) & ~np.isfinite(table.values["started_unix_s"])))
    return Histories(tuple(changed_histories), len(series), undated_runs, null.correlation, null.wander)
