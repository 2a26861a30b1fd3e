"""Read a Spark application from its event log: jobs, stages, task attempts and settings.

In: the lines of the log's files as bytes, in order (several if Spark rolled the log over). Out: an
:class:`Application`. Times in the log are milliseconds since 1970 on the driver's clock; here, task and stage times are
seconds from the application's start. Sizes are bytes.

The format is defined by org.apache.spark.util.JsonProtocol, Spark 1.3 and later: one JSON object per line, whose
``Event`` is the name of the listener's event. Unneeded events and keys are skipped, so logs of later versions stay
readable. If a needed key is missing or has another type, the log is rejected with the line.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from assay.foundation.errors import FormatError
from assay.model import Executor, Stage, TaskAttempt
from assay.store.formats.spark.event_forms import (
    WORDS_MAX,
    AnyEvent,
    ApplicationEnd,
    ApplicationStart,
    EnvironmentUpdate,
    ExecutorAdded,
    ExecutorRemoved,
    JobEnd,
    JobStart,
    LogStart,
    Metrics,
    ShuffleRead,
    ShuffleWrite,
    StageCompleted,
    StageInfo,
    TaskEnd,
    TaskStart,
)
from assay.store.formats.spark.stages import executors_of, stages_of

_EVENT: Final = re.compile(rb'\s*\{\s*"Event"\s*:\s*"([\w.$]+)"\s*[,}]')
_EXPECTED_REMOVALS: Final = ("Executor killed by driver", "Executor decommission")
_KINDS: Final = {"ShuffleMapTask": "shuffle_map", "ResultTask": "result"}


@dataclass(slots=True)
class SparkJob:
    """One job of an application; times in seconds from the application's start, None if not recorded."""

    stage_ids: tuple[int, ...]
    submit_s: float | None = None
    end_s: float | None = None
    failure: str | None = None
    """Why it failed: empty if it succeeded, None if it had not ended."""
    description: str = ""
    """Name of the job, set by the program."""


@dataclass(frozen=True, slots=True)
class LostExecutor:
    """An executor that was lost, with the reason that Spark gives."""

    executor_id: str
    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class Application:
    """One Spark application. ``start_unix_s`` is seconds since 1970; all other times count from it."""

    app_id: str
    attempt_id: str
    name: str
    spark_version: str
    java_version: str
    properties: dict[str, str]
    start_unix_s: float
    duration_s: float | None
    """None if the log ends before the application does."""
    exit_code: int | None
    """Recorded by Spark 4 and later."""
    jobs: dict[int, SparkJob]
    """Spark's job number to job, in the order of submission."""
    stages: tuple[Stage, ...]
    tasks: tuple[TaskAttempt, ...]
    """Every attempt that was started or ended; ``kind`` is ``shuffle_map`` or ``result``."""
    executor_cores: dict[str, int]
    """Every executor that was added."""
    executors: tuple[Executor, ...]
    """Executors that had task attempts."""
    stage_times: dict[str, dict[int, tuple[float, float]]]
    """For every executor that was added: stage to first start and last end of its attempts there, in seconds from the
    start."""
    lost: tuple[LostExecutor, ...]
    """Executors that were removed while a job was running, except those that the driver released."""
    totals: dict[str, int]
    """Sums over all attempts that record the metric, in the unit of its name; other metrics are absent."""
    missing_ends: int
    """Number of successful task attempts of completed stages that the log lacks because Spark dropped their events."""
    first_failure: str
    """Why the first failed attempt failed; empty without failures."""
    is_streaming: bool = False
    """Whether it ran streaming queries or the batches of a stream."""


def read_application(parts: Iterable[tuple[str, Iterable[bytes]]]) -> Application:
    """Return the application whose log is in ``parts``: for each file, a name for messages and its lines.

    Raises :class:`FormatError` with the line of damage.
    """
    reader = _EventLogReader()
    name = "event log"
    for name, lines in parts:
        for number, line in enumerate(lines, start=1):
            if not line.isspace():
                reader.take(line, f"{name}:{number}")
    return reader.application(name)


