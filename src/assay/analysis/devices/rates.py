"""Compute the rates that a modelled disk should reach: sequential, several streams, random.

In: the numbers of :mod:`assay.model.clusters.device_model`, bandwidth in bytes/s and capacity in bytes after scaling,
and the part of the disk, from its outer edge on, that is read. Out: bytes/s and requests/s, which the baseline should
measure.

An HDD transfers fastest at its outer edge, and slower further in. A random request takes seek, half a rotation and
transfer. The seek grows with the square root of the distance at first and linearly from a fifth of the disk on, after
Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994. For several streams
:func:`hdd_streams_bytes_per_s` replays the drive's scheduling: the shortest positioning, less a share of the waiting
time (Jacobson and Wilkes, "Disk scheduling algorithms based on rotational position", HPL-CSP-91-7, 1991).

Flash: a request takes its latency and its transfer over as many channels as it has stripes; concurrent requests share
the bandwidth. docs/reference/devices.md has the complete model.
"""

import math
from dataclasses import dataclass, replace

from assay.model import LINEAR_SEEK_SHARE, Device, DeviceKind, FlashModel, HddModel

AGE_WEIGHT = 0.05
"""Seconds of positioning by which the drive prefers a request for each second that it has waited."""
STRIPE_S = 50e-6
"""Size of a stripe on one flash channel, as time at the device's full bandwidth."""
REPLAYED_REQUESTS = 600
"""Number of requests in one replay of a drive's scheduling."""
REPLAY_SHIFTS = (0.0, 0.17, 0.31, 0.47)
"""Angle between the streams' parts on the platter in each replay, in rotations."""
RESUBMIT_S = 0.2e-3
"""Time from a completion to the reader's next request."""
MEAN_STEPS = 64
"""Number of positions over which the mean seek is computed."""


@dataclass(frozen=True, slots=True)
class HddAtScale:
    """An HDD's model with the outer edge's bandwidth and the capacity at scale."""

    model: HddModel
    read_bytes_per_s: float
    capacity_bytes: float

    def sweep_s(self, offset_bytes: float) -> float:
        """Return the time to read the disk from its outer edge to ``offset_bytes``."""
        squared_rate_decrease = 1 - self.model.inner_share**2
        if squared_rate_decrease < 1e-9:
            return offset_bytes / self.read_bytes_per_s
        relative_rate = math.sqrt(max(0.0, 1 - squared_rate_decrease * offset_bytes / self.capacity_bytes))
        return 2 * self.capacity_bytes / (self.read_bytes_per_s * squared_rate_decrease) * (1 - relative_rate)

    def seek_s(self, from_bytes: float, to_bytes: float) -> float:
        """Return the time of the arm from one position to another; 0 within a track."""
        distance_s = abs(self.sweep_s(to_bytes) - self.sweep_s(from_bytes))
        if distance_s < 2 * self.model.half_turn_s:
            return 0.0
        return seek_s(self.model, min(1.0, distance_s / self.sweep_s(self.capacity_bytes)))

    def transfer_s(self, offset_bytes: float, size_bytes: float) -> float:
        """Return the time in which ``size_bytes`` pass under the head."""
        return self.sweep_s(offset_bytes + size_bytes) - self.sweep_s(offset_bytes)


def seek_s(model: HddModel, distance: float) -> float:
    """Return the time of a seek over the share ``distance`` of the disk's width."""
    root = (model.seek_full_s - model.seek_track_s) * 2 * math.sqrt(LINEAR_SEEK_SHARE) / (1 + LINEAR_SEEK_SHARE)
    if distance < LINEAR_SEEK_SHARE:
        return model.seek_track_s + root * math.sqrt(distance)
    return model.seek_track_s + root * (
        math.sqrt(LINEAR_SEEK_SHARE) / 2 + distance / (2 * math.sqrt(LINEAR_SEEK_SHARE))
    )


def hdd_sequential_bytes_per_s(disk: HddAtScale, span_bytes: float) -> float:
    """Return the rate at which the first ``span_bytes`` are read."""
    return span_bytes / disk.sweep_s(span_bytes)


