"""Test cost per run, the Pareto front with its probabilities, and switching prices."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.cost.pareto import drawn_times_s, estimate_time_and_cost, on_front, priced_rates
from assay.analysis.cost.rate import Price, Rate, RatedItem
from assay.analysis.cost.run_cost import (
    SPREAD_RUNS_MIN,
    cost_per_run,
    mean_errors,
    pooled_spread,
    ranks,
    spread_by,
    times_of,
)
from assay.analysis.cost.switching_prices import compute_switching_prices
from assay.analysis.statistics import Floats, Ints
from assay.analysis.statistics.intervals import geometric_mean

POINT = st.tuples(st.integers(1, 12), st.integers(1, 12))
SECONDS = st.floats(1, 1e5)


def price(name: str, amount: str, low: str | None = None, high: str | None = None) -> Price:
    return Price(name, Decimal(amount), Decimal(low or amount), Decimal(high or amount), "cluster-hour", "made up")


def rate(*items: tuple[Price, int]) -> Rate:
    return Rate("USD", tuple(RatedItem(name, Decimal(n), Decimal(n), "rent") for name, n in items))


@given(st.lists(POINT, min_size=1, max_size=30))
def test_the_front_is_what_no_other_point_beats(points: list[tuple[int, int]]) -> None:
    front = on_front(np.array([float(t) for t, _ in points]), np.array([float(c) for _, c in points]))[0]
    expected = [not any(t <= time and c <= cost and (t, c) != (time, cost) for t, c in points) for time, cost in points]
    assert list(front) == expected


@given(st.lists(st.tuples(SECONDS, SECONDS), min_size=1, max_size=20))
def test_a_configuration_that_is_cheaper_and_faster_is_always_on_the_front(points: list[tuple[float, float]]) -> None:
    times = np.array([t for t, _ in points] + [0.5])
    costs = np.array([c for _, c in points] + [0.5])
    assert list(on_front(times, costs)[0]) == [False] * len(points) + [True]


@given(st.lists(st.tuples(SECONDS, st.integers(1, 50)), min_size=2, max_size=8), st.integers(0, 5))
def test_single_runs_give_no_certainty_of_a_ranking(points: list[tuple[float, int]], seed: int) -> None:
    durations = np.array([t for t, _ in points])
    codes = np.arange(len(points))
    book = priced_rates([rate((price("hour", "1", "0.5", "2"), n)) for _, n in points])
    result = estimate_time_and_cost(times_of(durations, codes, len(points)), book, seed=seed)
    assert result.front_of(range(len(points)))[1] is None
    assert result.draws == 0
    assert result.times_s == pytest.approx(durations, rel=1e-15)
    assert np.isnan([*result.time_low_s, *result.cost_low, *result.cost_high]).all()


def test_a_single_run_uses_the_spread_of_its_group_and_is_never_more_certain_than_two() -> None:
    again = [100.0, 110.0, 95.0, 105.0, 130.0, 120.0]
    durations, codes = np.array([*again, 80.0, 60.0, 61.0]), np.array([0] * 6 + [1, 2, 2])
    result = estimate_time_and_cost(times_of(durations, codes, 3), priced_rates([rate((price("hour", "1"), 1))] * 3))
    widths = np.log(result.time_high_s / result.time_low_s)
    assert list(result.borrowed) == [False, True, True]
    assert widths[1] == pytest.approx(widths[2] * np.sqrt(2))


def test_times_of_a_cluster_scatter_as_they_do_there() -> None:
    times = times_of(np.array([100.0, 110.0, 70.0, 100.0, 200.0, 50.0]), np.array([0, 0, 1, 2, 2, 3]), 4)
    quiet, loud = float(times.log_deviation[0]) ** 2, float(times.log_deviation[2]) ** 2
    variance, degrees = spread_by(times, np.array([5, 5, 7, 7]), np.array([5, 7, 7, 9]))
    assert variance == pytest.approx([quiet, loud, loud, (quiet + loud) / 2])
    assert degrees == pytest.approx([1, 1, 1, 2]), "where nothing repeats on a cluster, that of all"
    assert [len(rows) for rows in spread_by(times, np.array([5, 5, 7, 7]), np.zeros(0, dtype=np.int64))] == [0, 0]


def test_no_seed_moves_what_is_not_drawn() -> None:
    durations, codes = two(5, 1.05)
    book = priced_rates([rate((price("h", "1"), 1))] * 2)
    first, other = (estimate_time_and_cost(times_of(durations, codes, 2), book, seed=seed) for seed in (1, 2))
    for name in ("time_low_s", "time_high_s", "cost_low", "cost_high"):
        assert list(getattr(first, name)) == list(getattr(other, name))


def two(n: int, ratio: float, seed: int = 0) -> tuple[Floats, Ints]:
    generator = np.random.default_rng(seed)
    durations = np.concatenate(
        [100 * np.exp(generator.normal(0, 0.1, n)), 100 * ratio * np.exp(generator.normal(0, 0.1, n))]
    )
    return durations, np.repeat([0, 1], n)


@pytest.mark.parametrize("n", [5, 50, 2000])
def test_probabilities_become_certain_with_more_runs(n: int) -> None:
    durations, codes = two(n, 1.03, seed=1)
    book = priced_rates([rate((price("hour", "1"), 1))] * 2)
    result = estimate_time_and_cost(times_of(durations, codes, 2), book)
    shares = result.front_of(range(2))[1]
    assert shares is not None
    assert shares.sum() == pytest.approx(1)
    best = int(np.argmin(result.times_s))
    assert shares[best] > (0.99 if n == 2000 else 0.5)
    assert np.all(result.time_low_s < result.times_s)
    assert np.all(result.times_s < result.time_high_s)


@pytest.mark.parametrize("n", [2, 3, 5, 30])
def test_the_draws_scatter_as_the_interval_of_the_mean_says(n: int) -> None:
    durations, codes = two(n, 1.5)
    times = times_of(durations, codes, 2)
    result = estimate_time_and_cost(times, priced_rates([rate((price("h", "3600"), 1))] * 2))
    errors = mean_errors(times, *pooled_spread(times))
    drawn = np.quantile(drawn_times_s(times, errors, 200_000, np.random.default_rng(0)), (0.025, 0.975), axis=0)
    assert result.time_low_s == pytest.approx(drawn[0], rel=0.02 if n > 2 else 0.1)
    assert result.cost_high == pytest.approx(result.time_high_s)
    for code in (0, 1) if n >= SPREAD_RUNS_MIN else ():
        expected = geometric_mean(durations[codes == code].tolist())
        assert (result.time_low_s[code], result.time_high_s[code]) == pytest.approx((expected.low, expected.high))


def test_a_price_range_varies_the_costs_of_all_configurations_equally_and_no_times() -> None:
    shared = price("node", "2", "1", "4")
    durations, codes = np.array([100.0, 100.0, 50.0, 50.0]), np.array([0, 0, 1, 1])
    book = priced_rates([rate((shared, 1)), rate((shared, 2))])
    result = estimate_time_and_cost(times_of(durations, codes, 2), book)
    # Whole seconds: half a second either way is all that equal times leave open.
    assert list(result.time_low_s) == pytest.approx([99.5, 49.5], rel=1e-4)
    assert np.all(result.cost_low < result.costs)
    assert np.all(result.costs < result.cost_high)
    shares = result.front_of(range(2))[1]
    assert shares is not None
    assert shares[1] == 1


def test_the_same_seed_gives_the_same_draws() -> None:
    durations, codes = two(10, 1.02)
    times, book = times_of(durations, codes, 2), priced_rates([rate((price("h", "1", "0.5", "2"), 1))] * 2)
    first, again, other = (estimate_time_and_cost(times, book, seed=seed) for seed in (3, 3, 4))
    assert list(first.cost_low) == list(again.cost_low)
    assert list(first.cost_low) != list(other.cost_low)


@given(st.lists(st.tuples(SECONDS, st.integers(0, 5), st.integers(1, 5)), min_size=2, max_size=6))
def test_at_a_flip_both_cost_the_same_and_beyond_it_the_other_is_cheaper(points: list[tuple[float, int, int]]) -> None:
    times = np.array([t for t, _, _ in points])
    book = priced_rates([rate((price("disk", "1"), disks), (price("node", "1"), nodes)) for _, disks, nodes in points])
    winner = int(np.argmin(times * book.rates_per_h))
    for change in compute_switching_prices(times, book):
        column = book.prices.index(change.price)
        for at, other, beyond in ((change.above, change.above_winner, 1.01), (change.below, change.below_winner, 0.99)):
            if at is None or other is None:
                continue
            amounts = book.amounts.copy()
            amounts[column] = at
            costs = times * (book.factors @ amounts)
            assert costs[other] == pytest.approx(costs[winner])
            assert costs[winner] <= costs.min() * (1 + 1e-6)
            if at > 0:
                amounts[column] = at * beyond
                costs = times * (book.factors @ amounts)
                assert costs[other] <= costs[winner] * (1 + 1e-9)


def test_times_are_geometric_means_and_equal_times_are_unchanged() -> None:
    times = times_of(np.array([100.0, 400.0, 348.0, 348.0]), np.array([0, 0, 1, 1]), 3)
    assert list(times.n) == [2, 2, 0]
    assert times.mean_s[0] == pytest.approx(200)
    assert times.mean_s[1] == 348
    assert np.isnan(times.mean_s[2])
    assert list(times.fastest_s[:2]) == [100, 348]


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_an_impossible_time_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="positive and finite"):
        times_of(np.array([1.0, bad]), np.array([0, 0]), 1)


def test_equal_costs_share_a_rank() -> None:
    assert cost_per_run(Decimal("4.50"), 348.0) == Decimal("0.435")
    assert ranks([Decimal(3), Decimal(1), Decimal(1), Decimal(2)]) == [4, 1, 1, 3]


def test_the_front_of_a_group_does_not_depend_on_configurations_outside_it() -> None:
    """The third configuration is faster and cheaper than the first two, which it is not compared with."""
    durations = np.repeat([100.0, 200.0, 10.0], 5) + np.tile([-1.0, 0.0, 1.0, 2.0, 3.0], 3)
    codes = np.repeat(np.arange(3), 5)
    book = priced_rates([rate((price("hour", "1"), 1))] * 3)
    result = estimate_time_and_cost(times_of(durations, codes, 3), book)
    assert list(result.front_of(range(3))[0]) == [False, False, True]
    front, shares = result.front_of([0, 1])
    assert shares is not None
    assert list(front) == [True, False]
    assert list(shares) == pytest.approx([1.0, 0.0], abs=0.01)
