"""Measure how often `assay tune` is wrong: faster, nothing faster, and the interval of the gain.

Draws response surfaces with a known truth over a real plan's candidates, and tunes each as `assay tune` does: the same
tuner chooses every run, and the same code answers, with a budget of ten and four pairs. Surfaces: *equal*, nothing
differs; *one gain*, some levels of one name are faster; *interactions*, every name has a slope and every pair
interacts, each by 4 % per standard deviation of its levels. Noise: log-normal scatter of 5 %, and with *drift* a
slowdown of 15 % from the first run to the last.

Run it with ``python benchmarks/tuning_errors.py``; it prints a Markdown table. With 500 surfaces per row, the 95 %
interval of a rate of 5 % is ±2 %.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import geometric_mean

import numpy as np
from numpy.typing import NDArray

from assay.estimation.tuning.planned_tuning import NOTHING_BETTER
from assay.estimation.tuning.space import Space, space_of
from assay.estimation.tuning.tuner import Strategy, Tuner
from assay.execution.planning.order import PlannedRun
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.model import FailureClass, Run, RunStatus
from assay.model.runs.imported import foreign_run
from assay.questions.forecasts.tuning import state_of

PLAN = Path(__file__).parents[1] / "examples" / "lab" / "tuning.yaml"
OVER = ("containers=1..5", "mapreduce.task.io.sort.mb=4..64", "compression=none,snappy")
BUDGET, PAIRS = 10, 4
SCATTER, DRIFT, SLOPE = 0.05, 0.15, 0.04
Rng = np.random.Generator
Array = NDArray[np.float64]


def space() -> Space:
    """Return the 129 candidates that can be run."""
    return space_of(load_plan(PLAN), "terasort", {}, OVER, BUDGET + 2 * PAIRS)


def equal(rng: Rng, coordinates: Array) -> Array:
    """Return log times that do not differ."""
    del rng
    return np.zeros(len(coordinates))


def one_gain(gain: float, rng: Rng, coordinates: Array) -> Array:
    """Return log times in which some levels of one name, not including the plan's level, are faster."""
    column = coordinates[:, int(rng.integers(coordinates.shape[1]))]
    edges = np.unique(column)
    edge = float(rng.choice((edges[1:] + edges[:-1]) / 2))
    is_faster: Array = (column > edge) != (column[0] > edge)
    effect: Array = -np.log(gain) * is_faster
    return effect


def interactions(rng: Rng, coordinates: Array) -> Array:
    """Return log times with a slope for each name, and a slope for each pair of names."""
    scaled = (coordinates - coordinates.mean(axis=0)) / np.maximum(coordinates.std(axis=0), 1e-9)
    pair_slopes = np.triu(rng.normal(0, SLOPE, (coordinates.shape[1], coordinates.shape[1])), 1)
    effect: Array = scaled @ rng.normal(0, SLOPE, coordinates.shape[1]) + np.einsum(
        "ni,ij,nj->n", scaled, pair_slopes, scaled
    )
    return effect


@dataclass(frozen=True)
class ScoredTuning:
    """The result of one tuning, and the truth. Gains are ratios: the plan's time over the best candidate's time."""

    compared: bool
    nothing_faster: bool
    """Whether the tuning ended with "nothing faster", without a comparison."""
    expected_gain: float
    """The gain that the search expected."""
    ratio: float
    low: float
    high: float
    truth: float
    best: float
    """The gain of the fastest configuration."""

    @property
    def faster(self) -> bool:
        """Whether the best candidate is reported as faster."""
        return self.low > 1

    @property
    def slower(self) -> bool:
        """Whether it is reported as slower."""
        return self.high < 1

    @property
    def wrong(self) -> bool:
        """Whether that report is wrong."""
        return (self.faster and self.truth <= 1) or (self.slower and self.truth >= 1)

    @property
    def holds(self) -> bool:
        """Whether the interval holds the true gain."""
        return self.low <= self.truth <= self.high


def scored_tuning(tuner: Tuner, truth: Array, drift: float, rng: Rng) -> ScoredTuning:
    """Return the result of a tuning of this surface."""
    defaults = tuner.space.levels(0)
    over = {dimension.name: list(dimension.levels) for dimension in tuner.space.dimensions}
    description = {"workload": "terasort", "over": over, "defaults": defaults, "budget": BUDGET, "pairs": PAIRS}
    runs: list[Run] = []
    while planned_runs := tuner(tuner.space.plan, (), runs):
        new_runs = [
            _run(planned_run, tuner.space, truth, drift * (len(runs) + n), rng)
            for n, planned_run in enumerate(planned_runs)
        ]
        runs += new_runs
    state = state_of("drawn", description | {NOTHING_BETTER: tuner.expects_no_gain(runs)}, {}, runs)
    assert state.search_best is not None
    assert state.search_defaults is not None
    expected_gain = state.search_defaults.mean_s / state.search_best.mean_s
    best = math.exp(float(truth[0] - truth[tuner.possible].min()))
    no_value = math.nan
    if state.ratio is None or state.ratio_low is None or state.ratio_high is None or state.compared is None:
        return ScoredTuning(False, state.complete, expected_gain, no_value, no_value, no_value, no_value, best)
    winner = tuner.space.candidate_of(state.compared.levels)
    assert winner is not None
    gain = math.exp(float(truth[0] - truth[winner]))
    return ScoredTuning(True, False, expected_gain, state.ratio, state.ratio_low, state.ratio_high, gain, best)


