"""One run's phases, tasks, disks and nodes as tables for a terminal of 80 columns.

In: a :class:`assay.explain.run_detail.RunDetail`. Out: tables, and lines of text. Nothing is computed here but widths.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.explain.devices import DeviceUse, Purpose, Transfers
from assay.explain.phases import Breakdown
from assay.explain.run_detail import RunDetail, request_limits_note
from assay.explain.tasks import KindSummary
from assay.model.run import Job, Task
from assay.units import format_bytes, format_duration

NOTHING = "–"
_FIGURE = re.compile(r"–|[0-9][0-9.,]*(?: [%A-Za-z]+)?")
_STRAGGLERS_MAX = 5
_OVERLAPS_MAX = 5
_WIDTH = 80
_PURPOSES = {
    Purpose.HDFS: "HDFS",
    Purpose.INTERMEDIATE: "intermediate",
    Purpose.SHARED: "both",
    Purpose.NONE: "unused",
    Purpose.UNKNOWN: "not told",
}


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table with a title; every column whose cells are figures stands to the right."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return the table, then its notes, without the title; empty without rows."""
        if not self.rows:
            return list(self.notes)
        columns = list(zip(self.headers, *self.rows, strict=True))
        widths = [max(map(len, column)) for column in columns]
        right = [all(_is_figure(cell) for cell in column[1:]) for column in columns]
        table = [
            "  ".join(
                cell.rjust(width) if numeric else cell.ljust(width)
                for cell, width, numeric in zip(row, widths, right, strict=True)
            ).rstrip()
            for row in (self.headers, *self.rows)
        ]
        return [*table, *self.notes]


def _is_figure(cell: str) -> bool:
    return not cell or _FIGURE.fullmatch(cell) is not None


def _bytes(value: float | None) -> str:
    return NOTHING if value is None else format_bytes(value)


def _seconds(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.1f}"


def _share(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.3g} %"


def _ms(seconds: float | None) -> str:
    return NOTHING if seconds is None else f"{1000 * seconds:.3g} ms"


def _count(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.0f}"


def phase_table(breakdown: Breakdown, title: str, *, overlaps: bool = False) -> TextTable:
    """Return how the time is divided; the last column adds up to the whole."""
    whole_s = breakdown.duration_s
    rows = [
        (
            p.name,
            _seconds(p.start_s),
            _seconds(p.end_s),
            _seconds(p.active_s),
            _seconds(p.alone_s),
            _seconds(p.share_s),
            f"{100 * p.share_s / whole_s:.0f} %" if whole_s > 0 else NOTHING,
        )
        for p in breakdown.phases
    ]
    if rows:
        rows.append(("all", _seconds(breakdown.start_s), _seconds(breakdown.end_s), "", "", _seconds(whole_s), "100 %"))
    shown = breakdown.overlaps[:_OVERLAPS_MAX] if overlaps else ()
    notes = [f"{' and '.join(each.names)} at once: {format_duration(each.duration_s)}" for each in shown]
    hidden = len(breakdown.overlaps) - len(shown)
    if overlaps and hidden:
        notes.append(f"and {hidden} shorter overlap{'s' if hidden > 1 else ''}")
    headers = ("phase (s)", "begins", "ends", "active", "alone", "its part", "")
    return TextTable(title, headers, tuple(rows), tuple(notes))


def jobs_table(detail: RunDetail) -> TextTable:
    """Return one line for each job of a run that has several."""
    rows = tuple(
        (
            each.job.job_id,
            each.job.name[:24],
            _seconds(each.job.submit_s),
            _seconds(each.job.finish_s - each.job.submit_s),
            str(each.job.maps),
            str(each.job.reduces),
            each.job.status,
        )
        for each in detail.jobs
    )
    headers = ("job", "name", "at (s)", "took (s)", "maps", "reduces", "")
    return TextTable("jobs", headers, rows if len(rows) > 1 else ())


