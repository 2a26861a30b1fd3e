"""Test a published site in Chromium, opened from its files: the answer, filters, permalinks and downloads."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from statistics import variance
from typing import TYPE_CHECKING

import pytest
from scipy.special import stdtrit

from assay.specs import load_prices
from assay.store import Repository
from assay.text import money
from browser_support import CHART_TEXTS, watched_page
from builders import build_repository, make_run
from command import printed
from detail_support import hybrid_run, hybrid_tasks, hybrid_trace
from question_table import BSC, PRICES
from web_support import client_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
RISING_TIMES = """() => {
    const times = [...document.querySelectorAll('#runs td.share')].map(cell => Number(cell.textContent));
    return times.length === 16 && times.every((time, i) => i === 0 || times[i - 1] <= time);
}"""
"""Whether the list has all runs, ordered by their time."""


def wait_for_matching(page: Page, text: str) -> None:
    """Wait until the page states this number of matching runs. It follows a click on a link asynchronously."""
    page.locator("#matching", has_text=re.compile(f"^{text}$")).wait_for()


@pytest.fixture(scope="module")
def bsc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("publish") / "bsc"
    printed("import", BSC / "measured" / "runs.csv", "--repository", folder)
    printed("publish", folder.parent / "site", "--prices", PRICES, "--repository", folder)
    return folder


def test_the_first_page_shows_the_decision_of_the_command(browser: Browser, bsc: Path) -> None:
    views = json.loads(printed("decide", "--prices", PRICES, "--repository", bsc, "--json"))
    decision = json.loads(printed("decide", "storage", "--prices", PRICES, "--repository", bsc, "--json"))[0][
        "decision"
    ]
    with watched_page(browser, (bsc.parent / "site").as_uri()) as watched:
        page = watched.open("/index.html")
        for view in views:
            card = page.locator(f"#{view['name']}")
            assert view["answer"] in card.inner_text()
            if view["answered"]:
                assert view["evidence"] in card.inner_text()
                assert (view["cost"] or "") in card.inner_text()
        assert page.locator("#storage svg").count() >= 1
        page.locator("#storage details.full > summary").click()
        first = decision["results"][0]
        row = page.locator("#storage table.cards tbody tr").first.inner_text()
        shown = [first["time"]["ratio"], first["time"]["low"], first["time"]["high"], first["cost"]["ratio"]]
        assert all(f"{value:.2f}" in row for value in shown), (row, shown)
        watched.check()


def test_filters_narrow_the_runs_and_a_link_restores_them(browser: Browser, bsc: Path) -> None:
    with watched_page(browser, (bsc.parent / "site").as_uri()) as watched:
        page = watched.open("/runs.html")
        wait_for_matching(page, "16 of 16 runs match")
        page.locator('input[value="network=IB"]').check()
        page.get_by_label("2 SSDs (SS2)").check()
        options = ("--where", "network=IB", "--where", "layout=SS2")
        ids = [run["run_id"] for run in json.loads(printed("runs", *options, "--repository", bsc, "--json"))]
        wait_for_matching(page, f"{len(ids)} of 16 runs match")
        shown = [row.get_attribute("title") for row in page.locator("#runs tbody code").all()]
        assert sorted(filter(None, shown)) == sorted(ids)
        link = page.url
        with watched_page(browser, (bsc.parent / "site").as_uri()) as other:
            other.page.goto(link)
            wait_for_matching(other.page, f"{len(ids)} of 16 runs match")
            other.page.get_by_role("link", name="Remove all").click()
            wait_for_matching(other.page, "16 of 16 runs match")
            other.page.get_by_role("link", name="Time (s)").click()
            other.page.wait_for_function(RISING_TIMES)
            other.check()
        watched.check()


def test_a_download_is_the_published_file(browser: Browser, bsc: Path) -> None:
    with watched_page(browser, (bsc.parent / "site").as_uri(), accept_downloads=True) as watched:
        page = watched.open("/data.html")
        with page.expect_download() as awaited:
            page.get_by_role("link", name="runs.csv").click()
        assert awaited.value.path().read_bytes() == (bsc.parent / "site" / "downloads" / "runs.csv").read_bytes()
        watched.check()


def _computed(page: Page) -> dict[str, tuple[float, str]]:
    """Return the cost that the browser computed for each row, and the cell that shows it."""
    rows = page.locator("section.job tbody tr").all()
    names = [row.locator("th").inner_text().strip() for row in rows]
    costs = [float(row.get_attribute("data-computed") or "nan") for row in rows]
    return dict(zip(names, zip(costs, page.locator("[data-cost]").all_inner_texts(), strict=True), strict=True))


@pytest.mark.parametrize("width", [1440, 390])
def test_a_changed_price_gives_the_costs_of_the_server(browser: Browser, bsc: Path, width: int) -> None:
    name, amount = "SSD in every worker", 3.0
    (view,) = json.loads(printed("cost", "--prices", PRICES, "--repository", bsc, "--json"))
    with watched_page(browser, (bsc.parent / "site").as_uri(), width) as watched:
        page = watched.open("/cost.html")
        at_book = list(_computed(page).values())
        assert [cost for cost, _ in at_book] == pytest.approx([row["cost"] for row in view["rows"]])
        assert [shown for _, shown in at_book] == [money(row["cost"], "USD") for row in view["rows"]]
        assert view["headline"] in page.locator("section.job").inner_text()
        headline, prices = (page.locator(name).bounding_box() for name in ("[data-headline]", "#prices"))
        assert headline is not None
        assert prices is not None
        assert headline["y"] < prices["y"] + prices["height"] + 150, "the answer is in sight before prices are opened"
        page.get_by_text("Change a price", exact=True).click()
        page.get_by_label(f"{name}, USD per device-set-hour").fill(str(amount))
        client = client_of(bsc, book=load_prices(Path(PRICES)))
        (changed,) = client.post("/api/v1/cost", json={"changes": {name: amount}}).json()
        costs = sorted(row["cost"] for row in changed["rows"])
        assert costs[0] > at_book[0][0]
        now = list(_computed(page).values())
        assert [cost for cost, _ in now] == pytest.approx(costs)
        assert all(shown.startswith(money(cost, "USD")) for cost, shown in now)
        assert view["headline"] not in page.locator("section.job").inner_text()
        with watched_page(browser, (bsc.parent / "site").as_uri(), width) as other:
            other.page.goto(page.url)
            other.page.wait_for_selector("body[data-charts=drawn]")
            assert list(_computed(other.page).values()) == now
            assert other.page.get_by_label(f"{name}: slide").is_visible(), "changed prices are in sight"
            other.page.get_by_label(f"{name}: slide").press("Home")
            assert _computed(other.page)["1 SSD (SSD) Ethernet"][0] < at_book[0][0]
            other.page.get_by_role("button", name="Back to the book's prices").click()
            assert list(_computed(other.page).values()) == at_book
            other.check()
        watched.check()


@pytest.mark.parametrize("width", [1440, 390])
def test_the_list_leads_to_the_page_of_a_run_with_its_timeline(browser: Browser, tmp_path: Path, width: int) -> None:
    store, run = Repository.create(tmp_path / "r"), hybrid_run()
    store.publish(run, tasks=hybrid_tasks(), trace=hybrid_trace())
    printed("publish", tmp_path / "site", "--repository", store.root)
    with watched_page(browser, (tmp_path / "site").as_uri(), width) as watched:
        page = watched.open("/runs.html")
        page.locator("#runs tbody a").first.click()
        page.wait_for_selector("#over-time.drawn svg")
        assert page.url.endswith(f"/runs/{run.run_id}.html")
        assert page.evaluate(CHART_TEXTS) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.get_by_role("link", name="Explore").click()
        wait_for_matching(page, "1 of 1 runs match")
        watched.check()


def _relative(page: Page) -> dict[str, list[float]]:
    """Return the relative time of each configuration with its interval, as the browser computed it."""
    rows = page.locator("#relative tbody tr").all()
    return {row.locator("th").inner_text(): json.loads(row.get_attribute("data-computed") or "[]") for row in rows}


def test_relative_times_are_those_of_the_runs_and_follow_the_choice(browser: Browser, tmp_path: Path) -> None:
    cells = (("terasort", "SSD", 100), ("terasort", "HDD", 200), ("wordcount", "SSD", 450), ("wordcount", "HDD", 300))
    noises = (0.97, 1.0, 1.04)
    timed = [(*cell, noise) for cell in cells for noise in noises]
    runs = [
        make_run(number, workload=workload, layout=layout, levels={"layout": layout}, duration_s=base_s * noise)
        for number, (workload, layout, base_s, noise) in enumerate(timed)
    ]
    folder, site = build_repository(tmp_path / "repository", runs).root, tmp_path / "site"
    printed("publish", site, "--repository", folder)
    logs = [math.log(noise) for noise in noises]
    half = float(stdtrit(4, 0.975)) * math.sqrt(2 * variance(logs) / 3) / 2
    with watched_page(browser, site.as_uri()) as watched:
        page = watched.open("/relative.html")
        shown = _relative(page)
        for name, mean in (("1 SSD (SSD)", math.sqrt(1.5)), ("1 hard disk (HDD)", math.sqrt(2.0))):
            assert shown[name] == pytest.approx([mean, mean * math.exp(-half), mean * math.exp(half)], rel=1e-4)
        page.get_by_label("WordCount").uncheck()
        assert {name: round(values[0], 6) for name, values in _relative(page).items()} == {
            "1 SSD (SSD)": 1,
            "1 hard disk (HDD)": 2,
        }
        link = page.url
        page.get_by_label("1 SSD (SSD)").uncheck()
        assert next(iter(_relative(page).values()))[0] == 1
        with watched_page(browser, site.as_uri()) as other:
            other.page.goto(link)
            assert len(_relative(other.page)) == 2
            assert not other.page.get_by_label("WordCount").is_checked()
            other.check()
        watched.check()
