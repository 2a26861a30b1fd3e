"""Measure how often `assay show --limits` names the wrong resource, or a bound is exceeded, on simulated runs.

Draws clusters and workloads, simulates a run of each with its trace and attempts, and computes its limit as `assay show
--limits` does. The truth is simulated with the same seed: the same run with disks, links or CPUs twice as fast, one at
a time. The resource that shortens the run most, and by at least 5 %, is its limit; otherwise it has none of the three.
A bound is exceeded if the run with that resource eight times as fast is more than 2 % faster than the bound allows.

Run it with ``python benchmarks/limit_errors.py``; it prints two Markdown tables. Needs the simulator.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from msgspec import to_builtins

from assay.analysis.run_profile.limits.bounds import RESOURCES_OF_BOUND
from assay.analysis.run_profile.limits.run_limits import Limits, limits_of
from assay.estimation.recommendation.candidates import Candidates, candidates, plan_for
from assay.estimation.simulator.process import SimulationResult, simulate
from assay.estimation.simulator.results import SimulatedRun, read_result
from assay.estimation.simulator.scenario import SimulationRequest, scenario_of
from assay.execution.planning.forecast.inputs import size_of
from assay.execution.planning.plan_files.changed_plan import only_run
from assay.execution.planning.plan_files.hardware_file import catalogue_of
from assay.model import ClusterFacts, CostProfile, Origin, Run
from assay.model.runs.imported import foreign_run
from assay.questions.costs.mix import parse_mix
from assay.questions.forecasts.learning import shipped_profile

CATALOGUE = """\
catalogue: drawn
source: a benchmark
parameters: {dfs.replication: 2}
workers:
  small:
    count: [3, 5, 8]
    cores: 4
    cpu: {speed: 1}
    memory: 16GB
    networks: {1G: 1Gbit/s, 10G: 10Gbit/s}
    devices:
      hdd: {kind: hdd, count: [0, 1, 2, 4], read: 150MB/s, write: 150MB/s, iops: 120, capacity: 2TB}
      ssd: {kind: ssd, count: [0, 1, 2], read: 500MB/s, write: 450MB/s, capacity: 1TB}
  large:
    count: [3, 5, 8]
    cores: 16
    cpu: {speed: 4}
    memory: 64GB
    networks: {1G: 1Gbit/s, 10G: 10Gbit/s}
    devices:
      hdd: {kind: hdd, count: [0, 1, 2, 4], read: 150MB/s, write: 150MB/s, iops: 120, capacity: 2TB}
      ssd: {kind: ssd, count: [0, 1, 2], read: 500MB/s, write: 450MB/s, capacity: 1TB}
"""
SIZES_GB = (4, 16, 48)
FASTER: Mapping[str, Mapping[str, Any]] = {"disks": {"disks": 2.0}, "network": {"links": 2.0}, "cpu": {"cpu": 0.5}}
FASTEST: Mapping[str, Mapping[str, Any]] = {"disks": {"disks": 8.0}, "network": {"links": 8.0}, "cpu": {"cpu": 0.125}}
"""Resource to the change that makes it two (``FASTER``) or eight (``FASTEST``) times as fast."""
GAIN_MIN = 0.05
"""Minimum share of the run time that a true limit saves at twice its speed."""
EXCEEDED, FAR_EXCEEDED = 0.02, 0.10
"""Shares of a bound by which a run must be faster to exceed it, and to exceed it far."""
NONE = "none of them"


@dataclass(frozen=True)
class ScoredLimit:
    """The stated limit of one run, and the truth."""

    workload: str
    answer: Limits
    gains: Mapping[str, float]
    """Resource to the share of the run's time that a resource of twice the speed saves."""
    fastest_s: Mapping[str, float]
    """Resource to the run's time with this resource eight times as fast."""

    @property
    def named(self) -> str:
        """The limit for most of the time."""
        return next((kind for kind, resources in RESOURCES_OF_BOUND.items() if self.answer.main in resources), NONE)

    @property
    def truth(self) -> str:
        """The resource that shortens the run most."""
        best = max(self.gains, key=lambda name: self.gains[name])
        return best if self.gains[best] >= GAIN_MIN else NONE

    @property
    def misled(self) -> bool:
        """Whether another resource, at twice its speed, saves at least twice as much as the named resource."""
        return self.truth != NONE and self.named != NONE and 2 * self.gains[self.named] < self.gains[self.truth]

    def beyond(self, freed: str) -> float:
        """Return by how much the run is shorter than its bound, as a share of the bound."""
        least_s = next(bound.least_s for bound in self.answer.bounds if bound.freed == freed)
        return 1 - self.fastest_s[freed] / least_s


def drawn_request(candidates: Candidates, profile: CostProfile, rng: np.random.Generator) -> SimulationRequest:
    """Return a random workload and size on one of the clusters."""
    name = str(rng.choice([name for name, costs in profile.workloads.items() if not costs.stages]))
    [work] = parse_mix([f"{name}:{int(rng.choice(SIZES_GB))}GB"])
    plan = plan_for(candidates, int(rng.integers(len(candidates))), work.entry())
    run = only_run(plan)
    return SimulationRequest(plan.cluster, run.configuration, run.workload.name, size_of(run, plan), profile)


