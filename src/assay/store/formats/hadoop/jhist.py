"""Read a MapReduce job from its job history file: outcome, counters, task attempts and phases.

In: a ``.jhist`` file (Hadoop 2 or 3, JSON or binary), as bytes or a stream, and the origin of times. Out: a
:class:`JobHistory`, and from it the job's :class:`~assay.model.runs.phase.Phase` intervals. Times in the file are
milliseconds of the ApplicationMaster's clock; here they are seconds. Unneeded events and fields are skipped, so
histories of later versions stay readable.

Phases are the intervals of ALOJA's execution charts, from the first task that enters a phase to the last that leaves
it. They overlap where tasks do: reducers copy map output while other maps still run.
"""

import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from msgspec import Struct
from msgspec.structs import replace as struct_replace

from assay.foundation.errors import FormatError
from assay.model import Job, Phase, TaskAttempt
from assay.model.runs.job import hadoop_counter
from assay.store.formats.hadoop.jhist_attempts import (
    COUNTERS,
    ENDS,
    MEMORY_COUNTERS,
    STARTS,
    AttemptEnded,
    AttemptStarted,
)
from assay.store.formats.hadoop.jhist_events import Event, read_events
from assay.store.formats.hadoop.job_names import LENGTH_MAX


@dataclass(frozen=True, slots=True)
class JobHistory:
    """One finished job. ``*_unix_s`` are seconds since 1970; the times in ``tasks`` count from ``start_unix_s``."""

    job_id: str
    job_name: str
    user: str
    start_unix_s: float
    submit_unix_s: float
    launch_unix_s: float | None
    """When the ApplicationMaster had set up the job; None if the job ended earlier."""
    finish_unix_s: float
    status: str
    """``succeeded``, ``failed``, ``killed`` or ``error``."""
    maps: int
    reduces: int
    finished_maps: int
    finished_reduces: int
    failed_maps: int
    failed_reduces: int
    """Tasks, not attempts: a task whose second attempt succeeded did not fail."""
    counters: dict[str, dict[str, int]]
    """The job's totals: group to counter to value; empty for a job that did not succeed."""
    tasks: tuple[TaskAttempt, ...]
    """Every attempt that was started or ended, in the order of first appearance."""
    diagnostics: str | None
    """Why the job failed, as Hadoop states it."""
    memory_bytes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """``map`` and ``reduce`` to the physical memory of each successful attempt: its peak (Hadoop 3), else the memory at
    its end. Attempts that do not record it are left out."""

    def counter(self, name: str) -> int | None:
        """Return the total of a counter of Hadoop's groups, such as ``HDFS_BYTES_READ``; None if the job lacks it."""
        return hadoop_counter(self.counters, name)


def parse_jhist(
    content: bytes | BinaryIO, *, start_unix_s: float | None = 0.0, source: str = "job history"
) -> JobHistory:
    """Return the job in ``content``. A stream is read event by event, and only task attempts stay in memory.

    Task times count from ``start_unix_s``; if it is None, from the job's submission.

    Raises :class:`FormatError` with the line or byte offset if the file is damaged or cut off, or if the job had not
    ended when the file was copied.
    """
    job = _HistoryEvents()
    stream = io.BytesIO(content) if isinstance(content, bytes) else content
    for event in read_events(stream, _EVENT_TYPES, source=source):
        if isinstance(event, AttemptStarted):
            job.on_attempt_started(event)
        elif isinstance(event, AttemptEnded):
            job.on_attempt_ended(event)
        else:
            _HANDLERS[event.type](job, event)
    if job.submitted is None:
        raise FormatError("no JOB_SUBMITTED event", where=source, hint="is this the whole file?")
    if job.ended is None:
        raise FormatError(
            "the history has no end-of-job event",
            where=source,
            hint="the job still ran when the file was copied, or the file was cut off: fetch it again",
        )
    return job.history(job.submitted, job.ended, start_unix_s)


def job_of(history: JobHistory, start_unix_s: float) -> Job:
    """Return the job without its tasks, with times in seconds from ``start_unix_s``."""
    launch_s = None if history.launch_unix_s is None else _rounded(history.launch_unix_s - start_unix_s)
    return Job(
        job_id=history.job_id,
        name=history.job_name[:LENGTH_MAX],
        status=history.status,
        submit_s=_rounded(history.submit_unix_s - start_unix_s),
        launch_s=launch_s,
        finish_s=_rounded(history.finish_unix_s - start_unix_s),
        maps=history.maps,
        reduces=history.reduces,
        counters=history.counters,
    )


