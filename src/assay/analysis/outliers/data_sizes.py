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

    def reason(self, among: Ints) -> str:
        """Return the reason why the implausible rows ``among`` are excluded."""
        ratio = float(np.median(self.times_faster[among]))
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


def implausible_sizes(table: RunTable, counted: Mask, workers: Floats) -> ImplausibleSizes:
    """Return which counted runs have an implausible data size.

    ``workers``: of each row's cluster; NaN if unknown.
    """
    none_implausible = ImplausibleSizes(np.zeros(len(table), dtype=np.bool_), np.full(len(table), np.nan))
    rows = np.flatnonzero(counted)
    if "cluster" not in table.columns or len(table.columns["cluster"].levels) <= CLUSTERS_MIN or not len(rows):
        return none_implausible
    works, cluster = groups_by(table, same_work(table)), table.columns["cluster"].codes.astype(np.int64)
    configurations = groups_by(table, table.factors)
    logs = np.log(table.values["duration_s"])
    known = np.isfinite(workers[rows]).all()
    logs = logs + (np.log(workers) if known else 0.0)
    centre = median_by(logs[rows], Groups(configurations.of_row[rows], configurations.count))
    example = np.unique(configurations.of_row[rows], return_index=True)[1]
    rows_of = rows[example]  # one row of each counted configuration
    values = centre[configurations.of_row[rows_of]]
    work, cluster_of = works.of_row[rows_of], cluster[rows_of]
    short = _below_others(values, work, cluster_of)
    growth = _growth(table, works, work, cluster_of, values)
    short = np.fmax(short, _below_others(growth, work, cluster_of))
    by_configuration = np.full(configurations.count, np.nan)
    by_configuration[configurations.of_row[rows_of]] = short
    usual = np.where(counted, by_configuration[configurations.of_row], np.nan)
    return ImplausibleSizes(np.isfinite(usual), np.exp(usual))


def _below_others(values: Floats, work: Ints, cluster_of: Ints) -> Floats:
    """Return the log ratio of the other clusters' median to each implausibly low value; NaN for other values."""
    short = np.full(len(values), np.nan)
    for number in np.unique(work):
        of_work = np.flatnonzero((work == number) & np.isfinite(values))
        clusters = np.unique(cluster_of[of_work])
        if len(clusters) <= CLUSTERS_MIN:
            continue
        medians = np.array([np.median(values[of_work[cluster_of[of_work] == cluster]]) for cluster in clusters])
        for at, cluster in enumerate(clusters):
            others = np.delete(medians, at)
            centre = float(np.median(others))
            spread = NORMAL * float(np.median(np.abs(others - centre)))
            least = max(np.log(FACTOR_MIN), Z_MIN * spread)
            in_cluster = of_work[cluster_of[of_work] == cluster]
            below = centre - values[in_cluster]
            short[in_cluster[below >= least]] = below[below >= least]
    return short


def _growth(table: RunTable, works: Groups, work: Ints, cluster_of: Ints, values: Floats) -> Floats:
    """Return the log ratio of each value to its cluster's median at the next smaller size of the workload."""
    first = np.zeros(works.count, dtype=np.int64)
    first[works.of_row[::-1]] = np.arange(len(table))[::-1]
    names = [name for name in same_work(table) if name == "data_bytes" or name.endswith(SIZE_OPTIONS)]
    sizes = np.full(works.count, np.nan)
    for name in names:
        texts = (table.columns[name].text(int(row)) for row in first)
        known_sizes = np.array([size_bytes(text) if text else np.nan for text in texts])
        sizes = np.where(np.isfinite(sizes), sizes, known_sizes)
    alike = groups_by(table, [name for name in same_work(table) if name not in names]).of_row[first]
    growth = np.full(len(values), np.nan)
    for number in np.unique(work):
        smaller = np.flatnonzero((alike == alike[number]) & (sizes < sizes[number]))
        if not len(smaller):
            continue
        below = smaller[np.argmax(sizes[smaller])]
        of_work = np.flatnonzero(work == number)
        for cluster in np.unique(cluster_of[of_work]):
            before = values[(work == below) & (cluster_of == cluster)]
            if len(before):
                in_cluster = of_work[cluster_of[of_work] == cluster]
                growth[in_cluster] = values[in_cluster] - np.median(before)
    return growth
