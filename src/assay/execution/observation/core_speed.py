"""Measure the speed of a host's core, relative to the processor of the profile that is shipped with assay.

In: transports. Out: a :class:`CoreSpeed` for each host. A script (``node/core_work.py``) runs a small fixed amount of
work in one thread. The fastest round of each kind of work counts, in CPU seconds, which reduces the influence of other
processes. The speed is the geometric mean over the kinds. Its 90 % interval (Student's t on the logarithms) follows
from the differences between kinds, because a Hadoop task is a different kind of work. The effect of Java's compilers on
different processors is not included.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

from assay.execution.hosts.transport import Transport
from assay.execution.observation.scripts import run_script
from assay.foundation.errors import HostError
from assay.model import CoreSpeed

ROUNDS = 15
"""Number of rounds of each kind of work."""
TIMEOUT_S = 120.0
"""Maximum time of a host's measurement, in seconds."""
REFERENCE_NAME = "AMD EPYC of examples/profiles/lab.yaml"
"""Processor with speed 1, and the file that describes it."""
REFERENCE_S: Mapping[str, float] = {"sort": 0.0731, "count": 0.0221, "checksum": 0.0124, "compress": 0.0099}
"""CPU seconds of the fastest round of each kind on the reference processor: minimum of 21 rounds."""
CONFIDENCE = 0.9
"""Confidence of the interval of a core's speed."""


async def core_speeds(transports: Mapping[str, Transport]) -> list[CoreSpeed]:
    """Measure one core of each host, concurrently. Raises HostError if the script can't run."""

    async def measure(node: str) -> CoreSpeed:
        times_s = await run_script(transports[node], "core_work", {"rounds": ROUNDS}, timeout_s=TIMEOUT_S)
        return core_speed(node, times_s)

    return list(await asyncio.gather(*map(measure, transports)))


def core_speed(node: str, times_s: Mapping[str, Sequence[float]]) -> CoreSpeed:
    """Return the speed from the CPU seconds of the rounds. Raises HostError if a kind of work is missing."""
    missing_kinds = [name for name in REFERENCE_S if not times_s.get(name) or min(times_s[name]) <= 0]
    if missing_kinds:
        hint = "run it again; the host's CPU clock may not advance"
        raise HostError(
            f"no CPU time was measured for: {', '.join(missing_kinds)}", where=f"{node}: core_work", hint=hint
        )
    speed_by_work = {name: reference_s / min(times_s[name]) for name, reference_s in REFERENCE_S.items()}
    from scipy.special import stdtrit  # imported here because the import takes 0.1 s

    logs = [math.log(rate) for rate in speed_by_work.values()]
    half_width = float(stdtrit(len(logs) - 1, (1 + CONFIDENCE) / 2)) * stdev(logs) / math.sqrt(len(logs))
    mean_log = fmean(logs)
    return CoreSpeed(
        node, math.exp(mean_log), math.exp(mean_log - half_width), math.exp(mean_log + half_width), speed_by_work
    )
