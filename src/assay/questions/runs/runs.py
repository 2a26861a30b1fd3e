"""Select runs by conditions, and list them page by page with the factors that distinguish them.

In: a repository, its table of runs, and conditions ``COLUMN=LEVEL``. Out: tables, and pages of runs with the number of
runs that each further condition leaves.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np

from assay.analysis.comparison.baselines import baseline_of
from assay.analysis.statistics import ABSENT, ANOMALY, DESCRIPTIVE, LAYOUT_DEVICES, NO_ANOMALY, Ints, RunTable
from assay.analysis.statistics.runs.facets import Facet, facets, level_counts, matching, page_of
from assay.foundation.errors import RepositoryError
from assay.foundation.units import finite
from assay.model import SIMULATED_HIGH_S, SIMULATED_LOW_S, Run
from assay.questions.json_values import json_value
from assay.questions.runs.conditions import with_conditions
from assay.store import Repository

NEWEST_FIRST = "-started_unix_s"
FASTEST_FIRST = "duration_s"
METRICS_USED = ("disk_read_bytes", "disk_write_bytes", "cpu_imbalance", "disk_imbalance", "nic_imbalance")
"""Metrics that questions over many runs use in addition to times. Run tables are read with these columns."""
COLUMNS_SHOWN = ("workload", "layout", "network", "cluster")
_FIRST_COLUMNS = (*COLUMNS_SHOWN, "status", "origin", "cold", ANOMALY)


@dataclass(frozen=True, slots=True)
class RunPageRequest:
    """A request for one page of a list of runs."""

    where: tuple[str, ...] = ()
    """Only runs that match every ``COLUMN=LEVEL``."""
    sort: str = NEWEST_FIRST
    """A column or value; a leading ``-`` sorts in descending order."""
    offset: int = 0
    """Number of matching runs before the page."""
    limit: int = 50
    """Maximum number of runs on the page."""
    columns: tuple[str, ...] = COLUMNS_SHOWN
    """Columns to show."""
    facets: bool = True
    """Whether to count the runs for each further condition."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run of a list."""

    run_id: str
    status: str
    origin: str
    lab_scale: str | None
    started_at: str | None
    """ISO 8601 in UTC; None when not known."""
    duration_s: float | None
    columns: dict[str, str]
    """Levels of the requested columns that the run recorded."""
    anomaly: str | None
    """The most serious anomaly; None if the run has no anomaly or was not checked."""


@dataclass(frozen=True, slots=True)
class RunPage:
    """One page of runs, and the facets of all runs that match."""

    total: int
    """Runs that match."""
    of: int
    """Runs in the repository."""
    offset: int
    runs: tuple[RunRow, ...]
    facets: tuple[Facet, ...]
    columns: tuple[str, ...]
    """All columns to filter and sort by."""


def selected(table: RunTable, where: Sequence[str], option: str = "where") -> RunTable:
    """Return the runs that match. ``option``: the option that gave the conditions, for messages.

    Raises RepositoryError for an empty table, and SpecificationError with the choices for an unknown column or level.
    """
    if len(table) == 0:
        raise RepositoryError(
            "there are no runs yet", hint="create runs with `assay import PATH`, `assay run PLAN` or `assay demo`"
        )
    if not where:
        return table
    table_with_columns, conditions = with_conditions(table, where, option)
    return table.subset(matching(table_with_columns, conditions, option))


def in_order_of_start(repository: Repository, table: RunTable) -> list[int]:
    """Return the positions of the runs of ``table``, newest last; equal starts by id, undated runs first."""
    start_times = np.nan_to_num(table.values["started_unix_s"], nan=-np.inf)
    ids = np.array(repository.ids_at(table, range(len(table))), dtype=np.str_)
    positions: list[int] = np.lexsort((ids, start_times)).tolist()
    return positions


def usual_order(table: RunTable) -> str:
    """Return the default order of a list of runs: newest first if any run has a date, else fastest first."""
    return NEWEST_FIRST if np.isfinite(table.values["started_unix_s"]).any() else FASTEST_FIRST


