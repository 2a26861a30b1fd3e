"""Import sysstat's recordings as ``sadf -j`` prints them: CPU, memory, disks and links of a host, sample by sample.

In: the JSON of sysstat 11 and 12. Out: one run of the workload ``observation`` per host, with its trace.

A sample covers the ``interval`` (whole seconds) before its timestamp. Its units, from ``json_stats.c``: ``rd_sec`` and
``wr_sec`` are sectors of 512 bytes per second; ``rkB``, ``wkB``, ``rxkB``, ``txkB`` and the memory's figures are in
1024 bytes; ``bread`` and ``bwrtn`` are blocks of 512 bytes; ``tps`` counts reads, writes and (sysstat 12) discards
together, so it becomes ``requests``; ``avgqu-sz`` (later ``aqu-sz``) is the growth of the kernel's weighted time.
Timestamps are UTC only if the sample says so (``utc`` is 1, or ``tz`` is UTC); otherwise the run's start is unknown.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from assay.foundation.errors import FormatError
from assay.model import ImportedRun, SkippedItem
from assay.store.formats.format import Format, read_each
from assay.store.formats.samplers.rates import (
    BYTES_PER_S_MAX,
    INTERVAL_S_MAX,
    KIB,
    SECTOR_BYTES,
    MetricValues,
    Recorder,
    day_time,
    number,
    share,
    short_form,
)
from assay.store.formats.samplers.sysstat import Host, cpu_growth, parse_hosts
from assay.store.formats.source import Source

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)\Z", re.ASCII)
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)\Z", re.ASCII)
_ROUNDING_S: Final = 1.0
"""Resolution of times of samples, in seconds."""
_INTERVAL_S_WRAPPED: Final = 2.0**64
"""Maximum interval that sysstat can print, in seconds: a negative difference as an unsigned 64-bit number."""
_MEMORY_KIB_MAX: Final = 1e14
"""Maximum memory of a host, in KiB. A larger value is an error in the file."""
_MEMORY: Final = {
    "memfree": "free_bytes",
    "avail": "available_bytes",
    "cached": "cached_bytes",
    "buffers": "buffers_bytes",
    "dirty": "dirty_bytes",
}
_NIC: Final = {
    "rxkB": ("receive_bytes", KIB),
    "txkB": ("transmit_bytes", KIB),
    "rxpck": ("receive_packets", 1),
    "txpck": ("transmit_packets", 1),
}


def _recognises(name: str, head: bytes) -> bool:
    """Recognise sadf's JSON: it has a ``file-date``, the JSON of other sysstat programs has a ``date``."""
    del name
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and b'"sysstat"' in head and b'"file-date"' in head


def _read(source: Source) -> Iterator[ImportedRun | SkippedItem]:
    for host in parse_hosts(source, "sadf"):
        yield from _read_host(source, host)


def _read_host(source: Source, host: Host) -> Iterator[ImportedRun | SkippedItem]:
    recorder = Recorder(host.nodename, tolerance_s=_ROUNDING_S)
    start_time, is_utc = datetime.min, False
    skipped_samples = 0
    for index, sample in enumerate(host.statistics, start=1):
        try:
            moment, interval_s, utc = _time_of(sample)
            if not recorder.end_s:
                start_time, is_utc = moment - timedelta(seconds=interval_s), utc
            t_s = (moment - start_time).total_seconds()
            if t_s <= recorder.end_s or utc != is_utc:
                raise FormatError("its time is not after that of the sample before it")
            if t_s - interval_s > recorder.end_s + INTERVAL_S_MAX:
                raise FormatError("it was taken more than a day after the one before it")
            growth, gauges = _growth(sample, host, interval_s)
        except FormatError as error:
            skipped_samples += 1
            yield SkippedItem(f"{source.name}: {host.nodename}, sample {index}", error.message)
            continue
        recorder.sample(t_s, interval_s, growth, gauges)
    if not len(recorder.trace):
        yield SkippedItem(f"{source.name}: {host.nodename}", "has no sample of CPU, memory, disks or network")
        return
    warnings = [f"{skipped_samples} of {len(host.statistics)} samples could not be read"] if skipped_samples else []
    if host.restarts:
        warnings.append(f"restarts of the host between the samples: {len(host.restarts)}")
    run = recorder.run(
        started=start_time.replace(tzinfo=UTC) if is_utc else None,
        environment=host.environment(),
        source="sadf",
        warnings=warnings,
    )
    key = f"{host.nodename} {start_time.isoformat(timespec='seconds')}{'Z' if is_utc else ''}"
    yield ImportedRun(key, f"{source.name}: {host.nodename}", run, trace=recorder.trace)


