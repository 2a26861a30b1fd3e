"""Choose the runs that reduce the uncertainty of an answer most.

In: each tree's estimate for each candidate (the spread of the trees is the uncertainty), and the question as weights of
candidates. Out: candidates, the most informative first, and the uncertainty that remains after each. A chosen run
counts as measured, with the variance of repetitions. The uncertainty of the other candidates is updated by their
covariance over trees, as in a Gaussian process (D. Cohn, Neural Networks 9 (1996); the update is a square-root
ensemble filter, J. S. Whitaker and T. M. Hamill, Mon. Weather Rev. 130 (2002)).
"""

from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import Floats, Ints
from assay.estimation.prediction.features import Features
from assay.estimation.prediction.forest import grow_forest
from assay.estimation.simulator.draws import REPETITION_SIGMA

TREES = 96
"""Trees of the forest whose disagreement is the uncertainty of a candidate."""


@dataclass(frozen=True, slots=True)
class SelectedRuns:
    """Candidates in the order in which to run them."""

    order: tuple[int, ...]
    uncertainty: tuple[float, ...]
    """Standard deviation of the question's log time, before the first run and after each."""


def most_informative(
    by_tree: Floats,
    question: Floats | None,
    *,
    runs: int | None = None,
    expected_s: Floats | None = None,
    budget_s: float | None = None,
) -> SelectedRuns:
    """Return the most informative candidates, at most ``runs`` of them or as many as fit into ``budget_s``.

    ``by_tree``: candidates × trees. ``question``: rows of weights, each for a weighted sum over candidates; None: the
    time of every candidate. With a budget of time, the gain per second decides.
    """
    deviation = by_tree - by_tree.mean(axis=1, keepdims=True)
    count = deviation.shape[1] - 1
    is_unchosen = np.ones(len(deviation), dtype=np.bool_)
    answer = deviation if question is None else question @ deviation
    order: list[int] = []
    uncertainty = [_uncertainty(answer, count)]
    remaining_s = np.inf if budget_s is None else budget_s
    while is_unchosen.any() and (runs is None or len(order) < runs):
        is_affordable = is_unchosen if expected_s is None else is_unchosen & (expected_s <= remaining_s)
        if not is_affordable.any():
            break
        gain = ((deviation @ (answer.T @ answer)) * deviation).sum(axis=1) / (
            (deviation * deviation).sum(axis=1) + count * REPETITION_SIGMA**2
        )
        if budget_s is not None and expected_s is not None:
            gain = gain / expected_s
        best_candidate = int(np.argmax(np.where(is_affordable, gain, -1.0)))
        best_deviation = deviation[best_candidate].copy()
        variance = float(best_deviation @ best_deviation) / count
        shrink = 1.0 / (1.0 + np.sqrt(REPETITION_SIGMA**2 / (variance + REPETITION_SIGMA**2)))
        regression = (deviation @ best_deviation) / count / (variance + REPETITION_SIGMA**2)
        deviation = deviation - shrink * np.outer(regression, best_deviation)
        answer = deviation if question is None else question @ deviation
        is_unchosen[best_candidate] = False
        remaining_s -= 0.0 if expected_s is None else float(expected_s[best_candidate])
        order.append(best_candidate)
        uncertainty.append(_uncertainty(answer, count))
    return SelectedRuns(tuple(order), tuple(uncertainty))


def _uncertainty(deviation: Floats, count: int) -> float:
    return float(np.sqrt((deviation * deviation).sum() / count / len(deviation)))


def contrast(codes: Ints, levels: list[int]) -> Floats:
    """Return the weights that compare levels: the mean of each level minus the mean of all levels."""
    means = np.stack([(codes == level) / max(1, np.count_nonzero(codes == level)) for level in levels])
    weights: Floats = means - means.mean(axis=0)
    return weights


def estimates_by_tree(features: Features, logs: Floats, candidates: Features, seed: int) -> Floats:
    """Return each tree's estimate for each candidate, from trees grown on few measured configurations."""
    return grow_forest(features, logs, None, trees=TREES, seed=seed).by_tree(candidates)
