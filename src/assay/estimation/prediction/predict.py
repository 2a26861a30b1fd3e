"""What a model says of configurations: an expected time with an interval, on what it rests, or that it does not know.

In: a model, and configurations as a table (a row each, without times). Out: columns, a row each: the expected time in
seconds, the ends of its 90 % interval, and the basis. Whatever lies outside what was learned has no time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from assay.analysis.statistics import Floats, Ints, Mask, RunTable
from assay.estimation.prediction.features import KINDS, Factor, devices_of, number_of
from assay.estimation.prediction.model import NEW_PAIRS, Model, codes_of, pair_named
from assay.model.clusters.layout_code import named

BEYOND_ON_NEW_CLUSTER = 2.0
"""How many times beyond the learned range a number may be on a new cluster, which has more cores or fewer."""


class Basis(StrEnum):
    """What an answer rests on."""

    MEASURED = "configurations like it"
    NEW_PAIR = "parts that were measured, but never together"
    NEW_CLUSTER = "other clusters"
    NEW_LAYOUT = "other layouts"
    UNKNOWN = "nothing, as it is outside what was learned"


BASES = tuple(Basis)


@dataclass(frozen=True, slots=True)
class Answers:
    """By row; NaN where the model does not know."""

    expected_s: Floats
    low_s: Floats
    high_s: Floats
    basis: Ints
    """Index into :data:`BASES`."""
    reasons: Mapping[int, tuple[str, ...]]
    """Row to why it is unknown, or rests on less than configurations like it."""

    def basis_of(self, row: int) -> Basis:
        """Return what a row's answer rests on."""
        return BASES[int(self.basis[row])]


def ask(model: Model, table: RunTable) -> Answers:
    """Return what the model says of each row."""
    size = len(table)
    reasons: dict[int, list[str]] = {}
    codes = {kind: _codes(model, table, kind) for kind in KINDS if model.encoding.factor(kind)}
    new = {kind: _new(model, table, kind) for kind in codes}
    nothing = np.zeros(size, dtype=np.bool_)
    unknown = _outside(model, table, new.get("cluster", nothing), reasons)
    unknown |= new.get("workload", nothing)
    basis = np.zeros(size, dtype=np.int64)
    half, logs = _known(model, table, codes)
    for kind, found in (("layout", Basis.NEW_LAYOUT), ("cluster", Basis.NEW_CLUSTER)):
        rows = np.flatnonzero(new.get(kind, nothing))
        if not len(rows):
            continue
        basis[rows] = BASES.index(found)
        logs[rows] = model.transfers[kind].logs(model.encoding.of(table.taken(rows)))
        half[rows] = model.unseen[kind].quantile
        _tell(reasons, rows, table, kind, model.unseen[kind].levels)
    nameless = new.get("cluster", nothing) & new.get("layout", nothing) & _strange_devices(model, table)
    for row in np.flatnonzero(nameless):
        reasons.setdefault(int(row), []).append("with both new, and disks of a kind never measured, nothing is like it")
    unknown |= nameless
    for a, b in NEW_PAIRS:
        name = pair_named(a, b)
        if name not in model.pairs:
            continue
        rows = np.flatnonzero(~new[a] & ~new[b] & ~model.pairs[name][codes[a], codes[b]])
        basis[rows] = np.maximum(basis[rows], BASES.index(Basis.NEW_PAIR))
        unseen = model.unseen[name]
        half[rows] = np.fmax(half[rows], unseen.quantile) if np.isfinite(unseen.quantile) else np.nan
        for at in rows.tolist():
            pair = f"{_text(table, a, at)} with {_text(table, b, at)}"
            told = f"; leaving out each of {unseen.levels} such pairs tells how far off that may be"
            reasons.setdefault(at, []).append(f"no run has {a} and {b} {pair}{told if unseen.levels > 1 else ''}")
    for row in np.flatnonzero(~unknown & ~np.isfinite(half)):
        reasons.setdefault(int(row), []).append("too few were measured to tell how far off another one may be")
    unknown |= ~np.isfinite(half)
    logs[unknown] = np.nan
    basis[unknown] = BASES.index(Basis.UNKNOWN)
    with np.errstate(over="ignore"):
        times = np.exp(logs), np.exp(logs - half), np.exp(logs + half)
    return Answers(*times, basis=basis, reasons={row: tuple(dict.fromkeys(words)) for row, words in reasons.items()})


