"""Convert the jobs of a fio report into measurements of a device: access pattern, direction, concurrency, rate.

In: a :class:`~fio.FioReport`. Out: :class:`~assay.analysis.devices.calibration.DeviceMeasurement`. Jobs are recognised
by their options (``rw``, ``bs``, ``iodepth``, ``numjobs``, ``offset``), not by their names. Jobs of one name in one
group ran concurrently (``numjobs``) and count as one measurement of several streams. Mixed jobs (``rw``, ``randrw``),
trims, failed jobs and jobs that moved no data are omitted. Jobs that used the page cache measured memory and are also
omitted (:func:`cached_jobs`).
"""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from assay.analysis.devices.calibration import DeviceMeasurement
from assay.foundation.errors import FormatError
from assay.store.formats.bare.fio import FioJob, FioReport, options_of

_KINDS: Final = {"read": (False, False), "write": (True, False), "randread": (False, True), "randwrite": (True, True)}
"""Value of ``rw`` to (writes, random)."""
_SIZE: Final = re.compile(r"(\d+)\s*([kmgtp]?)i?b?", re.IGNORECASE)
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_BS_DEFAULT: Final = "4k"
_QUEUING: Final = ("libaio", "io_uring", "posixaio", "solarisaio", "windowsaio", "io_uring_cmd", "sg")
"""Engines that keep more than one request in flight; the others ignore ``iodepth``."""
_DIRECT_ENGINES: Final = ("sg", "io_uring_cmd")
"""Engines that bypass the page cache, with or without ``direct``."""


def device_measurements(report: FioReport) -> tuple[DeviceMeasurement, ...]:
    """Return the measurements of ``report`` that describe the device.

    Raises FormatError if there are none because jobs went through the page cache.
    """
    measurements = []
    for jobs, options in _measured_jobs(report):
        kind = _KINDS.get(options.get("rw", "read").partition(":")[0])
        if kind is not None and _is_direct(options):
            measurement = _measurement(jobs, options, writes=kind[0], random=kind[1])
            measurements += [measurement] if measurement else []
    cached = cached_jobs(report)
    if cached and not measurements:
        raise FormatError(
            f"no job bypassed the page cache: {', '.join(cached)} had no direct=1",
            hint="run fio with direct=1; assay device fio-job prints a job file that has it",
        )
    return tuple(measurements)


def cached_jobs(report: FioReport) -> tuple[str, ...]:
    """Return the names of the jobs that went through the page cache."""
    return tuple(jobs[0].name for jobs, options in _measured_jobs(report) if not _is_direct(options))


def _measured_jobs(report: FioReport) -> Iterator[tuple[list[FioJob], dict[str, str]]]:
    """Yield the jobs of each measurement, with their options."""
    jobs = [job for job in report.jobs if not job.error]
    for _, group in groupby(jobs, key=lambda job: (job.group, job.name)):
        measured_jobs = list(group)
        yield measured_jobs, options_of(report, measured_jobs[0])


def _is_direct(options: dict[str, str]) -> bool:
    if options.get("ioengine") in _DIRECT_ENGINES:
        return True
    if "direct" in options:
        return options["direct"] in ("1", "true")
    return options.get("buffered") in ("0", "false")


def _measurement(
    jobs: list[FioJob], options: dict[str, str], *, writes: bool, random: bool
) -> DeviceMeasurement | None:
    directions = [job.write if writes else job.read for job in jobs]
    bytes_per_s, iops = (
        sum(direction.bytes_per_s for direction in directions),
        sum(direction.iops for direction in directions),
    )
    request_bytes = size_bytes(options.get("bs", _BS_DEFAULT).split(",")[-1 if writes else 0])
    if not bytes_per_s or not iops or not request_bytes:
        return None
    streams = max(len(jobs), _positive_int(options.get("numjobs")))
    depth = _positive_int(options.get("iodepth")) if options.get("ioengine") in _QUEUING else 1
    latencies_s = [direction.latency_mean_s for direction in directions if direction.latency_mean_s]
    latency_s = sum(latencies_s) / len(latencies_s) if latencies_s and depth * streams == 1 else None
    return DeviceMeasurement(
        job=jobs[0].name,
        writes=writes,
        random=random,
        request_bytes=request_bytes,
        streams=streams,
        depth=depth * streams,
        bytes_per_s=bytes_per_s,
        iops=iops,
        latency_s=latency_s,
        offset_share=_offset_share(options),
        span_bytes=_span_bytes(options, streams),
        span_share=_span_share(options, streams),
        moved_bytes=sum(direction.io_bytes for direction in directions),
    )


