"""Import Spark event logs: one attempt of an application is one run.

In: event logs as Spark's history server reads them, uncompressed or compressed by one of Spark's codecs. A log is one
file, or a folder ``eventlog_v2_…`` with the files ``events_N_…`` of a rolled log. Out: a run with the time from the
application's start to its end, its stages as phases, its task attempts, sums of their metrics, and the explicitly set
properties that affect speed.

A log without the application's end gives no run because the duration is unknown. Before version 4, Spark records no
exit status, so an application counts as failed if one of its jobs failed or had not ended. ``data_bytes`` stays unknown
because Spark counts bytes again with every read, even from its cache. A log that Spark compacted
(``events_N_….compact``) lacks the jobs and tasks of finished stages, so only its time and its parameters are imported.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from assay.foundation.errors import FormatError
from assay.model import CodedWarning, ImportedRun, Run, RunStatus, SkippedItem, WarningCode, foreign_run
from assay.store.formats.format import Format
from assay.store.formats.hadoop.job_names import LENGTH_MAX, workload_of
from assay.store.formats.plausible import DURATION_MAX_S
from assay.store.formats.source import Source
from assay.store.formats.spark.codecs import codec_of, unpacked
from assay.store.formats.spark.events import Application, read_application
from assay.store.formats.spark.figures import metrics_of, phases_of
from assay.store.formats.spark.parameters import spark_parameters

_CODEC_NAME: Final = re.compile(r".*\.(lz4|lzf|snappy|zstd|zst)(\.inprogress|\.compact)?", re.DOTALL)
_FIRST_EVENT: Final = re.compile(rb'\s*\{\s*"Event"\s*:\s*"([\w.$]*\.)?SparkListener\w+"')
_PART: Final = re.compile(r"events_([0-9]{1,9})_(.+?)(?:\.(?:lz4|lzf|snappy|zstd))?(\.compact)?", re.DOTALL)
_STATUS: Final = re.compile(r"appstatus_.+", re.DOTALL)
_START_UNIX_S: Final = (1_262_304_000, 4_102_444_800)
"""Range of plausible starts, in Unix seconds: 2010 up to 2100."""


@dataclass(slots=True)
class _Log:
    """The files of one log.

    A part of a rolled log has its number, whether Spark compacted it (so that it replaces the parts before), and its
    file.
    """

    name: str
    parts: list[tuple[int, bool, Source]] = field(default_factory=list)

    @property
    def is_compacted(self) -> bool:
        """Whether Spark dropped the events of finished jobs."""
        return any(compacted for _, compacted, _ in self.parts)

    def contents(self) -> Iterator[tuple[str, Iterable[bytes]]]:
        """Yield the files in order, each with its lines. A file that Spark compressed is decompressed while it is read.

        Raises :class:`FormatError` if a file is missing, repeated or damaged.
        """
        first_number = max((number for number, compacted, _ in self.parts if compacted), default=0)
        sources_by_number = sorted(
            (
                (n, source)
                for n, compacted, source in self.parts
                if n > first_number or (compacted and n == first_number)
            ),
            key=lambda part: part[0],
        )
        for expected_number, (number, source) in enumerate(sources_by_number, start=first_number or 1):
            if number != expected_number:
                message = f"is file {number} of the rolled log, not {expected_number}: a file is missing or repeated"
                raise FormatError(message, where=source.name)
            yield source.name, source.lines(unpacked)


def _recognises(name: str, head: bytes) -> bool:
    base = name.rpartition("/")[2]
    if _STATUS.fullmatch(base) and "eventlog_v2_" in name:
        return not head
    return _FIRST_EVENT.match(head) is not None or (
        codec_of(head) is not None and _CODEC_NAME.fullmatch(base) is not None
    )


def _logs(sources: Sequence[Source]) -> list[_Log]:
    """Return the files grouped into logs, in the order of each log's first file."""
    logs: dict[str, _Log] = {}
    for source in sources:
        folder, _, base = source.name.rpartition("/")
        if _STATUS.fullmatch(base):
            continue
        if part := _PART.fullmatch(base):
            log = logs.setdefault(f"{folder}/{part[2]}", _Log(folder or f"events of {part[2]}"))
            log.parts.append((int(part[1]), part[3] is not None, source))
        else:
            logs[source.name] = _Log(source.name, [(1, False, source)])
    return list(logs.values())


