"""What the simulator says of the three papers' clusters, beside what the papers print: docs/simulator.md has the table.

    python benchmarks/simulator_published.py

Clusters, plans and printed times are those below ``examples/``. CPU costs are those of the profile that comes with
assay, learned in labs; how fast the papers' processors and Java were beside that is not known: SPEEDS. SanDisk's fixed
costs are set by its two rows on SSDs, and its rows on HDDs are predicted with them. BSC does not say how often data are
replicated, whether they are compressed, block size and buffers: its rows are bands over UNKNOWN.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

from assay.engines.simulated.process import simulate
from assay.engines.simulated.scenario import Asked, scenario_of
from assay.model.plan import Plan
from assay.planning.altered import altered, only_run
from assay.planning.inputs import size_of
from assay.planning.plan_reader import load_plan
from assay.questions.learning import shipped_profile

EXAMPLES = Path(__file__).parents[1] / "examples"
SPEEDS = (1.0, 2.0, 4.0)
"""Of a core with a server's Java beside the lab's, whose Java compiles quickly and badly; the middle one where one is
needed."""
SANDISK = (
    ("dfsioe-read", "All-SSD", 485.0),
    ("dfsioe-write", "All-SSD", 1319.0),
    ("dfsioe-read", "All-HDD", 1756.0),
    ("dfsioe-write", "All-HDD", 5131.0),
)
BSC = (
    ("SS2", "IB", 207.0),
    ("HS5", "IB", 228.0),
    ("SS2", "ETH", 258.0),
    ("SSD", "IB", 265.0),
    ("HS5", "ETH", 275.0),
    ("HD5", "IB", 325.0),
    ("SSD", "ETH", 348.0),
    ("HD5", "ETH", 348.0),
)
UNKNOWN: Mapping[str, tuple[str, ...]] = {
    "worker.cpu.speed": tuple(f"{speed:g}" for speed in SPEEDS),
    "dfs.replication": ("1", "3"),
    "compression": ("none", "snappy"),
    "dfs.blocksize": ("64MiB", "256MiB"),
    "mapreduce.task.io.sort.mb": ("100", "400"),
}
MIDDLE = {"worker.cpu.speed": "2", "dfs.replication": "3", "compression": "none"}
LISA = (("wordcount", "none", 1.0), ("teravalidate", "none", 1.7), ("shuffle", "none", 1.7))


def simulated_s(plan: Plan, levels: Mapping[str, str], workload: str, changes: Mapping[str, str]) -> float:
    """Return the median time of three simulations."""
    changed = altered(plan, levels, workload, tuple(changes.items()))
    run = only_run(changed)
    size = size_of(run, changed)
    scenario = scenario_of(Asked(changed.cluster, run.configuration, run.workload.name, size, shipped_profile()))
    return median(one.duration_s for one in simulate([scenario.with_seed(seed, "x") for seed in (1, 2, 3)]))


def kendall(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Kendall's tau-b of two rankings."""

    def sign(value: float) -> int:
        return (value > 0) - (value < 0)

    pairs = [
        (sign(first[i] - first[j]), sign(second[i] - second[j]))
        for i, j in itertools.combinations(range(len(first)), 2)
    ]
    untied = [sum(pair[side] != 0 for pair in pairs) for side in (0, 1)]
    return float(sum(a * b for a, b in pairs) / math.sqrt(untied[0] * untied[1]))


def sandisk() -> Iterator[str]:
    """Yield the four rows, with the fixed costs that the two on SSDs ask for."""
    plan = load_plan(EXAMPLES / "sandisk-2014" / "plan.yaml")
    speed = {"worker.cpu.speed": f"{SPEEDS[1]:g}"}
    found = [simulated_s(plan, {"layout": layout}, workload, speed) for workload, layout, _ in SANDISK]
    fixed_s = max(0.0, fmean(printed - time_s for (_, _, printed), time_s in zip(SANDISK[:2], found[:2], strict=True)))
    yield f"SanDisk 2014; fixed costs of {fixed_s:.0f} s a run, from the two rows on SSDs"
    for (workload, layout, printed), time_s in zip(SANDISK, found, strict=True):
        with_fixed = time_s + fixed_s
        kind = "fitted" if layout == "All-SSD" else "predicted"
        words = f"{workload} {layout}: printed {printed:.0f} s, simulated {time_s:.0f} s, with fixed costs"
        yield f"  {words} {with_fixed:.0f} s ({with_fixed / printed - 1:+.0%}), {kind}"


def bsc() -> Iterator[str]:
    """Yield the eight rows as bands, and how well their middle ranks them."""
    plan = load_plan(EXAMPLES / "bsc-2015" / "plan.yaml")
    names = list(UNKNOWN)
    middles, inside = [], 0
    yield "BSC 2015, table 2: band over what is not stated"
    for layout, network, printed in BSC:
        levels = {"layout": layout, "network": network, "containers": "12"}
        times = [
            simulated_s(plan, levels, "terasort", dict(zip(names, values, strict=True)))
            for values in itertools.product(*UNKNOWN.values())
        ]
        middles.append(simulated_s(plan, levels, "terasort", MIDDLE))
        fits = min(times) <= printed <= max(times)
        inside += fits
        yield (
            f"  {layout} {network}: printed {printed:.0f} s, band {min(times):.0f} to {max(times):.0f} s, "
            f"middle {middles[-1]:.0f} s{'' if fits else ': outside'}"
        )
    tau = kendall(middles, [printed for _, _, printed in BSC])
    yield f"  {inside} of {len(BSC)} printed times lie in their band; Kendall's tau of the middle {tau:.2f}"


def lisa() -> Iterator[str]:
    """Yield the ratios of the text."""
    plan = load_plan(EXAMPLES / "lisa14" / "plan.yaml")
    speed = {"worker.cpu.speed": f"{SPEEDS[1]:g}"}

    def time_s(workload: str, layout: str, codec: str) -> float:
        return simulated_s(plan, {"layout": layout, "compression": codec}, workload, speed)

    yield "LISA'14: eleven HDDs' time over one SSD's"
    for workload, codec, printed in LISA:
        ratio = time_s(workload, "HDD-11", codec) / time_s(workload, "SSD", codec)
        yield f"  {workload}, compression {codec}: printed {printed:.1f}, simulated {ratio:.2f}"
    hybrid, split = (time_s("terasort", layout, "none") for layout in ("Hybrid", "Hybrid-split"))
    yield f"  terasort: split hybrid over default hybrid, printed above 1, simulated {hybrid / split:.2f}"
    for codec in ("none", "snappy"):
        ratio = time_s("terasort", "HDD-11", codec) / time_s("terasort", "SSD", codec)
        yield f"  terasort, 33 GB a node, compression {codec}: simulated {ratio:.2f}"
    large = load_plan(EXAMPLES / "lisa14" / "plan-10x.yaml")
    times = [simulated_s(large, {"layout": layout}, "terasort", speed) for layout in ("HDD-11", "SSD")]
    yield f"  terasort, 330 GB a node, compression snappy: printed 1.2, simulated {times[0] / times[1]:.2f}"


def main() -> None:
    """Print all of it."""
    for line in itertools.chain(sandisk(), bsc(), lisa()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
