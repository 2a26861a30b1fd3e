"""Test the stacked trees: equal to scikit-learn's answers, best weight chosen, out-of-fold errors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from assay.estimation.prediction.features import learned_encoding
from assay.estimation.prediction.forest import _histogram_tree, boost_robustly, join_forests
from assay.estimation.prediction.model import TrainingData
from assay.estimation.prediction.stack import FOLDS, fold_of, out_of_fold, stacked
from learning import learning_table


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    learning = TrainingData.of(learning_table())
    configurations = learning.configurations()
    return learned_encoding(configurations).of(configurations), learning.logs


def test_boosted_trees_as_arrays_answer_as_the_library_does() -> None:
    random = np.random.default_rng(5)
    features = random.normal(size=(300, 6)).astype(np.float32)
    logs = features[:, 0] * 2 + np.abs(features[:, 1])
    learned = HistGradientBoostingRegressor(max_iter=20, early_stopping=False, random_state=1).fit(features, logs)
    forest = join_forests([_histogram_tree(step[0].nodes) for step in learned._predictors])
    assert forest.fault(6) is None
    by_tree = forest.by_tree(features).sum(axis=1) + float(learned._baseline_prediction.item())
    assert by_tree == pytest.approx(learned.predict(features), abs=1e-5)


def test_a_run_gone_wrong_hardly_moves_boosted_trees(rows: tuple[np.ndarray, np.ndarray]) -> None:
    features, logs = rows
    wrong = logs.copy()
    wrong[7] += np.log(40.0)
    others = np.arange(len(logs)) != 7
    sound, moved = (boost_robustly(features, of, 3).by_set(features)[others, 0] for of in (logs, wrong))
    assert np.abs(moved - sound).mean() < 0.02


@pytest.mark.slow
def test_every_fold_has_its_trees_and_the_weight_is_the_best_that_was_tried(
    rows: tuple[np.ndarray, np.ndarray],
) -> None:
    features, logs = rows
    stack, estimates = stacked(features, logs, 1)
    trees = out_of_fold(features, logs, 1)
    assert len(stack.boosting.starts) == FOLDS == len(np.unique(fold_of(len(logs), 1)))
    error = np.abs(logs - estimates.logs)
    assert error.mean() <= np.abs(logs - trees.median).mean() + 1e-12
    assert np.corrcoef(np.log(error + 0.01), np.log(estimates.usual_error))[0, 1] > 0.0
    again = stack.estimates(features)
    assert np.abs(again.logs - logs).mean() < error.mean()  # these trees have seen the rows
