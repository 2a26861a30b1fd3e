"""Turn an estimate of a speedup into a verdict.

In: a ratio (baseline time / candidate time) with its 95 % interval, its p value after Holm's correction, and the runs
behind it. Out: a :class:`Verdict`. Every verdict of assay comes from :func:`verdict_of`.
"""

from enum import StrEnum
from typing import Final

from assay.analysis.statistics.intervals import Estimate

ALPHA: Final = 0.05
"""Significance level: the corrected p value of a stated difference is below it."""
MARGIN: Final = 0.05
"""Maximum difference, as a share, of the times of equivalent options."""
RUNS_MIN: Final = 3
"""Minimum number of runs per side of a single matched group for a verdict."""


class Verdict(StrEnum):
    """The verdict on one estimate, after Holm's correction over all estimates of one answer."""

    FASTER = "faster"
    SLOWER = "slower"
    EQUIVALENT = "equivalent"
    """The 95 % interval is within the margin."""
    NOT_DISTINGUISHABLE = "not distinguishable"
    NOT_ENOUGH_RUNS = "not enough runs"
    NOT_COMPARED = "not compared"
    """No two runs of the option and the baseline are equal in everything else, directly or through other options."""
    CONFOUNDED = "confounded"
    """An ignored factor differs between the two sides, so the ratio is not the effect of the compared factor alone."""


def too_few_runs(groups: int, runs: tuple[int, int]) -> bool:
    """Return whether an estimate has too few runs for a verdict. ``groups``: the matched groups behind it."""
    return groups == 1 and min(runs) < RUNS_MIN


def verdict_of(
    ratio: Estimate | None,
    holm_p: float | None,
    groups: int,
    runs: tuple[int, int],
    *,
    confounded: bool = False,
    margin: float = MARGIN,
) -> Verdict:
    """Return the verdict on a ratio; ``ratio`` None: no two runs could be compared.

    ``holm_p``: the p value after correction; None without an interval. ``margin``: 0 to call nothing equivalent.
    """
    if ratio is None:
        return Verdict.NOT_COMPARED
    if confounded:
        return Verdict.CONFOUNDED
    if ratio.low is None or ratio.high is None or holm_p is None or too_few_runs(groups, runs):
        return Verdict.NOT_ENOUGH_RUNS
    if max(ratio.high, 1 / ratio.low) <= 1 + margin:
        return Verdict.EQUIVALENT
    if holm_p >= ALPHA:
        return Verdict.NOT_DISTINGUISHABLE
    return Verdict.FASTER if ratio.value > 1 else Verdict.SLOWER
