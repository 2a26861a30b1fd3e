"""Test the job counters of sides: means over repetitions, absent counters, zero, order, and every interface."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.analysis.comparison.details.counters import CounterMean, compare_counters, counters_of
from assay.analysis.comparison.details.side_by_side import side_by_side
from assay.interfaces.cli.decide.compare import compare
from assay.model import Job, Run
from assay.questions.comparisons.result_sentences import counters_text
from builders import build_repository, make_run
from web_support import client_of

TASKS = "org.apache.hadoop.mapreduce.TaskCounter"


def run_with(number: int, *jobs: dict[str, int], layout: str = "HD2") -> Run:
    """Return a run with one job for each dictionary of counters; an empty one is a job without counters."""
    made = tuple(
        Job(f"job_{number}_{n}", "sort", "succeeded", 0.0, 1.0, 9.0, 1, 1, {TASKS: counters} if counters else {})
        for n, counters in enumerate(jobs)
    )
    return make_run(number, layout=layout, levels={"layout": layout}, jobs=made)


def test_counters_are_summed_over_jobs_and_averaged_over_repetitions() -> None:
    first = [run_with(0, {"READ": 100, "SPILLED": 4}, {"READ": 20}), run_with(1, {"READ": 200, "SPILLED": 8})]
    second = [run_with(2, {"READ": 80, "SPILLED": 3})]
    table = compare_counters([first, second])
    rows = {row.name: row for row in table.rows}
    assert table.runs == (2, 1)
    assert rows["READ"].sides == (CounterMean(160.0, 2, 120, 200), CounterMean(80.0, 1, 80, 80))
    assert rows["READ"].ratios == (None, 0.5)
    assert rows["READ"].difference == 0.5
    assert rows["SPILLED"].sides[0] == CounterMean(6.0, 2, 4, 8)


def test_a_run_counts_only_if_all_its_jobs_have_counters() -> None:
    assert counters_of(run_with(0, {"READ": 1}, {})) == {}
    assert counters_of(make_run(1)) == {}
    assert compare_counters([[run_with(0, {"READ": 1}, {})], [run_with(1, {"READ": 7})]]).runs == (0, 1)


def test_zero_is_not_absent_and_gives_no_infinite_ratio() -> None:
    table = compare_counters(
        [[run_with(0, {"FAILED": 0, "GC": 10, "NONE": 0})], [run_with(1, {"FAILED": 5, "NONE": 0})]]
    )
    rows = {row.name: row for row in table.rows}
    assert (rows["FAILED"].ratios[1], rows["FAILED"].difference) == (None, 1.0)
    assert (rows["GC"].sides[1], rows["GC"].ratios[1], rows["GC"].difference) == (None, None, None)
    assert (rows["NONE"].ratios[1], rows["NONE"].difference) == (None, 0.0)
    assert [row.name for row in table.rows] == ["FAILED", "NONE", "GC"]


def test_the_largest_difference_comes_first_whichever_side_is_larger() -> None:
    table = compare_counters(
        [[run_with(0, {"SMALL": 100, "UP": 10, "DOWN": 100})], [run_with(1, {"SMALL": 101, "UP": 30, "DOWN": 20})]]
    )
    assert [row.name for row in table.rows] == ["DOWN", "UP", "SMALL"]


def test_runs_that_do_not_count_have_no_counters_in_the_mean() -> None:
    cold = [run_with(0, {"READ": 10}), run_with(1, {"READ": 30})]
    failed = make_run(2, status="failed", jobs=run_with(2, {"READ": 1000}).jobs)
    sides = side_by_side([[*cold, failed], [run_with(3, {"READ": 20}, layout="SS2")]])
    (row,) = sides.counters.rows
    assert row.sides[0] == CounterMean(20.0, 2, 10, 30)


def test_the_table_names_absent_counters_ranges_and_runs() -> None:
    first = [run_with(0, {"READ": 1000, "ONLY": 1}), run_with(1, {"READ": 3000, "ONLY": 1})]
    table = counters_text(side_by_side([first, [run_with(2, {"READ": 1000}, layout="SS2")]]))
    assert table.headers == ("counter", "A", "B", "B / A", "difference")
    assert table.rows[0] == ("TaskCounter: READ", "2,000 (1,000 to 3,000)", "1,000", "0.50×", "50 %")
    assert table.rows[1] == ("TaskCounter: ONLY", "1", "absent", "–", "–")
    assert "A 2, B 1" in table.notes[0]


@pytest.mark.slow
def test_terminal_api_and_page_show_the_same_counters(tmp_path: Path) -> None:
    runs = [run_with(n, {"READ": 100 + n, "GC": 7}) for n in range(3)]
    runs += [run_with(10 + n, {"READ": 40 + n}, layout="SS2") for n in range(3)]
    build_repository(tmp_path / "r", runs)
    ids = (runs[0].run_id, runs[3].run_id)
    arguments = [*ids, "--repository", str(tmp_path / "r")]
    client = client_of(tmp_path / "r")
    answer = client.get("/api/v1/sides", params=[("run", run_id) for run_id in ids]).json()
    printed = CliRunner().invoke(compare, [*arguments, "--json"])
    assert json.loads(printed.stdout) == answer
    assert answer["counters"]["runs"] == [3, 3]
    text = CliRunner().invoke(compare, arguments)
    assert text.exit_code == 0, text.output
    page = client.get("/compare", params=[("run", run_id) for run_id in ids]).text
    for shown in (text.output, page):
        assert "TaskCounter: READ" in shown
        assert "101 (100 to 102)" in shown
        assert "absent" in shown
    single = CliRunner().invoke(compare, [*arguments, "--of", "runs", "--json"])
    assert json.loads(single.stdout)["counters"]["runs"] == [1, 1]


def test_a_page_without_counters_states_it(tmp_path: Path) -> None:
    build_repository(tmp_path / "r", [make_run(0), make_run(1, layout="SS2", levels={"layout": "SS2"})])
    client = client_of(tmp_path / "r")
    assert "has job counters" in client.get("/compare", params=[("run", make_run(n).run_id) for n in (0, 1)]).text


@pytest.mark.parametrize("names", [("nothing-1", "nothing-2"), ("00000000-0000", "00000000-0000")])
def test_unknown_and_ambiguous_runs_are_errors_without_a_traceback(tmp_path: Path, names: tuple[str, str]) -> None:
    build_repository(tmp_path / "r", [make_run(0), make_run(1)])
    failed = CliRunner().invoke(compare, [*names, "--repository", str(tmp_path / "r")])
    assert failed.exit_code != 0
    assert "run" in str(failed.exception or failed.output)
    assert "Traceback" not in failed.output
