"""Price clusters of one kind of machine at any size, without measured runs.

In: a price book, and the parts of each kind of machine. Out: every cluster's hourly rate as factors of prices. A bill
is linear in the number of workers, because price books count units per worker or once. Two bills therefore determine
the bills of all sizes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.cost.pareto import Priced
from assay.analysis.cost.parts import Counts
from assay.analysis.cost.rate import Price, Rate, hourly_rate
from assay.analysis.statistics import Floats, Ints, Mask
from assay.foundation.errors import SpecificationError
from assay.model import PriceBook


@dataclass(frozen=True, slots=True)
class Parts:
    """The priced parts of one kind of machine: of a cluster with one worker."""

    layout: str
    counts: Counts


@dataclass(frozen=True, slots=True)
class Bills:
    """The rates of machines by the number of workers: ``first + (workers - 1) * step``, as factors of ``prices``."""

    prices: tuple[Price, ...]
    first: Floats
    step: Floats
    priced: Mask
    """The machines that the book prices."""
    unpriced: dict[str, str]
    """Layout to the reason why the book does not price it."""

    def of(self, machine: Ints, workers: Ints) -> Priced:
        """Return the rates of clusters, each given by a kind of machine and a number of workers."""
        factors = self.first[machine] + (workers[:, None] - 1) * self.step[machine]
        return Priced(self.prices, np.array([float(price.amount) for price in self.prices]), factors)


def bills(book: PriceBook, parts: Sequence[Parts], on: str | None = None) -> Bills:
    """Return the rates of machines. Machines that the book does not price are omitted, with the reason."""
    rates: list[tuple[Rate, Rate] | None] = []
    unpriced: dict[str, str] = {}
    for machine in parts:
        try:
            rates.append((hourly_rate(book, machine.counts, machine.layout, on=on), _of_two(book, machine, on)))
        except SpecificationError as error:
            rates.append(None)
            unpriced.setdefault(machine.layout, error.message)
    prices: dict[Price, int] = {}
    for pair in rates:
        for rate in pair or ():
            for item in rate.items:
                prices.setdefault(item.price, len(prices))
    factors = np.zeros((2, len(parts), len(prices)))
    for row, pair in enumerate(rates):
        for which, rate in enumerate(pair or ()):
            for item in rate.items:
                factors[which, row, prices[item.price]] += float(item.factor)
    priced = np.array([pair is not None for pair in rates], dtype=np.bool_)
    return Bills(tuple(prices), factors[0], factors[1] - factors[0], priced, unpriced)


def _of_two(book: PriceBook, machine: Parts, on: str | None) -> Rate:
    """Return the rate of the same machine with two workers."""
    counts = machine.counts
    kind = next((name for name in counts.node_types if name != "master"), "")
    two = replace(
        counts,
        nodes=(counts.nodes or 0) + 1,
        workers=(counts.workers or 0) + 1,
        node_types={**counts.node_types, kind: counts.node_types.get(kind, 0) + 1},
    )
    return hourly_rate(book, two, machine.layout, on=on)