def size_bytes(text: str) -> int:
    """Return the bytes of a size in fio's notation, ``4k``, ``1M``, ``64KiB`` or ``4096``; 0 for other texts.

    Prefixes are powers of 1024.
    """
    match = _SIZE.fullmatch(text.strip())
    return int(match[1]) * 1024 ** _POWERS[match[2].lower()] if match and len(match[1]) < 16 else 0


def _positive_int(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and 0 < len(text) < 7 and int(text) else 1


def _span_bytes(options: dict[str, str], streams: int) -> int | None:
    """Return the number of bytes of the device that were used; None if :func:`_span_share` gives it, 0 if unknown."""
    size = options.get("size")
    if _on_device(options) and (size is None or _share(size) is not None):
        return None
    return size_bytes(size or "0") * streams


def _span_share(options: dict[str, str], streams: int) -> float:
    """Return the share of a block device that was used: a percentage of it, or the part after the offset."""
    size_share = _share(options.get("size", ""))
    share_after_offset = 1 - _offset_share(options)
    return share_after_offset if size_share is None else min(share_after_offset, size_share * streams)


def _offset_share(options: dict[str, str]) -> float:
    """Return the start of a job as a share of the device.

    Only percentages of a block device determine it; otherwise the result is 0, the device's start.
    """
    return _share(options.get("offset", "")) or 0.0 if _on_device(options) else 0.0


def _on_device(options: dict[str, str]) -> bool:
    return options.get("filename", "").startswith("/dev/")


def _share(text: str) -> float | None:
    """Return a percentage such as ``50%`` as a share; None for other texts."""
    match = re.fullmatch(r"(\d{1,3}(?:\.\d{1,9})?)%", text.strip())
    return min(1.0, float(match[1]) / 100) if match else None


_JOB_FILE_HEADER: Final = """\
; Measures one disk for: assay device calibrate REPORT.json
; Run it with: fio --output-format=json --output=REPORT.json THIS_FILE
[global]
filename={path}
{size}direct=1
ioengine=libaio
time_based=1
runtime={seconds}
"""
_STREAMS: Final = 8
"""Number of concurrent readers in the job that measures streams."""


def job_file(path: str, file_bytes: int | None, seconds: int, *, writes: bool) -> str:
    """Return fio's job file with all jobs that calibration can use, one after the other, each for ``seconds``.

    ``file_bytes`` is the used size of the file ``path``; None for a block device, whose inner edge is also read.
    """
    span = "12%" if file_bytes is None else str(max(1, file_bytes // _STREAMS // 2**20) * 2**20)
    jobs = {
        "sequential-write": "rw=write bs=1m iodepth=4" if writes else "",
        "sequential-read": "rw=read bs=1m iodepth=4",
        "inner-read": "rw=read bs=1m iodepth=4 offset=95% size=5%" if file_bytes is None else "",
        "streams-read": f"rw=read bs=640k iodepth=1 numjobs={_STREAMS} offset_increment={span} size={span}",
        "random-read": "rw=randread bs=4k iodepth=1",
        "random-read-deep": "rw=randread bs=4k iodepth=32",
        "random-write": "rw=randwrite bs=4k iodepth=1" if writes else "",
        "random-write-deep": "rw=randwrite bs=4k iodepth=32" if writes else "",
    }
    size = "" if file_bytes is None else f"size={file_bytes}\n"
    sections = [
        f"\n[{name}]\nstonewall\n" + "".join(f"{option}\n" for option in options.split())
        for name, options in jobs.items()
        if options
    ]
    return _JOB_FILE_HEADER.format(path=path, size=size, seconds=seconds) + "".join(sections)
