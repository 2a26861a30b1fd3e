"""Divide the capacity that a job had among CPU, garbage collection, waiting and idle slots, and find its skew. Pure.

In: a run that a log describes, with its task attempts and, on Spark, its stages and executors. Out: :class:`JobShares`.
Capacity is slots × the job's time. A slot is a core of an executor, or on MapReduce a container; a log of MapReduce
does not state how many there were, so the largest number of concurrent attempts counts. Times are seconds.

The shares add up to 1: idle is capacity without a task; CPU and garbage collection are what the tasks counted; the rest
of the tasks' time is waiting: for disks, the network, a lock or a core of a machine that others use too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from assay.model import Run, TaskAttempt

SKEW_MIN = 2.0
"""Minimum longest task / median task for a group of tasks to count as skewed."""
_TASKS_MIN = 3
"""Minimum number of tasks of a group for its median."""


class JobLimit(StrEnum):
    """What most of the capacity of a job went to."""

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
    """Where the capacity of a job went. A share is None if the log does not record its metric."""

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
    busy_s = sum(max(0.0, task.end_s - task.start_s) for task in tasks)
    stated = sum(executor.cores or 0 for executor in run.executors)
    slots = stated or _concurrent(tasks)
    capacity_s = max(slots * run.duration_s, busy_s)
    cpu_s = [task.cpu_s for task in tasks if task.cpu_s is not None]
    collection_s = [task.gc_s for task in tasks if task.gc_s is not None]
    idle = 1 - busy_s / capacity_s
    cpu = min(sum(cpu_s), busy_s) / capacity_s if cpu_s and sum(cpu_s) > 0 else None
    collection = min(sum(collection_s), busy_s) / capacity_s if collection_s else None
    waiting = None if cpu is None else max(0.0, 1 - idle - cpu - (collection or 0.0))
    without = 1 - _covered_s(tasks) / run.duration_s
    skew = _skew(tasks, staged=bool(run.stages))
    shares = {JobLimit.CPU: cpu, JobLimit.COLLECTION: collection, JobLimit.WAITING: waiting}
    return JobShares(
        duration_s=run.duration_s,
        tasks=len({task.task_id for task in tasks}),
        nodes=len({task.node for task in tasks if task.node}),
        slots=slots,
        slots_stated=stated > 0,
        idle_share=idle,
        cpu_share=cpu,
        collection_share=collection,
        waiting_share=waiting,
        without_tasks_share=max(0.0, without),
        skew=skew,
        limit=_limit(idle, max(0.0, without), skew, run.duration_s, shares),
    )


def _limit(
    idle: float, without: float, skew: TaskSkew | None, duration_s: float, shares: dict[JobLimit, float | None]
) -> JobLimit:
    """Return the largest share; of idle capacity its largest cause."""
    known = {name: share for name, share in shares.items() if share is not None}
    if JobLimit.CPU not in known and idle < 0.5:
        return JobLimit.UNKNOWN
    largest = max(known, key=lambda name: known[name], default=JobLimit.UNKNOWN)
    if idle <= known.get(largest, 0.0):
        return largest
    straggling = (skew.longest_s - skew.median_s) / duration_s if skew and skew.factor >= SKEW_MIN else 0.0
    if without >= idle / 2 and without >= straggling:
        return JobLimit.DRIVER
    return JobLimit.SKEW if straggling >= idle / 2 else JobLimit.FEW_TASKS


def _concurrent(tasks: Sequence[TaskAttempt]) -> int:
    """Return the largest number of attempts at one time."""
    changes = sorted([(task.start_s, 1) for task in tasks] + [(task.end_s, -1) for task in tasks])
    running = most = 0
    for _, change in changes:
        running += change
        most = max(most, running)
    return max(1, most)


def _covered_s(tasks: Sequence[TaskAttempt]) -> float:
    """Return the seconds in which at least one attempt ran."""
    covered_s, until_s = 0.0, float("-inf")
    for start_s, end_s in sorted((task.start_s, task.end_s) for task in tasks):
        covered_s += max(0.0, end_s - max(start_s, until_s))
        until_s = max(until_s, end_s)
    return covered_s


def _skew(tasks: Sequence[TaskAttempt], *, staged: bool) -> TaskSkew | None:
    groups: dict[str, list[float]] = {}
    for task in tasks:
        if task.status == "succeeded":
            group = f"stage {task.task_id.partition('.')[0]}" if staged else f"{task.kind} tasks"
            groups.setdefault(group, []).append(task.end_s - task.start_s)
    skews = [
        TaskSkew(group, len(times_s), median(times_s), max(times_s))
        for group, times_s in groups.items()
        if len(times_s) >= _TASKS_MIN
    ]
    return max(skews, key=lambda skew: skew.longest_s - skew.median_s, default=None)