def run_page(repository: Repository, table: RunTable, request: RunPageRequest) -> RunPage:
    """Return one page of the runs that match."""
    table_with_columns, conditions = with_conditions(table, request.where, "where")
    page = page_of(
        table,
        matching(table_with_columns, conditions, "where"),
        sort=request.sort,
        offset=request.offset,
        limit=request.limit,
    )
    return RunPage(
        total=page.total,
        of=len(table),
        offset=request.offset,
        runs=_rows(repository, table, page.positions, [name for name in request.columns if name in table.columns]),
        facets=tuple(facets(table_with_columns, conditions, _facet_columns(table))) if request.facets else (),
        columns=(*table.columns, *table.values),
    )


def _rows(
    repository: Repository, table: RunTable, positions: Sequence[int], columns: Sequence[str]
) -> tuple[RunRow, ...]:
    ids = repository.ids_at(table, positions) if positions else []
    return tuple(
        RunRow(
            run_id=run_id,
            status=level_at(table, "status", row) or "",
            origin=level_at(table, "origin", row) or "",
            lab_scale=level_at(table, "lab_scale", row),
            started_at=_iso_time(float(table.values["started_unix_s"][row])),
            duration_s=finite(float(table.values["duration_s"][row])),
            columns={name: text for name in columns if (text := level_at(table, name, row)) is not None},
            anomaly=kind if (kind := level_at(table, ANOMALY, row)) != NO_ANOMALY else None,
        )
        for run_id, row in zip(ids, positions, strict=True)
    )


def _iso_time(unix_s: float) -> str | None:
    return datetime.fromtimestamp(unix_s, UTC).isoformat() if np.isfinite(unix_s) else None


def level_at(table: RunTable, name: str, position: int) -> str | None:
    """Return a run's level of a column; None when it has none."""
    return table.columns[name].text(position) if name in table.columns else None


def baseline_choices(table: RunTable, factor: str) -> tuple[list[str], str | None]:
    """Return the levels of a factor, and the default baseline among them; None without levels."""
    levels = levels_in(table, factor)
    return levels, baseline_of(table, factor, levels) if levels else None


def levels_in(table: RunTable, name: str) -> list[str]:
    """Return the levels of a column that runs of the table have."""
    column = table.columns.get(name)
    if column is None:
        return []
    counts = level_counts(column, np.ones(len(table), dtype=np.bool_))
    return [level for level, number in zip(column.levels, counts, strict=True) if number]


def levels_by_number(table: RunTable, name: str, rows: Ints | None = None) -> list[str]:
    """Return the levels of a column that runs in ``rows`` (None: all) have, the most common first."""
    column = table.columns.get(name)
    if column is None:
        return []
    codes, counts = np.unique(column.codes if rows is None else column.codes[rows], return_counts=True)
    return [column.levels[codes[at]] for at in np.argsort(-counts, kind="stable") if codes[at] != ABSENT]


def comparable(table: RunTable) -> list[str]:
    """Return the factors with several levels that can be compared, storage and network first."""
    excluded_names = ("workload", "origin", "lab_scale", *DESCRIPTIVE)
    return _sorted_names(
        (n for n in table.factors if len(table.columns[n].levels) > 1 and n not in excluded_names), _FIRST_COLUMNS[1:4]
    )


def _facet_columns(table: RunTable) -> list[str]:
    """Return the columns to make facets of: those with several levels, in order of importance."""
    names_with_levels = [n for n, column in table.columns.items() if len(column.levels) > 1 and n != LAYOUT_DEVICES]
    return _sorted_names(sorted(names_with_levels, key=lambda name: name in DESCRIPTIVE), _FIRST_COLUMNS)


def _sorted_names(names: Iterable[str], first: Sequence[str]) -> list[str]:
    return sorted(names, key=lambda name: first.index(name) if name in first else len(first))


def run_json(run: Run, anomaly: str | None) -> dict[str, Any]:
    """Return a run as JSON values, without its environment. ``anomaly``: kind of its outlier, if it is one."""
    values: dict[str, Any] = json_value(msgspec.to_builtins(run))
    del values["environment"]
    bounds = {name: run.metrics[name] for name in (SIMULATED_LOW_S, SIMULATED_HIGH_S) if name in run.metrics}
    return values | bounds | {"anomaly": anomaly}
