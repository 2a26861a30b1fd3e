"""Test the filter bar: kept in the address, applied to answers, and carried by the navigation."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.main import assay
from assay.interfaces.web.rendering.filters import filter_bar, filter_parameters
from assay.interfaces.web.server.app import create_app
from assay.specs.prices import load_prices, prices_of
from assay.store import Repository
from assay.text.language import capitalised
from builders import PRICES_YAML
from web_support import READ, client_of, filled, guarded, served

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from browser_support import ObservedRun

BOOK = PRICES_YAML.replace("per: cluster,", "per: cluster-hour,")
WORKLOAD = "where=workload%3Dterasort"
FILTERED = ("/", "/speedup", "/cost", "/runs", "/quality", "/changes", "/gate")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("filters") / "repository").root


@pytest.fixture(scope="module")
def client(root: Path) -> TestClient:
    return client_of(root)


@pytest.fixture(scope="module")
def priced(root: Path) -> TestClient:
    return client_of(root, book=prices_of(BOOK, "prices"), book_text=BOOK)


@pytest.mark.parametrize("address", FILTERED)
def test_every_filtered_page_has_the_bar_and_carries_the_choice_on(address: str, client: TestClient) -> None:
    page = html.unescape(client.get(f"{address}?{WORKLOAD}").text)
    assert 'id="copy-link"' in page
    assert "Repository <b>repository</b>" in page
    links = set(re.findall(r'<a href="([^"]*)"', page[: page.index("</header>")]))
    assert {f"{first}?{WORKLOAD}" for first in ("/", "/runs", "/quality")} <= links
    assert "/forecast" in links
    assert f'href="/report.html?{WORKLOAD}"' in page


@pytest.mark.parametrize("address", FILTERED)
@pytest.mark.parametrize("condition", ["workload=terasort", "cluster=lab-small", "device_class=SSD"])
def test_every_choice_of_the_bar_is_valid_on_every_filtered_page(
    address: str, condition: str, priced: TestClient
) -> None:
    page = priced.get(address, params={"where": condition})
    assert page.status_code == 200
    assert 'role="alert"' not in page.text


@pytest.mark.parametrize("address", [*FILTERED, "/scatter", "/report.html", "/cost?view=years"])
@pytest.mark.parametrize("parameter", ["workload=terasrot", "where=workload%3Dterasrot"])
def test_a_level_that_no_run_has_is_refused_in_the_words_of_the_terminal(
    address: str, parameter: str, priced: TestClient, root: Path
) -> None:
    terminal = CliRunner().invoke(assay, ["decide", "--workload", "terasrot", "--repository", str(root)])
    assert isinstance(error := terminal.exception, SpecificationError)
    answer = priced.get(f"{address}{'&' if '?' in address else '?'}{parameter}", follow_redirects=False)
    page = html.unescape(answer.text)
    assert answer.status_code == 400
    assert (error.message, (error.hint or "")[:24]) == ("no run has workload 'terasrot'", "did you mean 'terasort'?")
    assert f"<h1>{capitalised(error.message)}</h1>" in page
    assert capitalised(error.hint or "") in page
    assert "terasrot" not in "".join(re.findall(r'<a [^>]*href="([^"]*)"', page))


def test_a_column_of_the_bar_filters_also_without_where(priced: TestClient, root: Path) -> None:
    pairs = [("workload", "terasort"), ("by", "layout")]
    assert list(filter_bar("/speedup", pairs, Repository(root).table()).other_parameters) == [("by", "layout")]
    for address in ("/", "/runs", "/speedup"):
        by_name = priced.get(address, params={"workload": "terasort"}).text
        by_condition = priced.get(address, params={"where": "workload=terasort"}).text
        assert _main(by_name) == _main(by_condition) != _main(priced.get(address).text)
    assert priced.get("/scatter", params={"workload": "terasort"}, follow_redirects=False).status_code == 200


def test_the_form_of_costs_names_a_cluster_that_no_run_has(priced: TestClient) -> None:
    part = html.unescape(priced.post("/cost/results", content="cluster=lab-smal").text)
    assert "no run has cluster 'lab-smal'" in part.casefold()
    assert "did you mean 'lab-small'?" in part.casefold()


def _main(page: str) -> str:
    return page[page.index("<h1") : page.index("</main>")]


@pytest.mark.parametrize("where", [(), ("workload=terasort", "cluster=lab-small")])
def test_the_report_is_the_file_that_the_command_writes(root: Path, tmp_path: Path, where: tuple[str, ...]) -> None:
    path, target = tmp_path / "my prices.yaml", tmp_path / "report.html"
    path.write_text(BOOK, encoding="utf-8")
    conditions = [word for condition in where for word in ("--where", condition)]
    words = ["report", "--repository", str(root), "--prices", str(path), "-o", str(target), *conditions]
    written = CliRunner().invoke(assay, words)
    assert written.exit_code == 0, written.output
    client = client_of(root, book=load_prices(path), book_text=BOOK, book_path=path)
    answer = client.get("/report.html", params={"where": where})
    assert answer.headers["content-disposition"] == 'attachment; filename="report.html"'
    assert answer.text == target.read_text(encoding="utf-8")


def test_a_report_without_runs_has_the_reason_and_needs_a_token(client: TestClient, root: Path, tmp_path: Path) -> None:
    refused = client.get("/report.html", params={"where": "workload=nothing"})
    assert refused.status_code == 400
    assert "workload" in refused.text
    assert guarded(root, tmp_path).get("/report.html", follow_redirects=False).status_code == 303


def test_the_answers_are_of_the_matching_runs(client: TestClient) -> None:
    every = client.get("/").text
    one_class = client.get("/", params={"where": "device_class=SSD"}).text
    assert 'question unanswered" data-question="storage"' not in every
    assert 'question unanswered" data-question="storage"' in one_class


def test_links_carry_the_conditions_of_the_bar_alone() -> None:
    pairs = [("by", "layout"), ("where", "workload=a"), ("where", "layout=SS2"), ("offset", "50")]
    assert filter_parameters(pairs) == [("where", "workload=a")]
    assert filter_parameters([("workload", "terasort"), ("years", "3")]) == [("where", "workload=terasort")]


def test_several_levels_of_one_column_stay_in_the_address(root: Path) -> None:
    pairs = [("where", "workload=terasort"), ("where", "workload=wordcount"), ("by", "layout"), ("offset", "50")]
    bar = filter_bar("/speedup", pairs, Repository(root).table())
    assert bar.fields[0].conditions == ("workload=terasort", "workload=wordcount")
    assert list(bar.other_parameters) == pairs[:3]


def test_a_guarded_server_does_not_name_its_repository(root: Path, tmp_path: Path) -> None:
    page = guarded(root, tmp_path).get("/", headers={"Authorization": f"Bearer {READ}"}).text
    assert 'id="copy-link"' in page
    assert "Repository <b>" not in page


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[str]:
    with served(create_app(root)) as url:
        yield url


def test_a_choice_is_applied_at_once_and_the_link_is_copied(watched: ObservedRun) -> None:
    watched.page.context.grant_permissions(["clipboard-write"])  # without a window, Chromium asks no user
    page = watched.open("/")
    page.locator(".filters select").first.select_option(label="TeraSort")
    page.wait_for_url("**/?where=workload%3Dterasort")
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_selector("#copy-link:has-text('Copied')")
    page.get_by_role("link", name="Speedup", exact=True).click()
    page.wait_for_url("**/speedup?where=workload%3Dterasort")
    watched.check()
