"""Import iostat's reports as ``iostat -o JSON INTERVAL`` prints them: CPU and disks of a host.

In: the JSON of sysstat 11.5 and newer, with or without ``-x``, ``-s``, ``-t``, ``-k``, ``-m``. Out: one run of the
workload ``observation`` per host, with its trace.

Units, from ``iostat.c``: kB are 1024 bytes, MB 2^20 bytes, ``Blk`` and ``sec`` sectors of 512 bytes. ``r_await`` and
``w_await`` are in ms per request; multiplied by the number of requests, they give ``read_s`` and ``write_s``. ``tps``
counts reads, writes and discards together, so it becomes ``requests``. sysstat before 11.6 calls its figures ``rkB``
even if ``-m`` made them MB. ``avgrq-sz`` (in sectors) shows this; a report that contradicts itself is skipped.

**Time.** iostat reports at an interval of whole seconds. With ``-t`` it prints the clock in whole seconds, so intervals
that differ by rounding count as equal. Dates are read only in ISO format (``S_TIME_FORMAT=ISO``) because other
formats do not distinguish day from month and have no time zone. Without ``-t``, the interval follows from the short
format: amounts over rates. The extended format has no amounts and is skipped. The first report of a file is the average
since boot, unless ``-y`` was given. It only marks the beginning of the trace, unless its amounts divided by its rates
show that it covers the same interval as the others.

If iostat does not end by Ctrl-C, the file lacks its last lines. assay imports the complete reports in it.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Any, Final

from assay.foundation.errors import FormatError
from assay.foundation.units import MIB
from assay.model import ImportedRun, SkippedItem
from assay.store.formats.format import Format, read_each
from assay.store.formats.samplers.rates import (
    BYTES_PER_S_MAX,
    INTERVAL_S_MAX,
    KIB,
    SECTOR_BYTES,
    MetricValues,
    Recorder,
    intervals_s,
    number,
    share,
    short_form,
)
from assay.store.formats.samplers.sysstat import Host, cpu_growth, parse_possibly_cut
from assay.store.formats.source import Source

_RATES: Final = (
    ("rkB/s", "wkB/s", KIB),
    ("rMB/s", "wMB/s", MIB),
    ("rsec/s", "wsec/s", SECTOR_BYTES),
    ("rkB", "wkB", KIB),
    ("kB_read/s", "kB_wrtn/s", KIB),
    ("MB_read/s", "MB_wrtn/s", MIB),
    ("Blk_read/s", "Blk_wrtn/s", SECTOR_BYTES),
)
"""Keys of the bytes read and written per second, with their unit in bytes; the first pair that a device has counts."""
_AMOUNTS: Final = (("kB_read", "kB_wrtn", KIB), ("Blk_read", "Blk_wrtn", SECTOR_BYTES))
"""Bytes of the whole interval, in integers. MB are not used: they are less exact than the rates."""
_TOTALS: Final = (("kB/s", KIB), ("MB/s", MIB), ("sec/s", SECTOR_BYTES))
"""Reads, writes and discards together, as ``-s`` prints them."""
_CLOCK = re.compile(r"(?<!\d)(\d{1,2}):(\d\d):(\d\d)(?!\d)\s*([AaPp])?", re.ASCII)
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:?\d\d)\Z", re.ASCII)
_DAY_S: Final = 86_400
_CLOCK_S: Final = 1.0
"""Resolution of the printed times, in seconds."""
_ERROR_MAX: Final = 0.05
"""Maximum relative error of an interval that is computed from rounded figures."""
_RELATIVE_DIFFERENCE_MAX: Final = 0.25
"""Maximum relative difference between the sectors per second from the rate and from the requests' size."""
_SECTORS_PER_S_MIN: Final = 100.0
"""Minimum rate for this comparison, in sectors per second: rounding dominates smaller rates."""


def _recognises(name: str, head: bytes) -> bool:
    """Recognise iostat's JSON by ``avg-cpu`` or ``disk_device``, which other programs of sysstat do not write."""
    del name
    is_sysstat_json = head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and b'"sysstat"' in head
    return is_sysstat_json and (b'"avg-cpu"' in head or b'"disk_device"' in head) and b'"file-date"' not in head


def _read(source: Source) -> Iterator[ImportedRun | SkippedItem]:
    hosts, reason = parse_possibly_cut(source, "iostat")
    if reason:
        yield SkippedItem(source.name, reason)
    for host in hosts:
        where = f"{source.name}: {host.nodename}"
        try:
            yield from _read_host(where, host)
        except FormatError as error:
            yield SkippedItem(where, error.message)


