"""An instance type: the hardware of one machine that a cloud provider rents."""

import re
from dataclasses import dataclass

from assay.model.clusters.cluster import DeviceKind
from assay.model.clusters.credits import CPU_BASELINES, CreditBucket, CreditKind, cpu_bucket
from assay.model.clusters.volume_type import Volumes

LINK_BURST_S = 1800.0
"""Time that a machine's link to its volumes runs at its full rate, once a day (Amazon EC2 User Guide, Amazon
EBS-optimized instance types: at least 30 minutes every 24 hours)."""
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
    network_bits_per_s: float | None
    """Baseline of all network cards together, in bits/s."""
    network_burst_bits_per_s: float | None
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
        """Return the bytes/s and the requests per second of one volume on this machine, while it has credits."""
        rate, iops = volumes.full_rate
        if self._full_volume_bytes_per_s is not None:
            rate = min(rate, self._full_volume_bytes_per_s / volumes.count)
        if self.volume_iops is not None:
            iops = max(1, min(iops, self.volume_iops // volumes.count))
        return rate, iops

    def credits(
        self, volumes: Volumes | None, devices: str = "", cpu_credits: float | None = None
    ) -> tuple[CreditBucket, ...]:
        """Return the credits of a machine with these new volumes.

        ``devices``: the group of the volumes. ``cpu_credits``: its CPU credits at the start of a job; None: those of a
        new instance.
        """
        processor_credits = cpu_bucket(self.name, self.cores, self.vcpus, cpu_credits) if self.burstable else None
        volume_credits = link_credits = None
        if volumes is not None:
            volume_credits = volumes.type.bucket(volumes.capacity_bytes, volumes.count, devices)
            baseline, full_rate = self.volume_bytes_per_s, self._full_volume_bytes_per_s
            if (
                baseline is not None
                and full_rate is not None
                and volumes.count * self.volume_rate(volumes)[0] > baseline
            ):
                burst = (full_rate - baseline) * LINK_BURST_S
                link_credits = CreditBucket(CreditKind.VOLUME_LINK, baseline, burst, burst, devices)
        return tuple(bucket for bucket in (processor_credits, volume_credits, link_credits) if bucket is not None)

    @property
    def cpu_baseline(self) -> float | None:
        """Share of its cores that a burstable machine has without credits; None: no limit, or not known."""
        return CPU_BASELINES.get(self.name) if self.burstable else None

    @property
    def cpu_credits_per_h(self) -> float | None:
        """CPU credits that a burstable machine earns per hour; None: none, or not known."""
        return None if self.cpu_baseline is None else self.cpu_baseline * self.vcpus * 60

    @property
    def _full_volume_bytes_per_s(self) -> float | None:
        """The throughput of all network volumes together during a burst."""
        if self.volume_bytes_per_s is None or self.volume_burst_bytes_per_s is None:
            return self.volume_bytes_per_s
        return max(self.volume_bytes_per_s, self.volume_burst_bytes_per_s)
