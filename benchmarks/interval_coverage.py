"""Measure how often 95 % intervals of a speedup contain the true value with few runs.

Draws run times of two configurations with a known speedup, computes the interval with assay's method (Student's t on
logarithms) and with bootstraps (percentile and BCa), and counts how often each contains the truth. Run times are
log-normal, or skewed: an exponential delay added to a fixed time, as stragglers cause.

Run it with ``python benchmarks/interval_coverage.py``; it prints a Markdown table. BCa: B. Efron, "Better Bootstrap
Confidence Intervals", J. Am. Stat. Assoc. 82 (1987).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from assay.analysis.statistics.intervals import geometric_mean, welch_ratio

Array = NDArray[np.float64]
TRUE_RATIO = 2.0
ENDS = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Share of simulated experiments whose interval holds the true ratio, by method."""

    n: int
    noise: str
    welch_t: float
    paired_t: float
    bootstrap_percentile: float
    bootstrap_bca: float


def _noise(rng: np.random.Generator, noise: str, shape: tuple[int, int], sigma: float) -> Array:
    if noise == "log-normal":
        return rng.normal(0.0, sigma, shape)
    factors: Array = 1 + rng.exponential(sigma, shape)
    # The truth is the geometric mean, so the noise's own mean logarithm is taken out (by simulation: no closed form).
    centre = float(np.log(1 + np.random.default_rng(0).exponential(sigma, 2_000_000)).mean())
    return np.log(factors) - centre


def _bca_ends(draws: Array, estimate: float, jackknife: Array) -> tuple[float, float]:
    share_below = (np.count_nonzero(draws < estimate) + np.count_nonzero(draws == estimate) / 2) / len(draws)
    bias = float(ndtri(np.clip(share_below, 1 / len(draws), 1 - 1 / len(draws))))
    deviations = jackknife.mean() - jackknife
    acceleration = float((deviations**3).sum() / (6 * max((deviations**2).sum(), 1e-300) ** 1.5))
    shifted_z = [bias + float(ndtri(end)) for end in ENDS]
    shares = [float(ndtr(bias + z / (1 - acceleration * z))) for z in shifted_z]
    low, high = np.quantile(draws, shares)
    return float(low), float(high)


def _bootstrap(rng: np.random.Generator, baseline: Array, candidate: Array, resamples: int) -> tuple[bool, bool]:
    """Return whether the percentile and the BCa interval of the log ratio hold the truth."""
    n, truth = len(baseline), float(np.log(TRUE_RATIO))
    draws: Array = baseline[rng.integers(0, n, (resamples, n))].mean(axis=1) - candidate[
        rng.integers(0, n, (resamples, n))
    ].mean(axis=1)
    estimate = float(baseline.mean() - candidate.mean())
    percentile = np.quantile(draws, ENDS)
    jackknife = [np.delete(baseline, i).mean() - candidate.mean() for i in range(n)]
    jackknife += [baseline.mean() - np.delete(candidate, i).mean() for i in range(n)]
    low, high = _bca_ends(draws, estimate, np.array(jackknife))
    return bool(percentile[0] <= truth <= percentile[1]), low <= truth <= high


def coverage(n: int, *, noise: str, experiments: int, resamples: int, seed: int, sigma: float = 0.05) -> Coverage:
    """Simulate ``experiments`` comparisons of ``n`` runs a side. ``sigma``: relative scatter of a run time."""
    rng = np.random.default_rng(seed)
    baseline = _noise(rng, noise, (experiments, n), sigma) + np.log(TRUE_RATIO)
    candidate = _noise(rng, noise, (experiments, n), sigma)
    holds_truth = np.zeros((experiments, 4), dtype=bool)
    for index in range(experiments):
        baseline_s, candidate_s = np.exp(baseline[index]).tolist(), np.exp(candidate[index]).tolist()
        ratios = np.exp(baseline[index] - candidate[index]).tolist()
        for column, estimate in enumerate((welch_ratio(baseline_s, candidate_s), geometric_mean(ratios))):
            holds_truth[index, column] = (estimate.low or 0) <= TRUE_RATIO <= (estimate.high or 0)
        holds_truth[index, 2:] = _bootstrap(rng, baseline[index], candidate[index], resamples)
    return Coverage(n, noise, *(float(share) for share in holds_truth.mean(axis=0)))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--experiments", type=int, default=4000)
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=20_141_105)
    options = parser.parse_args()
    print(f"{options.experiments} experiments, {options.resamples} resamples, seed {options.seed}, scatter 5 %\n")
    print("| noise | runs a side | Welch t | paired t | bootstrap, percentile | bootstrap, BCa |")
    print("|---|---|---|---|---|---|")
    for noise in ("log-normal", "skewed"):
        for n in (3, 4, 5, 10, 20):
            row = coverage(
                n, noise=noise, experiments=options.experiments, resamples=options.resamples, seed=options.seed
            )
            shares = (row.welch_t, row.paired_t, row.bootstrap_percentile, row.bootstrap_bca)
            print(f"| {noise} | {n} | " + " | ".join(f"{share:.1%}" for share in shares) + " |")


if __name__ == "__main__":
    main()
