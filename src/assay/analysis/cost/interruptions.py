"""Estimate how much longer a job takes on instances that the provider may take away.

In: the time of a job without interruptions, in seconds, the number of instances, and the probability with which one
instance is taken away within an hour. Out: the mean time in seconds, if every interruption restarts the job at once.

With interruptions at random times, at a rate Λ of all instances together, the mean time until a run of length T ends
without an interruption is (exp(ΛT) - 1) / Λ (J. T. Daly, Future Generation Computer Systems 22 (2006), for a job
without checkpoints). It is an upper bound for Hadoop and Spark, which repeat only lost tasks if enough nodes remain.
"""

import math

HOUR_S = 3600.0


def mean_time_with_restarts_s(time_s: float, instances: int, probability_per_h: float) -> float:
    """Return the mean time; infinite if it exceeds the range of numbers."""
    rate = -instances * math.log1p(-probability_per_h) / HOUR_S
    if rate == 0:
        return time_s
    try:
        return math.expm1(rate * time_s) / rate
    except OverflowError:
        return math.inf
