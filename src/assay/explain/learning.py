"""Profiles from measured runs: each workload's data flow, CPU per byte, and the engine's fixed costs, with intervals.

In: measured runs with their attempts and traces, where there are any. Out: a :class:`~assay.model.workload_profile.
CostProfile`. Nothing but these runs is looked at.

*Fixed costs* are read off the jobs' times. *CPU* is in three parts: what tasks counted of themselves (Hadoop's
CPU_MILLISECONDS, which begins when a task's JVM has started), what the nodes used besides while tasks ran (of a lab's
node its control group's, of a real one its own CPU time), and of that a share for each attempt (its JVM), each job (its
ApplicationMaster) and each byte moved (daemons and kernel). The three shares of the second part are fitted over all
runs, by least squares that lean on usual values: three workloads alone don't tell them apart.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

import numpy as np

from assay.errors import SpecificationError
from assay.explain.counters import counter_increases
from assay.explain.devices import workers
from assay.explain.learning_stages import (
    SMALL,
    Staged,
    codecs_left,
    most_frequent,
    small_is_none,
    stage_profiles,
    staged,
)
from assay.explain.run_detail import replication_of
from assay.model import (
    BLOCK_BYTES,
    CPU_BUSY,
    MAP_OUTPUT_CODEC,
    MAP_OUTPUT_COMPRESS,
    CostProfile,
    EngineCosts,
    Learned,
    Origin,
    Run,
    RunStatus,
    Task,
    Trace,
    Uncertain,
    WorkloadProfile,
    splits_of,
)
from assay.model.engine_values import block_size_bytes
from assay.model.workload_profile import SPLITS

USUAL = (3.0, 1.4, 5e-9)
"""CPU seconds of an ApplicationMaster while tasks run, of a task's JVM, of a byte moved: what fits lean on."""
USUAL_SPREAD = (2.0, 0.6, 5e-9)
IDLE_TASK_CPU_S = 0.3
"""What an attempt counts of itself that has nothing to do."""
USUAL_STAGED = (4.0, 0.05, 5e-9)
"""On Spark, of an executor's JVM while tasks run (it compiles and collects), of a task, of a byte moved."""
USUAL_STAGED_SPREAD = (3.0, 0.05, 5e-9)
IDLE_STAGED_CPU_S = 0.02
_NOISE = 0.1
_INTERVAL_Z = 1.645
_SETUP_CORES = 1.3
"""Cores in use while a job is set up, where no trace tells."""
_PHASES = {"phase_overhead_s", "phase_setup_s", "phase_cleanup_s"}
"""Metrics of a run whose attempts are not stored, such as a row of a table, that say when its tasks ran."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A measured run with what lies beside it."""

    run: Run
    tasks: tuple[Task, ...] = ()
    trace: Trace | None = None


@dataclass(frozen=True, slots=True)
class _Facts:
    """What one run tells; seconds and bytes."""

    run: Run
    program: str
    submit_s: float
    job_start_s: float
    job_end_s: float
    client_end_s: float
    holders: int
    """What lives as long as a job does and uses CPU: ApplicationMasters, or executors."""
    maps: int
    reduces: int
    attempts: int
    map_cpu_s: float
    reduce_cpu_s: float
    other_cpu_s: float | None
    """What workers used while tasks ran, beyond what tasks counted."""
    background_cores: float | None
    """Cores of a lab's machine that were in use meanwhile, and not by workers."""
    read: float
    map_output: float
    shuffled: float
    written: float
    moved: float
    """Bytes over disks and links, by the counters, all copies."""
    staged: Staged | None = None
    """Of an engine of stages."""


