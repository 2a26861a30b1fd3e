"""Test the cost page: one workload, prices in a table, short links, Undo and Back, errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from html import unescape
from itertools import product
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from assay.analysis.cost.job_cost import JobCostRow
from assay.foundation.errors import SpecificationError
from assay.interfaces.charts.cost_effectiveness import cost_effectiveness_chart
from assay.interfaces.cli.main import assay
from assay.interfaces.web.pages.cost import PriceField
from assay.interfaces.web.pages.cost_state import page_state_of
from assay.interfaces.web.server.app import create_app
from assay.questions.costs.years_of_use import compared_jobs_first
from assay.specs.prices import prices_of
from assay.store import Repository
from browser_support import DRAWN_MS, ObservedRun, watched_page
from builders import PRICES_YAML, build_repository, make_run, study_runs
from web_support import client_of, served

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser
    from starlette.testclient import TestClient

BOOK = PRICES_YAML.replace("per: cluster,", "per: cluster-hour,")
"""Two prices of whole clusters: one for each layout."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    repository = Repository.create(tmp_path_factory.mktemp("cost") / "repository")
    for run in study_runs():
        repository.publish(run)
    return repository.root


@pytest.fixture(scope="module")
def client(root: Path) -> TestClient:
    return client_of(root, book=prices_of(BOOK, "prices"), book_text=BOOK)


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[str]:
    with served(create_app(root, book=prices_of(BOOK, "prices"), book_text=BOOK)) as url:
        yield url


@pytest.fixture
def watched(browser: Browser, server: str) -> Iterator[ObservedRun]:
    with watched_page(browser, server, 1280) as page:
        yield page


def names() -> list[str]:
    return [item.name for item in prices_of(BOOK, "prices").items]


def test_a_price_in_the_address_is_priced_and_nothing_else_of_the_book_is_in_it(client: TestClient) -> None:
    name = names()[-1]
    page = client.get("/cost", params={"workload": "terasort", f"price.{name}": "1"})
    assert page.status_code == 200
    assert "was $" in page.text
    assert page.text.count("<h2>TeraSort") == 1
    same = page_state_of([("workload", "terasort"), (f"price.{name}", "1")])
    assert len(same.address()) < 120
    assert same.without_changes() == "/cost?workload=terasort"
    unchanged = client.get("/cost", params={"workload": "terasort"})
    assert "was $" not in unchanged.text


def test_origins_of_runs_are_distinguished_in_words(tmp_path: Path) -> None:
    """The page shows sizes with units and the scale as 1/20; the address has the stored levels."""
    repository = Repository.create(tmp_path / "r")
    for number, size in enumerate((100_000_000, 100_000_000, 5_000_000_000, 5_000_000_000)):
        layout = ("HD2", "SS2")[number % 2]
        repository.publish(make_run(number, layout=layout, levels={"layout": layout}, data_bytes=size))
    page = client_of(repository.root, book=prices_of(BOOK, "prices"), book_text=BOOK).get("/cost").text
    text = re.sub(r"<[^>]+>", "", page[page.index('class="jobs"') :].partition("</p>")[0])
    assert "2 GB (100 MB in the lab, 1/20), measured" in text
    assert "100 GB (5 GB in the lab, 1/20), measured" in text
    assert "0.05" not in text


