"""Compute the cost of a run and the mean time of configurations: time × rate.

In: run times in seconds with the configuration of each, and hourly costs of configurations. Out: each configuration's
geometric mean time, and cost per run. Times of a million runs are summed in a few array operations; costs of the few
configurations are exact (decimal). The interval of a mean is Student's t on logarithms (docs/adr/0003). Few runs use
the pooled spread of similar configurations. A single run has no interval if no similar configuration is repeated.

Source of the ranking: Barcelona Supercomputing Center, "Evaluating the Impact of SSDs and InfiniBand in Hadoop Cluster
Performance and Costs" (2015), table 2, and ALOJA's cost of an execution: seconds / 3600 × money per hour.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from assay.analysis.statistics import LEVEL, Codes, Floats, Ints, Mask, rounding_of

HOUR_S = 3600
SPREAD_RUNS_MIN = 5
"""Minimum number of runs for a separate spread. Fewer runs use the pooled spread of their kind, for
example of their cluster (docs/adr/0003)."""
_CENT = Decimal("0.01")
_DIGITS = Decimal("1e-15")


@dataclass(frozen=True, slots=True)
class Times:
    """Run times by configuration, numbered from 0; NaN if a configuration has no run."""

    n: Ints
    mean_s: Floats
    """Geometric mean."""
    log_deviation: Floats
    """Standard deviation of the logarithm of the run times (n - 1); NaN for a single run."""
    fastest_s: Floats
    rounding: Floats
    """Bound on the rounding error of the logarithm of each mean, independent of the spread."""


@dataclass(frozen=True, slots=True)
class MeanErrors:
    """Standard errors of each configuration's mean log time."""

    error: Floats
    """Standard error; NaN if unknown."""
    degrees: Floats
    borrowed: Mask
    """Whether the error uses the pooled spread of its kind because there are few runs."""


def pooled_spread(times: Times) -> tuple[float, float]:
    """Return the pooled variance of log times around their configurations' means, and its degrees of freedom.

    NaN and 0 if no configuration is repeated.
    """
    is_repeated = times.n > 1
    degrees = float((times.n[is_repeated] - 1).sum())
    squares = float(((times.n[is_repeated] - 1) * times.log_deviation[is_repeated] ** 2).sum())
    return (squares / degrees, degrees) if degrees else (math.nan, 0.0)


def spread_by(times: Times, kinds: Ints | Codes, requested_kinds: Ints | Codes) -> tuple[Floats, Floats]:
    """Return :func:`pooled_spread` by kind, or of all configurations for a kind without repetitions.

    ``kinds``: the kind of each configuration, for example its cluster; spreads differ between clusters.
    """
    overall_spread, by_kind = pooled_spread(times), {}
    for kind in np.unique(requested_kinds).tolist():
        is_kind = kinds == kind
        spread = pooled_spread(replace(times, n=times.n[is_kind], log_deviation=times.log_deviation[is_kind]))
        by_kind[kind] = spread if spread[1] else overall_spread
    pooled_spreads = np.array([by_kind[kind] for kind in requested_kinds.tolist()], dtype=np.float64).reshape(-1, 2)
    return pooled_spreads[:, 0], pooled_spreads[:, 1]


def mean_errors(times: Times, variance: float | Floats, degrees: float | Floats) -> MeanErrors:
    """Return the error of each mean, from the spread of its runs or, for few runs, from the pooled spread of its kind.

    Few runs: fewer than :data:`SPREAD_RUNS_MIN`. A single run is therefore never more certain than two runs.
    """
    degrees_of_runs = times.n - 1.0
    borrowed = (times.n < SPREAD_RUNS_MIN) & (degrees > degrees_of_runs)
    deviation = np.where(borrowed, np.sqrt(variance), times.log_deviation)
    return MeanErrors(
        deviation / np.sqrt(np.maximum(times.n, 1)), np.where(borrowed, degrees, degrees_of_runs), borrowed
    )


def mean_intervals(times: Times, errors: MeanErrors) -> tuple[Floats, Floats]:
    """Return the ends of the 95 % interval of each mean time, Student's t on logarithms; NaN if unknown.

    The interval is never narrower than the rounding error of the times.
    """
    from scipy.special import stdtrit  # imported here because the import takes 0.1 s

    with np.errstate(over="ignore"):
        half_width = np.maximum(stdtrit(np.maximum(errors.degrees, 1), 0.5 + LEVEL / 2) * errors.error, times.rounding)
        return times.mean_s * np.exp(-half_width), times.mean_s * np.exp(half_width)


def times_of(
    durations_s: Floats, codes: Codes | Ints, configurations: int, rounding_max: Floats | None = None
) -> Times:
    """Return the run times of each configuration; ``codes`` has the number of each run's configuration.

    ``rounding_max``: bound on the error of each log time (``analysis/statistics/certainty.py``); by default the
    rounding. Raises ValueError for times that are not positive and finite: exclude these runs first, with their reason.
    """
    if not bool(np.all((durations_s > 0) & (durations_s < np.inf))):
        raise ValueError("a run time must be positive and finite")
    n = np.bincount(codes, minlength=configurations)
    rounding_max = rounding_of(durations_s) if rounding_max is None else rounding_max
    logs = np.log(durations_s)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_log = np.bincount(codes, weights=logs, minlength=configurations) / n
        squares = np.bincount(codes, weights=(logs - mean_log[codes]) ** 2, minlength=configurations)
        deviation = np.where(n > 1, np.sqrt(squares / (n - 1)), np.nan)
        rounding = np.bincount(codes, weights=rounding_max, minlength=configurations) / n
    fastest = np.full(configurations, np.inf)
    np.minimum.at(fastest, codes, durations_s)
    # exp(log(348)) is not exactly 348: the mean of equal times is the time itself.
    mean = np.where(squares == 0, fastest, np.exp(mean_log))
    return Times(n, np.where(n > 0, mean, np.nan), deviation, np.where(n > 0, fastest, np.nan), rounding)


def cost_per_run(rate_per_h: Decimal, duration_s: float) -> Decimal:
    """Return the cost of a run of ``duration_s`` at ``rate_per_h``."""
    if not 0 <= duration_s < float("inf"):
        raise ValueError(f"a run time can't be {duration_s}")
    return (rate_per_h * Decimal(repr(float(duration_s))) / HOUR_S).quantize(_DIGITS)


def ranks(costs: Sequence[Decimal]) -> list[int]:
    """Return the rank of each cost: 1 is the cheapest, and equal costs share a rank."""
    rank_of_cost: dict[Decimal, int] = {}
    for rank, cost in enumerate(sorted(costs), start=1):
        rank_of_cost.setdefault(cost, rank)
    return [rank_of_cost[cost] for cost in costs]
