"""Predict the times of configurations: an expected time with an interval and its basis, or no time.

In: a model, and configurations as a table (one row each, without times). Out: by row, the expected time in seconds, the
ends of its 90 % interval, and the basis. Configurations outside the learned range have no time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from assay.analysis.statistics import Floats, Ints, Mask, RunTable
from assay.estimation.prediction.features import (
    INSTANCE_TYPE,
    TRANSFER_FACTORS,
    EncodedFactor,
    devices_of,
    instance_types_of,
    number_of,
)
from assay.estimation.prediction.instance_types import ProcessInputs
from assay.estimation.prediction.model import NEW_PAIRS, TimeModel, codes_of, pair_named
from assay.model.clusters.layout_code import parse_name

NEW_CLUSTER_RANGE_FACTOR = 2.0
"""Factor by which a number may exceed the learned range on a new cluster, which may have more or fewer cores."""

INSTANCE_TYPE_KIND = "instance type"
"""Kind of level in the reasons of rows whose instance type was never measured."""


class Basis(StrEnum):
    """The measurements that a prediction is based on."""

    MEASURED = "configurations like it"
    NEW_PAIR = "parts that were measured, but never together"
    NEW_CLUSTER = "other clusters"
    NEW_LAYOUT = "other layouts"
    UNKNOWN = "nothing: outside the learned range"


BASES = tuple(Basis)


@dataclass(frozen=True, slots=True)
class Predictions:
    """Predicted times by row; NaN if unknown."""

    expected_s: Floats
    low_s: Floats
    high_s: Floats
    basis: Ints
    """Index into :data:`BASES`."""
    reasons: Mapping[int, tuple[str, ...]]
    """Row to the reasons why its time is unknown, or is extrapolated."""

    def basis_of(self, row: int) -> Basis:
        """Return the basis of a row's prediction."""
        return BASES[int(self.basis[row])]


def predict(model: TimeModel, table: RunTable) -> Predictions:
    """Return the predicted time of each row."""
    size = len(table)
    reasons: dict[int, list[str]] = {}
    codes = {kind: _codes(model, table, kind) for kind in TRANSFER_FACTORS if model.encoding.factor(kind)}
    new_levels = {kind: _has_new_level(model, table, kind) for kind in codes}
    no_rows = np.zeros(size, dtype=np.bool_)
    is_unknown = _is_outside(model, table, new_levels.get("cluster", no_rows), reasons)
    is_unknown |= new_levels.get("workload", no_rows)
    basis = np.zeros(size, dtype=np.int64)
    half_widths, logs = _interpolated(model, table, codes)
    has_new_type = new_levels["cluster"] & _has_new_instance_type(model, table) if model.instance_types else no_rows
    rows_by_kind = {
        "layout": new_levels.get("layout", no_rows),
        "cluster": new_levels.get("cluster", no_rows) & ~has_new_type,
    }
    for kind, rows_of_kind in rows_by_kind.items():
        rows = np.flatnonzero(rows_of_kind)
        if not len(rows):
            continue
        basis[rows] = BASES.index(Basis.NEW_LAYOUT if kind == "layout" else Basis.NEW_CLUSTER)
        logs[rows] = model.transfers[kind].logs(model.encoding.of(table.subset(rows)))
        half_widths[rows] = model.new_level_quantiles[kind].quantile
        _add_new_level_reasons(reasons, rows, table, kind, model.new_level_quantiles[kind].levels)
    if model.instance_types and len(rows := np.flatnonzero(has_new_type)):
        basis[rows] = BASES.index(Basis.NEW_CLUSTER)
        logs[rows], half_widths[rows] = model.instance_types.estimates(
            ProcessInputs.of(model.encoding, table.subset(rows))
        )
        _add_new_level_reasons(reasons, rows, table, INSTANCE_TYPE_KIND, model.instance_types.types)
    has_new_devices = (
        new_levels.get("cluster", no_rows) & new_levels.get("layout", no_rows) & _unknown_devices(model, table)
    )
    for row in np.flatnonzero(has_new_devices):
        reasons.setdefault(int(row), []).append("cluster and layout are new, and its kind of disks was never measured")
    is_unknown |= has_new_devices
    for a, b in NEW_PAIRS:
        name = pair_named(a, b)
        if name not in model.pairs:
            continue
        rows = np.flatnonzero(~new_levels[a] & ~new_levels[b] & ~model.pairs[name][codes[a], codes[b]])
        basis[rows] = np.maximum(basis[rows], BASES.index(Basis.NEW_PAIR))
        pair_error = model.new_level_quantiles[name]
        half_widths[rows] = (
            np.fmax(half_widths[rows], pair_error.quantile) if np.isfinite(pair_error.quantile) else np.nan
        )
        for row_number in rows.tolist():
            pair = f"{_text(table, a, row_number)} with {_text(table, b, row_number)}"
            hint = f"; its error is estimated by leaving out {pair_error.levels} pairs in turn"
            reasons.setdefault(row_number, []).append(
                f"no run has {a} and {b} {pair}{hint if pair_error.levels > 1 else ''}"
            )
    for row in np.flatnonzero(~is_unknown & ~np.isfinite(half_widths)):
        reasons.setdefault(int(row), []).append("too few levels were measured to estimate the error for a new one")
    is_unknown |= ~np.isfinite(half_widths)
    logs[is_unknown] = np.nan
    basis[is_unknown] = BASES.index(Basis.UNKNOWN)
    with np.errstate(over="ignore"):
        times = np.exp(logs), np.exp(logs - half_widths), np.exp(logs + half_widths)
    return Predictions(
        *times, basis=basis, reasons={row: tuple(dict.fromkeys(messages)) for row, messages in reasons.items()}
    )


