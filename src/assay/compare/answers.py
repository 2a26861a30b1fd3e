"""What matched sets say of just these configurations, of another configuration here, and of another cluster.

In: the log ratios of a comparison's sets with the scatter of their runs, and the cluster of each. Out: an answer to
each question that the data can tell, with where a single further configuration or cluster would lie; a line a cluster;
and a mean that a few odd sets do not move.

- *These configurations*: the sets are all there is, and only their runs are a sample. Welch's error within the sets;
  where some have no repetitions, the scatter of a run is taken as one, from the sets that have.
- *Another configuration here*: the sets are a sample of those that could be run on these clusters. Student's t on their
  log ratios. One more such set lies within t times their standard deviation times the root of 1 + 1 / sets.
- *Another cluster*: the clusters are a sample (``statistics/random_effects.py``). Sets of one cluster share it, so they
  are no independent witnesses of how clusters differ.
"""

from dataclasses import dataclass, replace

import numpy as np

from assay.compare.matched import (
    HoldsFor,
    LogMean,
    MatchedSets,
    Pairs,
    SessionPart,
    between_sets,
    log_mean,
    pick,
    with_sessions,
    within_sets,
)
from assay.statistics import Estimate, Ints, estimate, means_by
from assay.statistics.random_effects import TRIMMED_MIN, over_units, trimmed_mean

POOLED = "scatter of a run, pooled over the sets with repetitions"
RANDOM_EFFECTS = "random effects of clusters, Hartung-Knapp interval"
POOLED_DEGREES_MIN = 3
"""From this many repeated runs on, the scatter of a run is known well enough for sets that have none."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The mean speedup as an answer to one question."""

    holds_for: HoldsFor
    ratio: float
    low: float | None
    high: float | None
    """Ends of the 95 % interval of the mean."""
    one_low: float | None
    one_high: float | None
    """Between these a single further configuration, or cluster, lies with 95 %; None for just these configurations."""
    units: int
    """How many matched sets it rests on, or clusters."""
    method: str
    log_error: float
    degrees: float
    log_rounding: float
    sessions: SessionPart | None

    @property
    def log_mean(self) -> LogMean:
        """The logarithm of the ratio with its error."""
        mean = float(np.log(self.ratio))
        return LogMean(
            mean, self.log_error, self.degrees, self.method, self.holds_for, self.log_rounding, self.sessions
        )


@dataclass(frozen=True, slots=True)
class ClusterLine:
    """The same comparison on one cluster."""

    cluster: str
    ratio: float
    low: float | None
    high: float | None
    holds_for: HoldsFor
    sets: int


def answer_of(found: LogMean, units: int, apart: float | None = None) -> Answer:
    """Return it as an answer; ``apart``: the standard error of one further unit."""
    ratio = found.ratio
    one = None if apart is None else estimate(found.mean, apart, found.degrees, found.rounding)
    return Answer(
        found.holds_for,
        ratio.value,
        ratio.low,
        ratio.high,
        one.low if one else None,
        one.high if one else None,
        units,
        found.method,
        found.error,
        found.degrees,
        found.rounding,
        found.sessions,
    )


def _these(found: Pairs) -> LogMean | None:
    if np.isfinite(found.error_within).all():
        return within_sets(found.log_ratio, found.error_within, found.degrees_within, found.rounding)
    runs = found.n[0] + found.n[1]
    free = int((runs - 2).sum())
    if free < POOLED_DEGREES_MIN:
        return None
    scatter = float(found.squares_within.sum()) / free
    error = np.sqrt(scatter * float((1 / found.n[0] + 1 / found.n[1]).sum())) / len(runs)
    off = float(found.rounding.mean())
    return LogMean(float(found.log_ratio.mean()), float(error), float(free), POOLED, HoldsFor.THESE, off)


def _elsewhere(found: Pairs, cluster: Ints) -> Answer | None:
    present, of_set = np.unique(cluster, return_inverse=True)
    if len(present) < 2:
        return None
    by_cluster = means_by(found.log_ratio, of_set, len(present))
    free = len(of_set) - len(present)
    apart = found.log_ratio - by_cluster.mean[of_set]
    scatter = float((apart * apart).sum()) / free if free else 0.0
    mean = over_units(by_cluster.mean, scatter / by_cluster.n)
    off = float(found.rounding.mean())
    told = LogMean(mean.mean, mean.error, mean.degrees, RANDOM_EFFECTS, HoldsFor.ELSEWHERE, off)
    return answer_of(told, len(present), float(np.hypot(mean.apart, mean.error)))


def answers_of(found: Pairs, cluster: Ints) -> tuple[Answer, ...]:
    """Return an answer to each question that these sets can tell; ``cluster``: of each set, empty when it is compared.

    Sets within deployments answer one question only, which the figure itself says.
    """
    m = len(found.sets)
    if m == 0 or len(found.deployment):
        return ()
    told = []
    if (these := _these(found)) is not None:
        told.append(answer_of(with_sessions(these, found.sessions), m))
    if m > 1:
        between = between_sets(found.log_ratio, found.rounding)
        here = with_sessions(between, found.sessions)
        told.append(answer_of(here, m, float(np.hypot(here.error, between.error * np.sqrt(m)))))
    if len(cluster) and (elsewhere := _elsewhere(found, cluster)) is not None:
        told.append(_no_surer(elsewhere, told[-1]))
    return tuple(told)


def _no_surer(wide: Answer, narrow: Answer) -> Answer:
    """Return the answer for a wider scope, with an interval that is never narrower than that for a narrower scope."""
    if wide.low is None or wide.high is None or narrow.low is None or narrow.high is None:
        return wide
    if wide.high / wide.low >= narrow.high / narrow.low:
        return wide
    mean = replace(wide.log_mean, error=narrow.log_error, degrees=narrow.degrees, rounding=narrow.log_rounding)
    ratio = mean.ratio
    return replace(
        wide, low=ratio.low, high=ratio.high, log_error=mean.error, degrees=mean.degrees, log_rounding=mean.rounding
    )


def cluster_lines(matched: MatchedSets, found: Pairs) -> tuple[ClusterLine, ...]:
    """Return the comparison on each cluster by itself, most sets first; nothing where all sets are of one."""
    if len(matched.cluster) == 0 or len(found.deployment):
        return ()
    of_set = matched.cluster[found.sets]
    present, counts = np.unique(of_set, return_counts=True)
    if len(present) < 2:
        return ()
    lines = []
    for at in np.argsort(-counts, kind="stable"):
        code = int(present[at])
        mean = log_mean(pick(found, np.flatnonzero(of_set == code)))
        if mean is not None:
            name = matched.table.columns["cluster"].levels[code] if code >= 0 else ""
            ratio = mean.ratio
            lines.append(ClusterLine(name, ratio.value, ratio.low, ratio.high, mean.holds_for, int(counts[at])))
    return tuple(lines)


def trimmed(found: Pairs) -> Estimate | None:
    """Return the ratio without the smallest and largest fifth of the sets; None for too few to leave any out."""
    if len(found.sets) < TRIMMED_MIN or len(found.deployment):
        return None
    mean = trimmed_mean(found.log_ratio)
    return estimate(mean.mean, mean.error, mean.degrees, float(found.rounding.mean()))
