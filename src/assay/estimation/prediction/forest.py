"""Extremely randomised trees and boosted trees as flat arrays: grown by scikit-learn, evaluated without it.

In: features (one row per configuration) and logarithms of times. Out: :class:`Forest` and :class:`Boosting`, plain
arrays. A model file stores only these arrays, so loading it executes no code, and a prediction does not import
scikit-learn. P. Geurts, D. Ernst, L. Wehenkel, Machine Learning 63 (2006); J. H. Friedman, Ann. Stat. 29
(2001).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.analysis.statistics import Codes, Floats

Features = NDArray[np.float32]
FEATURE_SHARE = 0.5
"""Share of the features that are tried at each split."""
COARSE_LEAF = 5
"""Smallest number of rows in a leaf of a coarse tree."""
BOOSTED_TREES = 120
"""Number of boosted trees, each grown on the errors of those before it."""
BOOSTED_LEAVES = 31
"""Maximum number of leaves of a boosted tree."""
BOOSTED_LEAF_MIN = 3
"""Smallest number of configurations in a leaf of a boosted tree."""
LEARNING_RATE = 0.15
"""Share of its estimate that each boosted tree contributes."""
BOOSTED_ROWS_MAX = 8_000
"""Maximum number of configurations, sampled at random, from which boosted trees are grown."""
DEPTH_MAX = 400
"""Maximum number of nodes from a tree's root to a leaf. It bounds the evaluation of trees from a file."""
_ESTIMATES_MAX = 400_000
"""Maximum number of estimates, rows × trees, that are evaluated together: their nodes fit into the cache of a core."""


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees in consecutive nodes. The left child of a node is the next node; the ``right`` of a leaf is the leaf."""

    roots: Codes
    right: Codes
    feature: NDArray[np.int16]
    number: NDArray[np.float32]
    """The threshold of a split; the value of a leaf."""

    @property
    def trees(self) -> int:
        """Number of trees."""
        return len(self.roots)

    def by_tree(self, features: Features) -> Floats:
        """Return the estimate of each tree for each row: rows × trees."""
        step = max(1, _ESTIMATES_MAX // max(1, self.trees))
        parts = [self._walk(features[start : start + step]) for start in range(0, len(features), step)]
        return np.concatenate(parts) if parts else np.zeros((0, self.trees))

    def _walk(self, features: Features) -> Floats:
        """Follow each row from the roots to the leaves, all trees at once. ``take`` is faster than an index array."""
        values, width = np.ascontiguousarray(features).ravel(), features.shape[1]
        node = np.tile(self.roots.astype(np.int64), len(features))
        active_positions, nodes = np.arange(len(node)), node
        row_start = np.repeat(np.arange(len(features)) * width, self.trees)
        for _ in range(DEPTH_MAX):
            right = self.right.take(nodes)
            inner_rows = np.flatnonzero(right != nodes)
            if not len(inner_rows):
                break
            active_positions, row_start = active_positions.take(inner_rows), row_start.take(inner_rows)
            nodes, right = nodes.take(inner_rows), right.take(inner_rows)
            goes_left = values.take(row_start + self.feature.take(nodes)) <= self.number.take(nodes)
            nodes = np.where(goes_left, nodes + 1, right)
            node[active_positions] = nodes
        return self.number.take(node).astype(np.float64).reshape(len(features), self.trees)

    def fault(self, width: int) -> str | None:
        """Return why the arrays are not valid trees for rows of ``width`` features; None if they are."""
        size = len(self.right)
        if not (len(self.feature) == len(self.number) == size) or not len(self.roots) or not size:
            return "its arrays have different lengths"
        nodes = np.arange(size)
        if ((self.right < nodes) | (self.right >= size)).any() or ((self.roots < 0) | (self.roots >= size)).any():
            return "a branch leads out of its tree"
        is_inner = self.right > nodes
        if (is_inner & (nodes == size - 1)).any() or ((self.feature < 0) | (self.feature >= width))[is_inner].any():
            return "a split uses a feature that does not exist"
        return None if np.isfinite(self.number).all() else "it contains a number that is not finite"


@dataclass(frozen=True, slots=True)
class Boosting:
    """Sets of boosted trees, each grown from different rows; the sum over the trees of a set is an estimate."""

    forest: Forest
    """The trees of all sets, one set after another; every set has the same number of trees."""
    starts: Floats
    """By set, the constant to which the trees' values are added."""

    def by_set(self, features: Features) -> Floats:
        """Return the estimate of each set for each row: rows × sets."""
        step = max(1, _ESTIMATES_MAX // self.forest.trees)
        parts = [self._sums(features[start : start + step]) for start in range(0, len(features), step)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.starts)))

    def _sums(self, features: Features) -> Floats:
        by_tree = self.forest.by_tree(features).reshape(len(features), len(self.starts), -1)
        sums: Floats = by_tree.sum(axis=2) + self.starts
        return sums


def grow_forest(
    features: Features, logs: Floats, weights: Floats | None, *, trees: int, seed: int, leaf: int = 1
) -> Forest:
    """Return a forest that estimates ``logs`` from ``features``; ``weights``: of the rows.

    ``leaf``: smallest number of rows in a leaf. With :data:`COARSE_LEAF` or more, every feature is tried at each split.
    """
    from sklearn.ensemble import ExtraTreesRegressor  # imported here: it takes a second, and predictions do not need it

    estimator = ExtraTreesRegressor(
        trees,
        max_features=1.0 if leaf >= COARSE_LEAF else FEATURE_SHARE,
        min_samples_leaf=leaf if len(logs) <= 10_000 else max(leaf, 3),
        max_depth=DEPTH_MAX - 1,
        random_state=seed,
        n_jobs=None if len(logs) > 500 else 1,  # None: as configured by the caller in joblib
    ).fit(features, logs, sample_weight=weights)
    return _flat([tree.tree_ for tree in estimator.estimators_], 0.0, 1.0)


