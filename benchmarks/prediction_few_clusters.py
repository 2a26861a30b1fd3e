"""How often an interval for an unseen cluster holds when few clusters were measured.

Draws tables of 3, 4 and 6 clusters from a formula (``prediction_worlds.py``, simulated) and leaves out each cluster.
assay learns from the others, as ``assay predict`` does, and the interval is compared with the times of the cluster that
was left out. The last columns have the factor that assay used before: Student's t with one degree of freedom fewer than
clusters.

Held: share of runs within the 90 % interval, mean of clusters. Width: upper end over expected time, median of clusters.
Clusters: share of clusters in which at least 90 % of the runs are within.

Run it with ``python benchmarks/prediction_few_clusters.py --worlds 10``; it prints Markdown.
"""

from __future__ import annotations

import argparse

import numpy as np
from prediction_worlds import world
from scipy.special import ndtri, stdtrit

from assay.predict.asking import ask
from assay.predict.calibration import LEVEL, WIDENING
from assay.predict.model import learn

SEED = 100
RUNS = 100
"""Runs of each cluster."""


def held_and_width(clusters: int, seed: int) -> np.ndarray:
    """Return, by cluster left out: held and width, then the same by Student's t, and the MAPE."""
    table = world(clusters, RUNS, seed)
    cluster, learned_from = table.columns["cluster"], clusters - 1
    by_t = float(stdtrit(learned_from - 1, 0.5 + LEVEL / 2) / ndtri(0.5 + LEVEL / 2))
    rows = []
    for code in range(clusters):
        left = cluster.codes == code
        answers = ask(learn(table.taken(~left)), table.taken(left))
        known = np.isfinite(answers.expected_s)
        expected = np.log(answers.expected_s[known])
        half = np.log(answers.high_s[known]) - expected
        errors = np.abs(np.log(table.values["duration_s"][left][known]) - expected)
        half_before = half * by_t / WIDENING[learned_from]
        mape = np.abs(np.expm1(expected - np.log(table.values["duration_s"][left][known]))).mean()
        held, held_before = (errors <= half).mean(), (errors <= half_before).mean()
        widths = np.exp(np.median(half)), np.exp(np.median(half_before))
        rows.append((held, widths[0], held_before, widths[1], mape))
    return np.array(rows)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--worlds", type=int, default=10, help="tables of each number of clusters")
    parser.add_argument("--clusters", type=int, nargs="*", default=[3, 4, 6])
    options = parser.parse_args()
    print("| clusters learned from | left out | MAPE | held | clusters | width | before: held | clusters | width |")
    print("|---|---|---|---|---|---|---|---|---|")
    for clusters in options.clusters:
        rows = np.concatenate([held_and_width(clusters, SEED + number) for number in range(options.worlds)])
        cells = [str(clusters - 1), str(len(rows)), f"{rows[:, 4].mean():.1%}"]
        for held, width in (rows[:, :2].T, rows[:, 2:4].T):
            cells += [f"{held.mean():.1%}", f"{(held >= LEVEL).mean():.0%}", f"{np.median(width):.1f}×"]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
