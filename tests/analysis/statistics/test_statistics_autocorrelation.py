"""Test that autocorrelated runs widen the interval of a mean over blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.analysis.comparison.comparison import log_ratio
from assay.analysis.statistics.autocorrelation import error_factor
from benchmark_support import benchmark
from builders import make_run

BLOCKS = 10


def test_the_factor_is_the_root_of_the_variance_of_the_mean_over_that_of_independent_pairs() -> None:
    """Recomputed from the whole correlation matrix of the runs."""
    errors = benchmark("verdict_errors")
    candidate, block = errors.order_of(BLOCKS), np.repeat(np.arange(BLOCKS), 2)
    rng = np.random.default_rng(4)
    logs = errors.noise_of("alike", rng, candidate)
    residuals = logs - np.where(candidate, logs[candidate].mean(), logs[~candidate].mean())
    shown = (residuals[1:] * residuals[:-1]).sum() / (residuals**2).sum()
    r = shown + (1 + 3 * shown) / len(logs)
    assert 0 < r < 0.9
    indices = np.arange(len(logs))
    correlation = r ** np.abs(indices[:, None] - indices)
    signs = np.where(candidate, -1.0, 1.0)
    differences = np.array([np.where(block == number, signs, 0.0) for number in range(BLOCKS)])
    covariance = differences @ correlation @ differences.T
    of_mean = covariance.sum() / BLOCKS**2
    expected = (np.trace(covariance) - BLOCKS * of_mean) / (BLOCKS - 1) / BLOCKS
    assert error_factor(logs, candidate, block) == pytest.approx(np.sqrt(of_mean / expected))


@pytest.mark.parametrize(("noise", "low", "high"), [("log-normal", 1.0, 1.04), ("alike", 1.06, 1.10)])
def test_the_factor_is_close_to_1_for_independent_runs(noise: str, low: float, high: float) -> None:
    errors = benchmark("verdict_errors")
    candidate, block = errors.order_of(BLOCKS), np.repeat(np.arange(BLOCKS), 2)
    rng = np.random.default_rng(5)
    factors = [error_factor(errors.noise_of(noise, rng, candidate), candidate, block) for _ in range(500)]
    assert min(factors) >= 1.0
    assert low <= np.mean(factors) <= high


@pytest.mark.parametrize("runs", [10, 20])
def test_verdicts_hold_where_neighbouring_runs_correlate(runs: int) -> None:
    counts, held = benchmark("verdict_errors").verdicts("alike", runs, 1.0, 2000, np.random.default_rng(6))
    assert (counts["faster"] + counts["slower"]) / 2000 <= 0.065
    assert held >= 0.935


def test_equal_times_and_few_runs_have_no_factor() -> None:
    two = np.array([False, True])
    assert error_factor(np.array([1.0, 2.0]), two, np.array([0, 0])) == 1.0
    assert error_factor(np.full(10, 3.0), np.tile(two, 5), np.repeat(np.arange(5), 2)) == 1.0


def test_a_comparison_allows_for_neighbours_where_starts_are_known() -> None:
    errors = benchmark("verdict_errors")
    candidate, block = errors.order_of(BLOCKS), np.repeat(np.arange(BLOCKS), 2)
    logs = errors.noise_of("alike", np.random.default_rng(4), candidate)
    runs = [
        make_run(
            n,
            layout="AB"[side],
            levels={"layout": "AB"[side]},
            duration_s=100 * float(np.exp(log)),
            block=int(block[n]),
            started_at=f"2026-01-05T10:{n:02d}:00Z",
        )
        for n, (side, log) in enumerate(zip(candidate.astype(int).tolist(), logs.tolist(), strict=True))
    ]
    a, b = ([run for run in runs if run.layout == layout] for layout in "AB")
    known = log_ratio(a, b)
    unknown = log_ratio([replace(run, started_at="") for run in a], [replace(run, started_at="") for run in b])
    assert known is not None
    assert unknown is not None
    factor = error_factor(logs, candidate, block)
    assert factor > 1
    assert known.error == pytest.approx(unknown.error * factor)
    assert (known.mean, known.degrees) == (unknown.mean, unknown.degrees)
