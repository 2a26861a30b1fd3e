"""Describe a cluster or a configuration: hardware, prices, and the history of its runs with their anomalies.

In: a repository, its flagged table of runs, a price book where there is one, and a cluster's name or a run. Out: frozen
answers. Values in a cluster's history are time / median time of the repetitions, so that all configurations share one
axis; values in a configuration's history are seconds. The share of a bare device is the mean throughput of the workers'
disks over a run / the measured throughput of the layout's devices without load.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from assay.analysis.changes import ChangePoint, histories
from assay.analysis.comparison.details.side_by_side import same_configuration
from assay.analysis.cost.rate import hourly_rate
from assay.analysis.outliers.anomaly_column import time_outliers
from assay.analysis.outliers.spread import configurations_of
from assay.analysis.statistics import (
    ANOMALY,
    NO_ANOMALY,
    Estimate,
    Groups,
    LevelCount,
    RunTable,
    first_rows,
    geometric_mean,
    groups_by,
    level_counts,
    log_errors_max_in,
    median_by,
    usable,
)
from assay.foundation.errors import RepositoryError, SpecificationError
from assay.model import LAYOUT_FACTOR, PriceBook, Run
from assay.questions.clusters.cluster_facts import FactsByHardware, facts_by_hardware, priced_parts
from assay.questions.clusters.hardware import HardwareView, hardware_of
from assay.questions.runs.runs import level_at
from assay.questions.trust.flags import FlagCount, FlaggedTable, flag_count
from assay.store import Repository

HISTORY_MAX = 600
"""Maximum number of runs of a history: flagged runs, then the newest other runs."""
EXAMPLES_MAX = 30
"""Maximum number of runs whose hardware is read."""
LISTED_MAX = 60
"""Maximum number of layouts that a page lists."""
_SUMMARY = ("workload", LAYOUT_FACTOR, "network", "status")


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """One run of a history."""

    run_id: str
    started_at: str
    """ISO 8601 in UTC."""
    value: float
    """Seconds; in a cluster's history, time / median time of its repetitions."""
    anomaly: str | None


@dataclass(frozen=True, slots=True)
class PricedSetup:
    """The price per hour of one layout (and network)."""

    levels: dict[str, str]
    runs: int
    flagged: int
    rate_per_h: float | None
    unpriced: str
    """Why it has no price; empty with a price, or without a price book."""
    example: str
    """The id of one of its runs."""


@dataclass(frozen=True, slots=True)
class ClusterView:
    """One cluster."""

    name: str
    runs: int
    flags: FlagCount
    by: dict[str, tuple[LevelCount, ...]]
    hardware: HardwareView
    setups: tuple[PricedSetup, ...]
    history: tuple[HistoryPoint, ...]
    currency: str
    book: str | None


@dataclass(frozen=True, slots=True)
class BandwidthShare:
    """Mean throughput of a configuration's runs compared with the bandwidth of the bare devices."""

    direction: str
    bytes_per_s: float
    bare_bytes_per_s: float
    runs: int

    @property
    def share(self) -> float:
        """Throughput / bandwidth of the bare devices."""
        return self.bytes_per_s / self.bare_bytes_per_s


@dataclass(frozen=True, slots=True)
class ConfigurationView:
    """All runs with the configuration of one run."""

    example: Run
    levels: dict[str, str]
    runs: int
    counted: int
    flags: FlagCount
    mean: Estimate | None
    """Mean time of the runs that count, without outliers in time."""
    history: tuple[HistoryPoint, ...]
    undated: int
    changes: tuple[ChangePoint, ...]
    reached: tuple[BandwidthShare, ...]
    price: PricedSetup
    cost_per_run: float | None
    currency: str
    book: str | None


