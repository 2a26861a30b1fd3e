"""Compute an application's metrics, as sums over its task attempts, and its phases from its stages.

In: an :class:`Application`. Out: metrics by name, with the unit last in the name, and phases in seconds. Shuffle write
time is the time of Spark's writes, including writes to the page cache. Fetch wait time is the time for which fetches of
a shuffle blocked tasks. Spark does not measure the time of spills and of reads from HDFS.
"""

from typing import Final

from assay.model import CodedWarning, Phase, WarningCode
from assay.store.formats.spark.events import Application

_METRICS: Final = {
    "executor_run_s": ("run_ms", 1000),
    "cpu_s": ("cpu_ns", 1_000_000_000),
    "gc_s": ("gc_ms", 1000),
    "input_bytes": ("input_bytes", 1),
    "output_bytes": ("output_bytes", 1),
    "shuffle_read_bytes": ("shuffle_read_bytes", 1),
    "shuffle_remote_read_bytes": ("shuffle_remote_read_bytes", 1),
    "shuffle_write_bytes": ("shuffle_write_bytes", 1),
    "shuffle_fetch_wait_s": ("shuffle_wait_ms", 1000),
    "shuffle_write_s": ("shuffle_write_ns", 1_000_000_000),
    "memory_spilled_bytes": ("memory_spilled_bytes", 1),
    "disk_spilled_bytes": ("disk_spilled_bytes", 1),
}
"""Metric to its total and divisor."""


def metrics_of(application: Application) -> tuple[dict[str, float], list[CodedWarning]]:
    """Return the sums over all attempts, and a warning for each impossible sum."""
    metrics: dict[str, float] = {}
    warnings: list[CodedWarning] = []
    for metric, (total, divisor) in _METRICS.items():
        value = application.totals.get(total)
        if value is not None and value < 0:
            message = f"the tasks' {metric} add up to {value / divisor}: left out"
            warnings.append(CodedWarning(WarningCode.LEFT_OUT, message))
        elif value is not None:
            metrics[metric] = value / divisor
    metrics["jobs"] = len(application.jobs)
    metrics["stages"] = len(application.stages)
    metrics["tasks"] = application.tasks.distinct_tasks()
    metrics["task_attempts_failed"] = application.tasks.statuses()["failed"]
    if application.executor_cores:
        metrics["executors"] = len(application.executor_cores)
    return metrics, warnings


def phases_of(application: Application, duration_s: float, begin_s: float = 0.0) -> tuple[Phase, ...]:
    """Return setup (until the first stage begins), each stage attempt that ran, and cleanup (after the last).

    All times count from the application's start. ``begin_s`` is the start of setup, below 0 if a client ran before.
    """
    stage_runs = [
        (stage, stage.start_s, stage.end_s)
        for stage in application.stages
        if stage.start_s is not None and stage.end_s is not None and 0 <= stage.start_s <= stage.end_s
    ]
    if not stage_runs:
        return (Phase("setup", begin_s, duration_s),)
    stage_runs.sort(key=lambda stage_run: (stage_run[1], stage_run[0].stage_id, stage_run[0].attempt))
    first_s, last_s = stage_runs[0][1], max(end_s for _, _, end_s in stage_runs)
    stages = (
        Phase(f"stage {stage.stage_id}" + (f".{stage.attempt}" if stage.attempt else ""), start_s, end_s)
        for stage, start_s, end_s in stage_runs
    )
    return (Phase("setup", begin_s, first_s), *stages, Phase("cleanup", last_s, max(last_s, duration_s)))