def phases(history: JobHistory, start_unix_s: float) -> tuple[Phase, ...]:
    """Return the job's phases in seconds from ``start_unix_s``; a phase that no task entered is left out.

    setup: submission → first attempt starts. map: first map starts → last map ends. shuffle: first reduce starts → last
    reduce has copied all map output. merge: first reduce has copied → last reduce has merged. reduce: first reduce has
    merged → last reduce ends. cleanup: last attempt ends → job ends. Starts are the first of all attempts. Ends
    are the last of the successful attempts, or of all attempts if none succeeded.
    """
    shift_s = history.start_unix_s - start_unix_s
    submit_s, finish_s = history.submit_unix_s - start_unix_s, history.finish_unix_s - start_unix_s
    if not history.tasks:
        return (_phase("setup", submit_s, finish_s),)
    maps = [task for task in history.tasks if task.kind == "map"]
    reduces = [task for task in history.tasks if task.kind == "reduce"]
    intervals = [_phase("setup", submit_s, min(task.start_s for task in history.tasks) + shift_s)]
    if maps:
        map_start_s = min(task.start_s for task in maps)
        intervals.append(_phase("map", map_start_s + shift_s, max(task.end_s for task in _succeeded(maps)) + shift_s))
    copy_ends_s = [task.shuffle_end_s for task in reduces if task.shuffle_end_s is not None]
    merge_ends_s = [task.merge_end_s for task in reduces if task.merge_end_s is not None]
    if copy_ends_s and merge_ends_s:
        first_s = min(task.start_s for task in reduces)
        last_s = max(task.end_s for task in _succeeded(reduces))
        intervals += [
            _phase("shuffle", first_s + shift_s, max(copy_ends_s) + shift_s),
            _phase("merge", min(copy_ends_s) + shift_s, max(merge_ends_s) + shift_s),
            _phase("reduce", min(merge_ends_s) + shift_s, last_s + shift_s),
        ]
    intervals.append(_phase("cleanup", max(task.end_s for task in _succeeded(history.tasks)) + shift_s, finish_s))
    return tuple(intervals)


def _phase(name: str, start_s: float, end_s: float) -> Phase:
    return Phase(name, _rounded(start_s), _rounded(max(start_s, end_s)))


def _rounded(time_s: float) -> float:
    """Return a time rounded to microseconds. Differences of seconds since 1970 have floating-point noise below that."""
    return round(time_s, 6)


def _succeeded(tasks: list[TaskAttempt] | tuple[TaskAttempt, ...]) -> list[TaskAttempt]:
    return [task for task in tasks if task.status == "succeeded"] or list(tasks)


class _AttemptEvents(Struct, gc=False):
    """The events of one attempt so far."""

    started: AttemptStarted | None = None
    ended: AttemptEnded | None = None


@dataclass(slots=True)
class _HistoryEvents:
    """The events so far. If an event repeats because a second ApplicationMaster replays it, the last one counts."""

    submitted: Event | None = None
    ended: Event | None = None
    submit_ms: int | None = None
    launch_ms: int | None = None
    maps: int = 0
    reduces: int = 0
    attempts: dict[str, _AttemptEvents] = field(default_factory=dict)
    failed_tasks: dict[str, str] = field(default_factory=dict)
    """Task id to its type."""

    def on_submitted(self, event: Event) -> None:
        self.submitted, self.submit_ms = event, event.integer("submitTime")

    def on_inited(self, event: Event) -> None:
        self.launch_ms = event.integer("launchTime")
        self.maps, self.reduces = event.integer("totalMaps"), event.integer("totalReduces")

    def on_info_changed(self, event: Event) -> None:
        self.submit_ms, self.launch_ms = event.integer("submitTime"), event.integer("launchTime")

    def on_ended(self, event: Event) -> None:
        self.ended = event

    def on_task_failed(self, event: Event) -> None:
        self.failed_tasks[event.text("taskid")] = event.text("taskType")

    def on_attempt_started(self, event: AttemptStarted) -> None:
        attempt = self.attempts.get(event.attempt_id)
        if attempt is None:
            self.attempts[event.attempt_id] = _AttemptEvents(event)
        else:
            attempt.started = event

    def on_attempt_ended(self, event: AttemptEnded) -> None:
        """Note an attempt's end. A finished map gets a second end, killed or failed, if its node is lost later."""
        attempt = self.attempts.get(event.attempt_id)
        if attempt is None:
            self.attempts[event.attempt_id] = _AttemptEvents(None, event)
        else:
            attempt.ended = event if attempt.ended is None else _merge_ends(attempt.ended, event)

    def history(self, submitted: Event, ended: Event, origin_unix_s: float | None) -> JobHistory:
        job_id = submitted.text("jobid")
        submit_unix_s = (self.submit_ms or 0) / 1000
        start_unix_s = submit_unix_s if origin_unix_s is None else origin_unix_s
        finish_ms = ended.integer("finishTime")
        since_s = _since(start_unix_s)
        failed_kinds = list(self.failed_tasks.values())
        failed_maps, failed_reduces = ended.optional_integer("failedMaps"), ended.optional_integer("failedReduces")
        return JobHistory(
            job_id=job_id,
            job_name=submitted.text("jobName"),
            user=submitted.text("userName"),
            start_unix_s=start_unix_s,
            submit_unix_s=submit_unix_s,
            launch_unix_s=None if self.launch_ms is None else self.launch_ms / 1000,
            finish_unix_s=finish_ms / 1000,
            status="succeeded" if ended.type == "JOB_FINISHED" else ended.text("jobStatus").lower(),
            maps=self.maps,
            reduces=self.reduces,
            finished_maps=ended.integer("finishedMaps"),
            finished_reduces=ended.integer("finishedReduces"),
            failed_maps=failed_kinds.count("MAP") if failed_maps is None else failed_maps,
            failed_reduces=failed_kinds.count("REDUCE") if failed_reduces is None else failed_reduces,
            counters=ended.counters("totalCounters"),
            tasks=tuple(
                _task(job_id, attempt_id, attempt, finish_ms, since_s) for attempt_id, attempt in self.attempts.items()
            ),
            diagnostics=ended.optional_text("diagnostics") or None,
            memory_bytes=_memory_bytes(attempt.ended for attempt in self.attempts.values() if attempt.ended),
        )


