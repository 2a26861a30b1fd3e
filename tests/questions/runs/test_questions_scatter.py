"""Test any metric against any other: counts, bounds, choices, and the same answer in terminal, API and page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import vl_convert
from click.testing import CliRunner

from assay.foundation.errors import SpecificationError
from assay.interfaces.charts.drawing.style import VEGA_LITE_VERSION
from assay.interfaces.charts.scatter import scatter_points
from assay.interfaces.cli.explain.scatter import scatter as command
from assay.model import RunStatus
from assay.questions.runs import scatter as question
from assay.questions.runs.scatter import OTHER_LEVELS, ScatterRequest, counts_text, scatter
from assay.store import Repository
from builders import build_repository, make_run
from web_support import client_of


def repository_of(root: Path) -> Repository:
    """Return ten runs with two metrics on HD2 and SS2, one that failed and one without the second metric."""
    runs = [
        make_run(
            n,
            layout="HD2" if n % 2 else "SS2",
            levels={"layout": "HD2" if n % 2 else "SS2"},
            duration_s=50.0 - n,
            metrics={"cpu_s": 10.0 + n, "gc_s": 1.0},
        )
        for n in range(10)
    ]
    runs += [make_run(20, status=RunStatus.FAILED, metrics={"cpu_s": 1.0}), make_run(21, metrics={"gc_s": 1.0})]
    return build_repository(root, runs)


def test_points_are_valid_runs_with_both_metrics_and_the_rest_is_counted(tmp_path: Path) -> None:
    view = scatter(repository_of(tmp_path / "r"), ScatterRequest("cpu_s", by="layout"))
    assert (view.matching, view.not_valid, view.without_metrics, view.not_drawn) == (12, 1, 1, 0)
    assert [(point.x, point.y) for point in view.points] == [(10.0 + n, 50.0 - n) for n in range(10)]
    assert {point.colour for point in view.points} == {"HD2", "SS2"}
    assert counts_text(view) == "10 of 12 matching runs; 1 not valid; 1 without one of the metrics."
    assert {"cpu_s", "gc_s", "duration_s"} <= set(view.metrics)


def test_many_runs_are_bounded_with_the_extremes_and_the_rest_is_stated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question, "POINTS_MAX", 4)
    monkeypatch.setattr(question, "LEVELS_MAX", 1)
    view = scatter(repository_of(tmp_path / "r"), ScatterRequest("cpu_s", by="layout"))
    assert len(view.points) + view.not_drawn == 10
    assert len(view.points) <= 4
    assert (view.points[0].x, view.points[-1].x) == (10.0, 19.0)
    assert OTHER_LEVELS in {point.colour for point in view.points}
    assert f"{view.not_drawn} not drawn" in counts_text(view)


@pytest.mark.parametrize("wrong", [ScatterRequest("cpu"), ScatterRequest(y="no"), ScatterRequest(by="no")])
def test_an_unknown_name_is_an_error_with_the_choices(tmp_path: Path, wrong: ScatterRequest) -> None:
    with pytest.raises(SpecificationError) as error:
        scatter(repository_of(tmp_path / "r"), wrong)
    assert error.value.hint


def test_terminal_api_and_page_show_the_same_points(tmp_path: Path) -> None:
    repository_of(tmp_path / "r")
    client, folder = client_of(tmp_path / "r"), ("--repository", str(tmp_path / "r"))
    query = {"x": "cpu_s", "by": "layout", "where": "layout=SS2"}
    answer = client.get("/api/v1/scatter", params=query).json()
    arguments = ["--x", "cpu_s", "--by", "layout", "--where", "layout=SS2", *folder]
    assert json.loads(CliRunner().invoke(command, [*arguments, "--json"]).stdout) == answer
    assert len(answer["points"]) == 5
    text = CliRunner().invoke(command, arguments).output
    page = client.get("/scatter", params=query).text
    for shown in (text, page):
        assert "5 of 5 matching runs." in shown
    assert f'href="/runs/{answer["points"][0]["run_id"]}"' in page
    assert 'name="where" value="layout=SS2"' in page
    assert '<option value="cpu_s" selected>' in page
    assert client.get("/scatter", params={"x": "nothing"}).status_code == 400


def test_a_point_leads_to_its_run(tmp_path: Path) -> None:
    view = scatter(repository_of(tmp_path / "r"), ScatterRequest("cpu_s", by="layout", shape="layout"))
    spec = scatter_points(view, {})
    assert spec["data"]["values"][0]["address"] == f"/runs/{view.points[0].run_id}"
    assert spec["encoding"]["href"] == {"field": "address"}


def test_start_times_have_an_axis_of_dates_and_metrics_have_words(tmp_path: Path) -> None:
    view = scatter(repository_of(tmp_path / "r"), ScatterRequest("started_unix_s"))
    spec = scatter_points(view, {})
    assert (spec["encoding"]["x"]["type"], spec["encoding"]["x"]["title"]) == ("temporal", "Start time (UTC)")
    assert spec["data"]["values"][0]["started_unix_s"] == 1000 * view.points[0].x
    assert spec["encoding"]["y"]["title"] == "Run time (s)"


def test_the_axis_of_start_times_has_24_hours(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    for minute in (35, 45, 57):
        repository.publish(make_run(minute, started_at=f"2026-11-21T22:{minute}:00+00:00"))
    spec = scatter_points(scatter(repository, ScatterRequest("started_unix_s")), {})
    svg = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE_VERSION, allowed_base_urls=[])
    assert {"22:35", "22:45", "22:55"} <= set(re.findall(r">(\d\d:\d\d)<", svg))
