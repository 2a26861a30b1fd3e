"""Estimate the candidates of a tuning before their first run, by simulation or by a model of earlier runs.

In: a :class:`~assay.estimation.tuning.tuner.Tuner` with its space, and a cost profile or a repository. Out: the
logarithm of each candidate's time in seconds. A candidate that can't be run gets the longest time, a candidate without
an estimate the median.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.statistics import Column, Floats, RunTable, coded, table_of, usable
from assay.estimation.prediction.features import HARDWARE
from assay.estimation.prediction.model import learn
from assay.estimation.prediction.predict import predict
from assay.estimation.simulator.process import simulate
from assay.estimation.simulator.scenario import request_of, scenario_of
from assay.estimation.tuning.tuner import Tuner
from assay.execution.planning.forecast.inputs import size_of
from assay.execution.planning.order import PlannedRun
from assay.foundation.errors import SpecificationError
from assay.model import CostProfile, Origin, Plan, Run, RunStatus
from assay.questions.forecasts.model_cache import with_hardware
from assay.store import Repository
from assay.workloads.catalogue import workloads

WARM_START_HINT = "--warm simulation uses the simulator instead; without --warm the search starts at random"


@dataclass(frozen=True, slots=True)
class CandidateEstimates:
    """Estimated times of the candidates, and the basis of the estimate as text."""

    log_s: Floats
    basis: str


def simulated_logs(tuner: Tuner, profile: CostProfile) -> Floats:
    """Return the logarithm of each candidate's simulated time; the longest for candidates that can't be run."""
    planned_runs = _planned_runs(tuner)
    plan = tuner.space.plan
    requests = [request_of(plan, run, profile) for run in planned_runs.values()]
    results = simulate([scenario_of(request).with_seed(plan.seed, "estimate") for request in requests])
    logs = np.full(len(tuner.possible), math.log(max(result.duration_s for result in results)))
    logs[list(planned_runs)] = [math.log(result.duration_s) for result in results]
    return logs


def predicted_logs(
    tuner: Tuner, repository: Repository | None, origin: Origin, left_out: Collection[str]
) -> CandidateEstimates:
    """Return the times of the candidates, predicted from runs of ``origin`` outside the campaigns ``left_out``.

    Leave out the campaigns of the same tuning: the tuner reads their runs itself. Raises SpecificationError for too few
    runs, or where they predict no candidate.
    """
    if repository is None:
        raise SpecificationError("there is no repository to predict from", where="--warm", hint=WARM_START_HINT)
    table = repository.table()
    training_table = with_hardware(repository, table.subset(_runs_to_learn_from(table, origin, left_out)))
    try:
        model = learn(training_table)
    except SpecificationError as error:
        raise SpecificationError(
            f"the candidates can't be predicted: {error.message}", where="--warm", hint=WARM_START_HINT
        ) from error
    planned_runs = _planned_runs(tuner)
    candidates = _rows([_as_recorded(run, tuner.space.plan, origin) for run in planned_runs.values()], training_table)
    answers = predict(model, candidates)
    has_time = np.isfinite(answers.expected_s)
    if not has_time.any():
        why = next((basis[0] for basis in answers.reasons.values() if basis), "no measured configuration is similar")
        raise SpecificationError(
            f"{model.runs:,} {origin} runs predict none of these configurations: {why}",
            where="--warm",
            hint=WARM_START_HINT,
        )
    known_logs = np.log(answers.expected_s[has_time])
    logs = np.full(len(tuner.possible), float(known_logs.max()))
    logs[list(planned_runs)] = np.where(
        has_time, np.log(np.where(has_time, answers.expected_s, 1.0)), np.median(known_logs)
    )
    number = f"{int(has_time.sum()):,} of {len(planned_runs):,}"
    basis = f"{number} configurations have a prediction, from {model.runs:,} {origin} runs"
    return CandidateEstimates(logs, basis if has_time.all() else f"{basis}; the others start at the median")


def _planned_runs(tuner: Tuner) -> dict[int, PlannedRun]:
    runs = ((candidate, tuner.space.run(candidate, 1, 0, 0)) for candidate in np.flatnonzero(tuner.possible).tolist())
    return {candidate: run for candidate, run in runs if run is not None}


def _runs_to_learn_from(table: RunTable, origin: Origin, left_out: Collection[str]) -> np.ndarray:
    is_kept: np.ndarray = usable(table)
    for name, levels, keeps_levels in (("origin", (str(origin),), True), ("campaign_id", left_out, False)):
        if (column := table.columns.get(name)) is not None:
            is_kept = is_kept & (np.isin(column.codes, [column.code(level) for level in levels]) == keeps_levels)
    return is_kept


def _as_recorded(planned_run: PlannedRun, plan: Plan, origin: Origin) -> Run:
    """Return a run with the configuration that a planned run would record."""
    workload = workloads()[planned_run.workload.name]
    return Run(
        run_id="",
        campaign_id="",
        plan=plan.name,
        origin=origin,
        status=RunStatus.VALID,
        cause=None,
        cluster=plan.cluster.name,
        lab_scale=plan.cluster.lab.scale if plan.cluster.lab else None,
        engine=str(planned_run.configuration.engine or plan.engine),
        engine_version="",
        workload=planned_run.workload.key,
        workload_parameters={"program": workload.name, **planned_run.workload.parameters},
        layout=planned_run.configuration.layout.name,
        levels=dict(planned_run.configuration.levels),
        parameters=dict(planned_run.configuration.parameters),
        repetition=1,
        block=0,
        position=0,
        attempt=1,
        started_at="",
        duration_s=1.0,
        cold=None,
        data_bytes=workload.data_bytes(size_of(planned_run, plan)),
    )


def _rows(runs: list[Run], reference_table: RunTable) -> RunTable:
    """Return the runs as a table with the columns, engine version and hardware of the table ``reference_table``."""
    table = table_of(runs)
    size = len(table)
    same_cluster = reference_table.columns["cluster"].codes == reference_table.columns["cluster"].code(runs[0].cluster)
    nearest_table = reference_table.subset(same_cluster) if same_cluster.any() else reference_table
    columns = {name: table.columns.get(name, coded([None] * size)) for name in reference_table.columns}
    versions = nearest_table.columns["engine_version"]
    counts = np.bincount(versions.codes[versions.codes >= 0], minlength=max(len(versions.levels), 1))
    columns["engine_version"] = Column(np.full(size, int(counts.argmax()), dtype=np.int32), versions.levels)
    hardware = {
        name: np.full(size, value[0] if same_cluster.any() else np.nan)
        for name, value in nearest_table.values.items()
        if name.startswith(HARDWARE)
    }
    return replace(table, columns=columns, values={**table.values, **hardware})
