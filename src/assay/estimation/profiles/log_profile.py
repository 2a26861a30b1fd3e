"""Learn the profile of one job from its logs, for clusters of other sizes and for more data.

In: measured runs of the same job with their task attempts, as read from logs, and the growth of the data. Out: a
:class:`~assay.model.plans.cost_profile.CostProfile` with one workload. Tasks that read the input grow in number
with the data; the number of the others stays as configured. Few logs give wide intervals.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from assay.estimation.profiles.learning import ObservedRun, learned_profile
from assay.model import CostProfile, Job, Run, StageProfile, TaskAttempt, Uncertain

FEW_LOGS_FACTOR = 2.0
"""Half-width of the 90 % interval of the costs of a job that is known from one log, as a factor. It shrinks with the
square root of the number of logs until the spread between logs is larger."""


def data_bytes_of(run: Run) -> int:
    """Return the size of a run's data: as recorded, else the bytes that stages without parents read, else the largest
    amount that it shuffled or wrote; 0 if the log counts no bytes.
    """
    if run.data_bytes:
        return run.data_bytes
    stages = [stage for stage in run.stages if stage.failure is None]
    read = sum(stage.read_bytes for stage in stages)
    moved = (sum(stage.shuffle_write_bytes for stage in stages), sum(stage.written_bytes for stage in stages))
    return read or max(moved, default=0)


def log_profile(
    logs: Sequence[tuple[Run, Sequence[TaskAttempt]]], workload: str, growth: float, name: str
) -> CostProfile:
    """Return the profile of the runs under the name ``workload``. Raises SpecificationError if none can be used."""
    observed_runs = [
        ObservedRun(
            replace(run, workload=workload, data_bytes=data_bytes_of(run), jobs=run.jobs or _jobs(tasks)), tasks
        )
        for run, tasks in logs
    ]
    profile = learned_profile(observed_runs, name)
    costs = profile.workloads[workload]
    grown_costs = replace(
        costs,
        maps=_grown(costs.maps, max(_count(run, "map") for run, _ in logs), growth),
        map_cpu_s_per_byte=_widened(costs.map_cpu_s_per_byte, len(logs)),
        reduce_cpu_s_per_byte=_widened(costs.reduce_cpu_s_per_byte, len(logs)),
        stages=tuple(_grown_stage(stage, growth, len(logs)) for stage in costs.stages),
    )
    nodes = max(len({task.node for task in tasks if task.node}) for _, tasks in logs)
    engine_costs = replace(
        profile.costs,
        job_start_s=_widened(profile.costs.job_start_s, len(logs)),
        task_cpu_s=_widened(profile.costs.task_cpu_s, len(logs)),
    )
    return replace(
        profile,
        costs=engine_costs,
        workloads={workload: grown_costs},
        learned=replace(profile.learned, source=f"learned from {name}", workers_min=nodes, workers_max=nodes),
    )


def _jobs(tasks: Sequence[TaskAttempt]) -> tuple[Job, ...]:
    """Return the jobs of an application from the times of their tasks."""
    spans: dict[str, tuple[float, float]] = {}
    for task in tasks:
        first_s, last_s = spans.get(task.job_id, (math.inf, -math.inf))
        spans[task.job_id] = min(first_s, task.start_s, task.end_s), max(last_s, task.start_s, task.end_s)
    return tuple(
        Job(job_id=job_id, name="", status="succeeded", submit_s=first, launch_s=None, finish_s=last, maps=0, reduces=0)
        for job_id, (first, last) in sorted(spans.items(), key=lambda span: (span[1], span[0]))
    )


def _count(run: Run, kind: str) -> int:
    return int(run.metrics.get(f"{kind}_tasks", 0))


def _grown(rule: str, count: int, growth: float) -> str:
    """Return the number of tasks for the grown data, as text."""
    return str(max(1, math.ceil(count * growth))) if count else rule


def _grown_stage(stage: StageProfile, growth: float, logs: int) -> StageProfile:
    tasks = stage.tasks
    if stage.read and tasks.isdecimal():
        tasks = str(max(1, math.ceil(int(tasks) * growth)))
    return replace(stage, tasks=tasks, cpu_s_per_byte=_widened(stage.cpu_s_per_byte, logs))


def _widened(value: Uncertain, logs: int) -> Uncertain:
    """Return the value with an interval at least as wide as the number of logs permits."""
    factor = FEW_LOGS_FACTOR ** (1 / math.sqrt(logs))
    return Uncertain(value.value, min(value.low, value.value / factor), max(value.high, value.value * factor), value.n)
