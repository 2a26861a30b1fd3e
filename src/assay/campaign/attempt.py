"""One attempt at one planned run: input, cold caches, observation, the job, its checks, and the record of it all.

Nothing here raises for a job that fails: that is a :class:`Run` with status ``failed`` and its cause. What does raise
(:class:`AssayError`) concerns the cluster, and the campaign decides.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from assay.campaign.aggregate import gated_metrics
from assay.campaign.configure import configure, in_use, link_rate, placed
from assay.campaign.failures import class_of_end, class_of_error
from assay.compare.differences import CPU_LIMIT_SHARE
from assay.engines.hadoop.engine import Finished, HadoopEngine
from assay.errors import AssayError, EngineError
from assay.explain.run_detail import detail_metrics, run_detail
from assay.formats.hadoop.jhist import job_of, phases
from assay.hosts.transport import Transport
from assay.lab.links import Links
from assay.model.baseline import Baseline
from assay.model.cluster import Cluster, Role
from assay.model.layout import Layout
from assay.model.plan import Plan
from assay.model.program import Outcome
from assay.model.run import CacheState, FailureClass, Origin, Run, RunStatus, Task
from assay.model.trace import Trace
from assay.observe.caches import drop_caches, is_cold
from assay.observe.sampling import Sampler, SamplerOptions, parse_samples
from assay.observe.traces import cpu_busy_share, device_totals
from assay.planning.inputs import size_of
from assay.planning.limits import DEFAULT_TIMEOUT_S, NO_HISTORY, TimeLimit
from assay.planning.order import PlannedRun
from assay.repository.ids import new_run_id
from assay.workloads.base import Facts, Input, Size, Verdict, Workload
from assay.workloads.catalogue import WORKLOADS

_CACHE_TIMEOUT_S = 120.0
_PROGRESS_INTERVAL_S = 1.0
_CHECK_TIMEOUT_S = 600.0
_CHECK_IN_CLIENT_BYTES = 1 << 30
_CHECK_IN_CLIENT_S = 8.0
"""With so little output, and so short a way, a check in its client is over before a job on the cluster has begun."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all runs of a campaign share."""

    plan: Plan
    cluster: Cluster
    transports: Mapping[str, Transport]
    engine: HadoopEngine
    samplers: Mapping[str, SamplerOptions]
    campaign_id: str
    environment: Mapping[str, Any]
    baseline: Baseline | None
    show: Callable[[str], None]
    links: Links | None = None
    """The lab's; None on other hosts."""


async def _nothing() -> None:
    return


@dataclass(frozen=True, slots=True)
class Around:
    """What one attempt is told by the campaign around it."""

    limit: TimeLimit = NO_HISTORY
    settled: Callable[[], Awaitable[None]] = _nothing
    """Awaited before caches are dropped: what of the run before still goes on must not disturb this one."""
    ended: Callable[[str, float, float], None] = lambda _name, _began_unix_s, _took_s: None
    """Takes each step that has ended: its name, when it began, and how long it took."""


_ALONE = Around()


