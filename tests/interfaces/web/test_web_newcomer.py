"""Test that a newcomer finds the most cost-effective storage, how certain that is, and why.

The repository is like the one of the tutorial: an imported study that tells nothing but times, and a few runs of a lab
that were observed closely. Only links and keys are used, no address is typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from assay.interfaces.web.server.app import create_app
from assay.model.runs.origin import Origin
from assay.model.runs.run import Run
from assay.specs.prices import prices_of
from assay.store import Repository
from browser_support import DRAWN_MS, ObservedRun, watched_page
from builders import make_run, make_trace, study_runs
from web_support import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PRICES = """
prices: list
currency: USD
date: 2026-01-01
source: an offer
items:
  - {name: cluster, price: $2.00, per: cluster-hour, when: {cluster: [big]}, layouts: [HDD]}
  - {name: cluster, price: $2.50, per: cluster-hour, when: {cluster: [big]}, layouts: [SSD]}
"""
TIMES_S = {"HDD": (4000.0, 4100.0), "SSD": (900.0, 930.0)}


def _imported(number: int, layout: str, factor: int, repetition: int) -> Run:
    return replace(
        make_run(9000 + number, layout=layout, repetition=repetition, cluster="big", lab_scale=None, cold=None),
        origin=Origin.MEASURED,
        campaign_id="import",
        plan="",
        data_bytes=None,
        environment={},
        workload_parameters={},
        parameters={"mapreduce.task.io.sort.factor": str(factor)},
        duration_s=TIMES_S[layout][repetition] * (1 + factor / 500),
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    repository = Repository.create(tmp_path_factory.mktemp("newcomer") / "repository")
    wanted = [
        (layout, factor, repetition) for layout in TIMES_S for factor in range(10, 70, 10) for repetition in (0, 1)
    ]
    for number, (layout, factor, repetition) in enumerate(wanted):
        repository.publish(_imported(number, layout, factor, repetition))
    repository.publish(_imported(99, "SSD", 99, 0))
    for run in study_runs():
        seen = replace(run, metrics={**run.metrics, "disk_read_bytes": 1e9}, origin=Origin.MEASURED)
        repository.publish(seen, trace=make_trace(seen) if run.workload == "terasort" else None)
    app = create_app(repository.root, book=prices_of(PRICES, "prices"), book_text=PRICES)
    with served(app) as url:
        yield url


def settled(page: Page) -> str:
    page.wait_for_load_state()
    page.wait_for_selector("body[data-charts=drawn]", timeout=DRAWN_MS)
    return page.locator("main").inner_text()


@pytest.mark.parametrize(("width_px", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_three_answers_are_links_away(browser: Browser, server: str, width_px: int, scheme: str) -> None:
    with watched_page(browser, server, width_px, color_scheme=scheme) as watched:
        page = watched.open("/")
        if (fold := page.locator("#cost-effective ~ details > summary")).is_visible():
            fold.click()
        row = page.get_by_role("region", name="Cheapest by workload").locator("tbody tr").first
        for cell in row.locator("td").all():
            box = cell.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= width_px, "an interval behind the edge is not seen"
        assert "SSD" in row.inner_text()
        row.get_by_role("link", name="TeraSort").click()
        page.wait_for_url("**/cost?**")
        text = settled(page)
        assert "1 SSD per worker (SSD) is the cheapest per job on TeraSort" in text
        assert "single run" not in text
        page.get_by_role("link", name="How much faster each storage is on TeraSort, and why").click()
        page.wait_for_url("**/speedup?**")
        settled(page)
        answer = page.locator("details[data-fold]", has_text="1 SSD per worker (SSD) is 4.")
        if answer.count() and answer.get_attribute("open") is None:  # a further answer on a phone
            answer.locator("> summary").click()
        assert "1 SSD per worker (SSD) is 4." in settled(page)
        assert page.get_by_role("link", name="Compare SSD with HDD closely").count() == 0, "only their times are known"
        page.goto(f"{watched.server}/why?by=layout&baseline=HDD&candidate=SSD&where=workload%3Dterasort")
        page.wait_for_url("**/compare?run=**")
        text = settled(page)
        assert "as fast as" in text
        assert "Only the times of these runs are known" in text
        page.get_by_role("link", name="TeraSort: 2 SSDs per worker (SS2) against 2 hard disks per worker (HD2)").click()
        page.wait_for_selector("text=measured, lab 1/20")
        text = settled(page)
        assert "s less than A: 2 hard disks (HD2): " in text
        assert "busiest disk was busy" in text or "to and from disks" in text
        assert "CPUs were busy" in text
        assert page.locator("#why .drawing.drawn svg").count() >= 1
        watched.check()


def test_a_newcomer_reaches_the_costs_with_the_keyboard_alone(watched: ObservedRun) -> None:
    page = watched.open("/")

    def go_to(name: str) -> None:
        for _ in range(200):
            page.keyboard.press("Tab")
            focused = page.evaluate(
                "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"
            )
            if name in focused:
                assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
                return
        raise AssertionError(f"no Tab leads to {name}")

    go_to("Cost per run, by workload")
    page.keyboard.press("Enter")
    go_to("workload")
    page.keyboard.press("Enter")
    go_to("TeraSort")
    page.keyboard.press("Enter")
    for address, link in (
        ("**/cost?workload=terasort", "How much faster each storage is"),
        ("**/speedup?**", "Why? Compare SS2 with HD2 closely"),
    ):
        page.wait_for_url(address)
        settled(page)
        go_to(link)
        page.keyboard.press("Enter")
    page.wait_for_selector("text=measured, lab 1/20")
    assert "s less than A: 2 hard disks (HD2)" in settled(page)


def test_a_ranking_of_single_runs_claims_no_certainty(watched: ObservedRun) -> None:
    page = watched.open("/cost?workload=terasort&by=mapreduce.task.io.sort.factor")
    text = settled(page)
    assert "pooled" in text
    page = watched.open("/cost?workload=terasort&take=fastest")
    assert "0.18 to 0.43" in settled(page), "the decision rests on all runs, whatever the rows show"


def test_unpriced_hardware_is_named_on_the_first_page(watched: ObservedRun) -> None:
    text = watched.open("/").locator("main").inner_text()
    assert "The price book has no price for" in text
    assert re.search(r"TeraSort of [\d.]+ \wB \(measured, lab 1/20\)", text), text


def test_layout_codes_are_explained_next_to_the_table(watched: ObservedRun) -> None:
    page = watched.open("/")
    page.get_by_text("What HDD, SSD").or_(page.get_by_text("What SSD, HDD")).click()
    assert "2 hard disks per worker" in page.locator(".codes").first.inner_text()


def test_an_empty_comparison_offers_some(watched: ObservedRun) -> None:
    page = watched.open("/compare")
    page.get_by_role("link", name="TeraSort: 2 SSDs per worker (SS2) against 2 hard disks per worker (HD2)").click()
    page.wait_for_url("**/compare?run=**")
    assert "Where the time went, and why" in settled(page)


def test_the_api_gives_the_same_reasons(watched: ObservedRun) -> None:
    ask, address = watched.page.request.get, f"{watched.server}/api/v1"
    asked: dict[str, str | float | bool] = {
        "by": "layout",
        "baseline": "HD2",
        "candidate": "SS2",
        "where": "workload=terasort",
    }
    pair = ask(f"{address}/why", params=asked).json()
    assert pair["observed"]
    answer = ask(f"{address}/reasons?run={pair['runs'][0]}&run={pair['runs'][1]}").json()
    page = watched.open(f"/compare?run={pair['runs'][0]}&run={pair['runs'][1]}")
    assert answer["labels"] == ["A: 2 hard disks (HD2)", "B: 2 SSDs (SS2)"]
    assert page.locator(".reasons li").all_inner_texts() == answer["sentences"]
    full_size = ask(f"{address}/why", params=asked | {"origin": "measured"})
    assert (full_size.status, "equal to one with HD2" in full_size.json()["message"]) == (404, True)


def test_the_origin_of_runs_is_visible_on_a_laptop(watched: ObservedRun) -> None:
    page = watched.open("/runs")
    box = page.locator("main .lead .badge[class*=origin-]").first.bounding_box()
    table = page.get_by_role("region", name="Runs that match").bounding_box()
    assert box is not None
    assert table is not None
    assert box["x"] + box["width"] <= table["x"] + table["width"]


def test_the_absence_of_pairs_is_explained(watched: ObservedRun) -> None:
    page = watched.page
    page.goto(f"{watched.server}/why?by=layout&baseline=HDD&candidate=SS2")
    assert "is equal to one with HDD in everything else" in page.locator("main").inner_text()
    page.goto(f"{watched.server}/why?by=nothing&baseline=HDD&candidate=SS2")
    assert "nothing" in page.locator("main").inner_text()
    assert "went wrong" not in page.locator("main").inner_text()
