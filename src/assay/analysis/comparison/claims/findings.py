"""What the published studies claim about storage, networks and configuration, tested on the runs at hand.

In: configurations with their times, and prices where they are known (``effects.py``). Out: for each claim an answer
(supported, contradicted, undecided), the numbers behind it, and a sentence. What pays is a matter of cost: such a claim
needs prices, and the break-even is where the gain in time is the ratio of the prices.

Claims: Kambatla and Chen, LISA'14, and the BSC's report on SSDs and InfiniBand (ALOJA, 2015), sections 5 and 6.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from assay.analysis.comparison.claims.effects import (
    ClaimEvidence,
    Effects,
    RateOf,
    Study,
    effects,
    evidence,
    layouts_pooled,
    price_ratios,
    ratio_of_gains,
    study_of,
    with_both_sides,
    within_clusters,
)
from assay.analysis.comparison.matched import STRATA, session_spread
from assay.analysis.statistics import Floats, Mask, RunTable, first_rows, groups_by
from assay.model import COMPRESSION, LAYOUT_FACTOR

SAME = 1.10
"""The margin of equivalence: a gain between 1 / 1.10 and 1.10 makes no practical difference."""
PAYS = 1.05
"""Less than 5 % faster is not worth a setting, as far as time goes."""
BY_MARGIN = f"by a margin of {SAME - 1:.0%}, two one-sided tests at 5 %"
NEEDS_PRICES = "Whether it pays hangs on prices: it does where an hour costs less than so many times as much."


class ClaimAnswer(StrEnum):
    """What the runs say to a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"


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
    """How it is judged, or what it lacks to be."""

    @property
    def judged(self) -> str:
        """How it is judged, as a sentence; empty where there is nothing to add."""
        return self.how if not self.how or self.how.endswith(".") else f"Judged {self.how}."


def _decide(supported: bool, contradicted: bool) -> ClaimAnswer:
    return ClaimAnswer.SUPPORTED if supported else ClaimAnswer.CONTRADICTED if contradicted else ClaimAnswer.UNDECIDED


def _low(found: ClaimEvidence) -> float:
    return -np.inf if found.low is None or found.few else found.low


def _high(found: ClaimEvidence) -> float:
    return np.inf if found.high is None or found.few else found.high


def _low_90(found: ClaimEvidence) -> float:
    return -np.inf if found.low_90 is None or found.few else found.low_90


def _high_90(found: ClaimEvidence) -> float:
    return np.inf if found.high_90 is None or found.few else found.high_90


def _finding(
    name: str, claim: str, source: str, answer: ClaimAnswer, *numbers: ClaimEvidence, how: str = ""
) -> Finding:
    told = "; ".join(str(one) for one in numbers)
    found = Finding(name, claim, source, answer, "", numbers, how)
    return replace(found, sentence=f"{claim} {answer.value.capitalize()}: {told}. {found.judged}".rstrip())


def _of_ssd(view: Study, among: Mask) -> ClaimEvidence:
    """Return the gain of SSDs over hard disks, saying which layouts it pools."""
    found = effects(view, view.ssd, LAYOUT_FACTOR, among)
    pooled = layouts_pooled(view, found, view.ssd)
    return evidence(view, f"gain of SSD over HDD{f' ({pooled})' if pooled else ''}", found)


def ssd_helps_shuffle(view: Study) -> Finding:
    """SSDs against hard disks on shuffle-heavy jobs: supported when the whole interval lies above 1."""
    gain = _of_ssd(view, view.shuffle_heavy)
    answer = _decide(_low(gain) > 1, _high(gain) <= 1)
    return _finding("ssd-helps-shuffle", "SSDs make shuffle-heavy jobs faster.", "LISA'14, section 4", answer, gain)


def ssd_not_for_cpu(view: Study) -> Finding:
    """SSDs against hard disks on CPU-bound jobs: supported when the gain is shown to lie within 10 % of 1."""
    gain = _of_ssd(view, view.cpu_bound)
    same = _low_90(gain) >= 1 / SAME and _high_90(gain) <= SAME
    answer = _decide(same, _low_90(gain) > SAME or _high_90(gain) < 1 / SAME)
    claim = "SSDs make no difference of 10 % to CPU-bound jobs."
    return _finding("ssd-not-for-cpu", claim, "LISA'14, section 4; BSC 2015, section 5", answer, gain, how=BY_MARGIN)


