"""Slow a simulated run down where the credits of its machines are used up.

In: the result of a simulation at full rates, with traces, and the buckets of credits of a worker. Out: the result with
the longer time, and when each bucket was empty.

The work of each interval of the trace takes its simulated time while every bucket in use has credits. While a bucket is
empty, the work takes use / baseline times as long, if its use is above the baseline; of several empty buckets, the
slowest counts. A bucket gains baseline - use per second, up to its limit. Within an interval, use per unit of work is
constant, so the time of each change is exact. Use is the mean over all workers: one worker that uses its credits up
early is not seen. Resources that would overlap differently at the baseline are not simulated again.

An unlimited bucket slows nothing down. Its balance may fall below zero by the credits of 24 hours. Use beyond that is
charged at once, and a balance below zero at the end is owed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from assay.analysis.statistics import Floats
from assay.estimation.simulator.process import SimulationResult
from assay.foundation.units import format_byte_rate, format_bytes
from assay.model.clusters.credits import CreditBucket, CreditKind, CreditUse

_CHANGES_MAX = 64
"""Maximum number of changes between full and baseline rate within one interval."""
_EMPTY_SHARE = 1e-9
"""Credits below this share of a second at the baseline count as none."""


def with_credits(result: SimulationResult, buckets: Sequence[CreditBucket], workers: int) -> SimulationResult:
    """Return the result with the time at the baseline where buckets are empty. It has no traces."""
    if not buckets:
        return result
    seconds, uses = uses_over_time(result.tree, buckets, workers)
    duration_s, credit_uses = time_with_credits(seconds, uses, buckets)
    tree = {name: value for name, value in result.tree.items() if name not in ("traces", "trace_t_s")}
    return replace(
        result, duration_s=result.duration_s - float(seconds.sum()) + duration_s, credits=credit_uses, tree=tree
    )


def uses_over_time(tree: Mapping[str, Any], buckets: Sequence[CreditBucket], workers: int) -> tuple[Floats, Floats]:
    """Return the length of each interval of the trace, in seconds, and the mean use of a worker in it, by bucket."""
    times_s = np.asarray(tree["trace_t_s"], dtype=np.float64)
    totals = np.zeros((len(buckets), len(times_s)))
    for trace in tree["traces"]:
        subject, metric = trace["subject"], trace["metric"]
        is_cpu = (subject, metric) == ("cpu", "user_s")
        if not is_cpu and metric not in ("read_bytes", "write_bytes"):
            continue
        for index, bucket in enumerate(buckets):
            if bucket.kind is CreditKind.CPU:
                uses_bucket = is_cpu
            else:
                uses_bucket = not is_cpu and bucket.applies_to(subject.removeprefix("disk:"))
            if uses_bucket:
                totals[index] += np.asarray(trace["values"], dtype=np.float64)
    uses: Floats = np.diff(totals, axis=1) / workers
    seconds: Floats = np.diff(times_s)
    return seconds, uses


def time_with_credits(
    seconds: Floats, uses: Floats, buckets: Sequence[CreditBucket]
) -> tuple[float, tuple[CreditUse, ...]]:
    """Return the time of a run, and the use of each bucket.

    ``seconds``: the length of each interval at full rates. ``uses``: what it uses, buckets × intervals.
    """
    balances = [bucket.start for bucket in buckets]
    empty_after: list[float | None] = [None] * len(buckets)
    added_s, surplus_charged = [0.0] * len(buckets), [0.0] * len(buckets)
    now_s = 0.0
    for number, full_s in enumerate(seconds.tolist()):
        remaining_s = full_s
        rates = (uses[:, number] / full_s).tolist() if full_s > 0 else []
        for _ in range(_CHANGES_MAX):
            if remaining_s <= 0:
                break
            speed, slowest = _speed(rates, balances, buckets)
            if slowest is not None and empty_after[slowest] is None:
                empty_after[slowest] = now_s
            net_gains = [bucket.baseline_per_s - rate * speed for rate, bucket in zip(rates, buckets, strict=True)]
            step_s = remaining_s / speed
            for net_gain, balance, bucket in zip(net_gains, balances, buckets, strict=True):
                if net_gain < 0 and not bucket.is_unlimited and not _is_empty(balance, bucket):
                    step_s = min(step_s, balance / -net_gain)
            if slowest is not None:
                added_s[slowest] += step_s * (1 - speed)
            for index, (net_gain, bucket) in enumerate(zip(net_gains, buckets, strict=True)):
                balance = balances[index] + step_s * (net_gain if bucket.is_earned else min(0.0, net_gain))
                balance_min = -bucket.surplus_max if bucket.is_unlimited else 0.0
                if bucket.is_unlimited:
                    surplus_charged[index] += max(0.0, balance_min - balance)
                balances[index] = min(bucket.limit, max(balance_min, balance))
            now_s += step_s
            remaining_s -= step_s * speed
            if remaining_s < _EMPTY_SHARE * full_s:
                remaining_s = 0.0
        now_s += remaining_s
    credit_uses = tuple(
        CreditUse(bucket.kind, after_s, delay_s, charged, max(0.0, -balance))
        for bucket, after_s, delay_s, charged, balance in zip(
            buckets, empty_after, added_s, surplus_charged, balances, strict=True
        )
    )
    return now_s, credit_uses


def typical_use(results: Sequence[SimulationResult], factor: float) -> tuple[CreditUse, ...]:
    """Return the median use of credits over simulations of one run, with times multiplied by ``factor``."""
    uses = []
    for kind_uses in zip(*(result.credits for result in results), strict=True):
        after_s = median(math.inf if use.empty_after_s is None else use.empty_after_s for use in kind_uses)
        added_s = median(use.added_s for use in kind_uses) * factor
        charged, owed = (
            median(getattr(use, name) for use in kind_uses) * factor for name in ("surplus_charged", "surplus_owed")
        )
        empty_after_s = None if math.isinf(after_s) else after_s * factor
        uses.append(CreditUse(kind_uses[0].kind, empty_after_s, added_s, charged, owed))
    return tuple(uses)


def credit_assumptions(machine: str, buckets: Sequence[CreditBucket]) -> list[str]:
    """Return the credits that a job starts with on each machine, as sentences."""
    assumptions = []
    for bucket in buckets:
        if bucket.kind is CreditKind.CPU:
            start = f"CPU credits for {bucket.start / 60:,.0f} minutes of a core" if bucket.start else "no CPU credits"
            work = f"the work of {bucket.baseline_per_s:.3g} cores"
            if bucket.is_unlimited:
                assumptions.append(
                    f"{machine} starts with {start} and earns credits for {work} (unlimited mode); it pays for surplus "
                    "credits that the day's earnings, with its idle time, do not pay back"
                )
            else:
                assumptions.append(
                    f"{machine} starts with {start} (standard mode); without credits, all its cores together do {work}"
                )
        elif bucket.kind is CreditKind.VOLUMES:
            assumptions.append(
                f"the volumes of {machine} start with full credits, {format_bytes(bucket.start)}; without credits, "
                f"they transfer {format_byte_rate(bucket.baseline_per_s)}"
            )
        else:
            assumptions.append(
                f"{machine} transfers {format_bytes(bucket.start)} to and from its volumes above its baseline of "
                f"{format_byte_rate(bucket.baseline_per_s)}, once a day"
            )
    return assumptions


def _is_empty(balance: float, bucket: CreditBucket) -> bool:
    return balance <= _EMPTY_SHARE * bucket.baseline_per_s


def _speed(
    rates: Sequence[float], balances: Sequence[float], buckets: Sequence[CreditBucket]
) -> tuple[float, int | None]:
    """Return the speed of the work relative to full rates, and the empty bucket that limits it, if one does."""
    speed, slowest = 1.0, None
    for index, (rate, balance, bucket) in enumerate(zip(rates, balances, buckets, strict=True)):
        if not bucket.is_unlimited and rate * speed > bucket.baseline_per_s and _is_empty(balance, bucket):
            speed, slowest = bucket.baseline_per_s / rate, index
    return speed, slowest
