"""What is learned from a table of runs: expected times for configurations, how sure, and what is outside.

In: runs as a table. Out: a :class:`Model`, frozen arrays. Learned are logarithms of times, of the median of each
configuration's repetitions, by extremely randomised trees; eight-fold by configuration, so that repetitions never stand
on both sides and every error that an interval rests on is of a configuration that its trees had not seen (cross-
conformal prediction and CV+: R. F. Barber et al., Ann. Stat. 49 (2021)). For a cluster or a layout that nobody measured
other trees answer, which do not know these names but hardware and devices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import SpecificationError
from assay.predict.calibration import conformal_quantile, left_out_quantile, quantile_by_level
from assay.predict.features import KINDS, Encoding, Features, learned_encoding, told_apart_by
from assay.predict.forest import Forest, boosted, grown, joined
from assay.statistics import Floats, Groups, Ints, Mask, RunTable, first_rows, groups_by, median_by, usable

SEED = 20_141_105
FOLDS = 8
TREES = 24
"""In each fold; all of them answer together."""
RUNS_MIN = 20
CONFIGURATIONS_MIN = 8
LEFT_OUT_MAX = 10
"""Of how many levels, or pairs of levels, each is left out in turn to see what a new one would come to."""
LINED_MIN = 5
"""Fewer left-out levels than this can't tell whether a line beyond what was measured helps."""
LEFT_OUT_TREES = 8
LEFT_OUT_ROWS_MAX = 2_000
NAMELESS_ROWS_MAX = 10_000
"""The trees that know no names are grown from at most so many configurations."""
SPREAD_MIN = 0.02
"""Trees that agree more closely than this are not surer: times of the same thing scatter by as much."""
NEW_PAIRS = (("cluster", "layout"), ("workload", "cluster"), ("workload", "layout"))


@dataclass(frozen=True, slots=True)
class Unseen:
    """What answers for a level, or a pair of levels, that nobody measured."""

    quantile: float
    """Of absolute errors of logarithms; NaN when too few were measured to tell."""
    levels: int
    """So many were left out in turn."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """What answers where a cluster or a layout is new: trees that do not know the names, on a line or not."""

    forest: Forest
    columns: Ints
    """The features that they know."""
    line: Floats
    """Coefficients by feature, the constant last; zeros where trees alone were the better on levels left out."""

    def logs(self, features: Features) -> Floats:
        """Return the expected logarithms of times."""
        known = features[:, self.columns]
        found: Floats = self.forest.each(known).mean(axis=1) + known @ self.line[:-1] + self.line[-1]
        return found


@dataclass(frozen=True, slots=True)
class Model:
    """Everything that a prediction needs beside the table itself."""

    encoding: Encoding
    forest: Forest
    quantile: float
    own: Mapping[str, Floats]
    """Kind (workload, cluster, layout) to the quantile of each of its levels, in the encoding's order, and of none."""
    pairs: Mapping[str, Mask]
    """``cluster × layout`` and the like: which pairs were measured."""
    unseen: Mapping[str, Unseen]
    """By kind or pair."""
    transfers: Mapping[str, Transfer]
    configurations: Floats
    """Their expected log times, from trees that had not seen them; in the order of :func:`configurations_of`."""
    spreads: Floats
    """Of the same trees."""
    medians: Floats
    """Their measured ones."""
    runs: int
    seed: int = SEED


def spread_of(said: Floats) -> Floats:
    """Return the standard deviation of what trees say, by row; never below :data:`SPREAD_MIN`."""
    found: Floats = np.sqrt(said.var(axis=1) + SPREAD_MIN**2)
    return found


@dataclass(frozen=True, slots=True)
class Learning:
    """The valid runs of a table as a learner sees them: a row a configuration."""

    table: RunTable
    groups: Groups
    first: Ints
    logs: Floats
    """The median of each configuration's log times."""

    @classmethod
    def of(cls, table: RunTable) -> Learning:
        """Return the usable runs of a table. SpecificationError when there is too little to learn from."""
        taken = table.taken(usable(table))
        if len(taken) < RUNS_MIN:
            raise SpecificationError(
                f"{len(taken)} valid runs are too few to learn from",
                hint=f"at least {RUNS_MIN} are needed; measure more, or ask with fewer conditions",
            )
        groups = groups_by(taken, told_apart_by(taken))
        if groups.count < CONFIGURATIONS_MIN:
            raise SpecificationError(
                f"{len(taken)} valid runs are of {groups.count} configurations only, too few to learn from",
                hint=f"at least {CONFIGURATIONS_MIN} are needed: repetitions tell scatter, not another's time",
            )
        logs = np.log(taken.values["duration_s"])
        if float(np.ptp(logs)) == 0.0:
            raise SpecificationError(
                f"all {len(taken)} valid runs took {taken.values['duration_s'][0]:g} s to the digit",
                hint="times that never differ tell nothing; was a column taken for the duration that is none?",
            )
        return cls(taken, groups, first_rows(groups), median_by(logs, groups))

    def configurations(self) -> RunTable:
        """Return the table of one run of each configuration."""
        return self.table.taken(self.first)


