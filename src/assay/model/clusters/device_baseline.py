"""Device baselines: measured throughput of bare devices (fio) and links (iperf3), with the specified values."""

from collections.abc import Mapping
from dataclasses import dataclass

DEVIATION_MAX = 0.1
"""Maximum relative deviation from the specification; a larger deviation is marked."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One figure of a device or link. ``expected``: the specified value, scaled in a lab; None if not specified."""

    node: str
    subject: str
    """Device name, or ``A→B`` for a link."""
    metric: str
    """``sequential_read_bytes_per_s``, ``sequential_write_bytes_per_s``, ``streams_8_read_bytes_per_s``,
    ``random_read_iops``, ``link_bits_per_s``."""
    value: float
    expected: float | None
    modelled: bool = False
    """Whether ``expected`` is computed by the device model because the cluster file does not state it."""

    @property
    def deviation(self) -> float | None:
        """``value / expected - 1``; None without an expectation."""
        return self.value / self.expected - 1 if self.expected else None

    @property
    def deviates(self) -> bool:
        """Whether the deviation from the specification exceeds :data:`DEVIATION_MAX`."""
        return self.deviation is not None and abs(self.deviation) > DEVIATION_MAX


@dataclass(frozen=True, slots=True)
class DeviceBaseline:
    """All measurements of one cluster at one time."""

    baseline_id: str
    cluster: str
    measured_at: str
    tools: dict[str, str]
    """Program to version."""
    measurements: tuple[Measurement, ...]


@dataclass(frozen=True, slots=True)
class CoreSpeed:
    """The speed of one core of a host, relative to the processor on which the profile's CPU seconds were measured."""

    node: str
    speed: float
    low: float
    high: float
    """With ``low``: the 90 % interval of the speed over kinds of work."""
    by_work: Mapping[str, float]
    """Kind of work to the speed for it."""
