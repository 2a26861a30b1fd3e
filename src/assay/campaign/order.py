"""From a plan to its runs in the order in which they are carried out. Pure.

Configurations are interleaved in ABBA blocks: every repetition visits each configuration once, and every other
repetition in the opposite order, so that a steady drift of the machine weighs on all configurations alike, and
neighbouring visits of one configuration save a restart. The first order is drawn from the plan's seed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.model.containers import MAP_MEMORY, REDUCE_MEMORY, tasks_of_a_wave
from assay.model.plan import Configuration, Plan, WorkloadSpec
from assay.spec import workload_option
from assay.spec.workloads import waved_options
from assay.units import parse_bytes

_MEMORY = {"files": MAP_MEMORY, "maps": MAP_MEMORY, "reduces": REDUCE_MEMORY}


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run to be made. ``block`` numbers the visit of all configurations that it is compared within."""

    index: int
    configuration: Configuration
    workload: WorkloadSpec
    repetition: int
    block: int

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells planned runs of one campaign apart."""
        return (self.workload.key, self.configuration.key, self.repetition)

    @property
    def title(self) -> str:
        """``terasort on layout=HD2, repetition 1``."""
        return f"{self.workload.key} on {self.configuration.key}, repetition {self.repetition}"


def schedule(plan: Plan, configurations: Sequence[Configuration]) -> list[PlannedRun]:
    """Return every run of ``plan`` in order: repetitions × configurations × workloads.

    With ``until`` these are as many repetitions as there may be; see :func:`assay.campaign.journal.wanted`.
    """
    first = list(configurations)
    random.Random(plan.seed).shuffle(first)  # noqa: S311 - an order, not a secret
    runs: list[PlannedRun] = []
    for block in range(plan.until.at_most if plan.until else plan.repetitions):
        for configuration in first if block % 2 == 0 else first[::-1]:
            for workload in plan.workloads:
                if _concerned(plan, workload, configuration):
                    spec = with_levels(plan, workload, configuration)
                    runs.append(PlannedRun(len(runs), configuration, spec, block + 1, block))
    return runs


def _concerned(plan: Plan, workload: WorkloadSpec, configuration: Configuration) -> bool:
    """Say whether ``workload`` runs here: a factor that varies another workload's option is run at its first level."""
    for factor in plan.factors:
        varied = workload_option(factor.name, plan.workloads)
        if varied and varied[0] is not workload and configuration.levels[factor.name] != factor.levels[0]:
            return False
    return True


def with_levels(plan: Plan, workload: WorkloadSpec, configuration: Configuration) -> WorkloadSpec:
    """Return ``workload`` as it runs in ``configuration``: the factors that are options of it (``terasort.reduces``) at
    their levels, its data for the workers in use, and its waves counted in tasks.
    """
    own: dict[str, str] = {}
    for name, level in configuration.levels.items():
        varied = workload_option(name, plan.workloads)
        if varied and varied[0] is workload:
            own[varied[1]] = level
    workers = configuration.workers or len(plan.cluster.workers)
    whole = parse_bytes(own.pop("data")) if "data" in own else None
    each = parse_bytes(own.pop("data_per_node")) if "data_per_node" in own else workload.data_per_node_bytes
    data_bytes = whole or (each * workers if each else workload.data_bytes)
    options = {**workload.parameters, **own}
    if "waves" in options:
        options |= _in_waves(workload.name, int(options["waves"]), configuration, workers)
    return replace(workload, data_bytes=data_bytes, parameters=options)


def _in_waves(workload: str, waves: int, configuration: Configuration, workers: int) -> dict[str, str]:
    """Return the numbers of tasks that take ``waves`` waves on ``workers`` nodes."""
    return {
        option: str(waves * tasks_of_a_wave(configuration.parameters, _MEMORY[option], workers))
        for option in waved_options(workload)
    }
