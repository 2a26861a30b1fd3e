"""How much faster one level of a factor is than another, how sure that is, and what else to know about it.

In: runs. Out: one :class:`Comparison` for each set of otherwise equal runs and each candidate level: the case of one
matched set (``matched.py``), with what only its runs tell. The ratio is baseline time / candidate time (a speedup:
above 1, the candidate is faster), as a ratio of geometric means. Only valid runs count; what was left out is counted.
Runs are paired where the plan's blocks pair completely and are at least :data:`~assay.compare.matched.PAIRS_MIN`: two
runs of one block saw the same machine at the same time, but few pairs leave few degrees of freedom.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.compare.differences import cpu_warnings, environment_warnings, host_facts
from assay.compare.matched import FAILED, INVALID, PAIRED, WARM, LogMean, log_mean, over_blocks, pairs
from assay.compare.run_sets import RunSet, run_sets
from assay.compare.sessions import hidden_by_sessions, session_warnings
from assay.compare.significance import rank_test
from assay.compare.summary import LevelSummary, summarise_level
from assay.compare.verdict import Basis, Conclusion, Corrected, judge
from assay.model import CodedWarning, Origin, Run
from assay.statistics import Estimate, Means, holm, means_by, offsets_of
from assay.statistics.sessions import SideSessions

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
    p: float | None
    """Two-sided, of no difference; below 5 % exactly where the interval leaves out 1."""
    log_error: float | None
    """Standard error of the ratio's logarithm."""
    degrees: float | None
    """Of freedom of that."""
    log_offset: float
    """How far that logarithm can be off, whatever the runs' scatter."""
    sessions_hide: bool
    """Whether the interval would leave out 1 if sessions were alike, and holds 1 because they differ."""
    holm_p: float | None
    """The same, corrected for all comparisons that were asked for at once: what the verdict goes by."""
    rank_test_p: float | None
    """Mann-Whitney's two-sided p, exact for few runs: beside the verdict, which does not use it."""
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
    warnings: tuple[CodedWarning, ...]
    baseline_summary: LevelSummary
    candidate_summary: LevelSummary

    @property
    def low(self) -> float | None:
        """Lower end of the 95 % interval."""
        return self.ratio_low

    @property
    def high(self) -> float | None:
        """Upper end of the 95 % interval."""
        return self.ratio_high

    @property
    def basis(self) -> Basis:
        """What the ratio rests on."""
        return Basis(
            self.n_baseline,
            self.n_candidate,
            simulated=self.origin is Origin.SIMULATED,
            sessions_hide=self.sessions_hide,
        )


def log_ratio(
    baseline: Sequence[Run], candidate: Sequence[Run], sessions: tuple[SideSessions, SideSessions] | None = None
) -> LogMean | None:
    """Return the log of baseline time / candidate time of one set's runs; None where a side has none.

    Runs are paired where each has its counterpart in its block, or in its block and repetition. ``sessions``: how the
    runs of each side are spread over sessions.
    """
    if not baseline or not candidate:
        return None
    runs, n = (*baseline, *candidate), len(baseline)
    logs, off = np.log([run.duration_s for run in runs]), offsets_of(runs, sides=2)

    def means(keys: Sequence[Hashable]) -> tuple[Means, Means]:
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        of_run = np.array([numbers[key] for key in keys])
        sides = (slice(None, n), slice(n, None))
        b, c = (means_by(logs[rows], of_run[rows], len(numbers), off[rows]) for rows in sides)
        return b, c

    for keys in (
        [(run.campaign_id, run.block) for run in runs],
        [(run.campaign_id, run.block, run.repetition) for run in runs],
    ):
        found = over_blocks(*means(keys))
        if found is not None:
            return found
    b, c = means([0] * len(runs))
    if sessions:
        b, c = replace(b, sessions=sessions[0]), replace(c, sessions=sessions[1])
    return log_mean(pairs(b, c, np.zeros(0, dtype=np.int64)))


def _side_by_side(b: dict[str, float | None], c: dict[str, float | None]) -> dict[str, SideBySide]:
    return {name: SideBySide(b.get(name), c.get(name)) for name in (*b, *(name for name in c if name not in b))}


