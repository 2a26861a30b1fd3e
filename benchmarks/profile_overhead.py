"""Measure the cost of a profile: ratios of a profiled run to an unprofiled run, over interleaved pairs on a lab.

A campaign runs TeraSort with ``profile: off`` and ``profile: KIND`` in turn; each block of the schedule has both. The
output has the geometric mean of the pairs' ratios with its 95 % t interval, on logarithms, of three quantities: the
wall time of the job; the CPU seconds of its task attempts, which Hadoop counts from after the start of a JVM; and those
of the workers' control groups during the job, which include JVM starts and daemons.

Run as root: ``.venv/bin/python benchmarks/profile_overhead.py DIR [PAIRS] [KIND]``. A pair takes about 1 min. DIR is
the folder of the plan and of its repository; the same command resumes an interrupted campaign, and prints the ratios of
a finished one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from assay.analysis.statistics import geometric_mean
from assay.model import PROFILED, Run
from assay.store import Repository

_CLUSTER = Path(__file__).parents[1] / "examples" / "lab" / "cluster.yaml"
_PLAN = """\
plan: profile-overhead
cluster: {cluster}
layout: SS2
parameters: {{dfs.replication: 1, dfs.blocksize: 64MiB}}
workloads:
  - terasort: {{data: {data}, maps: 6, reduces: 3}}
factors: {{profile: ["off", {kind}]}}
repetitions: {pairs}
seed: 1
timeout: 10min
attempts: 2
"""


def measure(folder: Path, pairs: int, kind: str, data: str) -> Path:
    """Run the campaign and return its repository."""
    folder.mkdir(parents=True, exist_ok=True)
    plan = folder / "plan.yaml"
    plan.write_text(_PLAN.format(cluster=_CLUSTER, kind=kind, pairs=pairs, data=data))
    repository = folder / "repository"
    command = [sys.executable, "-m", "assay", "run", str(plan), "--repository", str(repository), "--no-baseline"]
    subprocess.run(command, check=True, stdout=sys.stderr)
    return repository


def print_ratios(repository: Path) -> None:
    """Print the three ratios, and the number of pairs."""
    store = Repository.open(repository)
    sides: dict[tuple[int, int], dict[bool, Run]] = defaultdict(dict)
    for path in sorted(repository.glob("bundles/*/run.json")):
        run = store.run(json.loads(path.read_text())["run_id"])
        if run.status == "valid":
            sides[run.block, run.repetition][PROFILED in run.parameters] = run
    pairs = [(side[False], side[True]) for side in sides.values() if len(side) == 2]
    profile_facts = pairs[0][1].environment["profile"]
    print(f"{profile_facts['kind']}, {profile_facts['method']}, {len(pairs)} pairs of {pairs[0][0].workload}")

    def task_cpu_s(run: Run) -> float:
        return sum(task.cpu_s or 0.0 for task in store.tasks(run.run_id))

    for title, quantity in (
        ("wall time of the job", lambda run: run.duration_s),
        ("CPU seconds of task attempts", task_cpu_s),
        ("CPU seconds of the workers", lambda run: worker_cpu_s(store, run)),
    ):
        unprofiled_values, profiled_values = (
            [quantity(pair[0]) for pair in pairs],
            [quantity(pair[1]) for pair in pairs],
        )
        ratio = geometric_mean(
            [
                profiled_value / unprofiled_value
                for unprofiled_value, profiled_value in zip(unprofiled_values, profiled_values, strict=True)
            ]
        )
        interval = f"{ratio.low:.3f} to {ratio.high:.3f}" if ratio.low and ratio.high else "no interval"
        unprofiled_mean = sum(unprofiled_values) / len(unprofiled_values)
        print(
            f"{title}: ratio {ratio.value:.3f} ({interval}); "
            f"unprofiled mean {unprofiled_mean:.1f} s, n = {len(pairs)} pairs"
        )


def worker_cpu_s(store: Repository, run: Run) -> float:
    """Return the CPU time of the workers' control groups during the job, in seconds."""
    trace, counts = store.trace(run.run_id), defaultdict[str, list[float]](list)
    for node, subject, metric, t_s, value in zip(
        trace.node, trace.subject, trace.metric, trace.t_s, trace.value, strict=True
    ):
        if (subject, metric) == ("cgroup", "cpu_s") and node != "master" and -1 <= t_s <= run.duration_s + 1:
            counts[node].append(value)
    return sum(max(values) - min(values) for values in counts.values())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("pairs", type=int, nargs="?", default=3)
    parser.add_argument("kind", nargs="?", default="cpu", choices=("cpu", "wall", "alloc", "lock"))
    parser.add_argument("--data", default="1GB")
    options = parser.parse_args()
    print_ratios(measure(options.folder, options.pairs, options.kind, options.data))
