"""Measure how well the simulator predicts measured and published times: the tables of docs/measurements/simulator.md.

    python benchmarks/simulator_accuracy.py [--demo REPOSITORY] [--profile FILE] [--quick]

Every measured run of the examples' packages is predicted from the measured runs of one layout (the one with most runs)
of the same package: CPU and fixed costs are learned from that layout alone, devices are as described. Each row names
the learned layout. A row of the learned layout itself is marked: it is no prediction.

After the table: how well flows agree with requests on these rows, what each part of the model contributes, and the
papers' own tables (``simulator_published.py``). ``--quick``: the table alone.

``--demo``: a repository that `make demo` made, with traces. ``--profile FILE``: also write the profile learned from all
measured lab runs, which is shipped with assay.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

import simulator_published
from msgspec import to_builtins

from assay.estimation.profiles.learning import ObservedRun, learned_profile
from assay.estimation.simulator.draws import REPETITION_SIGMA, draws
from assay.estimation.simulator.error_model import Z90, sigma_of
from assay.estimation.simulator.process import simulate
from assay.estimation.simulator.scenario import SimulationRequest, scenario_of, shares_of
from assay.execution.planning.forecast.inputs import size_of
from assay.execution.planning.plan_files.changed_plan import changed_plan, only_run
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.foundation.errors import AssayError
from assay.model.plans.cost_profile import CostProfile
from assay.model.plans.plan import Plan
from assay.model.runs.origin import Origin
from assay.model.runs.run import Run
from assay.model.runs.run_status import RunStatus
from assay.questions.runs.complete_run import read_complete_run
from assay.specs.profiles import profile_text
from assay.store import Repository

Tree = dict[str, Any]
Omission = Callable[[Tree], None]
EXAMPLES = Path(__file__).parents[1] / "examples"
MACHINE_CORES = 2
"""Number of cores of the machine on which the packages were measured (stated in each walkthrough)."""
DRAWS = 8
AGREED = 0.05
"""Maximum relative difference of the two fidelities that agree."""
PACKAGES = (
    ("bsc-2015", "measured/runs.csv", ("quick-plan.yaml", "quick-second-ssd.yaml")),
    ("bsc-2015", "measured/containers.csv", ("quick-containers.yaml",)),
    ("sandisk-2014", "measured/runs.csv", ("quick-plan.yaml",)),
    ("lisa14", "measured/compression/runs.csv", ("quick-compression.yaml",)),
    ("lisa14", "measured/jobs/runs.csv", ("quick-jobs.yaml",)),
    ("lisa14", "measured/jobs/teravalidate.csv", ("quick-jobs.yaml",)),
    ("lisa14", "measured/storage/runs.csv", ("quick-storage.yaml", "quick-hybrid.yaml")),
)
REPLACED = {("lisa14", "measured/jobs/runs.csv", "teravalidate")}
"""Runs that are left out: they read the single file of one reduce, from another plan. ``teravalidate.csv`` replaces
them."""


@dataclass(frozen=True, slots=True)
class Package:
    """Measured runs with their plans."""

    name: str
    plans: Mapping[str, Plan]
    observed_runs: tuple[ObservedRun, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One configuration of a package, measured and predicted, in seconds."""

    package: str
    workload: str
    configuration: str
    learned: str
    is_learned_layout: bool
    """Whether the profile was learned from this layout."""
    times_s: tuple[float, ...]
    predicted_s: float
    low_s: float
    high_s: float

    @property
    def measured_s(self) -> float:
        """Geometric mean of the measured times."""
        return math.exp(fmean(math.log(time_s) for time_s in self.times_s))

    @property
    def error(self) -> float:
        """Predicted / measured time, minus 1."""
        return self.predicted_s / self.measured_s - 1


def run_of(line: Mapping[str, str]) -> Run:
    """Return the run of a line of a package's table."""

    def under(prefix: str) -> dict[str, str]:
        return {key.removeprefix(prefix): value for key, value in line.items() if key.startswith(prefix) and value}

    return Run(
        run_id=line["run_id"],
        campaign_id=line["campaign_id"],
        plan=line["plan"],
        origin=Origin(line["origin"]),
        status=RunStatus(line["status"]),
        cause=None,
        cluster=line["cluster"],
        lab_scale=float(line["lab_scale"]),
        engine=line["engine"],
        engine_version=line["engine_version"],
        workload=line["workload"],
        workload_parameters=under("option:"),
        layout=line["layout"],
        levels={"layout": line["layout"], **under("level:")},
        parameters=under("parameter:"),
        repetition=int(line["repetition"]),
        block=0,
        position=0,
        attempt=1,
        started_at=line["started_at"],
        duration_s=float(line["duration_s"]),
        cold=True,
        data_bytes=int(float(line["data_bytes"])),
        metrics={name: float(value) for name, value in under("metric:").items()},
    )


def _omit_seeks(tree: Tree) -> None:
    for device in _devices(tree):
        if device["model"]["kind"] == "hdd":
            device["model"] |= {"seek_track_s": 1e-6, "seek_full_s": 1e-6, "rpm": 1e6}


