"""Learn profiles from measured runs: data flow and CPU per byte of each workload, fixed costs of the engine.

In: measured runs with their attempts and traces, if available. Out: a
:class:`~assay.model.plans.cost_profile.CostProfile` whose values have intervals. It depends on these runs alone.

*Fixed costs* come from the jobs' times. *CPU* has two parts. The first is the CPU time that tasks counted (Hadoop's
CPU_MILLISECONDS, which starts when the task's JVM has started). The second is the other CPU time of the nodes while
tasks ran: the CPU time of the control group for a lab's node, the whole CPU time for a real node. The second part is
divided into a share for each attempt (its JVM), each job (its ApplicationMaster) and each byte moved (daemons and
kernel). The three shares are fitted over all runs by least squares with a Gaussian prior, because three workloads alone
do not identify them.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

import numpy as np

from assay.analysis.run_profile.devices import workers
from assay.analysis.run_profile.run_detail import replication_of
from assay.estimation.profiles.learning_stages import (
    NEGLIGIBLE_SHARE,
    StagedRun,
    compressed_shares,
    most_frequent,
    stage_profiles,
    staged_run_of,
    zero_if_negligible,
)
from assay.estimation.simulator.error_model import Z90
from assay.foundation.errors import SpecificationError
from assay.model import (
    BLOCK_BYTES,
    BLOCK_SIZE,
    CPU_BUSY,
    MAP_OUTPUT_CODEC,
    MAP_OUTPUT_COMPRESS,
    CostProfile,
    EngineCosts,
    Origin,
    ProfileSource,
    Run,
    RunStatus,
    TaskAttempt,
    Trace,
    Uncertain,
    WorkloadProfile,
    splits_of,
)
from assay.model.plans.engine_values import block_size_bytes
from assay.model.plans.workload_profile import SPLITS
from assay.model.runs.traces.counters import counter_increases

PRIOR = (3.0, 1.4, 5e-9)
"""Prior means: CPU seconds of an ApplicationMaster while tasks run, of a task's JVM, of a byte moved."""
PRIOR_SPREAD = (2.0, 0.6, 5e-9)
"""Standard deviations of :data:`PRIOR`."""
IDLE_TASK_CPU_S = 0.3
"""CPU time reported by an idle task attempt, in seconds."""
PRIOR_STAGED = (4.0, 0.05, 5e-9)
"""Prior means on Spark: CPU seconds of an executor's JVM while tasks run, of a task, of a byte moved."""
PRIOR_STAGED_SPREAD = (3.0, 0.05, 5e-9)
"""Standard deviations of :data:`PRIOR_STAGED`."""
IDLE_STAGED_CPU_S = 0.02
"""Maximum CPU time of an idle task on Spark, in seconds."""
_NOISE = 0.1
"""Assumed relative error of the workers' measured CPU time."""
_SETUP_CORES = 1.3
"""Cores in use while a job is set up, for runs without a trace."""
_SUBMISSION_SHARE = 0.8
"""Share of the time outside of the job that passes before its submission, for runs without stored attempts."""
_PHASES = {"phase_overhead_s", "phase_setup_s", "phase_cleanup_s"}
"""Metrics that give the time of the tasks for runs without stored attempts, for example rows of a table."""


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """A measured run with its task attempts and its trace."""

    run: Run
    tasks: Sequence[TaskAttempt] = ()
    trace: Trace | None = None


@dataclass(frozen=True, slots=True)
class _RunFacts:
    """The input of the fit from one run, in seconds and bytes."""

    run: Run
    program: str
    submit_s: float
    job_start_s: float
    job_end_s: float
    client_end_s: float
    long_lived_jvms: int
    """JVMs that live as long as the job: ApplicationMasters, or executors."""
    maps: int
    reduces: int
    attempts: int
    map_cpu_s: float
    reduce_cpu_s: float
    other_cpu_s: float | None
    """CPU seconds of the workers while tasks ran, without the CPU seconds that tasks counted."""
    background_cores: float | None
    """Cores of a lab's machine in use by processes other than workers, while tasks ran."""
    read: float
    map_output: float
    shuffled: float
    written: float
    moved: float
    """Bytes over disks and links by the counters, all replicas included."""
    staged: StagedRun | None = None
    """Stages of the run, for an engine that has stages."""