@pytest.mark.slow
def test_groups_that_no_runs_compare_have_a_chart_and_a_front_each_on_every_interface(tmp_path: Path) -> None:
    """The small cluster costs less and is faster, but no run compares it with the large cluster."""
    times = {("large", "HD2"): 900.0, ("large", "SS2"): 1200.0, ("small", "HD2"): 400.0, ("small", "SS2"): 100.0}
    runs = [
        replace(
            make_run(10 * first + number, layout=layout, levels={"layout": layout}, duration_s=seconds + number),
            cluster=cluster,
            parameters={"size": cluster},
        )
        for first, ((cluster, layout), seconds) in enumerate(times.items())
        for number in range(6)
    ]
    build_repository(tmp_path / "r", runs)
    book = (
        "prices: book\ncurrency: USD\ndate: '2026-01-01'\nsource: test\nitems:\n"
        "- {name: large, per: cluster-hour, price: $3, when: {cluster: [large]}}\n"
        "- {name: small, per: cluster-hour, price: $2, when: {cluster: [small]}}\n"
    )
    (tmp_path / "prices.yaml").write_text(book)
    page = client_of(tmp_path / "r", book=prices_of(book, "prices"), book_text=book).get("/cost").text
    assert re.findall(r'class="drawing" id="(cost-chart[^"]*)"', page) == ["cost-chart", "cost-chart-2"]
    captions = re.findall(r"<figcaption>(The 2 options on cluster \w+: time against money)", page)
    assert captions == [f"The 2 options on cluster {cluster}: time against money" for cluster in ("small", "large")]
    assert "uadrant" not in page
    rows = [row for row in page.split("<tr>") if 'data-label="Verdict"' in row]
    assert [row.count(">Pareto front<") for row in rows] == [1, 0, 1, 0]
    arguments = ["--prices", str(tmp_path / "prices.yaml"), "--repository", str(tmp_path / "r")]
    terminal = CliRunner().invoke(assay, ["cost", *arguments], catch_exceptions=False).output
    assert re.search(r"^Group +Rank", terminal, re.MULTILINE)
    assert "no other row of its group is both faster and cheaper" in terminal
    report = tmp_path / "report.md"
    assert CliRunner().invoke(assay, ["report", "-o", str(report), *arguments], catch_exceptions=False).exit_code == 0
    text = report.read_text()
    assert all(f"TeraSort, the 2 options on cluster {cluster}: time and cost" in text for cluster in ("small", "large"))


def test_links_of_a_card_lead_to_its_answer(client: TestClient) -> None:
    """The cost of a run and over years begin with the card's question, on its workload and filters, before all rows."""
    (view,) = [view for view in client.get("/api/v1/questions").json() if view["name"] == "storage"]
    card = client.get("/").text.partition('data-question="storage"')[2].partition("</section>")[0]
    links = [unescape(link) for link in re.findall(r'href="(/cost[^"]*)"', card)]
    assert links == [
        f"/cost?question=storage&workload={view['amounts']['workload']}",
        "/cost?view=years&question=storage",
    ]
    for link, sentence in zip(links, (view["amounts"]["per_job"], view["amounts"]["over_years"]), strict=True):
        page = unescape(client.get(link).text)
        assert page.index(view["question"]) < page.index(sentence) < page.index('id="results"')
        assert page.count("<h1") == 1
    assert view["cost"] in unescape(client.get(links[1]).text)


def test_a_price_that_was_changed_is_never_folded_away() -> None:
    """A price without a break-even price is folded away until it is changed."""
    assert not PriceField("rack", "cluster", 5.0, 5.0, 10.0).is_always_shown
    assert PriceField("rack", "cluster", 5.0, 6.0, 10.0).is_always_shown


def test_a_changed_price_may_be_in_thousands() -> None:
    assert page_state_of([("price.rack", "100k"), ("price.node", "1,200"), ("price.port", "1e-3")]).changes == {
        "rack": 100_000,
        "node": 1_200,
        "port": 0.001,
    }
    with pytest.raises(SpecificationError, match="price book's currency"):
        page_state_of([("price.rack", "100kEUR")])


@pytest.mark.parametrize(
    ("price", "words"),
    [("price.nothing", "has no price"), ("price.x", "is not a price"), ("price.y", "must not be negative")],
)
def test_an_invalid_price_is_an_error(client: TestClient, price: str, words: str) -> None:
    value = {"price.nothing": "1", "price.x": "dear", "price.y": "-1"}[price]
    page = client.get("/cost", params={price: value})
    assert page.status_code == 200
    assert words in page.text


def test_the_api_takes_changes_by_name(client: TestClient) -> None:
    name = names()[0]
    (before,) = client.post("/api/v1/cost", json={"where": ["workload=terasort"]}).json()
    (after,) = client.post("/api/v1/cost", json={"where": ["workload=terasort"], "changes": {name: 1.0}}).json()
    assert before["rows"][0]["cost"] > after["rows"][0]["cost"]
    assert after["headline"]
    assert client.post("/api/v1/cost", json={"changes": {"nothing": 1.0}}).status_code == 400


