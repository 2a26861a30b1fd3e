"""Map devices to HDFS's storage types, and check and apply storage policies. Pure.

In: a layout with its policy, and the devices of a node type. Out: storage types, mistakes as text, and the directories
over which HDFS spreads copies.
"""

from collections import Counter

from assay.model import DeviceKind, Layout, NodeType, Spread, StoragePolicy

_TYPES = {DeviceKind.HDD: "DISK", DeviceKind.SSD: "SSD", DeviceKind.NVME: "SSD"}
_REQUIRED_TYPES = {
    StoragePolicy.HOT: ("DISK",),
    StoragePolicy.ONE_SSD: ("DISK", "SSD"),
    StoragePolicy.ALL_SSD: ("SSD",),
    StoragePolicy.LAZY_PERSIST: ("DISK",),
}
_KINDS_OF = {"DISK": "an HDD", "SSD": "an SSD or NVMe device"}


def storage_type(kind: DeviceKind) -> str:
    """Return the storage type of a kind of device: ``DISK`` or ``SSD``."""
    return _TYPES.get(kind, "DISK")


def policy_mistake(layout: Layout, node_type: NodeType) -> str | None:
    """Return a message about the kind of device that the policy needs and the layout lacks; None without a mistake."""
    if layout.policy is None:
        return None
    type_by_device = {device.name: storage_type(device.kind) for device in node_type.devices}
    layout_types = {type_by_device[part.device] for part in layout.hdfs}
    missing_type = next((needed for needed in _REQUIRED_TYPES[layout.policy] if needed not in layout_types), None)
    if missing_type is None:
        return None
    names = [name for name, device_type in type_by_device.items() if device_type == missing_type]
    return (
        f"layout {layout.name!r}: policy {layout.policy} needs {_KINDS_OF[missing_type]} for hdfs; "
        f"valid: {', '.join(names) or 'none'}"
    )


def spread(layout: Layout, node_type: NodeType, copies: int) -> Spread:
    """Return the directories over which HDFS spreads copies, and the number of copies, by the policy."""
    if layout.policy is None:
        return ((layout.hdfs, copies),)
    type_by_device = {device.name: storage_type(device.kind) for device in node_type.devices}
    return tuple(
        (tuple(part for part in layout.hdfs if type_by_device[part.device] == policy_type), count)
        for policy_type, count in Counter(layout.policy.storage_types(copies)).items()
    )
