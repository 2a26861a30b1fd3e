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
from assay.questions.runs.code_profiles.code_over_time import code_over_time
from assay.questions.runs.code_profiles.code_profile import CodeProfileRequest, code_profile
from browser_support import ObservedRun, watched_page
from builders import make_run
from profile_support import FACTS, ProfiledRepository, add_run, profiled_repository
from web_support import client_of, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

UNPROFILED = 50
OTHER_KIND = 51
TIMED = 52


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> ProfiledRepository:
    profiled = profiled_repository(tmp_path_factory.mktemp("code") / "repository")
    profiled.store.publish(make_run(UNPROFILED))
    add_run(profiled.store, OTHER_KIND, "SSD", 10, facts={**FACTS, "kind": "wall"})
    add_run(profiled.store, TIMED, "HD2", 150, timed=True)
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
        (f"runs/{first}/code-profile?phase=reduce", code_profile(store, first, CodeProfileRequest(phase="reduce"))),
        (f"runs/{first}/flame-graphs", flame_graphs_of_run(store, first)),
        (f"code-difference?{query}", difference_of_sides(sides)),
        (f"flame-graphs?{query}", flame_graphs_of_sides(sides)),
    ):
        done = client.get(f"/api/v1/{address}")
        assert done.status_code == 200, done.text
        assert done.json() == json.loads(json.dumps(json_value(answer))), address


def test_an_interval_has_its_stacks_and_a_run_without_times_is_refused(profiled: ProfiledRepository) -> None:
    client, store, timed = client_of(profiled.store.root), profiled.store, make_run(TIMED).run_id
    whole = code_over_time(store, timed)
    assert (whole.start_s, whole.interval_s) == ((2.0, 3.0), 1)
    assert {row.category: row.threads for row in whole.categories} == {
        "user code": (0.0, 1.5),
        "HDFS client": (1.0, 0.0),
        "JVM and kernel, other": (0.07, 0.0),
    }
    for address, answer in (
        ("code-over-time", whole),
        ("code-profile?at_s=3.4", code_profile(store, timed, CodeProfileRequest(at_s=3.4))),
        ("flame-graphs?at_s=3.4", flame_graphs_of_run(store, timed, at_s=3.4)),
    ):
        done = client.get(f"/api/v1/runs/{timed}/{address}")
        assert done.json() == json.loads(json.dumps(json_value(answer))), address
    printed = CliRunner().invoke(assay, ["profile", timed, "--at", "3.4", "--repository", str(store.root)]).output
    assert printed.startswith("user code has 100 % of the cpu profile")
    assert "only from 3.0 to 4.0 s after the run's start" in printed
    outside = client.get(f"/api/v1/runs/{timed}/flame-graphs?at_s=7").json()
    assert (outside["message"], outside["hint"]) == ("it has no samples at 7 s", "it has samples from 2 s to 4 s")
    untimed = client.get(f"/api/v1/runs/{profiled.first}/code-over-time")
    assert (untimed.status_code, untimed.json()["message"]) == (400, "its profile has no times")


@pytest.mark.browser
@pytest.mark.parametrize("width_px", [1280, 390])
def test_a_click_on_a_second_of_the_run_shows_its_stacks(
    browser: Browser, server: str, profiled: ProfiledRepository, width_px: int
) -> None:
    with watched_page(browser, server, width_px) as watched:
        page = watched.open(f"/runs/{make_run(TIMED).run_id}")
        largest = page.locator("#over-time .mark-rect.role-mark path").first
        largest.wait_for()
        largest.scroll_into_view_if_needed()
        box = largest.bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.get_by_text("Only 3.0 to 4.0 s").wait_for()
        assert page.get_by_role("tab", selected=True).inner_text() == "Code"
        shown = page.locator('#code .flame g[aria-label*="burnCpu"]')
        assert str(shown.get_attribute("aria-label")).endswith(": 1.5 s, 100.0 % of the phase")
        assert page.locator('#code .flame g[aria-label*="DFS.read"]').count() == 0
        page.get_by_role("button", name="Whole run").click()
        page.get_by_text("Only 3.0 to 4.0 s").wait_for(state="hidden")
        page.locator("#code .flame select").select_option("reduce")
        page.locator('#code .flame g[aria-label*="DFS.read"]').wait_for()
        watched.check()


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
