"""A hardware catalogue: the available kinds of worker with their options.

Prices come from a price book, times from simulations.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.model.clusters.cluster import Device
from assay.model.clusters.credits import CreditBucket
from assay.model.clusters.layout import Layout


@dataclass(frozen=True, slots=True)
class DeviceOption:
    """A kind of disk, and the possible numbers of it per worker. 0: a worker may have none."""

    group: str
    device: Device
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WorkerOption:
    """A kind of worker. Each tuple lists the choices; only ``containers`` and ``layouts`` may be empty."""

    name: str
    cores: int
    counts: tuple[int, ...]
    """Possible numbers of workers."""
    memories_bytes: tuple[int, ...]
    networks: Mapping[str, float]
    """Name of a network, as in price books, to its bandwidth in bits/s."""
    devices: tuple[DeviceOption, ...]
    containers: tuple[int, ...] = ()
    """Concurrent containers on a worker; empty: one per core, limited by memory."""
    layouts: tuple[Layout, ...] = ()
    """Storage layouts; empty: every common layout of the selected devices."""
    cpu_model: str = ""
    cpu_speed: float = 1.0
    """Speed of a core as in cluster files, with its plausible range. Equal ends: exact."""
    cpu_speed_low: float = 1.0
    cpu_speed_high: float = 1.0
    credits: tuple[CreditBucket, ...] = ()
    """Credits of a rented machine. Cores and devices have their rates with credits."""


@dataclass(frozen=True, slots=True)
class HardwareCatalogue:
    """The available hardware and engine settings."""

    name: str
    source: str
    workers: tuple[WorkerOption, ...]
    masters: int = 1
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Engine parameters that all choices share."""
    compressions: tuple[str, ...] = ()
    """Codecs of map output; empty: as in ``parameters``."""
    assumptions: tuple[str, ...] = ()
    """Assumptions behind its figures, and types that it omits, for the answers that use it."""
