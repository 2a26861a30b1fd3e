"""Calibrate a device model from measurements of a real disk; each number has its source.

In: single measurements (:class:`DeviceMeasurement`) in bytes/s, requests/s and seconds. Out: :class:`Calibration`, a
device's numbers for a cluster file. The formulas are those of :mod:`assay.analysis.devices.rates`, solved for the
numbers. A number without a measurement is typical of the kind of device, and its source says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from assay.analysis.devices.rates import (
    HddAtScale,
    flash_transfer_s,
    hdd_mean_seek_s,
    hdd_random_iops,
    hdd_streams_bytes_per_s,
)
from assay.foundation.errors import FormatError
from assay.foundation.units import format_percent
from assay.model import DeviceKind, HddModel, default_flash, default_hdd

RANDOM_REQUEST_BYTES = 4096
SPAN_SHARE_MIN = 0.1
"""Minimum share of the disk that seeks must cover to estimate the longest seek."""
SEEK_LATENCY_S = 0.001
"""Minimum time of a random read that counts as a seek of a hard disk, in seconds."""
SATA_BYTES_PER_S = 600e6
"""Maximum rate of a SATA device; a device that reads faster is NVMe."""
INNER_POSITION_MIN = 0.8
"""Minimum position of a measurement at the inner edge, as a share of the disk."""
SQUARED_INNER_SHARE_MIN = 1e-4
"""Minimum of the squared share: no disk is a hundred times slower at its inner edge."""
OUTER_POSITION_MAX = 0.1
"""Maximum position of a measurement at the outer edge, as a share of the disk."""
CACHED_SHARE = 0.5
"""Maximum time of a cached random write, as a share of a random read's time."""
USUAL_CACHE_BYTES = 64 * 10**6
QUEUE_DEPTH_MIN = 16
"""Minimum number of concurrent requests that measures a device's maximum requests per second."""
BANDWIDTH_BOUND_SHARE = 0.9
"""Minimum rate of random requests that the bandwidth limits, as a share of the bandwidth."""
LATENCY_S_MIN = 1e-6
"""Minimum latency of a flash device, in seconds."""
USUAL = "usual for the kind; not in the report"
_CAPACITY_BYTES: Final = 10**12
"""Capacity of a device if it is unknown."""


@dataclass(frozen=True, slots=True)
class DeviceMeasurement:
    """One measurement; ``offset_share``: its start as a share of the device."""

    job: str
    writes: bool
    random: bool
    request_bytes: int
    streams: int
    depth: int
    """Concurrent requests of all streams together."""
    bytes_per_s: float
    iops: float
    latency_s: float | None
    offset_share: float = 0.0
    span_bytes: int | None = None
    """Part of the device that was used; None: ``span_share`` of it, 0: unknown."""
    span_share: float = 1.0
    moved_bytes: int = 0
    """Bytes read or written; 0: unknown."""

    @property
    def service_s(self) -> float:
        """Time of one request, in seconds, if requests follow each other without overlap."""
        return self.latency_s or 1 / self.iops


@dataclass(frozen=True, slots=True)
class CalibratedValue:
    """One entry of the cluster file: its value in the base unit, and its source as text."""

    key: str
    value: float
    source: str
    measured: bool


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """A measurement that was not used for calibration, with the calibrated model's rate."""

    what: str
    measured_bytes_per_s: float
    modelled_bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """A device's numbers at full scale, in the order of a cluster file."""

    kind: DeviceKind
    numbers: tuple[CalibratedValue, ...]
    checks: tuple[ModelCheck, ...]

    def value(self, key: str) -> float | None:
        """Return the number called ``key``; None if the device has none."""
        return next((number.value for number in self.numbers if number.key == key), None)