def test_a_changed_price_keeps_the_scale_of_the_axis(client: TestClient) -> None:
    class Point:
        time_low_s = time_high_s = cost_low = cost_high = pareto_front_probability = None
        runs, on_pareto_front = 3, True

        def __init__(self, label: str, time_s: float, cost: float) -> None:
            self.levels: dict[str, str] = {}
            self.label, self.time_s, self.cost = label, time_s, cost

    def scale(points: list[Point], before: list[Point]) -> object:
        spec = cost_effectiveness_chart(points, {}, "USD", previous_points=before)
        return next(layer for layer in spec["layer"] if "order" in layer["encoding"])["encoding"]["y"]["scale"]

    near, far = [Point("a", 1, 1), Point("b", 2, 2)], [Point("a", 1, 0.01), Point("b", 2, 2)]
    assert scale(near, []) != scale(far, [])
    assert scale(far, near) == scale(near, [])


@pytest.mark.browser
def test_a_change_is_shown_at_once_undone_and_restored_by_back(watched: ObservedRun) -> None:
    page = watched.open("/cost?workload=terasort")
    first = page.locator("#results tbody tr").first
    before = first.inner_text()
    field = page.locator(f"input[type=number][name='price.{names()[0]}']")
    field.fill("1")
    field.press("Tab")
    page.wait_for_url("**price.**")
    page.wait_for_function("text => document.querySelector('#results tbody tr').innerText !== text", arg=before)
    assert len(page.url) < 150
    changed = first.inner_text()
    assert "was $" in changed
    link = page.url
    page.goto("about:blank")
    page.go_back()
    page.wait_for_selector("#cost-chart.drawn svg", timeout=DRAWN_MS)
    assert (page.url, page.locator("#results tbody tr").first.inner_text()) == (link, changed)
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("text => document.querySelector('#results tbody tr').innerText === text", arg=before)
    assert "price." not in page.url
    assert page.get_by_role("button", name="Undo").is_disabled()
    watched.check()


@pytest.mark.browser
@pytest.mark.parametrize(("width_px", "folded"), [(1440, False), (768, False), (390, True)])
def test_the_answer_is_above_the_prices(browser: Browser, server: str, width_px: int, folded: bool) -> None:
    with watched_page(browser, server, width_px) as watched:
        page = watched.open("/cost?workload=terasort")
        answer = page.locator("#answer .answer").first.bounding_box()
        assert answer
        assert answer["y"] + answer["height"] < 700, "within the first screen"
        prices = page.locator(".what-if h2").bounding_box()
        chart = page.locator("#cost-chart").bounding_box()
        assert prices
        assert chart
        assert answer["y"] < prices["y"] < chart["y"]
        assert page.locator("#cost-form .bar").is_hidden() == folded
        assert page.locator("#priced input[type=range]").first.is_hidden() == (width_px < 960)
        watched.check()


@pytest.mark.browser
def test_the_answer_follows_a_changed_price(watched: ObservedRun) -> None:
    page = watched.open("/cost?workload=terasort")
    before = page.locator("#answer").inner_text()
    field = page.locator(f"input[type=number][name='price.{names()[0]}']")
    field.fill("500")
    field.press("Tab")
    page.wait_for_function("text => document.querySelector('#answer').innerText !== text", arg=before)
    watched.check()


