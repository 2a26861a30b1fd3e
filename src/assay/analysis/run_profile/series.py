"""Prepare time series of a trace for drawing: rates from counters, thinned to few points without losing a peak.

In: a :class:`~assay.model.runs.traces.trace.Trace` (times in s from the run's start). Out: one :class:`Series` for each
node, subject and metric. A counter becomes its rate per second between samples (a counter that falls has restarted from
zero); a gauge is unchanged.

Points are thinned by M4 (U. Jugel et al., "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 2014): the
first, last, lowest and highest sample of each of ``windows`` equal spans of time are kept, so that a line of that many
pixels looks the same as with all samples.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import Floats
from assay.model import Trace

WINDOWS_MAX = 4000
"""Maximum number of spans of time in a thinned series."""


@dataclass(frozen=True, slots=True)
class Series:
    """One series; ``samples``: its number of samples in the span before thinning."""

    node: str
    subject: str
    metric: str
    unit: str
    counter: bool
    samples: int
    t_s: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SeriesName:
    """A series that a trace has."""

    node: str
    subject: str
    metric: str
    unit: str
    samples: int


def thinned(t_s: Floats, values: Floats, windows: int) -> tuple[Floats, Floats]:
    """Return at most four points of each of ``windows`` spans of time: first, last, lowest and highest, in time order.

    ``t_s`` must not decrease. A series with at most that number of samples is returned unchanged.
    """
    count = len(t_s)
    if windows < 1:
        raise ValueError("the number of windows must be at least 1")
    if count <= 4 * windows:
        return t_s, values
    span = t_s[-1] - t_s[0]
    if span <= 0:
        keep = np.unique([0, count - 1, int(np.argmin(values)), int(np.argmax(values))])
        return t_s[keep], values[keep]
    window = np.minimum(((t_s - t_s[0]) / span * windows).astype(np.int64), windows - 1)
    starts = np.flatnonzero(np.concatenate(([True], window[1:] != window[:-1])))
    ends = np.concatenate((starts[1:], [count])) - 1
    order = np.lexsort((values, window))  # within each window from the lowest to the highest
    keep = np.unique(np.concatenate((starts, ends, order[starts], order[ends])))
    return t_s[keep], values[keep]


def rates(t_s: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return a counter's rate per second between consecutive samples, at the time of the later sample."""
    if len(t_s) < 2:
        return t_s[:0], values[:0]
    order = np.argsort(t_s, kind="stable")
    t_s, values = t_s[order], values[order]
    step, increases = np.diff(t_s), np.diff(values)
    increases = np.where(increases < 0, values[1:], increases)
    advances = step > 0
    return t_s[1:][advances], increases[advances] / step[advances]


def unit_of(subject: str, metric: str, *, counter: bool) -> tuple[str, float]:
    """Return the unit of values and the factor to convert them: MB is 10^6 bytes.

    Seconds per second are cores for a CPU, the mean length for a queue, and else the share of time.
    """
    if metric.endswith("_bytes"):
        return ("MB/s" if counter else "MB"), 1e-6
    if metric.endswith("_s") and counter:
        queue = metric == "queue_s"
        return ("cores" if subject in ("cpu", "cgroup") else "requests" if queue else "share of time"), 1.0
    return ("1/s" if counter else "s" if metric.endswith("_s") else ""), 1.0


def names_of(trace: Trace) -> list[SeriesName]:
    """Return the series that a trace has, sorted."""
    counts = Counter(zip(trace.node, trace.subject, trace.metric, trace.counter, strict=True))
    return [
        SeriesName(node, subject, metric, unit_of(subject, metric, counter=counter)[0], count)
        for (node, subject, metric, counter), count in sorted(counts.items())
    ]


def series_of(
    trace: Trace,
    *,
    nodes: Sequence[str] = (),
    subjects: Sequence[str] = (),
    metrics: Sequence[str] = (),
    start_s: float | None = None,
    end_s: float | None = None,
    windows: int = 500,
) -> list[Series]:
    """Return the series of these nodes, subjects and metrics (none named: all) between two times, thinned."""
    node, subject = np.asarray(trace.node, dtype=object), np.asarray(trace.subject, dtype=object)
    metric = np.asarray(trace.metric, dtype=object)
    keep = np.ones(len(trace), dtype=np.bool_)
    for column, requested_names in ((node, nodes), (subject, subjects), (metric, metrics)):
        if requested_names:
            keep &= np.isin(column.astype(str), list(requested_names))
    rows = np.flatnonzero(keep)
    by_name: dict[tuple[str, str, str], list[int]] = {}
    for row in rows:
        by_name.setdefault((node[row], subject[row], metric[row]), []).append(int(row))
    t_s, values = np.asarray(trace.t_s, dtype=np.float64), np.asarray(trace.value, dtype=np.float64)
    series = []
    for name, positions in sorted(by_name.items()):
        counter = trace.counter[positions[0]]
        order = np.asarray(positions)[np.argsort(t_s[positions], kind="stable")]
        times_s, plotted_values = (rates if counter else _unchanged)(t_s[order], values[order])
        is_inside = np.ones(len(times_s), dtype=np.bool_)
        if start_s is not None:
            is_inside &= times_s >= start_s
        if end_s is not None:
            is_inside &= times_s <= end_s
        times_s, plotted_values = times_s[is_inside], plotted_values[is_inside]
        thinned_t_s, thinned_values = thinned(times_s, plotted_values, min(windows, WINDOWS_MAX))
        unit, scale = unit_of(name[1], name[2], counter=counter)
        series.append(
            Series(
                *name,
                unit,
                counter,
                len(times_s),
                tuple(thinned_t_s.tolist()),
                tuple((thinned_values * scale).tolist()),
            )
        )
    return series


def _unchanged(t_s: Floats, values: Floats) -> tuple[Floats, Floats]:
    return t_s, values