def learned_profile(observed_runs: Sequence[ObservedRun], name: str, machine_cores: int | None = None) -> CostProfile:
    """Return the profile of ``observed_runs``. ``machine_cores``: cores of the lab's machine, if the runs have none.

    Runs without a known data size and runs without tasks are left out and counted. Raises SpecificationError if no
    run is left.
    """
    valid_runs = [
        observed
        for observed in observed_runs
        if observed.run.origin is Origin.MEASURED and observed.run.status is RunStatus.VALID
    ]
    usable_runs = [observed for observed in valid_runs if observed.run.data_bytes and _has_tasks(observed)]
    exclusions = _exclusions_text(valid_runs)
    if not usable_runs:
        raise SpecificationError(
            f"no valid measured run to learn from{f': {exclusions}' if exclusions else ''}",
            hint="a profile needs runs with their tasks and the size of their data; `assay runs --where …` lists runs",
        )
    engines = sorted({observed.run.engine for observed in usable_runs})
    if len(engines) > 1:
        raise SpecificationError(f"the runs are of several engines: {', '.join(engines)}", hint="choose with --where")
    scales = {observed.run.lab_scale for observed in usable_runs}
    if len({scale is None for scale in scales}) > 1:
        raise SpecificationError("labs and real hosts can't be learned from together", hint="choose with --where")
    cores = _machine_cores(usable_runs) or machine_cores
    facts = [_facts(observed, cores) for observed in usable_runs]
    job_cpu, jvm_cpu, io_cpu = _fit_cpu_shares(facts)
    idle_s = _idle_task_s(facts)
    by_program: dict[str, list[_RunFacts]] = {}
    for run_facts in facts:
        by_program.setdefault(run_facts.program, []).append(run_facts)
    costs = EngineCosts(
        client_start_s=_estimate([run_facts.submit_s for run_facts in facts]),
        job_start_s=_estimate([run_facts.job_start_s for run_facts in facts]),
        job_end_s=_estimate([run_facts.job_end_s for run_facts in facts]),
        client_end_s=_estimate([run_facts.client_end_s for run_facts in facts]),
        task_cpu_s=Uncertain(jvm_cpu.value + idle_s, jvm_cpu.low + idle_s, jvm_cpu.high + idle_s, jvm_cpu.n),
        job_cpu_s=job_cpu,
        io_cpu_s_per_byte=io_cpu,
    )
    runs = [observed.run for observed in usable_runs]
    models = {node.cpu for run in runs for node in run.recorded.nodes.values() if node.cpu}
    worker_counts = [
        len(cluster_facts.worker_names or ()) or cluster_facts.workers or 0
        for run in runs
        if (cluster_facts := run.recorded.cluster)
    ]
    return CostProfile(
        name=name,
        engine=engines[0],
        cpu_model=", ".join(sorted(models)),
        machine_cores=cores if runs[0].lab_scale is not None else None,
        background_cores=_constant_background(facts),
        costs=costs,
        workloads={program: _workload(program, group, idle_s) for program, group in sorted(by_program.items())},
        learned=ProfileSource(
            source=f"learned from {len(runs)} measured runs of {', '.join(sorted({run.cluster for run in runs}))}"
            + (f"; {exclusions}" if exclusions else ""),
            runs=len(runs),
            excluded=len(valid_runs) - len(usable_runs),
            clusters=tuple(sorted({run.cluster for run in runs})),
            layouts=tuple(sorted({run.layout for run in runs})),
            workers_min=min(worker_counts, default=0),
            workers_max=max(worker_counts, default=0),
            lab_scale=runs[0].lab_scale,
            date=max((run.started_at for run in runs), default="")[:10],
        ),
    )


def _has_tasks(observed: ObservedRun) -> bool:
    """Return whether the run has tasks and the times before, between and after them, stored or as metrics."""
    metrics = observed.run.metrics
    if observed.tasks and observed.run.jobs:
        return True
    return metrics.keys() >= _PHASES and metrics.get("map_tasks", 0) + metrics.get("reduce_tasks", 0) > 0


