"""Draw uncertain inputs: CPU costs from their learned intervals, device and link rates, fixed costs, and placement.

In: a request and a seed. Out: requests with drawn factors, and a seed for the simulator's random choices. A seed gives
the same draws for every request, so that two configurations can be compared draw by draw.
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
"""Assumed standard deviation of the log of a link's rate."""
REPETITION_SIGMA = 0.05
"""Assumed standard deviation of the log of the time between repeated runs."""
_SIGMA_MAX = 0.4
"""Maximum standard deviation of a drawn cost's logarithm."""


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


def draws(profile: CostProfile, count: int, seed: int, core_sigma: float = 0.0) -> Iterator[ParameterDraw]:
    """Yield ``count`` draws; the first uses the central value of every input.

    ``core_sigma``: standard deviation of the log speed of a core. Its draws are separate, so that the other draws are
    the same without it.

    The spread of a small sample differs from the intended spread by chance (for example, 25 % less with 8 draws), and
    every answer uses the same draws. The draws of each input are therefore rescaled to the intended mean and spread.
    """
    rng = random.Random(seed)  # noqa: S311 - draws of a model, no secret
    sigmas = (cpu_sigma(profile), DEVICE_SIGMA, LINK_SIGMA, log_sigma(profile.costs.job_start_s))
    samples = [[rng.gauss(0.0, 1.0) for _ in sigmas] for _ in range(count - 1)]
    columns = [_standardised([values[index] for values in samples]) for index in range(len(sigmas))]
    rng = random.Random(f"{seed}/cores")  # noqa: S311
    cores = _standardised([rng.gauss(0.0, 1.0) for _ in range(count - 1)])
    for number in range(count):
        cpu, *other_factors = (math.exp(sigma * column[number]) for sigma, column in zip(sigmas, columns, strict=True))
        yield ParameterDraw(seed + number, cpu * math.exp(core_sigma * cores[number]), *other_factors)


def _standardised(values: Sequence[float]) -> list[float]:
    """Return 0 followed by the draws, shifted and scaled to mean 0 and standard deviation 1 if there are two or
    more."""
    if len(values) < 2:
        return [0.0, *values]
    mean = fmean(values)
    deviations = [0.0, *(value - mean for value in values)]
    spread = stdev(deviations)
    return [value / spread for value in deviations]


def log_sigma(value: Uncertain) -> float:
    """Return the standard deviation of log values that corresponds to a 90 % interval."""
    if value.value <= 0 or value.high <= value.value:
        return 0.0
    return min(_SIGMA_MAX, math.log(value.high / value.value) / Z90)


def cpu_sigma(profile: CostProfile) -> float:
    """Return the standard deviation of log CPU costs: half the root mean square of their spreads.

    The spread of a cost is the spread between single runs; the mean of many runs is more certain.
    """
    sigmas = [log_sigma(profile.costs.task_cpu_s)]
    sigmas += [
        log_sigma(workload.map_cpu_s_per_byte)
        for workload in profile.workloads.values()
        if workload.map_cpu_s_per_byte.value > 0
    ]
    return math.sqrt(sum(sigma * sigma for sigma in sigmas) / len(sigmas)) / 2
