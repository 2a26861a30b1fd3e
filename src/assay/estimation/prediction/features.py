"""What a run's configuration is to a learner: numbers, by name of the factor that each belongs to.

In: a table of runs. Out: an :class:`Encoding`, learned once, and by it a matrix of features, a row a run. A level is a
feature that is 1 or 0; a factor whose levels are numbers is that number as well, on a logarithm where it is positive.
Layouts are also how many devices of each kind they have; clusters are also their hardware where values ``cluster.…``
tell it; and data, where known, is set against the memory and cores that work on it. What never differs, and
what only repeats another column, is left out. Nothing here depends on a column's name but workload, cluster, layout.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.statistics import ABSENT, LAYOUT_DEVICES, Codes, Floats, Mask, RunTable
from assay.model import Hardware
from assay.model.clusters.layout_code import devices_of_text, named

Features = NDArray[np.float32]
LEVELS_MAX = 60
"""Of a factor's levels, the most frequent ones that are a feature each."""
NUMBERS_AS_LEVELS_MAX = 16
NAMES_SHARE, NAMES_RUNS_MIN = 0.5, 20
"""A text that more than this share of so many runs have for themselves is a run's name, and no factor."""
DEVICES = ("hdd", "ssd", "nvme", "remote")
DEVICES_ALL = "devices:all"
HARDWARE = "cluster."
"""How the names of values begin that are hardware of a run's cluster. ``cluster.FACT=TEXT`` is 1 where the fact is the
text and 0 where it is another text; the other values are numbers."""
WORKERS, CORES, MEMORY = "cluster.workers", "cluster.cores", "cluster.memory_bytes"
TEXT_FACTS_MAX = 30
"""Of the texts of one hardware fact, the most frequent ones that are a feature each."""
KINDS = ("workload", "cluster", "layout")
"""The factors of which a new level may still be told something, from how others are alike."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor as it was learned."""

    name: str
    levels: tuple[str, ...]
    """Every level that was learned from, the most frequent first."""
    numeric: bool
    low: float
    high: float
    """Of the numbers; 0 where the levels are none."""
    varied: bool
    """Whether it is among the features: it has two levels at least, and is not told by another factor."""
    of_cluster: bool
    """Whether each cluster has one level of it: a new cluster may have another."""

    @property
    def singled_out(self) -> tuple[str, ...]:
        """The levels that are a feature each."""
        most = NUMBERS_AS_LEVELS_MAX if self.numeric else LEVELS_MAX
        return self.levels[:most] if len(self.levels) <= most or not self.numeric else ()


@dataclass(frozen=True, slots=True)
class Encoding:
    """The factors, and which hardware is known."""

    factors: tuple[Factor, ...]
    hardware: tuple[str, ...]
    usual: tuple[float, ...]
    """Logarithm of each, of the cluster in the middle: what a cluster is taken for whose hardware nobody told."""

    @property
    def names(self) -> tuple[str, ...]:
        """The factor that each feature belongs to; of hardware ``cluster``'s numbers and devices: their own name."""
        found: list[str] = []
        for factor in self.factors:
            if factor.varied:
                found += [factor.name] * (len(factor.singled_out) + (2 if factor.numeric else 0))
        return (*found, *(f"devices:{kind}" for kind in DEVICES), *self.hardware, *self._sums)

    @property
    def _sums(self) -> tuple[str, ...]:
        known = {WORKERS, CORES, MEMORY} & set(self.hardware)
        sums = [DEVICES_ALL] if WORKERS in known else []
        sums += [f"all {name}" for name in (CORES, MEMORY) if {WORKERS, name} <= known]
        data = any(factor.name == "data_bytes" and factor.varied for factor in self.factors)
        return (*sums, *(f"data per {name}" for name in sums)) if data else tuple(sums)

    def of_cluster(self) -> Mask:
        """Return which features are properties of clusters, and not of what runs on them."""
        own = {factor.name for factor in self.factors if factor.of_cluster}
        return np.array([name in own or HARDWARE in name or name == DEVICES_ALL for name in self.names])

    def factor(self, name: str) -> Factor | None:
        """Return a factor by its name; None when no run had it."""
        return next((factor for factor in self.factors if factor.name == name), None)

    def of(self, table: RunTable) -> Features:
        """Return the features of a table's runs; a level that was never learned from is none of its features."""
        columns: list[Floats] = []
        for factor in self.factors:
            if factor.varied:
                columns += _of_factor(factor, table)
        devices = devices_of(table)
        columns += [np.where(np.isfinite(count), count, -1.0) for count in devices.values()]
        recorded = {name: _hardware_feature(name, table) for name in self.hardware}
        usual = zip(recorded.items(), self.usual, strict=True)
        hardware = {name: np.where(np.isfinite(value), value, middle) for (name, value), middle in usual}
        columns += hardware.values()
        columns += self._summed(table, hardware, devices)
        made = np.stack(columns, axis=1) if columns else np.zeros((len(table), 0))
        return np.clip(made, -1e30, 1e30).astype(np.float32)

    def _summed(self, table: RunTable, hardware: Mapping[str, Floats], devices: Mapping[str, Floats]) -> list[Floats]:
        sums: dict[str, Floats] = {}
        if WORKERS in hardware:
            sums[DEVICES_ALL] = hardware[WORKERS] + _log(np.nansum(np.stack(list(devices.values())), axis=0))
            sums |= {f"all {name}": hardware[WORKERS] + hardware[name] for name in (CORES, MEMORY) if name in hardware}
        data = _log(numbers(table, "data_bytes"))
        found = {**sums, **{f"data per {name}": data - value for name, value in sums.items()}}
        return [np.nan_to_num(found[name], nan=-1.0) for name in self._sums]


