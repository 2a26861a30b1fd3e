"""How far predictions are off for what was not learned from, and the intervals that follow.

In: absolute errors of logarithms of times, each from a model that had not seen the run's configuration. Out: factors by
which an interval reaches to either side. Two cases:

- *Like what was measured*: the conformal quantile of the errors, divided by the usual error that the model expects (V.
  Vovk, A. Gammerman, G. Shafer, Algorithmic Learning in a Random World (2005)). Every level of workload, cluster and
  layout has its own quantile, raised by one standard deviation of its sampling error, so that 90 % hold in about five
  of six levels, and not only on average over levels. A prediction takes the largest quantile of its levels.
- *A level that nobody measured*: the errors for whole levels that were left out, each level counting alike
  (hierarchical conformal prediction: Y. Lee, R. F. Barber, R. Willett, arXiv 2306.06342). With fewer than ten levels
  that has no finite answer; the quantile is widened then by Student's t over the normal one, of levels less one.
"""

import math
from collections.abc import Sequence

import numpy as np

from assay.statistics import Floats, Ints

LEVEL = 0.9
OWN_MIN = 20
"""Minimum number of errors for a level to have its own quantile."""


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
    """Return each level's own quantile. Levels with too few errors share one; NaN where even that has too few."""
    found = np.full(count, np.nan)
    sizes = np.bincount(codes, minlength=count)
    rare = np.flatnonzero(sizes < OWN_MIN)
    shared = errors[np.isin(codes, rare)]
    if np.isfinite(together := conformal_quantile(shared)):
        found[rare] = together
    for code in np.flatnonzero(sizes >= OWN_MIN):
        found[code] = level_quantile(errors[codes == code])
    return found


def left_out_quantile(errors: Sequence[Floats]) -> float:
    """Return the same for a level that was never learned from, given the errors of levels that were left out."""
    levels = [own for own in errors if len(own)]
    if len(levels) < 2:
        return math.nan
    from scipy.special import ndtri, stdtrit  # imported here: 0.1 s that only learning needs

    flat = np.concatenate(levels)
    weight = np.concatenate([np.full(len(own), 1.0 / len(own)) for own in levels])
    order = np.argsort(flat)
    reached = np.cumsum(weight[order])
    wanted = LEVEL * (len(levels) + 1)
    if wanted <= len(levels):
        return float(flat[order][min(int(np.searchsorted(reached, wanted)), len(flat) - 1)])
    at = min(int(np.searchsorted(reached, LEVEL * len(levels))), len(flat) - 1)
    wider = float(stdtrit(len(levels) - 1, 0.5 + LEVEL / 2) / ndtri(0.5 + LEVEL / 2))
    return float(flat[order][at]) * wider
