"""Test the quality of runs: combined causes, missing traces, and repetitions that a precision needs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.comparison.significance import half_width, runs_needed
from assay.analysis.outliers.causes import causes_of
from assay.analysis.outliers.missing_repetitions import MissingRepetitions, missing_repetitions
from assay.analysis.statistics.runs.run_table import table_of
from assay.model.runs.run import Check, Run
from assay.model.runs.run_status import FailureClass, RunStatus
from builders import build_repository, make_run, make_trace, runs_with, study_runs
from web_support import client_of, filled


def missing(runs: list[Run], wanted: float) -> MissingRepetitions:
    return missing_repetitions(table_of(runs), wanted, run_ids=lambda rows: [runs[row].run_id for row in rows])


@given(st.lists(st.floats(50, 200), min_size=2, max_size=8), st.sampled_from([0.01, 0.05, 0.2]))
def test_missing_runs_of_a_table_equal_those_of_each_group(times_s: list[float], wanted: float) -> None:
    repetitions = missing([make_run(n, duration_s=time_s) for n, time_s in enumerate(times_s)], wanted)
    if half_width(times_s) <= wanted:
        assert (repetitions.enough, repetitions.needs) == (1, ())
        return
    (need,) = repetitions.needs
    expected = runs_needed(times_s, wanted)
    assert need.needed == (None if expected is None else max(expected, len(times_s) + 1))
    assert need.half_width == pytest.approx(half_width(times_s))


def test_a_single_run_takes_its_workloads_scatter() -> None:
    noise = random.Random(1)
    runs = runs_with({"HD2": [60 * noise.lognormvariate(0, 0.1) for _ in range(10)], "SS2": [30.0]})
    repetitions = missing(runs, 0.05)
    assert (repetitions.configurations, repetitions.single) == (2, 1)
    single = next(need for need in repetitions.needs if need.runs == 1)
    assert (single.assumed, single.half_width) == (True, None)
    assert (single.run_id, single.configuration) == (runs[10].run_id, {"layout": "SS2"})
    assert single.needed == next(need.needed for need in repetitions.needs if need.runs == 10)
    alone = missing([make_run(0)], 0.05)
    assert (alone.unknown, alone.needs[0].needed) == (1, None)
    assert missing([make_run(0, status=RunStatus.FAILED)], 0.05).configurations == 0


def _not_valid(
    number: int, cause: str, failure_class: FailureClass | None = FailureClass.ENGINE, **more: object
) -> Run:
    return make_run(number, status=RunStatus.FAILED, cause=cause, failure_class=failure_class, **more)


def test_causes_that_differ_in_numbers_alone_are_one() -> None:
    runs = [
        _not_valid(1, "the DataNode on worker1 ended after 12.5 s"),
        _not_valid(2, "the DataNode on worker1 ended after 9 s"),
        _not_valid(3, "the DataNode on worker1 ended after 9 s", FailureClass.INFRASTRUCTURE),
        _not_valid(4, "job_1795264313235_0001 timed out", layout="SS2"),
        make_run(5),
        make_run(6, status=RunStatus.INVALID, cause="wrong output", checks=(Check("sorted", False, "is not"),)),
    ]
    causes = causes_of(runs)
    assert (causes[0].runs, causes[0].failure_class) == (2, "engine")
    assert causes[0].text.endswith("9 s")
    assert causes[0].examples == (runs[1].run_id, runs[0].run_id)
    assert sum(cause.runs for cause in causes) == 5
    assert next(cause for cause in causes if cause.checks).checks == ("sorted",)


def test_runs_with_a_trace_are_known_without_reading_it(tmp_path: Path) -> None:
    repository = filled(tmp_path / "r")
    assert repository.traced_runs() == {study_runs()[0].run_id}
    repository.publish(make_run(800), trace=make_trace(make_run(800)))
    assert len(repository.traced_runs()) == 2


@pytest.mark.slow
def test_the_api_has_causes_coverage_and_precision(tmp_path: Path) -> None:
    client = client_of(filled(tmp_path / "r").root)
    causes = client.get("/api/v1/causes").json()
    assert causes["not_valid"] == sum(cause["runs"] for cause in causes["causes"]) > 0
    (coverage,) = client.get("/api/v1/coverage", params={"where": "plan=hdd-vs-ssd"}).json()
    assert (coverage["traced"], coverage["cold"] + coverage["warm"] + coverage["unknown"]) == (1, coverage["runs"])
    bare = client_of(build_repository(tmp_path / "bare", [make_run(0, plan="")]).root)
    assert [(row["plan"], row["runs"]) for row in bare.get("/api/v1/coverage").json()] == [("no plan named", 1)]
    assert bare.get("/quality").status_code == 200
    loose = client.get("/api/v1/precision", params={"wanted": 5}).json()
    tight = client.get("/api/v1/precision", params={"wanted": 0.01}).json()
    assert loose["more_runs"] < tight["more_runs"]
    assert tight["needs"][0]["configuration"]["workload"]
    assert client.get("/api/v1/precision", params={"wanted": 0}).status_code == 422
    page = client.get("/quality", params={"precision": 1}).text
    assert "&lt;script&gt;" in page
    assert "<script>alert" not in page
    assert "A time within 1 % needs more" in page
