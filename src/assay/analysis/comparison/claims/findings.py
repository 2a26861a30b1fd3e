"""Test claims of the published studies about storage, networks and configuration on runs.

In: runs with their times, and prices if known. Out: for each claim an answer (supported, contradicted, undecided) with
the numbers behind it. A claim that an option pays is about cost: it needs prices, and the option breaks even when the
gain in time equals the ratio of the prices.

A claim is data: a contrast, a class of workload, a condition, and the test that answers it.

Claims: Kambatla and Chen, LISA'14, and the BSC's report on SSDs and InfiniBand (ALOJA, 2015), sections 5 and 6.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from assay.analysis.comparison.claims.contrasts import (
    COMPRESSED,
    CONTAINERS,
    INFINIBAND,
    MANY_DISKS,
    SSD_OR_HDD,
    Contrast,
)
from assay.analysis.comparison.claims.effects import (
    Effects,
    effects_of,
    layouts_pooled,
    price_ratios,
    ratio_of_gains,
    with_both_sides,
    within_clusters,
)
from assay.analysis.comparison.claims.evidence import ClaimEvidence, evidence
from assay.analysis.comparison.claims.study import RateOf, Study, study_of
from assay.analysis.comparison.matched import STRATA, session_spread
from assay.analysis.statistics import Mask, RunTable, first_rows, groups_by
from assay.foundation.units import format_percent
from assay.text import plural
from assay.workloads.workload import WorkloadClass

EQUIVALENCE_RATIO = 1.10
"""The margin of equivalence: a gain between 1 / 1.10 and 1.10 makes no practical difference."""
WORTHWHILE_RATIO_MIN = 1.05
"""Minimum gain in time that pays: 5 %."""
EQUIVALENCE_METHOD = f"by a margin of {format_percent(EQUIVALENCE_RATIO - 1)}, two one-sided tests at 5 %"
NEEDS_PRICES = "Whether it pays depends on prices: give a price book."


class ClaimAnswer(StrEnum):
    """The answer of the runs to a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"


class ClaimTest(StrEnum):
    """The test that a supported claim passes."""

    GAINS = "gains"
    """The whole interval of the gain is above 1; contradicted if it is at most 1."""
    NO_DIFFERENCE = "no difference"
    """The gain is within the margin of equivalence; contradicted if it is outside."""
    SMALLER_WITH = "smaller with"
    """The gain without the condition exceeds the gain with it by more than the margin; otherwise contradicted."""
    ONLY_WITH = "only with"
    """With the condition there is a gain; without it, no gain that pays."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a study."""

    name: str
    text: str
    source: str
    test: ClaimTest
    contrast: Contrast
    """The levels to compare."""
    workload_class: WorkloadClass | None = None
    """The class of workloads that the claim is about; None: all workloads."""
    condition: Contrast | None = None
    """The property that the gain depends on, according to the claim."""
    with_and_without: tuple[str, str] = ("", "")
    """Names of the condition's two sides."""
    equal_in: Contrast | None = None
    """Contrast whose level must be equal on both sides of the condition, when they are compared within a cluster."""
    in_cost: bool = False


CLAIMS = (
    Claim(
        "ssd-helps-shuffle",
        "SSDs make shuffle-heavy jobs faster.",
        "LISA'14, section 4",
        ClaimTest.GAINS,
        SSD_OR_HDD,
        WorkloadClass.SHUFFLE_HEAVY,
    ),
    Claim(
        "ssd-not-for-cpu",
        "SSDs make no difference of 10 % to CPU-bound jobs.",
        "LISA'14, section 4; BSC 2015, section 5",
        ClaimTest.NO_DIFFERENCE,
        SSD_OR_HDD,
        WorkloadClass.CPU_BOUND,
    ),
    Claim(
        name="compression-hides",
        text="Compressing map output hides the SSD's gain.",
        source="LISA'14, section 4",
        test=ClaimTest.SMALLER_WITH,
        contrast=SSD_OR_HDD,
        workload_class=WorkloadClass.SHUFFLE_HEAVY,
        condition=COMPRESSED,
        with_and_without=("compressed", "uncompressed"),
    ),
    Claim(
        "containers-need-disks",
        "More containers pay only with more disks.",
        "BSC 2015, figures 5 and 6",
        ClaimTest.ONLY_WITH,
        CONTAINERS,
        condition=MANY_DISKS,
        with_and_without=("several disks", "one disk"),
        equal_in=SSD_OR_HDD,
    ),
    Claim(
        "infiniband-needs-ssd",
        "InfiniBand pays only with SSDs.",
        "BSC 2015, section 6",
        ClaimTest.ONLY_WITH,
        INFINIBAND,
        condition=SSD_OR_HDD,
        with_and_without=("SSD", "HDD"),
        in_cost=True,
    ),
)


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
        how = self.how if not self.how or self.how.endswith(".") else f"Judged {self.how}."
        if not self.unknown_runs:
            return how
        of = plural(len(self.unknown_workloads), "workload")
        return f"{how} {plural(self.unknown_runs, 'run')} of {of} of unknown class excluded.".lstrip()


