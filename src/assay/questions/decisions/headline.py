"""Derive verdicts, the leading option and its ties from one estimate per workload and option.

The headline is the geometric mean of an option's ratios over its workloads, each workload counted once, with
independent errors. Its inference scope is the narrowest scope of these ratios. A workload with too few runs, without an
interval or with one of fewer than :data:`DEGREES_MIN` degrees of freedom, counts only if all have too few. Workloads
that generate input count only if no other workload has an estimate. An option is part of the headline if it has at
least half of the workloads of the option with most of them.

Two options are compared on the workloads that both have. The leader is the option that is faster than most others, and
of several such options the one with the highest mean (A. H. Copeland's method). If all options have the same workloads,
this is the option with the highest mean. An option ties with the leader unless the leader is faster in a one-sided test
at 5 % after Bonferroni's correction over the leader's rivals: the fastest option is then among leader and ties in at
least 95 % of answers (subset selection: S. S. Gupta, Technometrics 7, 1965). An option also ties where its verdict
against the baseline does not separate the two, so that the two statements can't contradict each other.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from assay.analysis.comparison.matched import combine
from assay.analysis.comparison.option_estimates import OptionEstimates, PairEstimate
from assay.analysis.statistics import ALPHA, Estimate, InferenceScope, Verdict, holm_where_known, verdict_of
from assay.questions.decisions.costs.break_even_price import cost_ratio
from assay.questions.decisions.decision import CostRatio, OptionResult, TimeRatio, WorkloadResult
from assay.workloads.catalogue import generates_input

DEGREES_MIN = 2.0
"""Minimum degrees of freedom of a workload's estimate in a mean: with one, Student's t makes any mean useless."""
_SCOPES = (
    InferenceScope.TESTED,
    InferenceScope.OTHER_DEPLOYMENTS,
    InferenceScope.SIMILAR,
    InferenceScope.OTHER_CLUSTERS,
)
"""Inference scopes, narrowest first."""


@dataclass(frozen=True, slots=True)
class OptionRow:
    """One option on one workload, or over several workloads, before correction. Log ratios are baseline / option."""

    stratum: int
    workload: str
    option: int
    time: PairEstimate | None
    cost: PairEstimate | None


@dataclass(frozen=True, slots=True)
class Headline:
    """The fields of :class:`~assay.questions.decisions.decision.Decision` that follow from the estimates."""

    options: tuple[OptionResult, ...]
    results: tuple[WorkloadResult, ...]
    leader: str
    ties: tuple[str, ...]
    family: int


def headline_of(
    estimates: OptionEstimates, rows: Sequence[OptionRow], baseline: int, levels: Sequence[str], margin: float
) -> Headline:
    """Return verdicts of all ``rows``, the options over their workloads, and the leader with its ties."""
    parts = _parts(rows)
    overall_rows = [
        over_workloads(parts.get(option, []), option) for option in dict.fromkeys(row.option for row in rows)
    ]
    compared_rows = [row for row in overall_rows if row.time is not None]
    # A mean over one workload is the row of that workload: it is not tested a second time.
    tested_rows = [*rows, *(row for row in compared_rows if len(parts[row.option]) > 1)]
    time_p = holm_where_known([row.time.mean.p if row.time else None for row in tested_rows])
    cost_p = holm_where_known([row.cost.mean.p if row.cost else None for row in tested_rows])
    number_by_row = {id(row): number for number, row in enumerate(tested_rows)}

    def verdict_and_ratios(row: OptionRow) -> tuple[Verdict, TimeRatio | None, CostRatio | None]:
        number = number_by_row[id(row)]
        time = time_ratio(row.time, time_p[number]) if row.time else None
        verdict = time_verdict(time, margin)
        enough_runs = verdict not in (Verdict.NOT_ENOUGH_RUNS, Verdict.CONFOUNDED)
        cost = cost_ratio(row.time, row.cost, cost_p[number], enough_runs=enough_runs)
        return verdict, time, cost

    results = tuple(WorkloadResult(row.workload, levels[row.option], *verdict_and_ratios(row)) for row in rows)
    logs = {o: {row.stratum: row.time.mean.mean for row in option_rows if row.time} for o, option_rows in parts.items()}
    ranking = ranked({baseline: {stratum: 0.0 for option_rows in logs.values() for stratum in option_rows}, **logs})
    leader, rivals = ranking[0], [option for option in (baseline, *parts) if option != ranking[0]]
    verdicts = {row.option: verdict_and_ratios(row)[0] for row in compared_rows}

    def is_separated_from_leader(option: int) -> bool:
        if baseline in (option, leader):
            return verdicts[leader if option == baseline else option] in (Verdict.FASTER, Verdict.SLOWER)
        return Verdict.NOT_ENOUGH_RUNS not in (verdicts[option], verdicts[leader])

    ties = {}
    for option in rivals:
        strata = strata_of_both(logs, option, leader)
        estimate = pair_over_workloads(estimates, strata, option, leader, baseline)
        ratio = tie_with(estimate, len(rivals), is_separated=is_separated_from_leader(option))
        if ratio is not None:
            ties[option] = ratio
    workloads = {option: tuple(row.workload for row in option_rows) for option, option_rows in parts.items()}
    ordered_rows = sorted(overall_rows, key=lambda row: ranking.index(row.option) if row.time else len(ranking))
    return Headline(
        options=tuple(
            OptionResult(levels[row.option], *verdict_and_ratios(row), workloads[row.option], ties.get(row.option))
            if row.time
            else OptionResult(levels[row.option], Verdict.NOT_COMPARED, None, None, (), None)
            for row in ordered_rows
        ),
        results=results,
        leader=levels[leader],
        ties=tuple(levels[option] for option in ties),
        family=sum(p is not None for p in time_p),
    )


def _parts(rows: Sequence[OptionRow]) -> dict[int, list[OptionRow]]:
    """Return the rows of each option that its mean covers; without the options that have too few."""
    timed_rows = [row for row in rows if row.time is not None and not generates_input(row.workload)]
    timed_rows = timed_rows or [row for row in rows if row.time is not None]
    timed_rows = [row for row in timed_rows if row.time is not None and row.time.mean.p is not None] or timed_rows
    parts: dict[int, list[OptionRow]] = {}
    for row in timed_rows:
        parts.setdefault(row.option, []).append(row)
    for option, option_rows in parts.items():
        parts[option] = counted_in_mean(option_rows)
    rows_max = max(map(len, parts.values()), default=0)
    return {option: option_rows for option, option_rows in parts.items() if 2 * len(option_rows) >= rows_max}


def counted_in_mean(rows: Sequence[OptionRow]) -> list[OptionRow]:
    """Return the rows of one option that have enough runs for a mean over workloads; all if none has."""
    return [row for row in rows if row.time and row.time.mean.degrees >= DEGREES_MIN] or list(rows)


def ranked(logs: Mapping[int, Mapping[int, float]]) -> list[int]:
    """Return the options, the fastest first: by the number of options that each exceeds, then by its mean.

    ``logs``: for each option, the log ratio baseline / option by workload (its stratum). Two options are compared by
    their means over the workloads that both have.
    """

    def mean(option: int, strata: Sequence[int]) -> float:
        return math.fsum(logs[option][stratum] for stratum in strata) / len(strata)

    wins = dict.fromkeys(logs, 0)
    for first, second in combinations(logs, 2):
        common_strata = [stratum for stratum in logs[first] if stratum in logs[second]]
        if common_strata and mean(first, common_strata) != mean(second, common_strata):
            wins[first if mean(first, common_strata) > mean(second, common_strata) else second] += 1
    return sorted(logs, key=lambda option: (-wins[option], -mean(option, list(logs[option]))))


def strata_of_both(logs: Mapping[int, Mapping[int, float]], first: int, second: int) -> list[int]:
    """Return the strata that both options have. The baseline is not in ``logs``, and has the strata of every option."""
    first_logs, second_logs = logs.get(first), logs.get(second)
    if first_logs is None or second_logs is None:
        return list(first_logs or second_logs or ())
    return [stratum for stratum in first_logs if stratum in second_logs]


def over_workloads(rows: Sequence[OptionRow], option: int) -> OptionRow:
    """Return one option over its workloads; no time where it has no row."""
    if not rows:
        return OptionRow(-1, "", option, None, None)
    if len(rows) == 1:
        return rows[0]
    times = [row.time for row in rows if row.time]
    costs = [row.cost for row in rows if row.cost]
    return OptionRow(-1, "", option, mean_of(times), mean_of(costs) if len(costs) == len(rows) else None)


def mean_of(parts: Sequence[PairEstimate]) -> PairEstimate:
    """Return the mean over workloads, each with the same weight, with their narrowest scope."""
    scope = min((part.mean.scope for part in parts), key=_SCOPES.index)
    mean = replace(combine([part.mean for part in parts]), scope=scope)
    runs = sum(part.runs[0] for part in parts), sum(part.runs[1] for part in parts)
    groups = np.concatenate([part.matched_groups for part in parts])
    confounded = tuple(dict.fromkeys(name for part in parts for name in part.confounded))
    return PairEstimate(mean, sum(part.groups for part in parts), runs, groups, confounded)


def time_ratio(estimate: PairEstimate, holm_p: float | None) -> TimeRatio:
    """Return an estimate as a ratio with its interval."""
    ratio = estimate.mean.ratio
    return TimeRatio(
        ratio=ratio.value,
        low=ratio.low,
        high=ratio.high,
        scope=estimate.mean.scope,
        method=estimate.mean.method,
        groups=estimate.groups,
        runs_baseline=estimate.runs[0],
        runs_option=estimate.runs[1],
        confounded=estimate.confounded,
        p=estimate.mean.p,
        holm_p=holm_p,
        levels=estimate.mean.levels,
    )


def time_verdict(time: TimeRatio | None, margin: float) -> Verdict:
    """Return the verdict on a time ratio."""
    if time is None:
        return Verdict.NOT_COMPARED
    ratio, runs = Estimate(time.ratio, time.low, time.high), (time.runs_baseline, time.runs_option)
    return verdict_of(ratio, time.holm_p, time.groups, runs, confounded=bool(time.confounded), margin=margin)


def pair_over_workloads(
    estimates: OptionEstimates, strata: Sequence[int], first: int, second: int, baseline: int
) -> PairEstimate | None:
    """Return the log ratio of two options over the workloads of ``strata``; None where one has no estimate.

    A ratio to the baseline is that of the rows. Two other options are compared in the matched groups with both, as a
    question on these two alone does.
    """
    is_row = baseline in (first, second)
    parts = [estimates.between(stratum, first, second, common_groups_only=not is_row) for stratum in strata]
    estimated_parts = [part for part in parts if part is not None]
    if len(estimated_parts) < len(parts) or not estimated_parts:
        return None
    return estimated_parts[0] if len(estimated_parts) == 1 else mean_of(estimated_parts)


def is_lower(estimate: PairEstimate, rivals: int) -> bool:
    """Return whether the second option of a pair is lower in a one-sided test, corrected for all ``rivals``."""
    p = estimate.mean.p
    return p is not None and estimate.mean.mean > 0 and p / 2 * rivals < ALPHA


def tie_with(estimate: PairEstimate | None, rivals: int, *, is_separated: bool = True) -> TimeRatio | None:
    """Return the leader's speedup over an option where the two are not distinguishable; else None.

    ``estimate``: of the option and the leader; None where a workload has no estimate. ``is_separated``: whether the
    verdicts against the baseline separate the two; if not, they tie.
    """
    if estimate is None or (is_separated and is_lower(estimate, rivals)):
        return None
    return time_ratio(estimate, None)