def learned_profile(watched: Sequence[Watched], name: str, machine_cores: int | None = None) -> CostProfile:
    """Return the profile of ``watched``. ``machine_cores``: a lab's machine's, where the runs don't tell.

    Runs without a known data size, and runs without tasks, are left out and counted. Raises SpecificationError where
    there is nothing to learn from.
    """
    valid = [each for each in watched if each.run.origin is Origin.MEASURED and each.run.status is RunStatus.VALID]
    usable = [each for each in valid if each.run.data_bytes and _has_tasks(each)]
    excluded = _excluded(valid)
    if not usable:
        raise SpecificationError(
            f"there is no valid measured run to learn from{f': {excluded}' if excluded else ''}",
            hint="a profile needs runs with their tasks and the size of their data; `assay runs --where …` lists runs",
        )
    engines = sorted({each.run.engine for each in usable})
    if len(engines) > 1:
        raise SpecificationError(f"the runs are of several engines: {', '.join(engines)}", hint="choose with --where")
    scales = {each.run.lab_scale for each in usable}
    if len({scale is None for scale in scales}) > 1:
        raise SpecificationError("labs and real hosts can't be learned from together", hint="choose with --where")
    cores = _machine_cores(usable) or machine_cores
    facts = [_facts(each, cores) for each in usable]
    job_cpu, jvm_cpu, io_cpu = _fitted(facts)
    idle_s = _idle_task_s(facts)
    by_program: dict[str, list[_Facts]] = {}
    for one in facts:
        by_program.setdefault(one.program, []).append(one)
    costs = EngineCosts(
        client_start_s=_estimate([one.submit_s for one in facts]),
        job_start_s=_estimate([one.job_start_s for one in facts]),
        job_end_s=_estimate([one.job_end_s for one in facts]),
        client_end_s=_estimate([one.client_end_s for one in facts]),
        task_cpu_s=Uncertain(jvm_cpu.value + idle_s, jvm_cpu.low + idle_s, jvm_cpu.high + idle_s, jvm_cpu.n),
        job_cpu_s=job_cpu,
        io_cpu_s_per_byte=io_cpu,
    )
    runs = [each.run for each in usable]
    models = sorted({node.cpu for run in runs for node in run.recorded.nodes.values() if node.cpu})
    counts = [len(told.worker_names or ()) or told.workers or 0 for run in runs if (told := run.recorded.cluster)]
    return CostProfile(
        name=name,
        engine=engines[0],
        cpu_model=", ".join(models),
        machine_cores=cores if runs[0].lab_scale is not None else None,
        background_cores=_least_background(facts),
        costs=costs,
        workloads={program: _workload(program, own, idle_s) for program, own in sorted(by_program.items())},
        learned=Learned(
            source=f"learned from {len(runs)} measured runs of {', '.join(sorted({run.cluster for run in runs}))}"
            + (f"; {excluded}" if excluded else ""),
            runs=len(runs),
            excluded=len(valid) - len(usable),
            clusters=tuple(sorted({run.cluster for run in runs})),
            layouts=tuple(sorted({run.layout for run in runs})),
            workers_min=min(counts, default=0),
            workers_max=max(counts, default=0),
            lab_scale=runs[0].lab_scale,
            date=max((run.started_at for run in runs), default="")[:10],
        ),
    )


def _has_tasks(each: Watched) -> bool:
    """Say whether a run has tasks, and the times before, between and after them: its own or its metrics'."""
    metrics = each.run.metrics
    if each.tasks and each.run.jobs:
        return True
    return metrics.keys() >= _PHASES and metrics.get("map_tasks", 0) + metrics.get("reduce_tasks", 0) > 0


def _excluded(valid: Sequence[Watched]) -> str:
    """Return how many runs are left out of a profile, by reason; empty where none is."""
    unknown = sum(not each.run.data_bytes for each in valid)
    without_tasks = sum(bool(each.run.data_bytes) and not _has_tasks(each) for each in valid)
    counts = ((unknown, "with unknown data size"), (without_tasks, "without tasks"))
    parts = [f"{count} {'run' if count == 1 else 'runs'} {reason}" for count, reason in counts if count]
    return f"left out: {', '.join(parts)}" if parts else ""


def _estimate(values: Iterable[float]) -> Uncertain:
    """Return the median with the interval in which a single run's value lies nine times of ten."""
    known = sorted(values)
    middle = median(known)
    if len(known) < 3:
        return Uncertain(middle, middle * 0.7, middle * 1.3, len(known))
    spread = _INTERVAL_Z * stdev(known) * math.sqrt(1 + 1 / len(known))
    return Uncertain(middle, max(0.0, middle - spread), middle + spread, len(known))


def _machine_cores(watched: Sequence[Watched]) -> int | None:
    found = [node.cores for each in watched for node in each.run.recorded.nodes.values() if node.cores]
    return int(median(found)) if found else None


def _facts(each: Watched, cores: int | None) -> _Facts:
    return _staged_facts(each, cores) if each.run.stages else _mapped_facts(each, cores)