@dataclass(frozen=True, slots=True)
class _Outcome:
    supported: bool
    contradicted: bool
    evidence: tuple[ClaimEvidence, ...]
    how: str = ""


def evaluate_claim(claim: Claim, study: Study) -> Finding:
    """Return the finding of a study on a claim."""
    among = study.of_class(claim.workload_class)
    if claim.condition is not None:
        among &= np.isfinite(study.contrasts[claim.condition])
    outcome = _TESTS[claim.test](claim, study, among)
    answer = ClaimAnswer.UNDECIDED
    if outcome.supported or outcome.contradicted:
        answer = ClaimAnswer.SUPPORTED if outcome.supported else ClaimAnswer.CONTRADICTED
    by_class = claim.workload_class is not None
    finding = Finding(
        name=claim.name,
        claim=claim.text,
        source=claim.source,
        answer=answer,
        sentence="",
        evidence=outcome.evidence,
        how=outcome.how,
        unknown_runs=study.unknown_runs if by_class else 0,
        unknown_workloads=study.unknown_workloads if by_class else (),
    )
    numbers = "; ".join(map(str, outcome.evidence))
    return replace(finding, sentence=f"{claim.text} {answer.value.capitalize()}: {numbers}. {finding.judged}".rstrip())


def _gains(claim: Claim, study: Study, among: Mask) -> _Outcome:
    gain = _pooled_gain(claim, study, among)
    return _Outcome(_low(gain) > 1, _high(gain) <= 1, (gain,))


def _no_difference(claim: Claim, study: Study, among: Mask) -> _Outcome:
    gain = _pooled_gain(claim, study, among)
    same = _low_90(gain) >= 1 / EQUIVALENCE_RATIO and _high_90(gain) <= EQUIVALENCE_RATIO
    return _Outcome(
        same, _low_90(gain) > EQUIVALENCE_RATIO or _high_90(gain) < 1 / EQUIVALENCE_RATIO, (gain,), EQUIVALENCE_METHOD
    )


def _pooled_gain(claim: Claim, study: Study, among: Mask) -> ClaimEvidence:
    """Return the gain over all groups; its label names the layouts on both sides."""
    effects = effects_of(study, claim.contrast, among)
    pooled = layouts_pooled(study, effects, claim.contrast)
    return evidence(study, f"gain of {claim.contrast.label}{f' ({pooled})' if pooled else ''}", effects)


def _smaller_with(claim: Claim, study: Study, among: Mask) -> _Outcome:
    condition = _condition(claim)
    split = study.contrasts[condition]
    columns = [claim.contrast.factor_in(study.table), condition.factor_in(study.table)]
    effects = effects_of(study, claim.contrast, among)
    with_name, without_name = claim.with_and_without
    label = f"gain {without_name} over gain {with_name}"
    ratio = evidence(study, label, ratio_of_gains(study, effects, split, columns))
    with_it, without = _both_gains(claim, study, with_both_sides(study, effects, split, columns))
    return _Outcome(
        _low_90(ratio) > EQUIVALENCE_RATIO,
        _high_90(ratio) < EQUIVALENCE_RATIO,
        (ratio, without, with_it),
        EQUIVALENCE_METHOD,
    )


