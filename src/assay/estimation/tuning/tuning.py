"""Choose the next configuration of a tuning by Bayesian optimisation with noisy times.

In: candidates as numbers (:meth:`~assay.estimation.tuning.space.Space.coordinates`), the runs so far, and an estimate
of each candidate's time, if available. Out: a candidate, and the expected time of each. Logarithms of times are a
Gaussian process of scikit-learn (Matérn 5/2 with a length for each dimension and learned noise). An earlier estimate is
its mean, scaled to the measured times, so that the process learns only the difference. The next run has the largest
augmented expected improvement (D. Huang et al., J. Global Optim. 34 (2006)). It accounts for noise, so uncertain
candidates are repeated. A run that failed, or was stopped because it took too long, counts as the slowest run.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.statistics import Floats, Mask

CONFIRMATION_SHARE = 0.2
"""Share of the budget, at its end, that repeats the fastest candidates instead of trying new candidates."""
_NOISE = (1e-4, 0.25)
"""Minimum and maximum variance of repetitions' log times: 1 % and 50 % squared."""
_LENGTHS = (0.15, 8.0)
"""Minimum and maximum length scale; coordinates lie between 0 and 1."""


@dataclass(frozen=True, slots=True)
class CandidateRun:
    """One run of a candidate."""

    candidate: int
    log_s: float | None
    """Logarithm of its time; None when it failed or was stopped."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """Posterior log time of each candidate."""

    log_s: Floats
    error: Floats
    """Standard deviation of the expected log time."""
    noise: float
    """Standard deviation of one run's log time around it."""


def first_candidates(possible: Mask, count: int, estimate: Floats | None, seed: int) -> list[int]:
    """Return the first candidates after the defaults: the fastest by an estimate, then random ones.

    Candidates that are farthest apart are not used: these are corners of the space, which are often slow.
    """
    random_order = np.random.default_rng(seed).permutation(np.flatnonzero(possible)).tolist()
    fastest = [] if estimate is None else np.argsort(np.where(possible, estimate, np.inf), kind="stable")[:2].tolist()
    return [candidate for candidate in dict.fromkeys([*fastest, *random_order]) if candidate][:count]


def posterior(
    coordinates: Floats, candidate_runs: Sequence[CandidateRun], estimate: Floats | None, seed: int
) -> Posterior:
    """Return the posterior log time of each candidate. At least two runs must have succeeded."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
    from threadpoolctl import threadpool_limits

    candidates = np.array([run.candidate for run in candidate_runs])
    slowest = max(run.log_s for run in candidate_runs if run.log_s is not None)
    logs = np.array([slowest if run.log_s is None else run.log_s for run in candidate_runs])
    mean = _mean(logs, candidates, estimate, len(coordinates))
    residuals = logs - mean[candidates]
    scale = max(float(residuals.std()), 0.02)
    kernel = ConstantKernel(1.0, (0.1, 20.0)) * Matern(
        np.full(coordinates.shape[1], 1.0), _LENGTHS, nu=2.5
    ) + WhiteKernel(min(max(0.03**2 / scale**2, _NOISE[0]), 1.0), (_NOISE[0] / scale**2, _NOISE[1] / scale**2))
    process = GaussianProcessRegressor(kernel, alpha=1e-8, random_state=seed)
    with warnings.catch_warnings(), threadpool_limits(1):  # threads slow down matrices this small
        warnings.simplefilter("ignore", ConvergenceWarning)  # a length at its bound is no failure
        process.fit(coordinates[candidates], residuals / scale)
        residual_mean, residual_error = process.predict(coordinates, return_std=True)
    noise = float(process.kernel_.k2.noise_level)
    error = np.sqrt(np.maximum(residual_error**2 - noise, 1e-12)) * scale
    return Posterior(mean + residual_mean * scale, error, math.sqrt(noise) * scale)


def _mean(logs: Floats, candidates: np.ndarray, estimate: Floats | None, size: int) -> Floats:
    """Return the mean of the process: the mean log time, or the estimate scaled to the measured times."""
    if estimate is None:
        return np.full(size, float(logs.mean()))
    centred, centred_logs = estimate - estimate[candidates].mean(), logs - logs.mean()
    estimates_of_runs = centred[candidates]
    weight = 0.1  # pulls the slope towards 1 while there are few runs
    slope = (
        float((estimates_of_runs @ centred_logs + weight) / (estimates_of_runs @ estimates_of_runs + weight))
        if len(candidates)
        else 1.0
    )
    scaled: Floats = logs.mean() + min(max(slope, 0.0), 1.5) * centred
    return scaled


def next_candidate(
    posterior: Posterior, candidate_runs: Sequence[CandidateRun], possible: Mask, *, confirming: bool
) -> int:
    """Return the candidate to run next. With ``confirming``, it has the fewest runs of the candidates that can't be
    distinguished from the fastest."""
    runs = _valid_run_counts(candidate_runs, len(possible))
    has_valid_run = runs > 0
    if confirming and has_valid_run.any():
        best = int(np.argmin(np.where(has_valid_run, posterior.log_s, np.inf)))
        margin = np.sqrt(posterior.error**2 + posterior.noise**2 / np.maximum(runs, 1))
        is_rival = has_valid_run & possible & (posterior.log_s - margin <= posterior.log_s[best] + margin[best])
        order = np.lexsort((posterior.log_s, runs))
        return next(int(candidate) for candidate in order if is_rival[candidate])
    upper_times = np.where(has_valid_run, posterior.log_s + posterior.error, np.inf)
    fastest_log_s = (
        posterior.log_s[int(np.argmin(upper_times))] if has_valid_run.any() else float(posterior.log_s.min())
    )
    gain = _improvement(fastest_log_s - posterior.log_s, posterior.error)
    gain *= 1.0 - posterior.noise / np.sqrt(posterior.error**2 + posterior.noise**2)
    return int(np.argmax(np.where(possible, gain, -1.0)))


def best_candidate(posterior: Posterior, candidate_runs: Sequence[CandidateRun]) -> int:
    """Return the candidate with the least expected time, among those with valid runs and no failed run."""
    has_valid_run = _valid_run_counts(candidate_runs, len(posterior.log_s)) > 0
    return int(np.argmin(np.where(has_valid_run, posterior.log_s, np.inf)))


def _valid_run_counts(candidate_runs: Sequence[CandidateRun], size: int) -> np.ndarray:
    """Return the number of valid runs of each candidate; 0 for a candidate with a failed run."""
    counts = np.zeros(size, dtype=np.int64)
    for run in candidate_runs:
        counts[run.candidate] += run.log_s is not None
    for run in candidate_runs:
        if run.log_s is None:
            counts[run.candidate] = 0
    return counts


def _improvement(gain: Floats, error: Floats) -> Floats:
    """Return the mean of the positive part of a normal variable with mean ``gain`` and standard deviation ``error``."""
    from scipy.special import ndtr

    z = gain / error
    improvement: Floats = gain * ndtr(z) + error * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return improvement
