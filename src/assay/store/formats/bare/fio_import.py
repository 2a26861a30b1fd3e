"""Import fio's measurements of devices and file systems (``--output-format=json`` or ``json+``), one run per job.

In: files with one or more JSON reports, between other output of fio. Out: one run per job (per group, with
``group_reporting``). Its workload is ``fio:RW`` with the job's option ``rw`` (fio's default ``read`` if it is not set;
plain ``fio`` for releases that don't print options). Its duration is that of its reads or of its writes, whichever is
longer. Its metrics are MB/s (10^6 bytes), requests/s, the mean latency, and the median and 99th percentile of
completion latencies in seconds.

A job that ended with an error is a failed run. Jobs whose bytes, time and rate contradict each other are skipped, and
so are jobs that were still running (``--status-interval``) and the sum of all clients in client mode.
"""

import hashlib
import math
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Final

from assay.foundation.errors import FormatError
from assay.model import ImportedRun, RunStatus, SkippedItem, foreign_run
from assay.store.formats.bare.fio import FioDirection, FioJob, FioReport, options_of, parse_fio
from assay.store.formats.format import Format, read_each
from assay.store.formats.plausible import DURATION_MAX_S, REPORT_UNIX_S
from assay.store.formats.source import Source

_REPORT = re.compile(r"^\{", re.MULTILINE)
_RECORDED_OPTIONS: Final = (
    "bs",
    "bsrange",
    "direct",
    "fsync",
    "iodepth",
    "ioengine",
    "numjobs",
    "rate",
    "runtime",
    "rw",
    "rwmixread",
    "size",
    "sync",
    "time_based",
)
"""Options that change the measurement. The file's name is not among them because it only gives the location."""
_RW: Final = {"readwrite": "rw", "write,read": "rw"}
"""Other names of a value of ``rw`` to the name that workloads have."""
_LOCATION_OPTIONS: Final = ("filename", "directory")
_ALL_CLIENTS: Final = "All clients"
_BYTES_PER_S_MAX: Final = 1e13
"""Maximum rate of a job, in bytes per second. A value above this or the next limits is an error in the file."""
_IOPS_MAX: Final = 1e10
"""Maximum number of requests per second."""
_LATENCY_S_MAX: Final = 86_400.0
"""Maximum latency of a request, in seconds: a day."""
_BYTES_MAX: Final = 2**63
"""Maximum number of bytes that a job moves."""
_RELATIVE_DIFFERENCE_MAX: Final = 0.02
"""Maximum relative difference between the bytes of a job and its rate times its duration."""
_CLOCK_S: Final = 0.001
"""Resolution of a job's duration, in seconds."""
_ELAPSED_S: Final = 2.0
"""Maximum by which fio's seconds since its start exceed the true time, in seconds."""


def _recognises(name: str, head: bytes) -> bool:
    del name
    return b'"fio version"' in head


def _read(source: Source) -> Iterator[ImportedRun | SkippedItem]:
    text = source.text()
    starts = [match.start() for match in _REPORT.finditer(text)]
    if not starts:
        raise FormatError("holds no JSON report of fio", where=source.name, hint="run fio with --output-format=json")
    reports: list[tuple[str, FioReport]] = []
    line, counted_until = 1, 0
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=True):
        line, counted_until = line + text.count("\n", counted_until, begin), begin
        where = f"{source.name}:{line}"
        try:
            reports.append((where, parse_fio(text[begin:end].encode())))
        except (FormatError, UnicodeError) as error:
            yield SkippedItem(where, error.message if isinstance(error, FormatError) else str(error))
    for (where, report), next_report in zip_longest(reports, (report for _, report in reports[1:])):
        if not report.jobs:
            yield SkippedItem(where, "holds no job")
        for index, job in enumerate(report.jobs):
            try:
                if next_report and _same_job_start(report, next_report, index):
                    raise FormatError("was still running: a later report is complete (--status-interval)")
                yield _imported_run(f"{where}: job {job.name}", report, job)
            except FormatError as error:
                yield SkippedItem(f"{where}: job {job.name}", error.message)


def _same_job_start(report: FioReport, later: FioReport, index: int) -> bool:
    """Return whether ``later`` reports on the same start of job number ``index`` as ``report``.

    It does if nothing has changed (the job had ended), if the job ran for longer than the time between the two reports,
    or if fio had started before the first report. fio rounds up the seconds since its start, by less than 2.
    """
    job, now_s, later_s = report.jobs[index], report.timestamp_s, later.timestamp_s
    if index >= len(later.jobs) or now_s is None or later_s is None or later_s < now_s:
        return False
    later_job = later.jobs[index]
    if (job.name, job.group, job.hostname, job.options) != (
        later_job.name,
        later_job.group,
        later_job.hostname,
        later_job.options,
    ):
        return False
    if (job.read, job.write) == (later_job.read, later_job.write):
        return True
    duration_s = max(later_job.read.runtime_s, later_job.write.runtime_s)
    return duration_s > later_s - now_s or later_s - later_job.elapsed_s + _ELAPSED_S < now_s


