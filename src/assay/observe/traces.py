"""What a trace amounts to over an interval of its run: increases of counters, totals of devices, the CPU's busy share.

In: a :class:`assay.model.trace.Trace` and an interval in seconds from the run's start. Out: bytes, seconds, shares.
Pure. Between two samples a counter is taken to grow evenly, so increases of adjoining intervals add up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from assay.model.trace import Trace

_BUSY = ("user_s", "system_s", "irq_s", "steal_s")
_IDLE = ("idle_s", "iowait_s")
_TOTALS = {
    ("disk", "read_bytes"): "disk_read_bytes",
    ("disk", "write_bytes"): "disk_write_bytes",
    ("nic", "receive_bytes"): "nic_receive_bytes",
    ("nic", "transmit_bytes"): "nic_transmit_bytes",
}


def increase(points: Sequence[tuple[float, float]], start_s: float, end_s: float) -> float | None:
    """Return how much a counter grew between ``start_s`` and ``end_s``; None when no two samples span any of it.

    ``points`` are (time, value) in time order. A value below the one before it means that the counter was set to 0.
    """
    total, seen = 0.0, False
    for (t0, v0), (t1, v1) in pairwise(points):
        overlap_s = min(t1, end_s) - max(t0, start_s)
        if overlap_s <= 0:
            continue
        seen = True
        total += (v1 - v0 if v1 >= v0 else v1) * overlap_s / (t1 - t0)
    return total if seen else None


def counter_increases(
    trace: Trace, start_s: float, end_s: float, nodes: Iterable[str] | None = None
) -> dict[tuple[str, str, str], float]:
    """Return the increase of every counter by (node, subject, metric), of ``nodes`` only when given."""
    wanted = None if nodes is None else frozenset(nodes)
    series: dict[tuple[str, str, str], list[tuple[float, float]]] = defaultdict(list)
    rows = zip(trace.t_s, trace.node, trace.subject, trace.metric, trace.counter, trace.value, strict=True)
    for t_s, node, subject, metric, counter, value in rows:
        if counter and (wanted is None or node in wanted):
            series[node, subject, metric].append((t_s, value))
    grown = {key: increase(sorted(points), start_s, end_s) for key, points in series.items()}
    return {key: value for key, value in grown.items() if value is not None}


def device_totals(trace: Trace, start_s: float, end_s: float) -> dict[str, float]:
    """Return ``disk_read_bytes disk_write_bytes nic_receive_bytes nic_transmit_bytes`` over all nodes and devices.

    What no node observed is absent.
    """
    totals: dict[str, float] = defaultdict(float)
    for (_, subject, metric), value in counter_increases(trace, start_s, end_s).items():
        name = _TOTALS.get((subject.partition(":")[0], metric))
        if name is not None:
            totals[name] += value
    return dict(totals)


def cpu_busy_share(trace: Trace, node: str, start_s: float, end_s: float) -> float | None:
    """Return the share (0 to 1) of the machine's CPU time that was not idle; None when it was not observed.

    Waiting for disks is idle time; time that a hypervisor gave to others is busy. A lab's nodes share one machine, so
    each of them sees the whole machine's share.
    """
    grown = counter_increases(trace, start_s, end_s, [node])
    busy_s = sum(grown.get((node, "cpu", metric), 0.0) for metric in _BUSY)
    idle_s = sum(grown.get((node, "cpu", metric), 0.0) for metric in _IDLE)
    return busy_s / (busy_s + idle_s) if busy_s + idle_s > 0 else None
