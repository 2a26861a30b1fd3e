"""Compute how storage, network and containers interact, for the workloads with most runs.

In: a repository and the runs of a report. Out: the expected time of each measured combination of levels, from the model
of ``assay explain``. Figures 5 to 7 of BSC's study show the same for its cluster.
"""

from assay.analysis.statistics import RunTable, counts_by
from assay.estimation.prediction.explaining import cells
from assay.foundation.errors import SpecificationError
from assay.questions.forecasts.importance import factors_to_combine
from assay.questions.forecasts.model_cache import learned
from assay.questions.report.values import CombinedTimes
from assay.questions.runs.runs import levels_in, selected
from assay.store import Repository

WORKLOADS_MAX = 3
"""Maximum number of workloads."""


def _varied_factors(table: RunTable) -> set[str]:
    return {name for name in table.columns if len(levels_in(table, name)) > 1}


def combined_times(repository: Repository, table: RunTable) -> tuple[CombinedTimes, ...]:
    """Return the workloads with most runs that vary several of the factors; empty where no model can be learned."""
    counts = counts_by(table, "workload") if factors_to_combine(_varied_factors(table)) else {}
    if not counts:
        return ()
    try:
        repository_model = learned(repository)
    except SpecificationError:
        return ()
    modelled_names = {factor.name for factor in repository_model.model.encoding.factors}
    times = []
    for workload in sorted(counts, key=lambda name: -counts[name])[:WORKLOADS_MAX]:
        runs = selected(repository_model.table, (f"workload={workload}",), "workload")
        names = factors_to_combine(_varied_factors(runs) & modelled_names)
        if not names:
            continue
        try:
            all_cells = cells(repository_model.model, runs, names)
        except SpecificationError:  # more combinations than the model evaluates
            continue
        measured = tuple(cell for cell in all_cells if cell.configurations)
        times.append(CombinedTimes(workload, names, measured, len(all_cells) - len(measured)))
    return tuple(times)
