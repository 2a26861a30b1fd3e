"""Baselines: the throughput of a bare device or link, measured with fio and iperf3, and as specified."""

from collections.abc import Mapping
from dataclasses import dataclass

DEVIATION_MAX = 0.1
"""Maximum relative deviation from the specification; a larger deviation is marked."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One figure of one device or link. ``expected`` is the specification's, scaled as the lab is; None: not stated."""

    node: str
    subject: str
    """Device name, or ``A→B`` for a link."""
    metric: str
    """``sequential_read_bytes_per_s``, ``sequential_write_bytes_per_s``, ``streams_8_read_bytes_per_s``,
    ``random_read_iops``, ``link_bits_per_s``."""
    value: float
    expected: float | None
    modelled: bool = False
    """Whether ``expected`` is not stated but what the model of the described device comes to, measured this way."""

    @property
    def deviation(self) -> float | None:
        """``value / expected - 1``; None without an expectation."""
        return self.value / self.expected - 1 if self.expected else None

    @property
    def is_off(self) -> bool:
        """Whether it is further from the specification than :data:`DEVIATION_MAX`."""
        return self.deviation is not None and abs(self.deviation) > DEVIATION_MAX


@dataclass(frozen=True, slots=True)
class Baseline:
    """All measurements of one cluster at one time."""

    baseline_id: str
    cluster: str
    measured_at: str
    tools: dict[str, str]
    """Program to version."""
    measurements: tuple[Measurement, ...]


@dataclass(frozen=True, slots=True)
class CoreSpeed:
    """How fast one core of a host is, relative to the processor that a profile's CPU seconds are of."""

    node: str
    speed: float
    low: float
    high: float
    """With ``low``, where the speed lies nine times of ten, as kinds of work differ."""
    by_work: Mapping[str, float]
