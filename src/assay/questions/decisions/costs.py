"""What an hour of each run's hardware costs, so that costs are compared over the same runs as times.

In: a table of runs, what the repository recorded of their clusters, and a price book. Out: money per hour for each run,
NaN where the book has no price for the hardware of that run, with the reason. A price applies only to the hardware that
it describes: every combination of cluster and levels is priced by its own parts.
"""

from dataclasses import dataclass

import numpy as np

from assay.analysis.cost.parts import counts_from_facts
from assay.analysis.cost.prices import run_price
from assay.analysis.statistics import Floats, RunTable, first_rows, groups_by
from assay.foundation.errors import SpecificationError
from assay.model import LAYOUT_FACTOR, YEAR_H, PriceBook
from assay.questions.runs.cluster_facts import FactsByLayout

_PRICED_BY = ("cluster", LAYOUT_FACTOR, "network")
"""Columns that tell hardware apart. Other factors, such as block sizes, cost nothing."""

YEARS = 3.0
"""Years of use where neither the request nor the price book names them."""


@dataclass(frozen=True, slots=True)
class RunCosts:
    """Money per hour of each run of a table."""

    per_h: Floats
    """In ``currency``, by row of the table; NaN where the book has no price."""
    currency: str
    book: str
    unpriced: dict[str, str]
    """Cluster, layout and network that the book does not price, and why."""


def run_costs(
    facts: FactsByLayout, table: RunTable, book: PriceBook, years: float | None = None, on: str | None = None
) -> RunCosts:
    """Return what the hardware of each run costs per hour: its total cost over ``years``, per hour of use.

    ``facts``: what runs recorded of each cluster and layout. ``years``: None for the book's amortisation, or three.
    ``on``: the day whose prices apply; None for the date of the book. Power and maintenance are included where the book
    has them.
    """
    if years is None:
        years = float(book.amortisation.years) if book.amortisation else YEARS
    names = [name for name in _PRICED_BY if name in table.columns]
    groups = groups_by(table, names)
    per_h = np.full(groups.count, np.nan)
    unpriced: dict[str, str] = {}
    for number, row in enumerate(first_rows(groups).tolist()):
        levels = {name: text for name in names if (text := table.columns[name].text(row)) is not None}
        layout = levels.get(LAYOUT_FACTOR, "")
        counts = counts_from_facts(facts.get((levels.get("cluster", ""), layout)), layout, levels)
        try:
            per_hour = float(run_price(book, counts, layout, years=years, on=on).total) / (years * YEAR_H)
        except SpecificationError as error:
            unpriced[" ".join(levels.values())] = error.message
            continue
        if per_hour > 0:
            per_h[number] = per_hour
        else:
            unpriced[" ".join(levels.values())] = f"price book {book.name!r} has no price above 0 for it"
    return RunCosts(per_h[groups.of_row], book.currency, book.name, unpriced)
