"""Collect the configurations on which claims are tested, each with its mean time, price and class of workload.

In: runs as a table, and the hourly price of each configuration if known. Out: one row per configuration. Runs that
only generate input, such as ``prep_terasort``, do not count. The class of a workload is the declared one; if CPU use
was measured, it decides whether the workload is CPU-bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.comparison.claims.contrasts import CONTRASTS, Contrast
from assay.analysis.comparison.claims.effect_sessions import RunSessions
from assay.analysis.comparison.details.differences import CPU_LIMIT_SHARE
from assay.analysis.comparison.factors.compression import with_compression
from assay.analysis.comparison.matched import session_spread, sessions_in, without_sessions
from assay.analysis.statistics import (
    ABSENT,
    LAYOUT_DEVICES,
    Column,
    Floats,
    Groups,
    Ints,
    Mask,
    RunTable,
    first_rows,
    groups_by,
    means_by,
    offsets_in,
    usable,
    warm_among_cold,
)
from assay.analysis.statistics.sessions import SessionVariance
from assay.workloads.catalogue import generates_input, known_name, workloads
from assay.workloads.workload import WorkloadClass

RateOf = Callable[[RunTable], Floats]
"""Returns the hourly price of each configuration; NaN if unknown."""


@dataclass(frozen=True, slots=True)
class Study:
    """Configurations with the data that claims use; arrays are over configurations."""

    table: RunTable
    log_s: Floats
    """Mean log time of the configuration's runs."""
    variance: Floats
    """Variance of their log times; NaN for a single run."""
    runs: Floats
    log_rate: Floats
    """Logarithm of the hourly price; NaN if unknown."""
    contrasts: Mapping[Contrast, Floats]
    classes: tuple[WorkloadClass, ...]
    """The class of each level of the workload."""
    rounding: Floats
    """Maximum error of each mean log time because times are rounded."""
    sessions: RunSessions

    def of_class(self, wanted: WorkloadClass | None) -> Mask:
        """Return which configurations have a workload of this class; all for None."""
        codes = self.table.columns["workload"].codes
        if wanted is None:
            return np.ones(len(codes), dtype=np.bool_)
        return np.array([*(known is wanted for known in self.classes), False])[codes]

    @property
    def unknown_workloads(self) -> tuple[str, ...]:
        """The workloads of unknown class."""
        column = self.table.columns["workload"]
        present = set(column.codes.tolist())
        return tuple(
            name
            for code, (name, known) in enumerate(zip(column.levels, self.classes, strict=True))
            if known is WorkloadClass.UNKNOWN and code in present
        )

    @property
    def unknown_runs(self) -> int:
        """The number of runs of workloads of unknown class."""
        return int(self.runs[self.of_class(WorkloadClass.UNKNOWN)].sum())


def study_of(table: RunTable, rate_of: RateOf | None = None, spread: SessionVariance | None = None) -> Study:
    """Return the configurations of the runs that count.

    ``rate_of``: the hourly price of each configuration. ``spread``: the variance between sessions; None: estimated from
    these runs.
    """
    table = with_compression(table)
    preparing = np.array([*map(generates_input, table.columns["workload"].levels), False])
    good = usable(table) & ~preparing[table.columns["workload"].codes]
    good &= ~warm_among_cold(table, groups_by(table, [n for n in table.factors if n != "layout"]), good)
    rows = np.flatnonzero(good)
    present, ids = np.unique(groups_by(table, table.factors).of_row[rows], return_inverse=True)
    means = means_by(np.log(table.values["duration_s"][rows]), ids, len(present), offsets_in(table, rows, sides=2))
    example = rows[first_rows(Groups(ids, len(present)))]
    names = [*table.factors, *(n for n in (LAYOUT_DEVICES,) if n in table.columns)]
    configurations = RunTable(
        example, {n: Column(table.columns[n].codes[example], table.columns[n].levels) for n in names}, {}
    )
    unpriced = np.full(len(configurations), np.nan)
    return Study(
        table=configurations,
        log_s=means.mean,
        variance=np.where(means.n > 1, means.variance, np.nan),
        runs=means.n.astype(np.float64),
        log_rate=unpriced if rate_of is None else np.log(rate_of(configurations)),
        contrasts={contrast: contrast.values(configurations) for contrast in CONTRASTS},
        classes=_classes(table, rows),
        rounding=means.rounding,
        sessions=RunSessions(
            ids,
            sessions_in(table, rows),
            table.values["started_unix_s"][rows],
            without_sessions(table)[rows],
            session_spread(table) if spread is None else spread,
        ),
    )


def _classes(table: RunTable, rows: Ints) -> tuple[WorkloadClass, ...]:
    """Return the class of each level of the workload: by its measured CPU use, or else as declared."""
    column = table.columns["workload"]
    classes = [_declared_class(_program(table, code)) for code in range(len(column.levels))]
    busy = table.values.get("cpu_busy_share")
    if busy is None:
        return tuple(classes)
    measured = rows[np.isfinite(busy[rows]) & (column.codes[rows] != ABSENT)]
    for code in np.unique(column.codes[measured]).tolist():
        if np.median(busy[measured[column.codes[measured] == code]]) > CPU_LIMIT_SHARE:
            classes[code] = WorkloadClass.CPU_BOUND
        elif classes[code] is WorkloadClass.CPU_BOUND:
            classes[code] = WorkloadClass.OTHER
    return tuple(classes)


def _declared_class(program: str) -> WorkloadClass:
    workload = workloads().get(known_name(program))
    return workload.workload_class if workload else WorkloadClass.UNKNOWN


def _program(table: RunTable, code: int) -> str:
    """Return the workload that the runs of one level of ``workload`` executed, which a plan can label differently."""
    column = table.columns["workload"]
    row = np.flatnonzero(column.codes == code)[:1]
    for name, options in table.columns.items():
        if name.endswith(".program") and len(row) and (program := options.text(int(row[0]))) is not None:
            return program
    return column.levels[code]
