"""An instance type: the hardware of one machine that a cloud provider rents."""

import re
from dataclasses import dataclass

from assay.model.clusters.cluster import DeviceKind
from assay.model.clusters.volume_type import Volumes

_SEPARATORS = re.compile(r"[^a-z0-9]+")


def node_type_name(instance_type: str) -> str:
    """Return an instance type's name in catalogues and price books: ``i4i-2xlarge`` for ``i4i.2xlarge``.

    Names of node types are host names, which have no dots or underscores.
    """
    return _SEPARATORS.sub("-", instance_type.lower()).strip("-")


@dataclass(frozen=True, slots=True)
class LocalDisks:
    """The disks in a machine. Their contents are lost when the instance stops."""

    kind: DeviceKind
    count: int
    capacity_bytes: int
    """Capacity of one disk."""


@dataclass(frozen=True, slots=True)
class InstanceType:
    """A machine to rent. None and 0 mean: the source does not state it.

    The rate of local disks is not an attribute: no source states it for most types.
    """

    provider: str
    name: str
    architecture: str
    """``x86_64`` or ``arm64``."""
    processor: str
    """Maker of the processor."""
    clock_hz: float | None
    """Sustained clock."""
    cores: int
    """Physical cores."""
    vcpus: int
    """Hardware threads."""
    memory_bytes: int
    accelerators: int
    """Number of GPUs and other accelerators."""
    network_bps: float | None
    """Baseline of all network cards together, in bits/s."""
    network_burst_bps: float | None
    volume_bytes_per_s: float | None
    """Baseline throughput of all network volumes together."""
    volume_burst_bytes_per_s: float | None
    volume_iops: int | None
    volume_burst_iops: int | None
    burstable: bool
    """The processor runs at full speed only while it has CPU credits."""
    current_generation: bool
    source: str
    disks: LocalDisks | None = None

    @property
    def family(self) -> str:
        """The part of the name before the size: ``i4i`` of ``i4i.2xlarge``."""
        return self.name.split(".", 1)[0]

    def volume_rate(self, volumes: Volumes) -> tuple[float, int]:
        """Return the baseline rate, in bytes/s, and the requests per second of one of the volumes on this machine."""
        rate, iops = volumes.type.bytes_per_s(volumes.capacity_bytes), volumes.type.iops(volumes.capacity_bytes)
        if self.volume_bytes_per_s is not None:
            rate = min(rate, self.volume_bytes_per_s / volumes.count)
        if self.volume_iops is not None:
            iops = max(1, min(iops, self.volume_iops // volumes.count))
        return rate, iops