def hdd_random_iops(disk: HddAtScale, span_bytes: float, request_bytes: float) -> float:
    """Return random reads per second, one at a time, over the first ``span_bytes``."""
    transfers_s = [disk.transfer_s(offset, request_bytes) for offset in _offsets(span_bytes)]
    return 1 / (hdd_mean_seek_s(disk, span_bytes) + disk.model.half_turn_s + sum(transfers_s) / len(transfers_s))


def hdd_mean_seek_s(disk: HddAtScale, span_bytes: float) -> float:
    """Return the mean seek between two random positions in the first ``span_bytes``."""
    offsets = _offsets(span_bytes)
    return sum(disk.seek_s(a, b) for a in offsets for b in offsets) / len(offsets) ** 2


def _offsets(span_bytes: float) -> list[float]:
    return [span_bytes * (step + 0.5) / MEAN_STEPS for step in range(MEAN_STEPS)]


def hdd_streams_bytes_per_s(
    disk: HddAtScale, span_bytes: float, streams: int, request_bytes: int, *, at_once: int = 1
) -> float:
    """Return the total rate of ``streams`` readers with ``at_once`` requests of ``request_bytes`` in flight each.

    Each reader reads a separate part of the first ``span_bytes`` in sequence.
    """
    total_s = sum(_replay_s(disk, span_bytes, streams, request_bytes, at_once, shift) for shift in REPLAY_SHIFTS)
    return len(REPLAY_SHIFTS) * REPLAYED_REQUESTS * request_bytes / total_s


def _replay_s(
    disk: HddAtScale, span_bytes: float, streams: int, request_bytes: int, at_once: int, shift: float
) -> float:
    """Return the drive's time for :data:`REPLAYED_REQUESTS`.

    ``shift`` varies the angles between the parts on the platter, in rotations.
    """
    turn_s = 2 * disk.model.half_turn_s
    turn_bytes = disk.read_bytes_per_s * turn_s
    next_offsets = [span_bytes * stream / streams + turn_bytes * shift * stream**2 for stream in range(streams)]
    now_s = head = 0.0
    queue: list[tuple[float, float, int]] = []  # offset, time of arrival, stream
    arrivals = [(0.0, stream) for stream in range(streams) for _ in range(at_once)]
    for _ in range(REPLAYED_REQUESTS):
        while arrivals and (arrivals[0][0] <= now_s or not queue):
            arrived_s, stream = arrivals.pop(0)
            now_s = max(now_s, arrived_s)
            queue.append((next_offsets[stream], arrived_s, stream))
            next_offsets[stream] += request_bytes
        best_request: tuple[float, float, tuple[float, float, int]] | None = None
        for request in queue:
            offset, arrived_s, _ = request
            positioning_s = 0.0
            if offset != head:
                arm_s = disk.seek_s(head, offset)
                positioning_s = arm_s + (disk.sweep_s(offset) - now_s - arm_s) % turn_s
            cost_s = positioning_s - AGE_WEIGHT * (now_s - arrived_s)
            if best_request is None or cost_s < best_request[0]:
                best_request = (cost_s, positioning_s, request)
        assert best_request is not None
        _, positioning_s, served_request = best_request
        queue.remove(served_request)
        now_s += positioning_s + disk.transfer_s(served_request[0], request_bytes)
        head = served_request[0] + request_bytes
        arrivals.append((now_s + RESUBMIT_S, served_request[2]))
    return now_s


def flash_transfer_s(model: FlashModel, bytes_per_s: float, read_bytes_per_s: float, request_bytes: float) -> float:
    """Return the transfer time of a single request: a small request does not use all channels."""
    stripe_bytes = max(1.0, read_bytes_per_s / model.channels * STRIPE_S)
    used_channels = min(model.channels, max(1, math.ceil(request_bytes / stripe_bytes)))
    return request_bytes / bytes_per_s * model.channels / used_channels


