"""When did a configuration become faster or slower? Change points in the history of its repetitions.

In: times of a configuration's runs (s) with when they started, or a whole table. Out: the changes with their dates and
sizes: ratios of geometric means, after / before, with an interval.

Method: binary segmentation by a weighted rank CUSUM, looked for in seeded intervals (S. Kovács and others, Biometrika
110 (2023)), so that a change and its reversal do not hide each other. Outliers and the shape of the scatter do not
matter, and the search over all places is paid for: each split is tested against the same statistic of histories in
which nothing happened, and after the last split each change is tested again between its neighbours. It is the rank form
of E-divisive's scheme (D. S. Matteson and N. A. James, J. Am. Stat. Assoc. 109 (2014)), which MongoDB and Otava use on
performance histories; the statistic is A. N. Pettitt's (Appl. Stat. 28 (1979)), divided by its standard deviation.

Runs that follow each other resemble each other, on a machine whose speed drifts, and chance then looks like a change.
So a history in which nothing happened is one whose neighbours correlate as those of the table do: a first-order
autoregression (with none, its ranks are a random permutation). Sessions of several runs, and machines whose speed
wanders, make the differences between two runs keep growing with their distance; so a random walk is added whose steps
are as large as that growth shows. Both are estimated from all histories of the table together. Few histories show
wandering badly; there a change must also be abrupt: it must show within ten runs before and after it. As a table has
many histories, the false discovery rate is limited (Y. Benjamini and Y. Hochberg, J. R. Stat. Soc. B 57 (1995)).
docs/explanation/speedup.md has both error rates, measured.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import Estimate, Floats, Ints, Mask, RunTable, groups_by, usable, welch_ratio

ALPHA = 0.01
"""Maximum share of the histories without a change that are reported as changed."""
FALSE_SHARE_MAX = 0.05
"""Of the histories of a table that are named, at most this share is named wrongly."""
DRAWS = 999
DRAWS_MAX = 50_000
CORRELATION_MAX = 0.95
RAISED_MAX = 0.1
_LARGE = 2.5
_TRIMMED = 0.9
"""Share of the smallest differences that tell the correlation: changes of level are among the others."""
SEED = 20_141_105
RUNS_MIN = 12
"""Shorter histories are not searched: no order of so few runs is rare enough, however far apart the times."""
HISTORY_MAX = 2_000
"""Maximum length of a searched history; of a longer one, the latest runs."""
_CELLS_MAX = 2_000_000
_CELLS_IN_ALL_MAX = 20_000_000
_FIRST_BATCH = 60
"""Enough draws to give up most histories in which nothing happened."""
_NEAR, _FAR = 2, 8
"""Distances of two runs whose differences show whether the level wanders."""
_WANDER_ERRORS = 2.0
_WANDER_NOISE_MIN = 0.1
WANDER_MIN, WANDER_MIN_LONG = 0.3, 0.4
"""Smallest step of wandering that an abrupt change must exceed, in standard deviations of a run: in a history of two
times :data:`ABRUPT_RUNS` runs or fewer, and in a longer one, where the place is the most likely of many stretches."""
ABRUPT_RUNS = 10
"""Runs before and after a change within which it must show, where few histories show whether levels wander."""
_WANDER_SHOWN = 40
"""Minimum number of distinct stretches of :data:`_FAR` runs that show how far levels wander."""
_CHI_SQUARE_MEDIAN = 0.4549
"""Median of the square of a standard normal."""
_TELLING = 5
"""With fewer draws beyond what was observed, more are made, where many histories make a smaller p count."""
_WORTH_A_TEST = 2.3
"""A largest standardised CUSUM below this can't be significant: even one place alone would need 2.58."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """One change: somewhere between the last run before and the first run after it."""

    index: int
    """The first run after the change, counted in the history."""
    last_before_unix_s: float
    first_after_unix_s: float
    ratio: Estimate
    """Time after / time before, of geometric means of the segments on both sides: above 1, it became slower. As the
    place was chosen for its size, the interval is somewhat too narrow."""
    p: float
    runs_before: int
    runs_after: int


