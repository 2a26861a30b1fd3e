"""Import MapReduce job histories: each job is one run.

In: ``.jhist`` files of Hadoop 2 and 3, Avro-binary or JSON, and their ``job_…_conf.xml`` if it is among the files
(found by the job's id). Out: a run with the time from the job's submission to its end, its task attempts, phases,
totals of its counters, and the parameters that were set for it. Sizes are in bytes, times in seconds.

``data_bytes`` is the number of bytes that the job's input format read (``BYTES_READ`` of FileInputFormatCounter).
Without this counter, it is the number of bytes that all tasks read from HDFS, without the list of splits. For programs
that only write, it is the number of bytes written to HDFS. An absent or negative counter gives no metric; nor does a
CPU time of 0 ms, which Hadoop writes if it can't measure CPU time.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from assay.analysis.run_profile.job_figures import COUNTERS, CPU_COUNTER, GC_COUNTER
from assay.analysis.run_profile.run_detail import detail_metrics, run_detail
from assay.foundation.errors import FormatError
from assay.model import CodedWarning, ImportedRun, RunStatus, SkippedItem, Trace, WarningCode, foreign_run
from assay.model.runs.throughput import JOB_THROUGHPUT, job_throughput_mb_per_s
from assay.store.formats.format import Format
from assay.store.formats.hadoop.configuration import Property, parameters, read_conf
from assay.store.formats.hadoop.jhist import JobHistory, job_of, parse_jhist, phases
from assay.store.formats.hadoop.job_names import LENGTH_MAX, WRITERS, workload_of
from assay.store.formats.plausible import DURATION_MAX_S
from assay.store.formats.source import Source

_JOB: Final = re.compile(r"job_[0-9]+_[0-9]+")
_MAGIC: Final = re.compile(rb"Avro-(Json|Binary)[ \t\r]*\n")
_CONF_NAME: Final = re.compile(r"(^|.*/)job_[0-9]+_[0-9]+_conf\.xml(\.\w+)?", re.DOTALL)
_JAR: Final = re.compile(r"hadoop-(?:mapreduce|test|examples)[a-z-]*-([0-9]+\.[0-9]+\.[0-9]+)[\w.-]*\.jar")
_MAJOR: Final = {"0.23.0": "2.x", "3.0.0": "3.x"}
"""``hadoop.common.configuration.version`` to the major version of Hadoop that writes it."""
_SUBMIT_S: Final = (1_104_537_600, 4_102_444_800)
"""Range of plausible times of submission, in Unix seconds: 2005 up to 2100."""


def _recognises(name: str, head: bytes) -> bool:
    if _CONF_NAME.fullmatch(name):
        return b"<configuration" in head
    return _MAGIC.match(head) is not None


def _read(sources: Sequence[Source]) -> Iterator[ImportedRun | SkippedItem]:
    confs_by_job: dict[str, list[Source]] = {}
    for source in sources:
        if job := _conf_of(source.name):
            confs_by_job.setdefault(job, []).append(source)
    file_by_key: dict[str, str] = {}
    parsed_jobs: set[str] = set()
    for source in sources:
        if _conf_of(source.name):
            continue
        try:
            with source.stream() as stream:
                history = parse_jhist(stream, start_unix_s=None, source=source.name)
        except FormatError as error:
            yield SkippedItem(error.where or source.name, error.message)
            continue
        parsed_jobs.add(history.job_id)
        yield from _job(source.name, history, confs_by_job.get(history.job_id, []), file_by_key)
    for job, unused_confs in confs_by_job.items():
        if job not in parsed_jobs:
            for source in unused_confs:
                yield SkippedItem(source.name, f"the configuration of {job}, whose history is missing or can't be read")


def _conf_of(name: str) -> str | None:
    """Return the job id in the name of a job's configuration file; None for other files."""
    return _job_in(name) if _CONF_NAME.fullmatch(name) else None


def _job_in(name: str) -> str | None:
    match = _JOB.search(name.rpartition("/")[2])
    return match[0] if match else None


def _job(
    name: str, history: JobHistory, confs: list[Source], file_by_key: dict[str, str]
) -> Iterator[ImportedRun | SkippedItem]:
    key = f"{history.job_id} {round(history.submit_unix_s * 1000)}"
    if key in file_by_key:
        yield SkippedItem(name, f"{history.job_id} is also in {file_by_key[key]}")
        return
    properties: Mapping[str, Property] = {}
    warnings: list[CodedWarning] = []
    if confs:
        conf = next((conf for conf in confs if _folder(conf.name) == _folder(name)), confs[0])
        try:
            properties = read_conf(conf.content(), source=conf.name)
        except FormatError as error:
            message = f"the job's parameters are not known: {error.message}"
            warnings.append(CodedWarning(WarningCode.NOT_READ, message))
            yield SkippedItem(error.where or conf.name, error.message)
    item = _run(name, key, history, properties, warnings)
    if isinstance(item, ImportedRun):
        file_by_key[key] = name
    yield item


def _folder(name: str) -> str:
    return name.rpartition("/")[0]


