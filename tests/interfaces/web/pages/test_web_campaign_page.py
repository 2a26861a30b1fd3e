"""Test the page of a campaign: progress, link to its runs, and an error for an unknown id."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from simulator_support import measured_repository
from web_support import client_of


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    return client_of(measured_repository(tmp_path_factory.mktemp("campaign") / "r").root)


@pytest.mark.slow
def test_the_first_page_leads_to_the_campaign_and_the_campaign_to_its_runs(client: TestClient) -> None:
    [campaign] = client.get("/api/v1/campaigns").json()
    address = f"/campaigns/{campaign['campaign_id']}"
    assert f'href="{address}"' in client.get("/").text
    page = client.get(address).text
    assert "Campaign hdd-vs-ssd" in page
    assert "0 of 18 runs done." in page
    assert "Its 18 runs" in page
    assert client.get("/runs", params={"where": f"campaign_id={campaign['campaign_id']}"}).status_code == 200


@pytest.mark.slow
def test_an_unknown_campaign_is_an_explained_error(client: TestClient) -> None:
    answer = client.get("/campaigns/none")
    assert 400 <= answer.status_code < 500
    assert "none" in answer.text
