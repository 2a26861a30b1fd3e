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
    """Return every run of ``plan`` in order: repetitions × configurations × workloads."""
    first = list(configurations)
    random.Random(plan.seed).shuffle(first)  # noqa: S311 - an order, not a secret
    runs: list[PlannedRun] = []
    for block in range(plan.repetitions):
        for configuration in first if block % 2 == 0 else first[::-1]:
            for workload in plan.workloads:
                spec = with_levels(workload, configuration)
                runs.append(PlannedRun(len(runs), configuration, spec, block + 1, block))
    return runs


def with_levels(workload: WorkloadSpec, configuration: Configuration) -> WorkloadSpec:
    """Return ``workload`` with the factors that are options of it (``terasort.reduces``) set to their levels."""
    prefix = f"{workload.name}."
    own = {name.removeprefix(prefix): level for name, level in configuration.levels.items() if name.startswith(prefix)}
    return replace(workload, parameters={**workload.parameters, **own})
