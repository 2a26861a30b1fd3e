"""Test the page of a campaign: progress, link to its runs, and an error for an unknown id."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator_support import measured_repository
from web_support import client_of


@pytest.mark.slow
def test_the_first_page_leads_to_the_campaign_and_the_campaign_to_its_runs(tmp_path: Path) -> None:
    client = client_of(measured_repository(tmp_path / "r").root)
    [campaign] = client.get("/api/v1/campaigns").json()
    address = f"/campaigns/{campaign['campaign_id']}"
    assert f'href="{address}"' in client.get("/").text
    page = client.get(address).text
    assert "Campaign hdd-vs-ssd" in page
    assert "0 of 18 runs done." in page
    assert "Its 18 runs" in page
    assert client.get("/runs", params={"where": f"campaign_id={campaign['campaign_id']}"}).status_code == 200


@pytest.mark.slow
def test_an_unknown_campaign_is_an_explained_error(tmp_path: Path) -> None:
    client = client_of(measured_repository(tmp_path / "r").root)
    answer = client.get("/campaigns/none")
    assert 400 <= answer.status_code < 500
    assert "none" in answer.text
