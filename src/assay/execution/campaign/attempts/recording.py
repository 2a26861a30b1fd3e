"""Build the record of an attempt: a :class:`Run` with its metrics and their sources, its warnings and environment.

In: the planned run and the attempt's state. Out: a :class:`CompletedRun`. The source of a metric is the engine, the
workload, the sampler, or the aggregate over streams.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from assay.analysis.comparison.details.differences import CPU_LIMIT_SHARE
from assay.analysis.run_profile.run_detail import detail_metrics, run_detail
from assay.execution.campaign.attempts.gated_metrics import gated_metrics
from assay.execution.campaign.attempts.run_context import AttemptContext, AttemptState, CompletedRun, RunContext
from assay.execution.campaign.attempts.sampling import unobserved_workers
from assay.execution.campaign.attempts.validation import status_of
from assay.execution.engines.contract import Engine, EngineFacts
from assay.execution.observation.caches import is_cold
from assay.execution.observation.traces import cpu_busy_shares, device_totals
from assay.execution.planning.order import PlannedRun
from assay.foundation.errors import AssayError
from assay.foundation.units import format_bytes, format_percent
from assay.model import CacheState, Cluster, ClusterFacts, CodedWarning, Environment, Placement, Run, WarningCode
from assay.model.runs.throughput import GATED_AGGREGATE, JOB_THROUGHPUT, JOB_THROUGHPUT_SOURCE, job_throughput_mb_per_s
from assay.text.control_characters import printable
from assay.workloads.workload import Workload

_SAMPLER_SOURCE = "sampler on the nodes"


@dataclass(frozen=True, slots=True)
class FinishedAttempt:
    """An attempt that has ended: its number, the error that cut it short, and its total wall time."""

    run_id: str
    number: int
    started_unix_s: float
    took_s: float
    cause: AssayError | None


def attempt_record(
    planned: PlannedRun,
    workload: Workload,
    data_bytes: int,
    run_context: RunContext,
    context: AttemptContext,
    state: AttemptState,
    attempted: FinishedAttempt,
) -> CompletedRun:
    """Return the record of an attempt. ``run_context`` is limited to the nodes in use."""
    facts = _facts(planned, run_context)
    status, why, failure_class = status_of(state, attempted.cause, context.limit, facts.full_disk_messages)
    finished, validation = state.finished, state.validation
    began = finished.started_unix_s if finished else attempted.started_unix_s
    metrics, sources = _metrics(workload, data_bytes, state, run_context.cluster, observed=facts.runs_programs)
    if finished and facts.runs_programs:
        metrics["assay_own_s"] = attempted.took_s - state.excluded_s - finished.outcome.duration_s
    warm = cache_warnings(state.caches, run_context.cluster, data_bytes) if facts.runs_programs else None
    run = Run(
        run_id=attempted.run_id,
        campaign_id=run_context.campaign_id,
        plan=run_context.plan.name,
        origin=facts.origin,
        status=status,
        cause=printable(why) if why else why,  # the cause may quote a client's coloured output
        cluster=run_context.cluster.name,
        lab_scale=run_context.cluster.lab.scale if run_context.cluster.lab else None,
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
        cold=is_cold(state.caches) if state.caches else None,
        data_bytes=data_bytes,
        metrics=metrics,
        phases=finished.phases if finished else (),
        checks=(*(finished.checks if finished else ()), *(validation.checks if validation else ())),
        caches=state.caches,
        warnings=(
            *_warnings(state, metrics),
            *([CodedWarning(WarningCode.CACHES, warm)] if warm else []),
            *(unobserved_workers(run_context.cluster) if facts.runs_programs else ()),
        ),
        environment=_environment(planned, run_context, state),
        baseline_id=run_context.baseline.baseline_id if run_context.baseline else None,
        sources={**sources, "time limit": str(context.limit)},
        failure_class=failure_class,
        jobs=finished.jobs if finished else (),
        stages=finished.stages if finished else (),
        executors=finished.executors if finished else (),
    )
    tasks = finished.tasks if finished else ()
    if finished:
        run = replace(run, metrics=detail_metrics(run_detail(run, tasks, state.trace)) | run.metrics)
    return CompletedRun(run, tasks, state.trace, state.logs)


def _metrics(
    workload: Workload, data_bytes: int, state: AttemptState, cluster: Cluster, *, observed: bool
) -> tuple[dict[str, float], dict[str, str]]:
    """Return the run's metrics by name, and the source of each."""
    finished, validation = state.finished, state.validation
    if finished is None:
        return {}, {}
    metrics = {**finished.metrics, **(validation.metrics if validation else {})}
    source_by_metric = {figure.metric: figure.source for figure in workload.figures}
    sources = {**finished.sources, **{name: source_by_metric[name] for name in metrics if name in source_by_metric}}
    if finished.outcome.duration_s > 0:
        metrics[JOB_THROUGHPUT] = job_throughput_mb_per_s(data_bytes, finished.outcome.duration_s)
        sources[JOB_THROUGHPUT] = JOB_THROUGHPUT_SOURCE
    if finished.jobs:
        last = finished.jobs[-1]
        metrics["job_s"] = last.finish_s - finished.jobs[0].submit_s
        tasks = [task for task in finished.tasks if task.job_id == last.job_id]
        gated, source = gated_metrics(tasks, workload, validation, finished.started_unix_s, state.trace)
        metrics |= gated
        if gated:
            sources[GATED_AGGREGATE] = source_by_metric.get(GATED_AGGREGATE, source)
    sampled = _sampled(state, cluster, finished.outcome.duration_s)
    return metrics | sampled, sources | dict.fromkeys(sampled, _SAMPLER_SOURCE if observed else sources["duration_s"])


