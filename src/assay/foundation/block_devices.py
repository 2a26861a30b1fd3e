"""Find the block devices under a path: its partition, its disk, and the devices under device mappers.

The kernel describes them in ``/sys/dev/block`` (Documentation/ABI/stable/sysfs-block). File systems without a block
device, such as tmpfs or overlayfs, are named by their device number.
"""

import os
from pathlib import Path

_BLOCK = Path("/sys/dev/block")


def block_devices(path: Path) -> frozenset[str]:
    """Return the names of all devices that a write to ``path`` can reach; empty if the path is missing."""
    try:
        number = path.stat().st_dev
    except OSError:
        return frozenset()
    top = _BLOCK / f"{os.major(number)}:{os.minor(number)}"
    if not top.exists():
        return frozenset({top.name})
    names: set[str] = set()
    remaining_devices = [top.resolve()]
    while remaining_devices:
        device = remaining_devices.pop()
        if device.name in names:
            continue
        names.add(device.name)
        if (device / "partition").exists():
            remaining_devices.append(device.parent)
        remaining_devices += [slave.resolve() for slave in device.glob("slaves/*")]
    return frozenset(names)
