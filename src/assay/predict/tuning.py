"""Which configuration to try next so that the fastest is found in few runs, whose times scatter: Bayesian optimisation.

In: candidates as numbers (:meth:`~assay.planning.tuning_space.Space.coordinates`), what was tried and took how long,
and an estimate of every candidate's time, where there is one. Out: a candidate, and what is expected of each.
Logarithms of times are a Gaussian process (Matérn 5/2 with a length for each dimension, and noise that is learned with
it); an estimate made beforehand is its mean, scaled to what was measured, so that only what it missed is learned. The
next run is the one with the largest augmented expected improvement (D. Huang et al., J. Global Optim. 34 (2006)), which
counts that one noisy run does not settle a time, and so repeats what is in doubt. A run that failed, or was stopped
because it was hopeless, counts as the slowest one.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.statistics import Floats, Mask

SETTLING_SHARE = 0.2
"""Of the budget, the last runs: they repeat what may be the fastest, rather than try what is new."""
_NOISE = (1e-4, 0.25)
"""Least and largest variance of repetitions' log times: 1 % and 50 %."""
_LENGTHS = (0.15, 8.0)


@dataclass(frozen=True, slots=True)
class Tried:
    """One run of a candidate."""

    candidate: int
    log_s: float | None
    """Logarithm of its time; None when it failed or was stopped."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the process says of each candidate."""

    log_s: Floats
    error: Floats
    """Standard deviation of what is expected."""
    noise: float
    """Standard deviation of one run's log time about it."""


def first_ones(possible: Mask, count: int, estimate: Floats | None, seed: int) -> list[int]:
    """Return candidates to begin with, beside the defaults: what an estimate says is fastest, then drawn at random.

    Drawn, and not those farthest apart: these are corners, where every name has its least or its largest level, and
    which are slow more often than not.
    """
    drawn = np.random.default_rng(seed).permutation(np.flatnonzero(possible)).tolist()
    best = [] if estimate is None else np.argsort(np.where(possible, estimate, np.inf), kind="stable")[:2].tolist()
    return [one for one in dict.fromkeys([*best, *drawn]) if one][:count]


def expected(coordinates: Floats, tried: Sequence[Tried], estimate: Floats | None, seed: int) -> Expected:
    """Return what is expected of each candidate. At least two runs must have succeeded."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
    from threadpoolctl import threadpool_limits

    at = np.array([one.candidate for one in tried])
    known = [one.log_s for one in tried if one.log_s is not None]
    worst = max(known)
    logs = np.array([worst if one.log_s is None else one.log_s for one in tried])
    mean = _mean(logs, at, estimate, len(coordinates))
    rest = logs - mean[at]
    scale = max(float(rest.std()), 0.02)
    kernel = ConstantKernel(1.0, (0.1, 20.0)) * Matern(
        np.full(coordinates.shape[1], 1.0), _LENGTHS, nu=2.5
    ) + WhiteKernel(min(max(0.03**2 / scale**2, _NOISE[0]), 1.0), (_NOISE[0] / scale**2, _NOISE[1] / scale**2))
    process = GaussianProcessRegressor(kernel, alpha=1e-8, random_state=seed)
    with warnings.catch_warnings(), threadpool_limits(1):  # such small matrices are slower on many threads
        warnings.simplefilter("ignore", ConvergenceWarning)  # a bound that was reached: bounds are there for that
        process.fit(coordinates[at], rest / scale)
        said, spread = process.predict(coordinates, return_std=True)
    noise = float(process.kernel_.k2.noise_level)
    error = np.sqrt(np.maximum(spread**2 - noise, 1e-12)) * scale
    return Expected(mean + said * scale, error, math.sqrt(noise) * scale)


def _mean(logs: Floats, at: np.ndarray, estimate: Floats | None, size: int) -> Floats:
    """Return the mean of the process: the middle, or what was estimated, as far as that goes with what was measured."""
    if estimate is None:
        return np.full(size, float(logs.mean()))
    apart, off = estimate - estimate[at].mean(), logs - logs.mean()
    own = apart[at]
    weight = 0.1  # as if one run in which the estimate is right had been seen already
    slope = float((own @ off + weight) / (own @ own + weight)) if len(at) else 1.0
    found: Floats = logs.mean() + min(max(slope, 0.0), 1.5) * apart
    return found


def next_one(found: Expected, tried: Sequence[Tried], possible: Mask, *, settling: bool) -> int:
    """Return the candidate to run next; ``settling``: one that was tried and may be the fastest, the least known."""
    runs = _runs(tried, len(possible))
    good = runs > 0
    if settling and good.any():
        best = int(np.argmin(np.where(good, found.log_s, np.inf)))
        reach = np.sqrt(found.error**2 + found.noise**2 / np.maximum(runs, 1))
        rivals = good & possible & (found.log_s - reach <= found.log_s[best] + reach[best])
        order = np.lexsort((found.log_s, runs))
        return next(int(one) for one in order if rivals[one])
    cautious = np.where(good, found.log_s + found.error, np.inf)
    least = found.log_s[int(np.argmin(cautious))] if good.any() else float(found.log_s.min())
    gain = _improvement(least - found.log_s, found.error)
    gain *= 1.0 - found.noise / np.sqrt(found.error**2 + found.noise**2)
    return int(np.argmax(np.where(possible, gain, -1.0)))


def best_one(found: Expected, tried: Sequence[Tried]) -> int:
    """Return the candidate that is expected to be the fastest of those that were run."""
    good = _runs(tried, len(found.log_s)) > 0
    return int(np.argmin(np.where(good, found.log_s, np.inf)))


def _runs(tried: Sequence[Tried], size: int) -> np.ndarray:
    """Return how many runs of each candidate succeeded; none of one that ever failed."""
    found = np.zeros(size, dtype=np.int64)
    for one in tried:
        found[one.candidate] += one.log_s is not None
    for one in tried:
        if one.log_s is None:
            found[one.candidate] = 0
    return found


def _improvement(gain: Floats, error: Floats) -> Floats:
    from scipy.special import ndtr

    z = gain / error
    found: Floats = gain * ndtr(z) + error * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return found
