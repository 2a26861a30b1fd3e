"""Propose runs that would settle the open rows of a decision: at most three proposals, each possible on its clusters.

In: the estimates of a decision, and its rows with their verdicts. Out:
:class:`~assay.questions.decisions.decision.FurtherRuns`.

A row is open when it has not enough runs or is not distinguishable, and its 95 % interval is wider than the margin of
equivalence on either side: a narrower interval is precise enough. Further runs narrow the interval. They settle the
row when, with an unchanged ratio, the interval either shows a difference after Bonferroni's correction over the
decision, or is within the margin of equivalence. The standard error of a log ratio is then

- *few matched groups* (error from repetitions): s sqrt((1 / (n1 + k) + 1 / (n2 + k)) / g) with k further repetitions
  of both options in each of the g groups; s is their standard deviation, or that of all runs of the decision where
  nothing was repeated;
- *many matched groups* (error from the spread between them): d / sqrt(m + k) with k further groups. A further group
  is one with runs of a single option so far, on a cluster that ran both. The other option is run in it.

Further repetitions run in blocks with both options, so sessions add no error to them. The part of the error from
sessions shrinks with the share of the earlier runs.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.comparison.matched import GROUPS_MIN
from assay.analysis.comparison.option_estimates import OptionEstimates, PairEstimate
from assay.analysis.statistics import ABSENT, ALPHA, RUNS_MIN, InferenceScope, Ints, Verdict, satterthwaite
from assay.model import Origin
from assay.questions.decisions.decision import Decision, FurtherRuns, RunGoal
from assay.questions.decisions.headline import OptionRow

PROPOSALS_MAX = 3
"""Maximum number of proposals for one decision."""
FURTHER_MAX = 20
"""Maximum number of further repetitions, or matched groups, of one proposal."""
EXPLAINED_MIN = 0.9
"""Minimum share of the present half-width that the model of the error must explain."""
_OPEN_VERDICTS = (Verdict.NOT_ENOUGH_RUNS, Verdict.NOT_DISTINGUISHABLE)


@dataclass(frozen=True, slots=True)
class _OpenRow:
    """One open row, in codes of the factor."""

    stratum: int
    workload: str
    baseline: int
    option: int
    estimate: PairEstimate
    verdict: Verdict
    alpha: float
    """Two-sided level at which the difference must show."""


@dataclass(frozen=True, slots=True)
class _ErrorModel:
    """How the standard error of a log ratio shrinks with further repetitions or groups."""

    scatter: float
    counts: tuple[float, float]
    """Runs of each option in a group. Where groups are added: the number of groups, twice."""
    groups: int
    """Groups that each further repetition is made in; 1 where groups are added."""
    degrees: float
    sessions: float
    """Standard error that sessions add now, with ``session_degrees`` of freedom."""
    session_degrees: float

    def half_width(self, further: int, alpha: float) -> float:
        """Return the half-width at level ``1 - alpha`` with ``further`` repetitions or groups."""
        from scipy.special import stdtrit  # imported here because the import takes 0.1 s

        first, second = self.counts
        error_within = self.scatter * math.sqrt((1 / (first + further) + 1 / (second + further)) / self.groups)
        error_between = self.sessions * min(self.counts) / (min(self.counts) + further)
        variances = np.array([error_within**2, error_between**2])
        degrees = satterthwaite(variances, np.array([self.degrees + further * self.groups, self.session_degrees]))
        return float(stdtrit(degrees, 1 - alpha / 2)) * math.sqrt(float(variances.sum()))


def further_runs(
    times: OptionEstimates, decision: Decision, rows: Sequence[OptionRow], baseline: int
) -> tuple[FurtherRuns, ...]:
    """Return the proposals: rows with too few runs first, then by expected run time.

    Empty for simulated and predicted times.
    """
    if decision.origin in (Origin.SIMULATED, Origin.PREDICTED):
        return ()
    proposals = [
        (row.verdict is Verdict.NOT_DISTINGUISHABLE, proposal)
        for row in _open_rows(times, decision, rows, baseline)
        if (proposal := _proposal(times, row, decision.margin)) is not None
    ]
    proposals.sort(key=lambda item: (item[0], item[1].duration_s))
    return tuple(proposal for _, proposal in proposals[:PROPOSALS_MAX])


def _open_rows(
    times: OptionEstimates, decision: Decision, rows: Sequence[OptionRow], baseline: int
) -> Iterator[_OpenRow]:
    """Yield the open rows against the baseline, then on one workload the options that tie with the leader."""
    alpha = ALPHA / max(decision.family, 1)
    for row, result in zip(rows, decision.results, strict=True):
        if row.time is not None and result.verdict in _OPEN_VERDICTS:
            yield _OpenRow(row.stratum, row.workload, baseline, row.option, row.time, result.verdict, alpha)
    if len(decision.headline_workloads) != 1:
        return
    codes = {level: code for code, level in enumerate(times.matched.table.columns[decision.factor].levels)}
    strata = {row.stratum for row in rows if row.workload == decision.headline_workloads[0]}
    for option in decision.ties:
        for stratum in strata:
            estimate = times.between(stratum, codes[option], codes[decision.leader])
            if estimate is not None and baseline not in (codes[option], codes[decision.leader]):
                # The leader is tested one-sided against each rival.
                level = 2 * ALPHA / max(len(decision.options), 1)
                verdict = Verdict.NOT_DISTINGUISHABLE
                workload = decision.headline_workloads[0]
                yield _OpenRow(stratum, workload, codes[option], codes[decision.leader], estimate, verdict, level)


def _proposal(times: OptionEstimates, row: _OpenRow, margin: float) -> FurtherRuns | None:
    """Return the fewest further runs that settle the row; None where more than the maximum would be needed."""
    over_groups = row.estimate.mean.scope is not InferenceScope.TESTED and row.estimate.groups >= GROUPS_MIN
    if not over_groups and not row.estimate.groups:
        return None
    groups = _one_sided_groups(times, row) if over_groups else row.estimate.matched_groups
    ratio_now = row.estimate.mean.ratio
    half_width = (
        None if ratio_now.low is None or ratio_now.high is None else math.log(ratio_now.high / ratio_now.low) / 2
    )
    if half_width is not None and half_width <= math.log1p(margin):
        return None
    error = _error(times, row, over_groups=over_groups)
    further_min = 1
    if not over_groups and row.estimate.groups == 1:
        further_min = max(1, RUNS_MIN - min(row.estimate.runs))
    if error is not None and half_width is not None and error.half_width(0, ALPHA) < EXPLAINED_MIN * half_width:
        return None  # the ratio depends on another factor: more runs at the same levels do not narrow the interval
    effect = abs(row.estimate.mean.mean)
    further, goal = further_min, RunGoal.FIRST_INTERVAL
    if error is not None:
        further_max = min(FURTHER_MAX, len(groups)) if over_groups else FURTHER_MAX
        sufficient_runs = (
            (count, kind)
            for count in range(further_min, further_max + 1)
            for kind, is_sufficient in (
                (RunGoal.DIFFERENCE, error.half_width(count, row.alpha) < effect),
                (RunGoal.EQUIVALENCE, effect + error.half_width(count, ALPHA) <= math.log1p(margin)),
            )
            if is_sufficient
        )
        fewest_runs = next(sufficient_runs, None)
        if fewest_runs is None:
            return None
        further, goal = fewest_runs
    table = times.matched.table
    workload, levels = row.workload, table.columns[times.matched.factor].levels
    return FurtherRuns(
        workload=workload,
        options=(levels[row.baseline], levels[row.option]),
        groups=further if over_groups else row.estimate.groups,
        repetitions=1 if over_groups else further,
        new_groups=over_groups,
        clusters=_clusters(times, groups),
        aim=goal,
        ratio=ratio_now.value,
        half_width=None if half_width is None else math.expm1(half_width),
        expected_half_width=None if error is None else math.expm1(error.half_width(further, ALPHA)),
        duration_s=_duration_s(times, row, further, len(groups), over_groups=over_groups),
    )


def _error(times: OptionEstimates, row: _OpenRow, *, over_groups: bool) -> _ErrorModel | None:
    """Return how the error of the row shrinks; None where no repetitions show the spread of run times."""
    mean, groups = row.estimate.mean, max(row.estimate.groups, 1)
    mean_without_sessions = mean.sessions or mean
    session_error = (
        (math.sqrt(max(0.0, mean.error**2 - mean_without_sessions.error**2)), mean.sessions.spread.degrees)
        if mean.sessions
        else (0.0, math.inf)
    )
    if over_groups:
        if not math.isfinite(mean.error):
            return None
        return _ErrorModel(
            mean_without_sessions.error * math.sqrt(groups / 2),
            (groups, groups),
            1,
            mean_without_sessions.degrees,
            *session_error,
        )
    counts = row.estimate.runs[0] / groups, row.estimate.runs[1] / groups
    if math.isfinite(mean.error):
        scatter = mean_without_sessions.error * math.sqrt(groups / sum(1 / count for count in counts))
        return _ErrorModel(scatter, counts, groups, mean_without_sessions.degrees, *session_error)
    pooled_scatter = _pooled_scatter(times)
    return (
        None
        if pooled_scatter is None
        else _ErrorModel(pooled_scatter[0], counts, groups, pooled_scatter[1], 0.0, math.inf)
    )


def _pooled_scatter(times: OptionEstimates) -> tuple[float, float] | None:
    """Return the standard deviation of log times of repetitions, with its degrees of freedom; None without
    repetitions."""
    matched = times.matched
    column = matched.table.columns[matched.factor].codes[matched.positions].astype(np.int64)
    cells = matched.groups.of_row * (int(column.max(initial=0)) + 1) + column
    _, cell, sizes = np.unique(cells, return_inverse=True, return_counts=True)
    degrees = len(cell) - len(sizes)
    if degrees < 1:
        return None
    means = np.bincount(cell, matched.logs) / sizes
    squares = float(((matched.logs - means[cell]) ** 2).sum())
    return math.sqrt(squares / degrees), float(degrees)


def _one_sided_groups(times: OptionEstimates, row: _OpenRow) -> Ints:
    """Return the matched groups with runs of exactly one of the two options, on clusters that ran both."""
    matched = times.matched
    first, second = (_groups_with(times, row.stratum, code) for code in (row.baseline, row.option))
    one_sided_groups: Ints = np.setxor1d(first, second)
    if not len(matched.cluster):
        return one_sided_groups
    common_clusters = np.intersect1d(matched.cluster[first], matched.cluster[second])
    groups_on_common_clusters: Ints = one_sided_groups[np.isin(matched.cluster[one_sided_groups], common_clusters)]
    return groups_on_common_clusters


def _groups_with(times: OptionEstimates, stratum: int, code: int) -> Ints:
    matched = times.matched
    groups = np.unique(matched.groups.of_row[int(matched.starts[code]) : int(matched.starts[code + 1])])
    stratum_groups: Ints = groups[times.strata.of_group[groups] == stratum]
    return stratum_groups


def _clusters(times: OptionEstimates, groups: Ints) -> tuple[str, ...]:
    matched = times.matched
    if not len(matched.cluster):
        return ()
    levels = matched.table.columns["cluster"].levels
    return tuple(levels[code] for code in np.unique(matched.cluster[groups]).tolist() if code != ABSENT)


def _duration_s(times: OptionEstimates, row: _OpenRow, further: int, groups: int, *, over_groups: bool) -> float:
    """Return the expected run time of all proposed runs, from the mean time of each option on the workload."""
    matched = times.matched
    durations_s = []
    for code in (row.baseline, row.option):
        rows = slice(int(matched.starts[code]), int(matched.starts[code + 1]))
        is_in_stratum = times.strata.of_group[matched.groups.of_row[rows]] == row.stratum
        durations_s.append(float(np.exp(matched.logs[rows][is_in_stratum]).mean()))
    return further * sum(durations_s) / 2 if over_groups else further * groups * sum(durations_s)
