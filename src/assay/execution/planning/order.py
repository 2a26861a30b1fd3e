"""Order the runs of a plan. Pure.

In: a plan and its configurations. Out: a list of :class:`PlannedRun` in the order of execution.

Configurations with the same layout and the same daemon parameters form a group: a change within a group needs no
restart. Every repetition visits each group once, and in it each configuration once. Every second repetition has the
opposite order (ABBA). A steady drift of the machine then affects all configurations equally, and a block begins with
the group that ended the previous block. The first order is drawn from the plan's seed.

Therefore B blocks over G groups start the daemons 1 + B × (G − 1) times. No order that visits every configuration once
per block needs fewer starts: within a block, each group but the first needs a start.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from assay.execution.planning.expansion import workload_option
from assay.foundation.units import parse_bytes
from assay.model import WORKLOAD, Configuration, Plan, WorkloadSpec
from assay.workloads.catalogue import workloads

_REDUCES = "reduces"
"""Option with the number of reduce tasks. The other options that ``waves`` sets are numbers of map tasks."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A planned run. ``block``: number of its pass over all configurations, from 0."""

    index: int
    configuration: Configuration
    workload: WorkloadSpec
    repetition: int
    block: int
    at_most_s: float | None = None
    """Time after which a search stops the run as too slow, in seconds; None: only the plan's limit applies."""

    @property
    def key(self) -> tuple[str, str, int]:
        """The key that identifies the planned run in its campaign."""
        return (self.workload.key, self.configuration.key, self.repetition)

    @property
    def title(self) -> str:
        """Text for progress: ``terasort on layout=HD2, repetition 1``."""
        return f"{self.workload.key} on {self.configuration.key}, repetition {self.repetition}"


def first_block(plan: Plan, configurations: Sequence[Configuration]) -> list[Configuration]:
    """Return the configurations in the order of the first block: groups in random order, and random order in each
    group."""
    groups: dict[str, list[Configuration]] = {}
    for configuration in configurations:
        groups.setdefault(plan.rules.deployment_key(configuration, plan.cluster), []).append(configuration)
    generator = random.Random(plan.seed)  # noqa: S311 - an order, not a secret
    shuffled_groups = list(groups.values())
    generator.shuffle(shuffled_groups)
    for group in shuffled_groups:
        generator.shuffle(group)
    return [configuration for group in shuffled_groups for configuration in group]


def schedule(plan: Plan, configurations: Sequence[Configuration]) -> list[PlannedRun]:
    """Return every run of ``plan`` in order: repetitions × configurations × workloads.

    With ``until``, the maximum number of repetitions is scheduled; see :mod:`assay.execution.planning.next_run`.
    """
    first_order = first_block(plan, configurations)
    runs: list[PlannedRun] = []
    for block in range(plan.until.at_most if plan.until else plan.repetitions):
        for configuration in first_order if block % 2 == 0 else first_order[::-1]:
            for workload in plan.workloads:
                if _applies_to(plan, workload, configuration) and _is_selected(plan, workload, configuration):
                    spec = with_levels(plan, workload, configuration)
                    runs.append(PlannedRun(len(runs), configuration, spec, block + 1, block))
    return runs


def restarts(
    runs: Iterable[PlannedRun], plan: Plan, running_configuration: Configuration | None = None
) -> list[str | None]:
    """Return for each run why the daemons (re)start before it, as text; None if they keep running.

    ``running_configuration``: the configuration of the running daemons. An attached cluster's daemons are never
    restarted.
    """
    reasons: list[str | None] = []
    for run in runs:
        reasons.append(
            None if plan.cluster.attached else _restart_reason(running_configuration, run.configuration, plan)
        )
        running_configuration = run.configuration
    return reasons


def _restart_reason(
    previous_configuration: Configuration | None, configuration: Configuration, plan: Plan
) -> str | None:
    if previous_configuration is None:
        return f"start with layout {configuration.layout.name}"
    rules = plan.rules
    if rules.deployment_key(previous_configuration, plan.cluster) == rules.deployment_key(configuration, plan.cluster):
        return None
    changes = (
        [f"layout {previous_configuration.layout.name} → {configuration.layout.name}"]
        if previous_configuration.layout != configuration.layout
        else []
    )
    if previous_configuration.workers != configuration.workers:
        changes.append(f"workers {previous_configuration.workers or 'all'} → {configuration.workers or 'all'}")
    if previous_configuration.network != configuration.network:
        changes.append(f"network {previous_configuration.network or 'default'} → {configuration.network or 'default'}")
    old_parameters, new_parameters = previous_configuration.parameters, configuration.parameters
    different_names = [
        name
        for name in sorted({*old_parameters, *new_parameters})
        if old_parameters.get(name) != new_parameters.get(name)
    ]
    changed_names = [name for name in different_names if not rules.job_can_set(name)]
    parameter_changes = [
        f"{name} {old_parameters.get(name, 'default')} → {new_parameters.get(name, 'default')}"
        for name in changed_names
    ]
    return ", ".join([*changes, *parameter_changes])


def _applies_to(plan: Plan, workload: WorkloadSpec, configuration: Configuration) -> bool:
    """Return whether ``workload`` runs in this configuration. It ignores the options of other workloads, so it runs
    only at their first level."""
    for factor in plan.factors:
        varied_option = workload_option(factor.name, plan.workloads)
        if varied_option and varied_option[0] is not workload and configuration.levels[factor.name] != factor.levels[0]:
            return False
    return True


def _is_selected(plan: Plan, workload: WorkloadSpec, configuration: Configuration) -> bool:
    """Return whether ``only`` names the combination, or the plan runs all combinations."""
    levels = {**configuration.levels, WORKLOAD: workload.key}
    return not plan.only or any(only_levels.items() <= levels.items() for only_levels in plan.only)


def with_levels(plan: Plan, workload: WorkloadSpec, configuration: Configuration) -> WorkloadSpec:
    """Return ``workload`` as it runs in ``configuration``: with the levels of its options (``terasort.reduces``),
    its data for the workers in use, and its waves converted to numbers of tasks."""
    option_levels: dict[str, str] = {}
    for name, level in configuration.levels.items():
        varied_option = workload_option(name, plan.workloads)
        if varied_option and varied_option[0] is workload:
            option_levels[varied_option[1]] = level
    workers = configuration.workers or len(plan.cluster.workers)
    total_bytes = parse_bytes(option_levels.pop("data")) if "data" in option_levels else None
    per_node_bytes = (
        parse_bytes(option_levels.pop("data_per_node"))
        if "data_per_node" in option_levels
        else workload.data_per_node_bytes
    )
    data_bytes = total_bytes or (per_node_bytes * workers if per_node_bytes else workload.data_bytes)
    options = {**workload.parameters, **option_levels}
    if "waves" in options:
        options |= _task_counts(plan, workload.name, int(options["waves"]), configuration)
    return replace(workload, data_bytes=data_bytes, parameters=options)


def _task_counts(plan: Plan, workload: str, waves: int, configuration: Configuration) -> dict[str, str]:
    """Return the numbers of tasks that make ``waves`` waves on the workers in use."""
    workers = configuration.workers or len(plan.cluster.workers)

    def tasks(option: str) -> int:
        kind = "reduce" if option == _REDUCES else "map"
        return plan.rules_of(configuration).tasks_of_a_wave(configuration.parameters, kind, workers)

    return {option: str(waves * tasks(option)) for option in workloads()[workload].wave_options}
