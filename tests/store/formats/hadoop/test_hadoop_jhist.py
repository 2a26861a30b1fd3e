"""Test job histories: both encodings give the same job, phases follow the attempts, damage is reported."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jhist_samples as samples
from assay.foundation.errors import FormatError
from assay.model.runs.phase import Phase
from assay.store.formats.hadoop.jhist import JobHistory, parse_jhist, phases
from effort import examples
from paths import ROOT

SUBMIT_S = samples.SUBMIT_MS / 1000
REAL = sorted((ROOT.parent / "shared" / "data" / "job-history").glob("*.jhist"))
Encode = Callable[[samples.Events], bytes]
ENCODINGS = pytest.mark.parametrize("encode", [samples.binary, samples.as_json], ids=["binary", "json"])


def parsed(events: samples.Events) -> JobHistory:
    return parse_jhist(samples.binary(events), start_unix_s=SUBMIT_S)


@ENCODINGS
def test_the_job_and_its_outcome_are_read(encode: Encode) -> None:
    history = parse_jhist(encode(samples.sort_job()), start_unix_s=SUBMIT_S - 10)
    assert (history.job_id, history.job_name, history.user, history.status) == ("job_1", "TeraSort", "ann", "succeeded")
    assert (history.submit_unix_s, history.launch_unix_s, history.finish_unix_s) == (
        SUBMIT_S,
        SUBMIT_S + 1.5,
        SUBMIT_S + 12.5,
    )
    assert (history.maps, history.reduces, history.finished_maps, history.finished_reduces) == (2, 2, 2, 2)
    assert (history.failed_maps, history.failed_reduces, history.diagnostics) == (0, 0, None)
    assert history.counters["org.apache.hadoop.mapreduce.FileSystemCounter"] == {"HDFS_BYTES_READ": 2000}
    assert history.counter("HDFS_BYTES_READ") == 2000
    assert history.counter("NO_SUCH") is None


@ENCODINGS
def test_every_attempt_is_read_with_times_from_the_given_start(encode: Encode) -> None:
    history = parse_jhist(encode(samples.sort_job()), start_unix_s=SUBMIT_S - 10)
    tasks = {task.attempt_id: task for task in history.tasks}
    assert list(tasks) == [f"attempt_1_{name}" for name in ("m_0_0", "m_1_0", "m_0_1", "r_0_0", "r_1_0")]
    broken, mapped, reduced = (tasks[f"attempt_1_{name}"] for name in ("m_0_0", "m_1_0", "r_0_0"))
    assert (broken.kind, broken.status, broken.node, broken.start_s, broken.end_s) == ("map", "failed", "w2", 12, 14)
    assert (mapped.status, mapped.start_s, mapped.end_s, mapped.shuffle_end_s) == ("succeeded", 12.5, 16, None)
    assert (mapped.hdfs_read_bytes, mapped.local_write_bytes, mapped.spilled_records) == (1000, 900, 10)
    assert (mapped.cpu_s, mapped.gc_s) == (1.5, 0.04)
    assert (reduced.kind, reduced.task_id, reduced.job_id) == ("reduce", "task_1_r_0", "job_1")
    assert (reduced.shuffle_end_s, reduced.merge_end_s, reduced.end_s) == (19, 19.5, 21)
    assert (reduced.hdfs_write_bytes, reduced.local_read_bytes) == (990, 900)


def test_phases_run_from_the_first_attempt_that_enters_to_the_last_that_leaves() -> None:
    assert phases(parsed(samples.sort_job()), SUBMIT_S - 1) == (
        Phase("setup", 1, 3),
        Phase("map", 3, 9),
        Phase("shuffle", 6, 11),
        Phase("merge", 10, 11.25),
        Phase("reduce", 10.5, 13),
        Phase("cleanup", 13, 13.5),
    )


def test_phases_do_not_depend_on_the_start_that_the_tasks_count_from() -> None:
    content = samples.binary(samples.sort_job())
    first, other = parse_jhist(content, start_unix_s=0), parse_jhist(content, start_unix_s=SUBMIT_S)
    assert phases(first, SUBMIT_S) == phases(other, SUBMIT_S)


def test_a_job_without_reducers_has_no_reduce_phases() -> None:
    events = [event for event in samples.sort_job() if not event[0].startswith("REDUCE")]
    assert [phase.name for phase in phases(parsed(events), SUBMIT_S)] == ["setup", "map", "cleanup"]


def failing_job() -> samples.Events:
    end = {
        "jobid": "job_1",
        "finishTime": samples.SUBMIT_MS + 7000,
        "finishedMaps": 0,
        "finishedReduces": 0,
        "jobStatus": "FAILED",
        "diagnostics": "Task failed task_1_m_0",
    }
    lost = {"taskid": "task_1_m_0", "taskType": "MAP", "finishTime": samples.SUBMIT_MS + 4000, "error": "disk broke"}
    return [
        *samples.sort_job()[:7],
        ("TASK_FAILED", "TaskFailed", lost),
        ("JOB_FAILED", "JobUnsuccessfulCompletion", end),
    ]


@ENCODINGS
def test_a_failed_job_has_its_cause_and_the_number_of_failed_tasks(encode: Encode) -> None:
    history = parse_jhist(encode(failing_job()), start_unix_s=SUBMIT_S)
    assert (history.status, history.diagnostics) == ("failed", "Task failed task_1_m_0")
    assert (history.failed_maps, history.failed_reduces, history.counters) == (1, 0, {})


def test_an_attempt_that_never_ended_was_killed_by_the_jobs_end() -> None:
    running = parsed(failing_job()).tasks[1]
    assert (running.attempt_id, running.status, running.start_s, running.end_s) == ("attempt_1_m_1_0", "killed", 2.5, 7)


def test_a_speculative_attempt_killed_before_its_container_moves_no_phase() -> None:
    events = samples.sort_job()
    fields = {"taskid": "task_1_m_1", "attemptId": "attempt_1_m_1_1", "error": "", "counters": None}
    killed = fields | {"finishTime": 0, "hostname": "UNKNOWN"}
    never = {"taskid": "task_1_m_1", "attemptId": "attempt_1_m_1_1", "startTime": 0, "trackerName": "UNKNOWN"}
    events.insert(-1, ("MAP_ATTEMPT_STARTED", "TaskAttemptStarted", never))
    events.insert(-1, ("MAP_ATTEMPT_KILLED", "TaskAttemptUnsuccessfulCompletion", killed))
    history = parsed(events)
    task = history.tasks[-1]
    assert (task.node, task.status, task.start_s, task.end_s) == ("", "killed", 12.5, 12.5)
    assert phases(history, SUBMIT_S) == phases(parsed(samples.sort_job()), SUBMIT_S)


def test_a_finished_map_that_was_lost_afterwards_counts_as_lost() -> None:
    events = samples.sort_job()
    killed = {
        "taskid": "task_1_m_1",
        "attemptId": "attempt_1_m_1_0",
        "finishTime": samples.SUBMIT_MS + 7000,
        "hostname": "w1",
        "error": "node lost",
        "counters": None,
    }
    events.insert(-1, ("MAP_ATTEMPT_KILLED", "TaskAttemptUnsuccessfulCompletion", killed))
    task = parsed(events).tasks[1]
    assert (task.status, task.end_s, task.hdfs_read_bytes) == ("killed", 7, 1000)


def test_a_job_that_ended_before_any_attempt_is_all_setup() -> None:
    events = [event for event in failing_job() if event[0] in ("JOB_SUBMITTED", "JOB_FAILED")]
    history = parsed(events)
    assert (history.launch_unix_s, history.tasks) == (None, ())
    assert phases(history, SUBMIT_S) == (Phase("setup", 0, 7),)


def test_a_binary_history_that_was_cut_names_the_byte_at_which_the_broken_event_begins() -> None:
    whole = samples.binary(samples.sort_job())
    begin = len(samples.binary(samples.sort_job()[:-1]))
    with pytest.raises(FormatError, match="no complete event") as caught:
        parse_jhist(whole[:-3], source="a.jhist")
    assert caught.value.where == f"a.jhist: byte {begin}"


def test_a_json_history_that_was_cut_names_the_line() -> None:
    whole = samples.as_json(samples.sort_job()).rstrip()
    with pytest.raises(FormatError, match="not a complete event") as caught:
        parse_jhist(whole[:-3], source="a.jhist")
    assert caught.value.where == "a.jhist:" + str(whole.count(b"\n") + 1)


@ENCODINGS
def test_a_history_cut_between_two_events_is_recognised_as_unfinished(encode: Encode) -> None:
    with pytest.raises(FormatError, match="no end-of-job event"):
        parse_jhist(encode(samples.sort_job()[:-1]))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"Avro-Binary",
        b"Avro-Json\n",
        b"Avro-Json\n{}\n",
        b"Avro-Binary\n{}\n",
        b"Avro-Binary\nnull\nx",
        b'Meta VERSION="1" .\n',
        b"\x00" * 50,
    ],
)
def test_a_file_that_is_no_history_is_refused(content: bytes) -> None:
    with pytest.raises(FormatError):
        parse_jhist(content)


def test_a_field_of_the_wrong_kind_is_named_with_its_event_and_line() -> None:
    content = samples.as_json(samples.sort_job()).replace(b'"totalMaps": 2', b'"totalMaps": "two"')
    with pytest.raises(FormatError, match=r"JOB_INITED: field 'totalMaps' should be a whole number") as caught:
        parse_jhist(content, source="x")
    assert caught.value.where == "x:5"


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(FormatError):
        parse_jhist(b"Avro-Json\n{}\n" + b"[" * 200_000)


BINARY, JSON = samples.binary(samples.sort_job()), samples.as_json(samples.sort_job())
BODY = len(BINARY) - BINARY[::-1].index(b"\n")
mutations = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4)


def check_mutated(content: bytes, begin: int, changes: list[tuple[float, int]], cut: float) -> None:
    """Change bytes of ``content`` from ``begin`` on, cut it, and require a job that can be shown or a FormatError."""
    damaged = bytearray(content)
    for position, value in changes:
        damaged[begin + int(position * (len(content) - begin))] = value
    try:
        history = parse_jhist(bytes(damaged[: int(len(content) * cut)]), start_unix_s=SUBMIT_S)
    except FormatError:
        return
    assert all(phase.duration_s >= 0 for phase in phases(history, SUBMIT_S))
    json.dumps([*map(msgspec.structs.asdict, history.tasks)])
    json.dumps(dataclasses.asdict(dataclasses.replace(history, tasks=())))


@settings(max_examples=examples(1500), deadline=None)
@given(mutations, st.one_of(st.just(1.0), st.floats(0, 1)))
def test_damaged_binary_events_give_a_job_or_a_format_error(changes: list[tuple[float, int]], cut: float) -> None:
    check_mutated(BINARY, BODY, changes, cut)


@settings(max_examples=examples(600), deadline=None)
@given(mutations)
def test_a_damaged_schema_gives_a_job_or_a_format_error(changes: list[tuple[float, int]]) -> None:
    check_mutated(BINARY, 0, changes, 1.0)


@settings(max_examples=examples(1500), deadline=None)
@given(mutations, st.one_of(st.just(1.0), st.floats(0, 1)))
def test_damaged_json_gives_a_job_or_a_format_error(changes: list[tuple[float, int]], cut: float) -> None:
    check_mutated(JSON, 0, changes, cut)


@pytest.mark.skipif(not REAL, reason="the real job histories are not available: NOT tested")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name[:22])
def test_real_histories_are_read(path: Path) -> None:
    job, submit_ms, finish_ms = path.name.split("-")[0], *(int(path.name.split("-")[i]) for i in (1, 4))
    history = parse_jhist(path.read_bytes(), start_unix_s=submit_ms / 1000)
    assert (history.job_id, history.status, history.maps, history.reduces) == (job, "succeeded", 1, 1)
    assert abs(history.finish_unix_s - finish_ms / 1000) < 1
    assert 0 < sum(task.hdfs_read_bytes for task in history.tasks) == history.counter("HDFS_BYTES_READ")
    assert [phase.name for phase in phases(history, history.submit_unix_s)] == [
        "setup",
        "map",
        "shuffle",
        "merge",
        "reduce",
        "cleanup",
    ]
