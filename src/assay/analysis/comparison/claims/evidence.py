"""Compute the mean gain over workloads with its interval: a figure behind the answer to a claim.

In: the log gains of matched groups. Out: their mean, with equal weights of workloads. Intervals are 95 %, and allow for
a factor on which the gain depends (``dependence.py``), as those of ``assay decide`` do. A test
against a margin also uses the 90 % interval: each of its ends is a one-sided test at 5 % (two one-sided tests: D. J.
Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.comparison.claims.effects import Effects
from assay.analysis.comparison.claims.study import Study
from assay.analysis.comparison.dependence import among_levels, dependence_among
from assay.analysis.comparison.matched import GROUPS_MIN, LogMean, SessionPart, combine, over_groups, with_sessions
from assay.analysis.statistics import ABSENT, RUNS_MIN, InferenceScope
from assay.analysis.statistics.cluster_strata import within_strata
from assay.analysis.statistics.random_effects import over_units
from assay.foundation.units import format_percent
from assay.text import format_interval, format_ratio, joined, plural

OVER_CLUSTERS = "mean over clusters of their means over workloads, Hartung-Knapp interval"
_ONE_SIDED = 0.95
"""Confidence of each one-sided test, which is the quantile at the ends of the 90 % interval."""


@dataclass(frozen=True, slots=True)
class ClaimEvidence:
    """One figure behind an answer."""

    label: str
    ratio: float | None
    """A gain (time without / time with), or a ratio of two gains; None without an interval."""
    low: float | None
    high: float | None
    groups: int
    workloads: tuple[str, ...]
    low_90: float | None = None
    high_90: float | None = None
    """Ends of the 90 % interval, which are compared with a margin; each end is a test at 5 %."""
    few: bool = False
    """Whether there are too few matched groups and runs for a conclusion, by the rule of ``assay decide``."""
    above: tuple[str, ...] = ()
    """Workloads with an interval above 1; ``below``: with one below 1."""
    below: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    """The clusters of the matched groups."""
    sessions: SessionPart | None = None
    """The part of the error that comes from sessions; None without one."""

    def __str__(self) -> str:
        """Return label, value, interval and matched groups as text."""
        if self.ratio is None:
            few = f"{plural(self.groups, 'matched group')}, too few for an interval"
            return f"{self.label}: {few if self.groups else 'no matched group'}"
        interval = "no interval" if self.low is None or self.high is None else format_interval(self.low, self.high)
        basis = plural(self.groups, "matched group")
        basis += f", {plural(len(self.clusters), 'cluster')}" if len(self.clusters) > 1 else ""
        text = f"{self.label}: {format_ratio(self.ratio)} ({interval}, {basis})"
        only = [f"workload {self.workloads[0]}"] if len(self.workloads) == 1 else []
        only += [f"cluster {self.clusters[0]}"] if len(self.clusters) == 1 else []
        text += f", on {joined(only)} only" if only else ""
        if self.above and self.below:
            text += f", workloads differ: above 1 on {joined(self.above)}; below 1 on {joined(self.below)}"
        if self.sessions is not None:
            text += (
                f", allowing for sessions that differ by {format_percent(np.sqrt(self.sessions.spread.variance), 1)}"
            )
        few = f"; a claim about other settings needs {GROUPS_MIN} matched groups, or {RUNS_MIN} runs of each option"
        return f"{text}{few}" if self.few else text


def evidence(study: Study, label: str, effects: Effects) -> ClaimEvidence:
    """Return the mean gain over the workloads that have several groups or repeated runs.

    Several clusters are a sample of all clusters, because the gain of a factor differs between clusters.
    """
    means = _by_workload(study, effects)
    if not means:
        return ClaimEvidence(label, None, None, None, len(effects.gain), ())
    names = study.table.columns["workload"].levels
    above: list[str] = []
    below: list[str] = []
    for code, (mean_of_workload, _) in means.items():
        ratio = mean_of_workload.ratio
        if ratio.low is not None and ratio.high is not None and not ratio.low <= 1 <= ratio.high:
            (above if ratio.low > 1 else below).append(names[code])
    groups = sum(number for _, number in means.values())
    clusters = _clusters_of(study, effects.where(np.isin(effects.workload, list(means))))
    mean = _over_clusters(study, effects, list(clusters)) if len(clusters) > 1 else None
    mean = mean or combine([mean_of_workload for mean_of_workload, _ in means.values()])
    ratio, (low_90, high_90) = mean.ratio, _interval_90(mean)
    return ClaimEvidence(
        label=label,
        ratio=ratio.value,
        low=ratio.low,
        high=ratio.high,
        groups=groups,
        workloads=tuple(names[code] for code in means),
        low_90=low_90,
        high_90=high_90,
        few=groups < GROUPS_MIN and float(study.runs[effects.members].min()) < RUNS_MIN,
        above=tuple(above),
        below=tuple(below),
        clusters=tuple(clusters.values()),
        sessions=mean.sessions,
    )


def _by_workload(study: Study, effects: Effects) -> dict[int, tuple[LogMean, int]]:
    """Return the mean gain and the number of groups of each workload (code) with several groups or repeated runs."""
    means = {}
    columns, table = study.table.columns, study.table
    # Factors in which the members of a group differ are compared, or are part of the condition.
    alike = [
        name
        for name in table.factors
        if (columns[name].codes[effects.members] == columns[name].codes[effects.example][effects.member_of]).all()
    ]
    for code in np.unique(effects.workload).tolist():
        part = effects.where(effects.workload == code)
        mean = with_sessions(over_groups(part.gain, part.variance, part.degrees, part.rounding), part.sessions)
        values = within_strata(part.gain, np.zeros(len(part.gain), dtype=np.int64))
        if depends := dependence_among(table, alike, part.example, values):
            mean = among_levels(mean, values, *depends)
        if np.isfinite(mean.error):
            means[code] = (mean, len(part.gain))
    return means


def _clusters_of(study: Study, effects: Effects) -> dict[int, str]:
    """Return the clusters (code and name) of the matched groups; empty if runs have none."""
    column = study.table.columns.get("cluster")
    if column is None:
        return {}
    return {code: column.levels[code] for code in np.unique(column.codes[effects.example]).tolist() if code != ABSENT}


def _over_clusters(study: Study, effects: Effects, clusters: Sequence[int]) -> LogMean | None:
    """Return the mean over clusters of each cluster's mean over workloads; None unless two clusters have a mean."""
    cluster = study.table.columns["cluster"].codes[effects.example]
    parts = [[mean for mean, _ in _by_workload(study, effects.where(cluster == code)).values()] for code in clusters]
    means = [combine(part) for part in parts if part]
    if len(means) < 2:
        return None
    over = over_units(np.array([mean.mean for mean in means]), np.array([mean.error**2 for mean in means]))
    rounding = float(np.mean([mean.rounding for mean in means]))
    sessions = next((mean.sessions for mean in means if mean.sessions), None)
    return LogMean(
        over.mean, over.error, over.degrees, OVER_CLUSTERS, InferenceScope.OTHER_CLUSTERS, rounding, sessions
    )


def _interval_90(mean: LogMean) -> tuple[float, float]:
    from scipy.special import stdtrit  # imported here because the import takes 0.1 s

    half = max(float(stdtrit(mean.degrees, _ONE_SIDED)) * mean.error, mean.rounding)
    return float(np.exp(mean.mean - half)), float(np.exp(mean.mean + half))
