"""Estimate the mean speedup over matched groups for each scope: tested settings, similar settings, other clusters.

In: the log ratios of matched groups with the variance of their runs, and the cluster of each group. Out: one estimate
for each scope that the data allow, with the range of a single further setting or cluster; the same comparison on each
cluster; and a mean without the extreme groups.

- *Tested settings*: only the runs within the groups are a sample. Welch's error within the groups; if some groups have
  no repetitions, the variance of a run is pooled over the groups with repetitions.
- *Similar settings*: the groups are a sample of the groups that could run on these clusters. Student's t on their log
  ratios, with clusters as strata (``analysis/statistics/cluster_strata.py``). The 95 % prediction interval of a further
  group is the mean ± t × standard deviation of the groups × √(1 + 1 / groups).
- *Other clusters*: the clusters are a sample (``analysis/statistics/random_effects.py``). Groups of one cluster share
  it, so they are not independent evidence of how clusters differ.
"""

from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.comparison.dependence import Dependence, over_levels
from assay.analysis.comparison.matched import (
    GroupRatios,
    LogMean,
    MatchedGroups,
    SessionPart,
    between_groups,
    log_mean,
    pick,
    with_sessions,
    within_groups,
)
from assay.analysis.statistics import Estimate, InferenceScope, Ints, estimate, means_by
from assay.analysis.statistics.random_effects import TRIMMED_MIN, over_units, trimmed_mean

POOLED = "variance of a run, pooled over the matched groups with repetitions"
RANDOM_EFFECTS = "random effects of clusters, Hartung-Knapp interval"
POOLED_DEGREES_MIN = 3
"""Minimum degrees of freedom of the pooled variance of a run."""


@dataclass(frozen=True, slots=True)
class ScopeEstimate:
    """The mean speedup with an interval that covers one scope."""

    scope: InferenceScope
    ratio: float
    low: float | None
    high: float | None
    """Ends of the 95 % interval of the mean."""
    single_low: float | None
    single_high: float | None
    """Ends of the 95 % prediction interval for one further setting or cluster; None for the tested settings."""
    units: int
    """Matched groups, or clusters, behind the estimate."""
    method: str
    log_error: float
    degrees: float
    log_rounding: float
    sessions: SessionPart | None

    @property
    def width(self) -> float | None:
        """The interval's upper end / its lower end."""
        return None if self.low is None or self.high is None else self.high / self.low

    @property
    def log_mean(self) -> LogMean:
        """The logarithm of the ratio with its error."""
        mean = float(np.log(self.ratio))
        return LogMean(mean, self.log_error, self.degrees, self.method, self.scope, self.log_rounding, self.sessions)


@dataclass(frozen=True, slots=True)
class ClusterEstimate:
    """The same comparison on one cluster."""

    cluster: str
    ratio: float
    low: float | None
    high: float | None
    scope: InferenceScope
    groups: int


def estimate_of(
    mean: LogMean, units: int, single_error: float | None = None, single_degrees: float | None = None
) -> ScopeEstimate:
    """Return a mean as an estimate; ``single_error``: the standard error of one further unit, with its degrees.

    The range of one further unit is never narrower than the interval of the mean.
    """
    ratio = mean.ratio
    degrees = mean.degrees if single_degrees is None else single_degrees
    single = None if single_error is None else estimate(mean.mean, single_error, degrees, mean.rounding)
    if single and single.high and ratio.high and single.high < ratio.high:
        single = ratio
    return ScopeEstimate(
        scope=mean.scope,
        ratio=ratio.value,
        low=ratio.low,
        high=ratio.high,
        single_low=single.low if single else None,
        single_high=single.high if single else None,
        units=units,
        method=mean.method,
        log_error=mean.error,
        degrees=mean.degrees,
        log_rounding=mean.rounding,
        sessions=mean.sessions,
    )


def _tested(both: GroupRatios) -> LogMean | None:
    if np.isfinite(both.variance_within).all():
        return within_groups(both.log_ratio, both.variance_within, both.degrees_within, both.rounding)
    runs = both.n[0] + both.n[1]
    degrees = int((runs - 2).sum())
    if degrees < POOLED_DEGREES_MIN:
        return None
    variance = float(both.squares_within.sum()) / degrees
    error = np.sqrt(variance * float((1 / both.n[0] + 1 / both.n[1]).sum())) / len(runs)
    rounding = float(both.rounding.mean())
    return LogMean(float(both.log_ratio.mean()), float(error), float(degrees), POOLED, InferenceScope.TESTED, rounding)