def _staged_facts(each: Watched, cores: int | None) -> _Facts:
    """Return what a run of stages tells: those that read storage, or nothing, count as maps, the others as reduces."""
    run, own = each.run, staged(each.run, each.tasks)
    first = {stage.stage_id for stage in own.stages if not stage.parents}
    counts = [sum(stage.tasks for stage in own.stages if (stage.stage_id in first) is kind) for kind in (True, False)]
    cpu_s = [sum(s for stage, s in own.cpu_s.items() if (stage in first) is kind) for kind in (True, False)]
    read = float(sum(stage.read_bytes for stage in own.stages if not stage.parents))
    written = float(sum(stage.written_bytes for stage in own.stages))
    shuffled = float(sum(stage.shuffle_write_bytes for stage in own.stages))
    spilled = sum(stage.spilled_bytes for stage in own.stages)
    submit_s, job_start_s, job_end_s, client_end_s, span = _times(each)
    return _Facts(
        run=run,
        program=run.workload_parameters.get("program", run.workload),
        submit_s=submit_s,
        job_start_s=job_start_s,
        job_end_s=job_end_s,
        client_end_s=client_end_s,
        holders=max(1, len(run.executors)),
        maps=counts[0],
        reduces=counts[1],
        attempts=len(each.tasks),
        map_cpu_s=cpu_s[0],
        reduce_cpu_s=cpu_s[1],
        other_cpu_s=_other_cpu_s(each, span, sum(cpu_s), cores),
        background_cores=_background_cores(each, span),
        read=read,
        map_output=shuffled,
        shuffled=shuffled,
        written=written,
        moved=read + written * (replication_of(run) or 1) + 2.0 * shuffled + 2.0 * spilled,
        staged=own,
    )


def _mapped_facts(each: Watched, cores: int | None) -> _Facts:
    run, metrics = each.run, each.run.metrics
    maps, reduces = int(metrics.get("map_tasks", 0)), int(metrics.get("reduce_tasks", 0))
    counted_s = metrics.get("cpu_s", 0.0)
    by_kind = {kind: sum(t.cpu_s or 0.0 for t in each.tasks if t.kind == kind) for kind in ("map", "reduce")}
    if not each.tasks:
        share = maps / max(1, maps + reduces)
        by_kind = {"map": counted_s * share, "reduce": counted_s * (1 - share)}
    read, written = metrics.get("hdfs_read_bytes", 0.0), metrics.get("hdfs_write_bytes", 0.0)
    shuffled = metrics.get("shuffle_bytes", 0.0)
    local = metrics.get("local_read_bytes", 0.0) + metrics.get("local_write_bytes", 0.0)
    submit_s, job_start_s, job_end_s, client_end_s, span = _times(each)
    return _Facts(
        run=run,
        program=run.workload_parameters.get("program", run.workload),
        submit_s=submit_s,
        job_start_s=job_start_s,
        job_end_s=job_end_s,
        client_end_s=client_end_s,
        holders=max(1, len(run.jobs)),
        maps=maps,
        reduces=reduces,
        attempts=len(each.tasks) or maps + reduces,
        map_cpu_s=by_kind["map"],
        reduce_cpu_s=by_kind["reduce"],
        other_cpu_s=_other_cpu_s(each, span, sum(by_kind.values()), cores),
        background_cores=_background_cores(each, span),
        read=read,
        map_output=metrics.get("map_output_bytes", 0.0),
        shuffled=shuffled,
        written=written,
        moved=read + written * (replication_of(run) or 1) + local + shuffled,
    )


def _times(each: Watched) -> tuple[float, float, float, float, tuple[float, float]]:
    """Return the seconds before the submission, to the first attempt, after the last one, and after the job; and when
    attempts ran.
    """
    run, metrics = each.run, each.run.metrics
    if run.jobs and each.tasks:
        first, last = min(t.start_s for t in each.tasks), max(t.end_s for t in each.tasks)
        submit_s, finish_s = run.jobs[0].submit_s, run.jobs[-1].finish_s
        return submit_s, first - submit_s, max(0.0, finish_s - last), run.duration_s - finish_s, (first, last)
    outside_s, setup_s, cleanup_s = (metrics[name] for name in ("phase_overhead_s", "phase_setup_s", "phase_cleanup_s"))
    first = 0.8 * outside_s + setup_s
    return 0.8 * outside_s, setup_s, cleanup_s, 0.2 * outside_s, (first, run.duration_s - 0.2 * outside_s - cleanup_s)


