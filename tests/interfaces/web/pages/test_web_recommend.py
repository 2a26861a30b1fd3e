"""Test the recommendation page: started by the form, restored by its address, equal to the API."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient

from assay.estimation.simulator.pool import SimulatorPool
from assay.foundation.errors import RepositoryError, SpecificationError
from assay.foundation.progress import Progress
from assay.interfaces.web.server.app import create_app
from assay.interfaces.web.state.searches import WAITING_MAX, Searches
from assay.questions.recommendation.catalogues import stored_catalogues
from assay.questions.recommendation.recommend import Recommendation
from assay.store import Repository
from browser_support import watched_page
from paths import EXAMPLES
from simulator_support import needs_simulator
from web_support import client_of, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SAME = {"origin": "http://localhost", "sec-fetch-site": "same-origin"}
FORM = {"w": "terasort:2GB:daily", "catalogue": "bsc-2015"}
TIMEOUT_S = 300


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Repository.create(tmp_path_factory.mktemp("recommend") / "r").root


@pytest.fixture
def client(root: Path) -> Iterator[TestClient]:
    with client_of(root) as client_:
        yield client_


def over(client: TestClient, key: str) -> dict[str, Any]:
    until = time.monotonic() + TIMEOUT_S
    while time.monotonic() < until:
        state: dict[str, Any] = client.get(f"/api/v1/recommend/{key}").json()
        if state["over"]:
            return state
        time.sleep(0.2)
    raise AssertionError("the search does not end")


@needs_simulator
def test_the_form_begins_a_search_that_its_address_shows_and_the_api_answers(client: TestClient) -> None:
    sent = client.post("/recommend", data=FORM, headers=SAME, follow_redirects=False)
    assert sent.status_code == 303
    address = sent.headers["location"]
    assert address == "/recommend?w=terasort%3A2GB%3Adaily&catalogue=bsc-2015"
    response = client.post(
        "/api/v1/recommend", json={"workloads": [FORM["w"]], "catalogue": FORM["catalogue"]}, headers=SAME
    )
    state = over(client, response.json()["key"])
    assert state["problem"] is None
    page = client.get(address).text
    assert state["answer"]["chosen"]["label"] in page
    assert 'class="badge origin-simulated"' in page
    for words in ("What would change the answer", "Candidates examined", "learned from 121 measured runs"):
        assert words in page


def test_before_a_search_the_page_describes_the_result_and_the_question_of_the_form(client: TestClient) -> None:
    page = client.get("/recommend").text
    result = page.partition('<div class="result">')[2]
    assert "The search shows here" in result
    assert "TeraSort of 1 TB, daily, without a deadline or a budget" in result
    assert "The search shows here" not in client.get("/recommend", params=FORM).text


@needs_simulator
def test_a_served_page_begins_with_an_answer_and_states_its_defaults(root: Path) -> None:
    with client_of(root, first_search=True) as client:
        page = client.get("/recommend").text
        assert "This is the answer for TeraSort of 1 TB, daily, over 3 years, without a deadline or a budget" in page
        (address,) = re.findall(r'data-address="/api/v1/recommend/(\w+)"', page)
        answer = over(client, address)["answer"]
        page = client.get("/recommend").text
        assert answer["chosen"]["label"] in page
        assert "Candidates examined" in page
        assert page.index("Prices: example-servers, ") < page.index("Clusters (simulated times)")
        assert "--" not in re.sub(r"<[^>]*>", "", page.partition("<h1")[2]), "the page has no options of the terminal"
        assert "Rough estimate: " in page.partition("</h1>")[0]
        assert page.count(">It is a rough estimate, because each worker gets up to") == 1
        assert answer["fastest"]["label"] in page.partition("</h1>")[2].partition("<form")[0]


def test_an_address_without_a_catalogue_has_the_catalogue_of_the_form(client: TestClient) -> None:
    selected = "<option selected>hardware</option>"
    assert selected in client.get("/recommend?budget=100k").text
    assert selected in client.get("/recommend").text


def test_an_address_without_a_search_states_it(client: TestClient) -> None:
    page = client.get("/recommend", params=FORM).text
    assert "No result is stored for these inputs" in page
    assert '<option value="terasort" selected>TeraSort</option>' in page
    assert 'name="size" value="2GB"' in page
    assert "<option>instances</option>" in page
    assert '<a href="/instances">Choose instance types</a>' in page
    assert client.get("/api/v1/recommend/none").status_code == 404
    assert set(client.get("/api/v1/recommend/catalogues").json()) >= {"hardware", "instances", "bsc-2015"}


@needs_simulator
@pytest.mark.parametrize("learn", [{}, {"learn": "on"}])
def test_the_address_of_a_key_fills_the_form_with_the_question(client: TestClient, learn: dict[str, str]) -> None:
    hardware, prices = ((EXAMPLES / "bsc-2015" / name).read_text() for name in ("catalogue.yaml", "prices.yaml"))
    pasted = {"catalogue_text": hardware, "prices_text": prices}
    form = {**FORM, **pasted, **learn, "deadline": "90min", "extra_costs": "idle=3h", "years": "5"}
    address = client.post("/recommend", data=form, headers=SAME, follow_redirects=False).headers["location"]
    assert address.startswith("/recommend?key=")
    over(client, address.partition("=")[2])
    page = client.get(address).text
    for name in ("deadline", "extra_costs", "years"):
        assert re.search(rf'name="{name}"[^>]* value="{form[name]}"', page)
    assert ('value="on" checked' in page) == bool(learn)
    fields = {name: _field(page, name) for name in pasted}
    assert fields == {name: text.strip() for name, text in pasted.items()}
    again = client.post("/recommend", data={**form, **fields}, headers=SAME, follow_redirects=False)
    assert again.headers["location"] == address
    over(client, address.partition("=")[2])
    lost = client.get("/recommend", params={"key": "none"}).text
    assert "no longer has the search of this address" in lost
    assert _field(lost, "catalogue_text") == ""


@needs_simulator
def test_a_price_list_replaces_the_prices_of_the_chosen_catalogue(client: TestClient) -> None:
    listed = (EXAMPLES / "logs" / "prices.csv").read_text()
    prices = {"prices_text": listed, "prices_region": "us-east-1", "prices_date": "2026-11-20", "prices_spot": "on"}
    form = {**FORM, "catalogue": "instances", **prices}
    address = client.post("/recommend", data=form, headers=SAME, follow_redirects=False).headers["location"]
    answer = over(client, address.partition("=")[2])["answer"]
    assert (answer["book"], answer["book_date"]) == ("us-east-1-spot", "2026-11-20")
    page = client.get(address).text
    assert re.search(r'name="prices_region" value="us-east-1"', page)
    assert 'name="prices_spot" value="on" checked' in page
    assert _field(page, "prices_text") == listed.strip()
    undated = client.post("/recommend", data={**form, "prices_date": ""}, headers=SAME).text
    assert "prices_date" in undated


def _field(page: str, name: str) -> str:
    [text] = re.findall(rf'<textarea name="{name}"[^>]*>(.*?)</textarea>', page, re.DOTALL)
    return unescape(text)


def test_the_fields_of_a_workload_become_its_text_in_the_address(client: TestClient) -> None:
    fields = {
        "work": ["terasort", "", "dfsio-read"],
        "size": ["2GB", "", "1TB"],
        "often": ["daily", "daily", "weekly"],
        "options": ["", "", "files=512"],
        "catalogue": "nothing",
    }
    page = client.post("/recommend", data=fields, headers=SAME).text
    assert "Unknown catalogue" in page
    fields["catalogue"] = "bsc-2015"
    sent = client.post("/recommend", data=fields, headers=SAME, follow_redirects=False)
    address = "/recommend?w=terasort%3A2GB%3Adaily&w=dfsio-read%3A1TB%3Aweekly%3Afiles%3D512&catalogue=bsc-2015"
    assert sent.headers["location"] == address


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"w": ""}, "No workload is chosen"),
        ({"w": "terasrot:1TB"}, "did you mean &#39;terasort&#39;"),
        ({"deadline": "soon"}, "not a duration"),
        ({"capacity": f"{'9' * 400}TB"}, "too long"),
        ({"w": f"terasort:{'9' * 400}TB"}, "too long"),
        ({"years": "many"}, "is no number"),
        ({"catalogue": "nothing"}, "Unknown catalogue"),
        ({"catalogue_text": "catalogue: x"}, "is missing"),
        ({"minimize": "effort"}, "Unknown objective"),
        ({"least": "effort"}, "Unknown objective"),
    ],
)
def test_an_impossible_question_is_explained_on_the_page(client: TestClient, wrong: dict[str, str], words: str) -> None:
    sent = client.post("/recommend", data={**FORM, **wrong}, headers=SAME)
    assert sent.status_code == 200
    assert words in sent.text


def test_searches_wait_for_each_other_and_no_more_than_a_few() -> None:
    searches: Searches[Recommendation] = Searches()
    started, go_on = Event(), Event()

    def answering(pool: SimulatorPool, progress: Progress | None) -> Recommendation:
        del pool, progress
        started.set()
        go_on.wait(TIMEOUT_S)
        raise SpecificationError("enough")

    first = searches.start(0, answering)
    assert started.wait(TIMEOUT_S)
    others = [searches.start(number, answering) for number in range(1, WAITING_MAX)]
    assert all("waiting" in other.step for other in others)
    assert searches.start(1, answering) is others[0]
    with pytest.raises(RepositoryError, match="running or waiting"):
        searches.start("one more", answering)
    go_on.set()
    until = time.monotonic() + TIMEOUT_S
    while not all(search.over for search in (first, *others)) and time.monotonic() < until:
        time.sleep(0.01)
    assert str(first.problem) == "enough"


def test_every_catalogue_has_a_price_book(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "catalogue.yaml").write_text((EXAMPLES / "hardware" / "catalogue.yaml").read_text())
    assert "mine" not in stored_catalogues([tmp_path])
    (tmp_path / "mine" / "prices.yaml").write_text((EXAMPLES / "hardware" / "prices.yaml").read_text())
    assert next(iter(stored_catalogues([tmp_path]))) == "mine"


@needs_simulator
@pytest.mark.browser
@pytest.mark.parametrize("width_px", [390, 1440])
def test_a_search_shows_how_far_it_is_and_then_its_answer(browser: Browser, root: Path, width_px: int) -> None:
    with served(create_app(root)) as url, watched_page(browser, url, width_px) as watched:
        page = watched.open("/recommend")
        page.locator("select[name=work]").first.select_option("terasort")
        page.locator("input[name=size]").first.fill("2GB")
        for name in ("deadline", "capacity"):
            page.locator(f"input[name={name}]").fill("")
        page.locator("select[name=catalogue]").select_option("bsc-2015")
        page.locator("main button.button").click()
        page.wait_for_selector("text=Candidates examined", timeout=TIMEOUT_S * 1000)
        page.wait_for_selector("body[data-charts=drawn]")
        assert "catalogue=bsc-2015" in page.url
        watched.check()