def kinds_table(detail: RunDetail) -> TextTable:
    """Return the tasks by job and kind, and the worst stragglers."""
    several = len(detail.jobs) > 1
    kinds = [kind for each in detail.jobs for kind in each.kinds]
    rows = tuple(
        (
            f"{kind.kind} {_short(kind.job_id)}" if several else kind.kind,
            str(kind.tasks),
            str(kind.succeeded),
            str(kind.failed),
            str(kind.killed),
            str(kind.at_once_max),
            str(kind.waves),
            _seconds(kind.median_s),
            _seconds(kind.longest_s),
            str(len(kind.stragglers)),
        )
        for kind in kinds
    )
    headers = ("attempts", "tasks", "ok", "failed", "killed", "at once", "waves", "median", "longest", "slow")
    return TextTable("tasks", headers, rows, tuple(_straggler_lines(kinds)))


def _straggler_lines(kinds: Sequence[KindSummary]) -> Iterator[str]:
    found = sorted(((each, kind) for kind in kinds for each in kind.stragglers), key=lambda pair: -pair[0].ratio)
    for each, kind in found[:_STRAGGLERS_MAX]:
        name = _short(each.attempt_id) or f"a {kind.kind}"
        where = f" on {each.node}" if each.node else ""
        yield f"slow: {name}{where} took {format_duration(each.duration_s)}, {each.ratio:.1f} times its kind's median"
    if len(found) > _STRAGGLERS_MAX:
        yield f"and {len(found) - _STRAGGLERS_MAX} more slow ones: --tasks lists all attempts"


def _short(name: str) -> str:
    """Return an id without what all of them share: ``attempt_1700000000000_0004_m_000001_0`` to ``0004_m_000001_0``."""
    head, _, rest = name.partition("_")
    return rest.partition("_")[2] if head in ("attempt", "task", "job") and rest.count("_") else name


def data_lines(detail: RunDetail) -> dict[str, str]:
    """Return what the jobs' counters say about data, places and memory; without what they do not tell."""
    f = detail.figures
    copies = f", times {detail.replication} copies" if detail.replication and detail.replication > 1 else ""
    spilled = None if f.spilled_records is None else f"{f.spilled_records:,} records"
    if spilled and f.spill_ratio is not None:
        spilled += f", {f.spill_ratio:.2f} times what the maps gave out"
    placed = None
    if f.node_local_share is not None:
        placed = (
            f"{f.maps_node_local or 0:,} on a node with the data, {f.maps_rack_local or 0:,} in its rack, "
            f"{f.maps_off_rack or 0:,} elsewhere"
        )
    kinds = [kind for each in detail.jobs for kind in each.kinds]
    gc_s = f.gc_s if f.gc_s is not None else _sum([kind.gc_s for kind in kinds])
    cpu_s = f.cpu_s if f.cpu_s is not None else _sum([kind.cpu_s for kind in kinds])
    busy_s = sum(kind.busy_s for kind in kinds)
    found = {
        "read from HDFS": None if f.hdfs_read_bytes is None else format_bytes(f.hdfs_read_bytes),
        "map output": None if f.map_output_bytes is None else format_bytes(f.map_output_bytes),
        "shuffled": None if f.shuffle_bytes is None else format_bytes(f.shuffle_bytes),
        "written to HDFS": None if f.hdfs_write_bytes is None else format_bytes(f.hdfs_write_bytes) + copies,
        "spilled": spilled,
        "maps ran": placed,
        "CPU time": None if not cpu_s else format_duration(cpu_s),
        "collecting garbage": None
        if gc_s is None
        else format_duration(gc_s) + (f", {100 * gc_s / busy_s:.2g} % of the attempts' time" if busy_s > 0 else ""),
    }
    return {name: text for name, text in found.items() if text is not None}


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def disks_table(detail: RunDetail) -> TextTable:
    """Return what each device did on all workers together, reads above writes."""
    rows = [row for use in detail.devices for row in _device_rows(use)]
    nodes = max((use.nodes for use in detail.devices), default=0)
    headers = ("disk", "holds", "way", "bytes", "B/request", "merged", "await", "busy", "queue")
    return TextTable(f"disks of {nodes} worker{'s' if nodes != 1 else ''}", headers, tuple(rows))


def _device_rows(use: DeviceUse) -> Iterator[tuple[str, ...]]:
    t = use.transfers
    busy, queue = _share(use.busy_share), NOTHING if use.queue is None else f"{use.queue:.2f}"
    yield (
        use.device,
        _PURPOSES[use.purpose],
        "read",
        _bytes(t.read_bytes),
        _bytes(t.read_request_bytes),
        _merged(t.read_merges, t.reads),
        _ms(t.read_await_s),
        busy,
        queue,
    )
    yield (
        "",
        "",
        "write",
        _bytes(t.write_bytes),
        _bytes(t.write_request_bytes),
        _merged(t.write_merges, t.writes),
        _ms(t.write_await_s),
        "",
        "",
    )