@pytest.mark.slow
def test_columns_without_a_value_and_equal_ranks_are_omitted(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    for number, layout in enumerate(("HD2", "SS2")):
        repository.publish(make_run(number, layout=layout, levels={"layout": layout}, duration_s=100.0 + number))
    page = (
        client_of(repository.root, book=prices_of(BOOK, "prices"), book_text=BOOK).get("/cost?workload=terasort").text
    )
    headers = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', page[page.index('id="results"') :])
    assert "Cost per run" in headers
    assert not {"95 % interval", "Pareto front in", "Rank"} & set(headers)


@pytest.mark.browser
def test_a_card_leads_to_the_costs_of_each_row_and_over_years(watched: ObservedRun) -> None:
    addresses = (("cost of a run", "/cost?question=storage&workload=*"), ("cost over years", "/cost?*view=years*"))
    for name, address in addresses:
        page = watched.open("/")
        card = page.locator('[data-question="storage"]')
        card.get_by_text("Why: costs, ").click()
        card.get_by_role("link", name=name).first.click()
        page.wait_for_url(f"**{address}")
        page.locator("#answer .answer").first.wait_for()
    watched.check()


def test_jobs_of_several_layouts_come_first_in_costs_over_years() -> None:
    def row(workload: str, layout: str) -> JobCostRow:
        times = (100.0, None, None)
        return JobCostRow(workload, layout, 1, *times, 864.0, 3.0, 946_728.0, Decimal(1), "USD", 0.1, None, None)

    rows = [row("a", "SS2"), row("b", "SS2"), row("b", "HD2"), row("c", "HD2")]
    assert [(item.workload, item.layout) for item in compared_jobs_first(rows)] == [
        ("b", "SS2"),
        ("b", "HD2"),
        ("a", "SS2"),
        ("c", "HD2"),
    ]


@pytest.mark.browser
def test_a_slider_keeps_its_place_and_a_threshold_is_one_click(watched: ObservedRun) -> None:
    page = watched.open("/cost?workload=terasort")
    slider = page.locator("input[type=range]").first
    slider.focus()
    with page.expect_response("**/cost/results"):
        page.keyboard.press("ArrowLeft")
    page.wait_for_selector("tr.changed")
    assert page.evaluate("document.activeElement.type") == "range"
    page.get_by_role("link", name="Back to the book's prices").click()
    page.wait_for_function("() => !document.querySelector('tr.changed')")
    threshold = page.locator("a[data-set]").first
    at = float(threshold.get_attribute("data-set") or 0)
    threshold.click()
    page.wait_for_selector("tr.changed")
    assert float(page.locator("tr.changed input[type=number]").input_value()) == pytest.approx(at, rel=1e-4)
    watched.check()


@pytest.mark.browser
def test_undo_reverts_all_arrow_keys_on_a_price(watched: ObservedRun) -> None:
    page = watched.open("/cost?workload=terasort")
    page.locator("input[type=range]").first.focus()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector("tr.changed")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("() => !document.querySelector('tr.changed')")
    assert "price." not in page.url
    watched.check()


@pytest.mark.browser
def test_a_failed_request_is_reported_and_can_be_repeated(watched: ObservedRun) -> None:
    page = watched.open("/cost?workload=terasort")
    page.route("**/cost/results", lambda route: route.abort())
    field = page.locator("input[type=number][data-initial]").first
    field.fill("1")
    field.press("Tab")
    page.get_by_text("The server did not answer").wait_for()
    page.unroute("**/cost/results")
    page.get_by_role("button", name="Try again").click()
    page.locator("#results").get_by_text("was $").first.wait_for()
    assert page.locator("#cost-status").inner_text() == ""


def test_over_years_only_prices_of_the_cluster_that_is_shown_can_be_changed(root: Path) -> None:
    items = [
        f"  - {{name: cluster, price: ${n}, per: cluster-hour, when: {{cluster: [other-{n}]}}}}" for n in range(1, 40)
    ]
    items.append("  - {name: cluster, price: $9, per: cluster-hour, when: {cluster: [lab-small]}}")
    book = "\n".join(["prices: many", "currency: USD", "date: 2026-01-31", "source: an offer", "items:", *items])
    page = client_of(root, book=prices_of(book, "prices"), book_text=book).get("/cost?view=years").text
    assert "years of use" in page
    assert re.findall(r'name="price\.([^"]*)"', page) == ["cluster (cluster lab-small)"]


def test_both_views_list_the_price_of_each_network_of_the_runs(tmp_path: Path) -> None:
    """The tables of jobs over years have one network; the answer above them has both."""
    repository = Repository.create(tmp_path / "r")
    for number, (layout, network) in enumerate(product(("HD2", "SS2"), ("ETH", "IB"))):
        for run in range(3):
            levels = {"layout": layout, "network": network}
            repository.publish(
                make_run(10 * number + run, layout=layout, levels=levels, duration_s=100.0 + number + run)
            )
    book = (
        "prices: two-networks\ncurrency: USD\ndate: 2026-01-31\nsource: an offer\nitems:\n"
        "  - {name: cluster, price: $9, per: cluster-hour}\n"
        "  - {name: InfiniBand, price: $0.39, per: cluster-hour, when: {network: [IB]}}\n"
        "  - {name: Ethernet, price: $0.10, per: cluster-hour, when: {network: [ETH]}}\n"
    )
    client = client_of(repository.root, book=prices_of(book, "prices"), book_text=book)
    for view in ("workload=terasort", "view=years"):
        page = client.get(f"/cost?{view}").text
        assert set(re.findall(r'name="price\.([^"]*)"', page)) == {"cluster", "InfiniBand", "Ethernet"}, view
