"""Parse fio's JSON report (``--output-format=json``): bytes, rates and latencies of each job.

In: the report as bytes. Out: :class:`FioReport` with bytes, bytes/s, requests/s and seconds per job and direction. The
format is fio's own (HOWTO, "JSON output", and ``stat.c``). Releases before 3.0 report bandwidth only in KiB/s,
``io_bytes`` in KiB, and latencies in µs (``clat``, not ``clat_ns``). Text before and after the object, such as fio's
notes on its options, is skipped. In client mode the jobs are listed as ``client_stats``.
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from assay.foundation.errors import FormatError

_OLD_IO_BYTES = 1024
"""Unit of ``io_bytes`` before fio 3, in bytes."""
_SYNONYMS = {"readwrite": "rw", "blocksize": "bs", "blocksize_range": "bsrange"}
"""Older name of an option to its current name."""


@dataclass(frozen=True, slots=True)
class FioDirection:
    """Reads or writes of one job: bytes, bytes/s, requests/s. All are 0 if the job had none.

    Latencies are None if the report lacks them. ``completion_p50_s`` and ``completion_p99_s`` count from submission to
    completion; ``latency_mean_s`` is the mean time from creation to completion.
    """

    io_bytes: int
    bytes_per_s: float
    iops: float
    runtime_s: float = 0.0
    latency_mean_s: float | None = None
    completion_p50_s: float | None = None
    completion_p99_s: float | None = None


@dataclass(frozen=True, slots=True)
class FioJob:
    """One job's figures, or a group's. ``error`` is an errno; 0 means success."""

    name: str
    error: int
    read: FioDirection
    write: FioDirection
    group: int = 0
    elapsed_s: float = 0.0
    remaining_s: float = 0.0
    """Estimated remaining time; 0 if the job has ended, or if fio does not know it."""
    hostname: str = ""
    """The server that ran the job, in client mode."""
    options: dict[str, str] | None = None
    """The job's options as in the job file, without the report's global options; None in reports of older fio."""
    started_s: float | None = None
    """Start in seconds since 1970; None in reports of fio before 3.36."""


@dataclass(frozen=True, slots=True)
class FioReport:
    """One invocation of fio. ``timestamp_s`` is its end in seconds since 1970; None in reports of older versions."""

    version: str
    jobs: tuple[FioJob, ...]
    timestamp_s: float | None = None
    options: dict[str, str] = field(default_factory=dict)
    disks: tuple[str, ...] = ()

    def job(self, name: str) -> FioJob:
        """Return the job ``name``. Raises FormatError if the report lacks it."""
        for job in self.jobs:
            if job.name == name:
                return job
        raise FormatError(f"fio's report has no job {name}")


class _Latency(msgspec.Struct):
    mean: float = 0.0
    percentile: dict[str, float] = {}

    def at(self, percent: str, unit_s: float) -> float | None:
        for key in (f"{percent}.000000", f"{percent}.00"):
            if key in self.percentile:
                return self.percentile[key] * unit_s
        return None


class _Direction(msgspec.Struct):
    io_bytes: int = 0
    bw: float = 0.0
    bw_bytes: float | None = None
    iops: float = 0.0
    runtime: float = 0.0
    lat: _Latency | None = None
    lat_ns: _Latency | None = None
    clat: _Latency | None = None
    clat_ns: _Latency | None = None

    def direction(self) -> FioDirection:
        is_old_report = self.bw_bytes is None
        rate = self.bw * 1024 if self.bw_bytes is None else self.bw_bytes
        io_bytes = self.io_bytes * _OLD_IO_BYTES if is_old_report else self.io_bytes
        if not io_bytes:
            return FioDirection(0, rate, self.iops, self.runtime / 1e3)
        latency, completion, unit_s = (self.lat_ns, self.clat_ns, 1e-9)
        if latency is None and completion is None:
            latency, completion, unit_s = (self.lat, self.clat, 1e-6)
        return FioDirection(
            io_bytes,
            rate,
            self.iops,
            self.runtime / 1e3,
            latency.mean * unit_s if latency and latency.mean else None,
            completion.at("50", unit_s) if completion else None,
            completion.at("99", unit_s) if completion else None,
        )


class _FioJsonJob(msgspec.Struct):
    jobname: str
    read: _Direction | None = None
    write: _Direction | None = None
    error: int = 0
    groupid: int = 0
    elapsed: float = 0.0
    eta: float = 0.0
    job_start: float | None = None
    hostname: str = ""
    options: dict[str, Any] | None = msgspec.field(name="job options", default=None)

    def job(self) -> FioJob:
        if self.read is None or self.write is None:
            raise FormatError(f"fio's job {self.jobname} does not separate reads from writes (unified_rw_reporting)")
        options = None if self.options is None else _text_options(self.options)
        return FioJob(
            name=self.jobname,
            error=self.error,
            read=self.read.direction(),
            write=self.write.direction(),
            group=self.groupid,
            elapsed_s=self.elapsed,
            remaining_s=0.0 if self.eta >= _ETA_UNKNOWN_S else self.eta,
            hostname=self.hostname,
            options=options,
            started_s=None if self.job_start is None else self.job_start / 1e3,
        )


_ETA_UNKNOWN_S = 2**31 - 1
"""Minimum of ``eta`` that means an unknown remaining time, in seconds."""


class _Disk(msgspec.Struct):
    name: str = ""


class _FioJson(msgspec.Struct):
    version: str = msgspec.field(name="fio version")
    jobs: list[_FioJsonJob] | None = None
    client_stats: list[_FioJsonJob] | None = None
    timestamp: float | None = None
    timestamp_ms: float | None = None
    options: dict[str, Any] = msgspec.field(name="global options", default_factory=dict)
    disk_util: list[_Disk] = []


def options_of(report: FioReport, job: FioJob) -> dict[str, str]:
    """Return the options of a job and of its whole report, under their current names. The job's options prevail."""
    return {
        _SYNONYMS.get(name, name): value
        for options in (report.options, job.options or {})
        for name, value in options.items()
    }


def _text_options(options: dict[str, Any]) -> dict[str, str]:
    return {name: value for name, value in options.items() if isinstance(value, str)}


def parse_fio(report: bytes) -> FioReport:
    """Parse a report. Raises FormatError if it is not fio's JSON."""
    start = 0 if report.startswith(b"{") else report.find(b"\n{") + 1
    try:
        content = msgspec.json.decode(report[start : report.rfind(b"}") + 1], type=_FioJson)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(
            f"not a JSON report of fio: {error}", hint="fio writes one with --output-format=json"
        ) from error
    jobs = content.client_stats if content.jobs is None else content.jobs
    if jobs is None:
        raise FormatError("not a JSON report of fio: it has no jobs", hint="fio writes one with --output-format=json")
    timestamp_s = content.timestamp if content.timestamp_ms is None else content.timestamp_ms / 1e3
    return FioReport(
        content.version,
        tuple(job.job() for job in jobs),
        timestamp_s,
        _text_options(content.options),
        tuple(disk.name for disk in content.disk_util if disk.name),
    )
