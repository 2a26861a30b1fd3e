"""Calibrate prediction intervals by the errors for configurations that were left out.

In: absolute errors of logarithms of times, each from a model that had not seen the run's configuration. Out: quantiles
of these errors: the half widths of intervals on the logarithm. Two cases:

- *All levels were measured*: the conformal quantile of the errors. Each error is in multiples of the usual error that
  the model expects (V. Vovk, A. Gammerman, G. Shafer, Algorithmic Learning in a Random World (2005)). Every level of
  workload, cluster and layout has a separate quantile, raised by one standard deviation of its sampling error. About
  five of six levels then reach 90 % coverage, not only the average of the levels. A prediction takes the largest
  quantile of its levels.
- *A level that was never measured*: the errors for whole levels that were left out, with equal weights of levels
  (hierarchical conformal prediction: Y. Lee, R. F. Barber, R. Willett, arXiv 2306.06342). With fewer than nine levels,
  this quantile is infinite. Instead, the 90 % quantile of the errors is multiplied by a factor (:data:`WIDENING`), so
  that nine of ten new levels are covered even if all configurations of a level are off by the same normally distributed
  offset.
"""

import math
from collections.abc import Sequence

import numpy as np

from assay.analysis.statistics import Floats, Ints

LEVEL = 0.9
"""Probability with which a new error stays below its quantile."""
LEVEL_ERRORS_MIN = 20
"""Minimum number of errors for a level to get a separate quantile."""
WIDENING = {2: 2.322, 3: 1.667, 4: 1.400, 5: 1.253, 6: 1.158, 7: 1.091, 8: 1.040}
"""Factor by number of levels. A new normally distributed offset exceeds the factor times the largest absolute offset of
these levels in 10 % of cases. The factor c solves E[2Φ(c·M) - 1] = 0.9, where M has the distribution function (2Φ(m) -
1)^levels."""


def conformal_quantile(errors: Floats) -> float:
    """Return the value below which a new error stays with probability :data:`LEVEL`; infinite for under 9 errors."""
    n = len(errors)
    rank = math.ceil((n + 1) * LEVEL)
    return float(np.partition(errors, rank - 1)[rank - 1]) if rank <= n else math.inf


def level_quantile(errors: Floats) -> float:
    """Return the conformal quantile, raised by one standard deviation of the share of errors below it.

    A conformal quantile reaches :data:`LEVEL` on average over samples, but about half of all samples stay below it. The
    rank is raised by the binomial standard deviation (S. S. Wilks, Ann. Math. Stat. 12 (1941), approximated).
    """
    n = len(errors)
    rank = math.ceil((n + 1) * LEVEL + math.sqrt(n * LEVEL * (1 - LEVEL)))
    return float(np.partition(errors, rank - 1)[rank - 1]) if rank <= n else float(errors.max())


def quantile_by_level(errors: Floats, codes: Ints, count: int) -> Floats:
    """Return the quantile of each level. Levels with too few errors share one quantile, which is NaN if they have
    fewer than 9 errors in total."""
    quantiles = np.full(count, np.nan)
    sizes = np.bincount(codes, minlength=count)
    rare_levels = np.flatnonzero(sizes < LEVEL_ERRORS_MIN)
    errors_of_rare = errors[np.isin(codes, rare_levels)]
    if np.isfinite(shared_quantile := conformal_quantile(errors_of_rare)):
        quantiles[rare_levels] = shared_quantile
    for code in np.flatnonzero(sizes >= LEVEL_ERRORS_MIN):
        quantiles[code] = level_quantile(errors[codes == code])
    return quantiles


def left_out_quantile(errors: Sequence[Floats]) -> float:
    """Return the conformal quantile for a new level, from the errors of left-out levels; NaN for fewer than two."""
    levels = [level_errors for level_errors in errors if len(level_errors)]
    if len(levels) < 2:
        return math.nan
    all_errors = np.concatenate(levels)
    weight = np.concatenate([np.full(len(level_errors), 1.0 / len(level_errors)) for level_errors in levels])
    order = np.argsort(all_errors)
    cumulative = np.cumsum(weight[order])

    def quantile(weight_below: float) -> float:
        return float(all_errors[order][min(int(np.searchsorted(cumulative, weight_below)), len(all_errors) - 1)])

    conformal_weight = LEVEL * (len(levels) + 1)
    if conformal_weight <= len(levels):
        return quantile(conformal_weight)
    return quantile(LEVEL * len(levels)) * WIDENING[len(levels)]
