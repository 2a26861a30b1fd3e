"""Hold the runs on which claims are tested, with the class of each workload.

In: a table of runs, the variance between sessions and the costs of runs. Out: one study for each origin and lab scale.
The class of a workload is the declared one; if CPU use was measured, it decides whether the workload is CPU-bound.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.analysis.comparison.details.differences import CPU_LIMIT_SHARE
from assay.analysis.comparison.matched import STRATA
from assay.analysis.statistics import ABSENT, Ints, Mask, RunTable, first_rows, groups_by, has_level, usable
from assay.analysis.statistics.sessions import SessionVariance
from assay.questions.decisions.costs.run_costs import RunCosts
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import Decision, DecisionRequest
from assay.questions.decisions.effects.part_effects import OptionPair
from assay.workloads.catalogue import generates_input, known_name, workloads
from assay.workloads.workload import WorkloadClass


@dataclass(frozen=True)
class Study:
    """The runs of one origin and lab scale, among all runs of a repository."""

    table: RunTable
    """All runs, also those of other origins."""
    origin: str | None
    lab_scale: str | None
    spread: SessionVariance
    costs: RunCosts | None
    """Of the runs of ``table``; None without a price book."""
    classes: tuple[WorkloadClass, ...]
    """The class of each level of the workload."""

    @property
    def name(self) -> str:
        """The origin and lab scale: ``measured, lab scale 0.05``."""
        scale = f", lab scale {self.lab_scale}" if self.lab_scale else ""
        return (self.origin or "origin not known") + scale

    @cached_property
    def runs(self) -> Mask:
        """Which rows of the table are valid runs of this study."""
        runs = usable(self.table)
        for column, level in zip(STRATA, (self.origin, self.lab_scale), strict=True):
            if column in self.table.columns:
                codes = self.table.columns[column].codes
                runs = runs & (has_level(self.table, column, level) if level else codes == ABSENT)
        return runs

    def workloads_of(self, workload_class: WorkloadClass | None) -> list[str]:
        """Return the workloads of a class; all for None. Generated inputs are no workloads of a claim."""
        levels = self.table.columns["workload"].levels
        return [
            name
            for name, class_of_level in zip(levels, self.classes, strict=True)
            if not generates_input(name) and (workload_class is None or class_of_level is workload_class)
        ]

    @cached_property
    def unknown(self) -> tuple[tuple[str, ...], int]:
        """The workloads of unknown class, and the number of their runs."""
        column = self.table.columns["workload"]
        runs = np.bincount(column.codes[self.runs & (column.codes != ABSENT)], minlength=len(column.levels))
        names = self.workloads_of(WorkloadClass.UNKNOWN)
        names_with_runs = tuple(name for name in names if runs[column.code(name)])
        return names_with_runs, int(sum(runs[column.code(name)] for name in names_with_runs))

    def pair(self, factor: str, baseline: str, option: str) -> OptionPair:
        """Return the comparison of two options among the runs of this study."""
        return OptionPair(factor, baseline, option, self.origin, self.lab_scale)

    def decision_on(self, factor: str, matches: Callable[[Decision], bool]) -> Decision | None:
        """Return the first wanted decision on a factor among the runs of this study; None without one."""
        decisions = decide(self.table, DecisionRequest(factor), None, self.spread)
        study_decisions = (
            d for d in decisions if d.family and (d.origin or None, d.lab_scale) == (self.origin, self.lab_scale)
        )
        return next(filter(matches, study_decisions), None)


def studies_of(table: RunTable, spread: SessionVariance, costs: RunCosts | None = None) -> list[Study]:
    """Return one study for each origin and lab scale."""
    if len(table) == 0 or "workload" not in table.columns:
        return []
    names = [name for name in STRATA if name in table.columns]
    strata = groups_by(table, names)
    studies = []
    for stratum, row in enumerate(first_rows(strata)):
        texts = {name: table.columns[name].text(int(row)) for name in names}
        rows = np.flatnonzero((strata.of_row == stratum) & usable(table))
        classes = _classes(table, rows)
        studies.append(Study(table, texts.get("origin"), texts.get("lab_scale"), spread, costs, classes))
    return studies


def _classes(table: RunTable, rows: Ints) -> tuple[WorkloadClass, ...]:
    """Return the class of each level of the workload: by its measured CPU use, or else as declared."""
    column = table.columns["workload"]
    classes = [_declared_class(_program(table, code)) for code in range(len(column.levels))]
    busy_shares = table.values.get("cpu_busy_share")
    if busy_shares is None:
        return tuple(classes)
    measured = rows[np.isfinite(busy_shares[rows]) & (column.codes[rows] != ABSENT)]
    for code in np.unique(column.codes[measured]).tolist():
        if np.median(busy_shares[measured[column.codes[measured] == code]]) > CPU_LIMIT_SHARE:
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
