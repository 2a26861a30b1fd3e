"""Test recommendations: an undominated front, monotone cost, limits, and bad input."""

from __future__ import annotations

import json
import re
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
from assay.estimation.recommendation.time_bounds import cluster_resources, fits
from assay.estimation.simulator.pool import SimulatorPool
from assay.execution.planning.plan_files.hardware_file import catalogue_of, load_catalogue
from assay.foundation.errors import AssayError, SpecificationError
from assay.interfaces.cli.main import assay
from assay.model.clusters.price_book import Amortisation, LineItem, PriceBook
from assay.questions.commands import NO_OPTIONS
from assay.questions.forecasts.learning import shipped_profile
from assay.questions.recommendation.measured_types import TimeSources
from assay.questions.recommendation.next_run import next_commands
from assay.questions.recommendation.recommend import Recommendation, recommend
from assay.questions.recommendation.request import Objective, RecommendRequest
from assay.questions.recommendation.search import start_search
from assay.questions.recommendation.sensitivity import AnswerChange
from assay.questions.recommendation.sentences import (
    OBJECTIVES,
    choice_title,
    clusters_table,
    front_cells,
    front_title,
    headline,
    lead,
    summary,
)
from assay.questions.recommendation.value_of_information import (
    draw_inputs,
    losses,
    model_errors,
    value_of_information,
    value_of_perfect_information,
)
from assay.specs.prices import load_prices
from assay.text import money, price_text, probability, share
from benchmark_support import benchmark
from effort import examples
from paths import EXAMPLES
from recommendation_support import CATALOGUE, MIX, answer, book
from simulator_support import needs_simulator


@pytest.fixture(scope="module")
def pool() -> Iterator[SimulatorPool]:
    with SimulatorPool(2) as simulators:
        yield simulators


@pytest.fixture(scope="module")
def unlimited(pool: SimulatorPool, tmp_path_factory: pytest.TempPathFactory) -> Recommendation:
    """Return the answer without a limit."""
    return answer(pool, book(tmp_path_factory.mktemp("unlimited")))


@pytest.fixture(scope="module")
def in_time(pool: SimulatorPool, tmp_path_factory: pytest.TempPathFactory) -> Recommendation:
    """Return the answer with a deadline of 10 minutes."""
    return answer(pool, book(tmp_path_factory.mktemp("in-time")), deadline="10min")


@needs_simulator
def test_an_answer_has_a_pareto_front_and_its_confidence(in_time: Recommendation) -> None:
    result = in_time
    assert result.origin == "simulated"
    assert result.objective is Objective.PRICE
    assert result.chosen is not None
    assert result.stages[0].left == len(candidates(catalogue_of(CATALOGUE))) == 14
    for finalist in (option for option in result.front if option.on_pareto_front):
        beaten = [
            other
            for other in result.finalists
            if other.cost <= finalist.cost
            and other.day_s <= finalist.day_s
            and (other.cost, other.day_s) != (finalist.cost, finalist.day_s)
        ]
        assert beaten == []
    assert sum(finalist.best_probability for finalist in result.finalists) == pytest.approx(1, abs=0.02)
    for finalist in result.finalists:
        assert finalist.day_low_s < finalist.day_s < finalist.day_high_s
        assert finalist.bill_low < finalist.bill < finalist.bill_high
        assert all(time.low_s < time.time_s < time.high_s for time in finalist.times)
    sure = [finalist for finalist in result.finalists if finalist.keeps_probability >= result.confidence]
    assert result.chosen in sure
    assert {change.kind for change in result.changes} >= {"growth", "codec"}
    assert result.assumptions
    assert 0 <= sum(item.value for item in result.uncertainties[:1]) <= result.value_of_perfect_information


@needs_simulator
def test_the_same_seed_gives_the_same_answer(pool: SimulatorPool, unlimited: Recommendation, tmp_path: Path) -> None:
    assert answer(pool, book(tmp_path)) == unlimited