def boost(features: Features, logs: Floats, *, trees: int, seed: int) -> Forest:
    """Return shallow boosted trees, each grown on the residuals of those before it (J. H. Friedman, Ann. Stat. 29
    (2001)). Their mean estimates ``logs``; their spread does not measure uncertainty.
    """
    from sklearn.ensemble import GradientBoostingRegressor

    estimator = GradientBoostingRegressor(
        n_estimators=trees, max_depth=3, subsample=0.5, max_features=0.3, random_state=seed
    ).fit(features, logs)
    grown_trees = [tree.tree_ for tree in estimator.estimators_[:, 0]]
    return _flat(grown_trees, float(logs.mean()), estimator.learning_rate * len(grown_trees))


def boost_robustly(features: Features, logs: Floats, seed: int) -> Boosting:
    """Return boosted trees that minimise the absolute error of ``logs``, so that outliers hardly move them."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    rows = np.sort(np.random.default_rng(seed).permutation(len(logs))[:BOOSTED_ROWS_MAX])
    learner = HistGradientBoostingRegressor(
        loss="absolute_error",
        learning_rate=LEARNING_RATE,
        max_iter=BOOSTED_TREES,
        max_leaf_nodes=BOOSTED_LEAVES,
        min_samples_leaf=BOOSTED_LEAF_MIN,
        max_features=FEATURE_SHARE,
        early_stopping=False,
        random_state=seed,
    )
    with threadpool_limits(1):  # on tables this small, more threads are slower
        estimator = learner.fit(features[rows], logs[rows])
    # scikit-learn has no public access to the nodes of these trees
    trees = [_histogram_tree(step[0].nodes) for step in estimator._predictors]  # noqa: SLF001
    start = float(estimator._baseline_prediction.item())  # noqa: SLF001
    return Boosting(join_forests(trees), np.array([start]))


def _histogram_tree(nodes: NDArray[Any]) -> Forest:
    """Return a tree of scikit-learn's histogram boosting, reordered: a left child follows its parent."""
    order, right_of, pending_nodes = list[int](), dict[int, int](), [(0, -1)]
    while pending_nodes:
        node, parent = pending_nodes.pop()
        if parent >= 0:
            right_of[parent] = len(order)
        position = len(order)
        order.append(node)
        if not nodes["is_leaf"][node]:
            pending_nodes += [(int(nodes["right"][node]), position), (int(nodes["left"][node]), -1)]
    ordered_nodes = nodes[order]
    leaf = ordered_nodes["is_leaf"].astype(np.bool_)
    right_children = np.array([right_of.get(position, position) for position in range(len(order))], dtype=np.int32)
    number = np.where(leaf, ordered_nodes["value"], _rounded_down(ordered_nodes["num_threshold"])).astype(np.float32)
    feature = np.where(leaf, 0, ordered_nodes["feature_idx"]).astype(np.int16)
    return Forest(np.zeros(1, dtype=np.int32), right_children, feature, number)


def _rounded_down(thresholds: Floats) -> Floats:
    """Return thresholds in single precision that split single-precision features at the same point."""
    single = thresholds.astype(np.float32)
    down: Floats = np.where(single > thresholds, np.nextafter(single, np.float32(-np.inf)), single).astype(np.float64)
    return down


def _flat(trees: Sequence[Any], constant: float, factor: float) -> Forest:
    """Return scikit-learn's trees as arrays; a leaf's value is ``constant`` plus ``factor`` times the tree's value."""
    starts = np.cumsum([0, *(tree.node_count for tree in trees)])
    right, feature, number = [], [], []
    for tree, start in zip(trees, starts[:-1], strict=True):
        leaf = tree.children_left < 0
        nodes = np.arange(tree.node_count)
        right.append(np.where(leaf, nodes, tree.children_right) + start)
        feature.append(np.where(leaf, 0, tree.feature))
        number.append(np.where(leaf, constant + factor * tree.value[:, 0, 0], _rounded_down(tree.threshold)))
    return Forest(
        starts[:-1].astype(np.int32),
        np.concatenate(right).astype(np.int32),
        np.concatenate(feature).astype(np.int16),
        np.concatenate(number).astype(np.float32),
    )


def join_forests(forests: Sequence[Forest]) -> Forest:
    """Return one forest of all the trees."""
    starts = np.cumsum([0, *(len(forest.right) for forest in forests)])[:-1]
    return Forest(
        np.concatenate([forest.roots + start for forest, start in zip(forests, starts, strict=True)]).astype(np.int32),
        np.concatenate([forest.right + start for forest, start in zip(forests, starts, strict=True)]).astype(np.int32),
        np.concatenate([forest.feature for forest in forests]),
        np.concatenate([forest.number for forest in forests]),
    )


def join_boosting(sets: Sequence[Boosting]) -> Boosting:
    """Return all sets as one value."""
    return Boosting(join_forests([boosting.forest for boosting in sets]), np.concatenate([b.starts for b in sets]))


ARRAYS = tuple(field.name for field in fields(Forest))
