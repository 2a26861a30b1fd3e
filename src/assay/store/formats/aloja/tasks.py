"""Convert rows of ALOJA's tables ``JOB_tasks`` and ``JOB_status`` into the tasks and phases of a run.

In: rows as text by column, with parsed dates. Out: :class:`TaskAttempt` and :class:`Phase` in seconds from the run's
start. JOB_tasks has one row for each task of Hadoop 1's job history; it records neither the node nor CPU
and GC time, so these are empty and 0 here. Rows of setup and cleanup tasks are skipped, because these tasks are neither
maps nor reduces. JOB_status has one row for each second of a job, with how many maps, shuffles, merges and reduces were
running.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from assay.foundation.errors import FormatError
from assay.model import Phase, TaskAttempt

COVERED_SHARE_MIN: Final = 0.9
"""Minimum share of the run that its phases must cover. With less, the table is incomplete and gives no phases."""
SECONDS_SHARE_MIN: Final = 0.5
"""Minimum share of the run's seconds that must have a row in JOB_status."""
_KINDS: Final = {"MAP": "map", "REDUCE": "reduce"}
_NO_WORK: Final = frozenset({"SETUP", "CLEANUP", "JOB_SETUP", "JOB_CLEANUP", "TASK_CLEANUP"})
"""Types of tasks that are neither maps nor reduces."""
_STATUSES: Final = {"SUCCESS": "succeeded", "FAILED": "failed", "KILLED": "killed"}
_STATUS_COLUMNS: Final = {"map": "maps", "shuffle": "shuffle", "merge": "merge", "reduce": "reduce"}
_COUNTER_MAX: Final = 2**63 - 1
"""Maximum of a Java long, and so of a counter."""


def is_work(row: Mapping[str, str]) -> bool:
    """Return whether a row of JOB_tasks is a map or a reduce, not a job's setup or cleanup."""
    return row.get("TASK_TYPE", "") not in _NO_WORK


def task_of_row(row: Mapping[str, str], times_s: Mapping[str, float | None]) -> TaskAttempt:
    """Return the task of a row of JOB_tasks; ``times_s``: its date columns in seconds from the run's start.

    Raises :class:`FormatError` without a location; its message continues "rows of JOB_tasks".
    """
    kind, status = _KINDS.get(row.get("TASK_TYPE", "")), _STATUSES.get(row.get("TASK_STATUS", ""))
    if kind is None or status is None:
        raise FormatError("have an unknown TASK_TYPE or TASK_STATUS")
    job_id, task_id = row.get("JOBID", ""), row.get("TASKID", "")
    if not job_id or not task_id.startswith(job_id.replace("job_", "task_", 1)):
        raise FormatError("have a TASKID that does not belong to their JOBID")
    start_s, end_s = times_s["START_TIME"], times_s["FINISH_TIME"]
    shuffle_s = times_s["SHUFFLE_TIME"] if kind == "reduce" else None
    merge_s = times_s["SORT_TIME"] if kind == "reduce" else None
    if start_s is None or end_s is None:
        raise FormatError("lack a START_TIME or FINISH_TIME")
    steps = [time_s for time_s in (start_s, shuffle_s, merge_s, end_s) if time_s is not None]
    if steps != sorted(steps):
        raise FormatError("have times in an impossible order")
    return TaskAttempt(
        job_id=job_id,
        task_id=task_id,
        attempt_id="",
        kind=kind,
        node="",
        status=status,
        start_s=start_s,
        end_s=end_s,
        shuffle_end_s=shuffle_s,
        merge_end_s=merge_s,
        hdfs_read_bytes=_counter(row, "HDFS_BYTES_READ"),
        hdfs_write_bytes=_counter(row, "HDFS_BYTES_WRITTEN"),
        local_read_bytes=_counter(row, "FILE_BYTES_READ"),
        local_write_bytes=_counter(row, "FILE_BYTES_WRITTEN"),
        spilled_records=_counter(row, "Spilled Records"),
        cpu_s=None,
        gc_s=None,
    )


def _counter(row: Mapping[str, str], column: str) -> int:
    """Return a counter; Hadoop omits counters of 0, so NULL is 0."""
    text = row.get(column, "0")
    if not (text.isascii() and text.isdigit()) or len(text) > 19 or int(text) > _COUNTER_MAX:
        raise FormatError(f"have an impossible {column}")
    return int(text)


def phases_of_tasks(tasks: Sequence[TaskAttempt], duration_s: float) -> tuple[Phase, ...]:
    """Return the phases of a run from its tasks; none if the tasks cover too little of the run.

    map: first map starts → last map ends. shuffle: first reduce starts → last reduce has copied. merge: first reduce
    has copied → last reduce has merged. reduce: first reduce has merged → last reduce ends. All jobs count together.
    """
    maps = [task for task in tasks if task.kind == "map"]
    reduces = [task for task in tasks if task.shuffle_end_s is not None and task.merge_end_s is not None]
    copy_ends_s = [task.shuffle_end_s for task in reduces if task.shuffle_end_s is not None]
    merge_ends_s = [task.merge_end_s for task in reduces if task.merge_end_s is not None]
    phases: list[Phase] = []
    if maps:
        phases.append(Phase("map", min(task.start_s for task in maps), max(task.end_s for task in maps)))
    if reduces:
        phases += [
            Phase("shuffle", min(task.start_s for task in reduces), max(copy_ends_s)),
            Phase("merge", min(copy_ends_s), max(merge_ends_s)),
            Phase("reduce", min(merge_ends_s), max(task.end_s for task in reduces)),
        ]
    return tuple(phases) if _covers(phases, duration_s) else ()


def phases_of_status(rows: Sequence[tuple[float, Mapping[str, str]]], duration_s: float) -> tuple[Phase, ...]:
    """Return the phases of a run from its rows of JOB_status, with their times in seconds; none if rows are missing.

    A phase lasts from the first second in which a task was in the phase to the end of the last such second.
    """
    phases = []
    for name, column in _STATUS_COLUMNS.items():
        times_s = [t_s for t_s, row in rows if row.get(column, "0").strip("0")]
        if times_s:
            phases.append(Phase(name, min(times_s), max(times_s) + 1.0))
    has_enough_rows = len({t_s for t_s, _ in rows}) >= SECONDS_SHARE_MIN * duration_s
    return tuple(phases) if has_enough_rows and _covers(phases, duration_s) else ()


def _covers(phases: Sequence[Phase], duration_s: float) -> bool:
    if not phases:
        return False
    span_s = max(phase.end_s for phase in phases) - min(phase.start_s for phase in phases)
    return span_s >= COVERED_SHARE_MIN * duration_s
