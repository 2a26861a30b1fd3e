"""Write job histories in both encodings."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro

NAMESPACE = "org.apache.hadoop.mapreduce.jobhistory"
SUBMIT_MS = 1_700_000_000_000
TYPES = [
    "AM_STARTED",
    "JOB_SUBMITTED",
    "JOB_INITED",
    "JOB_FINISHED",
    "JOB_FAILED",
    "JOB_KILLED",
    "TASK_STARTED",
    "TASK_FINISHED",
    "TASK_FAILED",
    "MAP_ATTEMPT_STARTED",
    "MAP_ATTEMPT_FINISHED",
    "MAP_ATTEMPT_FAILED",
    "MAP_ATTEMPT_KILLED",
    "REDUCE_ATTEMPT_STARTED",
    "REDUCE_ATTEMPT_FINISHED",
    "NEW_IN_HADOOP_9",
]
COUNTERS = {
    "type": "record",
    "name": "JhCounters",
    "fields": [
        {"name": "name", "type": "string"},
        {
            "name": "groups",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "JhCounterGroup",
                    "fields": [
                        {"name": "name", "type": "string"},
                        {"name": "displayName", "type": "string"},
                        {
                            "name": "counts",
                            "type": {
                                "type": "array",
                                "items": {
                                    "type": "record",
                                    "name": "JhCounter",
                                    "fields": [
                                        {"name": "name", "type": "string"},
                                        {"name": "displayName", "type": "string"},
                                        {"name": "value", "type": "long"},
                                    ],
                                },
                            },
                        },
                    ],
                },
            },
        },
    ],
}
OPTIONAL_TEXT = ["null", "string"]
RECORDS: dict[str, dict[str, Any]] = {
    "JobFinished": {
        "jobid": "string",
        "finishTime": "long",
        "finishedMaps": "int",
        "finishedReduces": "int",
        "failedMaps": "int",
        "failedReduces": "int",
        "totalCounters": COUNTERS,
    },
    "JobSubmitted": {
        "jobid": "string",
        "jobName": "string",
        "userName": "string",
        "submitTime": "long",
        "workflowId": OPTIONAL_TEXT,
    },
    "JobInited": {"jobid": "string", "launchTime": "long", "totalMaps": "int", "totalReduces": "int"},
    "JobUnsuccessfulCompletion": {
        "jobid": "string",
        "finishTime": "long",
        "finishedMaps": "int",
        "finishedReduces": "int",
        "jobStatus": "string",
        "diagnostics": OPTIONAL_TEXT,
    },
    "TaskAttemptStarted": {"taskid": "string", "attemptId": "string", "startTime": "long", "trackerName": "string"},
    "MapAttemptFinished": {
        "taskid": "string",
        "attemptId": "string",
        "mapFinishTime": "long",
        "finishTime": "long",
        "hostname": "string",
        "counters": "JhCounters",
    },
    "ReduceAttemptFinished": {
        "taskid": "string",
        "attemptId": "string",
        "shuffleFinishTime": "long",
        "sortFinishTime": "long",
        "finishTime": "long",
        "hostname": "string",
        "counters": "JhCounters",
    },
    "TaskAttemptUnsuccessfulCompletion": {
        "taskid": "string",
        "attemptId": "string",
        "finishTime": "long",
        "hostname": "string",
        "error": "string",
        "counters": ["null", "JhCounters"],
    },
    "TaskFailed": {"taskid": "string", "taskType": "string", "finishTime": "long", "error": "string"},
    "Novelty": {"anything": {"type": "map", "values": "string"}},
}
SCHEMA = {
    "type": "record",
    "name": "Event",
    "namespace": NAMESPACE,
    "fields": [
        {"name": "type", "type": {"type": "enum", "name": "EventType", "symbols": TYPES}},
        {
            "name": "event",
            "type": [
                {
                    "type": "record",
                    "name": name,
                    "fields": [{"name": key, "type": kind} for key, kind in fields.items()],
                }
                for name, fields in RECORDS.items()
            ],
        },
    ],
}

Events = list[tuple[str, str, dict[str, Any]]]
"""Event type, record name, fields."""


def counters(files: dict[str, int] | None = None, tasks: dict[str, int] | None = None) -> dict[str, Any]:
    """Return counters of the two groups of Hadoop's own."""
    groups = {"FileSystemCounter": files or {}, "TaskCounter": tasks or {}}
    return {
        "name": "COUNTERS",
        "groups": [
            {
                "name": f"org.apache.hadoop.mapreduce.{group}",
                "displayName": group,
                "counts": [
                    {"name": name, "displayName": name.lower(), "value": value} for name, value in values.items()
                ],
            }
            for group, values in groups.items()
        ],
    }