def hardware_values(clusters: Sequence[Hardware]) -> dict[str, Floats]:
    """Return the values that describe the hardware of some clusters, by name; NaN where a cluster's is not recorded."""
    recorded: dict[str, Sequence[float | None]] = {
        WORKERS: [hardware.workers for hardware in clusters],
        CORES: [hardware.cores for hardware in clusters],
        MEMORY: [hardware.memory_bytes for hardware in clusters],
    }
    values = {name: np.array([np.nan if n is None else float(n) for n in found]) for name, found in recorded.items()}
    for fact in ("instance_type", "provider", "service_type"):
        texts = [getattr(hardware, fact) for hardware in clusters]
        frequent = [text for text, _ in Counter(filter(None, texts)).most_common(TEXT_FACTS_MAX)]
        for level in frequent:
            values[f"{HARDWARE}{fact}={level}"] = np.array([float(text == level) if text else np.nan for text in texts])
    return {name: found for name, found in values.items() if np.isfinite(found).any()}


def _hardware_feature(name: str, table: RunTable) -> Floats:
    values = table.values.get(name, np.full(len(table), np.nan))
    return values if "=" in name else _log(values)


def _log(values: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(values > 0, np.log(np.where(values > 0, values, 1.0)), np.nan)


def number_of(text: str) -> float:
    """Return a level as a number; NaN when it is none."""
    try:
        found = float(text)
    except ValueError:
        return math.nan
    return found if math.isfinite(found) else math.nan


def numbers(table: RunTable, name: str) -> Floats:
    """Return a column's levels as numbers, NaN where they are none or absent."""
    column = table.columns.get(name)
    if column is None:
        return np.full(len(table), np.nan)
    found: Floats = np.array([*(number_of(level) for level in column.levels), np.nan])[column.codes]
    return found


def devices_of(table: RunTable) -> dict[str, Floats]:
    """Return how many devices of each kind each run's layout has on a worker, NaN where that is not known."""
    layout, told = table.columns.get("layout"), table.columns.get(LAYOUT_DEVICES)
    found = {kind: np.full(len(table), np.nan) for kind in DEVICES}
    if told is not None:
        _fill(found, told.codes, [devices_of_text(level) for level in told.levels])
    if layout is not None:
        codes = np.where(np.isnan(found[DEVICES[0]]), layout.codes, ABSENT)
        _fill(found, codes, [code.devices if (code := named(level)) else None for level in layout.levels])
    return found


def _fill(found: Mapping[str, Floats], codes: Codes, devices: Sequence[Mapping[str, int | None] | None]) -> None:
    for code, counts in enumerate(devices):
        if counts:
            rows = codes == code
            for kind in DEVICES:
                count = counts.get(kind, 0)
                found[kind][rows] = 1.0 if count is None else count


def _of_factor(factor: Factor, table: RunTable) -> list[Floats]:
    column = table.columns.get(factor.name)
    if column is None:
        here = np.full(len(table), "", dtype=object)
    else:
        here = np.array([*column.levels, ""], dtype=object)[column.codes]
    found = [(here == level).astype(np.float64) for level in factor.singled_out]
    if factor.numeric:
        value = numbers(table, factor.name)
        scaled = _log(value) if factor.low > 0 else value
        found += [np.nan_to_num(scaled, nan=-1.0), np.isnan(scaled).astype(np.float64)]
    return found


def learned_encoding(table: RunTable) -> Encoding:
    """Return the encoding of a table's factors and hardware."""
    workloads = table.columns.get("workload")
    found = []
    for name in told_apart_by(table):
        column = table.columns[name]
        counts = np.bincount(column.codes[column.codes != ABSENT], minlength=len(column.levels))
        order = np.argsort(-counts, kind="stable")
        levels = tuple(column.levels[int(code)] for code in order if counts[code])
        if not levels:
            continue
        values = np.array([number_of(level) for level in levels])
        numeric = bool(np.isfinite(values).all()) and name not in KINDS
        several = len(levels) + bool((column.codes == ABSENT).any()) > 1
        repeats = workloads is not None and name not in KINDS and _follows(column.codes, workloads.codes)
        clusters = table.columns.get("cluster")
        of_cluster = clusters is not None and name not in KINDS and _follows(column.codes, clusters.codes)
        low, high = (float(values.min()), float(values.max())) if numeric else (0.0, 0.0)
        found.append(Factor(name, levels, numeric, low, high, several and not repeats, of_cluster))
    hardware = tuple(sorted(n for n, v in table.values.items() if n.startswith(HARDWARE) and bool((v > 0).any())))
    usual = tuple(float(np.nanmedian(_hardware_feature(name, table))) for name in hardware)
    return Encoding(tuple(found), hardware, usual)


def told_apart_by(table: RunTable) -> list[str]:
    """Return the factors, but for texts of which most runs have one of their own: those are names of runs."""
    found = []
    for name in table.factors:
        column = table.columns[name]
        levels = len(np.unique(column.codes))
        names_runs = levels > NAMES_SHARE * len(table) and name not in KINDS and len(table) >= NAMES_RUNS_MIN
        if not names_runs or all(np.isfinite(number_of(level)) for level in column.levels):
            found.append(name)
    return found


def _follows(codes: Codes, other: Codes) -> bool:
    """Say whether a column says nothing beyond another: it has one level at most for each of the other's."""
    pairs = len(np.unique(other.astype(np.int64) * (int(codes.max(initial=0)) + 2) + codes + 1))
    return pairs == len(np.unique(other))
