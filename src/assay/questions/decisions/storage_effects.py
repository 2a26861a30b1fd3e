"""Compare the effect of an option between storage classes: a faster network can help with SSDs and not with hard disks.

In: a table of runs and a decision. Out: the effect of the option of the headline with each class, where it differs.

The layout is equal within a matched group, so the matched groups divide by storage class. Two classes differ where
Welch's t on the difference of their log ratios has a p value below 5 % after Holm's correction over all pairs of
classes, on every shared workload and over them. The errors are taken as independent. Errors from sessions can be
shared, and cancel then: the test is conservative. Verdicts by class are corrected over all classes and workloads.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from assay.analysis.comparison.factors.derived_factors import with_factors
from assay.analysis.comparison.factors.device_classes import DEVICE_CLASS, with_device_class
from assay.analysis.comparison.factors.disk_counts import DISKS
from assay.analysis.comparison.matched import STRATA, LogMean, match
from assay.analysis.comparison.option_estimates import OptionEstimates, PairEstimate
from assay.analysis.statistics import ALPHA, RunTable, holm_where_known, satterthwaite, two_sided_p
from assay.analysis.statistics.sessions import SessionVariance
from assay.model import LAYOUT_FACTOR
from assay.questions.decisions.decision import Decision, StorageEffect, StorageEffects
from assay.questions.decisions.headline import mean_of, time_ratio, time_verdict

_OF_STORAGE = (LAYOUT_FACTOR, DEVICE_CLASS, DISKS)
"""Factors that are storage themselves."""


def storage_effects_of(table: RunTable, decision: Decision, spread: SessionVariance) -> StorageEffects | None:
    """Return the effects by storage class; None where they are not shown to differ, or one class was compared."""
    option = headline_option(decision)
    if decision.factor in _OF_STORAGE or " + " in decision.factor or option is None:
        return None
    by_class = _by_class(table, decision, option, spread)
    workloads = [name for name in decision.shared_workloads if all(name in parts for parts in by_class.values())]
    if len(by_class) < 2 or not workloads:
        return None
    estimates = {(name, workload): parts[workload] for name, parts in by_class.items() for workload in workloads}
    if len(workloads) > 1:
        estimates |= {
            (name, ""): mean_of([parts[workload] for workload in workloads]) for name, parts in by_class.items()
        }
    differs_on = _differs_on(estimates)
    if not differs_on:
        return None
    holm_p = holm_where_known([estimate.mean.p for estimate in estimates.values()])
    times = [time_ratio(estimate, p) for estimate, p in zip(estimates.values(), holm_p, strict=True)]
    effects = [
        StorageEffect(name, workload, time_verdict(time, decision.margin), time)
        for (name, workload), time in zip(estimates, times, strict=True)
    ]
    effects.sort(key=lambda effect: -effect.time.ratio)
    return StorageEffects(option, len(workloads), differs_on, tuple(effects))


def headline_option(decision: Decision) -> str | None:
    """Return the option that a headline names: the leader, or else the first compared option; None without one."""
    compared = [option.option for option in decision.options if option.time]
    return decision.leader if decision.leader in compared else next(iter(compared), None)


def _by_class(
    table: RunTable, decision: Decision, option: str, spread: SessionVariance
) -> dict[str, dict[str, PairEstimate]]:
    """Return the estimates with an interval by storage class and workload."""
    table = with_factors(table, [decision.factor])
    classes = with_device_class(table).columns.get(DEVICE_CLASS)
    if classes is None:
        return {}
    wanted = (decision.origin or None, decision.lab_scale)
    by_class: dict[str, dict[str, PairEstimate]] = {}
    for code, name in enumerate(classes.levels):
        of_class = table.subset(np.flatnonzero(classes.codes == code))
        levels = of_class.columns[decision.factor].levels
        if not len(of_class) or not {option, decision.baseline} <= set(levels):
            continue
        options = levels.index(decision.baseline), levels.index(option)
        estimates = OptionEstimates.of(match(of_class, decision.factor, spread=spread))
        for stratum in range(len(estimates.strata.counts)):
            stratum_levels = estimates.strata.levels(of_class, stratum)
            workload = stratum_levels["workload"] or ""
            if tuple(stratum_levels.get(column) for column in STRATA) != wanted:
                continue
            estimate = estimates.between(stratum, *options)
            if workload in decision.shared_workloads and estimate is not None and estimate.mean.p is not None:
                by_class.setdefault(name, {})[workload] = estimate
    return by_class


def _differs_on(estimates: Mapping[tuple[str, str], PairEstimate]) -> tuple[str, ...]:
    """Return the workloads on which two classes differ, the smallest p value first."""
    pairs = [
        (workload, estimates[first, workload].mean, estimates[second, workload].mean)
        for (first, workload), (second, other) in combinations(estimates, 2)
        if workload == other
    ]
    holm_p = holm_where_known([_p_of_difference((first, second)) for _, first, second in pairs])
    known = sorted((p, workload) for (workload, _, _), p in zip(pairs, holm_p, strict=True) if p is not None)
    return tuple(dict.fromkeys(workload for p, workload in known if p < ALPHA))


def _p_of_difference(means: Sequence[LogMean]) -> float | None:
    first, second = means
    variances = np.array([first.error**2, second.error**2])
    degrees = satterthwaite(variances, np.array([first.degrees, second.degrees]))
    error = float(np.sqrt(variances.sum()))
    return two_sided_p(first.mean - second.mean, error, degrees, first.rounding + second.rounding)
