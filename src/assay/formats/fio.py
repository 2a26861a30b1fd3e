"""fio's JSON report (``--output-format=json``): what each job read and wrote, and how fast.

In: the report as bytes. Out: :class:`FioReport` with bytes, bytes/s and requests/s per job and direction. The format is
fio's own (HOWTO, "JSON output"); releases before 3.0 gave bandwidth in KiB/s only. Lines before the object, such as
fio's notes on its options, are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from assay.errors import FormatError


@dataclass(frozen=True, slots=True)
class FioDirection:
    """Reads or writes of one job: bytes, bytes/s, requests/s. All are 0 when the job did none."""

    io_bytes: int
    bytes_per_s: float
    iops: float


@dataclass(frozen=True, slots=True)
class FioJob:
    """One job's figures. ``error`` is an errno, 0 when all went well."""

    name: str
    error: int
    read: FioDirection
    write: FioDirection


@dataclass(frozen=True, slots=True)
class FioReport:
    """One invocation of fio."""

    version: str
    jobs: tuple[FioJob, ...]

    def job(self, name: str) -> FioJob:
        """Return the job ``name``; raise FormatError when the report has none."""
        for job in self.jobs:
            if job.name == name:
                return job
        raise FormatError(f"fio's report has no job {name}")


class _Direction(msgspec.Struct):
    io_bytes: int = 0
    bw: float = 0.0
    bw_bytes: float | None = None
    iops: float = 0.0

    def value(self) -> FioDirection:
        rate = self.bw * 1024 if self.bw_bytes is None else self.bw_bytes
        return FioDirection(self.io_bytes, rate, self.iops)


class _Job(msgspec.Struct):
    jobname: str
    read: _Direction
    write: _Direction
    error: int = 0


class _Report(msgspec.Struct):
    version: str = msgspec.field(name="fio version")
    jobs: list[_Job]


def parse_fio(report: bytes) -> FioReport:
    """Return what ``report`` says; raise FormatError when it is not fio's JSON."""
    start = 0 if report.startswith(b"{") else report.find(b"\n{") + 1
    try:
        parsed = msgspec.json.decode(report[start:], type=_Report)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(
            f"not a JSON report of fio: {error}", hint="fio writes one with --output-format=json"
        ) from error
    jobs = tuple(FioJob(job.jobname, job.error, job.read.value(), job.write.value()) for job in parsed.jobs)
    return FioReport(parsed.version, jobs)
