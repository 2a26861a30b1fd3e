"""What a cluster in one configuration consists of, as far as prices count it.

In: what a run says of its cluster, or ALOJA's code of its layout. Out: :class:`Counts`. What a run does not say stays
unknown; a price that needs it is then an error that says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_CODE = re.compile(r"(?P<one>HDD|SSD|NVE)|(?P<family>HD|SS|HS|HN|RR|RL|RS|R)(?P<n>[1-9][0-9]?)")
_ONE = {"HDD": "hdd", "SSD": "ssd", "NVE": "nvme"}
_FIRST = {
    "HD": "hdd",
    "SS": "ssd",
    "HS": "hdd",
    "HN": "hdd",
    "R": "remote",
    "RR": "remote",
    "RL": "remote",
    "RS": "remote",
}
_SECOND = {"RL": "hdd", "HS": "ssd", "HN": "nvme", "RS": "ssd"}


@dataclass(frozen=True, slots=True)
class Counts:
    """What there is to pay for. ``None`` and an empty ``layout_devices`` mean: not known."""

    nodes: int | None = None
    masters: int | None = None
    workers: int | None = None
    layout_devices: dict[str, int] = field(default_factory=dict)
    """Device kind (hdd, ssd, nvme, remote) to how many of it the layout uses on each worker."""
    device_names: dict[str, str] = field(default_factory=dict)
    """Name of each of these devices to its kind, where the run tells names."""
    node_types: dict[str, int] = field(default_factory=dict)
    """Node type to how many nodes are of it."""
    ports: int | None = None
    """Network ports; one for each node when the run does not say."""
    capacity_bytes: int | None = None
    """What the layout's devices of one worker hold together."""
    levels: Mapping[str, str] = field(default_factory=dict)
    """Factors, such as network and cluster, with this configuration's level."""


def devices_of_code(code: str) -> dict[str, int]:
    """Return the devices that one of ALOJA's layout codes stands for, by kind; empty for any other name.

    RRn, Rn: n remote volumes; RLn: the same with intermediate data on a local disk; RSn: the same on a local SSD; HSn,
    HNn: n HDDs and intermediate data on one SSD or NVMe device.
    """
    match = _CODE.fullmatch(code)
    if match is None:
        return {}
    if match["one"]:
        return {_ONE[match["one"]]: 1}
    devices = {_FIRST[match["family"]]: int(match["n"])}
    return devices | ({_SECOND[match["family"]]: 1} if match["family"] in _SECOND else {})


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _numbers(value: Any) -> dict[str, int]:
    return {str(key): _whole(n) or 0 for key, n in value.items()} if isinstance(value, Mapping) else {}


def counts_from_facts(facts: Mapping[str, Any], layout: str, levels: Mapping[str, str]) -> Counts:
    """Return what ``facts`` (a run's ``environment["cluster"]``) and the layout's code say; ``levels`` are kept."""
    names = facts.get("device_names")
    return Counts(
        nodes=_whole(facts.get("nodes")),
        masters=_whole(facts.get("masters")),
        workers=_whole(facts.get("workers")),
        layout_devices=_numbers(facts.get("layout_devices")) or devices_of_code(layout),
        device_names={str(k): str(kind) for k, kind in names.items()} if isinstance(names, Mapping) else {},
        node_types=_numbers(facts.get("node_types")),
        ports=_whole(facts.get("ports")),
        capacity_bytes=_whole(facts.get("layout_capacity_bytes")),
        levels=levels,
    )
