"""Compute the number of directories per device, and how full the devices become. Pure.

HDFS and YARN choose among their local directories round-robin, regardless of the device of a directory. Each directory
gets the same share, and a device's share grows with its number of directories. If these numbers are in proportion to
bandwidth, all devices finish together (LISA'14, section 4.2, where an SSD of 1300 MB/s next to HDDs of 120 MB/s is
split into 10). The disadvantage is that devices do not become full together. In: bandwidths in bytes/s, capacities and
data in bytes, all of one worker. Out: the numbers, shares, and the order in which devices become full.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.model import Cluster, Device, DeviceBaseline

BALANCED_THRESHOLD_BYTES = 10 * 2**30
"""Hadoop's dfs.datanode.available-space-volume-choosing-policy.balanced-space-threshold."""
PREFERENCE = 0.75
"""Hadoop's dfs.datanode.available-space-volume-choosing-policy.balanced-space-preference-fraction."""
_READ, _WRITE = "sequential_read_bytes_per_s", "sequential_write_bytes_per_s"


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """A device's bandwidth at full scale. ``measured``: from a baseline; if not, from the specification."""

    bytes_per_s: float
    measured: bool


def bandwidths(cluster: Cluster, baseline: DeviceBaseline | None) -> dict[str, Bandwidth]:
    """Return the bandwidth of each device, by name, for a load that reads and writes equally.

    It is the harmonic mean of the sequential read and write rates, and over the workers if they were measured.
    """
    workers = {node.name for node in cluster.workers}
    rates_by_name: dict[str, Bandwidth] = {}
    for device in cluster.workers[0].type.devices:
        rates = [
            [
                measurement.value
                for measurement in (baseline.measurements if baseline else ())
                if measurement.subject == device.name
                and measurement.node in workers
                and measurement.metric == metric
                and measurement.value > 0
            ]
            for metric in (_READ, _WRITE)
        ]
        if all(rates):
            per_byte_s = sum(
                sum(1 / rate for rate in rates_of_workers) / len(rates_of_workers) for rates_of_workers in rates
            )
            rates_by_name[device.name] = Bandwidth(2 / per_byte_s / cluster.scale, True)
        else:
            rates_by_name[device.name] = Bandwidth(
                2 / (1 / device.read_bytes_per_s + 1 / device.write_bytes_per_s), False
            )
    return rates_by_name


@dataclass(frozen=True, slots=True)
class DirectorySplit:
    """Device name to number of directories. ``imbalance``: largest / smallest bandwidth of a directory, minus 1."""

    directories: dict[str, int]
    imbalance: float


def bandwidth_imbalance(rates: Mapping[str, float], directories: Mapping[str, int]) -> float:
    """Return the largest / smallest bandwidth of a directory, minus 1."""
    bytes_per_s = [rates[name] / directories[name] for name in rates]
    return max(bytes_per_s) / min(bytes_per_s) - 1


def split(rates: Mapping[str, float], *, error: float, directories_max: int) -> DirectorySplit:
    """Return the fewest directories with which bandwidths per directory differ by at most ``error``.

    ``rates``: device name to bytes/s. No device gets more than ``directories_max`` directories; if that is too few, the
    split with the smallest ``imbalance`` is returned. The bandwidth of every directory is between ``t`` and
    ``t × (1 + error)`` for some ``t``. A larger ``t`` needs fewer directories on each device, so the
    largest possible ``t`` gives the fewest on all devices. Some directory has exactly bandwidth ``t``.
    """
    candidates = sorted(
        {rate / count for rate in rates.values() for count in range(1, directories_max + 1)}, reverse=True
    )
    best_split: DirectorySplit | None = None
    for bytes_per_s_min in candidates:
        # The maximum numbers of directories with a bandwidth of at least ``bytes_per_s_min``.
        counts_max = {
            name: min(directories_max, max(1, int(rate / bytes_per_s_min * (1 + 1e-9)))) for name, rate in rates.items()
        }
        counts_min = {
            name: max(1, _ceil_tolerant(rate / bytes_per_s_min / (1 + error))) for name, rate in rates.items()
        }
        for counts in (counts_min, counts_max):
            if max(counts.values()) > directories_max:
                continue
            imbalance = bandwidth_imbalance(rates, counts)
            if imbalance <= error * (1 + 1e-9) + 1e-12:
                return DirectorySplit(counts, imbalance)
            if best_split is None or imbalance < best_split.imbalance:
                best_split = DirectorySplit(counts, imbalance)
    assert best_split is not None
    return best_split


