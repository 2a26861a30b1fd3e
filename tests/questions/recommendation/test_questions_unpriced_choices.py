"""Test that a price which does not depend on a choice of hardware ranks no options of this choice."""

from __future__ import annotations

import json
import re
import time
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import assay as assay_package
from assay.analysis.cost.bills import bills
from assay.estimation.recommendation.candidates import candidates, parts_of
from assay.estimation.simulator.pool import SimulatorPool
from assay.execution.planning.plan_files.hardware_file import load_catalogue
from assay.foundation.errors import SpecificationError
from assay.interfaces.cli.main import assay
from assay.questions.json_values import json_value
from assay.questions.recommendation.clusters.unpriced_choices import CostObstacle, cost_obstacle
from assay.questions.recommendation.request import Objective
from assay.questions.recommendation.sentences import cluster_sentences, headline, lead, sentences, summary
from assay.specs.prices import load_prices, prices_of
from assay.store import Repository
from paths import EXAMPLES
from recommendation_support import answer
from simulator_support import measured_repository, needs_simulator, whatif_answers
from web_support import client_of

HARDWARE, LAB_PRICES = EXAMPLES / "hardware" / "catalogue.yaml", EXAMPLES / "lab" / "prices.yaml"
TYPES, MEMORY = "nodes of the types small-server and large-server", "64 GB, 128 GB and 256 GB of memory per worker"
NETWORKS, HARD_DISKS = "networks of 10 Gbit/s and 25 Gbit/s", "2, 4, 8 and 12 hard disks per worker"


def obstacle_of(catalogue: str, prices: str) -> CostObstacle | None:
    clusters = candidates(load_catalogue(EXAMPLES / catalogue / "catalogue.yaml"))
    book, parts = load_prices(EXAMPLES / prices / "prices.yaml"), parts_of(clusters)
    return cost_obstacle(book, clusters, parts, bills(book, parts).priced)


@pytest.mark.parametrize("catalogue", ["hardware", "bsc-2015", "sandisk-2014", "instances", "log-machines"])
def test_the_prices_of_each_example_catalogue_rank_its_clusters(catalogue: str) -> None:
    assert obstacle_of(catalogue, catalogue) is None


@pytest.mark.parametrize(
    ("catalogue", "prices", "choices"),
    [
        ("hardware", "lab", [TYPES, MEMORY, NETWORKS, HARD_DISKS]),
        ("hardware", "lisa14", [TYPES, MEMORY, NETWORKS]),
        ("hardware", "sandisk-2014", ["64 GB and 128 GB of memory per worker", NETWORKS, "4 to 40 workers"]),
        (
            "hardware",
            "log-machines",
            [TYPES, MEMORY, NETWORKS, "0, 1 and 2 NVMe drives per worker", "0, 2, 4, 8 and 12 hard disks per worker"],
        ),
        (
            "bsc-2015",
            "lab",
            ["networks of Ethernet (1 Gbit/s) and InfiniBand (56 Gbit/s)", "0 and 5 hard disks per worker"],
        ),
        ("instances", "log-machines", ["nodes of the types m6id-2xlarge, i4i-2xlarge and d3-2xlarge"]),
        ("sandisk-2014", "log-machines", ["0 and 2 SSDs per worker"]),
        ("sandisk-2014", "lab", []),
        ("sandisk-2014", "lisa14", []),
    ],
)
def test_a_book_of_other_hardware_names_the_choices_that_it_does_not_price(
    catalogue: str, prices: str, choices: list[str]
) -> None:
    obstacle = obstacle_of(catalogue, prices)
    assert (obstacle is None) == (not choices)
    if obstacle is not None:
        assert obstacle.sentence.partition("it has one price for ")[2].split("; ") == choices
        assert len(obstacle.items) == len(choices)


def test_a_price_of_a_cluster_of_another_size_is_refused() -> None:
    obstacle = obstacle_of("log-machines", "sandisk-2014")
    assert obstacle is not None
    assert "prices a whole cluster with 6 workers (All-HDD configuration), not one with 3 workers" in obstacle.sentence


