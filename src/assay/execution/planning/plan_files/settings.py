"""Check a plan's settings: engine parameters, and shorthands for groups of parameters.

``network`` and ``workers`` choose a part of the cluster. The engine's :class:`~assay.model.plans.rules.Rules` turn
shorthands (``containers``, ``compression``) into parameters. Each setting can be a factor, be joined with others under
a factor's level, or hold for all runs. In: text as written. Out: mistakes with their locations.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.execution.planning.expansion import workload_option
from assay.foundation.units import parse_bit_rate
from assay.model import (
    NETWORK_FACTOR,
    WORKERS_FACTOR,
    Cluster,
    Configuration,
    Factor,
    Placement,
    Plan,
    Rules,
    WorkloadSpec,
)
from assay.specs.document import Location, Problems
from assay.specs.fields import DOTTED, unknown
from assay.workloads.catalogue import workloads

ValueLocation = tuple[Location, str, str]
"""The location of a setting, its name, and its value as text."""


def setting_names(rules: Rules) -> tuple[str, ...]:
    """Return the names, other than engine parameters, that a plan of this engine can set."""
    return (NETWORK_FACTOR, WORKERS_FACTOR, *rules.shorthands)


def value_locations(parameters: Mapping[str, str], factors: Sequence[Factor]) -> list[ValueLocation]:
    """Return all settings of a plan with their locations, in file order, layouts and workload options included."""
    locations: list[ValueLocation] = [(("parameters", name), name, value) for name, value in parameters.items()]
    for factor in factors:
        location: Location = ("factors", factor.name)
        if not factor.settings:
            locations += [((*location, index), factor.name, level) for index, level in enumerate(factor.levels)]
        for level, settings in factor.settings.items():
            locations += [((*location, level, name), name, value) for name, value in settings.items()]
    return locations


def complete_parameters(
    stated_parameters: Mapping[str, str], factors: Sequence[Factor], cluster: Cluster, rules: Rules
) -> dict[str, str]:
    """Return the parameters of all runs, with the engine's additions for the fewest workers of any run."""
    worker_counts = [value for _, name, value in value_locations(stated_parameters, factors) if name == WORKERS_FACTOR]
    workers = min(
        [len(cluster.workers), *(int(number) for number in worker_counts if re.fullmatch("[1-9][0-9]{0,8}", number))]
    )
    return rules.with_required_settings(stated_parameters, workers)


def check_settings(
    parameters: Mapping[str, str],
    factors: Sequence[Factor],
    plan_workloads: Sequence[WorkloadSpec],
    cluster: Cluster,
    rules: Rules,
    problems: Problems,
) -> None:
    """Report unknown names, invalid values, and settings that are given twice. Factors of a workload's option are not
    settings."""
    settings_factors = [factor for factor in factors if not _is_of_workload(factor, plan_workloads)]
    locations = value_locations(parameters, settings_factors)
    names = {name for _, name, _ in locations}
    for location, name, value in locations:
        is_joined = location[0] == "factors" and isinstance(location[-1], str)
        is_known = name in setting_names(rules) or re.fullmatch(DOTTED, name)
        if not is_known and (is_joined or location[0] == "parameters"):
            message = unknown("setting", name, setting_names(rules))
            problems.add(location, f"{message}, or an engine parameter such as dfs.blocksize")
        mistake = _mistake(name, value, cluster) or rules.setting_mistake(name, value, cluster)
        if mistake:
            problems.add(location, f"{name}: {mistake}")
        shorthand = next(
            (shorthand for shorthand, targets in rules.shorthands.items() if name in targets and shorthand in names),
            None,
        )
        if shorthand:
            problems.add(location, f"{name} is also set by {shorthand!r}; write one of the two")
    _check_once(factors, problems)


def _is_of_workload(factor: Factor, plan_workloads: Sequence[WorkloadSpec]) -> bool:
    """Return whether a factor varies an option of a workload, also of an unknown one."""
    names_workload = factor.name.partition(".")[0] in workloads()
    return not factor.settings and (names_workload or workload_option(factor.name, plan_workloads) is not None)


