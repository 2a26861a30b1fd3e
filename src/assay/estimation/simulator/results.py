"""Convert a simulation's result to the parts of a run: jobs, attempts, phases, a trace, and counters under Hadoop's
names.

In: the simulator's result with its traces. Out: :class:`SimulatedRun`. Times are in seconds from the run's start.
Counters have Hadoop's names, so that every view of measured runs also shows simulated runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from assay.estimation.simulator.process import SimulationResult
from assay.model import Executor, Job, Phase, Stage, TaskAttempt, Trace

_FILES = "org.apache.hadoop.mapreduce.FileSystemCounter"
_TASKS = "org.apache.hadoop.mapreduce.TaskCounter"
_JOBS = "org.apache.hadoop.mapreduce.JobCounter"
_PHASES = {"sort": "merge"}
"""Phase name of the simulator to phase name of runs, if they differ."""


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """The parts of a run that a simulation produces."""

    duration_s: float
    jobs: tuple[Job, ...]
    tasks: tuple[TaskAttempt, ...]
    phases: tuple[Phase, ...]
    trace: Trace
    stages: tuple[Stage, ...] = ()
    executors: tuple[Executor, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)


def read_result(simulated: SimulationResult, pool_cores: float | None = None) -> SimulatedRun:
    """Return the parts of a run. ``pool_cores``: cores of the machine that a lab's nodes share."""
    tree = simulated.tree
    tasks = tuple(_tasks(tree["task_columns"])) if "task_columns" in tree else ()
    by_job: dict[str, list[TaskAttempt]] = {}
    for task in tasks:
        by_job.setdefault(task.job_id, []).append(task)
    jobs = tuple(_job(job, by_job.get(str(job["name"]), []), tree) for job in tree.get("jobs", ()))
    last_job = jobs[-1].job_id if jobs else ""
    first_s = min((task.start_s for task in by_job.get(last_job, ())), default=0.0)
    phases = [
        Phase(_phase(phase, first_s), phase["start_s"], phase["end_s"])
        for phase in tree.get("phases", ())
        if phase.get("job") in (None, last_job) and phase["end_s"] > phase["start_s"]
    ]
    return SimulatedRun(simulated.duration_s, jobs, tasks, tuple(phases), _trace(tree, pool_cores))


def _phase(phase: Mapping[str, Any], first_s: float) -> str:
    """Return a phase's name in runs: setup before the first task (``first_s``), cleanup after the last."""
    name = str(phase["name"])
    if name == "overhead":
        return "setup" if float(phase["start_s"]) < first_s else "cleanup"
    return _PHASES.get(name, name)


_COLUMNS = (
    "stage",
    "index",
    "attempt",
    "node",
    "status",
    "start_s",
    "end_s",
    "shuffle_end_s",
    "sort_end_s",
    "dfs_read_bytes",
    "dfs_write_bytes",
    "intermediate_read_bytes",
    "intermediate_write_bytes",
    "cpu_s",
)


def _tasks(columns: Mapping[str, Any]) -> Iterator[TaskAttempt]:
    stages = [(str(stage["job"]), str(stage["kind"])) for stage in columns["stages"]]
    nodes, statuses = columns["nodes"], columns["statuses"]
    for stage, index, attempt, node, status, start_s, end_s, shuffle_end_s, sort_end_s, *amounts in zip(
        *(columns[name] for name in _COLUMNS), strict=True
    ):
        job, kind = stages[stage]
        name = f"{job}_{kind[0]}_{index:06d}"
        fetches = kind == "reduce" and shuffle_end_s > 0
        hdfs_read, hdfs_write, local_read, local_write, cpu_s = amounts
        yield TaskAttempt(
            job_id=job,
            task_id=f"task_{name}",
            attempt_id=f"attempt_{name}_{attempt}",
            kind=kind,
            node=nodes[node],
            status=statuses[status],
            start_s=float(start_s),
            end_s=float(end_s),
            shuffle_end_s=shuffle_end_s if fetches else None,
            merge_end_s=sort_end_s if fetches else None,
            hdfs_read_bytes=round(hdfs_read),
            hdfs_write_bytes=round(hdfs_write),
            local_read_bytes=round(local_read),
            local_write_bytes=round(local_write),
            spilled_records=None,
            cpu_s=cpu_s,
            gc_s=None,
        )


