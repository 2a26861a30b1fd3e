"""Scale the CPU of a lab with its workers, for a what-if question.

In: the plans before and after the changes. Out: a factor on the cores of the lab's machine, and the cores before and
after. A lab is a scale model: all its workers share the cores of one machine, and more workers of the described cluster
bring more cores.
"""

from dataclasses import dataclass

from assay.estimation.simulator.scenario_document import ScenarioDocument
from assay.execution.planning.plan_files.changed_plan import only_run
from assay.model import Plan


@dataclass(frozen=True, slots=True)
class LabCores:
    """Cores of a lab's machine, and of the workers that it models."""

    measured: float
    """Cores of the lab's machine in the measured runs."""
    changed: float
    """Cores of the lab's machine in the simulation with the changes."""
    described_measured: int
    """Cores of all described workers as measured."""
    described_changed: int
    """Cores of all described workers with the changes."""


def lab_cores(before: Plan, after: Plan, scenario: ScenarioDocument) -> LabCores | None:
    """Return the cores before and after; None for hosts, and if the changes add and remove no cores.

    ``scenario``: simulates ``before``.
    """
    pool, factor = scenario.cluster.cpu_pool, share_of_lab_cpu(before, after)
    if pool is None or factor == 1:
        return None
    return LabCores(pool.cores, pool.cores * factor, _worker_cores(before), _worker_cores(after))


def share_of_lab_cpu(before: Plan, after: Plan) -> float:
    """Return the factor with which each core of a worker keeps its share of the lab's machine."""
    return _worker_cores(after) / _worker_cores(before)


def _worker_cores(plan: Plan) -> int:
    return sum(worker.type.cores for worker in plan.cluster.using(only_run(plan).configuration.workers).workers)
