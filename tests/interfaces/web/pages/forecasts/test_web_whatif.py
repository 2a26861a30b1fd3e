"""Test the what-if page: controls at measured values, answers equal to the API, state in links."""

from __future__ import annotations

import math
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from assay.estimation.simulator.process import SimulationResult
from assay.estimation.simulator.scenario_document import ScenarioDocument
from assay.interfaces.cli.main import assay
from assay.interfaces.web.server.app import create_app
from assay.questions.forecasts.whatif.whatif import DRAWS
from assay.specs.prices import prices_of
from assay.store import Repository
from browser_support import OVERPRINTED, watched_page
from builders import PRICES_YAML, make_run
from paths import EXAMPLES
from simulator_support import measured_repository, needs_simulator
from web_support import client_of, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SAME = {"origin": "http://localhost", "sec-fetch-site": "same-origin"}
PRICES = prices_of(f"{PRICES_YAML}amortisation: {{years: 3}}\n", "prices.yaml")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured_repository(tmp_path_factory.mktemp("whatif") / "r").root


@pytest.fixture(scope="module")
def client(root: Path) -> Iterator[TestClient]:
    with client_of(root, book=PRICES) as client_:
        yield client_


@pytest.fixture(scope="module")
def run_id(client: TestClient) -> str:
    configurations = client.get("/api/v1/whatif/configurations").json()
    assert len(configurations) == 6
    assert all(configuration["n"] == 3 for configuration in configurations)
    return next(
        str(p["run_id"])
        for p in configurations
        if (p["workload"], p["configuration"]) == ("terasort", "2 hard disks per worker (HD2)")
    )


@needs_simulator
def test_runs_without_a_cluster_file_are_simulated_on_the_chosen_one(tmp_path: Path) -> None:
    root = tmp_path / "r"
    runs = EXAMPLES / "bsc-2015" / "measured"
    assert CliRunner().invoke(assay, ["import", str(runs), "--repository", str(root)]).exit_code == 0
    with client_of(root, cluster_folders=[EXAMPLES]) as client:
        page = client.get("/whatif?nic=25").text
        clusters = re.findall(r"<option>([^<]+)</option>", page)
        assert "bsc-2015/lab-cluster.yaml" in clusters
        assert "bsc-2015/cluster.yaml" not in clusters, "it has another scale than the runs"
        assert '<input type="hidden" name="nic" value="25">' in page
        chosen = client.get("/whatif", params={"cluster": "bsc-2015/lab-cluster.yaml", "nic": "25"}).text
        assert "With 25 Gbit/s per node, " in chosen
        assert 'name="cluster" value="bsc-2015/lab-cluster.yaml"' in chosen
        links = re.findall(r'href="/whatif\?([^"]*)"', chosen)
        assert all("cluster=bsc-2015%2Flab-cluster.yaml" in link for link in links)
        unknown = client.get("/whatif?cluster=none.yaml").text
        assert "There is no cluster file &#39;none.yaml&#39; on this server" in unknown


@needs_simulator
def test_controls_stand_at_what_was_measured(client: TestClient, run_id: str) -> None:
    page = client.get("/whatif", params={"run": run_id}).text
    measured_values = dict(re.findall(r'name="([^"]+)"[^>]* data-initial="([^"]*)"', page))
    measured_values |= dict(re.findall(r'name="([^"]+)" form="whatif-form" value="[^"]*" data-initial="([^"]*)"', page))
    assert measured_values["layout"] == "HD2"
    assert (measured_values["workers.count"], measured_values["worker.devices.hdd.count"], measured_values["nic"]) == (
        "3",
        "2",
        "10",
    )
    assert any(name.startswith("price.") for name in measured_values)
    assert "simulated" in page
    assert "measured" in page


@needs_simulator
def test_the_page_and_the_api_give_one_answer(client: TestClient, run_id: str) -> None:
    params = {"run": run_id, "set": ["layout=SS2", "workers.count=5"]}
    [answer] = client.get("/api/v1/whatif", params=params).json()["configurations"]
    assert answer["origin"] == "simulated"
    sent = client.post("/whatif/results", content=f"run={run_id}&layout=SS2&workers.count=5", headers=SAME).text
    assert f"<b>{answer['simulated_s']:.1f} s</b>" in sent
    for effect in client.get("/api/v1/whatif", params={"set": params["set"]}).json()["effects"]:
        assert effect["title"] in sent
        assert f"{effect['ratio']:.2f}× ({effect['ratio_low']:.2f} to {effect['ratio_high']:.2f})" in sent
    linked = client.get("/whatif", params={"run": run_id, "layout": "SS2", "workers.count": "5"}).text
    assert f"<b>{answer['simulated_s']:.1f} s</b>" in linked


