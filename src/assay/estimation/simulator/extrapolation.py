"""How far is what is asked from what was learned? The further, the less sure; and it is said.

In: what is asked. Out: what that adds to the spread of the logarithm of a run's time, and in words by how much it is
beyond. Pure.
"""

import math

from assay.estimation.simulator.scenario import SimulationRequest

FAR_SIGMA = 0.06
"""What each doubling beyond what was learned adds to the spread."""
BEYOND_MIN = 2.0
"""What is less than this many times beyond is as good as learned."""


def beyond(request: SimulationRequest) -> tuple[float, list[str]]:
    """Return the spread that it adds, and how far each of data and workers lies beyond what was learned."""
    learned, workload = request.profile.learned, request.profile.workloads[request.workload]
    workers = request.configuration.workers or len(request.cluster.workers)
    spans = (
        ("data", request.size.data_bytes, workload.data_bytes_min, workload.data_bytes_max),
        ("workers", workers, learned.workers_min, learned.workers_max),
    )
    sigma, words = 0.0, []
    for name, value, low, high in spans:
        times = max(value / high if high else 1.0, low / value if value else 1.0)
        if times > BEYOND_MIN:
            sigma += FAR_SIGMA * math.log2(times)
            words.append(f"{name}: {times:,.1f} times beyond what was learned; the interval is wider for it")
    return sigma, words
