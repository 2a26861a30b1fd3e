"""Compute a run's concurrency-gated aggregate throughput from stream counters, or from task records if there are none.

Out: metrics in MB/s (10^6 bytes), and their curve as rows of the run's trace. For each second of the run, the curve
holds the number of active streams, their rate in bytes/s, and 1 if the second counted, else 0.
"""

from collections.abc import Iterable

from assay.analysis.run_profile.gated_aggregate import gated_aggregate, transfers
from assay.model import TaskAttempt, Trace
from assay.model.runs.throughput import GATED_AGGREGATE
from assay.workloads.workload import ValidationResult, Workload

_NODE, _SUBJECT = "cluster", "streams"
_TASK_SOURCE = "job history: each task's bytes, spread evenly over its duration"


def gated_metrics(
    tasks: Iterable[TaskAttempt],
    workload: Workload,
    validation: ValidationResult | None,
    started_unix_s: float,
    trace: Trace,
) -> tuple[dict[str, float], str]:
    """Return the aggregate's metrics and their source, and add its curve to ``trace``. The metrics are empty if the
    workload has no aggregate."""
    measured = validation.streams if validation else ()
    origin_s = started_unix_s if measured else 0.0
    gated = gated_aggregate(measured) if measured else gated_aggregate(transfers(tasks, workload.streamed_bytes))
    source = "counters of each stream" if measured else _TASK_SOURCE
    if gated is None:
        return {}, source
    for slot in gated.curve:
        row = {"concurrency": slot.concurrency, "bytes_per_s": slot.bytes_per_s, "counted": float(slot.counted)}
        for metric, value in row.items():
            trace.append(slot.start_s - origin_s, _NODE, _SUBJECT, metric, counter=False, value=value)
    metrics = {
        GATED_AGGREGATE: gated.mean_mb_per_s,
        "gated_aggregate_stddev_mb_per_s": gated.stddev_mb_per_s,
        "gated_aggregate_slots": gated.slots,
        "gated_aggregate_slots_total": gated.slots_total,
        "concurrency_max": gated.concurrency_max,
    }
    return metrics, source
