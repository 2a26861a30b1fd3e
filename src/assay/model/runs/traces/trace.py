"""Traces: time series observed during a run, one row per node, subject, metric and sample.

Subjects and their metrics (a counter never falls; a gauge may rise and fall):

=============  ====================================================================================================
subject        metrics
=============  ====================================================================================================
``cpu``        counters ``user_s nice_s system_s iowait_s irq_s steal_s idle_s``, summed over the cores; gauge ``cores``
``memory``     gauges ``total_bytes free_bytes available_bytes cached_bytes dirty_bytes writeback_bytes``
``pressure``   counters ``cpu_some_s io_some_s io_full_s memory_some_s memory_full_s`` (PSI)
``cgroup``     counter ``cpu_s``; gauges ``memory_bytes cache_bytes rss_bytes``: the node's own share in a lab
``disk:NAME``  counters ``read_bytes write_bytes reads writes read_s write_s busy_s queue_s read_merges write_merges``
``nic:NAME``   counters ``receive_bytes transmit_bytes``
=============  ====================================================================================================

In a simulated run of a large cluster, ``node`` names a group of nodes that were observed together
(:class:`assay.model.runs.environment.NodeGroups`). Counters are then sums over the group's nodes. ``busy_s`` is their
mean, so that its rate is still the share of time in which a disk was busy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

CPU_BUSY = ("user_s", "system_s", "irq_s", "steal_s")
CPU_FREE = ("idle_s", "iowait_s", "nice_s")
"""CPU times that count as free: low-priority processes yield to others. Time stolen by the hypervisor counts as
busy."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A run's trace as parallel columns of equal length. ``t_s`` counts from the run's start and may be negative."""

    t_s: list[float] = field(default_factory=list)
    node: list[str] = field(default_factory=list)
    subject: list[str] = field(default_factory=list)
    metric: list[str] = field(default_factory=list)
    counter: list[bool] = field(default_factory=list)
    value: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.t_s)

    def append(self, t_s: float, node: str, subject: str, metric: str, *, counter: bool, value: float) -> None:
        """Add one row."""
        self.t_s.append(t_s)
        self.node.append(node)
        self.subject.append(subject)
        self.metric.append(metric)
        self.counter.append(counter)
        self.value.append(value)

    def append_series(
        self, times_s: list[float], values: list[float], node: str, subject: str, metric: str, *, counter: bool
    ) -> None:
        """Add a row for each of ``times_s`` with its value."""
        rows = len(times_s)
        if rows != len(values):
            raise ValueError("a series needs a value for each time")
        self.t_s.extend(times_s)
        self.node.extend([node] * rows)
        self.subject.extend([subject] * rows)
        self.metric.extend([metric] * rows)
        self.counter.extend([counter] * rows)
        self.value.extend(values)

    def extend(self, other: Trace) -> None:
        """Add all rows of ``other``."""
        for column, other_column in zip(_columns(self), _columns(other), strict=True):
            column.extend(other_column)

    def series(self, node: str, subject: str, metric: str) -> list[tuple[float, float]]:
        """Return ``(t_s, value)`` pairs of one series in time order."""
        rows = zip(self.t_s, self.node, self.subject, self.metric, self.value, strict=True)
        return sorted((t, v) for t, n, s, m, v in rows if (n, s, m) == (node, subject, metric))


def _columns(trace: Trace) -> tuple[list[Any], ...]:
    return (trace.t_s, trace.node, trace.subject, trace.metric, trace.counter, trace.value)