@needs_simulator
def test_a_cheaper_identical_option_never_raises_the_cost(
    pool: SimulatorPool, in_time: Recommendation, tmp_path: Path
) -> None:
    dear, cheap = in_time, answer(pool, book(tmp_path, ssd=100), deadline="10min")
    assert dear.chosen is not None
    assert cheap.chosen is not None
    assert cheap.chosen.bill <= dear.chosen.bill
    by_label = {finalist.label: finalist.bill for finalist in dear.finalists}
    assert all(finalist.bill <= by_label.get(finalist.label, finalist.bill) for finalist in cheap.finalists)


@needs_simulator
def test_limits_are_enforced_and_an_unenforceable_limit_has_the_reason(pool: SimulatorPool, tmp_path: Path) -> None:
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
        ({"capacity": "500TB"}, "1 SSD of 1 TB, 10 Gbit/s comes nearest and has 25 TB of the 1.33 PB that HDFS needs"),
        ({"capacity": "500TB"}, "Enter at most 2 % of the data"),
        ({"deadline": "5s"}, "time"),
        ({"deadline": "2s"}, "and waiting comes on top: allow more time, or add faster hardware to the catalogue"),
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
        *("--prices", str(EXAMPLES / "sandisk-2014" / "prices.yaml"), "--minimize", "job"),
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
    result = _invoked(*arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    answer: dict[str, Any] = json.loads(result.stdout)  # old prices are warned of on stderr
    return answer


@pytest.mark.parametrize(
    ("workload", "more", "words"),
    [
        ("terasort", (), "not a workload with its size"),
        ("terasrot:1TB", (), "did you mean 'terasort'"),
        ("terasort:1TB:often", (), "not a frequency"),
        ("terasort:1TB:daily:mops=3", (), "option of terasort"),
        ("terasort:1TB", ("--budget", "much"), "not a price"),
        ("terasort:1TB", ("--budget", "10EUR"), "no exchange rate"),
        ("terasort:1TB", ("--deadline", "soon"), "not a duration"),
        ("sql-join:1TB", (), "has no workload"),
    ],
)
def test_an_impossible_question_is_refused_with_the_reason(workload: str, more: tuple[str, ...], words: str) -> None:
    folder = EXAMPLES / "sandisk-2014"
    files = ("--catalogue", str(folder / "catalogue.yaml"), "--prices", str(folder / "prices.yaml"))
    result = _invoked("--workload", workload, *files, *more)
    assert isinstance(result.exception, AssayError), result.output
    assert words in str(result.exception)


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
        ("workers:", "compression: [lzw]\nworkers:", "lzw"),
        ("iops: 120", "channels: 3", "not for kind hdd"),
    ],
)
def test_an_invalid_catalogue_is_an_error_with_its_line(old: str, new: str, words: str) -> None:
    text = CATALOGUE.replace(old, new, 1)
    if "9999" in new:
        text = text.replace("count: [0, 2, 4]", "count: 0-400")
    with pytest.raises(SpecificationError) as caught:
        catalogue_of(text)
    assert words in str(caught.value)
    assert (caught.value.where or "").startswith("catalogue.yaml:")


@settings(max_examples=examples(40), deadline=None)
@given(workers=st.integers(1, 50), masters=st.integers(0, 3), disks=st.integers(1, 12))
def test_the_price_of_any_number_of_workers_follows_from_the_price_book(workers: int, masters: int, disks: int) -> None:
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

    bill = bills(prices, [Parts("HD", counts(1))]).of(np.array([0]), np.array([workers]))
    assert bill.rates_per_h[0] == pytest.approx(float(hourly_rate(prices, counts(workers), "HD").per_h))


def test_room_counts_hdfs_and_intermediate_data_where_they_share_disks() -> None:
    options = candidates(catalogue_of(CATALOGUE))
    resources = cluster_resources(options)
    hd2 = next(
        row
        for row in range(len(options))
        if options.label(row) == "3 × node (8 cores, 32 GB), 2 hard disks of 1 TB, 10 Gbit/s"
    )
    assert resources.hdfs_bytes[hd2] == 6e12
    assert fits(resources, 5e12, 1e12, 1.0)[hd2]
    assert not fits(resources, 5e12, 2e12, 1.0)[hd2]


