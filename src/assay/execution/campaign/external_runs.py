"""Observe hosts during an external job or for a fixed time, and record a measured run with workload ``observed``.

In: a cluster, open transports and an :class:`ObservationRequest`. Out: a
:class:`~assay.execution.campaign.attempts.run_context.CompletedRun` with the samples of every node, and with jobs,
tasks and phases if an engine describes them. Nothing is submitted, dropped or changed. A command is stored as the
program's name only, because arguments may hold secrets.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from assay.analysis.run_profile.run_detail import detail_metrics, run_detail
from assay.execution.campaign.attempts.run_context import CompletedRun
from assay.execution.campaign.attempts.sampling import sampler_options, sampling, unobserved_workers
from assay.execution.engines.contract import ProgramResult
from assay.execution.hosts.transport import Transport
from assay.execution.observation.environment import capture
from assay.execution.observation.sampling import parse_samples
from assay.execution.observation.traces import device_totals
from assay.foundation.version import __version__
from assay.model import Cluster, CodedWarning, FailureClass, Origin, Outcome, Run, RunStatus, Trace, WarningCode
from assay.store.bundles.ids import new_run_id

OBSERVED = "observed"
ResultReader = Callable[[ProgramResult], Awaitable[ProgramResult]]


@dataclass(frozen=True, slots=True)
class ObservationRequest:
    """An observation's title, and the work to observe."""

    title: str
    work: Callable[[], Awaitable[int | None]]
    """Waits for the work to end, and returns its exit status, or None after a fixed time."""


async def unchanged_result(result: ProgramResult) -> ProgramResult:
    """Return ``result`` unchanged, for observations without an engine that describes the jobs."""
    return result


async def observe(
    cluster: Cluster,
    transports: Mapping[str, Transport],
    request: ObservationRequest,
    *,
    engine: str,
    reader: ResultReader = unchanged_result,
) -> CompletedRun:
    """Sample every node until the work of ``request`` ends; ``reader`` adds the engine's records."""
    began_unix_s = time.time()
    trace, logs, warnings = Trace(), {}, []

    def store_samples(raw_samples: Mapping[str, bytes]) -> None:
        for node, content in raw_samples.items():
            logs[f"samples-{node}.jsonl"] = content
            warnings.extend(parse_samples(node, content, began_unix_s, trace))

    options = {node.name: sampler_options(node, None) for node in cluster.nodes if node.name in transports}
    async with sampling(transports, options, store_samples) as samplers:
        began_unix_s, began_s = time.time(), time.monotonic()
        status = await request.work()
        elapsed_s = time.monotonic() - began_s
        await samplers.stop()
    outcome = Outcome(status or 0, "", {}, 0, elapsed_s)
    result = await reader(ProgramResult(outcome, began_unix_s, sources={"duration_s": "wall time of the observation"}))
    if not result.jobs:
        message = "the trace covers the hosts; the jobs are unknown"
        warnings.append(CodedWarning(WarningCode.TRACE, message))
    warnings.extend(unobserved_workers(cluster))
    directories = {
        node.name: [device.directory for device in node.type.devices if device.directory] for node in cluster.nodes
    }
    environments = await asyncio.gather(
        *(capture(transport, directories=directories[name]) for name, transport in transports.items())
    )
    run = Run(
        run_id=new_run_id(),
        campaign_id="",
        plan=OBSERVED,
        origin=Origin.MEASURED,
        status=RunStatus.FAILED if status else RunStatus.VALID,
        cause=f"the observed command ended with status {status}" if status else None,
        failure_class=FailureClass.WORKLOAD if status else None,
        cluster=cluster.name,
        lab_scale=None,
        engine=engine,
        engine_version="",
        workload=OBSERVED,
        workload_parameters={"program": request.title},
        layout="not recorded",
        levels={},
        parameters={},
        repetition=1,
        block=1,
        position=0,
        attempt=1,
        started_at=datetime.fromtimestamp(began_unix_s, UTC).isoformat(timespec="milliseconds"),
        duration_s=round(elapsed_s, 3),
        cold=None,
        data_bytes=None,
        metrics={**result.metrics, **device_totals(trace, 0.0, elapsed_s)},
        phases=result.phases,
        jobs=result.jobs,
        warnings=(*warnings, *result.warnings),
        environment={"assay": {"version": __version__}, "nodes": dict(zip(transports, environments, strict=True))},
        sources=dict(result.sources),
    )
    metrics = detail_metrics(run_detail(run, result.tasks, trace)) | run.metrics
    return CompletedRun(replace(run, metrics=metrics), result.tasks, trace, {**logs, **result.logs})
