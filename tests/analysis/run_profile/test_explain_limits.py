"""Test what limited a run: the busiest resource of each second, and bounds on faster resources."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from assay.analysis.run_profile.limits.loads import Resource
from assay.analysis.run_profile.limits.run_limits import LimitMoment, Limits, limit_spans, limits_of
from assay.foundation.errors import RepositoryError
from assay.interfaces.cli.main import assay
from assay.model.runs.job import Job
from assay.model.runs.run import Run
from assay.model.runs.task_attempt import TaskAttempt
from assay.model.runs.traces.trace import Trace
from assay.questions.runs.limits import limits_of_run
from assay.store import Repository
from benchmark_support import benchmark
from builders import WORKERS, make_run
from detail_support import make_task
from simulator_support import needs_simulator

DURATION_S = 20.0


def _run(**changes: Any) -> Run:
    layout = {"hdfs": {"hdd1": 1}, "intermediate": {"ssd1": 1}}
    environment = {"cluster": {"workers": 3, "worker_names": list(WORKERS), "layout": layout}}
    job = Job("job_1_0001", "one", "succeeded", 2.0, 3.0, 18.0, 3, 0)
    fields: dict[str, Any] = {
        "duration_s": DURATION_S,
        "jobs": (job,),
        "environment": environment,
        "lab_scale": None,
    } | changes
    return make_run(**fields)


def _tasks() -> list[TaskAttempt]:
    return [make_task(n, 4.0, 16.0, cpu_s=3.0) for n in range(3)]


def _trace(disk_busy: float, cpu_busy: float, cores: float = 4.0) -> Trace:
    """Return counters that grow between 4 s and 16 s only: the share of time that disk and CPU work."""
    trace = Trace()
    for node in WORKERS:
        for t_s, done_s in ((0.0, 0.0), (4.0, 0.0), (16.0, 12.0), (20.0, 12.0)):
            trace.append(t_s, node, "disk:hdd1", "busy_s", counter=True, value=disk_busy * done_s)
            trace.append(t_s, node, "cpu", "user_s", counter=True, value=cpu_busy * cores * done_s)
            trace.append(t_s, node, "cpu", "idle_s", counter=True, value=cores * (t_s - cpu_busy * done_s))
            trace.append(t_s, node, "cpu", "cores", counter=False, value=cores)
    return trace


def _limits(disk_busy: float, cpu_busy: float, tasks: list[TaskAttempt] | None = None) -> Limits:
    limits = limits_of(_run(), _tasks() if tasks is None else tasks, _trace(disk_busy, cpu_busy))
    assert limits is not None
    return limits


def test_the_limit_over_time_covers_the_run_without_gaps() -> None:
    spans = limit_spans(_limits(0.9, 0.6))
    assert [(span.start_s, span.end_s, span.limit) for span in spans] == [
        (0.0, 4.0, Resource.FIXED),
        (4.0, 16.0, Resource.DISK_HDFS),
        (16.0, DURATION_S, Resource.FIXED),
    ]


def test_the_limit_of_most_workers_is_the_limit_of_the_moment() -> None:
    workers = {0.0: ("disk:hdfs", "cpu", "cpu"), 10.0: ("disk:hdfs", "cpu", "network")}
    moments = tuple(
        LimitMoment(t_s, node, "map", Resource(limit), 0.9)
        for t_s, limits in workers.items()
        for node, limit in zip(WORKERS, limits, strict=True)
    )
    spans = limit_spans(replace(_limits(0.9, 0.6), moments=moments))
    assert [span.limit for span in spans] == [Resource.CPU, Resource.DISK_HDFS], "the limit with the longer time wins"


def test_the_busiest_resource_is_the_limit_and_all_time_is_assigned() -> None:
    limits = _limits(0.9, 0.6)
    assert limits.total_s(Resource.DISK_HDFS) == pytest.approx(12)
    assert limits.total_s(Resource.FIXED) == pytest.approx(8)
    assert sum(part.time_s for part in limits.times) == pytest.approx(DURATION_S)
    assert {part.phase for part in limits.times if part.limit is Resource.FIXED} == {"overhead", "setup", "cleanup"}
    assert limits.main is Resource.DISK_HDFS
    assert _limits(0.6, 0.9).main is Resource.CPU
    assert _limits(0.2, 0.3).total_s(Resource.NONE) == pytest.approx(12)


def test_a_bound_keeps_the_time_in_which_the_resource_was_idle() -> None:
    """Disks busy for 90 % of 12 s; the attempts need 3 of 4 cores' 12 s: 1/16 of it. 10 % stays, and the fixed 8 s."""
    by_name = {bound.freed: bound for bound in _limits(0.9, 0.6).bounds}
    assert by_name["disks"].least_s == pytest.approx(8 + 1.2, abs=0.01)
    assert by_name["disks"].gain_max == pytest.approx(20 / 9.2, abs=0.01)
    assert by_name["cpu"].least_s == pytest.approx(8 + 12 * 0.9, abs=0.01)  # the disks have to work all the same
    assert "network" not in by_name  # neither traffic nor rates are known


