"""Add uncertainty for configurations beyond the learned range of the profile, and report how far beyond they are.

In: a request. Out: an addition to the standard deviation of a run's log time, and messages with the factors. Pure.
"""

import math

from assay.estimation.simulator.scenario import SimulationRequest

FAR_SIGMA = 0.06
"""Added standard deviation of log time for each doubling beyond the learned range."""
WITHIN_RANGE_FACTOR_MAX = 2.0
"""Maximum factor beyond the learned range for which nothing is added."""


def times_beyond(request: SimulationRequest) -> dict[str, float]:
    """Return how many times data and workers are beyond the learned range; at most 1 within it."""
    learned, workload = request.profile.learned, request.profile.workloads[request.workload]
    workers = request.configuration.workers or len(request.cluster.workers)
    ranges = (
        ("data", request.size.data_bytes, workload.data_bytes_min, workload.data_bytes_max),
        ("workers", workers, learned.workers_min, learned.workers_max),
    )
    return {
        name: max(value / high if high else 1.0, low / value if value else 1.0) for name, value, low, high in ranges
    }


def extrapolation_error(request: SimulationRequest) -> tuple[float, list[str]]:
    """Return the added standard deviation, and a message for data and workers beyond the learned range."""
    sigma, messages = 0.0, []
    for name, factor in times_beyond(request).items():
        if factor > WITHIN_RANGE_FACTOR_MAX:
            sigma += FAR_SIGMA * math.log2(factor)
            messages.append(f"{name}: {factor:,.1f} times the learned range; the interval is wider for it")
    return sigma, messages
