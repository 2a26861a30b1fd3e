"""Find runs that differ from the expectation for their configuration. They are flagged with the reason, never excluded.

In: runs as a table (durations in s, metrics by name). Out: anomalies, ordered by the ratio of observed and expected
value, of these kinds:

- *did not do its work*: faster than the minimum time that was learned for its workload, like a failed run that was
  recorded as a success;
- *too fast*, *too slow*: far from the median of its repetitions, or with fewer than three repetitions, from a
  log-linear model;
- *too few bytes*: a byte metric far below that of its repetitions, or of runs of the same work, by at least 1 % of the
  run's usual traffic;
- *imbalance*: one node did much more than the mean node (metrics named ``…_imbalance``: maximum over mean), and the
  imbalance exceeds that of its repetitions, or of runs of the same work, because chance spreads a few tasks unevenly in
  every run.

``spread.py`` computes the expectations. They do not depend on a run's status: the caller chooses the runs.
docs/measurements/anomalies.md has precision and recall against ALOJA's label.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from assay.analysis.outliers.spread import (
    REPETITIONS_MIN,
    Expectation,
    MinimumTimes,
    configurations_of,
    expectations,
    learn_floors,
    work_of,
)
from assay.analysis.statistics import Floats, Groups, Ints, Mask, RunTable, first_rows, median_by, merged_groups, usable
from assay.text import metric_text

REPEATED_Z = 3.5
"""Common threshold of a robust z (Iglewicz and Hoaglin)."""
REPEATED_RATIO = 1.25
"""Minimum ratio to the median of the repetitions."""
MODELLED_Z = 6.0
"""Threshold of a robust z from the log-linear model."""
MODELLED_RATIO = 1.5
"""Minimum ratio to the model's time: a model of main effects misses interactions, so its threshold is higher."""
FEW_BYTES_OF_REPETITIONS = 0.5
"""Minimum bytes of a run, as a share of the median of its repetitions."""
FEW_BYTES_WORK = 0.25
"""Minimum bytes of a run with too few repetitions, as a share of the median of all runs of the same work."""
FEW_BYTES_TRAFFIC_SHARE = 0.01
"""Minimum missing bytes, as a share of the run's usual traffic (all byte metrics). A write-only job reads a few
kilobytes, and half as many by chance."""
RUNS_OF_WORK_MIN = 10
"""Minimum number of runs of the same work for a comparison with their median."""
_NO_BYTES = 1e-9
"""Stand-in for 0 bytes, which has no logarithm."""
IMBALANCE_MIN = 1.5
"""Minimum imbalance (maximum / mean over nodes) that is flagged."""
IMBALANCE_BEYOND = 1.4
"""Minimum imbalance as a multiple of the median of its repetitions, or of all runs of the same work."""
IMBALANCE_SUFFIX = "_imbalance"
_LOG_RATIO_MAX = np.log(1000.0)
"""Maximum log ratio that counts for the order of anomalies; an observed value of 0 has this ratio."""
_WORK_FACTORS = ("workload", "data_bytes", "engine", "origin", "lab_scale", "cluster", "layout", "cold")


class Kind(StrEnum):
    """The kind of an anomaly."""

    NOT_DONE = "did not do its work"
    TOO_FAST = "too fast"
    TOO_SLOW = "too slow"
    FEW_BYTES = "too few bytes"
    IMBALANCE = "imbalance"


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One anomaly of one run."""

    position: int
    """The run's row in the table."""
    row: int
    """The run's number in the repository's index."""
    kind: Kind
    observed: float
    expected: float
    quantity: str
    """The quantity of ``observed`` and ``expected``: ``duration_s``, or a metric's name."""
    z: float | None
    """Difference in robust standard deviations; None for kinds that do not use it."""
    repetitions: int
    """Number of compared runs of its configuration, including itself."""
    reason: str


