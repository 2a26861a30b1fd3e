"""Lay out one run as tables of text for the terminal and the page, section by section.

In: a run, its :class:`~assay.analysis.run_profile.run_detail.RunDetail`, and the bundle's files. Out:
:class:`TextTable`s that fit a terminal of 80 columns, with sums and shares of the run's figures.
"""

from collections.abc import Iterator, Mapping, Sequence

from assay.analysis.run_profile.devices import DeviceUse, Purpose, Transfers, total_of_known
from assay.analysis.run_profile.phases import Breakdown
from assay.analysis.run_profile.run_detail import RunDetail, detail_metrics, request_limits_note
from assay.analysis.run_profile.tables.stage_tables import executors_table, stage_sums_table, stages_table
from assay.analysis.run_profile.tasks import KindSummary
from assay.foundation.units import format_bytes, format_duration
from assay.model import SIMULATED_HIGH_S, SIMULATED_LOW_S, CacheState, Job, Run, TaskAttempt
from assay.text import (
    METRIC_GROUPS,
    NO_VALUE,
    TextTable,
    data_text,
    level_text,
    metric_group,
    metric_text,
    scale_text,
    share,
    size,
    tenths,
)

_MARK = {True: "✓", False: "✗"}
_REPEATED_TEXT = "as above"
_FIELDS = {"duration_s": "run time", "started_at": "start"}
"""Displayed names of fields in the list of sources."""
_STRAGGLERS_MAX = 5
"""Maximum number of stragglers listed."""
_OVERLAPS_MAX = 5
"""Maximum number of overlaps listed."""
_PURPOSES = {
    Purpose.HDFS: "HDFS",
    Purpose.INTERMEDIATE: "intermediate",
    Purpose.SHARED: "both",
    Purpose.NONE: "unused",
    Purpose.UNKNOWN: "not recorded",
}


def run_sections(run: Run, detail: RunDetail, files: Mapping[str, int]) -> dict[str, TextTable]:
    """Return the sections of a run, in order; empty sections are omitted.

    ``files``: name to size in bytes of each file of the bundle.
    """
    sections = {
        "configuration": TextTable.of_pairs("configuration", _configuration(run)),
        "simulation": simulation_table(run),
        "phases": TextTable(
            "phases",
            ("phase (s)", "start", "end", "time"),
            tuple((p.name, tenths(p.start_s), tenths(p.end_s), tenths(p.duration_s)) for p in run.phases),
        ),
        "time": phase_table(detail.breakdown, "where the time went"),
        "jobs": jobs_table(detail),
        "stages": stages_table(run),
        "stage sums": stage_sums_table(run),
        "executors": executors_table(run),
        "tasks": kinds_table(detail),
        "data": data_table(detail),
        "disks": disks_table(detail),
        "purposes": purposes_table(detail),
        "nodes": nodes_table(detail),
        "checks": TextTable("checks", notes=tuple(f"{_MARK[c.passed]} {c.name}: {c.detail}" for c in run.checks)),
        "metrics": metrics_table(run, detail),
        "caches": TextTable(
            f"caches before the run: {cache_state_text(run)}", notes=tuple(map(_cache_line, run.caches))
        ),
        "warnings": TextTable("warnings", notes=tuple(str(warning) for warning in run.warnings)),
        "sources": TextTable.of_pairs("sources", _other_sources(run, detail)),
        "files": TextTable.of_pairs("files in the bundle", {name: format_bytes(n) for name, n in files.items()}),
    }
    return {name: table for name, table in sections.items() if table}


def simulation_table(run: Run) -> TextTable:
    """Return the basis of a simulated run: interval, profile, assumptions; empty for any other run."""
    facts = run.environment.get("simulation")
    if not isinstance(facts, dict):
        return TextTable("simulated")
    low, high = run.metrics.get(SIMULATED_LOW_S), run.metrics.get(SIMULATED_HIGH_S)
    notes = [f"90 % interval of the run time: {tenths(low)} to {tenths(high)} s"] if low and high else []
    notes.append(f"profile {facts.get('profile')}: {facts.get('learned')}; seed {facts.get('seed')}")
    return TextTable("simulated", notes=(*notes, *(str(assumption) for assumption in facts.get("assumptions", ()))))


def cache_state_text(run: Run) -> str:
    """Return ``cold``, ``warm``, ``simulated`` or ``not known``."""
    return run.cache_state or "not known"


