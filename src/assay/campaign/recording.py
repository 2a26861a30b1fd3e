"""The record of an attempt: a :class:`Run` with its metrics, warnings, environment, and where each of them came from.

In: what was planned, and what was gathered. Out: a :class:`Published`. Whoever makes a figure says its source: the
engine, the workload, the sampler, or the aggregate over streams.
"""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from assay.campaign.aggregate import gated_metrics
from assay.campaign.judging import status_of
from assay.campaign.observing import unseen
from assay.campaign.setting import Around, Gathered, Published, Setting
from assay.compare.differences import CPU_LIMIT_SHARE
from assay.engines.contract import Engine, EngineFacts
from assay.errors import AssayError
from assay.explain.run_detail import detail_metrics, run_detail
from assay.model import (
    CacheState,
    Cluster,
    ClusterFacts,
    CodedWarning,
    Environment,
    Layout,
    LayoutPlaces,
    Placement,
    Role,
    Run,
    WarningCode,
)
from assay.observe.caches import is_cold
from assay.observe.traces import cpu_busy_shares, device_totals
from assay.planning.order import PlannedRun
from assay.units import format_bytes
from assay.wording.control_characters import printable
from assay.workloads.workload import Workload

_SAMPLED = "sampler on the nodes"


@dataclass(frozen=True, slots=True)
class Attempted:
    """An attempt that is over: what it was, what ended it before its end, and how long it took in all."""

    run_id: str
    number: int
    started_unix_s: float
    took_s: float
    cause: AssayError | None


def recorded(
    planned: PlannedRun,
    workload: Workload,
    data_bytes: int,
    setting: Setting,
    around: Around,
    gathered: Gathered,
    attempted: Attempted,
) -> Published:
    """Return the record of an attempt, whatever became of it. ``setting``: with the part of the cluster in use."""
    facts = _facts(planned, setting)
    status, why, failure_class = status_of(gathered, attempted.cause, around.limit, facts.full_disk)
    finished, judgement = gathered.finished, gathered.judgement
    began = finished.started_unix_s if finished else attempted.started_unix_s
    metrics, sources = _metrics(workload, data_bytes, gathered, setting.cluster, observed=facts.real)
    if finished and facts.real:
        metrics["assay_own_s"] = attempted.took_s - gathered.not_own_s - finished.outcome.duration_s
    warm = warm_words(gathered.caches, setting.cluster, data_bytes) if facts.real else None
    run = Run(
        run_id=attempted.run_id,
        campaign_id=setting.campaign_id,
        plan=setting.plan.name,
        origin=facts.origin,
        status=status,
        cause=printable(why) if why else why,  # it may quote what a client printed in colours
        cluster=setting.cluster.name,
        lab_scale=setting.cluster.lab.scale if setting.cluster.lab else None,
        engine=facts.name,
        engine_version=facts.version,
        workload=planned.workload.key,
        workload_parameters={"program": workload.name, **planned.workload.parameters},
        layout=planned.configuration.layout.name,
        levels=dict(planned.configuration.levels),
        parameters=dict(planned.configuration.parameters),
        repetition=planned.repetition,
        block=planned.block,
        position=planned.index,
        attempt=attempted.number,
        started_at=datetime.fromtimestamp(began, UTC).isoformat(timespec="milliseconds"),
        duration_s=round(finished.outcome.duration_s, 3) if finished else 0.0,
        cold=is_cold(gathered.caches) if gathered.caches else None,
        data_bytes=data_bytes,
        metrics=metrics,
        phases=finished.phases if finished else (),
        checks=(*(finished.checks if finished else ()), *(judgement.checks if judgement else ())),
        caches=gathered.caches,
        warnings=(
            *_warnings(gathered, metrics),
            *([CodedWarning(WarningCode.CACHES, warm)] if warm else []),
            *(unseen(setting.cluster) if facts.real else ()),
        ),
        environment=_environment(planned, setting, gathered),
        baseline_id=setting.baseline.baseline_id if setting.baseline else None,
        sources={**sources, "time limit": str(around.limit)},
        failure_class=failure_class,
        jobs=finished.jobs if finished else (),
        stages=finished.stages if finished else (),
        executors=finished.executors if finished else (),
    )
    tasks = finished.tasks if finished else ()
    if finished:
        run = replace(run, metrics=detail_metrics(run_detail(run, tasks, gathered.trace)) | run.metrics)
    return Published(run, tasks, gathered.trace, gathered.logs)


