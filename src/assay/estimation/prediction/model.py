"""Learn the expected times of configurations from a table of runs, with their uncertainty, also for levels without
runs.

In: runs as a table. Out: a :class:`TimeModel`, frozen arrays. The model learns the logarithm of the median time of each
configuration with stacked trees (:mod:`assay.estimation.prediction.stack`). The configurations are divided into eight
folds; all repetitions of a configuration are in one fold. Intervals come from errors of trees that had not seen the
configuration (cross-conformal prediction and CV+: R. F. Barber et al., Ann. Stat. 49 (2021)). For a cluster or a layout
that was never measured, other trees are used: their features are hardware and devices, not names. For an instance type
that was never measured, a Gaussian process is used (:mod:`assay.estimation.prediction.instance_types`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.statistics import Floats, Groups, Ints, Mask, RunTable, first_rows, groups_by, median_by, usable
from assay.estimation.prediction.calibration import conformal_quantile, left_out_quantile, quantile_by_level
from assay.estimation.prediction.features import (
    TRANSFER_FACTORS,
    Encoding,
    Features,
    distinguishing_factors,
    instance_types_of,
    learned_encoding,
)
from assay.estimation.prediction.forest import COARSE_LEAF, Forest, boost, grow_forest
from assay.estimation.prediction.instance_types import InstanceTypeModel, ProcessInputs, learn_instance_types
from assay.estimation.prediction.stack import TREES, Stack, stacked
from assay.foundation.errors import SpecificationError

SEED = 20_141_105
"""Default seed of all random choices."""
RUNS_MIN = 20
"""Minimum number of valid runs to learn from."""
CONFIGURATIONS_MIN = 8
"""Minimum number of different configurations to learn from."""
LEFT_OUT_MAX = {"cluster": 40, "layout": 10}
"""Maximum number of levels that are left out in turn to estimate the error for a new level."""
LEFT_OUT_PAIRS_MAX = 10
"""Maximum number of pairs of levels that are left out in turn, for each pair of kinds of levels."""
LEVELS_TRIED_MAX = 10
"""Maximum number of left-out levels with which a learner is chosen."""
CHOICE_MIN = 5
"""Minimum number of left-out levels with which a learner is chosen; with fewer, the first learner is used."""
NAMED_CLUSTERS_MAX = 5
"""Maximum number of clusters for which hardware is not a feature: it would only identify each cluster."""
INSTANCE_TYPES_MIN = 2
"""Minimum number of measured instance types from which times on others are predicted."""
LEFT_OUT_TREES = 8
"""Trees of each forest that is grown without a level or a pair."""
LEFT_OUT_ROWS_MAX = 2_000
"""Maximum number of configurations that a forest without a level learns from. At most twice as many test it."""
NAMELESS_ROWS_MAX = 10_000
"""Maximum number of configurations from which the trees without names are grown."""
NEW_PAIRS = (("cluster", "layout"), ("workload", "cluster"), ("workload", "layout"))
"""Kinds of levels whose pair may be new although each level was measured."""


@dataclass(frozen=True, slots=True)
class NewLevelQuantile:
    """Prediction error for a level, or a pair of levels, that was never measured."""

    quantile: float
    """90 % quantile of absolute errors of logarithms; NaN if too few levels were measured."""
    levels: int
    """Number of levels or pairs that were left out in turn."""


@dataclass(frozen=True, slots=True)
class Learner:
    """A way to learn times of a new cluster or layout."""

    ridge: bool
    """Whether a ridge regression comes first, and trees learn its residuals."""
    boosted: bool = False
    leaf: int = 1
    """Smallest leaf of extremely randomised trees."""


CLUSTER_LEARNERS = (Learner(ridge=True), Learner(ridge=False), Learner(ridge=True, boosted=True), Learner(False, True))
"""The first learner is the most accurate on clusters made from a formula (``benchmarks/prediction_worlds.py``)."""
LAYOUT_LEARNERS = (Learner(ridge=False, leaf=COARSE_LEAF),)
"""Learners for a new layout."""


@dataclass(frozen=True, slots=True)
class TransferModel:
    """A model of times on a new cluster or layout: trees whose features exclude names, with or without a ridge
    regression."""

    forest: Forest
    columns: Ints
    """Indices of the features that the trees and the regression use."""
    line: Floats
    """Coefficients of the regression by feature, the constant last; zeros where trees alone were more accurate for
    left-out levels."""

    def logs(self, features: Features) -> Floats:
        """Return the expected logarithms of times."""
        selected_features = features[:, self.columns]
        logs: Floats = (
            self.forest.by_tree(selected_features).mean(axis=1) + selected_features @ self.line[:-1] + self.line[-1]
        )
        return logs


@dataclass(frozen=True, slots=True)
class TimeModel:
    """Everything that a prediction needs, except the table of runs."""

    encoding: Encoding
    stack: Stack
    quantile: float
    """Quantile of absolute errors of logarithms, divided by the usual errors that the stack expects."""
    level_quantiles: Mapping[str, Floats]
    """Kind (workload, cluster, layout) to the quantile of each level in the encoding's order; the last is for no
    level."""
    pairs: Mapping[str, Mask]
    """Name of a pair of kinds, such as ``cluster × layout``, to the pairs of levels that were measured."""
    new_level_quantiles: Mapping[str, NewLevelQuantile]
    """Prediction errors by kind or pair."""
    transfers: Mapping[str, TransferModel]
    instance_types: InstanceTypeModel | None
    """Model for instance types that were never measured; None if fewer than two were measured on several clusters."""
    expected_logs: Floats
    """Expected log times of the configurations, from trees that had not seen them."""
    median_logs: Floats
    """Measured median log times of the configurations."""
    runs: int
    seed: int = SEED


@dataclass(frozen=True, slots=True)
class TrainingData:
    """The valid runs of a table by configuration."""

    table: RunTable
    groups: Groups
    first_runs: Ints
    """Row of the first run of each configuration."""
    logs: Floats
    """The median of each configuration's log times."""

    @classmethod
    def of(cls, table: RunTable) -> TrainingData:
        """Return the valid runs of a table. Raises SpecificationError if there are too few to learn from."""
        valid_runs = table.subset(usable(table))
        if len(valid_runs) < RUNS_MIN:
            raise SpecificationError(
                f"{len(valid_runs)} valid runs are too few to learn from, at least {RUNS_MIN} are needed",
                hint="`assay runs` lists the measured times",
            )
        groups = groups_by(valid_runs, distinguishing_factors(valid_runs))
        if groups.count < CONFIGURATIONS_MIN:
            raise SpecificationError(
                f"{len(valid_runs)} valid runs have only {groups.count} configurations, too few to learn from, "
                f"at least {CONFIGURATIONS_MIN} are needed",
                hint="repetitions show variance, but no effects",
            )
        logs = np.log(valid_runs.values["duration_s"])
        if float(np.ptp(logs)) == 0.0:
            raise SpecificationError(
                f"all {len(valid_runs)} valid runs took exactly {valid_runs.values['duration_s'][0]:g} s",
                hint="check the import: another column may have been read as the duration",
            )
        return cls(valid_runs, groups, first_rows(groups), median_by(logs, groups))

    def configurations(self) -> RunTable:
        """Return a table with one run of each configuration."""
        return self.table.subset(self.first_runs)