def _time_of(sample: Mapping[str, Any]) -> tuple[datetime, float, bool]:
    """Return the time of a sample, the interval before it in seconds, and whether the time is in UTC."""
    stamp = sample.get("timestamp")
    if not isinstance(stamp, dict):
        raise FormatError("has no timestamp with an interval")
    date, time = (pattern.match(_text(stamp.get(key))) for pattern, key in ((_DATE, "date"), (_TIME, "time")))
    if not date or not time:
        raise FormatError(f"its time is {short_form(stamp.get('date'))} {short_form(stamp.get('time'))}")
    interval_s = number(stamp, "interval", _INTERVAL_S_WRAPPED)
    if not interval_s or interval_s > INTERVAL_S_MAX:
        raise FormatError(f"its interval is {short_form(stamp.get('interval'))} s: sysstat had no sample before it")
    year, month, day = map(int, date.groups())
    hour, minute, second = map(int, time.groups())
    utc = stamp.get("utc") == 1 or stamp.get("tz") == "UTC"
    return day_time(year, month, day, hour, minute, second), interval_s, utc


def _growth(sample: Mapping[str, Any], host: Host, interval_s: float) -> tuple[MetricValues, MetricValues]:
    """Return the counters' growth over a sample's interval, and its gauges."""
    growth: MetricValues = {}
    gauges: MetricValues = {}
    for row in _rows(sample, "cpu-load-all") or _rows(sample, "cpu-load"):
        if row.get("cpu") in ("all", "-1"):
            growth |= cpu_growth(row, host.cores, interval_s)
            if host.cores:
                gauges["cpu", "cores"] = float(host.cores)
    for row in _rows(sample, "disk"):
        _disk(row, interval_s, growth, gauges)
    for row in _rows(sample.get("network"), "net-dev"):
        subject = f"nic:{_name(row, 'iface')}"
        for key, (metric, unit) in _NIC.items():
            _add(growth, subject, metric, number(row, key, BYTES_PER_S_MAX / unit), unit * interval_s)
    _io(sample.get("io"), interval_s, growth)
    memory = sample.get("memory")
    if isinstance(memory, dict):
        for key, metric in _MEMORY.items():
            _add(gauges, "memory", metric, number(memory, key, _MEMORY_KIB_MAX), KIB)
    return growth, gauges


def _disk(row: Mapping[str, Any], interval_s: float, growth: MetricValues, gauges: MetricValues) -> None:
    subject = f"disk:{_name(row, 'disk-device')}"
    for metric, sectors_key, kib_key in (("read_bytes", "rd_sec", "rkB"), ("write_bytes", "wr_sec", "wkB")):
        sectors = number(row, sectors_key, BYTES_PER_S_MAX / SECTOR_BYTES)
        kib = number(row, kib_key, BYTES_PER_S_MAX / KIB)
        if sectors is not None and kib is not None and abs(sectors - kib * 2) > 0.05:
            raise FormatError(f'"{sectors_key}" is {sectors} but "{kib_key}" is {kib}: one of them is wrong')
        _add(growth, subject, metric, sectors, SECTOR_BYTES * interval_s)
        if sectors is None:
            _add(growth, subject, metric, kib, KIB * interval_s)
    _add(growth, subject, "requests", number(row, "tps"), interval_s)
    queue = number(row, "aqu-sz")
    _add(growth, subject, "queue_s", number(row, "avgqu-sz") if queue is None else queue, interval_s)
    _add(growth, subject, "busy_s", share(row, "util-percent"), interval_s)
    _add(gauges, subject, "request_latency_s", number(row, "await"), 1e-3)


def _io(io: object, interval_s: float, growth: MetricValues) -> None:
    """Add sysstat's sums over all devices, without partitions and virtual devices."""
    if not isinstance(io, dict):
        return
    for section, requests, blocks, metrics in (
        ("io-reads", "rtps", "bread", ("reads", "read_bytes")),
        ("io-writes", "wtps", "bwrtn", ("writes", "write_bytes")),
    ):
        row = io.get(section)
        if isinstance(row, dict):
            _add(growth, "io", metrics[0], number(row, requests), interval_s)
            blocks_per_s = number(row, blocks, BYTES_PER_S_MAX / SECTOR_BYTES)
            _add(growth, "io", metrics[1], blocks_per_s, SECTOR_BYTES * interval_s)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _rows(part: object, key: str) -> list[dict[str, Any]]:
    rows = part.get(key) if isinstance(part, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _name(row: Mapping[str, Any], key: str) -> str:
    name = row.get(key)
    if not isinstance(name, str) or not name:
        raise FormatError(f'a device has no name ("{key}")')
    return name


def _add(values: MetricValues, subject: str, metric: str, figure: float | None, factor: float) -> None:
    if figure is None:
        return
    if (subject, metric) in values:
        raise FormatError(f"{subject} occurs twice")
    values[subject, metric] = figure * factor


FORMAT = Format("sadf", "sysstat's recordings (sadf -j)", _recognises, read_each(_read))