def compression_hides(view: Study) -> Finding:
    """The SSD's gain without compression of map output over that with it, on shuffle-heavy jobs.

    Supported when it is shown to be more than 10 % larger, contradicted when it is shown not to be.
    """
    found = effects(view, view.ssd, LAYOUT_FACTOR, view.shuffle_heavy & np.isfinite(view.compressed))
    apart = ratio_of_gains(view, found, view.compressed, [LAYOUT_FACTOR, COMPRESSION])
    ratio = evidence(view, "gain without compression over gain with it", apart)
    found = with_both_sides(view, found, view.compressed, [LAYOUT_FACTOR, COMPRESSION])
    sides = view.compressed[found.example]
    without = evidence(view, "gain of SSD, uncompressed", found.where(sides == 0))
    with_it = evidence(view, "gain of SSD, compressed", found.where(sides == 1))
    answer = _decide(_low_90(ratio) > SAME, _high_90(ratio) < SAME)
    claim = "Compressing map output hides the SSD's gain."
    return _finding("compression-hides", claim, "LISA'14, section 4", answer, ratio, without, with_it, how=BY_MARGIN)


def _only(with_it: ClaimEvidence, without: ClaimEvidence, pays: float) -> ClaimAnswer:
    supported = _low(with_it) > 1 and _high(without) < pays
    contradicted = _low(without) >= pays or _high(with_it) < pays
    return _decide(supported, contradicted)


def _condition(
    view: Study, found: Effects, split: Floats, labels: tuple[str, str]
) -> tuple[ClaimEvidence, ClaimEvidence]:
    """Return the gains where ``split`` is 1 and where it is 0, on the workloads that both have."""
    sides = split[found.example]
    shared = np.intersect1d(found.workload[sides == 1], found.workload[sides == 0])
    found = found.where(np.isin(found.workload, shared))
    sides = split[found.example]
    return (evidence(view, labels[0], found.where(sides == 1)), evidence(view, labels[1], found.where(sides == 0)))


def containers_need_disks(view: Study) -> Finding:
    """Twice the containers with several disks, and with one: supported when only the former makes jobs faster.

    Both are looked at within clusters and for disks of one kind: clusters that differ differ in more than disks.
    """
    every = effects(view, view.log2_containers, view.containers, np.isfinite(view.many_disks))
    found = within_clusters(view, every, view.many_disks, view.ssd)
    labels = ("gain of twice the containers, several disks", "gain of twice the containers, one disk")
    many, one = _condition(view, found, view.many_disks, labels)
    claim = "More containers pay only with more disks."
    how = "in time, within clusters that have both"
    return _finding(
        "containers-need-disks", claim, "BSC 2015, figures 5 and 6", _only(many, one, PAYS), many, one, how=how
    )


def infiniband_needs_ssd(view: Study) -> Finding:
    """InfiniBand against Ethernet with SSDs, and with hard disks, of the same clusters: supported when only the former
    makes runs cheaper.
    """
    every = effects(view, view.fast_network, "network", np.isfinite(view.ssd))
    found = within_clusters(view, every, view.ssd)
    claim, source = "InfiniBand pays only with SSDs.", "BSC 2015, section 6"
    priced = found.in_cost
    if not len(priced.gain):
        labels = ("gain in time of InfiniBand, SSD", "gain in time of InfiniBand, HDD")
        ssd, hdd = _condition(view, found, view.ssd, labels)
        return _finding("infiniband-needs-ssd", claim, source, ClaimAnswer.UNDECIDED, ssd, hdd, how=NEEDS_PRICES)
    labels = ("gain in cost of InfiniBand, SSD", "gain in cost of InfiniBand, HDD")
    ssd, hdd = _condition(view, priced, view.ssd, labels)
    ends = price_ratios(priced)
    how = f"by cost: an hour with InfiniBand costs {ends[0]:.2f} to {ends[1]:.2f} times as much" if ends else "by cost"
    how += "; here it pays with neither" if max(_high(ssd), _high(hdd)) < 1 else ""
    return _finding("infiniband-needs-ssd", claim, source, _only(ssd, hdd, 1.0), ssd, hdd, how=how)


CLAIMS: tuple[Callable[[Study], Finding], ...] = (
    ssd_helps_shuffle,
    ssd_not_for_cpu,
    compression_hides,
    containers_need_disks,
    infiniband_needs_ssd,
)


def findings(table: RunTable, rate_of: RateOf | None = None) -> dict[str, list[Finding]]:
    """Return what the valid runs of each origin (``measured``, or ``measured, lab scale 0.05``) say to every claim.

    ``rate_of``: what an hour of each configuration costs.
    """
    if len(table) == 0 or "workload" not in table.columns:
        return {}
    names = [name for name in STRATA if name in table.columns]
    strata = groups_by(table, names)
    spread = session_spread(table)
    found = {}
    for stratum, row in enumerate(first_rows(strata)):
        texts = {name: table.columns[name].text(int(row)) for name in names}
        scale = f", lab scale {texts['lab_scale']}" if texts.get("lab_scale") else ""
        part = table if strata.count == 1 else table.taken(strata.of_row == stratum)
        view = study_of(part, rate_of, spread)
        found[(texts.get("origin") or "origin not known") + scale] = [claim(view) for claim in CLAIMS]
    return found
