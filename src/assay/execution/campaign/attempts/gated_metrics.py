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
    streams = validation.streams if validation else ()
    origin_s = started_unix_s if streams else 0.0
    aggregate = gated_aggregate(streams) if streams else gated_aggregate(transfers(tasks, workload.streamed_bytes))
    source = "counters of each stream" if streams else _TASK_SOURCE
    if aggregate is None:
        return {}, source
    for slot in aggregate.curve:
        row = {"concurrency": slot.concurrency, "bytes_per_s": slot.bytes_per_s, "counted": float(slot.counted)}
        for metric, value in row.items():
            trace.append(slot.start_s - origin_s, _NODE, _SUBJECT, metric, counter=False, value=value)
    metrics = {
        GATED_AGGREGATE: aggregate.mean_mb_per_s,
        "gated_aggregate_stddev_mb_per_s": aggregate.stddev_mb_per_s,
        "gated_aggregate_slots": aggregate.slots,
        "gated_aggregate_slots_total": aggregate.slots_total,
        "concurrency_max": aggregate.concurrency_max,
    }
    return metrics, source
