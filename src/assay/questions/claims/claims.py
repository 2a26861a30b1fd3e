"""Test claims of the published studies about storage, networks and configuration on runs.

In: a study. Out: for each claim an answer (supported, contradicted, undecided) with the figures behind it. The figures
are those of ``assay decide``: the same runs, levels, matched groups and estimates. A claim that an option pays is about
cost and needs prices.

A claim is data: a comparison, a class of workload, a condition, and the test that answers it.

Claims: Kambatla and Chen, LISA'14, and the BSC's report on SSDs and InfiniBand (ALOJA, 2015), sections 5 and 6.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from assay.analysis.comparison.matched import LogMean
from assay.foundation.units import format_percent
from assay.questions.claims.comparisons import (
    ClaimEstimatePair,
    compression_sides,
    containers_sides,
    network_sides,
    storage_gain,
)
from assay.questions.claims.evidence import (
    ClaimEvidence,
    ClaimScope,
    RatioKind,
    evidence_of,
    no_evidence,
    ratio_evidence,
)
from assay.questions.claims.gains import ClaimEstimate, interval_90, ratio_of
from assay.questions.claims.study import Study
from assay.text import plural
from assay.workloads.workload import WorkloadClass

EQUIVALENCE_RATIO = 1.10
"""The margin of equivalence: a gain between 1 / 1.10 and 1.10 makes no practical difference."""
WORTHWHILE_RATIO_MIN = 1.05
"""Minimum gain in time that pays: 5 %."""
EQUIVALENCE_METHOD = (
    f"Tested against a margin of {format_percent(EQUIVALENCE_RATIO - 1)} by two one-sided tests at 5 %."
)
NEEDS_PRICES = "Whether it pays depends on prices: give a price book."


class ClaimAnswer(StrEnum):
    """The answer of the runs to a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a study."""

    name: str
    text: str
    source: str
    test: "Callable[[Claim, Study], _Outcome]"
    workload_class: WorkloadClass | None = None
    """The class of workloads that the claim is about; None: all workloads."""

    @property
    def jobs(self) -> str:
        """The jobs that the claim is about: ``shuffle-heavy jobs``."""
        return f"{self.workload_class} jobs" if self.workload_class else "jobs"


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim, its answer, and why."""

    name: str
    claim: str
    source: str
    answer: ClaimAnswer
    sentence: str
    evidence: tuple[ClaimEvidence, ...]
    how: str = ""
    """How the claim is tested, or why it can't be tested."""
    unknown_runs: int = 0
    """Number of runs that the claim excludes because the class of their workload is unknown."""
    unknown_workloads: tuple[str, ...] = ()
    """The workloads of these runs."""

    @property
    def judged(self) -> str:
        """How the claim is tested, and which runs are excluded, as sentences; empty if there is nothing to add."""
        return _test_text(self.how, self.unknown_runs, self.unknown_workloads)


def _test_text(comparison_text: str, unknown_runs: int, unknown_workloads: tuple[str, ...]) -> str:
    if not unknown_runs:
        return comparison_text
    workloads_text = plural(len(unknown_workloads), "workload")
    return f"{comparison_text} {plural(unknown_runs, 'run')} of {workloads_text} of unknown class excluded.".lstrip()


@dataclass(frozen=True, slots=True)
class _Outcome:
    supported: bool
    contradicted: bool
    evidence: tuple[ClaimEvidence, ...]
    how: str = ""


def finding_of(claim: Claim, study: Study) -> Finding:
    """Return the finding of a study on a claim."""
    outcome = claim.test(claim, study)
    answer = ClaimAnswer.UNDECIDED
    if outcome.supported or outcome.contradicted:
        answer = ClaimAnswer.SUPPORTED if outcome.supported else ClaimAnswer.CONTRADICTED
    unknown_workloads, unknown_runs = study.unknown if claim.workload_class else ((), 0)
    numbers = " ".join(map(str, outcome.evidence))
    verdict_text = _test_text(outcome.how, unknown_runs, unknown_workloads)
    return Finding(
        name=claim.name,
        claim=claim.text,
        source=claim.source,
        answer=answer,
        sentence=f"{claim.text} {answer.value.capitalize()}: {numbers} {verdict_text}".rstrip(),
        evidence=outcome.evidence,
        how=outcome.how,
        unknown_runs=unknown_runs,
        unknown_workloads=unknown_workloads,
    )


def _ssd_gains(claim: Claim, study: Study) -> _Outcome:
    """Supported if the whole interval of the gain is above 1; contradicted if it is at most 1."""
    gain = storage_gain(study, study.workloads_of(claim.workload_class))
    low, high = _interval(gain)
    return _Outcome(low > 1, high <= 1, (_evidence(gain, claim, "SSDs against hard disks"),))


def _ssd_makes_no_difference(claim: Claim, study: Study) -> _Outcome:
    """Supported if the gain is within the margin of equivalence; contradicted if it is outside."""
    gain = storage_gain(study, study.workloads_of(claim.workload_class))
    low, high = _interval_90(gain.deciding_mean if gain and not gain.has_few_groups else None)
    return _Outcome(
        low >= 1 / EQUIVALENCE_RATIO and high <= EQUIVALENCE_RATIO,
        low > EQUIVALENCE_RATIO or high < 1 / EQUIVALENCE_RATIO,
        (_evidence(gain, claim, "SSDs against hard disks"),),
        EQUIVALENCE_METHOD,
    )


