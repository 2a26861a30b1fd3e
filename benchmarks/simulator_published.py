"""Simulate the three papers' clusters and compare with the papers' figures (docs/measurements/simulator.md).

    python benchmarks/simulator_published.py

Clusters, plans and printed times are in ``examples/``. CPU costs are those of the shipped profile, learned on labs; the
speed of the papers' processors and Java is not known. Fitted: SanDisk's fixed costs on its two rows with SSDs (run time
minus data divided by the printed aggregated throughput), and BSC's CPU speed on its row with two SSDs and InfiniBand.
All other rows are predictions. BSC does not state replication, compression, block size and buffers: its rows are ranges
over UNKNOWN, with Hadoop 1's defaults in the middle.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

from assay.estimation.simulator.process import simulate
from assay.estimation.simulator.scenario import SimulationRequest, scenario_of
from assay.execution.planning.forecast.inputs import size_of
from assay.execution.planning.plan_files.changed_plan import changed_plan, only_run
from assay.execution.planning.plan_files.plan_reader import load_plan
from assay.model.plans.plan import Plan
from assay.questions.forecasts.learning import shipped_profile

EXAMPLES = Path(__file__).parents[1] / "examples"
SPEED = 2.0
"""Speed of a core with a server's Java, relative to the lab's less optimising Java; used where no speed is fitted."""
SPEEDS = (1.0, 2.0, 4.0)
"""Possible speeds of a core in LISA'14, which nothing fits."""
SANDISK = (
    ("dfsioe-read", "All-SSD", 485.0, 4086.78),
    ("dfsioe-write", "All-SSD", 1319.0, 952.35),
    ("dfsioe-read", "All-HDD", 1756.0, 722.56),
    ("dfsioe-write", "All-HDD", 5131.0, 218.36),
)
"""Run time in seconds, and the printed aggregated throughput in MB/s."""
SANDISK_MB = 512 * 2000
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
    "dfs.replication": ("1", "3"),
    "compression": ("none", "snappy"),
    "dfs.blocksize": ("64MiB", "256MiB"),
    "mapreduce.task.io.sort.mb": ("100", "400"),
    "mapreduce.reduce.java.opts": ("-Xmx200m", "-Xmx1600m"),
}
"""Settings that BSC does not state, with the ends of their ranges."""
MIDDLE = {"dfs.replication": "3", "compression": "none", "mapreduce.reduce.java.opts": "-Xmx200m"}
"""Hadoop 1's defaults of these settings."""
FITTED = BSC[0]
"""The row from which the speed of a core is fitted: the one that depends least on storage."""
SPEED_STEPS = 9
LISA = (("wordcount", "none", 1.0), ("teravalidate", "none", 1.7), ("shuffle", "none", 1.7))


def simulated_s(plan: Plan, levels: Mapping[str, str], workload: str, changes: Mapping[str, str]) -> float:
    """Return the median time of three simulations."""
    changed = changed_plan(plan, levels, workload, tuple(changes.items()))
    run = only_run(changed)
    size = size_of(run, changed)
    scenario = scenario_of(
        SimulationRequest(changed.cluster, run.configuration, run.workload.name, size, shipped_profile())
    )
    return median(outcome.duration_s for outcome in simulate([scenario.with_seed(seed, "x") for seed in (1, 2, 3)]))


