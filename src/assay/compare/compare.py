"""How much faster one level of a factor is than another, how sure that is, and what else to know about it.

In: runs. Out: one :class:`Comparison` for each group of otherwise equal runs and each candidate level. The ratio is
baseline time / candidate time (a speedup: above 1, the candidate is faster), as a ratio of geometric means. Only valid
runs count; what was left out is counted. Runs are paired where the plan's blocks pair completely and are at least
:data:`PAIRS_MIN`: two runs of one block saw the same machine at the same time, but few pairs leave few degrees of
freedom.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from assay.compare.differences import cpu_warnings, environment_warnings, host_facts
from assay.compare.significance import holm, rank_test
from assay.compare.summary import LevelSummary, summarise
from assay.compare.verdict import Conclusion, judge
from assay.model.run import Origin, Run
from assay.statistics.factors import Group, group_runs
from assay.statistics.intervals import Estimate, paired_ratio, welch_ratio

PAIRS_MIN = 5
"""Fewer blocks than this are not paired: see docs/adr/0003."""
PAIRED = "Student's t on paired log ratios"
WELCH = "Welch's t on log run times"


@dataclass(frozen=True, slots=True)
class SideBySide:
    """One quantity of both sides; None where a side does not have it."""

    baseline: float | None
    candidate: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One candidate level against the baseline level, on one workload with everything else equal."""

    workload: str
    context: str
    """What sets this comparison apart from others of its workload; empty if it is the only one."""
    factor: str
    baseline: str
    candidate: str
    n_baseline: int
    n_candidate: int
    ratio: float | None
    """Baseline time / candidate time; None when a side has no run."""
    ratio_low: float | None
    ratio_high: float | None
    """Ends of the 95 % interval; None when a side has one run or none."""
    origin: Origin
    lab_scale: float | None
    method: str
    paired: bool
    conclusion: Conclusion
    claim: str
    """The verdict's first sentence."""
    remark: str
    """How far so few runs can carry the claim; may be empty."""
    verdict: str
    """Claim and remark."""
    rank_test_p: float | None
    """Mann-Whitney's two-sided p, exact for few runs."""
    holm_p: float | None
    """The same, corrected for the number of comparisons that were asked for at once."""
    smallest_reachable_p: float | None
    cliffs_delta: float | None
    """P(baseline slower) − P(baseline faster) over all pairs of runs: 1 when every candidate run is faster."""
    baseline_median_s: float | None
    candidate_median_s: float | None
    baseline_mean_s: float | None
    candidate_mean_s: float | None
    phases_s: dict[str, SideBySide]
    """Phase name to the median duration."""
    throughputs_mb_per_s: dict[str, SideBySide]
    """The three throughputs by name, medians."""
    excluded_invalid: int
    excluded_failed: int
    excluded_warm: int
    warnings: tuple[str, ...]
    baseline_summary: LevelSummary
    candidate_summary: LevelSummary


def _by_block(run: Run) -> tuple[object, ...]:
    return run.campaign_id, run.block


def _by_block_and_repetition(run: Run) -> tuple[object, ...]:
    return run.campaign_id, run.block, run.repetition


def _pairs(baseline: Sequence[Run], candidate: Sequence[Run]) -> list[tuple[Run, Run]] | None:
    """Return every run paired within its block, or None when one is left over or a block is ambiguous."""
    keys: tuple[Callable[[Run], tuple[object, ...]], ...] = (_by_block, _by_block_and_repetition)
    for key in keys:
        left, right = {key(run): run for run in baseline}, {key(run): run for run in candidate}
        if len(left) == len(baseline) and len(right) == len(candidate) and left.keys() == right.keys():
            return [(left[block], right[block]) for block in left]
    return None


def speed_ratio(baseline: Sequence[Run], candidate: Sequence[Run]) -> tuple[Estimate | None, bool]:
    """Return baseline time / candidate time with its interval, and whether blocks were paired; None without runs."""
    if not baseline or not candidate:
        return None, False
    pairs = _pairs(baseline, candidate)
    if pairs is not None and len(pairs) >= PAIRS_MIN:
        return paired_ratio([b.duration_s for b, _ in pairs], [c.duration_s for _, c in pairs]), True
    return welch_ratio([run.duration_s for run in baseline], [run.duration_s for run in candidate]), False