def cluster_view(repository: Repository, flagged: FlaggedTable, name: str, book: PriceBook | None) -> ClusterView:
    """Return the view of a cluster. Raises RepositoryError, with the choices, for a cluster without runs."""
    column = flagged.table.columns.get("cluster")
    if column is None or name not in column.levels:
        names = ", ".join(sorted(column.levels)) if column is not None else "none"
        raise RepositoryError(f"no run is on a cluster {name!r}", hint=f"clusters with runs: {names}")
    table = flagged.table.subset(column.codes == column.code(name))
    factors = [factor for factor in (LAYOUT_FACTOR, "network") if factor in table.columns]
    groups = groups_by(table, factors)
    first, counts = first_rows(groups), np.bincount(groups.of_row, minlength=groups.count)
    outlier_counts = np.bincount(groups.of_row[time_outliers(table)], minlength=groups.count)
    ids = repository.ids_at(table, first.tolist())
    cluster_pricing = _Pricing(table, factors, facts_by_hardware(repository, table), book)
    setups = [
        cluster_pricing.setup(int(row), runs=int(counts[n]), flagged=int(outlier_counts[n]), example=ids[n])
        for n, row in enumerate(first)
    ]
    newest = np.argsort(-np.nan_to_num(table.values["started_unix_s"]), kind="stable")[:EXAMPLES_MAX]
    return ClusterView(
        name=name,
        runs=len(table),
        flags=flag_count(table),
        by={factor: _counted_levels(table, factor) for factor in _SUMMARY if factor in table.columns},
        hardware=hardware_of(repository, repository.runs_at(table, newest.tolist())),
        setups=tuple(sorted(setups, key=lambda setup: -setup.runs)),
        history=_history(repository, table, _times_over_median(table)),
        currency=book.currency if book else "",
        book=book.name if book else None,
    )


def configuration_view(
    repository: Repository, flagged: FlaggedTable, run: Run, book: PriceBook | None
) -> ConfigurationView:
    """Return the view of the configuration of a run."""
    rows = same_configuration(flagged.table, run)
    table = flagged.table.subset(rows)
    names = [factor for factor in ("cluster", LAYOUT_FACTOR, "network") if factor in table.columns]
    flags, outliers = flag_count(table), time_outliers(table)
    counts = usable(table) & ~outliers
    times = table.values["duration_s"]
    cluster_pricing = _Pricing(table, names, facts_by_hardware(repository, table), book)
    price = cluster_pricing.setup(0, runs=len(table), flagged=int(outliers.sum()), example=run.run_id)
    log_errors_max = log_errors_max_in(table, np.flatnonzero(counts), sides=1)
    mean = geometric_mean(times[counts].tolist(), log_errors_max) if counts.any() else None
    per_run = price.rate_per_h * mean.value / 3600 if price.rate_per_h is not None and mean else None
    return ConfigurationView(
        example=run,
        levels={name: text for name in table.factors if (text := level_at(table, name, 0)) is not None},
        runs=len(table),
        counted=int(counts.sum()),
        flags=flags,
        mean=mean,
        history=_history(repository, table, np.where(times > 0, times, np.nan)),
        undated=int(np.count_nonzero(~np.isfinite(table.values["started_unix_s"]))),
        changes=tuple(change for history in histories(table).changed for change in history.changes),
        reached=_bandwidth_shares(repository, table, counts, run),
        price=price,
        cost_per_run=per_run,
        currency=book.currency if book else "",
        book=book.name if book else None,
    )


def _counted_levels(table: RunTable, name: str) -> tuple[LevelCount, ...]:
    column = table.columns[name]
    counts = level_counts(column, np.ones(len(table), dtype=np.bool_)).tolist()
    levels = [LevelCount(level, int(n), False) for level, n in zip(column.levels, counts, strict=True) if n]
    return tuple(sorted(levels, key=lambda item: -item.runs))


