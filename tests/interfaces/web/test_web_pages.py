"""Test the pages in a browser: charts, no requests to other hosts, links and filters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import httpx
import pytest

from assay.interfaces.web.server.app import create_app
from browser_support import DRAWN_MS, ObservedRun, watched_page
from builders import PRICES_YAML, make_run
from web_support import filled, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RUN = f"/runs/{make_run(0).run_id}"
RUN_CHARTS = 1


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    app = create_app(filled(tmp_path_factory.mktemp("pages") / "repository").root)
    with served(app) as url:
        yield url


@pytest.mark.parametrize(("width_px", "scheme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize(
    ("address", "charts"),
    [
        ("/", 1),
        ("/runs", 0),
        (RUN, RUN_CHARTS),
        ("/speedup?by=layout", 1),
        ("/speedup?method=aloja", 0),
        ("/quality", 0),
        (f"{RUN}/logs/job.log", 0),
    ],
)
def test_every_page_is_drawn_by_this_server_alone(
    browser: Browser, server: str, address: str, charts: int, width_px: int, scheme: str
) -> None:
    with watched_page(browser, server, width_px, color_scheme=scheme) as watched:
        page = watched.open(address)
        assert page.locator(".drawing.drawn svg").count() == charts
        assert page.locator("h1").count() == 1
        if address != f"{RUN}/logs/job.log":
            assert page.locator(".badge[class*=origin-]").count() >= 1, "where numbers come from is always shown"
        watched.check()


def test_filters_go_into_the_address_and_back(watched: ObservedRun) -> None:
    page = watched.open("/runs")
    page.get_by_role("checkbox", name="SS2").click()
    page.wait_for_url("**/runs?where=layout%3DSS2")
    page.wait_for_selector("body[data-charts=drawn]")
    assert page.locator(".lead b").inner_text() == "10"
    page.get_by_role("checkbox", name="TeraSort").click()
    page.wait_for_url("**where=layout%3DSS2**")
    page.wait_for_function("document.querySelector('.lead b').textContent === '3'")
    address = page.url
    rows = page.locator("table.runs tbody tr").all_inner_texts()
    watched.open(address.removeprefix(watched.server))
    assert page.locator("table.runs tbody tr").all_inner_texts() == rows, "a link shows a colleague the same"
    page.get_by_label("Remove the condition Storage layout is SS2").click()
    page.wait_for_function("document.querySelector('.lead b').textContent === '7'")
    watched.check()


def test_the_list_leads_to_a_run_and_its_log(watched: ObservedRun) -> None:
    page = watched.open("/runs?where=workload%3Dterasort&where=status%3Dvalid&sort=duration_s")
    page.locator("table.runs tbody a").first.click()
    page.wait_for_selector("h1:has-text('TeraSort on 2 SSDs per worker (SS2)')")
    page.get_by_role("tab", name="Checks and files").click()
    page.get_by_role("link", name="job.log").click()
    page.wait_for_selector("pre.log:has-text('line 1')")
    watched.check()


def test_a_chosen_span_of_the_run_applies_to_all_panels(watched: ObservedRun) -> None:
    page = watched.open(f"{RUN}?show=disk")
    # Not typed: each field that is left asks by itself, and the chart would be drawn three times.
    page.locator("#trace-form [name=start_s]").evaluate("field => { field.value = 2 }")
    page.locator("#trace-form [name=end_s]").evaluate("field => { field.value = 9 }")
    with page.expect_response("**/over-time?**start_s=2&end_s=9") as answer:
        page.get_by_role("button", name="Show", exact=True).click()
    panels = answer.value.json()["vconcat"]
    assert {tuple(panel["encoding"]["x"]["scale"]["domain"]) for panel in panels} == {(2, 9)}
    points = [row for panel in panels for row in panel["data"]["values"] if "t" in row]
    assert points
    assert all(2 <= point["t"] <= 9 for point in points)
    page.wait_for_url("**start_s=2**")
    page.wait_for_selector("#over-time[data-shown='1']")
    page.locator("#over-time svg").scroll_into_view_if_needed()
    box = page.locator("#over-time svg").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60)
    assert page.locator(".moment").inner_text().startswith(("5", "6")), "the moment under the pointer"
    cursor = page.locator(".cursor-layer .cursor").bounding_box()
    assert cursor is not None
    assert cursor["height"] > 0.7 * box["height"], "one cursor through all panels"
    assert page.locator("#trace-form [name]:disabled").count() == 0, "what was left empty can be filled in"
    with page.expect_response("**/over-time?**"):
        page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 60)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 60, steps=5)
        page.mouse.up()
    watched.check()


def test_a_missing_span_is_reported(watched: ObservedRun) -> None:
    page = watched.open(RUN)
    page.route("**/over-time?**", lambda route: route.abort())
    page.locator("#trace-form [name=start_s]").evaluate("field => { field.value = 2 }")
    page.get_by_role("button", name="Show", exact=True).click()
    page.wait_for_selector(".wrong:has-text('did not send this span')")


def test_choosing_another_baseline_turns_the_ratio_round(watched: ObservedRun) -> None:
    page = watched.open("/speedup?by=layout&where=workload%3Dterasort")
    first = page.locator(".decision td[data-label=Speedup]").first.inner_text()
    page.locator("[name=baseline]").select_option("SS2")
    page.wait_for_url("**baseline=SS2**")
    page.wait_for_selector("body[data-charts=drawn]")
    second = page.locator(".decision td[data-label=Speedup]").first.inner_text()
    assert float(first.rstrip("×")) * float(second.rstrip("×")) == pytest.approx(1, rel=0.02)
    watched.check()


def test_the_theme_is_kept(watched: ObservedRun) -> None:
    page = watched.open("/")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_label("Switch between light and dark").click()
    after = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert before != after
    watched.open("/runs")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == after
    watched.check()


def test_the_keyboard_reaches_everything(watched: ObservedRun) -> None:
    page = watched.open("/runs")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.locator("input[value='layout=HD2']").focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", "focus can be seen"
    page.keyboard.press("Space")
    page.wait_for_url("**where=layout%3DHD2**")
    watched.check()


def test_scripts_from_elsewhere_or_in_the_page_do_not_run(watched: ObservedRun) -> None:
    page = watched.open("/")
    page.evaluate("""() => { const s = document.createElement('script'); s.textContent = 'window.evil = 1';
                     document.body.append(s); }""")
    assert page.evaluate("window.evil") is None


def test_a_pasted_price_book_is_used_at_once_and_kept_in_its_window(watched: ObservedRun) -> None:
    page = watched.open("/cost")
    assert "No price book yet" in page.locator("#answer").inner_text()
    book = PRICES_YAML.replace("per: cluster,", "per: cluster-hour,")
    page.locator("#prices").fill(book)
    page.wait_for_selector("#cost-chart.drawn svg", timeout=DRAWN_MS)
    first = page.locator("#results tbody tr").first.inner_text()
    page.locator("#prices").fill(book.replace("46,567", "99,999"))
    page.wait_for_function("text => document.querySelector('#results tbody tr').innerText !== text", arg=first)
    changed = page.locator("#results").inner_text()
    page.goto("about:blank")
    page.go_back()
    page.wait_for_selector("#cost-chart.drawn svg", timeout=DRAWN_MS)
    assert page.locator("#results").inner_text() == changed, "Back finds the book that was pasted"
    page.locator("#prices").fill("nonsense: [")
    page.wait_for_selector("#answer [role=alert]")
    watched.check()


def test_cost_over_years_is_shown_as_sandisk_does(watched: ObservedRun) -> None:
    page = watched.open("/cost?view=years&cluster=lab-small")
    page.locator("#prices").fill(PRICES_YAML)
    page.locator("#jobs-of-layouts > summary").click()  # it stays open when a field changes
    page.wait_for_selector("#cost-per-job.drawn svg", timeout=DRAWN_MS)
    jobs = page.get_by_role("region", name="Jobs and cost per job").locator("tbody tr")
    assert jobs.count() == 6
    first = jobs.first.locator("td").nth(4).inner_text()
    page.locator("#cost-form [name=years]").fill("6")
    page.locator("#cost-form [name=years]").press("Tab")
    page.get_by_role("heading", name="6 years of use").wait_for()
    twice = page.get_by_role("region", name="Jobs and cost per job").locator("tbody tr").first.locator("td").nth(4)
    assert int(twice.inner_text().replace(",", "")) == pytest.approx(2 * int(first.replace(",", "")), abs=2)
    assert "years=6" in page.url
    assert page.get_by_role("region", name="Cost per performance and per capacity").locator("tbody tr").count() == 1
    page.locator("#cost-form [name=years]").fill("-1")
    page.locator("#cost-form [name=years]").press("Tab")
    page.wait_for_selector("#answer [role=alert]")
    watched.check()


def test_the_plane_has_bscs_quadrants_in_real_units(watched: ObservedRun) -> None:
    page = watched.open("/cost?workload=terasort")
    page.locator("#prices").fill(PRICES_YAML.replace("per: cluster,", "per: cluster-hour,"))
    page.wait_for_selector("#cost-chart.drawn svg", timeout=DRAWN_MS)
    assert "slow, economical" in page.locator("#cost-chart").inner_html()
    names = page.locator("#results tbody tr").all_inner_texts()
    assert any("fast, economical" in name or "fast, expensive" in name for name in names)
    watched.check()


def test_on_paper_no_chart_is_wider_than_the_page(browser: Browser, server: str) -> None:
    with watched_page(browser, server, 1280) as watched:
        page = watched.open(RUN)
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 700, "height": 900})  # as a sheet's width comes without a new drawing
        beyond = page.evaluate(
            "[...document.querySelectorAll('.drawing svg')].filter(s => s.getBoundingClientRect().right > 700).length"
        )
        assert beyond == 0


def test_fonts_are_served_by_this_server(watched: ObservedRun) -> None:
    page = watched.open("/")
    assert page.evaluate("document.fonts.ready.then(() => document.fonts.check('16px \"Source Sans Pro\"'))")
    loaded = page.evaluate("[...document.fonts].filter(font => font.status === 'loaded').map(font => font.family)")
    assert any("Source Sans Pro" in family for family in loaded)


@pytest.mark.slow
def test_head_is_answered_as_get_and_text_is_compressed(server: str) -> None:
    whole = httpx.get(f"{server}/runs", headers={"Accept-Encoding": "identity"})
    head = httpx.head(f"{server}/runs", headers={"Accept-Encoding": "identity"})
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == whole.headers["content-length"]
    assert httpx.head(f"{server}/nowhere").status_code == 404
    packed = httpx.get(f"{server}/runs")
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.text == whole.text
    assert int(packed.headers["content-length"]) < len(whole.content) / 3
