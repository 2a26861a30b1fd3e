"""Summarise a job's task attempts: waves, stragglers, spills, and a timeline of containers.

In: task attempts (seconds from the run's start). Out: one summary per job and kind of task, and lanes for a timeline.

*Waves* are tasks / maximum concurrent tasks, rounded up: LISA'14 plans its jobs for a single wave. A
*straggler* is a successful attempt that took more than 1.5 times the median of its job and kind, if there are at least
four. The time of a reduce counts from the end of its job's last map, because it can only wait until then. A *lane*
stands for a container: it holds one attempt at a time, so a node has as many lanes as concurrent attempts.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from assay.analysis.run_profile.gated_aggregate import at_once_max
from assay.model import TaskAttempt

STRAGGLER_RATIO = 1.5
"""Minimum duration of a straggler, as a multiple of the median of its job and kind."""
STRAGGLER_TASKS_MIN = 4
"""Minimum number of successful attempts of a job and kind to find stragglers."""
LANES_SHOWN_MAX = 120
"""Maximum number of lanes in a timeline."""
ATTEMPTS_SHOWN_MAX = 1500
"""Maximum number of attempts in a timeline; more are unreadable, so nodes are omitted."""
_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, slots=True)
class Straggler:
    """One attempt that took much longer than the others of its job and kind."""

    attempt_id: str
    node: str
    duration_s: float
    ratio: float
    """Its duration / the median."""


@dataclass(frozen=True, slots=True)
class KindSummary:
    """All attempts of one kind in one job; durations are of successful attempts, None without any."""

    job_id: str
    kind: str
    tasks: int
    attempts: int
    succeeded: int
    failed: int
    killed: int
    at_once_max: int
    waves: int
    median_s: float | None
    longest_s: float | None
    stragglers: tuple[Straggler, ...]
    """The slowest first."""
    hdfs_read_bytes: int
    hdfs_write_bytes: int
    local_read_bytes: int
    local_write_bytes: int
    spilled_records: int | None
    """None if no attempt has the counter. The same for the next two fields."""
    cpu_s: float | None
    gc_s: float | None
    busy_s: float
    """Sum of the durations of all attempts."""


@dataclass(frozen=True, slots=True)
class PlacedTask:
    """One attempt at its position in a timeline; ``lane`` counts from 0 on each node."""

    node: str
    lane: int
    task: TaskAttempt


def summarise_kinds(tasks: Sequence[TaskAttempt]) -> tuple[KindSummary, ...]:
    """Return a summary for each kind of each job, in the order in which they first appear."""
    groups: dict[tuple[str, str], list[TaskAttempt]] = {}
    for task in tasks:
        groups.setdefault((task.job_id, task.kind), []).append(task)
    map_ends: dict[str, float] = {}
    for (job_id, kind), members in groups.items():
        if kind == "map":
            map_ends[job_id] = max((t.end_s for t in members if t.status == "succeeded"), default=-math.inf)
    return tuple(
        _summary(job_id, kind, members, map_ends.get(job_id, -math.inf) if kind == "reduce" else -math.inf)
        for (job_id, kind), members in groups.items()
    )


def _summary(job_id: str, kind: str, attempts: Sequence[TaskAttempt], ready_s: float) -> KindSummary:
    succeeded = [task for task in attempts if task.status == "succeeded"]
    durations = [task.end_s - task.start_s for task in succeeded]
    at_once = at_once_max(attempts)
    tasks = len({task.task_id or task.attempt_id or str(index) for index, task in enumerate(attempts)})
    return KindSummary(
        job_id=job_id,
        kind=kind,
        tasks=tasks,
        attempts=len(attempts),
        succeeded=len(succeeded),
        failed=sum(task.status == "failed" for task in attempts),
        killed=sum(task.status == "killed" for task in attempts),
        at_once_max=at_once,
        waves=math.ceil(tasks / at_once) if at_once else 0,
        median_s=median(durations) if durations else None,
        longest_s=max(durations) if durations else None,
        stragglers=_stragglers(succeeded, ready_s),
        hdfs_read_bytes=sum(task.hdfs_read_bytes for task in attempts),
        hdfs_write_bytes=sum(task.hdfs_write_bytes for task in attempts),
        local_read_bytes=sum(task.local_read_bytes for task in attempts),
        local_write_bytes=sum(task.local_write_bytes for task in attempts),
        spilled_records=_sum_of_known([task.spilled_records for task in succeeded]),
        cpu_s=_sum_of_known([task.cpu_s for task in attempts]),
        gc_s=_sum_of_known([task.gc_s for task in attempts]),
        busy_s=sum(max(0.0, task.end_s - task.start_s) for task in attempts),
    )


def _sum_of_known(values: Sequence[_Number | None]) -> _Number | None:
    known_values = [value for value in values if value is not None]
    return sum(known_values[1:], known_values[0]) if known_values else None


def _stragglers(succeeded: Sequence[TaskAttempt], ready_s: float) -> tuple[Straggler, ...]:
    if len(succeeded) < STRAGGLER_TASKS_MIN:
        return ()
    durations = [max(0.0, task.end_s - max(task.start_s, ready_s)) for task in succeeded]
    median_s = median(durations)
    stragglers = [
        Straggler(task.attempt_id, task.node, duration_s, duration_s / median_s)
        for task, duration_s in zip(succeeded, durations, strict=True)
        if median_s > 0 and duration_s > STRAGGLER_RATIO * median_s
    ]
    return tuple(sorted(stragglers, key=lambda straggler: -straggler.ratio))


def lanes(tasks: Sequence[TaskAttempt]) -> list[PlacedTask]:
    """Return every attempt that took time, in the first free lane of its node; nodes by name."""
    placed_tasks: list[PlacedTask] = []
    node, running_attempts, free_lanes, lane_count = "", list[tuple[float, int]](), list[int](), 0
    for task in sorted((t for t in tasks if t.end_s > t.start_s), key=lambda t: (t.node, t.start_s, t.end_s)):
        if task.node != node or not placed_tasks:
            node, running_attempts, free_lanes, lane_count = task.node, [], [], 0
        while running_attempts and running_attempts[0][0] <= task.start_s:
            heapq.heappush(free_lanes, heapq.heappop(running_attempts)[1])
        lane = heapq.heappop(free_lanes) if free_lanes else lane_count
        lane_count = max(lane_count, lane + 1)
        heapq.heappush(running_attempts, (task.end_s, lane))
        placed_tasks.append(PlacedTask(node, lane, task))
    return placed_tasks


@dataclass(frozen=True, slots=True)
class Timeline:
    """The attempts of the first nodes, by name, that fit one drawing."""

    placed: tuple[PlacedTask, ...]
    nodes: int
    nodes_shown: int


def timeline(tasks: Sequence[TaskAttempt]) -> Timeline:
    """Return the lanes of as many nodes as fit one drawing, at least of one node."""
    placed_tasks = lanes(tasks)
    names = sorted({placed_task.node for placed_task in placed_tasks})
    shown_tasks: list[PlacedTask] = []
    lanes_shown = nodes_shown = 0
    for name in names:
        node_tasks = [placed_task for placed_task in placed_tasks if placed_task.node == name][:ATTEMPTS_SHOWN_MAX]
        lanes_shown += max(placed_task.lane for placed_task in node_tasks) + 1
        if nodes_shown and (lanes_shown > LANES_SHOWN_MAX or len(shown_tasks) + len(node_tasks) > ATTEMPTS_SHOWN_MAX):
            break
        shown_tasks += node_tasks
        nodes_shown += 1
    return Timeline(tuple(shown_tasks), len(names), nodes_shown)
