"""Test intervals and rank tests for few runs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.analysis.comparison.significance import rank_test
from assay.analysis.statistics.intervals import geometric_mean, median_interval, welch_ratio
from assay.analysis.statistics.ranks import is_exact, rank_test_p, smallest_reachable_p
from benchmark_support import benchmark
from effort import examples

TIMES = st.lists(st.floats(0.5, 5000), min_size=2, max_size=8)
MANY_DECIMALS = 1.0000123456789
"""A factor that gives times many decimals, so that they do not look rounded."""


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 5])
def test_student_t_covers_95_percent_and_the_bootstrap_far_less(n: int) -> None:
    shares = benchmark("interval_coverage").coverage(n, noise="log-normal", experiments=1500, resamples=400, seed=11)
    assert 0.93 <= shares.paired_t <= 0.97
    assert 0.93 <= shares.welch_t <= 0.985
    assert shares.bootstrap_percentile < 0.91
    assert shares.bootstrap_bca < 0.91


@given(TIMES, TIMES)
def test_welch_agrees_with_scipy_on_logarithms(baseline: list[float], candidate: list[float]) -> None:
    n = min(len(baseline), len(candidate))  # a side with far fewer runs gets at least the variance of the other side
    baseline, candidate = ([t * MANY_DECIMALS for t in side[:n]] for side in (baseline, candidate))
    logs = [[math.log(t) for t in side] for side in (baseline, candidate)]
    if max(max(side) - min(side) for side in logs) < 1e-6:
        return
    expected = stats.ttest_ind(*logs, equal_var=False).confidence_interval(0.95)
    interval = welch_ratio(baseline, candidate)
    assert interval.low == pytest.approx(math.exp(expected.low), rel=1e-6)
    assert interval.high == pytest.approx(math.exp(expected.high), rel=1e-6)


@given(st.lists(st.tuples(st.floats(1, 1000), st.floats(1, 1000)), min_size=2, max_size=8))
def test_paired_agrees_with_scipy_on_log_ratios(pairs: list[tuple[float, float]]) -> None:
    logs = [math.log(b / c * MANY_DECIMALS) for b, c in pairs]
    if max(logs) - min(logs) < 1e-6:
        return
    expected = stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    interval = geometric_mean([b / c * MANY_DECIMALS for b, c in pairs])
    assert interval.low == pytest.approx(math.exp(expected.low), rel=1e-6, abs=1e-300)
    assert interval.high == pytest.approx(math.exp(expected.high), rel=1e-6)


@given(TIMES, TIMES)
def test_swapping_the_sides_gives_the_reciprocal_interval(a: list[float], b: list[float]) -> None:
    interval, swapped = welch_ratio(a, b), welch_ratio(b, a)
    assert interval.value == pytest.approx(1 / swapped.value)
    assert interval.low is not None
    assert swapped.high is not None
    assert interval.low == pytest.approx(1 / swapped.high, rel=1e-6)
    assert interval.low <= interval.value <= (interval.high or 0)


@given(TIMES, TIMES, st.floats(0.01, 100))
def test_the_unit_of_time_does_not_matter(a: list[float], b: list[float], unit: float) -> None:
    scaled = welch_ratio([t * unit for t in a], [t * unit for t in b])
    assert scaled.value == pytest.approx(welch_ratio(a, b).value)


def test_one_run_on_a_side_has_a_ratio_but_no_interval() -> None:
    interval = welch_ratio([10.0], [5.0, 5.0])
    assert interval.value == pytest.approx(2.0)
    assert (interval.low, interval.high) == (None, None)


def test_an_interval_is_never_narrower_than_what_rounding_allows() -> None:
    """100 s can be 99.5 to 100.5 s. Equal times with many decimals are not rounded: their interval has no width."""
    interval = welch_ratio([100.0] * 2, [90.0] * 2)
    assert (interval.low, interval.high) == pytest.approx(
        (1.1111 * np.exp(-0.01056), 1.1111 * np.exp(0.01056)), abs=1e-4
    )
    interval_of_tenths, interval_of_exact_times = (
        welch_ratio([10.1] * 3, [5.05] * 3),
        welch_ratio([10.1234567] * 3, [10.1234567 / 2] * 3),
    )
    assert (interval_of_tenths.low, interval_of_tenths.high) == pytest.approx(
        (2 * np.exp(-0.00594), 2 * np.exp(0.00594)), abs=1e-4
    )
    assert (interval_of_exact_times.low, interval_of_exact_times.high) == pytest.approx((2.0, 2.0))
    rounded_times = welch_ratio([100.0, 120.0], [90.0, 70.0])
    exact_times = welch_ratio([100.0000001, 120.0000001], [90.0000001, 70.0000001])
    assert (rounded_times.low, rounded_times.high) == pytest.approx((exact_times.low, exact_times.high))


def test_intervals_of_times_in_whole_seconds_contain_the_true_ratio() -> None:
    """With noise below a second, rounded times tie. A plain t interval then contains the truth in a tenth of cases."""
    rng = np.random.default_rng(2)
    contained = 0
    for _ in range(400):
        mean_s = 30 + rng.random()
        sides = (np.rint(rng.normal(side_mean_s, 0.1, 2)).tolist() for side_mean_s in (mean_s, mean_s / 1.1))
        interval = welch_ratio(*sides)
        contained += (interval.low or 0) <= 1.1 <= (interval.high or 0)
    assert contained / 400 >= 0.95


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=9), st.lists(st.integers(1, 4), min_size=1, max_size=9))
def test_no_p_value_is_below_the_smallest_reachable_one(a: list[int], b: list[int]) -> None:
    test = rank_test([float(x) for x in a], [float(x) for x in b])
    assert test.p >= test.smallest_reachable_p - 1e-12


@pytest.mark.parametrize("times", [[0.0], [-1.0], [math.nan], [math.inf], []])
def test_impossible_times_are_refused(times: list[float]) -> None:
    with pytest.raises(ValueError, match="positive"):
        geometric_mean(times)


def test_three_runs_per_side_cannot_reach_five_percent() -> None:
    assert smallest_reachable_p(3, 3) == pytest.approx(0.1)
    assert smallest_reachable_p(4, 4) == pytest.approx(2 / 70)
    assert rank_test_p([10, 11, 12], [1, 2, 3]) == pytest.approx(0.1)


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.integers(1, 6), min_size=3, max_size=4), st.lists(st.integers(1, 6), min_size=3, max_size=4))
def test_the_rank_test_counts_arrangements_also_with_ties(a: list[int], b: list[int]) -> None:
    """Compare with a count of U over all ways to split the pooled times."""

    def u(left: tuple[int, ...], right: tuple[int, ...]) -> float:
        return sum((x > y) + (x == y) / 2 for x in left for y in right)

    pooled = (*a, *b)
    u_values = []
    for left_indices in itertools.combinations(range(len(pooled)), len(a)):
        left = tuple(pooled[i] for i in left_indices)
        right = tuple(pooled[i] for i in range(len(pooled)) if i not in left_indices)
        u_values.append(u(left, right))
    observed = u(tuple(a), tuple(b))
    above = sum(value >= observed - 1e-9 for value in u_values) / len(u_values)
    below = sum(value <= observed + 1e-9 for value in u_values) / len(u_values)
    assert rank_test_p([float(x) for x in a], [float(x) for x in b]) == pytest.approx(min(1.0, 2 * min(above, below)))


@pytest.mark.parametrize(("sizes", "decimals"), [((120, 160), 9), ((3, 4000), 9), ((300, 400), 9), ((120, 160), 1)])
def test_many_runs_are_ranked_as_by_scipy(sizes: tuple[int, int], decimals: int) -> None:
    """Small samples without ties are exact. Others use the normal approximation, corrected for ties and continuity."""
    rng = np.random.default_rng(1)
    a, b = (np.round(rng.normal(mean, 1, n), decimals).tolist() for mean, n in zip((0, 0.2), sizes, strict=True))
    exact = is_exact(a, b)
    assert exact is (sizes != (300, 400) and decimals == 9)
    expected = stats.mannwhitneyu(a, b, method="exact" if exact else "asymptotic").pvalue
    assert rank_test_p(a, b) == pytest.approx(expected, rel=1e-9)
    assert rank_test_p(b, a) == pytest.approx(expected, rel=1e-9)


def test_times_that_are_all_equal_do_not_differ_by_rank() -> None:
    assert rank_test_p([2.0] * 200, [2.0] * 200) == 1.0


def test_one_run_against_many_is_ranked_exactly_with_ties() -> None:
    assert rank_test_p([1.0], [2.0, 2.0, 3.0, 4.0]) == pytest.approx(2 / 5)  # lowest or highest of five
    assert rank_test_p([2.0, 2.0, 3.0, 4.0], [1.0]) == pytest.approx(2 / 5)
    assert rank_test_p([2.0], [2.0, 2.0, 1.0, 3.0]) == 1.0
    assert rank_test_p([1.0], [2.0, 3.0, 4.0]) == pytest.approx(rank_test_p([1.0], [2.0, 2.0, 3.0]))


@pytest.mark.parametrize("noise", ["log-normal", "outliers", "drift", "alike"])
def test_equal_levels_rarely_get_a_verdict_and_never_one_of_the_wrong_sign(noise: str) -> None:
    errors = benchmark("verdict_errors")
    rng = np.random.default_rng(3)
    equal, _ = errors.verdicts(noise, 5, 1.0, 400, rng)
    assert (equal["faster"] + equal["slower"]) / 400 <= 0.09
    different, _ = errors.verdicts(noise, 5, 1.3, 200, rng)
    assert different["slower"] == 0
    assert different["faster"] >= 100
    few_runs, _ = errors.verdicts(noise, 2, 1.3, 50, rng)
    assert few_runs == {"not enough runs": 50}


def test_the_interval_of_a_median_has_the_ranks_of_the_binomial_distribution() -> None:
    for n in (6, 9, 21, 60):
        times = list(range(1, n + 1))
        rank = int(stats.binom.ppf(0.025, n, 0.5))
        assert median_interval(times[::-1]) == (times[rank - 1], times[n - rank])
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0]) is None