def _job(tree_job: Mapping[str, Any], tasks: Sequence[TaskAttempt], tree: Mapping[str, Any]) -> Job:
    name = str(tree_job["name"])
    counts = {kind: sum(stage["tasks"] for stage in tree_job["stages"] if stage["kind"] == kind) for kind in _KINDS}
    return Job(
        job_id=name,
        name=name,
        status="succeeded",
        submit_s=float(tree_job["submit_s"]),
        launch_s=float(tree_job["start_s"]),
        finish_s=float(tree_job["end_s"]),
        maps=counts["map"],
        reduces=counts["reduce"],
        counters=_counters(tasks, tree, len(tree.get("jobs", ()))),
    )


_KINDS = ("map", "reduce")


def _counters(tasks: Sequence[TaskAttempt], tree: Mapping[str, Any], jobs: int) -> dict[str, dict[str, int]]:
    totals: Mapping[str, float] = tree.get("counters", {})
    shuffle_bytes = round(totals.get("shuffle_bytes", 0) / max(1, jobs))
    return {
        _FILES: {
            "HDFS_BYTES_READ": sum(task.hdfs_read_bytes for task in tasks),
            "HDFS_BYTES_WRITTEN": sum(task.hdfs_write_bytes for task in tasks),
            "FILE_BYTES_READ": sum(task.local_read_bytes for task in tasks),
            "FILE_BYTES_WRITTEN": sum(task.local_write_bytes for task in tasks),
        },
        _TASKS: {
            "REDUCE_SHUFFLE_BYTES": shuffle_bytes,
            "MAP_OUTPUT_BYTES": shuffle_bytes,
            "CPU_MILLISECONDS": round(1000 * sum(task.cpu_s or 0.0 for task in tasks)),
        },
        _JOBS: {
            "TOTAL_LAUNCHED_MAPS": sum(task.kind == "map" for task in tasks),
            "DATA_LOCAL_MAPS": round(totals.get("local_maps", 0) / max(1, jobs)),
            "RACK_LOCAL_MAPS": round(totals.get("rack_maps", 0) / max(1, jobs)),
        },
    }


def groups_of_nodes(tree: Mapping[str, Any]) -> dict[str, str]:
    """Return the group of nodes that each node was observed with; empty if each was observed alone."""
    groups = tree.get("node_groups")
    if groups is None:
        return {}
    nodes, pairs = iter(tree["task_columns"]["nodes"]), iter(groups["in_a_row"])
    return {
        node: groups["names"][group] for group, count in zip(pairs, pairs, strict=True) for node in islice(nodes, count)
    }


def _trace(tree: Mapping[str, Any], pool_cores: float | None) -> Trace:
    trace = Trace()
    times = [float(t_s) for t_s in tree.get("trace_t_s", ())]
    cpu_s_by_node: dict[str, list[float]] = {}
    for series in tree.get("traces", ()):
        node, subject, metric = str(series["node"]), str(series["subject"]), str(series["metric"])
        values = [float(value) for value in series["values"]]
        if subject == "cpu" and pool_cores is not None:
            if metric == "user_s":
                cpu_s_by_node[node] = values
            continue
        trace.append_series(times, values, node, subject, metric, counter=bool(series["counter"]))
    if pool_cores is not None:
        _add_shared_cpu(trace, times, cpu_s_by_node, pool_cores)
    return trace


def _add_shared_cpu(trace: Trace, times: list[float], cpu_s_by_node: Mapping[str, list[float]], cores: float) -> None:
    """Add the CPU series of a lab's nodes: for each node the CPU time of the whole machine, and that of its control
    group."""
    machine_cpu_s = [sum(values) for values in zip(*cpu_s_by_node.values(), strict=True)]
    idle_s = [max(0.0, cores * t_s - busy_s) for t_s, busy_s in zip(times, machine_cpu_s, strict=True)]
    for node, node_cpu_s in cpu_s_by_node.items():
        trace.append_series(times, node_cpu_s, node, "cgroup", "cpu_s", counter=True)
        trace.append_series(times, machine_cpu_s, node, "cpu", "user_s", counter=True)
        trace.append_series(times, idle_s, node, "cpu", "idle_s", counter=True)
        trace.append_series(times, [cores] * len(times), node, "cpu", "cores", counter=False)