def learn(table: RunTable, seed: int = SEED) -> TimeModel:
    """Return the model of a table's valid runs. Raises SpecificationError if there are too few to learn from."""
    data = TrainingData.of(table)
    configurations = data.configurations()
    encoding = learned_encoding(configurations)
    features = encoding.of(configurations)
    codes = {kind: codes_of(configurations, encoding, kind) for kind in TRANSFER_FACTORS if encoding.factor(kind)}
    stack, out_of_fold = stacked(features, data.logs, seed)
    of_row = data.groups.of_row
    errors = np.abs(np.log(data.table.values["duration_s"]) - out_of_fold.logs[of_row])
    scores = errors / out_of_fold.usual_error[of_row]
    sizes = {kind: len(factor.levels) + 1 for kind in codes if (factor := encoding.factor(kind))}
    quantiles = {kind: quantile_by_level(scores, code[of_row], sizes[kind]) for kind, code in codes.items()}
    pairs = {
        pair_named(a, b): _measured_pairs(codes[a], codes[b], (sizes[a], sizes[b]))
        for a, b in NEW_PAIRS
        if a in codes and b in codes
    }
    names = np.array(encoding.names)
    left_out = _LeaveOneOut(features, data.logs, names, encoding.of_cluster(), codes, seed)
    transfers, new_level_quantiles = left_out.transfers(), left_out.pairs()
    return TimeModel(
        encoding=encoding,
        stack=stack,
        quantile=conformal_quantile(scores),
        level_quantiles=quantiles,
        pairs=pairs,
        new_level_quantiles={
            **new_level_quantiles,
            **{kind: new_level_quantile for kind, (_, new_level_quantile) in transfers.items()},
        },
        transfers={kind: transfer for kind, (transfer, _) in transfers.items()},
        instance_types=_instance_types(configurations, encoding, data.logs, seed),
        expected_logs=out_of_fold.logs,
        median_logs=data.logs,
        runs=len(data.table),
        seed=seed,
    )