def _other_cpu_s(each: Watched, span: tuple[float, float], counted_s: float, cores: int | None) -> float | None:
    run = each.run
    if each.trace is not None and len(each.trace):
        names = workers(run, each.tasks, each.trace)
        grown = counter_increases(each.trace, *span, names)
        own = [grown.get((node, "cgroup", "cpu_s")) for node in names]
        if run.lab_scale is None:
            own = [sum(grown.get((node, "cpu", metric), 0.0) for metric in CPU_BUSY) for node in names]
        if own and all(value is not None for value in own):
            return max(0.0, sum(value or 0.0 for value in own) - counted_s)
    busy = run.metrics.get("cpu_busy_share")
    if busy is None or not cores or run.lab_scale is None:
        return None
    return max(0.0, busy * cores * run.duration_s - _SETUP_CORES * (run.duration_s - span[1] + span[0]) - counted_s)


def _background_cores(each: Watched, span: tuple[float, float]) -> float | None:
    run, trace = each.run, each.trace
    if run.lab_scale is None or trace is None or span[1] <= span[0]:
        return None
    names = sorted(workers(run, each.tasks, trace))
    grown = counter_increases(trace, *span, names)
    own = [grown.get((node, "cgroup", "cpu_s")) for node in names]
    machine = [grown.get((node, "cpu", metric)) for node in names[:1] for metric in CPU_BUSY]
    if not own or any(value is None for value in own) or all(value is None for value in machine):
        return None
    beside_s = sum(value or 0.0 for value in machine) - sum(value or 0.0 for value in own)
    return max(0.0, beside_s / (span[1] - span[0]))


def _least_background(facts: Sequence[_Facts]) -> float:
    """Return what was always in use: other work on the machine comes and goes, and takes what is idle.

    None of it where most runs have no traces: what their nodes used contains it already.
    """
    told = [one.background_cores for one in facts if one.background_cores is not None]
    return min(told) if 2 * len(told) > len(facts) else 0.0


def _fitted(facts: Sequence[_Facts]) -> tuple[Uncertain, Uncertain, Uncertain]:
    """Return the CPU seconds of a job, an attempt and a moved byte that explain the workers' CPU best."""
    told = [one for one in facts if one.other_cpu_s is not None]
    stages = any(one.staged for one in facts)
    leaning, spreads = (USUAL_STAGED, USUAL_STAGED_SPREAD) if stages else (USUAL, USUAL_SPREAD)
    if not told:
        job, task, byte = (Uncertain.assumed(value) for value in leaning)
        return job, task, byte
    rows = np.asarray([[one.holders, one.attempts, one.moved] for one in told], dtype=float)
    found = np.asarray([one.other_cpu_s for one in told], dtype=float)
    noise = np.maximum(_NOISE * found, 0.5)
    usual, spread = np.asarray(leaning), np.asarray(spreads)
    scaled = rows * spread / noise[:, None]
    precision = np.eye(3) + scaled.T @ scaled
    shift = np.linalg.solve(precision, scaled.T @ ((found - rows @ usual) / noise))
    values = np.maximum(usual + spread * shift, 0.0)
    sure = np.sqrt(np.diag(np.linalg.inv(precision))) * spread * _INTERVAL_Z
    job, task, byte = (
        Uncertain(float(v), max(0.0, float(v - s)), float(v + s), len(told)) for v, s in zip(values, sure, strict=True)
    )
    return job, task, byte


def _idle_task_s(facts: Sequence[_Facts]) -> float:
    """Return what an attempt counts of itself that does nothing: the least that any kind of task did."""
    means = [one.map_cpu_s / one.maps for one in facts if one.maps]
    means += [one.reduce_cpu_s / one.reduces for one in facts if one.reduces]
    most = IDLE_STAGED_CPU_S if any(one.staged for one in facts) else IDLE_TASK_CPU_S
    return min([most, *(mean for mean in means if mean > 0)])


