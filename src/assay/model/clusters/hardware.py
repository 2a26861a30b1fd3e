"""A hardware catalogue: the available kinds of worker, each with its options.

It lists the choices. Prices are in a price book; simulations give the times.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.model.clusters.cluster import Device
from assay.model.clusters.layout import Layout


@dataclass(frozen=True, slots=True)
class DeviceOption:
    """One kind of disk, and how many of it a worker may have; 0 is without."""

    group: str
    device: Device
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WorkerOption:
    """One kind of worker. Each tuple is what may be chosen; only ``containers`` and ``layouts`` may be empty."""

    name: str
    cores: int
    counts: tuple[int, ...]
    """How many workers the cluster may have."""
    memories_bytes: tuple[int, ...]
    networks: Mapping[str, float]
    """Name of a network, as price books know it, to a link's bits per second."""
    devices: tuple[DeviceOption, ...]
    containers: tuple[int, ...] = ()
    """Containers at once on a worker; empty: one a core, as far as the memory goes."""
    layouts: tuple[Layout, ...] = ()
    """Where data lies; empty: every usual way for the devices that were chosen."""
    cpu_model: str = ""
    cpu_speed: float = 1.0
    """As a cluster file has it; the ends are what is thought possible (equal: taken as exact)."""
    cpu_speed_low: float = 1.0
    cpu_speed_high: float = 1.0


@dataclass(frozen=True, slots=True)
class HardwareCatalogue:
    """What there is to choose from."""

    name: str
    source: str
    workers: tuple[WorkerOption, ...]
    masters: int = 1
    parameters: Mapping[str, str] = field(default_factory=dict)
    """The engine's, the same for every choice."""
    compressions: tuple[str, ...] = ()
    """Codecs of map output to choose from; empty: as ``parameters`` say."""