def _exclusions_text(valid_runs: Sequence[ObservedRun]) -> str:
    """Return how many runs are left out of a profile, by reason; empty if none is."""
    unknown_count = sum(not observed.run.data_bytes for observed in valid_runs)
    without_tasks = sum(bool(observed.run.data_bytes) and not _has_tasks(observed) for observed in valid_runs)
    counts = ((unknown_count, "with unknown data size"), (without_tasks, "without tasks"))
    parts = [f"{count} {'run' if count == 1 else 'runs'} {reason}" for count, reason in counts if count]
    return f"left out: {', '.join(parts)}" if parts else ""


def _estimate(values: Iterable[float]) -> Uncertain:
    """Return the median with the interval that holds 90 % of single runs; for one or two values, ±30 % is assumed."""
    sorted_values = sorted(values)
    median_value = median(sorted_values)
    if len(sorted_values) < 3:
        return Uncertain(median_value, median_value * 0.7, median_value * 1.3, len(sorted_values))
    spread = Z90 * stdev(sorted_values) * math.sqrt(1 + 1 / len(sorted_values))
    return Uncertain(median_value, max(0.0, median_value - spread), median_value + spread, len(sorted_values))


def _machine_cores(observed_runs: Sequence[ObservedRun]) -> int | None:
    cores = [node.cores for observed in observed_runs for node in observed.run.recorded.nodes.values() if node.cores]
    return int(median(cores)) if cores else None


def _facts(observed: ObservedRun, cores: int | None) -> _RunFacts:
    return _staged_facts(observed, cores) if observed.run.stages else _mapped_facts(observed, cores)


def _staged_facts(observed: ObservedRun, cores: int | None) -> _RunFacts:
    """Return the facts of a run with stages. Stages without parents count as maps, the others as reduces."""
    run, staged_run = observed.run, staged_run_of(observed.run, observed.tasks)
    first_stages = {stage.stage_id for stage in staged_run.stages if not stage.parents}
    counts = [
        sum(stage.tasks for stage in staged_run.stages if (stage.stage_id in first_stages) is is_first)
        for is_first in (True, False)
    ]
    cpu_s = [
        sum(s for stage, s in staged_run.cpu_s.items() if (stage in first_stages) is is_first)
        for is_first in (True, False)
    ]
    read = float(sum(stage.read_bytes for stage in staged_run.stages if not stage.parents))
    written = float(sum(stage.written_bytes for stage in staged_run.stages))
    shuffled = float(sum(stage.shuffle_write_bytes for stage in staged_run.stages))
    spilled = sum(stage.spilled_bytes for stage in staged_run.stages)
    submit_s, job_start_s, job_end_s, client_end_s, span = _times(observed)
    return _RunFacts(
        run=run,
        program=run.workload_parameters.get("program", run.workload),
        submit_s=submit_s,
        job_start_s=job_start_s,
        job_end_s=job_end_s,
        client_end_s=client_end_s,
        long_lived_jvms=max(1, len(run.executors)),
        maps=counts[0],
        reduces=counts[1],
        attempts=len(observed.tasks),
        map_cpu_s=cpu_s[0],
        reduce_cpu_s=cpu_s[1],
        other_cpu_s=_other_cpu_s(observed, span, sum(cpu_s), cores),
        background_cores=_background_cores(observed, span),
        read=read,
        map_output=shuffled,
        shuffled=shuffled,
        written=written,
        moved=read + written * (replication_of(run) or 1) + 2.0 * shuffled + 2.0 * spilled,
        staged=staged_run,
    )


