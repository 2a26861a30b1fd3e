"""Replay a run's attempts with shorter durations, in the same containers and the same order.

In: attempts, and for each worker and second the share of that second that remains if a resource takes no time. Out: the
run time in seconds. An attempt still waits for the same events: the end of the previous attempt in its container, the
maps before a reduce, the job's start. The gap between that event and the attempt's start is shortened like a time in
which nothing ran. A shuffle ends after the last map.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.run_profile.limits.loads import Loads
from assay.analysis.run_profile.phases import jobs_of, task_phases
from assay.analysis.statistics import Floats
from assay.model import Job, Run, TaskAttempt


@dataclass(frozen=True, slots=True)
class _ShrunkWork:
    """Running sums of the remaining time by worker: of work on the worker's devices, and of work on any worker's
    devices."""

    loads: Loads
    local: Floats
    everywhere: Floats

    def local_s(self, node: str, start_s: float, end_s: float) -> float:
        """Return the remaining time of a span in which work waited for the node's own devices only."""
        return self._of(self.local, node, start_s, end_s)

    def remote_s(self, node: str, start_s: float, end_s: float) -> float:
        """Return the remaining time of a span in which work also waited for other workers' devices."""
        return self._of(self.everywhere, node, start_s, end_s)

    def idle_s(self, start_s: float, end_s: float) -> float:
        """Return the remaining time of a span in which nothing ran."""
        return min(self._of(self.everywhere, node, start_s, end_s) for node in self.loads.workers)

    def _of(self, sums: Floats, node: str, start_s: float, end_s: float) -> float:
        if node not in self.loads.workers or end_s <= start_s:
            return max(0.0, end_s - start_s)
        row = sums[self.loads.workers.index(node)]
        low, high = np.interp([start_s, end_s], self.loads.edges_s, row)
        outside_s = max(0.0, end_s - float(self.loads.edges_s[-1])) + max(0.0, -start_s)
        return float(high - low) + outside_s


def replayed_s(run: Run, tasks: Sequence[TaskAttempt], loads: Loads, local: Floats, everywhere: Floats) -> float:
    """Return the run time if only these shares of each second remain on each worker.

    ``local``: shares for work on the worker's devices; ``everywhere``: for work on any worker's devices.
    """
    start = np.zeros((len(loads.workers), 1))
    sums = [np.hstack((start, np.cumsum(part * loads.steps_s, axis=1))) for part in (local, everywhere)]
    shrunk = _ShrunkWork(loads, sums[0], sums[1])
    now_s = previous_end_s = 0.0
    for job in sorted(jobs_of(run, tasks), key=lambda job: job.submit_s):
        attempts = [task for task in tasks if task.job_id == job.job_id] if len(run.jobs) > 1 else list(tasks)
        now_s += shrunk.idle_s(previous_end_s, job.submit_s)
        now_s, previous_end_s = _job_end_s(job, attempts, shrunk, now_s), max(previous_end_s, job.finish_s)
    return now_s + shrunk.idle_s(previous_end_s, run.duration_s)


def _stage(task: TaskAttempt) -> str:
    """Return the stage of an attempt: its kind, or for Spark the number before the first dot."""
    return task.task_id.partition(".")[0] if task.kind not in ("map", "reduce") else task.kind


def _job_end_s(job: Job, attempts: Sequence[TaskAttempt], shrunk: _ShrunkWork, submit_s: float) -> float:
    """Return the end of a job that begins at ``submit_s`` in the replay."""
    ends: dict[str, float] = {}
    # Of each container on a node, the time at which it became free: in the run, and in the replay.
    containers_by_node: dict[str, list[tuple[float, float]]] = {}
    # Of each attempt, its end in the run and in the replay, and its stage.
    ended_attempts: list[tuple[float, float, str]] = []
    local_disks = _maps_read_local_disks(job)
    maps_end_s = max((task.end_s for task in attempts if task.kind == "map"), default=0.0)
    # Maps first: the shuffle of a reduce ends after the last map, on whichever node it ran.
    for task in sorted(attempts, key=lambda task: (task.kind == "reduce", task.start_s, task.attempt_id)):
        events = [(job.submit_s, submit_s)]
        containers = containers_by_node.setdefault(task.node, [])
        free_containers = [container for container in containers if container[0] <= task.start_s]
        if free_containers:
            events.append(max(free_containers))
            containers.remove(max(free_containers))
        events += [(end, now) for end, now, stage in ended_attempts if end <= task.start_s and stage != _stage(task)][
            -1:
        ]
        last_event_s = max(time_s for time_s, _ in events)
        begin_s = max(now for _, now in events) + shrunk.idle_s(last_event_s, task.start_s)
        maps_now_s = max((now for _, now, s in ended_attempts if s == "map"), default=0.0)
        end_s = _end_s(task, begin_s, shrunk, (maps_end_s, maps_now_s), local_disks=local_disks)
        containers.append((task.end_s, end_s))
        if task.status == "succeeded":
            ends[task.attempt_id] = end_s
            ended_attempts.append((task.end_s, end_s, _stage(task)))
            ended_attempts.sort()
    if not ends:
        return submit_s + shrunk.idle_s(job.submit_s, job.finish_s)
    last_s = max(task.end_s for task in attempts if task.status == "succeeded")
    return max(ends.values()) + shrunk.idle_s(last_s, job.finish_s)


def _maps_read_local_disks(job: Job) -> bool:
    """Return whether every map of a job read from the disks of its node, by the job's counters."""
    counters = job.counters.get("org.apache.hadoop.mapreduce.JobCounter", {})
    return 0 < counters.get("TOTAL_LAUNCHED_MAPS", 0) <= counters.get("DATA_LOCAL_MAPS", 0)


def _end_s(
    task: TaskAttempt, begin_s: float, shrunk: _ShrunkWork, maps_end: tuple[float, float], *, local_disks: bool
) -> float:
    """Return the end of an attempt that begins at ``begin_s``; ``maps_end``: end of the last map, in run and replay."""
    now_s, (maps_end_s, maps_now_s) = begin_s, maps_end
    for phase in task_phases(task):
        is_local = phase.name == "merge" or (phase.name == "map" and not task.hdfs_write_bytes and local_disks)
        remaining_s = shrunk.local_s if is_local else shrunk.remote_s
        if phase.name == "shuffle" and phase.end_s >= maps_end_s > phase.start_s:
            now_s = max(now_s, maps_now_s) + remaining_s(task.node, maps_end_s, phase.end_s)
        else:
            now_s += remaining_s(task.node, phase.start_s, phase.end_s)
    return now_s