def _side_by_side(b: dict[str, float | None], c: dict[str, float | None]) -> dict[str, SideBySide]:
    return {name: SideBySide(b.get(name), c.get(name)) for name in (*b, *(name for name in c if name not in b))}


def _compare_pair(group: Group, factor: str, baseline: str, candidate: str) -> Comparison:
    b_runs, c_runs = group.levels.get(baseline, ()), group.levels[candidate]
    b, c = (
        summarise(runs, workload=group.workload, context=group.context, level=level, like=group.example)
        for level, runs in ((baseline, b_runs), (candidate, c_runs))
    )
    estimate, paired = speed_ratio(b_runs, c_runs)
    verdict = judge(baseline, candidate, b.n, c.n, estimate)
    ranks = rank_test(b.durations_s, c.durations_s) if min(b.n, c.n) > 0 else None
    hosts = [host_facts((run.environment for run in runs), factor) for runs in (b_runs, c_runs)]
    excluded = [
        sum(count.get(level, 0) for level in (baseline, candidate))
        for count in (group.invalid, group.failed, group.warm)
    ]
    return Comparison(
        workload=group.workload,
        context=group.context,
        factor=factor,
        baseline=baseline,
        candidate=candidate,
        n_baseline=b.n,
        n_candidate=c.n,
        ratio=estimate.value if estimate else None,
        ratio_low=estimate.low if estimate else None,
        ratio_high=estimate.high if estimate else None,
        origin=group.example.origin,
        lab_scale=group.example.lab_scale,
        method=PAIRED if paired else WELCH,
        paired=paired,
        conclusion=verdict.conclusion,
        claim=verdict.claim,
        remark=verdict.remark,
        verdict=str(verdict),
        rank_test_p=ranks.p if ranks else None,
        holm_p=None,
        smallest_reachable_p=ranks.smallest_reachable_p if ranks else None,
        cliffs_delta=ranks.delta if ranks else None,
        baseline_median_s=b.median_s,
        candidate_median_s=c.median_s,
        baseline_mean_s=b.mean_s,
        candidate_mean_s=c.mean_s,
        phases_s=_side_by_side({p.name: p.duration_s for p in b.phases}, {p.name: p.duration_s for p in c.phases}),
        throughputs_mb_per_s=_side_by_side(b.throughputs_mb_per_s, c.throughputs_mb_per_s),
        excluded_invalid=excluded[0],
        excluded_failed=excluded[1],
        excluded_warm=excluded[2],
        warnings=(*group.warnings, *cpu_warnings([*b_runs, *c_runs]), *environment_warnings(*hosts)),
        baseline_summary=b,
        candidate_summary=c,
    )


def compare(runs: Sequence[Run], *, factor: str, baseline: str) -> list[Comparison]:
    """Compare every other level of ``factor`` with ``baseline``.

    A comparison that lacks runs on a side is listed too, after the others, with a verdict that says so.
    """
    found = [
        _compare_pair(group, factor, baseline, level)
        for group in group_runs(runs, factor)
        for level in group.levels
        if level != baseline
    ]
    return sorted(_corrected(found), key=lambda comparison: comparison.ratio is None)


def _corrected(found: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with their p values corrected for how many they are."""
    tested = [number for number, comparison in enumerate(found) if comparison.rank_test_p is not None]
    corrected = dict(zip(tested, holm([found[number].rank_test_p or 0.0 for number in tested]), strict=True))
    return [
        replace(comparison, holm_p=float(corrected[number])) if number in corrected else comparison
        for number, comparison in enumerate(found)
    ]


def most_telling(comparisons: Sequence[Comparison]) -> Comparison | None:
    """Return the comparison with the largest effect that its interval vouches for; without one, the best supported."""

    def vouched(comparison: Comparison) -> tuple[int, float, int]:
        low, high = comparison.ratio_low, comparison.ratio_high
        n = min(comparison.n_baseline, comparison.n_candidate)
        if low is None or high is None or comparison.conclusion is Conclusion.NOT_ENOUGH_RUNS:
            return (0, 0.0, n)
        return (1, max(math.log(low), -math.log(high), 0.0), n)

    return max(comparisons, key=vouched, default=None)
