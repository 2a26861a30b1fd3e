"""Test what-if questions with several changes: the effect of each alone, and the cost of the changed cluster."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path

import pytest

import assay
from assay.foundation.errors import SpecificationError
from assay.questions.costs.extra_costs import ONCE_A_DAY
from assay.questions.costs.job_cost import LAB_NOTE
from assay.questions.forecasts.whatif.whatif_costs import stated_prices
from assay.specs.prices import load_prices
from assay.text import money
from paths import EXAMPLES
from simulator_support import EXAMPLE, command_result, measured_repository, needs_simulator, whatif_answers
from web_support import client_of

SANDISK = EXAMPLES / "sandisk-2014"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured_repository(tmp_path_factory.mktemp("whatif") / "r").root


@needs_simulator
def test_several_changes_have_the_effect_of_each_change_alone(measured: Path) -> None:
    options = ("--where", "workload=terasort", "--repository", str(measured))
    both = command_result("whatif", "--set", "nic=25Gbit/s", "--set", "workers.count=12", "--json", *options)
    effects = json.loads(both.output)["effects"]
    assert [effect["title"] for effect in effects] == [
        "25 Gbit/s per node alone",
        "12 workers alone",
        "All changes together",
    ]
    for effect in effects:
        changes = [part for name, value in effect["changes"].items() for part in ("--set", f"{name}={value}")]
        answers = whatif_answers(measured, "--where", "workload=terasort", *changes)
        for key in ("ratio", "ratio_low", "ratio_high"):
            mean = math.exp(sum(math.log(answer[key]) for answer in answers) / len(answers))
            assert effect[key] == pytest.approx(mean)
        assert effect["shown"] == sum(not answer["ratio_low"] <= 1 <= answer["ratio_high"] for answer in answers)
    text = command_result("whatif", "--set", "nic=25Gbit/s", "--set", "workers.count=12", *options).output
    assert f"{effects[1]['ratio']:.2f}× ({effects[1]['ratio_low']:.2f} to {effects[1]['ratio_high']:.2f})" in text


@needs_simulator
def test_a_link_that_is_slower_for_some_measured_runs_is_averaged_over_the_others(tmp_path: Path) -> None:
    """BSC's runs used Ethernet and 56 Gbit/s InfiniBand: 25 Gbit/s is faster than one of them."""
    bsc, repository = EXAMPLES / "bsc-2015", str(tmp_path / "r")
    assert command_result("import", str(bsc / "measured" / "runs.csv"), "--repository", repository).exit_code == 0
    cluster = ("--cluster", str(bsc / "lab-cluster.yaml"), "--repository", repository)
    asked = ("whatif", "--set", "nic=25Gbit/s", *cluster)
    answers = json.loads(command_result(*asked, "--json").output)["configurations"]
    by_network: dict[str, list[float]] = {}
    for answer in answers:
        by_network.setdefault(answer["levels"]["network"], []).append(math.log(answer["ratio"]))
    means = {network: math.exp(sum(logs) / len(logs)) for network, logs in by_network.items()}
    assert {network: len(logs) for network, logs in by_network.items()} == {"ETH": 4, "IB": 4}
    headline, slower, *_ = command_result(*asked).output.splitlines()
    assert headline.startswith(f"With 25 Gbit/s per node, runs are {means['ETH']:.2f}× as fast on average")
    assert slower.startswith("- The link is slower than measured (56 Gbit/s) for 4 of 8 configurations.")
    assert f"They are {means['IB']:.2f}× as fast on average" in slower
    assert slower.endswith("not included above.")
    assert means["ETH"] > means["IB"]


@needs_simulator
def test_a_change_that_needs_another_one_is_not_possible_alone(measured: Path) -> None:
    changes = ("--set", "worker.devices.ssd.count=3", "--set", "layout=SS3")
    result = command_result("whatif", *changes, "--json", "--repository", str(measured), "--where", "layout=SS2")
    assert result.exit_code == 0, result.output
    effects = json.loads(result.output)["effects"]
    assert [effect["ratio"] is None for effect in effects] == [False, True, False]
    assert effects[1]["refusal"]


