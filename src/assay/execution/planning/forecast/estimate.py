"""Estimate the time of a run and its time limit, from earlier runs or, if there are none, from device bandwidth.

In: a planned run, its plan, and the stored runs. Out: times and time limits in seconds.
Comparable runs share everything that decides a run's time: cluster and scale, workload with its options and bytes,
layout, every level and every engine parameter. Without comparable runs, the estimate scales runs of the same workload
and layout: the time after the job's start is proportional to the bytes. Without similar runs, it is a fixed start-up
time plus the bytes that cross the layout's devices at half their nominal rate, because Hadoop on disks reaches about
half of it (LISA'14 saw 0.5 to 0.6). The time to make missing inputs is always estimated from device bandwidth.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from assay.execution.planning.forecast.call_limits import NO_HISTORY, TimeLimit
from assay.execution.planning.forecast.inputs import CachedDataset, Key, datasets_after, inputs_to_make, size_of
from assay.execution.planning.order import PlannedRun, restarts
from assay.foundation.units import format_duration
from assay.model import Configuration, Origin, Placement, Plan, Run, RunStatus
from assay.text import plural
from assay.workloads.catalogue import workloads

JOB_START_S = 12.0
"""Time of the smallest job on a small cluster, in seconds: client, ApplicationMaster and one wave of tasks."""
RUN_EXTRA_S = 4.0
"""Time per run for dropping caches, output checks and publishing, in seconds. A checking program adds
:data:`JOB_START_S`."""
RESTART_S = 15.0
"""Time of a restart of the daemons, in seconds, until a campaign has measured it."""
CONNECT_S = 3.0
"""Time to connect, record the environment, and find the engine's files on the hosts, in seconds."""
HOST_CHECKS_S = 3.0
"""Time of the host checks before a campaign, in seconds."""
INSTALL_S = 8.0
"""Time to copy the engine's files to hosts that lack them, in seconds."""
BASELINE_S = 20.0
"""Time to measure devices and links before the first run, in seconds."""
LAB_S = 10.0
"""Time to make a lab and remove it, in seconds."""
STOP_S = 5.0
"""Time to stop the daemons after the last run, in seconds."""
TIMEOUT_FACTOR = 4.0
"""Time limit of a run, as a multiple of the longest comparable run."""
TIMEOUT_MIN_S = 300.0
"""Minimum time limit of a run with comparable runs, in seconds."""
_REACHED_SHARE = 0.5
"""Share of the devices' nominal rate that Hadoop reaches."""


@dataclass(frozen=True, slots=True)
class Overheads:
    """Time of a campaign outside its jobs, in seconds, measured in earlier campaigns if there are any."""

    restart_s: float = RESTART_S
    extra_s: Mapping[str, float] = field(default_factory=dict)
    """Time of a run outside its job and restarts, by workload."""
    begin_s: float | None = None
    """Time from connecting to the first run; None if no campaign on the cluster has measured it."""

    def run_overhead_s(self, planned_run: PlannedRun) -> float:
        """Return the time of a run of this workload outside its job, in seconds: caches, checks, record."""
        workload = workloads()[planned_run.workload.name]
        check_s = JOB_START_S if workload.check_program(None) else 0.0
        return self.extra_s.get(planned_run.workload.key, RUN_EXTRA_S + check_s)


@dataclass(frozen=True, slots=True)
class ExpectedTime:
    """A job's expected wall time in seconds, and the source of the estimate."""

    duration_s: float
    basis: str
    is_guess: bool = False
    """Whether no earlier run supports the estimate."""


DEFAULT_OVERHEADS = Overheads()


def call_overhead_s(plan: Plan, overheads: Overheads = DEFAULT_OVERHEADS) -> float:
    """Return a call's time before its first run and after its last run, in seconds; 0 for a simulation."""
    cluster = plan.cluster
    if cluster.simulated:
        return 0.0
    begin_s = overheads.begin_s
    if begin_s is None:
        begin_s = CONNECT_S
        if cluster.placement is Placement.SSH:
            begin_s += HOST_CHECKS_S + (0.0 if cluster.attached else INSTALL_S)
        if cluster.placement is not Placement.LOCAL and not cluster.attached:
            begin_s += BASELINE_S
    if cluster.placement is Placement.LAB:
        begin_s += LAB_S
    return begin_s + (0.0 if cluster.attached else STOP_S)


