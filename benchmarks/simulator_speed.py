"""Measure the simulator's CPU time and memory, and how both grow with the number of tasks.

Runs ``assay-simulate`` on TeraSorts of growing clusters (racks of 40 nodes with four disks each; the times of tasks
vary by 10 %). The table has simulated time, CPU time, events, peak memory, the exponent of the growth, and the time of
a lab-sized run with single requests. With Debian's ``python3-simgrid`` it also runs SimGrid on the same number of
activities: each map reads a block, computes and writes, 8 at a time on each of 6 nodes.

It reports CPU time, so that other programs do not count. The first run of a process also makes the tables of its disks;
the smallest size is run 20 times in one process, and the table has the mean of the fastest of seven calls.

Run it with ``python benchmarks/simulator_speed.py [--largest]``; it prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
from pathlib import Path

from assay.foundation.installation import installation

BLOCK_BYTES = 134_217_728
# Nodes, maps, reduces, containers a node.
SIZES = ((6, 512, 24, 8), (100, 10_000, 400, 10), (1_000, 100_000, 4_000, 10), (10_000, 1_000_000, 20_000, 20))
SYSTEM_PYTHON = Path("/usr/bin/python3")
SIMGRID = """
import time
from simgrid import Actor, Engine, Mailbox, NetZone, this_actor
engine = Engine(["x", "--log=root.thresh:critical"])
zone = NetZone.create_full_zone("zone")
hosts = [zone.create_host(f"h{i}", "1Gf") for i in range(6)]
disks = []
for host in hosts:
    host.core_count = 16
    disks.append(host.create_disk("disk", "600MBps", "600MBps"))
zone.seal()
def worker(node, maps):
    for _ in range(maps):
        disks[node].read(134217728)
        this_actor.execute(4e9)
        disks[node].write(134217728)
left = 512
for slot in range(48):
    maps = left // (48 - slot)
    left -= maps
    Actor.create(f"w{slot}", hosts[slot % 6], worker, slot % 6, maps)
began = time.process_time()
engine.run()
print(time.process_time() - began)
"""


def scenario(nodes: int, maps: int, reduces: int, slots: int) -> dict[str, object]:
    """Return a TeraSort of ``maps`` blocks."""
    disk = {
        "name": "disk",
        "count": 4,
        "model": {"kind": "hdd", "bytes_per_s": 150e6, "iops": 120},
        "purposes": {"dfs": 1, "intermediate": 1},
    }
    node = {
        "name": "n",
        "count": nodes,
        "cores": 16,
        "memory_bytes": 128e9,
        "nic_in_bytes_per_s": 1.25e9,
        "containers": {"memory_bytes": slots * 2e9},
        "devices": [disk],
    }
    map_stage = {
        "name": "map",
        "memory_bytes": 2e9,
        "input": {"from": "dfs", "dataset": "in"},
        "cpu": {"process_s_per_byte": 20e-9, "sort_s_per_byte": 20e-9},
        "output": {"to": "shuffle"},
        "sort": {"buffer_bytes": 256e6},
    }
    reduce_stage = {
        "name": "reduce",
        "kind": "reduce",
        "tasks": reduces,
        "memory_bytes": 2e9,
        "input": {"from": "stage", "stage": "map"},
        "cpu": {"process_s_per_byte": 10e-9, "merge_s_per_byte": 5e-9},
        "output": {"to": "dfs"},
    }
    return {
        "cluster": {"nodes": [node], "racks": {"nodes": 40, "uplink_bytes_per_s": 20e9}},
        "engine": {"job_submit_s": 2, "am_start_s": 3, "task_start_s": 2, "task_start_cpu_s": 2},
        "noise": {"task_sigma": 0.1},
        "datasets": [{"name": "in", "bytes": maps * BLOCK_BYTES, "files": maps}],
        "jobs": [{"name": "terasort", "am_memory_bytes": 2e9, "stages": [map_stage, reduce_stage]}],
    }


def lab_scenario(fidelity: str) -> dict[str, object]:
    """Return a sort of a lab's size: three nodes with two slow disks each, 600 MB."""
    document = scenario(3, 24, 6, 4)
    node = document["cluster"]["nodes"][0]  # type: ignore[index]
    node["devices"][0] |= {
        "count": 2,
        "model": {"kind": "hdd", "bytes_per_s": 6e6, "iops": 120},
        "readahead_bytes": 32768,
        "dirty_limit_bytes": 3e6,
    }
    document["storage"] = {"block_bytes": 25e6}
    document["datasets"] = [{"name": "in", "bytes": 600e6, "files": 24}]
    return document | {"fidelity": fidelity}


def run(program: Path, document: dict[str, object], times: int) -> tuple[dict[str, float], float, int]:
    """Run a scenario ``times`` times in one process; return the last result, its CPU seconds, and the peak memory in
    KiB."""
    cpu_before_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    lines = "\n".join([json.dumps(document)] * times)
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    out = process.communicate(lines)[0]
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = json.loads(out.splitlines()[-1])
    if "error" in result:
        sys.exit(f"simulator_speed: {result['error']}")
    return result, (usage.ru_utime - cpu_before_s) / times, usage.ru_maxrss


def main() -> None:
    """Run all sizes, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--largest", action="store_true", help="a million tasks on 10,000 nodes too")
    largest = parser.parse_args().largest
    program = installation().simulator
    if program is None:
        sys.exit("simulator_speed: assay-simulate is not built: run tools/setup.sh")
    print("| nodes | tasks | simulated s | CPU s | million events/s | peak MiB |\n|---|---|---|---|---|---|")
    points = []
    for nodes, maps, reduces, slots in SIZES if largest else SIZES[:3]:
        is_small, document = maps < 1000, scenario(nodes, maps, reduces, slots)
        calls = [run(program, document, 20 if is_small else 1) for _ in range(7 if is_small else 1)]
        result, cpu_s, peak_kib = min(calls, key=lambda call: call[1])
        tasks, events = maps + reduces, result["events"]
        points.append((math.log(tasks), math.log(cpu_s)))
        rate = events / cpu_s / 1e6
        print(f"| {nodes} | {tasks} | {result['duration_s']:.0f} | {cpu_s:.4f} | {rate:.2f} | {peak_kib // 1024} |")
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    print(f"\nCPU time grows with tasks to the power of {slope:.2f} ({len(points)} sizes).")
    for fidelity in ("flows", "requests"):
        result, cpu_s, _ = run(program, lab_scenario(fidelity), 10)
        simulated_s = result["duration_s"]
        speed_ratio = simulated_s / cpu_s
        print(
            f"Lab size in {fidelity}: {simulated_s:.0f} s in {cpu_s:.4f} s of CPU, {speed_ratio:.0f} times real time."
        )
    simgrid = subprocess.run([SYSTEM_PYTHON, "-c", SIMGRID], capture_output=True, text=True, check=False)
    if simgrid.returncode == 0:
        print(f"SimGrid, 512 maps of three steps on 6 nodes: {float(simgrid.stdout.split()[-1]):.4f} s of CPU.")
    else:
        print("SimGrid: python3-simgrid is not installed.")


if __name__ == "__main__":
    main()
