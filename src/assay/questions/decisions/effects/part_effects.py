"""Estimate the effect of one option on parts of the runs: with each storage class, or under each side of a condition.

In: a table of runs, the factor with its baseline and option, and the part of each run. Out: for each part, one row for
each workload (time and cost), by the estimator of every decision (``analysis/comparison/option_estimates.py``).

The sessions of the runs are those of all runs, so that runs of another part do not end a session. Whether a session
alternates between the options follows from the runs of the part alone: runs of another part do not balance a drift
(``benchmarks/storage_effect_errors.py``, design *crossed*).

Parts are compared in equal settings only: clusters, for example, that ran both options with every part.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.comparison.matched import STRATA, match
from assay.analysis.comparison.option_estimates import OptionEstimates
from assay.analysis.statistics import ABSENT, Column, Ints, Mask, RunTable, has_level, usable
from assay.analysis.statistics.sessions import SessionVariance
from assay.questions.decisions.costs.run_costs import RunCosts
from assay.questions.decisions.headline import OptionRow


@dataclass(frozen=True, slots=True)
class OptionPair:
    """A comparison of one option with the baseline, among runs of one origin and lab scale."""

    factor: str
    baseline: str
    option: str
    origin: str | None
    lab_scale: str | None


def rows_by_workload(
    table: RunTable, rows: Ints, pair: OptionPair, spread: SessionVariance, costs: RunCosts | None = None
) -> dict[str, OptionRow]:
    """Return the estimate of each workload that has an interval, from some rows of ``table``.

    ``costs``: of all rows of ``table``; None: no costs.
    """
    runs = table.subset(rows)
    levels = runs.columns[pair.factor].levels
    if not len(runs) or not {pair.baseline, pair.option} <= set(levels):
        return {}
    options = levels.index(pair.baseline), levels.index(pair.option)
    time_estimates = OptionEstimates.of(match(runs, pair.factor, spread=spread))
    cost_estimates = None
    if costs is not None:
        cost_estimates = OptionEstimates.of(
            match(costs.priced(table).subset(rows), pair.factor, spread=spread), time_estimates
        )
    by_workload = {}
    for stratum in range(len(time_estimates.strata.counts)):
        stratum_levels = time_estimates.strata.levels(runs, stratum)
        if tuple(stratum_levels.get(column) for column in STRATA) != (pair.origin, pair.lab_scale):
            continue
        estimate = time_estimates.between(stratum, *options)
        if estimate is not None and estimate.mean.p is not None:
            workload, cost = (
                stratum_levels["workload"] or "",
                cost_estimates.between(stratum, *options) if cost_estimates else None,
            )
            by_workload[workload] = OptionRow(stratum, workload, options[1], estimate, cost)
    return by_workload


def rows_by_part(
    table: RunTable,
    parts: Column,
    settings: Ints,
    pair: OptionPair,
    workloads: Sequence[str],
    spread: SessionVariance,
    costs: RunCosts | None = None,
) -> dict[str, list[OptionRow]]:
    """Return the rows of each part (a level of ``parts``), one for each of ``workloads`` that all parts have.

    They are of the settings that ran both options with every part. Empty where the parts share no workload.
    """
    column = table.columns[pair.factor]
    is_valid = usable(table)
    for name, level in zip(STRATA, (pair.origin, pair.lab_scale), strict=True):
        if level is not None:
            is_valid &= has_level(table, name, level)
    baseline, option = (is_valid & (column.codes == column.code(level)) for level in (pair.baseline, pair.option))
    is_in_part = {name: parts.codes == code for code, name in enumerate(parts.levels)}
    is_shared = np.isin(settings, _shared_settings(list(is_in_part.values()), (baseline, option), settings))
    by_part = {
        name: rows
        for name, mask in is_in_part.items()
        if (rows := rows_by_workload(table, np.flatnonzero(mask & is_shared), pair, spread, costs))
    }
    common_workloads = [name for name in workloads if all(name in rows for rows in by_part.values())]
    return (
        {name: [rows[workload] for workload in common_workloads] for name, rows in by_part.items()}
        if common_workloads
        else {}
    )


def _shared_settings(parts: Sequence[Mask], sides: tuple[Mask, Mask], settings: Ints) -> Ints:
    """Return the settings that have both sides with every part that has both sides anywhere."""
    by_part = [np.intersect1d(settings[part & sides[0]], settings[part & sides[1]]) for part in parts]
    nonempty_settings = [part_settings for part_settings in by_part if len(part_settings)]
    shared_settings = nonempty_settings[0] if nonempty_settings else settings[:0]
    for part_settings in nonempty_settings[1:]:
        shared_settings = np.intersect1d(shared_settings, part_settings)
    return shared_settings


def clusters_of(table: RunTable) -> Ints:
    """Return the cluster of each run as its setting; equal for all runs that record none."""
    column = table.columns.get("cluster")
    return np.full(len(table), ABSENT) if column is None else column.codes.astype(np.int64)