def calibrate(
    measurements: Sequence[DeviceMeasurement],
    *,
    kind: DeviceKind | None = None,
    capacity_bytes: int | None = None,
    rpm: float | None = None,
) -> Calibration:
    """Return the calibration of a device from its measurements. Raises FormatError without a measured bandwidth.

    ``rpm`` of an HDD is not measured; None: the typical value.
    """
    read = _sequential(measurements, writes=False)
    if read is None:
        raise FormatError(
            "no job reads in sequence by one stream from the start of the device",
            hint="assay device fio-job prints a job file with all needed measurements",
        )
    write = _sequential(measurements, writes=True)
    kind = kind or _kind(measurements, read)
    numbers = [CalibratedValue("read", read.bytes_per_s, f"job {read.job}", measured=True)]
    if write:
        numbers.append(CalibratedValue("write", write.bytes_per_s, f"job {write.job}", measured=True))
    else:
        numbers.append(
            CalibratedValue("write", read.bytes_per_s, "the read rate, as no job writes in sequence", measured=False)
        )
    write_bytes_per_s = numbers[1].value
    if kind is DeviceKind.HDD:
        numbers += _hdd(measurements, read, capacity_bytes, rpm)
    elif rpm is not None:
        raise FormatError(
            f"the measurements are those of {kind.value}, which has no rotation",
            hint="omit --rpm, or give --kind hdd if it is a hard disk",
        )
    else:
        numbers += _flash(measurements, kind, read, write_bytes_per_s)
    capacity = (
        CalibratedValue("capacity", capacity_bytes, "as given", measured=True)
        if capacity_bytes
        else CalibratedValue(
            "capacity", _CAPACITY_BYTES, "a guess: fio does not report it; write the device's own", measured=False
        )
    )
    numbers.insert(2, capacity)
    return Calibration(kind, tuple(numbers), _checks(measurements, kind, numbers))


def _sequential(measurements: Sequence[DeviceMeasurement], *, writes: bool) -> DeviceMeasurement | None:
    """Return the fastest single stream near the start of the device."""
    values = [
        measurement
        for measurement in measurements
        if measurement.writes == writes
        and not measurement.random
        and measurement.streams == 1
        and measurement.offset_share <= OUTER_POSITION_MAX
    ]
    return max(values, key=lambda measurement: measurement.bytes_per_s, default=None)


def _random(
    measurements: Sequence[DeviceMeasurement], *, writes: bool, accepts_depth: Callable[[int], bool]
) -> DeviceMeasurement | None:
    """Return the random measurement with the smallest requests, then the largest depth."""
    candidates = [
        measurement
        for measurement in measurements
        if measurement.random and measurement.writes == writes and accepts_depth(measurement.depth)
    ]
    return min(candidates, key=lambda measurement: (measurement.request_bytes, -measurement.depth), default=None)


def _random_at_depth_1(measurements: Sequence[DeviceMeasurement], *, writes: bool) -> DeviceMeasurement | None:
    return _random(measurements, writes=writes, accepts_depth=lambda depth: depth == 1)


def _kind(measurements: Sequence[DeviceMeasurement], read: DeviceMeasurement) -> DeviceKind:
    depth_1_read = _random_at_depth_1(measurements, writes=False)
    if depth_1_read is None:
        raise FormatError(
            "no job reads at random with one request at a time, so HDD and flash can't be distinguished",
            hint="name the kind with --kind hdd, ssd or nvme",
        )
    if depth_1_read.service_s > SEEK_LATENCY_S:
        return DeviceKind.HDD
    return DeviceKind.NVME if read.bytes_per_s > SATA_BYTES_PER_S else DeviceKind.SSD


def _hdd(
    measurements: Sequence[DeviceMeasurement], read: DeviceMeasurement, capacity_bytes: int | None, rpm: float | None
) -> list[CalibratedValue]:
    default_model = default_hdd() if rpm is None else replace(default_hdd(), rpm=rpm)
    depth_1_read = _random_at_depth_1(measurements, writes=False)
    inner = _inner_share(measurements, read, default_model, capacity_bytes)
    model = replace(default_model, inner_share=inner.value)
    seek = _seek_full(depth_1_read, read, model, capacity_bytes)
    model = replace(model, seek_full_s=seek.value)
    disk = HddAtScale(model, read.bytes_per_s, capacity_bytes or _CAPACITY_BYTES)
    iops = hdd_random_iops(disk, disk.capacity_bytes, RANDOM_REQUEST_BYTES)
    return [
        CalibratedValue(
            "iops", round(iops), "4 KiB at random over the whole disk, by the numbers below", measured=False
        ),
        inner,
        CalibratedValue("seek_track", default_model.seek_track_s, USUAL, measured=False),
        seek,
        CalibratedValue("rpm", default_model.rpm, USUAL if rpm is None else "as given", measured=rpm is not None),
        _write_cache(measurements, depth_1_read),
    ]


