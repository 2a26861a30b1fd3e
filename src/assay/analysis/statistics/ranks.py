"""Test whether one side's run times are smaller by rank: exact Mann-Whitney test, and Holm's correction of many tests.

In: run times of two sides, or p values. Out: two-sided p values. H. B. Mann and D. R. Whitney, Ann. Math. Stat. 18
(1947); S. Holm, Scand. J. Stat. 6 (1979).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from assay.analysis.statistics.arrays import Floats

TIED_SIZE_MAX = 10_000
"""Maximum product of the smaller side's runs and all runs for an exact test with ties."""
UNTIED_SIZE_MAX = 20_000_000
"""Maximum product of the runs of both sides and of the smaller side for an exact test without ties."""


def is_exact(baseline: Sequence[float], candidate: Sequence[float]) -> bool:
    """Return whether :func:`rank_test_p` counts every arrangement; otherwise it is the normal approximation."""
    sizes = len(baseline), len(candidate)
    if min(sizes) * sum(sizes) <= TIED_SIZE_MAX:
        return True
    pooled = [*baseline, *candidate]
    return len(set(pooled)) == len(pooled) and min(sizes) * sizes[0] * sizes[1] <= UNTIED_SIZE_MAX


def rank_test_p(baseline: Sequence[float], candidate: Sequence[float]) -> float:
    """Return the two-sided Mann-Whitney p value: exact, also with ties unless there are very many runs."""
    first, second = np.asarray(baseline, dtype=np.float64), np.asarray(candidate, dtype=np.float64)
    if not is_exact(baseline, candidate):
        return _approximate_p(first, second)
    pooled = np.concatenate((first, second))
    return _untied_p(first, second) if len(np.unique(pooled)) == len(pooled) else _exact_p(first, second)


def _untied_p(first: Floats, second: Floats) -> float:
    """Return twice the share of arrangements with a U of at most the smaller U of both sides.

    U is distributed as the coefficients of the Gaussian binomial: the product over i of (1 - q**(n + i)) / (1 - q**i).
    """
    m, n = sorted((len(first), len(second)))
    above = int(np.searchsorted(np.sort(second), first).sum())
    u = min(above, m * n - above)
    share = np.zeros(u + 1)
    share[0] = 1.0
    for i in range(1, m + 1):
        share[n + i :] -= share[: max(0, u + 1 - n - i)].copy()
        padded = np.concatenate((share, np.zeros(-(u + 1) % i)))
        share = padded.reshape(-1, i).cumsum(axis=0).ravel()[: u + 1] * (i / (n + i))
    return float(min(1.0, 2 * share.sum()))


def _approximate_p(first: Floats, second: Floats) -> float:
    """Return the p value of the normal approximation of U, with corrections for ties and continuity."""
    n, m = len(first), len(second)
    total, sorted_values = n + m, np.sort(second)
    u = (
        float((np.searchsorted(sorted_values, first, "left") + np.searchsorted(sorted_values, first, "right")).sum())
        / 2
    )
    ties = np.unique(np.concatenate((first, second)), return_counts=True)[1].astype(np.float64)
    variance = n * m / 12 * (total + 1 - float((ties**3 - ties).sum()) / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    distance = max(u, n * m - u) - n * m / 2 - 0.5
    return min(1.0, math.erfc(distance / math.sqrt(2 * variance)))


def _exact_p(first: Floats, second: Floats) -> float:
    """Return twice the share of arrangements whose rank sum is at least as far from the middle on the same side.

    The number of arrangements by size and rank sum is counted run by run; ties share the mean of their ranks.
    """
    smaller_side, pooled = (first, second)[len(second) < len(first)], np.concatenate((first, second))
    values, of_run = np.unique(pooled, return_inverse=True)
    ends = np.cumsum(np.bincount(of_run, minlength=len(values)))
    doubled_ranks = (ends + np.concatenate(([0], ends[:-1])) + 1)[of_run]  # twice the mean rank, a whole number
    arrangements = np.zeros((len(smaller_side) + 1, int(np.sort(doubled_ranks)[-len(smaller_side) :].sum()) + 1))
    arrangements[0, 0] = 1.0
    for rank in doubled_ranks.tolist():
        arrangements[1:, rank:] += arrangements[:-1, : arrangements.shape[1] - rank].copy()
    counts = arrangements[-1]
    start = 0 if smaller_side is first else len(first)
    rank_sum = int(doubled_ranks[start : start + len(smaller_side)].sum())
    return float(min(1.0, 2 * min(counts[: rank_sum + 1].sum(), counts[rank_sum:].sum()) / counts.sum()))


def smallest_reachable_p(n_baseline: int, n_candidate: int) -> float:
    """Return the smallest two-sided p value of a rank test with these numbers of runs: 0.1 for three per side."""
    return min(1.0, 2 / math.comb(n_baseline + n_candidate, n_baseline))


def holm(p_values: ArrayLike) -> Floats:
    """Return p values corrected by Holm's method, in the order of ``p_values``. Correction does not change their
    ranking."""
    p = np.asarray(p_values, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("p values must be from 0 to 1")
    order = np.argsort(p, kind="stable")
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(adjusted, 1.0)
    return corrected


def holm_where_known(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p values corrected by Holm's method, in the order of ``p_values``. None is not tested and stays None."""
    tested_numbers = [number for number, p in enumerate(p_values) if p is not None]
    corrected = dict(zip(tested_numbers, holm([p for p in p_values if p is not None]).tolist(), strict=True))
    return [corrected.get(number) for number in range(len(p_values))]