def as_run(request: SimulationRequest, simulated: SimulationResult) -> tuple[Run, SimulatedRun]:
    """Return a simulation with its trace in the form of a run of a repository."""
    observed = read_result(simulated)
    cluster = request.cluster
    run = foreign_run(
        workload=request.workload,
        duration_s=observed.duration_s,
        origin=Origin.SIMULATED,
        layout=request.configuration.layout.name,
        jobs=observed.jobs,
        phases=observed.phases,
        environment={
            "cluster": ClusterFacts.of_layout(cluster, request.configuration.layout).tree(),
            "network": {"rate_bits_per_s": cluster.workers[0].type.nic.rate_bits_per_s},
        },
    )
    return run, observed


def score(request: SimulationRequest, seed: int) -> ScoredLimit | None:
    """Return the stated and the true limit of a run; None where neither can be stated."""
    requests = [request, *(replace(request, **factor) for kinds in (FASTER, FASTEST) for factor in kinds.values())]
    details = ["traces", *["duration"] * (len(requests) - 1)]
    scenarios = [
        to_builtins(scenario_of(item).with_seed(seed, "drawn", detail))
        for item, detail in zip(requests, details, strict=True)
    ]
    for item, scenario in zip(requests, scenarios, strict=True):
        scenario["cluster"] = with_faster_disks(scenario["cluster"], item.disks)
    results = simulate(scenarios)
    run, observed = as_run(request, results[0])
    limits = limits_of(run, observed.tasks, observed.trace)
    times = [item.duration_s for item in results]
    if limits is None:
        return None
    gains = {name: 1 - times[1 + position] / times[0] for position, name in enumerate(FASTER)}
    return ScoredLimit(
        request.workload, limits, gains, {name: times[4 + position] for position, name in enumerate(FASTEST)}
    )


def with_faster_disks(cluster: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Return the cluster with faster disks. The whole time of a request shrinks, not only its transfer."""
    nodes = []
    for node in cluster["nodes"]:
        devices = []
        for device in node["devices"]:
            model = dict(device["model"])
            for name in model.keys() & {"seek_track_s", "seek_full_s", "read_latency_s", "write_latency_s"}:
                model[name] /= factor
            for name in model.keys() & {"rpm", "read_iops", "write_iops", "burst_write_bytes_per_s"}:
                model[name] *= factor
            devices.append({**device, "model": model})
        nodes.append({**node, "devices": devices})
    return {**cluster, "nodes": nodes}


def scored_limits(count: int, seed: int) -> Iterator[ScoredLimit]:
    """Yield ``count`` drawn runs."""
    profile, all_candidates = shipped_profile(), candidates(catalogue_of(CATALOGUE))
    rng = np.random.default_rng(seed)
    yielded_count = 0
    while yielded_count < count:
        scored_limit = score(drawn_request(all_candidates, profile, rng), int(rng.integers(2**31)))
        if scored_limit is not None:
            yielded_count += 1
            yield scored_limit


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=500)
    scores = list(scored_limits(parser.parse_args().runs, seed=5))
    print_named(scores)
    print_bounds(scores)


def print_named(scores: Sequence[ScoredLimit]) -> None:
    """Print the named limits by true limit."""
    kinds = [*RESOURCES_OF_BOUND, NONE]
    counts = Counter((item.truth, item.named) for item in scores)
    print("| true limit | runs | " + " | ".join(f"named: {kind}" for kind in kinds) + " |")
    print("|---|---|" + "---|" * len(kinds))
    for truth in kinds:
        total = sum(counts[truth, kind] for kind in kinds)
        cells = [f"{counts[truth, kind] / total:.1%}" if total else "–" for kind in kinds]
        print(f"| {truth} | {total} | " + " | ".join(cells) + " |")
    named = [item for item in scores if item.named != NONE]
    print(f"\nIn {np.mean([item.misled for item in named]):.1%} of {len(named)} runs with a named limit, ", end="")
    print("another resource saves at least twice as much.")


def print_bounds(scores: Sequence[ScoredLimit]) -> None:
    """Print how often bounds are exceeded, and which share of the bound the true gain reaches."""
    print(f"\n| resource without cost | bounds | exceeded | by {FAR_EXCEEDED:.0%} and more | ", end="")
    print("allowed speedup | speedup if eight times as fast |")
    print("|---|---|---|---|---|---|")
    for kind in RESOURCES_OF_BOUND:
        bounds = [(item, bound) for item in scores for bound in item.answer.bounds if bound.freed == kind]
        exceeded = [
            float(np.mean([item.beyond(kind) > least for item, _ in bounds])) for least in (EXCEEDED, FAR_EXCEEDED)
        ]
        allowed_speedup = np.median([bound.gain_max for _, bound in bounds])
        actual_speedup = np.median([item.answer.duration_s / item.fastest_s[kind] for item, _ in bounds])
        speedups = f"{allowed_speedup:.2f} times | {actual_speedup:.2f} times"
        cells = f"{len(bounds)} | {exceeded[0]:.1%} | {exceeded[1]:.1%} | {speedups}"
        print(f"| {kind} | {cells} |")


if __name__ == "__main__":
    main()
