"""Test Spark event logs as runs: applications, rolled logs, parameters, damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spark_samples as samples
from assay.model.runs.imported import ImportedRun, SkippedItem
from assay.model.runs.phase import Phase
from assay.model.runs.run_status import RunStatus
from assay.store.formats.source import sources_in
from assay.store.formats.spark.event_import import FORMAT
from assay.store.formats.spark.parameters import spark_parameters
from builders import words_of
from effort import examples
from import_samples import items_of_files, only, skip_reason
from mutation import fuzz_count, mutations
from paths import ROOT

REAL = ROOT.parent / "shared" / "data" / "spark-events"
LOG = samples.log(samples.application())


def read(folder: Path, files: dict[str, bytes]) -> list[ImportedRun | SkippedItem]:
    return items_of_files(FORMAT, folder, files)


def changed(event: str, **fields: Any) -> list[samples.Event]:
    """Return the sample with fields of one kind of event replaced."""
    return [entry | fields if entry["Event"].endswith(event) else entry for entry in samples.application()]


def without(*events: str) -> list[samples.Event]:
    return [event for event in samples.application() if not event["Event"].endswith(events)]


def test_an_application_is_a_run(tmp_path: Path) -> None:
    item = only(read(tmp_path, {"app-1": LOG}))
    run = item.run
    assert item.key == "app-1  1700000000000"
    assert (run.engine, run.engine_version, run.workload) == ("spark", "3.5.1", "ScalaSort")
    assert (run.status, run.duration_s, run.data_bytes) == (RunStatus.VALID, 7.5, None)
    assert run.started_at == "2023-11-14T22:13:20.000+00:00"
    assert run.phases == (
        Phase("setup", 0, 1),
        Phase("stage 0", 1, 4),
        Phase("stage 1", 4, 6),
        Phase("cleanup", 6, 7.5),
    )
    assert run.metrics == {
        "executor_run_s": 2.7,
        "cpu_s": 2.25,
        "gc_s": 0.09,
        "input_bytes": 3000,
        "output_bytes": 270,
        "shuffle_read_bytes": 1500,
        "shuffle_remote_read_bytes": 900,
        "shuffle_write_bytes": 1800,
        "shuffle_fetch_wait_s": 0.015,
        "shuffle_write_s": 0.006,
        "memory_spilled_bytes": 12288,
        "disk_spilled_bytes": 3072,
        "jobs": 1,
        "stages": 2,
        "tasks": 3,
        "task_attempts_failed": 1,
        "executors": 1,
    }
    assert run.warnings == ()
    assert run.environment == {"job": {"id": "app-1", "name": "ScalaSort"}, "java": "17.0.9 (x)"}


def test_tasks_are_named_by_stage_attempt_and_partition(tmp_path: Path) -> None:
    tasks = only(read(tmp_path, {"app-1": LOG})).tasks
    assert [task.attempt_id for task in tasks] == ["0.0.0.0", "0.0.1.0", "0.0.1.1", "1.0.0.0"]
    assert [task.status for task in tasks] == ["succeeded", "failed", "succeeded", "succeeded"]
    last = tasks[3]
    assert (last.kind, last.job_id, last.node, last.start_s, last.end_s) == ("result", "0", "w1", 4.1, 6)
    assert (last.hdfs_read_bytes, last.hdfs_write_bytes, last.local_read_bytes, last.local_write_bytes) == (
        1000,
        90,
        200,
        1624,
    )
    assert (last.cpu_s, last.gc_s) == (0.75, 0.03)


def test_parameters_are_what_was_set_and_matters(tmp_path: Path) -> None:
    run = only(read(tmp_path, {"app-1": LOG})).run
    assert run.parameters == {
        "dfs.blocksize": str(64 * 2**20),
        "spark.executor.extraJavaOptions": "-XX:+UseG1GC",
        "spark.executor.memory": "2g",
        "spark.master": "standalone",
        "spark.shuffle.compress": "false",
    }
    assert not [word for word in ("hunter2", "secret-host", "/home/ann") if word in str(run)]


@pytest.mark.parametrize(
    ("master", "kind"),
    [
        ("yarn", "yarn"),
        ("yarn-cluster", "yarn"),
        ("local[*]", "local[*]"),
        ("local-cluster[1,1,1024]", "local"),
        ("k8s://https://h:1", "kubernetes"),
        ("h:7077", None),
    ],
)
def test_only_the_kind_of_the_master_is_stored(master: str, kind: str | None) -> None:
    assert spark_parameters({"spark.master": master}).get("spark.master") == kind


def failed(message: str) -> dict[str, Any]:
    return {"Result": "JobFailed", "Exception": {"Message": message, "Stack Trace": []}}


@pytest.mark.parametrize(
    ("events", "status", "cause"),
    [
        (
            changed("JobEnd", **{"Job Result": failed("\nStage lost\nat x")}),
            RunStatus.FAILED,
            "job 0 failed: Stage lost",
        ),
        (changed("JobEnd", **{"Job Result": {"Result": "JobFailed"}}), RunStatus.FAILED, "job 0 failed: JobFailed"),
        (without("JobEnd"), RunStatus.FAILED, "job 0 had not ended when the application did"),
        (changed("ApplicationEnd", ExitCode=3), RunStatus.FAILED, "the application ended with exit code 3"),
        (
            [*changed("JobEnd", **{"Job Result": failed("x")})[:-1], samples.application()[-1] | {"ExitCode": 0}],
            RunStatus.VALID,
            None,
        ),
        (without("JobStart", "JobEnd"), RunStatus.INVALID, "the application ran no job"),
    ],
)
def test_the_end_of_an_application_determines_its_status(
    tmp_path: Path, events: Any, status: RunStatus, cause: str | None
) -> None:
    run = only(read(tmp_path, {"app-1": samples.log(events)})).run
    assert (run.status, run.cause) == (status, cause)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (samples.log(without("ApplicationEnd")), "still ran, or its driver died"),
        (samples.log(without("ApplicationStart")), "no application starts"),
        (samples.log(changed("ApplicationEnd", Timestamp=samples.START_MS)), "not plausible"),
        (samples.log(changed("ApplicationEnd", Timestamp=samples.START_MS - 1)), "not plausible"),
        (samples.log(changed("ApplicationEnd", Timestamp=2**50)), "not plausible"),
        (samples.log(changed("ApplicationStart", Timestamp=5)), "not plausible"),
        (LOG[:-9], "it was cut off, or is still written"),
        (LOG + LOG, "a second application"),
        (LOG.replace(b'"Task ID":2', b'"Task ID":0'), "task 0 ends a second time"),
        (LOG.replace(b'"Bytes Read":1000', b'"Bytes Read":"1000"', 1), "`$[...].Bytes Read`|Bytes Read"),
        (LOG.replace(b'"Bytes Read":1000', b'"Bytes Read":99999999999999999999', 1), "Bytes Read"),
    ],
)
def test_skipped_items_have_a_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    skip_text = skip_reason(read(tmp_path, {"app-1": content}))
    assert any(part in skip_text for part in reason.split("|"))


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    lines = LOG.splitlines(keepends=True)
    lines[7] = lines[7][:40] + b"\n"
    (skipped,) = read(tmp_path, {"app-1": b"".join(lines)})
    assert skipped.where == "app-1:8"


def test_a_task_whose_executor_was_lost_afterwards_counts_as_lost(tmp_path: Path) -> None:
    events = samples.application()
    again = samples.task_end(0, samples.task_info(0, 0, 1100, 3000), "Resubmitted")
    run = only(read(tmp_path, {"app-1": samples.log([*events[:-2], again, *events[-2:]])}))
    assert (run.tasks[0].status, run.tasks[0].hdfs_read_bytes) == ("killed", 1000)


def test_events_that_spark_dropped_are_reported_as_missing(tmp_path: Path) -> None:
    events = samples.application()
    run = only(read(tmp_path, {"app-1": samples.log([*events[:12], *events[13:]])}))
    assert "1 tasks that succeeded are not in the log" in run.run.warnings[0].words
    assert run.tasks[0].status == "killed"


def test_sums_below_zero_give_no_metric(tmp_path: Path) -> None:
    run = only(read(tmp_path, {"a": LOG.replace(b'"JVM GC Time":30', b'"JVM GC Time":-30')})).run
    assert "gc_s" not in run.metrics
    assert words_of(run.warnings) == ("the tasks' gc_s add up to -0.09: left out",)


def test_old_logs_without_later_fields_are_read(tmp_path: Path) -> None:
    events = [
        {"Event": "SparkListenerApplicationStart", "App Name": "old", "Timestamp": samples.START_MS, "User": "ann"},
        {"Event": "SparkListenerJobStart", "Job ID": 0, "Stage IDs": [0]},
        {
            "Event": "SparkListenerTaskEnd",
            "Stage ID": 0,
            "Task Type": "ResultTask",
            "Task End Reason": {"Reason": "Success"},
            "Task Info": {
                "Task ID": 0,
                "Index": 0,
                "Launch Time": samples.START_MS,
                "Finish Time": samples.START_MS + 10,
                "Host": "w1",
            },
            "Task Metrics": {"Executor Run Time": 7},
        },
        {"Event": "SparkListenerJobEnd", "Job ID": 0, "Job Result": {"Result": "JobSucceeded"}},
        {"Event": "SparkListenerApplicationEnd", "Timestamp": samples.START_MS + 20},
    ]
    run = only(read(tmp_path, {"old": samples.log(events)}))
    assert (run.key, run.run.engine_version) == ("old  1700000000000", "")
    assert "cpu_s" not in run.run.metrics
    assert "input_bytes" not in run.run.metrics
    assert run.run.phases == (Phase("setup", 0, 0.02),)


FOLDER = "eventlog_v2_app-1/"


def rolled(cuts: tuple[int, ...] = (5, 12), name: str = "events_{}_app-1") -> dict[str, bytes]:
    """Return the sample rolled over before the events of the given numbers."""
    lines = LOG.splitlines(keepends=True)
    edges = (0, *cuts, len(lines))
    files = {FOLDER + name.format(n + 1): b"".join(lines[edges[n] : edges[n + 1]]) for n in range(len(edges) - 1)}
    return {FOLDER + "appstatus_app-1": b"", **files}


def test_a_rolled_log_is_one_application(tmp_path: Path) -> None:
    files = rolled(tuple(range(1, 13)))  # more than nine files: their numbers count, not their names' order
    names = sorted(files)
    assert all(FORMAT.recognises(name, files[name]) for name in names)
    run = only(read(tmp_path, {name: files[name] for name in names}))
    whole = only(read(tmp_path, {"app-1": LOG}))
    assert (run.run, run.tasks, run.where) == (whole.run, whole.tasks, "eventlog_v2_app-1")


@pytest.mark.parametrize("missing", ["events_1_app-1", "events_2_app-1"])
def test_a_rolled_log_without_one_of_its_files_is_skipped(tmp_path: Path, missing: str) -> None:
    files = rolled()
    del files[FOLDER + missing]
    assert "a file is missing or repeated" in skip_reason(read(tmp_path, files))


def test_a_compacted_log_gives_a_time_and_parameters_and_no_metrics(tmp_path: Path) -> None:
    lines = LOG.splitlines(keepends=True)
    files = {
        FOLDER + "events_1_app-1": b"gone stale\n",
        FOLDER + "events_2_app-1.compact": b"".join(lines[:5]),
        FOLDER + "events_3_app-1": lines[-1],
    }
    run = only(read(tmp_path, files))
    assert (run.run.duration_s, run.run.status, run.run.metrics) == (7.5, RunStatus.VALID, {})
    assert run.run.parameters["spark.executor.memory"] == "2g"
    assert (run.tasks, run.run.phases) == ((), ())
    assert "compacted" in run.run.warnings[0].words


def test_a_duplicate_application_is_imported_once(tmp_path: Path) -> None:
    runs, skipped = read(tmp_path, {"a": LOG, "b": LOG})
    assert isinstance(runs, ImportedRun)
    assert skipped == SkippedItem("b", "app-1 is also in a")


def test_files_are_recognised_and_others_are_not() -> None:
    assert FORMAT.recognises("any/name", LOG[:100])
    assert FORMAT.recognises("x", b'{ "Event" : "org.apache.spark.sql.SparkListenerX"}')
    for name, head in [
        ("a", b""),
        ("a.json", b'{"Event":"click"}'),
        ("a.zip", b"ZV\0"),
        ("a.json", b'{"jobs":[]}'),
        ("appstatus_x", b""),
        ("eventlog_v2_a/appstatus_a", b"x"),
        ("a.zstd", b"abc"),
    ]:
        assert not FORMAT.recognises(name, head)


def test_damaged_logs_give_runs_or_reasons(tmp_path: Path) -> None:
    for damaged in mutations(LOG, fuzz_count()):
        samples.check_damaged(damaged, tmp_path / "log")


later = st.dictionaries(st.text(min_size=1).filter(lambda key: key != "Event"), st.none() | st.text() | st.integers())


@settings(max_examples=examples(100), deadline=None)
@given(st.text(min_size=1), later, st.integers(0, 18))
def test_events_and_keys_of_later_versions_change_nothing(name: str, more: dict[str, Any], position: int) -> None:
    from assay.store.formats.spark.events import read_application

    events = samples.application()
    known = {key for event in events for key in event} | {"ExitCode"}
    extra = {key: value for key, value in more.items() if key not in known}
    events[position] = extra | events[position]
    events.insert(position, {"Event": f"SparkListenerNew{name}", **extra})
    lines = samples.log(events), "\n".join(json.dumps(event, indent=None) for event in events).encode()
    whole = read_application([("x", LOG.splitlines(keepends=True))])
    assert [read_application([("x", text.splitlines(keepends=True))]) == whole for text in lines] == [True, True]


@pytest.mark.skipif(not REAL.is_dir(), reason="the real event logs are not available: NOT tested")
def test_real_logs_are_read() -> None:
    sources = list(sources_in([REAL]))
    assert all(FORMAT.recognises(source.name, source.head()) for source in sources)
    pi, unfinished, shell = FORMAT.read(sources)
    assert isinstance(unfinished, SkippedItem)
    assert isinstance(pi, ImportedRun)
    assert isinstance(shell, ImportedRun)
    assert (pi.run.workload, pi.run.duration_s, len(pi.tasks), pi.run.engine_version) == (
        "PythonPi",
        55.273,
        10,
        "1.5.1",
    )
    assert (shell.run.workload, shell.run.duration_s, len(shell.tasks)) == ("Spark shell", 15.975, 8)
    assert [phase.name for phase in shell.run.phases] == ["setup", "stage 0", "stage 1", "cleanup"]
