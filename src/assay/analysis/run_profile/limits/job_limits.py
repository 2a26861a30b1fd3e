"""Divide the capacity of a job among CPU, garbage collection, waiting and idle slots, and find its skew. Pure.

In: a run that a log describes, with its task attempts and, on Spark, its stages and executors. Out: :class:`JobShares`.
Capacity is slots × the job's time. A slot is a core of an executor, or on MapReduce a container; a log of MapReduce
does not state how many there were, so the largest number of concurrent attempts counts. Times are seconds.

The shares add up to 1: idle is capacity without a task; CPU and garbage collection are what the tasks counted; the rest
of the tasks' time is waiting: for disks, the network, a lock or a core of a machine that others use too.
"""

from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from assay.analysis.statistics.arrays import Floats
from assay.model import Run, TaskAttempt

SKEW_MIN = 2.0
"""Minimum longest task / median task for a group of tasks to count as skewed."""
_TASKS_MIN = 3
"""Minimum number of tasks of a group for its median."""


class JobLimit(StrEnum):
    """The use with the largest share of a job's capacity; for idle capacity, its main cause."""

    CPU = "cpu"
    COLLECTION = "garbage collection"
    WAITING = "waiting"
    DRIVER = "no task"
    SKEW = "skew"
    FEW_TASKS = "few tasks"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TaskSkew:
    """The group of tasks (maps, reduces, or a stage) whose longest task exceeds the median by the most seconds."""

    group: str
    count: int
    median_s: float
    longest_s: float

    @property
    def factor(self) -> float:
        """The longest task / the median task."""
        return self.longest_s / self.median_s if self.median_s > 0 else 1.0


@dataclass(frozen=True, slots=True)
class JobShares:
    """The uses of a job's capacity. A share is None if the log does not record its metric."""

    duration_s: float
    tasks: int
    nodes: int
    slots: int
    slots_stated: bool
    """Whether the log states the slots; False: the largest number of concurrent attempts."""
    idle_share: float
    cpu_share: float | None
    collection_share: float | None
    waiting_share: float | None
    without_tasks_share: float
    """Share of the job's time in which no task ran: the driver, the scheduler, or the start of containers."""
    skew: TaskSkew | None
    limit: JobLimit


def job_shares(run: Run, tasks: Sequence[TaskAttempt]) -> JobShares:
    """Return the shares of a run with at least one task attempt."""
    attempts = _attempt_times(tasks, staged=bool(run.stages))
    busy_s = float(np.maximum(0.0, attempts.end_s - attempts.start_s).sum())
    stated_slots = sum(executor.cores or 0 for executor in run.executors)
    slots = stated_slots or _concurrent(attempts)
    capacity_s = max(slots * run.duration_s, busy_s)
    idle = 1 - busy_s / capacity_s
    cpu = min(attempts.cpu_s, busy_s) / capacity_s if attempts.cpu_s and attempts.cpu_s > 0 else None
    collection = None if attempts.collection_s is None else min(attempts.collection_s, busy_s) / capacity_s
    waiting = None if cpu is None else max(0.0, 1 - idle - cpu - (collection or 0.0))
    without_tasks = 1 - _covered_s(attempts) / run.duration_s
    skew = _skew(attempts.times_s)
    shares = {JobLimit.CPU: cpu, JobLimit.COLLECTION: collection, JobLimit.WAITING: waiting}
    return JobShares(
        duration_s=run.duration_s,
        tasks=attempts.tasks,
        nodes=attempts.nodes,
        slots=slots,
        slots_stated=stated_slots > 0,
        idle_share=idle,
        cpu_share=cpu,
        collection_share=collection,
        waiting_share=waiting,
        without_tasks_share=max(0.0, without_tasks),
        skew=skew,
        limit=_limit(idle, max(0.0, without_tasks), skew, run.duration_s, shares),
    )


