"""Test runs and configurations next to each other: differences, ratios to the first, API and export."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from assay.analysis.comparison.details.side_by_side import DifferenceKind, same_configuration, side_by_side
from assay.analysis.statistics.runs.run_table import table_of
from assay.foundation.errors import SpecificationError
from assay.model.runs.origin import Origin
from assay.model.runs.run_status import RunStatus
from assay.questions.comparisons.result_sentences import different_jobs_text, side_sentence
from assay.questions.decisions.decide import decide
from assay.questions.decisions.decision import DecisionRequest
from assay.questions.decisions.sentences.decision_sentences import headline
from builders import build_repository, make_run, runs_with, study_runs
from web_support import client_of, filled


def test_varied_factors_are_distinguished_from_accidental_and_host_differences() -> None:
    slow = [make_run(n, duration_s=60.0 + n, environment={"kernel": "6.1"}) for n in range(3)]
    fast = [
        make_run(
            10 + n,
            layout="SS2",
            levels={"layout": "SS2"},
            duration_s=30.0 + n,
            cold=None,
            parameters={"dfs.blocksize": "128MiB"},
            environment={"kernel": "6.6"},
        )
        for n in range(3)
    ]
    comparison = side_by_side([slow, fast])
    by_name = {item.name: (item.kind, item.levels) for item in comparison.differences}
    assert by_name["layout"] == (DifferenceKind.PURPOSE, (("HD2",), ("SS2",)))
    assert by_name["dfs.blocksize"] == (DifferenceKind.INCIDENTAL, (("64MiB",), ("128MiB",)))
    assert by_name["caches"] == (DifferenceKind.INCIDENTAL, (("cold",), ("not known",)))
    assert by_name["kernel"] == (DifferenceKind.HOSTS, (("6.1",), ("6.6",)))
    assert comparison.same["workload"] == "terasort"
    first, second = comparison.sides
    assert (first.label, second.label) == ("A: 2 hard disks (HD2) 64MiB", "B: 2 SSDs (SS2) 128MiB")
    assert first.ratio is None
    assert second.ratio == pytest.approx(61 / 31, rel=0.01)
    assert second.ratio_low is not None
    assert second.ratio_low < (second.ratio or 0)
    assert "× as fast as A: 2 hard disks (HD2)" in side_sentence(comparison, second)


@pytest.mark.parametrize(
    "change", [{"workload": "sort"}, {"origin": Origin.PUBLISHED}, {"lab_scale": None}, {"data_bytes": 5}]
)
def test_different_jobs_have_no_ratio(change: dict[str, object]) -> None:
    comparison = side_by_side([[make_run(0)], [make_run(1, **change)]])
    assert different_jobs_text(comparison).endswith("different jobs, so their times can't be compared.")
    assert comparison.sides[1].ratio is None


def test_failed_runs_are_excluded_and_their_number_is_stated() -> None:
    runs = runs_with({"HD2": [60.0, 61, 62], "SS2": [30.0, 31, 32]})
    failed = make_run(90, status=RunStatus.FAILED, duration_s=1.0)
    comparison = side_by_side([[failed, *runs[:3]], runs[3:]])
    assert (comparison.sides[0].summary.n, comparison.sides[0].left_out) == (3, 1)
    assert comparison.sides[0].typical_run_id == runs[1].run_id
    assert side_by_side([[failed], [runs[0]]]).sides[1].ratio is None


def test_runs_of_a_configuration_have_equal_workload_layout_and_parameters() -> None:
    runs = [*study_runs(), make_run(500, parameters={"dfs.blocksize": "1GiB"})]
    table = table_of(runs)
    rows = same_configuration(table, runs[0])
    assert len(rows) >= 3
    assert {(runs[row].workload, runs[row].layout) for row in rows} == {(runs[0].workload, runs[0].layout)}
    assert same_configuration(table, runs[-1]).tolist() == [len(runs) - 1]


@pytest.mark.parametrize("count", [0, 1, 7])
def test_fewer_than_two_or_more_than_six_sides_are_refused(count: int) -> None:
    with pytest.raises(SpecificationError):
        side_by_side([[make_run(n)] for n in range(count)])


@pytest.mark.slow
def test_the_api_compares_runs_side_by_side(tmp_path: Path) -> None:
    client = client_of(filled(tmp_path / "r").root)
    ids = {run.layout: run.run_id for run in study_runs() if run.workload == "terasort" and run.status == "valid"}
    query: list[tuple[str, str | int | float | bool | None]] = [("run", ids["HD2"]), ("run", ids["SS2"])]
    comparison = client.get("/api/v1/sides", params=query).json()
    assert [side["summary"]["n"] for side in comparison["sides"]] == [3, 3]
    assert comparison["sides"][1]["ratio_low"] is not None
    single = client.get("/api/v1/sides", params=[*query, ("of", "runs")]).json()
    assert [side["summary"]["n"] for side in single["sides"]] == [1, 1]
    twins = [run.run_id for run in study_runs() if (run.workload, run.layout) == ("terasort", "HD2")][:2]
    answer = client.get("/api/v1/sides", params=[("run", run_id) for run_id in twins])
    assert (answer.status_code, "of one configuration" in answer.json()["message"]) == (400, True)
    assert client.get("/api/v1/sides", params=[("run", twins[0])]).status_code == 400
    assert client.get("/api/v1/sides", params=[("run", "nothing"), ("run", twins[0])]).status_code == 404


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_filtered_runs_are_exported_as_files(tmp_path: Path, form: str) -> None:
    client = client_of(filled(tmp_path / "r").root)
    answer = client.get("/api/v1/export", params={"form": form, "where": "layout=SS2"})
    assert answer.headers["content-disposition"] == f'attachment; filename="runs.{form}"'
    if form == "csv":
        layouts = [row["layout"] for row in csv.DictReader(io.StringIO(answer.text))]
        assert set(layouts) == {"SS2"}
    elif form == "jsonl":
        assert {json.loads(line)["layout"] for line in answer.text.splitlines()} == {"SS2"}
    else:
        assert answer.content[:4] == b"PAR1"
    assert client.get("/api/v1/export", params={"where": "layout=none"}).status_code == 400


@pytest.mark.slow
def test_the_page_begins_with_the_decision_on_what_differs(tmp_path: Path) -> None:
    runs = runs_with({"HD2": [60.0, 61, 62], "SS2": [30.0, 31, 32]})
    repository = build_repository(tmp_path / "r", runs)
    (decision,) = decide(repository.table(), DecisionRequest("layout", "HD2", ("workload=terasort",)))
    client = client_of(tmp_path / "r")
    ids = [next(run.run_id for run in runs if run.layout == layout) for layout in ("HD2", "SS2")]
    page = client.get("/compare", params=[("run", run_id) for run_id in ids]).text
    assert page.index(headline(decision)) < page.index("Details: these configurations")
    other = make_run(99, workload="sort")
    repository.publish(other)
    other_page = client_of(tmp_path / "r").get("/compare", params=[("run", ids[0]), ("run", other.run_id)]).text
    assert "different jobs" in other_page
    assert 'class="decision"' not in other_page