def _strange_devices(model: Model, table: RunTable) -> Mask:
    """Return the rows whose devices are not known, or of a kind that no layout had which was learned."""
    layouts = model.encoding.factor("layout")
    codes = [named(level) for level in layouts.levels] if layouts else []
    learned = {kind for code in codes if code for kind in code.devices}
    devices = devices_of(table)
    found: Mask = np.isnan(devices["hdd"])
    for kind, count in devices.items():
        if kind not in learned:
            found = found | (np.nan_to_num(count) > 0)
    return found


def _known(model: Model, table: RunTable, codes: Mapping[str, Ints]) -> tuple[Floats, Floats]:
    """Return how far the interval reaches on logarithms, and the expected logarithms, as if every level were known."""
    estimates = model.stack.estimates(model.encoding.of(table))
    quantile = np.full(len(table), model.quantile)
    for kind, code in codes.items():
        own = model.own[kind][np.minimum(code, len(model.own[kind]) - 1)]
        quantile = np.fmax(quantile, own)
    half = quantile * estimates.usual_error
    for kind, code in codes.items():
        rare = np.isnan(model.own[kind][code]) & (code < len(model.own[kind]) - 1)
        if rare.any() and kind in model.unseen:
            half[rare] = np.fmax(half[rare], model.unseen[kind].quantile)
    return half, estimates.logs


def _codes(model: Model, table: RunTable, kind: str) -> Ints:
    if kind in table.columns:
        return codes_of(table, model.encoding, kind)
    factor = model.encoding.factor(kind)
    return np.full(len(table), len(factor.levels) if factor else 0)


def _new(model: Model, table: RunTable, kind: str) -> Mask:
    factor, column = model.encoding.factor(kind), table.columns.get(kind)
    if factor is None or column is None:
        return np.zeros(len(table), dtype=np.bool_)
    known = set(factor.levels)
    found: Mask = np.array([*(level not in known for level in column.levels), False])[column.codes]
    return found


def _text(table: RunTable, name: str, row: int) -> str:
    return (table.columns[name].text(int(row)) if name in table.columns else None) or "none"


def _tell(reasons: dict[int, list[str]], rows: Ints, table: RunTable, kind: str, levels: int) -> None:
    for row in rows:
        words = f"no run has {kind} {_text(table, kind, row)}"
        if levels > 1:
            words += f": leaving out each of {levels} {kind}s in turn tells how far off that may be"
        reasons.setdefault(int(row), []).append(words)


def _outside(model: Model, table: RunTable, new_cluster: Mask, reasons: dict[int, list[str]]) -> Mask:
    """Return the rows with a level that nothing was learned of, and note why."""
    found = np.zeros(len(table), dtype=np.bool_)
    for factor in model.encoding.factors:
        column = table.columns.get(factor.name)
        if column is None or factor.name in KINDS[1:]:
            continue
        for code, level in enumerate(column.levels):
            if level in factor.levels:
                continue
            rows = np.flatnonzero(column.codes == code)
            for row in rows:
                if factor.of_cluster and new_cluster[row]:
                    continue
                if (why := _why_outside(factor, level, BEYOND_ON_NEW_CLUSTER if new_cluster[row] else 1.0)) is not None:
                    found[row] = True
                    reasons.setdefault(int(row), []).append(why)
    return found


def _why_outside(factor: Factor, level: str, beyond: float) -> str | None:
    if not factor.numeric:
        shown = ", ".join(factor.levels[:8]) + (" …" if len(factor.levels) > 8 else "")
        return f"no run has {factor.name} {level}; learned were {shown}"
    value = number_of(level)
    low, high = sorted((factor.low / beyond, factor.high * beyond))
    if low <= value <= high:
        return None
    return f"{factor.name} {level} is outside what was learned, {factor.low:.12g} to {factor.high:.12g}"
