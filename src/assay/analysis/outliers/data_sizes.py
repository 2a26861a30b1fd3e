"""Find runs that can't have processed as much data as their source states.

In: runs as a table, which of them count, and the number of workers of each row's cluster, if known. Out: which runs are
implausible, and the reason. A data size is read from ``data_bytes`` or the name of a suite (``HiBench-1TB``), and
sources can record it wrongly: a suite named 1 TB that ended after 513 s, where every other cluster takes hours, would
make its cluster the cheapest of all.

A run is compared with the same work on other clusters. It is implausible if the time of its configuration, per worker,
is below the median of the other clusters by :data:`FACTOR_MIN` and by :data:`Z_MIN` robust standard deviations of these
clusters (B. Iglewicz and D. C. Hoaglin, How to Detect and Handle Outliers, 1993). The same rule holds for how a
cluster's time grows from the next smaller size: ten times the data in the same time is implausible where other clusters
take ten times as long.
"""

import re
from dataclasses import dataclass

import numpy as np

from assay.analysis.outliers.spread import NORMAL
from assay.analysis.statistics import (
    SIZE_OPTIONS,
    Floats,
    Groups,
    Ints,
    Mask,
    RunTable,
    groups_by,
    median_by,
    same_work,
)

FACTOR_MIN = 4.0
"""Minimum ratio of the usual time to an implausible time."""
Z_MIN = 3.5
"""Minimum distance of an implausible time from the usual time, in robust standard deviations."""
CLUSTERS_MIN = 3
"""Minimum number of other clusters to compare a time with."""
_SIZE = re.compile(r"(\d+(?:\.\d+)?)[ _]?([KMGTP])i?B", re.IGNORECASE)
_POWERS = "KMGTP"


@dataclass(frozen=True, slots=True)
class ImplausibleSizes:
    """Runs whose data size is implausible; ``times_faster``: their speed over that of other clusters."""

    rows: Mask
    times_faster: Floats

    def reason(self, positions: Ints) -> str:
        """Return the reason why the implausible rows at ``positions`` are excluded."""
        ratio = float(np.median(self.times_faster[positions]))
        return (
            f"{ratio:.0f} times as fast per worker as the same work on other clusters: "
            "the recorded data size is implausible"
        )


def size_bytes(text: str) -> float:
    """Return the size in a level such as ``HiBench-1TB`` or ``1000000000``; NaN if it has none."""
    if text.isdigit():
        return float(text)
    match = _SIZE.search(text)
    return float(match[1]) * 1000.0 ** (1 + _POWERS.index(match[2].upper())) if match else float("nan")


def implausible_sizes(table: RunTable, is_counted: Mask, workers: Floats) -> ImplausibleSizes:
    """Return which counted runs have an implausible data size.

    ``workers``: of each row's cluster; NaN if unknown.
    """
    none_implausible = ImplausibleSizes(np.zeros(len(table), dtype=np.bool_), np.full(len(table), np.nan))
    rows = np.flatnonzero(is_counted)
    if "cluster" not in table.columns or len(table.columns["cluster"].levels) <= CLUSTERS_MIN or not len(rows):
        return none_implausible
    works, cluster = groups_by(table, same_work(table)), table.columns["cluster"].codes.astype(np.int64)
    configurations = groups_by(table, table.factors)
    logs = np.log(table.values["duration_s"])
    all_known = np.isfinite(workers[rows]).all()
    logs = logs + (np.log(workers) if all_known else 0.0)
    centre = median_by(logs[rows], Groups(configurations.of_row[rows], configurations.count))
    first_positions = np.unique(configurations.of_row[rows], return_index=True)[1]
    example_rows = rows[first_positions]  # one row of each counted configuration
    values = centre[configurations.of_row[example_rows]]
    work, cluster_of = works.of_row[example_rows], cluster[example_rows]
    log_ratios = _below_others(values, work, cluster_of)
    growth = _growth(table, works, work, cluster_of, values)
    log_ratios = np.fmax(log_ratios, _below_others(growth, work, cluster_of))
    by_configuration = np.full(configurations.count, np.nan)
    by_configuration[configurations.of_row[example_rows]] = log_ratios
    log_ratio = np.where(is_counted, by_configuration[configurations.of_row], np.nan)
    return ImplausibleSizes(np.isfinite(log_ratio), np.exp(log_ratio))


def _below_others(values: Floats, work: Ints, cluster_of: Ints) -> Floats:
    """Return the log ratio of the other clusters' median to each implausibly low value; NaN for other values."""
    log_ratios = np.full(len(values), np.nan)
    for number in np.unique(work):
        rows_of_work = np.flatnonzero((work == number) & np.isfinite(values))
        clusters = np.unique(cluster_of[rows_of_work])
        if len(clusters) <= CLUSTERS_MIN:
            continue
        medians = np.array(
            [np.median(values[rows_of_work[cluster_of[rows_of_work] == cluster]]) for cluster in clusters]
        )
        for index, cluster in enumerate(clusters):
            other_medians = np.delete(medians, index)
            centre = float(np.median(other_medians))
            spread = NORMAL * float(np.median(np.abs(other_medians - centre)))
            log_ratio_min = max(np.log(FACTOR_MIN), Z_MIN * spread)
            in_cluster = rows_of_work[cluster_of[rows_of_work] == cluster]
            log_ratio = centre - values[in_cluster]
            log_ratios[in_cluster[log_ratio >= log_ratio_min]] = log_ratio[log_ratio >= log_ratio_min]
    return log_ratios


def _growth(table: RunTable, works: Groups, work: Ints, cluster_of: Ints, values: Floats) -> Floats:
    """Return the log ratio of each value to its cluster's median at the next smaller size of the workload."""
    first_rows = np.zeros(works.count, dtype=np.int64)
    first_rows[works.of_row[::-1]] = np.arange(len(table))[::-1]
    names = [name for name in same_work(table) if name == "data_bytes" or name.endswith(SIZE_OPTIONS)]
    sizes = np.full(works.count, np.nan)
    for name in names:
        texts = (table.columns[name].text(int(row)) for row in first_rows)
        known_sizes = np.array([size_bytes(text) if text else np.nan for text in texts])
        sizes = np.where(np.isfinite(sizes), sizes, known_sizes)
    other_options = groups_by(table, [name for name in same_work(table) if name not in names]).of_row[first_rows]
    growth = np.full(len(values), np.nan)
    for number in np.unique(work):
        smaller = np.flatnonzero((other_options == other_options[number]) & (sizes < sizes[number]))
        if not len(smaller):
            continue
        next_smaller = smaller[np.argmax(sizes[smaller])]
        rows_of_work = np.flatnonzero(work == number)
        for cluster in np.unique(cluster_of[rows_of_work]):
            values_before = values[(work == next_smaller) & (cluster_of == cluster)]
            if len(values_before):
                in_cluster = rows_of_work[cluster_of[rows_of_work] == cluster]
                growth[in_cluster] = values[in_cluster] - np.median(values_before)
    return growth
