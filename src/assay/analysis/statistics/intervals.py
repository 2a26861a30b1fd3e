"""How sure a mean or a ratio of few run times is: Student's t on logarithms.

In: run times in seconds, all positive, or columns of their logarithms with group numbers. Out: geometric means and
ratios with two-sided 95 % intervals. Times of repeated runs are positive and vary by a factor rather than by an
amount, so everything is done on logarithms; a ratio's interval is then never negative, and swapping the sides gives
the reciprocal.

Times that are written in whole seconds, or to some decimals, are rounded, and equal ones hide their scatter. So no
interval is narrower than what rounding allows: each time half a unit longer on one side and shorter on the other.

Student's t rather than a bootstrap, because a bootstrap of three to five runs covers far less than it says: see
``docs/adr/0003-intervals-for-few-runs.md`` and ``benchmarks/interval_coverage.py``. Welch's degrees of freedom: B. L.
Welch, Biometrika 34 (1947); combined ones: F. E. Satterthwaite, Biometrics Bulletin 2 (1946).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

import numpy as np

from assay.analysis.statistics.arrays import Floats, Ints
from assay.analysis.statistics.sessions import SideSessions

LEVEL = 0.95
UNEQUAL_MIN = 1.5
"""How many times as many values the other side must have, from which a side has at least the other's variance."""
BORROWING_MIN = 4
"""Minimum number of values on a side that takes over the other side's degrees of freedom with its variance."""
_UNITS = (1.0, 0.1, 0.01, 0.001)
"""What times are rounded to, s: of each run the coarsest of which its time is a multiple."""
_NO_SCATTER = 1e-24
"""A variance of logarithms below this is rounding noise of equal times."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval, in the value's own unit; without one, ``low`` and ``high`` are None."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Means:
    """Means of logarithms by group; the variance is NaN for a group of one."""

    n: Ints
    mean: Floats
    variance: Floats
    rounding: Floats
    """How far each mean can be off because its times are rounded."""
    sessions: SideSessions | None = None
    """How the values of all groups are spread over sessions; None where that is not asked."""

    def taken(self, keep: Ints) -> Means:
        """Return some of the groups, without their sessions."""
        return Means(self.n[keep], self.mean[keep], self.variance[keep], self.rounding[keep])


@dataclass(frozen=True, slots=True)
class Differences:
    """Differences of means by group; ``error`` is their variance, NaN when a side has one value."""

    mean: Floats
    error: Floats
    degrees: Floats
    rounding: Floats


def rounding_of(duration_s: Floats) -> Floats:
    """Return how far the logarithm of each time can be off because it is rounded; 0 for times of many decimals."""
    unit_s = np.zeros(len(duration_s))
    for candidate in _UNITS:
        in_units = duration_s / candidate
        unit_s[(unit_s == 0) & (np.abs(in_units - np.rint(in_units)) < 1e-6)] = candidate
    return unit_s / 2 / duration_s


def means_by(values: Floats, group: Ints, count: int, rounding: Floats | None = None) -> Means:
    """Return number, mean and variance (n - 1) of ``values`` by group 0 … ``count`` - 1; NaN where there is none.

    ``rounding``: how far each value can be off, see :func:`rounding_of`.
    """
    n = np.bincount(group, minlength=count)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(group, weights=values, minlength=count) / n
        apart = values - mean[group]
        variance = np.bincount(group, weights=apart * apart, minlength=count) / (n - 1.0)
        off = np.zeros(count) if rounding is None else np.bincount(group, weights=rounding, minlength=count) / n
    variance[n < 2] = np.nan
    return Means(n, mean, variance, off)


def _at_least(side: Means, other: Means) -> tuple[Floats, Floats]:
    """Return the variance of each group of ``side``, where it has few values at least the other's, and its degrees."""
    with np.errstate(invalid="ignore"):
        borrowed = (other.n >= UNEQUAL_MIN * side.n) & (other.variance > side.variance)
    variance = np.where(borrowed, other.variance, side.variance)
    # Two or three runs can't show that their side scatters no more than the other, so they keep theirs.
    n = np.where(borrowed & (side.n >= BORROWING_MIN), other.n, side.n)
    return variance, n - 1.0


