"""Divide a run's task durations into histograms by phase and node, and mark the outlier tasks.

In: the task attempts of a run (seconds from the run's start). Out: :class:`TaskDurations`: a histogram for each phase,
durations by phase and node, and the outliers by :mod:`assay.analysis.outliers.task_outliers`. Only attempts that
succeeded count. Attempts of one job and kind, or of one Spark stage, are compared with each other.

A shuffle that starts before the end of its job's last map is counted from that end, because until then it waits. The
bins are those of D. Freedman and P. Diaconis (Z. Wahrscheinlichkeitstheorie verw. Gebiete 57 (1981)), at least
:data:`BINS_MIN` and at most :data:`BINS_MAX`, and the same for all nodes.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from assay.analysis.outliers.task_outliers import task_flags
from assay.analysis.run_profile.phases import rank, task_phases
from assay.analysis.statistics.arrays import Floats
from assay.foundation.errors import SpecificationError
from assay.model import Origin, Run, TaskAttempt

BINS_MIN, BINS_MAX = 8, 40
OUTLIERS_MAX = 200
"""Maximum number of outliers that are described; histograms count all of them."""
DEVIATION_MIN = 3.0
"""Minimum deviation, in robust standard deviations, for a quantity to be named as the reason of an outlier."""
_SECONDS, _BYTES, _RECORDS = 0.5, 2.0**20, 10_000.0
"""Amounts below which differences between tasks do not count."""
_COUNTED_QUANTITIES: Mapping[str, tuple[float, Callable[[TaskAttempt], float | None]]] = {
    "read_bytes": (_BYTES, lambda task: task.hdfs_read_bytes + task.local_read_bytes),
    "written_bytes": (_BYTES, lambda task: task.hdfs_write_bytes + task.local_write_bytes),
    "spilled_records": (_RECORDS, lambda task: task.spilled_records),
    "cpu_s": (_SECONDS, lambda task: task.cpu_s),
    "gc_s": (_SECONDS, lambda task: task.gc_s),
}
"""Bytes and counters of an attempt: the amount below which differences do not count, and how to read it."""


@dataclass(frozen=True, slots=True)
class DurationBin:
    """Tasks whose duration in a phase is from ``low_s`` to below ``high_s``; ``tasks`` includes the outliers."""

    low_s: float
    high_s: float
    tasks: int
    outliers: int


@dataclass(frozen=True, slots=True)
class PhaseDurations:
    """The durations of one phase, on one node or on all; the last bin includes its upper end."""

    phase: str
    node: str | None
    """None: all nodes."""
    tasks: int
    outliers: int
    median_s: float
    longest_s: float
    bins: tuple[DurationBin, ...]
    """Empty for the rows by node."""


@dataclass(frozen=True, slots=True)
class TaskDeviation:
    """A quantity in which an outlier differs from its population."""

    quantity: str
    """A phase with ``_s``, or bytes or a counter: ``shuffle_s``, ``read_bytes``, ``gc_s``."""
    value: float
    median: float
    deviation: float
    """In robust standard deviations; above 0: more than the median."""


@dataclass(frozen=True, slots=True)
class OutlierTask:
    """An attempt that resembles few others of its job and kind, with its deviations, the largest first."""

    attempt_id: str
    job_id: str
    kind: str
    node: str
    start_s: float
    duration_s: float
    deviations: tuple[TaskDeviation, ...]


@dataclass(frozen=True, slots=True)
class TaskDurations:
    """The task durations of a run."""

    run_id: str
    origin: Origin
    lab_scale: float | None
    node: str | None
    """The node that the histograms show; None: all nodes."""
    node_names: tuple[str, ...]
    job: str | None
    """The job that all durations are of; None: all jobs."""
    jobs: Mapping[str, str]
    """Name of each job of the run by its id."""
    attempts: int
    succeeded: int
    """Attempts that succeeded: only these count."""
    not_examined: int
    """Attempts of populations that are too small for outliers."""
    phases: tuple[PhaseDurations, ...]
    nodes: tuple[PhaseDurations, ...]
    outliers_total: int
    outliers: tuple[OutlierTask, ...]
    """The slowest first."""


def task_durations(
    run: Run, tasks: Sequence[TaskAttempt], node: str | None = None, job: str | None = None
) -> TaskDurations:
    """Return the durations of the run's tasks, or of its job ``job``. ``node``: the node of the histograms; None: all.

    Raises SpecificationError for an unknown node or job.
    """
    jobs = tuple(dict.fromkeys(task.job_id for task in tasks))
    if job is not None and job not in jobs:
        raise SpecificationError(f"no task of this run is of job {job!r}", where="job", hint=f"jobs: {', '.join(jobs)}")
    tasks = [task for task in tasks if job in (None, task.job_id)]
    succeeded = [task for task in tasks if task.status == "succeeded"]
    names = tuple(sorted({task.node for task in succeeded if task.node}))
    if node is not None and node not in names:
        raise SpecificationError(
            f"no task of this run succeeded on node {node!r}", where="node", hint=f"nodes: {', '.join(names) or 'none'}"
        )
    durations = _phase_seconds(succeeded)
    outliers, examined_count = _outliers(succeeded, durations)
    phases, nodes = [], []
    for phase in sorted({name for seconds_by_phase in durations for name in seconds_by_phase}, key=rank):
        members = [index for index, seconds_by_phase in enumerate(durations) if phase in seconds_by_phase]
        seconds = np.array([durations[index][phase] for index in members])
        is_outlier = np.array([index in outliers for index in members])
        nodes_of_members = np.array([succeeded[index].node for index in members])
        edges = _edges(seconds)
        is_shown = nodes_of_members == node if node is not None else np.ones(len(members), dtype=np.bool_)
        if is_shown.any():
            phases.append(_durations(phase, node, seconds[is_shown], is_outlier[is_shown], edges))
        nodes += [
            _durations(phase, name, seconds[is_on_node], is_outlier[is_on_node], None)
            for name in names
            if (is_on_node := nodes_of_members == name).any()
        ]
    slowest = sorted(outliers.values(), key=lambda outlier: -_slowness(outlier))
    return TaskDurations(
        run.run_id,
        run.origin,
        run.lab_scale,
        node,
        names,
        job,
        {name: next((item.name for item in run.jobs if item.job_id == name), name) for name in jobs},
        len(tasks),
        len(succeeded),
        len(succeeded) - examined_count,
        tuple(phases),
        tuple(nodes),
        len(slowest),
        tuple(slowest[:OUTLIERS_MAX]),
    )


def _phase_seconds(tasks: Sequence[TaskAttempt]) -> list[dict[str, float]]:
    """Return each task's seconds in its phases."""
    map_ends: dict[str, float] = {}
    for task in tasks:
        if task.kind == "map":
            map_ends[task.job_id] = max(map_ends.get(task.job_id, -math.inf), task.end_s)
    durations = []
    for task in tasks:
        seconds = {}
        for phase in task_phases(task):
            start_s = phase.start_s
            if phase.name == "shuffle":
                start_s = max(start_s, map_ends.get(task.job_id, -math.inf))
            seconds[phase.name] = max(0.0, phase.end_s - start_s)
        durations.append(seconds)
    return durations


