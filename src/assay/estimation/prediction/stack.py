"""Estimate times with two kinds of trees, stacked, and the usual error of the estimate for each configuration.

In: features (one row per configuration) and logarithms of times. Out: a :class:`Stack`, and from :func:`stacked` also
the estimates of each row by trees that had not seen it. An estimate is the weighted mean of two medians: of extremely
randomised trees, and of boosted trees, with one set in each fold (stacked generalisation: D. H. Wolpert, Neural
Networks 5 (1992)). The weight minimises the mean absolute error of the out-of-fold estimates.

The usual error is learned too, out of fold again, from the features, the trees' spread and the disagreement of the two
kinds of trees. Errors divided by it are the scores of locally weighted conformal prediction (J. Lei et al., J. Am.
Stat. Assoc. 113 (2018)): intervals are narrow where the model is accurate, and wide where it is not.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from assay.analysis.statistics import Floats, Ints
from assay.estimation.prediction.forest import (
    COARSE_LEAF,
    Boosting,
    Features,
    Forest,
    boost_robustly,
    grow_forest,
    join_boosting,
    join_forests,
)

FOLDS: Final = 8
"""Number of parts of the configurations. Each part is predicted from the others."""
TREES: Final = 24
"""Extremely randomised trees in each fold."""
SCALE_LEAF: Final = 2 * COARSE_LEAF
"""Smallest number of rows in a leaf of the trees that learn the usual error."""
SPREAD_MIN: Final = 0.02
"""Minimum spread of the trees' log times. Times of one configuration vary by as much, so a smaller spread is no
evidence of a better estimate."""
ERROR_OFFSET: Final = 0.01
"""Constant that is added to each absolute error before the usual error is learned, so that the logarithm is finite."""
SCALE_ROWS_MAX: Final = 10_000
"""Maximum number of configurations in each fold, sampled at random, from which the usual error is learned."""
SHARES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Weights of the boosted trees that are tried."""
SCALE_FEATURES: Final = 2
"""Features that only the usual error is learned from: the spread and the disagreement of the trees."""


def tree_spread(by_tree: Floats) -> Floats:
    """Return the standard deviation of the trees' estimates by row; never below :data:`SPREAD_MIN`."""
    spread: Floats = np.sqrt(by_tree.var(axis=1) + SPREAD_MIN**2)
    return spread


@dataclass(frozen=True, slots=True)
class Folds:
    """A forest in which each tree has not seen one part of the rows, and the estimates of that part."""

    forest: Forest
    expected: Floats
    """The mean of the trees that have not seen the row."""
    median: Floats
    """The median of these trees, which outliers hardly move."""
    spread: Floats


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimates by row."""

    logs: Floats
    """Expected logarithms of times."""
    usual_error: Floats
    """Expected absolute errors of ``logs``."""


@dataclass(frozen=True, slots=True)
class Stack:
    """The trees of all folds."""

    forest: Forest
    boosting: Boosting
    share: float
    """Weight of the boosted trees."""
    scale: Forest
    """Trees that estimate the logarithm of the absolute error."""

    def estimates(self, features: Features) -> Estimates:
        """Return the estimates of all trees."""
        by_tree, by_set = self.forest.by_tree(features), np.median(self.boosting.by_set(features), axis=1)
        trees = np.median(by_tree, axis=1)
        scale = self.scale.by_tree(_with_disagreement(features, tree_spread(by_tree), by_set - trees))
        return Estimates((1 - self.share) * trees + self.share * by_set, np.exp(scale.mean(axis=1)))


def fold_of(count: int, seed: int) -> Ints:
    """Return the fold of each row, at random."""
    order = np.random.default_rng(seed).permutation(count)
    return np.argsort(order) % min(FOLDS, count)


def out_of_fold(features: Features, logs: Floats, seed: int) -> Folds:
    """Return the forest of all folds, and the estimates of each row by the trees that have not seen it."""
    fold = fold_of(len(features), seed)
    trees = max(8, min(TREES, TREES * 8_000 // len(features)))
    expected, median, spread = np.empty((3, len(features)))
    forests = []
    for number in range(fold.max() + 1):
        training_rows, test_rows = fold != number, fold == number
        forest = grow_forest(features[training_rows], logs[training_rows], None, trees=trees, seed=seed + number)
        by_tree = forest.by_tree(features[test_rows])
        expected[test_rows], median[test_rows], spread[test_rows] = (
            by_tree.mean(axis=1),
            np.median(by_tree, axis=1),
            tree_spread(by_tree),
        )
        forests.append(forest)
    return Folds(join_forests(forests), expected, median, spread)


def stacked(features: Features, logs: Floats, seed: int) -> tuple[Stack, Estimates]:
    """Return the stack of all folds, and the estimates of each row by the trees that have not seen it."""
    folds = out_of_fold(features, logs, seed)
    fold = fold_of(len(features), seed)
    boosted_logs = np.empty(len(features))
    sets = []
    for number in range(fold.max() + 1):
        training_rows, test_rows = fold != number, fold == number
        sets.append(boost_robustly(features[training_rows], logs[training_rows], seed + number))
        boosted_logs[test_rows] = sets[-1].by_set(features[test_rows])[:, 0]
    blends = {share: (1 - share) * folds.median + share * boosted_logs for share in SHARES}
    share = min(SHARES, key=lambda share: float(np.abs(logs - blends[share]).mean()))
    expected = blends[share]
    scale_features = _with_disagreement(features, folds.spread, boosted_logs - folds.median)
    log_errors = np.log(np.abs(logs - expected) + ERROR_OFFSET)
    usual_error = np.empty(len(features))
    scales = []
    for number in range(fold.max() + 1):
        test_rows, random = fold == number, np.random.default_rng(seed + number)
        training_rows = np.sort(random.permutation(np.flatnonzero(~test_rows))[:SCALE_ROWS_MAX])
        scales.append(
            grow_forest(
                scale_features[training_rows],
                log_errors[training_rows],
                None,
                trees=TREES,
                seed=seed + number,
                leaf=SCALE_LEAF,
            )
        )
        usual_error[test_rows] = np.exp(scales[-1].by_tree(scale_features[test_rows]).mean(axis=1))
    return Stack(folds.forest, join_boosting(sets), share, join_forests(scales)), Estimates(expected, usual_error)


def _with_disagreement(features: Features, spread: Floats, disagreement: Floats) -> Features:
    columns = np.column_stack([np.log(spread), np.abs(disagreement)])
    return np.concatenate([features, columns.astype(np.float32)], axis=1)