def difference(a: Means, b: Means) -> Differences:
    """Return ``a`` - ``b`` by group, with Welch's degrees of freedom. Both sides of every group have a value.

    A side with far fewer values than the other (:data:`UNEQUAL_MIN`) has at least the other's variance: three of twenty
    bimodal times are often all of one mode, and look far too sure.
    """
    (variance_a, free_a), (variance_b, free_b) = _at_least(a, b), _at_least(b, a)
    from_a, from_b = variance_a / a.n, variance_b / b.n
    error = from_a + from_b
    with np.errstate(invalid="ignore", divide="ignore"):
        degrees = error**2 / (from_a**2 / free_a + from_b**2 / free_b)
    degrees = np.where(error > 0, degrees, a.n + b.n - 2.0)
    return Differences(a.mean - b.mean, error, degrees, a.rounding + b.rounding)


def estimate(mean: float, standard_error: float, degrees: float, rounding: float = 0.0) -> Estimate:
    """Return the ratio exp(``mean``) with its t interval; without one when the error is not known.

    ``rounding``: how far ``mean`` can be off because times are rounded; the interval is never narrower.
    """
    value = float(np.exp(mean))
    if not (np.isfinite(standard_error) and np.isfinite(degrees) and degrees > 0):
        return Estimate(value, None, None)
    half = rounding
    if standard_error * standard_error >= _NO_SCATTER:
        from scipy.special import stdtrit  # imported here: 0.1 s that only a comparison needs

        half = max(rounding, float(stdtrit(degrees, 0.5 + LEVEL / 2)) * standard_error)
    if half == 0:
        return Estimate(value, value, value)
    with np.errstate(over="ignore"):
        return Estimate(value, float(np.exp(mean - half)), float(np.exp(mean + half)))


def two_sided_p(mean: float, standard_error: float, degrees: float, rounding: float = 0.0) -> float | None:
    """Return the p value of a true mean of 0: below 5 % exactly where :func:`estimate`'s interval leaves out 1."""
    if not (np.isfinite(standard_error) and np.isfinite(degrees) and degrees > 0):
        return None
    if abs(mean) <= rounding:
        return 1.0
    if standard_error * standard_error < _NO_SCATTER:
        return 0.0 if mean else 1.0
    from scipy.special import stdtr

    return float(2 * stdtr(degrees, -abs(mean) / standard_error))


def satterthwaite(parts: Floats, degrees: Floats) -> float:
    """Return the degrees of freedom of a sum of variances ``parts``, each with its own."""
    total = float(parts.sum())
    if total < _NO_SCATTER:
        return float(degrees.sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        terms = np.where(parts > 0, parts * parts / degrees, 0.0)
    return float(total * total / terms.sum())


def _logs(values: Sequence[float]) -> list[float]:
    if not values or any(not value > 0 or math.isinf(value) for value in values):
        raise ValueError("run times must be positive and finite, and there must be at least one")
    return [math.log(value) for value in values]


def geometric_mean(values: Sequence[float], offsets: Floats | None = None) -> Estimate:
    """Return the geometric mean with its t interval; no interval for one value. ValueError unless all are positive.

    ``offsets``: how far the logarithm of each can be off; their rounding if left out.
    """
    logs = _logs(values)
    if len(logs) < 2:
        return Estimate(values[0], None, None)
    off = float((rounding_of(np.asarray(values, dtype=np.float64)) if offsets is None else offsets).mean())
    return estimate(fmean(logs), math.sqrt(variance(logs) / len(logs)), len(logs) - 1, off)


def welch_ratio(baseline: Sequence[float], candidate: Sequence[float]) -> Estimate:
    """Return the ratio of geometric means, baseline / candidate, with Welch's interval; none with one run on a side."""
    sides = ((np.array(_logs(side)), np.asarray(side, dtype=np.float64)) for side in (baseline, candidate))
    means = (means_by(logs, np.zeros(len(logs), dtype=np.int64), 1, rounding_of(times)) for logs, times in sides)
    log_difference = difference(*means)
    error, degrees = float(np.sqrt(log_difference.error[0])), float(log_difference.degrees[0])
    return estimate(float(log_difference.mean[0]), error, degrees, float(log_difference.rounding[0]))
