"""Increases of a trace's counters over an interval of the run.

In: a :class:`assay.model.runs.traces.trace.Trace` and an interval in seconds from the run's start. Out: increases in
the counters' units. Pure. Counters are assumed to grow linearly between two samples, so increases of adjoining
intervals add up.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby, islice, pairwise

from assay.model.runs.traces.trace import Trace


def increase(points: Sequence[tuple[float, float]], start_s: float, end_s: float) -> float | None:
    """Return the increase of a counter from ``start_s`` to ``end_s``; None if no two samples overlap the interval.

    ``points`` are (time, value) in time order. A value below its predecessor means that the counter was reset to 0.
    """
    total, has_overlap = 0.0, False
    for (t0, v0), (t1, v1) in pairwise(points):
        overlap_s = min(t1, end_s) - max(t0, start_s)
        if overlap_s <= 0:
            continue
        has_overlap = True
        total += (v1 - v0 if v1 >= v0 else v1) * overlap_s / (t1 - t0)
    return total if has_overlap else None


def counter_increases(
    trace: Trace, start_s: float, end_s: float, nodes: Iterable[str] | None = None
) -> dict[tuple[str, str, str], float]:
    """Return the increase of each counter by (node, subject, metric); ``nodes`` restricts the nodes."""
    included_nodes = None if nodes is None else frozenset(nodes)
    series: dict[tuple[str, str, str], list[tuple[float, float]]] = defaultdict(list)
    names = zip(trace.node, trace.subject, trace.metric, trace.counter, strict=True)
    points = zip(trace.t_s, trace.value, strict=True)
    for (node, subject, metric, counter), rows in groupby(names):
        consecutive_points = list(islice(points, len(list(rows))))
        if counter and (included_nodes is None or node in included_nodes):
            series[node, subject, metric] += consecutive_points
    increases = {key: increase(sorted(samples), start_s, end_s) for key, samples in series.items()}
    return {key: value for key, value in increases.items() if value is not None}
