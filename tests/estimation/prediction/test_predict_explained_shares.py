"""Test that intervals of factor importance contain the truth, also for weak factors with few runs."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark_support import benchmark

pytestmark = pytest.mark.slow


def test_intervals_of_shares_contain_the_true_shares() -> None:
    held = [
        is_held
        for explained in benchmark("explain_errors").repositories("several", 6, 60, seed=4)
        for is_held in explained.held
    ]
    assert len(held) >= 24
    assert np.mean(held) >= 0.95


def test_the_benchmark_of_explanations_knows_the_truth() -> None:
    module = benchmark("explain_errors")
    rng = np.random.default_rng(1)
    codes = np.stack(np.unravel_index(np.arange(384), tuple(module.FACTORS.values())), axis=1)
    shares = module.one_factor(1.3, rng).shares(codes)
    assert sorted(shares.values())[:-1] == [0.0] * 5
    assert not any(module.no_effect(rng).shares(codes).values())
    half_world = module.World(
        {name: np.zeros(n) for name, n in module.FACTORS.items()} | {"layout": np.array([0.0, 0.1])}
    )
    # The levels are 0.05 from their mean, as much as the noise.
    assert half_world.shares(codes)["layout"] == pytest.approx(0.5)
    repository = module.score(half_world, 60, rng)
    assert repository.first_right is True
    assert repository.held == [True]
    assert module.score(module.no_effect(rng), 60, rng).first_right is None