@dataclass(frozen=True, slots=True)
class Anomalies:
    """All anomalies of a table, as columns; the largest ratio of observed and expected value first."""

    positions: Ints
    rows: Ints
    kinds: tuple[Kind, ...]
    """The kinds to which ``kind`` refers."""
    kind: Ints
    observed: Floats
    expected: Floats
    quantities: tuple[str, ...]
    quantity: Ints
    z: Floats
    repetitions: Ints
    modelled: Mask
    examined: int
    floors_s: dict[str, float]
    """The learned floor by workload (the lowest of several); workloads without a floor are absent."""

    def __len__(self) -> int:
        """Return the number of anomalies; a run can have several."""
        return len(self.positions)

    def of_kind(self, *kinds: Kind) -> Ints:
        """Return the positions of runs with an anomaly of one of these kinds."""
        kind_indices = [index for index, kind in enumerate(self.kinds) if kind in kinds]
        return np.unique(self.positions[np.isin(self.kind, kind_indices)])

    def listed(self, at_most: int = 50) -> list[Anomaly]:
        """Return the first anomalies, with a sentence each."""
        return self.at(range(min(at_most, len(self))))

    def at(self, indices: Iterable[int]) -> list[Anomaly]:
        """Return the anomalies at these positions of the columns, with a sentence each."""
        return [self._at(int(index)) for index in indices]

    def _at(self, index: int) -> Anomaly:
        kind, z = self.kinds[self.kind[index]], float(self.z[index])
        value, expected = float(self.observed[index]), float(self.expected[index])
        quantity = self.quantities[self.quantity[index]]
        repetitions = int(self.repetitions[index])
        return Anomaly(
            position=int(self.positions[index]),
            row=int(self.rows[index]),
            kind=kind,
            observed=value,
            expected=expected,
            quantity=quantity,
            z=None if np.isnan(z) else z,
            repetitions=repetitions,
            reason=_reason(kind, value, expected, quantity, repetitions, bool(self.modelled[index])),
        )


def _reason(kind: Kind, observed: float, expected: float, quantity: str, repetitions: int, modelled: bool) -> str:
    if kind is Kind.NOT_DONE:
        return f"{observed:,.0f} s; the shortest plausible time for this work is {expected:,.0f} s"
    if kind is Kind.FEW_BYTES:
        basis = "runs of the same work" if modelled else f"its {repetitions} repetitions"
        (title, value), (_, usual_value) = metric_text(quantity, observed), metric_text(quantity, expected)
        return f"{title}: {value} against {usual_value}, the median of {basis}"
    if kind is Kind.IMBALANCE:
        basis = "runs of the same work" if modelled else f"its {repetitions} repetitions"
        busiest = f"the busiest node did {observed:.2f}× the mean of the nodes"
        return f"{metric_text(quantity, observed)[0]}: {busiest}; the median of {basis} is {expected:.2f}×"
    time_basis = "a model of all factors predicts" if modelled else f"the median of {repetitions} repetitions"
    times = (
        f"{expected / observed:.2f} times as fast"
        if observed < expected
        else f"{observed / expected:.2f} times as long"
    )
    return f"{observed:,.0f} s: {times} as {time_basis} ({expected:,.0f} s)"


@dataclass(frozen=True, slots=True)
class _Flags:
    kind: Kind
    quantity: str
    positions: Ints
    observed: Floats
    expected: Floats
    z: Floats
    modelled: Mask


def _not_done(table: RunTable, floors: MinimumTimes) -> _Flags:
    rows = np.flatnonzero(floors.is_below)
    floor_s = floors.floor_s[floors.work.of_row[rows]]
    duration_s = table.values["duration_s"][rows]
    return _Flags(
        Kind.NOT_DONE,
        "duration_s",
        rows,
        duration_s,
        floor_s,
        np.full(len(rows), np.nan),
        np.zeros(len(rows), np.bool_),
    )


