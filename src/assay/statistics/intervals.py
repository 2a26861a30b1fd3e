"""How sure a mean or a ratio of few run times is: Student's t on logarithms, and the exact Mann-Whitney test.

In: run times in seconds, all positive. Out: geometric means and ratios with two-sided 95 % intervals, and p values.
Times of repeated runs are positive and vary by a factor rather than by an amount, so everything is done on logarithms;
a ratio's interval is then never negative, and swapping the sides gives the reciprocal interval.

Student's t rather than a bootstrap, because a bootstrap of three to five runs covers far less than it says: see
``docs/adr/0003-intervals-for-few-runs.md`` and ``benchmarks/interval_coverage.py``. Welch's degrees of freedom:
B. L. Welch, Biometrika 34 (1947). Rank test: H. B. Mann and D. R. Whitney, Ann. Math. Stat. 18 (1947).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

LEVEL = 0.95
EXACT_ARRANGEMENTS_MAX = 20_000
"""With ties, up to this many arrangements are counted one by one; beyond, the normal approximation is used."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval, in the value's own unit; without one, ``low`` and ``high`` are None."""

    value: float
    low: float | None
    high: float | None


def _quantile(degrees_of_freedom: float) -> float:
    from scipy.special import stdtrit  # imported here: 0.1 s that only a comparison needs

    return float(stdtrit(degrees_of_freedom, 0.5 + LEVEL / 2))


def _exp_interval(centre: float, standard_error: float, degrees_of_freedom: float) -> Estimate:
    half = _quantile(degrees_of_freedom) * standard_error if standard_error > 0 else 0.0
    return Estimate(math.exp(centre), math.exp(centre - half), math.exp(centre + half))


def _logs(values: Sequence[float]) -> list[float]:
    if not values or any(not value > 0 or math.isinf(value) for value in values):
        raise ValueError("run times must be positive and finite, and there must be at least one")
    return [math.log(value) for value in values]


def geometric_mean(values: Sequence[float]) -> Estimate:
    """Return the geometric mean with its t interval; no interval for one value. ValueError unless all are positive."""
    logs = _logs(values)
    if len(logs) < 2:
        return Estimate(values[0], None, None)
    return _exp_interval(fmean(logs), math.sqrt(variance(logs) / len(logs)), len(logs) - 1)


def paired_ratio(baseline: Sequence[float], candidate: Sequence[float]) -> Estimate:
    """Return baseline / candidate from pairs at equal positions. ValueError for unequal lengths or bad times."""
    if len(baseline) != len(candidate):
        raise ValueError("pairs need as many baseline as candidate times")
    return geometric_mean([b / c for b, c in zip(baseline, candidate, strict=True)])


def welch_ratio(baseline: Sequence[float], candidate: Sequence[float]) -> Estimate:
    """Return the ratio of geometric means, baseline / candidate, with Welch's interval; none with one run on a side."""
    b, c = _logs(baseline), _logs(candidate)
    centre = fmean(b) - fmean(c)
    if min(len(b), len(c)) < 2:
        return Estimate(math.exp(centre), None, None)
    from_b, from_c = variance(b) / len(b), variance(c) / len(c)
    total = from_b + from_c
    if total < 1e-24:  # equal times on each side: rounding noise would make the degrees of freedom meaningless
        return _exp_interval(centre, 0.0, 1)
    degrees = total**2 / (from_b**2 / (len(b) - 1) + from_c**2 / (len(c) - 1))
    return _exp_interval(centre, math.sqrt(total), degrees)


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
    """Return the exact two-sided p where a side has one run: the share of all runs that would stand out as far."""
    pooled = [*baseline, *candidate]

    def away(value: float) -> float:
        below, equal = sum(other < value for other in pooled), sum(other == value for other in pooled) - 1
        return abs(below + equal / 2 - (len(pooled) - 1) / 2)

    observed = away(baseline[0] if len(baseline) == 1 else candidate[0])
    return sum(away(value) >= observed for value in pooled) / len(pooled)


def smallest_reachable_p(n_baseline: int, n_candidate: int) -> float:
    """Return the smallest two-sided p value that any rank test can give with so many runs: 0.1 for three a side."""
    return min(1.0, 2 / math.comb(n_baseline + n_candidate, n_baseline))
