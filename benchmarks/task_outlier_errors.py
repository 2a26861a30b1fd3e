"""Measure how often tasks are flagged wrongly and how many known outliers are found, on drawn populations of tasks.

Each world draws the tasks of one kind of a job: bytes, duration, CPU and garbage collection, which depend on each
other. Some worlds contain no outliers; others have tasks with a known fault. Three methods flag tasks of the same
worlds: assay's, DBSCAN with the radius by Daszykowski et al. (2001), and a robust z score for each quantity
(B. Iglewicz and D. C. Hoaglin, 1993), corrected for the number of tasks and quantities.

Run it with ``python benchmarks/task_outlier_errors.py --worlds 400``; it prints Markdown. It is seeded.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.cluster import DBSCAN

from assay.analysis.outliers.task_outliers import NEIGHBOURS_MIN, task_flags

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Method = Callable[[Floats], Mask]
OFFSETS = np.array([0.5, 2.0**20, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
"""assay's offsets for seconds and bytes; the last four are for the world with eight quantities."""
DURATION, BYTES, CPU, GC = range(4)
NORMAL_WORLDS = (
    "log-normal 10 %",
    "log-normal 30 %",
    "eight quantities",
    "skewed",
    "heavy tail",
    "two inputs",
    "two halves",
    "last split",
)
FAULTS = ("1.5 times slower", "2 times slower", "3 times slower", "3 times the bytes", "10 times the GC", "slow node")


def draw(world: str, tasks: int, random: np.random.Generator) -> Floats:
    """Return the quantities of tasks without a fault: duration (s), bytes, CPU (s), garbage collection (s)."""
    scatter = 0.3 if world == "log-normal 30 %" else 0.1
    size = 128e6 * np.exp(0.05 * random.standard_normal(tasks))
    if world == "two inputs":
        size[random.random(tasks) < 0.25] *= 2.5
    if world == "two halves":
        size[random.random(tasks) < 0.5] *= 2.5
    if world == "last split":
        size[-1] *= random.random()
    noise = np.exp(scatter * random.standard_normal(tasks))
    if world == "skewed":
        noise = 1 + random.exponential(0.2, tasks)
    if world == "heavy tail":
        noise = np.exp(0.1 * random.standard_t(3, tasks))
    duration = size / 10e6 * noise
    cpu = size / 20e6 * np.exp(0.1 * random.standard_normal(tasks))
    gc = cpu * 0.1 * np.exp(0.4 * random.standard_normal(tasks))
    other_quantities = [
        10 * np.exp(0.2 * random.standard_normal(tasks)) for _ in range(4 if world == "eight quantities" else 0)
    ]
    return np.column_stack([duration, size, cpu, gc, *other_quantities])


def damage(quantities: Floats, fault: str, random: np.random.Generator) -> tuple[Floats, Mask]:
    """Return the quantities with a fault in 2 % of the tasks, or in one node of 16, and which tasks have it."""
    changed, tasks = quantities.copy(), len(quantities)
    share = 1 / 16 if fault == "slow node" else 0.02
    is_faulty = np.zeros(tasks, dtype=np.bool_)
    is_faulty[random.choice(tasks, max(1, round(share * tasks)), replace=False)] = True
    if fault == "3 times the bytes":
        changed[is_faulty, DURATION] *= 3
        changed[is_faulty, BYTES] *= 3
        changed[is_faulty, CPU] *= 3
    elif fault == "10 times the GC":
        added = 9 * changed[is_faulty, GC]
        changed[is_faulty, GC] += added
        changed[is_faulty, DURATION] += added
    else:
        changed[is_faulty, DURATION] *= 2.0 if fault == "slow node" else float(fault.split()[0])
    return changed, is_faulty


def by_assay(quantities: Floats) -> Mask:
    """Return assay's flags."""
    flags = task_flags(quantities, OFFSETS[: quantities.shape[1]])
    return flags.outliers if flags else np.zeros(len(quantities), dtype=np.bool_)


