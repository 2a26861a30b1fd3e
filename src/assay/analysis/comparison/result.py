"""Define the speedup of a candidate level over a baseline level: one type, for one matched group or many.

A :class:`SpeedupResult` has values only: the ratio with its interval, scope and matched groups, and the verdict. Ratios
are baseline time / candidate time: above 1, the candidate is faster. For a single matched group with loaded runs,
``runs`` adds phases, throughputs, medians and a rank test.
``questions/comparisons/result_sentences.py`` turns a result into sentences.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypedDict

from assay.analysis.comparison.dependence import Dependence
from assay.analysis.comparison.details.level_summary import LevelSummary
from assay.analysis.comparison.matched import LogMean, SessionPart
from assay.analysis.comparison.scope_estimates import ClusterEstimate, ScopeEstimate
from assay.analysis.comparison.significance import RankTest
from assay.analysis.statistics import (
    MARGIN,
    Estimate,
    InferenceScope,
    Verdict,
    holm_where_known,
    too_few_runs,
    verdict_of,
)
from assay.model import CodedWarning, Origin


class Exclusion(StrEnum):
    """Why a run of the two levels does not count."""

    FAILED = "failed"
    INVALID = "invalid"
    WARM = "warm"
    """Started with warm caches, where others of its matched group started cold."""
    NO_BASELINE = "no_baseline"
    """A run of the candidate without an otherwise equal run of the baseline."""
    NO_CANDIDATE = "no_candidate"
    """A run of the baseline without an otherwise equal run of the candidate."""
    NO_INTERVAL = "no_interval"
    """In a part without an interval, where several parts are combined."""
    OTHER_SCOPE = "other_scope"
    """In a part whose interval has another scope than most parts."""


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Further results of the runs of a single matched group."""

    baseline: LevelSummary
    candidate: LevelSummary
    rank_test: RankTest | None
    """Mann-Whitney's test, exact for few runs. The verdict does not use it. None if a side has no run."""


@dataclass(frozen=True, slots=True)
class CombinedParts:
    """The numbers of parts, for example workloads, behind a combined result."""

    by: str
    """The column that separates the parts."""
    used: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedupResult:
    """One candidate level against the baseline level, over the matched groups of one part of the runs."""

    factor: str
    baseline: str
    candidate: str
    by: str | None
    """The column that separates the parts, for example ``workload``; None for a result over all parts."""
    group: str
    """The level of ``by``; empty for a result over all parts."""
    context: str = ""
    """Levels that distinguish this matched group from others of its part; empty over several groups, or for the only
    group."""
    combined: CombinedParts | None = None
    """The parts behind a result over all of them; None for a result of one part."""
    origin: str
    lab_scale: str | None
    ratio: float | None
    """Baseline time / candidate time; None without a matched group."""
    low: float | None
    high: float | None
    """Ends of the 95 % interval; None with too few groups and runs, and for a confounded ratio."""
    scope: InferenceScope
    """The settings and clusters that the interval covers."""
    method: str
    log_error: float | None
    """Standard error of the ratio's logarithm, with ``degrees`` of freedom; None without an interval."""
    degrees: float | None
    log_rounding: float
    """Maximum error of the ratio's logarithm because times are rounded, or simulated."""
    sessions: SessionPart | None
    """The part of the error that comes from differences between sessions; None without one."""
    depends_on: Dependence | None = None
    """The factor that the speedup depends on most clearly, or the speedups of the answer; None if there is none."""
    p: float | None
    """Two-sided p value for no difference; below 5 % exactly if the interval excludes 1."""
    holm_p: float | None = None
    """The same after Holm's correction over all results of the answer; None for a result that is not tested."""
    family: int = 0
    """Number of results that the correction covers."""
    verdict: Verdict = Verdict.NOT_COMPARED
    groups: int
    """Matched groups with runs of both levels."""
    runs_baseline: int
    runs_candidate: int
    """Runs in these matched groups, by side. A single group is counted even if a side has no run."""
    excluded: Mapping[Exclusion, int]
    """Runs of the two levels that do not count, by reason."""
    ignored: Mapping[str, int] = field(default_factory=dict)
    """Factors that were allowed to differ, each with the number of matched groups in which it did."""
    confounded: tuple[str, ...] = ()
    """Ignored factors that differ between the two sides: there is no interval then."""
    by_scope: tuple[ScopeEstimate, ...] = ()
    """The mean speedup for each scope that the groups allow."""
    clusters: tuple[ClusterEstimate, ...] = ()
    """The same comparison on each cluster; empty if all groups are of one cluster."""
    trimmed: Estimate | None = None
    """The ratio without the smallest and largest fifth of the groups; None for too few of them."""
    joint: Estimate | None = None
    """The ratio from the joint estimate of all levels over all matched groups. Joint ratios can be compared."""
    warnings: tuple[CodedWarning, ...] = ()
    runs: RunComparison | None = None
    """Further results of the runs of a single matched group; None over several groups, or without loaded runs."""

    @property
    def estimate(self) -> Estimate | None:
        """The ratio with its interval; None without a matched group."""
        return None if self.ratio is None else Estimate(self.ratio, self.low, self.high)

    @property
    def log_mean(self) -> LogMean:
        """The logarithm of the ratio with its error, for combined means. Raises ValueError without an interval."""
        if self.ratio is None or self.log_error is None or self.degrees is None:
            raise ValueError("a speedup without an interval has no standard error")
        mean = math.log(self.ratio)
        return LogMean(mean, self.log_error, self.degrees, self.method, self.scope, self.log_rounding, self.sessions)

    @property
    def is_simulated(self) -> bool:
        """Return whether the runs are simulated."""
        return self.origin == Origin.SIMULATED


