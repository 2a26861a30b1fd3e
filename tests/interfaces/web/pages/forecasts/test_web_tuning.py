"""Test the tuning page and API: trials in order, results, and the comparison."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.estimation.tuning.planned_tuning import TUNING
from assay.questions.forecasts.tuning import tuning_state
from assay.store import Repository
from tuning_support import published_tuning
from web_support import client_of

TIMES = ((2, 60.0), (4, 40.0), (6, None), (4, 41.0), (2, 61.0), (4, 45.0), (4, 44.0), (2, 60.0))


@pytest.mark.slow
def test_a_tuning_shows_its_runs_and_counts_only_the_comparison(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "repository")
    journal = published_tuning(repository, TIMES)
    client = client_of(tmp_path / "repository")
    state = client.get(f"/api/v1/tuning/{journal.campaign_id[:13]}").json()
    assert state["search_best"] == {"levels": {"containers": "4"}, "runs": 2, "mean_s": state["search_best"]["mean_s"]}
    assert (state["compared"]["runs"], state["compared_defaults"]["runs"], state["failed"]) == (2, 2, 1)
    assert state["ratio"] < 60.0 / state["search_best"]["mean_s"]  # the search thought more of it
    page = client.get(f"/tuning/{journal.campaign_id}").text
    for words in ("Tuning TeraSort", f"{state['ratio']:.2f} times as fast", "biased upwards", "it &lt;died&gt;"):
        assert words in page
    assert f"/tuning/{journal.campaign_id}" in client.get("/").text
    assert client.get("/tuning/0000").status_code == 404
    (journal.folder / TUNING).write_text('{"budget": "many"}')
    assert "is damaged" in client.get(f"/api/v1/tuning/{journal.campaign_id}").text


def test_an_unknown_tuning_is_an_error_404(tmp_path: Path) -> None:
    Repository.create(tmp_path / "repository")
    client = client_of(tmp_path / "repository")
    response = client.get("/api/v1/tuning/unknown")
    assert response.status_code == 404
    assert "no id of a tuning begins with 'unknown'" in response.text
    assert client.get("/tuning/unknown").status_code == 404


def test_a_search_whose_runs_all_failed_ends_and_reports_it(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "repository")
    state = tuning_state(repository, published_tuning(repository, ((2, None),) * 4).campaign_id)
    assert state.complete
    assert state.claim.startswith("no run of the search was valid")
