"""HDFS's storage types: what a device counts as, what a policy needs, and where it puts copies. Pure."""

from collections import Counter

from assay.model import DeviceKind, Layout, NodeType, Spread, StoragePolicy

_TYPES = {DeviceKind.HDD: "DISK", DeviceKind.SSD: "SSD", DeviceKind.NVME: "SSD"}
_NEEDED = {
    StoragePolicy.HOT: ("DISK",),
    StoragePolicy.ONE_SSD: ("DISK", "SSD"),
    StoragePolicy.ALL_SSD: ("SSD",),
    StoragePolicy.LAZY_PERSIST: ("DISK",),
}
_KINDS_OF = {"DISK": "an HDD", "SSD": "an SSD or NVMe device"}


def storage_type(kind: DeviceKind) -> str:
    """Return HDFS's name for what a device is: ``DISK`` or ``SSD``."""
    return _TYPES.get(kind, "DISK")


def policy_mistake(layout: Layout, node_type: NodeType) -> str | None:
    """Return which kind of device the layout's policy lacks for HDFS; None where it lacks none, or there is none."""
    if layout.policy is None:
        return None
    kinds = {device.name: storage_type(device.kind) for device in node_type.devices}
    there = {kinds[part.device] for part in layout.hdfs}
    lacking = next((kind for kind in _NEEDED[layout.policy] if kind not in there), None)
    if lacking is None:
        return None
    names = [name for name, kind in kinds.items() if kind == lacking]
    return (
        f"layout {layout.name!r}: policy {layout.policy} needs {_KINDS_OF[lacking]} for hdfs; "
        f"valid: {', '.join(names) or 'none'}"
    )


def spread(layout: Layout, node_type: NodeType, copies: int) -> Spread:
    """Return over which directories HDFS spreads how many copies: all, or those of the kinds that the policy says."""
    if layout.policy is None:
        return ((layout.hdfs, copies),)
    kinds = {device.name: storage_type(device.kind) for device in node_type.devices}
    return tuple(
        (tuple(part for part in layout.hdfs if kinds[part.device] == kind), count)
        for kind, count in Counter(layout.policy.storage_types(copies)).items()
    )
