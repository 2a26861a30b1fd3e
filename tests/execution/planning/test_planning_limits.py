"""Test limits of a campaign: --only, --until, time limits from history, retries by failure class."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay.execution.campaign.failures import class_of_end, class_of_error, wait_before_retry_s
from assay.execution.engines.hadoop.deployment.deployed import FULL_DISK
from assay.execution.planning.expansion import expand
from assay.execution.planning.forecast.call_limits import parse_selection, parse_stop
from assay.execution.planning.forecast.estimate import expected_time, time_limit
from assay.execution.planning.forecast.inputs import size_of
from assay.execution.planning.order import PlannedRun, schedule
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import (
    AssayError,
    CommandError,
    EngineError,
    HostError,
    HostTimeoutError,
    SpecificationError,
)
from assay.model.plans.plan import RETRIES, Plan
from assay.model.runs.run import Run
from assay.model.runs.run_status import FailureClass, RunStatus
from assay.workloads.catalogue import workloads
from builders import make_run
from paths import ROOT

EXAMPLE = ROOT / "examples" / "lab" / "hdd-vs-ssd.yaml"
PLAN = load_plan(EXAMPLE)
RUNS = schedule(PLAN, expand(PLAN))
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def like(planned: PlannedRun, duration_s: float, **changes: Any) -> Run:
    """Return a valid run of exactly what ``planned`` asks for."""
    data_bytes = workloads()[planned.workload.name].data_bytes(size_of(planned, PLAN))
    run = make_run(
        workload=planned.workload.key,
        layout=planned.configuration.layout.name,
        levels=dict(planned.configuration.levels),
        parameters=dict(planned.configuration.parameters),
        workload_parameters={"program": planned.workload.name, **planned.workload.parameters},
        cluster=PLAN.cluster.name,
        data_bytes=data_bytes,
        duration_s=duration_s,
    )
    return replace(run, **changes)


@pytest.mark.parametrize(
    ("text", "after_s"),
    [("18:30", 6.5 * 3600), ("11:59", 24 * 3600 - 60), ("12:00", 24 * 3600), ("2h", 7200), ("90min", 5400)],
)
def test_a_call_stops_at_a_time_of_day_or_after_a_while(text: str, after_s: float) -> None:
    stop = parse_stop(text, NOON)
    assert stop.at_unix_s == NOON.timestamp() + after_s
    assert not stop.is_reached(99, NOON.timestamp() + after_s - 1)
    assert stop.is_reached(0, NOON.timestamp() + after_s)


def test_a_call_stops_after_a_number_of_runs() -> None:
    assert [parse_stop("2 runs", NOON).is_reached(made, 1e12) for made in (1, 2, 3)] == [False, True, True]
    assert parse_stop("1 run", NOON).runs == 1


@pytest.mark.parametrize("text", ["", "25:00", "12:60", "0 runs", "0s", "soon", "2 hours", "-1h"])
def test_an_end_that_is_none_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(SpecificationError, match="12 runs"):
        parse_stop(text, NOON)


def test_only_takes_workloads_and_levels() -> None:
    selection = parse_selection(["terasort", "dfsio-read", "layout=HD2"], RUNS)
    names = {(run.workload.key, run.configuration.layout.name) for run in RUNS if selection.contains(run)}
    assert names == {("terasort", "HD2"), ("dfsio-read", "HD2")}
    both = parse_selection(["layout=HD2", "layout=SS2"], RUNS)
    assert all(both.contains(run) for run in RUNS)
    assert all(parse_selection([], RUNS).contains(run) for run in RUNS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("terrasort", "did you mean 'terasort'"),
        ("layout=HD3", "unknown level of layout 'HD3'"),
        ("disk=HD2", "unknown factor 'disk'"),
        ("layout", "layout=LEVEL"),
    ],
)
def test_the_option_only_refuses_unknown_names_and_lists_the_valid_ones(text: str, words: str) -> None:
    with pytest.raises(SpecificationError, match=words):
        parse_selection([text], RUNS)


def test_the_time_limit_is_the_plans_or_a_multiple_of_like_runs_or_the_default_and_says_which() -> None:
    planned = RUNS[0]
    assert str(time_limit(planned, PLAN, [])) == "10 min 00 s: the plan's timeout"
    free = replace(PLAN, timeout_s=None)
    assert time_limit(planned, free, []).seconds == 1800
    assert "default" in time_limit(planned, free, []).why
    limit = time_limit(planned, free, [like(planned, 100.0), like(planned, 120.0)])
    assert limit.seconds == 480
    assert limit.why == "4 × the longest of 2 comparable runs (2 min 00 s)"
    assert time_limit(planned, free, [like(planned, 20.0)]).seconds == 300


@pytest.mark.parametrize(
    "change",
    [
        {"status": RunStatus.FAILED},
        {"data_bytes": 1},
        {"layout": "HD9"},
        {"lab_scale": None},
        {"cluster": "other"},
        {"parameters": {"dfs.replication": "1"}},
        {"workload_parameters": {"program": "dfsio-write", "files": "9"}},
        {"levels": {"layout": "SS2", "network": "1Gbit/s"}},
    ],
)
def test_a_run_that_differs_in_anything_that_takes_time_sets_no_limit(change: dict[str, Any]) -> None:
    free = replace(PLAN, timeout_s=None)
    assert time_limit(RUNS[0], free, [like(RUNS[0], 900.0, **change)]).seconds == 1800


def test_the_expected_time_is_of_like_runs_else_in_proportion_to_the_data() -> None:
    planned = RUNS[0]
    assert expected_time(planned, PLAN, [like(planned, 40.0), like(planned, 60.0)]).duration_s == 50.0
    whole = like(planned, 112.0)
    double = replace(whole, data_bytes=2 * (whole.data_bytes or 0))
    assert expected_time(planned, PLAN, [double]).duration_s == pytest.approx(62.0)  # 12 s to start, half of the rest
    assert "similar" in expected_time(planned, PLAN, [double]).basis
    assert not expected_time(planned, PLAN, [double]).is_guess
    assert expected_time(planned, PLAN, []).is_guess


@pytest.mark.parametrize(
    ("error", "expected_class"),
    [
        (HostError("the connection was lost"), FailureClass.INFRASTRUCTURE),
        (HostTimeoutError("took longer than 60 s"), FailureClass.INFRASTRUCTURE),
        (CommandError("exit status 1: bad"), FailureClass.ENGINE),
        (CommandError("exit status 1: No space left on device"), FailureClass.INFRASTRUCTURE),
        (EngineError("namenode exited after the start: BindException"), FailureClass.ENGINE),
        (EngineError("the input could not be made: could only be written to 0 of"), FailureClass.INFRASTRUCTURE),
    ],
)
def test_an_error_has_the_class_of_who_is_at_fault(error: AssayError, expected_class: FailureClass) -> None:
    assert class_of_error(error, FULL_DISK) is expected_class


def test_an_engine_error_because_a_host_is_gone_is_the_infrastructures() -> None:
    error = EngineError("can't make the deployment's folders")
    error.__cause__ = HostError("the connection was lost")
    assert class_of_error(error) is FailureClass.INFRASTRUCTURE
    error.__cause__ = CommandError("exit status 1: Permission denied")
    assert class_of_error(error) is FailureClass.ENGINE


def test_a_client_that_fails_is_the_jobs_fault_unless_a_disk_a_host_or_a_daemon_is() -> None:
    assert class_of_end("Exception in map", problem=None, host_lost=False) is FailureClass.WORKLOAD
    assert class_of_end("", problem="worker1: datanode died", host_lost=False) is FailureClass.ENGINE
    assert class_of_end("", problem="x", host_lost=True) is FailureClass.INFRASTRUCTURE
    full = "java.io.IOException: No space left on device"
    assert class_of_end(full, problem=None, host_lost=False) is FailureClass.INFRASTRUCTURE
    assert class_of_end("no room here", problem=None, host_lost=False) is FailureClass.WORKLOAD
    assert (
        class_of_end("no room here", problem=None, host_lost=False, full_disk_messages=["no room"])
        is FailureClass.INFRASTRUCTURE
    )


def tries(plan: Plan, *classes: FailureClass) -> int:
    """Return how often a run is made that always fails, with the classes in turn (the last one again and again)."""
    tried: list[FailureClass] = []
    while True:
        tried.append(classes[min(len(tried), len(classes) - 1)])
        if wait_before_retry_s(make_run(failure_class=tried[-1]), tried, plan) is None:
            return len(tried)


def written(tmp_path: Path, change: str) -> Plan:
    text = (
        EXAMPLE.read_text().replace("attempts: 2", change).replace("cluster.yaml", str(EXAMPLE.parent / "cluster.yaml"))
    )
    (tmp_path / "plan.yaml").write_text(text)
    return load_plan(tmp_path / "plan.yaml")


def test_each_failure_class_has_its_rule(tmp_path: Path) -> None:
    plan = written(tmp_path, "")
    assert plan.retries == RETRIES
    assert {name: tries(plan, name) for name in FailureClass} == {name: RETRIES[name] + 1 for name in FailureClass}
    assert tries(plan, FailureClass.WORKLOAD, FailureClass.ENGINE) == 4  # one, and then an engine's three
    assert wait_before_retry_s(make_run(), [], plan) is None  # valid


def test_attempts_alone_holds_for_every_class_and_bounds_them_all(tmp_path: Path) -> None:
    plan = written(tmp_path, "attempts: 2")
    assert {tries(plan, name) for name in FailureClass} == {2}
    assert tries(plan, FailureClass.WORKLOAD, FailureClass.ENGINE) == 2
    mixed = written(tmp_path, "attempts: 4\nretries: {validation: 0, workload: 9}")
    assert tries(mixed, FailureClass.VALIDATION) == 1
    assert tries(mixed, FailureClass.WORKLOAD) == 4
    assert tries(mixed, FailureClass.ENGINE) == 4


def test_hosts_are_given_time_to_come_back(tmp_path: Path) -> None:
    plan, gone = written(tmp_path, ""), FailureClass.INFRASTRUCTURE
    waits = [wait_before_retry_s(make_run(failure_class=gone), [gone] * n, plan) for n in (1, 2, 3, 4)]
    assert waits == [5.0, 20.0, 60.0, None]


def test_an_unknown_class_in_a_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match="did you mean 'engine'"):
        written(tmp_path, "retries: {engin: 1}")
