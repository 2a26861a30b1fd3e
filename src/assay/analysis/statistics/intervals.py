"""Compute intervals of means and ratios of few run times: Student's t on logarithms.

In: run times in seconds, all positive, or columns of their logarithms with group numbers. Out: geometric means and
ratios with two-sided 95 % intervals. Times of repeated runs are positive and vary by a factor rather than by an amount,
so everything is done on logarithms; a ratio's interval is then never negative, and swapping the sides gives the
reciprocal.

Times in whole seconds, or with few decimals, are rounded, and equal rounded times hide their spread. An interval is
therefore never narrower than rounding allows, with each time half a unit longer on one side and shorter on the other.

Student's t is used rather than a bootstrap, because a bootstrap of three to five runs covers far less than 95 %: see
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
"""Confidence level of all intervals."""
COUNT_RATIO_MIN = 1.5
"""Minimum ratio of the sides' numbers of values at which the smaller side gets at least the larger side's variance."""
BORROWING_MIN = 4
"""Minimum number of values of a side that gets the other side's degrees of freedom together with its variance."""
_UNITS = (1.0, 0.1, 0.01, 0.001)
"""Units to which times can be rounded, in seconds. A time has the coarsest unit of which it is a multiple."""
_VARIANCE_MIN = 1e-24
"""Minimum variance of logarithms. A smaller one is floating-point noise of equal times."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval in the same unit; ``low`` and ``high`` are None without an interval."""

    value: float
    low: float | None
    high: float | None

    @property
    def width(self) -> float:
        """``high`` / ``low`` of a ratio; infinite without an interval."""
        return math.inf if self.low is None or self.high is None else self.high / self.low


@dataclass(frozen=True, slots=True)
class Means:
    """Means of logarithms by group; the variance is NaN for a group of one."""

    n: Ints
    mean: Floats
    variance: Floats
    rounding: Floats
    """Maximum error of each mean because its times are rounded."""
    sessions: SideSessions | None = None
    """How the values of all groups are spread over sessions; None if it was not computed."""

    def subset(self, keep: Ints) -> Means:
        """Return some of the groups, without their sessions."""
        return Means(self.n[keep], self.mean[keep], self.variance[keep], self.rounding[keep])


@dataclass(frozen=True, slots=True)
class Differences:
    """Differences of means by group."""

    mean: Floats
    variance: Floats
    """Variance of each difference; NaN when a side has one value."""
    degrees: Floats
    rounding: Floats


def rounding_of(duration_s: Floats) -> Floats:
    """Return the maximum rounding error of each time's logarithm; 0 for times with many decimals."""
    unit_s = np.zeros(len(duration_s))
    for candidate in _UNITS:
        in_units = duration_s / candidate
        unit_s[(unit_s == 0) & (np.abs(in_units - np.rint(in_units)) < 1e-6)] = candidate
    return unit_s / 2 / duration_s


def means_by(values: Floats, group: Ints, count: int, rounding: Floats | None = None) -> Means:
    """Return number, mean and variance (n - 1) of ``values`` by group 0 … ``count`` - 1; NaN for a group without
    values.

    ``rounding``: maximum error of each value (:func:`rounding_of`).
    """
    n = np.bincount(group, minlength=count)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(group, weights=values, minlength=count) / n
        deviations = values - mean[group]
        variance = np.bincount(group, weights=deviations * deviations, minlength=count) / (n - 1.0)
        rounding_mean = (
            np.zeros(count) if rounding is None else np.bincount(group, weights=rounding, minlength=count) / n
        )
    variance[n < 2] = np.nan
    return Means(n, mean, variance, rounding_mean)


def _at_least(side: Means, other_side: Means) -> tuple[Floats, Floats]:
    """Return the variance of each group of ``side`` and its degrees; with few values, at least the other side's
    variance."""
    with np.errstate(invalid="ignore"):
        is_borrowed = (other_side.n >= COUNT_RATIO_MIN * side.n) & (other_side.variance > side.variance)
    variance = np.where(is_borrowed, other_side.variance, side.variance)
    # Two or three runs do not show that both sides have the same variance, so they keep their degrees of freedom.
    n = np.where(is_borrowed & (side.n >= BORROWING_MIN), other_side.n, side.n)
    return variance, n - 1.0