def _gain_with_condition(claim: Claim, study: Study, among: Mask) -> _Outcome:
    """Compare the gains with and without the condition on the workloads that have both, within clusters.

    Different clusters differ in more than the condition.
    """
    equal_in = study.contrasts[claim.equal_in] if claim.equal_in else None
    split = study.contrasts[_condition(claim)]
    effects = within_clusters(study, effects_of(study, claim.contrast, among), split, equal_in)
    priced = effects.in_cost
    without_prices = claim.in_cost and not len(priced.gain)
    if claim.in_cost and not without_prices:
        effects = priced
    sides = split[effects.example]
    shared = np.intersect1d(effects.workload[sides == 1], effects.workload[sides == 0])
    kind = "" if not claim.in_cost else "in time " if without_prices else "in cost "
    with_it, without = _both_gains(claim, study, effects.where(np.isin(effects.workload, shared)), kind)
    if without_prices:
        return _Outcome(False, False, (with_it, without), NEEDS_PRICES)
    pays = 1.0 if claim.in_cost else WORTHWHILE_RATIO_MIN
    supported = _low(with_it) > 1 and _high(without) < pays
    contradicted = _low(without) >= pays or _high(with_it) < pays
    how = "in time, within clusters that have both"
    if claim.in_cost:
        ends = price_ratios(effects)
        price_ratio = (
            f"an hour with {claim.contrast.label} costs {ends[0]:.2f} to {ends[1]:.2f} times as much" if ends else ""
        )
        how = f"by cost: {price_ratio}" if price_ratio else "by cost"
        how += "; it pays with neither" if max(_high(with_it), _high(without)) < 1 else ""
    return _Outcome(supported, contradicted, (with_it, without), how)


def _both_gains(claim: Claim, study: Study, effects: Effects, kind: str = "") -> tuple[ClaimEvidence, ClaimEvidence]:
    """Return the gain with the condition and the gain without it."""
    sides = study.contrasts[_condition(claim)][effects.example]
    with_it, without = (
        evidence(study, f"gain {kind}of {claim.contrast.label}, {name}", effects.where(sides == side))
        for side, name in zip((1, 0), claim.with_and_without, strict=True)
    )
    return with_it, without


def _condition(claim: Claim) -> Contrast:
    if claim.condition is None:
        raise ValueError(f"claim {claim.name} needs a condition")
    return claim.condition


_TESTS: Mapping[ClaimTest, Callable[[Claim, Study, Mask], _Outcome]] = {
    ClaimTest.GAINS: _gains,
    ClaimTest.NO_DIFFERENCE: _no_difference,
    ClaimTest.SMALLER_WITH: _smaller_with,
    ClaimTest.ONLY_WITH: _gain_with_condition,
}


def _low(item: ClaimEvidence) -> float:
    return -np.inf if item.low is None or item.few else item.low


def _high(item: ClaimEvidence) -> float:
    return np.inf if item.high is None or item.few else item.high


def _low_90(item: ClaimEvidence) -> float:
    return -np.inf if item.low_90 is None or item.few else item.low_90


def _high_90(item: ClaimEvidence) -> float:
    return np.inf if item.high_90 is None or item.few else item.high_90


def findings(table: RunTable, rate_of: RateOf | None = None) -> dict[str, list[Finding]]:
    """Return the findings on every claim for each origin (``measured``, or ``measured, lab scale 0.05``).

    Only valid runs count. ``rate_of``: the hourly price of each configuration.
    """
    if len(table) == 0 or "workload" not in table.columns:
        return {}
    names = [name for name in STRATA if name in table.columns]
    strata = groups_by(table, names)
    spread = session_spread(table)
    by_origin = {}
    for stratum, row in enumerate(first_rows(strata)):
        texts = {name: table.columns[name].text(int(row)) for name in names}
        scale = f", lab scale {texts['lab_scale']}" if texts.get("lab_scale") else ""
        part = table if strata.count == 1 else table.subset(strata.of_row == stratum)
        study = study_of(part, rate_of, spread)
        by_origin[(texts.get("origin") or "origin not known") + scale] = [
            evaluate_claim(claim, study) for claim in CLAIMS
        ]
    return by_origin