@dataclass(frozen=True, slots=True)
class History:
    """The changes of one configuration."""

    position: int
    """A row of the configuration, to tell its levels from."""
    runs: int
    changes: tuple[ChangePoint, ...]


def _ranks(values: Floats) -> Floats:
    from scipy.stats import rankdata  # imported here: it takes as long as the rest of the command

    ranks: Floats = rankdata(values)
    return ranks


def _intervals(n: int) -> list[tuple[int, int]]:
    """Return seeded intervals: of each length n, n / 2, n / 4, … down to :data:`RUNS_MIN`, overlapping by half."""
    intervals: list[tuple[int, int]] = []
    length = float(n)
    while length >= RUNS_MIN or not intervals:
        count = max(1, int(2 * np.ceil(n / length) - 1))
        starts = np.linspace(0, n - length, count)
        intervals += [(int(start), min(n, int(np.ceil(start + length)))) for start in starts]
        length /= 2
    return list(dict.fromkeys(intervals))


def _largest(ranks: Floats, intervals: list[tuple[int, int]]) -> tuple[Floats, Ints]:
    """Return each row's largest standardised CUSUM within any of the intervals, and the number of values before it."""
    best, before_change = np.zeros(len(ranks)), np.zeros(len(ranks), dtype=np.int64)
    for start, end in intervals:
        part = ranks[:, start:end]
        n = end - start
        sums = np.cumsum(part - part.mean(axis=1, keepdims=True), axis=1)[:, :-1]
        before = np.arange(1, n)
        spread = np.maximum(part.var(axis=1, ddof=1), 1e-12)[:, None]
        standardised = np.abs(sums) / np.sqrt(spread * before * (n - before) / n)
        at = standardised.argmax(axis=1)
        value = standardised[np.arange(len(ranks)), at]
        better = value > best
        best[better], before_change[better] = value[better], start + at[better] + 1
    return best, before_change


def correlation_of(histories_logs: Sequence[Floats]) -> float:
    """Return how alike neighbouring runs are: the correlation of a first-order autoregression, from 0 up.

    The lower of two estimates, as each is too high where something changed, but at other changes: small ones enlarge
    what is left around the levels, large ones the differences. As the lower of two is too low where nothing changed,
    and few runs do not tell it well, it is raised by twice its standard error (M. S. Bartlett, J. R. Stat. Soc. Suppl.
    8, 1946), by :data:`RAISED_MAX` at most: a single short history would else show nothing.
    """
    correlation = float(
        np.clip(min(_by_differences(histories_logs), _around_levels(histories_logs)), 0.0, CORRELATION_MAX)
    )
    pairs = sum(len(logs) - 1 for logs in histories_logs if len(logs) and np.ptp(logs) > 0)
    raised = min(RAISED_MAX, 2 * float(np.sqrt((1 - correlation**2) / pairs))) if pairs else 0.0
    return min(CORRELATION_MAX, correlation + raised)


def _by_differences(histories_logs: Sequence[Floats]) -> float:
    """For such a series, the mean square of differences two apart is 1 + correlation times that of neighbours.

    The largest differences are left out of both: changes of level are among them.
    """
    near = np.concatenate([np.abs(np.diff(logs)) for logs in histories_logs] or [np.zeros(0)])
    far = np.concatenate([np.abs(logs[2:] - logs[:-2]) for logs in histories_logs] or [np.zeros(0)])
    kept = [np.sort(apart)[: max(1, int(len(apart) * _TRIMMED))] for apart in (near, far)]
    if not len(far) or not kept[0].any():
        return 0.0
    return float((kept[1] ** 2).mean() / (kept[0] ** 2).mean()) - 1


def _around_levels(histories_logs: Sequence[Floats]) -> float:
    """The correlation of neighbours around the levels that large changes part, corrected for their levels' number."""
    product = square = 0.0
    count, levels, unlike = 0, 0, NullStatistic()
    for logs in histories_logs:
        parts = _levels(logs, unlike)
        rest = np.concatenate([part - part.mean() for part in parts])
        product += float((rest[1:] * rest[:-1]).sum())
        square += float((rest**2).sum())
        count, levels = count + len(rest), levels + len(parts)
    if square <= 0:
        return 0.0
    correlation = product / square
    return correlation + (1 + 4 * correlation) * levels / count