def sort_job() -> Events:
    """Return a job of two maps, one with a failed first attempt, and two reducers; times in ms after SUBMIT_MS."""

    def at(ms: int) -> int:
        return SUBMIT_MS + ms

    def started(kind: str, attempt: str, ms: int, node: str) -> tuple[str, str, dict[str, Any]]:
        fields = {
            "taskid": f"task_1_{attempt[:-2]}",
            "attemptId": f"attempt_1_{attempt}",
            "startTime": at(ms),
            "trackerName": node,
        }
        return (f"{kind}_ATTEMPT_STARTED", "TaskAttemptStarted", fields)

    def mapped(attempt: str, ms: int, node: str) -> tuple[str, str, dict[str, Any]]:
        counts = counters(
            {"HDFS_BYTES_READ": 1000, "FILE_BYTES_WRITTEN": 900},
            {"SPILLED_RECORDS": 10, "CPU_MILLISECONDS": 1500, "GC_TIME_MILLIS": 40},
        )
        fields = {
            "taskid": f"task_1_{attempt[:-2]}",
            "attemptId": f"attempt_1_{attempt}",
            "mapFinishTime": at(ms - 1),
            "finishTime": at(ms),
            "hostname": node,
            "counters": counts,
        }
        return ("MAP_ATTEMPT_FINISHED", "MapAttemptFinished", fields)

    def reduced(attempt: str, shuffle: int, merge: int, ms: int) -> tuple[str, str, dict[str, Any]]:
        counts = counters({"HDFS_BYTES_WRITTEN": 990, "FILE_BYTES_READ": 900}, {})
        fields = {
            "taskid": f"task_1_{attempt[:-2]}",
            "attemptId": f"attempt_1_{attempt}",
            "shuffleFinishTime": at(shuffle),
            "sortFinishTime": at(merge),
            "finishTime": at(ms),
            "hostname": "w1",
            "counters": counts,
        }
        return ("REDUCE_ATTEMPT_FINISHED", "ReduceAttemptFinished", fields)

    failed = {
        "taskid": "task_1_m_0",
        "attemptId": "attempt_1_m_0_0",
        "finishTime": at(4000),
        "hostname": "w2",
        "error": "disk broke",
        "counters": None,
    }
    return [
        (
            "JOB_SUBMITTED",
            "JobSubmitted",
            {"jobid": "job_1", "jobName": "TeraSort", "userName": "ann", "submitTime": at(0), "workflowId": None},
        ),
        ("JOB_INITED", "JobInited", {"jobid": "job_1", "launchTime": at(1500), "totalMaps": 2, "totalReduces": 2}),
        ("NEW_IN_HADOOP_9", "Novelty", {"anything": {"a.b": "c"}}),
        started("MAP", "m_0_0", 2000, "w2"),
        started("MAP", "m_1_0", 2500, "w1"),
        ("MAP_ATTEMPT_FAILED", "TaskAttemptUnsuccessfulCompletion", failed),
        started("MAP", "m_0_1", 4500, "w1"),
        started("REDUCE", "r_0_0", 5000, "w1"),
        mapped("m_1_0", 6000, "w1"),
        started("REDUCE", "r_1_0", 6500, "w1"),
        mapped("m_0_1", 8000, "w1"),
        reduced("r_0_0", 9000, 9500, 11000),
        reduced("r_1_0", 10000, 10250, 12000),
        (
            "JOB_FINISHED",
            "JobFinished",
            {
                "jobid": "job_1",
                "finishTime": at(12500),
                "finishedMaps": 2,
                "finishedReduces": 2,
                "failedMaps": 0,
                "failedReduces": 0,
                "totalCounters": counters({"HDFS_BYTES_READ": 2000}, {}),
            },
        ),
    ]


def binary(events: Events) -> bytes:
    """Return ``events`` as a history in Avro's binary encoding."""
    stream = io.BytesIO()
    parsed = fastavro.parse_schema(SCHEMA)
    for kind, record, fields in events:
        fastavro.schemaless_writer(stream, parsed, {"type": kind, "event": (f"{NAMESPACE}.{record}", fields)})
    return b"Avro-Binary\n" + json.dumps(SCHEMA).encode() + b"\n" + stream.getvalue()


def compact_json(events: Events) -> bytes:
    """Return ``events`` as a history in JSON as Hadoop writes it: without blanks."""
    return as_json(events, (",", ":"))


def as_json(events: Events, separators: tuple[str, str] = (", ", ": ")) -> bytes:
    """Return ``events`` as a history in Avro's JSON encoding: values of a union wrapped, an empty line between."""
    lines = ["Avro-Json", json.dumps(SCHEMA)]
    for kind, record, fields in events:
        wrapped = {name: _wrapped(value, RECORDS[record][name]) for name, value in fields.items()}
        event = {"type": kind, "event": {f"{NAMESPACE}.{record}": wrapped}}
        lines.append(json.dumps(event, separators=separators) + "\n")
    return "\n".join(lines).encode()


def _wrapped(value: Any, kind: Any) -> Any:
    if not isinstance(kind, list) or value is None:
        return value
    return {"string" if kind[1] == "string" else f"{NAMESPACE}.{kind[1]}": value}