def kendall(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Kendall's tau-b of two rankings."""

    def sign(value: float) -> int:
        return (value > 0) - (value < 0)

    pairs = [
        (sign(first[i] - first[j]), sign(second[i] - second[j]))
        for i, j in itertools.combinations(range(len(first)), 2)
    ]
    untied_counts = [sum(pair[side] != 0 for pair in pairs) for side in (0, 1)]
    return float(sum(a * b for a, b in pairs) / math.sqrt(untied_counts[0] * untied_counts[1]))


def sandisk() -> Iterator[str]:
    """Yield the four rows, with the fixed costs of the two on SSDs."""
    plan = load_plan(EXAMPLES / "sandisk-2014" / "plan.yaml")
    speed_change = {"datanode.cpu.speed": f"{SPEED:g}"}
    fixed_costs_s = [time_s - SANDISK_MB / rate for _, layout, time_s, rate in SANDISK if layout == "All-SSD"]
    fixed_s = fmean(fixed_costs_s)
    fixed_costs_text = " and ".join(f"{seconds:.0f}" for seconds in fixed_costs_s)
    yield f"SanDisk 2014; fixed costs of {fixed_s:.0f} s a run, from the two rows on SSDs ({fixed_costs_text} s)"
    for workload, layout, printed_s, rate in SANDISK:
        time_s = simulated_s(plan, {"layout": layout}, workload, speed_change)
        total_s = time_s + fixed_s
        kind = "fixed costs fitted" if layout == "All-SSD" else "predicted"
        row_text = (
            f"{workload} {layout}: printed {printed_s:.0f} s ({SANDISK_MB / rate:.0f} s by its aggregated throughput)"
        )
        error = total_s / printed_s - 1
        yield f"  {row_text}, simulated {time_s:.0f} s, with fixed costs {total_s:.0f} s ({error:+.0%}), {kind}"


def fitted_speed(plan: Plan) -> float:
    """Return the speed of a core at which the fitted row has the printed time, by bisection."""
    layout, network, printed_s = FITTED
    low, high = 0.25, 4.0
    for _ in range(SPEED_STEPS):
        speed = math.sqrt(low * high)
        time_s = _bsc_s(plan, layout, network, {**MIDDLE, "worker.cpu.speed": f"{speed:.4f}"})
        low, high = (speed, high) if time_s > printed_s else (low, speed)
    return math.sqrt(low * high)


def _bsc_s(plan: Plan, layout: str, network: str, changes: Mapping[str, str]) -> float:
    levels = {"layout": layout, "network": network, "containers": "12"}
    return simulated_s(plan, levels, "terasort", changes)


def bsc() -> Iterator[str]:
    """Yield the eight rows as ranges, and how well their middles rank them."""
    plan = load_plan(EXAMPLES / "bsc-2015" / "plan.yaml")
    speed_change = {"worker.cpu.speed": f"{fitted_speed(plan):.3f}"}
    names = list(UNKNOWN)
    middles, within_count = [], 0
    fitted_text = f"a core's speed of {speed_change['worker.cpu.speed']} from {FITTED[0]} {FITTED[1]}"
    yield f"BSC 2015, table 2: {fitted_text}; band over what is not stated"
    for layout, network, printed_s in BSC:
        times = [
            _bsc_s(plan, layout, network, {**speed_change, **dict(zip(names, values, strict=True))})
            for values in itertools.product(*UNKNOWN.values())
        ]
        middles.append(_bsc_s(plan, layout, network, {**speed_change, **MIDDLE}))
        is_within = min(times) <= printed_s <= max(times)
        within_count += is_within
        kind = ", fitted" if (layout, network) == FITTED[:2] else ""
        yield (
            f"  {layout} {network}: printed {printed_s:.0f} s, band {min(times):.0f} to {max(times):.0f} s, "
            f"middle {middles[-1]:.0f} s ({middles[-1] / printed_s - 1:+.0%}){kind}{'' if is_within else ': outside'}"
        )
    tau = kendall(middles, [printed_s for _, _, printed_s in BSC])
    yield f"  {within_count} of {len(BSC)} printed times are within their range; Kendall's tau of the middle {tau:.2f}"


def lisa() -> Iterator[str]:
    """Yield the ratios of the text, at each possible speed of a core."""
    plan = load_plan(EXAMPLES / "lisa14" / "plan.yaml")
    large_plan = load_plan(EXAMPLES / "lisa14" / "plan-10x.yaml")

    def ratios_text(
        workload: str, codec: str | None, layouts: tuple[str, str] = ("HDD-11", "SSD"), ratio_plan: Plan = plan
    ) -> str:
        ratios = []
        for speed in SPEEDS:
            levels = [{"layout": layout, **({"compression": codec} if codec else {})} for layout in layouts]
            times = [simulated_s(ratio_plan, level, workload, {"worker.cpu.speed": f"{speed:g}"}) for level in levels]
            ratios.append(f"{times[0] / times[1]:.2f}")
        return ", ".join(ratios)

    speeds = ", ".join(f"{speed:g}" for speed in SPEEDS)
    yield f"LISA'14: eleven HDDs' time over one SSD's, simulated with a core's speed of {speeds}; nothing is fitted"
    for workload, codec, printed_ratio in LISA:
        simulated_ratios = ratios_text(workload, codec)
        yield f"  {workload}, compression {codec}: printed {printed_ratio:.1f}, simulated {simulated_ratios}"
    hybrids = ratios_text("terasort", "none", ("Hybrid", "Hybrid-split"))
    yield f"  terasort: default hybrid over split hybrid, printed above 1, simulated {hybrids}"
    for codec in ("none", "snappy"):
        yield f"  terasort, 33 GB a node, compression {codec}: simulated {ratios_text('terasort', codec)}"
    large_ratios = ratios_text("terasort", None, ratio_plan=large_plan)
    yield f"  terasort, 330 GB a node, compression snappy: printed 1.2, simulated {large_ratios}"


def main() -> None:
    """Print the comparisons with the three papers."""
    for line in itertools.chain(sandisk(), bsc(), lisa()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
