"""From a plan to its runs in the order in which they are carried out. Pure.

Configurations are interleaved in ABBA blocks: every repetition visits each configuration once, and every other
repetition in the opposite order, so that a steady drift of the machine weighs on all configurations alike, and
neighbouring visits of one configuration save a restart. The first order is drawn from the plan's seed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.model.plan import Configuration, Plan, WorkloadSpec
from assay.spec import workload_option
from assay.units import parse_bytes


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
    """Return ``workload`` with the factors that are options of it (``terasort.reduces``) set to their levels."""
    own: dict[str, str] = {}
    for name, level in configuration.levels.items():
        varied = workload_option(name, plan.workloads)
        if varied and varied[0] is workload:
            own[varied[1]] = level
    data_bytes = parse_bytes(own.pop("data")) if "data" in own else workload.data_bytes
    return replace(workload, data_bytes=data_bytes, parameters={**workload.parameters, **own})