def _levels(logs: Floats, unlike: NullStatistic) -> list[Floats]:
    """Return the parts of a history between its changes of more than :data:`_LARGE` standard deviations."""
    positions = [position for position, _ in change_places(logs, unlike)]
    while True:
        parts = np.split(logs, positions)
        spread = float(np.sqrt(np.concatenate([part - part.mean() for part in parts]).var()))
        jumps = [abs(b.mean() - a.mean()) / max(spread, 1e-12) for a, b in itertools.pairwise(parts)]
        smallest = int(np.argmin(jumps)) if jumps else None
        if smallest is None or jumps[smallest] >= _LARGE:
            return parts
        del positions[smallest]


def wander_of(histories_logs: Sequence[Floats], correlation: float, errors: float = _WANDER_ERRORS) -> float:
    """Return how far the level of histories wanders: the step of a random walk, in standard deviations of a run.

    From how much more runs differ that are :data:`_FAR` apart than runs that are :data:`_NEAR` apart, beyond what the
    correlation of neighbours explains. Medians of squared differences: a single change of level is in few of them.
    Raised by ``errors`` times its standard error, as few runs do not show it well.
    """
    near, far = (_squared_difference(histories_logs, apart) for apart in (_NEAR, _FAR))
    pairs = sum(max(0, len(logs) - _FAR) for logs in histories_logs)
    if not near or not far or not pairs:
        return 0.0
    explained = near * (1 - correlation**_FAR) / (1 - correlation**_NEAR)
    effective = max(1.0, pairs / _FAR)  # neighbouring differences share most of their runs
    steps = max(0.0, far - explained) + min(1.0, errors / float(np.sqrt(effective))) * max(0.0, far - explained)
    step = steps / (_FAR - _NEAR)
    run = max(near - _NEAR * step, _WANDER_NOISE_MIN * near) / (2 * (1 - correlation**_NEAR))
    return float(np.sqrt(step / run))


def _squared_difference(histories_logs: Sequence[Floats], apart: int) -> float:
    """Return the mean square of differences between runs that are ``apart``, by their median if they were normal."""
    squares = [(logs[apart:] - logs[:-apart]) ** 2 for logs in histories_logs if len(logs) > apart]
    return float(np.median(np.concatenate(squares))) / _CHI_SQUARE_MEDIAN if squares else 0.0


