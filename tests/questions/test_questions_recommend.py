"""Recommendations: nothing dominated on the front, cheaper is never dearer, limits are held, bad input in words."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis.cost.bills import Parts, bills
from assay.analysis.cost.parts import Counts
from assay.analysis.cost.rate import hourly_rate
from assay.estimation.recommendation.candidates import candidates
from assay.estimation.recommendation.time_bounds import fits, powers
from assay.estimation.simulator.pool import SimulatorPool
from assay.execution.planning.plan_files.hardware_file import catalogue_of, load_catalogue
from assay.foundation.errors import AssayError, SpecificationError
from assay.interfaces.cli.main import assay
from assay.model.clusters.price import Amortisation, LineItem, PriceBook
from assay.questions.costs.mix import parse_mix
from assay.questions.forecasts.learning import shipped_profile
from assay.questions.recommendation.recommend import Recommendation, recommend
from assay.questions.recommendation.request import Objective, RecommendRequest
from assay.questions.recommendation.sentences import OBJECTIVES, headline, shares_of
from assay.questions.recommendation.value_of_information import (
    draw_inputs,
    losses,
    model_errors,
    value_of_information,
    value_of_perfect_information,
)
from assay.specs.prices import load_prices
from assay.text import NOTHING, probability
from benchmark_support import benchmark
from effort import examples
from paths import EXAMPLES
from simulator_support import needs_simulator

CATALOGUE = """\
catalogue: small
source: a test
parameters: {dfs.replication: 2}
workers:
  node:
    count: [3, 5]
    cores: 8
    cpu: {speed: 3, low: 2, high: 4}
    memory: 32GB
    networks: {10G: 10Gbit/s}
    devices:
      hdd: {kind: hdd, count: [0, 2, 4], read: 150MB/s, write: 150MB/s, iops: 120, capacity: 1TB}
      ssd: {kind: ssd, count: [0, 1], read: 500MB/s, write: 450MB/s, capacity: 1TB}
"""
PRICES = """\
prices: small
currency: USD
date: 2026-01-01
source: a test
amortisation: {years: 3}
items:
  - {name: node, price: "$4,000", per: node, low: "$3,500", high: "$5,000"}
  - {name: hdd, price: $200, per: device, device: hdd}
  - {name: ssd, price: $SSD, per: device, device: ssd}