def _read_host(where: str, host: Host) -> Iterator[ImportedRun | SkippedItem]:
    reports = host.statistics
    start_time, gaps_s = _times(reports)
    first_interval_s = _recorded_interval_s(reports[0])
    has_first_interval = first_interval_s is not None and abs(first_interval_s - gaps_s[0]) <= max(
        _ERROR_MAX * gaps_s[0], 0.5 * _CLOCK_S
    )
    if has_first_interval:
        gaps_s.insert(0, gaps_s[0])
        start_time = start_time and start_time - timedelta(seconds=gaps_s[0])
    recorder = Recorder(host.nodename)
    skipped, t_s = 0, 0.0
    for index, (report, interval_s) in enumerate(
        zip(reports if has_first_interval else reports[1:], gaps_s, strict=True), start=1 if has_first_interval else 2
    ):
        try:
            if not 0 < interval_s <= INTERVAL_S_MAX / 2:
                raise FormatError("its time is not after that of the report before it")
            growth, gauges = _growth(report, host.cores, interval_s)
        except FormatError as error:
            skipped += 1
            yield SkippedItem(f"{where}, report {index}", error.message)
            t_s += max(0.0, interval_s) if interval_s <= INTERVAL_S_MAX / 2 else 0.0
            continue
        t_s += interval_s
        recorder.sample(t_s, interval_s, growth, gauges)
    if not len(recorder.trace):
        yield SkippedItem(where, "has no figures of CPU or disks")
        return
    warnings = [f"{skipped} of {len(reports)} reports could not be read"] if skipped else []
    run = recorder.run(started=start_time, environment=host.environment(), source="iostat", warnings=warnings)
    first_report_digest = hashlib.sha256(json.dumps(reports[0], sort_keys=True).encode()).hexdigest()[:16]
    yield ImportedRun(f"{host.nodename} {host.date} {first_report_digest}", where, run, trace=recorder.trace)


def _times(reports: Sequence[Mapping[str, Any]]) -> tuple[datetime | None, list[float]]:
    """Return the time of the first report, if recorded, and the seconds between each report and the one before it."""
    if len(reports) < 2:
        raise FormatError("holds a single report, which is an average since boot: run iostat with an interval")
    stamps = [report.get("timestamp") for report in reports]
    if all(stamp is None for stamp in stamps):
        recorded_s = [
            recorded_interval_s
            for report in reports[1:]
            if (recorded_interval_s := _recorded_interval_s(report)) is not None
        ]
        if not recorded_s:
            raise FormatError("has neither times nor amounts of bytes: run iostat with -t")
        interval_s = median(recorded_s)
        rounded_s = round(interval_s)
        is_whole = rounded_s > 0 and abs(interval_s - rounded_s) <= _ERROR_MAX * rounded_s
        return None, [float(rounded_s) if is_whole else interval_s] * (len(reports) - 1)
    if all(isinstance(stamp, str) and _ISO.match(stamp) for stamp in stamps):
        try:
            moments = [datetime.fromisoformat(str(stamp)) for stamp in stamps]
            return moments[0], intervals_s([moment.timestamp() for moment in moments], _CLOCK_S)
        except (ValueError, OverflowError) as error:
            raise FormatError(f"has an invalid timestamp: {error}") from error
    clock_s, day_s = [_seconds_of_day(stamp) for stamp in stamps], 0.0
    times_s = [clock_s[0]]
    for before_s, after_s in pairwise(clock_s):
        day_s += _DAY_S if before_s - after_s > _DAY_S / 2 else 0.0
        times_s.append(day_s + after_s)
    return None, intervals_s(times_s, _CLOCK_S)


def _seconds_of_day(stamp: object) -> float:
    """Return the seconds since midnight of a timestamp in any locale's format, from its ``HH:MM:SS``."""
    match = _CLOCK.search(stamp) if isinstance(stamp, str) else None
    if not match:
        raise FormatError(f"has the timestamp {short_form(stamp)}, which has no HH:MM:SS: set S_TIME_FORMAT=ISO")
    hour, minute, second = int(match[1]), int(match[2]), int(match[3])
    if hour > 23 or minute > 59 or second > 60:
        raise FormatError(f"has the timestamp {short_form(stamp)}, which is not a time")
    if match[4]:
        hour = hour % 12 + (12 if match[4] in "Pp" else 0)
    return hour * 3600.0 + minute * 60 + second


def _recorded_interval_s(report: Mapping[str, Any]) -> float | None:
    """Return the interval of a report in the short format: amounts over rates. None if its error is too large.

    It is computed from the device that moved most, whose figures are rounded least.
    """
    most_exact: tuple[float, float] | None = None
    for row in _rows(report):
        for prefix in ("kB", "MB", "Blk"):
            for direction in ("read", "wrtn", "dscd"):
                amount, rate = row.get(f"{prefix}_{direction}"), row.get(f"{prefix}_{direction}/s")
                if isinstance(amount, int | float) and isinstance(rate, int | float) and min(amount, rate) > 0:
                    if max(amount, rate) > BYTES_PER_S_MAX:
                        continue
                    error = 1.0 / amount + 0.005 / rate
                    if error <= _ERROR_MAX and (most_exact is None or error < most_exact[0]):
                        most_exact = error, (amount + 0.5) / rate
    return most_exact and most_exact[1]