class NullStatistic:
    """The statistic of histories in which nothing happened, by their length; drawn as they are needed, and seeded.

    ``wander``: the step of a random walk that is added, in standard deviations of a run (:func:`wander_of`).
    ``few``: whether few runs show how far levels wander. Then each change is tested a second time, within
    :data:`ABRUPT_RUNS` runs before and after it: a level that wanders goes far in many runs, and hardly in a few.
    """

    def __init__(self, correlation: float = 0.0, seed: int = SEED, wander: float = 0.0, few: bool = False) -> None:
        self.few = few
        self._abrupt = (
            [NullStatistic(correlation, seed, max(wander, least)) for least in (WANDER_MIN, WANDER_MIN_LONG)]
            if few
            else []
        )
        self.correlation = round(correlation, 2)
        self.wander = round(wander, 2)
        self._seed = seed
        self._drawn: dict[int, Floats] = {}

    def of_abrupt_changes(self, runs: int) -> NullStatistic | None:
        """Return what an abrupt change in a history of ``runs`` runs is tested against; None where none must be."""
        return self._abrupt[runs > 2 * ABRUPT_RUNS] if self._abrupt else None

    def _more(self, n: int, count: int) -> Floats:
        known = self._drawn.get(n, np.zeros(0))
        rng = np.random.default_rng([self._seed, n, len(known)])
        values = rng.standard_normal((count, n))
        for at in range(1, n if self.correlation else 1):
            values[:, at] = self.correlation * values[:, at - 1] + np.sqrt(1 - self.correlation**2) * values[:, at]
        if self.wander:
            values += self.wander * np.cumsum(rng.standard_normal((count, n)), axis=1)
        ranks = values.argsort(axis=1).argsort(axis=1).astype(np.float64)
        self._drawn[n] = np.concatenate([known, _largest(ranks, _intervals(n))[0]])
        return self._drawn[n]

    def p(self, n: int, observed: float, *, alpha: float, draws: int = DRAWS) -> float:
        """Return how often such a history of ``n`` runs shows at least ``observed``; 1 as soon as it is above alpha."""
        if observed <= _WORTH_A_TEST:
            return 1.0
        drawn = self._drawn.get(n, np.zeros(0))
        wanted, most = DRAWS, max(DRAWS, min(draws, _CELLS_IN_ALL_MAX // n))
        while True:
            used = drawn[:wanted]
            above = int(np.count_nonzero(used >= observed - 1e-9))
            if (above + 1) / (wanted + 1) > alpha:
                return 1.0
            if len(used) == wanted and (wanted == most or above >= _TELLING):
                return (above + 1) / (wanted + 1)
            if len(used) == wanted:
                wanted = min(most, 10 * wanted)
            room = max(_FIRST_BATCH, _CELLS_MAX // n)
            drawn = self._more(n, min(wanted - len(used), room if len(used) else _FIRST_BATCH))


def nothing_of(histories_logs: Sequence[Floats]) -> NullStatistic:
    """Return what chance does to histories whose runs depend on each other as in these.

    Levels between large changes do not wander, so the smaller of two estimates counts: of whole histories, and of the
    parts between large changes. A few histories show wandering badly, so each of their changes must also be abrupt
    (:class:`NullStatistic`).
    """
    correlation = correlation_of(histories_logs)
    wander = wander_of(histories_logs, correlation)
    if wander:
        parts = [part for logs in histories_logs for part in _levels(logs, NullStatistic())]
        wander = min(wander, wander_of(parts, correlation, errors=1.0))
    stretches = sum(max(0, len(logs) - _FAR) for logs in histories_logs) / _FAR
    return NullStatistic(correlation, wander=wander, few=stretches < _WANDER_SHOWN)


def _test(values: Floats, nothing: NullStatistic, alpha: float, draws: int = DRAWS) -> tuple[float, int]:
    """Return the p value of the most likely change in ``values``, and its place."""
    if len(values) < RUNS_MIN:
        return 1.0, len(values) // 2
    (observed,), (position,) = _largest(_ranks(values)[None, :], _intervals(len(values)))
    return nothing.p(len(values), float(observed), alpha=alpha, draws=draws), int(position)


def change_places(
    values: Floats, nothing: NullStatistic | None = None, *, alpha: float = ALPHA
) -> list[tuple[int, float]]:
    """Return where ``values`` change level, with p values: the number of values before each change, rising.

    ``nothing``: what chance does; that of runs that do not resemble their neighbours when left out. The same values
    give the same answer: draws are seeded.
    """
    nothing = nothing or NullStatistic()
    pending, positions = [(0, len(values))], []
    while pending:
        start, end = pending.pop()
        p, position = _test(values[start:end], nothing, alpha)
        if p <= alpha:
            positions.append(start + position)
            pending += [(start, start + position), (start + position, end)]
    return _confirmed(values, sorted(positions), nothing, alpha)


def _confirmed(values: Floats, positions: list[int], nothing: NullStatistic, alpha: float) -> list[tuple[int, float]]:
    """Return the changes that also show between their neighbours, each moved to its best place there."""
    while True:
        bounds = [0, *positions, len(values)]
        again = [_test(values[a:c], nothing, alpha) for a, c in zip(bounds, bounds[2:], strict=False)]
        moved = [bounds[i] + position for i, (_, position) in enumerate(again)]
        abrupt = nothing.of_abrupt_changes(len(values))
        if abrupt is not None:
            for i, position in enumerate(moved):
                near = values[max(bounds[i], position - ABRUPT_RUNS) : min(bounds[i + 2], position + ABRUPT_RUNS)]
                again[i] = max(again[i][0], _test(near, abrupt, alpha)[0]), again[i][1]
        weakest = max(range(len(positions)), key=lambda i: again[i][0], default=None)
        if weakest is None or again[weakest][0] <= alpha:
            return sorted({position: p for position, (p, _) in zip(moved, again, strict=True)}.items())
        del positions[weakest]


def changes_of(
    started_unix_s: Floats, durations_s: Floats, nothing: NullStatistic | None = None, *, alpha: float = ALPHA
) -> tuple[ChangePoint, ...]:
    """Return the changes in one configuration's history; runs without a start time must be left out before.

    ``nothing``: what chance does; without it, that of runs which resemble their neighbours as these do. ValueError for
    times that are not positive and finite.
    """
    if not (np.isfinite(durations_s) & (durations_s > 0)).all() or not np.isfinite(started_unix_s).all():
        raise ValueError("a history needs positive finite durations and known start times")
    when, times = _recent(started_unix_s, durations_s)
    logs = np.log(times)
    change_points = change_places(logs, nothing or nothing_of([logs]), alpha=alpha)
    bounds = [0, *(position for position, _ in change_points), len(times)]
    return tuple(
        ChangePoint(
            position,
            float(when[position - 1]),
            float(when[position]),
            welch_ratio(times[position:after].tolist(), times[before:position].tolist()),
            p,
            position - before,
            after - position,
        )
        for (position, p), before, after in zip(change_points, bounds, bounds[2:], strict=False)
    )


def _recent(started_unix_s: Floats, durations_s: Floats) -> tuple[Floats, Floats]:
    order = np.argsort(started_unix_s, kind="stable")[-HISTORY_MAX:]
    return started_unix_s[order], durations_s[order]


def _few_wrong(p: Floats, share: float) -> Mask:
    """Return which hypotheses to reject so that at most ``share`` of those rejected are true, on average."""
    order = np.argsort(p)
    passed = np.flatnonzero(p[order] <= share * np.arange(1, len(p) + 1) / max(1, len(p)))
    rejected = np.zeros(len(p), dtype=np.bool_)
    rejected[order[: passed[-1] + 1 if len(passed) else 0]] = True
    return rejected


@dataclass(frozen=True, slots=True)
class Histories:
    """The histories of a table that were searched, and those in which something changed."""

    changed: tuple[History, ...]
    """The largest change first."""
    searched: int
    """Configurations with at least :data:`RUNS_MIN` runs whose start is known."""
    runs_without_start: int
    """Valid runs that were left out because nothing tells when they started."""
    correlation: float
    """How alike neighbouring runs of these histories are: 0 is not at all."""
    wander: float
    """The step by which the level wanders from run to run, in standard deviations of a run: 0 is not at all."""


def histories(table: RunTable, *, alpha: float = ALPHA) -> Histories:
    """Return every configuration that changed; valid runs with a start time count.

    Configurations of fewer than :data:`RUNS_MIN` runs are not searched. Warm and cold runs are histories apart.
    """
    names = [*table.factors, *(["cold"] if "cold" in table.columns else [])]
    dated = np.isfinite(table.values["started_unix_s"])
    rows = np.flatnonzero(usable(table) & dated)
    configurations = groups_by(table, names).of_row[rows]
    order = np.argsort(configurations, kind="stable")
    rows, configurations = rows[order], configurations[order]
    starts = np.flatnonzero(np.diff(configurations, prepend=-1))
    members = [mine for mine in np.split(rows, starts[1:]) if len(mine) >= RUNS_MIN]
    series = [_recent(table.values["started_unix_s"][mine], table.values["duration_s"][mine]) for mine in members]
    logs = [np.log(times) for _, times in series]
    nothing = nothing_of(logs)
    draws = min(DRAWS_MAX, int(10 * max(1, len(logs)) / FALSE_SHARE_MAX))
    p = np.array([_test(values, nothing, alpha, draws)[0] for values in logs])
    changed = []
    for at in np.flatnonzero(_few_wrong(p, FALSE_SHARE_MAX)):
        changes = changes_of(*series[at], nothing, alpha=alpha)
        if changes:
            changed.append(History(int(members[at][0]), len(members[at]), changes))
    changed.sort(key=lambda history: -max(abs(np.log(change.ratio.value)) for change in history.changes))
    undated = int(np.count_nonzero(usable(table) & ~dated))
    return Histories(tuple(changed), len(members), undated, nothing.correlation, nothing.wander)
