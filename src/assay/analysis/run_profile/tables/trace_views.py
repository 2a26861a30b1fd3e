"""Define the views of a trace: one metric of some subjects, under a name and a title.

In: a trace, or the names of its series. Out: the views for which it has series, and these series with fewer points.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from assay.analysis.run_profile.series import Series, series_of
from assay.model import Trace

COINCIDING_SHARE: Final = 0.005
"""Maximum difference of two lines that are drawn as one, as a share of the panel's highest value."""


@dataclass(frozen=True, slots=True)
class TraceView:
    """One metric of the subjects that begin with ``subject``."""

    group: str
    title: str
    subject: str
    metric: str

    def has(self, subject: str, metric: str) -> bool:
        """Return whether a series belongs to this view."""
        return metric == self.metric and subject.startswith(self.subject)


TRACE_VIEWS: Final[Mapping[str, TraceView]] = {
    "disk-read": TraceView("disk", "Disk read", "disk:", "read_bytes"),
    "disk-write": TraceView("disk", "Disk write", "disk:", "write_bytes"),
    "disk-busy": TraceView("disk", "Disk busy", "disk:", "busy_s"),
    "net-receive": TraceView("net", "Network received", "nic:", "receive_bytes"),
    "net-transmit": TraceView("net", "Network sent", "nic:", "transmit_bytes"),
    "cpu-own": TraceView("cpu", "CPU of the node's own processes", "cgroup", "cpu_s"),
    "cpu-user": TraceView("cpu", "CPU in user mode", "cpu", "user_s"),
    "cpu-iowait": TraceView("cpu", "CPU waiting for I/O", "cpu", "iowait_s"),
    "memory-cached": TraceView("memory", "Page cache", "memory", "cached_bytes"),
    "memory-dirty": TraceView("memory", "Dirty pages", "memory", "dirty_bytes"),
}

GROUPS: Final[Mapping[str, str]] = {"cpu": "CPU", "disk": "Disks", "net": "Network", "memory": "Memory"}
"""Groups of views, in the order in which they are shown, with their titles."""
LINES_MAX = 24
"""Default maximum number of lines in one view."""
_POINTS_MAX = 24_000
"""Approximate maximum number of points in all views of a trace."""
_WINDOWS = (40, 300)
"""Minimum and maximum number of spans of time in a thinned series."""


def groups_of(views: Iterable[str]) -> dict[str, str]:
    """Return the groups of ``views``, name to title."""
    groups = {TRACE_VIEWS[name].group for name in views}
    return {name: title for name, title in GROUPS.items() if name in groups}


def windows_for(trace: Trace) -> int:
    """Return the number of spans of time whose points are shown, so that all views of the trace fit one drawing."""
    pairs = set(zip(trace.node, trace.subject, trace.metric, strict=True))
    series_shown = sum(any(view.has(subject, metric) for view in TRACE_VIEWS.values()) for _, subject, metric in pairs)
    return min(_WINDOWS[1], max(_WINDOWS[0], _POINTS_MAX // (4 * max(1, series_shown))))


def busiest(series: Sequence[Series], count_max: int = LINES_MAX) -> list[Series]:
    """Return the ``count_max`` series with the highest peaks, in the given order."""
    peaks = sorted(range(len(series)), key=lambda index: -max(series[index].values, default=0.0))[:count_max]
    return [series[index] for index in sorted(peaks)]


def indistinguishable_groups(series: Sequence[Series]) -> list[list[Series]]:
    """Return the series in groups whose lines can't be distinguished in a chart; the first of a group is drawn."""
    highest = max((max(line.values, default=0.0) for line in series), default=0.0)
    groups: list[list[Series]] = []
    for line in series:
        group = next((group for group in groups if _distance(group[0], line) <= COINCIDING_SHARE * highest), None)
        if group is None:
            groups.append([line])
        else:
            group.append(line)
    return groups


def _distance(first: Series, second: Series) -> float:
    """Return the largest difference of two series at the times of both."""
    if not first.t_s or not second.t_s:
        return math.inf
    t_s = np.union1d(first.t_s, second.t_s)
    lines = (np.interp(t_s, line.t_s, line.values) for line in (first, second))
    return float(np.abs(np.subtract(*lines)).max())


def views_of(traces: Iterable[Trace]) -> dict[str, str]:
    """Return the views, name to title, that any of the traces has."""
    pairs = {pair for trace in traces for pair in set(zip(trace.subject, trace.metric, strict=True))}
    return {name: view.title for name, view in TRACE_VIEWS.items() if any(view.has(*pair) for pair in pairs)}


def lines_of(
    trace: Trace,
    view: TraceView,
    *,
    node: str | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
    windows: int = _WINDOWS[1],
) -> list[Series]:
    """Return a view's series of one node or all nodes, within a span of time or the whole run.

    Series of zeros are omitted unless all are zero.
    """
    subjects = sorted({name for name in trace.subject if name.startswith(view.subject)})
    nodes = () if node is None else (node,)
    series = series_of(
        trace, nodes=nodes, subjects=subjects, metrics=(view.metric,), start_s=start_s, end_s=end_s, windows=windows
    )
    return [line for line in series if any(line.values)] or series


def names_shown(trace: Trace, view: TraceView) -> tuple[list[str], list[str]]:
    """Return all nodes of the trace, and all devices of the view; both sorted."""
    devices = {subject.partition(":")[2] for subject in set(trace.subject) if subject.startswith(view.subject)}
    return sorted(set(trace.node)), sorted(devices - {""})
