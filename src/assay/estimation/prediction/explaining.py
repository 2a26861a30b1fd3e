"""Estimate how much of the variation of times each factor explains, alone and together with another factor.

In: a model and the runs to explain. Out: shares of the variance of the expected times, by factor and by pair of
factors, and the ratio of each level's time to the mean time. The method is functional analysis of variance (G. Hooker,
J. Comput. Graph. Stat. 16 (2007)) over the measured configurations: a factor is set to each of its levels in turn, and
everything else stays as measured. The interval of a share is from the folds of the model, each without an eighth of the
configurations (delete-a-group jackknife: P. S. Kott, J. Off. Stat. 17 (2001)). Trees understate small effects. The
upper end is therefore raised by the ratio of measured to expected differences between the levels (least squares on the
effects). Combinations that were never measured are counted, because the model extrapolates there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from assay.analysis.statistics import ABSENT, LAYOUT_DEVICES, Column, Estimate, Floats, RunTable
from assay.estimation.prediction.forest import Forest
from assay.estimation.prediction.model import TimeModel, TrainingData
from assay.estimation.prediction.stack import FOLDS
from assay.foundation.errors import SpecificationError

BACKGROUND_MAX = 150
"""Maximum number of measured configurations over which an effect is averaged."""
LEVELS_MAX = 12
"""Maximum number of levels of a factor that are evaluated, the most frequent first."""
_CELLS_AT_ONCE = 64
"""Number of combinations that are evaluated together; one at a time takes twice as long."""
UNDERSTATEMENT_MAX = 2.0
"""Maximum factor by which trees understate an effect; a larger factor is noise."""
PAIRED_MAX = 5
"""Number of factors, those with the largest shares, whose pairs are evaluated."""


@dataclass(frozen=True, slots=True)
class LevelEffect:
    """A level's time over the mean time; above 1 it is slower."""

    level: str
    ratio: float
    runs: int


@dataclass(frozen=True, slots=True)
class FactorEffect:
    """Effect of one factor."""

    factor: str
    share: Estimate
    """Share of the variance of log times, 0 to 1, with a 95 % interval."""
    levels: tuple[LevelEffect, ...]
    more_levels: int


@dataclass(frozen=True, slots=True)
class PairEffect:
    """Interaction of two factors, beyond the effect of each alone."""

    factors: tuple[str, str]
    share: Estimate
    cells: int
    measured_cells: int


@dataclass(frozen=True, slots=True)
class FactorImportance:
    """Shares of the variance, the largest first."""

    runs: int
    configurations: int
    factors: tuple[FactorEffect, ...]
    pairs: tuple[PairEffect, ...]
    rest: float
    """Share that neither single factors nor these pairs explain: interactions of three or more factors, or noise.
    Single runs can't distinguish the two."""
    usual_s: float
    """Geometric mean of the expected times, in seconds."""
    alike: tuple[str, ...]
    """Factors with a single level among these runs. Their effect is unknown."""


@dataclass(frozen=True, slots=True)
class _Background:
    """The measured configurations over which effects are averaged, and the folds of a model."""

    model: TimeModel
    table: RunTable
    folds: tuple[Forest, ...]

    def expected_logs(self, table: RunTable) -> Floats:
        """Return the expected log time of each row by each fold: rows × folds.

        With the levels of a cell, many rows are equal: each is evaluated once.
        """
        features, row = np.unique(self.model.encoding.of(table), axis=0, return_inverse=True)
        expected: Floats = np.stack([fold.by_tree(features).mean(axis=1) for fold in self.folds], axis=1)[row]
        return expected

    def means(self, cells: Sequence[dict[str, int]]) -> Floats:
        """Return the mean expected log time by fold, with the levels of each cell in every row: cells × folds."""
        parts = []
        for start in range(0, len(cells), _CELLS_AT_ONCE):
            chunk = cells[start : start + _CELLS_AT_ONCE]
            logs = self.expected_logs(self.with_levels(chunk))
            parts.append(logs.reshape(len(chunk), len(self.table), len(self.folds)).mean(axis=1))
        return np.concatenate(parts)

    def with_levels(self, cells: Sequence[dict[str, int]]) -> RunTable:
        """Return the background repeated for each cell, with the cell's levels in every row."""
        rows = len(self.table)
        repeated_table = self.table.subset(np.tile(np.arange(rows), len(cells)))
        columns = dict(repeated_table.columns)
        for name in cells[0]:
            codes = np.repeat([cell[name] for cell in cells], rows).astype(np.int32)
            columns[name] = Column(codes, columns[name].levels)
        if "layout" in cells[0] and LAYOUT_DEVICES in columns:
            devices = columns[LAYOUT_DEVICES]
            device_codes = np.array([self._devices_of(cell["layout"]) for cell in cells])
            columns[LAYOUT_DEVICES] = Column(np.repeat(device_codes, rows).astype(np.int32), devices.levels)
        return replace(repeated_table, columns=columns)

    def _devices_of(self, layout: int) -> int:
        rows = np.flatnonzero(self.table.columns["layout"].codes == layout)
        return int(self.table.columns[LAYOUT_DEVICES].codes[rows[0]]) if len(rows) else ABSENT


