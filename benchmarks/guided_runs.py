"""Compare three ways to choose runs, by the trees' uncertainty, at random, and by a factorial design, by replay.

Reads ALOJA's ``execs`` table and its list of clusters. In the two replays a run is made by looking it up:

- a new cluster, with all runs of the others (``assay next CLUSTER --precision``);
- one workload on one cluster, after ten random configurations (``assay next``).

The factorial design takes the configuration with the least used levels. Errors are the MAE in seconds and the median
relative error over the configurations not chosen. Random and factorial: mean over draws.

Run it with ``python benchmarks/guided_runs.py aloja-execs.csv aloja-clusters.csv``; it prints Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from prediction import runs_of_dump

from assay.analysis.statistics.runs.run_table import RunTable
from assay.estimation.prediction.choosing import estimates_by_tree, most_informative
from assay.estimation.prediction.features import Features, learned_encoding
from assay.estimation.prediction.model import SEED, TrainingData

Floats = NDArray[np.float64]
Chooser = Callable[[list[int], int, np.random.Generator], list[int]]


class Replay:
    """A plan whose configurations are looked up, and runs that are known before."""

    def __init__(self, known: Features, known_logs: Floats, plan: RunTable, features: Features, logs: Floats) -> None:
        self.known, self.known_logs, self.features, self.logs = known, known_logs, features, logs
        names = [name for name in plan.factors if len(np.unique(plan.columns[name].codes)) > 1]
        self.codes = np.stack([plan.columns[name].codes for name in names], axis=1)

    def estimates(self, chosen: Sequence[int]) -> Floats:
        """Return the estimates for the whole plan by trees that learned from the chosen runs."""
        rows = list(chosen)
        training_data = (
            np.concatenate([self.known, self.features[rows]]),
            np.concatenate([self.known_logs, self.logs[rows]]),
        )
        return estimates_by_tree(*training_data, self.features, SEED)

    def errors(self, chosen: list[int]) -> tuple[float, float]:
        """Return MAE in seconds and the median relative error over the configurations that are not chosen."""
        remaining = np.setdiff1d(np.arange(len(self.logs)), chosen)
        true, predicted = np.exp(self.logs[remaining]), np.exp(self.estimates(chosen).mean(axis=1)[remaining])
        return float(np.abs(predicted - true).mean()), float(np.median(np.abs(predicted - true) / true))

    def guided(self, chosen: list[int], count: int, _random: np.random.Generator) -> list[int]:
        """Return further configurations, by the uncertainty of the trees."""
        free_rows = np.setdiff1d(np.arange(len(self.logs)), chosen)
        selection = most_informative(self.estimates(chosen)[free_rows], None, runs=count)
        return [*chosen, *(int(free_rows[at]) for at in selection.order)]

    def at_random(self, chosen: list[int], count: int, random: np.random.Generator) -> list[int]:
        """Return further configurations at random."""
        free_rows = np.setdiff1d(np.arange(len(self.logs)), chosen)
        return [*chosen, *random.choice(free_rows, count, replace=False).tolist()]

    def factorial(self, chosen: list[int], count: int, random: np.random.Generator) -> list[int]:
        """Return further configurations with the least used levels."""
        chosen = list(chosen)
        for _ in range(count):
            weights = np.zeros(len(self.logs))
            for column in self.codes.T:
                counts = np.bincount(column[chosen] + 1, minlength=int(column.max()) + 2)
                weights += counts[column + 1] / np.unique(column).size
            weights[chosen] = np.inf
            least_used = np.flatnonzero(weights == weights.min())
            chosen.append(int(random.choice(least_used)))
        return chosen


def print_replay(title: str, replay: Replay, sizes: Sequence[int], first_runs: int, draws: int) -> None:
    """Print the errors by number of runs."""
    choosers: dict[str, Chooser] = {"guided": replay.guided, "random": replay.at_random, "factorial": replay.factorial}
    print(f"\n**{title}** ({len(replay.logs):,} configurations)\n")
    print("| runs | " + " | ".join(f"{name}: MAE (s) | median error" for name in choosers) + " |")
    print("|---|" + "---|" * (2 * len(choosers)))
    curves: dict[str, list[list[tuple[float, float]]]] = {name: [] for name in choosers}
    for draw in range(draws):
        for name, chooser in choosers.items():
            random = np.random.default_rng(draw)
            chosen = random.choice(len(replay.logs), first_runs, replace=False).tolist() if first_runs else []
            errors = []
            for size in sizes:
                chosen = chooser(chosen, size - len(chosen), random)
                errors.append(replay.errors(chosen))
            curves[name].append(errors)
    for position, size in enumerate(sizes):
        cells = []
        for name in choosers:
            mae_s, median = np.mean([errors[position] for errors in curves[name]], axis=0)
            cells += [f"{mae_s:,.0f}", f"{median:.1%}"]
        print(f"| {size} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("tables", type=Path, nargs="*", help="ALOJA's execs table as CSV, and its list of clusters")
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    if not options.tables:
        print("left out: it needs ALOJA's table of runs and its list of clusters as its arguments")
        return
    table = runs_of_dump(options.tables)
    encoding = learned_encoding(table)
    cluster, workload = table.columns["cluster"], table.columns["workload"]
    for code, cluster_name in enumerate(cluster.levels):
        other_clusters, held_out = (
            TrainingData.of(table.subset(cluster.codes != code)),
            TrainingData.of(table.subset(cluster.codes == code)),
        )
        other_configurations, plan = other_clusters.configurations(), held_out.configurations()
        replay = Replay(encoding.of(other_configurations), other_clusters.logs, plan, encoding.of(plan), held_out.logs)
        print_replay(f"cluster {cluster_name}, nothing known of it", replay, (5, 10, 20, 40, 80), 0, options.draws)
    no_features = np.zeros((0, len(encoding.names)), np.float32)
    for cluster_name, workload_name in (
        ("m1000-01", "terasort"),
        ("m1000-01", "dfsioe-read"),
        ("al-02", "dfsioe-write"),
    ):
        is_selected = (cluster.codes == cluster.code(cluster_name)) & (workload.codes == workload.code(workload_name))
        held_out = TrainingData.of(table.subset(is_selected))
        plan = held_out.configurations()
        replay = Replay(no_features, np.zeros(0), plan, encoding.of(plan), held_out.logs)
        print_replay(f"{workload_name} on {cluster_name}", replay, (10, 20, 30, 40, 60), 10, options.draws)


if __name__ == "__main__":
    main()