def _mapped_facts(observed: ObservedRun, cores: int | None) -> _RunFacts:
    run, metrics = observed.run, observed.run.metrics
    maps, reduces = int(metrics.get("map_tasks", 0)), int(metrics.get("reduce_tasks", 0))
    cpu_s = metrics.get("cpu_s", 0.0)
    cpu_s_by_kind = {kind: sum(t.cpu_s or 0.0 for t in observed.tasks if t.kind == kind) for kind in ("map", "reduce")}
    if not observed.tasks:
        share = maps / max(1, maps + reduces)
        cpu_s_by_kind = {"map": cpu_s * share, "reduce": cpu_s * (1 - share)}
    read, written = metrics.get("hdfs_read_bytes", 0.0), metrics.get("hdfs_write_bytes", 0.0)
    shuffled = metrics.get("shuffle_bytes", 0.0)
    local = metrics.get("local_read_bytes", 0.0) + metrics.get("local_write_bytes", 0.0)
    submit_s, job_start_s, job_end_s, client_end_s, span = _times(observed)
    return _RunFacts(
        run=run,
        program=run.workload_parameters.get("program", run.workload),
        submit_s=submit_s,
        job_start_s=job_start_s,
        job_end_s=job_end_s,
        client_end_s=client_end_s,
        long_lived_jvms=max(1, len(run.jobs)),
        maps=maps,
        reduces=reduces,
        attempts=len(observed.tasks) or maps + reduces,
        map_cpu_s=cpu_s_by_kind["map"],
        reduce_cpu_s=cpu_s_by_kind["reduce"],
        other_cpu_s=_other_cpu_s(observed, span, sum(cpu_s_by_kind.values()), cores),
        background_cores=_background_cores(observed, span),
        read=read,
        map_output=metrics.get("map_output_bytes", 0.0),
        shuffled=shuffled,
        written=written,
        moved=read + written * (replication_of(run) or 1) + local + shuffled,
    )


def _times(observed: ObservedRun) -> tuple[float, float, float, float, tuple[float, float]]:
    """Return seconds: before submission, to the first attempt, after the last attempt, after the job; and the interval
    in which attempts ran."""
    run, metrics = observed.run, observed.run.metrics
    if run.jobs and observed.tasks:
        first_s, last_s = min(t.start_s for t in observed.tasks), max(t.end_s for t in observed.tasks)
        submit_s, finish_s = run.jobs[0].submit_s, run.jobs[-1].finish_s
        return submit_s, first_s - submit_s, max(0.0, finish_s - last_s), run.duration_s - finish_s, (first_s, last_s)
    outside_s, setup_s, cleanup_s = (metrics[name] for name in ("phase_overhead_s", "phase_setup_s", "phase_cleanup_s"))
    submit_s = _SUBMISSION_SHARE * outside_s
    end_s = outside_s - submit_s
    return submit_s, setup_s, cleanup_s, end_s, (submit_s + setup_s, run.duration_s - end_s - cleanup_s)


def _other_cpu_s(observed: ObservedRun, span: tuple[float, float], counted_s: float, cores: int | None) -> float | None:
    run = observed.run
    if observed.trace is not None and len(observed.trace):
        names = workers(run, observed.tasks, observed.trace)
        increases = counter_increases(observed.trace, *span, names)
        node_cpu_s = [increases.get((node, "cgroup", "cpu_s")) for node in names]
        if run.lab_scale is None:
            node_cpu_s = [sum(increases.get((node, "cpu", metric), 0.0) for metric in CPU_BUSY) for node in names]
        if node_cpu_s and all(value is not None for value in node_cpu_s):
            return max(0.0, sum(value or 0.0 for value in node_cpu_s) - counted_s)
    busy_share = run.metrics.get("cpu_busy_share")
    if busy_share is None or not cores or run.lab_scale is None:
        return None
    return max(
        0.0, busy_share * cores * run.duration_s - _SETUP_CORES * (run.duration_s - span[1] + span[0]) - counted_s
    )


def _background_cores(observed: ObservedRun, span: tuple[float, float]) -> float | None:
    run, trace = observed.run, observed.trace
    if run.lab_scale is None or trace is None or span[1] <= span[0]:
        return None
    names = sorted(workers(run, observed.tasks, trace))
    increases = counter_increases(trace, *span, names)
    node_cpu_s = [increases.get((node, "cgroup", "cpu_s")) for node in names]
    machine_cpu_s = [increases.get((node, "cpu", metric)) for node in names[:1] for metric in CPU_BUSY]
    if not node_cpu_s or any(value is None for value in node_cpu_s) or all(value is None for value in machine_cpu_s):
        return None
    background_cpu_s = sum(value or 0.0 for value in machine_cpu_s) - sum(value or 0.0 for value in node_cpu_s)
    return max(0.0, background_cpu_s / (span[1] - span[0]))


