"""How a disk works inside: the numbers that a device model runs on, and what disks of a kind usually have.

Times and shares are the real device's own at any scale; bytes and bytes/s are the described hardware's, which a lab
shrinks. What the numbers mean in time, and where the usual ones come from: docs/reference/devices.md.
"""

from dataclasses import dataclass, replace

LINEAR_SEEK_SHARE = 0.2
"""Share of the disk's width from where a seek's time grows linearly (Ruemmler and Wilkes, 1994: 383 of 1962)."""
SEEK_MEAN_SHARE = 0.43378
"""Where between the shortest and the longest seek the mean one lies, between two random places on a disk: the mean of
that curve over the distance d with density 2 (1 - d)."""
MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class HddModel:
    """A disk with an arm: seeks from ``seek_track_s`` to ``seek_full_s`` by distance, then half a turn on average.

    The bandwidth falls from the outer edge, where addresses begin, to ``inner_share`` of it at the inner edge.
    """

    inner_share: float = 0.55
    seek_track_s: float = 0.001
    seek_full_s: float = 0.014
    rpm: float = 7200
    write_cache_bytes: int = 0
    queue_depth: int = 32

    @property
    def half_turn_s(self) -> float:
        """The mean wait for a sector to come around."""
        return MINUTE_S / self.rpm / 2

    @property
    def seek_mean_s(self) -> float:
        """The mean seek between two random places."""
        return self.seek_track_s + (self.seek_full_s - self.seek_track_s) * SEEK_MEAN_SHARE


@dataclass(frozen=True, slots=True)
class FlashModel:
    """Flash behind ``channels`` that work side by side; a request takes its latency, then its share of the bandwidth.

    Writes run at the burst rate until ``burst_bytes`` are full, which empty in idle time; then at the sustained one.
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
    """Return the usual numbers, or those of ``like``, with the longest seek that makes ``random_iops`` come true.

    ``random_iops`` are random requests per second, one at a time, over the whole disk; None leaves the seek as it is.
    """
    like = like or HddModel()
    if random_iops is None:
        return replace(like, seek_full_s=max(like.seek_track_s, like.seek_full_s))
    arm_s = max(0.0, 1 / random_iops - like.half_turn_s - like.seek_track_s)
    return replace(like, seek_full_s=like.seek_track_s + arm_s / SEEK_MEAN_SHARE)


def default_flash(*, nvme: bool) -> FlashModel:
    """Return the usual numbers of an NVMe device, or of an SSD behind SATA."""
    return _NVME if nvme else _SATA