def test_the_work_of_the_other_resources_stays() -> None:
    heavy = [replace_cpu(task, 12.0 * 4 * 0.5) for task in _tasks()]
    by_name = {bound.freed: bound for bound in _limits(0.9, 0.6, heavy).bounds}
    assert by_name["disks"].least_s == pytest.approx(8 + 12 * 0.5, abs=0.01)


def test_attempts_that_compute_all_the_time_wait_for_their_one_core_though_others_are_idle() -> None:
    """Each computes for 9.6 of its 12 s: a fifth of the node's four cores, and four fifths of what it can use."""
    busy = [replace_cpu(task, 9.6) for task in _tasks()]
    limits = _limits(0.2, 0.2, busy)
    assert limits.main is Resource.CPU
    assert limits.total_s(Resource.CPU) == pytest.approx(12)
    assert {bound.freed: bound.least_s for bound in limits.bounds}["cpu"] == pytest.approx(8 + 12 * 0.2, abs=0.01)
    assert _limits(0.9, 0.2, busy).main is Resource.DISK_HDFS  # what is busy is named first


def test_cores_follow_from_the_cpu_time_that_there_was() -> None:
    trace = _trace(0.9, 0.6)
    rows = zip(trace.t_s, trace.node, trace.subject, trace.metric, trace.counter, trace.value, strict=True)
    host_trace = Trace()
    for t_s, node, subject, metric, counter, value in rows:
        if metric != "cores":
            host_trace.append(t_s, node, subject, metric, counter=counter, value=value)
    without = limits_of(_run(), _tasks(), host_trace)
    assert without is not None
    assert without.bounds == _limits(0.9, 0.6).bounds


@pytest.mark.parametrize(("local", "least_s"), [(3, 20.0), (2, 8.0)])
def test_a_map_that_may_have_read_from_another_node_waits_for_any_disk(local: int, least_s: float) -> None:
    """Only the first worker's disk is busy; the attempts run on the two others."""
    trace = Trace()
    for node in WORKERS:
        for t_s, done_s in ((0.0, 0.0), (4.0, 0.0), (16.0, 12.0), (20.0, 12.0)):
            value = done_s if node == WORKERS[0] else 0.0
            trace.append(t_s, node, "disk:hdd1", "busy_s", counter=True, value=value)
    counted = {"org.apache.hadoop.mapreduce.JobCounter": {"TOTAL_LAUNCHED_MAPS": 3, "DATA_LOCAL_MAPS": local}}
    job = replace(_run().jobs[0], counters=counted)
    limits = limits_of(_run(jobs=(job,)), [make_task(n, 4.0, 16.0, cpu_s=0.0) for n in (1, 2)], trace)
    assert limits is not None
    assert {bound.freed: bound.least_s for bound in limits.bounds}["disks"] == pytest.approx(least_s, abs=0.01)


