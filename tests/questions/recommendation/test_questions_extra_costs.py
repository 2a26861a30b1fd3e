"""Test the extra costs of a rented cluster: hand-computed lines, what holds for all amounts, and surplus credits."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.estimation.simulator.pool import SimulatorPool
from assay.execution.planning.plan_files.hardware_file import catalogue_of
from assay.foundation.errors import SpecificationError
from assay.model import PriceBook
from assay.model.clusters.credits import CreditBucket, CreditKind, CreditUse
from assay.questions.costs.extra_costs import ExtraCosts, line_rows
from assay.questions.costs.surplus_credits import in_unlimited_mode, surplus_vcpu_h
from assay.questions.forecasts.learning import shipped_profile
from assay.questions.forecasts.whatif.whatif_costs import stated_prices
from assay.questions.recommendation.clusters.choice import Choice
from assay.questions.recommendation.measured_types import TimeSources
from assay.questions.recommendation.recommend import Recommendation, recommend
from assay.questions.recommendation.request import RecommendRequest
from assay.specs.prices import prices_of
from simulator_support import needs_simulator

BOOK = """\
prices: rented
currency: USD
date: 2026-11-27
source: test
exchange: {EUR: {rate: 1.2, date: 2026-11-27, source: test}}
extras:
  storage: {price: $0.023}
  egress: {price: 0.075EUR}
items:
  - {name: node, price: $1, per: node-hour}
"""
AMOUNTS = st.integers(0, 10**6)


def _book(text: str = BOOK) -> PriceBook:
    return prices_of(text, "prices")


def test_the_lines_of_a_day_are_those_computed_by_hand() -> None:
    extras = ExtraCosts.of("storage=2TB, egress=50GB, idle=3h", _book())
    lines = extras.lines(3.19, 2616.0)
    # 0.7267 h of work, 3 h idle, 2,000 GB for 24 of 730 hours, 50 GB at 0.075 EUR × 1.2.
    amounts = [3.19 * 2616 / 3600, 9.57, 2000 * 0.023 * 24 / 730, 4.5]
    assert [line.per_day for line in lines] == pytest.approx(amounts)
    assert [name for name, _ in line_rows(lines, "USD")] == [
        "the cluster during the work",
        "idle time between jobs (3 h 00 min)",
        "storage that outlives the job (2 TB)",
        "egress (50 GB)",
        "Sum",
    ]
    assert line_rows(lines, "USD")[-1] == ("Sum", "$17.90")


def test_nothing_is_added_when_all_costs_are_off_and_the_assumptions_say_so() -> None:
    off = ExtraCosts.of("", _book())
    rates, times_s = np.array([0.3, 7.1]), np.array([100.0, 5000.7])
    assert off.day_costs(rates, times_s).tolist() == (rates * times_s / 3600).tolist()
    assert off.lines(1.0, 100.0) == ()
    assert off.assumptions() == (
        "extra costs: storage that outlives the job off, egress off, idle time between jobs off",
    )
    first, _ = ExtraCosts.of("egress=50GB", _book()).assumptions()
    assert "egress 50 GB a day, idle time between jobs off" in first


@given(AMOUNTS, AMOUNTS, st.integers(0, 86_400), st.floats(0, 1000), st.floats(0, 86_400), AMOUNTS, AMOUNTS)
def test_the_cost_is_the_sum_of_its_lines_and_never_falls_with_an_amount(
    stored: int, sent: int, idle_s: int, rate_per_h: float, day_s: float, more_stored: int, more_sent: int
) -> None:
    def cost(stored_gb: int, sent_gb: int, idle: int) -> float:
        extras = ExtraCosts.of(f"storage={stored_gb}GB,egress={sent_gb}GB,idle={idle}s", _book())
        [amount] = extras.day_costs(np.array([rate_per_h]), np.array([day_s]))
        if lines := extras.lines(rate_per_h, day_s):
            assert sum(line.per_day for line in lines) == pytest.approx(amount, abs=1e-6)
        return float(amount)

    work = rate_per_h * day_s / 3600
    now = cost(stored, sent, idle_s)
    assert now >= work * (1 - 1e-9)
    assert cost(stored + more_stored, sent + more_sent, idle_s) >= now
    assert cost(stored, sent, min(86_400, 2 * idle_s)) >= now
    assert cost(0, 0, 86_400) == pytest.approx(24 * rate_per_h)  # idle time ends with the day


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("storge=1TB", "did you mean 'storage'"),
        ("storage=much", "much"),
        ("storage=1TB,storage=2TB", "given twice"),
        ("idle=25h", "at most 24 h"),
        ("x" * 200, "too long"),
        ("surplus-credits=0", "not a price in USD"),
        ("surplus-credits=0.05EUR", "not a price in USD"),
        ("surplus-credits=much", "not a price"),
    ],
)
def test_invalid_texts_are_explained(text: str, words: str) -> None:
    with pytest.raises(SpecificationError, match=words):
        ExtraCosts.of(text, _book())


def test_a_cost_without_a_price_is_refused_and_idle_time_needs_none() -> None:
    book = _book(BOOK.replace("  storage: {price: $0.023}\n", ""))
    with pytest.raises(SpecificationError, match="no price of storage that outlives the job"):
        ExtraCosts.of("storage=1TB", book)
    assert ExtraCosts.of("idle=1h,egress=1GB", book).idle_s == 3600
    with pytest.raises(SpecificationError, match="extra cost"):
        _book(BOOK.replace("storage:", "storag:"))


def test_surplus_credits_are_a_line_of_the_day_and_idle_time_pays_back_what_is_owed() -> None:
    bucket = CreditBucket(CreditKind.CPU, 1.6, 0.0, 138_240.0, vcpus_per_core=2)
    uses = [CreditUse(CreditKind.CPU, None, 0.0, surplus_charged=100.0, surplus_owed=2000.0)]
    # (100 + 2,000 core-seconds) × 3 runs × 8 workers × 2 vCPUs per core.
    assert surplus_vcpu_h(bucket, uses, [3.0], 8, 0.0) == pytest.approx(6300 * 16 / 3600)
    assert surplus_vcpu_h(bucket, uses, [3.0], 8, 1000.0) == pytest.approx((6300 - 1600) * 16 / 3600)
    assert surplus_vcpu_h(bucket, uses, [3.0], 8, 86_400.0) == pytest.approx(300 * 16 / 3600)
    extras = ExtraCosts.of("surplus-credits=$0.05", _book())
    lines = extras.lines(3.6, 1000.0, 28.0)
    assert line_rows(lines, "USD") == [
        ("the cluster during the work", "$1.00"),
        ("surplus CPU credits (28 vCPU-hours)", "$1.40"),
        ("Sum", "$2.40"),
    ]
    [cost] = extras.day_costs(np.array([3.6]), np.array([1000.0]), np.array([28.0]))
    assert cost == pytest.approx(2.4)
    assert "surplus CPU credits $0.0500 per vCPU-hour" in extras.assumptions()[0]


CATALOGUE = """\
catalogue: burstable
source: a test
workers:
  t3: {SHARED, count: [3, 4], credits: {cpu: {baseline: 1.6, start: 0, limit: 138240, vcpus_per_core: 2}}}
  m6i: {SHARED, count: [3, 4]}
