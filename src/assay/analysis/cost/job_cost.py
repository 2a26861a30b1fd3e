"""Compute jobs per day, jobs over years, and cost per job, as in SanDisk's tables 5 and 7.

In: run times in seconds with intervals, and purchase prices. Out: jobs, and cost per job. The cluster is assumed to run
the job back to back, day and night, for ``years`` of 365 days. Power, space and staff are included only if the price
book has them.

Source: SanDisk, "CloudSpeed SATA SSDs Support Faster Hadoop Performance and TCO Savings" (2014). The paper truncates
jobs over three years to whole jobs and cost per job to cents. ``rounding="paper"`` does the same, and computes jobs per
day from a year's whole jobs, to two decimals (docs/explanation/cost.md has the reason).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Literal

Rounding = Literal["none", "paper"]
DAY_S = 86_400
YEAR_DAYS = 365
_CENT = Decimal("0.01")
_WHOLE = Decimal(1)


@dataclass(frozen=True, slots=True)
class Runtime:
    """Run time of a job, with its 95 % interval (None: no interval) and number of runs."""

    runtime_s: float
    low_s: float | None = None
    high_s: float | None = None
    n: int = 1


@dataclass(frozen=True, slots=True)
class JobCostRow:
    """One workload on one layout. Money is in ``currency``; ``jobs`` is over ``years``."""

    workload: str
    layout: str
    n: int
    runtime_s: float
    runtime_low_s: float | None
    runtime_high_s: float | None
    jobs_per_day: float
    years: float
    jobs: float
    price: Decimal
    currency: str
    cost_per_job: float
    cost_per_job_low: float | None
    cost_per_job_high: float | None


def jobs_per_day(runtime_s: float, rounding: Rounding = "none") -> float:
    """Return the number of jobs of ``runtime_s`` per day, back to back. Raises ValueError unless it is positive.

    With the paper's rounding, it is the whole jobs of a year / 365. This reproduces all four printed figures:
    86400 / 485 is 178.14, but the paper prints 178.15.
    """
    if not runtime_s > 0 or math.isinf(runtime_s):
        raise ValueError(f"a run time must be positive, not {runtime_s}")
    if rounding == "none":
        return DAY_S / runtime_s
    jobs_per_year = (Decimal(DAY_S * YEAR_DAYS) / Decimal(str(runtime_s))).quantize(_WHOLE, ROUND_HALF_UP)
    return float((jobs_per_year / YEAR_DAYS).quantize(_CENT, ROUND_HALF_UP))


def jobs_over(runtime_s: float, years: float, rounding: Rounding = "none") -> float:
    """Return the number of jobs in ``years`` of 365 days, from the unrounded jobs per day."""
    if not years > 0:
        raise ValueError(f"years must be positive, not {years}")
    exact = jobs_per_day(runtime_s) * years * YEAR_DAYS
    if rounding == "none":
        return exact
    return float(math.floor(DAY_S * Fraction(str(years)) * YEAR_DAYS / Fraction(str(runtime_s))))


def cost_per_job(price: Decimal, runtime_s: float, years: float, rounding: Rounding = "none") -> float:
    """Return the price divided by the jobs over ``years``. Raises ValueError if not even one job fits."""
    jobs = jobs_over(runtime_s, years, rounding)
    if not jobs > 0:
        raise ValueError(f"a job of {runtime_s} s does not end within {years} years")
    if rounding == "none":
        return float(price) / jobs
    return float((price / Decimal(str(jobs))).quantize(_CENT, ROUND_DOWN))


def job_cost_rows(
    runtimes: Mapping[tuple[str, str], Runtime],
    prices: Mapping[str, Decimal],
    *,
    currency: str = "USD",
    years: float = 3,
    rounding: Rounding = "none",
) -> list[JobCostRow]:
    """Return one row for each (workload, layout) of ``runtimes``, in its order.

    ``prices`` has every layout. The interval of the cost follows from the run time only: prices are exact.
    """
    rows = []
    for (workload, layout), runtime in runtimes.items():
        price = prices[layout]
        low, high = (
            None if bound_s is None else cost_per_job(price, bound_s, years, rounding)
            for bound_s in (runtime.low_s, runtime.high_s)
        )
        rows.append(
            JobCostRow(
                workload=workload,
                layout=layout,
                n=runtime.n,
                runtime_s=runtime.runtime_s,
                runtime_low_s=runtime.low_s,
                runtime_high_s=runtime.high_s,
                jobs_per_day=jobs_per_day(runtime.runtime_s, rounding),
                years=years,
                jobs=jobs_over(runtime.runtime_s, years, rounding),
                price=price,
                currency=currency,
                cost_per_job=cost_per_job(price, runtime.runtime_s, years, rounding),
                cost_per_job_low=low,
                cost_per_job_high=high,
            )
        )
    return rows
