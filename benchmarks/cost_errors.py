"""Measure how often statements about the cheapest option are wrong, on repositories with a known truth.

    python benchmarks/cost_errors.py --repositories 500

Four layouts have price × time within a stated distance of each other; times scatter by 5 % (lognormal), in one kind
with outliers. Printed for each kind of repository: how often a layout is named the cheapest (without a tie), how often
that layout is not the cheapest, how often the cheapest layout is neither named nor among the ties, and how often a 95 %
interval of a cost ratio misses the true ratio. With several configurations, a layout's true cost is the geometric mean
over its configurations.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import Floats, Ints
from assay.analysis.statistics.runs.run_table import Column, RunTable
from assay.questions.costs.cost_effectiveness import cost_effectiveness_of_table
from assay.questions.costs.cost_rows import CostEffectivenessRequest
from assay.questions.decisions.decision import Decision
from assay.specs.prices import prices_of

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
    runs: tuple[int, int, int, int]
    """Number of runs of each configuration, by layout."""
    apart: float
    """True additional cost of each layout over the layout before it, as a share."""
    configurations: int = 1
    differ: float = 0.0
    """True spread of the configurations of a layout: standard deviation of the logarithm of time."""
    outliers: float = 0.0
    """Share of runs that take 1.5 times as long."""
    scatter: tuple[float, float, float, float] = (SCATTER,) * 4
    """Standard deviation of a log time, by layout."""


KINDS = (
    *(Kind(f"{n} runs, alike", (n,) * 4, 0.0) for n in (2, 3, 5, 10)),
    *(Kind(f"{n} runs, 10 % apart", (n,) * 4, 0.10) for n in (2, 3, 5, 10)),
    Kind("5 runs, alike, 5 % outliers", (5,) * 4, 0.0, outliers=0.05),
    Kind("one run of each but one, alike", (1, 1, 1, 4), 0.0),
    Kind("5 runs, alike, spread 2/2/2/15 %", (5,) * 4, 0.0, scatter=(0.02, 0.02, 0.02, 0.15)),
    Kind("2/2/20/20 runs, alike", (2, 2, 20, 20), 0.0),
    Kind("20 configurations, 1 run, alike", (1,) * 4, 0.0, 20),
    Kind("20 configurations that differ by 10 %, 1 run", (1,) * 4, 0.0, 20, 0.10),
    Kind("20 configurations that differ by 10 %, 3 runs", (3,) * 4, 0.0, 20, 0.10),
)


def repository(kind: Kind, generator: np.random.Generator) -> tuple[RunTable, dict[str, float]]:
    """Return the runs of a repository, and the true mean time of each layout."""
    cells = [(layout, configuration) for layout in range(len(LAYOUTS)) for configuration in range(kind.configurations)]
    layout_of_cell = np.array([layout for layout, _ in cells])
    configuration_effects = generator.normal(0, kind.differ, kind.configurations)
    truth = np.log(100.0) + np.log1p(kind.apart) * layout_of_cell + np.tile(configuration_effects, len(LAYOUTS))
    rows = np.repeat(np.arange(len(cells)), np.array(kind.runs)[layout_of_cell])
    times = np.exp(truth[rows] + generator.normal(0, 1, len(rows)) * np.array(kind.scatter)[layout_of_cell[rows]])
    times[generator.random(len(rows)) < kind.outliers] *= 1.5
    means = {name: float(np.exp(truth[layout_of_cell == number].mean())) for number, name in enumerate(LAYOUTS)}
    return runs_table(layout_of_cell[rows], np.array([cell[1] for cell in cells])[rows], times, generator), means


def runs_table(layouts: Ints, settings: Ints, times_s: Floats, generator: np.random.Generator) -> RunTable:
    """Return runs of one job; layouts and settings are numbers, and runs of layouts interleave in time."""
    zeros = np.zeros(len(times_s), np.int32)
    columns = {
        "workload": Column(zeros, ("sort",)),
        "data_bytes": Column(zeros, ("1",)),
        "status": Column(zeros, ("valid",)),
        "layout": Column(layouts.astype(np.int32), LAYOUTS),
        "setting": Column(settings.astype(np.int32), tuple(map(str, range(int(settings.max()) + 1)))),
    }
    order = generator.permutation(len(times_s)).astype(np.float64)
    return RunTable(np.arange(len(times_s)), columns, {"duration_s": times_s, "started_unix_s": order * 600})


def decision_on_costs(layouts: Ints, times_s: Floats, generator: np.random.Generator) -> Decision:
    """Return the decision of ``assay cost`` on layouts of one price that ran one job."""
    table = runs_table(layouts, np.zeros(len(times_s), np.int64), times_s, generator)
    (view,) = cost_effectiveness_of_table(table, {}, BOOK, CostEffectivenessRequest(("layout",)))
    assert view.decision is not None
    return view.decision


def error_rates(kind: Kind, repositories: int, seed: int) -> tuple[float, float, float, float]:
    """Return the shares of repositories and intervals that the table prints."""
    generator = np.random.default_rng(seed)
    named_count = wrong_count = missing_count = missed_intervals = interval_count = 0
    for _ in range(repositories):
        table, truth = repository(kind, generator)
        (view,) = cost_effectiveness_of_table(table, {}, BOOK, CostEffectivenessRequest(("layout",)))
        if view.decision is None or view.decision.cheapest is None:
            continue
        cheapest = view.decision.cheapest
        if not cheapest.ties:
            named_count += 1
            # If all layouts cost the same, naming one is wrong.
            wrong_count += kind.apart == 0 or cheapest.option != LAYOUTS[0]
        missing_count += LAYOUTS[0] not in (cheapest.option, *cheapest.ties)
        for option in view.decision.options:
            if option.cost and option.cost.low is not None and option.cost.high is not None:
                interval_count += 1
                true_ratio = truth[option.option] / truth[view.decision.baseline]
                missed_intervals += not option.cost.low <= true_ratio <= option.cost.high
    return (
        named_count / repositories,
        wrong_count / repositories,
        missing_count / repositories,
        missed_intervals / max(interval_count, 1),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repositories", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print("| repository | named the cheapest | wrongly | cheapest is missing | intervals that miss |")
    print("|---|---|---|---|---|")
    for kind in KINDS:
        shares = error_rates(kind, options.repositories, options.seed)
        print(f"| {kind.name} | {' | '.join(f'{share:.1%}' for share in shares)} |", flush=True)


if __name__ == "__main__":
    main()