def _rows(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = report.get("disk")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _growth(report: Mapping[str, Any], cores: int | None, interval_s: float) -> tuple[MetricValues, MetricValues]:
    """Return the counters' growth over a report's interval, and its gauges."""
    cpu = report.get("avg-cpu")
    growth = cpu_growth(cpu, cores, interval_s) if isinstance(cpu, dict) else {}
    gauges: MetricValues = {("cpu", "cores"): float(cores)} if growth and cores else {}
    names: set[str] = set()
    for row in _rows(report):
        name = row.get("disk_device")
        if not isinstance(name, str) or not name:
            raise FormatError('a device has no name ("disk_device")')
        if name in names:
            raise FormatError(f"device {name} occurs twice")
        names.add(name)
        _check_units(row)
        disk_growth, disk_gauges = _disk(row, interval_s)
        growth |= {(f"disk:{name}", metric): amount for metric, amount in disk_growth.items()}
        gauges |= {(f"disk:{name}", metric): value for metric, value in disk_gauges.items()}
    return growth, gauges


def _disk(row: Mapping[str, Any], interval_s: float) -> tuple[dict[str, float], dict[str, float]]:
    growth = _bytes(row, interval_s)
    for key, old_key, wait_key, metrics in (
        ("r/s", "r", "r_await", ("reads", "read_s")),
        ("w/s", "w", "w_await", ("writes", "write_s")),
    ):
        requests = number(row, key) if key in row else number(row, old_key)
        if requests is not None:
            growth[metrics[0]] = requests * interval_s
            wait_ms = number(row, wait_key)
            if wait_ms is not None:
                growth[metrics[1]] = requests * interval_s * wait_ms * 1e-3
    for metric, figure in (
        ("read_merges", number(row, "rrqm/s")),
        ("write_merges", number(row, "wrqm/s")),
        ("requests", number(row, "tps")),
        ("queue_s", number(row, "aqu-sz") if "aqu-sz" in row else number(row, "avgqu-sz")),
        ("busy_s", share(row, "util")),
    ):
        if figure is not None:
            growth[metric] = figure * interval_s
    latency_ms = number(row, "await")
    return growth, {} if latency_ms is None else {"request_latency_s": latency_ms * 1e-3}


def _bytes(row: Mapping[str, Any], interval_s: float) -> dict[str, float]:
    """Return the bytes that a device read and wrote over an interval, from its most exact figures."""
    rate_max = BYTES_PER_S_MAX
    bytes_by_metric = {}
    for read, write, unit in _RATES:
        if read in row or write in row:
            rates = {
                "read_bytes": number(row, read, rate_max / unit),
                "write_bytes": number(row, write, rate_max / unit),
            }
            bytes_by_metric = {metric: rate * unit * interval_s for metric, rate in rates.items() if rate is not None}
            break
    for read, write, unit in _AMOUNTS:
        for metric, key in (("read_bytes", read), ("write_bytes", write)):
            amount = number(row, key, rate_max / unit * interval_s)
            if amount is None:
                continue
            rounding_bytes = unit * (1 + 0.005 * interval_s)
            bytes_by_rate = bytes_by_metric.get(metric)
            if bytes_by_rate is not None and abs(amount * unit - bytes_by_rate) > (
                rounding_bytes + bytes_by_rate * (_ERROR_MAX + _CLOCK_S / interval_s)
            ):
                raise FormatError(f'"{key}" is {amount:.0f}, which its rate contradicts')
            bytes_by_metric[metric] = amount * unit
    for key, unit in _TOTALS:
        total = number(row, key, rate_max / unit)
        if total is not None:
            bytes_by_metric["transfer_bytes"] = total * unit * interval_s
    return bytes_by_metric


def _check_units(row: Mapping[str, Any]) -> None:
    """Reject a report whose ``rkB`` is not in kB: sysstat before 11.6 wrote other units with ``-m``."""
    if "rkB" not in row or "avgrq-sz" not in row:
        return
    sectors_by_rate = ((number(row, "rkB") or 0.0) + (number(row, "wkB") or 0.0)) * 2
    sectors_per_s = (number(row, "avgrq-sz") or 0.0) * ((number(row, "r") or 0.0) + (number(row, "w") or 0.0))
    if (
        sectors_per_s > _SECTORS_PER_S_MIN
        and abs(sectors_by_rate - sectors_per_s) > _RELATIVE_DIFFERENCE_MAX * sectors_per_s
    ):
        raise FormatError('"rkB" and "wkB" contradict "avgrq-sz": this iostat wrote other units under their names')


FORMAT = Format("iostat", "iostat's reports (iostat -o JSON)", _recognises, read_each(_read))
