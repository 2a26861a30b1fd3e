"""Test the choice of the most informative runs: uncertainty, relevance, budget."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.estimation.prediction.choosing import contrast, most_informative
from assay.foundation.errors import SpecificationError
from assay.questions.forecasts.next_runs import budget_of
from effort import examples


def random_deviations(scale: list[float], trees: int = 200, seed: int = 1) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0.0, 1.0, (len(scale), trees))
    deviations: np.ndarray = noise * np.array(scale)[:, None]
    return deviations


def test_the_most_uncertain_candidate_comes_first_and_uncertainty_decreases() -> None:
    choice = most_informative(random_deviations([0.1, 2.0, 0.3, 1.0]), None, runs=4)
    assert choice.order == (1, 3, 2, 0)
    assert list(choice.uncertainty) == sorted(choice.uncertainty, reverse=True)
    assert choice.uncertainty[-1] < 0.1


def test_one_run_informs_about_all_candidates_with_correlated_trees() -> None:
    correlated_rows = random_deviations([1.0])
    deviations = np.concatenate([correlated_rows, correlated_rows, correlated_rows, random_deviations([1.1], seed=2)])
    assert most_informative(deviations, None, runs=2).order[0] in (0, 1, 2)
    assert set(most_informative(deviations, None, runs=2).order) & {3} == {3}


def test_the_target_decides_the_choice() -> None:
    codes = np.array([0, 0, 1, 1, 2])
    deviations = random_deviations([1.0, 1.0, 1.0, 1.0, 9.0])
    assert most_informative(deviations, contrast(codes, [0, 1]), runs=1).order[0] != 4
    assert most_informative(deviations, None, runs=1).order == (4,)


def test_a_budget_of_time_is_kept_and_the_gain_per_second_decides() -> None:
    deviations, expected_s = random_deviations([1.0, 1.2, 1.0]), np.array([10.0, 1000.0, 20.0])
    choice = most_informative(deviations, None, expected_s=expected_s, budget_s=35.0)
    assert set(choice.order) == {0, 2}
    assert most_informative(deviations, None, expected_s=expected_s, budget_s=5.0).order == ()


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.floats(0, 5), min_size=1, max_size=12), st.integers(0, 20))
def test_no_candidate_is_chosen_twice_and_uncertainty_never_increases(scale: list[float], runs: int) -> None:
    choice = most_informative(random_deviations(scale), None, runs=runs)
    assert len(set(choice.order)) == len(choice.order) == min(runs, len(scale))
    assert all(a >= b - 1e-9 for a, b in zip(choice.uncertainty, choice.uncertainty[1:], strict=False))


@pytest.mark.parametrize("text", ["", "0runs", "-3 runs", "soon", "0s"])
def test_an_invalid_budget_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(SpecificationError, match="is not a budget"):
        budget_of(text)


def test_a_budget_is_a_number_of_runs_or_a_time() -> None:
    assert (budget_of("20runs").runs, budget_of("1 run").runs) == (20, 1)
    assert budget_of("2h").seconds == 7200