def difference(a: Means, b: Means) -> Differences:
    """Return ``a`` - ``b`` by group, with Welch's degrees of freedom. Both sides of every group have a value.

    A side with far fewer values than the other (:data:`COUNT_RATIO_MIN`) has at least the other's variance: three
    values of a bimodal distribution are often all of one mode, with far too small a variance.
    """
    (variance_a, degrees_a), (variance_b, degrees_b) = _at_least(a, b), _at_least(b, a)
    part_a, part_b = variance_a / a.n, variance_b / b.n
    variance = part_a + part_b
    with np.errstate(invalid="ignore", divide="ignore"):
        degrees = variance**2 / (part_a**2 / degrees_a + part_b**2 / degrees_b)
    degrees = np.where(variance > 0, degrees, a.n + b.n - 2.0)
    return Differences(a.mean - b.mean, variance, degrees, a.rounding + b.rounding)


def estimate(mean: float, standard_error: float, degrees: float, rounding: float = 0.0) -> Estimate:
    """Return the ratio exp(``mean``) with its t interval; without an interval if the error is unknown.

    ``rounding``: maximum error of ``mean`` because times are rounded; the interval is never narrower.
    """
    value = float(np.exp(mean))
    if not (np.isfinite(standard_error) and np.isfinite(degrees) and degrees > 0):
        return Estimate(value, None, None)
    half_width = rounding
    if standard_error * standard_error >= _VARIANCE_MIN:
        from scipy.special import stdtrit  # imported here because the import takes 0.1 s

        half_width = max(rounding, float(stdtrit(degrees, 0.5 + LEVEL / 2)) * standard_error)
    if half_width == 0:
        return Estimate(value, value, value)
    with np.errstate(over="ignore"):
        return Estimate(value, float(np.exp(mean - half_width)), float(np.exp(mean + half_width)))


def two_sided_p(mean: float, standard_error: float, degrees: float, rounding: float = 0.0) -> float | None:
    """Return the p value of a true mean of 0: below 5 % exactly if :func:`estimate`'s interval excludes 1."""
    if not (np.isfinite(standard_error) and np.isfinite(degrees) and degrees > 0):
        return None
    if abs(mean) <= rounding:
        return 1.0
    if standard_error * standard_error < _VARIANCE_MIN:
        return 0.0 if mean else 1.0
    from scipy.special import stdtr

    return float(2 * stdtr(degrees, -abs(mean) / standard_error))


def satterthwaite(parts: Floats, degrees: Floats) -> float:
    """Return the degrees of freedom of a sum of variances; ``degrees``: of each of the ``parts``."""
    total = float(parts.sum())
    if total < _VARIANCE_MIN:
        return float(degrees.sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        terms = np.where(parts > 0, parts * parts / degrees, 0.0)
    return float(total * total / terms.sum())


def _logs(values: Sequence[float]) -> list[float]:
    if not values or any(not value > 0 or math.isinf(value) for value in values):
        raise ValueError("run times must be positive and finite, and there must be at least one")
    return [math.log(value) for value in values]


def geometric_mean(values: Sequence[float], log_errors_max: Floats | None = None) -> Estimate:
    """Return the geometric mean with its t interval; no interval for one value. ValueError unless all are positive.

    ``log_errors_max``: maximum error of each logarithm, by default from rounding.
    """
    logs = _logs(values)
    if len(logs) < 2:
        return Estimate(values[0], None, None)
    rounding = float(
        (rounding_of(np.asarray(values, dtype=np.float64)) if log_errors_max is None else log_errors_max).mean()
    )
    return estimate(fmean(logs), math.sqrt(variance(logs) / len(logs)), len(logs) - 1, rounding)


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the narrowest 95 % interval of the median whose ends are values; None for fewer than 6 values.

    W. J. Conover, Practical Nonparametric Statistics (1999), chapter 3.2: the number of values below the median is
    binomial, so the interval assumes no distribution.
    """
    count, probability, left_out = len(values), 0.0, -1
    while (probability := probability + math.comb(count, left_out + 1) / 2**count) <= (1 - LEVEL) / 2:
        left_out += 1
    ordered = sorted(values)
    return None if left_out < 0 else (ordered[left_out], ordered[count - 1 - left_out])


def welch_ratio(baseline: Sequence[float], candidate: Sequence[float]) -> Estimate:
    """Return the ratio of geometric means, baseline / candidate, with Welch's interval if both sides have several."""
    sides = ((np.array(_logs(side)), np.asarray(side, dtype=np.float64)) for side in (baseline, candidate))
    means = (means_by(logs, np.zeros(len(logs), dtype=np.int64), 1, rounding_of(times)) for logs, times in sides)
    log_difference = difference(*means)
    error, degrees = float(np.sqrt(log_difference.variance[0])), float(log_difference.degrees[0])
    return estimate(float(log_difference.mean[0]), error, degrees, float(log_difference.rounding[0]))