def test_information_has_a_value_only_if_it_can_change_the_choice() -> None:
    generator = np.random.default_rng(1)
    drives, idle = generator.standard_normal((2, 4000))
    loss = np.stack([10 + drives, 10 - drives], axis=1)
    every = value_of_perfect_information(loss, 0)
    assert value_of_information(drives, loss, 0, 1) == pytest.approx(every, rel=0.1)
    assert value_of_information(idle, loss, 0, 1) < 0.03 * every


def test_a_setup_that_misses_its_limit_is_bought_again() -> None:
    objective = np.array([[1.0, 3.0], [1.0, 3.0], [1.0, 3.0]])
    kept = np.array([[True, True], [False, True], [False, False]])
    assert losses(objective, kept).tolist() == [[1, 3], [4, 3], [4, 6]]


def test_inputs_shared_by_all_finalists_are_drawn_once() -> None:
    shares = [[{"hdd": 1.0}], [{"hdd": 1.0}], [{"flash": 1.0}]]
    prices = bills(
        PriceBook("b", "USD", "2026-01-01", "t", (LineItem("all", Decimal(1), "cluster-hour"),)),
        [Parts("HD1", Counts(2, 1, 1, {"hdd": 1}))] * 3,
    ).of(np.arange(3), np.ones(3, dtype=np.int64))
    inputs = draw_inputs(np.ones((3, 1)), model_errors(shares), prices, seed=1)
    logs = np.log(inputs.times_s[:, :, 0])
    correlated = np.corrcoef(logs.T)
    assert correlated[0, 1] > 0.9
    assert abs(correlated[0, 2]) < 0.1


@needs_simulator
def test_a_pool_answers_in_order_reports_errors_and_leaves_no_process() -> None:
    scenario: dict[str, Any] = {"cluster": {}, "jobs": []}
    with SimulatorPool(2) as simulators:
        results = simulators.simulate_each([{**scenario, "id": str(number)} for number in range(5)])
        processes = [simulator._process for simulator in simulators._processes]
        assert all(isinstance(simulator, SpecificationError) for simulator in results)
        assert 1 <= len(processes) <= 2
        processes[0].kill()
        processes[0].wait()
        assert len(simulators.simulate_each([scenario])) == 1
    for process in processes:
        assert isinstance(process, subprocess.Popen)
        assert process.poll() is not None


@needs_simulator
def test_the_benchmark_of_recommendations_holds_an_answer_against_a_world(pool: SimulatorPool) -> None:
    module = benchmark("recommend_errors")
    question, prices = module.drawn_question(np.random.default_rng(1))
    catalogue = catalogue_of(module.CATALOGUE)
    result = recommend(question, catalogue, prices, TimeSources(shipped_profile()), pool)
    assert result.chosen is not None
    every = candidates(catalogue)
    search = module.start_search(question, every, prices, shipped_profile(), pool)
    asked = module.AnsweredQuestion(question, result, search)
    [world] = module.worlds(asked, pool, 1, np.random.default_rng(2))
    assert world.times_s.shape == (len(search.rows), 2)
    levels = [search.candidates.levels(int(row)) for row in search.rows]
    index = levels.index(dict(result.chosen.levels))
    day_s = np.full(len(levels), 1e3)
    day_s[index] = result.chosen.day_s
    as_estimated = module.World(np.repeat(day_s[:, None] / search.per_day.sum(), 2, 1), day_s, np.ones(len(levels)))
    right = module.score(asked, result.chosen, as_estimated)
    assert (right.best, right.kept, right.regret, right.holds_time) == (True, True, 0.0, True)
    turned = module.World(as_estimated.times_s[::-1] * 20, as_estimated.bills[::-1], as_estimated.rates_per_h)
    wrong = module.score(asked, result.chosen, turned)
    assert not wrong.holds_time


@needs_simulator
def test_a_search_without_a_budget_is_no_worse_than_with_one(pool: SimulatorPool) -> None:
    """Lower bounds favour dense workers with hard disks, and small ones with NVMe drives are a quarter of the cost."""
    catalogue = candidates(load_catalogue(EXAMPLES / "hardware" / "catalogue.yaml"))
    prices = load_prices(EXAMPLES / "hardware" / "prices.yaml")
    lowest = {}
    for budget in ("", "100k"):
        request = RecommendRequest(budget=budget, minimize=Objective.DAY_COST)
        search = start_search(request, catalogue, prices, shipped_profile(), pool)
        search.run(80)
        rows = search.store.rows()
        costs = search.objective_of(rows, search.store.times_s(rows) @ search.per_day)
        best = int(rows[np.argmin(costs)])
        lowest[budget] = float(costs.min())
        assert catalogue.levels(best)["worker"] == "small-server"
        assert "hdd" not in catalogue.levels(best)["devices"]
    assert lowest[""] < 1.15 * lowest["100k"]


