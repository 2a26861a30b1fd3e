"""Test that the columns of task attempts give the same values as a plain reading of the log, event by event."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spark_samples as samples
from assay.model import TaskAttempt
from assay.store.formats.spark import attempts as attempts_module
from assay.store.formats.spark.attempts import AttemptNumbers
from assay.store.formats.spark.events import Application, read_application
from effort import examples
from paths import ROOT

REAL = ROOT.parent / "shared" / "data" / "spark-events"
KINDS = {"ShuffleMapTask": "shuffle_map", "ResultTask": "result"}


def application(log: bytes) -> Application:
    return read_application([("log", log.splitlines(keepends=True))])


def plain_attempts(log: bytes) -> list[TaskAttempt]:
    """Return the attempts of a log without lost executors, read with one object per event."""
    events = [json.loads(line) for line in log.splitlines()]
    by_name: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        by_name[event["Event"].removeprefix("SparkListener")].append(event)
    start_ms = by_name["ApplicationStart"][0]["Timestamp"]
    end_ms = by_name["ApplicationEnd"][0]["Timestamp"]
    jobs: dict[int, str] = {}
    for job in by_name["JobStart"]:
        for stage in job.get("Stage IDs", ()):
            jobs.setdefault(stage, str(job["Job ID"]))
    last = {event["Task Info"]["Task ID"]: event for event in by_name["TaskStart"]}
    last |= {event["Task Info"]["Task ID"]: event for event in by_name["TaskEnd"]}
    made = []
    for _, event in sorted(last.items()):
        info, metrics, reason = event["Task Info"], event.get("Task Metrics"), event.get("Task End Reason")
        ended = info.get("Finish Time") or info["Launch Time"]
        name = f"{event['Stage ID']}.{event.get('Stage Attempt ID', 0)}.{info['Index']}"
        counted, status = metrics or {}, "killed"
        if reason:
            status = "succeeded" if reason["Reason"] == "Success" else "killed" if info.get("Killed") else "failed"
        cpu_ns = counted.get("Executor CPU Time")
        made.append(
            TaskAttempt(
                job_id=jobs.get(event["Stage ID"], ""),
                task_id=name,
                attempt_id=f"{name}.{info.get('Attempt', 0)}",
                kind=KINDS.get(event.get("Task Type", ""), "task"),
                node=info["Host"],
                status=status,
                start_s=(info["Launch Time"] - start_ms) / 1000,
                end_s=((ended if reason else max(end_ms, info["Launch Time"])) - start_ms) / 1000,
                shuffle_end_s=None,
                merge_end_s=None,
                hdfs_read_bytes=counted.get("Input Metrics", {}).get("Bytes Read", 0),
                hdfs_write_bytes=counted.get("Output Metrics", {}).get("Bytes Written", 0),
                local_read_bytes=counted.get("Shuffle Read Metrics", {}).get("Local Bytes Read", 0),
                local_write_bytes=counted.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
                + counted.get("Disk Bytes Spilled", 0),
                spilled_records=None,
                cpu_s=None if cpu_ns is None else (cpu_ns + counted.get("Executor Deserialize CPU Time", 0)) / 1e9,
                gc_s=None if metrics is None else counted.get("JVM GC Time", 0) / 1000,
            )
        )
    return made


@pytest.mark.skipif(not REAL.is_dir(), reason="the real event logs are not available: NOT tested")
@pytest.mark.parametrize("name", ["event_log_1", "sparklens-local-1532512550423"])
def test_attempts_of_real_logs_are_those_of_a_plain_reading(name: str) -> None:
    log = (REAL / name).read_bytes()
    assert list(application(log).tasks) == plain_attempts(log)


amounts = st.integers(0, 2**50)
metric_values = st.none() | st.fixed_dictionaries(
    {"Executor Run Time": amounts, "JVM GC Time": amounts},
    optional={
        "Executor CPU Time": amounts,
        "Executor Deserialize CPU Time": amounts,
        "Disk Bytes Spilled": amounts,
        "Peak Execution Memory": amounts,
        "Input Metrics": st.fixed_dictionaries({"Bytes Read": amounts}),
        "Output Metrics": st.fixed_dictionaries({"Bytes Written": amounts}),
        "Shuffle Read Metrics": st.fixed_dictionaries({"Local Bytes Read": amounts, "Remote Bytes Read": amounts}),
        "Shuffle Write Metrics": st.fixed_dictionaries({"Shuffle Bytes Written": amounts}),
    },
)
ended_attempts = st.tuples(
    st.integers(0, 3),
    st.integers(0, 50),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.sampled_from(["Success", "ExceptionFailure", "TaskKilled"]),
    st.sampled_from(["w1", "w2"]),
    metric_values,
    st.sampled_from(["whole", "no start", "no end"]),
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(ended_attempts, max_size=40), st.randoms(use_true_random=False), st.sampled_from([1, 7, 1 << 16]))
def test_attempts_sums_and_stages_of_any_log_are_those_of_a_plain_reading(
    drawn: list[tuple[Any, ...]], random: Any, block_rows: int
) -> None:
    starts, ends = [], []
    for number, (stage, index, launch, took, reason, host, metrics, recorded) in enumerate(drawn):
        killed = reason == "TaskKilled"
        info = samples.task_info(100 + number, index, launch, launch + took + 1, Host=host, Killed=killed)
        starts += [samples.task_start(stage, info)] if recorded != "no start" else []
        ends += [samples.task_end(stage, info, reason, extra=metrics)] if recorded != "no end" else []
    random.shuffle(ends)
    whole = samples.application()
    log = samples.log([*whole[:-2], *starts, *ends, *whole[-2:]])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(attempts_module, "_BLOCK_BYTES", block_rows * attempts_module._ROW.size)
        read = application(log)
    expected = plain_attempts(log)
    assert list(read.tasks) == expected
    assert [read.tasks[position] for position in range(len(expected))] == list(read.tasks[:]) == expected
    assert read.tasks.distinct_tasks() == len({task.task_id for task in expected})
    assert read.tasks.statuses()["failed"] == sum(task.status == "failed" for task in expected)
    assert read.tasks.impossible_times() == sum(task.end_s < task.start_s or task.start_s < 0 for task in expected)
    recorded_metrics = [event["Task Metrics"] for event in [*whole, *ends] if event.get("Task Metrics")]
    assert read.totals["run_ms"] == sum(metrics.get("Executor Run Time", 0) for metrics in recorded_metrics)
    assert sum(executor.attempts for executor in read.executors) == len(ends) + 4
    stage_metrics = [
        event["Task Metrics"] for event in [*whole, *ends] if event.get("Task Metrics") and event["Stage ID"] == 0
    ]
    assert read.stages[0].peak_memory_bytes == max(m.get("Peak Execution Memory", 0) for m in stage_metrics)
    assert read.stages[0].read_bytes == sum(m.get("Input Metrics", {}).get("Bytes Read", 0) for m in stage_metrics)


def test_an_attempt_takes_tens_of_bytes() -> None:
    starts_and_ends = []
    for number in range(200):
        info = samples.task_info(100 + number, number, number, number + 5)
        starts_and_ends += [samples.task_start(0, info), samples.task_end(0, info, extra={"Executor Run Time": 4})]
    whole = samples.application()
    read = application(samples.log([*whole[:-2], *starts_and_ends, *whole[-2:]])).tasks
    assert sum(column.nbytes for column in read._columns.values()) <= 40 * len(read)


def test_numbers_of_attempts_are_kept_in_bits() -> None:
    numbers = AttemptNumbers()
    added = [number for number in (0, 5, 1023, 1024, 5, 2**62, -1, -1) if numbers.add(number)]
    assert added == [0, 5, 1023, 1024, 2**62, -1]
    assert 1024 in numbers
    assert 1 not in numbers
