"""Make the Cost page of a site: time and cost of configurations with intervals, and prices that a visitor can change.

In: the answer of `assay cost` for each job. Out: the values of the page. A browser computes costs for changed prices
from the factors of each row (``cost per hour = sum of price × factor``), so it needs no server.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.questions.costs.cost_rows import CostEffectivenessRow, JobCostEffectiveness
from assay.text import levels_text


@dataclass(frozen=True, slots=True)
class SitePrice:
    """A price that a visitor can change. ``slider_max``: upper end of its slider."""

    name: str
    per: str
    amount: float
    slider_max: float


def cost_values(views: Sequence[JobCostEffectiveness]) -> dict[str, Any]:
    """Return the values of the page: the priced jobs, their prices, and the data that the browser computes with."""
    jobs = [view for view in views if view.rows]
    prices = _prices(jobs)
    names = [price.name for price in prices]
    return {
        "jobs": jobs,
        "prices": prices,
        "unpriced": dict(pair for view in views for pair in view.unpriced.items()),
        "data": {
            "currency": jobs[0].currency if jobs else "",
            "prices": [price.amount for price in prices],
            "jobs": [[_row_data(row, names) for row in view.rows] for view in jobs],
        },
    }


def _row_data(row: CostEffectivenessRow, names: Sequence[str]) -> dict[str, Any]:
    """Return what the browser needs to price a row: its factor of each price, its mean time and the interval."""
    return {
        "name": levels_text(row.levels),
        "factors": [[names.index(item.price.name), float(item.factor)] for item in row.rate.items],
        "time_s": row.time_s,
        "time_low_s": row.time_low_s,
        "time_high_s": row.time_high_s,
        "cost": float(row.cost),
    }


def _prices(jobs: Sequence[JobCostEffectiveness]) -> list[SitePrice]:
    """Return the prices of all rows, those above 0 first. A slider ends at twice its price or a further limit.

    Further limits are 1.25 × the switching prices, so that a visitor can drag a price across them.
    """
    ends: dict[str, list[float]] = {}
    for view in jobs:
        for row in view.switching_prices:
            price_ends = (end for end in (row.below, row.above) if end is not None)
            ends.setdefault(row.price.name, []).extend(1.25 * end for end in price_ends)
    prices = {item.price.name: item.price for view in jobs for row in view.rows for item in row.rate.items}
    rows = [
        SitePrice(name, price.per, float(price.amount), max([2 * float(price.amount), *ends.get(name, ())]) or 1.0)
        for name, price in prices.items()
    ]
    return sorted(rows, key=lambda price: not price.amount)
