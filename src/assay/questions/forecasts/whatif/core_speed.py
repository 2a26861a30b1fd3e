"""Compare the cores of an instance type with those of measured workers, for a what-if question.

In: measured runs, and changes with ``worker.type``. Out: :class:`CoreSpeedUncertainty`, of the core speed, and
the assumptions in words. No catalogue lists relative core speeds. Between processors of one architecture, it is
assumed to be 1 with a wide interval. Between architectures it is not known: the question has to state it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.estimation.simulator.error_model import Z90
from assay.execution.planning.plan_files.rented_workers import CORE_SPEED, rented_type
from assay.foundation.errors import SpecificationError
from assay.model import Run
from assay.model.runs.environment import NodeFacts
from assay.text import joined

SPEED_RATIO_HIGH = 1.6
"""Upper end of the assumed 90 % interval of the ratio of two core speeds; the lower end is its reciprocal."""
_SAME_NAMES = {"aarch64": "arm64", "amd64": "x86_64"}


@dataclass(frozen=True, slots=True)
class CoreSpeedUncertainty:
    """The uncertainty of the core speed of rented workers, relative to the measured workers."""

    sigma: float = 0.0
    """Standard deviation of its logarithm; 0: stated, or the workers are not rented."""
    assumptions: tuple[str, ...] = ()


def core_speed_uncertainty(runs: Sequence[Run], changes: Mapping[str, str]) -> CoreSpeedUncertainty:
    """Return the uncertainty of the core speed. Raises SpecificationError if the ratio is not known."""
    instance = rented_type(changes)
    if instance is None:
        return CoreSpeedUncertainty()
    assumptions = [f"{instance.name}: its network has its baseline rate, and bursts are not counted"]
    if instance.burstable and instance.cpu_baseline is None:
        assumptions.append(f"{instance.name}: the CPU credits last for the whole job")
    assumptions.append("engine parameters stay as measured; --set containers=N fits them to the workers")
    if CORE_SPEED in changes:
        return CoreSpeedUncertainty(0.0, tuple(assumptions))
    architectures = measured_architectures(runs)
    if architectures != {instance.architecture}:
        recorded_models = (
            f"were measured on {joined(sorted(architectures))}" if architectures else "do not record their architecture"
        )
        raise SpecificationError(
            f"the speed of a core of {instance.name} ({instance.architecture}) relative to the measured cores is not "
            f"known: the runs {recorded_models}",
            where="worker.type",
            hint=f"state the ratio, measured or published: --set {CORE_SPEED}=RATIO",
        )
    interval = f"90 % interval {1 / SPEED_RATIO_HIGH:.2g} to {SPEED_RATIO_HIGH:g} times"
    assumptions.append(
        f"a core of {instance.name} is as fast as a measured core (assumed; {interval}); "
        f"--set {CORE_SPEED}=RATIO states it"
    )
    return CoreSpeedUncertainty(math.log(SPEED_RATIO_HIGH) / Z90, tuple(assumptions))


def measured_architectures(runs: Sequence[Run]) -> set[str]:
    """Return the recorded processor architectures of the nodes."""
    names = (NodeFacts.of(node).architecture for run in runs for node in run.environment.get("nodes", {}).values())
    return {_SAME_NAMES.get(name, name) for name in names if name}