def _time_flags(table: RunTable, expected: Expectation) -> list[_Flags]:
    ratio = table.values["duration_s"] / expected.expected_s
    z_min = np.where(expected.modelled, MODELLED_Z, REPEATED_Z)
    ratio_min = np.where(expected.modelled, MODELLED_RATIO, REPEATED_RATIO)
    with np.errstate(invalid="ignore"):
        masks = {
            Kind.TOO_FAST: (expected.z <= -z_min) & (ratio <= 1 / ratio_min),
            Kind.TOO_SLOW: (expected.z >= z_min) & (ratio >= ratio_min),
        }
    flags = []
    for kind, mask in masks.items():
        rows = np.flatnonzero(mask)
        flags.append(
            _Flags(
                kind,
                "duration_s",
                rows,
                table.values["duration_s"][rows],
                expected.expected_s[rows],
                expected.z[rows],
                expected.modelled[rows],
            )
        )
    return flags


def _medians(logs: Floats, groups: Groups, runs_min: int) -> Floats:
    """Return the median of the values of each row's group, from their ``logs``; NaN for fewer than ``runs_min``
    values."""
    medians = np.exp(median_by(logs, groups))
    medians[np.bincount(groups.of_row, minlength=groups.count) < runs_min] = np.nan
    return medians[groups.of_row]


def _traffic(table: RunTable, names: Sequence[str]) -> Floats:
    """Return the sum of the metrics ``names`` of each run; a missing metric counts as 0."""
    total = np.zeros(len(table))
    for name in names:
        values = table.values[name]
        total += np.where(np.isfinite(values) & (values > 0), values, 0.0)
    return total


def _few_bytes(
    table: RunTable, configurations: Groups, same_work: Groups, name: str, traffic: Floats, is_examined: Mask
) -> _Flags:
    """Return the runs whose bytes are far below those of their repetitions, or else of runs with the ``same_work``.

    ``traffic``: bytes of each run over all byte metrics. The missing bytes must be a relevant share of the traffic.
    """
    rows = np.flatnonzero(is_examined & np.isfinite(table.values[name]) & (table.values[name] >= 0))
    values = table.values[name][rows]
    logs = np.log(np.maximum(values, _NO_BYTES))
    medians = _medians(logs, Groups(configurations.of_row[rows], configurations.count), REPETITIONS_MIN)
    medians_of_work = _medians(logs, Groups(same_work.of_row[rows], same_work.count), RUNS_OF_WORK_MIN)
    is_repeated = np.isfinite(medians)
    with np.errstate(invalid="ignore"):
        bytes_min = np.where(is_repeated, FEW_BYTES_OF_REPETITIONS * medians, FEW_BYTES_WORK * medians_of_work)
        usual_bytes = np.where(is_repeated, medians, medians_of_work)
        total = np.log(np.maximum(traffic[rows], _NO_BYTES))
        usual_traffic = np.where(
            is_repeated,
            _medians(total, Groups(configurations.of_row[rows], configurations.count), REPETITIONS_MIN),
            _medians(total, Groups(same_work.of_row[rows], same_work.count), RUNS_OF_WORK_MIN),
        )
        is_relevant = usual_bytes - values >= FEW_BYTES_TRAFFIC_SHARE * usual_traffic
        few_rows = np.flatnonzero(
            (values < bytes_min) & (bytes_min > _NO_BYTES) & is_relevant
        )  # no run has fewer than 0 bytes
    expected = usual_bytes[few_rows]
    no_z = np.full(len(few_rows), np.nan)
    return _Flags(Kind.FEW_BYTES, name, rows[few_rows], values[few_rows], expected, no_z, ~is_repeated[few_rows])