def _run(
    name: str, key: str, history: JobHistory, properties: Mapping[str, Property], warnings: list[CodedWarning]
) -> ImportedRun | SkippedItem:
    submit_unix_s, duration_s = history.submit_unix_s, round(history.finish_unix_s - history.submit_unix_s, 3)
    if not _SUBMIT_S[0] <= submit_unix_s < _SUBMIT_S[1]:
        return SkippedItem(
            name, f"{history.job_id} was submitted {submit_unix_s:.0f} s after 1970, which is not plausible"
        )
    if not 0 < duration_s <= DURATION_MAX_S:
        return SkippedItem(
            name, f"{history.job_id} ran {duration_s:.3f} s from submission to end, which is not plausible"
        )
    mapper = _value(properties, "mapreduce.job.map.class") or _value(properties, "mapred.mapper.class")
    workload = workload_of(history.job_name, mapper)
    data_bytes, data_source = _data(history, workload)
    metrics = _task_counts(history) | {"job_s": duration_s}
    if data_bytes:
        metrics[JOB_THROUGHPUT] = job_throughput_mb_per_s(data_bytes, duration_s)
    run = foreign_run(
        jobs=(job_of(history, submit_unix_s),),
        workload=workload,
        duration_s=duration_s,
        status=RunStatus.VALID if history.status == "succeeded" else RunStatus.FAILED,
        cause=None if history.status == "succeeded" else _cause(history),
        parameters=parameters(properties.values()),
        started_at=datetime.fromtimestamp(submit_unix_s, UTC).isoformat(timespec="milliseconds"),
        data_bytes=data_bytes,
        engine_version=_version(history, properties),
        metrics=metrics,
        phases=phases(history, submit_unix_s),
        warnings=(*warnings, *_negative_counters(history), *_warnings(history)),
        environment={"job": {"id": history.job_id, "name": history.job_name[:LENGTH_MAX]}},
        sources=_sources(properties, data_source),
    )
    detail = detail_metrics(run_detail(run, history.tasks, Trace()))
    run_with_detail = replace(run, metrics=detail | metrics)
    return ImportedRun(key, name, run_with_detail, history.tasks, memory_bytes=history.memory_bytes)


def _value(properties: Mapping[str, Property], name: str) -> str:
    return properties[name].value if name in properties else ""


def _negative_counters(history: JobHistory) -> Iterator[CodedWarning]:
    """Return a warning for each negative counter, which gives no metric."""
    for counter in (*COUNTERS.values(), CPU_COUNTER, GC_COUNTER):
        total = history.counter(counter)
        if total is not None and total < 0:
            yield CodedWarning(WarningCode.LEFT_OUT, f"the counter {counter} is {total}: left out")


def _task_counts(history: JobHistory) -> dict[str, float]:
    """Return the numbers of tasks and of failed attempts of maps and reduces, 0 for a kind without attempts."""
    counts: dict[str, float] = {}
    for kind in ("map", "reduce"):
        attempts = [task for task in history.tasks if task.kind == kind]
        counts[f"{kind}_tasks"] = len({task.task_id for task in attempts})
        counts[f"{kind}_attempts_failed"] = sum(task.status == "failed" for task in attempts)
    return counts


def _data(history: JobHistory, workload: str) -> tuple[int | None, str]:
    """Return the size of the job's data in bytes, and the counter that states it."""
    if workload in WRITERS:
        written_bytes = history.counter("HDFS_BYTES_WRITTEN")
        return (written_bytes, "HDFS_BYTES_WRITTEN") if written_bytes and written_bytes > 0 else (None, "")
    input_bytes = history.counter("BYTES_READ")
    if input_bytes and input_bytes > 0:
        return input_bytes, "BYTES_READ of FileInputFormatCounter"
    hdfs_bytes, split_bytes = (history.counter(name) or 0 for name in ("HDFS_BYTES_READ", "SPLIT_RAW_BYTES"))
    return (
        (hdfs_bytes - split_bytes, "HDFS_BYTES_READ without SPLIT_RAW_BYTES")
        if 0 <= split_bytes < hdfs_bytes
        else (None, "")
    )


def _version(history: JobHistory, properties: Mapping[str, Property]) -> str:
    """Return Hadoop's version from a benchmark's jar, or its major version from the configuration."""
    jar = _JAR.search(history.job_name)
    return jar[1] if jar else _MAJOR.get(_value(properties, "hadoop.common.configuration.version"), "")


def _cause(history: JobHistory) -> str:
    reason = next((line.strip() for line in (history.diagnostics or "").splitlines() if line.strip()), "")
    outcome = {"killed": "was killed", "failed": "failed"}.get(history.status, f"ended as {history.status[:40]!r}")
    return f"the job {outcome}: {reason[:300]}" if reason else f"the job {outcome}; its history gives no reason"


def _warnings(history: JobHistory) -> Iterator[CodedWarning]:
    if history.status == "succeeded" and (lost_tasks := history.failed_maps + history.failed_reduces) > 0:
        yield CodedWarning(
            WarningCode.OTHER, f"{lost_tasks} tasks failed, and the job was allowed to continue without them"
        )
    backwards = sum(task.end_s < task.start_s for task in history.tasks)
    if backwards:
        message = f"{backwards} task attempts end before they start: the nodes' clocks differed"
        yield CodedWarning(WarningCode.CLOCK, message)


def _sources(properties: Mapping[str, Property], data_source: str) -> dict[str, str]:
    sources = {
        "duration_s": "job history: submission to end",
        "tasks": "job history",
        "phases": "job history",
        "metrics": "job history: totals of the job's counters",
    }
    if data_source:
        sources["data_bytes"] = f"job history: {data_source}"
    if properties:
        sources["parameters"] = "the job's configuration: differences from Hadoop's defaults"
    return sources


FORMAT: Final = Format("jhist", "MapReduce job history (.jhist, with its job_…_conf.xml)", _recognises, _read)
