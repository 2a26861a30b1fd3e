"""Read a Spark application from its event log: jobs, stages, task attempts and settings.

In: the lines of the log's files as bytes, in order (several if Spark rolled the log over). Out: an
:class:`Application`. Times in the log are milliseconds since 1970 on the driver's clock; here, task and stage times are
seconds from the application's start. Sizes are bytes.

The format is defined by org.apache.spark.util.JsonProtocol, Spark 1.3 and later: one JSON object per line, whose
``Event`` is the name of the listener's event. Unneeded events and keys are skipped, so logs of later versions stay
readable. If a needed key is missing or has another type, the log is rejected with the line.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from assay.foundation.errors import FormatError
from assay.model import Executor, Stage
from assay.store.formats.spark.attempts import FAILED, KILLED, SUCCEEDED, AttemptColumns, AttemptNumbers, Attempts
from assay.store.formats.spark.event_forms import (
    REASON_LENGTH_MAX,
    AnyEvent,
    ApplicationEnd,
    ApplicationStart,
    EnvironmentUpdate,
    ExecutorAdded,
    ExecutorRemoved,
    JobEnd,
    JobStart,
    LogStart,
    StageCompleted,
    StageInfo,
    TaskEnd,
    TaskStart,
)
from assay.store.formats.spark.stages import AttemptSums, all_sums, executors_of, stage_times, stages_of, sums_by_stage

_EVENT: Final = re.compile(rb'\s*\{\s*"Event"\s*:\s*"([\w.$]+)"\s*[,}]')
_EXPECTED_REMOVALS: Final = ("Executor killed by driver", "Executor decommission")


@dataclass(slots=True)
class SparkJob:
    """One job of an application; times in seconds from the application's start, None if not recorded."""

    stage_ids: tuple[int, ...]
    submit_s: float | None = None
    end_s: float | None = None
    failure: str | None = None
    """Why the job failed: empty if it succeeded, None if it had not ended."""
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
    """None if the log lacks the application's end."""
    exit_code: int | None
    """Recorded by Spark 4 and later."""
    jobs: dict[int, SparkJob]
    """Spark's job number to job, in the order of submission."""
    stages: tuple[Stage, ...]
    tasks: Attempts
    """Every attempt that was started or ended, by Spark's number; ``kind`` is ``shuffle_map`` or ``result``."""
    executor_cores: dict[str, int]
    """Every executor that was added."""
    executors: tuple[Executor, ...]
    """Executors that had task attempts."""
    stage_times: dict[str, dict[int, tuple[float, float]]]
    """For each executor that was added: stage to the first start and last end of its attempts, in seconds from the
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
    """Whether the application ran streaming queries or the batches of a stream."""


def read_application(parts: Iterable[tuple[str, Iterable[bytes]]]) -> Application:
    """Return the application whose log is in ``parts``: for each file, a name for messages and its lines.

    Raises :class:`FormatError` with the line of damage.
    """
    reader = _EventLogReader()
    name = "event log"
    for name, lines in parts:
        for number, line in enumerate(lines, start=1):
            if not line.isspace():
                reader.read_line(line, f"{name}:{number}")
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
    running: dict[int, TaskStart] = field(default_factory=dict)
    """Attempts that have not ended, by number."""
    ended: AttemptNumbers = field(default_factory=AttemptNumbers)
    resubmitted: dict[int, TaskEnd] = field(default_factory=dict)
    """Attempts that an executor's loss undid, by number."""
    attempts: AttemptColumns = field(default_factory=AttemptColumns)
    sums: defaultdict[tuple[int, int, str], AttemptSums] = field(default_factory=lambda: defaultdict(AttemptSums))
    first_failure: str = ""
    executor_cores: dict[str, int] = field(default_factory=dict)
    executor_hosts: dict[str, str] = field(default_factory=dict)
    lost: dict[str, LostExecutor] = field(default_factory=dict)
    is_streaming: bool = False

    def read_line(self, line: bytes, where: str) -> None:
        """Note one event. Raises :class:`FormatError` if it is not an event, or contradicts earlier events."""
        try:
            match = _EVENT.match(line)
            event = match[1].decode() if match else _ANY_EVENT.decode(line).name
            decoder_and_handler = _HANDLERS.get(event.rpartition(".")[2])
            if decoder_and_handler is None:
                return
            decoder, handle = decoder_and_handler
            handle(self, decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            cut_off_note = "" if line.endswith(b"\n") else " (the file ends in it: it was cut off, or is still written)"
            raise FormatError(f"this line is not a complete event{cut_off_note}: {error}", where=where) from error
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
        has_running_job = any(job.failure is None for job in self.jobs.values())
        if has_running_job and not event.reason.startswith(_EXPECTED_REMOVALS):
            message = " ".join(event.reason.split())[:REASON_LENGTH_MAX] or "no reason given"
            node = self.executor_hosts.get(event.executor_id, "an unknown host")
            self.lost[event.executor_id] = LostExecutor(event.executor_id, node, message)

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
        if event.info.task_id not in self.ended:
            self.running[event.info.task_id] = event

    def on_task_end(self, event: TaskEnd) -> None:
        """Note an attempt's end. A successful attempt gets a second end if its executor is lost later."""
        number = event.info.task_id
        if event.reason.reason == "Resubmitted":
            self.resubmitted.setdefault(number, event)
        elif self.ended.add(number):
            self._add_ended(event)
        elif number not in self.resubmitted:
            raise _ContradictionError(f"task {number} ends a second time")

    def _add_ended(self, event: TaskEnd) -> None:
        self.running.pop(event.info.task_id, None)
        if event.reason.reason == "Success":
            status = SUCCEEDED
        else:
            status = KILLED if event.info.killed or event.reason.reason == "TaskKilled" else FAILED
        if event.info.failed and not self.first_failure:
            self.first_failure = event.reason.line()
        self.attempts.add_ended(event, status)
        self.sums[event.stage_id, event.stage_attempt, event.info.executor_id].add(event)

    def _close(self, end_ms: int) -> None:
        """Add the attempts whose ends the log lacks. Those that still ran were killed at the application's end."""
        for number, event in self.resubmitted.items():
            if self.ended.add(number):
                self._add_ended(event)
        for started in self.running.values():
            self.attempts.add_unended(started, end_ms)

    def application(self, name: str) -> Application:
        if self.start is None:
            raise FormatError("no application starts in this log", where=name, hint="is this the whole log?")
        start, environment = self.start, self.environment
        self._close(self.end.time_ms if self.end else 0)
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
            stages=tuple(stages_of(self.stages, self.sums, start.time_ms)),
            executors=tuple(executors_of(self.executor_cores, self.sums)),
            tasks=self.attempts.attempts(set(self.resubmitted), self.job_of_stage, start.time_ms),
            executor_cores=self.executor_cores,
            stage_times=stage_times(self.executor_cores, self.sums, start.time_ms),
            lost=tuple(self.lost.values()),
            totals=dict(all_sums(self.sums).totals),
            missing_ends=self._missing_ends(),
            first_failure=self.first_failure,
            is_streaming=self.is_streaming,
        )

    def _missing_ends(self) -> int:
        sums_of_stages = sums_by_stage(self.sums)
        completed_stages = ((key, info) for key, info in self.stages.items() if info.failure is None)
        return sum(max(0, info.tasks - sums_of_stages[key].succeeded) for key, info in completed_stages)


class _ContradictionError(Exception):
    """An event that contradicts earlier events."""


_ANY_EVENT: Final = msgspec.json.Decoder(AnyEvent)
_HANDLERS: Final[dict[str, tuple[msgspec.json.Decoder[Any], Callable[[_EventLogReader, Any], None]]]] = {
    f"SparkListener{name}": (msgspec.json.Decoder(kind), handler)
    for name, kind, handler in (
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