def _sampled(state: AttemptState, cluster: Cluster, end_s: float) -> dict[str, float]:
    """Return the workers' CPU utilisation and the bytes of all devices during the job."""
    names = [node.name for node in cluster.workers]
    environment = state.finished.environment if state.finished else {}
    groups = Environment({**environment, "cluster": {"worker_names": names}}).node_groups
    sizes = groups.sizes if groups else dict.fromkeys(names, 1)
    shares = cpu_busy_shares(state.trace, sizes, 0.0, end_s)
    totals = device_totals(state.trace, 0.0, end_s)
    if not shares:
        return totals
    mean = statistics.fmean(shares.values(), weights=[sizes[name] for name in shares])
    return {"cpu_busy_share": mean} | totals


def _warnings(state: AttemptState, metrics: Mapping[str, float]) -> list[CodedWarning]:
    warnings = [*state.warnings, *(state.finished.warnings if state.finished else ())]
    busy = metrics.get("cpu_busy_share", 0.0)
    if busy > CPU_LIMIT_SHARE:
        limited = f"the CPU was the bottleneck: {format_percent(busy)} busy on average"
        message = f"{limited}; differences between configurations are underestimated"
        warnings.append(CodedWarning(WarningCode.CPU_LIMIT, message))
    return warnings


def cache_warnings(caches: Sequence[CacheState], cluster: Cluster, data_bytes: int | None) -> str | None:
    """Return why cold caches are not proven for a run, and on real hosts whether its data fit into memory.

    Returns None for a cold run, and if no cache had to be dropped.
    """
    all_observed = len(cluster.login_nodes) == len(cluster.nodes)
    if (is_cold(caches) is True) if caches else all_observed:
        return None
    reasons = sorted({state.reason for state in caches if state.reason})
    if not all_observed:
        reasons.append("assay logs in to the edge node only")
    if cluster.placement is Placement.SSH and data_bytes:
        memory_bytes = sum(node.type.memory_bytes for node in cluster.workers)
        size, memory = format_bytes(data_bytes), format_bytes(memory_bytes)
        larger = data_bytes > memory_bytes
        reasons.append(
            f"the data ({size}) {'are larger than' if larger else 'fit into'} the workers' memory ({memory})"
        )
    return f"not shown to be cold{': ' + '; '.join(reasons) if reasons else ''}"


def _environment(planned: PlannedRun, run_context: RunContext, state: AttemptState) -> dict[str, Any]:
    return {
        **run_context.environment.tree,
        "engine": _facts(planned, run_context).record(),
        "cluster": ClusterFacts.of_layout(
            run_context.cluster, planned.configuration.layout, planned.configuration.network
        ).tree(),
        **({"network": state.network} if state.network else {}),
        **(state.finished.environment if state.finished else {}),
        "parameters": _effective(planned, run_context.provider.engine),
    }


def _facts(planned: PlannedRun, run_context: RunContext) -> EngineFacts:
    """Return the facts of the engine that this run was planned for; a plan can vary engines."""
    provider = run_context.provider
    wanted = planned.configuration.engine or provider.facts.name
    if provider.engine and provider.engine.facts.name == wanted:
        return provider.engine.facts
    return provider.facts if provider.facts.name == wanted else replace(provider.facts, name=wanted, version="")


def _effective(planned: PlannedRun, engine: Engine | None) -> dict[str, str]:
    parameters = planned.configuration.parameters
    return engine.effective_parameters(parameters) if engine else dict(parameters)  # None: the engine never started