def _unknown_devices(model: TimeModel, table: RunTable) -> Mask:
    """Return the rows whose devices are unknown, or of a kind that no learned layout has."""
    layouts = model.encoding.factor("layout")
    codes = [parse_name(level) for level in layouts.levels] if layouts else []
    learned_kinds = {kind for code in codes if code for kind in code.devices}
    devices = devices_of(table)
    is_unknown: Mask = np.isnan(devices["hdd"])
    for kind, count in devices.items():
        if kind not in learned_kinds:
            is_unknown = is_unknown | (np.nan_to_num(count) > 0)
    return is_unknown


def _interpolated(model: TimeModel, table: RunTable, codes: Mapping[str, Ints]) -> tuple[Floats, Floats]:
    """Return the half width of the interval and the expected value, on logarithms, as if every level were known."""
    estimates = model.stack.estimates(model.encoding.of(table))
    quantile = np.full(len(table), model.quantile)
    for kind, code in codes.items():
        quantile_of_level = model.level_quantiles[kind][np.minimum(code, len(model.level_quantiles[kind]) - 1)]
        quantile = np.fmax(quantile, quantile_of_level)
    half_widths = quantile * estimates.usual_error
    for kind, code in codes.items():
        has_rare_level = np.isnan(model.level_quantiles[kind][code]) & (code < len(model.level_quantiles[kind]) - 1)
        if has_rare_level.any() and kind in model.new_level_quantiles:
            half_widths[has_rare_level] = np.fmax(half_widths[has_rare_level], model.new_level_quantiles[kind].quantile)
    return half_widths, estimates.logs


def _codes(model: TimeModel, table: RunTable, kind: str) -> Ints:
    if kind in table.columns:
        return codes_of(table, model.encoding, kind)
    factor = model.encoding.factor(kind)
    return np.full(len(table), len(factor.levels) if factor else 0)


def _has_new_level(model: TimeModel, table: RunTable, kind: str) -> Mask:
    factor, column = model.encoding.factor(kind), table.columns.get(kind)
    if factor is None or column is None:
        return np.zeros(len(table), dtype=np.bool_)
    learned_levels = set(factor.levels)
    is_new: Mask = np.array([*(level not in learned_levels for level in column.levels), False])[column.codes]
    return is_new


def _has_new_instance_type(model: TimeModel, table: RunTable) -> Mask:
    """Return the rows whose workers are of an instance type that no learned run has."""
    names, codes = instance_types_of(table)
    is_new: Mask = np.array([*(name not in model.encoding.hardware for name in names), False])[codes]
    return is_new


def _text(table: RunTable, name: str, row: int) -> str:
    if name == INSTANCE_TYPE_KIND:
        names, codes = instance_types_of(table)
        return names[int(codes[row])].removeprefix(INSTANCE_TYPE)
    return (table.columns[name].text(int(row)) if name in table.columns else None) or "none"


def _add_new_level_reasons(reasons: dict[int, list[str]], rows: Ints, table: RunTable, kind: str, levels: int) -> None:
    for row in rows:
        reason = f"no run has {kind} {_text(table, kind, row)}"
        if levels > 1:
            reason += f"; its error is estimated by leaving out {levels} {kind}s in turn"
        reasons.setdefault(int(row), []).append(reason)


def _is_outside(model: TimeModel, table: RunTable, new_cluster: Mask, reasons: dict[int, list[str]]) -> Mask:
    """Return the rows with a level outside the learned range, and note the reason."""
    is_outside = np.zeros(len(table), dtype=np.bool_)
    for factor in model.encoding.factors:
        column = table.columns.get(factor.name)
        if column is None or factor.name in TRANSFER_FACTORS[1:]:
            continue
        for code, level in enumerate(column.levels):
            if level in factor.levels:
                continue
            rows = np.flatnonzero(column.codes == code)
            for row in rows:
                if factor.of_cluster and new_cluster[row]:
                    continue
                if (
                    reason := _why_outside(factor, level, NEW_CLUSTER_RANGE_FACTOR if new_cluster[row] else 1.0)
                ) is not None:
                    is_outside[row] = True
                    reasons.setdefault(int(row), []).append(reason)
    return is_outside


def _why_outside(factor: EncodedFactor, level: str, range_factor: float) -> str | None:
    if not factor.numeric:
        levels_text = ", ".join(factor.levels[:8]) + (" …" if len(factor.levels) > 8 else "")
        return f"no run has {factor.name} {level}; measured levels: {levels_text}"
    value = number_of(level)
    low, high = sorted((factor.low / range_factor, factor.high * range_factor))
    if low <= value <= high:
        return None
    return f"{factor.name} {level} is outside the measured range, {factor.low:.12g} to {factor.high:.12g}"
