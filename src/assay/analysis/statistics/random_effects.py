"""Compute means over units that differ, for example clusters: by random effects, and without extreme values.

In: logarithms of ratios; for units, one mean each with its variance. Out: a mean with its standard error and degrees of
freedom, and the standard deviation between units.

Random effects: the variance between units after R. C. Paule and J. Mandel, J. Res. Natl. Bur. Stand. 87 (1982);
interval after J. Hartung and G. Knapp, Stat. Med. 20 (2001) and K. Sidik and J. N. Jonkman, Stat. Med. 21 (2002), never
narrower than the uncorrected interval (C. Röver, G. Knapp and T. Friede, BMC Med. Res. Methodol. 15, 2015). Prediction
interval of a further unit: J. P. T. Higgins, S. G. Thompson and D. J. Spiegelhalter, J. R. Stat. Soc. A 172 (2009).
Trimmed mean: J. W. Tukey and D. H. McLaughlin, Sankhya A 25 (1963).
"""

from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics.arrays import Floats

TRIMMED_SHARE = 0.2
"""Share of values that a trimmed mean excludes at each end."""
TRIMMED_MIN = 5
"""Minimum number of values of a trimmed mean: with fewer values, none would be excluded."""
_STEPS_MAX = 100
"""Maximum number of steps of the root search."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its standard error and degrees of freedom. ``between_units``: standard deviation between units."""

    mean: float
    error: float
    degrees: float
    between_units: float


def over_units(means: Floats, variances: Floats) -> Mean:
    """Return the mean over units as a sample of all such units. ValueError for fewer than two.

    ``variances``: of each unit's mean, from within the unit. If they are unknown, all are zero, and units have equal
    weights.
    """
    count = len(means)
    if count < 2:
        raise ValueError("at least two units are needed")
    between = _between(means, variances)
    if between == 0 and not variances.any():
        return Mean(float(means.mean()), 0.0, count - 1.0, 0.0)
    weights = 1 / (between + variances)
    mean = float((weights * means).sum() / weights.sum())
    scale = float((weights * (means - mean) ** 2).sum() / (count - 1))
    error = float(np.sqrt(max(1.0, scale) / weights.sum()))
    return Mean(mean, error, count - 1.0, float(np.sqrt(between)))


def _between(means: Floats, variances: Floats) -> float:
    """Return the variance between units at which the weighted squares add up to their degrees of freedom."""
    count = len(means)
    if not (variances > 0).all():
        return float(max(0.0, means.var(ddof=1) - variances.mean()))

    def excess(between: float) -> float:
        weights = 1 / (between + variances)
        centre = (weights * means).sum() / weights.sum()
        return float((weights * (means - centre) ** 2).sum() - (count - 1))

    if excess(0.0) <= 0:
        return 0.0
    low, high = 0.0, float(means.var(ddof=1)) * count
    for _ in range(_STEPS_MAX):
        midpoint = (low + high) / 2
        low, high = (midpoint, high) if excess(midpoint) > 0 else (low, midpoint)
    return (low + high) / 2


def trimmed_mean(values: Floats) -> Mean:
    """Return the mean without the smallest and largest fifth. ValueError for fewer than :data:`TRIMMED_MIN` values."""
    count = len(values)
    if count < TRIMMED_MIN:
        raise ValueError("too few values to leave any out")
    excluded_count = int(TRIMMED_SHARE * count)
    sorted_values = np.sort(values)
    inner_values = sorted_values[excluded_count : count - excluded_count]
    winsorised = np.clip(sorted_values, inner_values[0], inner_values[-1])
    error = float(winsorised.std(ddof=1) / ((1 - 2 * excluded_count / count) * np.sqrt(count)))
    return Mean(float(inner_values.mean()), error, len(inner_values) - 1.0, float(inner_values.std(ddof=1)))