@needs_simulator
def test_a_rate_with_and_without_its_unit_has_the_same_answer(client: TestClient, run_id: str) -> None:
    bare, whole = (
        client.post("/whatif/results", content=f"run={run_id}&nic={text}", headers=SAME).text
        for text in ("1", "1Gbit%2Fs")
    )
    assert bare == whole
    same = client.post("/whatif/results", content=f"run={run_id}&nic=10&layout=HD2", headers=SAME).text
    assert same == client.post("/whatif/results", content=f"run={run_id}", headers=SAME).text


@needs_simulator
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("layout=SS9", "asks for 9 SSDs"),
        ("nothing=1", "has no setting"),
        ("data=900000", "are needed with all copies"),
        ("nic=0", "more than 0"),
        ("price.Nothing=3", "has no price"),
        ("price.All-HDD configuration=x", "is not a price"),
    ],
)
def test_an_impossible_question_is_explained_and_the_controls_remain(
    client: TestClient, run_id: str, query: str, words: str
) -> None:
    name, _, value = query.partition("=")
    page = client.get("/whatif", params={"run": run_id, name: value})
    assert page.status_code == 200
    assert words in page.text
    if not name.startswith("price."):
        assert 'data-control="workers.count"' in page.text


@needs_simulator
def test_an_answer_takes_the_server_less_than_150_ms_of_cpu_once_it_is_warm(client: TestClient, run_id: str) -> None:
    client.post("/whatif/results", content=f"run={run_id}", headers=SAME)
    took_s = []
    for workers in range(4, 16):
        start_s = time.process_time()
        client.post("/whatif/results", content=f"run={run_id}&workers.count={workers}", headers=SAME)
        took_s.append(time.process_time() - start_s)
    assert min(took_s) < 0.15  # of CPU: other tests may run at the same time


@needs_simulator
def test_one_configuration_alone_has_the_same_answer_and_simulates_no_other(client: TestClient, run_id: str) -> None:
    query = f"run={run_id}&workers.count=7"
    whole = client.post("/whatif/results", content=query, headers=SAME).text
    simulated: list[int] = []
    simulators = client.app.state.context.simulators  # type: ignore[attr-defined]
    simulate = simulators.simulate

    def counted(scenarios: list[ScenarioDocument]) -> list[SimulationResult]:
        simulated.append(len(scenarios))
        results: list[SimulationResult] = simulate(scenarios)
        return results

    simulators.simulate = counted
    try:
        alone = client.post("/whatif/results", content=f"{query}&shown_only=1", headers=SAME).text
    finally:
        simulators.simulate = simulate
    assert simulated == [DRAWS]
    tiles = [text.partition('id="tiles"')[2].partition("</ul>")[0] for text in (whole, alone)]
    assert tiles[0] == tiles[1] != ""
    assert "Simulating the other configurations" in alone
    assert 'id="whatif-rows"' not in alone
    assert whole.count("<tr>") == 7


@needs_simulator
@pytest.mark.browser
def test_of_many_configurations_the_shown_one_is_answered_first(browser: Browser, tmp_path: Path) -> None:
    root = measured_repository(tmp_path / "many", campaigns=7).root
    with served(create_app(root)) as url, watched_page(browser, url) as watched:
        page = watched.open("/whatif")
        assert page.locator("#whatif-rows tbody tr").count() == 42
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.post_data or "") if request.method == "POST" else None)
        page.locator('[data-control="workers.count"] button[data-step="1"]').click()
        page.wait_for_selector("#whatif-others")
        page.wait_for_selector("#whatif-rows")
        assert [body.endswith("&shown_only=1") for body in sent] == [True, False]
        watched.check()