def _on_same_cluster(planned_run: PlannedRun, plan: Plan, history: Sequence[Run]) -> list[Run]:
    """Return the valid runs of the same engine, workload and layout on the plan's cluster at its scale.

    Empty for a simulated plan: simulated durations say nothing about computing time.
    """
    if plan.cluster.simulated:
        return []
    scale = plan.cluster.lab.scale if plan.cluster.lab else None
    engine = planned_run.configuration.engine or plan.engine
    expected_values = (
        plan.cluster.name,
        scale,
        engine,
        planned_run.workload.key,
        planned_run.configuration.layout.name,
    )
    return [
        run
        for run in history
        if run.status is RunStatus.VALID
        and run.origin is not Origin.SIMULATED
        and (run.cluster, run.lab_scale, run.engine, run.workload, run.layout) == expected_values
    ]


def _bytes(planned_run: PlannedRun, plan: Plan) -> int:
    return workloads()[planned_run.workload.name].data_bytes(size_of(planned_run, plan))


def comparable_runs(planned_run: PlannedRun, plan: Plan, history: Sequence[Run]) -> list[Run]:
    """Return the comparable valid runs: they share everything that decides the time of ``planned_run``."""
    data_bytes = _bytes(planned_run, plan)
    options = {"program": planned_run.workload.name, **planned_run.workload.parameters}
    levels, parameters = planned_run.configuration.levels, planned_run.configuration.parameters
    other_levels = {name: level for name, level in levels.items() if name not in parameters}
    return [
        run
        for run in _on_same_cluster(planned_run, plan, history)
        if run.data_bytes == data_bytes
        and run.workload_parameters == options
        and run.parameters == parameters
        and {name: level for name, level in run.levels.items() if name not in run.parameters} == other_levels
    ]


def expected_time(planned_run: PlannedRun, plan: Plan, history: Sequence[Run]) -> ExpectedTime:
    """Return the expected time of the job of ``planned_run``."""
    runs = comparable_runs(planned_run, plan, history)
    if runs:
        return ExpectedTime(median(run.duration_s for run in runs), plural(len(runs), "comparable run"))
    data_bytes = _bytes(planned_run, plan)
    similar_runs = [run for run in _on_same_cluster(planned_run, plan, history) if run.data_bytes]
    if similar_runs:
        times = [
            JOB_START_S + max(0.0, run.duration_s - JOB_START_S) * data_bytes / (run.data_bytes or data_bytes)
            for run in similar_runs
        ]
        return ExpectedTime(median(times), plural(len(similar_runs), "similar run"))
    return ExpectedTime(_guess_s(planned_run, plan), "the devices' bandwidth", is_guess=True)


def _guess_s(planned_run: PlannedRun, plan: Plan) -> float:
    """Return a job's start-up time plus the time in which the devices move the workload's bytes."""
    workload, size = workloads()[planned_run.workload.name], size_of(planned_run, plan)
    data_bytes = planned_run.workload.data_bytes * plan.cluster.scale
    moved_shares = workload.data_moved(size, planned_run.configuration.engine or plan.engine)
    read_share, written_share = (
        moved_shares.read + moved_shares.shuffled,
        moved_shares.shuffled + moved_shares.written * workload.output_copies(size),
    )
    return JOB_START_S + _devices_s(planned_run, plan, data_bytes * read_share, data_bytes * written_share)


def _devices_s(planned_run: PlannedRun, plan: Plan, read_bytes: float, written_bytes: float) -> float:
    """Return the time in which the devices of the run's layout move the bytes of all workers."""
    worker = plan.cluster.workers[0].type
    used_devices = [device for device in worker.devices if device.name in planned_run.configuration.layout.devices()]
    reached_factor = (
        plan.cluster.scale * (planned_run.configuration.workers or len(plan.cluster.workers)) * _REACHED_SHARE
    )
    all_read_bytes_per_s = sum(device.read_bytes_per_s for device in used_devices) * reached_factor
    all_write_bytes_per_s = sum(device.write_bytes_per_s for device in used_devices) * reached_factor
    return read_bytes / all_read_bytes_per_s + written_bytes / all_write_bytes_per_s


