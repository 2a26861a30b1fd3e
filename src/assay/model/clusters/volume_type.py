"""Types of network volumes, with their baseline rates.

Source: Amazon EBS User Guide, EBS volume types.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.foundation.units import MIB

_GIB = 2**30
_TIB = 2**40


@dataclass(frozen=True, slots=True)
class VolumeType:
    """A kind of network volume: its baseline. Bursts are not counted, since a job outlasts their credits or may find
    none."""

    kind: str
    """Device kind in the catalogue."""
    base_bytes_per_s: float
    per_tib_bytes_per_s: float
    max_bytes_per_s: float
    base_iops: int
    per_gib_iops: float
    max_iops: int
    source: str

    def bytes_per_s(self, capacity_bytes: float) -> float:
        """Return the baseline throughput of a volume of this capacity."""
        return min(self.max_bytes_per_s, self.base_bytes_per_s + self.per_tib_bytes_per_s * capacity_bytes / _TIB)

    def iops(self, capacity_bytes: float) -> int:
        """Return the baseline requests per second of a volume of this capacity."""
        return min(self.max_iops, max(self.base_iops, round(self.per_gib_iops * capacity_bytes / _GIB)))


_EBS_PAGE = "Amazon EBS User Guide, EBS volume types"
VOLUME_TYPES: Mapping[str, VolumeType] = {
    "gp3": VolumeType(
        kind="ssd",
        base_bytes_per_s=125 * MIB,
        per_tib_bytes_per_s=0,
        max_bytes_per_s=125 * MIB,
        base_iops=3000,
        per_gib_iops=0,
        max_iops=3000,
        source=_EBS_PAGE,
    ),
    "st1": VolumeType(
        kind="hdd",
        base_bytes_per_s=0,
        per_tib_bytes_per_s=40 * MIB,
        max_bytes_per_s=500 * MIB,
        base_iops=500,
        per_gib_iops=0,
        max_iops=500,
        source=_EBS_PAGE,
    ),
    "sc1": VolumeType(
        kind="hdd",
        base_bytes_per_s=0,
        per_tib_bytes_per_s=12 * MIB,
        max_bytes_per_s=192 * MIB,
        base_iops=250,
        per_gib_iops=0,
        max_iops=250,
        source=_EBS_PAGE,
    ),
}
"""Volumes as bought without provisioned IOPS or throughput."""


@dataclass(frozen=True, slots=True)
class Volumes:
    """The network volumes of one machine."""

    name: str
    """Name of their type, a key of :data:`VOLUME_TYPES`."""
    capacity_bytes: int
    """Capacity of one volume."""
    count: int

    @property
    def type(self) -> VolumeType:
        """Their type."""
        return VOLUME_TYPES[self.name]
