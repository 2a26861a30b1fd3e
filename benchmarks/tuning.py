"""Compare the configurations that `assay tune` finds by Bayesian search and by random search.

    python benchmarks/tuning.py [--seeds 20] [--only "lab example"] [--optuna]

Each candidate of three spaces is simulated once: its time is the truth. A run is that time with a scatter of 5 %. By
strategy and budget, the table has how much slower the best found configuration is than the fastest (mean and worst of
the seeds), and the expected and the true gain over the plan's configuration; their difference is the winner's curse.
`--optuna` adds Optuna's sampler on the same runs, if it is installed. Needs the simulator.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from assay.estimation.tuning.space import Space, space_of
from assay.estimation.tuning.tuner import Strategy, Tuner
from assay.estimation.tuning.tuning import CandidateRun
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.questions.forecasts.learning import shipped_profile
from assay.questions.forecasts.tuning_estimates import simulated_logs

ROOT = Path(__file__).parents[1]
SCATTER = 0.05
BUDGETS = (10, 20, 30)
SPACES = {
    "lab example, 2 GB on two HDDs": (
        "examples/lab/tuning.yaml",
        {},
        ("containers=1..5", "mapreduce.task.io.sort.mb=4..64", "compression=none,snappy"),
    ),
    "lab, 2 GB on five HDDs": (
        "examples/bsc-2015/quick-containers.yaml",
        {"layout": "HD5"},
        ("containers=1..8", "mapreduce.task.io.sort.mb=5..60", "compression=none,snappy"),
    ),
    "lab, 2 GB on one HDD, five names": (
        "examples/bsc-2015/quick-containers.yaml",
        {"layout": "HDD"},
        (
            "containers=1..8",
            "mapreduce.task.io.sort.mb=5..60",
            "compression=none,snappy,gzip",
            "terasort.reduces=3..48",
            "mapreduce.job.reduce.slowstart.completedmaps=0.05,0.5,1",
        ),
    ),
}


@dataclass(frozen=True)
class TuningSpace:
    """A space with the true time of each candidate."""

    tuner: Tuner
    truth: np.ndarray

    def search(self, pick: Callable[[list[CandidateRun]], int], budget: int, seed: int) -> list[CandidateRun]:
        """Return the runs of a search, in order."""
        random = np.random.default_rng(seed)
        candidate_runs: list[CandidateRun] = []
        for _ in range(budget):
            candidate = pick(candidate_runs)
            candidate_runs.append(CandidateRun(candidate, float(self.truth[candidate] + random.normal(0.0, SCATTER))))
        return candidate_runs


@dataclass(frozen=True)
class Outcome:
    """The result of one search. Gains are ratios: the plan's time over the time of the best found configuration."""

    slower: float
    """Time of the best found configuration over the fastest, minus 1."""
    expected_gain: float
    gain: float
    """The true gain."""


def outcome(tuning_space: TuningSpace, candidate_runs: Sequence[CandidateRun], winner: int) -> Outcome:
    """Compare the expectation of a search with the truth."""
    fastest_log_s = float(np.min(tuning_space.truth[tuning_space.tuner.possible]))
    mean_log = fmean(run.log_s for run in candidate_runs if run.candidate == winner and run.log_s is not None)
    base = fmean(run.log_s for run in candidate_runs if run.candidate == 0 and run.log_s is not None)
    return Outcome(
        math.expm1(float(tuning_space.truth[winner]) - fastest_log_s),
        math.exp(base - mean_log),
        math.exp(float(tuning_space.truth[0] - tuning_space.truth[winner])),
    )


def by_assay(
    tuning_space: TuningSpace, strategy: Strategy, budget: int, seed: int, estimate: np.ndarray | None = None
) -> Outcome:
    """Return the result of `assay tune`."""
    tuner = replace(tuning_space.tuner, budget=budget, strategy=strategy, seed=seed, estimate=estimate, _orders={})
    candidate_runs = tuning_space.search(lambda so_far: tuner.pick(so_far, len(so_far)), budget, seed)
    return outcome(tuning_space, candidate_runs, tuner.winner(candidate_runs) or 0)


