"""Make a plan for ``assay run`` of the runs to make next, or of those that a cell of the coverage map lacks.

In: configurations as runs record them, and a base plan, which sets cluster, data, workload options and parameters where
the configurations do not. Out: a checked plan of exactly these combinations, and the number of configurations left out
for each reason.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.execution.planning.expansion import expand, workload_option
from assay.execution.planning.order import schedule
from assay.execution.planning.plan_files.plan_reader import plan_of_content
from assay.execution.planning.plan_files.plan_text import content_of
from assay.execution.planning.plan_files.settings import setting_names
from assay.foundation.errors import SpecificationError
from assay.model import COMPRESSION, LAYOUT_FACTOR, WORKLOAD, Plan
from assay.specs.document import Value
from assay.specs.fields import DOTTED
from assay.specs.layouts import fitting_codes

ABSENT_LEVEL = "none"
CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class NextPlan:
    """A plan, and the configurations that it leaves out."""

    plan: Plan
    runs: int
    left_out: Mapping[str, int]
    """Reason to number of configurations."""
    notices: tuple[str, ...]


def next_plan(
    configurations: Sequence[Mapping[str, str]], base: Plan, name: str = "next", repetitions: int = 1
) -> NextPlan:
    """Return the plan of these configurations. Raises SpecificationError if ``base`` can run none of them."""
    left_out: Counter[str] = Counter()
    notices: dict[str, None] = {}
    accepted_levels: list[dict[str, str]] = []
    for configuration in configurations:
        levels = _in_plan_terms(configuration, base, notices)
        if isinstance(levels, str):
            left_out[levels] += 1
        elif levels not in accepted_levels:
            accepted_levels.append(levels)
    if not accepted_levels:
        why = "; ".join(f"{count}: {reason}" for reason, count in left_out.items())
        raise SpecificationError(f"none of these configurations can be run by the plan {base.name}: {why}")
    while accepted_levels:
        try:
            plan = _plan_of(accepted_levels, base, name, repetitions)
        except SpecificationError:
            refusals = _refusals(accepted_levels, base, name)
            if not refusals:
                raise
            for at, reason in sorted(refusals.items(), reverse=True):
                left_out[reason] += 1
                accepted_levels.pop(at)
            if not accepted_levels:
                raise
            continue
        break
    return NextPlan(plan, len(schedule(plan, expand(plan))), dict(left_out), tuple(notices))


def _refusals(accepted_levels: Sequence[dict[str, str]], base: Plan, name: str) -> dict[int, str]:
    refusals = {}
    for at, levels in enumerate(accepted_levels):
        try:
            _plan_of([levels], base, name, 1)
        except SpecificationError as error:
            refusals[at] = error.message
    return refusals


def _in_plan_terms(configuration: Mapping[str, str], base: Plan, notices: dict[str, None]) -> dict[str, str] | str:
    """Return a configuration in the names and levels of plans, or the reason why ``base`` can't run it."""
    plan_names = (WORKLOAD, CLUSTER, LAYOUT_FACTOR, *setting_names(base.rules))
    named_levels = {
        name: level for name, level in configuration.items() if name in plan_names or re.fullmatch(DOTTED, name)
    }
    levels = {name: level for name, level in named_levels.items() if level != ABSENT_LEVEL or name == COMPRESSION}
    try:
        levels, translation_notices = base.rules.settings_of(levels)
    except SpecificationError as error:
        return error.message
    notices |= dict.fromkeys(translation_notices)
    if (cluster := levels.pop(CLUSTER, base.cluster.name)) != base.cluster.name:
        notices[f"the plan makes the runs on {base.cluster.name}; they were chosen for {cluster}"] = None
    only_workload = base.workloads[0].key if len(base.workloads) == 1 else ""
    levels[WORKLOAD] = workload = levels.get(WORKLOAD, only_workload).replace("_", "-")
    if workload not in [spec.key for spec in base.workloads]:
        return f"the plan {base.name} has no workload {workload or 'named'}"
    layout = levels.get(LAYOUT_FACTOR)
    if layout is not None and layout not in (*base.layouts, *fitting_codes(base.cluster.workers[0].type)):
        return f"{base.cluster.name} has no layout {layout}"
    if "network" in levels and levels["network"] not in base.cluster.networks and not base.cluster.lab:
        notices[f"{base.cluster.name} has no network {levels.pop('network')} to choose"] = None
    return levels


def _plan_of(accepted_levels: Sequence[Mapping[str, str]], base: Plan, name: str, repetitions: int) -> Plan:
    names = list(dict.fromkeys(name for levels in accepted_levels for name in levels if name != WORKLOAD))
    varied_names = [name for name in names if len({levels.get(name) for levels in accepted_levels}) > 1]
    fixed_levels = {name: accepted_levels[0][name] for name in names if name not in varied_names}
    complete_levels = [levels for levels in accepted_levels if all(name in levels for name in varied_names)]
    if len(complete_levels) < len(accepted_levels):
        missing_name = next(name for levels in accepted_levels for name in varied_names if name not in levels)
        raise SpecificationError(f"some of these configurations say {missing_name}, others do not")
    workload_keys = {levels[WORKLOAD] for levels in accepted_levels}
    content = content_of(replace(base, workloads=tuple(spec for spec in base.workloads if spec.key in workload_keys)))
    parameters = dict(_first_levels(base))
    layout = fixed_levels.pop(LAYOUT_FACTOR, None)
    if layout is None and LAYOUT_FACTOR not in varied_names:
        layout = next(f.levels[0] for f in base.factors if f.name == LAYOUT_FACTOR)
    parameters |= fixed_levels
    for factor in names:
        parameters = _without_rivals(parameters, factor, base.rules.shorthands)
    parameters = {key: value for key, value in parameters.items() if key not in varied_names}
    factors: dict[str, Value] = {
        factor: list(dict.fromkeys(levels[factor] for levels in accepted_levels)) for factor in varied_names
    }
    for key in ("until", "layout", "only"):
        content.pop(key, None)
    new_content: dict[str, Value] = {
        "plan": name,
        "parameters": {**parameters},
        "factors": factors,
        "repetitions": str(repetitions),
    }
    content |= new_content
    content["only"] = [{key: levels[key] for key in (WORKLOAD, *varied_names)} for levels in accepted_levels]
    if layout is not None:
        content["layout"] = layout
    content = {key: value for key, value in content.items() if value}
    return plan_of_content(content, base.cluster, base.cluster_source, {base.engine: base.rules, **base.varied_engines})


def _first_levels(base: Plan) -> dict[str, str]:
    """Return the plan's parameters, with its factors at their first levels."""
    levels = dict(base.parameters)
    for factor in base.factors:
        level = factor.levels[0]
        if factor.settings:
            levels |= factor.settings[level]
        elif factor.name != LAYOUT_FACTOR and workload_option(factor.name, base.workloads) is None:
            levels[factor.name] = level
    return levels


def _without_rivals(parameters: dict[str, str], name: str, shorthands: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the parameters that do not conflict with ``name``.

    A shorthand conflicts with the engine parameters that it sets.
    """
    rivals = {shorthand for shorthand, targets in shorthands.items() if name in targets}
    rivals |= {*shorthands.get(name, ())}
    return {key: value for key, value in parameters.items() if key not in rivals}
