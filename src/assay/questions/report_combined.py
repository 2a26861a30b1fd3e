"""Storage × network × containers in a report: what these do to each other, for the workloads with most runs.

In: a repository, the runs that a report is about. Out: the expected time of each combination of levels that was
measured, by the model that ``assay explain`` asks; BSC's figures 5 to 7 ask the same of its cluster.
"""

from dataclasses import dataclass

from assay.errors import SpecificationError
from assay.model import CONTAINERS, LAYOUT_FACTOR, MAP_SLOTS, NETWORK_FACTOR
from assay.predict.explaining import Cell, cells
from assay.questions.learned import learned
from assay.questions.runs import levels_in, selected
from assay.repository import Repository
from assay.statistics import RunTable, counts_by
from assay.wording import column_title, workload_title

WORKLOADS_MAX = 3


@dataclass(frozen=True, slots=True)
class Combined:
    """One workload's expected times."""

    title: str
    by: tuple[str, ...]
    """The factors, as people read them."""
    cells: tuple[Cell, ...]
    """Those that were measured."""
    guessed: int
    """How many more combinations there are, which nobody measured."""


def factors_of(table: RunTable) -> tuple[str, ...]:
    """Return which of storage, network and containers the runs vary; none where these are not two at least."""
    found = [name for name in (LAYOUT_FACTOR, NETWORK_FACTOR) if _varied(table, name)]
    found += [name for name in (CONTAINERS, MAP_SLOTS) if _varied(table, name)][:1]
    return tuple(found) if len(found) > 1 else ()


def _varied(table: RunTable, name: str) -> bool:
    return name in table.columns and len(levels_in(table, name)) > 1


def combined_of(repository: Repository, table: RunTable) -> tuple[Combined, ...]:
    """Return the workloads with most runs, for which several of the factors vary; none where nothing can be learned."""
    counts = counts_by(table, "workload") if factors_of(table) else {}
    if not counts:
        return ()
    try:
        known = learned(repository)
    except SpecificationError:
        return ()
    found = []
    for workload in sorted(counts, key=lambda name: -counts[name])[:WORKLOADS_MAX]:
        runs = selected(known.table, (f"workload={workload}",), "workload")
        names = tuple(name for name in factors_of(runs) if name in {f.name for f in known.model.encoding.factors})
        if len(names) < 2:
            continue
        try:
            every = cells(known.model, runs, names)
        except SpecificationError:  # more combinations than are looked at
            continue
        measured = tuple(cell for cell in every if cell.configurations)
        title = workload_title(workload)
        found.append(Combined(title, tuple(map(column_title, names)), measured, len(every) - len(measured)))
    return tuple(found)
