"""Test that every page fits every window and paper without serious axe findings, and that cut tables say so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from assay.interfaces.web.server.app import create_app
from assay.specs.prices import prices_of
from assay.store import Repository
from browser_support import DRAWN_MS, cut_on_paper, misfits, serious_findings, watched_page
from builders import PRICES_YAML, make_run, study_runs
from detail_support import hybrid_run, hybrid_tasks, hybrid_trace
from paths import EXAMPLES
from web_support import filled, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
WIDEST_PX = 1440
RUNS = [run.run_id for run in study_runs() if run.workload == "terasort" and run.status == "valid"]
BOOK = PRICES_YAML.replace("per: cluster,", "per: cluster-hour,")
TRACED = replace(
    hybrid_run(),
    run_id=make_run(950).run_id,
    metrics={"exec_time_s": 41.5},
    sources={"exec_time_s": "simulated with a profile that was learned from many measured runs of some campaigns"},
)
PAGES = (
    "/",
    f"/runs?pick={RUNS[0]}&pick={RUNS[1]}",
    f"/runs/{make_run(0).run_id}",
    f"/runs/{TRACED.run_id}",
    f"/runs/{TRACED.run_id}/tasks",
    "/scatter?by=layout",
    "/whatif",
    "/recommend",
    "/size",
    f"/runs/{make_run(0).run_id}/logs/job.log?search=line",
    "/clusters/lab-small",
    f"/configurations/{make_run(0).run_id}",
    f"/compare?run={RUNS[0]}&run={RUNS[-1]}",
    f"/compare?run={RUNS[0]}&run={RUNS[-1]}&of=runs",
    "/speedup?by=layout",
    "/speedup?method=aloja",
    "/cost?workload=terasort",
    "/cost?view=years&cluster=lab-small",
    "/quality",
    "/changes",
    "/gate?baseline=2026-07-01",
    "/predict",
    "/hosts",
    "/login",
    "/instances?name=i4i.*&type=i4i.large&speed-x86_64=1:1:1&rates-nvme=1GB/s:1GB/s&price-i4i.large=1",
    "/plan?cluster=lab%2Fcluster.yaml&layouts=HD2,SS2&workload=terasort&data=2GB&options=",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root: Path = filled(tmp_path_factory.mktemp("widths") / "repository").root
    Repository(root).publish(TRACED, tasks=hybrid_tasks(), trace=hybrid_trace())
    app = create_app(root, cluster_folders=[EXAMPLES], book=prices_of(BOOK, "prices"), book_text=BOOK)
    with served(app) as url:
        yield url


WITH_AXE = [(390, "dark"), (WIDEST_PX, "light")]
"""Colours depend on the scheme and positions on the width, so two pairs have each scheme and both extreme widths."""
LONG_PAIRS = [pytest.param(*pair, True, marks=pytest.mark.long) for pair in ((390, "light"), (WIDEST_PX, "dark"))]


@pytest.mark.parametrize(
    ("width_px", "scheme", "with_axe"),
    [*((*pair, True) for pair in WITH_AXE), (768, "light", False), (1024, "light", False), *LONG_PAIRS],
)
def test_every_page_fits_hides_nothing_and_has_no_serious_finding(
    browser: Browser, server: str, width_px: int, scheme: str, with_axe: bool
) -> None:
    """768 px is also what is left of a laptop's 1,536 at a zoom of 200 %. The widest window also prints each page."""
    wrong_by_page: dict[str, object] = {}
    with watched_page(browser, server, width_px, color_scheme=scheme, bypass_csp=with_axe) as watched:
        for address in PAGES:
            page = watched.open(address)
            if with_axe and (findings := serious_findings(page)):
                wrong_by_page[f"{address} by axe"] = findings
            if wrong := misfits(page):
                wrong_by_page[address] = wrong
            if width_px == WIDEST_PX and (cuts := cut_on_paper(page)):
                wrong_by_page[f"{address} on paper"] = {"cut": cuts}
        watched.check()
    assert wrong_by_page == {}