@needs_simulator
@pytest.mark.browser
def test_on_paper_the_values_follow_the_answer_without_sliders(browser: Browser, root: Path) -> None:
    with served(create_app(root)) as url, watched_page(browser, url) as watched:
        page = watched.open("/whatif?nic=25")
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 700, "height": 900})
        assert page.locator(".control input[type=range]:visible, .step:visible").count() == 0
        table, values = (page.locator(name).bounding_box() for name in ("#whatif-rows", "#controls"))
        assert table is not None
        assert values is not None
        assert values["y"] >= table["y"] + table["height"]
        watched.check()


def test_an_empty_repository_is_refused_with_the_reason(tmp_path: Path) -> None:
    Repository.create(tmp_path / "r")
    assert "No runs to simulate from" in client_of(tmp_path / "r").get("/whatif").text


@needs_simulator
def test_with_nothing_changed_the_page_shows_the_measured_time(client: TestClient, run_id: str) -> None:
    page = client.get("/whatif", params={"run": run_id}).text
    times = re.findall(r"<b>([0-9.]+) s</b> <span class=\"badge origin-([a-z]+)", page)
    assert [kind for _, kind in times] == ["measured"]
    assert "geometric mean of 3 runs" in page
    assert "<b>1.00×</b>" in page
    assert 'id="whatif-cost"' not in page, "two equal points"
    changed = client.get("/whatif", params={"run": run_id, "workers.count": "12"}).text
    assert 'id="whatif-cost"' in changed


@needs_simulator
def test_the_heading_is_the_answer_and_the_details_are_of_the_largest_difference(client: TestClient) -> None:
    answer = client.get("/api/v1/whatif", params={"set": ["nic=25Gbit/s", "workers.count=12"]}).json()
    page = client.get("/whatif", params={"nic": "25", "workers.count": "12"}).text
    assert f'<h1 class="sentence">{answer["sentence"]}</h1>' in page
    assert page.index(answer["caveat"]) > page.index("</h1>")
    largest = max(
        answer["configurations"],
        key=lambda row: (not row["ratio_low"] <= 1 <= row["ratio_high"], abs(math.log(row["ratio"]))),
    )
    assert f"<b>{largest['simulated_s']:.1f} s</b>" in page.partition('id="tiles"')[2].partition("</ul>")[0]


@pytest.mark.slow
def test_the_first_page_and_what_if_say_which_cluster_file_to_copy_where(tmp_path: Path) -> None:
    root, some = tmp_path / "r", tmp_path / "some.csv"
    lines = (EXAMPLES / "bsc-2015" / "measured" / "runs.csv").read_text().splitlines(keepends=True)
    some.write_text("".join(lines[:17]))
    assert CliRunner().invoke(assay, ["import", str(some), "--repository", str(root)]).exit_code == 0
    with client_of(root) as client:
        first, whatif = client.get("/").text, client.get("/whatif").text
    for page in (first, whatif):
        assert "hese runs can&#39;t be simulated: they lack a cluster file with their nodes and disks" in page
        assert "bsc-2015/lab-cluster.yaml fits: it has the scale, disks and network of these runs." in page
        [folder] = re.findall(r"Copy it to (\S+), and the page What if lists it", page)
    assert "no example fits" not in whatif
    assert re.search(r"assay whatif --cluster \S+bsc-2015/lab-cluster.yaml --repository \S+", whatif)
    assert "No prediction: 16 valid runs are too few to learn from, at least 20 are needed." in first
    assert "predict from these runs" not in first
    assert folder == "r/clusters", "pages do not show where the server keeps the repository"
    (root / "clusters").mkdir()
    shutil.copy(EXAMPLES / "bsc-2015" / "lab-cluster.yaml", root / "clusters")
    with client_of(root) as client:
        assert '<a href="/whatif">Choose their cluster file</a>: lab-cluster.yaml.' in client.get("/").text
        assert "<option>lab-cluster.yaml</option>" in client.get("/whatif").text


@needs_simulator
def test_controls_are_named_in_words(client: TestClient, run_id: str) -> None:
    page = client.get("/whatif", params={"run": run_id}).text
    assert "Hard disks per worker" in page
    assert "Hard disk read rate" in page
    assert "hdd:" not in page