def _other_clusters(both: GroupRatios, cluster: Ints) -> ScopeEstimate | None:
    present, of_group = np.unique(cluster, return_inverse=True)
    if len(present) < 2:
        return None
    by_cluster = means_by(both.log_ratio, of_group, len(present))
    degrees = len(of_group) - len(present)
    residual = both.log_ratio - by_cluster.mean[of_group]
    variance = float((residual * residual).sum()) / degrees if degrees else 0.0
    mean = over_units(by_cluster.mean, variance / by_cluster.n)
    rounding = float(both.rounding.mean())
    over_clusters = LogMean(
        mean.mean, mean.error, mean.degrees, RANDOM_EFFECTS, InferenceScope.OTHER_CLUSTERS, rounding
    )
    return estimate_of(over_clusters, len(present), float(np.hypot(mean.between_units, mean.error)))


def scope_estimates(both: GroupRatios, depends: tuple[Dependence, Ints] | None = None) -> tuple[ScopeEstimate, ...]:
    """Return an estimate for each scope, narrowest first; a wider scope never has a narrower interval.

    The interval of the result's own scope does not change. The estimate for tested settings is omitted if it is wider
    than the result for similar settings, which include them. ``depends``: the factor that the gain depends on, with its
    level in each group. Empty if groups are within deployments: they have one scope.
    """
    m = len(both.groups)
    if m == 0 or len(both.deployment):
        return ()
    result = log_mean(both)
    estimates = []
    if (tested := _tested(both)) is not None:
        estimates.append(estimate_of(with_sessions(tested, both.sessions), m))
    if m > 1:
        similar = _similar(both, depends)
        if result is not None and result.scope is InferenceScope.SIMILAR:
            estimates = [narrow for narrow in estimates if _at_least_as_wide(similar, narrow) is similar]
        estimates.append(similar)
    if len(both.cluster) and (other_clusters := _other_clusters(both, both.cluster)) is not None:
        estimates.append(other_clusters)
    for index in range(1, len(estimates)):
        estimates[index] = _at_least_as_wide(estimates[index], estimates[index - 1])
    return tuple(estimates)


def _similar(both: GroupRatios, depends: tuple[Dependence, Ints] | None) -> ScopeEstimate:
    strata, m = both.cluster_strata, len(both.groups)
    plain = with_sessions(between_groups(both.log_ratio, both.rounding, strata), both.sessions, strata)
    mean = over_levels(plain, both, *depends) if depends else plain
    single_error = float(np.hypot(mean.error, both.log_ratio.std(ddof=1)))
    return estimate_of(mean, m, single_error, plain.degrees)


def _at_least_as_wide(wide: ScopeEstimate, narrow: ScopeEstimate) -> ScopeEstimate:
    """Return the estimate for a wider scope, with an interval at least as wide as that for the narrower scope."""
    if wide.width is None or narrow.width is None or wide.width >= narrow.width:
        return wide
    mean = replace(wide.log_mean, error=narrow.log_error, degrees=narrow.degrees, rounding=narrow.log_rounding)
    ratio = mean.ratio
    return replace(
        wide, low=ratio.low, high=ratio.high, log_error=mean.error, degrees=mean.degrees, log_rounding=mean.rounding
    )


def cluster_estimates(matched: MatchedGroups, both: GroupRatios) -> tuple[ClusterEstimate, ...]:
    """Return the comparison on each cluster, most groups first; empty if all groups are of one cluster."""
    if len(both.cluster) == 0 or len(both.deployment):
        return ()
    of_group = both.cluster
    present, counts = np.unique(of_group, return_counts=True)
    if len(present) < 2:
        return ()
    lines = []
    for index in np.argsort(-counts, kind="stable"):
        code = int(present[index])
        mean = log_mean(pick(both, np.flatnonzero(of_group == code)))
        if mean is not None:
            name = matched.table.columns["cluster"].levels[code] if code >= 0 else ""
            ratio = mean.ratio
            lines.append(ClusterEstimate(name, ratio.value, ratio.low, ratio.high, mean.scope, int(counts[index])))
    return tuple(lines)


def trimmed(both: GroupRatios) -> Estimate | None:
    """Return the ratio without the smallest and largest fifth of the groups.

    None with fewer than :data:`TRIMMED_MIN` groups, or if groups are within deployments.
    """
    if len(both.groups) < TRIMMED_MIN or len(both.deployment):
        return None
    mean = trimmed_mean(both.log_ratio)
    return estimate(mean.mean, mean.error, mean.degrees, float(both.rounding.mean()))