def _seek_full(
    depth_1_read: DeviceMeasurement | None, read: DeviceMeasurement, model: HddModel, capacity_bytes: int | None
) -> CalibratedValue:
    """Return the longest seek.

    The mean seek is a random read's time without half a rotation and the transfer; it is linear in the longest seek.
    """

    def usual(reason: str) -> CalibratedValue:
        return CalibratedValue("seek_full", model.seek_full_s, f"usual for the kind: {reason}", measured=False)

    if depth_1_read is None:
        return usual("no job reads at random with one request at a time")
    if depth_1_read.span_bytes is not None and capacity_bytes is None:
        return usual(f"job {depth_1_read.job} used a part of the disk, whose capacity is not known (--capacity)")
    size_bytes = capacity_bytes or _CAPACITY_BYTES
    span_bytes = _used_bytes(depth_1_read, size_bytes)
    if span_bytes < SPAN_SHARE_MIN * size_bytes:
        return usual(
            f"job {depth_1_read.job} used {format_percent(span_bytes / size_bytes, 1)} of the disk, "
            "too little for an estimate"
        )
    unit_model = replace(model, seek_track_s=0.0, seek_full_s=1.0)
    share = hdd_mean_seek_s(HddAtScale(unit_model, read.bytes_per_s, size_bytes), span_bytes)
    mean_s = depth_1_read.service_s - model.half_turn_s - depth_1_read.request_bytes / read.bytes_per_s
    full_s = max(model.seek_track_s, model.seek_track_s + (mean_s - model.seek_track_s) / share)
    service_ms = depth_1_read.service_s * 1e3
    source = f"job {depth_1_read.job}: {service_ms:.2f} ms a request, less half a rotation and the transfer"
    return CalibratedValue("seek_full", full_s, source, measured=True)


def _used_bytes(measurement: DeviceMeasurement, size_bytes: float) -> float:
    """Return the bytes that a measurement used, of a device of ``size_bytes``."""
    if measurement.span_bytes is None:
        return size_bytes * measurement.span_share
    return min(measurement.span_bytes, size_bytes)


def _inner_share(
    measurements: Sequence[DeviceMeasurement],
    read: DeviceMeasurement,
    default_model: HddModel,
    capacity_bytes: int | None,
) -> CalibratedValue:
    """Return the innermost rate as a share of the outermost, from the rate at a measured position.

    The square of the rate falls linearly with the position as a share of the capacity (docs/reference/devices.md).
    """
    inner_reads = [
        measurement
        for measurement in measurements
        if not measurement.writes
        and not measurement.random
        and measurement.streams == 1
        and measurement.offset_share >= INNER_POSITION_MIN
    ]
    if not inner_reads:
        return CalibratedValue("inner_share", default_model.inner_share, USUAL, measured=False)
    innermost = max(inner_reads, key=lambda measurement: measurement.offset_share)
    size_bytes = capacity_bytes or _CAPACITY_BYTES
    swept_bytes = min(innermost.moved_bytes, _used_bytes(innermost, size_bytes))
    offset = min(1.0, innermost.offset_share + swept_bytes / size_bytes / 2)
    relative_rate = min(1.0, innermost.bytes_per_s / read.bytes_per_s)
    share = max(SQUARED_INNER_SHARE_MIN, 1 - (1 - relative_rate**2) / offset) ** 0.5
    message = f"job {innermost.job} at {format_percent(offset)} of the disk against job {read.job}"
    return CalibratedValue("inner_share", share, message, measured=True)


def _write_cache(measurements: Sequence[DeviceMeasurement], depth_1_read: DeviceMeasurement | None) -> CalibratedValue:
    writes = _random_at_depth_1(measurements, writes=True)
    if writes is None or depth_1_read is None:
        message = "none, as no job reads and writes at random with one request at a time"
        return CalibratedValue("write_cache", 0, message, measured=False)
    if writes.service_s >= CACHED_SHARE * depth_1_read.service_s:
        return CalibratedValue(
            "write_cache", 0, f"job {writes.job}: a random write waits for the platter", measured=True
        )
    message = f"job {writes.job} shows that there is one; its size is the usual one"
    return CalibratedValue("write_cache", USUAL_CACHE_BYTES, message, measured=False)


def _flash(
    measurements: Sequence[DeviceMeasurement], kind: DeviceKind, read: DeviceMeasurement, write_bytes_per_s: float
) -> list[CalibratedValue]:
    default_model = default_flash(nvme=kind is DeviceKind.NVME)
    rates = {"read": read.bytes_per_s, "write": write_bytes_per_s}
    numbers = []
    for key, bytes_per_s in rates.items():
        deep_queue = _random(measurements, writes=key == "write", accepts_depth=lambda depth: depth >= QUEUE_DEPTH_MIN)
        if deep_queue is not None and deep_queue.bytes_per_s < BANDWIDTH_BOUND_SHARE * bytes_per_s:
            numbers.append(
                CalibratedValue(f"{key}_iops", round(deep_queue.iops), f"job {deep_queue.job}", measured=True)
            )
    numbers.append(CalibratedValue("channels", default_model.channels, USUAL, measured=False))
    default_latencies_s = {"read": default_model.read_latency_s, "write": default_model.write_latency_s}
    for key, bytes_per_s in rates.items():
        depth_1_measurement = _random_at_depth_1(measurements, writes=key == "write")
        if depth_1_measurement is None:
            numbers.append(CalibratedValue(f"{key}_latency", default_latencies_s[key], USUAL, measured=False))
            continue
        transfer_s = flash_transfer_s(default_model, bytes_per_s, read.bytes_per_s, depth_1_measurement.request_bytes)
        message = (
            f"job {depth_1_measurement.job}: {depth_1_measurement.service_s * 1e6:.0f} us a request, less the transfer"
        )
        latency_s = max(LATENCY_S_MIN, depth_1_measurement.service_s - transfer_s)
        numbers.append(CalibratedValue(f"{key}_latency", latency_s, message, measured=True))
    return numbers


def _checks(
    measurements: Sequence[DeviceMeasurement], kind: DeviceKind, numbers: Sequence[CalibratedValue]
) -> tuple[ModelCheck, ...]:
    """Return the reads by several streams with the rates of the model."""
    values = {number.key: number.value for number in numbers}
    multi_stream_reads = [
        measurement
        for measurement in measurements
        if not measurement.writes
        and not measurement.random
        and measurement.streams > 1
        and measurement.depth == measurement.streams
    ]
    checks = []
    for measurement in multi_stream_reads:
        modelled_bytes_per_s = values["read"]
        if kind is DeviceKind.HDD:
            model = replace(
                default_hdd(),
                inner_share=values["inner_share"],
                seek_track_s=values["seek_track"],
                seek_full_s=values["seek_full"],
                rpm=values["rpm"],
            )
            disk = HddAtScale(model, values["read"], values["capacity"])
            span_bytes = _used_bytes(measurement, disk.capacity_bytes) or disk.capacity_bytes
            modelled_bytes_per_s = hdd_streams_bytes_per_s(
                disk, span_bytes, measurement.streams, measurement.request_bytes
            )
        checks.append(
            ModelCheck(
                f"job {measurement.job}: {measurement.streams} streams", measurement.bytes_per_s, modelled_bytes_per_s
            )
        )
    return tuple(checks)
