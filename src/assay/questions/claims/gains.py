"""Estimate the gain of one option for a claim: the mean of a decision's rows, and the mean over clusters.

In: a study, two options and rows (``questions/decisions/effects/``). Out: log gains in time or in cost.

Two questions are answered. *These clusters*: the mean over workloads of the estimates of ``assay decide``, with the
same figures. *Other clusters*: with runs of several clusters, these are a sample of all clusters, because the gain of a
factor differs between clusters; the mean over clusters has a Hartung-Knapp interval. A claim is about clusters in
general, so the second decides it where there is one.

A test against a margin also uses the 90 % interval: each of its ends is a one-sided test at 5 % (two one-sided tests:
D. J. Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.comparison.matched import GROUPS_MIN, LogMean
from assay.analysis.comparison.option_estimates import PairEstimate
from assay.analysis.statistics import Floats, InferenceScope, Ints, Mask, RunTable, satterthwaite
from assay.analysis.statistics.random_effects import over_units
from assay.questions.claims.study import Study
from assay.questions.decisions.effects.part_effects import OptionPair, clusters_of, rows_by_workload
from assay.questions.decisions.headline import OptionRow, counted_in_mean, over_workloads

OVER_CLUSTERS = "mean over clusters of their means over workloads, Hartung-Knapp interval"
_ONE_SIDED = 0.95
"""Confidence of each one-sided test, which is the quantile at the ends of the 90 % interval."""


@dataclass(frozen=True, slots=True)
class ClaimEstimate:
    """The log gain of one option: baseline over option, in time or in cost."""

    pair: OptionPair
    in_cost: bool
    rows: tuple[OptionRow, ...]
    """One for each workload in the mean."""
    estimate: PairEstimate
    """The mean over the workloads, on these clusters."""
    clusters: tuple[str, ...]
    """The clusters with an estimate."""
    other_clusters: LogMean | None
    """The mean for other clusters; None unless two clusters have an estimate."""

    @property
    def deciding_mean(self) -> LogMean:
        """The mean that decides a claim."""
        return self.other_clusters or self.estimate.mean

    @property
    def has_few_groups(self) -> bool:
        """Whether there are too few matched groups for a statement on other settings (docs/adr/0029)."""
        return self.estimate.groups < GROUPS_MIN

    def mean_on(self, row: OptionRow) -> LogMean:
        """Return the log gain of one workload."""
        estimate = row.cost if self.in_cost else row.time
        assert estimate is not None
        return estimate.mean


def gain_of(
    study: Study, table: RunTable, runs: Mask, pair: OptionPair, rows: Sequence[OptionRow], *, in_cost: bool = False
) -> ClaimEstimate | None:
    """Return the mean over ``rows``; None without one, or without prices of a gain in cost.

    ``table``: with the factor of ``pair``. ``runs``: the runs behind ``rows``.
    """
    rows_in_mean = counted_in_mean(rows)
    estimate = _mean(rows_in_mean, in_cost=in_cost)
    if estimate is None:
        return None
    names = {row.workload for row in rows_in_mean}
    clusters = clusters_of(table)
    by_cluster: dict[int, LogMean] = {}
    codes = np.unique(clusters[runs & study.runs]).tolist()
    for code in codes if len(codes) > 1 else []:
        cluster_rows = np.flatnonzero(runs & (clusters == code))
        by_workload = rows_by_workload(table, cluster_rows, pair, study.spread, study.costs if in_cost else None)
        mean = _mean(counted_in_mean([row for name, row in by_workload.items() if name in names]), in_cost=in_cost)
        if mean is not None:
            by_cluster[code] = mean.mean
    levels = table.columns["cluster"].levels if "cluster" in table.columns else ()
    level_names = tuple(levels[code] for code in by_cluster or codes if code >= 0)
    other_clusters = _over_clusters(list(by_cluster.values())) if len(by_cluster) > 1 else None
    return ClaimEstimate(pair, in_cost, tuple(rows_in_mean), estimate, level_names, other_clusters)


def _mean(rows: Sequence[OptionRow], *, in_cost: bool) -> PairEstimate | None:
    if not rows:
        return None
    mean = over_workloads(rows, rows[0].option)
    if not in_cost:
        return mean.time
    return mean.cost if mean.cost and mean.time and mean.cost.runs == mean.time.runs else None


def _over_clusters(means: Sequence[LogMean]) -> LogMean:
    mean_of_clusters = over_units(np.array([mean.mean for mean in means]), np.array([mean.error**2 for mean in means]))
    rounding = float(np.mean([mean.rounding for mean in means]))
    sessions = next((mean.sessions for mean in means if mean.sessions), None)
    return LogMean(
        mean_of_clusters.mean,
        mean_of_clusters.error,
        mean_of_clusters.degrees,
        OVER_CLUSTERS,
        InferenceScope.OTHER_CLUSTERS,
        rounding,
        sessions,
    )


def ratio_of(first: LogMean, second: LogMean) -> LogMean:
    """Return the log of the ratio of two gains, with independent errors (Welch).

    Errors that both gains share, such as those of settings and sessions, cancel, so the interval can be too wide.
    """
    variances = np.array([first.error**2, second.error**2])
    degrees = satterthwaite(variances, np.array([first.degrees, second.degrees]))
    return LogMean(
        first.mean - second.mean,
        float(np.sqrt(variances.sum())),
        degrees,
        "Welch's t on the difference of two log gains",
        first.scope,
        first.rounding + second.rounding,
        first.sessions or second.sessions,
    )


def interval_90(mean: LogMean) -> tuple[float, float]:
    """Return the ends of the 90 % interval of a gain."""
    from scipy.special import stdtrit  # imported here because the import takes 0.1 s

    half_width = max(float(stdtrit(mean.degrees, _ONE_SIDED)) * mean.error, mean.rounding)
    return float(np.exp(mean.mean - half_width)), float(np.exp(mean.mean + half_width))


def codes_of(*arrays: Ints | Floats) -> Ints:
    """Return a number for each row: equal where all arrays are equal."""
    columns = np.stack([np.nan_to_num(array, nan=-1.0) for array in arrays])
    return np.unique(columns, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
