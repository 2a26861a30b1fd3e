"""Measure the time of the views over many runs: speedups, fastest candidates, findings, anomalies, changes.

Makes tables of synthetic runs in memory (fifteen factors, eight repetitions of each configuration, 2 % of runs that
ended at once, 10 % invalid) and prints the median of several calls of each view, in milliseconds, and peak memory.
Reading a repository and starting a process do not count.

Run it with ``python benchmarks/analysis_views.py``; it prints Markdown.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from assay.analysis.changes import histories
from assay.analysis.comparison.claims.published import aloja
from assay.analysis.comparison.matched import combined_or_named, match
from assay.analysis.comparison.significance import fastest_levels
from assay.analysis.comparison.speedups import speedups_of
from assay.analysis.outliers.anomalies import find_anomalies
from assay.analysis.statistics.runs.run_table import Column, RunTable
from assay.questions.claims.findings import findings

LEVELS: dict[str, tuple[str, ...]] = {
    "workload": ("terasort", "wordcount", "sort", "kmeans", "pagerank", "bayes", "read", "write", "hive", "join"),
    "layout": ("HDD", "SSD", "HD2", "HD3", "HD5", "SS2", "HS5", "RL1", "RL2", "RL3"),
    "network": ("ETH", "IB"),
    "cluster": tuple(f"cluster{number}" for number in range(20)),
    "engine": ("hadoop",),
    "engine_version": ("1.0.3", "2.7.1", "3.4.2"),
    "origin": ("measured",),
    "data_bytes": ("1000000000", "10000000000", "100000000000"),
    "mapreduce.tasktracker.map.tasks.maximum": ("4", "8", "12", "16", "24"),
    "dfs.replication": ("1", "2", "3"),
    "io.file.buffer.size": ("4096", "32768", "65536", "131072"),
    "mapreduce.task.io.sort.factor": ("5", "10", "20", "50"),
    "mapreduce.map.output.compress": ("false", "true"),
    "mapreduce.map.output.compress.codec": ("zlib", "lzo", "snappy"),
    "dfs.blocksize": ("33554432", "67108864", "134217728", "268435456"),
}


def synthetic_table(count: int, seed: int = 20_141_105) -> RunTable:
    """Return a table of ``count`` runs."""
    rng = np.random.default_rng(seed)
    configuration_of_run = rng.integers(0, max(count // 8, 1), count)
    columns = {
        name: Column(
            rng.integers(0, len(levels), configuration_of_run.max() + 1)[configuration_of_run].astype(np.int32), levels
        )
        for name, levels in LEVELS.items()
    }
    columns["status"] = Column((rng.random(count) < 0.1).astype(np.int32), ("valid", "invalid"))
    columns["cold"] = Column(rng.integers(-1, 2, count).astype(np.int32), ("cold", "warm"))
    columns["campaign_id"] = Column(rng.integers(0, 200, count).astype(np.int32), tuple(map(str, range(200))))
    log_speed = 0.3 * columns["workload"].codes - 0.1 * columns["layout"].codes + rng.normal(0, 0.1, count)
    duration_s = np.where(rng.random(count) < 0.02, 10.0, np.exp(6 + log_speed))
    started = np.sort(rng.uniform(1.4e9, 1.5e9, count))
    values = {"duration_s": duration_s, "started_unix_s": started, "disk_read_bytes": rng.lognormal(20, 0.1, count)}
    return RunTable(np.arange(count), columns, values)


VIEWS: dict[str, Callable[[RunTable], object]] = {
    "speedup by network": lambda table: speedups_of(match(table, "network")),
    "speedup by layout": lambda table: speedups_of(match(table, "layout")),
    "speedup by layout and network": lambda table: speedups_of(match(*combined_or_named(table, ("layout", "network")))),
    "speedup by layout, over all workloads": lambda table: speedups_of(match(table, "layout"), by=None),
    "fastest candidates of the layouts": lambda table: fastest_levels(match(table, "layout")),
    "ALOJA's averages by layout": lambda table: aloja(table, "layout"),
    "findings": findings,
    "anomalies": find_anomalies,
    "changes": histories,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, nargs="+", default=[50_000, 1_000_000])
    parser.add_argument("--calls", type=int, default=5)
    options = parser.parse_args()
    cells_by_view: dict[str, list[str]] = {name: [] for name in VIEWS}
    for count in options.runs:
        table = synthetic_table(count)
        for name, view in VIEWS.items():
            times = []
            for _ in range(options.calls + 1):
                start_s = time.perf_counter()
                view(table)
                times.append(time.perf_counter() - start_s)
            cells_by_view[name].append(f"{median(times[1:]) * 1000:.0f}")
    print("| view, ms | " + " | ".join(f"{count:,} runs" for count in options.runs) + " |")
    print("|---|" + "---|" * len(options.runs))
    for name, cells in cells_by_view.items():
        print(f"| {name} | " + " | ".join(cells) + " |")
    print(f"\nPeak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