def _constant_background(facts: Sequence[_RunFacts]) -> float:
    """Return the cores that other work used in every run: the minimum over runs.

    Zero if most runs have no trace, because the CPU time of their nodes already contains it.
    """
    known_cores = [run_facts.background_cores for run_facts in facts if run_facts.background_cores is not None]
    return min(known_cores) if 2 * len(known_cores) > len(facts) else 0.0


def _fit_cpu_shares(facts: Sequence[_RunFacts]) -> tuple[Uncertain, Uncertain, Uncertain]:
    """Return the CPU seconds of a job, an attempt and a moved byte that fit the workers' CPU time best."""
    known_facts = [run_facts for run_facts in facts if run_facts.other_cpu_s is not None]
    stages = any(run_facts.staged for run_facts in facts)
    prior_means, prior_spreads = (PRIOR_STAGED, PRIOR_STAGED_SPREAD) if stages else (PRIOR, PRIOR_SPREAD)
    if not known_facts:
        job, task, byte = (Uncertain.assumed(value) for value in prior_means)
        return job, task, byte
    rows = np.asarray(
        [[run_facts.long_lived_jvms, run_facts.attempts, run_facts.moved] for run_facts in known_facts], dtype=float
    )
    measured_cpu_s = np.asarray([run_facts.other_cpu_s for run_facts in known_facts], dtype=float)
    noise = np.maximum(_NOISE * measured_cpu_s, 0.5)
    prior, spread = np.asarray(prior_means), np.asarray(prior_spreads)
    scaled = rows * spread / noise[:, None]
    precision = np.eye(3) + scaled.T @ scaled
    shift = np.linalg.solve(precision, scaled.T @ ((measured_cpu_s - rows @ prior) / noise))
    values = np.maximum(prior + spread * shift, 0.0)
    half_widths = np.sqrt(np.diag(np.linalg.inv(precision))) * spread * Z90
    job, task, byte = (
        Uncertain(float(v), max(0.0, float(v - s)), float(v + s), len(known_facts))
        for v, s in zip(values, half_widths, strict=True)
    )
    return job, task, byte


def _idle_task_s(facts: Sequence[_RunFacts]) -> float:
    """Return the CPU seconds of an idle attempt: the smallest mean of any kind of task."""
    means = [run_facts.map_cpu_s / run_facts.maps for run_facts in facts if run_facts.maps]
    means += [run_facts.reduce_cpu_s / run_facts.reduces for run_facts in facts if run_facts.reduces]
    upper_s = IDLE_STAGED_CPU_S if any(run_facts.staged for run_facts in facts) else IDLE_TASK_CPU_S
    return min([upper_s, *(mean for mean in means if mean > 0)])