def _read(sources: Sequence[Source]) -> Iterator[ImportedRun | SkippedItem]:
    file_by_key: dict[str, str] = {}
    for log in _logs(sources):
        try:
            application = read_application(log.contents())
        except FormatError as error:
            yield SkippedItem(error.where or log.name, error.message)
            continue
        name = application.app_id or application.name
        key = f"{name} {application.attempt_id} {round(application.start_unix_s * 1000)}"
        if key in file_by_key:
            yield SkippedItem(log.name, f"{name} is also in {file_by_key[key]}")
        elif why := _reason_unusable(application):
            yield SkippedItem(log.name, why)
        else:
            file_by_key[key] = log.name
            run = _run(application, log.is_compacted)
            heaps = tuple(executor.peak_heap_bytes for executor in run.executors if executor.peak_heap_bytes)
            yield ImportedRun(
                key,
                log.name,
                run,
                () if log.is_compacted else application.tasks,
                memory_bytes={"executor": heaps} if heaps else {},
                is_streaming=application.is_streaming,
            )


def _reason_unusable(application: Application) -> str | None:
    """Return why the application gives no run; None if it gives a run."""
    if not _START_UNIX_S[0] <= application.start_unix_s < _START_UNIX_S[1]:
        return f"the application started {application.start_unix_s:.0f} s after 1970, which is not plausible"
    if application.duration_s is None:
        return "the application's end is not in the log: it still ran, or its driver died, so its duration is unknown"
    if not 0 < application.duration_s <= DURATION_MAX_S:
        return f"the application ran {application.duration_s:.3f} s, which is not plausible"
    return None


def _run(application: Application, compacted: bool) -> Run:
    duration_s = application.duration_s
    assert duration_s is not None
    status, cause = _status(application, compacted)
    totals, warnings = ({}, []) if compacted else metrics_of(application)
    return foreign_run(
        engine="spark",
        engine_version=application.spark_version,
        workload=workload_of(application.name),
        duration_s=duration_s,
        status=status,
        cause=cause,
        parameters=spark_parameters(application.properties),
        started_at=datetime.fromtimestamp(application.start_unix_s, UTC).isoformat(timespec="milliseconds"),
        metrics=totals,
        phases=() if compacted else phases_of(application, duration_s),
        stages=() if compacted else application.stages,
        executors=() if compacted else application.executors,
        warnings=(*warnings, *_warnings(application, compacted)),
        environment={
            "job": {"id": application.app_id, "name": application.name[:LENGTH_MAX]},
            **({"java": application.java_version} if application.java_version else {}),
        },
        sources={
            "duration_s": "Spark event log: the application's start to its end",
            "parameters": "Spark event log: the properties that were set",
            **(
                {}
                if compacted
                else {
                    "metrics": "Spark event log: sums over all task attempts",
                    "phases": "Spark event log: stages",
                    "tasks": "Spark event log",
                }
            ),
        },
    )


def _status(application: Application, compacted: bool) -> tuple[RunStatus, str | None]:
    """Return how the application ended: by its exit code if recorded, else by its jobs."""
    if application.exit_code:
        return RunStatus.FAILED, f"the application ended with exit code {application.exit_code}"
    if application.exit_code is None:
        failed_jobs = {number: job.failure for number, job in application.jobs.items() if job.failure != ""}
        if failed_jobs:
            job, why = next(iter(failed_jobs.items()))
            others = f" (and {len(failed_jobs) - 1} more)" if len(failed_jobs) > 1 else ""
            ending = f"failed: {why[:300]}" if why else "had not ended when the application did"
            return RunStatus.FAILED, f"job {job} {ending}{others}"
    if not application.jobs and not compacted:
        return RunStatus.INVALID, "the application ran no job"
    return RunStatus.VALID, None


def _warnings(application: Application, compacted: bool) -> Iterator[CodedWarning]:
    if compacted:
        message = "Spark compacted this log: the tasks of finished stages are gone, so no metrics are imported"
        yield CodedWarning(WarningCode.NOT_READ, message)
        return
    if application.missing_ends:
        yield CodedWarning(
            WarningCode.NOT_READ,
            f"{application.missing_ends} tasks that succeeded are not in the log (Spark drops events when it can't "
            "keep up): the metrics are too low",
        )
    if count := application.tasks.impossible_times():
        message = f"{count} task attempts end before they start, or start before the application: clocks differed"
        yield CodedWarning(WarningCode.CLOCK, message)


FORMAT: Final = Format("spark", "Spark event log (plain, packed, or rolled over)", _recognises, _read)
