"""Extremely randomised trees as flat arrays: grown by scikit-learn, asked without it.

In: features (a row a configuration) and logarithms of times. Out: :class:`Forest`, six arrays that are written and read
as they are, so that nothing of a model file is ever executed; one prediction takes well under a millisecond, and asking
needs no import of scikit-learn. P. Geurts, D. Ernst, L. Wehenkel, Machine Learning 63 (2006).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.statistics import Codes, Floats

Features = NDArray[np.float32]
FEATURE_SHARE = 0.5
"""Of the features, how many are tried at each split."""
COARSE_LEAF = 5
DEPTH_MAX = 400
_AT_ONCE = 4_000_000
"""Rows × trees that are walked together: bounds the memory."""


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees one after another. A node's left child is the next node; a leaf's ``right`` is itself."""

    roots: Codes
    right: Codes
    feature: NDArray[np.int16]
    number: NDArray[np.float32]
    """The threshold of a split; the value of a leaf."""

    @property
    def trees(self) -> int:
        """How many there are."""
        return len(self.roots)

    def each(self, features: Features) -> Floats:
        """Return what each tree says of each row: rows × trees."""
        step = max(1, _AT_ONCE // max(1, self.trees))
        parts = [self._walk(features[start : start + step]) for start in range(0, len(features), step)]
        return np.concatenate(parts) if parts else np.zeros((0, self.trees))

    def _walk(self, features: Features) -> Floats:
        node = np.broadcast_to(self.roots, (len(features), self.trees)).astype(np.int64).ravel()
        row = np.repeat(np.arange(len(features)), self.trees)
        going = np.arange(len(node))
        for _ in range(DEPTH_MAX):
            at = node[going]
            inner = self.right[at] != at
            going, at = going[inner], at[inner]
            if not len(going):
                break
            left = features[row[going], self.feature[at]] <= self.number[at]
            node[going] = np.where(left, at + 1, self.right[at])
        return self.number[node].astype(np.float64).reshape(len(features), self.trees)

    def fault(self, width: int) -> str | None:
        """Return what can't be right about the arrays for rows of ``width`` features; None when they can be walked."""
        size = len(self.right)
        if not (len(self.feature) == len(self.number) == size) or not len(self.roots) or not size:
            return "its arrays have different lengths"
        here = np.arange(size)
        if ((self.right < here) | (self.right >= size)).any() or ((self.roots < 0) | (self.roots >= size)).any():
            return "a branch leads out of its tree"
        inner = self.right > here
        if (inner & (here == size - 1)).any() or ((self.feature < 0) | (self.feature >= width))[inner].any():
            return "a split asks for a feature that there is not"
        return None if np.isfinite(self.number).all() else "a number in it is none"


def grown(
    features: Features, logs: Floats, weights: Floats | None, *, trees: int, seed: int, coarse: bool = False
) -> Forest:
    """Return a forest that says ``logs`` of ``features``; rows count by their weights. ``coarse``: it tells no single
    configuration apart, which is what carries over to others.
    """
    from sklearn.ensemble import ExtraTreesRegressor  # imported here: it takes a second, and asking does not need it

    learned = ExtraTreesRegressor(
        trees,
        max_features=1.0 if coarse else FEATURE_SHARE,
        min_samples_leaf=COARSE_LEAF if coarse else 1 if len(logs) <= 10_000 else 3,
        max_depth=DEPTH_MAX - 1,
        random_state=seed,
        n_jobs=None if len(logs) > 500 else 1,  # None: as many as the caller of joblib says
    ).fit(features, logs, sample_weight=weights)
    return _flat([tree.tree_ for tree in learned.estimators_], 0.0, 1.0)


def boosted(features: Features, logs: Floats, *, trees: int, seed: int) -> Forest:
    """Return the same of shallow trees that were each grown on what those before it missed (J. H. Friedman, Ann. Stat.
    29 (2001)): their mean says ``logs``, how they disagree says nothing.
    """
    from sklearn.ensemble import GradientBoostingRegressor

    learned = GradientBoostingRegressor(
        n_estimators=trees, max_depth=3, subsample=0.5, max_features=0.3, random_state=seed
    ).fit(features, logs)
    grown_ones = [tree.tree_ for tree in learned.estimators_[:, 0]]
    return _flat(grown_ones, float(logs.mean()), learned.learning_rate * len(grown_ones))


def _flat(trees: Sequence[Any], constant: float, factor: float) -> Forest:
    """Return scikit-learn's trees as arrays; a leaf's value is ``constant`` and ``factor`` times its own."""
    starts = np.cumsum([0, *(parts.node_count for parts in trees)])
    right, feature, number = [], [], []
    for parts, start in zip(trees, starts[:-1], strict=True):
        leaf = parts.children_left < 0
        here = np.arange(parts.node_count)
        right.append(np.where(leaf, here, parts.children_right) + start)
        feature.append(np.where(leaf, 0, parts.feature))
        number.append(np.where(leaf, constant + factor * parts.value[:, 0, 0], parts.threshold))
    return Forest(
        starts[:-1].astype(np.int32),
        np.concatenate(right).astype(np.int32),
        np.concatenate(feature).astype(np.int16),
        np.concatenate(number).astype(np.float32),
    )


def joined(forests: list[Forest]) -> Forest:
    """Return one forest of all the trees."""
    starts = np.cumsum([0, *(len(forest.right) for forest in forests)])[:-1]
    return Forest(
        np.concatenate([forest.roots + start for forest, start in zip(forests, starts, strict=True)]).astype(np.int32),
        np.concatenate([forest.right + start for forest, start in zip(forests, starts, strict=True)]).astype(np.int32),
        np.concatenate([forest.feature for forest in forests]),
        np.concatenate([forest.number for forest in forests]),
    )


ARRAYS = tuple(field.name for field in fields(Forest))
