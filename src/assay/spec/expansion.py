"""A plan's configurations: every combination of the factors' levels. Pure."""

from __future__ import annotations

import itertools

from assay.model.plan import LAYOUT_FACTOR, Configuration, Factor, Plan
from assay.spec.settings import configured
from assay.spec.workloads import workload_option


def expand(plan: Plan) -> list[Configuration]:
    """Return the configurations in the plan's order; the last factor varies fastest.

    A level of an engine parameter overrides the plan's parameter; a level of a joined factor overrides all that it
    sets. A level of ``WORKLOAD.option`` stays in ``levels`` alone: it changes the workload, not the configuration (see
    :func:`assay.spec.workload_option`).
    """
    configurations = []
    for combination in itertools.product(*(factor.levels for factor in plan.factors)):
        levels = {factor.name: level for factor, level in zip(plan.factors, combination, strict=True)}
        settings = dict(plan.parameters)
        for factor in plan.factors:
            settings |= _settings(factor, levels[factor.name], plan)
        configurations.append(configured(levels, plan.layouts[levels[LAYOUT_FACTOR]], settings))
    return configurations


def _settings(factor: Factor, level: str, plan: Plan) -> dict[str, str]:
    """Return what a factor's level sets, of what the engine and the cluster have."""
    if factor.settings:
        return factor.settings[level]
    elsewhere = factor.name == LAYOUT_FACTOR or workload_option(factor.name, plan.workloads) is not None
    return {} if elsewhere else {factor.name: level}
