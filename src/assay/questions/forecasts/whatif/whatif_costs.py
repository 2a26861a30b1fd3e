"""Compute the cost of a cluster and of a run as measured and with changes, from a price book.

In: a price book, the plans before and after changes, prices of parts that the book lacks, and extra costs of a day.
Out: :class:`WhatIfCosts`, in the book's currency. The cost after the changes is only that of the changed cluster. With
extra costs, the cost of a run is that of a day with one run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

import numpy as np

from assay.analysis.cost.missing_prices import (
    NETWORK_PART,
    WORKER_PART,
    MissingPrice,
    PricedCluster,
    missing_price_of_size,
    missing_prices_of,
    network_price,
    prices_new_types,
    reason_of,
)
from assay.analysis.cost.parts import counts_from_facts
from assay.analysis.cost.rate import added_per_h, hourly_rate
from assay.analysis.cost.volumes import unpriced_volumes
from assay.execution.planning.plan_files.changed_plan import only_run
from assay.foundation.errors import SpecificationError
from assay.model import NETWORK_FACTOR, ClusterFacts, Plan, PriceBook
from assay.questions.costs.changed_prices import changed_book, price_amount, prices_in
from assay.questions.costs.extra_costs import ONCE_A_DAY, CostLine, ExtraCosts
from assay.questions.forecasts.whatif.whatif_answer import CostChange
from assay.text import money


@dataclass(frozen=True, slots=True)
class WhatIfPrices:
    """A price book, prices of parts that it lacks, by name (:class:`MissingPrice`), and the extra costs of a day."""

    book: PriceBook
    parts: Mapping[str, float]
    extras: ExtraCosts = field(default_factory=ExtraCosts)


@dataclass(frozen=True, slots=True)
class WhatIfCosts:
    """Costs of the cluster per hour and of a run; None where unknown."""

    per_h_before: float | None = None
    per_h_after: float | None = None
    run_before: float | None = None
    run_after: float | None = None
    run_low: float | None = None
    """Lower end of the interval of ``run_after``, from the lower end of the time's interval; ``run_high``: the upper
    end."""
    run_high: float | None = None
    lines_before: tuple[CostLine, ...] = ()
    """The lines of ``run_before`` with extra costs; ``lines_after``: of ``run_after``."""
    lines_after: tuple[CostLine, ...] = ()
    unknown: str = ""
    """Why one of them is unknown; empty if all are known, and without a price book."""
    missing_prices: tuple[MissingPrice, ...] = ()
    """Parts of the changed cluster that the book lacks, with the stated prices."""
    assumptions: tuple[str, ...] = ()
    """Which extra costs are on and off, and how often they are paid."""
    note: str = ""
    """Number of workers that both costs are for, if the book prices another number than the runs have; else empty."""


_EXAMPLE_PER_H = "0.05 per hour"
_EXAMPLE_PURCHASE = "350 for the purchase"
"""Examples of the price of a part, for the hints of errors."""


def stated_prices(book: PriceBook, prices: Mapping[str, float | str], extra_costs: str = "") -> WhatIfPrices:
    """Return the book with these prices of its items. Other names are prices of parts that it lacks.

    ``prices``: numbers, or text of :func:`price_amount`. ``extra_costs``: text of :class:`ExtraCosts`.
    """
    items = prices_in(book)
    part_example = _EXAMPLE_PURCHASE if book.amortisation else _EXAMPLE_PER_H
    examples = {name: f"{amount:.10g}" if amount else "" for name, amount in items.items()}
    amounts = {
        name: price_amount(name, str(price), book.currency, examples.get(name, part_example))
        for name, price in prices.items()
    }
    book = changed_book(book, {name: amount for name, amount in amounts.items() if name in items})
    parts = {name: amount for name, amount in amounts.items() if name not in items}
    extras = ExtraCosts.of(extra_costs, book)
    if extras.surplus_price:
        raise SpecificationError(
            "a what-if question has workers in standard mode, without surplus credits",
            where="extra costs",
            hint="assay recommend and assay size price surplus-credits",
        )
    return WhatIfPrices(book, parts, extras)


def parse_prices(texts: Sequence[str]) -> dict[str, str]:
    """Return the amounts, as text, of ``NAME=AMOUNT`` texts. Raises SpecificationError for another form."""
    prices = {}
    for text in texts:
        name, equals, amount = text.rpartition("=")
        if not equals or not name:
            raise SpecificationError(f"{text[:60]!r} is not NAME=AMOUNT", where="--price", hint="such as worker=6000")
        prices[name] = amount
    return prices


def cost_change(costs: WhatIfCosts) -> CostChange | None:
    """Return the cost ratio of a run; None if a cost is unknown, or the measured cluster is free."""
    if not costs.run_before or costs.run_after is None or costs.run_low is None or costs.run_high is None:
        return None
    return CostChange.of(*(amount / costs.run_before for amount in (costs.run_after, costs.run_low, costs.run_high)))


def costs_of(
    prices: WhatIfPrices | None, plans: tuple[Plan, Plan], measured_s: float, times_s: tuple[float, float, float]
) -> WhatIfCosts:
    """Return the costs before and after the changes, and why one of them is unknown.

    ``times_s``: the time with the changes, and the lower and upper end of its interval.
    A book that does not price the measured cluster prices the changed one only if it names the new types of workers.
    """
    if prices is None:
        return WhatIfCosts()
    book = prices.book
    before = _priced_cluster(plans[0])
    after = _with_changed_link(_priced_cluster(plans[1]), before)
    per_h_before, per_h_after, unknown_reason, note = None, None, "", ""
    size: MissingPrice | None = None
    same_size = len(before.cluster.workers) == len(after.cluster.workers)
    missing_prices: tuple[MissingPrice, ...] = ()
    try:
        per_h_before, size = _per_h(book, before), missing_price_of_size(book, before)
        if size is not None and same_size and size.name not in prices.parts:
            note = f"Both costs are of the price book's number of workers: {size.count_text}."
            size = None
        elif size is not None:
            size = replace(size, price=prices.parts.get(size.name))
            if refusal := _refused_price(book, per_h_before, (size,)):
                return WhatIfCosts(unknown=refusal, missing_prices=(size,))
            per_h_before = None if size.price is None else per_h_before + _added_per_h(book, (size,))
    except SpecificationError as error:
        unknown_reason = error.message
    if unknown_reason and not prices_new_types(book, before, after):
        return WhatIfCosts(unknown=unknown_reason)
    try:
        base_per_h, parts = _changed_per_h(book, before, after)
        if note:
            parts = tuple(part for part in parts if part.name != WORKER_PART)
        missing_prices = tuple(replace(part, price=prices.parts.get(part.name)) for part in parts)
        if refusal := _refused_price(book, base_per_h, missing_prices):
            return WhatIfCosts(unknown=refusal, missing_prices=missing_prices)
        parts_without_price = tuple(part for part in missing_prices if part.price is None)
        unknown_reason = unknown_reason or reason_of(book, parts_without_price)
        if not parts_without_price:
            per_h_after = base_per_h + _added_per_h(book, missing_prices)
        if size is not None and size.name not in {part.name for part in parts}:
            missing_prices = (*missing_prices, size)
            unknown_reason = unknown_reason or (reason_of(book, (size,)) if size.price is None else "")
    except SpecificationError as error:
        unknown_reason = unknown_reason or error.message
    extras = prices.extras
    run_after, run_low, run_high = (_run_cost(per_h_after, time_s, extras) for time_s in times_s)
    return WhatIfCosts(
        per_h_before=_number(per_h_before),
        per_h_after=_number(per_h_after),
        run_before=_run_cost(per_h_before, measured_s, extras),
        run_after=run_after,
        run_low=run_low,
        run_high=run_high,
        lines_before=() if per_h_before is None else extras.lines(float(per_h_before), measured_s),
        lines_after=() if per_h_after is None else extras.lines(float(per_h_after), times_s[0]),
        unknown=unknown_reason,
        missing_prices=missing_prices,
        assumptions=(*extras.assumptions(), *([ONCE_A_DAY] if extras.is_on else [])),
        note=note,
    )


def _added_per_h(book: PriceBook, parts: Sequence[MissingPrice]) -> Decimal:
    """Return the hourly cost of the parts with a stated price."""
    stated_costs = (added_per_h(book, Decimal(str(part.price)), part.count) for part in parts if part.price is not None)
    return sum(stated_costs, Decimal(0))


def _refused_price(book: PriceBook, per_h: Decimal, parts: Sequence[MissingPrice]) -> str:
    """Return why a stated price is too high: the removed parts would cost as much as the cluster; else empty."""
    for part in parts:
        if part.price is None or part.count >= 0 or per_h + _added_per_h(book, (part,)) > 0:
            continue
        limit = money(float(per_h / -added_per_h(book, Decimal(1), part.count)), book.currency)
        return (
            f"the {price_name(book)} of each {part.name} can't be {money(part.price, book.currency)}: "
            f"{part.count_text}, and the cluster of the price book costs {money(float(per_h), book.currency)} per "
            f"hour. State less than {limit}"
        )
    return ""


def price_name(book: PriceBook) -> str:
    """Return the kind of price that a user states for a part that the book lacks, as :func:`added_per_h` reads it."""
    return "price per hour" if book.amortisation is None else "purchase price"


def _changed_per_h(
    book: PriceBook, before: PricedCluster, after: PricedCluster
) -> tuple[Decimal, tuple[MissingPrice, ...]]:
    """Return the hourly cost of the changed cluster without the parts that the book lacks, and these parts.

    A book whose networks do not include the changed one prices the cluster with the network as measured.
    """
    try:
        return _per_h(book, after), missing_prices_of(book, before, after)
    except SpecificationError as error:
        if after.network == before.network:
            raise
        levels = {name: level for name, level in after.counts.levels.items() if name != NETWORK_FACTOR}
        levels |= {name: before.counts.levels[name] for name in [NETWORK_FACTOR] if name in before.counts.levels}
        cluster_on_measured_network = replace(
            after, network=before.network, counts=replace(after.counts, levels=levels)
        )
        other_parts = [
            part for part in missing_prices_of(book, before, cluster_on_measured_network) if part.name != NETWORK_PART
        ]
        network = network_price(before, after, f"does not price the network: {error.message}")
        return _per_h(book, cluster_on_measured_network), (network, *other_parts)


def _per_h(book: PriceBook, cluster: PricedCluster) -> Decimal:
    """Return the hourly cost. Raises SpecificationError for a part, or a network volume, without a price."""
    rate = hourly_rate(book, cluster.counts, cluster.layout.name)
    if unpriced := _unpriced_volumes_text(book, cluster):
        raise SpecificationError(unpriced)
    return rate.per_h


def _number(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)


def _run_cost(per_h: Decimal | None, time_s: float, extras: ExtraCosts) -> float | None:
    """Return the cost of a run, with the extra costs of a day."""
    if per_h is None:
        return None
    return float(extras.day_costs(np.array([float(per_h)]), np.array([time_s]))[0])


def _unpriced_volumes_text(book: PriceBook, cluster: PricedCluster) -> str:
    """Return that the book has no price of the cluster's network volumes; empty if it has.

    Raises SpecificationError if the price is that of a volume with another capacity.
    """
    devices = [device for node in cluster.cluster.workers for device in node.type.devices]
    return "; ".join(unpriced_volumes(book, devices))


def _with_changed_link(after: PricedCluster, before: PricedCluster) -> PricedCluster:
    """Return ``after`` with the rate of a changed link as its network, as an item names it: ``25Gbit/s``."""
    link_before, link = (
        priced_cluster.cluster.workers[0].type.nic.rate_bits_per_s for priced_cluster in (before, after)
    )
    if after.network is not None or link == link_before:
        return after
    network = f"{link / 1e9:g}Gbit/s"
    return replace(
        after, network=network, counts=replace(after.counts, levels={**after.counts.levels, NETWORK_FACTOR: network})
    )


def _priced_cluster(plan: Plan) -> PricedCluster:
    configuration = only_run(plan).configuration
    cluster, layout = plan.cluster.using(configuration.workers), configuration.layout
    levels = {"cluster": plan.cluster.name, **plan.parameters, **configuration.levels}
    counts = counts_from_facts(ClusterFacts.of_layout(cluster, layout), layout.name, levels)
    return PricedCluster(cluster, layout, configuration.network, counts)