def by_optuna(tuning_space: TuningSpace, budget: int, seed: int) -> Outcome:
    """Return the result of Optuna's default sampler; an impossible candidate counts as the slowest and costs no run."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = tuning_space.tuner.space
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    numbers = {d.name: d.numbers for d in space.dimensions}

    def ask() -> tuple[object, int]:
        while True:
            trial = study.ask()
            levels = {}
            for d in space.dimensions:
                if numbers[d.name] is None:
                    levels[d.name] = trial.suggest_categorical(d.name, list(d.levels))
                else:
                    levels[d.name] = d.levels[trial.suggest_int(d.name, 0, len(d.levels) - 1)]
            candidate = space.candidate_of(levels)
            if candidate is not None and tuning_space.tuner.possible[candidate]:
                return trial, candidate
            study.tell(trial, float(np.max(tuning_space.truth)))

    random = np.random.default_rng(seed)
    candidate_runs = [CandidateRun(0, float(tuning_space.truth[0] + random.normal(0.0, SCATTER)))]
    while len(candidate_runs) < budget:
        trial, candidate = ask()
        candidate_runs.append(
            CandidateRun(candidate, float(tuning_space.truth[candidate] + random.normal(0.0, SCATTER)))
        )
        study.tell(trial, candidate_runs[-1].log_s)
    return outcome(tuning_space, candidate_runs, min(candidate_runs, key=lambda run: run.log_s or 0.0).candidate)


def tuning_space_of(plan: str, at: dict[str, str], over: tuple[str, ...]) -> TuningSpace:
    """Return a space with its simulated times."""
    space: Space = space_of(load_plan(ROOT / plan), "terasort", at, over, 1)
    tuner = Tuner(space, 1, 0)
    return TuningSpace(tuner, simulated_logs(tuner, shipped_profile()))


def rough_estimate(truth: np.ndarray, seed: int) -> np.ndarray:
    """Return an estimate with random errors of a fifth, and a common error."""
    return truth * 0.8 + np.random.default_rng(seed).normal(0.0, 0.2, len(truth))


def searches(tuning_space: TuningSpace, *, optuna: bool) -> dict[str, Callable[[int, int], Outcome]]:
    """Return the searches, each a function of budget and seed."""
    methods: dict[str, Callable[[int, int], Outcome]] = {
        "random": lambda budget, seed: by_assay(tuning_space, Strategy.RANDOM, budget, seed),
        "Bayesian": lambda budget, seed: by_assay(tuning_space, Strategy.BAYESIAN, budget, seed),
        "Bayesian, from a rough estimate": lambda budget, seed: by_assay(
            tuning_space, Strategy.BAYESIAN, budget, seed, rough_estimate(tuning_space.truth, seed)
        ),
    }
    return methods | ({"Optuna, TPE": lambda budget, seed: by_optuna(tuning_space, budget, seed)} if optuna else {})


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--optuna", action="store_true")
    parser.add_argument("--only", default="", metavar="TITLE", help="only spaces whose title begins with this text")
    options = parser.parse_args()
    for title, spec in SPACES.items():
        if not title.startswith(options.only):
            continue
        tuning_space = tuning_space_of(*spec)
        possible_log_s = tuning_space.truth[tuning_space.tuner.possible]
        ratio = math.exp(tuning_space.truth[0] - possible_log_s.min())
        print(
            f"\n**{title}** ({len(possible_log_s)} configurations; the plan's own takes {ratio:.2f} times as long as "
            "the fastest)\n"
        )
        print("| strategy | runs | slower than the fastest: mean | worst | gain expected by the search | true gain |")
        print("|---|---|---|---|---|---|")
        for name, run_search in searches(tuning_space, optuna=options.optuna).items():
            for budget in BUDGETS:
                outcomes = [run_search(budget, seed) for seed in range(1, options.seeds + 1)]
                slower = [outcome.slower for outcome in outcomes]
                expected_gain, gain = (
                    fmean(outcome.expected_gain for outcome in outcomes),
                    fmean(outcome.gain for outcome in outcomes),
                )
                cells = f"{fmean(slower):.1%} | {max(slower):.1%} | {expected_gain:.2f} times | {gain:.2f} times"
                print(f"| {name} | {budget} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