def _imported_run(where: str, report: FioReport, job: FioJob) -> ImportedRun:
    if job.hostname and job.name == _ALL_CLIENTS:
        raise FormatError("is the sum of the jobs before it")
    if job.remaining_s > 0:
        raise FormatError("was still running: it has no result yet (--status-interval)")
    metrics = _metrics("read", job.read) | _metrics("write", job.write)
    duration_s = max(job.read.runtime_s, job.write.runtime_s)
    failed = job.error != 0
    if failed and not duration_s:
        duration_s = job.elapsed_s
    if not 0 <= duration_s <= DURATION_MAX_S:
        raise FormatError(f"ran for {duration_s:.6g} s, which is impossible")
    if not failed and (not duration_s or not metrics):
        raise FormatError("read and wrote nothing")
    has_options = job.options is not None
    options = options_of(report, job)
    rw = options.get("rw", "read").partition(":")[0]
    run = foreign_run(
        workload=f"fio:{_RW.get(rw, rw)}" if has_options or "rw" in options else "fio",
        duration_s=duration_s,
        status=RunStatus.FAILED if failed else RunStatus.VALID,
        cause=f"fio: {_errno_text(job.error)} (error {job.error})" if failed else None,
        engine="fio",
        engine_version=report.version.removeprefix("fio-"),
        parameters={f"fio.{name}": options[name] for name in _RECORDED_OPTIONS if name in options},
        started_at=_started_at(report, job),
        data_bytes=job.read.io_bytes + job.write.io_bytes,
        metrics=metrics,
        environment=_environment(report, job, options),
        sources={
            "duration_s": "fio: runtime",
            "metrics": "fio's report",
            "started_at": "fio: job_start, or timestamp − elapsed",
        },
    )
    digest = hashlib.sha256(repr((report.timestamp_s, report.options, job)).encode()).hexdigest()[:16]
    return ImportedRun(f"{job.name} {digest}", where, run)


def _metrics(direction: str, figures: FioDirection) -> dict[str, float]:
    """Return one direction's figures; empty if the job moved no data in this direction."""
    if not figures.io_bytes and not figures.bytes_per_s and not figures.iops:
        return {}
    latencies = {
        f"{direction}_latency_mean_s": figures.latency_mean_s,
        f"{direction}_completion_p50_s": figures.completion_p50_s,
        f"{direction}_completion_p99_s": figures.completion_p99_s,
    }
    metrics = {name: value for name, value in latencies.items() if value is not None}
    for value, maximum in (
        (figures.io_bytes, _BYTES_MAX),
        (figures.bytes_per_s, _BYTES_PER_S_MAX),
        (figures.iops, _IOPS_MAX),
        (figures.runtime_s, DURATION_MAX_S),
        *((value, _LATENCY_S_MAX) for value in metrics.values()),
    ):
        if not 0 <= value <= maximum:
            raise FormatError(f"has an impossible {direction} value: {float(min(value, 1e300)):.6g}")
    if not math.isclose(
        figures.bytes_per_s * figures.runtime_s,
        figures.io_bytes,
        rel_tol=_RELATIVE_DIFFERENCE_MAX,
        abs_tol=figures.bytes_per_s * _CLOCK_S + 1024 * (1 + figures.runtime_s),
    ):
        raise FormatError(f"its {direction} bytes, bandwidth and runtime contradict each other")
    return {f"{direction}_mb_per_s": figures.bytes_per_s / 1e6, f"{direction}_iops": figures.iops, **metrics}


def _environment(report: FioReport, job: FioJob, options: dict[str, str]) -> dict[str, object]:
    """Return where the job ran, as far as it is recorded: host, files, disks."""
    environment = {
        "node": job.hostname,
        "disks": list(report.disks),
        **{option: options.get(option) for option in _LOCATION_OPTIONS},
    }
    return {name: value for name, value in environment.items() if value}


def _started_at(report: FioReport, job: FioJob) -> str:
    """Return when the job began. For an older fio, it is the report's time less the elapsed time."""
    begin_s = job.started_s
    if begin_s is None and report.timestamp_s is not None:
        begin_s = report.timestamp_s - job.elapsed_s
    if begin_s is None or not REPORT_UNIX_S[0] <= begin_s <= REPORT_UNIX_S[1]:
        return ""
    return datetime.fromtimestamp(begin_s, UTC).isoformat(timespec="seconds")


def _errno_text(error: int) -> str:
    """Return the meaning of an errno. fio also uses numbers that are not documented."""
    return os.strerror(error) if 0 < error < 200 else "an fio error code"


FORMAT = Format("fio", "fio's JSON reports", _recognises, read_each(_read))
