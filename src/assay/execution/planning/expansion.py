"""Expand a plan into configurations: every combination of the factors' levels. Pure.

In: a plan. Out: its configurations, each with levels, layout and engine parameters.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping

from assay.model import (
    ENGINE_FACTOR,
    LAYOUT_FACTOR,
    NETWORK_FACTOR,
    WORKERS_FACTOR,
    Configuration,
    Factor,
    Layout,
    Plan,
    Rules,
    WorkloadSpec,
)
from assay.workloads.catalogue import workloads

_COMMON_OPTIONS = ("data", "data_per_node", "waves")
"""Options of every workload that a factor can vary."""


def expand(plan: Plan) -> list[Configuration]:
    """Return the configurations in the plan's order; the last factor varies fastest.

    A level of an engine parameter overrides the plan's parameter; a level of a joined factor overrides all parameters
    that it sets. A level of ``WORKLOAD.option`` is only in ``levels``, because it changes the workload and not the
    configuration (see :func:`workload_option`).
    """
    configurations = []
    for levels in _combinations(plan):
        settings = dict(plan.parameters)
        for factor in plan.factors:
            settings |= _settings(factor, levels[factor.name], plan)
        configurations.append(configuration_of(levels, plan.layouts[levels[LAYOUT_FACTOR]], settings, plan.rules))
    return configurations


def _combinations(plan: Plan) -> Iterator[dict[str, str]]:
    """Yield every combination of levels; with ``only``, the combinations that it names."""
    names = [factor.name for factor in plan.factors]
    if plan.only and all(set(names) <= only_levels.keys() for only_levels in plan.only):
        level_tuples = dict.fromkeys(tuple(only_levels[name] for name in names) for only_levels in plan.only)
        yield from (dict(zip(names, levels, strict=True)) for levels in level_tuples)
        return
    named_levels = [{name: level for name, level in only_levels.items() if name in names} for only_levels in plan.only]
    for combination in itertools.product(*(factor.levels for factor in plan.factors)):
        levels = dict(zip(names, combination, strict=True))
        if not named_levels or any(only_levels.items() <= levels.items() for only_levels in named_levels):
            yield levels


def configuration_of(
    levels: Mapping[str, str], layout: Layout, settings: Mapping[str, str], rules: Rules
) -> Configuration:
    """Return the configuration with ``settings``, which ``rules`` converts into engine parameters."""
    parameters = {name: value for name, value in settings.items() if name not in (NETWORK_FACTOR, WORKERS_FACTOR)}
    workers = int(settings[WORKERS_FACTOR]) if WORKERS_FACTOR in settings else None
    engine = levels.get(ENGINE_FACTOR, "")
    return Configuration(
        dict(levels), layout, rules.parameters(parameters), settings.get(NETWORK_FACTOR), workers, engine
    )


def _settings(factor: Factor, level: str, plan: Plan) -> dict[str, str]:
    """Return the engine and cluster settings of a factor's level."""
    if factor.settings:
        return factor.settings[level]
    sets_no_parameter = (
        factor.name in (LAYOUT_FACTOR, ENGINE_FACTOR) or workload_option(factor.name, plan.workloads) is not None
    )
    return {} if sets_no_parameter else {factor.name: level}


def workload_option(factor: str, plan_workloads: Iterable[WorkloadSpec]) -> tuple[WorkloadSpec, str] | None:
    """Return the workload and the option that a factor ``WORKLOAD.option`` varies; None for any other factor.

    ``WORKLOAD`` is the key of one of ``plan_workloads``: its label if it has one, else its name. A factor that begins
    with this key is an engine parameter if the rest is not an option of the workload.
    """
    key, _, option = factor.partition(".")
    return next(
        (
            (workload, option)
            for workload in plan_workloads
            if workload.key == key and _has_option(workload.name, option)
        ),
        None,
    )


def _has_option(workload: str, option: str) -> bool:
    return option in _COMMON_OPTIONS or any(declared.name == option for declared in workloads()[workload].options)
