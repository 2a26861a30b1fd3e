"""Draw tables of runs from a formula, on more clusters of different hardware than a dump of real runs has.

A world has clusters of 3 to 20 workers with 4 to 32 cores, 16 to 256 GB and one to eight disks; each has a speed factor
that its hardware does not explain (lognormal, 15 %). A run's time is a fixed start, the longest of its CPU, disk and
network times, and 30 % of the other two, with noise of 4 %. These runs are computed, not measured.
"""

from __future__ import annotations

import numpy as np

from assay.analysis.statistics.runs.run_table import RunTable, coded
from assay.estimation.prediction.features import CORES, MEMORY, WORKERS

WORK = {
    "terasort": (1.0, 3.0, 1.0),
    "sort": (0.5, 3.0, 1.0),
    "wordcount": (4.0, 1.0, 0.1),
    "kmeans": (6.0, 0.7, 0.1),
    "pagerank": (3.0, 1.5, 0.8),
}
"""Core seconds per 25 MB of data, then bytes through disks and bytes through the network per byte of data."""
RATES = {"hdd": 110e6, "ssd": 450e6}
NOISE, SPEED_SCATTER = 0.04, 0.15


def world(clusters: int = 12, runs: int = 150, seed: int = 1) -> RunTable:
    """Return a table of runs on each of the clusters."""
    random = np.random.default_rng(seed)
    names: dict[str, list[str]] = {n: [] for n in ("workload", "cluster", "layout", "network", "slots", "data_bytes")}
    numbers: dict[str, list[float]] = {n: [] for n in (WORKERS, CORES, MEMORY, "duration_s")}
    for number in range(clusters):
        workers, cores = int(random.integers(3, 21)), int(random.choice([4, 8, 12, 16, 24, 32]))
        memory, disks = float(random.choice([16, 32, 64, 128, 256])) * 1e9, int(random.integers(1, 9))
        slowness = float(np.exp(random.normal(0.0, SPEED_SCATTER)))
        for _ in range(runs):
            workload = str(random.choice(list(WORK)))
            layout = str(random.choice([f"HD{disks}", "SSD"]))
            rate_gbit, slots = float(random.choice([1.0, 10.0])), int(random.choice([cores // 2, cores, cores * 2]))
            data = float(random.choice([1e11, 3e11, 1e12]))
            storage_rate = RATES["ssd"] if layout == "SSD" else RATES["hdd"] * disks
            cpu, disk, network = WORK[workload]
            spill = 1.0 + 0.5 * (data / workers > 2 * memory)
            parts = (
                cpu * data / 25e6 / (workers * min(slots, cores)),
                disk * spill * data / (storage_rate * workers),
                network * data / (rate_gbit * 1e9 / 8 * workers),
            )
            time_s = 25.0 + slowness * (max(parts) + 0.3 * (sum(parts) - max(parts)))
            levels = (workload, f"cluster-{number}", layout, f"{rate_gbit:g}", str(slots), f"{data:.0f}")
            for name, level in zip(names, levels, strict=True):
                names[name].append(level)
            row = (workers, cores, memory, time_s * float(np.exp(random.normal(0.0, NOISE))))
            for name, value in zip(numbers, row, strict=True):
                numbers[name].append(value)
    size = clusters * runs
    columns = {name: coded(levels) for name, levels in names.items()} | {"status": coded(["valid"] * size)}
    return RunTable(np.arange(size), columns, {name: np.array(values) for name, values in numbers.items()})
