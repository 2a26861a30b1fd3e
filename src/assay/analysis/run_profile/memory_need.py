"""Compare the memory that processes of a job used with the memory that was requested for each. Pure.

In: the peak memory of each process (map attempt, reduce attempt, executor) in bytes, and the request. Out:
:class:`MemoryNeed`. The risk is the probability that at least one process of the next run of the same job needs more
than a size. The logarithms of the peaks are taken as normal. The peak of a further process then follows Student's t
with n - 1 degrees of freedom, scaled by sqrt(1 + 1/n): the prediction interval of a normal sample. Few processes give a
wide distribution, and so a large size.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

RISK_MAX = 0.01
"""Maximum probability that one process of a run needs more than the smallest sufficient size."""
PROCESSES_MIN = 5
"""Minimum number of processes for a statement about risk."""
SIGMA_MIN = 0.05
"""Minimum standard deviation of log memory: peaks of one run differ less than those of several runs."""
STEP_BYTES = 256 * 2**20
"""Step of sizes."""
SIZE_FACTOR_MAX = 64
"""Maximum sufficient size, as a multiple of the largest peak; a larger one is not stated."""


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """The memory of one kind of process. None: not known."""

    kind: str
    requested_bytes: float | None
    processes: int
    median_bytes: float | None = None
    high_bytes: float | None = None
    """95 % quantile."""
    peak_bytes: float | None = None
    request_risk: float | None = None
    """Probability that a process of the next run needs more than was requested."""
    sufficient_bytes: int | None = None
    """Smallest size with a risk of at most :data:`RISK_MAX`."""
    sufficient_risk: float | None = None


def memory_need(kind: str, peaks_bytes: Sequence[float], requested_bytes: float | None, processes: int) -> MemoryNeed:
    """Return the need of ``processes`` processes of a run; ``peaks_bytes`` may come from several runs."""
    if not peaks_bytes:
        return MemoryNeed(kind, requested_bytes, 0)
    median, high = np.quantile(peaks_bytes, (0.5, 0.95))
    peak_bytes = float(max(peaks_bytes))
    need = MemoryNeed(kind, requested_bytes, len(peaks_bytes), float(median), float(high), peak_bytes)
    if len(peaks_bytes) < PROCESSES_MIN:
        return need
    from scipy.special import stdtr, stdtrit  # imported here because the import takes 0.1 s

    logs = np.log(np.asarray(peaks_bytes, dtype=np.float64))
    count = len(logs)
    spread = max(SIGMA_MIN, float(logs.std(ddof=1))) * math.sqrt(1 + 1 / count)

    def risk(size_bytes: float) -> float:
        probability = float(stdtr(count - 1, (float(logs.mean()) - math.log(size_bytes)) / spread))
        return 1.0 - (1.0 - probability) ** max(1, processes)

    quantile = 1.0 - (1.0 - RISK_MAX) ** (1.0 / max(1, processes))
    log_size = float(logs.mean()) - spread * float(stdtrit(count - 1, quantile))
    sufficient = None
    if log_size < math.log(peak_bytes * SIZE_FACTOR_MAX):
        sufficient = math.ceil(max(math.exp(log_size), peak_bytes) / STEP_BYTES) * STEP_BYTES
    return replace(
        need,
        request_risk=risk(requested_bytes) if requested_bytes else None,
        sufficient_bytes=sufficient,
        sufficient_risk=risk(sufficient) if sufficient else None,
    )