@needs_simulator
def test_the_benchmark_of_limits_counts_against_what_faster_resources_save() -> None:
    module = benchmark("limit_errors")
    limits = _limits(0.9, 0.6)
    bound_s = {bound.freed: bound.least_s for bound in limits.bounds}

    def seen(disks: float, cpu: float, faster: float) -> Any:
        fastest_s = {name: time_s * faster for name, time_s in bound_s.items()}
        return module.ScoredLimit("terasort", limits, {"disks": disks, "network": 0.0, "cpu": cpu}, fastest_s)

    assert (seen(0.3, 0.1, 1).named, seen(0.3, 0.1, 1).truth, seen(0.3, 0.1, 1).misled) == ("disks", "disks", False)
    assert (seen(0.1, 0.3, 1).truth, seen(0.1, 0.3, 1).misled, seen(0.2, 0.3, 1).misled) == ("cpu", True, False)
    assert (seen(0.01, 0.02, 1).truth, seen(0.01, 0.02, 1).misled) == (module.NONE, False)
    assert seen(0.3, 0.1, 0.9).beyond("disks") == pytest.approx(0.1)
    [drawn] = module.scored_limits(1, seed=2)
    assert set(drawn.gains) == {"disks", "network", "cpu"}
    assert drawn.fastest_s["disks"] <= drawn.answer.duration_s * 1.05


def replace_cpu(task: TaskAttempt, cpu_s: float) -> TaskAttempt:
    """Return the attempt with another CPU time."""
    return make_task(int(task.task_id[-1]), task.start_s, task.end_s, cpu_s=cpu_s)


def test_attempts_follow_each_other_in_their_container_and_reduces_their_maps() -> None:
    tasks = [
        make_task(0, 4.0, 8.0),
        make_task(3, 8.5, 12.0),  # the same node, its container
        make_task(1, 6.0, 16.0, kind="reduce", shuffle_end_s=13.0, merge_end_s=14.0, hdfs_write_bytes=5),
    ]
    bounds = {bound.freed: bound.least_s for bound in _limits(1.0, 0.0, tasks).bounds}
    # everything between 4 and 16 s was the disks' doing; what is left is the time before and after
    assert bounds["disks"] == pytest.approx(8.0, abs=0.01)
    none = {bound.freed: bound.least_s for bound in _limits(0.0, 0.0, tasks).bounds}
    assert none["disks"] == pytest.approx(DURATION_S)


def test_a_node_without_attempts_waits_for_containers_or_has_nothing_left() -> None:
    tasks = [make_task(0, 4.0, 16.0), make_task(1, 10.0, 16.0), make_task(2, 4.0, 10.0)]
    moments = {(m.node, m.t_s): m.limit for m in _limits(0.9, 0.1, tasks).moments}
    assert moments[WORKERS[1], 5.0] is Resource.CONTAINERS
    assert moments[WORKERS[2], 12.0] is Resource.NO_TASK
    assert moments[WORKERS[0], 12.0] is Resource.DISK_HDFS


def test_without_a_trace_there_is_no_answer_and_a_reason(tmp_path: Path) -> None:
    assert limits_of(_run(), _tasks(), Trace()) is None
    store = Repository.create(tmp_path / "r")
    run = _run()
    store.publish(run, tasks=_tasks(), trace=Trace())
    with pytest.raises(RepositoryError, match="no traces"):
        limits_of_run(store, run.run_id)


def test_the_command_prints_limits_bounds_and_what_they_rest_on(tmp_path: Path) -> None:
    store = Repository.create(tmp_path / "r")
    run = _run()
    store.publish(run, tasks=_tasks(), trace=_trace(0.9, 0.6))
    options = ["show", run.run_id, "--limits", "--repository", str(store.root)]
    text = CliRunner().invoke(assay, options).output
    assert "HDFS disks" in text
    assert re.search(r"^The HDFS disks limited [\d.]+ of [\d.]+ s\. If disks cost no time", text, re.MULTILINE)
    assert "disks cost no time" in text
    assert "2.17" in text
    answer = json.loads(CliRunner().invoke(assay, [*options, "--json"]).output)
    assert answer["main"] == "disk:hdfs"
    assert len(answer["moments"]) == 20 * len(WORKERS)
    assert answer["rests_on"]


def test_an_imported_run_without_jobs_is_bounded_as_one_piece() -> None:
    limits = limits_of(replace(_run(), jobs=()), [], _trace(0.9, 0.6))
    assert limits is not None
    assert {bound.freed: bound.least_s for bound in limits.bounds}["disks"] < DURATION_S
    assert any("as a whole" in words for words in limits.rests_on)