@needs_simulator
def test_the_answer_names_missing_prices_and_stated_ones_price_the_changed_cluster(measured: Path) -> None:
    """The book prices six workers: twelve are six more, and the three measured ones are three fewer."""
    options = ("--where", "layout=HD2", "--where", "workload=terasort", "--prices", str(SANDISK / "prices.yaml"))
    changes = ("--set", "workers.count=12", "--set", "nic=25Gbit/s")
    [missing] = whatif_answers(measured, *options, *changes)
    assert {part["name"]: part["count"] for part in missing["missing_prices"]} == {"network per node": 13, "worker": 6}
    text = command_result("whatif", *options, *changes, "--repository", str(measured)).output
    parts = (
        "network per node (13 nodes, 12 of them workers; in addition to the 10 Gbit/s that the price book includes) "
        "and worker (the price book prices 6 workers, the changed cluster has 12)"
    )
    assert f"The price book lacks the purchase price of each {parts}." in text
    assert "25 Gbit/s port and switch $350 more than 10 Gbit/s port and switch" in text
    [step] = [line for line in text.splitlines() if "AMOUNT" in line]
    words = shlex.split(step.removeprefix("  next: assay ").replace("AMOUNT", "500"))
    assert command_result(*words).exit_code == 0
    price_options = ("--price", "worker=6000", "--price", "network per node=400")
    [priced] = whatif_answers(measured, *options, *changes, *price_options)
    added_per_h = (9 * 6000 + 13 * 400) / 3 / 8760  # bought for three years, as the book's items
    assert priced["per_h_after"] == pytest.approx(priced["per_h_before"] + added_per_h, abs=1e-5)
    assert priced["cost_after"] == pytest.approx(priced["per_h_after"] * priced["simulated_s"] / 3600, rel=1e-3)
    assert priced["cost_low"] < priced["cost_after"] < priced["cost_high"]
    text = command_result("whatif", *options, *changes, *price_options, "--repository", str(measured)).output
    assert priced["per_h_before"] == pytest.approx((37561 - 3 * 6000) / 3 / 8760, abs=1e-5)
    assert "per hour instead of $0.74" in text
    cost = priced["cost"]
    assert cost["ratio"] == pytest.approx(priced["cost_after"] / priced["cost_before"])
    assert cost["low"] == pytest.approx(priced["cost_low"] / priced["cost_before"])
    assert cost["verdict"] in text
    years = money(priced["per_h_after"] * 3 * 8760, "USD")
    assert f"{years} over 3 years instead of $19,561" in text
    assert LAB_NOTE in text
    assert f"{cost['ratio']:.2f}× ({cost['low']:.2f} to {cost['high']:.2f})" in text, "the table of changes has it"
    unknown = command_result("whatif", *options, *changes, "--price", "switch=1", "--repository", str(measured))
    assert "has no price 'switch'" in str(unknown.exception or unknown.output)
    assert "network per node" in str(getattr(unknown.exception, "hint", unknown.output))


@pytest.fixture
def rented(tmp_path: Path) -> Path:
    """Return a price book of a rented cluster of eight workers at $4 per hour; an SSD in all of them costs $1 more."""
    book = tmp_path / "rent.yaml"
    items = (
        "  - {name: cluster, price: $4, per: cluster-hour, covers: [nodes, network], workers: 8}\n"
        "  - {name: hard disks, price: $0, per: device, device: hdd}\n"
        "  - {name: SSD in every worker, price: $1, per: device-set-hour, device: ssd}\n"
    )
    book.write_text(f"prices: rent\ncurrency: USD\ndate: 2026-01-01\nsource: test\nitems:\n{items}")
    return book


@needs_simulator
def test_a_worker_of_a_rented_cluster_has_a_price_per_hour_and_a_price_that_is_too_high_is_refused_in_words(
    measured: Path, rented: Path
) -> None:
    options = ("--where", "layout=HD2", "--where", "workload=terasort", "--prices", str(rented), "--set")
    text = command_result("whatif", *options, "workers.count=12", "--repository", str(measured)).output
    part = "each worker (the price book prices 8 workers, the changed cluster has 12)"
    assert f"The price book lacks the price per hour of {part}." in text
    assert "  next: assay whatif --price worker=AMOUNT --set workers.count=12 " in text
    assert "Example prices per hour, written off over 3 years, made up: small server $0.17" in text
    changes = (*options, "workers.count=12", "--price")
    result = command_result("whatif", *changes, "worker=4500", "--repository", str(measured))
    assert result.exit_code == 0, result.output
    assert (
        "The cost of the changed cluster is not known. The price per hour of each worker can't be $4,500: the price "
        "book prices 8 workers, the measured cluster has 3, and the cluster of the price book costs $4.00 per hour. "
        "State less than $0.80."
    ) in result.output
    [priced] = whatif_answers(measured, *changes, "worker=0.25")
    assert priced["per_h_before"] == pytest.approx(4 - 5 * 0.25)
    assert priced["per_h_after"] == pytest.approx(4 + 4 * 0.25)


@needs_simulator
def test_an_unchanged_number_of_workers_needs_no_price_of_a_worker(measured: Path, rented: Path) -> None:
    options = ("--where", "layout=HD2", "--where", "workload=terasort", "--prices", str(rented), "--set", "layout=SS2")
    [priced] = whatif_answers(measured, *options)
    assert (priced["per_h_before"], priced["per_h_after"]) == (pytest.approx(4), pytest.approx(6))
    assert priced["missing_prices"] == []
    text = command_result("whatif", *options, "--repository", str(measured)).output
    assert (
        "Both costs are of the price book's number of workers: the price book prices 8 workers, the measured cluster "
        "has 3."
    ) in text
    [answer] = whatif_answers(measured, *options, "--price", "worker=0.25")
    assert answer["per_h_before"] == pytest.approx(4 - 5 * 0.25)


