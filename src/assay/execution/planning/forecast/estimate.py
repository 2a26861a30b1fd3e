"""How long a run is expected to take, and may take: from runs already made, or a guess when there are none.

Like runs share everything that decides a run's time: cluster and scale, workload with its options and bytes, layout,
every level and every engine parameter. Without one, runs of the same workload on the same layout are taken, their time
beyond a job's start in proportion to their bytes; without those, the devices' bandwidth: a fixed start-up, plus the
bytes that must cross the devices of the layout at their nominal rate, halved because Hadoop on disks reaches about half
of it (LISA'14 saw 0.5 to 0.6). Inputs that the run finds missing are guessed from the devices' bandwidth always.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from assay.execution.planning.forecast.call_limits import NO_HISTORY, TimeLimit
from assay.execution.planning.forecast.inputs import CachedDataset, Key, kept_by, newly_made, size_of
from assay.execution.planning.order import PlannedRun, restarts
from assay.foundation.units import format_duration
from assay.model import Configuration, Origin, Placement, Plan, Run, RunStatus
from assay.workloads.catalogue import workloads

JOB_START_S = 12.0
"""Smallest job on a small cluster: client, ApplicationMaster and one wave of tasks."""
RUN_EXTRA_S = 4.0
"""Caches, the look at the output, and publishing of one run. A program that checks the output takes a job's start."""
RESTART_S = 15.0
CONNECT_S = 3.0
"""Reaching the hosts, their environment, and the engine's files, where these are there already."""
HOST_CHECKS_S = 3.0
INSTALL_S = 8.0
"""Bringing the engine's files to hosts of which none has them."""
BASELINE_S = 20.0
"""Devices and links, measured before the first run."""
LAB_S = 10.0
"""Making a lab and removing it."""
STOP_S = 5.0
"""Stopping the daemons after the last run."""
TIMEOUT_FACTOR = 4.0
TIMEOUT_LEAST_S = 300.0
_REACHED_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Overheads:
    """Time of a campaign outside its jobs, in seconds: measured in earlier campaigns if there are any."""

    restart_s: float = RESTART_S
    extra_s: Mapping[str, float] = field(default_factory=dict)
    """By workload: all that is neither the job nor a restart."""
    begin_s: float | None = None
    """From connecting to the first run; None where no campaign on the cluster has told it."""

    def around_job_s(self, planned: PlannedRun) -> float:
        """Return what a run of this workload takes in addition to the job: caches, checks, record."""
        workload = workloads()[planned.workload.name]
        check_s = JOB_START_S if workload.check_program(None) else 0.0
        return self.extra_s.get(planned.workload.key, RUN_EXTRA_S + check_s)


@dataclass(frozen=True, slots=True)
class Expected:
    """A job's expected wall time in seconds, and what says so."""

    duration_s: float
    basis: str


MEASURED_NOWHERE = Overheads()


def around_s(plan: Plan, overheads: Overheads = MEASURED_NOWHERE) -> float:
    """Return what a call takes before its first run and after its last one; nothing where all is computed."""
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


def _on_same_cluster(planned: PlannedRun, plan: Plan, history: Sequence[Run]) -> list[Run]:
    """Return the valid runs of the same engine, workload and layout on the plan's cluster at its scale.

    None for a plan that is simulated: how long computing takes, no run's duration says.
    """
    if plan.cluster.simulated:
        return []
    scale = plan.cluster.lab.scale if plan.cluster.lab else None
    engine = planned.configuration.engine or plan.engine
    wanted = (plan.cluster.name, scale, engine, planned.workload.key, planned.configuration.layout.name)
    return [
        run
        for run in history
        if run.status is RunStatus.VALID
        and run.origin is not Origin.SIMULATED
        and (run.cluster, run.lab_scale, run.engine, run.workload, run.layout) == wanted
    ]


def _bytes(planned: PlannedRun, plan: Plan) -> int:
    return workloads()[planned.workload.name].data_bytes(size_of(planned, plan))


def like_runs(planned: PlannedRun, plan: Plan, history: Sequence[Run]) -> list[Run]:
    """Return the valid runs that share everything with ``planned`` that decides its time."""
    data_bytes = _bytes(planned, plan)
    options = {"program": planned.workload.name, **planned.workload.parameters}
    levels, parameters = planned.configuration.levels, planned.configuration.parameters
    others = {name: level for name, level in levels.items() if name not in parameters}
    return [
        run
        for run in _on_same_cluster(planned, plan, history)
        if run.data_bytes == data_bytes
        and run.workload_parameters == options
        and run.parameters == parameters
        and {name: level for name, level in run.levels.items() if name not in run.parameters} == others
    ]


def expected(planned: PlannedRun, plan: Plan, history: Sequence[Run]) -> Expected:
    """Return how long the job of ``planned`` should take."""
    like = like_runs(planned, plan, history)
    if like:
        return Expected(median(run.duration_s for run in like), f"{len(like)} like run{'s' * (len(like) > 1)}")
    data_bytes = _bytes(planned, plan)
    similar = [run for run in _on_same_cluster(planned, plan, history) if run.data_bytes]
    if similar:
        times = [
            JOB_START_S + max(0.0, run.duration_s - JOB_START_S) * data_bytes / (run.data_bytes or data_bytes)
            for run in similar
        ]
        return Expected(median(times), f"{len(similar)} similar run{'s' * (len(similar) > 1)}")
    return Expected(_guess_s(planned, plan), "the devices' bandwidth")


