"""A comparison in words that a manager can act on, and never more certain than the runs allow.

In: the ratio (baseline time / candidate time) with its interval, and what it rests on: the runs of one matched set, or
many sets. Out: a conclusion, a claim of one sentence, and a remark on how far so few runs can carry it.
"""

from dataclasses import dataclass
from enum import StrEnum

from assay.statistics import Estimate, smallest_reachable_p
from assay.wording import count_runs, format_interval, format_ratio, joined

ALPHA = 0.05
RUNS_MIN = 3
"""Below this many runs a side of a single set, an interval is shown and no conclusion is drawn."""


class Conclusion(StrEnum):
    """What a comparison comes to."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE_SHOWN = "no_difference_shown"
    NOT_ENOUGH_RUNS = "not_enough_runs"
    CONFOUNDED = "confounded"
    """Something else differed between the sides, at the asker's wish: no verdict."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What a ratio rests on: runs by side, and the number of matched sets; None: a single one, told by its runs."""

    runs_baseline: int
    runs_candidate: int
    sets: int | None = None
    holds_for: str = ""
    """What the interval over sets speaks of, in words; empty for a single set, which speaks of itself."""
    simulated: bool = False
    confounded: tuple[str, ...] = ()
    """Ignored factors that differ between the two sides."""
    sessions_hide: bool = False
    """Whether the interval would leave out 1 if sessions were alike, and holds 1 because they differ."""

    @property
    def is_one_set(self) -> bool:
        """Whether all runs are of one matched set, whoever asked for it."""
        return self.sets in (None, 1)

    @property
    def units(self) -> str:
        """What was compared with what: ``3 runs each``, ``214 matched sets``."""
        made = "simulated " if self.simulated else ""
        if self.sets is None:
            return count_runs(self.runs_baseline, self.runs_candidate, f"{made}run")
        return f"{self.sets:,} matched set{'' if self.sets == 1 else 's'}{' of simulated runs' if made else ''}"

    def __str__(self) -> str:
        """Return the same with all runs counted: ``214 matched sets, 495 runs``."""
        return self.units + (f", {self.runs_baseline + self.runs_candidate:,} runs" if self.sets is not None else "")


@dataclass(frozen=True, slots=True)
class Corrected:
    """The p value of a comparison that is one of ``of``, after Holm's correction for all of them."""

    p: float
    of: int


@dataclass(frozen=True, slots=True)
class ComparisonVerdict:
    """The conclusion with its sentence; ``remark`` is empty or a second sentence."""

    conclusion: Conclusion
    claim: str
    remark: str = ""

    def __str__(self) -> str:
        """Return claim and remark as one text."""
        return f"{self.claim} {self.remark}".strip()


def _remark(basis: Basis) -> str:
    """Return what an interval rests on: a simulator, or few runs that no rank test could carry; else nothing."""
    if basis.simulated:
        return (
            "Simulated: repetitions tell the simulator's draws alone, so no interval is narrower than its own error, "
            "as if those of the two sides had nothing in common."
        )
    n = basis.runs_baseline, basis.runs_candidate
    smallest = smallest_reachable_p(*n) if basis.is_one_set else 0.0
    if smallest <= 0.05:
        return ""
    sides = str(n[0]) if n[0] == n[1] else f"{n[0]} and {n[1]}"
    return (
        f"With {sides} runs a side no rank test can reach 5 % (its smallest p is {smallest:.2g}): "
        "the interval assumes that the logarithms of run times scatter normally."
    )


def _nothing(baseline: str, candidate: str, basis: Basis) -> str:
    if basis.sets is not None:
        return f"No run of {candidate} matches one of {baseline} in everything else."
    missing = baseline if basis.runs_baseline == 0 else candidate
    return f"Not enough runs: there is no valid run of {missing} with otherwise equal settings."


def judge(
    baseline: str, candidate: str, ratio: Estimate | None, basis: Basis, corrected: Corrected | None = None
) -> ComparisonVerdict:
    """Return what a ratio comes to; ``ratio`` is None when a side has no run that counts.

    ``corrected``: where it is one of many comparisons, that all of them are right with 95 % confidence.
    """
    if ratio is None:
        return ComparisonVerdict(Conclusion.NOT_ENOUGH_RUNS, _nothing(baseline, candidate, basis))
    how = f"{format_ratio(ratio.value)} times as fast"
    if basis.confounded:
        claim = (
            f"Confounded by {joined(basis.confounded)}: {candidate} was {how} as {baseline} ({basis}), but "
            f"{joined(basis.confounded)} differed between the two sides as well. No verdict."
        )
        return ComparisonVerdict(Conclusion.CONFOUNDED, claim)
    was = f"{candidate} was {how} as {baseline}"
    if ratio.low is None or ratio.high is None:
        why = "and one run on a side gives no interval" if basis.sets is None else "too few for an interval"
        return ComparisonVerdict(Conclusion.NOT_ENOUGH_RUNS, f"Not enough runs: {was} ({basis}), {why}.")
    scope = f" {basis.holds_for}" if basis.holds_for else ""
    sure = f"95 % interval {format_interval(ratio.low, ratio.high)}{scope}, {basis}"
    remark = _remark(basis)
    if basis.is_one_set and min(basis.runs_baseline, basis.runs_candidate) < RUNS_MIN:
        return ComparisonVerdict(Conclusion.NOT_ENOUGH_RUNS, f"Not enough runs to be sure: {was} ({sure}).", remark)
    if corrected is not None and corrected.p >= ALPHA and not ratio.low <= 1 <= ratio.high:
        claim = (
            f"No difference shown between {candidate} and {baseline}: of {corrected.of} comparisons, "
            f"{corrected.of * ALPHA:.2g} such intervals are expected by chance (ratio {format_ratio(ratio.value)}, "
            f"{sure}; p {corrected.p:.2g} after Holm's correction)."
        )
        return ComparisonVerdict(Conclusion.NO_DIFFERENCE_SHOWN, claim, remark)
    if ratio.low > 1:
        return ComparisonVerdict(Conclusion.FASTER, f"{candidate} is {how} as {baseline} ({sure}).", remark)
    if ratio.high < 1:
        return ComparisonVerdict(Conclusion.SLOWER, f"{candidate} is slower than {baseline}: {how} ({sure}).", remark)
    if basis.sessions_hide:
        claim = (
            f"{candidate} is not distinguishable from {baseline}: a change between sessions could be as large "
            f"(ratio {format_ratio(ratio.value)}, {sure})."
        )
        return ComparisonVerdict(Conclusion.NO_DIFFERENCE_SHOWN, claim, remark)
    claim = f"No difference shown between {candidate} and {baseline} (ratio {format_ratio(ratio.value)}, {sure})."
    return ComparisonVerdict(Conclusion.NO_DIFFERENCE_SHOWN, claim, remark)
