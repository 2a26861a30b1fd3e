"""Measure in how many repetitions a deliberately slow method tops the differential flame graph, and in which phases.

A campaign runs the workload ``shuffle`` with profile ``cpu`` three times in each repetition: without tasks that burn
CPU time, with maps that burn it (``map_burn_ms: 2000``), and with reduces that do. The flame graphs of each run that
burns are compared with those of the run without, in the same repetition. In each phase, the benchmark finds the method
with the largest increase of self time in seconds per GB of data: the reddest in the graph. The output has for each
phase the number of repetitions in which this is the slow method, and how many seconds per GB the slow method adds.

Run it with ``.venv/bin/python benchmarks/profile_burn.py DIR``; a repetition takes about 80 s. DIR is the folder of the
plan and of its repository; the same command resumes an interrupted campaign, and prints the table of a finished one.
The default is Hadoop on this machine; ``--engine spark``, and ``--cluster FILE`` for a lab or an attached cluster.
``--parameters`` are those of the plan.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.analysis.code_profile.flame import FlameGraph
from assay.model import Run
from assay.questions.comparisons.code_difference import profiled_sides
from assay.questions.comparisons.flame_graphs import FlameGraphs, flame_graphs_of_sides
from assay.store import Repository

_CLUSTER = Path(__file__).parents[1] / "examples" / "local" / "cluster.yaml"
LOCAL_PARAMETERS = "dfs.replication: 1, dfs.blocksize: 16MiB, yarn.nodemanager.resource.memory-mb: 1152"
METHOD = "io/github/assay/jobs/Burner.burnCpu"
_PLAN = """\
plan: burn
cluster: {cluster}
engine: {engine}
parameters: {{{parameters}, profile: cpu}}
layout: SSD
workloads:
  - shuffle: {{data: 60MB, maps: 3, reduces: 3, payload: random}}
factors: {{shuffle.map_burn_ms: [0, 2000], shuffle.reduce_burn_ms: [0, 2000]}}
only:
  - {{shuffle.map_burn_ms: 0}}
  - {{shuffle.map_burn_ms: 2000, shuffle.reduce_burn_ms: 0}}
repetitions: {repetitions}
seed: 1
timeout: 10min
attempts: 2
"""


def measure(folder: Path, values: Mapping[str, object]) -> Path:
    """Run the campaign and return its repository. ``values``: those of the plan."""
    folder.mkdir(parents=True, exist_ok=True)
    plan, repository = folder / "plan.yaml", folder / "repository"
    plan.write_text(_PLAN.format_map(values))
    command = [sys.executable, "-m", "assay", "run", str(plan), "--repository", str(repository), "--no-baseline"]
    subprocess.run(command, check=True, stdout=sys.stderr)
    return repository


def increases(graph: FlameGraph, answer: FlameGraphs) -> Counter[str]:
    """Return the increase of each method's self time from the first side to the second, in the graph's unit."""
    increase: dict[str, float] = defaultdict(float)
    path: list[str] = []
    for index, (depth, frame) in enumerate(zip(graph.depths, graph.frames, strict=True)):
        first, second = (
            counts[index] * value for counts, value in zip(graph.counts, answer.unit_per_count, strict=True)
        )
        del path[depth:]
        if path:
            increase[path[-1]] -= second - first
        path.append(answer.names[frame])
        increase[path[-1]] += second - first
    del increase[answer.names[graph.frames[0]]]
    return Counter(increase)


def burning_kinds(run: Run) -> tuple[str, ...]:
    """Return the kinds of task that burn CPU time in a run."""
    return tuple(kind for kind in ("map", "reduce") if int(run.levels.get(f"shuffle.{kind}_burn_ms", "0")) > 1)


def cases_of(repository: Repository) -> dict[str, list[tuple[Run, Run]]]:
    """Return for each kind of task that burns the valid runs of each repetition: without and with it."""
    repetitions: dict[tuple[str, int], dict[tuple[str, ...], Run]] = defaultdict(dict)
    table = repository.table()
    for run in repository.runs_at(table, range(len(table))):
        if run.status == "valid":
            repetitions[run.campaign_id, run.repetition][burning_kinds(run)] = run
    return {
        kind: [(runs[()], runs[kind,]) for _, runs in sorted(repetitions.items()) if {(), (kind,)} <= runs.keys()]
        for kind in ("map", "reduce")
    }


def print_tables(root: Path) -> None:
    """Print for each case and phase how often the slow method has the largest increase."""
    repository = Repository.open(root)
    for kind, pairs in cases_of(repository).items():
        if pairs:
            print(f"{kind}s burn: {pairs[0][1].environment['profile']['method']}, {len(pairs)} repetitions")
            print_table(repository, pairs)


def print_table(repository: Repository, pairs: Sequence[tuple[Run, Run]]) -> None:
    """Print for each phase how often the slow method has the largest increase."""
    top_counts, added_s_per_gb = Counter[str](), defaultdict[str, list[float]](list)
    for pair in pairs:
        sides = profiled_sides(repository, repository.table(), [run.run_id for run in pair], "runs")
        answer = flame_graphs_of_sides(sides)
        for graph in answer.graphs:
            by_method = increases(graph, answer)
            top_counts[graph.phase] += by_method.most_common(1)[0][0] == METHOD
            added_s_per_gb[graph.phase].append(by_method[METHOD])
    print("| phase | repetitions in which the method is on top | s/GB that it adds: lowest, highest |\n|---|---|---|")
    for phase, values in added_s_per_gb.items():
        print(f"| {phase} | {top_counts[phase]} of {len(values)} | {min(values):.1f}, {max(values):.1f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--engine", choices=("hadoop", "spark"), default="hadoop")
    parser.add_argument("--cluster", type=Path, default=_CLUSTER)
    parser.add_argument("--parameters", default=LOCAL_PARAMETERS)
    options = parser.parse_args()
    print_tables(measure(options.folder, {**vars(options), "cluster": options.cluster.absolute()}))
