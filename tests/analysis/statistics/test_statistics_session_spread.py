"""Test the variance between sessions, learned from configurations measured in several sessions."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis.statistics.sessions import DEFAULT_SPREAD, ROBUST_MIN, learned_spread


def drawn(configurations: int, sessions: int, spread: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return log times, sessions and configurations: one run of each configuration in each of two sessions."""
    rng = np.random.default_rng(seed)
    effect = rng.normal(0, spread, sessions)
    configuration = np.repeat(np.arange(configurations), 2)
    session = np.concatenate([rng.choice(sessions, 2, replace=False) for _ in range(configurations)])
    return effect[session] + 0.1 * configuration, session, configuration


@pytest.mark.parametrize("configurations", [ROBUST_MIN // 2, 4 * ROBUST_MIN])
def test_the_learned_spread_is_the_drawn_one_on_average(configurations: int) -> None:
    variances = [learned_spread(*drawn(configurations, 30, 0.1, seed)).variance for seed in range(300)]
    assert np.mean(variances) == pytest.approx(0.01, rel=0.15)


def test_a_few_broken_sessions_do_not_move_the_spread_of_many_configurations() -> None:
    logs, session, configuration = drawn(200, 60, 0.05, 1)
    broken = np.where(session < 3, logs + 2.0, logs)
    spread = learned_spread(broken, session, configuration)
    assert spread.is_learned
    assert np.sqrt(spread.variance) < 0.08


def test_few_sessions_take_the_default() -> None:
    assert learned_spread(*drawn(3, 3, 0.1, 1)) is DEFAULT_SPREAD
