"""Test the HTML file with flame graphs in a browser: search, zoom by click and keyboard, axe, and no network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from assay.interfaces.cli.main import assay
from browser_support import ObservedRun, watched_page
from profile_support import profiled_repository

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe is not installed: pages were NOT checked"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flame")
    profiled = profiled_repository(folder / "repository")
    for name, arguments in (("run", [profiled.first]), ("diff", ["diff", profiled.first, profiled.second])):
        options = ["--repository", str(profiled.store.root), "--html", str(folder / f"{name}.html")]
        assert CliRunner().invoke(assay, ["profile", *arguments, *options]).exit_code == 0
    return folder


def opened(watched: ObservedRun, name: str) -> Page:
    watched.page.goto(f"{watched.server}/{name}.html")
    watched.page.wait_for_selector(".flame svg")
    return watched.page


def width_of(page: Page, name: str) -> float:
    width: float = page.locator(f'.flame g[aria-label*="{name}"] rect').evaluate("rect => rect.width.baseVal.value")
    return width


def test_search_counts_frames_and_their_share_of_each_side(browser: Browser, folder: Path) -> None:
    with watched_page(browser, folder.as_uri()) as watched:
        page = opened(watched, "diff")
        page.get_by_label("Search").fill("BURNCPU")
        assert page.locator(".flame .hit").count() == 1
        baseline, candidate = (100 * burn / (burn + 3 * 107) for burn in (3 * 12, 3 * 905))
        text = f"1 frame matches: A {baseline:.1f} %, B {candidate:.1f} % of the phase"
        assert page.locator(".flame-hits").inner_text() == text
        page.get_by_label("Search").fill("no such method")
        assert page.locator(".flame-hits").inner_text().startswith("0 frames match")
        page.get_by_role("combobox", name="Phase").select_option("map")
        assert page.get_by_role("tree").get_attribute("aria-label") == "Difference of two flame graphs, phase map"
        assert page.get_by_role("treeitem").count() == 3
        watched.check()


def test_a_click_zooms_and_widths_are_the_shares_of_the_samples(browser: Browser, folder: Path) -> None:
    with watched_page(browser, folder.as_uri()) as watched:
        page = opened(watched, "run")
        page.get_by_role("combobox", name="Phase").select_option("reduce")
        full_width_px = width_of(page, "all:")
        assert width_of(page, "DFS.read") / full_width_px == pytest.approx(100 / 118, rel=0.01)
        page.locator('.flame g[aria-label*="DFS.read"]').click()
        assert width_of(page, "DFS.read") == pytest.approx(full_width_px)
        assert page.get_by_role("treeitem").count() == 3, "callers stay above"
        page.get_by_role("button", name="Reset zoom").click()
        assert width_of(page, "DFS.read") / full_width_px == pytest.approx(100 / 118, rel=0.01)
        watched.check()


def test_the_keyboard_moves_zooms_in_and_out(browser: Browser, folder: Path) -> None:
    with watched_page(browser, folder.as_uri()) as watched:
        page = opened(watched, "diff")
        page.get_by_label("Search").focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        for key in ("ArrowDown", "ArrowDown"):
            page.keyboard.press(key)
        focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert focused.startswith("io/github/assay/jobs/Burner.burnCpu: A "), "down leads to the largest callee"
        assert page.locator(".flame-detail").inner_text() == focused
        page.keyboard.press("Enter")
        assert width_of(page, "Burner.burnCpu") == pytest.approx(width_of(page, "all:"))
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        assert width_of(page, "Burner.burnCpu") < width_of(page, "all:")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        assert "DFS.read" in page.evaluate("document.activeElement.getAttribute('aria-label')")
        watched.check()


@pytest.mark.parametrize(("width_px", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_has_no_finding_and_the_difference_is_red_and_blue(
    browser: Browser, folder: Path, width_px: int, scheme: str
) -> None:
    with watched_page(browser, folder.as_uri(), width_px, color_scheme=scheme, bypass_csp=True) as watched:
        for name in ("run", "diff"):
            page = opened(watched, name)
            violations = axe.Axe().run(page).response["violations"]
            assert [(item["id"], item["nodes"][0]["html"][:160]) for item in violations] == []
        fills = page.locator('.flame g[aria-label*="burnCpu"] rect').evaluate("rect => rect.style.fill")
        assert re.search(r"--flame-more\) (6\d|70)%", fills)
        page.get_by_role("combobox", name="Phase").select_option("map")
        fills = page.locator('.flame g[aria-label*="QuickSort"] rect').evaluate("rect => rect.style.fill")
        assert re.search(r"\) 0%", fills), f"phases have one scale, and the map phase hardly differs: {fills}"
        watched.check()