def _check_once(factors: Sequence[Factor], problems: Problems) -> None:
    factor_by_setting: dict[str, str] = {}
    for factor in factors:
        settings = dict.fromkeys(name for level in factor.settings.values() for name in level)
        for name in settings if factor.settings else [factor.name]:
            if name in factor_by_setting:
                problems.add(
                    ("factors", factor.name), f"{name} is set by the factor {factor_by_setting[name]!r} already"
                )
            factor_by_setting.setdefault(name, factor.name)


def _mistake(name: str, value: str, cluster: Cluster) -> str | None:
    """Return the mistake in a choice of a part of the cluster; None for a valid choice, and for other names."""
    if name == NETWORK_FACTOR:
        return _network_mistake(value, cluster)
    workers_max = len(cluster.workers)
    if name == WORKERS_FACTOR and (not re.fullmatch(r"[1-9][0-9]{0,8}", value) or int(value) > workers_max):
        return (
            f"{value[:20]!r} is not a number of workers from 1 to {workers_max}, which the cluster has; "
            "`assay whatif --set workers.count=N` simulates more"
        )
    return None


def _network_mistake(value: str, cluster: Cluster) -> str | None:
    if value in cluster.networks:
        return None
    if cluster.placement is Placement.LOCAL:
        return "a cluster on this machine has no networks"
    if cluster.placement is Placement.LAB:
        try:
            return None if parse_bit_rate(value) > 0 else "a link's rate must be more than 0"
        except ValueError as error:
            return f"{error}; or name one of the cluster's networks: {', '.join(cluster.networks) or 'it has none'}"
    return f"{unknown('network', value, cluster.networks)}; the cluster file describes them under 'networks'"


def check_configurations(plan: Plan, configurations: Sequence[Configuration], problems: Problems) -> None:
    """Report configurations whose parameters together make jobs fail or wait forever."""
    locations = value_locations(plan.parameters, plan.factors)
    written_names = [name for _, name, _ in locations if workload_option(name, plan.workloads) is None]
    _check_restarts(plan, configurations, problems)
    for configuration in configurations:
        workers = configuration.workers or len(plan.cluster.workers)
        for mistake in plan.rules_of(configuration).mistakes(
            configuration.parameters, plan.cluster, workers, written_names
        ):
            location = _location_of(mistake.names, configuration, locations, plan.rules)
            problems.add(location, f"{mistake.reason} ({configuration.key})")
            return


def _check_restarts(plan: Plan, configurations: Sequence[Configuration], problems: Problems) -> None:
    """Report a factor that needs a restart of daemons on an attached cluster; a folder's storage policy needs none."""
    if plan.cluster.attached is None:
        return
    by_engine_and_key: dict[str, dict[str, Configuration]] = {}
    for configuration in configurations:
        configuration_without_layout = replace(
            configuration, layout=replace(configuration.layout, name="", policy=None)
        )
        key = plan.rules_of(configuration).deployment_key(configuration_without_layout, plan.cluster)
        by_engine_and_key.setdefault(configuration.engine, {})[key] = configuration
    for by_key in by_engine_and_key.values():
        if len(by_key) > 1:
            first_configuration, second_configuration = list(by_key.values())[:2]
            names = [
                name
                for name in second_configuration.levels
                if first_configuration.levels.get(name) != second_configuration.levels[name]
            ]
            text = "needs daemons to be restarted or reconfigured, but assay does not manage them (provider: attached)"
            problems.add(("factors", *names[:1]), f"{' or '.join(names)} {text}")
            return


def _location_of(
    names: Sequence[str], configuration: Configuration, locations: Sequence[ValueLocation], rules: Rules
) -> Location:
    """Return where the first of ``names`` is set for this configuration, by itself or by a shorthand."""
    for name in names:
        spellings = [name, *(shorthand for shorthand, targets in rules.shorthands.items() if name in targets)]
        matches = [location for location in locations if location[1] in spellings and _applies(location, configuration)]
        if matches:
            return matches[-1][0]
    return ("factors",)


def _applies(location: ValueLocation, configuration: Configuration) -> bool:
    path, _, value = location
    if path[0] == "parameters":
        return True
    level = configuration.levels.get(str(path[1]))
    return level == (path[2] if isinstance(path[2], str) else value)
