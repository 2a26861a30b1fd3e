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
REST_SIGMA = 0.05
"""Standard deviation of a run's log error that no resource explains, such as placement."""
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
    outside = min(1.0, max(0.0, fixed_s / duration_s)) if duration_s > 0 else 0.0
    whole = sum(limits.values()) or 1.0
    shares = {"fixed": outside}
    for name, share in limits.items():
        kind, _, purpose = name.partition(":")
        resource = disks.get(purpose, "hdd") if kind == "disk" else kind
        shares[resource] = shares.get(resource, 0.0) + share / whole * (1 - outside)
    return shares


def sigma_of(shares: Mapping[str, float]) -> float:
    """Return the standard deviation of a run's log error without a measured run."""
    return math.sqrt(sum((share * _sigma(name)) ** 2 for name, share in shares.items()) + REST_SIGMA**2)


def correction(
    before: Mapping[str, float],
    after: Mapping[str, float],
    log_miss: float,
    mean_sigma: float = 0.0,
    drawn: DrawCovariance = DrawCovariance(),
) -> Correction:
    """Return the correction of a run with shares ``after`` by a measured run with shares ``before``.

    ``log_miss``: the logarithm of measured over simulated time of the measured run. ``mean_sigma``: the standard error
    of the measured mean. ``drawn``: the variances and the covariance of both runs over the draws. A measured run says
    nothing about the remainder of another run, so the remaining spread is at least :data:`REST_SIGMA`.
    """
    variance = sum((share * _sigma(name)) ** 2 for name, share in before.items()) + REST_SIGMA**2 + mean_sigma**2
    variance += drawn.variance_before
    common = sum(share * after.get(name, 0.0) * _sigma(name) ** 2 for name, share in before.items()) + drawn.covariance
    variance_after = sigma_of(after) ** 2 + drawn.variance_after
    return Correction(
        math.exp(common / variance * log_miss), math.sqrt(max(REST_SIGMA**2, variance_after - common**2 / variance))
    )


def _sigma(name: str) -> float:
    return SIGMAS.get(name, OTHER_SIGMA)