def _instance_types(configurations: RunTable, encoding: Encoding, logs: Floats, seed: int) -> InstanceTypeModel | None:
    """Return the model for new instance types; None if types are too few, or each has one cluster."""
    types, codes = instance_types_of(configurations)
    rented_rows = np.flatnonzero(codes >= 0)
    if len(types) < INSTANCE_TYPES_MIN or not {"workload", "cluster"} <= set(configurations.columns):
        return None
    if len(types) >= len(np.unique(configurations.columns["cluster"].codes[rented_rows])):
        return None
    return learn_instance_types(ProcessInputs.of(encoding, configurations.subset(rented_rows)), logs[rented_rows], seed)


def pair_named(a: str, b: str) -> str:
    """Return the name of a pair of kinds."""
    return f"{a} × {b}"


def codes_of(table: RunTable, encoding: Encoding, kind: str) -> Ints:
    """Return each row's level number in the encoding; the number after the last if the row has no known level."""
    factor, column = encoding.factor(kind), table.columns[kind]
    assert factor is not None
    number = {level: code for code, level in enumerate(factor.levels)}
    return np.array([*(number.get(level, len(number)) for level in column.levels), len(number)])[column.codes]


def _measured_pairs(a: Ints, b: Ints, shape: tuple[int, int]) -> Mask:
    is_measured = np.zeros(shape, dtype=np.bool_)
    is_measured[a, b] = True
    return is_measured


