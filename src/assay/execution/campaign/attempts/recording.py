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
    """An attempt that has ended: its number, the error that ended it early, and its total wall time."""

    run_id: str
    number: int
    started_unix_s: float
    took_s: float
    cause: AssayError | None


def attempt_record(
    planned_run: PlannedRun,
    workload: Workload,
    data_bytes: int,
    run_context: RunContext,
    context: AttemptContext,
    state: AttemptState,
    finished_attempt: FinishedAttempt,
) -> CompletedRun:
    """Return the record of an attempt. ``run_context`` is limited to the nodes in use."""
    facts = _facts(planned_run, run_context)
    status, cause_text, failure_class = status_of(
        state, finished_attempt.cause, context.limit, facts.full_disk_messages
    )
    result, validation = state.program_result, state.validation
    started_unix_s = result.started_unix_s if result else finished_attempt.started_unix_s
    metrics, sources = _metrics(workload, data_bytes, state, run_context.cluster, runs_programs=facts.runs_programs)
    if result and facts.runs_programs:
        metrics["assay_own_s"] = finished_attempt.took_s - state.excluded_s - result.outcome.duration_s
    cache_message = cache_warning(state.caches, run_context.cluster, data_bytes) if facts.runs_programs else None
    run = Run(
        run_id=finished_attempt.run_id,
        campaign_id=run_context.campaign_id,
        plan=run_context.plan.name,
        origin=facts.origin,
        status=status,
        cause=printable(cause_text) if cause_text else cause_text,  # the cause may quote a client's coloured output
        cluster=run_context.cluster.name,
        lab_scale=run_context.cluster.lab.scale if run_context.cluster.lab else None,
        engine=facts.name,
        engine_version=facts.version,
        workload=planned_run.workload.key,
        workload_parameters={"program": workload.name, **planned_run.workload.parameters},
        layout=planned_run.configuration.layout.name,
        levels=dict(planned_run.configuration.levels),
        parameters=dict(planned_run.configuration.parameters),
        repetition=planned_run.repetition,
        block=planned_run.block,
        position=planned_run.index,
        attempt=finished_attempt.number,
        started_at=datetime.fromtimestamp(started_unix_s, UTC).isoformat(timespec="milliseconds"),
        duration_s=round(result.outcome.duration_s, 3) if result else 0.0,
        cold=is_cold(state.caches) if state.caches else None,
        data_bytes=data_bytes,
        metrics=metrics,
        phases=result.phases if result else (),
        checks=(*(result.checks if result else ()), *(validation.checks if validation else ())),
        caches=state.caches,
        warnings=(
            *_warnings(state, metrics),
            *([CodedWarning(WarningCode.CACHES, cache_message)] if cache_message else []),
            *(unobserved_workers(run_context.cluster) if facts.runs_programs else ()),
        ),
        environment=_environment(planned_run, run_context, state),
        baseline_id=run_context.baseline.baseline_id if run_context.baseline else None,
        sources={**sources, "time limit": str(context.limit)},
        failure_class=failure_class,
        jobs=result.jobs if result else (),
        stages=result.stages if result else (),
        executors=result.executors if result else (),
    )
    tasks = result.tasks if result else ()
    if result:
        run = replace(run, metrics=detail_metrics(run_detail(run, tasks, state.trace)) | run.metrics)
    return CompletedRun(run, tasks, state.trace, state.logs)


def _metrics(
    workload: Workload, data_bytes: int, state: AttemptState, cluster: Cluster, *, runs_programs: bool
) -> tuple[dict[str, float], dict[str, str]]:
    """Return the run's metrics by name, and the source of each."""
    result, validation = state.program_result, state.validation
    if result is None:
        return {}, {}
    metrics = {**result.metrics, **(validation.metrics if validation else {})}
    source_by_metric = {figure.metric: figure.source for figure in workload.figures}
    sources = {**result.sources, **{name: source_by_metric[name] for name in metrics if name in source_by_metric}}
    if result.outcome.duration_s > 0:
        metrics[JOB_THROUGHPUT] = job_throughput_mb_per_s(data_bytes, result.outcome.duration_s)
        sources[JOB_THROUGHPUT] = JOB_THROUGHPUT_SOURCE
    if result.jobs:
        last_job = result.jobs[-1]
        metrics["job_s"] = last_job.finish_s - result.jobs[0].submit_s
        tasks = [task for task in result.tasks if task.job_id == last_job.job_id]
        aggregate_metrics, source = gated_metrics(tasks, workload, validation, result.started_unix_s, state.trace)
        metrics |= aggregate_metrics
        if aggregate_metrics:
            sources[GATED_AGGREGATE] = source_by_metric.get(GATED_AGGREGATE, source)
    sampled_metrics = _sampled_metrics(state, cluster, result.outcome.duration_s)
    sampled_source = _SAMPLER_SOURCE if runs_programs else sources["duration_s"]
    return metrics | sampled_metrics, sources | dict.fromkeys(sampled_metrics, sampled_source)