@dataclass(frozen=True, slots=True)
class Folds:
    """A forest whose trees have each not seen one part of the configurations, and what those say of that part."""

    forest: Forest
    expected: Floats
    spread: Floats


def out_of_fold(features: Features, logs: Floats, seed: int) -> Folds:
    """Return the forest of all folds, and what is said of each row by the trees that have not seen it."""
    fold = _folds(len(features), seed)
    trees = max(8, min(TREES, TREES * 8_000 // len(features)))
    expected, spread = np.empty(len(features)), np.empty(len(features))
    forests = []
    for number in range(fold.max() + 1):
        kept, left = fold != number, fold == number
        forest = grown(features[kept], logs[kept], None, trees=trees, seed=seed + number)
        said = forest.each(features[left])
        expected[left], spread[left] = said.mean(axis=1), spread_of(said)
        forests.append(forest)
    return Folds(joined(forests), expected, spread)


def learn(table: RunTable, seed: int = SEED) -> Model:
    """Return the model of a table's valid runs. SpecificationError when there is too little to learn from."""
    told = Learning.of(table)
    configurations = told.configurations()
    encoding = learned_encoding(configurations)
    features = encoding.of(configurations)
    codes = {kind: codes_of(configurations, encoding, kind) for kind in KINDS if encoding.factor(kind)}
    folds = out_of_fold(features, told.logs, seed)
    expected, spread = folds.expected, folds.spread
    of_row = told.groups.of_row
    errors = np.abs(np.log(told.table.values["duration_s"]) - expected[of_row]) / spread[of_row]
    sizes = {kind: len(factor.levels) + 1 for kind in codes if (factor := encoding.factor(kind))}
    own = {kind: quantile_by_level(errors, code[of_row], sizes[kind]) for kind, code in codes.items()}
    pairs = {
        pair_named(a, b): _measured(codes[a], codes[b], (sizes[a], sizes[b]))
        for a, b in NEW_PAIRS
        if a in codes and b in codes
    }
    names = np.array(encoding.names)
    scenes = _Scenes(features, told.logs, names, encoding.of_cluster(), codes, seed)
    transfers, unseen = scenes.transfers(), scenes.pairs()
    return Model(
        encoding=encoding,
        forest=folds.forest,
        quantile=conformal_quantile(errors),
        own=own,
        pairs=pairs,
        unseen={**unseen, **{kind: found for kind, (_, found) in transfers.items()}},
        transfers={kind: transfer for kind, (transfer, _) in transfers.items()},
        configurations=expected,
        spreads=spread,
        medians=told.logs,
        runs=len(told.table),
        seed=seed,
    )


def pair_named(a: str, b: str) -> str:
    """Return what a pair of kinds is called."""
    return f"{a} × {b}"


def _folds(count: int, seed: int) -> Ints:
    order = np.random.default_rng(seed).permutation(count)
    return np.argsort(order) % min(FOLDS, count)


def codes_of(table: RunTable, encoding: Encoding, kind: str) -> Ints:
    """Return each row's level as the encoding numbers them; the number after the last where a row has none."""
    factor, column = encoding.factor(kind), table.columns[kind]
    assert factor is not None
    number = {level: at for at, level in enumerate(factor.levels)}
    return np.array([*(number.get(level, len(number)) for level in column.levels), len(number)])[column.codes]


def _measured(a: Ints, b: Ints, shape: tuple[int, int]) -> Mask:
    found = np.zeros(shape, dtype=np.bool_)
    found[a, b] = True
    return found


@dataclass(frozen=True, slots=True)
class _Scenes:
    """Levels and pairs of levels left out in turn, to see how far off a new one would be."""

    features: Features
    logs: Floats
    names: NDArray[np.str_]
    of_cluster: Mask
    """Which features are properties of clusters."""
    codes: Mapping[str, Ints]
    seed: int

    def transfers(self) -> dict[str, tuple[Transfer, Unseen]]:
        """Return what answers for a new cluster, and for a new layout."""
        return {kind: self._transfer(kind, code) for kind, code in self.codes.items() if kind != "workload"}

    def _transfer(self, kind: str, codes: Ints) -> tuple[Transfer, Unseen]:
        told = self.names != kind
        if kind == "cluster" and len(np.unique(codes)) <= LINED_MIN:  # then hardware is a cluster's name, no number
            told &= ~self.of_cluster
        columns = np.flatnonzero(told)
        errors: dict[bool, list[Floats]] = {True: [], False: []} if kind == "cluster" else {False: []}
        for level in _most_frequent(codes):
            kept, left = self._sides(codes == level)
            for lined, own in errors.items():
                made = self._made(kind, kept, columns, lined=lined, trees=LEFT_OUT_TREES)
                own.append(np.abs(self.logs[left] - made.logs(self.features[left])))
        mean = {
            lined: float(np.mean([own.mean() for own in found])) if found else 0.0 for lined, found in errors.items()
        }
        lined = mean.get(True, np.inf) < mean[False] and len(errors[True]) >= LINED_MIN
        random = np.random.default_rng(self.seed)
        whole = np.sort(random.permutation(len(self.logs))[:NAMELESS_ROWS_MAX])
        made = self._made(kind, whole, columns, lined=lined, trees=TREES)
        return made, Unseen(left_out_quantile(errors[lined]), len(errors[lined]))

    def pairs(self) -> dict[str, Unseen]:
        """Return the same for pairs of levels that were each measured, but never together."""
        found = {}
        for a, b in NEW_PAIRS:
            if a not in self.codes or b not in self.codes:
                continue
            both = self.codes[a] * (int(self.codes[b].max()) + 1) + self.codes[b]
            errors = []
            for pair in _most_frequent(both):
                here = both == pair
                alone = any((code[here][0] == code[~here]).sum() == 0 for code in (self.codes[a], self.codes[b]))
                if alone:
                    continue  # without it the level itself would be new
                kept, left = self._sides(here)
                forest = grown(self.features[kept], self.logs[kept], None, trees=LEFT_OUT_TREES, seed=self.seed)
                errors.append(np.abs(self.logs[left] - forest.each(self.features[left]).mean(axis=1)))
            found[pair_named(a, b)] = Unseen(left_out_quantile(errors), len(errors))
        return found

    def _sides(self, here: Mask) -> tuple[Ints, Ints]:
        random = np.random.default_rng(self.seed)
        kept, left = np.flatnonzero(~here), np.flatnonzero(here)
        if len(kept) > LEFT_OUT_ROWS_MAX:
            kept = random.choice(kept, LEFT_OUT_ROWS_MAX, replace=False)
        return kept, left[:: max(1, len(left) // LEFT_OUT_ROWS_MAX)]

    def _made(self, kind: str, rows: Ints, columns: Ints, *, lined: bool, trees: int) -> Transfer:
        known, logs = self.features[rows][:, columns], self.logs[rows]
        line = _line(known, logs) if lined else np.zeros(len(columns) + 1)
        rest = logs - (known @ line[:-1] + line[-1])
        if kind == "cluster":
            return Transfer(boosted(known, rest, trees=6 * trees, seed=self.seed), columns, line)
        return Transfer(grown(known, rest, None, trees=trees, seed=self.seed, coarse=True), columns, line)


def _most_frequent(codes: Ints) -> list[int]:
    """Return the most frequent levels of which leaving one out leaves something to learn from."""
    counts = np.bincount(codes)
    order = np.argsort(-counts, kind="stable")[:LEFT_OUT_MAX]
    return [int(code) for code in order if 0 < counts[code] <= len(codes) - CONFIGURATIONS_MIN]


def _line(features: Features, logs: Floats) -> Floats:
    """Return a ridge regression's coefficients, the constant last: a line beyond which trees can't see."""
    wide = features.astype(np.float64)
    middle, scale = wide.mean(axis=0), wide.std(axis=0)
    apart = np.divide(wide - middle, scale, out=np.zeros_like(wide), where=scale > 1e-9)
    gram = apart.T @ apart + 0.01 * len(logs) * np.eye(wide.shape[1])
    found = np.linalg.solve(gram, apart.T @ (logs - logs.mean()))
    slope = np.divide(found, scale, out=np.zeros_like(found), where=scale > 1e-9)
    return np.append(slope, logs.mean() - middle @ slope)