def _omit_fixed_costs(tree: Tree) -> None:
    tree["engine"] |= dict.fromkeys(("client_start_s", "am_start_s", "job_end_s", "client_end_s", "task_start_s"), 0.0)


def _omit_page_cache(tree: Tree) -> None:
    for node in tree["cluster"]["nodes"]:
        node["cache_bytes"] = 1e6


def _omit_shared_machine(tree: Tree) -> None:
    tree["cluster"].pop("cpu_pool", None)


def _omit_task_start(tree: Tree) -> None:
    tree["engine"]["task_start_cpu_s"] = 0.0


def _omit_workload_cpu(tree: Tree) -> None:
    for job in tree["jobs"]:
        for stage in job["stages"]:
            stage["cpu"] = dict.fromkeys(stage["cpu"], 0.0)


def _omit_network_limits(tree: Tree) -> None:
    for node in tree["cluster"]["nodes"]:
        node["nic_in_bytes_per_s"] *= 1e3


def _omit_random_placement(tree: Tree) -> None:
    tree["storage"]["placement"] = "balanced"


def _devices(tree: Tree) -> Iterator[dict[str, Any]]:
    for node in tree["cluster"]["nodes"]:
        yield from node["devices"]


ABLATIONS: Mapping[str, Omission] = {
    "nothing left out": lambda _tree: None,
    "seeks and turns of hard disks": _omit_seeks,
    "fixed costs of job and client": _omit_fixed_costs,
    "page cache": _omit_page_cache,
    "the one machine that a lab's nodes share": _omit_shared_machine,
    "CPU of a task's start": _omit_task_start,
    "CPU per byte": _omit_workload_cpu,
    "links": _omit_network_limits,
    "HDFS's random placement": _omit_random_placement,
}


def print_ablation(packages: Sequence[Package]) -> None:
    """Print what each part of the model contributes: the errors without it."""
    print("\n| left out of the model | median error | worst |\n|---|---|---|")
    for name, omission in ABLATIONS.items():
        rows = [row for package in packages for row in predicted_rows(package, omission) if not row.is_learned_layout]
        errors = sorted(abs(row.error) for row in rows)
        print(f"| {name} | {median(errors):.0%} | {errors[-1]:.0%} |", flush=True)


def print_agreement(packages: Sequence[Package]) -> None:
    """Print the differences between flows and requests, which simulate each disk request."""

    def rows_of(fidelity: str) -> list[Row]:
        def set_fidelity(tree: Tree) -> None:
            tree["fidelity"] = fidelity

        return [row for package in packages for row in predicted_rows(package, set_fidelity)]

    pairs = list(zip(rows_of("flows"), rows_of("requests"), strict=True))
    differences = [flows.predicted_s / requests.predicted_s - 1 for flows, requests in pairs]
    agreed = sum(abs(error) <= AGREED for error in differences)
    worst = max(zip(differences, pairs, strict=True), key=lambda item: abs(item[0]))
    print(
        f"\nflows against requests: median difference {median(map(abs, differences)):.1%}, "
        f"{agreed} of {len(differences)} within {AGREED:.0%}, largest {worst[0]:+.0%} ({worst[1][0].workload}, "
        f"{worst[1][0].configuration})"
    )


def packages(demo: Path | None) -> Iterator[Package]:
    """Yield the examples' packages, and the demo's repository."""
    for folder, table, plans in PACKAGES:
        loaded_plans = [load_plan(EXAMPLES / folder / name) for name in plans]
        with (EXAMPLES / folder / table).open(newline="") as file:
            runs = [run_of(line) for line in csv.DictReader(file)]
        name = f"{folder}/{table.removeprefix('measured/').removesuffix('.csv')}"
        usable_runs = [run for run in runs if _usable(run) and (folder, table, run.workload) not in REPLACED]
        yield Package(name, {plan.name: plan for plan in loaded_plans}, tuple(map(ObservedRun, usable_runs)))
    if demo is not None:
        repository = Repository.open(demo)
        complete_runs = [read_complete_run(repository, run) for run in repository.runs() if _usable(run)]
        plan = load_plan(EXAMPLES / "lab" / "hdd-vs-ssd.yaml")
        yield Package(
            "demo", {plan.name: plan}, tuple(ObservedRun(item.run, item.tasks, item.trace) for item in complete_runs)
        )


def _usable(run: Run) -> bool:
    return run.origin is Origin.MEASURED and run.status is RunStatus.VALID


def predicted_rows(package: Package, omission: Omission | None = None) -> Iterator[Row]:
    """Yield every configuration of a package, predicted from the layout with most runs. ``omission``: omitted part of
    the model.
    """
    layouts = Counter(item.run.layout for item in package.observed_runs)
    learned_layout = max(sorted(layouts), key=lambda layout: layouts[layout])
    learned_runs = [item for item in package.observed_runs if item.run.layout == learned_layout]
    profile = learned_profile(learned_runs, f"{package.name} {learned_layout}", MACHINE_CORES)
    groups: dict[tuple[str, ...], list[Run]] = {}
    for item in package.observed_runs:
        run = item.run
        levels = [f"{name}={level}" for name, level in sorted(run.levels.items())]
        groups.setdefault((run.plan, run.workload, *levels), []).append(run)
    for runs in groups.values():
        row = _row(package, profile, learned_layout, runs, omission)
        if row is not None:
            yield row