def _metrics(
    workload: Workload, data_bytes: int, gathered: Gathered, cluster: Cluster, *, observed: bool
) -> tuple[dict[str, float], dict[str, str]]:
    """Return the run's metrics by name, and the sources that their makers state."""
    finished, judgement = gathered.finished, gathered.judgement
    if finished is None:
        return {}, {}
    metrics = {**finished.metrics, **(judgement.metrics if judgement else {})}
    made = {figure.metric: figure.source for figure in workload.figures}
    sources = {**finished.sources, **{name: made[name] for name in metrics if name in made}}
    if finished.outcome.duration_s > 0:
        metrics["job_throughput_mb_per_s"] = data_bytes / finished.outcome.duration_s / 1e6
        sources["job_throughput_mb_per_s"] = "data_bytes / duration_s"
    if finished.jobs:
        last = finished.jobs[-1]
        metrics["job_s"] = last.finish_s - finished.jobs[0].submit_s
        tasks = [task for task in finished.tasks if task.job_id == last.job_id]
        gated, source = gated_metrics(tasks, workload, judgement, finished.started_unix_s, gathered.trace)
        metrics |= gated
        if gated:
            sources["gated_aggregate_mb_per_s"] = made.get("gated_aggregate_mb_per_s", source)
    sampled = _sampled(gathered, cluster, finished.outcome.duration_s)
    return metrics | sampled, sources | dict.fromkeys(sampled, _SAMPLED if observed else sources["duration_s"])


def _sampled(gathered: Gathered, cluster: Cluster, end_s: float) -> dict[str, float]:
    """Return how busy the workers' CPUs were, and what all devices moved, while the job ran."""
    names = [node.name for node in cluster.workers]
    environment = gathered.finished.environment if gathered.finished else {}
    groups = Environment({**environment, "cluster": {"worker_names": names}}).node_groups
    sizes = groups.sizes if groups else dict.fromkeys(names, 1)
    shares = cpu_busy_shares(gathered.trace, sizes, 0.0, end_s)
    totals = device_totals(gathered.trace, 0.0, end_s)
    if not shares:
        return totals
    mean = statistics.fmean(shares.values(), weights=[sizes[name] for name in shares])
    return {"cpu_busy_share": mean} | totals


def _warnings(gathered: Gathered, metrics: Mapping[str, float]) -> list[CodedWarning]:
    warnings = [*gathered.warnings, *(gathered.finished.warnings if gathered.finished else ())]
    busy = metrics.get("cpu_busy_share", 0.0)
    if busy > CPU_LIMIT_SHARE:
        words = f"the CPU was the limit: {busy:.0%} busy on average; ratios come out too small"
        warnings.append(CodedWarning(WarningCode.CPU_LIMIT, words))
    return warnings


def warm_words(caches: Sequence[CacheState], cluster: Cluster, data_bytes: int | None) -> str | None:
    """Return that a run was not shown to be cold, why, and on real hosts whether its data could lie in memory.

    None where it was cold, or no cache was to be made so.
    """
    entered = len(cluster.entered) == len(cluster.nodes)
    if (is_cold(caches) is True) if caches else entered:
        return None
    reasons = sorted({state.reason for state in caches if state.reason})
    if not entered:
        reasons.append("no host but the edge node is entered")
    if cluster.placement is Placement.SSH and data_bytes:
        memory_bytes = sum(node.type.memory_bytes for node in cluster.workers)
        size, memory = format_bytes(data_bytes), format_bytes(memory_bytes)
        larger = data_bytes > memory_bytes
        reasons.append(f"its data, {size}, {'are larger than' if larger else 'fit into'} all workers' memory, {memory}")
    return f"not shown to be cold{': ' + '; '.join(reasons) if reasons else ''}"


def _environment(planned: PlannedRun, setting: Setting, gathered: Gathered) -> dict[str, Any]:
    return {
        **setting.environment.tree,
        "engine": _facts(planned, setting).record(),
        "cluster": cluster_facts(setting.cluster, planned.configuration.layout).tree(),
        **({"network": gathered.network} if gathered.network else {}),
        **(gathered.finished.environment if gathered.finished else {}),
        "parameters": _effective(planned, setting.provider.engine),
    }


def _facts(planned: PlannedRun, setting: Setting) -> EngineFacts:
    """Return what the run's own engine is: of those that a plan varies, the one that was to run it."""
    provider = setting.provider
    wanted = planned.configuration.engine or provider.facts.name
    if provider.engine and provider.engine.facts.name == wanted:
        return provider.engine.facts
    return provider.facts if provider.facts.name == wanted else replace(provider.facts, name=wanted, version="")


def _effective(planned: PlannedRun, engine: Engine | None) -> dict[str, str]:
    parameters = planned.configuration.parameters
    return engine.effective_parameters(parameters) if engine else dict(parameters)  # None: it never came up


def cluster_facts(cluster: Cluster, layout: Layout) -> ClusterFacts:
    """Return the counts that prices are multiplied by; devices are those of one worker that the layout uses."""
    devices = [device for device in cluster.workers[0].type.devices if device.name in layout.devices()]
    return ClusterFacts(
        name=cluster.name,
        placement=str(cluster.placement),
        nodes=len(cluster.nodes),
        masters=sum(Role.MASTER in node.roles for node in cluster.nodes),
        workers=len(cluster.workers),
        worker_names=tuple(node.name for node in cluster.workers),
        ports=len(cluster.nodes),
        node_types=dict(Counter(node.type.name for node in cluster.nodes)),
        layout_devices=dict(Counter(str(device.kind) for device in devices)),
        device_names={device.name: str(device.kind) for device in devices},
        layout_capacity_bytes=sum(device.capacity_bytes for device in devices),
        layout=LayoutPlaces(
            {part.device: part.count for part in layout.hdfs}, {part.device: part.count for part in layout.intermediate}
        ),
    )