def _memory_bytes(ends: Iterable[AttemptEnded]) -> dict[str, tuple[int, ...]]:
    """Return the physical memory of the successful attempts by kind."""
    peaks_by_kind: dict[str, list[int]] = {}
    for ended in ends:
        values_bytes = [value for value in (ended.counters or _NO_COUNTERS)[-MEMORY_COUNTERS:] if value and value > 0]
        if values_bytes and ended.status == "succeeded":
            peaks_by_kind.setdefault(ended.kind, []).append(max(values_bytes))
    return {kind: tuple(values) for kind, values in peaks_by_kind.items()}


def _merge_ends(first: AttemptEnded, second: AttemptEnded) -> AttemptEnded:
    """Return an attempt's second end, completed with values that only the first end has."""
    return struct_replace(
        second,
        node=second.node or first.node,
        shuffle_ms=second.shuffle_ms or first.shuffle_ms,
        merge_ms=second.merge_ms or first.merge_ms,
        counters=first.counters if second.counters is None else second.counters,
    )


def _since(start_unix_s: float) -> Callable[[int], float]:
    """Return a function from milliseconds since 1970 to seconds since ``start_unix_s``."""
    start_ms = round(start_unix_s * 1000)
    if start_ms / 1000 == start_unix_s:  # exact, and faster than rounding
        return lambda time_ms: (time_ms - start_ms) / 1000
    return lambda time_ms: _rounded(time_ms / 1000 - start_unix_s)


def _task(
    job_id: str, attempt_id: str, attempt: _AttemptEvents, finish_ms: int, since_s: Callable[[int], float]
) -> TaskAttempt:
    """Return the attempt as a value.

    An attempt without an end was killed at the job's end. One without a start has a duration of 0 s. A speculative
    attempt that is killed before it has a container has the times 0 (1970) and no host.
    """
    started, ended = attempt.started, attempt.ended
    event = ended or started
    assert event is not None  # an attempt has at least one event
    end_ms = ended.end_ms or finish_ms if ended else finish_ms
    start_ms = started.start_ms or end_ms if started else end_ms
    node = event.node or (started.node if started else "")
    shuffle_ms, merge_ms, counters = (ended.shuffle_ms, ended.merge_ms, ended.counters) if ended else (None, None, None)
    hdfs_read, hdfs_write, local_read, local_write, spilled, cpu_ms, gc_ms, *_ = counters or _NO_COUNTERS
    return TaskAttempt(  # by position: keywords take a quarter more time, for every attempt
        job_id,
        event.task_id,
        attempt_id,
        event.kind,
        "" if node == _NO_NODE else node,
        ended.status if ended else "killed",
        since_s(start_ms),
        since_s(end_ms),
        since_s(shuffle_ms) if shuffle_ms else None,
        since_s(merge_ms) if merge_ms else None,
        hdfs_read or 0,
        hdfs_write or 0,
        local_read or 0,
        local_write or 0,
        spilled,
        None if cpu_ms is None else cpu_ms / 1000,
        None if gc_ms is None else gc_ms / 1000,
    )


_NO_NODE: Final = "UNKNOWN"  # what Hadoop writes for an attempt that was killed before it had a container
_NO_COUNTERS: Final = (None,) * len(COUNTERS)
_HANDLERS: Final[Mapping[str, Callable[[_HistoryEvents, Event], None]]] = {
    "JOB_SUBMITTED": _HistoryEvents.on_submitted,
    "JOB_INITED": _HistoryEvents.on_inited,
    "JOB_INFO_CHANGED": _HistoryEvents.on_info_changed,
    "JOB_FINISHED": _HistoryEvents.on_ended,
    "JOB_FAILED": _HistoryEvents.on_ended,
    "JOB_KILLED": _HistoryEvents.on_ended,
    "JOB_ERROR": _HistoryEvents.on_ended,
    "TASK_FAILED": _HistoryEvents.on_task_failed,
}
_EVENT_TYPES: Final = frozenset(_HANDLERS) | STARTS | ENDS
