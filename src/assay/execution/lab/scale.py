"""Apply the scale of a lab to a node's memory and to its disks.

In: a node or a device as described. Out: memory and capacity in bytes, rates in bytes/s. Times and requests/s are not
scaled; the rate of a NIC is scaled where :mod:`.build` plans the network.
"""

from pathlib import Path

from assay.analysis.devices.model_parameters import DIRTY_S
from assay.execution.lab.cgroups import DiskLimits
from assay.execution.lab.disks.disk_emulators import DiskSpec
from assay.foundation.errors import LabError
from assay.model import Device, Disks, LabSettings, Node, request_bytes

CAPACITY_BYTES_MIN = 64 * 2**20
"""Minimum capacity of a disk after scaling, in bytes: enough for a file system."""


def memory_limit_bytes(node: Node, settings: LabSettings) -> int:
    """Return the memory limit of a node: its memory times the scale, or the minimum if that is more."""
    return max(settings.memory_floor_bytes, int(node.type.memory_bytes * settings.scale))


def scaled_disk(
    node: str, device: Device, scale: float, image: Path, emulator: Disks, dirty_s: float = DIRTY_S
) -> DiskSpec:
    """Return the disk to emulate for ``device`` at ``scale``, with ``dirty_s`` seconds of its writes as dirty pages.

    Raises LabError if the capacity is too small for a file system.
    """
    capacity_bytes = int(device.capacity_bytes * scale) // 4096 * 4096
    if capacity_bytes < CAPACITY_BYTES_MIN:
        raise LabError(
            f"{device.name} would have {capacity_bytes} bytes at this scale; {CAPACITY_BYTES_MIN} is the minimum",
            where=node,
            hint="give the device more capacity, or choose a larger scale",
        )
    limits = DiskLimits(
        device.read_bytes_per_s * scale, device.write_bytes_per_s * scale, device.read_iops, device.write_iops
    )
    return DiskSpec(
        node=node,
        name=device.name,
        device=device,
        scale=scale,
        image=image,
        capacity_bytes=capacity_bytes,
        limits=limits,
        request_bytes=request_bytes(device, scale, emulator),
        dirty_bytes=round(device.write_bytes_per_s * scale * dirty_s),
    )
