"""Return the parameters of a disk's model at a lab's scale, as the device daemon and the simulator read them.

In: a described device and the scale. Out: bandwidths and caches at scale, times unscaled (docs/reference/devices.md).
"""

from collections.abc import Iterable
from typing import Any

from assay.model import Device, DeviceKind

DIRTY_S = 0.5
"""Minimum limit of dirty pages, in seconds of the disk's write rate."""
DIRTY_BYTES_MIN = 2**20
"""Minimum limit of dirty pages, in bytes."""


def dirty_seconds(devices: Iterable[Device], scale: float) -> float:
    """Return the limit of dirty pages of each lab disk, in seconds of its write rate."""
    return max(DIRTY_S, *(DIRTY_BYTES_MIN / (device.write_bytes_per_s * scale) for device in devices))


def model_parameters(device: Device, scale: float) -> dict[str, Any]:
    """Return the parameters of the disk's model at scale."""
    rates = {"read_bytes_per_s": device.read_bytes_per_s * scale, "write_bytes_per_s": device.write_bytes_per_s * scale}
    if device.kind is DeviceKind.HDD:
        hdd = device.hdd_model
        return {
            "kind": "hdd",
            **rates,
            "inner_share": hdd.inner_share,
            "seek_track_s": hdd.seek_track_s,
            "seek_full_s": hdd.seek_full_s,
            "rpm": hdd.rpm,
            "queue_depth": hdd.queue_depth,
            "write_cache_bytes": round(hdd.write_cache_bytes * scale),
        }
    flash = device.flash_model
    burst_bytes_per_s = (flash.burst_write_bytes_per_s or device.write_bytes_per_s) * scale
    iops_limits = {"read_iops": device.read_iops, "write_iops": device.write_iops}
    return {
        "kind": "ssd",
        **rates,
        "channels": flash.channels,
        "read_latency_s": flash.read_latency_s,
        "write_latency_s": flash.write_latency_s,
        "burst_write_bytes_per_s": burst_bytes_per_s,
        "burst_bytes": round(flash.burst_bytes * scale),
        "queue_depth": flash.queue_depth,
        **{name: limit for name, limit in iops_limits.items() if limit is not None},
    }