def test_a_table_that_scrolls_shows_it_until_its_end_is_visible(browser: Browser, server: str) -> None:
    with watched_page(browser, server, 600) as watched:
        page = watched.open("/runs")
        box = page.locator(".scroll").first
        page.wait_for_selector(".scroll.more", timeout=DRAWN_MS)
        box.evaluate("box => { box.scrollLeft = box.scrollWidth }")
        page.wait_for_selector(".scroll:not(.more)")
        assert "more" not in (box.get_attribute("class") or "")


def test_a_label_of_two_lines_covers_no_other_on_a_phone(browser: Browser, server: str) -> None:
    with watched_page(browser, server, 390) as watched:
        page = watched.open("/cost?workload=terasort")
        heights = page.evaluate(
            "() => [...document.querySelectorAll('.prices td')].filter(cell => cell.offsetHeight).map(cell => "
            "[parseFloat(getComputedStyle(cell, '::before').height), cell.offsetHeight])"
        )
        assert max(label for label, _ in heights) > 1.5 * min(label for label, _ in heights), "one has two lines"
        assert [(label, cell) for label, cell in heights if label > cell] == []


def test_the_source_of_a_metric_fits_on_a_phone(browser: Browser, server: str) -> None:
    with watched_page(browser, server, 390) as watched:
        page = watched.open(f"/runs/{TRACED.run_id}")
        widths = page.evaluate(
            "() => [...document.querySelectorAll('.sources td:nth-child(4)')].map(cell => cell.offsetWidth)"
        )
        shown = [width for width in widths if width]
        assert shown
        assert min(shown) > 200


def test_columns_hidden_on_a_phone_are_hidden_in_figures_too(browser: Browser, server: str) -> None:
    with watched_page(browser, server, 390) as watched:
        page = watched.open("/cost?workload=terasort")
        assert page.locator(".cards td.wide").count() > 0
        assert page.locator(".cards td.wide:visible").count() == 0


def test_on_paper_no_badge_is_broken_within_a_word(browser: Browser, server: str) -> None:
    with watched_page(browser, server, 1440) as watched:
        page = watched.open("/")
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 700, "height": 900})
        lines = page.evaluate(
            """() => [...document.querySelectorAll('td .badge')].map(badge => {
                 const text = document.createRange(); text.selectNodeContents(badge);
                 return [badge.textContent.trim().split(/\\s+/).length,
                         new Set([...text.getClientRects()].map(rect => Math.round(rect.top))).size]; })"""
        )
        assert lines
        assert all(words_of_badge <= words for words, words_of_badge in lines)


def test_no_short_word_is_broken_in_a_sheet(browser: Browser, server: str) -> None:
    with watched_page(browser, server) as watched:
        broken = watched.open(f"/runs/{TRACED.run_id}").evaluate(
            """() => [...document.querySelectorAll('.facts th')]
              .filter(cell => /^[a-zA-Z]{1,12}$/.test(cell.textContent.trim()))
              .filter(cell => { const words = document.createRange(); words.selectNodeContents(cell);
                                return new Set([...words.getClientRects()].map(rect => rect.top)).size > 1; })
              .map(cell => cell.textContent.trim())"""
        )
        assert broken == []


def test_a_legend_of_many_levels_has_several_lines(browser: Browser, tmp_path: Path) -> None:
    root = tmp_path / "r"
    layouts = ("HDD", "SSD", "RL1", "RL2", "RL3", "R1", "R2")
    repository = Repository.create(root)
    for number, layout in enumerate(layouts):
        repository.publish(make_run(number, layout=layout, duration_s=100.0 + number))
    with served(create_app(root)) as url, watched_page(browser, url, 768) as watched:
        page = watched.open("/scatter?by=layout")
        boxes = page.evaluate("""() => {
            const right = document.querySelector(".drawing svg").getBoundingClientRect().right;
            return [...document.querySelectorAll(".role-legend-label text")].map(
                text => [text.textContent, text.getBoundingClientRect().right - right]);
        }""")
        assert len(boxes) == len(layouts)
        assert [name for name, beyond in boxes if beyond > 0] == []
        watched.check()
