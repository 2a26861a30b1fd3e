"""Measure what a simulated time adds to predictions learned from runs. docs/measurements/prediction.md has the table.

    python benchmarks/prediction_simulated.py REPOSITORY [REPOSITORY …]

Takes the valid measured runs of campaigns with plan and cluster, and simulates each configuration once with the shipped
profile. Each configuration, each layout of a workload, and each workload of a cluster is left out in turn and predicted
from the others: by the trees of `assay predict` without the simulated time, with it as a feature, on the residuals of
the simulation, or both; and by the simulator alone, with and without the median correction of the workload. Errors are
per configuration: mean and maximum of the relative error, and the mean absolute error in seconds. Needs the simulator.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.analysis.statistics import Floats
from assay.analysis.statistics.runs.run_table import table_of
from assay.estimation.prediction.features import learned_encoding
from assay.estimation.prediction.forest import grow_forest
from assay.estimation.prediction.model import SEED
from assay.estimation.simulator.process import simulate
from assay.estimation.simulator.scenario import SimulationRequest, scenario_of
from assay.execution.planning.forecast.inputs import size_of
from assay.execution.planning.plan_files.changed_plan import changed_plan, only_run
from assay.model.runs.origin import Origin
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from assay.questions.forecasts.learning import shipped_profile
from assay.questions.forecasts.measured import measured_of
from assay.store import Repository

TREES = 192
"""Number of trees: as many as a model of `assay predict` has in all folds."""
Method = Callable[["SimulatedTable", np.ndarray, np.ndarray], Floats]


@dataclass(frozen=True)
class SimulatedTable:
    """Configurations with one run each, and the logarithms of measured and simulated times."""

    runs: tuple[Run, ...]
    measured_logs: Floats
    simulated_logs: Floats
    features: Floats
    run_count: int


def table_of_repositories(repositories: Sequence[Path]) -> SimulatedTable:
    """Return the configurations of some repositories."""
    profile, runs, measured_logs, requests, run_count = (
        shipped_profile(),
        list[Run](),
        list[float](),
        list[SimulationRequest](),
        0,
    )
    for path in repositories:
        repository = Repository.open(path)
        all_runs = repository.runs()
        valid_runs = [run for run in all_runs if run.origin is Origin.MEASURED and run.status is RunStatus.VALID]
        for group in measured_of(repository, valid_runs)[0]:
            plan = changed_plan(group.plan, group.levels, group.workload)
            planned_run = only_run(plan)
            costs = profile.of_engine(group.runs[0].engine)
            requests.append(
                SimulationRequest(
                    plan.cluster,
                    planned_run.configuration,
                    planned_run.workload.name,
                    size_of(planned_run, plan),
                    costs,
                )
            )
            runs.append(group.runs[0])
            measured_logs.append(float(np.median([np.log(run.duration_s) for run in group.runs])))
            run_count += len(group.runs)
    results = simulate([scenario_of(request).with_seed(1, str(number)) for number, request in enumerate(requests)])
    table = table_of(runs)
    features = learned_encoding(table).of(table).astype(np.float64)
    return SimulatedTable(
        tuple(runs), np.array(measured_logs), np.log([result.duration_s for result in results]), features, run_count
    )


def trees(*, feature: bool, residual: bool) -> Method:
    """Return the learner of `assay predict` with the simulated time as a feature, in the residuals, in both or in
    neither."""

    def predict(simulated_table: SimulatedTable, training: np.ndarray, left_out: np.ndarray) -> Floats:
        base = simulated_table.simulated_logs if residual else np.zeros(len(simulated_table.measured_logs))
        columns = (
            np.column_stack([simulated_table.features, simulated_table.simulated_logs])
            if feature
            else simulated_table.features
        )
        float32_columns = columns.astype(np.float32)
        forest = grow_forest(
            float32_columns[training], (simulated_table.measured_logs - base)[training], None, trees=TREES, seed=SEED
        )
        result: Floats = forest.by_tree(float32_columns[left_out]).mean(axis=1) + base[left_out]
        return result

    return predict


def corrected(simulated_table: SimulatedTable, training: np.ndarray, left_out: np.ndarray) -> Floats:
    """Return the simulated times, each corrected by the median error of its workload's other configurations, or of
    all."""
    log_errors = simulated_table.measured_logs - simulated_table.simulated_logs
    names = np.array([run.workload for run in simulated_table.runs])
    result = np.empty(len(left_out))
    for position, row in enumerate(left_out):
        similar = training[names[training] == names[row]]
        result[position] = simulated_table.simulated_logs[row] + np.median(
            log_errors[similar if len(similar) else training]
        )
    return result


METHODS: dict[str, Method] = {
    "trees, without a simulated time": trees(feature=False, residual=False),
    "trees, a simulated time as one feature": trees(feature=True, residual=False),
    "trees of the error of the simulation": trees(feature=False, residual=True),
    "trees of the error, and a simulated time as one feature": trees(feature=True, residual=True),
    "the simulator alone": lambda simulated_table, _, left_out: simulated_table.simulated_logs[left_out],
    "the simulator, corrected by its median error on other configurations": corrected,
}


def left_out_groups(simulated_table: SimulatedTable) -> dict[str, list[str]]:
    """Return the groups that are left out together, by title: a name for each configuration."""
    return {
        "each configuration": [str(at) for at in range(len(simulated_table.runs))],
        "each workload's layout": [f"{run.cluster} {run.workload} {run.layout}" for run in simulated_table.runs],
        "each cluster's workload": [f"{run.cluster} {run.workload}" for run in simulated_table.runs],
    }


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("repositories", type=Path, nargs="+")
    simulated_table = table_of_repositories(arguments.parse_args().repositories)
    size = len(simulated_table.runs)
    clusters = ", ".join(dict.fromkeys(run.cluster for run in simulated_table.runs))
    print(f"{simulated_table.run_count} valid measured runs of {size} configurations; clusters: {clusters}\n")
    print("| left out | model | mean error | largest | MAE (s) |\n|---|---|---|---|---|")
    for title, names in left_out_groups(simulated_table).items():
        groups = list(dict.fromkeys(names))
        for method, predict in METHODS.items():
            predicted = np.empty(size)
            for group in groups:
                left_out = np.array([position for position, name in enumerate(names) if name == group])
                predicted[left_out] = predict(simulated_table, np.setdiff1d(np.arange(size), left_out), left_out)
            errors = np.abs(np.exp(predicted - simulated_table.measured_logs) - 1)
            seconds = np.abs(np.exp(predicted) - np.exp(simulated_table.measured_logs)).mean()
            group_title = f"{title} ({len(groups)})" if len(groups) < size else title
            print(f"| {group_title} | {method} | {errors.mean():.1%} | {errors.max():.0%} | {seconds:.1f} |")


if __name__ == "__main__":
    main()
