"""What of a trace is looked at: one metric of some subjects, under a name and a title.

In: a trace, or the names of its series. Out: the views that it has, and their series, thinned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from assay.explain.series import Series, series_of
from assay.model.trace import Trace


@dataclass(frozen=True, slots=True)
class TraceView:
    """One metric of the subjects that begin with ``subject``."""

    title: str
    subject: str
    metric: str

    def has(self, subject: str, metric: str) -> bool:
        """Say whether a series belongs to it."""
        return metric == self.metric and subject.startswith(self.subject)


TRACE_VIEWS: Final[Mapping[str, TraceView]] = {
    "disk-read": TraceView("Disk read", "disk:", "read_bytes"),
    "disk-write": TraceView("Disk write", "disk:", "write_bytes"),
    "disk-busy": TraceView("Disk busy", "disk:", "busy_s"),
    "net-receive": TraceView("Network received", "nic:", "receive_bytes"),
    "net-transmit": TraceView("Network sent", "nic:", "transmit_bytes"),
    "cpu-user": TraceView("CPU in user mode", "cpu", "user_s"),
    "cpu-iowait": TraceView("CPU waiting for I/O", "cpu", "iowait_s"),
    "memory-cached": TraceView("Page cache", "memory", "cached_bytes"),
    "memory-dirty": TraceView("Dirty pages", "memory", "dirty_bytes"),
}


def views_of(traces: Iterable[Trace]) -> dict[str, str]:
    """Return the views, name to title, that any of the traces has."""
    found = {pair for trace in traces for pair in set(zip(trace.subject, trace.metric, strict=True))}
    return {name: view.title for name, view in TRACE_VIEWS.items() if any(view.has(*pair) for pair in found)}


def lines_of(
    trace: Trace, view: TraceView, *, node: str | None = None, start_s: float | None = None, end_s: float | None = None
) -> list[Series]:
    """Return a view's series, of one node or all, in a span or whole; those that are always zero only if all are."""
    subjects = sorted({name for name in trace.subject if name.startswith(view.subject)})
    nodes = () if node is None else (node,)
    series = series_of(trace, nodes=nodes, subjects=subjects, metrics=(view.metric,), start_s=start_s, end_s=end_s)
    return [one for one in series if any(one.values)] or series
