"""Test the run page: its answer first, the limit strip on the timeline, and tabs for the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from assay.interfaces.web.server.app import create_app
from assay.questions.runs.limits import limits_of_run
from browser_support import ObservedRun, watched_page
from builders import make_run
from detail_support import hybrid_run, hybrid_tasks, hybrid_trace
from web_support import client_of, filled, served

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

RUN = replace(hybrid_run(), run_id=make_run(950).run_id)
ADDRESS = f"/runs/{RUN.run_id}"
TABS = ["Limits", "Jobs and tasks", "Data and devices", "Configuration and metrics", "Checks and files"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    repository = filled(tmp_path_factory.mktemp("tabs") / "repository")
    repository.publish(RUN, tasks=hybrid_tasks(), trace=hybrid_trace())
    return repository.root


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[str]:
    with served(create_app(root)) as url:
        yield url


def test_the_answer_comes_first_and_the_strip_agrees_with_the_limits(root: Path) -> None:
    client = client_of(root)
    text = client.get(ADDRESS).text
    assert text.index('class="answer"') < text.index('id="over-time"') < text.index('id="limits"')
    panel = client.get(f"{ADDRESS}/over-time").json()["vconcat"][0]
    assert panel["title"]["text"] == "What limited most workers"
    spans = panel["data"]["values"]
    assert spans[0]["start"] == 0
    assert spans[-1]["end"] == RUN.duration_s
    assert all(left["end"] == right["start"] for left, right in pairwise(spans))
    titles = {span["phase"] for span in spans}
    repository = client.app.state.context.store.repository  # type: ignore[attr-defined]
    assert len(titles) <= len({moment.limit for moment in limits_of_run(repository, RUN.run_id).moments})
    one_node = client.get(f"{ADDRESS}/over-time", params={"node": RUN.environment["cluster"]["worker_names"][0]}).json()
    assert one_node["vconcat"][0]["title"]["text"] != "What limited most workers", "one node is not most workers"


@pytest.mark.browser
def test_the_keyboard_moves_between_tabs_and_the_address_keeps_the_tab(watched: ObservedRun) -> None:
    page = watched.open(ADDRESS)
    tabs = page.get_by_role("tab")
    assert tabs.all_inner_texts() == TABS
    assert page.get_by_role("tabpanel").count() == 1
    tabs.first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == TABS[1]
    assert page.evaluate("location.hash") == "#work"
    page.keyboard.press("End")
    assert page.get_by_role("heading", name="Raw logs and files").is_visible()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("location.hash") == "#limits"
    watched.open("/runs")
    page = watched.open(f"{ADDRESS}#devices")
    assert page.get_by_role("tab", selected=True).inner_text() == "Data and devices"
    page.locator(".answer a").click()
    assert page.get_by_role("tab", selected=True).inner_text() == "Limits"
    watched.check()


@pytest.mark.browser
def test_paper_and_pages_without_scripts_show_all_tabs(browser: Browser, server: str) -> None:
    with watched_page(browser, server) as watched:
        page = watched.open(ADDRESS)
        assert not page.get_by_role("heading", name="Raw logs and files").is_visible()
        page.emulate_media(media="print")
        for name in ("Limiting resources", "Tasks", "Metrics", "Checks", "Raw logs and files"):
            assert page.get_by_role("heading", name=name, exact=True).is_visible(), name
        assert not page.get_by_role("tablist").is_visible()
    with watched_page(browser, server, java_script_enabled=False) as watched:
        watched.page.goto(server + ADDRESS)
        assert watched.page.get_by_role("heading", name="Raw logs and files").is_visible()
        assert watched.page.get_by_role("tab").count() == 0


@pytest.mark.browser
def test_charts_in_a_hidden_tab_are_drawn_at_full_width(watched: ObservedRun) -> None:
    page = watched.open(ADDRESS)
    page.get_by_role("tab", name="Data and devices").click()
    page.wait_for_function("document.querySelector('#requests svg').getBoundingClientRect().width > 800")
