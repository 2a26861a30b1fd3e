"""A plan's configurations: every combination of the factors' levels. Pure."""

from __future__ import annotations

import itertools

from assay.model.plan import LAYOUT_FACTOR, Configuration, Plan
from assay.spec.workloads import workload_option


def expand(plan: Plan) -> list[Configuration]:
    """Return the configurations in the plan's order; the last factor varies fastest.

    A level of an engine parameter overrides the plan's parameter. A level of ``WORKLOAD.option`` stays in ``levels``
    alone: it changes the workload, not the configuration (see :func:`assay.spec.workload_option`).
    """
    engine_factors = {
        factor.name
        for factor in plan.factors
        if factor.name != LAYOUT_FACTOR and workload_option(factor.name, plan.workloads) is None
    }
    names = [factor.name for factor in plan.factors]
    configurations = []
    for combination in itertools.product(*(factor.levels for factor in plan.factors)):
        levels = dict(zip(names, combination, strict=True))
        overrides = {name: level for name, level in levels.items() if name in engine_factors}
        configurations.append(Configuration(levels, plan.layouts[levels[LAYOUT_FACTOR]], plan.parameters | overrides))
    return configurations