def _configuration(run: Run) -> dict[str, str]:
    scale = "" if run.lab_scale is None else f", a lab at {scale_text(run.lab_scale)} of full size"
    return {
        "cluster": f"{run.cluster or 'not known'}{scale}",
        "engine": f"{run.engine} {run.engine_version}".strip(),
        "data": "not known" if run.data_bytes is None else data_text(run.data_bytes, run.lab_scale),
        "plan": f"{run.plan} (campaign {run.campaign_id}, block {run.block}, position {run.position}, "
        f"attempt {run.attempt})",
        **{f"workload: {name}": value for name, value in run.workload_parameters.items()},
        **{name: level_text(name, level) for name, level in (run.levels | run.parameters).items()},
    }


def metrics_table(run: Run, detail: RunDetail) -> TextTable:
    """Return the metrics that no other section shows, in groups, each with its source."""
    metrics = _metrics_shown(run, detail)
    rows, last_group, last_source = [], "", ""
    for name in sorted(metrics, key=lambda name: METRIC_GROUPS.index(metric_group(name))):
        group, source = metric_group(name), run.sources.get(name, "")
        origin = source if not source or source.startswith("simulated") else f"from {source}"
        source_text = _REPEATED_TEXT if source and source == last_source else origin
        rows.append(("" if group == last_group else group, *metric_text(name, metrics[name]), source_text))
        last_group, last_source = group, source
    return TextTable("metrics", (), tuple(rows))


def _metrics_shown(run: Run, detail: RunDetail) -> dict[str, float]:
    section_metrics = detail_metrics(detail)
    return {name: value for name, value in run.metrics.items() if section_metrics.get(name) != value}


def _other_sources(run: Run, detail: RunDetail) -> dict[str, str]:
    """Return the sources of values that are not metrics; metrics are shown with their source."""
    metrics = _metrics_shown(run, detail)
    return {_FIELDS.get(name, name): source for name, source in run.sources.items() if name not in metrics}


def _cache_line(cache: CacheState) -> str:
    text = f"{cache.node}: cached {format_bytes(cache.cached_before_bytes)} → {format_bytes(cache.cached_after_bytes)}"
    if cache.data_resident_before_bytes is not None and cache.data_resident_after_bytes is not None:
        before, after = format_bytes(cache.data_resident_before_bytes), format_bytes(cache.data_resident_after_bytes)
        text += f", of the data files {before} → {after}"
    return text if cache.dropped else f"{text}; not dropped: {cache.reason or 'no reason was recorded'}"


def _ms(seconds: float | None) -> str:
    return NO_VALUE if seconds is None else f"{1000 * seconds:.3g} ms"


_PHASE_COLUMNS = (
    "active: time with at least one attempt in the phase",
    "alone: time in which no other phase is active",
    "attributed: the time alone, and a share of the time with other phases",
)
"""What the columns of :func:`phase_table` mean."""


def phase_table(breakdown: Breakdown, title: str, *, overlaps: bool = False) -> TextTable:
    """Return how the time is divided; the last column adds up to the whole."""
    total_s = breakdown.duration_s
    rows = [
        (
            p.name,
            tenths(p.start_s),
            tenths(p.end_s),
            tenths(p.active_s),
            tenths(p.alone_s),
            tenths(p.share_s),
            f"{100 * p.share_s / total_s:.0f} %" if total_s > 0 else NO_VALUE,
        )
        for p in breakdown.phases
    ]
    notes: list[str] = []
    if rows:
        notes += _PHASE_COLUMNS
        rows.append(("all", tenths(breakdown.start_s), tenths(breakdown.end_s), "", "", tenths(total_s), "100 %"))
    listed_overlaps = breakdown.overlaps[:_OVERLAPS_MAX] if overlaps else ()
    notes += [
        f"{' and '.join(overlap.names)} at once: {format_duration(overlap.duration_s)}" for overlap in listed_overlaps
    ]
    hidden_count = len(breakdown.overlaps) - len(listed_overlaps)
    if overlaps and hidden_count:
        notes.append(f"and {hidden_count} shorter overlap{'s' if hidden_count > 1 else ''}")
    headers = ("phase (s)", "start", "end", "active", "alone", "attributed", "share of run time")
    return TextTable(title, headers, tuple(rows), tuple(notes))


def jobs_table(detail: RunDetail) -> TextTable:
    """Return one line for each job of a run that has several."""
    rows = tuple(
        (
            job_detail.job.job_id,
            job_detail.job.name[:24],
            tenths(job_detail.job.submit_s),
            tenths(job_detail.job.finish_s - job_detail.job.submit_s),
            str(job_detail.job.maps),
            str(job_detail.job.reduces),
            job_detail.job.status,
        )
        for job_detail in detail.jobs
    )
    headers = ("job", "name", "start (s)", "time (s)", "maps", "reduces", "")
    return TextTable("jobs", headers, rows if len(rows) > 1 else ())