@dataclass(frozen=True, slots=True)
class Published:
    """A run with what lies beside it in its bundle."""

    run: Run
    tasks: tuple[Task, ...] = ()
    trace: Trace = field(default_factory=Trace)
    logs: dict[str, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class _Observed:
    """What is gathered while an attempt goes on, so that a failure keeps what was seen until then."""

    caches: tuple[CacheState, ...] = ()
    trace: Trace = field(default_factory=Trace)
    logs: dict[str, bytes] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    finished: Finished | None = None
    verdict: Verdict | None = None
    trouble: str | None = None
    network: dict[str, Any] = field(default_factory=dict)
    not_own_s: float = 0.0
    """Time spent on deploying, making input and checking output: neither the job's nor assay's own."""


@dataclass(slots=True)
class _Step:
    name: str


@contextmanager
def _step(around: Around, name: str) -> Iterator[_Step]:
    step, began, clock = _Step(name), time.time(), time.monotonic()
    try:
        yield step
    finally:
        around.ended(step.name, began, time.monotonic() - clock)


@contextmanager
def _not_own(seen: _Observed) -> Iterator[None]:
    began = time.monotonic()
    try:
        yield
    finally:
        seen.not_own_s += time.monotonic() - began


async def attempt(planned: PlannedRun, number: int, setting: Setting, around: Around = _ALONE) -> Published:
    """Carry out one attempt and return its record, whatever became of it."""
    cluster, transports = in_use(planned.configuration, setting.cluster, setting.transports)
    setting = replace(setting, cluster=cluster, transports=transports)
    workload = WORKLOADS[planned.workload.name]
    size = size_of(planned, setting.plan)
    run_id, started, clock = new_run_id(), time.time(), time.monotonic()
    seen = _Observed()
    cause = await _error_of(_carry_out(planned, workload, size, setting, seen, around))
    if seen.finished is None or seen.finished.outcome.exit_status != 0 or seen.trouble or cause:
        seen.logs |= await _daemon_logs(setting.engine)
    status, why, failure_class = _status(seen, cause, around.limit)
    finished = seen.finished
    job = finished.histories[-1] if finished and finished.histories else None
    began = finished.started_unix_s if finished else started
    metrics = _metrics(workload, workload.data_bytes(size), seen, setting.cluster)
    if finished:
        metrics["assay_own_s"] = time.monotonic() - clock - seen.not_own_s - finished.outcome.duration_s
    run = Run(
        run_id=run_id,
        campaign_id=setting.campaign_id,
        plan=setting.plan.name,
        origin=Origin.MEASURED,
        status=status,
        cause=why,
        cluster=setting.cluster.name,
        lab_scale=setting.cluster.lab.scale if setting.cluster.lab else None,
        engine=setting.engine.name,
        engine_version=setting.engine.version,
        workload=planned.workload.key,
        workload_parameters={"program": workload.name, **planned.workload.parameters},
        layout=planned.configuration.layout.name,
        levels=dict(planned.configuration.levels),
        parameters=dict(planned.configuration.parameters),
        repetition=planned.repetition,
        block=planned.block,
        position=planned.index,
        attempt=number,
        started_at=datetime.fromtimestamp(began, UTC).isoformat(timespec="milliseconds"),
        duration_s=round(finished.outcome.duration_s, 3) if finished else 0.0,
        cold=is_cold(seen.caches) if seen.caches else None,
        data_bytes=workload.data_bytes(size),
        metrics=metrics,
        phases=phases(job, began) if job else (),
        checks=seen.verdict.checks if seen.verdict else (),
        caches=seen.caches,
        warnings=tuple(_warnings(seen, metrics)),
        environment=_environment(planned, setting, seen),
        baseline_id=setting.baseline.baseline_id if setting.baseline else None,
        sources={
            "duration_s": "wall time of the client program",
            "phases": "job history",
            "tasks": "job history",
            "per_stream_mb_per_s": "TestDFSIO's own 'Throughput mb/sec', in 10^6 bytes",
            "gated_aggregate_mb_per_s": "job history: each task's bytes spread evenly over it",
            "job_throughput_mb_per_s": "data_bytes / duration_s",
            "time limit": str(around.limit),
            **(seen.verdict.sources if seen.verdict else {}),
        },
        failure_class=failure_class,
        jobs=tuple(job_of(history, began) for history in (finished.histories if finished else ())),
    )
    tasks = tuple(task for history in (finished.histories if finished else ()) for task in history.tasks)
    if finished:
        run = replace(run, metrics=detail_metrics(run_detail(run, tasks, seen.trace)) | run.metrics)
    return Published(run, tasks, seen.trace, seen.logs)


async def _error_of(work: Awaitable[None]) -> AssayError | None:
    try:
        await work
    except AssayError as error:
        return error
    return None


async def _carry_out(
    planned: PlannedRun, workload: Workload, size: Size, setting: Setting, seen: _Observed, around: Around
) -> None:
    engine, parameters = setting.engine, planned.configuration.parameters
    needed = workload.input(size)
    with _not_own(seen), _step(around, "restart") as step:
        seen.network, restarted = await configure(planned.configuration, engine, setting.links, setting.show)
        if not restarted:
            step.name = "health"
    with _not_own(seen), _step(around, "input"):
        manifest = await _ensure_input(needed, planned, setting) if needed else {}
    with _step(around, "clear"):
        for path in (*workload.outputs(), *workload.leaves(size)):
            await engine.hdfs.delete(path)
        samplers = await _start_samplers(setting)
    stopped = False
    try:
        with _step(around, "caches"):
            setting.show("dropping caches")
            await around.settled()
            seen.caches = await _drop(setting)
        program = workload.program(size, needed.place if needed else None)
        setting.show("the job starts")
        with _step(around, "job and history"):
            running = engine.run(program, parameters, timeout_s=around.limit.seconds, label="job")
            seen.finished = await _with_progress(running, setting)
        around.ended("job", seen.finished.started_unix_s, seen.finished.outcome.duration_s)
        with _step(around, "samples"):
            raw = await _stop_samplers(samplers)
        stopped = True
    finally:
        if not stopped:
            _keep_samples(await asyncio.shield(_stop_samplers(samplers)), seen)
    _keep_samples(raw, seen)
    seen.logs |= seen.finished.logs
    seen.trouble = await engine.trouble()
    if seen.finished.outcome.exit_status == 0:
        with _step(around, "validation"):
            await _validate(planned, workload, size, setting, seen, manifest, needed)


async def _validate(
    planned: PlannedRun,
    workload: Workload,
    size: Size,
    setting: Setting,
    seen: _Observed,
    manifest: Mapping[str, int],
    needed: Input | None,
) -> None:
    assert seen.finished is not None
    engine = setting.engine
    setting.show("validating")
    checked: Outcome | None = None
    program = workload.check_program(needed.place if needed else None)
    if program is not None:
        timeout_s = max(_CHECK_TIMEOUT_S, setting.plan.timeout_s or DEFAULT_TIMEOUT_S)
        if program.may_run_in_client and _soon_in_client(workload.data_bytes(size), planned, engine.cluster):
            program = engine.in_client(program)
        running = engine.run(program, planned.configuration.parameters, timeout_s=timeout_s, label="check")
        with _not_own(seen):
            done = await _with_progress(running, setting)
        checked = done.outcome
        seen.logs["check.log"] = done.logs.get("check.log", b"")
    facts = Facts(engine.hdfs, manifest, checked, needed.place if needed else None)
    seen.verdict = await workload.verdict(size, seen.finished.outcome, facts)
    seen.logs |= seen.verdict.logs
    if policy := planned.configuration.layout.policy:
        places = [*workload.outputs(), *workload.leaves(size), *([needed.place] if needed else [])]
        found = sum([await engine.hdfs.placements(place) for place in places], Counter[tuple[str, ...]]())
        seen.verdict = replace(seen.verdict, checks=(*seen.verdict.checks, placed(policy, found)))
    for path in workload.outputs():
        await engine.hdfs.delete(path)


def _soon_in_client(data_bytes: int, planned: PlannedRun, cluster: Cluster) -> bool:
    """Say whether the master reads so much faster by itself than a job on the cluster would: not over a slow link."""
    rate = link_rate(planned.configuration.network, cluster)
    if rate is None:
        rate = cluster.master.type.nic.rate_bits_per_s * cluster.scale
    return data_bytes <= min(_CHECK_IN_CLIENT_BYTES, rate / 8 * _CHECK_IN_CLIENT_S)


async def _ensure_input(needed: Input, planned: PlannedRun, setting: Setting) -> dict[str, int]:
    """Make the input unless it lies there complete; return what its manifest keeps, and those of what it is made from.

    Raises EngineError when the generator fails or writes something else than was asked for.
    """
    inherited = await _ensure_input(needed.needs, planned, setting) if needed.needs else {}
    hdfs = setting.engine.hdfs
    manifest = await _read_manifest(needed, setting)
    if manifest is not None and await _complete(needed, setting):
        return inherited | manifest
    setting.show(f"generating input: {needed.name}")
    await hdfs.delete(needed.place)
    running = setting.engine.run(
        needed.program,
        planned.configuration.parameters,
        timeout_s=setting.plan.timeout_s or DEFAULT_TIMEOUT_S,
        label="input",
    )
    done = await _with_progress(running, setting)
    if done.outcome.exit_status != 0 or not await _complete(needed, setting):
        tail = "\n".join(done.outcome.last_words())
        raise EngineError(f"the input {needed.name} could not be made:\n{tail}", where=needed.place)
    kept = {name: done.outcome.counter(name) or 0 for name in needed.counters}
    if needed.counters or not needed.exact:
        await hdfs.write(needed.manifest_path, json.dumps(kept).encode())
    return inherited | kept


async def _read_manifest(needed: Input, setting: Setting) -> dict[str, int] | None:
    """Return the kept counters; {} when none are needed; None when the input was never completed."""
    if not needed.counters and needed.exact:
        return {}
    if not await setting.engine.hdfs.exists(needed.manifest_path):
        return None
    return dict(json.loads(await setting.engine.hdfs.read(needed.manifest_path)))


async def _complete(needed: Input, setting: Setting) -> bool:
    stored = await setting.engine.hdfs.stored(needed.place)
    if needed.exact and stored.length_bytes != needed.data_bytes:
        return False
    if needed.files is not None and stored.files != needed.files:
        return False
    return stored.files > 0 and stored.replica_bytes >= stored.length_bytes * needed.replication


async def _drop(setting: Setting) -> tuple[CacheState, ...]:
    deployment = setting.engine.daemons.deployment

    async def on(name: str, folders: Sequence[str]) -> CacheState:
        return await drop_caches(setting.transports[name], folders, timeout_s=_CACHE_TIMEOUT_S)

    workers = {node.name: node for node in setting.cluster.workers}
    folders = {
        name: [*deployment.hdfs_directories(workers[name]), *deployment.intermediate_directories(workers[name])]
        if name in workers
        else []
        for name in setting.transports
    }
    return tuple(await asyncio.gather(*(on(name, folders[name]) for name in setting.transports)))


async def _start_samplers(setting: Setting) -> dict[str, Sampler]:
    names = list(setting.transports)
    starting = (Sampler.start(setting.transports[name], setting.samplers[name]) for name in names)
    results = await asyncio.gather(*starting, return_exceptions=True)
    started = {n: result for n, result in zip(names, results, strict=True) if isinstance(result, Sampler)}
    failed = next((result for result in results if isinstance(result, BaseException)), None)
    if failed:
        await _stop_samplers(started)
        raise failed
    return started


async def _stop_samplers(samplers: Mapping[str, Sampler]) -> dict[str, bytes]:
    raw = await asyncio.gather(*(sampler.stop() for sampler in samplers.values()))
    return dict(zip(samplers, raw, strict=True))


def _keep_samples(raw: Mapping[str, bytes], seen: _Observed) -> None:
    started = seen.finished.started_unix_s if seen.finished else 0.0
    for node, content in raw.items():
        seen.logs[f"samples-{node}.jsonl"] = content
        seen.warnings += parse_samples(node, content, started, seen.trace)


async def _with_progress(running: Awaitable[Finished], setting: Setting) -> Finished:
    """Show where the job is while it runs."""
    task = asyncio.ensure_future(running)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=_PROGRESS_INTERVAL_S)
            if not task.done() and (now := await setting.engine.progress()):
                setting.show(f"{now.name}: map {now.map_percent:.0f} %, reduce {now.reduce_percent:.0f} %")
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def _status(
    seen: _Observed, cause: AssayError | None, limit: TimeLimit
) -> tuple[RunStatus, str | None, FailureClass | None]:
    if cause or seen.finished is None:
        why = str(cause or "the job was not started")
        return RunStatus.FAILED, why, class_of_error(cause) if cause else FailureClass.ENGINE
    outcome = seen.finished.outcome
    if outcome.exit_status != 0:
        why = f"the client ended with {outcome.exit_status}: {' | '.join(outcome.last_words())}"
        if outcome.timed_out:
            why = f"it did not end within its time limit of {limit}"
        failure_class = class_of_end(outcome.output, trouble=seen.trouble, lost=outcome.host_lost)
        return RunStatus.FAILED, f"{seen.trouble}; {why}" if seen.trouble else why, failure_class
    if seen.trouble:
        return RunStatus.INVALID, f"{seen.trouble} during the run", FailureClass.ENGINE
    broken = [check for check in (seen.verdict.checks if seen.verdict else ()) if not check.passed]
    if broken or seen.verdict is None:
        why = "; ".join(f"{check.name}: {check.detail}" for check in broken) or "not validated"
        return RunStatus.INVALID, why, FailureClass.VALIDATION
    return RunStatus.VALID, None, None


