"""Test which tasks are outliers, on populations with known faults."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import DBSCAN

from assay.analysis.outliers.task_outliers import (
    ATTEMPTS_MIN,
    EPS,
    EPS_SMALL,
    NEIGHBOURS_SHARE,
    SPREAD_MIN,
    robust_spread,
    standardised,
    task_flags,
)
from benchmark_support import benchmark

OFFSETS = np.array([0.5, 2.0**20])


def population(tasks: int, seed: int = 1) -> np.ndarray:
    """Return durations that scatter by 10 %, in proportion to bytes that scatter by 5 %."""
    random = np.random.default_rng(seed)
    size = 128e6 * np.exp(0.05 * random.standard_normal(tasks))
    return np.column_stack([size / 10e6 * np.exp(0.1 * random.standard_normal(tasks)), size])


@pytest.mark.parametrize("tasks", [16, 100, 1000])
def test_slow_tasks_are_flagged_with_the_quantity_that_differs(tasks: int) -> None:
    quantities = population(tasks)
    quantities[3, 0] *= 4
    flags = task_flags(quantities, OFFSETS)
    assert flags is not None
    assert flags.outliers[3]
    assert flags.deviations[3, 0] > 3
    assert abs(flags.deviations[3, 1]) < 3
    assert flags.outliers.sum() <= 1 + tasks // 50
    assert flags.medians == pytest.approx(np.median(quantities, axis=0))


def test_a_second_input_is_normal_and_a_few_large_tasks_are_not() -> None:
    quantities = population(100)
    quantities[:25] *= 2.5
    assert task_flags(quantities, OFFSETS).outliers.sum() == 0  # type: ignore[union-attr]
    quantities = population(100)
    quantities[:4] *= 2.5
    assert np.flatnonzero(task_flags(quantities, OFFSETS).outliers).tolist() == [0, 1, 2, 3]  # type: ignore[union-attr]


def test_the_rule_is_that_of_dbscan() -> None:
    quantities = population(300)
    quantities[::40, 0] *= np.linspace(1.2, 3, 8)
    radius = EPS + EPS_SMALL * 2 / 300
    labels = DBSCAN(eps=radius, min_samples=int(300 * NEIGHBOURS_SHARE), metric="chebyshev").fit(
        standardised(quantities, OFFSETS)
    )
    flags = task_flags(quantities, OFFSETS)
    assert flags is not None
    assert flags.outliers.tolist() == (labels.labels_ == -1).tolist()
    assert 0 < flags.outliers.sum() < 9


def test_a_small_population_is_not_examined_and_equal_or_unknown_values_are_no_outliers() -> None:
    assert task_flags(population(ATTEMPTS_MIN - 1), OFFSETS) is None
    equal = np.tile([[2.0, np.nan]], (20, 1))
    flags = task_flags(equal, OFFSETS)
    assert flags is not None
    assert not flags.outliers.any()
    assert np.isnan(flags.medians[1])
    equal[0, 0] = 2.3  # below the minimum spread
    assert not task_flags(equal, OFFSETS).outliers.any()  # type: ignore[union-attr]


def test_the_spread_is_that_of_the_narrowest_half() -> None:
    values = np.random.default_rng(2).normal(0, 1, 20_000)
    assert robust_spread(values) == pytest.approx(1, abs=0.1)
    assert robust_spread(np.concatenate([values, values[:8000] + 50])) < 2
    assert robust_spread(np.zeros(9)) == SPREAD_MIN


def test_the_benchmark_measures_less_false_flags_than_the_usual_radius_and_finds_slow_tasks() -> None:
    module = benchmark("task_outlier_errors")
    rates = module.false_flags("two inputs", 100, 20)
    assert rates["assay"][1] < 0.01 < rates["robust z of each quantity"][1]
    rates = module.detections("3 times slower", 100, 10)
    assert rates["assay"][0] > 0.9
