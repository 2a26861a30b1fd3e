"""The latest counters of one node while a job runs."""

from dataclasses import dataclass, field

DEVICES_MAX = 64
"""Maximum number of disks, and of NICs, of a node in a sample."""


@dataclass(frozen=True, slots=True)
class HostSample:
    """Counters of one node since its start."""

    node: str
    at_unix_s: float
    """Time of the sample on the node's clock."""
    cores: float | None = None
    cpu_s: dict[str, float] = field(default_factory=dict)
    """CPU time of all cores by mode: user, nice, system, idle, iowait, irq, steal."""
    cgroup_cpu_s: float | None = None
    """CPU time of the node's control group in a lab, whose nodes share the cores of one machine."""
    disks: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    """By disk: bytes read, bytes written, busy time in seconds."""
    nics: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By NIC: bytes received, bytes sent."""