def _metrics(workload: Workload, data_bytes: int, seen: _Observed, cluster: Cluster) -> dict[str, float]:
    finished = seen.finished
    if finished is None:
        return {}
    metrics = dict(seen.verdict.metrics) if seen.verdict else {}
    if finished.outcome.duration_s > 0:
        metrics["job_throughput_mb_per_s"] = data_bytes / finished.outcome.duration_s / 1e6
    if finished.histories:
        job = finished.histories[-1]
        metrics["job_s"] = job.finish_unix_s - finished.histories[0].submit_unix_s
        metrics |= gated_metrics(job.tasks, workload, seen.verdict, finished.started_unix_s, seen.trace)
    workers = [node.name for node in cluster.workers]
    end_s = finished.outcome.duration_s
    shares = [share for name in workers if (share := cpu_busy_share(seen.trace, name, 0.0, end_s)) is not None]
    if shares:
        metrics["cpu_busy_share"] = statistics.fmean(shares)
    for name, value in device_totals(seen.trace, 0.0, end_s).items():
        metrics[name] = value
    return metrics


def _warnings(seen: _Observed, metrics: Mapping[str, float]) -> list[str]:
    warnings = list(seen.warnings)
    busy = metrics.get("cpu_busy_share", 0.0)
    if busy > CPU_LIMIT_SHARE:
        warnings.append(f"the CPU was the limit: {busy:.0%} busy on average; ratios come out too small")
    if seen.caches and is_cold(seen.caches) is not True:
        reasons = sorted({state.reason for state in seen.caches if state.reason})
        warnings.append(f"not shown to be cold{': ' + '; '.join(reasons) if reasons else ''}")
    return warnings


