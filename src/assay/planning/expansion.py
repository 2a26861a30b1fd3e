"""A plan's configurations: every combination of the factors' levels. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from assay.model.layout import Layout
from assay.model.plan import LAYOUT_FACTOR, NETWORK_FACTOR, WORKERS_FACTOR, Configuration, Factor, Plan
from assay.model.rules import Rules
from assay.planning.workload_section import workload_option


def expand(plan: Plan) -> list[Configuration]:
    """Return the configurations in the plan's order; the last factor varies fastest.

    A level of an engine parameter overrides the plan's parameter; a level of a joined factor overrides all that it
    sets. A level of ``WORKLOAD.option`` stays in ``levels`` alone: it changes the workload, not the configuration (see
    :func:`assay.planning.workload_section.workload_option`).
    """
    configurations = []
    for combination in itertools.product(*(factor.levels for factor in plan.factors)):
        levels = {factor.name: level for factor, level in zip(plan.factors, combination, strict=True)}
        settings = dict(plan.parameters)
        for factor in plan.factors:
            settings |= _settings(factor, levels[factor.name], plan)
        configurations.append(configured(levels, plan.layouts[levels[LAYOUT_FACTOR]], settings, plan.rules))
    return configurations


def configured(levels: Mapping[str, str], layout: Layout, settings: Mapping[str, str], rules: Rules) -> Configuration:
    """Return the configuration in which ``settings`` hold, with the engine's words resolved into its parameters."""
    own = {name: value for name, value in settings.items() if name not in (NETWORK_FACTOR, WORKERS_FACTOR)}
    workers = int(settings[WORKERS_FACTOR]) if WORKERS_FACTOR in settings else None
    return Configuration(dict(levels), layout, rules.parameters(own), settings.get(NETWORK_FACTOR), workers)


def _settings(factor: Factor, level: str, plan: Plan) -> dict[str, str]:
    """Return what a factor's level sets, of what the engine and the cluster have."""
    if factor.settings:
        return factor.settings[level]
    elsewhere = factor.name == LAYOUT_FACTOR or workload_option(factor.name, plan.workloads) is not None
    return {} if elsewhere else {factor.name: level}
