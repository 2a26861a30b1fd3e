"""Compute the cost of a run as measured and with changes, from a price book. Costs are in the book's currency."""

from dataclasses import replace
from decimal import Decimal

from assay.analysis.cost.changed import PricedCluster, prices_new_types, why_unpriced
from assay.analysis.cost.parts import counts_from_facts
from assay.analysis.cost.rate import hourly_rate
from assay.analysis.cost.run_cost import cost_per_run
from assay.analysis.cost.volumes import unpriced_volumes
from assay.execution.planning.plan_files.changed_plan import only_run
from assay.foundation.errors import SpecificationError
from assay.model import NETWORK_FACTOR, ClusterFacts, Plan, PriceBook


def costs_of(
    book: PriceBook | None, plans: tuple[Plan, Plan], times_s: tuple[float, float]
) -> tuple[float | None, float | None, str]:
    """Return the cost of a run before and after the changes, and why one of them is unknown.

    A book that does not price the measured cluster prices the changed one only if it names the new types of workers.
    """
    if book is None:
        return None, None, ""
    before = _priced_cluster(plans[0])
    after = _with_changed_link(_priced_cluster(plans[1]), before)
    costs: list[float | None] = []
    reason = ""
    for cluster, time_s in ((before, times_s[0]), (after, times_s[1])):
        known = not reason or prices_new_types(book, before, after)
        try:
            rate = hourly_rate(book, cluster.counts, cluster.layout.name)
            unpriced = "" if known else reason
            unpriced = unpriced or why_unpriced(book, before, cluster) or _without_volumes(book, cluster)
        except SpecificationError as error:
            unpriced = error.message
        reason = reason or unpriced
        costs.append(None if unpriced else float(cost_per_run(rate.per_h, time_s).quantize(Decimal("1e-6"))))
    return costs[0], costs[1], reason


def _without_volumes(book: PriceBook, cluster: PricedCluster) -> str:
    """Return that the book has no price of the cluster's network volumes; empty if it has.

    Raises SpecificationError if the price is that of a volume with another capacity.
    """
    devices = [device for node in cluster.cluster.workers for device in node.type.devices]
    return "; ".join(unpriced_volumes(book, devices))


def _with_changed_link(after: PricedCluster, before: PricedCluster) -> PricedCluster:
    """Return ``after`` with the rate of a changed link as its network, as an item names it: ``25Gbit/s``."""
    link_before, link = (priced.cluster.workers[0].type.nic.rate_bits_per_s for priced in (before, after))
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