def _environment(planned: PlannedRun, setting: Setting, seen: _Observed) -> dict[str, Any]:
    return {
        **setting.environment,
        "cluster": _cluster_facts(setting.cluster, planned.configuration.layout),
        **({"network": seen.network} if seen.network else {}),
        "parameters": _effective(planned, setting.engine),
    }


def _effective(planned: PlannedRun, engine: HadoopEngine) -> dict[str, str]:
    try:
        return engine.effective_parameters(planned.configuration.parameters)
    except AssayError:  # the daemons never came up
        return dict(planned.configuration.parameters)


async def _daemon_logs(engine: HadoopEngine) -> dict[str, bytes]:
    try:
        return await engine.daemons.logs()
    except AssayError:
        return {}


def _cluster_facts(cluster: Cluster, layout: Layout) -> dict[str, Any]:
    """Return the counts that prices are multiplied by; devices are those of one worker that the layout uses."""
    devices = [device for device in cluster.workers[0].type.devices if device.name in layout.devices()]
    return {
        "name": cluster.name,
        "placement": str(cluster.placement),
        "nodes": len(cluster.nodes),
        "masters": sum(Role.MASTER in node.roles for node in cluster.nodes),
        "workers": len(cluster.workers),
        "worker_names": [node.name for node in cluster.workers],
        "ports": len(cluster.nodes),
        "node_types": dict(Counter(node.type.name for node in cluster.nodes)),
        "layout_devices": dict(Counter(str(device.kind) for device in devices)),
        "device_names": {device.name: str(device.kind) for device in devices},
        "layout_capacity_bytes": sum(device.capacity_bytes for device in devices),
        "layout": {
            "hdfs": {part.device: part.count for part in layout.hdfs},
            "intermediate": {part.device: part.count for part in layout.intermediate},
        },
    }
