"""Summarise a trace over an interval of its run: totals of devices, and the CPU's busy share.

In: a :class:`assay.model.runs.traces.trace.Trace` and an interval in seconds from the run's start. Out: bytes, seconds,
shares. Pure.
"""

from collections import defaultdict
from collections.abc import Iterable

from assay.model import CPU_BUSY, CPU_FREE, Trace
from assay.model.runs.traces.counters import counter_increases

_TOTALS = {
    ("disk", "read_bytes"): "disk_read_bytes",
    ("disk", "write_bytes"): "disk_write_bytes",
    ("nic", "receive_bytes"): "nic_receive_bytes",
    ("nic", "transmit_bytes"): "nic_transmit_bytes",
}


def device_totals(trace: Trace, start_s: float, end_s: float) -> dict[str, float]:
    """Return ``disk_read_bytes disk_write_bytes nic_receive_bytes nic_transmit_bytes`` over all nodes and devices.

    Totals that no node observed are absent.
    """
    totals: dict[str, float] = defaultdict(float)
    for (_, subject, metric), value in counter_increases(trace, start_s, end_s).items():
        name = _TOTALS.get((subject.partition(":")[0], metric))
        if name is not None:
            totals[name] += value
    return dict(totals)


def cpu_busy_shares(trace: Trace, nodes: Iterable[str], start_s: float, end_s: float) -> dict[str, float]:
    """Return for each observed node the busy share (0 to 1) of the machine's CPU time.

    :data:`~assay.model.runs.traces.trace.CPU_FREE` defines free time. A lab's nodes share one machine, so each has the
    whole machine's share.
    """
    names = tuple(nodes)
    increases = counter_increases(trace, start_s, end_s, names)
    shares = {}
    for node in names:
        busy_s = sum(increases.get((node, "cpu", metric), 0.0) for metric in CPU_BUSY)
        free_s = sum(increases.get((node, "cpu", metric), 0.0) for metric in CPU_FREE)
        if busy_s + free_s > 0:
            shares[node] = busy_s / (busy_s + free_s)
    return shares
