"""Compute the least time of a run if one kind of resource cost no time.

In: a run, its attempts, the loads of its workers. Out: a :class:`Bound` in seconds for disks, network and CPU.

It is a form of blocked-time analysis (K. Ousterhout et al., "Making Sense of Performance in Data Analytics
Frameworks", NSDI 2015): each attempt is shortened by the time in which it can have waited for a resource, and the
attempts are replayed in the same containers in the same order. Hadoop does not record how long an attempt waited, so
its maximum is used: the time in which the resource was busy, without the time that the *other* resources needed for
their work in that second. For the CPU, only the tasks' CPU time counts, spread over each attempt: daemons and a lab's
disks use CPU for the whole run, which would hide what faster disks save. A bound is therefore too large rather than too
small, as long as data, placement and order stay the same. A faster run can have another placement and fuller page
caches: docs/measurements/limits.md has how often a bound is beaten.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.run_profile.limits.loads import DISKS, Loads, Resource, overlap_s
from assay.analysis.run_profile.limits.replay import replayed_s
from assay.analysis.statistics import Floats
from assay.model import Run, TaskAttempt

RESOURCES_OF_BOUND = {"disks": DISKS, "network": (Resource.NETWORK,), "cpu": (Resource.CPU,)}
"""Name of the hardware that a bound makes infinitely fast, and its resources."""
BOUND_ERROR_RATE = "Of 500 simulated runs, 6 to 7 % exceeded a bound by 10 % or more when the resource was made faster."
"""Counted by ``benchmarks/limit_errors.py``; docs/measurements/limits.md has the tables."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The minimum run time if one kind of resource were infinitely fast."""

    freed: str
    least_s: float
    gain_max: float
    """The maximum speedup: duration of the run / ``least_s``."""


def bounds_of(run: Run, tasks: Sequence[TaskAttempt], loads: Loads) -> tuple[Bound, ...]:
    """Return the bound of each kind of hardware whose load was observed."""
    bounds = []
    for name, resources in RESOURCES_OF_BOUND.items():
        if not any(resource in loads.shares for resource in resources):
            continue
        least_s = min(run.duration_s, replayed_s(run, tasks, loads, *_remaining_shares(run, tasks, loads, resources)))
        bounds.append(Bound(name, least_s, run.duration_s / least_s if least_s > 0 else float("inf")))
    return tuple(bounds)


def _remaining_shares(
    run: Run, tasks: Sequence[TaskAttempt], loads: Loads, freed: Sequence[Resource]
) -> tuple[Floats, Floats]:
    """Return the share of each second that remains on each worker if ``freed`` takes no time.

    The first array is for work that can only have waited for devices of the same worker, the second for work that can
    have waited for devices of any worker.
    """
    zero = np.zeros((len(loads.workers), len(loads.edges_s) - 1))
    busy_share = np.max([zero, *(loads.shares[resource] for resource in freed if resource in loads.shares)], axis=0)
    if Resource.CPU in freed:
        busy_share = np.maximum(busy_share, loads.waiting_for_cpu)
    needed_shares = dict(loads.shares) | (
        {Resource.CPU: _task_cpu(run, tasks, loads)} if Resource.CPU in loads.shares else {}
    )
    other_share = np.max([zero, *(share for resource, share in needed_shares.items() if resource not in freed)], axis=0)
    return np.maximum(1 - busy_share, other_share), np.maximum(1 - busy_share.max(axis=0, keepdims=True), other_share)


def _task_cpu(run: Run, tasks: Sequence[TaskAttempt], loads: Loads) -> Floats:
    """Return the attempts' CPU time as a share of the node's CPU, or in a lab of the machine's."""
    cpu_s = np.zeros_like(loads.waiting_for_cpu)
    for task in tasks:
        duration_s = task.end_s - task.start_s
        if task.cpu_s and duration_s > 0 and task.node in loads.workers:
            rows = slice(None) if run.lab_scale is not None else loads.workers.index(task.node)
            cpu_s[rows] += overlap_s(loads.edges_s, task.start_s, task.end_s) * (task.cpu_s / duration_s)
    share: Floats = cpu_s / loads.steps_s / np.maximum(loads.cores, 1.0)[:, None]
    return np.minimum(share, loads.shares[Resource.CPU])