@needs_simulator
def test_extrapolation_is_stated_first_and_withholds_shares(unlimited: Recommendation) -> None:
    result = unlimited
    assert result.chosen is not None
    assert result.runner_up is not None
    assert all(finalist.keeps_probability >= result.confidence for finalist in result.front), (
        "a candidate that breaks a limit is listed"
    )
    near = replace(result, extrapolation=1.0, tied=False)
    far = replace(near, extrapolation=94.0, extrapolated_workload="terasort", learned_bytes_per_worker=1e9)
    lines = list(headline(near))
    assert not any("xtrapolated" in line for line in lines)
    share = probability(result.chosen.hardware_probability)
    assert any(f"in {share} of" in line for line in lines)
    assert front_cells(result.chosen, near)["Best hardware in"] == share, (
        "one candidate has one share of draws in which it is the best"
    )
    assert "Keeps constraints in" not in front_cells(result.chosen, near), "there are none"
    limited = replace(near, constraints=replace(near.constraints, deadline_s=3600.0))
    assert list(front_cells(result.chosen, limited)) == [
        "Pareto front",
        "Front in",
        "Best hardware in",
        "Keeps constraints in",
    ]
    assert next(iter(lead(far))).startswith(
        "It is a rough estimate, because each worker gets up to 94 times as much data as in the runs that the times "
        "are learned from. To make it a forecast, measure TeraSort with at least 11.8 GB per worker, and learn "
    )
    assert summary(far).startswith("Rough estimate: the cheapest cluster is ")
    assert next_commands(far, ("--budget", "100k"), NO_OPTIONS) == (
        "assay discover HOST… -o cluster.yaml",
        "assay run PLAN.yaml",
        "assay recommend --budget 100k --repository repository",
    )
    first, *rest = headline(far)
    assert first == "Too close to call between the first cluster and the runner-up; another candidate may be better."
    assert not any(share in line and "draws" in line for line in rest)
    assert list(front_cells(result.chosen, far)) == ["Pareto front"]
    assert "without a stated probability" in front_title(far)
    assert front_title(far).startswith("Candidates that may be on the Pareto front of money and time: ")
    for choice in result.front:
        beaten = any(
            other.cost <= choice.cost
            and other.day_s <= choice.day_s
            and (other.cost, other.day_s) != (choice.cost, choice.day_s)
            for other in result.finalists
        )
        assert front_cells(choice, far)["Pareto front"] == ("no" if beaten else "yes")
    assert "90 % intervals" in front_title(near)
    other = replace(result.runner_up, hardware_probability=0.24)
    unsure = replace(near, chosen=replace(result.chosen, hardware_probability=0.5), runner_up=other)
    text = next(headline(unsure))
    assert text.startswith("Too close to call between")
    assert text.endswith(f"one of them has {OBJECTIVES[unsure.objective]} in 74 % of simulated draws.")
    for factor in (0.9, 1.1):
        other = replace(result.runner_up, bill=result.chosen.bill * factor)
        texts = list(headline(replace(near, objective=Objective.PRICE, runner_up=other, tied=False)))
        assert any("costs less on average over the possible prices" in line for line in texts) == (factor < 1)


