"""Intervals of many means at once: Student's t on logarithms, for columns of groups instead of lists of runs.

In: log ratios or log times with their group numbers. Out: the mean, its standard error and degrees of freedom by group,
and :class:`~assay.statistics.intervals.Estimate` of the ratio. The same formulas as ``intervals.py``, which takes one
list at a time; why Student's t and no bootstrap is in ``docs/adr/0005-intervals-over-matched-sets.md``.

Combined degrees of freedom: F. E. Satterthwaite, Biometrics Bulletin 2 (1946).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.intervals import LEVEL, Estimate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_NO_SCATTER = 1e-24
"""A variance of logarithms below this is rounding noise of equal times."""


@dataclass(frozen=True, slots=True)
class Means:
    """Means of logarithms by group; the variance is NaN for a group of one."""

    n: Ints
    mean: Floats
    variance: Floats


def means_by(values: Floats, group: Ints, count: int) -> Means:
    """Return number, mean and variance (n - 1) of ``values`` by group 0 … ``count`` - 1; NaN where there is none."""
    n = np.bincount(group, minlength=count)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(group, weights=values, minlength=count) / n
        apart = values - mean[group]
        variance = np.bincount(group, weights=apart * apart, minlength=count) / (n - 1.0)
    variance[n < 2] = np.nan
    return Means(n, mean, variance)


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
