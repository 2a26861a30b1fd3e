"""Measure how often `assay whatif`'s interval contains the truth in worlds drawn from the simulator's stated errors.

For each workload of the example, measured on one layout, it asks for the effect of a change as `assay whatif` does. A
world draws from the stated errors: CPU, devices, links and fixed costs as drawn for profiles (equal for both sides),
the simulator's errors by resource, each side's remainder, and runs that scatter by 5 %. Three runs of the measured side
and one of the changed side are drawn. Then the table counts whether the interval contains its time, and whether
"faster" and "slower" are right. It tests that the answer is as certain as its stated errors allow;
docs/measurements/simulator.md has the errors on measured runs.

Run it with ``python benchmarks/whatif_errors.py``; it prints a Markdown table. Needs the simulator.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from assay.estimation.simulator.draws import REPETITION_SIGMA, ParameterDraw, draws
from assay.estimation.simulator.error_model import REMAINDER_SIGMA, SIGMAS, similarity
from assay.estimation.simulator.process import SimulationResult, simulate
from assay.estimation.simulator.scenario import SimulationRequest, scenario_of, shares_of
from assay.estimation.simulator.scenario_document import ScenarioDocument
from assay.execution.planning.forecast.inputs import size_of
from assay.execution.planning.plan_files.changed_plan import changed_plan, only_run
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.model import CostProfile, Plan
from assay.model.runs.imported import foreign_run
from assay.questions.forecasts.learning import shipped_profile
from assay.questions.forecasts.measured import Measured
from assay.questions.forecasts.whatif.lab_cpu import share_of_lab_cpu
from assay.questions.forecasts.whatif.whatif import anchor_of, answer_for
from assay.questions.forecasts.whatif.whatif_answer import WhatIf

PLAN = Path(__file__).parents[1] / "examples" / "lab" / "hdd-vs-ssd.yaml"
WORKLOADS = ("dfsio-write", "dfsio-read", "terasort")
CHANGES = (
    ("HD2", ("layout", "SS2")),
    ("SS2", ("layout", "HD2")),
    ("HD2", ("nic", "2Gbit/s")),
    ("HD2", ("workers.count", "6")),
    ("SS2", ("nic", "25Gbit/s")),
)
RUNS = 3
Rng = np.random.Generator


class CachedSimulator:
    """The simulator with a cache of its results."""

    def __init__(self) -> None:
        self._known: dict[bytes, SimulationResult] = {}

    def __call__(self, scenarios: Sequence[ScenarioDocument]) -> list[SimulationResult]:
        """Return the results in the scenarios' order."""
        keys = [msgspec.json.encode(scenario) for scenario in scenarios]
        new_scenarios = {key: scenario for key, scenario in zip(keys, scenarios, strict=True) if key not in self._known}
        self._known |= dict(zip(new_scenarios, simulate(list(new_scenarios.values())), strict=True))
        return [self._known[key] for key in keys]


@dataclass(frozen=True)
class ScoredAnswer:
    """One answer in one world."""

    answer: WhatIf
    truth_s: float
    """One run's time with the change."""
    ratio: float
    """True mean time of the measured side / true mean time with the change."""

    @property
    def holds(self) -> bool:
        """Whether the interval holds the time of the run."""
        return self.answer.low_s <= self.truth_s <= self.answer.high_s

    @property
    def informative(self) -> bool:
        """Whether the answer states that the change makes runs faster or slower."""
        return self.answer.ratio_low > 1 or self.answer.ratio_high < 1

    @property
    def wrong(self) -> bool:
        """Whether this statement is false on average."""
        return self.informative and (self.answer.ratio > 1) is not (self.ratio > 1)