def _merged(merges: float | None, requests: float | None) -> str:
    """Return the share of requests that the kernel joined to others."""
    if merges is None or requests is None:
        return NOTHING
    return _share(merges / (merges + requests) if merges + requests else 0.0)


def purposes_table(detail: RunDetail) -> TextTable:
    """Return bytes and request sizes by purpose, beside what the jobs' counters asked for."""
    measured = {use.purpose: use for use in detail.by_purpose}
    asked = {each.purpose: each for each in detail.asked}
    order = [purpose for purpose in Purpose if purpose in measured or (purpose in asked and measured)]
    rows = []
    for purpose in order:
        t = measured[purpose].transfers if purpose in measured else Transfers()
        wanted = asked.get(purpose)
        rows.append(
            (
                _PURPOSES[purpose],
                _bytes(t.read_bytes),
                _bytes(t.read_request_bytes),
                _bytes(t.write_bytes),
                _bytes(t.write_request_bytes),
                _bytes(wanted.read_bytes if wanted else None),
                _bytes(wanted.write_bytes if wanted else None),
            )
        )
    headers = ("what for", "read", "B/request", "written", "B/request", "asked: read", "written")
    return TextTable(
        "disk traffic by purpose", headers, tuple(rows), tuple(_purpose_notes(measured, detail, bool(rows)))
    )


def _purpose_notes(measured: Mapping[Purpose, object], detail: RunDetail, shown: bool) -> Iterator[str]:
    if Purpose.SHARED in measured:
        yield "A disk that holds both can't tell which was which: the kernel counts by disk."
    if Purpose.UNKNOWN in measured:
        yield "The run does not say what its layout kept on which device."
    if shown:
        yield "Asked: by the jobs' counters, with replicas, before the page cache."
        yield from textwrap.wrap(request_limits_note([detail]) or "", _WIDTH)


def nodes_table(detail: RunDetail) -> TextTable:
    """Return each node's part of the work, and how uneven the workers were."""
    rows = tuple(
        (
            node.node,
            str(node.attempts),
            _seconds(node.cpu_s),
            _bytes(node.disk_read_bytes),
            _bytes(node.disk_write_bytes),
            _bytes(node.nic_receive_bytes),
            _bytes(node.nic_transmit_bytes),
        )
        for node in detail.nodes
    )
    words = {"cpu_imbalance": "CPU", "disk_imbalance": "disks", "nic_imbalance": "network"}
    uneven = ", ".join(f"{words[name]} {value:.2f}" for name, value in detail.imbalances.items())
    notes = (f"The busiest worker over the mean one: {uneven}.",) if uneven else ()
    headers = ("node", "attempts", "CPU (s)", "disk read", "disk written", "received", "sent")
    return TextTable("nodes", headers, rows, notes)


def tasks_table(tasks: Sequence[Task], detail: RunDetail) -> TextTable:
    """Return every attempt, times in seconds from the run's start."""
    slow = {each.attempt_id for job in detail.jobs for kind in job.kinds for each in kind.stragglers}
    rows = tuple(
        (
            _short(task.attempt_id or task.task_id),
            task.node,
            task.kind,
            "slow" if task.attempt_id and task.attempt_id in slow else task.status,
            _seconds(task.start_s),
            _seconds(task.end_s - task.start_s),
            _seconds(task.shuffle_end_s),
            _seconds(task.merge_end_s),
            _seconds(task.gc_s),
        )
        for task in tasks
    )
    headers = ("attempt", "node", "kind", "ended", "at", "took", "copied", "merged", "GC")
    notes = ("Seconds; at, copied, merged: from the run's start. Everything: --json.",) if rows else ()
    return TextTable("task attempts", headers, rows, notes)


def counter_tables(jobs: Sequence[Job]) -> Iterator[TextTable]:
    """Yield each job's counters, a table for each group."""
    for job in jobs:
        for group, counters in job.counters.items():
            rows = tuple((name, _count(value)) for name, value in counters.items())
            yield TextTable(f"{job.job_id} {group.rpartition('.')[2]}", ("counter", "total"), rows)
