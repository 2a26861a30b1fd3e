"""Whether one side's run times are smaller by rank: the exact Mann-Whitney test, for few runs; and many tests at once.

In: run times of two sides, or p values. Out: two-sided p values. H. B. Mann and D. R. Whitney, Ann. Math. Stat. 18
(1947); S. Holm, Scand. J. Stat. 6 (1979).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics.arrays import Floats

EXACT_ARRANGEMENTS_MAX = 20_000
"""With ties, up to this many arrangements are counted one by one; beyond, the normal approximation is used."""


def rank_test_p(baseline: Sequence[float], candidate: Sequence[float]) -> float:
    """Return the two-sided Mann-Whitney p value: exact, also with ties unless there are very many arrangements."""
    from scipy import stats  # imported here: the slowest import of a comparison

    pooled = [*baseline, *candidate]
    if len(set(pooled)) == len(pooled):
        return float(stats.mannwhitneyu(baseline, candidate, method="exact").pvalue)
    if len(set(pooled)) == 1:
        return 1.0
    if min(len(baseline), len(candidate)) == 1:
        return _one_against_many_p(baseline, candidate)
    if math.comb(len(pooled), len(baseline)) <= EXACT_ARRANGEMENTS_MAX:
        every_arrangement = stats.PermutationMethod(n_resamples=EXACT_ARRANGEMENTS_MAX)
        return float(stats.mannwhitneyu(baseline, candidate, method=every_arrangement).pvalue)
    return float(stats.mannwhitneyu(baseline, candidate, method="asymptotic").pvalue)


def _one_against_many_p(baseline: Sequence[float], candidate: Sequence[float]) -> float:
    """Return the exact two-sided p where a side has one run: twice the share of runs that are as far on its side."""
    pooled = [*baseline, *candidate]
    alone = baseline[0] if len(baseline) == 1 else candidate[0]
    smaller, larger = sum(value <= alone for value in pooled), sum(value >= alone for value in pooled)
    return min(1.0, 2 * min(smaller, larger) / len(pooled))


def smallest_reachable_p(n_baseline: int, n_candidate: int) -> float:
    """Return the smallest two-sided p value of a rank test with these numbers of runs: 0.1 for three per side."""
    return min(1.0, 2 / math.comb(n_baseline + n_candidate, n_baseline))


def holm(p_values: ArrayLike) -> Floats:
    """Return p values corrected by Holm's method, in their order; they stay in the order of the plain ones."""
    p = np.asarray(p_values, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("p values lie between 0 and 1")
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(raised, 1.0)
    return corrected


def holm_where_known(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p values corrected by Holm's method, in their order; None is no test and stays None."""
    tested = [number for number, p in enumerate(p_values) if p is not None]
    corrected = dict(zip(tested, holm([p for p in p_values if p is not None]).tolist(), strict=True))
    return [corrected.get(number) for number in range(len(p_values))]