def _imbalanced(table: RunTable, configurations: Groups, same_work: Groups, name: str, is_examined: Mask) -> _Flags:
    """Return the runs with a large imbalance between nodes, larger than in repetitions or else in the ``same_work``."""
    rows = np.flatnonzero(is_examined & np.isfinite(table.values[name]) & (table.values[name] > 0))
    values = table.values[name][rows]
    medians = _medians(np.log(values), Groups(configurations.of_row[rows], configurations.count), REPETITIONS_MIN)
    medians_of_work = _medians(np.log(values), Groups(same_work.of_row[rows], same_work.count), RUNS_OF_WORK_MIN)
    usual_values = np.where(np.isfinite(medians), medians, medians_of_work)
    with np.errstate(invalid="ignore"):
        flagged_rows = np.flatnonzero((values >= IMBALANCE_MIN) & (values >= IMBALANCE_BEYOND * usual_values))
    no_z = np.full(len(flagged_rows), np.nan)
    return _Flags(
        Kind.IMBALANCE,
        name,
        rows[flagged_rows],
        values[flagged_rows],
        usual_values[flagged_rows],
        no_z,
        ~np.isfinite(medians[flagged_rows]),
    )


def _floor_by_workload(table: RunTable, floors: MinimumTimes) -> dict[str, float]:
    has_floor = np.isfinite(floors.floor_s)[floors.work.of_row]
    column = table.columns.get("workload")
    if column is None or not has_floor.any():
        return {}
    lowest_s = np.full(len(column.levels), np.inf)
    rows = np.flatnonzero(has_floor & (column.codes >= 0))
    np.minimum.at(lowest_s, column.codes[rows], floors.floor_s[floors.work.of_row[rows]])
    return {name: float(floor) for name, floor in zip(column.levels, lowest_s, strict=True) if np.isfinite(floor)}


def find_anomalies(table: RunTable, examined_rows: Mask | None = None) -> Anomalies:
    """Return the anomalies among the runs of ``examined_rows`` (by default valid runs with a duration)."""
    with np.errstate(invalid="ignore"):
        has_duration = np.isfinite(table.values["duration_s"]) & (table.values["duration_s"] > 0)
    is_examined = usable(table) if examined_rows is None else examined_rows & has_duration
    configurations = configurations_of(table)
    first = first_rows(configurations)
    works = work_of(table, configurations, first)
    floors = learn_floors(table, works, is_examined)
    did_work = is_examined & ~floors.is_below
    expected = expectations(table, configurations, works, did_work)
    byte_metrics = [name for name in table.values if name.endswith("_bytes")]
    imbalances = [name for name in table.values if name.endswith(IMBALANCE_SUFFIX)]
    same_work_factors = [name for name in _WORK_FACTORS if name in table.columns]
    same_work = merged_groups(table, configurations, same_work_factors, first) if byte_metrics or imbalances else works
    traffic = _traffic(table, byte_metrics)
    all_flags = (
        _not_done(table, floors),
        *_time_flags(table, expected),
        *(_few_bytes(table, configurations, same_work, name, traffic, did_work) for name in byte_metrics),
        *(_imbalanced(table, configurations, same_work, name, did_work) for name in imbalances),
    )
    parts = [part for part in all_flags if len(part.positions)]
    kinds, quantities = tuple(Kind), tuple(dict.fromkeys(part.quantity for part in parts))
    kind = _column([np.full(len(p.positions), kinds.index(p.kind)) for p in parts], np.int64)
    values, expected_values = _column([p.observed for p in parts]), _column([p.expected for p in parts])
    with np.errstate(divide="ignore"):
        log_ratio = np.abs(np.log(np.maximum(values, 1e-9) / expected_values))
    order = np.lexsort((kind, -np.minimum(log_ratio, _LOG_RATIO_MAX)))
    positions = _column([p.positions for p in parts], np.int64)[order]
    return Anomalies(
        positions=positions,
        rows=table.rows[positions],
        kinds=kinds,
        kind=kind[order],
        observed=values[order],
        expected=expected_values[order],
        quantities=quantities,
        quantity=_column([np.full(len(p.positions), quantities.index(p.quantity)) for p in parts], np.int64)[order],
        z=_column([p.z for p in parts])[order],
        repetitions=expected.repetitions[positions],
        modelled=_column([p.modelled for p in parts], np.bool_)[order],
        examined=int(np.count_nonzero(is_examined)),
        floors_s=_floor_by_workload(table, floors),
    )


def _column(parts: list[np.ndarray], dtype: type = np.float64) -> np.ndarray:
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype=dtype)