@needs_simulator
def test_of_two_clusters_with_equal_prices_the_faster_is_chosen(pool: SimulatorPool, tmp_path: Path) -> None:
    result = answer(pool, book(tmp_path, ssd=403), minimize=Objective.PRICE)
    assert result.tied
    assert result.chosen is not None
    assert result.runner_up is not None
    assert result.fastest is not None
    assert {choice.levels["devices"] for choice in (result.chosen, result.runner_up)} == {"1 ssd", "2 hdd"}
    assert result.chosen.day_s < result.runner_up.day_s
    assert result.fastest.day_s == min(choice.day_s for choice in result.finalists)
    text = "\n".join(headline(result))
    assert "Too close to call" not in text
    times = result.runner_up.day_s / result.chosen.day_s
    difference = money(abs(result.runner_up.bill - result.chosen.bill), "USD")
    advantage = next(
        line for line in lead(result) if line.startswith(f"The runner-up, {result.runner_up.label}, costs ")
    )
    assert re.search(rf"{re.escape(difference)} (more|less) over 3 years \(equal within 1 %\)", advantage)
    assert f"takes {times:.2g} times as long" in advantage
    named = {label: role for role, label, *_ in clusters_table(result).rows}
    assert named[result.runner_up.label] == "Runner-up"
    assert "astest cluster" in named[result.fastest.label]
    near, far = (
        AnswerChange("price", "price of a", "$4", f"above ${at}", "b", at / 4, 100.0, 5.0) for at in (4.5, 8.0)
    )
    *_, first, prices = lead(replace(result, changes=(far, near)))
    assert first == (
        "If the price of a is above $4.5 (now $4), the answer is b, "
        "and a day's work takes 5 times as long (1 min 40 s)."
    )
    for factor, words in ((0.6, "40 % less time"), (1.0, "with the same time")):
        assert words in [*lead(replace(result, changes=(replace(near, time_factor=factor),)))][-2]
    assert not any(line.startswith("If the price") for line in lead(replace(result, changes=(far,)))), (
        "a distant switching price is in the table alone"
    )
    assert prices == f"Prices: {result.book}, {result.book_date} ({result.book_source})."


@pytest.mark.parametrize(
    ("per", "deadline", "objective"),
    [("node", "", Objective.PRICE), ("node-hour", "", Objective.DAY_COST), ("node-hour", "1h", Objective.PRICE)],
)
def test_purchased_hardware_is_chosen_by_its_price(per: str, deadline: str, objective: Objective) -> None:
    items = (LineItem("node", Decimal(4), per), LineItem("switch", Decimal(0), "cluster"))
    prices = PriceBook("b", "USD", "2026-01-01", "test", items, amortisation=Amortisation(Decimal(3)))
    request = RecommendRequest(MIX, deadline=deadline)
    assert request.objective(request.constraints(prices), prices) is objective
    asked = replace(request, minimize=Objective.TIME)
    assert asked.objective(asked.constraints(prices), prices) is Objective.TIME


@needs_simulator
def test_the_price_per_day_of_purchased_hardware_counts_idle_hours(unlimited: Recommendation) -> None:
    result = unlimited
    assert result.purchased
    assert result.chosen is not None
    chosen, table = result.chosen, clusters_table(result)
    row = dict(zip(table.headers, table.rows[0], strict=True))
    assert row["Price over 3 years, used or idle"].endswith(f", {money(chosen.bill / (3 * 365), 'USD')} per day")
    assert table.rows[0][-1].endswith(f", {share(chosen.day_s / 86_400)} of a day")
    parts = chosen.parts
    assert parts.workers == int(chosen.levels["workers"])
    assert row["Made of"].startswith(f"{parts.workers} workers at {price_text(parts.per_worker, 'USD')}")
    assert f"1 master at {price_text(parts.per_master, 'USD')}" in row["Made of"]
    assert parts.workers * parts.per_worker + parts.per_master + parts.shared == pytest.approx(chosen.bill)
    table = clusters_table(replace(result, purchased=False))
    rented = dict(zip(table.headers, table.rows[0], strict=True))
    assert f"1 master at {price_text(parts.per_master / (result.constraints.years * 8760), 'USD')}" in rented["Made of"]
    assert rented["Per hour"] == money(chosen.bill / (result.constraints.years * 8760), "USD")
    assert rented["Cost of a day's work"] == money(chosen.day_cost, "USD")


@needs_simulator
def test_a_choice_beyond_the_learned_data_is_an_estimate(unlimited: Recommendation) -> None:
    result = replace(unlimited, runner_up=None, confidence=0.5)
    titles = {choice_title(replace(result, extrapolation=times)) for times in (1.0, 94.0)}
    assert titles == {"Recommended", "Rough estimate"}
