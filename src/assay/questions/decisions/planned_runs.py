"""Propose the smallest plan that measures a buyer's question, and estimate how long runs of a workload take.

In: the valid runs and a question. Out: one workload, each level of the question's plan, repeated; and its plan file for
the cluster of the newest plan.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.statistics import RUNS_MIN, Ints, RunTable, usable
from assay.foundation.errors import SpecificationError
from assay.model import LAYOUT_FACTOR, WORKLOAD
from assay.questions.decisions.buyer import BuyerQuestion
from assay.questions.forecasts.next_plan import next_plan
from assay.questions.runs.plans import newest_plan
from assay.questions.runs.runs import levels_by_number
from assay.specs.layouts import is_layout_code
from assay.specs.redaction import CLUSTER_FILE
from assay.store import Repository


@dataclass(frozen=True, slots=True)
class PlannedRuns:
    """The smallest plan that measures a question: one workload, each level of the question's plan, repeated."""

    workload: str
    """The workload with most valid runs."""
    levels: tuple[str, ...]
    runs: int
    duration_s: float
    """Number of runs × median time of the valid runs of this workload."""
    repetitions: int
    layout: str
    """The most common layout of this workload's runs that a plan accepts; empty if the plan varies the layout."""
    data_bytes: float | None
    """The most common data size of this workload's runs at full scale, as plans state it; None if it is unknown."""
    cluster: str
    """The most common cluster of this workload's runs; empty if it is unknown."""


def planned_runs(valid_table: RunTable, question: BuyerQuestion, levels: Sequence[str] = ()) -> PlannedRuns | None:
    """Return the runs that measure a question; None where a price book answers it, or no run has a workload.

    ``levels``: levels of the question's factor to compare; empty: the levels that the question proposes.
    """
    levels = tuple(levels or question.plan_levels)
    workloads = levels_by_number(valid_table, "workload")
    if not question.plan_levels or not workloads:
        return None
    rows = _rows_of(valid_table, workloads[0])
    runs = len(levels) * RUNS_MIN
    layouts = () if question.plan_factor == LAYOUT_FACTOR else levels_by_number(valid_table, LAYOUT_FACTOR, rows)
    sizes = _data_sizes(valid_table, rows)
    scale = float(next(iter(levels_by_number(valid_table, "lab_scale", rows)), "1"))
    return PlannedRuns(
        workload=workloads[0],
        levels=levels,
        runs=runs,
        duration_s=runs * float(np.nanmedian(valid_table.values["duration_s"][rows])),
        repetitions=RUNS_MIN,
        layout=next((layout for layout in layouts if is_layout_code(layout)), ""),
        data_bytes=sizes[0] / scale if sizes else None,
        cluster=next(iter(levels_by_number(valid_table, "cluster", rows)), ""),
    )


@dataclass(frozen=True, slots=True)
class QuestionPlan:
    """The texts of a plan and of its cluster file."""

    plan: str
    cluster: str
    runs: int


def measuring_plan(
    repository: Repository, question: BuyerQuestion, planned: PlannedRuns, cluster_file: str
) -> QuestionPlan:
    """Return the plan of the levels of ``planned``. ``cluster_file``: the name that the plan states.

    Raises SpecificationError if the repository has no plan on the cluster, or the cluster can't run a level.
    """
    try:
        base_plan = replace(newest_plan(repository, planned.cluster or None), cluster_file=cluster_file)
    except SpecificationError as error:
        hint = (
            "`assay discover HOST…` writes the file of your cluster; the page Plan runs of `assay serve` writes a plan "
            "for it"
        )
        raise SpecificationError(error.message, where=f"question {question.name}", hint=hint) from error
    fixed_levels = {WORKLOAD: planned.workload}
    if planned.layout and question.plan_factor != LAYOUT_FACTOR:
        fixed_levels[LAYOUT_FACTOR] = planned.layout
    configurations = [{**fixed_levels, question.plan_factor: level} for level in planned.levels]
    plan = next_plan(configurations, base_plan, question.name, planned.repetitions)
    if plan.left_out or plan.notices:
        raise SpecificationError("; ".join((*plan.left_out, *plan.notices)), where=f"question {question.name}")
    return QuestionPlan(plan.plan.source, base_plan.cluster_source, plan.runs)


def runnable_runs(
    repository: Repository, valid_table: RunTable, question: BuyerQuestion, known_levels: Sequence[str] = ()
) -> tuple[PlannedRuns, QuestionPlan] | None:
    """Return the runs that measure a question, and their plan; None if the cluster of the runs can run none of them.

    ``known_levels``: levels to prefer, such as the measured one.
    """
    for levels in question.levels_to_plan(known_levels):
        planned = planned_runs(valid_table, question, levels)
        if planned is None:
            return None
        try:
            return planned, measuring_plan(repository, question, planned, CLUSTER_FILE)
        except SpecificationError:
            continue
    return None


def described_workers(repository: Repository, cluster: str) -> int | None:
    """Return the number of workers of the cluster that a stored plan, or an example, describes; None without one."""
    try:
        return len(newest_plan(repository, cluster or None).cluster.workers)
    except SpecificationError:
        return None


def expected_duration_s(table: RunTable, runs: Sequence[tuple[str, int]]) -> float | None:
    """Return the time of runs, given as workload and number, from medians of valid runs; None if one has none."""
    valid_table = table.subset(usable(table))
    total_s = 0.0
    for workload, number in runs:
        times_s = valid_table.values["duration_s"][_rows_of(valid_table, workload)]
        total_s += number * (float(np.nanmedian(times_s)) if len(times_s) else math.nan)
    return total_s if math.isfinite(total_s) else None


def records_data_size(table: RunTable, workload: str) -> bool:
    """Return whether valid runs of a workload record their data size."""
    valid_table = table.subset(usable(table))
    return bool(_data_sizes(valid_table, _rows_of(valid_table, workload)))


def _data_sizes(table: RunTable, rows: Ints) -> list[float]:
    """Return the recorded data sizes of runs in bytes, the most common first."""
    return [float(size) for size in levels_by_number(table, "data_bytes", rows) if size.isdecimal()]


def _rows_of(table: RunTable, workload: str) -> Ints:
    column = table.columns.get("workload")
    if column is None or workload not in column.levels:
        return np.arange(0)
    return np.flatnonzero(column.codes == column.levels.index(workload))