def _smaller_with_compression(claim: Claim, study: Study) -> _Outcome:
    """Supported if the gain without compression exceeds the gain with it by more than the margin.

    No decision answers this question: how much the gain of one option depends on another factor.
    """
    sides = compression_sides(study, study.workloads_of(claim.workload_class))
    compared_text = "SSDs against hard disks, "
    evidence = (
        _evidence(sides.without_condition, claim, f"{compared_text}without compression", "without compression"),
        _evidence(sides.with_condition, claim, f"{compared_text}with compression", "with compression"),
    )
    label = "gain of SSDs without compression / gain with it"
    if sides.with_condition is None or sides.without_condition is None:
        return _Outcome(False, False, (no_evidence(RatioKind.RATIO_OF_SPEEDUPS, label), *evidence), EQUIVALENCE_METHOD)
    ratio = ratio_of(sides.without_condition.deciding_mean, sides.with_condition.deciding_mean)
    has_few_runs = sides.without_condition.has_few_groups or sides.with_condition.has_few_groups
    low, high = _interval_90(None if has_few_runs else ratio)
    evidence_of_ratio = ratio_evidence(ratio, sides.without_condition, sides.with_condition, label, claim.jobs)
    return _Outcome(
        low > EQUIVALENCE_RATIO, high < EQUIVALENCE_RATIO, (evidence_of_ratio, *evidence), EQUIVALENCE_METHOD
    )


def _containers_pay_with_disks(claim: Claim, study: Study) -> _Outcome:
    sides = containers_sides(study, study.workloads_of(claim.workload_class))
    comparison_text = "Compared in time, within clusters that have both."
    return _only_with(
        claim, sides, ("several disks", "one disk"), "more containers", WORTHWHILE_RATIO_MIN, comparison_text
    )


def _infiniband_pays_with_ssds(claim: Claim, study: Study) -> _Outcome:
    sides = network_sides(study)
    names = ("SSDs", "hard disks")
    if study.costs is None:
        outcome = _only_with(claim, sides, names, "InfiniBand", 1.0, NEEDS_PRICES)
        return _Outcome(False, False, outcome.evidence, NEEDS_PRICES)
    highs = [_interval(gain)[1] for gain in (sides.with_condition, sides.without_condition)]
    neither_text = "; it pays with neither" if max(highs) < 1 else ""
    return _only_with(claim, sides, names, "InfiniBand", 1.0, f"Compared by the cost per job{neither_text}.")


def _only_with(
    claim: Claim,
    sides: ClaimEstimatePair,
    names: tuple[str, str],
    option: str,
    worthwhile_min: float,
    comparison_text: str,
) -> _Outcome:
    """Supported if the option gains with the condition, and gains less than ``worthwhile_min`` without it."""
    evidence = tuple(
        _evidence(gain, claim, f"{option}, with {name}", f"with {name}")
        for gain, name in zip((sides.with_condition, sides.without_condition), names, strict=True)
    )
    (low_with, high_with), (low_without, high_without) = (
        _interval(sides.with_condition),
        _interval(sides.without_condition),
    )
    return _Outcome(
        low_with > 1 and high_without < worthwhile_min,
        low_without >= worthwhile_min or high_with < worthwhile_min,
        evidence,
        comparison_text,
    )


def _evidence(gain: ClaimEstimate | None, claim: Claim, compared_text: str, condition: str = "") -> ClaimEvidence:
    return (
        evidence_of(gain, ClaimScope(claim.jobs, condition)) if gain else no_evidence(RatioKind.SPEEDUP, compared_text)
    )


def _interval(gain: ClaimEstimate | None) -> tuple[float, float]:
    """Return the 95 % interval that decides a claim; infinite for a gain that settles no claim."""
    ratio = gain.deciding_mean.ratio if gain and not gain.has_few_groups else None
    if ratio is None or ratio.low is None or ratio.high is None:
        return -np.inf, np.inf
    return ratio.low, ratio.high


def _interval_90(mean: LogMean | None) -> tuple[float, float]:
    return interval_90(mean) if mean and mean.p is not None else (-np.inf, np.inf)


CLAIMS = (
    Claim(
        "ssd-helps-shuffle",
        "SSDs make shuffle-heavy jobs faster.",
        "LISA'14, section 4",
        _ssd_gains,
        WorkloadClass.SHUFFLE_HEAVY,
    ),
    Claim(
        "ssd-not-for-cpu",
        "SSDs make no difference of 10 % to CPU-bound jobs.",
        "LISA'14, section 4; BSC 2015, section 5",
        _ssd_makes_no_difference,
        WorkloadClass.CPU_BOUND,
    ),
    Claim(
        "compression-hides",
        "Compressing map output hides the SSD's gain.",
        "LISA'14, section 4",
        _smaller_with_compression,
        WorkloadClass.SHUFFLE_HEAVY,
    ),
    Claim(
        "containers-need-disks",
        "More containers pay only with more disks.",
        "BSC 2015, figures 5 and 6",
        _containers_pay_with_disks,
    ),
    Claim("infiniband-needs-ssd", "InfiniBand pays only with SSDs.", "BSC 2015, section 6", _infiniband_pays_with_ssds),
)


def findings_of(studies: list[Study]) -> dict[str, list[Finding]]:
    """Return the findings on every claim by study: ``measured``, or ``measured, lab scale 0.05``."""
    return {study.name: [finding_of(claim, study) for claim in CLAIMS] for study in studies}