def _ceil_tolerant(value: float) -> int:
    """Round up, except where a value exceeds an integer by a rounding error of the quotient."""
    return -int(-value * (1 - 1e-9) // 1)


@dataclass(frozen=True, slots=True)
class DirectoryUse:
    """One kind of data on a worker: the directories that it goes to, and its bytes for each byte of data."""

    directories: Mapping[str, int]
    bytes_per_byte: float


@dataclass(frozen=True, slots=True)
class DeviceFill:
    """The order in which devices become full.

    ``full_after_bytes``: device name to the data per worker at which it is full. ``room_bytes``: the data per worker
    for which there is room; with more, one kind of data has no device with room.
    """

    shares: dict[str, float]
    """Device name to its bytes for each byte of data, until the first device is full."""
    full_after_bytes: dict[str, float]
    room_bytes: float

    def used_bytes(
        self, data_bytes: float, capacities: Mapping[str, float], uses: Sequence[DirectoryUse]
    ) -> dict[str, float]:
        """Return the bytes on each device when a worker has ``data_bytes``, or as much as there is room for."""
        bytes_by_device = dict.fromkeys(self.shares, 0.0)
        boundaries = sorted({0.0, *self.full_after_bytes.values(), self.room_bytes})
        full_devices: set[str] = set()
        for start, stop in pairwise([*boundaries, float("inf")]):
            full_devices |= {name for name, full_at in self.full_after_bytes.items() if full_at <= start}
            end = min(stop, data_bytes, self.room_bytes)
            if end > start:
                for name, rate in _rates(uses, capacities, full_devices).items():
                    bytes_by_device[name] += rate * (end - start)
        return bytes_by_device


def _rates(uses: Sequence[DirectoryUse], capacities: Mapping[str, float], full_devices: set[str]) -> dict[str, float]:
    """Return the bytes on each device for each byte of data; devices in ``full_devices`` get none."""
    rates = dict.fromkeys(capacities, 0.0)
    for use in uses:
        devices_with_room = {name: count for name, count in use.directories.items() if name not in full_devices}
        for name, count in devices_with_room.items():
            rates[name] += use.bytes_per_byte * count / sum(devices_with_room.values())
    return rates


def fill(capacities: Mapping[str, float], uses: Sequence[DirectoryUse]) -> DeviceFill:
    """Return the order in which devices of ``capacities`` become full, with round-robin over directories with room.

    Intermediate data count as if all of them existed at once, as at the end of a TeraSort's shuffle.
    """
    active_uses = [use for use in uses if use.bytes_per_byte > 0]
    free_bytes = dict(capacities)
    full_after_bytes: dict[str, float] = {}
    data_bytes = 0.0
    initial_rates = _rates(active_uses, capacities, set())
    while active_uses and all(set(use.directories) - set(full_after_bytes) for use in active_uses):
        rates = _rates(active_uses, capacities, set(full_after_bytes))
        filling_devices = [name for name, rate in rates.items() if rate > 0 and name not in full_after_bytes]
        step = min(free_bytes[name] / rates[name] for name in filling_devices)
        data_bytes += step
        free_bytes = {name: free_bytes[name] - step * rates[name] for name in free_bytes}
        for name in filling_devices:
            if free_bytes[name] <= capacities[name] * 1e-9:
                full_after_bytes[name] = data_bytes
    return DeviceFill(initial_rates, full_after_bytes, data_bytes if active_uses else float("inf"))


@dataclass(frozen=True, slots=True)
class AvailableSpace:
    """The share of new blocks on each empty device under HDFS's available-space volume choosing."""

    preferred: tuple[str, ...]
    """Devices whose directories are preferred because they have more room; empty: the policy is round-robin."""
    shares: dict[str, float]


def available_space(devices: Sequence[Device], directories: Mapping[str, int], scale: float) -> AvailableSpace:
    """Return the shares of blocks on empty devices under AvailableSpaceVolumeChoosingPolicy with its defaults.

    Every directory reports the free space of the whole device. Directories that exceed the smallest free space by more
    than the threshold are preferred: if they were half of all directories, they would get 75 % of the blocks.
    """
    free_bytes = {device.name: device.capacity_bytes * scale for device in devices if device.name in directories}
    total = sum(directories.values())
    free_bytes_min = min(free_bytes.values())
    preferred = {
        name
        for name, device_free_bytes in free_bytes.items()
        if device_free_bytes > free_bytes_min + BALANCED_THRESHOLD_BYTES
    }
    if not preferred:
        return AvailableSpace((), {name: count / total for name, count in directories.items()})
    preferred_count = sum(directories[name] for name in preferred)
    other_count = total - preferred_count
    preferred_share = preferred_count * PREFERENCE / (preferred_count * PREFERENCE + other_count * (1 - PREFERENCE))
    shares = {
        name: preferred_share * count / preferred_count
        if name in preferred
        else (1 - preferred_share) * count / other_count
        for name, count in directories.items()
    }
    return AvailableSpace(tuple(name for name in directories if name in preferred), shares)