def _population(task: TaskAttempt) -> tuple[str, str, str]:
    """Return the population of an attempt: its job and kind, and in Spark the stage, with which its id begins."""
    return task.job_id, task.kind, "" if task.kind in ("map", "reduce") else task.task_id.partition(".")[0]


def _outliers(
    tasks: Sequence[TaskAttempt], durations: Sequence[Mapping[str, float]]
) -> tuple[dict[int, OutlierTask], int]:
    """Return the outliers by their position among the tasks, and the number of tasks that were examined."""
    populations: dict[tuple[str, str, str], list[int]] = {}
    for index, task in enumerate(tasks):
        populations.setdefault(_population(task), []).append(index)
    outliers, examined_count = {}, 0
    for members in populations.values():
        phases = list(durations[members[0]])
        names = [*(f"{phase}_s" for phase in phases), *_COUNTED_QUANTITIES]
        offsets = np.array([*(_SECONDS for _ in phases), *(offset for offset, _ in _COUNTED_QUANTITIES.values())])
        quantities: Floats = np.array(
            [
                [*durations[index].values(), *(_number(read(tasks[index])) for _, read in _COUNTED_QUANTITIES.values())]
                for index in members
            ]
        )
        flags = task_flags(quantities, offsets)
        if flags is None:
            continue
        examined_count += len(members)
        for number in np.flatnonzero(flags.outliers).tolist():
            order = np.argsort(-np.abs(flags.deviations[number])).tolist()
            reasons = [column for column in order if abs(flags.deviations[number, column]) >= DEVIATION_MIN] or order[
                :1
            ]
            task = tasks[members[number]]
            outliers[members[number]] = OutlierTask(
                task.attempt_id or task.task_id,
                task.job_id,
                task.kind,
                task.node,
                task.start_s,
                task.end_s - task.start_s,
                tuple(
                    TaskDeviation(
                        names[column],
                        float(quantities[number, column]),
                        float(flags.medians[column]),
                        float(flags.deviations[number, column]),
                    )
                    for column in reasons
                ),
            )
    return outliers, examined_count


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _slowness(outlier: OutlierTask) -> float:
    """Return the largest deviation of a phase's duration; 0 for an outlier whose durations are normal."""
    phases = [
        d.deviation for d in outlier.deviations if d.quantity.endswith("_s") and d.quantity not in _COUNTED_QUANTITIES
    ]
    return max(phases, default=0.0)


def _edges(seconds: Floats) -> Floats:
    """Return the ends of the bins."""
    low, high = float(seconds.min()), float(seconds.max())
    if high <= low:
        return np.array([low, low + max(1.0, abs(low) / 10)])
    quartiles = np.percentile(seconds, (25, 75))
    width = 2 * float(quartiles[1] - quartiles[0]) / len(seconds) ** (1 / 3)
    number = math.ceil((high - low) / width) if width > 0 else BINS_MAX
    return np.linspace(low, high, min(max(number, BINS_MIN), BINS_MAX) + 1)


def _durations(
    phase: str,
    node: str | None,
    seconds: Floats,
    is_outlier: np.ndarray[tuple[int], np.dtype[np.bool_]],
    edges: Floats | None,
) -> PhaseDurations:
    bins: tuple[DurationBin, ...] = ()
    if edges is not None:
        counts, outlier_counts = (
            np.histogram(seconds, edges)[0].tolist(),
            np.histogram(seconds[is_outlier], edges)[0].tolist(),
        )
        ends = edges.tolist()
        bins = tuple(
            DurationBin(low, high, number, outliers)
            for low, high, number, outliers in zip(ends[:-1], ends[1:], counts, outlier_counts, strict=True)
        )
    return PhaseDurations(
        phase, node, len(seconds), int(is_outlier.sum()), median(seconds.tolist()), float(seconds.max()), bins
    )
