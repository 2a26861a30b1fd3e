"""List runs with their outliers, or select runs to export.

In: a repository and a :class:`RunsRequest`. Out: a :class:`RunsAnswer`, or a table of runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.analysis.statistics import RunTable
from assay.model import Run
from assay.questions.runs.runs import in_order_of_start, levels_in, selected
from assay.questions.trust.flags import flagged_runs, flags_in, outlier_kinds
from assay.store import Repository
from assay.text import workload_named


@dataclass(frozen=True, slots=True)
class RunsRequest:
    """Which runs to list. Without conditions: all."""

    where: tuple[str, ...] = ()
    """Only runs that match every ``COLUMN=LEVEL``."""
    workload: str | None = None
    """Only this workload, by its name or title."""
    layout: str | None = None
    status: str | None = None
    outliers: bool = False
    """Only runs that are flagged as outliers."""
    limit: int | None = None
    """Maximum number of runs: the newest. None: all."""

    def levels(self, table: RunTable) -> dict[str, str]:
        """Return the level of each column that the request names by itself."""
        workload = workload_named(self.workload, levels_in(table, "workload")) if self.workload else None
        levels = {"workload": workload, "layout": self.layout, "status": self.status}
        return {name: level for name, level in levels.items() if level}


@dataclass(frozen=True, slots=True)
class RunsAnswer:
    """Runs, newest last."""

    runs: tuple[Run, ...]
    total: int
    """Runs that match."""
    table: RunTable
    """All runs of the repository."""
    kinds: Mapping[str, str]
    """The most serious anomaly of each flagged run, by run id."""


def chosen_runs(table: RunTable, request: RunsRequest) -> RunTable | None:
    """Return the runs that match, or None if no run has a level that the request names.

    Raises SpecificationError for an unknown column or level in ``where``.
    """
    levels = request.levels(table)
    table = selected(table, request.where, "--where") if request.where else table
    if not all(level in levels_in(table, name) for name, level in levels.items()):
        return None
    return selected(table, [f"{name}={level}" for name, level in levels.items()]) if levels else table


def listed_runs(repository: Repository, request: RunsRequest) -> RunsAnswer:
    """Return the runs that match, with their outliers."""
    flagged = flags_in(repository)
    runs: list[Run] = []
    total = 0
    matching_runs = chosen_runs(flagged.table, request)
    if matching_runs is not None and request.outliers:
        conditions = [f"{name}={level}" for name, level in request.levels(flagged.table).items()]
        outliers = flagged_runs(repository, flagged, (*request.where, *conditions), None)
        total, runs = len(outliers), outliers[-request.limit if request.limit else 0 :]
    elif matching_runs is not None:
        total = len(matching_runs)
        positions = in_order_of_start(repository, matching_runs)[-request.limit if request.limit else 0 :]
        runs = repository.runs_at(matching_runs, positions)
    return RunsAnswer(tuple(runs), total, flagged.table, outlier_kinds(repository, flagged))
