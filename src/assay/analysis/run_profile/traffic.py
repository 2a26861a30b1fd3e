"""Compute disk traffic over time, in MB/s (10^6 bytes) by device, summed over the nodes.

In: a trace with ``disk:NAME`` counters ``read_bytes`` and ``write_bytes``. Out: one series for each device name and
direction on a common grid of times in seconds. Devices of equal name on different nodes are added up, for example the
first disk of each worker.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.model import Trace

_PREFIX = "disk:"
_DIRECTIONS = {"read_bytes": "read", "write_bytes": "write"}
POINTS_MAX = 240
"""Maximum number of points of a series: the steps of longer runs are longer than a second."""
SHARE_MIN = 0.01
"""Minimum share of all bytes for a device to be shown; boot disks and idle disks have less."""


@dataclass(frozen=True, slots=True)
class TrafficSeries:
    """One direction of one device: mean rates over the grid steps that begin at ``t_s``."""

    device: str
    direction: str
    """``read`` or ``write``."""
    t_s: tuple[float, ...]
    mb_per_s: tuple[float, ...]
    total_bytes: float


def counter_growth(samples: Sequence[tuple[float, float]], grid_s: Sequence[float]) -> list[float]:
    """Return the increase of a counter in each step of ``grid_s``, interpolated between samples.

    A counter that falls has restarted from zero. Before the first and after the last sample it does not change.
    """
    if not samples or len(grid_s) < 2:
        return [0.0] * max(0, len(grid_s) - 1)
    import numpy as np  # imported here because only traces need it

    times = np.array([t for t, _ in samples])
    steps = np.diff(np.array([value for _, value in samples]))
    after_restart = np.array([value for _, value in samples[1:]])
    cumulative = np.concatenate(([0.0], np.cumsum(np.where(steps < 0, after_restart, steps))))
    return [float(step) for step in np.diff(np.interp(np.array(grid_s), times, cumulative))]


def _disk_samples(
    trace: Trace, nodes: frozenset[str] | None
) -> dict[tuple[str, str], dict[str, list[tuple[float, float]]]]:
    samples: dict[tuple[str, str], dict[str, list[tuple[float, float]]]] = {}
    rows = zip(trace.t_s, trace.node, trace.subject, trace.metric, trace.value, strict=True)
    for t_s, node, subject, metric, value in rows:
        if subject.startswith(_PREFIX) and metric in _DIRECTIONS and (nodes is None or node in nodes):
            series = samples.setdefault((subject.removeprefix(_PREFIX), _DIRECTIONS[metric]), {})
            series.setdefault(node, []).append((t_s, value))
    return samples


def grid_step_s(duration_s: float) -> float:
    """Return the step that gives a run of this duration at most :data:`POINTS_MAX` points, whole seconds."""
    return max(1.0, math.ceil(duration_s / POINTS_MAX))


def disk_traffic(
    trace: Trace, duration_s: float, *, nodes: frozenset[str] | None = None, step_s: float | None = None
) -> list[TrafficSeries]:
    """Return the traffic from the run's start to ``duration_s``, devices by name, reads first; empty without disks.

    ``nodes``: the nodes that count (the workers); None: all. ``step_s``: step of the grid; runs that are drawn side by
    side need the same step.
    """
    step_s = step_s or grid_step_s(duration_s)
    grid = [index * step_s for index in range(max(1, math.ceil(duration_s / step_s)) + 1)]
    series = []
    for (device, direction), by_node in sorted(_disk_samples(trace, nodes).items()):
        growth = [counter_growth(sorted(samples), grid) for samples in by_node.values()]
        totals = [sum(parts) for parts in zip(*growth, strict=True)]
        rates = tuple(total / step_s / 1e6 for total in totals)
        series.append(TrafficSeries(device, direction, tuple(grid[:-1]), rates, sum(totals)))
    bytes_by_device = {
        device: sum(s.total_bytes for s in series if s.device == device) for device in {s.device for s in series}
    }
    total_bytes = sum(bytes_by_device.values())
    return [s for s in series if total_bytes > 0 and bytes_by_device[s.device] >= SHARE_MIN * total_bytes]
