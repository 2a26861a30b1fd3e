"""Measure in how many repetitions a deliberately slow method tops the differential flame graph, and in which phases.

A campaign alternates the workload ``shuffle`` without and with tasks that burn CPU time (``reduce_burn_ms: 2000``, or
``map_burn_ms`` with ``--phase map``; profile ``cpu``). For each repetition, the flame graphs of its two runs are
compared: in each phase, the method with the largest increase of self time in seconds per GB of data, which is the
reddest of the graph. The output has for each phase the number of repetitions in which the slow method is this method,
and how many seconds per GB it adds.

Run it with ``.venv/bin/python benchmarks/profile_burn.py [REPETITIONS]``; a repetition takes about 40 s. The default is
Hadoop on this machine; ``--engine spark``, and ``--cluster FILE`` for a lab or an attached cluster. ``--parameters``
are those of the plan. With ``--repository DIR``, an existing repository of this benchmark is read instead.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping
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
factors: {{shuffle.{phase}_burn_ms: [0, 2000]}}
repetitions: {repetitions}
seed: 1
timeout: 10min
attempts: 2
"""


def measure(folder: Path, values: Mapping[str, object]) -> Path:
    """Run the campaign and return its repository. ``values``: those of the plan."""
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


def burn_ms(run: Run) -> int:
    """Return the level of the option that burns."""
    return next(int(level) for factor, level in run.levels.items() if factor.endswith("_burn_ms"))


def pairs_of(store: Repository) -> list[tuple[Run, Run]]:
    """Return the valid runs of each repetition, with the lowest and the highest level of the option."""
    sides: dict[tuple[str, int], list[Run]] = defaultdict(list)
    table = store.table()
    for run in store.runs_at(table, range(len(table))):
        if run.status == "valid":
            sides[run.campaign_id, run.repetition].append(run)
    ordered = [sorted(side, key=burn_ms) for _, side in sorted(sides.items())]
    return [(side[0], side[-1]) for side in ordered if len(side) == 2]


def print_table(root: Path) -> None:
    """Print for each phase how often the slow method has the largest increase."""
    store = Repository.open(root)
    pairs, tops, added = pairs_of(store), Counter[str](), defaultdict[str, list[float]](list)
    for pair in pairs:
        sides = profiled_sides(store, store.table(), [run.run_id for run in pair], "runs")
        answer = flame_graphs_of_sides(sides)
        for graph in answer.graphs:
            by_method = increases(graph, answer)
            tops[graph.phase] += by_method.most_common(1)[0][0] == METHOD
            added[graph.phase].append(by_method[METHOD])
    print(f"{pairs[0][0].environment['profile']['method']}, {len(pairs)} repetitions")
    print("| phase | repetitions in which the method is on top | s/GB that it adds: lowest, highest |\n|---|---|---|")
    for phase, values in added.items():
        print(f"| {phase} | {tops[phase]} of {len(values)} | {min(values):.1f}, {max(values):.1f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repetitions", type=int, nargs="?", default=20)
    parser.add_argument("--engine", choices=("hadoop", "spark"), default="hadoop")
    parser.add_argument("--phase", choices=("map", "reduce"), default="reduce", help="the tasks that burn")
    parser.add_argument("--cluster", type=Path, default=_CLUSTER)
    parser.add_argument("--parameters", default=LOCAL_PARAMETERS)
    parser.add_argument("--repository", type=Path)
    chosen = parser.parse_args()
    if chosen.repository:
        print_table(chosen.repository)
    else:
        values = {**vars(chosen), "cluster": chosen.cluster.absolute()}
        with tempfile.TemporaryDirectory() as folder:
            print_table(measure(Path(folder), values))
