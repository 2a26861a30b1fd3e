"""Measure how often a comparison's verdict is wrong, and how often it finds a real difference.

Draws campaigns of two levels with a known ratio in a plan's order (a block per repetition: A B, B A, …) with the noise
of real campaigns, and judges them as ``assay decide`` does: by pairs within blocks from five runs per side on, by
Welch's t-test on logarithms for fewer runs, and without a verdict for fewer than three.

Noise, as a share of a run's time: *log-normal* scatter of 5 %; *unequal*: 3 % and 10 %; *skewed*: an exponential delay
of 7 % on average; *outliers*: one run of twenty takes 1.5 to 3 times as long; *drift*: the machine becomes 15 % slower
from the first run to the last; *first run*: the campaign's first run takes 25 % longer; *alike*: consecutive runs
correlate by 0.6. The last three add a scatter of 5 %.

Run it with ``python benchmarks/verdict_errors.py``; it prints a Markdown table. Each cell has ``--campaigns``
campaigns; with 2,000, the 95 % interval of a rate of 5 % is ±1 %.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from assay.analysis.comparison.matched import group_ratios, log_mean, over_blocks
from assay.analysis.statistics import Verdict, verdict_of
from assay.analysis.statistics.autocorrelation import error_factor
from assay.analysis.statistics.intervals import means_by

Array = NDArray[np.float64]
RATIOS = (1.0, 1.1, 1.3)
RUNS = (2, 3, 5, 10, 20)
SCATTER = 0.05
NOISES = ("log-normal", "unequal", "skewed", "outliers", "drift", "first run", "alike")


def order_of(n: int) -> NDArray[np.bool_]:
    """Return for each run, in the order of execution, whether it belongs to the candidate: A B, B A, A B, …"""
    return np.array([bool(block % 2) ^ bool(turn) for block in range(n) for turn in range(2)])


def noise_of(kind: str, rng: np.random.Generator, is_candidate: NDArray[np.bool_]) -> Array:
    """Return the noise that is added to the log time of each run."""
    runs = len(is_candidate)
    scatter: Array = rng.normal(0, SCATTER, runs)
    match kind:
        case "unequal":
            return rng.normal(0, 1, runs) * np.where(is_candidate, 0.10, 0.03)
        case "skewed":
            return np.log1p(rng.exponential(0.07, runs))
        case "outliers":
            return scatter + np.where(rng.random(runs) < 0.05, np.log(rng.uniform(1.5, 3.0, runs)), 0.0)
        case "drift":
            return scatter + np.log(np.linspace(1.0, 1.15, runs))
        case "first run":
            return scatter + np.where(np.arange(runs) == 0, np.log(1.25), 0.0)
        case "alike":
            for number in range(1, runs):
                scatter[number] = 0.6 * scatter[number - 1] + 0.8 * scatter[number]
    return scatter


def verdicts(kind: str, n: int, ratio: float, campaigns: int, rng: np.random.Generator) -> tuple[Counter[str], float]:
    """Return how often each conclusion was drawn, and the share of intervals that hold the true ratio."""
    is_candidate, block = order_of(n), np.repeat(np.arange(n), 2)
    one_group = np.zeros(n, dtype=np.int64)
    counts: Counter[str] = Counter()
    covering_intervals = 0
    for _ in range(campaigns):
        logs = noise_of(kind, rng, is_candidate) - np.where(is_candidate, np.log(ratio), 0.0)
        a, b = logs[~is_candidate], logs[is_candidate]
        result = over_blocks(means_by(a, block[~is_candidate], n), means_by(b, block[is_candidate], n))
        if result is not None:
            result = replace(result, error=result.error * error_factor(logs, is_candidate, block))
        result = result or log_mean(group_ratios(means_by(a, one_group, 1), means_by(b, one_group, 1)))
        assert result is not None
        estimate = result.ratio
        counts[verdict_of(estimate, result.p, 1, (n, n), margin=0.0)] += 1
        covering_intervals += (
            estimate.low is not None and estimate.high is not None and estimate.low <= ratio <= estimate.high
        )
    return counts, covering_intervals / campaigns


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=2000)
    campaigns = parser.parse_args().campaigns
    rng = np.random.default_rng(11)
    print(
        "| noise | runs a side | equal, said to differ | 1.1, found | 1.3, found | wrong way round | interval holds |"
    )
    print("|---|---|---|---|---|---|---|")
    for kind in NOISES:
        for n in RUNS:
            rates, reversed_verdicts, coverage = [], 0, 0.0
            for ratio in RATIOS:
                counts, covered_share = verdicts(kind, n, ratio, campaigns, rng)
                differences = counts[Verdict.FASTER] + (counts[Verdict.SLOWER] if ratio == 1.0 else 0)
                reversed_verdicts += counts[Verdict.SLOWER] if ratio > 1 else 0
                rates.append(differences / campaigns)
                coverage += covered_share / len(RATIOS)
            cells = [f"{rate:.1%}" for rate in (*rates, reversed_verdicts / (2 * campaigns), coverage)]
            print(f"| {kind} | {n} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
