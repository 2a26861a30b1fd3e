"""What a cluster in one configuration consists of, as far as prices count it.

In: what a run says of its cluster, or its layout's code. Out: :class:`Counts`. What a run does not say stays
unknown; a price that needs it is then an error that says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.model.layout_code import devices_of_code


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
