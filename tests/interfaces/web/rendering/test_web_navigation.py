"""Test the navigation: four sections, every page in one, current section and page marked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from assay.interfaces.web.rendering.navigation import AREAS, area_at
from assay.model import Run
from builders import build_repository, make_run, study_runs
from learning import learning_runs
from web_support import client_of, filled

pytestmark = pytest.mark.slow

ALL_PAGES = [(area.title, page.title, page.address) for area in AREAS for page in area.pages]
RUN = make_run(0).run_id
DETAILS = [
    (f"/runs/{RUN}", "Explore", "Runs"),
    ("/clusters/lab-small", "Explore", "Runs"),
    (f"/configurations/{RUN}", "Explore", "Runs"),
]


def current(page: str) -> tuple[list[str], list[str]]:
    return re.findall(r'aria-current="true">([^<]*)<', page), re.findall(r'aria-current="page">([^<]*)<', page)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("navigation") / "repository").root


@pytest.fixture(scope="module")
def client(root: Path) -> TestClient:
    return client_of(root)


def test_there_are_four_sections() -> None:
    assert [area.title for area in AREAS] == ["Decide", "Explore", "Forecast", "Trust"]


@pytest.mark.parametrize(("section", "title", "address"), ALL_PAGES)
def test_every_page_marks_its_section_and_itself(section: str, title: str, address: str, client: TestClient) -> None:
    answer = client.get(address)
    assert answer.status_code == 200
    assert current(answer.text) == ([section], [title])


@pytest.mark.parametrize(("address", "section", "title"), DETAILS)
def test_a_details_page_marks_the_section_that_leads_to_it(
    address: str, section: str, title: str, client: TestClient
) -> None:
    assert current(client.get(address).text) == ([section], [title])


@pytest.mark.parametrize(
    ("runs", "page"),
    [([], "/recommend"), (learning_runs(), "/predict"), (study_runs(), "/recommend")],
    ids=["no run", "many", "few"],
)
def test_forecast_opens_the_page_that_works_for_the_runs(runs: list[Run], page: str, tmp_path: Path) -> None:
    client = client_of(build_repository(tmp_path / "r", runs).root)
    assert 'href="/forecast"' in client.get("/plan").text
    answer = client.get("/forecast", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, page)


def test_pages_outside_the_navigation_mark_nothing() -> None:
    assert area_at("/login") is None
    assert area_at("/runsaway") is None