class MeanFields(TypedDict):
    """The fields of a :class:`SpeedupResult` that follow from a mean log speedup."""

    ratio: float | None
    low: float | None
    high: float | None
    scope: InferenceScope
    method: str
    log_error: float | None
    degrees: float | None
    log_rounding: float
    sessions: SessionPart | None
    p: float | None


def mean_fields(mean: LogMean | None, method: str, confounded: tuple[str, ...] = ()) -> MeanFields:
    """Return the fields that follow from a mean log speedup. ``method``: used if there is no mean.

    With ``confounded`` factors, the ratio has no interval.
    """
    if mean is None:
        return MeanFields(
            ratio=None,
            low=None,
            high=None,
            scope=InferenceScope.SIMILAR,
            method=method,
            log_error=None,
            degrees=None,
            log_rounding=0.0,
            sessions=None,
            p=None,
        )
    if confounded:
        mean = replace(mean, error=float("nan"), sessions=None)
    ratio = mean.ratio
    has_interval = ratio.low is not None
    return MeanFields(
        ratio=ratio.value,
        low=ratio.low,
        high=ratio.high,
        scope=mean.scope,
        method=mean.method,
        log_error=mean.error if has_interval else None,
        degrees=mean.degrees if has_interval else None,
        log_rounding=mean.rounding,
        sessions=mean.sessions,
        p=mean.p,
    )


def with_verdicts(results: Sequence[SpeedupResult], margin: float = MARGIN) -> list[SpeedupResult]:
    """Return the results of one answer with their verdicts, corrected for their number (Holm).

    A result with too few runs for a verdict is not tested, so it does not count.
    """
    sides = [(result.runs_baseline, result.runs_candidate) for result in results]
    p_values = [
        None if too_few_runs(result.groups, runs) else result.p for result, runs in zip(results, sides, strict=True)
    ]
    family = sum(p is not None for p in p_values)
    return [
        replace(
            result,
            holm_p=holm_p,
            family=family,
            verdict=verdict_of(
                result.estimate, holm_p, result.groups, runs, confounded=bool(result.confounded), margin=margin
            ),
        )
        for result, runs, holm_p in zip(results, sides, holm_where_known(p_values), strict=True)
    ]


def clearest(results: Sequence[SpeedupResult]) -> SpeedupResult | None:
    """Return the result whose interval is farthest from 1; without an interval, the one with most runs."""

    def distance(result: SpeedupResult) -> tuple[int, float, int]:
        n = min(result.runs_baseline, result.runs_candidate)
        if result.low is None or result.high is None or result.verdict is Verdict.NOT_ENOUGH_RUNS:
            return (0, 0.0, n)
        return (1, max(math.log(result.low), -math.log(result.high), 0.0), n)

    return max(results, key=distance, default=None)