def _workload(program: str, given: Sequence[_Facts], idle_s: float) -> WorkloadProfile:
    graphs = [one.staged for one in given if one.staged]
    alike = most_frequent(graphs) if graphs else []
    own = [one for one in given if one.staged in alike] if graphs else given
    left = codecs_left(alike) if graphs else _compression(own)

    def ratio(of: Mapping[int, float]) -> float:
        return fmean(of.values())

    data = {place: _data_bytes(one.run) for place, one in enumerate(own)}
    read = ratio({k: own[k].read / size for k, size in data.items()})
    output = ratio({k: own[k].map_output / size for k, size in data.items()})
    written = ratio({k: own[k].written / size for k, size in data.items()})
    jobs = round(median(max(1, len(one.run.jobs)) for one in own))
    shuffles = output > SMALL
    plain = [one for one in own if not _codec(one.run) and one.map_output > 0]
    combined = fmean(min(1.0, one.shuffled / one.map_output) for one in plain) if plain and shuffles else 1.0
    combined = 1.0 if combined > 0.9 else combined
    moved = {k: max(own[k].read, 0.0 if shuffles else own[k].written) for k in data}
    map_bytes = {k: moved[k] if moved[k] > SMALL * size else size for k, size in data.items()}
    handled = {k: max(own[k].shuffled if plain else own[k].map_output * combined, 1.0) for k in data}
    sizes = [int(size) for size in data.values()]
    return WorkloadProfile(
        workload=program,
        n=len(own),
        data_bytes_min=min(sizes),
        data_bytes_max=max(sizes),
        maps=_follows([(one.run, one.maps) for one in own]),
        reduces=_follows([(one.run, one.reduces) for one in own], splits=False),
        jobs=jobs,
        read=small_is_none(read),
        map_output=small_is_none(output),
        combined=combined,
        written=small_is_none(written),
        written_by_maps=not shuffles,
        located=bool(graphs) or fmean(one.run.metrics.get("node_local_share", 0.0) for one in own) > 0.5,
        map_cpu_s_per_byte=_estimate(
            max(0.0, one.map_cpu_s - idle_s * one.maps) / map_bytes[k] for k, one in enumerate(own)
        ),
        reduce_cpu_s_per_byte=_estimate(
            max(0.0, one.reduce_cpu_s - idle_s * one.reduces) / handled[k] if shuffles else 0.0
            for k, one in enumerate(own)
        ),
        compression=left,
        stages=stage_profiles(alike, left, _follows_staged, _estimate, idle_s) if alike else (),
    )


def _data_bytes(run: Run) -> float:
    assert run.data_bytes  # Runs without are left out before.
    return float(run.data_bytes)


def _codec(run: Run) -> str:
    """Return the codec of map output by the last part of its class's name; empty for none."""
    if run.parameters.get(MAP_OUTPUT_COMPRESS) != "true":
        return ""
    name = run.parameters.get(MAP_OUTPUT_CODEC, "").rpartition(".")[2]
    return name.removesuffix("Codec").lower() or "default"


def _compression(own: Sequence[_Facts]) -> dict[str, Uncertain]:
    found: dict[str, list[float]] = {}
    for one in own:
        if (codec := _codec(one.run)) and one.map_output > 0:
            found.setdefault(codec, []).append(one.shuffled / one.map_output)
    return {codec: _estimate(ratios) for codec, ratios in found.items()}


def _follows(counted: Sequence[tuple[Run, int]], *, splits: bool = True) -> str:
    """Return which option the number of tasks follows in all runs; ``splits`` where none does, else the number."""
    if splits and all(_splits(run) == count for run, count in counted):
        return SPLITS
    for option in ("files", "maps", "reduces") if splits else ("reduces",):
        if all(run.workload_parameters.get(option) == str(count) for run, count in counted):
            return option
    return SPLITS if splits else str(round(median(count for _, count in counted)))


def _follows_staged(counted: Sequence[tuple[Run, int]]) -> str:
    """Return which option a stage's number of tasks follows in all runs, else the number."""
    if all(_splits(run) == count for run, count in counted):
        return SPLITS
    options = (name for name in ("reduces", "maps", "files") if _is_option(name, counted))
    return next(options, str(max(1, round(median(count for _, count in counted)))))


def _is_option(name: str, counted: Sequence[tuple[Run, int]]) -> bool:
    return all(run.workload_parameters.get(name) == str(count) for run, count in counted)


def _splits(run: Run) -> int | None:
    """Return how many splits the input has, where it was generated by so many maps as the run says."""
    files, block = run.workload_parameters.get("maps"), run.parameters.get("dfs.blocksize")
    read_bytes = run.metrics.get("hdfs_read_bytes", run.metrics.get("input_bytes", 0.0))
    if not files or not run.data_bytes or not read_bytes > run.data_bytes / 2:
        return None
    return splits_of(run.data_bytes, int(files), block_size_bytes(block) if block else BLOCK_BYTES)
