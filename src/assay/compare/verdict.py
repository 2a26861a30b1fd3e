"""A comparison in words that a manager can act on, and never more certain than the runs allow.

In: the ratio (baseline time / candidate time) with its interval and the number of runs a side. Out: a conclusion, a
claim of one sentence, and a remark on how far so few runs can carry it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from assay.statistics.intervals import Estimate, smallest_reachable_p
from assay.wording.ratios import count_runs, format_interval, format_ratio

RUNS_MIN = 3
"""Below this many runs a side, an interval is shown and no conclusion is drawn."""


class Conclusion(StrEnum):
    """What a comparison comes to."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE_SHOWN = "no_difference_shown"
    NOT_ENOUGH_RUNS = "not_enough_runs"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The conclusion with its sentence; ``remark`` is empty or a second sentence."""

    conclusion: Conclusion
    claim: str
    remark: str

    def __str__(self) -> str:
        """Return claim and remark as one text."""
        return f"{self.claim} {self.remark}".strip()


def _rank_remark(n_baseline: int, n_candidate: int) -> str:
    smallest = smallest_reachable_p(n_baseline, n_candidate)
    if smallest <= 0.05:
        return ""
    sides = str(n_baseline) if n_baseline == n_candidate else f"{n_baseline} and {n_candidate}"
    return (
        f"With {sides} runs a side no rank test can reach 5 % (its smallest p is {smallest:.2g}): "
        "the interval assumes that the logarithms of run times scatter normally."
    )


def _too_few(baseline: str, candidate: str, n: tuple[int, int], ratio: Estimate | None) -> str:
    if ratio is None:
        missing = baseline if n[0] == 0 else candidate
        return f"Not enough runs: there is no valid run of {missing} with otherwise equal settings."
    what = f"{candidate} was {format_ratio(ratio.value)} times as fast as {baseline}"
    if ratio.low is None or ratio.high is None:
        return f"Not enough runs: {what} ({count_runs(*n)}), and one run on a side gives no interval."
    interval = format_interval(ratio.low, ratio.high)
    return f"Not enough runs to be sure: {what} (95 % interval {interval}, {count_runs(*n)})."


def judge(baseline: str, candidate: str, n_baseline: int, n_candidate: int, ratio: Estimate | None) -> Verdict:
    """Return the verdict; ``ratio`` is None when a side has no run at all."""
    n = n_baseline, n_candidate
    if ratio is None or min(n) < RUNS_MIN or ratio.low is None or ratio.high is None:
        remark = _rank_remark(*n) if ratio is not None and min(n) >= 2 else ""
        return Verdict(Conclusion.NOT_ENOUGH_RUNS, _too_few(baseline, candidate, n, ratio), remark)
    certainty = f"95 % interval {format_interval(ratio.low, ratio.high)}, {count_runs(*n)}"
    remark = _rank_remark(*n)
    if ratio.low > 1:
        claim = f"{candidate} is {format_ratio(ratio.value)} times as fast as {baseline} ({certainty})."
        return Verdict(Conclusion.FASTER, claim, remark)
    if ratio.high < 1:
        claim = f"{candidate} is slower than {baseline}: {format_ratio(ratio.value)} times as fast ({certainty})."
        return Verdict(Conclusion.SLOWER, claim, remark)
    claim = f"No difference shown between {candidate} and {baseline} (ratio {format_ratio(ratio.value)}, {certainty})."
    return Verdict(Conclusion.NO_DIFFERENCE_SHOWN, claim, remark)
