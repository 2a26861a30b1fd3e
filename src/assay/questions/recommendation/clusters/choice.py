"""Hold one cluster of a recommendation, with its price, times and shares of draws."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from assay.analysis.cost.bills import ClusterParts
from assay.model.clusters.credits import CreditUse
from assay.questions.costs.extra_costs import CostLine


@dataclass(frozen=True, slots=True)
class WorkTime:
    """How long one workload takes on one cluster."""

    workload: str
    time_s: float
    low_s: float
    high_s: float
    """Upper end of the interval of single runs; ``low_s`` is the lower end."""
    limit: str
    """The resource that limited its tasks for the longest time."""
    in_time: float | None
    """Share of the draws in which a run keeps the deadline; None without one."""
    credits: tuple[CreditUse, ...] = ()
    """Use of the credits of rented machines; the times include it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One cluster with its price, its times and its shares of draws."""

    label: str
    levels: Mapping[str, str]
    storage: str
    """Disks of a worker in words, with their use."""
    bill: float
    """Price over the years of use."""
    bill_low: float
    bill_high: float
    parts: ClusterParts
    """``bill`` by part."""
    day_s: float
    """Run time of a day's work."""
    day_low_s: float
    day_high_s: float
    day_cost: float
    """Cost of ``day_s`` at the price per hour."""
    day_cost_low: float
    day_cost_high: float
    times: tuple[WorkTime, ...]
    on_pareto_front: bool
    """Whether it is on the Pareto front, with every input at its central value."""
    pareto_front_probability: float
    best_probability: float
    """Share of the draws in which its hardware, with these settings, is the best that keeps the constraints."""
    hardware_probability: float
    """Share of the draws in which its hardware is the best, with any settings. This share is shown to users."""
    keeps_probability: float
    """Share of the draws in which it keeps every constraint."""
    fidelity: str
    """``requests`` where each request was simulated, else ``flows``."""
    cost: float
    """Money axis of the Pareto front: the cost of a day's work if that is the objective, else the price over years."""
    cost_low: float
    cost_high: float
    cost_lines: tuple[CostLine, ...] = ()
    """The lines of ``day_cost``; empty without extra costs."""


def without_money(choice: Choice) -> Choice:
    """Return a choice without amounts, for a price book that can't price its hardware."""
    unknown_amount = math.nan
    return replace(
        choice,
        bill=unknown_amount,
        bill_low=unknown_amount,
        bill_high=unknown_amount,
        parts=choice.parts.scaled(unknown_amount),
        day_cost=unknown_amount,
        day_cost_low=unknown_amount,
        day_cost_high=unknown_amount,
        cost=unknown_amount,
        cost_low=unknown_amount,
        cost_high=unknown_amount,
        on_pareto_front=False,
        pareto_front_probability=unknown_amount,
    )
