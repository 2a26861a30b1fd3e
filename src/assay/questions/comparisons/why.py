"""Choose two example runs for a speedup: equal in every other factor, typical, and observed if available.

In: a repository, its table of runs, and a speedup (factor, baseline, candidate, conditions). Out: two runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.comparison.details.example_pair import example_pair
from assay.analysis.comparison.factors.derived_factors import with_factors
from assay.analysis.comparison.result import SpeedupResult
from assay.analysis.run_profile.reasons import ObservedSide, Reasons, reasons
from assay.analysis.statistics import Mask, RunTable
from assay.questions.decisions.decision import Decision, WorkloadResult
from assay.questions.runs.complete_run import CompleteRun
from assay.questions.runs.runs import selected
from assay.store import Repository


@dataclass(frozen=True, slots=True)
class WhyQuestion:
    """The speedup to explain."""

    by: str
    baseline: str
    candidate: str
    where: tuple[str, ...] = ()
    origin: str = ""
    """Empty: any. With an origin, an empty ``lab_scale`` means full size."""
    lab_scale: str = ""

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The question as the names and values of a URL query."""
        return [
            ("by", self.by),
            ("baseline", self.baseline),
            ("candidate", self.candidate),
            *(("where", text) for text in self.where if text),
            *((name, text) for name, text in (("origin", self.origin), ("lab_scale", self.lab_scale)) if text),
        ]


@dataclass(frozen=True, slots=True)
class ExamplePair:
    """Two runs that are equal in everything but a factor."""

    runs: tuple[str, str]
    """Ids of the runs, the baseline's first."""
    observed: bool
    """Whether both runs have a trace or task attempts."""


def why_result(decision: Decision, result: WorkloadResult, where: Sequence[str] = ()) -> WhyQuestion:
    """Return the request to explain the difference between an option and the baseline on one workload.

    ``where``: the decision's conditions on runs.
    """
    workload_condition = f"workload={result.workload}"
    further_conditions = (text for text in where if text and text != workload_condition)
    return WhyQuestion(
        decision.factor,
        decision.baseline,
        result.option,
        (workload_condition, *further_conditions),
        decision.origin,
        decision.lab_scale or "",
    )


def why_decision(decision: Decision, where: Sequence[str] = ()) -> list[WhyQuestion]:
    """Return the request to explain the option that the answer names, for each workload that has it.

    ``where``: the decision's conditions on runs.
    """
    named_option = decision.named_option
    if named_option is None:
        return []
    return [
        why_result(decision, item, where)
        for item in decision.results
        if item.option == named_option.option and item.time
    ]


def why_speedup(item: SpeedupResult, where: Sequence[str]) -> WhyQuestion:
    """Return the request to explain a speedup. ``where``: its conditions on runs."""
    group_conditions = [f"{item.by}={item.group}"] if item.by else []
    further_conditions = [
        text for text in where if text and text not in group_conditions and text != f"lab_scale={item.lab_scale}"
    ]
    return WhyQuestion(
        item.factor,
        item.baseline,
        item.candidate,
        (*group_conditions, *further_conditions),
        item.origin,
        item.lab_scale or "",
    )


def pair_of(
    repository: Repository, table: RunTable, question: WhyQuestion, observed_runs: RunTable
) -> ExamplePair | None:
    """Return the two example runs; None when no two match. ``observed_runs``: from :func:`observed_runs_of`."""
    matching_runs = _runs_of_stratum(with_factors(selected(table, question.where), question.by.split(",")), question)
    is_observed = np.isin(matching_runs.rows, observed_runs.rows)
    rows = (
        example_pair(matching_runs, question.by, question.baseline, question.candidate, is_observed)
        if len(matching_runs)
        else None
    )
    if rows is None:
        return None
    first, second = repository.ids_at(matching_runs, list(rows))
    return ExamplePair((first, second), bool(is_observed[list(rows)].all()))


def observed_runs_of(repository: Repository, table: RunTable) -> RunTable:
    """Return the runs of ``table`` that have a trace or task attempts."""
    is_observed: Mask = np.zeros(len(table), dtype=np.bool_)
    if run_ids := sorted(repository.traced_runs(or_tasks=True)):
        is_observed[repository.positions_of(table, run_ids)] = True
    return table.subset(is_observed)


def is_explained(repository: Repository, observed_runs: RunTable, question: WhyQuestion) -> bool:
    """Return whether two observed runs match, so that their phases or devices can explain the speedup."""
    return bool(len(observed_runs)) and pair_of(repository, observed_runs, question, observed_runs) is not None


def _runs_of_stratum(table: RunTable, question: WhyQuestion) -> RunTable:
    if not question.origin:
        return table
    is_in_stratum = np.ones(len(table), dtype=np.bool_)
    for name, text in (("origin", question.origin), ("lab_scale", question.lab_scale)):
        column = table.columns.get(name)
        is_in_stratum &= column.codes == column.code(text) if column is not None else not text
    return table if is_in_stratum.all() else table.subset(is_in_stratum)


def reasons_between(runs: Mapping[str, CompleteRun]) -> Reasons:
    """Compare phases, disks and CPUs of one run of each side, by the side's label."""
    return reasons([ObservedSide(label, side.run.duration_s, side.detail) for label, side in runs.items()])