def _guess_s(planned: PlannedRun, plan: Plan) -> float:
    """Return a job's start, and the time in which the devices move what the workload says that it moves."""
    workload, size = workloads()[planned.workload.name], size_of(planned, plan)
    data_bytes = planned.workload.data_bytes * plan.cluster.scale
    moved = workload.moved(size, planned.configuration.engine or plan.engine)
    read, written = moved.read + moved.shuffled, moved.shuffled + moved.written * workload.output_copies(size)
    return JOB_START_S + _devices_s(planned, plan, data_bytes * read, data_bytes * written)


def _devices_s(planned: PlannedRun, plan: Plan, read_bytes: float, written_bytes: float) -> float:
    """Return how long the devices of the run's layout take to move the bytes of all workers."""
    worker = plan.cluster.workers[0].type
    used = [device for device in worker.devices if device.name in planned.configuration.layout.devices()]
    share = plan.cluster.scale * (planned.configuration.workers or len(plan.cluster.workers)) * _REACHED_SHARE
    reads = sum(device.read_bytes_per_s for device in used) * share
    writes = sum(device.write_bytes_per_s for device in used) * share
    return read_bytes / reads + written_bytes / writes


def inputs_s(runs: Iterable[PlannedRun], plan: Plan, there: Collection[Key]) -> list[float]:
    """Return for each run, in order, how long the making of the inputs should take that are not there by then."""
    listed = list(runs)
    made = newly_made(listed, plan, there)
    return [sum(_making_s(input_, run, plan) for input_ in new) for run, new in zip(listed, made, strict=True)]


def _making_s(kept: CachedDataset, planned: PlannedRun, plan: Plan) -> float:
    """Return how long the making of one input should take: written, and where it is sorted first read and shuffled."""
    read, shuffled = (2, 1) if kept.is_sorted else (0, 0)
    written = kept.data_bytes * (shuffled + kept.copies)
    return JOB_START_S + _devices_s(planned, plan, kept.data_bytes * read, written)


def inputs_there(runs: Iterable[PlannedRun], plan: Plan, history: Sequence[Run]) -> frozenset[Key]:
    """Return the inputs that like runs have left on the plan's hosts; none in a lab, whose disks end with it."""
    if plan.cluster.placement is Placement.LAB:
        return frozenset()
    distinct = {run.key[:2]: run for run in runs}.values()
    return frozenset(kept.key for run in distinct if like_runs(run, plan, history) for kept in kept_by(run, plan))


def expected_s(
    planned: PlannedRun, plan: Plan, history: Sequence[Run], overheads: Overheads = MEASURED_NOWHERE
) -> float:
    """Return the expected wall time of one run, its overhead included, in seconds; a restart is not."""
    return expected(planned, plan, history).duration_s + overheads.around_job_s(planned)


def remaining_s(
    left: Sequence[PlannedRun],
    plan: Plan,
    history: Sequence[Run],
    overheads: Overheads = MEASURED_NOWHERE,
    there: Collection[Key] = (),
    running: Configuration | None = None,
) -> float:
    """Return the expected time for all of ``left``: restarts between groups of configurations are included, and the
    making of inputs that are not ``there``. ``running``: the configuration that the daemons have now.
    """
    starts = sum(reason is not None for reason in restarts(left, plan, running))
    one_s: dict[tuple[str, str], float] = {}
    for run in left:
        if run.key[:2] not in one_s:
            one_s[run.key[:2]] = expected_s(run, plan, history, overheads)
    making_s = sum(inputs_s(left, plan, there))
    return sum(one_s[run.key[:2]] for run in left) + making_s + starts * overheads.restart_s


def time_limit(planned: PlannedRun, plan: Plan, history: Sequence[Run]) -> TimeLimit:
    """Return how long a run may take: what the plan says, else a generous multiple of what like runs took; less where
    it would be hopeless by then.
    """
    limit = _time_limit(planned, plan, history)
    if planned.at_most_s is None or planned.at_most_s >= limit.seconds:
        return limit
    return TimeLimit(planned.at_most_s, "far slower than the fastest run so far")


def _time_limit(planned: PlannedRun, plan: Plan, history: Sequence[Run]) -> TimeLimit:
    if plan.timeout_s is not None:
        return TimeLimit(plan.timeout_s, "the plan's timeout")
    like = like_runs(planned, plan, history)
    if not like:
        return NO_HISTORY
    longest_s = max(run.duration_s for run in like)
    of = f"the longest of {len(like)} like run{'s' * (len(like) > 1)} ({format_duration(longest_s)})"
    if TIMEOUT_FACTOR * longest_s <= TIMEOUT_LEAST_S:
        return TimeLimit(TIMEOUT_LEAST_S, f"the least there is, {TIMEOUT_FACTOR:.0f} × {of} is less")
    return TimeLimit(TIMEOUT_FACTOR * longest_s, f"{TIMEOUT_FACTOR:.0f} × {of}")
