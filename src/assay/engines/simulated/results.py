"""A simulation's result in the words of runs: jobs, attempts, phases, a trace, and counters under Hadoop's names.

In: the simulator's result with its traces. Out: :class:`Told`. Times are in seconds from the run's start. Counters
carry the names that Hadoop gives them, so that every view of a measured run is one of a simulated run too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.engines.simulated.process import Simulated
from assay.model import Executor, Job, Phase, Stage, Task, Trace

_FILES = "org.apache.hadoop.mapreduce.FileSystemCounter"
_TASKS = "org.apache.hadoop.mapreduce.TaskCounter"
_JOBS = "org.apache.hadoop.mapreduce.JobCounter"
_PHASES = {"sort": "merge"}
"""The simulator's names of phases to those of runs, where they differ."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a simulation says of a run."""

    duration_s: float
    jobs: tuple[Job, ...]
    tasks: tuple[Task, ...]
    phases: tuple[Phase, ...]
    trace: Trace
    stages: tuple[Stage, ...] = ()
    executors: tuple[Executor, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)


def told(simulated: Simulated, pool_cores: float | None = None) -> Told:
    """Return the result as a run has it. ``pool_cores``: of the machine that a lab's nodes share."""
    tree = simulated.tree
    tasks = tuple(_task(each, number) for number, each in enumerate(tree.get("tasks", ())))
    jobs = tuple(_job(each, tasks, tree) for each in tree.get("jobs", ()))
    last = jobs[-1].job_id if jobs else ""
    first_s = min((task.start_s for task in tasks if task.job_id == last), default=0.0)
    phases = [
        Phase(_phase(each, first_s), each["start_s"], each["end_s"])
        for each in tree.get("phases", ())
        if each.get("job") in (None, last) and each["end_s"] > each["start_s"]
    ]
    return Told(simulated.duration_s, jobs, tasks, tuple(phases), _trace(tree, pool_cores))


def _phase(each: Mapping[str, Any], first_s: float) -> str:
    """Return what runs call a phase; around all tasks, which begin at ``first_s``, it is setup and cleanup."""
    name = str(each["name"])
    if name == "overhead":
        return "setup" if float(each["start_s"]) < first_s else "cleanup"
    return _PHASES.get(name, name)


def _task(each: Mapping[str, Any], number: int) -> Task:
    counted: Mapping[str, float] = each.get("counters", {})
    job, kind = str(each["job"]), str(each["kind"])
    name = f"{job}_{kind[0]}_{int(each.get('index', number)):06d}"
    reduces = kind == "reduce"
    return Task(
        job_id=job,
        task_id=f"task_{name}",
        attempt_id=f"attempt_{name}_{int(each.get('attempt', 0))}",
        kind=kind,
        node=str(each["node"]),
        status=str(each.get("status", "succeeded")),
        start_s=float(each["start_s"]),
        end_s=float(each["end_s"]),
        shuffle_end_s=each.get("shuffle_end_s") if reduces else None,
        merge_end_s=each.get("sort_end_s") if reduces else None,
        hdfs_read_bytes=round(counted.get("dfs_read_bytes", 0)),
        hdfs_write_bytes=round(counted.get("dfs_write_bytes", 0)),
        local_read_bytes=round(counted.get("intermediate_read_bytes", 0)),
        local_write_bytes=round(counted.get("intermediate_write_bytes", 0)),
        spilled_records=None,
        cpu_s=counted.get("cpu_s"),
        gc_s=None,
    )


def _job(each: Mapping[str, Any], tasks: tuple[Task, ...], tree: Mapping[str, Any]) -> Job:
    name = str(each["name"])
    own = [task for task in tasks if task.job_id == name]
    counts = {kind: sum(stage["tasks"] for stage in each["stages"] if stage["kind"] == kind) for kind in _KINDS}
    return Job(
        job_id=name,
        name=name,
        status="succeeded",
        submit_s=float(each["submit_s"]),
        launch_s=float(each["start_s"]),
        finish_s=float(each["end_s"]),
        maps=counts["map"],
        reduces=counts["reduce"],
        counters=_counters(own, tree, len(tree.get("jobs", ()))),
    )


_KINDS = ("map", "reduce")


def _counters(own: list[Task], tree: Mapping[str, Any], jobs: int) -> dict[str, dict[str, int]]:
    every: Mapping[str, float] = tree.get("counters", {})
    maps = [task for task in own if task.kind == "map"]
    shuffled = round(every.get("shuffle_bytes", 0) / max(1, jobs))
    return {
        _FILES: {
            "HDFS_BYTES_READ": sum(task.hdfs_read_bytes for task in own),
            "HDFS_BYTES_WRITTEN": sum(task.hdfs_write_bytes for task in own),
            "FILE_BYTES_READ": sum(task.local_read_bytes for task in own),
            "FILE_BYTES_WRITTEN": sum(task.local_write_bytes for task in own),
        },
        _TASKS: {
            "REDUCE_SHUFFLE_BYTES": shuffled,
            "MAP_OUTPUT_BYTES": shuffled,
            "CPU_MILLISECONDS": round(1000 * sum(task.cpu_s or 0.0 for task in own)),
        },
        _JOBS: {
            "TOTAL_LAUNCHED_MAPS": len(maps),
            "DATA_LOCAL_MAPS": round(every.get("local_maps", 0) / max(1, jobs)),
            "RACK_LOCAL_MAPS": round(every.get("rack_maps", 0) / max(1, jobs)),
        },
    }


def _trace(tree: Mapping[str, Any], pool_cores: float | None) -> Trace:
    trace = Trace()
    times = [float(t_s) for t_s in tree.get("trace_t_s", ())]
    used: dict[str, list[float]] = {}
    for series in tree.get("traces", ()):
        node, subject, metric = str(series["node"]), str(series["subject"]), str(series["metric"])
        values = [float(value) for value in series["values"]]
        if subject == "cpu" and pool_cores is not None:
            if metric == "user_s":
                used[node] = values
            continue
        _add(trace, times, values, (node, subject, metric), counter=bool(series["counter"]))
    if pool_cores is not None:
        _add_shared_cpu(trace, times, used, pool_cores)
    return trace


def _add_shared_cpu(trace: Trace, times: list[float], used: Mapping[str, list[float]], cores: float) -> None:
    """Add what a lab's nodes show: each the machine's CPU, and its own share of it as its control group's."""
    together = [sum(values) for values in zip(*used.values(), strict=True)]
    idle = [max(0.0, cores * t_s - busy_s) for t_s, busy_s in zip(times, together, strict=True)]
    for node, own in used.items():
        _add(trace, times, own, (node, "cgroup", "cpu_s"), counter=True)
        _add(trace, times, together, (node, "cpu", "user_s"), counter=True)
        _add(trace, times, idle, (node, "cpu", "idle_s"), counter=True)
        _add(trace, times, [cores] * len(times), (node, "cpu", "cores"), counter=False)


def _add(trace: Trace, times: list[float], values: list[float], name: tuple[str, str, str], *, counter: bool) -> None:
    for t_s, value in zip(times, values, strict=True):
        trace.append(t_s, *name, counter=counter, value=value)