def _workload(program: str, facts: Sequence[_RunFacts], idle_s: float) -> WorkloadProfile:
    graphs = [run_facts.staged for run_facts in facts if run_facts.staged]
    same_graph = most_frequent(graphs) if graphs else []
    used_facts = [run_facts for run_facts in facts if run_facts.staged in same_graph] if graphs else facts
    compression = compressed_shares(same_graph) if graphs else _compression(used_facts)
    data_bytes_by_run = {number: _data_bytes(run_facts.run) for number, run_facts in enumerate(used_facts)}
    read = fmean(used_facts[k].read / size for k, size in data_bytes_by_run.items())
    output = fmean(used_facts[k].map_output / size for k, size in data_bytes_by_run.items())
    written = fmean(used_facts[k].written / size for k, size in data_bytes_by_run.items())
    jobs = round(median(max(1, len(run_facts.run.jobs)) for run_facts in used_facts))
    shuffles = output > NEGLIGIBLE_SHARE
    uncompressed_facts = [
        run_facts for run_facts in used_facts if not _codec(run_facts.run) and run_facts.map_output > 0
    ]
    combined = (
        fmean(min(1.0, run_facts.shuffled / run_facts.map_output) for run_facts in uncompressed_facts)
        if uncompressed_facts and shuffles
        else 1.0
    )
    combined = 1.0 if combined > 0.9 else combined
    moved_bytes = {k: max(used_facts[k].read, 0.0 if shuffles else used_facts[k].written) for k in data_bytes_by_run}
    map_bytes = {
        k: moved_bytes[k] if moved_bytes[k] > NEGLIGIBLE_SHARE * size else size for k, size in data_bytes_by_run.items()
    }
    handled_bytes = {
        k: max(used_facts[k].shuffled if uncompressed_facts else used_facts[k].map_output * combined, 1.0)
        for k in data_bytes_by_run
    }
    sizes = [int(size) for size in data_bytes_by_run.values()]
    return WorkloadProfile(
        workload=program,
        n=len(used_facts),
        data_bytes_min=min(sizes),
        data_bytes_max=max(sizes),
        maps=_rule_of_tasks([(run_facts.run, run_facts.maps) for run_facts in used_facts]),
        reduces=_rule_of_tasks([(run_facts.run, run_facts.reduces) for run_facts in used_facts], splits=False),
        jobs=jobs,
        read=zero_if_negligible(read),
        map_output=zero_if_negligible(output),
        combined=combined,
        written=zero_if_negligible(written),
        written_by_maps=not shuffles,
        located=bool(graphs)
        or fmean(run_facts.run.metrics.get("node_local_share", 0.0) for run_facts in used_facts) > 0.5,
        map_cpu_s_per_byte=_estimate(
            max(0.0, run_facts.map_cpu_s - idle_s * run_facts.maps) / map_bytes[k]
            for k, run_facts in enumerate(used_facts)
        ),
        reduce_cpu_s_per_byte=_estimate(
            max(0.0, run_facts.reduce_cpu_s - idle_s * run_facts.reduces) / handled_bytes[k] if shuffles else 0.0
            for k, run_facts in enumerate(used_facts)
        ),
        compression=compression,
        stages=stage_profiles(same_graph, compression, _rule_of_staged_tasks, _estimate, idle_s) if same_graph else (),
    )


def _data_bytes(run: Run) -> float:
    assert run.data_bytes  # learned_profile leaves out runs without a size.
    return float(run.data_bytes)


def _codec(run: Run) -> str:
    """Return the codec of map output by the last part of its class name; empty for none."""
    if run.parameters.get(MAP_OUTPUT_COMPRESS) != "true":
        return ""
    name = run.parameters.get(MAP_OUTPUT_CODEC, "").rpartition(".")[2]
    return name.removesuffix("Codec").lower() or "default"


def _compression(facts: Sequence[_RunFacts]) -> dict[str, Uncertain]:
    ratios_by_codec: dict[str, list[float]] = {}
    for run_facts in facts:
        if (codec := _codec(run_facts.run)) and run_facts.map_output > 0:
            ratios_by_codec.setdefault(codec, []).append(run_facts.shuffled / run_facts.map_output)
    return {codec: _estimate(ratios) for codec, ratios in ratios_by_codec.items()}


def _rule_of_tasks(task_counts: Sequence[tuple[Run, int]], *, splits: bool = True) -> str:
    """Return the option that sets the number of tasks in all runs; if none does, ``splits`` or the median number."""
    if splits and all(_splits(run) == count for run, count in task_counts):
        return SPLITS
    for option in ("files", "maps", "reduces") if splits else ("reduces",):
        if all(run.workload_parameters.get(option) == str(count) for run, count in task_counts):
            return option
    return SPLITS if splits else str(round(median(count for _, count in task_counts)))


def _rule_of_staged_tasks(task_counts: Sequence[tuple[Run, int]]) -> str:
    """Return the option that sets the number of tasks of a stage in all runs, or else the median number."""
    if all(_splits(run) == count for run, count in task_counts):
        return SPLITS
    options = (
        name
        for name in ("reduces", "maps", "files")
        if all(run.workload_parameters.get(name) == str(count) for run, count in task_counts)
    )
    return next(options, str(max(1, round(median(count for _, count in task_counts)))))


def _splits(run: Run) -> int | None:
    """Return the number of input splits, if the input was generated with the number of maps that the run records."""
    files, block = run.workload_parameters.get("maps"), run.parameters.get(BLOCK_SIZE)
    read_bytes = run.metrics.get("hdfs_read_bytes", run.metrics.get("input_bytes", 0.0))
    if not files or not run.data_bytes or not read_bytes > run.data_bytes / 2:
        return None
    return splits_of(run.data_bytes, int(files), block_size_bytes(block) if block else BLOCK_BYTES)