@dataclass(frozen=True, slots=True)
class _Pricing:
    table: RunTable
    factors: Sequence[str]
    """Factors that a setup is described by."""
    facts: FactsByHardware
    book: PriceBook | None

    def setup(self, row: int, *, runs: int, flagged: int, example: str) -> PricedSetup:
        """Return the price per hour of the hardware of a row."""
        table, book = self.table, self.book
        level_by_factor = {name: text for name in table.factors if (text := level_at(table, name, row)) is not None}
        levels = {name: level_by_factor[name] for name in self.factors if name in level_by_factor}
        rate, why = None, ""
        if book is not None:
            layout = level_by_factor.get(LAYOUT_FACTOR, "")
            try:
                rate = float(hourly_rate(book, priced_parts(self.facts, level_by_factor), layout).per_h)
            except SpecificationError as error:
                why = error.message
        return PricedSetup(levels, runs, flagged, rate, why, example)


def _times_over_median(table: RunTable) -> np.ndarray:
    """Return time / median time of the repetitions for each valid run; NaN without a second run."""
    is_valid = usable(table)
    rows = np.flatnonzero(is_valid)
    configurations = configurations_of(table)
    configuration_of_row = configurations.of_row[rows]
    logs = np.log(table.values["duration_s"][rows])
    medians = median_by(logs, Groups(configuration_of_row, configurations.count))
    is_single_run = np.bincount(configuration_of_row, minlength=configurations.count)[configuration_of_row] < 2
    paces = np.full(len(table), np.nan)
    paces[rows] = np.where(is_single_run, np.nan, np.exp(logs - medians[configuration_of_row]))
    return paces


def _history(repository: Repository, table: RunTable, values: np.ndarray) -> tuple[HistoryPoint, ...]:
    start_times = table.values["started_unix_s"]
    column = table.columns[ANOMALY]
    is_flagged = column.codes > column.code(NO_ANOMALY)
    rows = np.flatnonzero(np.isfinite(start_times) & np.isfinite(values) & usable(table))
    if len(rows) > HISTORY_MAX:
        unflagged_rows = rows[~is_flagged[rows]]
        newest = unflagged_rows[np.argsort(start_times[unflagged_rows], kind="stable")][-HISTORY_MAX:]
        rows = np.concatenate([newest, rows[is_flagged[rows]][-HISTORY_MAX:]])
    rows = rows[np.argsort(start_times[rows], kind="stable")]
    ids = repository.ids_at(table, rows.tolist()) if len(rows) else []
    return tuple(
        HistoryPoint(
            run_id,
            datetime.fromtimestamp(float(start_times[row]), UTC).isoformat(),
            float(values[row]),
            column.text(int(row)) if is_flagged[row] else None,
        )
        for run_id, row in zip(ids, rows, strict=True)
    )


def _bandwidth_shares(
    repository: Repository, table: RunTable, counts: np.ndarray, run: Run
) -> tuple[BandwidthShare, ...]:
    """Return the shares of the layout's bare devices; empty where devices or disk traffic were not measured."""
    facts = run.recorded.cluster
    rows = np.flatnonzero(counts)
    if facts is None or not facts.device_names or not facts.workers or not len(rows):
        return ()
    hardware = hardware_of(repository, repository.runs_at(table, rows[-EXAMPLES_MAX:].tolist()))
    shares = []
    for direction, metric in (("read", "disk_read_bytes"), ("write", "disk_write_bytes")):
        bare_bytes_per_s = _bare_bandwidth(hardware, direction, facts.device_names, facts.workers)
        moved_bytes = table.values.get(metric)
        if bare_bytes_per_s is None or moved_bytes is None:
            continue
        rates = moved_bytes[rows] / table.values["duration_s"][rows]
        rates = rates[np.isfinite(rates)]
        if len(rates):
            shares.append(BandwidthShare(direction, float(np.median(rates)), bare_bytes_per_s, len(rates)))
    return tuple(shares)


def _bare_bandwidth(hardware: HardwareView, direction: str, names: Mapping[str, str], workers: int) -> float | None:
    """Return the bandwidth of the layout's bare devices of all workers; None where one was not measured."""
    total = 0.0
    for name in names:
        row = next((row for row in hardware.devices if name in row.devices), None)
        measurement = None if row is None else row.read if direction == "read" else row.write
        if measurement is None:
            return None
        total += measurement.median
    return total * workers or None
