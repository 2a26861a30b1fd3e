"""Divide a run's time among phases, so that the parts add up to the whole.

In: a run with its jobs and task attempts (seconds from the run's start). Out: seconds by phase, and the number of tasks
in each phase over time, as in the execution charts of ALOJA (BSC 2015, figure 2).

An attempt is in **map**, or in **shuffle**, **merge** and then **reduce**; a failed or killed attempt is **waste**.
Spark's attempts are in a phase of their kind. A moment without a running attempt is **setup** (before a job's first
attempt), **cleanup** (after its last) or **overhead**: between attempts, and outside of jobs (start of the client, gaps
between jobs). Phases overlap, because reducers copy while other maps still run; then the time is divided among the
phases in proportion to their running attempts.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from assay.model import Job, Phase, Run, TaskAttempt

ORDER = ("overhead", "setup", "map", "shuffle", "merge", "reduce", "waste", "cleanup")
"""Hadoop's phases in the order in which a job goes through them; others (Spark's) come before ``waste``."""
WITHOUT_TASKS = ("setup", "cleanup", "overhead")


@dataclass(frozen=True, slots=True)
class PhaseTime:
    """One phase of a job or run, in seconds. ``share_s`` of all phases add up to the whole time."""

    name: str
    start_s: float
    """Start of the first attempt in it; ``end_s``: end of the last."""
    end_s: float
    active_s: float
    """Time with at least one attempt in it."""
    alone_s: float
    """Time in which it was the only phase."""
    share_s: float
    """``alone_s`` plus the phase's part of the time that it shared with other phases."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Time in which exactly these phases ran concurrently."""

    names: tuple[str, ...]
    duration_s: float


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The time from ``start_s`` to ``end_s``, divided among phases."""

    start_s: float
    end_s: float
    phases: tuple[PhaseTime, ...]
    overlaps: tuple[Overlap, ...]
    """The longest first."""

    @property
    def duration_s(self) -> float:
        """The divided time, in seconds."""
        return self.end_s - self.start_s

    def share_s(self, name: str) -> float:
        """Return a phase's part of the time; 0 without this phase."""
        return next((phase.share_s for phase in self.phases if phase.name == name), 0.0)


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Number of attempts in a phase, on average over each step that begins at ``t_s``."""

    phase: str
    t_s: tuple[float, ...]
    tasks: tuple[float, ...]


def rank(name: str) -> tuple[int, str]:
    """Return a phase's sort key in :data:`ORDER`."""
    return (ORDER.index(name), "") if name in ORDER else (ORDER.index("waste") - 1, name)


def task_phases(task: TaskAttempt) -> Iterator[Phase]:
    """Yield the phases of one attempt. Time of a reduce without recorded shuffle and merge counts as reduce."""
    if task.status != "succeeded":
        yield Phase("waste", task.start_s, task.end_s)
    elif task.kind != "reduce":
        yield Phase(task.kind, task.start_s, task.end_s)
    else:
        copy_end_s = _within(task.shuffle_end_s, task.start_s, task.end_s)
        merge_end_s = _within(task.merge_end_s, copy_end_s, task.end_s)
        yield Phase("shuffle", task.start_s, copy_end_s)
        yield Phase("merge", copy_end_s, merge_end_s)
        yield Phase("reduce", merge_end_s, task.end_s)


def _within(time_s: float | None, low_s: float, high_s: float) -> float:
    return low_s if time_s is None else min(max(time_s, low_s), high_s)


def jobs_of(run: Run, tasks: Sequence[TaskAttempt]) -> tuple[Job, ...]:
    """Return the run's jobs; if none is recorded, one job with the duration of the phases, or of the run.

    Empty if only the run's duration is known.
    """
    if run.jobs or not (tasks or run.phases):
        return run.jobs
    ends = [phase.end_s for phase in run.phases] or [run.duration_s]
    start_s = min((phase.start_s for phase in run.phases), default=0.0)
    job_ids = {task.job_id for task in tasks}
    name = job_ids.pop() if len(job_ids) == 1 else ""
    maps, reduces = (len({t.task_id or t.attempt_id for t in tasks if t.kind == kind}) for kind in ("map", "reduce"))
    return (
        Job(
            job_id=name,
            name="",
            status="",
            submit_s=start_s,
            launch_s=None,
            finish_s=max(ends),
            maps=maps,
            reduces=reduces,
        ),
    )


def phases_of_run(run: Run, tasks: Sequence[TaskAttempt]) -> Breakdown:
    """Return how the run's duration is divided, over all its jobs; no phases if no job is known."""
    attempts, jobs = _attempts(run, tasks), [(job.submit_s, job.finish_s) for job in jobs_of(run, tasks)]
    return divide(attempts, jobs, 0.0, run.duration_s) if jobs else Breakdown(0.0, run.duration_s, (), ())


def phases_of_job(job: Job, tasks: Sequence[TaskAttempt]) -> Breakdown:
    """Return how the time from a job's submission to its end is divided; ``tasks``: of this job."""
    attempts = [phase for task in tasks for phase in task_phases(task)]
    return divide(attempts, [(job.submit_s, job.finish_s)], job.submit_s, job.finish_s)


def _attempts(run: Run, tasks: Sequence[TaskAttempt]) -> list[Phase]:
    if tasks:
        return [phase for task in tasks for phase in task_phases(task)]
    return [phase for phase in run.phases if phase.name not in WITHOUT_TASKS]


def _cut(phases: Sequence[Phase], start_s: float, end_s: float) -> list[Phase]:
    # Most phases need no cut. Copying each of a million attempts would take most of the time.
    cut_phases = (
        phase
        if start_s <= phase.start_s and phase.end_s <= end_s
        else Phase(phase.name, max(phase.start_s, start_s), min(phase.end_s, end_s))
        for phase in phases
    )
    return [phase for phase in cut_phases if phase.end_s > phase.start_s]


