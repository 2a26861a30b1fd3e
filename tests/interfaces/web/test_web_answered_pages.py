"""Test that pages with simulated or measured answers fit every window and paper without serious axe findings."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from assay.interfaces.web.server.app import create_app
from assay.specs.prices import load_prices
from browser_support import cut_on_paper, misfits, serious_findings, watched_page
from simulator_support import EXAMPLE, measured_repository, needs_simulator
from tuning_support import published_tuning
from web_support import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
WIDEST_PX = 1440
"""Width of the window in which pages are also printed."""
TIMES = ((2, 60.0), (4, 40.0), (6, None), (4, 41.0), (2, 61.0), (4, 45.0), (4, 44.0), (2, 60.0))
ASKED: dict[str, str | float | bool] = {"w": "terasort:2GB:daily", "catalogue": "bsc-2015"}
SEARCHED_S = 300


@pytest.fixture(scope="module")
def pages(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[str]]]:
    """Yield a server and the addresses of the pages, each with an answer."""
    repository = measured_repository(tmp_path_factory.mktemp("answered") / "r")
    tuned = published_tuning(repository, TIMES)
    app = create_app(repository.root, book=load_prices(EXAMPLE.parent / "prices.yaml"))
    with served(app) as url:
        yield (
            url,
            [
                "/recommend",
                _searched(browser, url),
                "/whatif?layout=SS2",
                "/whatif?nic=25&workers.count=12",
                f"/tuning/{tuned.campaign_id}",
            ],
        )


def _searched(browser: Browser, url: str) -> str:
    """Return the address of a recommendation that is there."""
    context = browser.new_context()
    same = {"origin": url, "sec-fetch-site": "same-origin"}
    sent = context.request.post(url + "/recommend", form=ASKED, headers=same, timeout=1000 * SEARCHED_S)
    assert sent.ok, sent.text()
    until = time.monotonic() + SEARCHED_S
    while "Candidates examined" not in context.request.get(sent.url).text():
        assert time.monotonic() < until, "the search does not end"
        time.sleep(0.5)
    context.close()
    return sent.url.removeprefix(url)


@needs_simulator
@pytest.mark.parametrize(
    ("width_px", "scheme", "with_axe"),
    [(390, "light", True), (768, "dark", True), (1024, "light", False), (WIDEST_PX, "light", True)],
)
def test_answers_fit_every_window_and_have_no_serious_finding(
    browser: Browser, pages: tuple[str, list[str]], width_px: int, scheme: str, with_axe: bool
) -> None:
    server, addresses = pages
    wrong_by_page: dict[str, object] = {}
    with watched_page(browser, server, width_px, color_scheme=scheme, bypass_csp=with_axe) as watched:
        for address in addresses:
            page = watched.open(address)
            if with_axe and (findings := serious_findings(page)):
                wrong_by_page[f"{address} by axe"] = findings
            if wrong := misfits(page):
                wrong_by_page[address] = wrong
            if width_px == WIDEST_PX and (cuts := cut_on_paper(page)):
                wrong_by_page[f"{address} on paper"] = cuts
        watched.check()
    assert wrong_by_page == {}