def by_dbscan(quantities: Floats) -> Mask:
    """Return DBSCAN's noise on standardised logarithms, with the radius by Daszykowski et al."""
    points = np.log(quantities + OFFSETS[: quantities.shape[1]])
    points = (points - points.mean(axis=0)) / np.maximum(points.std(axis=0), 1e-9)
    tasks, dimensions = points.shape
    neighbours = max(NEIGHBOURS_MIN, tasks // 25)
    volume = float(np.prod(points.max(axis=0) - points.min(axis=0)))
    ball = math.sqrt(math.pi**dimensions) / math.gamma(dimensions / 2 + 1)
    radius = (volume * neighbours / (tasks * ball)) ** (1 / dimensions)
    return np.asarray(DBSCAN(eps=radius, min_samples=neighbours).fit(points).labels_ == -1)


def robust_z(quantities: Floats) -> Mask:
    """Return the tasks of which any quantity is outside a bound that 5 % of normal populations exceed."""
    points = np.log(quantities + OFFSETS[: quantities.shape[1]])
    medians = np.median(points, axis=0)
    spreads = np.array([max(0.1, 1.4826 * float(np.median(np.abs(column)))) for column in (points - medians).T])
    bound = norm.ppf(1 - 0.05 / (2 * points.size))
    return np.asarray((np.abs(points - medians) > bound * spreads).any(axis=1))


METHODS: dict[str, Method] = {
    "assay": by_assay,
    "DBSCAN, usual radius": by_dbscan,
    "robust z of each quantity": robust_z,
}


def false_flags(world: str, tasks: int, worlds: int) -> dict[str, tuple[float, float]]:
    """Return by method the share of worlds with a flag, and the share of tasks flagged; no task has a fault."""
    random = np.random.default_rng(tasks)
    counts = {name: [0, 0] for name in METHODS}
    for _ in range(worlds):
        quantities = draw(world, tasks, random)
        for name, method in METHODS.items():
            flagged = int(method(quantities).sum())
            counts[name][0] += flagged > 0
            counts[name][1] += flagged
    return {
        name: (flagged_worlds / worlds, flagged / worlds / tasks) for name, (flagged_worlds, flagged) in counts.items()
    }


def detections(fault: str, tasks: int, worlds: int, world: str = NORMAL_WORLDS[0]) -> dict[str, tuple[float, float]]:
    """Return by method the share of tasks with the fault that are flagged, and of the others that are flagged."""
    random = np.random.default_rng(tasks + 1)
    counts = {name: [0, 0, 0, 0] for name in METHODS}
    for _ in range(worlds):
        quantities, is_faulty = damage(draw(world, tasks, random), fault, random)
        for name, method in METHODS.items():
            flagged = method(quantities)
            count = counts[name]
            count[0] += int((flagged & is_faulty).sum())
            count[1] += int(is_faulty.sum())
            count[2] += int((flagged & ~is_faulty).sum())
            count[3] += int((~is_faulty).sum())
    return {name: (hits / total, wrong / others) for name, (hits, total, wrong, others) in counts.items()}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=400)
    worlds = parser.parse_args().worlds
    print("| no fault | tasks | " + " | ".join(f"{name}: populations, tasks flagged" for name in METHODS) + " |")
    print("|---|---|" + "---|" * len(METHODS))
    for world in NORMAL_WORLDS:
        for tasks in (16, 100, 1000):
            rates = false_flags(world, tasks, worlds)
            print(f"| {world} | {tasks:,} | " + " | ".join(f"{a:.1%}, {b:.2%}" for a, b in rates.values()) + " |")
    print("\n| fault | tasks | " + " | ".join(f"{name}: found, others flagged" for name in METHODS) + " |")
    print("|---|---|" + "---|" * len(METHODS))
    for fault in FAULTS:
        for tasks in (16, 100, 1000):
            rates = detections(fault, tasks, worlds)
            print(f"| {fault} | {tasks:,} | " + " | ".join(f"{a:.1%}, {b:.2%}" for a, b in rates.values()) + " |")


if __name__ == "__main__":
    main()
