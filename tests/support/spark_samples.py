"""Write Spark event logs in the format of Spark's listeners."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from assay.model.runs.imported import ImportedRun
from assay.model.runs.run_status import RunStatus
from assay.store.formats.source import Source
from assay.store.formats.spark.event_import import FORMAT

START_MS = 1_700_000_000_000
Event = dict[str, Any]


def metrics(**more: Any) -> Event:
    """Return a task's metrics, some keys of later versions among them."""
    return {
        "Executor Run Time": 900,
        "Executor CPU Time": 700_000_000,
        "Executor Deserialize CPU Time": 50_000_000,
        "JVM GC Time": 30,
        "Memory Bytes Spilled": 4096,
        "Disk Bytes Spilled": 1024,
        "Peak Execution Memory": 1,
        "Shuffle Read Metrics": {
            "Remote Bytes Read": 300,
            "Local Bytes Read": 200,
            "Fetch Wait Time": 5,
            "Push Based Shuffle": {"Merged Remote Bytes Read": 0},
        },
        "Shuffle Write Metrics": {"Shuffle Bytes Written": 600, "Shuffle Write Time": 2_000_000},
        "Input Metrics": {"Bytes Read": 1000, "Records Read": 10},
        "Output Metrics": {"Bytes Written": 90, "Records Written": 9},
        "Updated Blocks": [],
        **more,
    }


def task_info(task_id: int, index: int, launch: int, finish: int, **more: Any) -> Event:
    return {
        "Task ID": task_id,
        "Index": index,
        "Attempt": 0,
        "Partition ID": index,
        "Launch Time": START_MS + launch,
        "Executor ID": "1",
        "Host": "w1",
        "Finish Time": START_MS + finish if finish else 0,
        "Failed": False,
        "Killed": False,
        "Accumulables": [],
    } | more


def task_start(stage: int, info: Event) -> Event:
    return {"Event": "SparkListenerTaskStart", "Stage ID": stage, "Stage Attempt ID": 0, "Task Info": info}


def task_end(
    stage: int, info: Event, reason: str = "Success", kind: str = "ShuffleMapTask", extra: Event | None = None
) -> Event:
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": stage,
        "Stage Attempt ID": 0,
        "Task Type": kind,
        "Task End Reason": {"Reason": reason},
        "Task Info": info,
        "Task Metrics": extra,
    }


def stage_info(stage: int, tasks: int, begin: int, end: int) -> Event:
    return {
        "Stage ID": stage,
        "Stage Attempt ID": 0,
        "Stage Name": f"map at {stage}",
        "Number of Tasks": tasks,
        "Submission Time": START_MS + begin,
        "Completion Time": START_MS + end,
        "Accumulables": [],
    }


def application() -> list[Event]:
    """Return an application of one job: a stage of two tasks, one of them tried twice, and a stage of one."""
    return [
        {"Event": "SparkListenerLogStart", "Spark Version": "3.5.1"},
        {"Event": "SparkListenerResourceProfileAdded", "Resource Profile Id": 0},
        {
            "Event": "SparkListenerExecutorAdded",
            "Timestamp": START_MS + 500,
            "Executor ID": "1",
            "Executor Info": {"Host": "w1", "Total Cores": 4, "Log Urls": {}},
        },
        {
            "Event": "SparkListenerEnvironmentUpdate",
            "JVM Information": {"Java Version": "17.0.9 (x)"},
            "Spark Properties": {
                "spark.executor.memory": "2G",
                "spark.master": "spark://secret-host:7077",
                "spark.app.name": "x",
                "spark.shuffle.compress": "false",
                "spark.hadoop.dfs.blocksize": "64m",
                "spark.ssl.keyPassword": "hunter2",
                "spark.local.dir": "/home/ann",
                "spark.shuffle.service.port": "7337",
                "spark.io.compression.codec": "*********(redacted)",
                "spark.executor.extraJavaOptions": "-XX:+UseG1GC -Dkey=hunter2 -Xlog:gc:/home/ann",
            },
            "System Properties": {"user.home": "/home/ann"},
            "Classpath Entries": {},
        },
        {
            "Event": "SparkListenerApplicationStart",
            "App Name": "ScalaSort",
            "App ID": "app-1",
            "Timestamp": START_MS,
            "User": "ann",
        },
        {
            "Event": "SparkListenerJobStart",
            "Job ID": 0,
            "Submission Time": START_MS + 1000,
            "Stage IDs": [0, 1],
            "Stage Infos": [],
        },
        {"Event": "SparkListenerStageSubmitted", "Stage Info": stage_info(0, 2, 1000, 4000)},
        task_start(0, task_info(0, 0, 1100, 0)),
        task_start(0, task_info(1, 1, 1200, 0)),
        {"Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart", "executionId": 0},
        task_end(0, task_info(1, 1, 1200, 2000, Failed=True), "ExceptionFailure"),
        task_start(0, task_info(2, 1, 2100, 0, Attempt=1)),
        task_end(0, task_info(0, 0, 1100, 3000), extra=metrics()),
        task_end(0, task_info(2, 1, 2100, 4000, Attempt=1), extra=metrics()),
        {"Event": "SparkListenerStageCompleted", "Stage Info": stage_info(0, 2, 1000, 4000)},
        task_start(1, task_info(3, 0, 4100, 0)),
        task_end(1, task_info(3, 0, 4100, 6000), kind="ResultTask", extra=metrics()),
        {"Event": "SparkListenerStageCompleted", "Stage Info": stage_info(1, 1, 4000, 6000)},
        {
            "Event": "SparkListenerJobEnd",
            "Job ID": 0,
            "Completion Time": START_MS + 6100,
            "Job Result": {"Result": "JobSucceeded"},
        },
        {"Event": "SparkListenerApplicationEnd", "Timestamp": START_MS + 7500},
    ]


def log(events: list[Event]) -> bytes:
    """Return the events as Spark writes them."""
    return b"".join(json.dumps(event, separators=(",", ":")).encode() + b"\n" for event in events)


def check_damaged(content: bytes, path: Path) -> None:
    """Read a damaged log: a run with finite numbers and a time, or a skipped item, and nothing else."""
    path.write_bytes(content)
    FORMAT.recognises(path.name, content[:65536])
    for item in FORMAT.read([Source(path, path.name)]):
        if isinstance(item, ImportedRun):
            assert 0 < item.run.duration_s < math.inf
            assert all(math.isfinite(value) and value >= 0 for value in item.run.metrics.values())
            assert all(phase.duration_s >= 0 for phase in item.run.phases)
            assert (item.run.cause is None) == (item.run.status is RunStatus.VALID)
        else:
            assert item.why
