"""How sure a mean or a ratio of few run times is: Student's t on logarithms.

In: run times in seconds, all positive, or columns of their logarithms with group numbers. Out: geometric means and
ratios with two-sided 95 % intervals. Times of repeated runs are positive and vary by a factor rather than by an
amount, so everything is done on logarithms; a ratio's interval is then never negative, and swapping the sides gives
the reciprocal.

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
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LEVEL = 0.95
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

    def taken(self, keep: Ints) -> Means:
        """Return some of the groups."""
        return Means(self.n[keep], self.mean[keep], self.variance[keep])


@dataclass(frozen=True, slots=True)
class Differences:
    """Differences of means by group; ``error`` is their variance, NaN when a side has one value."""

    mean: Floats
    error: Floats
    degrees: Floats


def means_by(values: Floats, group: Ints, count: int) -> Means:
    """Return number, mean and variance (n - 1) of ``values`` by group 0 … ``count`` - 1; NaN where there is none."""
    n = np.bincount(group, minlength=count)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(group, weights=values, minlength=count) / n
        apart = values - mean[group]
        variance = np.bincount(group, weights=apart * apart, minlength=count) / (n - 1.0)
    variance[n < 2] = np.nan
    return Means(n, mean, variance)


def difference(a: Means, b: Means) -> Differences:
    """Return ``a`` - ``b`` by group, with Welch's degrees of freedom. Both sides of every group have a value."""
    from_a, from_b = a.variance / a.n, b.variance / b.n
    error = from_a + from_b
    with np.errstate(invalid="ignore", divide="ignore"):
        degrees = error**2 / (from_a**2 / (a.n - 1) + from_b**2 / (b.n - 1))
    return Differences(a.mean - b.mean, error, np.where(error > 0, degrees, a.n + b.n - 2.0))


def estimate(mean: float, standard_error: float, degrees: float) -> Estimate:
    """Return the ratio exp(``mean``) with its t interval; without one when the error is not known."""
    value = float(np.exp(mean))
    if not (np.isfinite(standard_error) and np.isfinite(degrees) and degrees > 0):
        return Estimate(value, None, None)
    if standard_error * standard_error < _NO_SCATTER:
        return Estimate(value, value, value)
    from scipy.special import stdtrit  # imported here: 0.1 s that only a comparison needs

    with np.errstate(over="ignore"):
        half = float(stdtrit(degrees, 0.5 + LEVEL / 2)) * standard_error
        return Estimate(value, float(np.exp(mean - half)), float(np.exp(mean + half)))


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


def geometric_mean(values: Sequence[float]) -> Estimate:
    """Return the geometric mean with its t interval; no interval for one value. ValueError unless all are positive."""
    logs = _logs(values)
    if len(logs) < 2:
        return Estimate(values[0], None, None)
    return estimate(fmean(logs), math.sqrt(variance(logs) / len(logs)), len(logs) - 1)


def welch_ratio(baseline: Sequence[float], candidate: Sequence[float]) -> Estimate:
    """Return the ratio of geometric means, baseline / candidate, with Welch's interval; none with one run on a side."""
    sides = (np.array(_logs(side)) for side in (baseline, candidate))
    found = difference(*(means_by(logs, np.zeros(len(logs), dtype=np.int64), 1) for logs in sides))
    return estimate(float(found.mean[0]), float(np.sqrt(found.error[0])), float(found.degrees[0]))