@needs_simulator
def test_a_free_cluster_has_no_cost_ratio(measured: Path, tmp_path: Path) -> None:
    book = tmp_path / "free.yaml"
    items = "  - {name: all, price: $0, per: worker-hour, covers: [nodes, network, devices]}\n"
    book.write_text(f"prices: free\ncurrency: USD\ndate: 2026-01-01\nsource: test\nitems:\n{items}")
    options = ("--where", "layout=HD2", "--where", "workload=terasort", "--prices", str(book), "--set", "layout=SS2")
    [answer] = whatif_answers(measured, *options)
    assert (answer["cost_before"], answer["cost"]) == (0, None)


@needs_simulator
def test_extra_costs_are_lines_of_the_cost_of_a_day_before_and_after_the_changes(
    measured: Path, tmp_path: Path
) -> None:
    book = tmp_path / "prices.yaml"
    book.write_text((EXAMPLE.parent / "prices.yaml").read_text() + "extras: {egress: {price: $0.09}}\n")
    options = ("--where", "layout=HD2", "--where", "workload=terasort", "--set", "layout=SS2")
    priced = (*options, "--prices", str(book))
    extra = ("--extra-costs", "egress=50GB,idle=3h")
    [alone], [with_extra] = whatif_answers(measured, *priced), whatif_answers(measured, *priced, *extra)
    assert alone["cost_lines_before"] == alone["cost_lines_after"] == []
    for side in ("before", "after"):
        lines = {line["name"]: line["per_day"] for line in with_extra[f"cost_lines_{side}"]}
        assert lines == {
            "the cluster during the work": pytest.approx(alone[f"cost_{side}"]),
            "idle time between jobs (3 h 00 min)": pytest.approx(3 * alone[f"per_h_{side}"]),
            "egress (50 GB)": pytest.approx(4.5),
        }
        assert with_extra[f"cost_{side}"] == pytest.approx(sum(lines.values()))
    for end in ("low", "high"):
        same = with_extra["cost_after"] - alone["cost_after"]
        assert with_extra[f"cost_{end}"] == pytest.approx(alone[f"cost_{end}"] + same)
        assert with_extra["cost"][end] == pytest.approx(with_extra[f"cost_{end}"] / with_extra["cost_before"])
    text = command_result("whatif", *priced, *extra, "--repository", str(measured)).output
    cells = [money(with_extra[f"cost_{side}"], "USD") for side in ("before", "after")]
    assert f"{cells[1]} instead of {cells[0]}, with the extra costs of a day." in text
    assert any(line.split()[-3:] == ["Sum", *cells] for line in text.splitlines())
    assert ONCE_A_DAY in text
    assert "With extra costs, the cost ratio also depends on the seconds of the lab." in text
    unpriced = command_result("whatif", *options, *extra, "--repository", str(measured))
    assert "--extra-costs needs --prices." in unpriced.output
    refused = command_result("whatif", *priced, "--extra-costs", "storage=1TB", "--repository", str(measured))
    assert "no price of storage" in str(refused.exception or refused.output)


@needs_simulator
@pytest.mark.parametrize(
    ("amount", "problem"),
    [
        ("AMOUNT", "'AMOUNT' is not a price in USD"),
        ("", "the amount is missing"),
        ("-350", "'-350' must not be negative"),
        ("-$350k", "'-$350k' must not be negative"),
        ("€350", "'€350' is not a price in USD"),
        ("nan", "'nan' is not a price in USD"),
    ],
)
def test_a_stated_price_that_is_no_amount_is_refused_with_an_example(measured: Path, amount: str, problem: str) -> None:
    """The terminal, the API and Python refuse it with the same words."""
    name, prices = "network per node", SANDISK / "prices.yaml"
    result = command_result(
        *("whatif", "--set", "nic=25Gbit/s", "--price", f"{name}={amount}", "--prices", str(prices)),
        *("--repository", str(measured)),
    )
    assert isinstance(result.exception, SpecificationError)
    message = f"price of {name}: {problem}\n  → write a number from 0 up in USD, such as 350 for the purchase"
    assert str(result.exception) == message
    assert result.exception.exit_code == 2
    with pytest.raises(SpecificationError) as caught:
        assay.open(measured).whatif("nic=25Gbit/s", prices=prices, stated={name: amount})
    assert str(caught.value) == message
    with client_of(measured, book=load_prices(prices)) as client:
        response = client.get("/api/v1/whatif", params={"set": "nic=25Gbit/s", "price": f"{name}={amount}"})
    assert response.status_code == 400
    body = response.json()
    assert "{where}: {message}\n  → {hint}".format(**body) == message


@pytest.mark.parametrize(("amount", "price"), [("$350", 350), ("1.2k", 1200), (" $1,200 ", 1200), ("0", 0)])
def test_a_stated_price_may_name_the_currency_of_the_book(amount: str, price: float) -> None:
    book = load_prices(SANDISK / "prices.yaml")
    assert stated_prices(book, {"network per node": amount}).parts == {"network per node": price}