def explain(model: TimeModel, table: RunTable) -> FactorImportance:
    """Return the importance of factors among a table's valid runs.

    Raises SpecificationError if there are too few runs, or if all factors are constant.
    """
    data = TrainingData.of(table)
    configurations = data.configurations()
    varied_names = {factor.name for factor in model.encoding.factors if factor.varied}
    names = [
        name for name in configurations.factors if name in varied_names and len(_levels(configurations, name)[0]) > 1
    ]
    if not names:
        raise SpecificationError(
            "no factor varies among these runs", hint="ask with fewer conditions, or measure other configurations"
        )
    step = max(1, len(configurations) // BACKGROUND_MAX)
    background = _Background(model, configurations.subset(np.arange(0, len(configurations), step)), _folds(model))
    expected_logs = background.expected_logs(configurations)
    variance = expected_logs.var(axis=0)
    if float(variance.min()) <= 0.0:
        raise SpecificationError("the model expects the same time for all these runs", hint="ask with fewer conditions")
    mean_logs = expected_logs.mean(axis=0)
    single_effects = {name: _single_effect(background, configurations, name, mean_logs) for name in names}
    shares = {name: explained_variance / variance for name, (explained_variance, _) in single_effects.items()}
    ordered_names = sorted(names, key=lambda name: -float(shares[name].mean()))
    pairs = [
        _pair_effect(background, configurations, pair, variance) for pair in combinations(ordered_names[:PAIRED_MAX], 2)
    ]
    understatements = _understatement(
        configurations, data.logs, {name: single_effects[name][1] - mean_logs for name in names}
    )
    effects = tuple(
        _factor_effect(
            configurations,
            name,
            _with_raised_end(_jackknife_estimate(shares[name]), understatements[name]),
            single_effects[name][1],
            mean_logs,
        )
        for name in ordered_names
    )
    pairs.sort(key=lambda pair: -pair.share.value)
    unexplained = 1.0 - sum(effect.share.value for effect in effects) - sum(pair.share.value for pair in pairs)
    constant_names = tuple(name for name in configurations.factors if name in varied_names and name not in names)
    return FactorImportance(
        len(data.table),
        len(configurations),
        effects,
        tuple(pairs),
        max(0.0, unexplained),
        float(np.exp(mean_logs.mean())),
        constant_names,
    )


def _folds(model: TimeModel) -> tuple[Forest, ...]:
    forest = model.stack.forest
    trees = forest.trees // FOLDS
    return tuple(replace(forest, roots=forest.roots[number * trees : (number + 1) * trees]) for number in range(FOLDS))


def _levels(table: RunTable, name: str) -> tuple[list[int], Floats]:
    """Return the codes of the most frequent levels, absent included, and their shares of all rows."""
    codes, counts = np.unique(table.columns[name].codes, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:LEVELS_MAX]
    return [int(code) for code in codes[order]], counts[order] / counts[order].sum()


def _single_effect(background: _Background, table: RunTable, name: str, mean_logs: Floats) -> tuple[Floats, Floats]:
    """Return, by fold, the variance that a factor explains, and the mean of each level."""
    codes, weights = _levels(table, name)
    means = background.means([{name: code} for code in codes])
    deviations = means - weights @ means
    variance: Floats = weights @ (deviations * deviations)
    return variance, means - (weights @ means) + mean_logs


def _pair_effect(background: _Background, table: RunTable, pair: tuple[str, str], variance: Floats) -> PairEffect:
    a, b = pair
    (codes_a, weights_a), (codes_b, weights_b) = _levels(table, a), _levels(table, b)
    means = background.means([{a: x, b: y} for x in codes_a for y in codes_b])
    means = means.reshape(len(codes_a), len(codes_b), -1)
    weights = np.outer(weights_a, weights_b)
    row_means = np.einsum("ijk,j->ik", means, weights_b)
    column_means = np.einsum("ijk,i->jk", means, weights_a)
    grand_mean = np.einsum("ijk,ij->k", means, weights)
    interaction = means - row_means[:, None] - column_means[None] + grand_mean
    share = np.einsum("ijk,ij->k", interaction * interaction, weights) / variance
    measured_cells = set(zip(table.columns[a].codes.tolist(), table.columns[b].codes.tolist(), strict=True))
    cells = [(x, y) for x in codes_a for y in codes_b]
    return PairEffect(pair, _jackknife_estimate(share), len(cells), sum(cell in measured_cells for cell in cells))


def _understatement(table: RunTable, logs: Floats, effects: Mapping[str, Floats]) -> dict[str, float]:
    """Return, by factor, the ratio of measured to expected differences between its levels, 1 to
    :data:`UNDERSTATEMENT_MAX`.

    ``effects``: by factor, the effects of the levels of :func:`_levels` × folds.
    """
    columns = []
    for name, by_fold in effects.items():
        codes, _ = _levels(table, name)
        effect_of_row = np.zeros(len(table))
        for code, effect in zip(codes, by_fold.mean(axis=1).tolist(), strict=True):
            effect_of_row[table.columns[name].codes == code] = effect
        columns.append(effect_of_row)
    effects_of_rows = np.stack([*columns, np.ones(len(table))], axis=1)
    slopes = np.linalg.lstsq(effects_of_rows, logs, rcond=None)[0]
    return {name: float(np.clip(slope, 1.0, UNDERSTATEMENT_MAX)) for name, slope in zip(effects, slopes, strict=False)}


def _with_raised_end(share: Estimate, understatement: float) -> Estimate:
    """Return a share with its upper end raised by the square of ``understatement``, because a share is a variance."""
    high = share.value if share.high is None else share.high
    return replace(share, high=min(1.0, high * understatement**2))


def _jackknife_estimate(by_fold: Floats) -> Estimate:
    """Return the mean with the interval of a delete-a-group jackknife, within 0 and 1."""
    from scipy.special import stdtrit  # imported here: it takes 0.1 s, and only explanations need it

    n = len(by_fold)
    mean = float(by_fold.mean())
    error = float(np.sqrt((n - 1) / n * ((by_fold - mean) ** 2).sum()))
    half_width = float(stdtrit(n - 1, 0.975)) * error
    return Estimate(mean, max(0.0, mean - half_width), min(1.0, mean + half_width))


def _factor_effect(table: RunTable, name: str, share: Estimate, means: Floats, mean_logs: Floats) -> FactorEffect:
    codes, _ = _levels(table, name)
    column = table.columns[name]
    ratios = np.exp((means - mean_logs).mean(axis=1))
    levels = [
        LevelEffect(
            "none" if code == ABSENT else column.levels[code], float(ratio), int(np.count_nonzero(column.codes == code))
        )
        for code, ratio in zip(codes, ratios, strict=True)
    ]
    levels.sort(key=lambda level: level.ratio)
    return FactorEffect(name, share, tuple(levels), len(np.unique(column.codes)) - len(codes))


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of levels."""

    levels: tuple[str, ...]
    expected_s: float
    configurations: int
    """Number of measured configurations in it; 0 if the model extrapolates."""


def cells(model: TimeModel, table: RunTable, names: Sequence[str], cells_max: int = 400) -> list[Cell]:
    """Return the expected time of each combination of some factors' levels, with everything else as measured."""
    data = TrainingData.of(table)
    configurations = data.configurations()
    step = max(1, len(configurations) // BACKGROUND_MAX)
    background = _Background(
        model, configurations.subset(np.arange(0, len(configurations), step)), (model.stack.forest,)
    )
    grid: list[tuple[int, ...]] = [()]
    for name in names:
        if len(_levels(configurations, name)[0]) < 2:
            raise SpecificationError(
                f"{name} has only one level here, so its effect is unknown",
                where="--by",
                hint="ask with fewer conditions, or measure another level",
            )
        grid = [(*cell, code) for cell in grid for code in sorted(_levels(configurations, name)[0])]
    if len(grid) > cells_max:
        raise SpecificationError(
            f"{len(grid)} combinations; the maximum is {cells_max}", where="--by", hint="name fewer factors"
        )
    cells_of_grid = []
    logs = background.means([dict(zip(names, codes, strict=True)) for codes in grid])[:, 0]
    for codes, log_s in zip(grid, logs.tolist(), strict=True):
        in_cell = np.ones(len(configurations), dtype=np.bool_)
        for name, code in zip(names, codes, strict=True):
            in_cell &= configurations.columns[name].codes == code
        texts = tuple(
            "none" if code == ABSENT else configurations.columns[name].levels[code]
            for name, code in zip(names, codes, strict=True)
        )
        cells_of_grid.append(Cell(texts, float(np.exp(log_s)), int(in_cell.sum())))
    return cells_of_grid
