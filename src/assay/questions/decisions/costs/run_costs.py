"""Compute the hourly hardware cost of each run, so that costs are compared over the same runs as times.

In: a table of runs, the recorded facts of their clusters, and a price book. Out: money per hour for each run; NaN, with
the reason, where the book has no price for the hardware of the run. A price applies only to the hardware that it
describes: every combination of cluster and levels is priced by its own parts.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from assay.analysis.cost.parts import Counts
from assay.analysis.cost.prices import LayoutPrice, bill_of_materials, covered_parts, run_price
from assay.analysis.cost.repricing import ENERGY
from assay.analysis.statistics import Floats, Ints, RunTable, first_rows, groups_by
from assay.foundation.errors import SpecificationError
from assay.model import LAYOUT_FACTOR, NETWORK_FACTOR, YEAR_H, LineItem, PriceBook
from assay.questions.clusters.cluster_facts import HARDWARE, FactsByHardware, priced_parts
from assay.questions.decisions.decision import OtherSize

YEARS = 3.0
"""Years of use where neither the request nor the price book states them."""


@dataclass(frozen=True, slots=True)
class ClusterPrices:
    """Items that price the nodes of a whole cluster, whatever their number. Arrays are by row of the table of runs."""

    items: tuple[LineItem, ...]
    item_of_run: Ints
    """Number of the run's item in ``items``; -1 without one."""
    workers: Floats
    """Recorded number of workers; NaN if unknown."""

    def other_sizes(self, rows: Ints) -> tuple[OtherSize, ...]:
        """Return the prices of clusters with another number of workers than the runs in ``rows``, as recorded."""
        pairs = set(zip(self.item_of_run[rows].tolist(), np.nan_to_num(self.workers[rows]).tolist(), strict=True))
        sizes = [
            OtherSize(priced, int(workers) or None)
            for number, workers in pairs
            if number >= 0 and (priced := self.items[number].workers) is not None and priced != workers
        ]
        return tuple(sorted(sizes, key=lambda size: (size.workers or 0, size.workers_priced)))


@dataclass(frozen=True, slots=True)
class RunCosts:
    """Money per hour of each run of a table."""

    per_h: Floats
    """In ``currency``, by row of the table; NaN where the book has no price."""
    currency: str
    book: str
    date: str
    """Date of the prices."""
    years: float
    """Years of use that the total cost is spread over."""
    site_power_w: Floats
    """Power of each run's hardware times PUE, as the book states it; 0 where it states none."""
    kwh_price: float | None
    """Price of a kWh; None where the book has none."""
    unpriced: dict[str, str]
    """Hardware and network that the book does not price, and why."""
    clusters: ClusterPrices | None = None
    """Prices of whole clusters."""
    purchase: bool = False
    rent: bool = False
    maintenance: bool = False
    """Whether the book has purchase prices, rents, and a price of maintenance."""
    configurations: tuple[dict[str, str], ...] = ()
    """Levels of the columns that prices depend on: cluster, layout and network, for example."""
    configuration_of_run: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Number of the run's levels in ``configurations``, by row of the table."""
    prices: frozenset[str] = frozenset()
    """Names of the prices that the costs of the runs are made of."""

    @property
    def rented(self) -> bool:
        """Whether the book has rents only."""
        return not self.purchase

    def subset(self, rows: Ints) -> "RunCosts":
        """Return the costs of some rows of the table."""
        clusters = self.clusters and replace(
            self.clusters, item_of_run=self.clusters.item_of_run[rows], workers=self.clusters.workers[rows]
        )
        return replace(
            self,
            per_h=self.per_h[rows],
            site_power_w=self.site_power_w[rows],
            clusters=clusters,
            configuration_of_run=self.configuration_of_run[rows],
        )

    def priced(self, table: RunTable) -> RunTable:
        """Return the table with the cost of each run in place of its time. The rows are those of ``per_h``."""
        cost = self.per_h * table.values["duration_s"] / 3600
        return replace(table, values={**table.values, "duration_s": cost})


def run_costs(
    facts: FactsByHardware, table: RunTable, book: PriceBook, years: float | None = None, on: str | None = None
) -> RunCosts:
    """Return the hourly cost of each run's hardware: its total cost over ``years`` per hour of use.

    ``facts``: the recorded hardware facts. Runs that differ in hardware, network or a factor that prices depend on are
    priced separately. Other factors, for example block sizes, cost nothing. ``years``: None for the book's
    amortisation, or three. ``on``: the day whose prices apply; None for the date of the book. Power and maintenance are
    included where the book has them.
    """
    if years is None:
        years = float(book.amortisation.years) if book.amortisation else YEARS
    depends = (factor for item in book.items for factor in item.when)
    names = [name for name in dict.fromkeys([*HARDWARE, NETWORK_FACTOR, *depends]) if name in table.columns]
    groups = groups_by(table, names)
    per_h, power_w = np.full(groups.count, np.nan), np.zeros(groups.count)
    workers, item_of_group = np.full(groups.count, np.nan), np.full(groups.count, -1)
    items: list[LineItem] = []
    configurations: list[dict[str, str]] = []
    unpriced: dict[str, str] = {}
    prices: set[str] = set()
    for number, row in enumerate(first_rows(groups).tolist()):
        levels = {name: text for name in names if (text := table.columns[name].text(row)) is not None}
        configurations.append(levels)
        layout = levels.get(LAYOUT_FACTOR, "")
        counts = priced_parts(facts, levels)
        try:
            bill = run_price(book, counts, layout, years=years, on=on)
        except SpecificationError as error:
            unpriced[" ".join(levels.values())] = error.message
            continue
        if bill.total > 0:
            prices |= {line.price for line in bill.items}
            per_h[number] = float(bill.total) / (years * YEAR_H)
            power_w[number] = _site_power_w(bill, book, years)
            workers[number] = counts.workers or np.nan
            if (item := _cluster_item(book, counts, layout, on)) is not None:
                items += [] if item in items else [item]
                item_of_group[number] = items.index(item)
        else:
            unpriced[" ".join(levels.values())] = f"price book {book.name!r} has no price above 0 for it"
    return RunCosts(
        per_h=per_h[groups.of_row],
        currency=book.currency,
        book=book.name,
        date=on or book.date,
        years=years,
        site_power_w=power_w[groups.of_row],
        kwh_price=float(book.energy.price_per_kwh) if book.energy else None,
        unpriced=unpriced,
        purchase=book.has_purchases,
        rent=any(item.period_h is not None for item in book.items),
        maintenance=bool(book.maintenance),
        configurations=tuple(configurations),
        prices=frozenset(prices),
        configuration_of_run=np.asarray(groups.of_row, dtype=np.int64),
        clusters=ClusterPrices(tuple(items), item_of_group[groups.of_row], workers[groups.of_row]),
    )


def _cluster_item(book: PriceBook, counts: Counts, layout: str, on: str | None) -> LineItem | None:
    """Return the item that prices all workers of a cluster together; None where they are priced by number."""
    items = [line.item for line in bill_of_materials(book, counts, layout, on)]
    return next((item for item in items if item.unit == "cluster" and "workers" in covered_parts(item, items)), None)


def _site_power_w(bill: LayoutPrice, book: PriceBook, years: float) -> float:
    """Return the power of the hardware of a bill times PUE, from its lines for power; 0 without them."""
    if book.energy is None or not book.energy.price_per_kwh:
        return 0.0
    cost = float(sum(item.total for item in bill.items if item.price == ENERGY))
    return 1000 * cost / float(book.energy.price_per_kwh) / (years * YEAR_H)
