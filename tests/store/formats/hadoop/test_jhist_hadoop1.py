"""Test Hadoop 1 job histories: same result as Hadoop 2's, damage reported with its line."""

from __future__ import annotations

import pytest

import aloja_mini
from aloja_mini import START_S, history
from assay.foundation.errors import FormatError
from assay.model.runs.phase import Phase
from assay.store.formats.hadoop.jhist import phases
from assay.store.formats.hadoop.jhist_hadoop1 import parse_hadoop1_history
from mutation import fuzz_count, mutations


def test_the_job_its_outcome_and_its_counters_are_read() -> None:
    job = parse_hadoop1_history(history(), start_unix_s=START_S)
    assert (job.job_id, job.job_name, job.user, job.status) == (
        "job_201405131650_0002",
        'Tera"Sort',
        "ann",
        "succeeded",
    )
    assert (job.submit_unix_s, job.finish_unix_s, job.maps, job.reduces) == (START_S + 1, START_S + 99, 1, 1)
    assert job.counter("HDFS_BYTES_READ") == 1000


def test_attempts_of_maps_and_reduces_are_read_and_those_of_the_setup_ignored() -> None:
    mapped, reduced = parse_hadoop1_history(history(), start_unix_s=START_S).tasks
    assert (mapped.kind, mapped.node, mapped.status, mapped.start_s, mapped.end_s) == (
        "map",
        "w1.lan",
        "succeeded",
        2,
        93,
    )
    assert (mapped.hdfs_read_bytes, mapped.spilled_records, mapped.cpu_s) == (1000, 7, 2.5)
    assert (reduced.kind, reduced.node, reduced.shuffle_end_s, reduced.merge_end_s) == ("reduce", "w2", 94, 95)


def test_phases_are_those_of_any_other_history() -> None:
    job = parse_hadoop1_history(history(), start_unix_s=START_S)
    assert phases(job, START_S)[1:] == (
        Phase("map", 2, 93),
        Phase("shuffle", 4, 94),
        Phase("merge", 94, 95),
        Phase("reduce", 95, 98),
        Phase("cleanup", 98, 99),
    )


@pytest.mark.parametrize("status", ["FAILED", "KILLED"])
def test_a_job_that_did_not_succeed_is_reported(status: str) -> None:
    assert parse_hadoop1_history(history(status=status)).status == status.lower()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('JOB_STATUS="SUCCESS"', 'JOB_STATUS="RUNNING"', "no end of the job"),
        ('SUBMIT_TIME="1', 'SUBMIT_TIME="x', "not a whole number"),
        ("(1000)", "(-1)", "the counter HDFS_BYTES_READ is -1"),
        (' COUNTERS="', " COUNTERS=", "h:6: the record MapAttempt"),
        ("Meta VERSION", "Odd VERSION", "not a record"),
        ('START_TIME="14000', 'START_TIME="24000', "ends before it starts"),
        ('JOBID="job_201405131650_0002"', 'JOBID=""', "lacks the job's id"),
        ('TASK_ATTEMPT_ID="attempt', 'X="attempt', "no TASK"),
    ],
)
def test_damage_is_named(old: str, new: str, why: str) -> None:
    with pytest.raises(FormatError, match="h") as error:
        parse_hadoop1_history(history().replace(old, new), source="h")
    assert why in str(error.value)


def test_a_history_that_was_cut_off_is_refused() -> None:
    whole = history()
    for end in range(0, len(whole) - 2, 37):
        with pytest.raises(FormatError):
            parse_hadoop1_history(whole[:end])


def test_damaged_histories_give_a_job_or_an_error_of_the_format() -> None:
    for damaged in mutations(aloja_mini.history().encode(), fuzz_count(), seed=2):
        try:
            job = parse_hadoop1_history(damaged.decode("latin-1"))
        except FormatError:
            continue
        assert all(task.start_s <= task.end_s and 0 <= task.hdfs_read_bytes < 2**63 for task in job.tasks)
