"""Combine the jobs, task attempts and trace of a run into one detailed view.

In: a run with the other files of its bundle. Out: a :class:`RunDetail` for screens and reports, and the figures that
are stored as the run's metrics. A figure that was not observed is None or absent.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.analysis.run_profile.devices import (
    DeviceUse,
    NodeUse,
    Observation,
    Purpose,
    PurposeUse,
    imbalances,
    sum_of_transfers,
)
from assay.analysis.run_profile.job_figures import JobFigures, job_figures
from assay.analysis.run_profile.phases import Breakdown, jobs_of, phases_of_job, phases_of_run
from assay.analysis.run_profile.tasks import KindSummary, summarise_kinds
from assay.model import REPLICATION, Job, Run, TaskAttempt, Trace
from assay.workloads.catalogue import workloads


@dataclass(frozen=True, slots=True)
class JobDetail:
    """One job: its time by phase, its tasks by kind, and the figures of its counters."""

    job: Job
    breakdown: Breakdown
    kinds: tuple[KindSummary, ...]
    figures: JobFigures


@dataclass(frozen=True, slots=True)
class Demand:
    """Bytes that the jobs requested from the devices of one purpose: by counters, with replicas, before any cache."""

    purpose: Purpose
    read_bytes: int | None
    write_bytes: int | None


@dataclass(frozen=True, slots=True)
class RunDetail:
    """The detailed view of one run."""

    run_id: str
    breakdown: Breakdown
    jobs: tuple[JobDetail, ...]
    figures: JobFigures
    replication: int | None
    """Number of copies of the output in HDFS; None if it was not recorded."""
    requested: tuple[Demand, ...]
    devices: tuple[DeviceUse, ...]
    by_purpose: tuple[PurposeUse, ...]
    nodes: tuple[NodeUse, ...]
    imbalances: dict[str, float]
    """Metric to maximum / mean over workers."""
    request_bytes_max: dict[str, int] = field(default_factory=dict)
    """Used device to the maximum request size in the lab, in bytes; empty for real hosts."""


def replication_of(run: Run) -> int | None:
    """Return the number of copies of its output that a run wrote; None if its parameters do not include it.

    TeraSort has an option for the number of replicas, with default 1, independent of HDFS. assay sets it to the plan's
    replication unless the plan sets the option. Some workloads always write one replica.
    """
    recorded = run.parameters.get(REPLICATION) or run.recorded.parameters.get(REPLICATION)
    is_example, program = "program" in run.workload_parameters, run.workload_parameters.get("program", run.workload)
    workload = workloads().get(program)
    if workload is not None and workload.copies_parameter:
        recorded = run.parameters.get(workload.copies_parameter, recorded if is_example else None)
    elif is_example and workload is not None and workload.copies:
        recorded = str(workload.copies)
    return int(recorded) if isinstance(recorded, str) and recorded.isdecimal() and int(recorded) else None


def _requested(figures: JobFigures, replication: int | None) -> tuple[Demand, ...]:
    written_bytes = figures.hdfs_write_bytes
    stored_bytes = written_bytes * replication if written_bytes is not None and replication is not None else None
    local_bytes, fetched_bytes = figures.local_read_bytes, figures.shuffle_bytes
    read_bytes = None if local_bytes is None else local_bytes + (fetched_bytes or 0)
    rows = (
        Demand(Purpose.HDFS, figures.hdfs_read_bytes, stored_bytes),
        Demand(Purpose.INTERMEDIATE, read_bytes, figures.local_write_bytes),
    )
    return tuple(row for row in rows if row.read_bytes is not None or row.write_bytes is not None)


def run_detail(run: Run, tasks: Sequence[TaskAttempt], trace: Trace) -> RunDetail:
    """Return the detailed view of ``run``."""
    jobs = jobs_of(run, tasks)
    details = []
    for job in jobs:
        job_tasks = [task for task in tasks if task.job_id == job.job_id] if len(jobs) > 1 else list(tasks)
        details.append(JobDetail(job, phases_of_job(job, job_tasks), summarise_kinds(job_tasks), job_figures([job])))
    figures, observation = job_figures(jobs), Observation.of(run, tasks, trace)
    replication, nodes, devices = replication_of(run), observation.nodes(tasks), observation.devices()
    used_devices = {use.device for use in devices if use.purpose is not Purpose.NONE}
    return RunDetail(
        run_id=run.run_id,
        breakdown=phases_of_run(run, tasks),
        jobs=tuple(details),
        figures=figures,
        replication=replication,
        requested=_requested(figures, replication),
        devices=devices,
        by_purpose=observation.by_purpose(),
        nodes=nodes,
        imbalances=imbalances(nodes),
        request_bytes_max={
            name: size_bytes for name, size_bytes in sorted(run.recorded.request_bytes.items()) if name in used_devices
        },
    )


def request_limits_note(details: Iterable[RunDetail]) -> str | None:
    """Return a sentence with the largest request of the lab's disks; None without a recorded limit."""
    limits = sorted({(size, name) for detail in details for name, size in detail.request_bytes_max.items()})
    if not limits:
        return None
    sizes = dict.fromkeys(size for size, _ in limits)
    by_device = ", ".join(
        f"{size / 1024:g} KiB on {' and '.join(name for other, name in limits if other == size)}" for size in sizes
    )
    return f"The lab's largest request is {by_device} (docs/explanation/lab.md): the limit follows from its scale."