def flash_random_iops(
    model: FlashModel, read_bytes_per_s: float, request_bytes: float, depth: int, iops_max: float | None = None
) -> float:
    """Return random reads per second with ``depth`` concurrent requests."""
    single_request_s = model.read_latency_s + flash_transfer_s(model, read_bytes_per_s, read_bytes_per_s, request_bytes)
    limits = [depth / single_request_s, read_bytes_per_s / request_bytes]
    return min(*limits, iops_max) if iops_max else min(limits)


@dataclass(frozen=True, slots=True)
class ExpectedRates:
    """The rates that the baseline should measure of one device; None if they are neither stated nor modelled.

    ``rates_modelled``, ``places_modelled``: whether the device's model gives the sequential rates, and the rates that
    depend on the distance between positions; otherwise they are stated.
    """

    read_bytes_per_s: float
    write_bytes_per_s: float
    streams_bytes_per_s: float | None
    random_read_iops: float | None
    rates_modelled: bool = False
    places_modelled: bool = False


@dataclass(frozen=True, slots=True)
class BaselineSettings:
    """The settings of the baseline: size of the test file and of requests, and the number of concurrent requests.

    Streams read through the page cache, so the readahead sets the size of their requests.
    """

    span_bytes: int
    streams: int
    stream_request_bytes: int
    random_request_bytes: int
    random_depth: int


def described_rates(device: Device, scale: float) -> ExpectedRates:
    """Return the rates in the device's description: bandwidths and requests per second."""
    return ExpectedRates(device.read_bytes_per_s * scale, device.write_bytes_per_s * scale, None, device.read_iops)


def host_rates(device: Device, settings: BaselineSettings) -> ExpectedRates:
    """Return the rates that a real device should reach: the stated rates, except for seeks of an HDD.

    An HDD's stated requests per second are over the whole disk; seeks within a small test file are shorter.
    """
    device_rates = described_rates(device, 1.0)
    if device.kind is not DeviceKind.HDD:
        return device_rates
    modelled_rates = model_rates(device, 1.0, settings)
    return replace(
        device_rates,
        streams_bytes_per_s=modelled_rates.streams_bytes_per_s,
        random_read_iops=modelled_rates.random_read_iops,
        places_modelled=True,
    )


def model_rates(device: Device, scale: float, settings: BaselineSettings) -> ExpectedRates:
    """Return the rates that the device's model should reach in a lab at ``scale``, in a file at the outer edge."""
    read, write = device.read_bytes_per_s * scale, device.write_bytes_per_s * scale
    if device.kind is DeviceKind.HDD:
        disk = HddAtScale(device.hdd_model, read, device.capacity_bytes * scale)
        outer_bytes_per_s = hdd_sequential_bytes_per_s(disk, settings.span_bytes)
        streams = hdd_streams_bytes_per_s(
            disk, settings.span_bytes, settings.streams, settings.stream_request_bytes, at_once=2
        )
        iops = hdd_random_iops(disk, settings.span_bytes, settings.random_request_bytes)
        return ExpectedRates(
            outer_bytes_per_s,
            write * outer_bytes_per_s / read,
            streams,
            iops,
            rates_modelled=True,
            places_modelled=True,
        )
    flash = device.flash_model
    iops = flash_random_iops(flash, read, settings.random_request_bytes, settings.random_depth, device.read_iops)
    written_bytes_per_s = flash_written_bytes_per_s(flash, write, scale, settings.span_bytes)
    return ExpectedRates(read, written_bytes_per_s, read, iops, rates_modelled=True, places_modelled=True)


def flash_written_bytes_per_s(
    model: FlashModel, sustained_bytes_per_s: float, scale: float, written_bytes: float
) -> float:
    """Return the mean rate of a write of ``written_bytes``: first the burst rate, then the sustained rate."""
    if model.burst_write_bytes_per_s is None:
        return sustained_bytes_per_s
    burst_bytes = min(model.burst_bytes * scale, written_bytes)
    burst_s = burst_bytes / (model.burst_write_bytes_per_s * scale)
    return written_bytes / (burst_s + (written_bytes - burst_bytes) / sustained_bytes_per_s)
