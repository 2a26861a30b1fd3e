"""Measure how often the explanation of a speedup is wrong, on simulated pairs that differ by one known cause.

Draws a cluster and a workload as ``limit_errors.py`` does, simulates a run of each side with traces and attempts, and
compares them as the pages, the API and reports do. Between the sides *nothing* differs, or one thing: disks, links or
CPUs twice as fast, or half as much data again. Both runs scatter by 5 %. An explanation is wrong if it names a phase
although nothing differs, says that the work differs although the data are equal (except for a faster CPU, which takes
fewer seconds), or says that the work is equal although the data differ.

Run it with ``python benchmarks/why_errors.py``; it prints a Markdown table. Needs the simulator.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from limit_errors import CATALOGUE, as_run, drawn_request, with_faster_disks
from msgspec import to_builtins

from assay.analysis.run_profile.reasons import ObservedSide, Reasons, reasons
from assay.analysis.run_profile.run_detail import run_detail
from assay.estimation.recommendation.candidates import candidates
from assay.estimation.simulator.process import simulate
from assay.estimation.simulator.scenario import SimulationRequest, scenario_of
from assay.execution.planning.plan_files.hardware_file import catalogue_of
from assay.questions.forecasts.learning import shipped_profile

SCATTER = 0.05
MORE_DATA = 1.5
CAUSES = ("nothing", "disks", "links", "cpu", "data")


@dataclass(frozen=True)
class ScoredExplanation:
    """The stated reasons for one pair."""

    cause: str
    answer: Reasons
    ratio: float
    """The first side's time over the other's."""

    @property
    def names_phases(self) -> bool:
        """Whether the explanation names phases."""
        return " s in " in self.answer.sentences[0]

    @property
    def work_differs(self) -> bool:
        """Whether the explanation states that the work differs."""
        return any("amounts of work differ" in sentence for sentence in self.answer.sentences)


def scored_explanation(
    first: SimulationRequest, other: SimulationRequest, cause: str, rng: np.random.Generator
) -> ScoredExplanation:
    """Return the stated reasons for a pair of runs; the second run has the cause."""
    sides = []
    for label, request in (("A", first), ("B", other)):
        noise_factor = math.exp(rng.normal(0, SCATTER))
        scattered = replace(
            request,
            cpu=request.cpu * noise_factor,
            fixed=request.fixed * noise_factor,
            disks=request.disks / noise_factor,
            links=request.links / noise_factor,
        )
        scenario = to_builtins(scenario_of(scattered).with_seed(int(rng.integers(2**31)), "drawn", "traces"))
        scenario["cluster"] = with_faster_disks(scenario["cluster"], scattered.disks)
        run, observed = as_run(scattered, simulate([scenario])[0])
        sides.append(ObservedSide(label, run.duration_s, run_detail(run, observed.tasks, observed.trace)))
    return ScoredExplanation(cause, reasons(sides), sides[0].duration_s / sides[1].duration_s)


def with_cause(request: SimulationRequest, cause: str) -> SimulationRequest:
    """Return the request with the cause applied."""
    if cause == "data":
        return replace(request, size=replace(request.size, data_bytes=round(request.size.data_bytes * MORE_DATA)))
    faster = {
        "disks": replace(request, disks=2.0),
        "links": replace(request, links=2.0),
        "cpu": replace(request, cpu=0.5),
    }
    return faster.get(cause, request)


def pairs(cause: str, count: int, seed: int) -> Iterator[ScoredExplanation]:
    """Yield ``count`` pairs."""
    profile, all_candidates = shipped_profile(), candidates(catalogue_of(CATALOGUE))
    rng = np.random.default_rng(seed)
    for _ in range(count):
        request = drawn_request(all_candidates, profile, rng)
        yield scored_explanation(request, with_cause(request, cause), cause, rng)


def cells(explanations: Sequence[ScoredExplanation]) -> list[str]:
    """Return a row of the table."""
    shares = [[item.names_phases for item in explanations], [item.work_differs for item in explanations]]
    ratio = float(np.median([item.ratio for item in explanations]))
    return [str(len(explanations)), *(f"{np.mean(share):.1%}" for share in shares), f"{ratio:.2f} times"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=500)
    options = parser.parse_args()
    print("| differs | pairs | phases are named | work is said to differ | times as fast, median |")
    print("|---|---|---|---|---|")
    for cause in CAUSES:
        print(f"| {cause} | " + " | ".join(cells(list(pairs(cause, options.pairs, seed=6)))) + " |", flush=True)


if __name__ == "__main__":
    main()
