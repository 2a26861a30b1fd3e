"""Test the bytes that daemons moved during a program, from two JMX readings, and the share of other jobs."""

from __future__ import annotations

from dataclasses import replace

from assay.execution.engines.contract import ProgramResult
from assay.execution.engines.hadoop.deployment.jmx import DaemonMetrics, add_daemon_metrics
from assay.model.plans.program import Outcome
from assay.model.runs.job import Job
from assay.model.runs.warning import WarningCode

BEFORE = DaemonMetrics({"a": 1e9, "b": 5e9}, {"a": 0.0, "b": 0.0}, {"a": 10.0}, {"a": 0.2, "b": 0.4})
AFTER = DaemonMetrics({"a": 1.5e9, "b": 5e9}, {"a": 2e8, "b": 2e8}, {"a": 30.0}, {"a": 0.6, "b": 0.8})
COUNTERS = {"fs": {"HDFS_BYTES_READ": 4 * 10**8, "HDFS_BYTES_WRITTEN": 2 * 10**8}}


def finished(counters: dict[str, dict[str, int]]) -> ProgramResult:
    job = Job("job_1", "x", "succeeded", 0.0, 1.0, 9.0, 2, 0, counters=counters)
    return ProgramResult(Outcome(0, "", counters, 0, 10.0), 0.0, jobs=(job,))


def test_other_applications_are_counted_and_the_run_says_so() -> None:
    done = add_daemon_metrics(finished(COUNTERS), BEFORE, AFTER, copies=2)
    assert done.metrics["all_hdfs_read_bytes"] == 5e8
    assert done.metrics["all_hdfs_written_bytes"] == 4e8
    assert done.metrics["all_shuffled_bytes"] == 20
    assert done.metrics["published_cpu_share"] == 0.5
    assert done.metrics["other_hdfs_bytes"] == 1e8
    assert [warning.code for warning in done.warnings] == [WarningCode.DISTURBED]
    assert "HDFS moved 100 MB that were not this run's, of 900 MB" in str(done.warnings[0])
    quiet = add_daemon_metrics(
        finished({"fs": {"HDFS_BYTES_READ": 5 * 10**8, "HDFS_BYTES_WRITTEN": 2 * 10**8}}), BEFORE, AFTER, 2
    )
    assert quiet.metrics["other_hdfs_bytes"] == 0
    assert quiet.warnings == ()


def test_unknown_facts_are_left_unknown() -> None:
    assert "other_hdfs_bytes" not in add_daemon_metrics(finished({}), BEFORE, AFTER, 2).metrics
    [warning] = add_daemon_metrics(finished(COUNTERS), None, AFTER, 2).warnings
    assert "were not observed" in str(warning)
    restarted = replace(AFTER, read_bytes={"a": 3.0, "b": 6e9}, silent_daemons=("a:9864",))
    done = add_daemon_metrics(finished(COUNTERS), BEFORE, restarted, 1)
    assert done.metrics["all_hdfs_read_bytes"] == 1e9
    assert any("a:9864" in str(warning) for warning in done.warnings)


def test_the_warning_about_silent_daemons_states_how_many_it_does_not_list() -> None:
    silent = replace(AFTER, silent_daemons=tuple(f"w{number}:9864" for number in range(6)))
    texts = [str(warning) for warning in add_daemon_metrics(finished(COUNTERS), BEFORE, silent, 1).warnings]
    assert "not observed, as their JMX did not answer: w0:9864, w1:9864, w2:9864, w3:9864 and 2 more" in texts