def kinds_table(detail: RunDetail) -> TextTable:
    """Return the tasks by job and kind, and the worst stragglers."""
    has_several_jobs = len(detail.jobs) > 1
    kinds = [kind for job_detail in detail.jobs for kind in job_detail.kinds]
    rows = tuple(
        (
            f"{kind.kind} {_short(kind.job_id)}" if has_several_jobs else kind.kind,
            str(kind.tasks),
            str(kind.succeeded),
            str(kind.failed),
            str(kind.killed),
            str(kind.at_once_max),
            str(kind.waves),
            tenths(kind.median_s),
            tenths(kind.longest_s),
            str(len(kind.stragglers)),
        )
        for kind in kinds
    )
    headers = ("attempts (s)", "tasks", "ok", "failed", "killed", "at once", "waves", "median", "longest", "slow")
    return TextTable("tasks", headers, rows, tuple(_straggler_lines(kinds)))


def _straggler_lines(kinds: Sequence[KindSummary]) -> Iterator[str]:
    stragglers = sorted(
        ((straggler, kind) for kind in kinds for straggler in kind.stragglers), key=lambda pair: -pair[0].ratio
    )
    for straggler, kind in stragglers[:_STRAGGLERS_MAX]:
        name = _short(straggler.attempt_id) or f"a {kind.kind}"
        where = f" on {straggler.node}" if straggler.node else ""
        duration = format_duration(straggler.duration_s)
        yield f"slow: {name}{where} took {duration}, {straggler.ratio:.1f} times its kind's median"
    if len(stragglers) > _STRAGGLERS_MAX:
        yield f"and {len(stragglers) - _STRAGGLERS_MAX} more stragglers: --tasks lists all attempts"


def _short(name: str) -> str:
    """Return an id without its common prefix: ``attempt_1700000000000_0004_m_000001_0`` to ``0004_m_000001_0``."""
    head, _, suffix = name.partition("_")
    return suffix.partition("_")[2] if head in ("attempt", "task", "job") and suffix.count("_") else name


def data_table(detail: RunDetail) -> TextTable:
    """Return the figures of the jobs' counters on data, locality and memory; unknown figures are omitted."""
    f = detail.figures
    copies = f", times {detail.replication} copies" if detail.replication and detail.replication > 1 else ""
    spilled = None if f.spilled_records is None else f"{f.spilled_records:,} records"
    if spilled and f.spill_ratio is not None:
        spilled += f", {f.spill_ratio:.2f} × the map output"
    locality = None
    if f.node_local_share is not None:
        locality = (
            f"{f.maps_node_local or 0:,} on a node with the data, {f.maps_rack_local or 0:,} in its rack, "
            f"{f.maps_off_rack or 0:,} elsewhere"
        )
    kinds = [kind for job_detail in detail.jobs for kind in job_detail.kinds]
    gc_s = f.gc_s if f.gc_s is not None else total_of_known(kind.gc_s for kind in kinds)
    cpu_s = f.cpu_s if f.cpu_s is not None else total_of_known(kind.cpu_s for kind in kinds)
    busy_s = sum(kind.busy_s for kind in kinds)
    totals = {
        "read from HDFS": None if f.hdfs_read_bytes is None else format_bytes(f.hdfs_read_bytes),
        "map output": None if f.map_output_bytes is None else format_bytes(f.map_output_bytes),
        "shuffled": None if f.shuffle_bytes is None else format_bytes(f.shuffle_bytes),
        "written to HDFS": None if f.hdfs_write_bytes is None else format_bytes(f.hdfs_write_bytes) + copies,
        "spilled": spilled,
        "maps ran": locality,
        "CPU time": None if not cpu_s else format_duration(cpu_s),
        "collecting garbage": None
        if gc_s is None
        else format_duration(gc_s) + (f", {100 * gc_s / busy_s:.2g} % of the attempts' time" if busy_s > 0 else ""),
    }
    return TextTable.of_pairs("data", {name: text for name, text in totals.items() if text is not None})


def disks_table(detail: RunDetail) -> TextTable:
    """Return the traffic of each device over all workers, reads above writes."""
    rows = [row for use in detail.devices for row in _device_rows(use)]
    nodes = max((use.nodes for use in detail.devices), default=0)
    headers = ("disk", "holds", "I/O", "bytes", "B/request", "merged", "await", "busy", "queue")
    return TextTable(f"disks of {nodes} worker{'s' if nodes != 1 else ''}", headers, tuple(rows))


