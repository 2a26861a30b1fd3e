"""Model the simulator's error by limiting resource, and correct a simulated run by a measured run.

In: the shares of a simulated run's time by limiting resource. Out: the standard deviation of its log error; and, from
the measured time of a run, the correction of another run. Pure.

The model: the logarithm of measured over simulated time is a sum over the resources, plus a remainder that differs from
run to run. Each resource adds its error times the share of the time in which it was the limit. The errors are
independent and normal, with the standard deviations :data:`SIGMAS`. A measured run is therefore evidence about the
resources that limited *it*: if hard disks were simulated too fast, runs limited by hard disks are corrected, and runs
limited by the CPU hardly change (the conditional mean and variance of a normal distribution). The uncertainty of the
profile counts in the same way, by the covariance of the two runs over the draws.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

SIGMAS: Mapping[str, float] = {"cpu": 0.08, "hdd": 0.25, "flash": 0.12, "network": 0.12, "fixed": 0.10}
"""Standard deviation of the log error in the time of each resource (source: docs/measurements/simulator.md)."""
OTHER_SIGMA = 0.2
"""Standard deviation of the log error in the time of a resource that :data:`SIGMAS` lacks."""
REMAINDER_SIGMA = 0.05
"""Standard deviation of the remainder: the log error that no resource explains, for example by placement of tasks."""
Z90 = 1.645
"""Half the width of a 90 % interval, in standard deviations."""


@dataclass(frozen=True, slots=True)
class DrawCovariance:
    """Variances and covariance of two runs' log times over the draws."""

    variance_before: float = 0.0
    variance_after: float = 0.0
    covariance: float = 0.0


@dataclass(frozen=True, slots=True)
class Correction:
    """The correction of a simulated run by a measured run: a factor, and the remaining standard deviation."""

    factor: float
    sigma: float


def time_shares(
    limits: Mapping[str, float], fixed_s: float, duration_s: float, disks: Mapping[str, str]
) -> dict[str, float]:
    """Return the shares of a run's time by resource, which add up to 1.

    ``limits``: the simulator's limiting resource to its share of the tasks' time. ``fixed_s``: time outside of all
    tasks. ``disks``: purpose (``dfs``, ``intermediate``) to ``hdd`` or ``flash``.
    """
    fixed_share = min(1.0, max(0.0, fixed_s / duration_s)) if duration_s > 0 else 0.0
    total = sum(limits.values()) or 1.0
    shares = {"fixed": fixed_share}
    for name, share in limits.items():
        kind, _, purpose = name.partition(":")
        resource = disks.get(purpose, "hdd") if kind == "disk" else kind
        shares[resource] = shares.get(resource, 0.0) + share / total * (1 - fixed_share)
    return shares


def sigma_of(shares: Mapping[str, float]) -> float:
    """Return the standard deviation of a run's log error without a measured run."""
    return math.sqrt(sum((share * _sigma(name)) ** 2 for name, share in shares.items()) + REMAINDER_SIGMA**2)


def similarity(
    before: Mapping[str, float], after: Mapping[str, float], before_s: float = 1.0, after_s: float = 1.0
) -> float:
    """Return how alike two simulated runs are, from 0 to 1: seconds limited by the same resource in both, divided
    by the seconds in at least one of them.

    ``before`` and ``after``: shares of the time by resource; ``before_s`` and ``after_s``: times of the runs in
    seconds. It is the weighted Jaccard index of the seconds by resource, which is a valid correlation (positive
    semidefinite: Ioffe, Improved consistent sampling, weighted minhash and L1 sketching, ICDM 2010).
    """
    seconds = [
        (before_s * before.get(name, 0.0), after_s * after.get(name, 0.0)) for name in before.keys() | after.keys()
    ]
    total = sum(max(pair) for pair in seconds)
    return sum(min(pair) for pair in seconds) / total if total else 0.0


def correction(
    before: Mapping[str, float],
    after: Mapping[str, float],
    log_error: float,
    mean_sigma: float = 0.0,
    drawn: DrawCovariance = DrawCovariance(),
    alike: float | None = None,
) -> Correction:
    """Return the correction of a run with shares ``after`` by a measured run with shares ``before``.

    ``log_error``: the logarithm of measured over simulated time of the measured run. ``mean_sigma``: the standard error
    of the measured mean. ``drawn``: the variances and the covariance of both runs over the draws. ``alike``: the
    similarity of the runs; None takes it from the shares. For two equal runs the correction is the whole error, and
    the remaining spread is that of the measured mean.
    """
    alike = similarity(before, after) if alike is None else alike
    variance_before = sigma_of(before) ** 2 + drawn.variance_before
    variance_after = sigma_of(after) ** 2 + drawn.variance_after
    common = sum(share * after.get(name, 0.0) * _sigma(name) ** 2 for name, share in before.items())
    common += drawn.covariance + alike * REMAINDER_SIGMA**2
    weight = (common + alike * mean_sigma**2) / (variance_before + mean_sigma**2)
    variance = variance_after - 2 * weight * common + weight**2 * (variance_before + mean_sigma**2)
    return Correction(math.exp(weight * log_error), math.sqrt(max(0.0, variance)))


def _sigma(name: str) -> float:
    return SIGMAS.get(name, OTHER_SIGMA)
