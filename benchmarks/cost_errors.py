"""How often what assay says of costs is wrong: repositories with a known truth, and the statements made of them.

    python benchmarks/cost_errors.py --repositories 500

Four layouts have price × time within a stated distance of each other; times scatter by 5 % (lognormal), in one kind
with outliers. Printed for each kind of repository: how often a layout is called *the cheapest* (in 95 % of the draws,
on more than one run), how often that layout is not the cheapest, and how often an interval of the cost misses it. With
``best`` a layout has many configurations, and the best one of them is looked for: the true cost is that of the
configuration that was chosen.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from assay.questions.planes import Certainty, PlaneOptions, plane_views
from assay.spec.prices import prices_of
from assay.statistics.run_table import Column, RunTable

LAYOUTS = ("A", "B", "C", "D")
SCATTER = 0.05
BOOK = prices_of(
    "{prices: p, currency: USD, date: 2026-01-01, source: s, items: ["
    + ", ".join(f"{{name: {name}, price: $36, per: cluster-hour, layouts: [{name}]}}" for name in LAYOUTS)
    + "]}",
    "prices",
)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of repository."""

    name: str
    runs: int
    """Of each configuration."""
    apart: float
    """How much dearer each layout truly is than the one before it."""
    configurations: int = 1
    differ: float = 0.0
    """How much configurations of one layout truly differ (standard deviation of the logarithm)."""
    outliers: float = 0.0
    """Share of runs that take half as long again."""


KINDS = (
    *(Kind(f"{n} runs, alike", n, 0.0) for n in (2, 3, 5, 10)),
    *(Kind(f"{n} runs, 10 % apart", n, 0.10) for n in (2, 3, 5, 10)),
    Kind("5 runs, alike, 5 % outliers", 5, 0.0, outliers=0.05),
    Kind("one run of each but one, alike", 1, 0.0),
    Kind("best of 20 single runs, alike", 1, 0.0, 20, 0.0),
    Kind("best of 20 single runs, that differ by 10 %", 1, 0.0, 20, 0.10),
    Kind("best of 20 with 3 runs, that differ by 10 %", 3, 0.0, 20, 0.10),
)


def repository(kind: Kind, generator: np.random.Generator) -> tuple[RunTable, dict[tuple[str, str], float]]:
    """Return a repository's runs, and the true time of each layout's configurations."""
    cells = [(layout, configuration) for layout in range(len(LAYOUTS)) for configuration in range(kind.configurations)]
    truth = np.array([100.0 * (1 + kind.apart) ** layout for layout, _ in cells])
    truth *= np.exp(generator.normal(0, kind.differ, len(cells)))
    numbers = np.full(len(cells), kind.runs)
    if kind.runs == 1:
        numbers[-1] = 4  # something is repeated, so that there is a scatter to borrow
    rows = np.repeat(np.arange(len(cells)), numbers)
    times = truth[rows] * np.exp(generator.normal(0, SCATTER, len(rows)))
    times[generator.random(len(rows)) < kind.outliers] *= 1.5
    layout = np.array([cell[0] for cell in cells])[rows].astype(np.int32)
    configuration = np.array([cell[1] for cell in cells])[rows].astype(np.int32)
    same = np.zeros(len(rows), np.int32)
    names = tuple(str(number) for number in range(kind.configurations))
    columns = {
        "workload": Column(same, ("sort",)),
        "data_bytes": Column(same, ("1",)),
        "status": Column(same, ("valid",)),
        "layout": Column(layout, LAYOUTS),
        "setting": Column(configuration, names),
    }
    values = {"duration_s": times, "started_unix_s": np.arange(len(rows), dtype=np.float64)}
    found = {(LAYOUTS[a], names[b]): float(time) for (a, b), time in zip(cells, truth, strict=True)}
    return RunTable(np.arange(len(rows)), columns, values), found


def measured(kind: Kind, repositories: int, seed: int) -> tuple[float, float, float]:
    """Return how often a layout is called the cheapest, how often wrongly, and how often an interval misses."""
    generator = np.random.default_rng(seed)
    said = wrong = missed = intervals = 0
    for _ in range(repositories):
        table, truth = repository(kind, generator)
        (view,) = plane_views(table, {}, BOOK, PlaneOptions(("layout",)))
        times = [truth[row.levels["layout"], row.configuration.get("setting", "0")] for row in view.rows]
        # Where all are alike no layout is cheaper than another: whichever is called the cheapest is called so wrongly.
        right = kind.apart > 0 and times[0] == min(times) if kind.differ == 0 else times[0] <= min(times)
        if view.certainty is Certainty.SURE:
            said += 1
            wrong += not right
        for row, time in zip(view.rows, times, strict=True):
            if row.cost_low is not None and row.cost_high is not None:
                intervals += 1
                missed += not row.cost_low <= 0.01 * time <= row.cost_high
    return said / repositories, wrong / repositories, missed / max(intervals, 1)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repositories", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print("| repository | called the cheapest | wrongly | intervals that miss |")
    print("|---|---|---|---|")
    for kind in KINDS:
        found = measured(kind, asked.repositories, asked.seed)
        print(f"| {kind.name} | {' | '.join(f'{share:.1%}' for share in found)} |", flush=True)


if __name__ == "__main__":
    main()