def _run(planned_run: PlannedRun, space: Space, truth: Array, log_slowdown: float, rng: Rng) -> Run:
    candidate = space.candidate_of(dict(planned_run.configuration.levels))
    log_s = 4.0 + float(truth[candidate or 0]) + log_slowdown + float(rng.normal(0, SCATTER))
    run = foreign_run(workload="terasort", duration_s=math.exp(log_s), levels=dict(planned_run.configuration.levels))
    run = replace(run, position=planned_run.index, block=planned_run.block, repetition=planned_run.repetition)
    if planned_run.at_most_s is None or run.duration_s <= planned_run.at_most_s:
        return run
    return replace(run, status=RunStatus.FAILED, failure_class=FailureClass.WORKLOAD, duration_s=planned_run.at_most_s)


SURFACES = {
    "equal": (equal, 0.0),
    "equal, drift": (equal, DRIFT),
    "one gain of 1.03": (lambda rng, coordinates: one_gain(1.03, rng, coordinates), 0.0),
    "one gain of 1.1": (lambda rng, coordinates: one_gain(1.1, rng, coordinates), 0.0),
    "one gain of 1.3": (lambda rng, coordinates: one_gain(1.3, rng, coordinates), 0.0),
    "one gain of 1.1, drift": (lambda rng, coordinates: one_gain(1.1, rng, coordinates), DRIFT),
    "interactions": (interactions, 0.0),
    "interactions, drift": (interactions, DRIFT),
}


def tunings(name: str, strategy: Strategy, surfaces: int, seed: int) -> Iterator[ScoredTuning]:
    """Yield the results of ``surfaces`` drawn surfaces."""
    draw, drift = SURFACES[name]
    search_space = space()
    first_tuner = Tuner(search_space, BUDGET, PAIRS, strategy)
    rng = np.random.default_rng(seed)
    for number in range(surfaces):
        tuner = replace(first_tuner, seed=number + 1, _orders={})
        tuner.__dict__.update(possible=first_tuner.possible, coordinates=first_tuner.coordinates)
        truth = draw(rng, first_tuner.coordinates)
        yield scored_tuning(tuner, truth, math.log1p(drift) / (BUDGET + 2 * PAIRS - 1), rng)


def row(results: Sequence[ScoredTuning]) -> list[str]:
    """Return a table's cells; gains are geometric means over the tunings with a comparison."""
    compared_results, other_results = (
        [item for item in results if item.compared is compared] for compared in (True, False)
    )
    n = len(results)

    def share(count: int, of: int) -> str:
        return f"{count / of:.1%}" if of else "–"

    return [
        share(sum(item.wrong for item in compared_results), n),
        share(sum(item.faster and not item.wrong for item in compared_results), n),
        share(sum(item.nothing_faster for item in other_results), n),
        share(sum(not item.nothing_faster for item in other_results), n),
        share(sum(item.holds for item in compared_results), len(compared_results)),
        f"{geometric_mean(item.expected_gain for item in compared_results):.2f}" if compared_results else "–",
        f"{geometric_mean(item.ratio for item in compared_results):.2f}" if compared_results else "–",
        f"{geometric_mean(item.truth for item in compared_results):.2f}" if compared_results else "–",
        f"{geometric_mean(item.best for item in compared_results):.2f}" if compared_results else "–",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--surfaces", type=int, default=500)
    parser.add_argument("--strategy", type=Strategy, default=Strategy.BAYESIAN, choices=list(Strategy))
    parser.add_argument("--only", default="", help="Only surfaces whose name begins with this text.")
    options = parser.parse_args()
    print(
        '| surface | wrong verdict | correct verdict "faster" | nothing faster found | no verdict '
        "| interval holds | gain expected by the search | measured again | true gain | maximum gain |"
    )
    print("|---|" + "---|" * 9)
    for name in (name for name in SURFACES if name.startswith(options.only)):
        results = list(tunings(name, options.strategy, options.surfaces, seed=7))
        print(f"| {name} | " + " | ".join(row(results)) + " |", flush=True)


if __name__ == "__main__":
    main()