""".replace(
    "SHARED",
    "cores: 4, cpu: {model: x, speed: 1}, memory: 32 GB, networks: {eth: 10 Gbit/s}, "
    "devices: {ssd: {kind: nvme, count: 1, read: 1.4 GB/s, write: 1.2 GB/s, capacity: 2 TB}}",
)
BURSTABLE_PRICES = """\
prices: burstable
currency: USD
date: 2026-11-27
source: a test
items:
  - {name: t3, price: $0.33, per: node-hour, node_type: t3}
  - {name: m6i, price: $0.38, per: node-hour, node_type: m6i}
  - {name: rest, price: $0, per: cluster-hour, covers: [devices, network]}
  - {name: master, price: $0, per: master-hour}
"""


@needs_simulator
def test_unlimited_machines_are_as_fast_as_others_and_pay_for_their_surplus() -> None:
    book, catalogue = prices_of(BURSTABLE_PRICES, "prices"), catalogue_of(CATALOGUE)

    def answer(extra_costs: str) -> Recommendation:
        request = RecommendRequest(("wordcount:20GB:daily",), extra_costs=extra_costs)
        with SimulatorPool(2) as pool:
            return recommend(request, catalogue, book, TimeSources(shipped_profile()), pool)

    standard, unlimited, dear = (answer(text) for text in ("", "surplus-credits=$0.05", "surplus-credits=$0.1"))

    def choice(result: Recommendation, worker: str) -> Choice:
        return next(c for c in result.finalists if (c.levels["worker"], c.levels["workers"]) == (worker, "4"))

    slow, fast, plain = choice(standard, "t3"), choice(unlimited, "t3"), choice(unlimited, "m6i")
    assert slow.day_s > 1.5 * fast.day_s
    assert fast.day_s == pytest.approx(plain.day_s, rel=0.01)
    [use] = fast.times[0].credits
    assert use.surplus_owed > 0
    vcpu_h = use.surplus_owed * 4 * 2 / 3600
    assert fast.day_cost == pytest.approx(4 * 0.33 * fast.day_s / 3600 + 0.05 * vcpu_h)
    assert fast.cost_lines[-1].per_day == pytest.approx(0.05 * vcpu_h)
    assert plain.cost_lines[-1].per_day == 0
    assert fast.day_cost_low < fast.day_cost < fast.day_cost_high
    change = next(c for c in dear.changes if c.what == "price of surplus CPU credits")
    assert change.at.startswith("below $")
    assert "t3" in change.then
    assert change.factor is not None
    switch = answer(f"surplus-credits=${0.1 * change.factor:.6f}")
    best = [min(c.day_cost for c in switch.finalists if c.levels["worker"] == worker) for worker in ("t3", "m6i")]
    assert best[0] == pytest.approx(best[1], rel=1e-4), "at the switching price, both cost the same"
    assert any("unlimited mode" in text for text in unlimited.assumptions)


def test_surplus_credits_need_burstable_machines_with_known_vcpus() -> None:
    catalogue = catalogue_of(CATALOGUE)
    [cpu] = in_unlimited_mode(catalogue).workers[0].credits
    assert cpu.is_unlimited
    with pytest.raises(SpecificationError, match="does not state the vCPUs of a core of t3"):
        in_unlimited_mode(catalogue_of(CATALOGUE.replace(", vcpus_per_core: 2", "")))
    with pytest.raises(SpecificationError, match="no machines with CPU credits"):
        in_unlimited_mode(catalogue_of(re.sub(r", credits: .*", "}", CATALOGUE)))
    with pytest.raises(SpecificationError, match="standard mode"):
        stated_prices(_book(), {}, "surplus-credits=$0.05")
