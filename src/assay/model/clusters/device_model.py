"""Parameters of the device model, and typical values by kind of disk.

Times and shares are those of the real device at any scale. Bytes and bytes/s are those of the described hardware; a lab
scales them. docs/reference/devices.md explains the parameters and the sources of the typical values.
"""

from dataclasses import dataclass, replace

LINEAR_SEEK_SHARE = 0.2
"""Share of the disk's width above which seek time is linear in distance (Ruemmler and Wilkes, 1994: 383 of 1962)."""
SEEK_MEAN_SHARE = 0.43378
"""Mean seek time between two random positions, as a share of the range from shortest to longest seek. It is the mean of
the seek curve over the distance d with density 2 (1 - d)."""
MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class HddModel:
    """An HDD: a seek takes ``seek_track_s`` to ``seek_full_s`` by distance, then half a rotation on average.

    Bandwidth falls from the outer edge, where addresses begin, to the share ``inner_share`` at the inner edge.
    """

    inner_share: float = 0.55
    seek_track_s: float = 0.001
    seek_full_s: float = 0.014
    rpm: float = 7200
    write_cache_bytes: int = 0
    queue_depth: int = 32

    @property
    def half_turn_s(self) -> float:
        """Mean rotational latency."""
        return MINUTE_S / self.rpm / 2


@dataclass(frozen=True, slots=True)
class FlashModel:
    """Flash with parallel ``channels``. A request takes its latency, then its share of the bandwidth.

    Writes run at the burst rate until ``burst_bytes`` are full, then at the sustained rate. Idle time empties the burst
    buffer.
    """

    channels: int = 8
    read_latency_s: float = 100e-6
    write_latency_s: float = 50e-6
    burst_write_bytes_per_s: float | None = None
    burst_bytes: int = 0
    queue_depth: int = 32


_SATA = FlashModel()
_NVME = FlashModel(channels=16, read_latency_s=80e-6, write_latency_s=20e-6, queue_depth=128)


def default_hdd(random_iops: int | None = None, like: HddModel | None = None) -> HddModel:
    """Return typical values, or those of ``like``, with the longest seek that yields ``random_iops``.

    ``random_iops``: random requests per second over the whole disk at queue depth 1. None keeps the seek time.
    """
    like = like or HddModel()
    if random_iops is None:
        return replace(like, seek_full_s=max(like.seek_track_s, like.seek_full_s))
    arm_s = max(0.0, 1 / random_iops - like.half_turn_s - like.seek_track_s)
    return replace(like, seek_full_s=like.seek_track_s + arm_s / SEEK_MEAN_SHARE)


def default_flash(*, nvme: bool) -> FlashModel:
    """Return typical values of an NVMe device or of a SATA SSD."""
    return _NVME if nvme else _SATA
