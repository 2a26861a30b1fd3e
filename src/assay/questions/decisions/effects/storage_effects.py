"""Compare the effect of an option between storage classes: a faster network can help with SSDs and not with hard disks.

In: a table of runs, their costs and a decision. Out: the effect of the option of the headline on time and cost with
each class, and the workloads on which the effect on time differs.

The layout is equal within a matched group, so the matched groups divide by storage class (``part_effects.py``). Classes
are compared on the clusters and workloads that all of them have, SSDs and hard disks before others. Two classes differ
where Welch's t on the difference of their log ratios has a p value below 5 % after Holm's correction over all pairs of
classes, on every workload of the headline and over them. The errors are taken as independent. Errors from sessions can
be shared, and cancel then: the test is conservative. Verdicts by class are corrected over all classes and workloads,
those on costs by themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from assay.analysis.comparison.factors.derived_factors import with_factors
from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS, DeviceClass, with_device_class
from assay.analysis.comparison.factors.disk_counts import DISKS
from assay.analysis.comparison.matched import LogMean
from assay.analysis.statistics import (
    ABSENT,
    ALPHA,
    Column,
    RunTable,
    Verdict,
    holm_where_known,
    satterthwaite,
    two_sided_p,
)
from assay.analysis.statistics.sessions import SessionVariance
from assay.model import LAYOUT_FACTOR
from assay.questions.decisions.costs.break_even_price import cost_ratio
from assay.questions.decisions.costs.run_costs import RunCosts
from assay.questions.decisions.decision import Decision, StorageEffect, StorageEffects
from assay.questions.decisions.effects.part_effects import OptionPair, clusters_of, rows_by_part
from assay.questions.decisions.headline import OptionRow, over_workloads, time_ratio, time_verdict

_OF_STORAGE = (LAYOUT_FACTOR, DEVICE_CLASS, DISKS)
"""Factors that are storage themselves."""
_COMPARED_CLASSES = (DeviceClass.HARD_DISKS, DeviceClass.SSD)
"""The classes that the question is about."""


def storage_effects_of(
    table: RunTable, decision: Decision, spread: SessionVariance, costs: RunCosts | None = None
) -> StorageEffects | None:
    """Return the effects by storage class; None where fewer than two classes were compared.

    ``costs``: of the runs of ``table``; None: no costs.
    """
    if decision.factor in _OF_STORAGE or " + " in decision.factor or decision.named_option is None:
        return None
    option = decision.named_option.option
    by_class = rows_by_class(table, decision, option, spread, costs)
    if len(by_class) < 2:
        return None
    rows = {(name, row.workload): row for name, class_rows in by_class.items() for row in class_rows}
    workloads = len(rows) // len(by_class)
    if workloads > 1:
        rows |= {(name, ""): over_workloads(class_rows, class_rows[0].option) for name, class_rows in by_class.items()}
    time_p = holm_where_known([row.time.mean.p if row.time else None for row in rows.values()])
    cost_p = holm_where_known([row.cost.mean.p if row.cost else None for row in rows.values()])
    effects = [
        _effect(decision, name, workload, row, p)
        for ((name, workload), row), p in zip(rows.items(), zip(time_p, cost_p, strict=True), strict=True)
    ]
    effects.sort(key=lambda effect: -effect.time.ratio)
    return StorageEffects(option, workloads, _differs_on(rows), tuple(effects))


def _effect(
    decision: Decision, storage: str, workload: str, row: OptionRow, holm_p: tuple[float | None, float | None]
) -> StorageEffect:
    """Return the effect of a row; ``holm_p``: its corrected p values of time and cost."""
    assert row.time is not None
    time = time_ratio(row.time, holm_p[0])
    verdict = time_verdict(time, decision.margin)
    cost = cost_ratio(row.time, row.cost, holm_p[1], enough_runs=verdict is not Verdict.NOT_ENOUGH_RUNS)
    return StorageEffect(storage, workload, verdict, time, cost)


def rows_by_class(
    table: RunTable, decision: Decision, option: str, spread: SessionVariance, costs: RunCosts | None = None
) -> dict[str, list[OptionRow]]:
    """Return the estimates of each storage class, one for each workload of the headline that all classes have.

    SSDs and hard disks are compared where both ran both options. Another class joins only if it has the clusters and
    workloads of these two: it would otherwise narrow their comparison.
    """
    table = with_factors(table, [decision.factor])
    classes = with_device_class(table).columns.get(DEVICE_CLASS)
    if classes is None:
        return {}
    pair = OptionPair(decision.factor, decision.baseline, option, decision.origin or None, decision.lab_scale)

    def rows_of(parts: Column) -> dict[str, list[OptionRow]]:
        return rows_by_part(table, parts, clusters_of(table), pair, decision.headline_workloads, spread, costs)

    all_classes = rows_of(classes)
    if set(classes.levels) <= set(_COMPARED_CLASSES):
        return all_classes
    codes = [classes.code(name) for name in _COMPARED_CLASSES if name in classes.levels]
    main_classes = rows_of(replace(classes, codes=np.where(np.isin(classes.codes, codes), classes.codes, ABSENT)))
    joins = all(_runs_behind(all_classes.get(name, [])) == _runs_behind(rows) for name, rows in main_classes.items())
    return all_classes if len(main_classes) < len(_COMPARED_CLASSES) or joins else main_classes


def _runs_behind(rows: Sequence[OptionRow]) -> list[tuple[str, tuple[int, int]]]:
    """Return the workloads of the rows with their numbers of runs."""
    return [(row.workload, row.time.runs) for row in rows if row.time]


def _differs_on(rows: Mapping[tuple[str, str], OptionRow]) -> tuple[str, ...]:
    """Return the workloads on which two classes differ, the smallest p value first."""
    pairs = [
        (workload, first.time.mean, second.time.mean)
        for ((_, workload), first), ((_, other_workload), second) in combinations(rows.items(), 2)
        if workload == other_workload and first.time and second.time
    ]
    holm_p = holm_where_known([_p_of_difference((first, second)) for _, first, second in pairs])
    known_p = sorted((p, workload) for (workload, _, _), p in zip(pairs, holm_p, strict=True) if p is not None)
    return tuple(dict.fromkeys(workload for p, workload in known_p if p < ALPHA))


def _p_of_difference(means: Sequence[LogMean]) -> float | None:
    first, second = means
    variances = np.array([first.error**2, second.error**2])
    degrees = satterthwaite(variances, np.array([first.degrees, second.degrees]))
    error = float(np.sqrt(variances.sum()))
    return two_sided_p(first.mean - second.mean, error, degrees, first.rounding + second.rounding)