@dataclass(slots=True)
class _EventLogReader:
    """A reader that collects the events of a log."""

    start: ApplicationStart | None = None
    end: ApplicationEnd | None = None
    spark_version: str = ""
    environment: EnvironmentUpdate | None = None
    jobs: dict[int, SparkJob] = field(default_factory=dict)
    job_of_stage: dict[int, int] = field(default_factory=dict)
    stages: dict[tuple[int, int], StageInfo] = field(default_factory=dict)
    started: dict[int, TaskStart] = field(default_factory=dict)
    ended: dict[int, TaskEnd] = field(default_factory=dict)
    resubmitted: set[int] = field(default_factory=set)
    executor_cores: dict[str, int] = field(default_factory=dict)
    executor_hosts: dict[str, str] = field(default_factory=dict)
    lost: dict[str, LostExecutor] = field(default_factory=dict)
    is_streaming: bool = False

    def take(self, line: bytes, where: str) -> None:
        """Note one event. Raises :class:`FormatError` if it is not an event, or contradicts earlier events."""
        try:
            match = _EVENT.match(line)
            event = match[1].decode() if match else _ANY_EVENT.decode(line).name
            known = _HANDLERS.get(event.rpartition(".")[2])
            if known is None:
                return
            decoder, take = known
            take(self, decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            cut = "" if line.endswith(b"\n") else " (the file ends in it: it was cut off, or is still written)"
            raise FormatError(f"this line is not a complete event{cut}: {error}", where=where) from error
        except _ContradictionError as error:
            raise FormatError(str(error), where=where) from error

    def on_log_start(self, event: LogStart) -> None:
        self.spark_version = event.spark_version

    def on_application_start(self, event: ApplicationStart) -> None:
        if self.start is not None:
            raise _ContradictionError("a second application starts here: a log holds one")
        self.start = event

    def on_application_end(self, event: ApplicationEnd) -> None:
        if self.end is not None:
            raise _ContradictionError("the application ends a second time")
        self.end = event

    def on_environment(self, event: EnvironmentUpdate) -> None:
        self.environment = event

    def on_executor(self, event: ExecutorAdded) -> None:
        self.executor_cores[event.executor_id] = event.info.cores
        self.executor_hosts[event.executor_id] = event.info.host

    def on_executor_removed(self, event: ExecutorRemoved) -> None:
        """Note an executor that was lost.

        Removal after the last job and the release of idle executors by dynamic allocation are not losses.
        """
        under_way = any(job.failure is None for job in self.jobs.values())
        if under_way and not event.reason.startswith(_EXPECTED_REMOVALS):
            words = " ".join(event.reason.split())[:WORDS_MAX] or "no reason given"
            node = self.executor_hosts.get(event.executor_id, "an unknown host")
            self.lost[event.executor_id] = LostExecutor(event.executor_id, node, words)

    def on_streaming_query(self, _event: AnyEvent) -> None:
        self.is_streaming = True

    def on_job_start(self, event: JobStart) -> None:
        if event.job_id in self.jobs:
            raise _ContradictionError(f"job {event.job_id} starts a second time")
        description = event.properties.description if event.properties else ""
        self.is_streaming |= bool(event.properties and (event.properties.batch_time or event.properties.query_id))
        submit_s = self._since_start_s(event.submitted_ms)
        self.jobs[event.job_id] = SparkJob(tuple(event.stage_ids), submit_s, description=description)
        for stage_id in event.stage_ids:
            self.job_of_stage.setdefault(stage_id, event.job_id)

    def on_job_end(self, event: JobEnd) -> None:
        failure = event.result.exception
        reason = next((line.strip() for line in ((failure and failure.message) or "").splitlines() if line.strip()), "")
        job = self.jobs.setdefault(event.job_id, SparkJob(()))
        job.failure = "" if event.result.result == "JobSucceeded" else reason or event.result.result
        job.end_s = self._since_start_s(event.completed_ms)

    def _since_start_s(self, time_ms: int | None) -> float | None:
        return None if time_ms is None or self.start is None else (time_ms - self.start.time_ms) / 1000

    def on_stage(self, event: StageCompleted) -> None:
        self.stages[event.info.stage_id, event.info.attempt] = event.info

    def on_task_start(self, event: TaskStart) -> None:
        self.started[event.info.task_id] = event

    def on_task_end(self, event: TaskEnd) -> None:
        """Note an attempt's end. A successful attempt gets a second end if its executor is lost later."""
        task_id = event.info.task_id
        if event.reason.reason == "Resubmitted":
            self.resubmitted.add(task_id)
            self.ended.setdefault(task_id, event)
        elif task_id in self.ended and task_id not in self.resubmitted:
            raise _ContradictionError(f"task {task_id} ends a second time")
        else:
            self.ended[task_id] = event

    def application(self, name: str) -> Application:
        if self.start is None:
            raise FormatError("no application starts in this log", where=name, hint="is this the whole log?")
        start, environment = self.start, self.environment
        return Application(
            app_id=start.app_id or "",
            attempt_id=start.attempt_id or "",
            name=start.name,
            spark_version=self.spark_version,
            java_version=str(environment.jvm.get("Java Version", "")) if environment else "",
            properties=environment.properties if environment else {},
            start_unix_s=start.time_ms / 1000,
            duration_s=(self.end.time_ms - start.time_ms) / 1000 if self.end else None,
            exit_code=self.end.exit_code if self.end else None,
            jobs=self.jobs,
            stages=tuple(stages_of(self.stages, self.ended.values(), start.time_ms)),
            executors=tuple(executors_of(self.executor_cores, self.ended.values())),
            tasks=tuple(self._tasks(start.time_ms, self.end.time_ms if self.end else None)),
            executor_cores=self.executor_cores,
            stage_times=self._stage_times(start.time_ms),
            lost=tuple(self.lost.values()),
            totals=_totals(event.metrics for event in self.ended.values() if event.metrics),
            missing_ends=self._missing_ends(),
            first_failure=next((event.reason.words() for event in self.ended.values() if event.info.failed), ""),
            is_streaming=self.is_streaming,
        )

    def _stage_times(self, start_ms: int) -> dict[str, dict[int, tuple[float, float]]]:
        """Return when each executor ran each stage."""
        times: dict[str, dict[int, tuple[float, float]]] = {name: {} for name in self.executor_cores}
        for event in self.ended.values():
            stages, info = times.setdefault(event.info.executor_id, {}), event.info
            start_s = (info.launch_ms - start_ms) / 1000
            end_s = (max(info.finish_ms, info.launch_ms) - start_ms) / 1000
            first_s, last_s = stages.get(event.stage_id, (start_s, end_s))
            stages[event.stage_id] = min(first_s, start_s), max(last_s, end_s)
        return times

    def _tasks(self, start_ms: int, end_ms: int | None) -> Iterable[TaskAttempt]:
        """Yield the attempts by start time. An attempt without an end was killed at the application's end."""
        for task_id, started in self.started.items():
            if task_id not in self.ended:
                last_ms = max(end_ms or 0, started.info.launch_ms)
                yield self._task(started, "task", "killed", last_ms, start_ms, None)
            else:
                yield self._ended(self.ended[task_id], start_ms)
        for task_id, ended in self.ended.items():
            if task_id not in self.started:
                yield self._ended(ended, start_ms)

    def _ended(self, event: TaskEnd, start_ms: int) -> TaskAttempt:
        if event.info.task_id in self.resubmitted:
            status = "killed"
        elif event.reason.reason == "Success":
            status = "succeeded"
        else:
            status = "killed" if event.info.killed or event.reason.reason == "TaskKilled" else "failed"
        last_ms = event.info.finish_ms or event.info.launch_ms
        return self._task(event, _KINDS.get(event.type, "task"), status, last_ms, start_ms, event.metrics)

    def _task(
        self,
        event: TaskStart | TaskEnd,
        kind: str,
        status: str,
        end_ms: int,
        start_ms: int,
        task_metrics: Metrics | None,
    ) -> TaskAttempt:
        task_id = f"{event.stage_id}.{event.stage_attempt}.{event.info.index}"
        metrics = task_metrics or Metrics()
        read, write = metrics.shuffle_read or ShuffleRead(), metrics.shuffle_write or ShuffleWrite()
        job_id = self.job_of_stage.get(event.stage_id)
        return TaskAttempt(
            job_id="" if job_id is None else str(job_id),
            task_id=task_id,
            attempt_id=f"{task_id}.{event.info.attempt}",
            kind=kind,
            node=event.info.host,
            status=status,
            start_s=(event.info.launch_ms - start_ms) / 1000,
            end_s=(end_ms - start_ms) / 1000,
            shuffle_end_s=None,
            merge_end_s=None,
            hdfs_read_bytes=metrics.input.read_bytes if metrics.input else 0,
            hdfs_write_bytes=metrics.output.written_bytes if metrics.output else 0,
            local_read_bytes=read.local_bytes,
            local_write_bytes=write.written_bytes + metrics.disk_spilled_bytes,
            spilled_records=None,
            cpu_s=None
            if task_metrics is None or task_metrics.cpu_ns is None
            else (task_metrics.cpu_ns + task_metrics.deserialize_cpu_ns) / 1e9,
            gc_s=None if task_metrics is None else task_metrics.gc_ms / 1000,
        )

    def _missing_ends(self) -> int:
        done = Counter(
            (event.stage_id, event.stage_attempt) for event in self.ended.values() if event.reason.reason == "Success"
        )
        complete = ((key, info) for key, info in self.stages.items() if info.failure is None)
        return sum(max(0, info.tasks - done[key]) for key, info in complete)


class _ContradictionError(Exception):
    """An event that contradicts earlier events."""


def _totals(attempts: Iterable[Metrics]) -> dict[str, int]:
    """Return the sums of the attempts' metrics."""
    totals: Counter[str] = Counter()
    for metrics in attempts:
        totals["run_ms"] += metrics.run_ms
        totals["gc_ms"] += metrics.gc_ms
        totals["memory_spilled_bytes"] += metrics.memory_spilled_bytes
        totals["disk_spilled_bytes"] += metrics.disk_spilled_bytes
        if metrics.cpu_ns is not None:
            totals["cpu_ns"] += metrics.cpu_ns + metrics.deserialize_cpu_ns
        if metrics.shuffle_read:
            totals["shuffle_read_bytes"] += metrics.shuffle_read.remote_bytes + metrics.shuffle_read.local_bytes
            totals["shuffle_remote_read_bytes"] += metrics.shuffle_read.remote_bytes
            totals["shuffle_wait_ms"] += metrics.shuffle_read.wait_ms
        if metrics.shuffle_write:
            totals["shuffle_write_bytes"] += metrics.shuffle_write.written_bytes
            totals["shuffle_write_ns"] += metrics.shuffle_write.time_ns
        if metrics.input:
            totals["input_bytes"] += metrics.input.read_bytes
        if metrics.output:
            totals["output_bytes"] += metrics.output.written_bytes
    return dict(totals)


_ANY_EVENT: Final = msgspec.json.Decoder(AnyEvent)
_HANDLERS: Final[dict[str, tuple[msgspec.json.Decoder[Any], Callable[[_EventLogReader, Any], None]]]] = {
    f"SparkListener{name}": (msgspec.json.Decoder(kind), take)
    for name, kind, take in (
        ("LogStart", LogStart, _EventLogReader.on_log_start),
        ("ApplicationStart", ApplicationStart, _EventLogReader.on_application_start),
        ("ApplicationEnd", ApplicationEnd, _EventLogReader.on_application_end),
        ("EnvironmentUpdate", EnvironmentUpdate, _EventLogReader.on_environment),
        ("ExecutorAdded", ExecutorAdded, _EventLogReader.on_executor),
        ("ExecutorRemoved", ExecutorRemoved, _EventLogReader.on_executor_removed),
        ("JobStart", JobStart, _EventLogReader.on_job_start),
        ("JobEnd", JobEnd, _EventLogReader.on_job_end),
        ("StageCompleted", StageCompleted, _EventLogReader.on_stage),
        ("TaskStart", TaskStart, _EventLogReader.on_task_start),
        ("TaskEnd", TaskEnd, _EventLogReader.on_task_end),
    )
} | {
    f"StreamingQueryListener${name}": (_ANY_EVENT, _EventLogReader.on_streaming_query)
    for name in ("QueryStartedEvent", "QueryProgressEvent", "QueryTerminatedEvent")
}
