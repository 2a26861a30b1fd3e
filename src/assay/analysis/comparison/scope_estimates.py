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

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.comparison.dependence import GroupDependence, allow_for_dependences
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
    single_estimate = None if single_error is None else estimate(mean.mean, single_error, degrees, mean.rounding)
    if single_estimate and single_estimate.high and ratio.high and single_estimate.high < ratio.high:
        single_estimate = ratio
    return ScopeEstimate(
        scope=mean.scope,
        ratio=ratio.value,
        low=ratio.low,
        high=ratio.high,
        single_low=single_estimate.low if single_estimate else None,
        single_high=single_estimate.high if single_estimate else None,
        units=units,
        method=mean.method,
        log_error=mean.error,
        degrees=mean.degrees,
        log_rounding=mean.rounding,
        sessions=mean.sessions,
    )


def _tested_settings(ratios: GroupRatios) -> LogMean | None:
    if np.isfinite(ratios.variance_within).all():
        return within_groups(ratios.log_ratio, ratios.variance_within, ratios.degrees_within, ratios.rounding)
    runs = ratios.n[0] + ratios.n[1]
    degrees = int((runs - 2).sum())
    if degrees < POOLED_DEGREES_MIN:
        return None
    variance = float(ratios.squares_within.sum()) / degrees
    error = np.sqrt(variance * float((1 / ratios.n[0] + 1 / ratios.n[1]).sum())) / len(runs)
    rounding = float(ratios.rounding.mean())
    return LogMean(
        float(ratios.log_ratio.mean()), float(error), float(degrees), POOLED, InferenceScope.TESTED, rounding
    )


def _other_clusters(ratios: GroupRatios, cluster: Ints) -> ScopeEstimate | None:
    clusters, of_group = np.unique(cluster, return_inverse=True)
    if len(clusters) < 2:
        return None
    cluster_means = means_by(ratios.log_ratio, of_group, len(clusters))
    degrees = len(of_group) - len(clusters)
    residual = ratios.log_ratio - cluster_means.mean[of_group]
    variance = float((residual * residual).sum()) / degrees if degrees else 0.0
    mean = over_units(cluster_means.mean, variance / cluster_means.n)
    rounding = float(ratios.rounding.mean())
    over_clusters = LogMean(
        mean.mean, mean.error, mean.degrees, RANDOM_EFFECTS, InferenceScope.OTHER_CLUSTERS, rounding
    )
    return estimate_of(over_clusters, len(clusters), float(np.hypot(mean.between_units, mean.error)))


def scope_estimates(ratios: GroupRatios, dependences: Sequence[GroupDependence] = ()) -> tuple[ScopeEstimate, ...]:
    """Return an estimate for each scope, narrowest first; a wider scope never has a narrower interval.

    The interval of the result's scope does not change. The estimate for tested settings is omitted if it is wider than
    the result for similar settings, which include them. ``dependences``: the factors that the gain depends
    on. Empty if groups are within deployments: they have one scope.
    """
    m = len(ratios.groups)
    if m == 0 or len(ratios.deployment):
        return ()
    result = log_mean(ratios)
    estimates = []
    if (tested_mean := _tested_settings(ratios)) is not None:
        estimates.append(estimate_of(with_sessions(tested_mean, ratios.sessions), m))
    if m > 1:
        similar_estimate = _similar_settings(ratios, dependences)
        if result is not None and result.scope is InferenceScope.SIMILAR:
            estimates = [item for item in estimates if _at_least_as_wide(similar_estimate, item) is similar_estimate]
        estimates.append(similar_estimate)
    if len(ratios.cluster) and (other_clusters := _other_clusters(ratios, ratios.cluster)) is not None:
        estimates.append(other_clusters)
    for index in range(1, len(estimates)):
        estimates[index] = _at_least_as_wide(estimates[index], estimates[index - 1])
    return tuple(estimates)


def _similar_settings(ratios: GroupRatios, dependences: Sequence[GroupDependence]) -> ScopeEstimate:
    strata, m = ratios.cluster_strata, len(ratios.groups)
    independent_mean = with_sessions(between_groups(ratios.log_ratio, ratios.rounding, strata), ratios.sessions, strata)
    mean = allow_for_dependences(independent_mean, ratios, dependences)
    single_error = float(np.hypot(mean.error, ratios.log_ratio.std(ddof=1)))
    return estimate_of(mean, m, single_error, independent_mean.degrees)


def _at_least_as_wide(wide_estimate: ScopeEstimate, narrow_estimate: ScopeEstimate) -> ScopeEstimate:
    """Return the estimate for a wider scope, with an interval at least as wide as that for the narrower scope."""
    if wide_estimate.width is None or narrow_estimate.width is None or wide_estimate.width >= narrow_estimate.width:
        return wide_estimate
    mean = replace(
        wide_estimate.log_mean,
        error=narrow_estimate.log_error,
        degrees=narrow_estimate.degrees,
        rounding=narrow_estimate.log_rounding,
    )
    ratio = mean.ratio
    return replace(
        wide_estimate,
        low=ratio.low,
        high=ratio.high,
        log_error=mean.error,
        degrees=mean.degrees,
        log_rounding=mean.rounding,
    )


def cluster_estimates(matched: MatchedGroups, ratios: GroupRatios) -> tuple[ClusterEstimate, ...]:
    """Return the comparison on each cluster, most groups first; empty if all groups are of one cluster."""
    if len(ratios.cluster) == 0 or len(ratios.deployment):
        return ()
    of_group = ratios.cluster
    clusters, counts = np.unique(of_group, return_counts=True)
    if len(clusters) < 2:
        return ()
    estimates = []
    for index in np.argsort(-counts, kind="stable"):
        code = int(clusters[index])
        mean = log_mean(pick(ratios, np.flatnonzero(of_group == code)))
        if mean is not None:
            name = matched.table.columns["cluster"].levels[code] if code >= 0 else ""
            ratio = mean.ratio
            estimates.append(ClusterEstimate(name, ratio.value, ratio.low, ratio.high, mean.scope, int(counts[index])))
    return tuple(estimates)


def trimmed_ratio(ratios: GroupRatios) -> Estimate | None:
    """Return the ratio without the smallest and largest fifth of the groups.

    None with fewer than :data:`TRIMMED_MIN` groups, or if groups are within deployments.
    """
    if len(ratios.groups) < TRIMMED_MIN or len(ratios.deployment):
        return None
    mean = trimmed_mean(ratios.log_ratio)
    return estimate(mean.mean, mean.error, mean.degrees, float(ratios.rounding.mean()))
