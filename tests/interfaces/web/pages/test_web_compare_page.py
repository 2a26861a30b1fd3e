"""Test the comparison page in a browser: selection, address, charts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from assay.interfaces.web.server.app import create_app
from assay.store import Repository
from browser_support import ObservedRun, watched_page
from builders import make_trace, study_runs
from web_support import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RUNS = {(run.workload, run.layout): run.run_id for run in study_runs() if run.status == "valid"}
HD2, SS2 = RUNS["terasort", "HD2"], RUNS["terasort", "SS2"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    repository = Repository.create(tmp_path_factory.mktemp("compare") / "repository")
    for run in study_runs():
        repository.publish(run, trace=make_trace(run) if run.workload == "terasort" else None)
    with served(create_app(Path(repository.root))) as url:
        yield url


def test_runs_are_chosen_in_the_list_and_stay_chosen(watched: ObservedRun) -> None:
    page = watched.open("/runs?where=workload%3Dterasort")
    assert not page.locator("#compare").is_visible()
    page.locator(f"input[value='{HD2}']").check()
    assert page.get_by_role("button", name="Compare configurations").is_disabled()
    page.locator(f"input[value='{SS2}']").check()
    assert page.url.count("pick=") == 2
    page.locator("th[aria-sort] a").first.click()
    page.wait_for_load_state()
    assert page.locator("#picked").inner_text() == "2"
    page.get_by_role("checkbox", name="SS2").click()  # a filter hides one of them: it stays chosen
    page.wait_for_url("**layout%3DSS2**")
    page.wait_for_selector("body[data-charts=drawn]")
    page.get_by_role("button", name="Compare configurations").click()
    page.wait_for_url("**/compare?**")
    page.wait_for_selector("body[data-charts=drawn]")
    assert page.url.count("run=") == 2
    assert "as fast as" in page.locator("main").inner_text()
    watched.check()


@pytest.mark.parametrize("width_px", [1280, 390])
def test_sides_are_drawn_on_the_same_axes(browser: Browser, server: str, width_px: int) -> None:
    with watched_page(browser, server, width_px) as watched:
        page = watched.open(f"/compare?run={HD2}&run={SS2}")
        assert page.locator(".drawing.drawn svg").count() == 4
        assert page.locator(".drawing").evaluate_all("all => all.every(e => e.scrollWidth <= e.clientWidth + 1)")
        assert page.get_by_role("region", name="Varied on purpose").locator("tbody tr").count() == 1
        watched.check()


def test_an_empty_comparison_offers_pairs_of_the_storage_question(watched: ObservedRun) -> None:
    page = watched.open("/compare")
    links = page.locator("#suggested a")
    assert "against" in links.first.inner_text()
    links.first.click()
    page.wait_for_url("**/compare?run=*")
    assert page.get_by_role("region", name="Sides").locator("tbody tr").count() == 2
    watched.check()


def test_another_baseline_turns_the_ratio_round(watched: ObservedRun) -> None:
    page = watched.open(f"/compare?run={HD2}&run={SS2}")
    before = page.locator("tbody tr").nth(1).locator("td").nth(4).inner_text()
    page.get_by_role("link", name="as baseline").click()
    page.wait_for_url(f"**/compare?run={SS2}&run={HD2}")
    after = page.locator("tbody tr").nth(1).locator("td").nth(4).inner_text()
    assert float(before.rstrip("×")) * float(after.rstrip("×")) == pytest.approx(1, rel=0.02)
    page.get_by_role("link", name="Single runs").click()
    page.wait_for_url("**of=runs**")
    watched.open("/compare")
    assert "Which runs do you want to compare?" in page.locator("main").inner_text()
    watched.check()