@pytest.mark.slow
def test_runs_without_a_plan_answer_each_change_by_itself(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r")
    for number in range(8):
        network, faster = ("IB", 20.0) if number % 2 else ("ETH", 0.0)
        run = make_run(number, levels={"layout": "HD2", "network": network}, duration_s=100.0 + number // 2 - faster)
        repository.publish(replace(run, plan="", campaign_id="imported"))
    text = client_of(tmp_path / "r").get("/whatif", params={"nic": "25", "workers.count": "12"}).text
    assert "These runs can&#39;t be simulated: they lack a cluster file with their nodes and disks" in text
    assert "25 Gbit/s per node: the measured levels are Ethernet and InfiniBand." in text
    assert "12 workers: the runs have 3 workers." in text
    assert "assay discover --help" in text
    assert "assay decide network" in text
    assert "assay predict" not in text, "one predicted time compares nothing"
    assert "assay recommend --catalogue" in text
    unasked = client_of(tmp_path / "r").get("/whatif").text
    assert "Network: the measured levels are Ethernet and InfiniBand." in unasked
    assert "Number of workers: the runs have 3 workers." in unasked
    assert "assay run --help" in unasked
    assert "Faster network? InfiniBand is" in text
    assert "How many nodes? Not measured" in text
    assert 'href="/recommend"' in text
    assert 'href="/plan"' in text


@needs_simulator
def test_more_workers_have_no_price_in_a_book_of_whole_clusters_and_the_page_has_the_reason(
    client: TestClient, run_id: str
) -> None:
    page = client.get("/whatif", params={"run": run_id, "workers.count": "12"}).text
    assert "Why no cost is known" not in page, "the fields for the missing prices are the remedy"
    assert "The price book lacks the purchase price of each worker (9 more)." in page
    assert 'name="price.worker" value=""' in page
    assert "(purchase price of each in USD; 9 more)" in page
    assert "$0.0" not in page
    priced = {"run": run_id, "workers.count": "12", "price.worker": "6000"}
    params = {"run": run_id, "set": ["workers.count=12"], "price": ["worker=6000"]}
    money = client.get("/api/v1/whatif", params=params).json()["money"]
    assert money.startswith(("A run costs ", "No difference in the cost of a run is shown: "))
    page = client.get("/whatif", params=priced).text
    assert 'name="price.worker" value="6000"' in page
    assert "Stated purchase price of each worker: $6,000 (9 more)." in page


@needs_simulator
def test_a_purchase_price_for_a_worker_of_a_rented_cluster_is_refused_in_words_and_stays_in_its_field(
    root: Path, run_id: str
) -> None:
    items = "  - {name: all, price: $4, per: cluster-hour, covers: [nodes, network, devices], workers: 8}\n"
    book = prices_of(f"prices: p\ncurrency: USD\ndate: 2026-01-01\nsource: s\nitems:\n{items}", "p.yaml")
    with client_of(root, book=book) as client:
        page = client.get("/whatif", params={"run": run_id, "workers.count": "12", "price.worker": "4500"}).text
    assert "The price per hour of each worker can&#39;t be $4,500: the price book prices 8 workers" in page
    assert 'name="price.worker" value="4500"' in page
    assert "(price per hour of each in USD; the price book prices 8 workers, the measured cluster has 3)" in page


@needs_simulator
@pytest.mark.browser
def test_extra_costs_are_answered_when_they_are_complete_and_reset_with_the_other_values(
    browser: Browser, root: Path, run_id: str
) -> None:
    with served(create_app(root, book=PRICES)) as url, watched_page(browser, url) as watched:
        page = watched.open(f"/whatif?run={run_id}&layout=SS2")
        assert page.get_by_text("idle time between jobs").count() == 0
        extra = page.locator("#c-extra_costs")
        extra.fill("idle=3h")
        extra.press("Enter")
        page.get_by_role("cell", name="idle time between jobs (3 h 00 min)").wait_for()
        params = {"run": [run_id], "layout": ["SS2"], "extra_costs": ["idle=3h"]}
        assert parse_qs(urlsplit(page.url).query) == params
        others = page.locator("#whatif-rows a").all()
        assert all("extra_costs=idle" in (link.get_attribute("href") or "") for link in others)
        page.locator("#whatif-start").click()
        page.get_by_role("cell", name="idle time between jobs (3 h 00 min)").wait_for(state="detached")
        assert extra.input_value() == ""
        watched.check()


@needs_simulator
@pytest.mark.browser
def test_enter_submits_the_typed_value_and_another_run_keeps_it(browser: Browser, root: Path, run_id: str) -> None:
    with served(create_app(root, book=PRICES)) as url, watched_page(browser, url) as watched:
        page = watched.open(f"/whatif?run={run_id}&layout=SS2")
        before = page.locator("#tiles").inner_text()
        link = page.locator("#c-nic")
        link.fill("25")
        link.press("Enter")
        page.wait_for_function("old => document.getElementById('tiles').innerText !== old", arg=before)
        assert link.input_value() == "25"
        assert parse_qs(urlsplit(page.url).query) == {"run": [run_id], "layout": ["SS2"], "nic": ["25"]}
        other = page.locator(f'#whatif-run option:not([value="{run_id}"])').first.get_attribute("value")
        page.locator("#whatif-run").select_option(value=other)
        page.wait_for_function("run => !location.search.includes(run)", arg=run_id)
        page.wait_for_selector("body[data-charts=drawn]")
        assert page.locator("#c-nic").input_value() == "25"
        assert page.locator("#c-layout").input_value() == "SS2"
        watched.check()


@needs_simulator
@pytest.mark.browser
@pytest.mark.parametrize("changes", ["", "&layout=SS2", "&worker.cpu.speed=1.01", "&price.All-HDD configuration=37000"])
def test_no_label_of_a_chart_overprints_another(browser: Browser, root: Path, run_id: str, changes: str) -> None:
    with served(create_app(root, book=PRICES)) as url, watched_page(browser, url) as watched:
        page = watched.open(f"/whatif?run={run_id}{changes}")
        for chart in ("whatif-cost", "whatif-limits") if changes else ("whatif-limits",):
            assert page.locator(f"#{chart} svg text").count() > 5
            assert page.evaluate(OVERPRINTED, chart) == []


@needs_simulator
@pytest.mark.browser
@pytest.mark.parametrize("width_px", [390, 800, 1440])
def test_the_answer_is_next_to_the_controls_and_no_card_is_left_alone(
    browser: Browser, root: Path, run_id: str, width_px: int
) -> None:
    with served(create_app(root, book=PRICES)) as url, watched_page(browser, url, width_px) as watched:
        page = watched.open(f"/whatif?run={run_id}&layout=SS2")
        tiles, controls = page.locator("#tiles").bounding_box(), page.locator("#controls").bounding_box()
        assert tiles is not None
        assert controls is not None
        if width_px > 960:
            assert controls["x"] >= tiles["x"] + tiles["width"]
        else:
            assert 0 <= controls["y"] - (tiles["y"] + tiles["height"]) < 60
        right_edges = page.evaluate("""() => Object.values(Object.groupBy(
            [...document.querySelectorAll('#tiles li')].map(card => card.getBoundingClientRect()), box => box.top
        )).map(row => Math.max(...row.map(box => box.right)))""")
        assert right_edges == pytest.approx([tiles["x"] + tiles["width"]] * len(right_edges), abs=1)


@needs_simulator
@pytest.mark.browser
@pytest.mark.parametrize("width_px", [390, 1440])
def test_sliding_answers_and_the_link_holds_the_state(browser: Browser, root: Path, run_id: str, width_px: int) -> None:
    app = create_app(root, book=PRICES)
    with served(app) as url, watched_page(browser, url, width_px) as watched:
        page = watched.open(f"/whatif?run={run_id}&layout=SS2")
        before = page.locator("#tiles").inner_text()
        page.locator('[data-control="data"] button[data-step="1"]').click()
        page.wait_for_function("old => document.getElementById('tiles').innerText !== old", arg=before)
        assert parse_qs(urlsplit(page.url).query)["data"] == ["2.5"]
        assert parse_qs(urlsplit(page.url).query)["layout"] == ["SS2"]
        page.locator('[data-control="workers.count"] input[type=range]').focus()
        page.keyboard.press("End")
        page.wait_for_function("location.search.includes('workers.count=24')")
        page.go_back()
        page.wait_for_function(
            "document.querySelector('[data-control=\"workers.count\"] input[type=number]').value === '3'"
        )
        watched.check()
    assert not any(simulator._process.poll() is None for simulator in app.state.context.simulators._processes)
