"""Test the page and the API of predictions: estimates, factor importance, unmeasured configurations."""

from __future__ import annotations

import html
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from assay.analysis.statistics.runs.run_table import table_of
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.interfaces.cli.main import assay
from assay.interfaces.web.api import predict as api_predict
from assay.questions.forecasts.coverage_map import coverage_map
from assay.store import Repository
from assay.store.campaigns.journal import create_campaign
from builders import make_run
from learning import configured, learning_runs
from paths import ROOT
from web_support import client_of

LEARNED_S_MAX = 120.0
"""Maximum time to learn from the runs of these tests, in seconds, on a loaded machine."""
MISSING = ("sort", "SSD", "IB")


def test_the_map_counts_valid_runs_and_unmeasured_cells() -> None:
    runs = [
        configured(n, w, lay, "IB", 4, 8)
        for n, (w, lay) in enumerate((("sort", "HDD"), ("sort", "SSD"), ("kmeans", "SSD")))
    ]
    coverage = coverage_map(table_of(runs))
    assert coverage.workloads == ("sort", "kmeans")
    assert {tuple(row.levels.values()): [cell.runs for cell in row.cells] for row in coverage.setups} == {
        ("c8", "HDD", "IB"): [1, 0],
        ("c8", "SSD", "IB"): [1, 1],
    }
    assert coverage.never_measured == 1


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    root = tmp_path_factory.mktemp("learned") / "repository"
    repository = Repository.create(root)
    for run in learning_runs():
        if (run.workload, run.layout, run.levels["network"]) != MISSING:
            repository.publish(run)
    return client_of(root)


@pytest.mark.slow
def test_a_prediction_is_shown_among_measured_runs_as_predicted(client: TestClient) -> None:
    page = client.get("/predict", params={"where": ["workload=sort", "layout=SSD", "network=IB", "cluster=c8"]})
    assert page.status_code == 200
    words_of_the_form = ("most common value", "Measured setups")
    for words in ("90 % interval of one run", "predicted", "Effect of each factor", *words_of_the_form):
        assert words in page.text
    assert "Joint effects of storage, network and containers" in page.text
    assert "A cross is a prediction" in page.text
    answer = client.get("/api/v1/predict", params={"where": ["workload=sort,layout=SSD,network=IB,cluster=c8"]}).json()
    assert f"{answer['expected_s']:,.0f} s" in page.text
    assert answer["origin"] == "predicted"


@pytest.mark.slow
def test_a_prediction_from_many_runs_shows_its_progress_and_blocks_no_other_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Repository.create(tmp_path / "r")
    for run in learning_runs():
        repository.publish(run)
    client = client_of(repository.root)
    monkeypatch.setattr(api_predict, "BACKGROUND_RUNS_MIN", 1)
    monkeypatch.setattr(api_predict, "QUICK_S", 0.0)
    page = client.get("/predict").text
    assert "learning the times of" in page or "starting" in page
    assert "90 % interval of one run" not in page
    assert "Measured setups" in page, "what needs no model is there at once"
    address = html.unescape(re.findall(r'data-address="([^"]+)"', page)[0])
    assert client.get("/runs").status_code == 200
    until = time.monotonic() + LEARNED_S_MAX
    while not client.get(address).json()["over"] and time.monotonic() < until:
        time.sleep(0.1)
    page = client.get("/predict").text
    assert "90 % interval of one run" in page
    assert "data-address" not in page


@pytest.mark.slow
def test_a_cell_that_was_never_measured_has_a_plan_that_measures_it(client: TestClient, tmp_path: Path) -> None:
    params = {"where": ["workload=sort", "layout=SSD", "network=IB", "cluster=c8"]}
    refusal = client.get("/api/v1/missing", params=params)
    assert refusal.status_code == 400
    assert "the repository has no plan on c8" in refusal.text
    root = tmp_path / "repository"
    repository = Repository.create(root)
    for run in learning_runs():
        repository.publish(replace(run, cluster="bsc-2015"))
    plan = load_plan(ROOT / "examples" / "bsc-2015" / "plan.yaml")
    create_campaign(repository.folders.campaigns, plan, 1)
    other = client_of(root)
    params = {"where": ["workload=sort", "layout=SSD", "network=IB", "cluster=bsc-2015"]}
    missing = other.get("/api/v1/missing", params=params)
    assert missing.status_code == 200, missing.text
    assert "plan: missing" in missing.text
    assert "- workload: sort" in missing.text
    assert "layout: SSD" in missing.text
    assert "/api/v1/missing?where=workload%3Dsort" in other.get("/predict", params=params).text


@pytest.mark.slow
def test_without_a_chosen_configuration_the_page_predicts_the_workload_with_most_runs(client: TestClient) -> None:
    page = client.get("/predict").text
    [workload] = re.findall(r'<option value="workload=(\w+)" selected>', page)
    counts = client.get("/api/v1/runs", params={"limit": 1}).json()["facets"]
    [levels] = [facet["levels"] for facet in counts if facet["column"] == "workload"]
    assert dict.fromkeys([workload]).keys() <= {level["level"] for level in levels}
    assert max(level["runs"] for level in levels) == next(
        level["runs"] for level in levels if level["level"] == workload
    )
    assert "You chose no configuration." in page
    answer = client.get("/api/v1/predict", params={"where": [f"workload={workload}"]}).json()
    assert f"{answer['expected_s']:,.0f} s" in page
    page_of_workload = client.get("/predict", params={"where": [f"workload={workload}"]}).text
    assert "You chose no configuration." not in page_of_workload
    assert f"{answer['expected_s']:,.0f} s" in page_of_workload


@pytest.mark.slow
def test_a_cell_that_was_never_measured_leads_to_its_prediction(client: TestClient) -> None:
    page = client.get("/predict").text
    assert "/predict?where=workload%3Dsort&amp;where=cluster%3Dc8&amp;where=layout%3DSSD&amp;where=network%3DIB" in page
    assert client.get("/api/v1/map").json()["never_measured"] == 2
    answer = client.get("/api/v1/next", params={"where": "workload=sort", "runs": 3}).json()
    assert len(answer["runs"]) == 3
    matters = client.get("/api/v1/matters", params={"where": "workload=sort"}).json()
    assert matters["explained"]["factors"][0]["share"]["value"] > 0.2


def test_an_impossible_prediction_is_refused_with_the_reason(tmp_path: Path) -> None:
    few = Repository.create(tmp_path / "repository")
    few.publish(make_run(1))
    client = client_of(tmp_path / "repository")
    page = client.get("/predict", params={"where": "workload=terasort"})
    assert page.status_code == 200
    assert "1 valid runs are too few to learn from" in page.text
    assert client.get("/api/v1/predict", params={"where": "workload=terasort"}).status_code in (400, 409)


@pytest.mark.slow
def test_measured_runs_next_to_those_of_a_lab_are_reported(tmp_path: Path) -> None:
    """Runs at full size have no lab scale; that is shown as a level, not as a number."""
    repository = Repository.create(tmp_path / "r")
    for run in learning_runs():
        repository.publish(run)
    for number in range(900, 903):
        repository.publish(make_run(number, workload="sort", lab_scale=0.05))
    page = client_of(repository.root).get("/predict", params={"where": ["workload=sort"]})
    assert page.status_code == 200
    values = page.text.partition("so the most common value: ")[2].partition("</p>")[0]
    assert values
    assert "none" not in values, "absent values are not listed"
    result = CliRunner().invoke(assay, ["explain", "--where", "workload=sort", "--repository", str(repository.root)])
    assert result.exit_code == 0, result.output
