"""Test the code of profiled runs on the run page, on the page Compare and in the API: one answer with the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner

from assay.interfaces.cli.main import assay
from assay.interfaces.web.server.app import create_app
from assay.questions.comparisons.code_difference import difference_of_sides, difference_sentence, profiled_sides
from assay.questions.comparisons.flame_graphs import flame_graphs_of_run, flame_graphs_of_sides
from assay.questions.json_values import json_value
from assay.questions.runs.code_profile import code_profile
from browser_support import ObservedRun, watched_page
from builders import make_run
from profile_support import FACTS, ProfiledRepository, add_run, profiled_repository
from web_support import client_of, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

UNPROFILED = 50
OTHER_KIND = 51


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> ProfiledRepository:
    profiled = profiled_repository(tmp_path_factory.mktemp("code") / "repository")
    profiled.store.publish(make_run(UNPROFILED))
    add_run(profiled.store, OTHER_KIND, "SSD", 10, facts={**FACTS, "kind": "wall"})
    return profiled


@pytest.fixture(scope="module")
def server(profiled: ProfiledRepository) -> Iterator[str]:
    with served(create_app(profiled.store.root)) as url:
        yield url


def comparison(*run_ids: str) -> str:
    return urlencode([("run", run_id) for run_id in run_ids])


def test_the_api_returns_the_objects_of_the_questions(profiled: ProfiledRepository) -> None:
    client, store, first = client_of(profiled.store.root), profiled.store, profiled.first
    sides = profiled_sides(store, store.table(), (first, profiled.second), "configurations")
    query = comparison(first, profiled.second)
    for address, answer in (
        (f"runs/{first}/code-profile?phase=reduce", code_profile(store, first, phase="reduce")),
        (f"runs/{first}/flame-graphs", flame_graphs_of_run(store, first)),
        (f"code-difference?{query}", difference_of_sides(sides)),
        (f"flame-graphs?{query}", flame_graphs_of_sides(sides)),
    ):
        done = client.get(f"/api/v1/{address}")
        assert done.status_code == 200, done.text
        assert done.json() == json.loads(json.dumps(json_value(answer))), address


def test_runs_without_a_comparable_profile_are_refused_with_the_reason(profiled: ProfiledRepository) -> None:
    client, unprofiled = client_of(profiled.store.root), make_run(UNPROFILED).run_id
    refused = client.get(f"/api/v1/runs/{unprofiled}/code-profile")
    assert (refused.status_code, refused.json()["message"]) == (400, "it has no profile")
    assert 'id="code"' not in client.get(f"/runs/{unprofiled}").text
    assert 'id="code"' not in client.get(f"/compare?{comparison(profiled.first, unprofiled)}").text
    text = client.get(f"/compare?{comparison(profiled.first, make_run(OTHER_KIND).run_id)}").text
    assert "The profiles of these sides can't be compared: the profiles are of different kinds" in text


def test_pages_and_the_command_print_the_same_sentence(profiled: ProfiledRepository) -> None:
    client, store = client_of(profiled.store.root), profiled.store
    ids = (profiled.first, profiled.second)
    printed = CliRunner().invoke(assay, ["profile", "diff", *ids, "--repository", str(store.root)]).output.splitlines()
    sides = profiled_sides(store, store.table(), ids, "configurations")
    assert printed[0] == difference_sentence(difference_of_sides(sides))
    assert f"<strong>{printed[0]}</strong>" in client.get(f"/compare?{comparison(*ids)}").text
    printed = CliRunner().invoke(assay, ["profile", ids[0], "--repository", str(store.root)]).output.splitlines()
    text = client.get(f"/runs/{ids[0]}").text.lower()
    for line in printed[:3]:
        assert line.lower() in text


@pytest.mark.browser
@pytest.mark.parametrize("width_px", [1280, 390])
def test_the_run_page_draws_a_flame_graph_in_the_tab_code(
    browser: Browser, server: str, profiled: ProfiledRepository, width_px: int
) -> None:
    with watched_page(browser, server, width_px) as watched:
        page = watched.open(f"/runs/{profiled.first}#code")
        assert page.get_by_role("tab", selected=True).inner_text() == "Code"
        page.wait_for_selector("#code .flame svg")
        page.locator("#code .flame select").select_option("reduce")
        shown = page.locator('#code .flame g[aria-label*="burnCpu"]')
        assert str(shown.get_attribute("aria-label")).startswith("io/github/assay/jobs/Burner.burnCpu: 0.11 s, ")
        page.locator('#code .flame g[aria-label*="DFS.read"]').click()
        assert page.locator("#code .flame g").count() == 3
        watched.check()


@pytest.mark.browser
def test_the_page_compare_draws_the_difference(browser: Browser, server: str, profiled: ProfiledRepository) -> None:
    with watched_page(browser, server) as watched:
        page = watched.open(f"/compare?{comparison(profiled.first, profiled.second)}")
        page.wait_for_selector("#code .flame svg")
        tree = page.locator("#code .flame svg").get_attribute("aria-label")
        assert tree == "Difference of two flame graphs, phase reduce"
        fill = page.locator('#code .flame g[aria-label*="burnCpu"] rect').evaluate(
            "rect => getComputedStyle(rect).fill"
        )
        red, _, blue = (float(part) for part in fill.removeprefix("oklab(").rstrip(")").split())
        assert red > 0, fill
        assert blue > 0, fill
        watched.check()


@pytest.mark.browser
def test_the_graph_is_on_paper(watched: ObservedRun, profiled: ProfiledRepository) -> None:
    page = watched.open(f"/runs/{profiled.first}")
    page.wait_for_selector("#code .flame svg", state="attached")
    page.emulate_media(media="print")
    assert page.locator("#code .flame svg").is_visible()
    assert not page.locator("#code .flame select").is_visible()