def _sampled_metrics(state: AttemptState, cluster: Cluster, end_s: float) -> dict[str, float]:
    """Return the workers' CPU utilisation and the bytes of all devices during the job."""
    names = [node.name for node in cluster.workers]
    environment = state.program_result.environment if state.program_result else {}
    groups = Environment({**environment, "cluster": {"worker_names": names}}).node_groups
    sizes = groups.sizes if groups else dict.fromkeys(names, 1)
    shares = cpu_busy_shares(state.trace, sizes, 0.0, end_s)
    totals = device_totals(state.trace, 0.0, end_s)
    if not shares:
        return totals
    mean = statistics.fmean(shares.values(), weights=[sizes[name] for name in shares])
    return {"cpu_busy_share": mean} | totals


def _warnings(state: AttemptState, metrics: Mapping[str, float]) -> list[CodedWarning]:
    warnings = [*state.warnings, *(state.program_result.warnings if state.program_result else ())]
    busy_share = metrics.get("cpu_busy_share", 0.0)
    if busy_share > CPU_LIMIT_SHARE:
        bottleneck = f"the CPU was the bottleneck: {format_percent(busy_share)} busy on average"
        message = f"{bottleneck}; differences between configurations are underestimated"
        warnings.append(CodedWarning(WarningCode.CPU_LIMIT, message))
    return warnings


def cache_warning(caches: Sequence[CacheState], cluster: Cluster, data_bytes: int | None) -> str | None:
    """Return why a run's caches are not proven to be cold, and on real hosts whether its data fit into memory.

    Return None for a cold run, and for a run without caches to drop.
    """
    has_all_logins = len(cluster.login_nodes) == len(cluster.nodes)
    if (is_cold(caches) is True) if caches else has_all_logins:
        return None
    reasons = sorted({state.reason for state in caches if state.reason})
    if not has_all_logins:
        reasons.append("assay logs in to the edge node only")
    if cluster.placement is Placement.SSH and data_bytes:
        memory_bytes = sum(node.type.memory_bytes for node in cluster.workers)
        data_text, memory_text = format_bytes(data_bytes), format_bytes(memory_bytes)
        relation = "are larger than" if data_bytes > memory_bytes else "fit into"
        reasons.append(f"the data ({data_text}) {relation} the workers' memory ({memory_text})")
    return f"not shown to be cold{': ' + '; '.join(reasons) if reasons else ''}"


def _environment(planned_run: PlannedRun, run_context: RunContext, state: AttemptState) -> dict[str, Any]:
    return {
        **run_context.environment.tree,
        "engine": _facts(planned_run, run_context).record(),
        "cluster": ClusterFacts.of_layout(
            run_context.cluster, planned_run.configuration.layout, planned_run.configuration.network
        ).tree(),
        **({"network": state.network} if state.network else {}),
        **(state.program_result.environment if state.program_result else {}),
        "parameters": _effective_parameters(planned_run, run_context.provider.engine),
    }


def _facts(planned_run: PlannedRun, run_context: RunContext) -> EngineFacts:
    """Return the facts of the engine that this run was planned for; a plan can vary engines."""
    provider = run_context.provider
    engine_name = planned_run.configuration.engine or provider.facts.name
    if provider.engine and provider.engine.facts.name == engine_name:
        return provider.engine.facts
    if provider.facts.name == engine_name:
        return provider.facts
    return replace(provider.facts, name=engine_name, version="")


def _effective_parameters(planned_run: PlannedRun, engine: Engine | None) -> dict[str, str]:
    """Return the run's engine parameters. ``engine`` is None if it never started."""
    parameters = planned_run.configuration.parameters
    return engine.effective_parameters(parameters) if engine else dict(parameters)
