"""Measure wall time, CPU time and memory of the command that simulates a large cluster.

Runs ``assay run`` on TeraSorts of growing simulated clusters (racks of 40 nodes, four disks each) with an empty
repository, and the simulator's core alone on the same scenarios. The table has nodes, tasks, the core's wall and CPU
time, the command's wall and CPU time (which include the core's), and the peak memory of each. The peak of the command
is the larger of assay's and the simulator's, which do not coincide. No process shows less than about 45 MiB, the memory
of this benchmark before it starts the command.

Wall times depend on the load of the machine, which is printed first. Run it with
``python benchmarks/simulator_command.py [--largest]``; it prints Markdown.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from assay.estimation.simulator.process import simulator
from assay.estimation.simulator.scenario import SimulationRequest, scenario_of
from assay.execution.planning.expansion import expand
from assay.execution.planning.forecast.inputs import size_of
from assay.execution.planning.order import schedule
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.specs.profiles import shipped_profile

# Nodes, maps, reduces, data, containers a node.
SIZES = ((100, 800, 200, "100GB", 10), (1_500, 8_000, 2_000, "1TB", 10), (10_000, 980_000, 20_000, "130TB", 20))
CLUSTER = """
cluster: large
provider: simulated
node_types:
  kind:
    cores: 16
    memory: 128GB
    nic: 10Gbit/s
    devices:
      hdd: {kind: hdd, count: 4, read: 150MB/s, write: 150MB/s, capacity: 4TB}
nodes:
  master: {type: kind, roles: [master]}
  worker: {type: kind, roles: [worker], count: NODES}
racks: {nodes: 40, uplink: 160Gbit/s}
"""
PLAN = """
plan: large
cluster: cluster.yaml
engine: hadoop
workloads:
  - terasort: {data: DATA, maps: MAPS, reduces: REDUCES}
parameters:
  containers: CONTAINERS
factors:
  layout: [HD4]
repetitions: 1
seed: 1
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Time and memory of a process with its children."""

    wall_s: float
    cpu_s: float
    peak_mib: int


def cost_of(command: list[str], standard_input: Path | None = None) -> Cost:
    """Run a command and return its cost. The benchmark ends if the command fails."""
    with (standard_input or Path(os.devnull)).open("rb") as input_file, tempfile.TemporaryFile() as out:
        began = time.monotonic()
        process = subprocess.Popen(command, stdin=input_file, stdout=out, stderr=out)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            out.seek(0)
            sys.exit(f"simulator_command: {command[0]} ended with {process.returncode}:\n{out.read().decode()[-2000:]}")
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024)


def write_scenario(plan_file: Path) -> Path:
    """Write the scenario of the plan's only run."""
    plan = load_plan(plan_file)
    [planned] = schedule(plan, expand(plan))
    configuration = replace(planned.configuration, engine="hadoop")
    request = SimulationRequest(
        plan.cluster, configuration, planned.workload.name, size_of(planned, plan), shipped_profile()
    )
    path = plan_file.with_name("scenario.json")
    path.write_bytes(msgspec.json.encode(scenario_of(request).with_seed(1, "terasort", "traces")) + b"\n")
    return path


def main() -> None:
    """Run all sizes, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--largest", action="store_true", help="a million tasks on 10,000 nodes too")
    largest = parser.parse_args().largest
    print(f"Load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n")
    print("| nodes | tasks | core s | core CPU s | core MiB | command s | command CPU s | peak MiB |")
    print("|---|---|---|---|---|---|---|---|")
    for nodes, maps, reduces, data, containers in SIZES if largest else SIZES[:2]:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "cluster.yaml").write_text(CLUSTER.replace("NODES", str(nodes)))
            values = {"DATA": data, "MAPS": maps, "REDUCES": reduces, "CONTAINERS": containers}
            text = PLAN
            for name, value in values.items():
                text = text.replace(name, str(value))
            plan = Path(folder) / "plan.yaml"
            plan.write_text(text)
            core = cost_of([str(simulator())], write_scenario(plan))
            repository = str(Path(folder) / "repository")
            program = [sys.executable, "-m", "assay", "run", str(plan), "--repository", repository]
            command = cost_of(program)
            figures = (core.wall_s, core.cpu_s, core.peak_mib, command.wall_s, command.cpu_s)
            cells = [f"{value:.1f}" if isinstance(value, float) else str(value) for value in figures]
            print(f"| {nodes} | {maps + reduces} | {' | '.join(cells)} | {command.peak_mib} |", flush=True)
    print(f"\nLoad of the machine after: {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