def inputs_s(runs: Iterable[PlannedRun], plan: Plan, existing_keys: Collection[Key]) -> list[float]:
    """Return for each run, in order, the expected time to make the inputs that do not exist before it, in seconds."""
    all_runs = list(runs)
    new_inputs = inputs_to_make(all_runs, plan, existing_keys)
    return [
        sum(_making_s(input_, run, plan) for input_ in new_datasets)
        for run, new_datasets in zip(all_runs, new_inputs, strict=True)
    ]


def _making_s(dataset: CachedDataset, planned_run: PlannedRun, plan: Plan) -> float:
    """Return the expected time to make one input: writing, and for a sorted input also reading and shuffling."""
    read_passes, shuffle_passes = (2, 1) if dataset.is_sorted else (0, 0)
    written_bytes = dataset.data_bytes * (shuffle_passes + dataset.copies)
    return JOB_START_S + _devices_s(planned_run, plan, dataset.data_bytes * read_passes, written_bytes)


def existing_inputs(runs: Iterable[PlannedRun], plan: Plan, history: Sequence[Run]) -> frozenset[Key]:
    """Return the inputs that earlier runs have left on the plan's hosts; none in a lab, because a lab's disks are
    removed with the lab."""
    if plan.cluster.placement is Placement.LAB:
        return frozenset()
    distinct_runs = {run.key[:2]: run for run in runs}.values()
    return frozenset(
        dataset.key
        for run in distinct_runs
        if comparable_runs(run, plan, history)
        for dataset in datasets_after(run, plan)
    )


def expected_s(
    planned_run: PlannedRun, plan: Plan, history: Sequence[Run], overheads: Overheads = DEFAULT_OVERHEADS
) -> float:
    """Return the expected wall time of one run in seconds, with its overhead and without a restart."""
    return expected_time(planned_run, plan, history).duration_s + overheads.run_overhead_s(planned_run)


def remaining_s(
    remaining_runs: Sequence[PlannedRun],
    plan: Plan,
    history: Sequence[Run],
    overheads: Overheads = DEFAULT_OVERHEADS,
    existing_keys: Collection[Key] = (),
    running_configuration: Configuration | None = None,
) -> float:
    """Return the expected time for all of ``remaining_runs`` in seconds, with restarts of the daemons and the making of
    inputs.

    ``existing_keys``: keys of inputs that exist already. ``running_configuration``: the configuration of the running
    daemons.
    """
    daemon_starts = sum(reason is not None for reason in restarts(remaining_runs, plan, running_configuration))
    duration_by_key_s: dict[tuple[str, str], float] = {}
    for run in remaining_runs:
        if run.key[:2] not in duration_by_key_s:
            duration_by_key_s[run.key[:2]] = expected_s(run, plan, history, overheads)
    making_s = sum(inputs_s(remaining_runs, plan, existing_keys))
    return (
        sum(duration_by_key_s[run.key[:2]] for run in remaining_runs) + making_s + daemon_starts * overheads.restart_s
    )


def time_limit(planned_run: PlannedRun, plan: Plan, history: Sequence[Run]) -> TimeLimit:
    """Return a run's time limit.

    It is the plan's, else :data:`TIMEOUT_FACTOR` times the longest comparable run, else :data:`NO_HISTORY`.

    If ``planned_run.at_most_s`` is shorter, it is the limit: a run that exceeds it is too slow for the search.
    """
    limit = _time_limit(planned_run, plan, history)
    if planned_run.at_most_s is None or planned_run.at_most_s >= limit.seconds:
        return limit
    return TimeLimit(planned_run.at_most_s, "far slower than the fastest run so far")


def _time_limit(planned_run: PlannedRun, plan: Plan, history: Sequence[Run]) -> TimeLimit:
    if plan.timeout_s is not None:
        return TimeLimit(plan.timeout_s, "the plan's timeout")
    runs = comparable_runs(planned_run, plan, history)
    if not runs:
        return NO_HISTORY
    longest_s = max(run.duration_s for run in runs)
    basis = f"the longest of {plural(len(runs), 'comparable run')} ({format_duration(longest_s)})"
    if TIMEOUT_FACTOR * longest_s <= TIMEOUT_MIN_S:
        return TimeLimit(TIMEOUT_MIN_S, f"the minimum; {TIMEOUT_FACTOR:.0f} × {basis} is less")
    return TimeLimit(TIMEOUT_FACTOR * longest_s, f"{TIMEOUT_FACTOR:.0f} × {basis}")
