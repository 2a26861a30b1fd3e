"""When did a configuration become faster or slower? Change points in the history of its repetitions.

In: times of a configuration's runs (s) with when they started, or a whole table. Out: the changes with their dates and
sizes: ratios of geometric means, after / before, with an interval.

Method: binary segmentation by a weighted rank CUSUM, looked for in seeded intervals (S. Kovács and others, Biometrika
110 (2023)), so that a change and its reversal do not hide each other. Each split is tested by permutation of the
segment: outliers and the shape of the scatter do not matter, and the search over all places is paid for. After the last
split, each change is tested again between its neighbours. It is the rank form of E-divisive's scheme (D. S. Matteson
and N. A. James, J. Am. Stat. Assoc. 109 (2014)), which MongoDB and Otava use on performance histories; the statistic is
A. N. Pettitt's (Appl. Stat. 28 (1979)), divided by its standard deviation at each place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.statistics.intervals import Estimate, welch_ratio
from assay.statistics.keys import Floats, Ints, groups_by, usable
from assay.statistics.run_table import RunTable

ALPHA = 0.01
PERMUTATIONS = 999
SEED = 20_141_105
RUNS_MIN = 8
"""Shorter histories are not searched: with seven runs no order of them is rare enough."""
HISTORY_MAX = 2_000
"""Of a longer history, only the last so many runs are searched."""
_CELLS_MAX = 2_000_000
_FIRST_BATCH = 60
"""Enough permutations to give up most histories in which nothing happened."""
_WORTH_A_TEST = 2.3
"""A largest standardised CUSUM below this can't be significant: even one place alone would need 2.58."""


@dataclass(frozen=True, slots=True)
class Change:
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
    changes: tuple[Change, ...]


def _ranks(values: Floats) -> Floats:
    from scipy.stats import rankdata  # imported here: it takes as long as the rest of the command

    ranks: Floats = rankdata(values)
    return ranks


def _intervals(n: int) -> list[tuple[int, int]]:
    """Return seeded intervals: of each length n, n / 2, n / 4, … down to :data:`RUNS_MIN`, overlapping by half."""
    found: list[tuple[int, int]] = []
    length = float(n)
    while length >= RUNS_MIN or not found:
        count = max(1, int(2 * np.ceil(n / length) - 1))
        starts = np.linspace(0, n - length, count)
        found += [(int(start), min(n, int(np.ceil(start + length)))) for start in starts]
        length /= 2
    return list(dict.fromkeys(found))


def _largest(ranks: Floats, intervals: list[tuple[int, int]]) -> tuple[Floats, Ints]:
    """Return each row's largest standardised CUSUM within any of the intervals, and the number of values before it."""
    best, place = np.zeros(len(ranks)), np.zeros(len(ranks), dtype=np.int64)
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
        best[better], place[better] = value[better], start + at[better] + 1
    return best, place


def _test(values: Floats, rng: np.random.Generator, alpha: float) -> tuple[float, int]:
    """Return the p value of the most likely change in ``values``, and its place."""
    if len(values) < RUNS_MIN:
        return 1.0, len(values) // 2
    ranks, intervals = _ranks(values), _intervals(len(values))
    (observed,), (place,) = _largest(ranks[None, :], intervals)
    above, done = 0, 0
    batch = _FIRST_BATCH if observed > _WORTH_A_TEST else 0
    while batch and done < PERMUTATIONS:
        count = min(batch, PERMUTATIONS - done)
        shuffled = rng.permuted(np.broadcast_to(ranks, (count, len(ranks))), axis=1)
        above += int(np.count_nonzero(_largest(shuffled, intervals)[0] >= observed - 1e-9))
        done += count
        batch = max(1, min(PERMUTATIONS, _CELLS_MAX // len(values)))
        if (above + 1) / (PERMUTATIONS + 1) > alpha:
            break
    p = (above + 1) / (PERMUTATIONS + 1) if done == PERMUTATIONS else 1.0
    return p, int(place)


def change_places(values: Floats, *, alpha: float = ALPHA, seed: int = SEED) -> list[tuple[int, float]]:
    """Return where ``values`` change level, with p values: the number of values before each change, rising.

    The same values give the same answer: permutations are seeded.
    """
    rng = np.random.default_rng(seed)
    pending, places = [(0, len(values))], []
    while pending:
        start, end = pending.pop()
        if end - start < RUNS_MIN:
            continue
        p, place = _test(values[start:end], rng, alpha)
        if p <= alpha:
            places.append(start + place)
            pending += [(start, start + place), (start + place, end)]
    return _confirmed(values, sorted(places), rng, alpha)


def _confirmed(values: Floats, places: list[int], rng: np.random.Generator, alpha: float) -> list[tuple[int, float]]:
    """Return the changes that also stand between their neighbours, each moved to its best place there."""
    while True:
        bounds = [0, *places, len(values)]
        again = [_test(values[a:c], rng, alpha) for a, c in zip(bounds, bounds[2:], strict=False)]
        weakest = max(range(len(places)), key=lambda i: again[i][0], default=None)
        if weakest is None or again[weakest][0] <= alpha:
            moved = {bounds[i] + again[i][1]: again[i][0] for i in range(len(places))}
            return sorted(moved.items())
        del places[weakest]


def changes_of(started_unix_s: Floats, durations_s: Floats, *, alpha: float = ALPHA) -> tuple[Change, ...]:
    """Return the changes in one configuration's history; runs without a start time must be left out before.

    ValueError for times that are not positive and finite.
    """
    if not (np.isfinite(durations_s) & (durations_s > 0)).all() or not np.isfinite(started_unix_s).all():
        raise ValueError("a history needs positive finite durations and known start times")
    order = np.argsort(started_unix_s, kind="stable")[-HISTORY_MAX:]
    when, times = started_unix_s[order], durations_s[order]
    found = change_places(np.log(times), alpha=alpha)
    bounds = [0, *(place for place, _ in found), len(times)]
    return tuple(
        Change(
            place,
            float(when[place - 1]),
            float(when[place]),
            welch_ratio(times[place:after].tolist(), times[before:place].tolist()),
            p,
            place - before,
            after - place,
        )
        for (place, p), before, after in zip(found, bounds, bounds[2:], strict=False)
    )


def histories(table: RunTable, *, alpha: float = ALPHA) -> list[History]:
    """Return every configuration that changed, the largest change first; valid runs with a start time count.

    Configurations of fewer than :data:`RUNS_MIN` runs are not searched. Warm and cold runs are histories apart.
    """
    names = [*table.factors, *(["cold"] if "cold" in table.columns else [])]
    rows = np.flatnonzero(usable(table) & np.isfinite(table.values["started_unix_s"]))
    configurations = groups_by(table, names).of_row[rows]
    order = np.argsort(configurations, kind="stable")
    rows, configurations = rows[order], configurations[order]
    starts = np.flatnonzero(np.diff(configurations, prepend=-1))
    found = []
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        if end - start >= RUNS_MIN:
            mine = rows[start:end]
            changes = changes_of(table.values["started_unix_s"][mine], table.values["duration_s"][mine], alpha=alpha)
            if changes:
                found.append(History(int(mine[0]), int(end - start), changes))
    return sorted(found, key=lambda history: -max(abs(np.log(change.ratio.value)) for change in history.changes))