def test_the_named_items_complete_the_book() -> None:
    obstacle = obstacle_of("hardware", "lab")
    assert obstacle is not None
    added = "\n".join(f"  {item}" for item in obstacle.items).replace("$…", "$100")
    book = prices_of(f"{LAB_PRICES.read_text()}{added}\n", "prices.yaml")
    [item] = [item for item in book.items if item.name == "hard disk"]
    assert item.device == "hdd"
    explicit = [
        *('  - {name: small, price: "$1", per: node, node_type: small-server}',),
        *(
            f"  - {{name: m{memory}, price: $0, per: worker, when: {{memory: [{memory}GB]}}}}"
            for memory in (64, 128, 256)
        ),
        "  - {name: 10G, price: $0, per: port, when: {network: [10G]}}",
    ]
    complete = prices_of(
        "\n".join([LAB_PRICES.read_text(), added, *explicit]).replace("256GB, price", "256, price"), "prices.yaml"
    )
    clusters = candidates(load_catalogue(HARDWARE))
    parts = parts_of(clusters)
    assert cost_obstacle(complete, clusters, parts, bills(complete, parts).priced) is None


def run(*words: object) -> Result:
    return CliRunner().invoke(assay, [*map(str, words)])


@needs_simulator
def test_recommend_and_size_refuse_in_words() -> None:
    hardware = ("--catalogue", HARDWARE, "--prices", LAB_PRICES, "--simulations", 12)
    for words in (
        ("recommend",),
        ("size", EXAMPLES / "logs" / "terasort"),
        ("recommend", "--minimize", "time", "--budget", "100k"),
    ):
        refused = run(*words, *hardware)
        assert isinstance(refused.exception, SpecificationError), refused.output
        hint = refused.exception.hint or ""
        assert f"can't rank these clusters by cost: it has one price for {TYPES}; {MEMORY}" in refused.exception.message
        assert "--minimize time" in hint
        assert "node_type: large-server}" in hint


@needs_simulator
def test_times_alone_are_ranked_without_any_amount() -> None:
    with SimulatorPool() as pool:
        ranked = answer(pool, load_prices(LAB_PRICES), minimize=Objective.TIME, simulations=6)
    texts = [summary(ranked), *lead(ranked), *headline(ranked), *cluster_sentences(ranked), *sentences(ranked)]
    assert texts[1].startswith("Times alone are ranked: price book 'sandisk-2014-parts' can't rank these clusters by")
    assert texts[1].endswith("it has one price for 0, 2 and 4 hard disks per worker.")
    assert not any("$" in text or "nan" in text for text in texts)
    value = json_value(ranked)
    assert value["chosen"]["bill"] is None
    assert value["chosen"]["parts"]["per_worker"] is None
    assert (value["front"], value["cheapest"]) == ([], None)


@needs_simulator
def test_the_page_the_api_and_python_refuse_with_the_same_words(tmp_path: Path) -> None:
    root = Repository.create(tmp_path / "r").root
    obstacle = obstacle_of("hardware", "lab")
    assert obstacle is not None
    with pytest.raises(SpecificationError, match=re.escape(obstacle.sentence)):
        assay_package.open(root).recommend("terasort:1TB", catalogue=HARDWARE, prices=LAB_PRICES)
    form = {"catalogue": "hardware", "prices_text": LAB_PRICES.read_text()}
    with client_of(root) as client:
        same = {"origin": "http://localhost", "sec-fetch-site": "same-origin"}
        key = client.post("/api/v1/recommend", json=form, headers=same).json()["key"]
        state: dict[str, Any] = {"over": False}
        until = time.monotonic() + 60
        while not state["over"] and time.monotonic() < until:
            time.sleep(0.1)
            state = client.get(f"/api/v1/recommend/{key}").json()
        assert obstacle.sentence in json.dumps(state["problem"])
        page = unescape(client.get("/recommend", params={"key": key}).text)
        assert obstacle.sentence[1:] in page, "a page begins an error with a capital"
        assert "node_type: large-server}" in page


@needs_simulator
def test_a_what_if_question_has_no_cost_for_more_disks_at_a_price_of_zero(tmp_path: Path) -> None:
    root = measured_repository(tmp_path / "r").root
    changes = ("--where", "workload=terasort", "--where", "layout=HD2", "--prices", str(LAB_PRICES), "--set")
    for options in (("worker.devices.hdd.count=12", "--set", "layout=HD12"), ("worker.devices.hdd.count=12",)):
        [effect] = whatif_answers(root, *changes, *options)
        assert effect["cost_before"] > 0
        assert effect["cost_after"] is None
        assert [part["name"] for part in effect["missing_prices"]] == ["hdd device"]
        assert effect["missing_prices"][0]["count"] == 30
        [answer] = whatif_answers(root, *changes, *options, "--price", "hdd device=250")
        assert answer["per_h_after"] > answer["per_h_before"]
    [swapped] = whatif_answers(root, *changes, "layout=SS2")
    assert swapped["per_h_after"] > swapped["per_h_before"], "the book prices SSDs instead of hard disks"