"""
MIX = ("terasort:4GB:4/day", "wordcount:2GB:daily")


@pytest.fixture(scope="module")
def pool() -> Iterator[SimulatorPool]:
    with SimulatorPool(2) as found:
        yield found


def book(folder: Path, ssd: int = 400) -> PriceBook:
    (folder / "prices.yaml").write_text(PRICES.replace("$SSD", f"${ssd}"))
    return load_prices(folder / "prices.yaml")


def test_a_budget_without_currency_is_in_the_price_books(tmp_path: Path) -> None:
    prices = book(tmp_path)
    plain, dollars = (RecommendRequest(MIX, budget=text).constraints(prices) for text in ("100k", "$100,000"))
    assert plain.budget == dollars.budget == 100_000


def answer(pool: SimulatorPool, prices: PriceBook, text: str = CATALOGUE, **asked: Any) -> Recommendation:
    return recommend(RecommendRequest(MIX, **asked), catalogue_of(text), prices, shipped_profile(), pool)


@needs_simulator
def test_an_answer_has_a_front_of_what_nothing_dominates_and_says_how_sure_it_is(
    pool: SimulatorPool, tmp_path: Path
) -> None:
    found = answer(pool, book(tmp_path), deadline="10min")
    assert found.origin == "simulated"
    assert found.objective is Objective.PRICE
    assert found.chosen is not None
    assert found.stages[0].left == len(candidates(catalogue_of(CATALOGUE))) == 14
    for one in (each for each in found.front if each.on_pareto_front):
        beaten = [
            other
            for other in found.finalists
            if other.cost <= one.cost
            and other.day_s <= one.day_s
            and (other.cost, other.day_s) != (one.cost, one.day_s)
        ]
        assert beaten == []
    assert sum(one.best_probability for one in found.finalists) == pytest.approx(1, abs=0.02)
    for one in found.finalists:
        assert one.day_low_s < one.day_s < one.day_high_s
        assert one.bill_low < one.bill < one.bill_high
        assert all(time.low_s < time.time_s < time.high_s for time in one.times)
    sure = [one for one in found.finalists if one.keeps_probability >= found.confidence]
    assert found.chosen in sure
    assert {change.kind for change in found.changes} >= {"growth", "codec"}
    assert found.assumptions
    assert 0 <= sum(item.value for item in found.uncertainties[:1]) <= found.value_of_perfect_information


@needs_simulator
def test_the_same_seed_gives_the_same_answer(pool: SimulatorPool, tmp_path: Path) -> None:
    assert answer(pool, book(tmp_path)) == answer(pool, book(tmp_path))


@needs_simulator
def test_a_cheaper_identical_option_never_raises_the_cost(pool: SimulatorPool, tmp_path: Path) -> None:
    asked = {"deadline": "10min"}
    dear, cheap = (answer(pool, book(tmp_path, ssd), **asked) for ssd in (400, 100))
    assert dear.chosen is not None
    assert cheap.chosen is not None
    assert cheap.chosen.bill <= dear.chosen.bill
    by_label = {one.label: one.bill for one in dear.finalists}
    assert all(one.bill <= by_label.get(one.label, one.bill) for one in cheap.finalists)


@needs_simulator
def test_limits_are_held_and_what_can_not_be_says_why(pool: SimulatorPool, tmp_path: Path) -> None:
    prices = book(tmp_path)
    budget = answer(pool, prices, budget="24000USD", minimize=Objective.TIME)
    assert budget.chosen is not None
    assert budget.chosen.bill <= 24_000
    assert budget.chosen.keeps_probability >= budget.confidence
    room = answer(pool, prices, capacity="6TB")
    assert room.chosen is not None
    assert room.chosen.levels["workers"] == "5"
    for impossible, words in (
        ({"budget": "100USD"}, "budget"),
        ({"capacity": "500TB"}, "hold"),
        ({"deadline": "5s"}, "time"),
    ):
        none = answer(pool, prices, **impossible)
        assert none.chosen is None
        assert words in none.why_none


@needs_simulator
def test_sandisk_and_bsc_are_answered_as_their_papers_do(tmp_path: Path) -> None:
    del tmp_path
    sandisk = _asked(
        *("--workload", "dfsioe-write:1000GiB:daily:files=512", "--workload", "dfsioe-read:1000GiB:daily:files=512"),
        *("--catalogue", str(EXAMPLES / "sandisk-2014" / "catalogue.yaml")),
        *("--prices", str(EXAMPLES / "sandisk-2014" / "prices.yaml")),
    )
    chosen = sandisk["chosen"]
    assert (chosen["levels"]["layout"], chosen["bill"]) == ("All-SSD", pytest.approx(46_567))
    assert sandisk["runner_up"]["bill"] == pytest.approx(37_561)
    bsc = _asked(
        *("--workload", "terasort:100GB:daily:maps=96,waves=1"),
        *("--catalogue", str(EXAMPLES / "bsc-2015" / "catalogue.yaml")),
        *("--prices", str(EXAMPLES / "bsc-2015" / "prices.yaml")),
    )
    assert (bsc["chosen"]["levels"]["layout"], bsc["chosen"]["levels"]["network"]) == ("SS2", "IB")


def _invoked(*arguments: str) -> Result:
    return CliRunner().invoke(assay, ["recommend", *arguments, "--json"])


def _asked(*arguments: str) -> dict[str, Any]:
    found = _invoked(*arguments)
    assert found.exit_code == 0, (found.output, found.exception)
    told: dict[str, Any] = json.loads(found.output)
    return told


@pytest.mark.parametrize(
    ("workload", "more", "words"),
    [
        ("terasort", (), "not a workload with its size"),
        ("terasrot:1TB", (), "did you mean 'terasort'"),
        ("terasort:1TB:often", (), "not how often"),
        ("terasort:1TB:daily:mops=3", (), "option of terasort"),
        ("terasort:1TB", ("--budget", "much"), "not a price"),
        ("terasort:1TB", ("--budget", "10EUR"), "no exchange rate"),
        ("terasort:1TB", ("--deadline", "soon"), "not a duration"),
        ("sql-join:1TB", (), "has no workload"),
    ],
)
def test_what_can_not_be_asked_is_said_in_words(workload: str, more: tuple[str, ...], words: str) -> None:
    folder = EXAMPLES / "sandisk-2014"
    files = ("--catalogue", str(folder / "catalogue.yaml"), "--prices", str(folder / "prices.yaml"))
    found = _invoked("--workload", workload, *files, *more)
    assert isinstance(found.exception, AssayError), found.output
    assert words in str(found.exception)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/catalogue.yaml")), ids=lambda path: path.parent.name)
def test_every_catalogue_has_clusters_and_its_price_book_prices_them(path: Path) -> None:
    from assay.questions.recommendation.search import parts_of

    found = candidates(load_catalogue(path))
    priced = bills(load_prices(path.parent / "prices.yaml"), parts_of(found))
    assert len(found) > 1
    assert priced.priced.all()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("count: [3, 5]", "count: 9-4", "counts down"),
        ("count: [3, 5]", "count: none", "not a count"),
        ("count: [3, 5]", "count: 1-9999", "clusters"),
        ("memory: 32GB", "memory: much", "not a size"),
        ("networks: {10G: 10Gbit/s}", "networks: {10G: fast}", "link rate"),
        ("kind: hdd", "kind: tape", "unknown device kind"),
        ("cores: 8", "coers: 8", "did you mean 'cores'"),
        ("low: 2, high: 4", "low: 4, high: 5", "between low and high"),
        ("workers:", "compression: [lzw]\nworkers:", "not known"),
        ("iops: 120", "channels: 3", "not for kind hdd"),
    ],
)
def test_a_wrong_catalogue_is_told_with_its_line(old: str, new: str, words: str) -> None:
    text = CATALOGUE.replace(old, new, 1)
    if "9999" in new:
        text = text.replace("count: [0, 2, 4]", "count: 0-400")
    with pytest.raises(SpecificationError) as caught:
        catalogue_of(text)
    assert words in str(caught.value)
    assert (caught.value.where or "").startswith("catalogue.yaml:")


def test_a_layout_decides_which_disks_are_bought() -> None:
    found = candidates(catalogue_of(CATALOGUE))
    layouts = {machine.layout.name: machine.kinds for machine in found.machines}
    assert layouts["HS2"] == layouts["HY2"] == {"hdd": 2, "ssd": 1}
    assert layouts["SSD"] == {"ssd": 1}
    assert not set(layouts) & {"HS0", ""}
    [split] = [machine for machine in found.machines if machine.layout.name == "HS4"]
    assert {device.name for device in split.intermediate} == {"ssd1"}


@settings(max_examples=examples(40), deadline=None)
@given(workers=st.integers(1, 50), masters=st.integers(0, 3), disks=st.integers(1, 12))
def test_a_bill_in_any_number_of_workers_is_what_the_price_book_says(workers: int, masters: int, disks: int) -> None:
    prices = PriceBook(
        "b",
        "USD",
        "2026-01-01",
        "test",
        (
            LineItem("node", Decimal(100), "node"),
            LineItem("switch", Decimal(7), "cluster", covers=("network",)),
            LineItem("disk", Decimal(3), "device", "hdd"),
            LineItem("port", Decimal(2), "port-hour"),
        ),
        amortisation=Amortisation(Decimal(3)),
    )

    def counts(number: int) -> Counts:
        return Counts(
            masters + number, masters, number, {"hdd": disks}, node_types={"master": masters, "worker": number}
        )

    found = bills(prices, [Parts("HD", counts(1))]).of(np.array([0]), np.array([workers]))
    assert found.rates_per_h[0] == pytest.approx(float(hourly_rate(prices, counts(workers), "HD").per_h))


def test_room_counts_hdfs_and_intermediate_data_where_they_share_disks() -> None:
    found = candidates(catalogue_of(CATALOGUE))
    own = powers(found)
    hd2 = next(row for row in range(len(found)) if found.label(row) == "3 workers, HD2")
    assert own.hdfs_bytes[hd2] == 6e12
    assert fits(own, 5e12, 1e12, 1.0)[hd2]
    assert not fits(own, 5e12, 2e12, 1.0)[hd2]


def test_knowing_what_drives_the_choice_is_worth_something_and_what_does_not_nothing() -> None:
    generator = np.random.default_rng(1)
    drives, idle = generator.standard_normal((2, 4000))
    loss = np.stack([10 + drives, 10 - drives], axis=1)
    every = value_of_perfect_information(loss, 0)
    assert value_of_information(drives, loss, 0, 1) == pytest.approx(every, rel=0.1)
    assert value_of_information(idle, loss, 0, 1) < 0.03 * every


def test_who_misses_a_limit_buys_again() -> None:
    objective = np.array([[1.0, 3.0], [1.0, 3.0], [1.0, 3.0]])
    kept = np.array([[True, True], [False, True], [False, False]])
    assert losses(objective, kept).tolist() == [[1, 3], [4, 3], [4, 6]]


def test_what_all_finalists_share_is_drawn_once() -> None:
    shares = [[{"hdd": 1.0}], [{"hdd": 1.0}], [{"flash": 1.0}]]
    prices = bills(
        PriceBook("b", "USD", "2026-01-01", "t", (LineItem("all", Decimal(1), "cluster-hour"),)),
        [Parts("HD1", Counts(2, 1, 1, {"hdd": 1}))] * 3,
    ).of(np.arange(3), np.ones(3, dtype=np.int64))
    found = draw_inputs(np.ones((3, 1)), model_errors(shares), prices, seed=1)
    logs = np.log(found.times_s[:, :, 0])
    correlated = np.corrcoef(logs.T)
    assert correlated[0, 1] > 0.9
    assert abs(correlated[0, 2]) < 0.1


@needs_simulator
def test_a_pool_answers_in_order_tells_what_is_wrong_and_leaves_nobody_behind() -> None:
    scenario: dict[str, Any] = {"cluster": {}, "jobs": []}
    with SimulatorPool(2) as own:
        found = own.simulate_each([{**scenario, "id": str(number)} for number in range(5)])
        processes = [one._process for one in own._every]
        assert all(isinstance(one, SpecificationError) for one in found)
        assert 1 <= len(processes) <= 2
        processes[0].kill()
        processes[0].wait()
        assert len(own.simulate_each([scenario])) == 1
    for process in processes:
        assert isinstance(process, subprocess.Popen)
        assert process.poll() is not None


@needs_simulator
def test_the_benchmark_of_recommendations_holds_an_answer_against_a_world(pool: SimulatorPool) -> None:
    module = benchmark("recommend_errors")
    question, prices = module.drawn_question(np.random.default_rng(1))
    catalogue = catalogue_of(module.CATALOGUE)
    found = recommend(question, catalogue, prices, shipped_profile(), pool)
    assert found.chosen is not None
    every = candidates(catalogue)
    constraints = question.constraints(prices)
    search = module.start_search(
        every,
        parse_mix(question.workloads),
        constraints,
        prices,
        shipped_profile(),
        pool,
        question.objective(constraints),
    )
    asked = module.Asked(question, found, search)
    [world] = module.worlds(asked, pool, 1, np.random.default_rng(2))
    assert world.times_s.shape == (len(search.rows), 2)
    levels = [search.candidates.levels(int(row)) for row in search.rows]
    own = levels.index(dict(found.chosen.levels))
    day_s = np.full(len(levels), 1e3)
    day_s[own] = found.chosen.day_s
    as_said = module.World(np.repeat(day_s[:, None] / search.per_day.sum(), 2, 1), day_s, np.ones(len(levels)))
    right = module.judged(asked, found.chosen, as_said)
    assert (right.best, right.kept, right.regret, right.holds_time) == (True, True, 0.0, True)
    turned = module.World(as_said.times_s[::-1] * 20, as_said.bills[::-1], as_said.rates_per_h)
    wrong = module.judged(asked, found.chosen, turned)
    assert not wrong.holds_time


def test_extrapolation_comes_first_and_withholds_shares(pool: SimulatorPool, tmp_path: Path) -> None:
    found = answer(pool, book(tmp_path))
    assert found.chosen is not None
    assert found.runner_up is not None
    assert all(one.keeps_probability >= found.confidence for one in found.front), (
        "a candidate that breaks a limit is listed"
    )
    near, far = replace(found, extrapolation=1.0), replace(found, extrapolation=94.0)
    lines = list(headline(near))
    assert not any("xtrapolated" in line for line in lines)
    share = probability(found.chosen.hardware_probability)
    assert any(f"in {share} of" in line for line in lines)
    assert shares_of(found.chosen, near)[1] == share, "one candidate has one share of draws in which it is the best"
    first, second, *rest = headline(far)
    assert first.startswith("Extrapolated: up to 94 times the data per worker")
    assert second == (
        f"Too close to call between {found.chosen.label} and {found.runner_up.label}; "
        "another candidate can be better than both."
    )
    assert not any(share in line and "draws" in line for line in rest)
    assert shares_of(found.chosen, far) == (NOTHING, NOTHING, NOTHING)
    unsure = replace(
        near,
        chosen=replace(found.chosen, hardware_probability=0.5),
        runner_up=replace(found.runner_up, hardware_probability=0.24),
    )
    text = next(headline(unsure))
    assert text.startswith("Too close to call between")
    assert text.endswith(f"one of them has {OBJECTIVES[unsure.objective]} in 74% of simulated draws.")


def test_old_names_of_options_are_accepted_and_not_shown() -> None:
    shown = CliRunner().invoke(assay, ["recommend", "--help"]).output
    assert "--minimize" in shown
    assert "--confidence" in shown
    assert "--least" not in shown
    assert "--surely" not in shown
    folder = EXAMPLES / "sandisk-2014"
    files = ("--catalogue", str(folder / "catalogue.yaml"), "--prices", str(folder / "prices.yaml"))
    refused = _invoked("--workload", "sql-join:1TB", *files, "--least", "time", "--surely", "0.8")
    assert "has no workload" in str(refused.exception), "the old names are read, and the workload is refused"
