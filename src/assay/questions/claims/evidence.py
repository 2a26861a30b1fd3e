"""State one figure behind the answer to a claim, in the words and with the figures of decisions.

In: a gain, or a ratio of two gains. Out: the figure with its interval, and a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from assay.analysis.comparison.matched import GROUPS_MIN, LogMean, SessionPart
from assay.foundation.units import format_percent
from assay.questions.claims.gains import ClaimEstimate, interval_90
from assay.questions.decisions.sentences.option_words import option_text, option_verb
from assay.text import capitalised, format_interval, format_ratio, joined, plural, workload_title


class RatioKind(StrEnum):
    """What a figure is."""

    SPEEDUP = "speedup"
    """Baseline time / option time."""
    COST_RATIO = "cost ratio"
    """Option cost / baseline cost of a job."""
    RATIO_OF_SPEEDUPS = "ratio of speedups"


@dataclass(frozen=True, slots=True)
class OtherClusters:
    """The same figure for other clusters, which a claim is about: these clusters are a sample."""

    ratio: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class ClaimEvidence:
    """One figure behind an answer."""

    text: str
    """The figure as a sentence."""
    measure: RatioKind
    ratio: float | None
    """On these clusters, as in the decision; None without an interval."""
    low: float | None
    high: float | None
    groups: int
    workloads: tuple[str, ...]
    low_90: float | None = None
    high_90: float | None = None
    """Ends of the 90 % interval, which are compared with a margin; each end is a test at 5 %."""
    few: bool = False
    """Whether the figure covers the tested settings only: it settles no claim."""
    above: tuple[str, ...] = ()
    """Workloads with an interval above 1; ``below``: with one below 1."""
    below: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    """The clusters of the matched groups."""
    other_clusters: OtherClusters | None = None
    """None unless the runs are of several clusters; it then decides the claim."""
    sessions: SessionPart | None = None
    """The part of the error that comes from sessions; None without one."""

    def __str__(self) -> str:
        """Return the sentence."""
        return self.text


@dataclass(frozen=True, slots=True)
class ClaimScope:
    """What a figure is about, in words."""

    jobs: str
    """``shuffle-heavy jobs``."""
    condition: str = ""
    """Where the figure is measured: ``with SSDs``."""


def no_evidence(measure: RatioKind, compared_text: str) -> ClaimEvidence:
    """Return the evidence of a comparison without a matched group that has an interval."""
    text = f"{capitalised(compared_text)}: no otherwise equal runs measured this."
    return ClaimEvidence(text, measure, None, None, None, 0, ())


def evidence_of(gain: ClaimEstimate, subject: ClaimScope) -> ClaimEvidence:
    """Return the evidence of a gain."""
    names = {row.workload: gain.mean_on(row).ratio for row in gain.rows}
    gain_by_workload = {
        name: ratio.value > 1
        for name, ratio in names.items()
        if ratio.low is not None and ratio.high is not None and not ratio.low <= 1 <= ratio.high
    }
    better_workloads, worse_workloads = (
        tuple(name for name, is_gain in gain_by_workload.items() if is_gain is side) for side in (True, False)
    )
    measure = RatioKind.COST_RATIO if gain.in_cost else RatioKind.SPEEDUP
    mean = _in_measure(gain.estimate.mean, measure)
    other_clusters = _in_measure(gain.other_clusters, measure) if gain.other_clusters else None
    low_90, high_90 = interval_90(_in_measure(gain.deciding_mean, measure))
    evidence = ClaimEvidence(
        text="",
        measure=measure,
        ratio=mean.ratio.value,
        low=mean.ratio.low,
        high=mean.ratio.high,
        groups=gain.estimate.groups,
        workloads=tuple(names),
        low_90=low_90,
        high_90=high_90,
        few=gain.has_few_groups,
        above=worse_workloads if gain.in_cost else better_workloads,
        below=better_workloads if gain.in_cost else worse_workloads,
        clusters=gain.clusters,
        other_clusters=OtherClusters(other_clusters.ratio.value, other_clusters.ratio.low, other_clusters.ratio.high)
        if other_clusters
        else None,
        sessions=mean.sessions,
    )
    return replace(evidence, text=_sentence(gain, evidence, subject))


def ratio_evidence(
    ratio: LogMean, first: ClaimEstimate, second: ClaimEstimate, compared_text: str, jobs: str
) -> ClaimEvidence:
    """Return the evidence of the ratio of two gains. ``compared_text``: the gains, in words. ``jobs``: those of the
    claim."""
    low_90, high_90 = interval_90(ratio)
    value, groups = ratio.ratio, min(first.estimate.groups, second.estimate.groups)
    workloads = tuple(row.workload for row in first.rows)
    has_few_runs = first.has_few_groups or second.has_few_groups
    text = f"{capitalised(compared_text)}: {format_ratio(value.value)} ({_interval(value.low, value.high)})."
    if has_few_runs:
        text = f"{_undecided_text(jobs, groups)} In the tested settings, {compared_text}: {format_ratio(value.value)} "
        text += f"({_interval(value.low, value.high)})."
    return ClaimEvidence(
        text,
        RatioKind.RATIO_OF_SPEEDUPS,
        value.value,
        value.low,
        value.high,
        groups,
        workloads,
        low_90,
        high_90,
        has_few_runs,
    )


def _in_measure(mean: LogMean, measure: RatioKind) -> LogMean:
    """Return a log gain as it is shown: a cost ratio is option / baseline."""
    return replace(mean, mean=-mean.mean) if measure is RatioKind.COST_RATIO else mean


def _sentence(gain: ClaimEstimate, evidence: ClaimEvidence, subject: ClaimScope) -> str:
    """Return the evidence as a sentence; a figure of few settings says what the claim lacks first."""
    factor = gain.pair.factor
    option, baseline = (option_text(factor, level) for level in (gain.pair.option, gain.pair.baseline))
    assert evidence.ratio is not None
    where = f"{subject.condition}, " if subject.condition else ""
    amount = f"{format_ratio(evidence.ratio)}×"
    claim = (
        f"a job on {option} costs {amount} as much as on {baseline}"
        if gain.in_cost
        else f"{option} {option_verb(factor, gain.pair.option)} {amount} as fast as {baseline}"
    )
    if gain.has_few_groups:
        groups = evidence.groups
        settings = "the tested setting" if groups == 1 else f"the {groups} tested settings"
        interval = _interval(evidence.low, evidence.high)
        return f"{_undecided_text(subject.jobs, groups)} In {settings} {where}{claim} ({interval})."
    return f"{capitalised(f'{where}{claim}')} ({_basis(evidence)}){_limits(evidence)}."


def _undecided_text(jobs: str, groups: int) -> str:
    return f"Undecided for {jobs} in general: {plural(groups, 'matched group')}, {GROUPS_MIN} are needed."


def _basis(evidence: ClaimEvidence) -> str:
    """Return the interval and the matched groups, and the figure for other clusters if it decides the claim."""
    text = f"{_interval(evidence.low, evidence.high)}, {plural(evidence.groups, 'matched group')}"
    if (other := evidence.other_clusters) is None:
        return text
    other_text = f"{format_ratio(other.ratio)}×, {_interval(other.low, other.high)}"
    return f"{text}, {plural(len(evidence.clusters), 'cluster')}; on other clusters {other_text}"


def _limits(evidence: ClaimEvidence) -> str:
    """Return what the figure is limited to, where workloads differ, and the allowance for sessions."""
    limits = [f"workload {workload_title(evidence.workloads[0])}"] if len(evidence.workloads) == 1 else []
    limits += [f"cluster {evidence.clusters[0]}"] if len(evidence.clusters) == 1 else []
    text = f", on {joined(limits)} only" if limits else ""
    if evidence.above and evidence.below:
        above_text, below_text = (
            joined([workload_title(name) for name in names]) for names in (evidence.above, evidence.below)
        )
        text += f", workloads differ: above 1 on {above_text}; below 1 on {below_text}"
    if evidence.sessions is not None:
        spread = format_percent(np.sqrt(evidence.sessions.spread.variance), 1)
        text += f", allowing for sessions that differ by {spread}"
    return text


def _interval(low: float | None, high: float | None) -> str:
    return "no interval" if low is None or high is None else format_interval(low, high)