def _device_rows(use: DeviceUse) -> Iterator[tuple[str, ...]]:
    t = use.transfers
    busy, queue = share(use.busy_share), NO_VALUE if use.queue is None else f"{use.queue:.2f}"
    yield (
        use.device,
        _PURPOSES[use.purpose],
        "read",
        size(t.read_bytes),
        size(t.read_request_bytes),
        _merged_share(t.read_merges, t.reads),
        _ms(t.read_await_s),
        busy,
        queue,
    )
    yield (
        "",
        "",
        "write",
        size(t.write_bytes),
        size(t.write_request_bytes),
        _merged_share(t.write_merges, t.writes),
        _ms(t.write_await_s),
        "",
        "",
    )


def _merged_share(merges: float | None, requests: float | None) -> str:
    """Return the share of requests that the kernel merged with others."""
    if merges is None or requests is None:
        return NO_VALUE
    return share(merges / (merges + requests) if merges + requests else 0.0)


def purposes_table(detail: RunDetail) -> TextTable:
    """Return bytes and request sizes by purpose, with the bytes that the jobs' counters requested."""
    uses_by_purpose = {use.purpose: use for use in detail.by_purpose}
    demands = {demand.purpose: demand for demand in detail.requested}
    order = [purpose for purpose in Purpose if purpose in uses_by_purpose or (purpose in demands and uses_by_purpose)]
    rows = []
    for purpose in order:
        t = uses_by_purpose[purpose].transfers if purpose in uses_by_purpose else Transfers()
        demand = demands.get(purpose)
        rows.append(
            (
                _PURPOSES[purpose],
                size(t.read_bytes),
                size(t.read_request_bytes),
                size(t.write_bytes),
                size(t.write_request_bytes),
                size(demand.read_bytes if demand else None),
                size(demand.write_bytes if demand else None),
            )
        )
    headers = ("purpose", "read", "B/request", "written", "B/request", "requested: read", "written")
    return TextTable(
        "disk traffic by purpose", headers, tuple(rows), tuple(_purpose_notes(uses_by_purpose, detail, bool(rows)))
    )


def _purpose_notes(uses_by_purpose: Mapping[Purpose, object], detail: RunDetail, has_rows: bool) -> Iterator[str]:
    if Purpose.SHARED in uses_by_purpose:
        yield "The kernel counts by disk, so a disk that holds both has one count."
    if Purpose.UNKNOWN in uses_by_purpose:
        yield "The run did not record its layout."
    if has_rows:
        yield "Requested: bytes in the jobs' counters, with replicas, before the page cache."
        yield from filter(None, [request_limits_note([detail])])


def nodes_table(detail: RunDetail) -> TextTable:
    """Return each node's part of the work, and how uneven the workers were."""
    rows = tuple(
        (
            node.node,
            str(node.attempts),
            tenths(node.cpu_s),
            size(node.disk_read_bytes),
            size(node.disk_write_bytes),
            size(node.nic_receive_bytes),
            size(node.nic_transmit_bytes),
        )
        for node in detail.nodes
    )
    titles = {"cpu_imbalance": "CPU", "disk_imbalance": "disks", "nic_imbalance": "network"}
    imbalance_text = ", ".join(f"{titles[name]} {value:.2f}" for name, value in detail.imbalances.items())
    notes = (f"Busiest worker / mean of the workers: {imbalance_text}.",) if imbalance_text else ()
    headers = ("node", "attempts", "CPU (s)", "disk read", "disk written", "received", "sent")
    return TextTable("nodes", headers, rows, notes)


def tasks_table(tasks: Sequence[TaskAttempt], detail: RunDetail) -> TextTable:
    """Return every attempt, times in seconds from the run's start."""
    straggler_ids = {straggler.attempt_id for job in detail.jobs for kind in job.kinds for straggler in kind.stragglers}
    rows = tuple(
        (
            _short(task.attempt_id or task.task_id),
            task.node,
            task.kind,
            "slow" if task.attempt_id and task.attempt_id in straggler_ids else task.status,
            tenths(task.start_s),
            tenths(task.end_s - task.start_s),
            tenths(task.shuffle_end_s),
            tenths(task.merge_end_s),
            tenths(task.gc_s),
        )
        for task in tasks
    )
    headers = ("attempt", "node", "kind", "status", "start", "time", "copied", "merged", "GC")
    notes = ("Seconds; start, copied, merged: from the run's start. Everything: --json.",) if rows else ()
    return TextTable("task attempts", headers, rows, notes)


def counter_tables(jobs: Sequence[Job]) -> Iterator[TextTable]:
    """Yield each job's counters, a table for each group."""
    for job in jobs:
        for group, counters in job.counters.items():
            rows = tuple((name, f"{value:,}") for name, value in counters.items())
            yield TextTable(f"{job.job_id} {group.rpartition('.')[2]}", ("counter", "total"), rows)
