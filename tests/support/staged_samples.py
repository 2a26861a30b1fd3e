"""Make Spark runs with two stages whose bytes, CPU and memory are known."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from assay.estimation.profiles.learning import ObservedRun
from assay.model.runs.job import Executor, Job, Stage
from assay.model.runs.origin import Origin
from assay.model.runs.task_attempt import TaskAttempt
from assay.model.runs.traces.trace import Trace
from builders import WORKERS, make_run
from detail_support import make_task

DATA = 100_000_000
MAP_S_PER_BYTE, RESULT_S_PER_BYTE = 4e-8, 6e-8
JVM_S, TASK_S, BYTE_S = 4.0, 0.05, 5e-9
IDLE_S = 0.02
GROWN = 1.2
"""Of a byte of data, what is shuffled."""


def watched_stages(*, codec_left: float | None = None, maps: int = 6, reduces: int = 4, **changes: Any) -> ObservedRun:
    """Return a TeraSort on two executors; ``codec_left`` is the share of shuffled bytes that the codec leaves."""
    shuffled = round(DATA * GROWN * (codec_left or 1.0))
    map_s, result_s = DATA * MAP_S_PER_BYTE / maps + IDLE_S, DATA * GROWN * RESULT_S_PER_BYTE / reduces + IDLE_S
    tasks = (
        *(_task(f"0.0.{n}", 10.2, 20.0, "shuffle_map", map_s) for n in range(maps)),
        *(_task(f"1.0.{n}", 20.1, 30.0, "result", result_s) for n in range(reduces)),
    )
    stages = (
        _stage(0, maps, (), read_bytes=DATA, shuffle_write_bytes=shuffled),
        _stage(1, reduces, (0,), written_bytes=DATA, shuffle_read_bytes=shuffled, peak_memory_bytes=45_000_000),
    )
    disk_bytes = DATA + 2 * DATA + 2 * shuffled
    used_s = 2 * JVM_S + TASK_S * len(tasks) + BYTE_S * disk_bytes + sum(task.cpu_s or 0 for task in tasks)
    trace = Trace()
    for node in WORKERS:
        for t_s, share in ((0.0, 0.0), (10.2, 0.0), (30.0, 1.0), (33.0, 1.0)):
            trace.append(t_s, node, "cgroup", "cpu_s", counter=True, value=share * used_s / len(WORKERS))
            trace.append(t_s, node, "cpu", "user_s", counter=True, value=share * used_s)
    switch = {"spark.shuffle.compress": "false"} if codec_left is None else {"spark.io.compression.codec": "zstd"}
    fields: dict[str, Any] = {
        "origin": Origin.MEASURED,
        "engine": "spark",
        "workload": "terasort",
        "workload_parameters": {"program": "terasort", "maps": str(maps), "reduces": str(reduces)},
        "parameters": {"dfs.replication": "2", **switch},
        "duration_s": 33.0,
        "data_bytes": DATA,
        "lab_scale": 0.05,
        "metrics": {"input_bytes": float(DATA)},
        "jobs": (Job("0", "runJob", "succeeded", 10.0, 10.0, 30.5, maps, reduces),),
        "stages": stages,
        "executors": tuple(Executor(str(n), WORKERS[n], 2, 5, 20.0, 0.0, 0, 0, None) for n in range(2)),
        "environment": {"nodes": {WORKERS[0]: {"hardware": {"cpu": {"model": "EPYC", "logical_cores": 2}}}}},
    }
    return ObservedRun(make_run(**fields | changes), tasks, trace)


def _task(name: str, start_s: float, end_s: float, kind: str, cpu_s: float) -> TaskAttempt:
    number = int(name.rsplit(".", 1)[1])
    return replace(make_task(number, start_s, end_s, kind=kind, cpu_s=cpu_s), job_id="0", task_id=name, attempt_id=name)


def _stage(number: int, tasks: int, parents: tuple[int, ...], **bytes_of: int) -> Stage:
    known = dict.fromkeys(("read_bytes", "written_bytes", "shuffle_read_bytes", "shuffle_write_bytes"), 0)
    given = {**known, "spilled_bytes": 0, "peak_memory_bytes": 0, **bytes_of}
    return Stage(number, 0, f"stage {number}", parents, tasks, 10.0, 30.0, None, gc_s=0.0, **given)
