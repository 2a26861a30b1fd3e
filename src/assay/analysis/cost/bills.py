"""Price clusters of one kind of machine at any size, without measured runs.

In: a price book, and the parts of each kind of machine. Out: every cluster's hourly rate as factors of prices. A bill
is linear in the numbers of workers and masters, because price books count units per node or once. Three bills therefore
determine the bills of all sizes, and what a worker, a master and the shared parts cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.cost.pareto import PricedRates
from assay.analysis.cost.parts import Counts
from assay.analysis.cost.rate import Price, Rate, hourly_rate
from assay.analysis.statistics import Floats, Ints, Mask
from assay.foundation.errors import SpecificationError
from assay.model import PriceBook

MASTER_TYPE = "master"
"""Node type of masters among the parts."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The priced parts of one kind of machine: of a cluster with one worker."""

    layout: str
    counts: Counts


@dataclass(frozen=True, slots=True)
class ClusterParts:
    """The cost of a cluster by part; all amounts are for the same period."""

    workers: int
    per_worker: float
    """Amount of one more worker."""
    masters: int
    per_master: float
    """Amount of one more master."""
    shared: float
    """Amount of the parts that do not depend on the number of nodes."""
    master_price: str | None = None
    """Name of the price of a master; None if several prices or a price of all nodes make it up."""

    def scaled(self, factor: float) -> "ClusterParts":
        """Return the amounts for another period."""
        amounts = (factor * amount for amount in (self.per_worker, self.per_master, self.shared))
        per_worker, per_master, shared = amounts
        return replace(self, per_worker=per_worker, per_master=per_master, shared=shared)


@dataclass(frozen=True, slots=True)
class Bills:
    """The rates of machines by the number of workers: ``first + (workers - 1) * step``, as factors of ``prices``."""

    prices: tuple[Price, ...]
    first: Floats
    step: Floats
    master_step: Floats
    """The factors of one more master."""
    masters: tuple[int, ...]
    """Number of masters of each machine's clusters."""
    priced: Mask
    """The machines that the book prices."""
    unpriced: dict[str, str]
    """Layout to the reason why the book does not price it."""

    def of(self, machine: Ints, workers: Ints) -> PricedRates:
        """Return the rates of clusters, each given by a kind of machine and a number of workers."""
        factors = self.first[machine] + (workers[:, None] - 1) * self.step[machine]
        return PricedRates(self.prices, self._amounts(), factors)

    def parts(self, machine: int, workers: int) -> ClusterParts:
        """Return the hourly cost of a cluster by part."""
        amounts, masters = self._amounts(), self.masters[machine]
        per_worker, per_master = (float(step[machine] @ amounts) for step in (self.step, self.master_step))
        one_worker = float(self.first[machine] @ amounts)
        shared = one_worker - per_worker - masters * per_master
        return ClusterParts(workers, per_worker, masters, per_master, shared, self._master_price(machine))

    def _master_price(self, machine: int) -> str | None:
        """Return the name of the price that only masters have; None if a master has another price, or several."""
        master_columns = np.flatnonzero(self.master_step[machine] * self._amounts())
        if master_columns.size != 1 or self.step[machine, master_columns[0]]:
            return None
        return self.prices[int(master_columns[0])].name

    def _amounts(self) -> Floats:
        return np.array([float(price.amount) for price in self.prices])


def bills(book: PriceBook, parts: Sequence[Parts], on: str | None = None) -> Bills:
    """Return the rates of machines. Machines that the book does not price are omitted, with the reason."""
    rates: list[tuple[Rate, ...] | None] = []
    unpriced: dict[str, str] = {}
    for machine in parts:
        try:
            cluster_counts = (machine.counts, _with_worker(machine.counts), _with_master(machine.counts))
            rates.append(tuple(hourly_rate(book, counts, machine.layout, on=on) for counts in cluster_counts))
        except SpecificationError as error:
            rates.append(None)
            unpriced.setdefault(machine.layout, error.message)
    prices: dict[Price, int] = {}
    for machine_rates in rates:
        for rate in machine_rates or ():
            for item in rate.items:
                prices.setdefault(item.price, len(prices))
    factors = np.zeros((3, len(parts), len(prices)))
    for row, machine_rates in enumerate(rates):
        for number, rate in enumerate(machine_rates or ()):
            for item in rate.items:
                factors[number, row, prices[item.price]] += float(item.factor)
    priced = np.array([machine_rates is not None for machine_rates in rates], dtype=np.bool_)
    base, with_worker, with_master = factors
    masters = tuple(machine.counts.masters or 0 for machine in parts)
    return Bills(tuple(prices), base, with_worker - base, with_master - base, masters, priced, unpriced)


def _with_worker(counts: Counts) -> Counts:
    """Return the parts with one more worker."""
    kind = next((name for name in counts.node_types if name != MASTER_TYPE), "")
    return replace(_with_node(counts, kind), workers=(counts.workers or 0) + 1)


def _with_master(counts: Counts) -> Counts:
    """Return the parts with one more master; the same parts if no node is a master alone."""
    if not counts.masters:
        return counts
    return replace(_with_node(counts, MASTER_TYPE), masters=counts.masters + 1)


def _with_node(counts: Counts, kind: str) -> Counts:
    node_types = {**counts.node_types, kind: counts.node_types.get(kind, 0) + 1}
    return replace(counts, nodes=(counts.nodes or 0) + 1, node_types=node_types)
