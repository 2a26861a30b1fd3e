"""Count the priced parts of a cluster in one configuration.

In: the cluster recorded with a run, or its layout's code. Out: :class:`Counts`. Facts that the run does not record stay
unknown; a price that needs them raises an error.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.model import ClusterFacts, devices_of_code


@dataclass(frozen=True, slots=True)
class Counts:
    """Priced parts of a cluster. ``None`` and an empty ``layout_devices``: unknown."""

    nodes: int | None = None
    masters: int | None = None
    workers: int | None = None
    layout_devices: dict[str, int] = field(default_factory=dict)
    """Device kind (hdd, ssd, nvme, remote) to number of devices per worker that the layout uses."""
    device_names: dict[str, str] = field(default_factory=dict)
    """Name of each of these devices to its kind, if the run records names."""
    node_types: dict[str, int] = field(default_factory=dict)
    """Node type to number of nodes."""
    ports: int | None = None
    """Network ports; one per node if the run does not record them."""
    capacity_bytes: int | None = None
    """Total capacity of the layout's devices on one worker."""
    levels: Mapping[str, str] = field(default_factory=dict)
    """Factors, for example network and cluster, with this configuration's level."""


def counts_from_facts(facts: ClusterFacts | None, layout: str, levels: Mapping[str, str]) -> Counts:
    """Return the counts from the recorded facts, or else from the layout's code, with ``levels``."""
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
