"""Find outlier tasks: attempts that resemble few others of their job and kind in duration, bytes and counters.

In: a table of quantities, one row per attempt of one population (the maps of a job, its reduces, or a Spark stage), NaN
where a quantity is unknown. Out: for each attempt whether it is an outlier, and by how much each quantity differs from
the population's median, in robust standard deviations.

The rule is that of DBSCAN (M. Ester et al., KDD 1996), which ALOJA used for tasks: an attempt is noise if it is not
within a radius of any attempt that has at least :data:`NEIGHBOURS_SHARE` of the population within the radius. Unlike a
bound on each quantity, it accepts a second group of attempts, for example maps of a second input that is twice as
large. The distance is the largest difference in any quantity, on logarithms, over the quantity's spread. The spread is
that of the shortest half of the values (P. J. Rousseeuw and A. M. Leroy, Robust Regression and Outlier Detection, 1987,
chapter 4), which a second group does not inflate. Logarithms have an offset (J. W. Tukey, Exploratory Data Analysis,
1977), so that small absolute differences of short tasks do not count.

``benchmarks/task_outlier_errors.py`` measures false and missed flags, also with DBSCAN's usual radius by M. Daszykowski
et al. (Chemometrics and Intelligent Laboratory Systems 56 (2001)) and with bounds on each quantity;
docs/measurements/error-rates.md has the result.
"""

from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics.arrays import Floats, Mask

EPS, EPS_SMALL = 1.9, 3.5
"""Radius of a neighbourhood in spreads: ``EPS + EPS_SMALL * quantities / attempts``, because the spread of few attempts
is underestimated. Chosen so that at most about 1 % of tasks without a fault are flagged."""
NEIGHBOURS_SHARE = 0.1
"""Minimum share of the population near a normal attempt. The attempts of a smaller group are outliers."""
NEIGHBOURS_MIN = 4
"""Minimum number of attempts near a normal attempt, including itself."""
ATTEMPTS_MIN = 8
"""Minimum size of a population: in a smaller one, any attempt could be the outlier."""
SPREAD_MIN = 0.1
"""Minimum spread of logarithms (10 %), so that small differences between tasks are not flagged."""
_HALF = 2 * 0.6744897501960817
"""Length of the shortest half of a normal distribution, in standard deviations."""


@dataclass(frozen=True, slots=True)
class TaskFlags:
    """For each attempt whether it is an outlier, and its deviations by quantity in robust standard deviations."""

    outliers: Mask
    deviations: Floats
    """One row per attempt, one column per quantity; 0 where unknown."""
    medians: Floats
    """The population's median of each quantity; NaN if unknown."""


def robust_spread(values: Floats) -> float:
    """Return the robust standard deviation of values: the shortest interval with half of them, at least a minimum."""
    sorted_values = np.sort(values)
    half_count = len(sorted_values) // 2 + 1
    if len(sorted_values) < half_count:
        return SPREAD_MIN
    shortest = float((sorted_values[half_count - 1 :] - sorted_values[: len(sorted_values) - half_count + 1]).min())
    return max(SPREAD_MIN, shortest / _HALF)


def standardised(quantities: Floats, offsets: Floats) -> Floats:
    """Return logarithms of quantities as differences from the median, in spreads; 0 where unknown."""
    logarithms = np.log(np.maximum(quantities, 0.0) + offsets)
    columns = []
    for column in logarithms.T:
        known_values = column[np.isfinite(column)]
        if len(known_values) == 0:
            columns.append(np.zeros(len(column)))
            continue
        columns.append(np.nan_to_num((column - np.median(known_values)) / robust_spread(known_values)))
    return np.array(columns).T.reshape(quantities.shape)


def task_flags(quantities: Floats, offsets: Floats) -> TaskFlags | None:
    """Return the outliers of one population; None if it is too small.

    ``quantities``: a row per attempt, a column per quantity. ``offsets``: by quantity, the amount below which
    differences do not count.
    """
    if len(quantities) < ATTEMPTS_MIN:
        return None
    from scipy.spatial import cKDTree  # imported here because few commands need it

    points = standardised(quantities, offsets)
    neighbours_min = max(NEIGHBOURS_MIN, int(np.ceil(NEIGHBOURS_SHARE * len(points))))
    radius = EPS + EPS_SMALL * int(points.any(axis=0).sum()) / len(points)
    neighbour_counts = cKDTree(points).query_ball_point(points, radius, p=np.inf, return_length=True)
    core_points = points[neighbour_counts >= neighbours_min]
    if len(core_points) == 0:  # no attempt has enough others near it, so there is no normal group to differ from
        outliers = np.zeros(len(points), dtype=np.bool_)
    else:
        outliers = np.asarray(cKDTree(core_points).query(points, p=np.inf)[0] > radius, dtype=np.bool_)
    is_known = np.isfinite(quantities).any(axis=0)
    medians = np.full(quantities.shape[1], np.nan)
    medians[is_known] = np.nanmedian(quantities[:, is_known], axis=0)
    return TaskFlags(outliers, points, medians)