def request_of(plan: Plan, profile: CostProfile, lab_cpu: float) -> SimulationRequest:
    """Return the simulator's request for a plan's only run. ``lab_cpu``: factor on the cores of the lab's machine."""
    run = only_run(plan)
    configuration = replace(run.configuration, engine=run.configuration.engine or plan.engine)
    return SimulationRequest(
        plan.cluster, configuration, run.workload.name, size_of(run, plan), profile, lab_cpu=lab_cpu
    )


def true_log_times(
    requests: Sequence[SimulationRequest], draw: ParameterDraw, errors: Mapping[str, float], correlated: bool, rng: Rng
) -> list[float]:
    """Return the logarithm of each side's mean time in a world.

    ``correlated``: whether the sides' remainders are correlated by their similarity, as `assay whatif` assumes, or
    independent.
    """
    drawn_requests = [draw.of(request) for request in requests]
    outcomes = simulate(
        [scenario_of(request).with_seed(int(rng.integers(2**31)), "world") for request in drawn_requests]
    )
    shares = [shares_of(request, [outcome]) for request, outcome in zip(drawn_requests, outcomes, strict=True)]
    times = [outcome.duration_s for outcome in outcomes]
    correlation = similarity(shares[0], shares[1], times[0], times[1]) if correlated else 0.0
    first, second = rng.normal(0, REMAINDER_SIGMA, 2)
    remainders = (first, correlation * first + math.sqrt(1 - correlation**2) * second)
    return [
        math.log(outcome.duration_s) + sum(share * errors.get(name, 0.0) for name, share in request.items()) + remainder
        for outcome, request, remainder in zip(outcomes, shares, remainders, strict=True)
    ]


def scored_answers(
    workload: str, layout: str, change: tuple[str, str], worlds: int, seed: int, correlated: bool = True
) -> Iterator[ScoredAnswer]:
    """Yield the answers in ``worlds`` worlds, and the truth."""
    plan, profile, simulator_, rng = load_plan(PLAN), shipped_profile(), CachedSimulator(), np.random.default_rng(seed)
    sides = [
        changed_plan(plan, {"layout": layout}, workload),
        changed_plan(plan, {"layout": layout}, workload, (change,)),
    ]
    costs = profile.of_engine(plan.engine)
    for draw in list(draws(costs, worlds + 1, seed))[1:]:
        errors = {name: sigma * float(rng.standard_normal()) for name, sigma in SIGMAS.items()}
        requests = [request_of(side, costs, share_of_lab_cpu(sides[0], side)) for side in sides]
        logs = true_log_times(requests, draw, errors, correlated, rng)
        times = np.exp(logs[0] + rng.normal(0, REPETITION_SIGMA, RUNS)).tolist()
        runs = tuple(foreign_run(workload=workload, duration_s=time_s, layout=layout) for time_s in times)
        answer = answer_for(anchor_of(Measured(plan, workload, runs), costs, simulator_), (change,), None, simulator_)
        truth_s = math.exp(logs[1] + float(rng.normal(0, REPETITION_SIGMA)))
        yield ScoredAnswer(answer, truth_s, math.exp(logs[0] - logs[1]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--worlds", type=int, default=170, help="of each workload and change")
    parser.add_argument("--independent", action="store_true", help="the remainders of two sides are not correlated")
    options = parser.parse_args()
    print("| measured on, change | worlds | interval of 90 % holds | stated faster or slower | of these wrong |")
    print("|---|---|---|---|---|")
    for layout, change in CHANGES:
        answers = [
            item
            for number, name in enumerate(WORKLOADS)
            for item in scored_answers(name, layout, change, options.worlds, 8 + number, not options.independent)
        ]
        informative_answers = [item for item in answers if item.informative]
        held, stated_share = np.mean([item.holds for item in answers]), len(informative_answers) / len(answers)
        wrong = f"{np.mean([item.wrong for item in informative_answers]):.1%}" if informative_answers else "–"
        cells = f"{len(answers)} | {held:.1%} | {stated_share:.1%} | {wrong}"
        print(f"| {layout}, {change[0]}={change[1]} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