def _idle_phases(attempts: Sequence[Phase], jobs: Sequence[tuple[float, float]]) -> list[Phase]:
    """Return setup and cleanup of each job: the time before its first and after its last attempt."""
    idle_phases = []
    for submit_s, finish_s in jobs:
        in_job = _cut(attempts, submit_s, finish_s)
        first_s = min((phase.start_s for phase in in_job), default=finish_s)
        last_s = max((phase.end_s for phase in in_job), default=finish_s)
        idle_phases += [Phase("setup", submit_s, first_s), Phase("cleanup", last_s, finish_s)]
    return idle_phases


def divide(attempts: Sequence[Phase], jobs: Sequence[tuple[float, float]], start_s: float, end_s: float) -> Breakdown:
    """Divide the time from ``start_s`` to ``end_s`` among the phases of ``attempts``, one entry per attempt and phase.

    ``jobs``: submission and end of each. Time outside the interval is cut off.
    """
    active_phases = _cut(attempts, start_s, end_s)
    idle_phases = _cut(_idle_phases(active_phases, jobs), start_s, end_s)
    if end_s <= start_s:
        return Breakdown(start_s, end_s, (), ())
    import numpy as np  # imported here because few commands need it

    names = sorted({phase.name for phase in active_phases} | set(WITHOUT_TASKS), key=rank)
    ends = (time_s for phase in (*active_phases, *idle_phases) for time_s in (phase.start_s, phase.end_s))
    times = np.unique(np.fromiter((start_s, end_s, *ends), dtype=np.float64))
    counts = np.zeros((len(names), len(times)), dtype=np.int64)
    _count(np, counts, times, names, active_phases)
    without_attempt = ~counts.any(axis=0)
    idle_counts = np.zeros_like(counts)
    _count(np, idle_counts, times, names, idle_phases)
    rows = {name: names.index(name) for name in WITHOUT_TASKS}
    counts[rows["setup"]] = without_attempt & (idle_counts[rows["setup"]] > 0)
    counts[rows["cleanup"]] = without_attempt & (idle_counts[rows["cleanup"]] > 0) & (counts[rows["setup"]] == 0)
    counts[rows["overhead"]] = ~counts.any(axis=0)
    return _breakdown(np, counts[:, :-1], times, names)


def _count(np: Any, counts: Any, times: Any, names: list[str], phases: Sequence[Phase]) -> None:
    """Add the number of ``phases`` to ``counts``, by phase and by the interval that begins at each of ``times``."""
    row = {name: number for number, name in enumerate(names)}
    phase_rows = np.fromiter((row[phase.name] for phase in phases), dtype=np.int64, count=len(phases))
    for ends, change in ((phase.start_s for phase in phases), 1), ((phase.end_s for phase in phases), -1):
        columns = np.searchsorted(times, np.fromiter(ends, dtype=np.float64, count=len(phases)))
        np.add.at(counts, (phase_rows, columns), change)
    np.cumsum(counts, axis=1, out=counts)


def _breakdown(np: Any, counts: Any, times: Any, names: list[str]) -> Breakdown:
    lengths_s, is_present = np.diff(times), counts > 0
    shares_s = (counts / counts.sum(axis=0) * lengths_s).sum(axis=1)
    # Boolean rows are encoded as numbers in the same order: a million rows would be sorted slowly.
    numbers = (1 << np.arange(len(names))[::-1]) @ is_present
    _, first, set_of_interval = np.unique(numbers, return_index=True, return_inverse=True)
    sets = is_present.T[first]
    durations_s = np.bincount(set_of_interval.reshape(-1), weights=lengths_s)
    alone_s = dict.fromkeys(names, 0.0)
    overlaps = []
    for members, duration_s in zip(sets, durations_s, strict=True):
        group = tuple(name for name, member in zip(names, members, strict=True) if member)
        if len(group) == 1:
            alone_s[group[0]] = float(duration_s)
        else:
            overlaps.append(Overlap(group, float(duration_s)))
    phases = []
    for number, name in enumerate(names):
        intervals = np.flatnonzero(is_present[number])
        if len(intervals):
            span = float(times[intervals[0]]), float(times[intervals[-1] + 1])
            active_s = float(lengths_s[intervals].sum())
            phases.append(PhaseTime(name, *span, active_s, alone_s[name], float(shares_s[number])))
    overlaps.sort(key=lambda overlap: -overlap.duration_s)
    return Breakdown(float(times[0]), float(times[-1]), tuple(phases), tuple(overlaps))


def occupancy(run: Run, tasks: Sequence[TaskAttempt], step_s: float) -> tuple[Occupancy, ...]:
    """Return how many attempts were in each phase over the run, in steps from its start; empty without attempts."""
    attempts = _cut([phase for task in tasks for phase in task_phases(task)], 0.0, run.duration_s)
    if not attempts:
        return ()
    import numpy as np  # imported here because only charts need it

    steps = max(1, math.ceil(run.duration_s / step_s))
    edges = np.arange(steps + 1) * step_s
    series = []
    for name in sorted({phase.name for phase in attempts}, key=rank):
        busy_s = np.zeros(steps)
        for phase in (phase for phase in attempts if phase.name == name):
            first, last = int(phase.start_s / step_s), min(steps, int(phase.end_s / step_s) + 1)
            until_s, from_s = np.minimum(edges[first + 1 : last + 1], phase.end_s), edges[first:last]
            busy_s[first:last] += np.maximum(until_s - np.maximum(from_s, phase.start_s), 0.0)
        series.append(Occupancy(name, tuple(map(float, edges[:-1])), tuple(map(float, busy_s / step_s))))
    return tuple(series)
