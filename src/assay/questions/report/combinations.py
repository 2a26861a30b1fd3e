"""Compute how storage, network and containers interact, for the workloads with most runs.

In: a repository and the runs of a report. Out: the expected time of each measured combination of levels, from the model
of ``assay explain``. Figures 5 to 7 of BSC's study show the same for its cluster.
"""

from assay.analysis.statistics import RunTable, counts_by
from assay.estimation.prediction.explaining import cells
from assay.foundation.errors import SpecificationError
from assay.model import CONTAINERS, LAYOUT_FACTOR, MAP_SLOTS, NETWORK_FACTOR
from assay.questions.forecasts.model_cache import learned
from assay.questions.report.values import CombinedTimes
from assay.questions.runs.runs import levels_in, selected
from assay.store import Repository

WORKLOADS_MAX = 3
"""Maximum number of workloads."""


def factors_of(table: RunTable) -> tuple[str, ...]:
    """Return which of storage, network and containers the runs vary; empty for fewer than two."""
    names = [name for name in (LAYOUT_FACTOR, NETWORK_FACTOR) if _is_varied(table, name)]
    names += [name for name in (CONTAINERS, MAP_SLOTS) if _is_varied(table, name)][:1]
    return tuple(names) if len(names) > 1 else ()


def _is_varied(table: RunTable, name: str) -> bool:
    return name in table.columns and len(levels_in(table, name)) > 1


def combined_times(repository: Repository, table: RunTable) -> tuple[CombinedTimes, ...]:
    """Return the workloads with most runs that vary several of the factors; empty where no model can be learned."""
    counts = counts_by(table, "workload") if factors_of(table) else {}
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
        names = tuple(name for name in factors_of(runs) if name in modelled_names)
        if len(names) < 2:
            continue
        try:
            all_cells = cells(repository_model.model, runs, names)
        except SpecificationError:  # more combinations than the model evaluates
            continue
        measured = tuple(cell for cell in all_cells if cell.configurations)
        times.append(CombinedTimes(workload, names, measured, len(all_cells) - len(measured)))
    return tuple(times)