def detail_metrics(detail: RunDetail) -> dict[str, float]:
    """Return the figures of ``detail`` that are stored as metrics of its run; names end in their unit."""
    metrics: dict[str, float | None] = {f"phase_{phase.name}_s": phase.share_s for phase in detail.breakdown.phases}
    figures = detail.figures
    for name in (
        "hdfs_read_bytes",
        "hdfs_write_bytes",
        "local_read_bytes",
        "local_write_bytes",
        "map_output_bytes",
        "shuffle_bytes",
        "spilled_records",
        "spill_ratio",
        "node_local_share",
        "cpu_s",
        "gc_s",
    ):
        metrics[name] = getattr(figures, name)
    metrics |= _task_metrics([kind for job in detail.jobs for kind in job.kinds])
    metrics |= _device_metrics(detail)
    return {name: float(value) for name, value in (metrics | detail.imbalances).items() if value is not None}


def _task_metrics(kinds: Sequence[KindSummary]) -> Mapping[str, float | None]:
    """Return counts over all jobs; waves are the maximum over jobs."""
    metrics: dict[str, float | None] = {}
    for name in dict.fromkeys(kind.kind for kind in kinds):
        summaries = [kind for kind in kinds if kind.kind == name]
        metrics[f"{name}_tasks"] = sum(kind.tasks for kind in summaries)
        metrics[f"{name}_waves"] = max(kind.waves for kind in summaries)
        metrics[f"{name}_stragglers"] = sum(len(kind.stragglers) for kind in summaries)
        metrics[f"{name}_attempts_failed"] = sum(kind.failed for kind in summaries)
    summaries_with_gc = [kind for kind in kinds if kind.gc_s is not None and kind.gc_s >= 0]
    busy_s = sum(kind.busy_s for kind in summaries_with_gc)
    if busy_s > 0:
        metrics["gc_share"] = sum(kind.gc_s or 0.0 for kind in summaries_with_gc) / busy_s
    return metrics


def _device_metrics(detail: RunDetail) -> Mapping[str, float | None]:
    used_devices = [use for use in detail.devices if use.purpose is not Purpose.NONE]
    metrics: dict[str, float | None] = {}
    if used_devices:
        totals = sum_of_transfers([use.transfers for use in used_devices])
        metrics["disk_read_bytes_per_request"] = totals.read_request_bytes
        metrics["disk_write_bytes_per_request"] = totals.write_request_bytes
        metrics["disk_read_await_ms"] = _ms(totals.read_await_s)
        metrics["disk_write_await_ms"] = _ms(totals.write_await_s)
        busy_shares = [use.busy_share for use in used_devices if use.busy_share is not None]
        metrics["disk_busy_max_share"] = max(busy_shares) if busy_shares else None
    for purpose_use in detail.by_purpose:
        if purpose_use.purpose in (Purpose.HDFS, Purpose.INTERMEDIATE, Purpose.SHARED):
            name = f"{purpose_use.purpose}_disk"
            metrics[f"{name}_read_bytes"] = purpose_use.transfers.read_bytes
            metrics[f"{name}_write_bytes"] = purpose_use.transfers.write_bytes
            metrics[f"{name}_read_bytes_per_request"] = purpose_use.transfers.read_request_bytes
            metrics[f"{name}_write_bytes_per_request"] = purpose_use.transfers.write_request_bytes
    return metrics


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds
