"""Draw uncertain inputs: CPU costs from their learned intervals, device and link rates, fixed costs, and placement.

In: a request and a seed. Out: requests with drawn factors, and a seed for the simulator's random choices.
A seed gives the same draws for every request, so that draws of two configurations are pairs.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from assay.estimation.simulator.error_model import Z90
from assay.estimation.simulator.scenario import SimulationRequest
from assay.model import CostProfile, Uncertain

DEVICE_SIGMA = 0.04
"""Relative spread of a device's bandwidth between repeated fio runs (docs/how-to/calibrate-a-disk.md)."""
LINK_SIGMA = 0.03
SCATTER_SIGMA = 0.05
"""Standard deviation of log time between repeated runs."""
_SIGMA_MAX = 0.4


@dataclass(frozen=True, slots=True)
class ParameterDraw:
    """One draw: factors, and the simulator's seed."""

    seed: int
    cpu: float
    disks: float
    links: float
    fixed: float

    def of(self, request: SimulationRequest) -> SimulationRequest:
        """Return ``request`` with this draw's factors."""
        return replace(request, cpu=self.cpu, disks=self.disks, links=self.links, fixed=self.fixed)


def draws(profile: CostProfile, count: int, seed: int) -> Iterator[ParameterDraw]:
    """Yield ``count`` draws; the first has the middle of every input.

    So few draws scatter by chance less or more than they stand for (8 of one seed by a quarter less), and every answer
    has the same ones. So each uncertain thing's draws are stretched to its own middle and spread.
    """
    chance = random.Random(seed)  # noqa: S311 - draws of a model, no secret
    sigmas = (cpu_sigma(profile), DEVICE_SIGMA, LINK_SIGMA, spread_of(profile.costs.job_start_s))
    drawn = [[chance.gauss(0.0, 1.0) for _ in sigmas] for _ in range(count - 1)]
    columns = [_stretched([values[at] for values in drawn]) for at in range(len(sigmas))]
    for number in range(count):
        yield ParameterDraw(
            seed + number, *(math.exp(sigma * column[number]) for sigma, column in zip(sigmas, columns, strict=True))
        )


def _stretched(drawn: Sequence[float]) -> list[float]:
    """Return 0 and draws around it with a standard deviation of 1 in total, for two or more draws."""
    if len(drawn) < 2:
        return [0.0, *drawn]
    middle = fmean(drawn)
    apart = [0.0, *(value - middle for value in drawn)]
    spread = stdev(apart)
    return [value / spread for value in apart]


def spread_of(value: Uncertain) -> float:
    """Return the standard deviation of log values that an interval corresponds to."""
    if value.value <= 0 or value.high <= value.value:
        return 0.0
    return min(_SIGMA_MAX, math.log(value.high / value.value) / Z90)


def cpu_sigma(profile: CostProfile) -> float:
    """Return how sure the CPU of a task is: the costs of many runs stand for each other, so less than any of them."""
    parts = [spread_of(profile.costs.task_cpu_s)]
    parts += [
        spread_of(workload.map_cpu_s_per_byte)
        for workload in profile.workloads.values()
        if workload.map_cpu_s_per_byte.value > 0
    ]
    return math.sqrt(sum(part * part for part in parts) / len(parts)) / 2
