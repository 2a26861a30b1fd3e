"""Compute the error of a mean over matched groups of several clusters, for these clusters.

In: a value for each group, and its cluster. Out: the strata (a number for each group), and the standard error of
the mean of all values with its degrees of freedom.

A statement about similar settings on these clusters takes the clusters as given, so differences between clusters are
not part of its error. Each cluster is a stratum, and the error comes from the variance within each (W. G. Cochran,
Sampling Techniques, 1977, 5.4; degrees of freedom: F. E. Satterthwaite, 1946). If a cluster has fewer than
:data:`GROUPS_PER_STRATUM_MIN` groups, all groups are one stratum, and the interval is wider than needed.
"""

import numpy as np

from assay.analysis.statistics.arrays import Floats, Ints
from assay.analysis.statistics.intervals import means_by, satterthwaite

GROUPS_PER_STRATUM_MIN = 3
"""Minimum number of groups of each cluster to estimate the variance within it."""


def strata_of(cluster: Ints, groups: int) -> Ints:
    """Return the stratum of each of ``groups`` groups, a number from 0; ``cluster`` is empty if unknown."""
    if len(cluster) == 0:
        return np.zeros(groups, dtype=np.int64)
    _, stratum, n = np.unique(cluster, return_inverse=True, return_counts=True)
    return stratum.astype(np.int64) if n.min() >= GROUPS_PER_STRATUM_MIN else np.zeros(groups, dtype=np.int64)


def error_over_strata(values: Floats, stratum: Ints | None) -> tuple[float, float]:
    """Return the standard error of the mean of ``values`` (NaN for a single value) and its degrees of freedom.

    ``stratum`` has the stratum of each value; None: all values are one stratum.
    """
    count = len(values)
    if stratum is None or not stratum.any():
        return float(values.std(ddof=1) / np.sqrt(count)) if count > 1 else float("nan"), count - 1.0
    means = means_by(values, stratum, int(stratum.max()) + 1)
    variance_parts = means.n * means.variance / count**2
    return float(np.sqrt(variance_parts.sum())), satterthwaite(variance_parts, (means.n - 1).astype(np.float64))


def within_strata(values: Floats, stratum: Ints) -> Floats:
    """Return the values minus the mean of their stratum, plus the mean of all."""
    means = means_by(values, stratum, int(stratum.max(initial=0)) + 1).mean
    return np.asarray(values - means[stratum] + values.mean(), dtype=np.float64)
