"""Calibrate prediction intervals by the errors for configurations that were left out.

In: absolute errors of logarithms of times, each from a model that had not seen the run's configuration. Out: quantiles
of these errors, by which an interval reaches to either side on the logarithm. Two cases:

- *Like what was measured*: the conformal quantile of the errors, divided by the usual error that the model expects (V.
  Vovk, A. Gammerman, G. Shafer, Algorithmic Learning in a Random World (2005)). Every level of workload, cluster and
  layout has its own quantile, raised by one standard deviation of its sampling error, so that 90 % hold in about five
  of six levels, and not only on average over levels. A prediction takes the largest quantile of its levels.
- *A level that was never measured*: the errors for whole levels that were left out, each level counting alike
  (hierarchical conformal prediction: Y. Lee, R. F. Barber, R. Willett, arXiv 2306.06342). With fewer than nine levels
  that has no finite answer. The quantile is then multiplied by a factor (:data:`WIDENING`), so that nine of ten new
  levels are covered even if all configurations of a level are off by the same normally distributed offset.
"""

import math
from collections.abc import Sequence

import numpy as np

from assay.analysis.statistics import Floats, Ints

LEVEL = 0.9
LEVEL_ERRORS_MIN = 20
"""Minimum number of errors for a level to get a separate quantile."""
WIDENING = {2: 2.322, 3: 1.667, 4: 1.400, 5: 1.253, 6: 1.158, 7: 1.091, 8: 1.040}
"""Factor by number of levels: a normal offset exceeds the factor times the largest of that many absolute offsets in
10 % of cases. It solves E[2Φ(c·M) - 1] = 0.9 for c, where M has the distribution function (2Φ(m) - 1)^levels."""


def conformal_quantile(errors: Floats) -> float:
    """Return the value that one more error stays below with probability :data:`LEVEL`; infinite for fewer than 9."""
    n = len(errors)
    rank = math.ceil((n + 1) * LEVEL)
    return float(np.partition(errors, rank - 1)[rank - 1]) if rank <= n else math.inf


def level_quantile(errors: Floats) -> float:
    """Return the conformal quantile, raised by one standard deviation of the share of errors below it.

    A conformal quantile keeps :data:`LEVEL` on average over samples; of one sample of a level, half fall short.
    The rank is raised by the binomial standard deviation (S. S. Wilks, Ann. Math. Stat. 12 (1941), approximated).
    """
    n = len(errors)
    rank = math.ceil((n + 1) * LEVEL + math.sqrt(n * LEVEL * (1 - LEVEL)))
    return float(np.partition(errors, rank - 1)[rank - 1]) if rank <= n else float(errors.max())


def quantile_by_level(errors: Floats, codes: Ints, count: int) -> Floats:
    """Return the quantile of each level. Levels with too few errors share one; NaN where even that has too few."""
    quantiles = np.full(count, np.nan)
    sizes = np.bincount(codes, minlength=count)
    rare = np.flatnonzero(sizes < LEVEL_ERRORS_MIN)
    shared = errors[np.isin(codes, rare)]
    if np.isfinite(shared_quantile := conformal_quantile(shared)):
        quantiles[rare] = shared_quantile
    for code in np.flatnonzero(sizes >= LEVEL_ERRORS_MIN):
        quantiles[code] = level_quantile(errors[codes == code])
    return quantiles


def left_out_quantile(errors: Sequence[Floats]) -> float:
    """Return the conformal quantile for a new level, from the errors of left-out levels; NaN for fewer than two."""
    levels = [level_errors for level_errors in errors if len(level_errors)]
    if len(levels) < 2:
        return math.nan
    flat = np.concatenate(levels)
    weight = np.concatenate([np.full(len(level_errors), 1.0 / len(level_errors)) for level_errors in levels])
    order = np.argsort(flat)
    cumulative = np.cumsum(weight[order])

    def quantile(weight_below: float) -> float:
        return float(flat[order][min(int(np.searchsorted(cumulative, weight_below)), len(flat) - 1)])

    conformal_weight = LEVEL * (len(levels) + 1)
    if conformal_weight <= len(levels):
        return quantile(conformal_weight)
    return quantile(LEVEL * len(levels)) * WIDENING[len(levels)]
