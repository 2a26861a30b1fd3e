"""Types of network volumes, with their baseline, burst and provisioned rates.

Sources: Amazon EBS User Guide, General Purpose SSD volumes (gp2, gp3), Provisioned IOPS SSD volumes (io2 Block Express;
its throughput per IOPS also in the Amazon RDS User Guide, Provisioned IOPS SSD storage), and HDD volumes (st1, sc1);
Azure documentation, Premium SSD sizes; Google Cloud documentation, Hyperdisk Balanced and Persistent Disk performance.
The ``source`` of a type names its page. A new volume has a full bucket of credits. Credits of gp2 count requests of at
most 256 KiB. assay counts them in bytes, as if all requests had that size: smaller requests use them up sooner.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from assay.foundation.units import MIB
from assay.model.clusters.credits import CreditBucket, CreditKind

_GIB = 2**30
_TIB = 2**40
_REQUEST_BYTES = 256 * 2**10
"""Largest request that costs one credit of gp2."""


@dataclass(frozen=True, slots=True)
class VolumeBurst:
    """The rates of a volume while it has credits, and its bucket of credits, in bytes. Rates and credits grow with the
    capacity from a minimum."""

    min_bytes_per_s: float
    per_tib_bytes_per_s: float
    max_bytes_per_s: float
    iops: int
    min_credits: float = 0.0
    credits_per_tib: float = 0.0
    full_s: float = 0.0
    """Seconds at the full rate that a full bucket pays for; 0 if the credits are stated in bytes."""


@dataclass(frozen=True, slots=True)
class VolumeSize:
    """A size in which a provider sells volumes: a smaller volume has the rates of the size above it."""

    capacity_bytes: int
    bytes_per_s: float
    iops: int


@dataclass(frozen=True, slots=True)
class ProvisionedRange:
    """The IOPS that a buyer may provision for a volume, and the resulting throughput."""

    min_capacity_bytes: int
    max_capacity_bytes: int
    min_iops: int
    max_iops: int
    per_gib_iops: int
    """Maximum IOPS per GiB of capacity."""
    per_iops_bytes_per_s: float
    max_bytes_per_s: float

    def bytes_per_s(self, iops: int) -> float:
        """Return the throughput of a volume with these IOPS."""
        return min(self.max_bytes_per_s, self.per_iops_bytes_per_s * iops)

    def iops_max_of(self, capacity_bytes: int) -> int:
        """Return the maximum IOPS of a volume of this capacity."""
        return min(self.max_iops, int(self.per_gib_iops * capacity_bytes / _GIB))


@dataclass(frozen=True, slots=True)
class VolumeType:
    """A kind of network volume. Rates are those of the baseline, without credits. They grow with the capacity from a
    minimum to a maximum, or in steps from size to size."""

    kind: str
    """Device kind in the catalogue."""
    min_bytes_per_s: float
    per_tib_bytes_per_s: float
    max_bytes_per_s: float
    base_iops: int
    per_gib_iops: float
    max_iops: int
    source: str
    burst: VolumeBurst | None = None
    """None: the volume has no credits."""
    small_bytes: int = 0
    """Maximum capacity of volumes with a lower maximum rate, ``small_max_bytes_per_s``; 0: the type has none."""
    small_max_bytes_per_s: float = 0.0
    sizes: tuple[VolumeSize, ...] = ()
    """The sizes that the volume is sold in, smallest first; empty if its rates grow with every byte."""
    provisioned: ProvisionedRange | None = None
    """The IOPS that the buyer has to state; None: the capacity determines the rates."""

    def bytes_per_s(self, capacity_bytes: float) -> float:
        """Return the baseline throughput of a volume of this capacity."""
        if self.sizes:
            return self._size(capacity_bytes).bytes_per_s
        rate = max(self.min_bytes_per_s, self.per_tib_bytes_per_s * capacity_bytes / _TIB)
        return min(self.max_bytes_per_s, self._small_max(capacity_bytes), rate)

    def iops(self, capacity_bytes: float) -> int:
        """Return the baseline requests per second of a volume of this capacity."""
        if self.sizes:
            return self._size(capacity_bytes).iops
        return min(self.max_iops, max(self.base_iops, round(self.per_gib_iops * capacity_bytes / _GIB)))

    def burst_bytes_per_s(self, capacity_bytes: float) -> float:
        """Return the throughput of a volume of this capacity while it has credits."""
        baseline = self.bytes_per_s(capacity_bytes)
        if self.burst is None:
            return baseline
        rate = max(self.burst.min_bytes_per_s, self.burst.per_tib_bytes_per_s * capacity_bytes / _TIB)
        return max(baseline, min(self.burst.max_bytes_per_s, self._small_max(capacity_bytes), rate))

    def burst_iops(self, capacity_bytes: float) -> int:
        """Return the requests per second of a volume of this capacity while it has credits."""
        return max(self.iops(capacity_bytes), self.burst.iops if self.burst else 0)

    def bucket(self, capacity_bytes: float, count: int, devices: str = "") -> CreditBucket | None:
        """Return the credits of ``count`` new volumes; None if their baseline is their full rate.

        ``devices``: the group of the volumes.
        """
        baseline, full_rate = self.bytes_per_s(capacity_bytes), self.burst_bytes_per_s(capacity_bytes)
        if self.burst is None or full_rate <= baseline:
            return None
        credits_at_full_rate = self.burst.full_s * (full_rate - baseline)
        credits_per_volume = max(
            credits_at_full_rate, self.burst.min_credits, self.burst.credits_per_tib * capacity_bytes / _TIB
        )
        size = count * credits_per_volume
        return CreditBucket(CreditKind.VOLUMES, count * baseline, size, size, devices)

    def _size(self, capacity_bytes: float) -> VolumeSize:
        """Return the smallest size that holds the capacity, or the largest."""
        return next((size for size in self.sizes if size.capacity_bytes >= capacity_bytes), self.sizes[-1])

    def _small_max(self, capacity_bytes: float) -> float:
        """Return the lower maximum rate of a small volume; infinite for a larger volume."""
        return self.small_max_bytes_per_s if capacity_bytes <= self.small_bytes else math.inf


_SSD_PAGE = "Amazon EBS User Guide, General Purpose SSD volumes"
_PROVISIONED_PAGE = (
    "Amazon EBS User Guide, Provisioned IOPS SSD volumes: io2 Block Express "
    "(docs.aws.amazon.com/ebs/latest/userguide/provisioned-iops.html)"
)
_HDD_PAGE = "Amazon EBS User Guide, Throughput Optimized HDD and Cold HDD volumes"
_PREMIUM_SIZES = (
    (4, 25, 120),
    (8, 25, 120),
    (16, 25, 120),
    (32, 25, 120),
    (64, 50, 240),
    (128, 100, 500),
    (256, 125, 1100),
    (512, 150, 2300),
    (1024, 200, 5000),
    (2048, 250, 7500),
    (4096, 250, 7500),
    (8192, 500, 16_000),
    (16_384, 750, 18_000),
    (32_767, 900, 20_000),
)
"""Sizes P1 to P80: GiB, MB/s, requests per second."""
VOLUME_TYPES: Mapping[str, VolumeType] = {
    "gp3": VolumeType(
        kind="ssd",
        min_bytes_per_s=125 * MIB,
        per_tib_bytes_per_s=0,
        max_bytes_per_s=125 * MIB,
        base_iops=3000,
        per_gib_iops=0,
        max_iops=3000,
        source=_SSD_PAGE,
    ),
    "gp2": VolumeType(
        kind="ssd",
        min_bytes_per_s=100 * _REQUEST_BYTES,
        per_tib_bytes_per_s=3 * 1024 * _REQUEST_BYTES,
        max_bytes_per_s=250 * MIB,
        base_iops=100,
        per_gib_iops=3,
        max_iops=16_000,
        source=_SSD_PAGE,
        burst=VolumeBurst(
            min_bytes_per_s=250 * MIB,
            per_tib_bytes_per_s=0,
            max_bytes_per_s=250 * MIB,
            iops=3000,
            min_credits=5_400_000 * _REQUEST_BYTES,
            credits_per_tib=0,
        ),
        small_bytes=170 * _GIB,
        small_max_bytes_per_s=128 * MIB,
    ),
    "io2": VolumeType(
        kind="ssd",
        min_bytes_per_s=100 * 0.256 * MIB,
        per_tib_bytes_per_s=0,
        max_bytes_per_s=100 * 0.256 * MIB,
        base_iops=100,
        per_gib_iops=0,
        max_iops=100,
        source=_PROVISIONED_PAGE,
        provisioned=ProvisionedRange(
            min_capacity_bytes=4 * _GIB,
            max_capacity_bytes=64 * _TIB,
            min_iops=100,
            max_iops=256_000,
            per_gib_iops=1000,
            per_iops_bytes_per_s=0.256 * MIB,
            max_bytes_per_s=4000 * MIB,
        ),
    ),
    "st1": VolumeType(
        kind="hdd",
        min_bytes_per_s=0,
        per_tib_bytes_per_s=40 * MIB,
        max_bytes_per_s=500 * MIB,
        base_iops=500,
        per_gib_iops=0,
        max_iops=500,
        source=_HDD_PAGE,
        burst=VolumeBurst(
            min_bytes_per_s=0,
            per_tib_bytes_per_s=250 * MIB,
            max_bytes_per_s=500 * MIB,
            iops=500,
            min_credits=0,
            credits_per_tib=_TIB,
        ),
    ),
    "sc1": VolumeType(
        kind="hdd",
        min_bytes_per_s=0,
        per_tib_bytes_per_s=12 * MIB,
        max_bytes_per_s=192 * MIB,
        base_iops=250,
        per_gib_iops=0,
        max_iops=250,
        source=_HDD_PAGE,
        burst=VolumeBurst(
            min_bytes_per_s=0,
            per_tib_bytes_per_s=80 * MIB,
            max_bytes_per_s=250 * MIB,
            iops=250,
            min_credits=0,
            credits_per_tib=_TIB,
        ),
    ),
    "premium-ssd": VolumeType(
        kind="ssd",
        min_bytes_per_s=0,
        per_tib_bytes_per_s=0,
        max_bytes_per_s=900e6,
        base_iops=0,
        per_gib_iops=0,
        max_iops=20_000,
        source="Azure documentation, Premium SSD sizes (disk-storage-premium-ssd-sizes, 16 March 2023)",
        burst=VolumeBurst(min_bytes_per_s=170e6, per_tib_bytes_per_s=0, max_bytes_per_s=170e6, iops=3500, full_s=1800),
        sizes=tuple(VolumeSize(gib * _GIB, rate * 1e6, iops) for gib, rate, iops in _PREMIUM_SIZES),
    ),
    "hyperdisk-balanced": VolumeType(
        kind="ssd",
        min_bytes_per_s=140 * MIB,
        per_tib_bytes_per_s=0,
        max_bytes_per_s=140 * MIB,
        base_iops=3000,
        per_gib_iops=0,
        max_iops=3000,
        source="Google Cloud documentation, About Hyperdisk Balanced: baseline performance",
    ),
    "pd-standard": VolumeType(
        kind="hdd",
        min_bytes_per_s=0,
        per_tib_bytes_per_s=0.12 * 1024 * MIB,
        max_bytes_per_s=400 * MIB,
        base_iops=0,
        per_gib_iops=0.75,
        max_iops=7500,
        source="Google Cloud documentation, Persistent Disk performance: standard PD, the lower of read and write",
    ),
}
"""Volumes as bought without additional IOPS or throughput, and without bursting on demand. The rates of io2 are those
of its minimum IOPS; its buyer states the IOPS."""


@dataclass(frozen=True, slots=True)
class Volumes:
    """The network volumes of one machine."""

    name: str
    """Name of their type, a key of :data:`VOLUME_TYPES`."""
    capacity_bytes: int
    """Capacity of one volume."""
    count: int
    iops: int | None = None
    """Provisioned IOPS of one volume; None for types without provisioned IOPS."""

    @property
    def type(self) -> VolumeType:
        """Their type."""
        return VOLUME_TYPES[self.name]

    @property
    def full_rate(self) -> tuple[float, int]:
        """The throughput in bytes/s and the IOPS of one volume, while it has credits."""
        if self.type.provisioned is not None and self.iops is not None:
            return self.type.provisioned.bytes_per_s(self.iops), self.iops
        return self.type.burst_bytes_per_s(self.capacity_bytes), self.type.burst_iops(self.capacity_bytes)
