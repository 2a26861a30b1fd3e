"""Read the job history of Hadoop 1: the text files ``job_…`` that its JobTracker keeps under ``history/``.

In: the file's text. Out: the same :class:`~jhist.JobHistory` as for Hadoop 2 and 3, in seconds and bytes. The format is
defined by org.apache.hadoop.mapred.JobHistory of Hadoop 0.20 to 1.2: records ``Type KEY="value" … .``, a backslash
before ``" = .`` and itself, and counters as ``{(group)(display name)[(NAME)(display name)(value)]…}…``. Attempts of a
job's setup and cleanup are left out: they are not maps, even if their records say so.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from assay.foundation.errors import FormatError
from assay.model import TaskAttempt
from assay.store.formats.hadoop.jhist import JobHistory

_RECORD = re.compile(r"\s*+(?P<type>Meta|Job|Task|MapAttempt|ReduceAttempt)\b")
_PAIR = re.compile(r'\s*+([A-Z_]++)="([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_END = re.compile(r"\s*+\.")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_TEXT = r"\(([^()\\]*+(?:\\.[^()\\]*+)*+)\)"
_COUNTER = re.compile(rf"\{{{_TEXT}|\[{_TEXT}{_TEXT}\((-?[0-9]{{1,19}})\)\]", re.DOTALL)
_STATUSES: Final = {"SUCCESS": "succeeded", "FAILED": "failed", "KILLED": "killed"}
_KINDS: Final = {"MAP": "map", "REDUCE": "reduce"}
_TIME = re.compile(r"[0-9]{1,15}")
_FILE_SYSTEM: Final = "FileSystemCounter"
_TASK: Final = "TaskCounter"
_CURRENT_GROUPS: Final = {"FileSystemCounters": _FILE_SYSTEM, "org.apache.hadoop.mapred.Task$Counter": _TASK}
_COUNTER_MAX: Final = 2**63 - 1
"""Maximum of a Java long, and so of a counter."""


def parse_hadoop1_history(text: str, *, start_unix_s: float = 0.0, source: str = "job history") -> JobHistory:
    """Return the job in ``text``, with task times counted from ``start_unix_s``.

    Raises :class:`FormatError` with the line if the file is damaged or cut off, or if the job had not ended.
    """
    job = _JobRecords()
    for line, kind, record in _records(text, source):
        where = f"{source}:{line}"
        if kind == "Job":
            job.fields.update(record)
        elif kind in ("MapAttempt", "ReduceAttempt") and record.get("TASK_TYPE") in _KINDS:
            attempt = record.get("TASK_ATTEMPT_ID", "")
            if not attempt:
                raise FormatError("an attempt has no TASK_ATTEMPT_ID", where=where)
            job.attempts.setdefault(attempt, {}).update(record)
        elif kind == "Task" and record.get("TASK_STATUS") == "FAILED":
            job.failed_tasks[record.get("TASKID", "")] = record.get("TASK_TYPE", "")
    return job.history(source, start_unix_s)


def _records(text: str, source: str) -> Iterator[tuple[int, str, dict[str, str]]]:
    position, line, counted_until = 0, 1, 0
    while match := _RECORD.match(text, position):
        line += text.count("\n", counted_until, match.start("type"))
        counted_until, position = match.start("type"), match.end()
        record: dict[str, str] = {}
        while pair := _PAIR.match(text, position):
            record[pair[1]] = _ESCAPE.sub(r"\1", pair[2])
            position = pair.end()
        end = _END.match(text, position)
        if not end:
            raise FormatError(
                f"the record {match['type']} can't be read",
                where=f"{source}:{line}",
                hint="the file is damaged or was cut off: fetch it again",
            )
        position = end.end()
        yield line, match["type"], record
    if text[position:].strip():
        line += text.count("\n", counted_until, position)
        raise FormatError("is not a record of a job history", where=f"{source}:{line}")


def _counters(text: str) -> dict[str, dict[str, int]]:
    """Return counters by group and name; groups of tasks and file systems have their current names."""
    groups: dict[str, dict[str, int]] = {}
    group: dict[str, int] = {}
    for group_name, name, _, value in _COUNTER.findall(text):
        if value:
            group[_ESCAPE.sub(r"\1", name)] = int(value)
        else:
            full_name = _ESCAPE.sub(r"\1", group_name)
            group = groups.setdefault(_CURRENT_GROUPS.get(full_name, full_name), {})
    return groups


@dataclass(slots=True)
class _JobRecords:
    """The records of the job so far; the last value of a repeated field counts."""

    fields: dict[str, str] = field(default_factory=dict)
    attempts: dict[str, dict[str, str]] = field(default_factory=dict)
    failed_tasks: dict[str, str] = field(default_factory=dict)
    """Task id to its type."""

    def history(self, source: str, start_unix_s: float) -> JobHistory:
        job_id, status = self.fields.get("JOBID", ""), _STATUSES.get(self.fields.get("JOB_STATUS", ""))
        submit_s, finish_s = (_seconds(self.fields, name, source) for name in ("SUBMIT_TIME", "FINISH_TIME"))
        if not job_id or submit_s is None:
            raise FormatError("lacks the job's id or the time of its submission", where=source)
        if status is None or finish_s is None:
            raise FormatError(
                "the history has no end of the job",
                where=source,
                hint="the job still ran when the file was copied, or the file was cut off",
            )
        failed_kinds = list(self.failed_tasks.values())
        tasks = (_task(job_id, name, record, finish_s, start_unix_s, source) for name, record in self.attempts.items())
        return JobHistory(
            job_id=job_id,
            job_name=self.fields.get("JOBNAME", ""),
            user=self.fields.get("USER", ""),
            start_unix_s=start_unix_s,
            submit_unix_s=submit_s,
            launch_unix_s=_seconds(self.fields, "LAUNCH_TIME", source),
            finish_unix_s=finish_s,
            status=status,
            maps=self._count("TOTAL_MAPS", source),
            reduces=self._count("TOTAL_REDUCES", source),
            finished_maps=self._count("FINISHED_MAPS", source),
            finished_reduces=self._count("FINISHED_REDUCES", source),
            failed_maps=failed_kinds.count("MAP"),
            failed_reduces=failed_kinds.count("REDUCE"),
            counters=_counters(self.fields.get("COUNTERS", "")),
            tasks=tuple(tasks),
            diagnostics=self.fields.get("FAIL_REASON") or None,
        )

    def _count(self, name: str, source: str) -> int:
        return int(_digits(self.fields.get(name, "0"), name, source))


def _digits(text: str, name: str, source: str) -> str:
    if not _TIME.fullmatch(text):
        raise FormatError(f"{name} is {text[:40]!r}, which is not a whole number", where=source)
    return text


def _seconds(record: dict[str, str], name: str, source: str) -> float | None:
    """Return a time; None if it is absent or 0, which means "never"."""
    text = record.get(name, "")
    return int(_digits(text, name, source)) / 1000 or None if text else None


def _task(
    job_id: str, name: str, record: dict[str, str], job_end_s: float, start_unix_s: float, source: str
) -> TaskAttempt:
    """Return an attempt. One without an end was killed at the job's end. One without a start has a duration of 0 s."""
    groups = _counters(record.get("COUNTERS", ""))

    def recorded(group: str, field_name: str) -> int | None:
        value = groups.get(group, {}).get(field_name)
        if value is not None and not 0 <= value <= _COUNTER_MAX:
            raise FormatError(f"{name}: the counter {field_name} is {value}", where=source)
        return value

    def counter(group: str, field_name: str) -> int:
        return recorded(group, field_name) or 0

    def recorded_s(field_name: str) -> float | None:
        value_ms = recorded(_TASK, field_name)
        return None if value_ms is None else value_ms / 1000

    def relative_s(field_name: str) -> float | None:
        time_s = _seconds(record, field_name, source)
        return None if time_s is None else round(time_s - start_unix_s, 6)

    end_s = relative_s("FINISH_TIME")
    end_s = round(job_end_s - start_unix_s, 6) if end_s is None else end_s
    start_s = relative_s("START_TIME")
    if start_s is not None and start_s > end_s:
        raise FormatError(f"{name} ends before it starts", where=source)
    status, node = _STATUSES.get(record.get("TASK_STATUS", ""), "killed"), record.get("HOSTNAME", "").rpartition("/")[2]
    return TaskAttempt(
        job_id=job_id,
        task_id=record.get("TASKID", ""),
        attempt_id=name,
        kind=_KINDS[record["TASK_TYPE"]],
        node=node,
        status=status,
        start_s=end_s if start_s is None else start_s,
        end_s=end_s,
        shuffle_end_s=relative_s("SHUFFLE_FINISHED"),
        merge_end_s=relative_s("SORT_FINISHED"),
        hdfs_read_bytes=counter(_FILE_SYSTEM, "HDFS_BYTES_READ"),
        hdfs_write_bytes=counter(_FILE_SYSTEM, "HDFS_BYTES_WRITTEN"),
        local_read_bytes=counter(_FILE_SYSTEM, "FILE_BYTES_READ"),
        local_write_bytes=counter(_FILE_SYSTEM, "FILE_BYTES_WRITTEN"),
        spilled_records=recorded(_TASK, "SPILLED_RECORDS"),
        cpu_s=recorded_s("CPU_MILLISECONDS"),
        gc_s=recorded_s("GC_TIME_MILLIS"),
    )
