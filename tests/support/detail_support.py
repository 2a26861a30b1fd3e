"""Make a run on a hybrid layout with two jobs, their attempts, and a trace with known figures."""

from __future__ import annotations

from typing import Any

from assay.model.runs.job import Job
from assay.model.runs.run import Run
from assay.model.runs.task_attempt import TaskAttempt
from assay.model.runs.traces.trace import Trace
from builders import WORKERS, make_run

COUNTERS = {
    "org.apache.hadoop.mapreduce.FileSystemCounter": {
        "HDFS_BYTES_READ": 1000,
        "HDFS_BYTES_WRITTEN": 500,
        "FILE_BYTES_READ": 300,
        "FILE_BYTES_WRITTEN": 700,
    },
    "org.apache.hadoop.mapreduce.JobCounter": {"DATA_LOCAL_MAPS": 3, "RACK_LOCAL_MAPS": 1},
    "org.apache.hadoop.mapreduce.TaskCounter": {
        "MAP_OUTPUT_RECORDS": 10,
        "SPILLED_RECORDS": 25,
        "MAP_OUTPUT_BYTES": 400,
        "REDUCE_SHUFFLE_BYTES": 410,
        "CPU_MILLISECONDS": 9000,
        "GC_TIME_MILLIS": 400,
    },
}


def make_task(number: int, start_s: float, end_s: float, **changes: Any) -> TaskAttempt:
    """Return a map attempt that succeeded; ``kind="reduce"`` with its two times makes it a reduce."""
    kind = changes.pop("kind", "map")
    job = changes.pop("job_id", "job_1_0001")
    name = f"{job.removeprefix('job_')}_{kind[0]}_{number:06d}"
    fields: dict[str, Any] = {
        "node": WORKERS[number % len(WORKERS)],
        "status": "succeeded",
        "shuffle_end_s": None,
        "merge_end_s": None,
        "hdfs_read_bytes": 100,
        "hdfs_write_bytes": 0,
        "local_read_bytes": 0,
        "local_write_bytes": 50,
        "spilled_records": 5,
        "cpu_s": 1.0,
        "gc_s": 0.1,
    } | changes
    return TaskAttempt(job, f"task_{name}", f"attempt_{name}_0", kind, start_s=start_s, end_s=end_s, **fields)


def hybrid_run(**changes: Any) -> Run:
    """Return a run of 40 s: HDFS on ``hdd1``, intermediate data on ``ssd1``, both on ``hdd2``; two jobs."""
    jobs = (
        Job("job_1_0001", "first", "succeeded", 2.0, 3.0, 20.0, 4, 2, COUNTERS),
        Job("job_1_0002", "second", "succeeded", 24.0, None, 38.0, 1, 0),
    )
    layout = {"hdfs": {"hdd1": 1, "hdd2": 1}, "intermediate": {"ssd1": 1, "hdd2": 1}}
    environment = {
        "cluster": {"workers": 3, "worker_names": list(WORKERS), "layout": layout},
        "parameters": {"dfs.replication": "2"},
    }
    fields: dict[str, Any] = {
        "duration_s": 40.0,
        "jobs": jobs,
        "environment": environment,
        "lab_scale": None,
        "workload_parameters": {"program": "terasort"},
    }
    return make_run(**fields | changes)


def hybrid_tasks() -> list[TaskAttempt]:
    """Return the attempts: four maps of which one is slow, one killed, two reduces, and the second job's map."""
    return [
        make_task(0, 4.0, 8.0),
        make_task(1, 4.0, 8.0),
        make_task(2, 4.0, 8.0),
        make_task(3, 4.0, 12.0),
        make_task(4, 9.0, 10.0, status="killed", spilled_records=None, cpu_s=None, gc_s=None),
        make_task(5, 6.0, 18.0, kind="reduce", shuffle_end_s=13.0, merge_end_s=14.0),
        make_task(6, 6.0, 16.0, kind="reduce", shuffle_end_s=13.0, merge_end_s=13.0),
        make_task(7, 26.0, 36.0, job_id="job_1_0002"),
    ]


def hybrid_trace(hdd1_busy_s: float = 20.0) -> Trace:
    """Return two samples a node over 40 s: reads of 128 kB on hdd1, 16 kB on ssd1, and worker1 twice as busy."""
    trace = Trace()
    for node in (*WORKERS, "master"):
        share = 2.0 if node == WORKERS[0] else 1.0
        grown = {
            ("disk:hdd1", "reads"): 1000 * share,
            ("disk:hdd1", "read_bytes"): 128_000_000 * share,
            ("disk:hdd1", "read_s"): 5 * share,
            ("disk:hdd1", "busy_s"): hdd1_busy_s,
            ("disk:hdd1", "queue_s"): 60.0,
            ("disk:hdd1", "writes"): 0.0,
            ("disk:hdd1", "write_bytes"): 0.0,
            ("disk:hdd1", "read_merges"): 250 * share,
            ("disk:ssd1", "reads"): 500.0,
            ("disk:ssd1", "read_bytes"): 8_000_000.0,
            ("disk:ssd1", "writes"): 100.0,
            ("disk:ssd1", "write_bytes"): 6_400_000.0,
            ("disk:hdd2", "writes"): 10.0,
            ("disk:hdd2", "write_bytes"): 640_000.0,
            ("disk:os", "writes"): 10.0,
            ("disk:os", "write_bytes"): 40_000.0,
            ("nic:eth0", "receive_bytes"): 50_000_000.0,
            ("nic:eth0", "transmit_bytes"): 50_000_000.0,
            ("cpu", "user_s"): 20 * share,
            ("cpu", "system_s"): 0.0,
            ("cpu", "irq_s"): 0.0,
            ("cpu", "steal_s"): 0.0,
            ("cpu", "idle_s"): 80 - 20 * share,
            ("cpu", "iowait_s"): 0.0,
        }
        for (subject, metric), value in grown.items():
            if node == "master" and subject.startswith("disk:"):
                continue
            trace.append(0.0, node, subject, metric, counter=True, value=7.0)
            trace.append(40.0, node, subject, metric, counter=True, value=7.0 + value)
    return trace
