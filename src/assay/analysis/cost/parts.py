"""What a cluster in one configuration consists of, as far as prices count it.

In: what a run says of its cluster, or its layout's code. Out: :class:`Counts`. What a run does not say stays
unknown; a price that needs it is then an error that says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.model import ClusterFacts, devices_of_code


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


def counts_from_facts(facts: ClusterFacts | None, layout: str, levels: Mapping[str, str]) -> Counts:
    """Return what was recorded of a cluster, or else the layout's code, says; ``levels`` are kept."""
    if facts is None:
        facts = ClusterFacts()
    return Counts(
        nodes=facts.nodes,
        masters=facts.masters,
        workers=facts.workers,
        layout_devices=dict(facts.layout_devices) or devices_of_code(layout),
        device_names=dict(facts.device_names),
        node_types=dict(facts.node_types),
        ports=facts.ports,
        capacity_bytes=facts.layout_capacity_bytes,
        levels=levels,
    )