def _row(
    package: Package, profile: CostProfile, learned_layout: str, runs: Sequence[Run], omission: Omission | None
) -> Row | None:
    run = runs[0]
    try:
        all_plans = package.plans.values()
        matching_plans = [plan for plan in all_plans if run.layout in plan.layouts and plan.name == run.plan]
        matching_plans += [plan for plan in all_plans if run.layout in plan.layouts]
        plan = changed_plan(matching_plans[0], run.levels, run.workload)
        median_s, low_s, high_s = prediction(plan, profile, omission)
    except (AssayError, IndexError) as error:
        print(f"left out: {package.name} {run.workload} {run.levels}: {error}")
        return None
    times = tuple(measured.duration_s for measured in runs)
    configuration = " ".join(f"{name}={level}" for name, level in run.levels.items())
    same_layout = run.layout == learned_layout
    return Row(package.name, run.workload, configuration, learned_layout, same_layout, times, median_s, low_s, high_s)


def prediction(plan: Plan, profile: CostProfile, omission: Omission | None = None) -> tuple[float, float, float]:
    """Return the time of a plan's only configuration, and its 90 % interval."""
    run = only_run(plan)
    request = SimulationRequest(plan.cluster, run.configuration, run.workload.name, size_of(run, plan), profile)
    trees = [
        to_builtins(scenario_of(draw.of(request)).with_seed(draw.seed, "draw")) for draw in draws(profile, DRAWS, 1)
    ]
    if omission is not None:
        for tree in trees:
            omission(tree)
    outcomes = simulate(trees)
    times = [outcome.duration_s for outcome in outcomes]
    variance = fmean((math.log(time_s) - fmean(map(math.log, times))) ** 2 for time_s in times)
    sigma = math.sqrt(variance + sigma_of(shares_of(request, outcomes)) ** 2 + REPETITION_SIGMA**2)
    median_s = median(times)
    return median_s, median_s * math.exp(-Z90 * sigma), median_s * math.exp(Z90 * sigma)


def print_rows(rows: Sequence[Row]) -> None:
    """Print the table and its summary."""
    print("| package | workload | configuration | learned from | measured (s) | n | predicted (s) | 90 % | error |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        learned = f"{row.learned} (itself)" if row.is_learned_layout else row.learned
        print(
            f"| {row.package} | {row.workload} | {row.configuration} | {learned} | {row.measured_s:.1f} | "
            f"{len(row.times_s)} | {row.predicted_s:.1f} | {row.low_s:.1f} to {row.high_s:.1f} | {row.error:+.0%} |"
        )
    for title, selected_rows in (
        ("all", rows),
        ("predicted layouts alone", [row for row in rows if not row.is_learned_layout]),
    ):
        errors = sorted(abs(row.error) for row in selected_rows)
        in_interval = [row.low_s <= time_s <= row.high_s for row in selected_rows for time_s in row.times_s]
        if errors:
            print(
                f"\n{title}: {len(selected_rows)} configurations, {len(in_interval)} runs; median error "
                f"{median(errors):.0%}, worst {errors[-1]:.0%}; {fmean(in_interval):.0%} of the runs in their interval"
            )
    ratios = list(ratio_errors(rows))
    if ratios:
        sizes = sorted(abs(error) for _, error in ratios)
        print(
            f"ratios of predicted layouts to the learned one: median error {median(sizes):.0%}, worst {sizes[-1]:.0%}"
        )


def ratio_errors(rows: Sequence[Row]) -> Iterator[tuple[Row, float]]:
    """Yield each predicted row, with the error of its ratio to the otherwise equal row of the learned layout."""
    reference = {(row.package, row.workload, _other_levels(row)): row for row in rows if row.is_learned_layout}
    for row in rows:
        base = reference.get((row.package, row.workload, _other_levels(row)))
        if base is not None and not row.is_learned_layout:
            yield row, (base.predicted_s / row.predicted_s) / (base.measured_s / row.measured_s) - 1


def _other_levels(row: Row) -> str:
    return " ".join(part for part in row.configuration.split() if not part.startswith("layout="))


def main() -> None:
    """Print all tables."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--demo", type=Path)
    arguments.add_argument("--profile", type=Path)
    arguments.add_argument("--quick", action="store_true", help="the table of what was measured, and no more")
    options = arguments.parse_args()
    all_packages = list(packages(options.demo))
    if options.profile:
        all_runs = [item for package in all_packages for item in package.observed_runs]
        profile = learned_profile(all_runs, "lab", MACHINE_CORES)
        source = f"{profile.learned.source}; labs on one machine of {MACHINE_CORES} cores"
        described_profile = replace(profile, learned=replace(profile.learned, source=source))
        options.profile.write_text(profile_text(described_profile))
    print_rows([row for package in all_packages for row in predicted_rows(package)])
    if not options.quick:
        print_agreement(all_packages)
        print_ablation(all_packages)
        print()
        simulator_published.main()


if __name__ == "__main__":
    main()
