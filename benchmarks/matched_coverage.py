"""Measure the coverage of 95 % intervals over matched groups, over deployments, and with optional stopping.

Each of three questions is answered by drawing experiments with a known truth:

- groups: a speedup over n matched groups whose log ratios are normal, skewed, or normal with one outlier in twenty
  (as in ALOJA's tables). Student's t, percentile and BCa bootstrap by group.
- deployments: two levels measured in several deployments with repetitions, with an effect of each deployment. Student's
  t over the deployments' log ratios, the hierarchical bootstrap, and all runs taken as independent.
- until: runs of one configuration are repeated until the interval's half-width is 5 %, starting from 2, 3 or 5 runs.

Run it with ``python benchmarks/matched_coverage.py``; it prints Markdown. BCa: B. Efron, J. Am. Stat. Assoc. 82 (1987).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import t as student

from assay.analysis.comparison.matched import over_deployments
from assay.analysis.statistics.intervals import geometric_mean

Array = NDArray[np.float64]
ENDS = np.array([0.025, 0.975])


@dataclass(frozen=True, slots=True)
class Shares:
    """Share of experiments whose interval holds the truth, by method."""

    by_method: dict[str, float]


def _effects(rng: np.random.Generator, kind: str, shape: tuple[int, int]) -> Array:
    if kind == "normal":
        return rng.normal(0.0, 0.2, shape)
    if kind == "skewed":
        return rng.exponential(0.2, shape) - 0.2
    is_outlier = rng.random(shape) < 0.05
    return np.where(is_outlier, rng.normal(1.0, 0.5, shape), rng.normal(-0.05 / 0.95, 0.1, shape))


def _bootstrap(rng: np.random.Generator, values: Array, resamples: int) -> tuple[Array, Array]:
    """Return the ends of the percentile and of the BCa interval of a mean."""
    n = len(values)
    draws = values[rng.integers(0, n, (resamples, n))].mean(axis=1)
    share_below = np.clip((draws < values.mean()).mean() + (draws == values.mean()).mean() / 2, 1e-6, 1 - 1e-6)
    bias = ndtri(share_below)
    deviations = values - values.mean()
    acceleration = (deviations**3).sum() / (6 * max((deviations**2).sum(), 1e-300) ** 1.5)
    z = bias + ndtri(ENDS)
    shares = ndtr(bias + z / (1 - acceleration * z))
    return np.quantile(draws, ENDS), np.quantile(draws, shares)


def over_groups(n: int, *, kind: str, experiments: int, resamples: int, seed: int) -> Shares:
    """Return how often intervals over ``n`` matched groups hold the true mean log ratio, which is 0."""
    rng = np.random.default_rng(seed)
    log_ratios = _effects(rng, kind, (experiments, n))
    half_width = student.ppf(0.975, n - 1) * log_ratios.std(axis=1, ddof=1) / np.sqrt(n)
    holds_truth = {"Student's t": np.abs(log_ratios.mean(axis=1)) <= half_width}
    ends = np.array([_bootstrap(rng, values, resamples) for values in log_ratios])
    for column, name in enumerate(("percentile", "BCa")):
        holds_truth[name] = (ends[:, column, 0] <= 0) & (ends[:, column, 1] >= 0)
    return Shares({name: float(holds.mean()) for name, holds in holds_truth.items()})


def _two_stage(rng: np.random.Generator, logs: Array, resamples: int) -> tuple[float, float]:
    """Return the hierarchical bootstrap's interval of a log ratio: deployments are drawn, then runs within them."""
    _, deployments, runs = logs.shape
    means = []
    for times in logs:
        drawn_deployments = rng.integers(0, deployments, (resamples, deployments, 1))
        means.append(times[drawn_deployments, rng.integers(0, runs, (resamples, deployments, runs))].mean(axis=(1, 2)))
    low, high = np.quantile(means[0] - means[1], ENDS)
    return float(low), float(high)


def repeated_deployments(deployments: int, *, runs: int, experiments: int, resamples: int, seed: int) -> Shares:
    """Return how often intervals over deployments (own effect 10 %, runs 5 %) hold the true ratio, which is 1."""
    rng = np.random.default_rng(seed)
    names = ["t over deployments", "hierarchical bootstrap", "all runs as independent"]
    holds_truth = np.zeros((experiments, 3), dtype=bool)
    for index in range(experiments):
        effects = rng.normal(0, 0.1, (2, deployments, 1))
        logs = effects + rng.normal(0, 0.05, (2, deployments, runs))
        ratio = over_deployments(logs[0].mean(axis=1) - logs[1].mean(axis=1), np.arange(deployments)).ratio
        low, high = _two_stage(rng, logs, resamples)
        error = np.sqrt((logs.var(axis=(1, 2), ddof=1) / (deployments * runs)).sum())
        half_width = student.ppf(0.975, 2 * deployments * runs - 2) * error
        holds_truth[index] = (
            (ratio.low or 0) <= 1 <= (ratio.high or 0),
            low <= 0 <= high,
            abs(logs[0].mean() - logs[1].mean()) <= half_width,
        )
    return Shares(dict(zip(names, holds_truth.mean(axis=0).tolist(), strict=True)))


def repeat_until(
    first_runs: int, *, half_width: float, at_most: int, sigma: float, experiments: int, seed: int
) -> tuple[float, float]:
    """Return how often the last interval holds the truth, and the mean number of runs, when stopping once precise."""
    rng = np.random.default_rng(seed)
    held_count, run_count = 0, 0
    for _ in range(experiments):
        times = np.exp(rng.normal(0, sigma, at_most)).tolist()
        for n in range(first_runs, at_most + 1):
            mean = geometric_mean(times[:n])
            if (mean.high or np.inf) / mean.value - 1 <= half_width:
                break
        held_count += (mean.low or 0) <= 1 <= (mean.high or 0)
        run_count += n
    return held_count / experiments, run_count / experiments


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--experiments", type=int, default=2000)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=20_141_105)
    options = parser.parse_args()
    common = {"experiments": options.experiments, "seed": options.seed}
    print(f"{options.experiments} experiments, {options.resamples} resamples, seed {options.seed}\n")
    print("| log ratios | matched groups | Student's t | percentile | BCa |\n|---|---|---|---|---|")
    for kind in ("normal", "skewed", "one in twenty an outlier"):
        for n in (3, 5, 10, 20, 50, 200):
            shares = over_groups(n, kind=kind, resamples=options.resamples, **common).by_method
            print(f"| {kind} | {n} | " + " | ".join(f"{share:.1%}" for share in shares.values()) + " |")
    print("\n| deployments | runs in each | t over deployments | hierarchical bootstrap | all runs as independent |")
    print("|---|---|---|---|---|")
    for deployments in (3, 5, 10, 20):
        shares = repeated_deployments(deployments, runs=3, resamples=options.resamples, **common).by_method
        print(f"| {deployments} | 3 | " + " | ".join(f"{share:.1%}" for share in shares.values()) + " |")
    print("\n| scatter of a run | first look after | interval holds the truth | runs made, mean |\n|---|---|---|---|")
    for sigma in (0.05, 0.1):
        for first in (2, 3, 5):
            share, mean_runs = repeat_until(first, half_width=0.05, at_most=40, sigma=sigma, **common)
            print(f"| {sigma:.0%} | {first} | {share:.1%} | {mean_runs:.1f} |")


if __name__ == "__main__":
    main()
