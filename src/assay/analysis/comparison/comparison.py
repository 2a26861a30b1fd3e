"""Compare levels of a factor in each matched group separately, from loaded runs.

In: runs. Out: one :class:`~assay.analysis.comparison.result.SpeedupResult` for each matched group and each candidate
level, with the further results of its runs. The ratio is baseline time / candidate time, a ratio of geometric means.
Only valid runs count. Runs are paired if all runs pair within the plan's blocks and there are at least
:data:`~assay.analysis.comparison.matched.PAIRS_MIN` blocks: two runs of one block ran on the same machine at the same
time, but few pairs leave few degrees of freedom.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from assay.analysis.comparison.details.differences import cpu_warnings, environment_warnings, host_facts
from assay.analysis.comparison.details.level_summary import summarise_level
from assay.analysis.comparison.details.run_groups import RunGroup, run_groups
from assay.analysis.comparison.matched import FAILED, INVALID, WARM, LogMean, group_ratios, log_mean, over_blocks
from assay.analysis.comparison.result import Exclusion, RunComparison, SpeedupResult, mean_fields, with_verdicts
from assay.analysis.comparison.sessions import session_warnings
from assay.analysis.comparison.significance import rank_test
from assay.analysis.statistics import Means, log_errors_max_of, means_by, started_unix_s
from assay.analysis.statistics.autocorrelation import error_factor
from assay.analysis.statistics.sessions import SideSessions
from assay.model import Run

WELCH = "Welch's t on log run times"
_EXCLUSIONS = {Exclusion.INVALID: INVALID, Exclusion.FAILED: FAILED, Exclusion.WARM: WARM}


def log_ratio(
    baseline: Sequence[Run], candidate: Sequence[Run], sessions: tuple[SideSessions, SideSessions] | None = None
) -> LogMean | None:
    """Return the log of baseline time / candidate time in one matched group; None if a side has no run.

    Runs are paired if every block, or every repetition of a block, has one run on each side. The error then allows for
    the correlation of consecutive runs (``analysis/statistics/autocorrelation.py``). ``sessions``: the spread of the
    runs of each side over sessions.
    """
    if not baseline or not candidate:
        return None
    runs, n = (*baseline, *candidate), len(baseline)
    logs, log_errors_max = np.log([run.duration_s for run in runs]), log_errors_max_of(runs, sides=2)

    def means(keys: Sequence[Hashable]) -> tuple[Means, Means]:
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        of_run = np.array([numbers[key] for key in keys])
        sides = (slice(None, n), slice(n, None))
        b, c = (means_by(logs[rows], of_run[rows], len(numbers), log_errors_max[rows]) for rows in sides)
        return b, c

    for keys in (
        [(run.campaign_id, run.block) for run in runs],
        [(run.campaign_id, run.block, run.repetition) for run in runs],
    ):
        block_mean = over_blocks(*means(keys))
        if block_mean is not None:
            return _allow_for_correlation(block_mean, runs, n, keys)
    b, c = means([0] * len(runs))
    if sessions:
        b, c = replace(b, sessions=sessions[0]), replace(c, sessions=sessions[1])
    mean = log_mean(group_ratios(b, c))
    return None if mean is None else replace(mean, method=WELCH)


def _allow_for_correlation(block_mean: LogMean, runs: Sequence[Run], n: int, blocks: Sequence[Hashable]) -> LogMean:
    """Return the mean over blocks with an error that allows for the correlation of consecutive runs.

    The first ``n`` runs are of the baseline. The mean is unchanged if the start of a run is unknown.
    """
    starts_unix_s = np.array([started_unix_s(run) for run in runs])
    if not np.isfinite(starts_unix_s).all():
        return block_mean
    order = np.argsort(starts_unix_s, kind="stable")
    numbers = {block: number for number, block in enumerate(dict.fromkeys(blocks))}
    block = np.array([numbers[block] for block in blocks])[order]
    logs = np.log([run.duration_s for run in runs])[order]
    return replace(block_mean, error=block_mean.error * error_factor(logs, order >= n, block))


def _result(run_group: RunGroup, factor: str, baseline: str, candidate: str) -> SpeedupResult:
    """Return the result of one matched group, before correction."""
    runs = run_group.levels.get(baseline, ()), run_group.levels[candidate]
    summaries = summarise_level(run_group, baseline), summarise_level(run_group, candidate)
    is_comparable = all(runs)
    mean = log_ratio(*runs, (run_group.sessions[baseline], run_group.sessions[candidate]) if is_comparable else None)
    warnings = (*run_group.warnings, *session_warnings([mean]), *cpu_warnings([*runs[0], *runs[1]]))
    hosts = [host_facts((run.recorded for run in of_side), factor) for of_side in runs]
    excluded = sum((run_group.left_out.get(level, Counter()) for level in (baseline, candidate)), Counter[int]())
    example = run_group.example
    return SpeedupResult(
        **mean_fields(mean, WELCH),
        factor=factor,
        baseline=baseline,
        candidate=candidate,
        by="workload",
        group=run_group.workload,
        context=run_group.context,
        origin=example.origin.value,
        lab_scale=None if example.lab_scale is None else str(example.lab_scale),
        groups=int(is_comparable),
        runs_baseline=len(runs[0]),
        runs_candidate=len(runs[1]),
        excluded={reason: excluded[code] for reason, code in _EXCLUSIONS.items() if excluded[code]},
        warnings=(*warnings, *environment_warnings(*hosts)),
        runs=RunComparison(
            baseline=summaries[0],
            candidate=summaries[1],
            rank_test=rank_test(summaries[0].durations_s, summaries[1].durations_s) if is_comparable else None,
        ),
    )


def compare(runs: Sequence[Run], *, factor: str, baseline: str) -> list[SpeedupResult]:
    """Compare every other level of ``factor`` with ``baseline``, in each matched group.

    Results without a run on a side come last, with the verdict "not compared".
    """
    results = [
        _result(run_group, factor, baseline, level)
        for run_group in run_groups(runs, factor)
        for level in run_group.levels
        if level != baseline
    ]
    return sorted(with_verdicts(results), key=lambda result: result.ratio is None)


def compare_groups(groups: Sequence[RunGroup], factor: str, baseline: str) -> list[SpeedupResult]:
    """Compare the levels of existing matched groups in which both sides have a run."""
    return with_verdicts(
        [
            _result(run_group, factor, baseline, level)
            for run_group in groups
            if run_group.levels.get(baseline)
            for level, runs in run_group.levels.items()
            if level != baseline and runs
        ]
    )