def _limit(
    idle: float, without_tasks: float, skew: TaskSkew | None, duration_s: float, shares: dict[JobLimit, float | None]
) -> JobLimit:
    """Return the use with the largest share; if idle capacity has the largest share, its main cause."""
    known_shares = {name: share for name, share in shares.items() if share is not None}
    if JobLimit.CPU not in known_shares and idle < 0.5:
        return JobLimit.UNKNOWN
    largest = max(known_shares, key=lambda name: known_shares[name], default=JobLimit.UNKNOWN)
    if idle <= known_shares.get(largest, 0.0):
        return largest
    straggler_share = (skew.longest_s - skew.median_s) / duration_s if skew and skew.factor >= SKEW_MIN else 0.0
    if without_tasks >= idle / 2 and without_tasks >= straggler_share:
        return JobLimit.DRIVER
    return JobLimit.SKEW if straggler_share >= idle / 2 else JobLimit.FEW_TASKS


@dataclass(frozen=True, slots=True)
class _AttemptTimes:
    """The figures of all attempts from which the shares follow.

    They are read in one pass, because large logs create each attempt when it is read.
    """

    start_s: Floats
    """Starts in ascending order; ``end_s`` has the same order of attempts."""
    end_s: Floats
    cpu_s: float | None
    collection_s: float | None
    times_s: Mapping[str, "array[float]"]
    """Group of tasks to the times of the attempts that succeeded."""
    tasks: int
    nodes: int


def _attempt_times(tasks: Sequence[TaskAttempt], *, staged: bool) -> _AttemptTimes:
    start_s, end_s = array("d"), array("d")
    times_s: defaultdict[str, array[float]] = defaultdict(lambda: array("d"))
    cpu_s = collection_s = None
    task_hashes, nodes = array("q"), set()  # hashes of 64 bits: two of 10 million tasks share one with P < 1e-5
    for task in tasks:
        start_s.append(task.start_s)
        end_s.append(task.end_s)
        task_hashes.append(hash(task.task_id))
        nodes.add(task.node)
        if task.cpu_s is not None:
            cpu_s = (cpu_s or 0.0) + task.cpu_s
        if task.gc_s is not None:
            collection_s = (collection_s or 0.0) + task.gc_s
        if task.status == "succeeded":
            group = f"stage {task.task_id.partition('.')[0]}" if staged else f"{task.kind} tasks"
            times_s[group].append(task.end_s - task.start_s)
    order = np.argsort(start_s, kind="stable")
    return _AttemptTimes(
        start_s=np.asarray(start_s)[order],
        end_s=np.asarray(end_s)[order],
        cpu_s=cpu_s,
        collection_s=collection_s,
        times_s=times_s,
        tasks=len(np.unique(np.asarray(task_hashes))),
        nodes=len(nodes - {""}),
    )


def _concurrent(attempts: _AttemptTimes) -> int:
    """Return the largest number of attempts at one time. An attempt that ends at a time makes room for a start."""
    ended_counts = np.searchsorted(np.sort(attempts.end_s), attempts.start_s, side="right")
    return max(1, int((np.searchsorted(attempts.start_s, attempts.start_s, side="right") - ended_counts).max()))


def _covered_s(attempts: _AttemptTimes) -> float:
    """Return the seconds in which at least one attempt ran."""
    earlier_ends_s = np.concatenate(([-np.inf], np.maximum.accumulate(attempts.end_s)[:-1]))
    return float(np.maximum(0.0, attempts.end_s - np.maximum(attempts.start_s, earlier_ends_s)).sum())


def _skew(times_s: Mapping[str, "array[float]"]) -> TaskSkew | None:
    skews = [
        TaskSkew(group, len(times), float(np.median(times)), max(times))
        for group, times in times_s.items()
        if len(times) >= _TASKS_MIN
    ]
    return max(skews, key=lambda skew: skew.longest_s - skew.median_s, default=None)
