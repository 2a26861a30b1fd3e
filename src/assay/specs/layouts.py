"""Resolve the layouts of a plan, which are ALOJA's short codes or explicit device lists, to a worker's devices.

In: a layout of a plan, and the worker's node type. Out: :class:`~assay.model.Layout`. The codes are those of
:mod:`assay.model.clusters.layout_code` for local disks: ``HDD``, ``HDn``, ``SSD``, ``SSn`` and ``NVE`` keep HDFS blocks
and intermediate data on the same disks; ``HSn``, ``SHn`` and ``HYn`` also use one SSD. A code puts one directory on
each device. A layout with devices that the worker lacks raises :class:`SpecificationError` with the codes that fit.
"""

from collections.abc import Mapping, Sequence

from assay.foundation.errors import SpecificationError
from assay.model import Device, DeviceKind, Directories, Layout, LayoutCode, NodeType, StoragePolicy
from assay.model.clusters import layout_code
from assay.specs.fields import COUNT_MAX, unknown

_FAMILIES = {"HD", "SS", "HS", "SH", "HY"}
"""Families of codes that plans accept, in addition to ``NVE``. ALOJA's other families are for remote volumes."""
_KIND_WORDS = {DeviceKind.HDD: "HDD", DeviceKind.SSD: "SSD", DeviceKind.NVME: "NVMe device"}
_PARTS = ("hdfs", "intermediate")


def is_layout_code(name: str) -> bool:
    """Return whether ``name`` is a code that plans accept. The worker may lack its devices."""
    return _code_of_plan(name) is not None


def _code_of_plan(name: str) -> LayoutCode | None:
    code = layout_code.parse_code(name)
    return code if code and (code.family in _FAMILIES or code.single == "NVE") else None


def fitting_codes(node_type: NodeType) -> list[str]:
    """Return the codes for which ``node_type`` has enough disks, with ranges as ``HD2-HD5``."""
    hdds, ssds, nvmes = (len(node_type.devices_of(kind)) for kind in (DeviceKind.HDD, DeviceKind.SSD, DeviceKind.NVME))
    codes = [*(["HDD"] if hdds else []), *_range("HD", 2, hdds), *(["SSD"] if ssds else []), *_range("SS", 2, ssds)]
    mixed_codes = [code for prefix in ("HS", "SH", "HY") for code in _range(prefix, 1, hdds)] if ssds else []
    return [*codes, *mixed_codes, *(["NVE"] if nvmes else [])]


def _range(prefix: str, low: int, high: int) -> list[str]:
    if high - low >= 2:
        return [f"{prefix}{low}-{prefix}{high}"]
    return [f"{prefix}{count}" for count in range(low, high + 1)]


def resolve_layout(
    layout: str | Mapping[str, Mapping[str, int] | Sequence[str]],
    node_type: NodeType,
    *,
    name: str = "custom",
    policy: str | None = None,
) -> Layout:
    """Return the layout on ``node_type`` for a code, or for a mapping with ``hdfs`` and ``intermediate``.

    The values of a mapping are lists of device names, or device names with their numbers of directories. ``name``: the
    name of a layout from a mapping. ``policy``: its HDFS storage policy. Raises :class:`SpecificationError` for an
    unknown code or device, or too few disks.
    """
    if isinstance(layout, str):
        return _resolve_code(layout, node_type)
    for key in layout:
        if key not in _PARTS:
            raise SpecificationError(f"layout {name!r}: {unknown('key', key, _PARTS)}")
    hdfs, intermediate = (_directories(name, part, layout.get(part, {}), node_type) for part in _PARTS)
    return Layout(name, hdfs, intermediate, StoragePolicy(policy) if policy else None)


def _resolve_code(code: str, node_type: NodeType) -> Layout:
    layout = _code_of_plan(code)
    if layout is None:
        raise SpecificationError(unknown("layout", code, fitting_codes(node_type)))
    devices_by_kind = {
        kind: _first_devices(code, DeviceKind(kind), count or 1, node_type) for kind, count in layout.devices.items()
    }
    hdfs, intermediate = (
        tuple(Directories(device.name) for kind in kinds for device in devices_by_kind[kind])
        for kinds in (layout.hdfs, layout.intermediate)
    )
    return Layout(code, hdfs, intermediate)


def _first_devices(code: str, kind: DeviceKind, count: int, node_type: NodeType) -> tuple[Device, ...]:
    """Return the first ``count`` devices of ``kind``. Raises :class:`SpecificationError` if there are fewer."""
    devices = node_type.devices_of(kind)
    if len(devices) < count:
        demand = f"{count} {_KIND_WORDS[kind]}{'s' if count > 1 else ''}"
        valid_codes = ", ".join(fitting_codes(node_type)) or "none"
        raise SpecificationError(
            f"layout {code!r} asks for {demand} per node, but node type {node_type.name!r} has "
            f"{len(devices) or 'none'}; codes that fit: {valid_codes}"
        )
    return devices[:count]


def _directories(
    layout: str, part: str, devices: Mapping[str, int] | Sequence[str], node_type: NodeType
) -> tuple[Directories, ...]:
    names = [device.name for device in node_type.devices]
    counts = devices if isinstance(devices, Mapping) else dict.fromkeys(devices, 1)
    if not counts:
        raise SpecificationError(f"layout {layout!r}: {part} needs a device; valid: {', '.join(names) or 'none'}")
    for device, count in counts.items():
        if device not in names:
            raise SpecificationError(f"layout {layout!r}, {part}: {unknown('device', device, names)}")
        if not 1 <= count <= COUNT_MAX:
            raise SpecificationError(f"layout {layout!r}, {part}: {device} needs 1 to {COUNT_MAX} directories")
    return tuple(Directories(device, count) for device, count in counts.items())