@dataclass(frozen=True, slots=True)
class _LeaveOneOut:
    """Leave-one-out estimates of the error for a new level or pair of levels."""

    features: Features
    logs: Floats
    names: NDArray[np.str_]
    of_cluster: Mask
    """Which features are properties of clusters."""
    codes: Mapping[str, Ints]
    seed: int

    def transfers(self) -> dict[str, tuple[TransferModel, NewLevelQuantile]]:
        """Return the model and the error for a new cluster, and for a new layout."""
        return {kind: self.transfer(kind, code) for kind, code in self.codes.items() if kind != "workload"}

    def transfer(self, kind: str, codes: Ints) -> tuple[TransferModel, NewLevelQuantile]:
        """Return the model and the error for a new level of a kind; ``codes``: the number of each row's level."""
        columns = np.flatnonzero(self._transferable(kind, codes))
        learners = LAYOUT_LEARNERS if kind == "layout" else CLUSTER_LEARNERS
        levels = _most_frequent(codes, LEFT_OUT_MAX[kind])
        learner = learners[0]
        if len(levels) >= CHOICE_MIN and len(learners) > 1:
            choice_levels = levels[:LEVELS_TRIED_MAX]
            errors = {candidate: self._errors(candidate, codes, choice_levels, columns) for candidate in learners}
            learner = min(learners, key=lambda candidate: float(np.mean([level.mean() for level in errors[candidate]])))
        left_out = self._errors(learner, codes, levels, columns)
        random = np.random.default_rng(self.seed)
        rows = np.sort(random.permutation(len(self.logs))[:NAMELESS_ROWS_MAX])
        transfer = self._fitted(learner, rows, columns, trees=TREES)
        return transfer, NewLevelQuantile(left_out_quantile(left_out), len(left_out))

    def _transferable(self, kind: str, codes: Ints) -> Mask:
        """Return which features a new level of the kind shares with the learned levels."""
        shared: Mask = self.names != kind
        if kind == "cluster" and len(np.unique(codes)) <= NAMED_CLUSTERS_MAX:
            shared &= ~self.of_cluster
        return shared

    def _errors(self, learner: Learner, codes: Ints, levels: Sequence[int], columns: Ints) -> list[Floats]:
        """Return, by level, the absolute errors of its rows when the level is left out."""
        errors = []
        for level in levels:
            training_rows, test_rows = self._split(codes == level)
            transfer = self._fitted(learner, training_rows, columns, trees=LEFT_OUT_TREES)
            errors.append(np.abs(self.logs[test_rows] - transfer.logs(self.features[test_rows])))
        return errors

    def pairs(self) -> dict[str, NewLevelQuantile]:
        """Return the error for pairs of levels that were each measured, but never together."""
        new_level_quantiles = {}
        for a, b in NEW_PAIRS:
            if a not in self.codes or b not in self.codes:
                continue
            pair_codes = self.codes[a] * (int(self.codes[b].max()) + 1) + self.codes[b]
            errors = []
            for pair in _most_frequent(pair_codes, LEFT_OUT_PAIRS_MAX):
                is_pair = pair_codes == pair
                is_only_pair = any(
                    (code[is_pair][0] == code[~is_pair]).sum() == 0 for code in (self.codes[a], self.codes[b])
                )
                if is_only_pair:
                    continue  # without this pair, the level itself would be new
                training_rows, test_rows = self._split(is_pair)
                forest = grow_forest(
                    self.features[training_rows], self.logs[training_rows], None, trees=LEFT_OUT_TREES, seed=self.seed
                )
                errors.append(np.abs(self.logs[test_rows] - forest.by_tree(self.features[test_rows]).mean(axis=1)))
            new_level_quantiles[pair_named(a, b)] = NewLevelQuantile(left_out_quantile(errors), len(errors))
        return new_level_quantiles

    def _split(self, is_left_out: Mask) -> tuple[Ints, Ints]:
        random = np.random.default_rng(self.seed)
        training_rows, test_rows = np.flatnonzero(~is_left_out), np.flatnonzero(is_left_out)
        if len(training_rows) > LEFT_OUT_ROWS_MAX:
            training_rows = random.choice(training_rows, LEFT_OUT_ROWS_MAX, replace=False)
        return training_rows, test_rows[:: max(1, len(test_rows) // LEFT_OUT_ROWS_MAX)]

    def _fitted(self, learner: Learner, rows: Ints, columns: Ints, *, trees: int) -> TransferModel:
        selected_features, logs = self.features[rows][:, columns], self.logs[rows]
        line = _line(selected_features, logs) if learner.ridge else np.zeros(len(columns) + 1)
        residuals = logs - (selected_features @ line[:-1] + line[-1])
        if learner.boosted:
            return TransferModel(boost(selected_features, residuals, trees=6 * trees, seed=self.seed), columns, line)
        return TransferModel(
            grow_forest(selected_features, residuals, None, trees=trees, seed=self.seed, leaf=learner.leaf),
            columns,
            line,
        )


def _most_frequent(codes: Ints, levels_max: int) -> list[int]:
    """Return the most frequent levels that leave enough configurations to learn from when left out."""
    counts = np.bincount(codes)
    order = np.argsort(-counts, kind="stable")[:levels_max]
    return [int(code) for code in order if 0 < counts[code] <= len(codes) - CONFIGURATIONS_MIN]


def _line(features: Features, logs: Floats) -> Floats:
    """Return the coefficients of a ridge regression, the constant last. Unlike trees, a line can extrapolate."""
    values = features.astype(np.float64)
    means, scale = values.mean(axis=0), values.std(axis=0)
    standardised = np.divide(values - means, scale, out=np.zeros_like(values), where=scale > 1e-9)
    gram = standardised.T @ standardised + 0.01 * len(logs) * np.eye(values.shape[1])
    coefficients = np.linalg.solve(gram, standardised.T @ (logs - logs.mean()))
    slope = np.divide(coefficients, scale, out=np.zeros_like(coefficients), where=scale > 1e-9)
    return np.append(slope, logs.mean() - means @ slope)
