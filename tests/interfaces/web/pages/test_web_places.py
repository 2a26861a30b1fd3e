"""Test the pages of clusters and configurations: hardware, prices, history with anomalies, links."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from assay.model.runs.origin import Origin
from assay.model.runs.phase import Phase
from assay.specs.prices import prices_of
from assay.store import Repository
from builders import PRICES_YAML, make_run
from detail_support import hybrid_run
from web_support import client_of, filled

if TYPE_CHECKING:
    from starlette.testclient import TestClient

BOOK = PRICES_YAML.replace("per: cluster,", "per: cluster-hour,")


OTHER = 20
"""A run on other disks, of which nothing but its time is known."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    repository = Repository.create(tmp_path_factory.mktemp("places") / "repository")
    for number, seconds in enumerate([100.0, 101.0, 99.0, 100.5, 99.5, 100.0, 400.0]):
        repository.publish(
            make_run(
                number,
                cluster="rack",
                lab_scale=None,
                origin=Origin.MEASURED,
                duration_s=seconds,
                metrics={"disk_read_bytes": 3e10, "disk_write_bytes": 1e10},
            )
        )
    seen = make_run(OTHER, cluster="rack", lab_scale=None, origin=Origin.MEASURED, workload="sort", duration_s=50.0)
    repository.publish(replace(seen, phases=(Phase("map", 0.0, 40.0),)))
    repository.publish(
        make_run(
            OTHER + 1,
            cluster="rack",
            lab_scale=None,
            origin=Origin.MEASURED,
            workload="sort",
            layout="SS2",
            levels={"layout": "SS2"},
            duration_s=25.0,
        )
    )
    return client_of(repository.root, book=prices_of(BOOK, "prices"), book_text=BOOK)


@pytest.mark.slow
def test_the_page_of_a_cluster_has_layouts_prices_and_outliers(client: TestClient) -> None:
    page = client.get("/clusters/rack")
    assert page.status_code == 200
    assert "1 of 9 valid runs is an outlier (1 too slow)" in page.text
    assert "$37,561" in page.text
    assert "The source of the runs states:" in page.text
    assert "workers" in page.text
    assert "1 of the chart's 7 runs is an outlier" in page.text
    answer = client.get("/api/v1/cluster/rack").json()
    assert [(row["levels"]["layout"], row["runs"], row["flagged"]) for row in answer["setups"]] == [
        ("HD2", 8, 1),
        ("SS2", 1, 0),
    ]
    odd = [point for point in answer["history"] if point["anomaly"]]
    assert [(point["anomaly"], round(point["value"])) for point in odd] == [("too slow", 4)]
    nowhere = client.get("/clusters/nowhere")
    assert nowhere.status_code >= 400
    assert "Clusters with runs: rack" in nowhere.text


def test_a_configuration_has_its_mean_without_the_outlier_and_its_history_with_it(client: TestClient) -> None:
    answer = client.get(f"/api/v1/configuration/{make_run(0).run_id}").json()
    assert (answer["runs"], answer["counted"]) == (7, 6)
    assert answer["mean"]["value"] == pytest.approx(100, rel=0.01)
    assert answer["cost_per_run"] == pytest.approx(37561 * answer["mean"]["value"] / 3600)
    assert len(answer["history"]) == 7
    page = client.get(f"/configurations/{make_run(0).run_id}")
    assert "too slow" in page.text
    assert 'href="/clusters/rack"' in page.text


def test_names_lead_to_these_pages_and_a_ranking_row_to_its_runs(client: TestClient) -> None:
    run = client.get(f"/runs/{make_run(6).run_id}")
    assert "Flagged: too slow." in run.text
    assert f'href="/configurations/{make_run(6).run_id}"' in run.text
    assert 'href="/clusters/rack"' in run.text
    assert 'href="/clusters/rack"' in client.get("/runs").text
    cost = client.get("/cost?workload=terasort").text
    link = re.search(r'href="(/runs\?[^"]*)" aria-label="Runs of 2 hard disks', cost)
    assert link is not None
    listed = client.get(link[1].replace("&amp;", "&"))
    assert "<b>7</b> of 9 runs match" in listed.text
    assert 'class="badge odd"' in listed.text
    odd = client.get("/runs", params={"where": "anomaly=too slow"})
    assert "<b>1</b> of 9 runs match" in odd.text


def test_a_comparison_names_flagged_runs_and_the_observed_side(client: TestClient) -> None:
    runs = [("run", make_run(6).run_id), ("run", make_run(OTHER).run_id)]
    page = client.get("/compare", params=[*runs, ("of", "configurations")])
    assert "1 of 7 valid runs is an outlier (1 too slow)" in page.text
    compared = client.get("/compare", params=[("run", make_run(OTHER).run_id), ("run", make_run(OTHER + 1).run_id)])
    assert re.search(
        r"Phases or devices of A: 2 hard disks \(HD2\)[^.]* were observed, but only times of B: 2 SSDs \(SS2\)[^.]*\.",
        compared.text,
    )


def test_the_quality_page_begins_with_outliers(client: TestClient) -> None:
    quality = client.get("/quality").text
    heads = re.findall(r"<h2>([^<]*)</h2>", quality)
    assert heads[0] == "Outliers"
    assert "Repeat only what an undecided question needs" in quality


@pytest.mark.slow
def test_a_page_opens_with_years_of_lab_runs_with_and_without_scale(tmp_path: Path) -> None:
    """A run without a lab scale among runs with a scale is labelled so, and is no error."""
    repository = filled(tmp_path / "r")
    repository.publish(replace(hybrid_run(), run_id=make_run(950).run_id))
    page = client_of(repository.root, book=prices_of(BOOK, "prices"), book_text=BOOK).get(
        "/cost", params={"view": "years", "cluster": "lab-small"}
    )
    assert page.status_code == 200
    assert "years of use" in page.text
    assert re.search(r": [^<]*lab scale 1/20", page.text)
