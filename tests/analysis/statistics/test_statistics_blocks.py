"""Test comparisons in incomplete blocks, means over heterogeneous units, and robust means."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.analysis.statistics.blocks import fit_blocks
from assay.analysis.statistics.random_effects import over_units, trimmed_mean

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def test_two_treatments_have_student_t_intervals_of_the_differences_within_blocks() -> None:
    values = np.random.default_rng(1).normal(0, 1, (7, 2))
    fit = fit_blocks(np.repeat(np.arange(7), 2), np.tile([0, 1], 7), values.ravel(), 2)
    contrasts = fit.contrasts(np.array([0]), np.array([1]))
    differences = values[:, 0] - values[:, 1]
    assert contrasts.mean[0] == pytest.approx(differences.mean(), abs=1e-14)
    assert contrasts.error[0] == pytest.approx(differences.std(ddof=1) / np.sqrt(7), abs=1e-14)
    assert contrasts.degrees[0] == pytest.approx(6)


def test_levels_without_a_common_block_are_compared_through_a_third_level() -> None:
    """Blocks AB: 3 and 5; AC: 10. A - B is 4 in the first two, A - C 10. So B - C is 6, though no block has both."""
    block, treatment = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 2])
    fit = fit_blocks(block, treatment, np.array([3.0, 0, 5, 0, 10, 0]), 4)
    contrasts = fit.contrasts(np.array([0, 0, 1, 0]), np.array([1, 2, 2, 3]))
    assert contrasts.mean[:3] == pytest.approx([4.0, 10.0, 6.0])
    assert contrasts.error[0] == pytest.approx(1.0)  # standard deviation of 3 and 5 over the root of 2
    assert np.isnan(contrasts.error[1:3]).all()  # one block alone has C
    assert np.isnan(contrasts.mean[3])  # and none has D
    assert len(set(fit.part[:3].tolist())) == 1
    assert fit.part[3] not in fit.part[:3]


def _by_definition(block: Ints, treatment: Ints, value: Array, pair: tuple[int, int]) -> tuple[float, float, float]:
    """Bell and McCaffrey's estimator by whole matrices."""
    count, blocks, treatments = len(value), int(block.max()) + 1, int(treatment.max()) + 1
    design, of_block = np.zeros((count, treatments)), np.zeros((count, blocks))
    design[np.arange(count), treatment] = of_block[np.arange(count), block] = 1
    within = np.eye(count) - of_block @ np.linalg.pinv(of_block)
    x = within @ design
    inverse = np.linalg.pinv(x.T @ x)
    effect = inverse @ x.T @ value
    contrast = np.zeros(treatments)
    contrast[list(pair)] = 1, -1
    residual, annihilator = within @ (value - x @ effect), within - x @ inverse @ x.T
    variance, columns = 0.0, []
    for block_index in range(blocks):
        rows = block == block_index
        share, axes = np.linalg.eigh(np.eye(int(rows.sum())) - x[rows] @ inverse @ x[rows].T)
        projection = axes @ np.diag(share**-0.5) @ axes.T @ x[rows] @ inverse @ contrast
        variance += float(projection @ residual[rows]) ** 2
        columns.append(annihilator[:, rows] @ projection)
    gram = np.array(columns) @ np.array(columns).T
    return float(contrast @ effect), variance**0.5, float(np.trace(gram) ** 2 / np.trace(gram @ gram))


def test_errors_and_degrees_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(3)
    chosen = [rng.choice(5, rng.integers(2, 5), replace=False) for _ in range(12)]
    block, treatment = np.repeat(np.arange(12), [len(c) for c in chosen]), np.concatenate(chosen)
    value = rng.normal(0, 1, len(block))
    pairs = [(0, 4), (1, 3), (2, 1)]
    contrasts = fit_blocks(block, treatment, value, 5).contrasts(*np.array(pairs).T)
    for at, pair in enumerate(pairs):
        mean, error, degrees = _by_definition(block, treatment, value, pair)
        assert (contrasts.mean[at], contrasts.error[at], contrasts.degrees[at]) == pytest.approx((mean, error, degrees))


def test_random_effects_equal_those_computed_by_hand() -> None:
    """Means 1, 2, 3 without error: the spread between units is the only variance."""
    mean = over_units(np.array([1.0, 2.0, 3.0]), np.zeros(3))
    assert (mean.mean, mean.error, mean.degrees, mean.between_units) == pytest.approx((2.0, 1 / np.sqrt(3), 2.0, 1.0))
    sure = over_units(np.array([1.0, 1.1]), np.array([4.0, 4.0]))  # they differ by less than their own errors
    assert (sure.between_units, sure.mean, sure.error) == pytest.approx((0.0, 1.05, np.sqrt(2)))
    with pytest.raises(ValueError, match="at least two units"):
        over_units(np.array([1.0]), np.array([1.0]))


def test_units_far_apart_get_the_variance_that_explains_it() -> None:
    """Paule and Mandel: with it, the weighted squares add up to their degrees of freedom."""
    means, variances = np.array([0.1, 0.9, 0.4, 1.6]), np.array([0.01, 0.04, 0.02, 0.3])
    mean = over_units(means, variances)
    weights = 1 / (mean.between_units**2 + variances)
    assert float((weights * (means - mean.mean) ** 2).sum()) == pytest.approx(3.0, abs=1e-6)


def test_one_outlier_moves_the_mean_and_not_the_trimmed_mean() -> None:
    values = np.array([0.0, 0.01, -0.01, 0.02, -0.02, 0.0, 0.01, -0.01, 0.0, 1.5])
    mean = trimmed_mean(values)
    assert values.mean() == pytest.approx(0.15)
    assert abs(mean.mean) < 0.01
    assert mean.degrees == 5
    assert mean.mean + 3 * mean.error < 0.1
    with pytest.raises(ValueError, match="too few"):
        trimmed_mean(values[:4])