def _comparison(one: RunSet, factor: str, baseline: str, candidate: str) -> Comparison:
    b_runs, c_runs = one.levels.get(baseline, ()), one.levels[candidate]
    b, c = (summarise_level(one, baseline), summarise_level(one, candidate))
    sessions = (one.sessions[baseline], one.sessions[candidate]) if b_runs and c_runs else None
    found = log_ratio(b_runs, c_runs, sessions)
    estimate = found.ratio if found else None
    paired = found is not None and found.method == PAIRED
    basis = Basis(b.n, c.n, simulated=one.example.origin is Origin.SIMULATED, sessions_hide=hidden_by_sessions(found))
    said = judge(baseline, candidate, estimate, basis)
    ranks = rank_test(b.durations_s, c.durations_s) if min(b.n, c.n) > 0 else None
    hosts = [host_facts((run.recorded for run in runs), factor) for runs in (b_runs, c_runs)]
    warnings = (*one.warnings, *session_warnings([found]), *cpu_warnings([*b_runs, *c_runs]))
    left_out = [one.left_out.get(level, Counter()) for level in (baseline, candidate)]
    return Comparison(
        workload=one.workload,
        context=one.context,
        factor=factor,
        baseline=baseline,
        candidate=candidate,
        n_baseline=b.n,
        n_candidate=c.n,
        ratio=estimate.value if estimate else None,
        ratio_low=estimate.low if estimate else None,
        ratio_high=estimate.high if estimate else None,
        origin=one.example.origin,
        lab_scale=one.example.lab_scale,
        method=PAIRED if paired else WELCH,
        paired=paired,
        conclusion=said.conclusion,
        claim=said.claim,
        remark=said.remark,
        verdict=str(said),
        p=found.p if found else None,
        log_error=found.error if found and found.p is not None else None,
        degrees=found.degrees if found and found.p is not None else None,
        log_offset=found.rounding if found else 0.0,
        sessions_hide=hidden_by_sessions(found),
        holm_p=None,
        rank_test_p=ranks.p if ranks else None,
        smallest_reachable_p=ranks.smallest_reachable_p if ranks else None,
        cliffs_delta=ranks.delta if ranks else None,
        baseline_median_s=b.median_s,
        candidate_median_s=c.median_s,
        baseline_mean_s=b.mean_s,
        candidate_mean_s=c.mean_s,
        phases_s=_side_by_side({p.name: p.duration_s for p in b.phases}, {p.name: p.duration_s for p in c.phases}),
        throughputs_mb_per_s=_side_by_side(b.throughputs_mb_per_s, c.throughputs_mb_per_s),
        excluded_invalid=sum(count[INVALID] for count in left_out),
        excluded_failed=sum(count[FAILED] for count in left_out),
        excluded_warm=sum(count[WARM] for count in left_out),
        warnings=(*warnings, *environment_warnings(*hosts)),
        baseline_summary=b,
        candidate_summary=c,
    )


def compare(runs: Sequence[Run], *, factor: str, baseline: str) -> list[Comparison]:
    """Compare every other level of ``factor`` with ``baseline``.

    A comparison that lacks runs on a side is listed too, after the others, with a verdict that says so.
    """
    return compare_sets(run_sets(runs, factor), factor, baseline)


def compare_sets(sets: Sequence[RunSet], factor: str, baseline: str) -> list[Comparison]:
    """Return the same of sets that are made already."""
    found = [_comparison(one, factor, baseline, level) for one in sets for level in one.levels if level != baseline]
    return sorted(_corrected(found), key=lambda comparison: comparison.ratio is None)


def _corrected(found: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with verdicts that allow for how many they are."""
    tested = [number for number, comparison in enumerate(found) if _is_judged(comparison)]
    corrected = dict(zip(tested, holm([found[number].p or 0.0 for number in tested]).tolist(), strict=True))

    def judged(one: Comparison, holm_p: float) -> Comparison:
        ratio = Estimate(one.ratio or 0.0, one.ratio_low, one.ratio_high)
        said = judge(one.baseline, one.candidate, ratio, one.basis, Corrected(holm_p, len(tested)))
        claim, remark = said.claim, said.remark
        return replace(one, holm_p=holm_p, conclusion=said.conclusion, claim=claim, remark=remark, verdict=str(said))

    return [judged(one, corrected[number]) if number in corrected else one for number, one in enumerate(found)]


def _is_judged(one: Comparison) -> bool:
    """Tell whether a conclusion is drawn at all: what draws none is no further chance to be wrong."""
    return one.p is not None and one.conclusion is not Conclusion.NOT_ENOUGH_RUNS


def most_telling(comparisons: Sequence[Comparison]) -> Comparison | None:
    """Return the comparison with the largest effect that its interval vouches for; without one, the best supported."""

    def vouched(comparison: Comparison) -> tuple[int, float, int]:
        low, high = comparison.ratio_low, comparison.ratio_high
        n = min(comparison.n_baseline, comparison.n_candidate)
        if low is None or high is None or comparison.conclusion is Conclusion.NOT_ENOUGH_RUNS:
            return (0, 0.0, n)
        return (1, max(math.log(low), -math.log(high), 0.0), n)

    return max(comparisons, key=vouched, default=None)
