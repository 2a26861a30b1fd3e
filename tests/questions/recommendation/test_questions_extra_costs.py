"""Test the extra costs of a rented cluster: hand-computed lines, and what holds for all amounts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.foundation.errors import SpecificationError
from assay.model import PriceBook
from assay.questions.costs.extra_costs import ExtraCosts, line_rows
from assay.specs.prices import prices_of

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
