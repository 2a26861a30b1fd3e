"""Test recommendations within a budget: which clusters keep it, and which keep it at list prices alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.estimation.simulator.pool import SimulatorPool
from assay.foundation.errors import SpecificationError
from assay.questions.recommendation.request import Objective, RecommendRequest
from assay.questions.recommendation.sentences import clusters_table, constraints_text, lead, summary
from assay.text import money
from recommendation_support import CATALOGUE, MIX, answer, book
from simulator_support import needs_simulator


@pytest.fixture(scope="module")
def pool() -> Iterator[SimulatorPool]:
    with SimulatorPool(2) as simulators:
        yield simulators


def test_a_budget_without_currency_is_in_the_price_books(tmp_path: Path) -> None:
    prices = book(tmp_path)
    plain, dollars = (RecommendRequest(MIX, budget=text).constraints(prices) for text in ("100k", "$100,000"))
    assert plain.budget == dollars.budget == 100_000
    hourly = RecommendRequest(MIX, budget="$20/h", years=2).constraints(prices)
    assert hourly.budget == 20 * 2 * 8760
    assert constraints_text(hourly, "USD") == "at most $20.00 per hour"
    assert constraints_text(plain, "USD") == "at most $100,000 over 3 years"
    with pytest.raises(SpecificationError, match="'x' is not a price"):
        RecommendRequest(MIX, budget="x/h").constraints(prices)
    for text in ("-100k", "-$20/h", "$-20", "\N{MINUS SIGN}5"):  # the last one has the minus sign U+2212
        with pytest.raises(SpecificationError, match="must not be negative"):
            RecommendRequest(MIX, budget=text).constraints(prices)
    with pytest.raises(SpecificationError, match="deadline: '-2h' must not be negative"):
        RecommendRequest(MIX, deadline="-2h").constraints(prices)
    with pytest.raises(SpecificationError, match="capacity: '-1TB' must not be negative"):
        RecommendRequest(MIX, capacity="-1TB").constraints(prices)


@needs_simulator
def test_a_faster_cluster_within_the_budget_at_list_prices_alone_is_named(pool: SimulatorPool, tmp_path: Path) -> None:
    prices = book(tmp_path)
    disks = CATALOGUE.replace("[0, 2, 4]", "2").replace("[0, 1]", "0")
    free = answer(pool, prices, disks, minimize=Objective.TIME).chosen
    assert free is not None
    close, wide = (
        answer(pool, prices, disks, budget=f"${budget:.0f}") for budget in (free.bill * 1.001, free.bill_high * 1.1)
    )
    assert close.chosen is not None
    assert close.over_budget is not None
    assert close.fastest is not None
    assert close.over_budget.keeps_probability < close.confidence
    assert close.over_budget.bill <= close.constraints.budget < close.over_budget.bill_high  # type: ignore[operator]
    assert close.over_budget.day_s < close.fastest.day_s
    line = next(
        line for line in lead(close) if line.startswith("The budget has to hold in 90 % of the draws of prices.")
    )
    assert close.over_budget.label in line
    assert money(close.over_budget.bill_high, "USD") in line
    assert wide.over_budget is None
    assert not any("draws of prices" in line for line in lead(wide))


@needs_simulator
def test_a_budget_that_no_cluster_keeps_names_the_cheapest_price(pool: SimulatorPool, tmp_path: Path) -> None:
    """The amount that the answer asks for is enough for an answer, and the lowest price is not."""
    prices = book(tmp_path)
    named = re.search(
        r"none within the budget at the lowest prices; the cheapest costs (\$[\d,]+) over 3 years at the lowest prices "
        r"and (\$[\d,]+) over 3 years at the highest: allow \2 over 3 years, or add cheaper hardware",
        answer(pool, prices, budget="$100").why_none,
    )
    assert named
    lowest, enough = named.groups()
    assert answer(pool, prices, budget=enough).chosen is not None
    near = answer(pool, prices, budget=lowest)
    assert near.chosen is None
    needed = re.search(r"in 90 % of the draws, it costs at most (\$[\d,]+) over 3 years: allow", near.why_none)
    assert needed
    assert answer(pool, prices, budget=needed[1]).chosen is not None
    assert "; the cheapest costs $0." in answer(pool, prices, budget="$0.01/h").why_none


@needs_simulator
def test_a_budget_is_answered_by_the_cheapest_and_the_fastest_cluster(pool: SimulatorPool, tmp_path: Path) -> None:
    prices = book(tmp_path)
    by_price, by_time = (
        answer(pool, prices, budget="$60,000", minimize=goal) for goal in (Objective.PRICE, Objective.TIME)
    )
    for result in (by_price, by_time):
        cheapest, fastest = (result.chosen, result.fastest) if result is by_price else (result.cheapest, result.chosen)
        assert cheapest
        assert fastest
        assert cheapest.bill < fastest.bill
        assert cheapest.day_s > fastest.day_s
        text = "\n".join((summary(result), *lead(result)))
        assert re.search(rf"he cheapest cluster[^.]*? is {re.escape(cheapest.label)}", text)
        assert re.search(rf"he fastest cluster[^.]*? is {re.escape(fastest.label)}", text)
        assert "every constraint" not in text, "there is one"
        label = result.chosen.label if result.chosen else ""
        assert len(summary(result).replace(label, "").split()) <= 28, "the first sentence is short"
        named = {role: label for role, label, *_ in clusters_table(result).rows}
        assert named["Cheapest cluster"] == cheapest.label
        assert named["Fastest cluster"] == fastest.label
        workers = {
            choice.levels["workers"]: choice for choice in result.finalists if choice.storage == cheapest.storage
        }
        assert workers["5"].bill - workers["3"].bill == pytest.approx(2 * cheapest.parts.per_worker)
